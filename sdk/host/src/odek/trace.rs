//! The timeline of a connection: what was started, sent and received, and what the host decides
//! about each line.
//!
//! The real host says nothing about lines that it skips. The timeline does, so that a call that can
//! only time out has a visible reason.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use odek_contract::config::ConfigWarning;
use odek_contract::result::RequestState;

use super::process::ServerExit;
use super::request::{RequestFailure, RequestId};

/// One thing that happened on a connection.
#[derive(Debug, Clone, PartialEq)]
pub struct WireEvent {
    /// Time since the connection was set up. Never decreases from one event to the next.
    pub elapsed: Duration,
    /// What happened.
    pub kind: WireEventKind,
}

/// What happened on a connection.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum WireEventKind {
    /// The host warns about the configuration and goes on.
    Warned(ConfigWarning),
    /// The server process was started.
    Spawned {
        /// The process id.
        process_id: u32,
        /// The executable that was found for the configured command.
        program: PathBuf,
        /// The configured arguments.
        arguments: Vec<String>,
        /// Names of the environment variables that the server was given, sorted.
        environment: Vec<String>,
    },
    /// A request was written whole.
    Sent {
        /// The request.
        id: RequestId,
        /// The line without its line feed.
        line: String,
    },
    /// A request was dropped before the first byte of it was written, because its deadline passed
    /// while the server did not read.
    NeverSent {
        /// The request.
        id: RequestId,
    },
    /// Writing a request failed. Nothing is written on this connection any more.
    WriteFailed {
        /// The request.
        id: RequestId,
        /// The reason as the host words it.
        message: String,
    },
    /// The server wrote a line.
    Received {
        /// The line without its line feed. Bytes that are not UTF-8 are replaced.
        line: String,
        /// What the host does with it.
        verdict: Verdict,
    },
    /// A request ended without an answer that the host takes as success.
    Failed {
        /// The request.
        id: RequestId,
        /// How.
        failure: RequestFailure,
    },
    /// The host stopped reading from the server for good.
    ReadingEnded(ReadingEnd),
    /// The host closed the server's standard input.
    InputClosed,
    /// The server process ended.
    Exited(ServerExit),
    /// The server did not end in time and is being killed.
    Killing {
        /// How long the host had waited.
        waited: Duration,
    },
}

/// What the host does with one line that it received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It answers this request.
    Answers(RequestId),
    /// It is skipped in silence.
    Skipped(SkipReason),
}

/// Why the host skips a line without a word (host facts, sections 1 and 3).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SkipReason {
    /// Nothing but white space.
    Blank,
    /// The line is not one JSON document.
    NotJson {
        /// What the JSON decoder complains about.
        message: String,
    },
    /// JSON, but no object, or an object with a member of the wrong type.
    Unreadable {
        /// What the JSON decoder complains about.
        message: String,
    },
    /// A notification of the server. The host looks at none, `tools/list_changed` included.
    Notification {
        /// Its method.
        method: String,
    },
    /// A request of the server. The host never answers, so a server that waits for it hangs.
    Request {
        /// Its method.
        method: String,
    },
    /// Neither a method nor an `id`, or an `id` that is null.
    NoId,
    /// An `id` that is no integer literal, such as `"3"` or `3.0`.
    IdNotInteger {
        /// The `id` as received, shortened when long.
        literal: String,
    },
    /// An `id` that the host never used.
    UnknownId {
        /// The `id`.
        id: i64,
    },
    /// The request had already failed, usually because its deadline had passed.
    TooLate {
        /// The request.
        id: RequestId,
    },
    /// The request had already been answered.
    AnsweredBefore {
        /// The request.
        id: RequestId,
    },
}

impl SkipReason {
    /// Whether the line is something that well-behaved servers send all the time. Such lines do
    /// not explain anything.
    pub fn is_harmless(&self) -> bool {
        matches!(self, Self::Blank | Self::Notification { .. })
    }
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Blank => f.write_str("the line is blank"),
            Self::NotJson { message } => write!(f, "the line is not JSON ({message})"),
            Self::Unreadable { message } => {
                write!(
                    f,
                    "the line is no JSON-RPC message that the host can read ({message})"
                )
            }
            Self::Notification { method } => {
                write!(
                    f,
                    "it is a notification ({method}), and the host looks at none"
                )
            }
            Self::Request { method } => {
                write!(
                    f,
                    "it is a request of the server ({method}), and the host answers none"
                )
            }
            Self::NoId => f.write_str("it has no id, or null as its id"),
            Self::IdNotInteger { literal } => write!(
                f,
                "its id is {literal}; the host only takes the integer that it sent, written as an \
                 integer"
            ),
            Self::UnknownId { id } => write!(f, "the host never sent a request with the id {id}"),
            Self::TooLate { id } => write!(f, "request {id} had already failed"),
            Self::AnsweredBefore { id } => write!(f, "request {id} had already been answered"),
        }
    }
}

/// Why the host reads nothing more from the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadingEnd {
    /// A line was longer than allowed. The process and its standard input stay as they are.
    LineTooLong {
        /// The longest line that would have been accepted, in bytes without the line feed.
        longest_line: usize,
        /// The configured `max_response_bytes`.
        max_response_bytes: u64,
    },
    /// The server closed its standard output, or ended.
    OutputClosed,
    /// The host closed the connection.
    ClosedByHost,
}

impl fmt::Display for ReadingEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LineTooLong {
                longest_line,
                max_response_bytes,
            } => write!(
                f,
                "the server wrote a line of more than {longest_line} bytes (max_response_bytes is \
                 {max_response_bytes}); the host stopped reading for good"
            ),
            Self::OutputClosed => f.write_str("the server closed its standard output or ended"),
            Self::ClosedByHost => f.write_str("the host closed the connection"),
        }
    }
}

