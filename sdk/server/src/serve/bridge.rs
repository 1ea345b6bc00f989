//! Everything but `tools/call` is rmcp's: the handshake, listing, pings, unknown methods.

use std::{borrow::Cow, future, sync::Arc};

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        ClientJsonRpcMessage, ClientRequest, Implementation, InitializeResult, JsonRpcMessage,
        ListToolsResult, PaginatedRequestParams, ProtocolVersion, ServerCapabilities, Tool,
    },
    service::{self, RequestContext, RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use serde_json::json;
use tokio::{runtime::Runtime, sync::mpsc};

use crate::{
    extension::Parts,
    serve::{
        in_flight::InFlight,
        listing,
        message::{INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, Id, Rejection},
        output::Output,
    },
};

/// The protocol versions with an `initialize` handshake. odek asks for 2025-03-26 (contract,
/// Transport and protocol).
static VERSIONS: &[ProtocolVersion] = &[
    ProtocolVersion::V_2024_11_05,
    ProtocolVersion::V_2025_03_26,
    ProtocolVersion::V_2025_06_18,
    ProtocolVersion::V_2025_11_25,
];

/// The methods whose params rmcp knows. One of these that arrives as a custom request had params
/// that do not fit.
const KNOWN_METHODS: [&str; 3] = ["initialize", "tools/list", "ping"];

/// The way to rmcp. Dropping it ends rmcp's service.
pub(crate) struct Bridge {
    requests: mpsc::UnboundedSender<RxJsonRpcMessage<RoleServer>>,
    in_flight: Arc<InFlight>,
}

impl Bridge {
    pub(crate) fn start(
        runtime: &Runtime,
        parts: &Arc<Parts>,
        output: &Arc<Output>,
        in_flight: &Arc<InFlight>,
    ) -> Self {
        let (requests, incoming) = mpsc::unbounded_channel();
        let transport = LineTransport {
            incoming,
            output: Arc::clone(output),
            in_flight: Arc::clone(in_flight),
        };
        let handler = Handler {
            tools: parts.registry.iter().map(listing::listed_tool).collect(),
            parts: Arc::clone(parts),
        };
        runtime.spawn(async move {
            // Without rmcp's own handshake, so that no order of messages ends the connection.
            let service = service::serve_directly(handler, transport, None);
            if let Err(error) = service.waiting().await {
                tracing::error!("the protocol service ended: {error}");
            }
        });
        Self {
            requests,
            in_flight: Arc::clone(in_flight),
        }
    }

    /// Hand a request or notification to rmcp.
    pub(crate) fn forward(&self, id: Option<Id>, text: &str) -> Result<(), Rejection> {
        let message: ClientJsonRpcMessage = match serde_json::from_str(text) {
            Ok(message) => message,
            // A notification that cannot be understood has nobody to tell.
            Err(_) if id.is_none() => return Ok(()),
            Err(error) => {
                let problem = format!("the message is no JSON-RPC 2.0 request: {error}");
                return Err(Rejection::new(id, INVALID_REQUEST, problem));
            }
        };
        if let JsonRpcMessage::Request(request) = &message {
            if let ClientRequest::CustomRequest(custom) = &request.request
                && KNOWN_METHODS.contains(&custom.method.as_str())
            {
                let problem = format!("the params of {} do not fit", custom.method);
                return Err(Rejection::new(id, INVALID_PARAMS, problem));
            }
            self.in_flight.begin();
        }
        self.requests.send(message).map_err(|_| {
            self.in_flight.end();
            Rejection::new(id, INTERNAL_ERROR, "the server is shutting down")
        })
    }
}

/// What rmcp is told about the extension.
struct Handler {
    tools: Vec<Tool>,
    parts: Arc<Parts>,
}

impl ServerHandler for Handler {
    fn get_info(&self) -> InitializeResult {
        let info = InitializeResult::new(ServerCapabilities::builder().enable_tools().build())
            .with_protocol_version(ProtocolVersion::V_2025_03_26)
            .with_server_info(Implementation::new(&*self.parts.name, &self.parts.version));
        match &self.parts.instructions {
            Some(instructions) => info.with_instructions(instructions),
            None => info,
        }
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(VERSIONS)
    }

    /// All tools on one page: the odek client reads no second one (host facts, section 2).
    fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<ListToolsResult, ErrorData>> + Send + '_ {
        future::ready(Ok(ListToolsResult::with_all_items(self.tools.clone())))
    }
}

/// rmcp's view of the connection: messages that the reader has passed on, and the shared output.
struct LineTransport {
    incoming: mpsc::UnboundedReceiver<RxJsonRpcMessage<RoleServer>>,
    output: Arc<Output>,
    in_flight: Arc<InFlight>,
}

impl Transport<RoleServer> for LineTransport {
    type Error = serde_json::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let answers = matches!(
            message,
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_)
        );
        let sent = line(&self.output, &message).map(|line| self.output.send(line));
        if answers {
            self.in_flight.end();
        }
        future::ready(sent)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        self.incoming.recv().await
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}

/// The message's line; for an answer that the host could not read, an error that says so.
fn line(output: &Output, message: &TxJsonRpcMessage<RoleServer>) -> serde_json::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    let Some(limit) = output.limit_exceeded_by(&line) else {
        return Ok(line);
    };
    let id = match message {
        JsonRpcMessage::Response(response) => json!(response.id),
        JsonRpcMessage::Error(error) => json!(error.id),
        _ => json!(null),
    };
    let problem = format!(
        "the answer is {} bytes long; the host reads at most {limit}, set by max_response_bytes",
        line.len() - 1
    );
    let error = json!({"code": INTERNAL_ERROR, "message": problem});
    let mut line = serde_json::to_vec(&json!({"jsonrpc": "2.0", "id": id, "error": error}))?;
    line.push(b'\n');
    Ok(line)
}
