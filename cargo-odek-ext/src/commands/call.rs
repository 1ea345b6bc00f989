//! `cargo odek-ext call`: calls a tool exactly as odek does and prints what the model reads.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use odek_contract::agent_loop::{self, LOOP_HEAD_BYTES, LOOP_RESULT_BYTES, LOOP_TAIL_BYTES};
use odek_contract::config::ServerConfig;
use odek_contract::names::{QualifiedName, ServerName};
use odek_contract::result::{CallFailure, ModelResult};
use odek_host::odek::{
    Arguments as CallArguments, Client, CloseManner, CloseReport, Exchange, ServerExit,
};
use serde::Serialize;
use serde_json::Value;

use crate::error::ExpectedError;
use crate::interrupt::Interrupt;
use crate::output::{Format, Output, Verdict};
use crate::project::{BuildOptions, Project};
use crate::server_entry::{self, ServerEntry};

mod model_text;
pub(crate) mod wire;

use wire::{Wire, WireLine};

/// Stands in for the random text with which the agent loop marks each result.
const NONCE: &str = "0000000000000000";

/// Call a tool exactly as odek does and print what the model reads.
///
/// Builds the project, starts it as its `odek.json` says, in the project's directory as odek's
/// working directory, and calls the tool. Standard output gets the text that odek's client returns,
/// byte for byte; only on a terminal a line feed is added where the text ends without one. What the
/// host does in silence is told on standard error.
///
/// As under odek, each answer is waited for as long as `timeout_seconds` says (30 s by default), and
/// the server is killed when it has not ended 5 s after its standard input.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Name of the tool, without the server's.
    tool: String,

    /// The tool's arguments: one JSON document, `@FILE` to read it from a file (`@-` from standard
    /// input), or `key=value` words. A value that is JSON counts as such, any other is a string.
    #[arg(value_name = "JSON | KEY=VALUE")]
    arguments: Vec<String>,

    /// Print what the agent loop hands to the model: the text wrapped as untrusted, and shortened
    /// when it is long.
    #[arg(long, conflicts_with = "raw")]
    as_model: bool,

    /// Print the lines on the wire instead: `>` before what odek sends, `<` before what it gets.
    #[arg(long)]
    raw: bool,

    /// Directory of the project.
    #[arg(
        long,
        value_name = "DIRECTORY",
        default_value = ".",
        hide_default_value = true
    )]
    project: PathBuf,

    /// Binary of the project to run, where it has several.
    #[arg(long, value_name = "NAME")]
    bin: Option<String>,

    /// Take the server from this configuration of odek and build nothing. Relative paths in it
    /// start at the current directory, as odek's start at its own.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["project", "bin"])]
    config: Option<PathBuf>,

    /// Name of the `mcp_servers` entry, where there are several.
    #[arg(long, value_name = "NAME")]
    server: Option<String>,
}

pub(crate) fn run(arguments: Arguments, output: &Output) -> Result<Verdict, ExpectedError> {
    let text = model_text::model_text(&arguments.arguments)?;
    let interrupt = Interrupt::arm()?;
    let session = match &arguments.config {
        Some(file) => configured(file, arguments.server.as_deref())?,
        None => built(&arguments, &interrupt, output)?,
    };
    let wire = if arguments.raw {
        Wire::wanted(output.format())
    } else {
        Wire::unwanted()
    };
    let sent = CallArguments::from_model_text(&text);
    let exchange = session.exchange(&arguments.tool, sent, &wire, &interrupt, output)?;
    let form = match (arguments.raw, arguments.as_model) {
        (true, _) => Form::Raw,
        (false, true) => Form::AsModel,
        (false, false) => Form::Text,
    };
    Call {
        server: session.name,
        tool: arguments.tool,
        exchange,
        wire,
    }
    .report(form, output)
}

/// Which server to start, and where.
pub(crate) struct Session {
    pub(crate) name: ServerName,
    pub(crate) config: ServerConfig,
    pub(crate) directory: PathBuf,
}

fn configured(file: &Path, wanted: Option<&str>) -> Result<Session, ExpectedError> {
    let entry = server_entry::read(file, wanted, None)?;
    Ok(Session {
        name: entry.name,
        config: entry.config,
        directory: PathBuf::from("."),
    })
}

fn built(
    arguments: &Arguments,
    interrupt: &Interrupt,
    output: &Output,
) -> Result<Session, ExpectedError> {
    let project = Project::find(&arguments.project)?;
    let options = BuildOptions {
        binary: arguments.bin.clone(),
        ..BuildOptions::default()
    };
    let binary = project.build(&options, interrupt)?;
    let session = Session::of_project(&project, &binary, arguments.server.as_deref(), output)?;
    Ok(session)
}

