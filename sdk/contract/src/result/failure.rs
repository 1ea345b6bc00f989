//! How a call fails, in the host's words.

use std::fmt;

use super::Observation;
use crate::artifact::{ArtifactError, MAX_ARTIFACTS};
use crate::decode::TypeMismatch;
use crate::envelope::{EnvelopeError, TOOL_RESULT_SCHEMA};
use crate::go::JsonError;

/// A failed `tools/call`. Its text is the host's whole message, which is what the model reads
/// (wrapped, see [`crate::agent_loop::wrap_error`]).
///
/// The variants about the answer are made by [`ResultContext`](super::ResultContext); those about
/// the connection belong to whoever runs one.
#[derive(Debug, thiserror::Error)]
pub enum CallFailure {
    /// The result is not what the host can read (host facts, section 4).
    #[error("mcpclient {server}: parse result: {source}")]
    ParseResult {
        /// Name of the server.
        server: String,
        /// What does not fit.
        source: ParseResultError,
    },
    /// The tool answered with `isError`.
    #[error("mcpclient {server}: tool {tool} returned error: {message}")]
    ToolError {
        /// Name of the server.
        server: String,
        /// Name of the tool.
        tool: String,
        /// Text of the first content item, guarded and capped.
        message: String,
        /// What the host did in silence.
        observations: Vec<Observation>,
    },
    /// The server answered with a JSON-RPC error.
    #[error("mcpclient {server}: tools/call: MCP error {code}: {message}")]
    RpcError {
        /// Name of the server.
        server: String,
        /// Code of the error; 0 when there was none.
        code: i64,
        /// Message of the error, guarded and capped.
        message: String,
        /// What the host did in silence.
        observations: Vec<Observation>,
    },
    /// A text claims to be an envelope but has a member of the wrong type.
    #[error("mcpclient {server}: tool {tool}: malformed {TOOL_RESULT_SCHEMA} envelope: {source}")]
    MalformedEnvelope {
        /// Name of the server.
        server: String,
        /// Name of the tool.
        tool: String,
        /// The member.
        source: TypeMismatch,
    },
    /// More references than the host takes; counted before any of them is looked at.
    #[error(
        "mcpclient {server}: tool {tool}: {scope} carries {count} artifacts; the cap is {MAX_ARTIFACTS}"
    )]
    TooManyArtifacts {
        /// Name of the server.
        server: String,
        /// Name of the tool.
        tool: String,
        /// Number of references.
        count: usize,
        /// Where they were counted.
        scope: ArtifactScope,
    },
    /// A reference broke a rule; nothing of the result is shown.
    #[error("mcpclient {server}: tool {tool}: artifact ref rejected: {source}")]
    ArtifactRejected {
        /// Name of the server.
        server: String,
        /// Name of the tool.
        tool: String,
        /// The first broken rule of the first bad reference.
        source: Box<ArtifactError>,
    },
    /// No answer came in time (host facts, section 3, "Timeouts and broken connections").
    #[error("mcpclient {server}: tools/call: {request}: context deadline exceeded")]
    Timeout {
        /// Name of the server.
        server: String,
        /// How far the request got.
        request: RequestState,
    },
    /// The server closed its output before it answered.
    #[error("mcpclient {server}: tools/call: {request}: connection closed before {}", request.awaited())]
    ConnectionClosed {
        /// Name of the server.
        server: String,
        /// How far the request got.
        request: RequestState,
    },
    /// The request could not be written.
    #[error("mcpclient {server}: tools/call: {request}: write: {problem}")]
    WriteFailed {
        /// Name of the server.
        server: String,
        /// How far the request got.
        request: RequestState,
        /// The system's message.
        problem: String,
    },
    /// The server sent a line that is too long; the host stops reading for good (host facts,
    /// section 3, "Line length").
    #[error(
        "mcpclient {server}: tools/call: mcpclient {server}: response line exceeded configured \
         max_response_bytes limit of {limit} bytes"
    )]
    LineTooLong {
        /// Name of the server.
        server: String,
        /// The configured limit in bytes, which is not always the one in force; see
        /// [`Limits::longest_line`](crate::config::Limits::longest_line).
        limit: u64,
    },
}

/// Why a result cannot be read.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ParseResultError {
    /// It is no JSON.
    #[error(transparent)]
    Json(#[from] JsonError),
    /// A member that the host reads has the wrong JSON type.
    #[error(transparent)]
    WrongType(#[from] TypeMismatch),
}

/// Where references were counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArtifactScope {
    /// In one envelope.
    Envelope,
    /// In all envelopes of a result together.
    Result,
}

impl fmt::Display for ArtifactScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Envelope => write!(f, "{TOOL_RESULT_SCHEMA} envelope"),
            Self::Result => f.write_str("envelope"),
        }
    }
}

/// How far a request got before the call failed. The text is the phrase that the model reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestState {
    /// It had been written, at least in part: the tool may have run.
    Dispatched,
    /// It had not been written: the tool did not run.
    NotDispatched,
}

impl RequestState {
    /// What the connection was closed before.
    fn awaited(self) -> &'static str {
        match self {
            Self::Dispatched => "response received",
            Self::NotDispatched => "dispatch",
        }
    }
}

impl fmt::Display for RequestState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Dispatched => {
                "MCP request outcome unknown after dispatch; verify remote state before retrying"
            }
            Self::NotDispatched => "MCP request not dispatched",
        })
    }
}

impl CallFailure {
    /// A short stable name for the kind of failure, the same as in the host vectors.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::ParseResult { .. } => "bad-result",
            Self::ToolError { .. } => "tool-error",
            Self::RpcError { .. } => "rpc-error",
            Self::MalformedEnvelope { .. } => "malformed-envelope",
            Self::TooManyArtifacts { .. } => "too-many-artifacts",
            Self::ArtifactRejected { .. } => "artifact-rejected",
            Self::Timeout { .. } => "timeout",
            Self::ConnectionClosed { .. } => "connection-closed",
            Self::WriteFailed { .. } => "write-failed",
            Self::LineTooLong { .. } => "line-too-long",
        }
    }

    /// The rule that a rejected reference broke, see [`ArtifactError::reason`].
    pub fn artifact_reason(&self) -> Option<&'static str> {
        match self {
            Self::ArtifactRejected { source, .. } => Some(source.reason()),
            _ => None,
        }
    }

    /// What the host did in silence while it made the message.
    pub fn observations(&self) -> &[Observation] {
        match self {
            Self::ToolError { observations, .. } | Self::RpcError { observations, .. } => {
                observations
            }
            _ => &[],
        }
    }

    pub(super) fn from_envelope(server: &str, tool: &str, error: EnvelopeError) -> Self {
        let (server, tool) = (server.to_owned(), tool.to_owned());
        match error {
            EnvelopeError::WrongType(source) => Self::MalformedEnvelope {
                server,
                tool,
                source,
            },
            EnvelopeError::TooManyArtifacts { count } => {
                let scope = ArtifactScope::Envelope;
                Self::TooManyArtifacts {
                    server,
                    tool,
                    count,
                    scope,
                }
            }
        }
    }
}
