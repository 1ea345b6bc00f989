//! The client: what the host does with one server, as an object.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use odek_contract::artifact::ArtifactRoots;
use odek_contract::config::{ConfigWarning, Limits, ServerConfig};
use odek_contract::go;
use odek_contract::names::ServerName;
use odek_contract::result::{CallFailure, ModelResult, ResultContext};

use super::arguments::Arguments;
use super::builder::ClientBuilder;
use super::connection::{CloseReport, Connection, Response};
use super::error::{ConnectError, DiscoverError};
use super::process::ServerExit;
use super::request::{RequestFailure, RequestId};
use super::tools::{self, Discovery};
use super::trace::Explanation;

/// What the host sends as the parameters of `initialize`.
const INITIALIZE_PARAMS: &str = r#"{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"odek","version":"dev"}}"#;

/// A running server, called as odek calls it.
///
/// A client can be shared between threads; any number of calls may be open at once and each gets its
/// own answer. Dropping the client closes the connection as [`close`](Self::close) does.
///
/// ```no_run
/// use odek_contract::config::ServerConfig;
/// use odek_contract::names::ServerName;
/// use odek_host::odek::Client;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let config = ServerConfig::new("target/debug/log-analyzer")
///     .timeout_seconds(10)
///     .artifact_root("/var/ci-artifacts");
/// let client = Client::builder(ServerName::new("log-analyzer")?, &config).connect()?;
/// let discovery = client.discover()?;
/// assert!(discovery.tool("summarize").is_some());
///
/// let result = client.call("summarize", serde_json::json!({"path": "report.xml"}))?;
/// assert!(result.text.contains("3 failed"));
/// client.close();
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Client {
    server: ServerName,
    limits: Limits,
    warnings: Vec<ConfigWarning>,
    artifact_roots: Vec<String>,
    working_directory: PathBuf,
    connection: Connection,
}

/// What the builder hands over.
pub(crate) struct Parts {
    pub(crate) server: ServerName,
    pub(crate) limits: Limits,
    pub(crate) warnings: Vec<ConfigWarning>,
    pub(crate) artifact_roots: Vec<String>,
    pub(crate) working_directory: PathBuf,
    pub(crate) connection: Connection,
}

/// One tool call from end to end: what was sent, what came back, and what the model reads.
#[derive(Debug)]
pub struct Exchange {
    /// The number of the request.
    pub id: RequestId,
    /// The line that was sent, or would have been, without its line feed.
    pub request: String,
    /// The line that answered it, as the server wrote it, without its line feed.
    pub reply: Option<Vec<u8>>,
    /// What the model reads, or how the call failed.
    pub outcome: Result<ModelResult, CallFailure>,
    /// What the host does not say: lines that it skipped during the call, and why no answer could
    /// arrive. Calls that are open at the same time share the skipped lines.
    pub explanations: Vec<Explanation>,
    /// From the call to its outcome.
    pub duration: Duration,
}