impl Session {
    /// The server of a project, with the binary that was built for it.
    pub(crate) fn of_project(
        project: &Project,
        binary: &Path,
        wanted: Option<&str>,
        output: &Output,
    ) -> Result<Self, ExpectedError> {
        let file = project.directory().join("odek.json");
        if !file.exists() {
            return Err(ExpectedError::NoOdekConfig { path: file });
        }
        let preferred = binary.file_name().and_then(|name| name.to_str());
        let ServerEntry {
            name,
            mut config,
            total,
        } = server_entry::read(&file, wanted, preferred)?;
        if total > 1 && wanted.is_none() {
            output.warning(format_args!(
                "`{}` names {total} servers; calling `{name}` (choose with `--server`)",
                file.display()
            ));
        }
        if total == 1 || starts(&config, binary) {
            config.command = path_text(binary)?;
        } else {
            output.note(format_args!(
                "the server `{name}` does not start the project's binary; it runs as `{}`, as \
                 configured",
                config.command
            ));
        }
        Ok(Self {
            name,
            config,
            directory: project.directory().to_owned(),
        })
    }

    /// Starts the server, calls the tool and ends the server, and tells what the host complains
    /// about. An interrupt ends the server, too.
    ///
    /// # Errors
    ///
    /// Fails when the call cannot be made; a call that was made and failed is no error.
    pub(crate) fn exchange(
        &self,
        tool: &str,
        arguments: CallArguments,
        wire: &Wire,
        interrupt: &Interrupt,
        output: &Output,
    ) -> Result<Exchange, ExpectedError> {
        interrupt.check()?;
        let client = Client::builder(self.name.clone(), &self.config)
            .working_directory(&self.directory)
            .trace(wire.sink())
            .spawn()
            .map_err(ExpectedError::connect)?;
        for warning in client.warnings() {
            output.warning(warning);
        }
        let close = || {
            client.close();
        };
        let exchange = interrupt.watch(close, || {
            client.initialize().map_err(|error| {
                tell(error.explanations(), output);
                ExpectedError::connect(error)
            })?;
            check_tool(&client, tool, output)?;
            Ok(client.exchange(tool, arguments))
        });
        let closed = client.close();
        // The terminal's interrupt reaches the server as well, so a failure may only be its echo.
        interrupt.check()?;
        let exchange = exchange?;
        if !matches!(&exchange, Ok(exchange) if exchange.outcome.is_ok()) {
            tell_unexpected_exit(closed, output);
        }
        exchange
    }
}

/// Tells how the server process ended where that may be the reason of a failure.
fn tell_unexpected_exit(closed: CloseReport, output: &Output) {
    let CloseReport { exit, manner, .. } = closed;
    if manner == CloseManner::EndedBefore
        || (manner == CloseManner::EndedOnEof && exit != ServerExit::Code(0))
    {
        output.note(format_args!("the server process has ended: {exit}"));
    }
}

/// Whether a server's command is a build of the binary, wherever that lies.
fn starts(config: &ServerConfig, binary: &Path) -> bool {
    Path::new(&config.command).file_name() == binary.file_name()
}

fn path_text(path: &Path) -> Result<String, ExpectedError> {
    match path.to_str() {
        Some(text) => Ok(text.to_owned()),
        None => Err(ExpectedError::PathNotUtf8 {
            path: path.to_owned(),
        }),
    }
}

/// Asks for the tools, as odek does at its start, and looks for the one to be called.
fn check_tool(client: &Client, wanted: &str, output: &Output) -> Result<(), ExpectedError> {
    let discovery = client.discover().map_err(|error| {
        tell(error.explanations(), output);
        ExpectedError::Discover {
            message: error.to_string(),
        }
    })?;
    for finding in &discovery.findings {
        output.warning(finding);
    }
    let Some(tool) = discovery.tool(wanted) else {
        return Err(ExpectedError::unknown_tool(
            client.server().as_str(),
            wanted,
            discovery
                .tools
                .iter()
                .map(|tool| tool.name.to_string())
                .collect(),
        ));
    };
    if let Some(warning) = QualifiedName::new(client.server(), &tool.name).provider_warning() {
        output.warning(warning);
    }
    Ok(())
}

fn tell(explanations: &[impl std::fmt::Display], output: &Output) {
    for explanation in explanations {
        output.note(explanation);
    }
}

/// Which form of a result to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Text,
    AsModel,
    Raw,
}

/// One call that has come to an end.
struct Call {
    server: ServerName,
    tool: String,
    exchange: Exchange,
    wire: Wire,
}

impl Call {
    fn report(self, form: Form, output: &Output) -> Result<Verdict, ExpectedError> {
        tell(&self.exchange.explanations, output);
        match &self.exchange.outcome {
            Ok(result) => self.succeeded(result, form, output),
            Err(failure) => self.failed(failure, form, output),
        }
    }

