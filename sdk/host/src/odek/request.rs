//! One request: its number, its way to the server, and how it can fail before the meaning of an
//! answer is looked at.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use odek_contract::result::RequestState;
use thiserror::Error;

/// The number of a request on its connection. They count up by one, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub(crate) i64);

impl RequestId {
    /// The number as sent.
    pub fn get(self) -> i64 {
        self.0
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Why a request got no result (host facts, section 3). The text is the host's own; the host puts
/// the server's name and the method in front.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RequestFailure {
    /// The server answered with a JSON-RPC error.
    #[error("MCP error {code}: {message}")]
    Rpc {
        /// The error's code, 0 when missing.
        code: i64,
        /// The error's message, empty when missing.
        message: String,
    },
    /// The server wrote a line longer than allowed while the request was open.
    #[error(
        "mcpclient {server}: response line exceeded configured max_response_bytes limit of \
         {max_response_bytes} bytes"
    )]
    LineTooLong {
        /// The server's name.
        server: String,
        /// The configured limit in bytes.
        max_response_bytes: u64,
    },
    /// The request's deadline passed.
    #[error("{0}: context deadline exceeded")]
    DeadlineExceeded(RequestState),
    /// The server closed its output, or the connection was closed, while the request was open.
    #[error("{0}: connection closed before response received")]
    ConnectionClosed(RequestState),
    /// The connection had been closed before the request.
    #[error("{0}: connection closed before dispatch")]
    ClosedBeforeDispatch(RequestState),
    /// An earlier write failed, so this request was not written.
    #[error("{request}: write: {message}")]
    Write {
        /// Whether the server can have seen the request.
        request: RequestState,
        /// The failure of the earlier write, as the host words it.
        message: String,
    },
}

/// A request on its way to the server.
///
/// The caller may give up at any time, and the writing thread may begin to write at any time. Both
/// go through one lock, so that a request is never reported as unsent while it is being sent.
#[derive(Debug)]
pub(crate) struct OutgoingRequest {
    pub(crate) id: RequestId,
    /// The whole line, line feed included.
    pub(crate) line: Vec<u8>,
    pub(crate) deadline: Instant,
    progress: Mutex<Progress>,
}

/// How far a request has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    Queued,
    GivenUp,
    Writing,
    Written,
}

impl OutgoingRequest {
    pub(crate) fn new(id: RequestId, line: Vec<u8>, deadline: Instant) -> Self {
        Self {
            id,
            line,
            deadline,
            progress: Mutex::new(Progress::Queued),
        }
    }

    /// Called before the first byte is written. Says whether to write at all.
    pub(crate) fn begin_writing(&self) -> bool {
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        if *progress != Progress::Queued || Instant::now() >= self.deadline {
            return false;
        }
        *progress = Progress::Writing;
        true
    }

    pub(crate) fn written(&self) {
        *self.progress.lock().unwrap_or_else(PoisonError::into_inner) = Progress::Written;
    }

    /// Called when the caller stops waiting. Says how far the request had come.
    pub(crate) fn give_up(&self) -> Progress {
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        let reached = *progress;
        if reached == Progress::Queued {
            *progress = Progress::GivenUp;
        }
        reached
    }
}

impl Progress {
    pub(crate) fn state(self) -> RequestState {
        match self {
            Self::Queued | Self::GivenUp => RequestState::NotDispatched,
            Self::Writing | Self::Written => RequestState::Dispatched,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn request(patience: Duration) -> OutgoingRequest {
        OutgoingRequest::new(RequestId(3), b"{}\n".to_vec(), Instant::now() + patience)
    }

    #[test]
    fn a_request_that_was_given_up_is_not_written() {
        let request = request(Duration::from_secs(60));
        assert_eq!(request.give_up().state(), RequestState::NotDispatched);
        assert!(!request.begin_writing());
    }

    #[test]
    fn a_request_past_its_deadline_is_not_written() {
        assert!(!request(Duration::ZERO).begin_writing());
    }

    #[test]
    fn a_request_that_was_begun_has_an_unknown_outcome() {
        let request = request(Duration::from_secs(60));
        assert!(request.begin_writing());
        assert_eq!(request.give_up().state(), RequestState::Dispatched);
        request.written();
        assert_eq!(request.give_up(), Progress::Written);
    }
}