impl Client {
    /// Begins to set up a client for the server `server` with this entry of `mcp_servers`.
    pub fn builder(server: ServerName, config: &ServerConfig) -> ClientBuilder<'_> {
        ClientBuilder::new(server, config)
    }

    pub(crate) fn new(parts: Parts) -> Self {
        let Parts {
            server,
            limits,
            warnings,
            artifact_roots,
            working_directory,
            connection,
        } = parts;
        Self {
            server,
            limits,
            warnings,
            artifact_roots,
            working_directory,
            connection,
        }
    }

    /// The server's name.
    pub fn server(&self) -> &ServerName {
        &self.server
    }

    /// The limits in force, after defaults, clamps and floors.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// What the host warns about in the configuration, in its order.
    pub fn warnings(&self) -> &[ConfigWarning] {
        &self.warnings
    }

    /// The process id of the server.
    pub fn process_id(&self) -> u32 {
        self.connection.process_id()
    }

    /// How the server process ended, if it has.
    pub fn exit(&self) -> Option<ServerExit> {
        self.connection.exit()
    }

    /// The end of what the server wrote to standard error, when that is
    /// [captured](super::Stderr::Capture). Bytes that are not UTF-8 are replaced.
    pub fn captured_stderr(&self) -> Option<String> {
        self.connection.captured_stderr()
    }

    /// Sends `initialize`, as the host does first. [`connect`](ClientBuilder::connect) has done so; a
    /// client from [`spawn`](ClientBuilder::spawn) has not, so that another thread can
    /// [`close`](Self::close) it while the server starts.
    ///
    /// # Errors
    ///
    /// When the answer is an error, and when none comes.
    pub fn initialize(&self) -> Result<(), ConnectError> {
        let Response {
            outcome,
            explanations,
            ..
        } = self
            .connection
            .request("initialize", Some(INITIALIZE_PARAMS), None);
        match outcome {
            // Whatever the answer says is fine with the host.
            Ok(_) => Ok(()),
            Err(failure) => Err(ConnectError::Initialize {
                server: self.server.to_string(),
                failure,
                explanations,
            }),
        }
    }

    /// Asks for the server's tools and applies the host's name rules. Only the first page exists
    /// for the host (host facts, sections 2 and 7).
    ///
    /// # Errors
    ///
    /// When `tools/list` fails, is no tool list, or holds one bad name: the host then rejects the
    /// whole server.
    pub fn discover(&self) -> Result<Discovery, DiscoverError> {
        let server = self.server.as_str();
        let Response {
            outcome,
            explanations,
            ..
        } = self.connection.request("tools/list", None, None);
        let result = outcome.map_err(|failure| DiscoverError::Request {
            server: server.to_owned(),
            failure,
            explanations,
        })?;
        tools::read_tool_list(&self.server, &result)
    }

    /// Calls a tool and gives what the model reads.
    ///
    /// The name is the server's own, without the `SERVER__` prefix that the model sees. As in the
    /// host, it is sent unchecked.
    ///
    /// # Errors
    ///
    /// Every way in which the call fails for the model; the text of the error is what the host
    /// passes on.
    pub fn call(
        &self,
        tool: &str,
        arguments: impl Into<Arguments>,
    ) -> Result<ModelResult, CallFailure> {
        self.exchange(tool, arguments).outcome
    }

    /// Calls a tool and gives the whole exchange.
    pub fn exchange(&self, tool: &str, arguments: impl Into<Arguments>) -> Exchange {
        self.finish(tool, self.send(tool, &arguments.into(), None))
    }

    /// Calls a tool with a deadline of the caller's own. The configured timeout holds as well;
    /// whichever comes first ends the call.
    pub fn exchange_until(
        &self,
        tool: &str,
        arguments: impl Into<Arguments>,
        deadline: Instant,
    ) -> Exchange {
        self.finish(tool, self.send(tool, &arguments.into(), Some(deadline)))
    }

    fn send(&self, tool: &str, arguments: &Arguments, deadline: Option<Instant>) -> Response {
        // A JSON string, and so the same text in the host's spelling.
        let name = go::arguments_from_model_text(&serde_json::Value::from(tool).to_string());
        let params = format!(r#"{{"name":{name},"arguments":{}}}"#, arguments.as_json());
        self.connection
            .request("tools/call", Some(&params), deadline)
    }

    fn finish(&self, tool: &str, response: Response) -> Exchange {
        let Response {
            id,
            request,
            reply,
            outcome,
            explanations,
            duration,
        } = response;
        // Resolved anew for each call: the host follows links and looks for missing roots when a
        // reference arrives, not when the server starts.
        let roots = ArtifactRoots::resolve(&self.artifact_roots, &self.working_directory);
        let context = ResultContext {
            server: self.server.as_str(),
            tool,
            limits: &self.limits,
            roots: &roots,
        };
        let outcome = match outcome {
            Ok(result) => context.read_result(&result),
            Err(failure) => Err(call_failure(&context, failure)),
        };
        Exchange {
            id,
            request,
            reply,
            outcome,
            explanations,
            duration,
        }
    }

    /// Ends the connection as the host does: closes the server's standard input, waits up to
    /// [5 s](super::CLOSE_GRACE) for the process, then kills it, and only it. Open calls fail.
    /// Closing once more gives the same report.
    pub fn close(&self) -> CloseReport {
        self.connection.close()
    }
}

/// The failure of a request as the failure of a tool call.
fn call_failure(context: &ResultContext<'_>, failure: RequestFailure) -> CallFailure {
    let server = context.server.to_owned();
    match failure {
        RequestFailure::Rpc { code, message } => context.read_rpc_error(code, &message),
        RequestFailure::LineTooLong {
            server,
            max_response_bytes,
        } => CallFailure::LineTooLong {
            server,
            limit: max_response_bytes,
        },
        RequestFailure::DeadlineExceeded(request) => CallFailure::Timeout { server, request },
        RequestFailure::ConnectionClosed(request)
        | RequestFailure::ClosedBeforeDispatch(request) => {
            CallFailure::ConnectionClosed { server, request }
        }
        RequestFailure::Write { request, message } => CallFailure::WriteFailed {
            server,
            request,
            problem: message,
        },
    }
}
