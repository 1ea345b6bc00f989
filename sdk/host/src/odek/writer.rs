//! Writing requests without ever holding up a caller beyond its deadline.
//!
//! A server that does not read fills the pipe. One thread therefore does all the writing, and
//! callers only wait, each up to its own deadline (host facts, section 3).

use std::collections::VecDeque;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::process::ChildStdin;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Instant;

use rustix::event::PollFlags;

use super::latch::{Latch, wait_for_either};
use super::program::system_error_text;
use super::request::{OutgoingRequest, RequestId};
use super::trace::{Tracer, WireEventKind};

/// How many requests wait for the writer before further callers wait for room.
const QUEUE_LENGTH: usize = 32;

/// Requests on their way to the writing thread.
#[derive(Debug, Default)]
pub(crate) struct WriteQueue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Arc<OutgoingRequest>>,
    closed: bool,
    /// The write that failed. Nothing is taken out of the queue afterwards.
    failure: Option<String>,
}

/// Why a request could not be queued.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// No room until the deadline.
    DeadlineExceeded,
    Closed,
    /// An earlier write failed.
    WriteFailed(String),
}

impl WriteQueue {
    /// Queues a request, waiting for room until its deadline.
    pub(crate) fn push(&self, request: Arc<OutgoingRequest>) -> Result<(), Refusal> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while state.waiting.len() >= QUEUE_LENGTH && !state.closed {
            let patience = request.deadline.saturating_duration_since(Instant::now());
            if patience.is_zero() {
                return Err(Refusal::DeadlineExceeded);
            }
            let waited = self.changed.wait_timeout(state, patience);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        if state.closed {
            return Err(Refusal::Closed);
        }
        // Looked at in the same breath as the queueing. The request whose write fails is therefore
        // not the one that learns of it: it waits out its deadline, and the next ones fail at once,
        // as measured with the host.
        let failure = state.failure.clone();
        state.waiting.push_back(request);
        self.changed.notify_all();
        failure.map_or(Ok(()), |message| Err(Refusal::WriteFailed(message)))
    }

    /// The next request to write; `None` once the queue is closed.
    fn next(&self) -> Option<Arc<OutgoingRequest>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if state.closed {
                return None;
            }
            if let Some(request) = state.waiting.pop_front() {
                self.changed.notify_all();
                return Some(request);
            }
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn fail(&self, message: String) {
        self.state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .failure = Some(message);
    }

    /// Refuses every request from now on and lets the writing thread end.
    pub(crate) fn close(&self) {
        self.state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .closed = true;
        self.changed.notify_all();
    }
}

/// Runs on the writing thread until the queue is closed or a write fails; then closes the server's
/// standard input.
pub(crate) fn write_requests(
    mut input: ChildStdin,
    queue: &WriteQueue,
    closing: &Latch,
    exited: &Latch,
    tracer: &Tracer,
) {
    while let Some(request) = queue.next() {
        if !request.begin_writing() {
            tracer.record(|| WireEventKind::NeverSent { id: request.id });
            continue;
        }
        match write_all(&mut input, &request.line, closing, exited) {
            Ok(()) => {
                request.written();
                tracer.record(|| sent(request.id, &request.line));
            }
            Err(Interrupted::Closing) => break,
            Err(Interrupted::Failed(message)) => {
                tracer.record(|| WireEventKind::WriteFailed {
                    id: request.id,
                    message: message.clone(),
                });
                queue.fail(message);
                break;
            }
        }
    }
    drop(input);
    tracer.record(|| WireEventKind::InputClosed);
}

fn sent(id: RequestId, line: &[u8]) -> WireEventKind {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    WireEventKind::Sent {
        id,
        line: String::from_utf8_lossy(line).into_owned(),
    }
}

enum Interrupted {
    /// The connection is being closed.
    Closing,
    /// The write failed, with this text.
    Failed(String),
}

/// Writes all of `bytes`, for as long as neither latch is on.
fn write_all(
    input: &mut ChildStdin,
    mut bytes: &[u8],
    closing: &Latch,
    exited: &Latch,
) -> Result<(), Interrupted> {
    while !bytes.is_empty() {
        if closing.is_set() {
            return Err(Interrupted::Closing);
        }
        if exited.is_set() {
            // The host lets go of the pipe as soon as the process is gone, even when a child of the
            // server still holds the other end.
            return Err(Interrupted::Failed(
                "write |1: file already closed".to_owned(),
            ));
        }
        match input.write(bytes) {
            Ok(0) => return Err(failed(&io::ErrorKind::WriteZero.into())),
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                wait_for_either([closing, exited], input.as_fd(), PollFlags::OUT)
                    .map_err(|error| failed(&error))?;
            }
            Err(error) => return Err(failed(&error)),
        }
    }
    Ok(())
}

fn failed(error: &io::Error) -> Interrupted {
    // The host's name for the write end of the pipe.
    Interrupted::Failed(format!("write |1: {}", system_error_text(error)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn request(patience: Duration) -> Arc<OutgoingRequest> {
        let deadline = Instant::now() + patience;
        Arc::new(OutgoingRequest::new(
            RequestId(1),
            b"{}\n".to_vec(),
            deadline,
        ))
    }

    #[test]
    fn a_full_queue_refuses_at_the_deadline() {
        let queue = WriteQueue::default();
        for _ in 0..QUEUE_LENGTH {
            assert_eq!(queue.push(request(Duration::from_secs(60))), Ok(()));
        }
        let refusal = queue.push(request(Duration::from_millis(1)));
        assert_eq!(refusal, Err(Refusal::DeadlineExceeded));
    }

    #[test]
    fn a_closed_queue_refuses() {
        let queue = WriteQueue::default();
        assert_eq!(queue.push(request(Duration::from_secs(60))), Ok(()));
        queue.close();
        assert_eq!(
            queue.push(request(Duration::from_secs(60))),
            Err(Refusal::Closed)
        );
        assert!(queue.next().is_none());
    }

    #[test]
    fn a_failed_write_is_told_to_the_next_caller() {
        let queue = WriteQueue::default();
        queue.fail("write |1: broken pipe".to_owned());
        assert_eq!(
            queue.push(request(Duration::from_secs(60))),
            Err(Refusal::WriteFailed("write |1: broken pipe".to_owned()))
        );
    }
}