    fn succeeded(
        &self,
        result: &ModelResult,
        form: Form,
        output: &Output,
    ) -> Result<Verdict, ExpectedError> {
        tell(&result.observations, output);
        if self.is_shortened(result) && form != Form::AsModel {
            output.warning(shortening(&self.wrapped(result)));
        }
        match (output.format(), form) {
            (Format::Json, _) => output.document(&Document::success(self, result))?,
            (Format::Human, Form::Text) => output.exact(&result.text)?,
            (Format::Human, Form::AsModel) => output.exact(&self.as_model(result))?,
            (Format::Human, Form::Raw) => {}
        }
        Ok(Verdict::Fine)
    }

    fn failed(
        &self,
        failure: &CallFailure,
        form: Form,
        output: &Output,
    ) -> Result<Verdict, ExpectedError> {
        output.failure(failure);
        match (output.format(), form) {
            (Format::Json, _) => output.document(&Document::failure(self, failure))?,
            (Format::Human, Form::AsModel) => output.exact(&self.error_as_model(failure))?,
            (Format::Human, Form::Text | Form::Raw) => {}
        }
        Ok(Verdict::FallsShort)
    }

    fn is_shortened(&self, result: &ModelResult) -> bool {
        self.wrapped(result).len() > LOOP_RESULT_BYTES
    }

    fn wrapped(&self, result: &ModelResult) -> String {
        agent_loop::wrap_untrusted(self.server.as_str(), &self.tool, NONCE, &result.text)
    }

    fn as_model(&self, result: &ModelResult) -> String {
        agent_loop::shorten(&self.wrapped(result)).into_owned()
    }

    fn error_as_model(&self, failure: &CallFailure) -> String {
        let message = failure.to_string();
        agent_loop::wrap_error(self.server.as_str(), &self.tool, NONCE, &message)
    }
}

fn shortening(wrapped: &str) -> String {
    let mut text = String::new();
    let _ = write!(
        text,
        "the model will not see this result whole: with its wrapping it has {} bytes, and odek's \
         agent loop shortens what is longer than {LOOP_RESULT_BYTES} to the first \
         {LOOP_HEAD_BYTES} and the last {LOOP_TAIL_BYTES} (`--as-model` shows that form)",
        wrapped.len()
    );
    text
}

/// The document of `--format json`.
#[derive(Debug, Serialize)]
struct Document<'a> {
    server: &'a str,
    tool: &'a str,
    /// What was sent as `arguments`.
    arguments: Value,
    /// The text that odek's client returns; null when the call failed.
    text: Option<&'a str>,
    /// What the agent loop hands to the model, with zeros for its random mark.
    as_model: String,
    /// Whether the agent loop shortens the text.
    shortened: bool,
    /// The `odek.artifact-ref/v1` references, as the server gave them.
    artifacts: Vec<ArtifactDocument>,
    /// What the host does with the result in silence.
    observations: Vec<String>,
    /// What the host does not say about lines that it skipped.
    explanations: Vec<String>,
    /// The host's message, when the call failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    duration_ms: u64,
    /// The lines on the wire, with `--raw`.
    #[serde(skip_serializing_if = "Option::is_none")]
    wire: Option<Vec<WireLine>>,
}

#[derive(Debug, Serialize)]
struct ArtifactDocument {
    id: String,
    media_type: String,
    size_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<String>,
    /// The file behind the reference, all links followed.
    path: PathBuf,
}

impl<'a> Document<'a> {
    fn new(call: &'a Call) -> Self {
        let exchange = &call.exchange;
        Self {
            server: call.server.as_str(),
            tool: &call.tool,
            arguments: sent_arguments(&exchange.request),
            text: None,
            as_model: String::new(),
            shortened: false,
            artifacts: Vec::new(),
            observations: Vec::new(),
            explanations: texts(&exchange.explanations),
            error: None,
            duration_ms: milliseconds(exchange.duration),
            wire: call.wire.collected(),
        }
    }

    fn success(call: &'a Call, result: &'a ModelResult) -> Self {
        Self {
            text: Some(&result.text),
            as_model: call.as_model(result),
            shortened: call.is_shortened(result),
            artifacts: artifact_documents(result),
            observations: texts(&result.observations),
            ..Self::new(call)
        }
    }

    fn failure(call: &'a Call, failure: &CallFailure) -> Self {
        Self {
            as_model: call.error_as_model(failure),
            error: Some(failure.to_string()),
            ..Self::new(call)
        }
    }
}

fn artifact_documents(result: &ModelResult) -> Vec<ArtifactDocument> {
    let pairs = result.artifacts.iter().zip(&result.files);
    pairs
        .map(|(reference, file)| ArtifactDocument {
            id: reference.id.clone(),
            media_type: reference.media_type.clone(),
            size_bytes: file.size_bytes,
            sha256: reference.sha256.clone(),
            summary: reference.summary.clone(),
            path: file.path.clone(),
        })
        .collect()
}

fn sent_arguments(request: &str) -> Value {
    let request: Value = serde_json::from_str(request).unwrap_or_default();
    request["params"]["arguments"].clone()
}

fn texts(items: &[impl std::fmt::Display]) -> Vec<String> {
    items.iter().map(ToString::to_string).collect()
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