impl fmt::Display for WireEventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Warned(warning) => write!(f, "warning: {warning}"),
            Self::Spawned {
                process_id,
                program,
                arguments,
                environment,
            } => {
                write!(f, "started process {process_id}: {}", program.display())?;
                for argument in arguments {
                    write!(f, " {argument:?}")?;
                }
                write!(f, " (environment: {})", environment.join(", "))
            }
            Self::Sent { line, .. } => write!(f, "host   > {line}"),
            Self::NeverSent { id } => {
                write!(
                    f,
                    "request {id} was dropped unsent: the server does not read its input"
                )
            }
            Self::WriteFailed { id, message } => {
                write!(f, "writing request {id} failed: {message}")
            }
            Self::Received {
                line,
                verdict: Verdict::Answers(id),
            } => {
                write!(f, "server > {line} (answers request {id})")
            }
            Self::Received {
                line,
                verdict: Verdict::Skipped(reason),
            } => {
                write!(f, "server > {line} (skipped: {reason})")
            }
            Self::Failed { id, failure } => write!(f, "request {id} failed: {failure}"),
            Self::ReadingEnded(end) => write!(f, "end of reading: {end}"),
            Self::InputClosed => f.write_str("closed the server's standard input"),
            Self::Exited(exit) => write!(f, "the server process ended: {exit}"),
            Self::Killing { waited } => write!(
                f,
                "the server still runs {:.1} s after the end of its input; killing it",
                waited.as_secs_f64()
            ),
        }
    }
}

impl fmt::Display for WireEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>9.3} s  {}", self.elapsed.as_secs_f64(), self.kind)
    }
}

/// Why a request failed in a way that the real host does not explain.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Explanation {
    /// The server wrote something during the call that the host skipped.
    Skipped {
        /// The beginning of the line.
        excerpt: String,
        /// Why it was skipped.
        reason: SkipReason,
    },
    /// The host had stopped reading before, so no answer could arrive.
    ReadingEnded(ReadingEnd),
    /// Nothing or only a part of the request was taken by the server.
    NotRead(RequestState),
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Skipped { excerpt, reason } => {
                write!(f, "The host skipped the line `{excerpt}`: {reason}.")
            }
            Self::ReadingEnded(end) => write!(
                f,
                "No answer could arrive: {end}. The host does not restart a server; every later \
                 call fails too."
            ),
            Self::NotRead(RequestState::NotDispatched) => f.write_str(
                "The request was never written: the server does not read its standard input, and \
                 an earlier request fills the pipe.",
            ),
            Self::NotRead(RequestState::Dispatched) => f.write_str(
                "The request was written only in part: the server does not read its standard \
                 input.",
            ),
        }
    }
}

/// Takes the events of a connection as they happen.
///
/// Events arrive one at a time, from several threads. A sink must return soon, since the connection
/// waits for it, and must not use the client it belongs to. A panic in a sink is contained and
/// costs that one event.
///
/// Any `Fn(WireEvent)` is a sink; [`Timeline`] collects events in memory.
pub trait TraceSink: Send + Sync {
    /// Takes one event.
    fn record(&self, event: WireEvent);
}

impl<F: Fn(WireEvent) + Send + Sync> TraceSink for F {
    fn record(&self, event: WireEvent) {
        self(event);
    }
}

/// A sink that keeps every event in memory. Clones share one list.
///
/// It keeps whole lines and is meant for tests and short sessions.
#[derive(Debug, Clone, Default)]
pub struct Timeline(Arc<Mutex<Vec<WireEvent>>>);

impl Timeline {
    /// An empty timeline.
    pub fn new() -> Self {
        Self::default()
    }

    /// The events so far, in order.
    pub fn events(&self) -> Vec<WireEvent> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// The lines that were written whole, in order, without their line feeds.
    pub fn sent_lines(&self) -> Vec<String> {
        let events = self.events().into_iter();
        events
            .filter_map(|event| match event.kind {
                WireEventKind::Sent { line, .. } => Some(line),
                _ => None,
            })
            .collect()
    }
}

impl TraceSink for Timeline {
    fn record(&self, event: WireEvent) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(event);
    }
}

impl fmt::Display for Timeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.events()
            .iter()
            .try_for_each(|event| writeln!(f, "{event}"))
    }
}

/// Hands events to the sink, one at a time and in the order of their times.
#[derive(Clone)]
pub(crate) struct Tracer(Option<Arc<TracerState>>);

struct TracerState {
    sink: Box<dyn TraceSink>,
    started: Instant,
    order: Mutex<()>,
}

impl Tracer {
    pub(crate) fn new(sink: Option<Box<dyn TraceSink>>) -> Self {
        Self(sink.map(|sink| {
            Arc::new(TracerState {
                sink,
                started: Instant::now(),
                order: Mutex::new(()),
            })
        }))
    }

    /// Builds the event only when somebody listens: lines can be megabytes long.
    pub(crate) fn record(&self, kind: impl FnOnce() -> WireEventKind) {
        let Some(state) = &self.0 else {
            return;
        };
        let kind = kind();
        let _order = state.order.lock().unwrap_or_else(PoisonError::into_inner);
        let event = WireEvent {
            elapsed: state.started.elapsed(),
            kind,
        };
        // A panicking sink must not take the reading thread, and with it every call, along.
        let _ = catch_unwind(AssertUnwindSafe(|| state.sink.record(event)));
    }
}

impl fmt::Debug for Tracer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let listens = if self.0.is_some() {
            "Tracer(on)"
        } else {
            "Tracer(off)"
        };
        f.write_str(listens)
    }
}
