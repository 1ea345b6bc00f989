//! One server process and the JSON-RPC exchange with it (host facts, sections 1 to 3).
//!
//! Three threads serve a connection: one reads lines and hands answers to their callers, one
//! writes requests, one waits for the process to end. Callers wait for their own answer, each up
//! to its own deadline. What an answer *means* is no matter of this module.

use std::io;
use std::process::ChildStdout;
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use odek_contract::config::Limits;
use odek_contract::names::ServerName;
use odek_contract::result::RequestState;

use super::latch::Latch;
use super::lines::{LineBuffer, Next};
use super::message::{self, Answer, Line};
use super::output::{CapturedOutput, ProcessOutput};
use super::pending::{Delivery, Pending, Ticket};
use super::process::{CLOSE_GRACE, Ending, Launch, Process, ServerExit, Stderr};
use super::request::{OutgoingRequest, Progress, RequestFailure, RequestId};
use super::trace::{Explanation, ReadingEnd, Tracer, Verdict, WireEventKind};
use super::writer::{Refusal, WriteQueue, write_requests};

/// How long open calls of a server that closed its output wait for the process to end before they
/// fail. A process that lives on without its output is an oddity.
const EXIT_AFTER_OUTPUT: Duration = Duration::from_millis(200);

/// A started server.
#[derive(Debug)]
pub(crate) struct Connection {
    shared: Arc<Shared>,
    process: Process,
    captured: Option<CapturedOutput>,
    closing: Arc<Latch>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    report: Mutex<Option<CloseReport>>,
}

/// What callers, the reading thread and the writing thread have in common.
#[derive(Debug)]
struct Shared {
    server: ServerName,
    timeout: Duration,
    max_response_bytes: u64,
    longest_line: usize,
    pending: Pending,
    queue: WriteQueue,
    tracer: Tracer,
}

/// How a connection was closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CloseReport {
    /// How the server process ended.
    pub exit: ServerExit,
    /// What made it end.
    pub manner: CloseManner,
    /// From the end of the server's standard input to the end of the process. Zero when the process
    /// had ended before.
    pub waited: Duration,
}

/// What made a server process end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CloseManner {
    /// It had ended before the host closed the connection. The host does not restart it.
    EndedBefore,
    /// It ended when its standard input did, as a server should.
    EndedOnEof,
    /// It was still running [5 s](super::CLOSE_GRACE) after the end of its input and was killed.
    Killed,
}

/// One finished request.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) id: RequestId,
    /// The request line without its line feed.
    pub(crate) request: String,
    /// The line that answered it, if one did.
    pub(crate) reply: Option<Vec<u8>>,
    /// The JSON of the answer's `result`, empty when the answer has none.
    pub(crate) outcome: Result<Vec<u8>, RequestFailure>,
    pub(crate) explanations: Vec<Explanation>,
    pub(crate) duration: Duration,
}

impl Connection {
    /// Starts the process and the threads that serve it.
    pub(crate) fn start(
        launch: &Launch,
        server: ServerName,
        limits: &Limits,
        tracer: Tracer,
    ) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            server,
            timeout: limits.timeout,
            max_response_bytes: limits.max_response_bytes,
            longest_line: limits.longest_line(),
            pending: Pending::default(),
            queue: WriteQueue::default(),
            tracer,
        });
        let exited = Arc::new(Latch::new()?);
        let closing = Arc::new(Latch::new()?);
        let process = Process::start(launch, Arc::clone(&exited), shared.tracer.clone())?;
        let captured = (launch.stderr == Stderr::Capture).then(CapturedOutput::default);
        let connection = Self {
            shared,
            process,
            captured,
            closing,
            threads: Mutex::default(),
            report: Mutex::default(),
        };
        // From here on a failure drops the connection, which ends the process.
        connection.start_threads(&exited)?;
        Ok(connection)
    }

    fn start_threads(&self, exited: &Arc<Latch>) -> io::Result<()> {
        let (stdin, stdout, stderr) = self
            .process
            .with_child(|child| (child.stdin.take(), child.stdout.take(), child.stderr.take()));
        let (Some(stdin), Some(stdout)) = (stdin, stdout) else {
            return Err(io::Error::other("the pipes to the server are missing"));
        };
        rustix::io::ioctl_fionbio(&stdin, true)?;
        let stdout = ProcessOutput::new(stdout, Arc::clone(exited))?;

        let shared = Arc::clone(&self.shared);
        self.start_thread("odek-server-reader", move || shared.read_lines(stdout))?;

        let shared = Arc::clone(&self.shared);
        let (closing, exited_too) = (Arc::clone(&self.closing), Arc::clone(exited));
        self.start_thread("odek-server-writer", move || {
            write_requests(stdin, &shared.queue, &closing, &exited_too, &shared.tracer);
        })?;

        if let (Some(captured), Some(stderr)) = (self.captured.clone(), stderr) {
            let stderr = ProcessOutput::new(stderr, Arc::clone(exited))?;
            self.start_thread("odek-server-stderr", move || captured.fill(stderr))?;
        }
        Ok(())
    }

    fn start_thread(&self, name: &str, run: impl FnOnce() + Send + 'static) -> io::Result<()> {
        let handle = thread::Builder::new().name(name.to_owned()).spawn(run)?;
        self.threads
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(handle);
        Ok(())
    }

    pub(crate) fn process_id(&self) -> u32 {
        self.process.id()
    }

    pub(crate) fn exit(&self) -> Option<ServerExit> {
        self.process.exit()
    }

    pub(crate) fn captured_stderr(&self) -> Option<String> {
        self.captured.as_ref().map(CapturedOutput::text)
    }

    /// Sends one request and waits for its answer, up to the configured timeout or the caller's own
    /// deadline, whichever comes first.
    pub(crate) fn request(
        &self,
        method: &str,
        params: Option<&str>,
        caller_deadline: Option<Instant>,
    ) -> Response {
        let started = Instant::now();
        let own_deadline = started + self.shared.timeout;
        let deadline = caller_deadline.map_or(own_deadline, |caller| caller.min(own_deadline));
        let ticket = self.shared.pending.open();
        let line = message::request_line(ticket.id, method, params);
        let request = Arc::new(OutgoingRequest::new(
            ticket.id,
            (line.clone() + "\n").into(),
            deadline,
        ));
        let (reply, outcome) = match self.shared.exchange(&ticket, &request) {
            Ok(Answer { line, outcome }) => (Some(line), outcome.into_result()),
            Err(failure) => (None, Err(failure)),
        };
        // Not open any more: a late answer is dropped and says so.
        self.shared.pending.give_up(ticket.id);
        if let Err(failure) = &outcome {
            let (id, failure) = (ticket.id, failure.clone());
            self.shared
                .tracer
                .record(|| WireEventKind::Failed { id, failure });
        }
        Response {
            id: ticket.id,
            request: line,
            reply,
            explanations: self
                .shared
                .explain(&ticket, &request, outcome.as_ref().err()),
            outcome,
            duration: started.elapsed(),
        }
    }

    /// Closes the server's standard input, waits for the process up to [`CLOSE_GRACE`], then kills
    /// it. Open requests fail. Closing again gives the same report.
    pub(crate) fn close(&self) -> CloseReport {
        let mut report = self.report.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(report) = *report {
            return report;
        }
        *report.insert(self.close_now())
    }

    fn close_now(&self) -> CloseReport {
        let before = self.exit();
        let started = Instant::now();
        self.shared.pending.end(ReadingEnd::ClosedByHost);
        self.shared.queue.close();
        self.closing.set();
        let (exit, ending) = self.process.end(CLOSE_GRACE);
        let report = match (before, ending) {
            (Some(exit), _) => CloseReport {
                exit,
                manner: CloseManner::EndedBefore,
                waited: Duration::ZERO,
            },
            (None, Ending::ByItself) => CloseReport {
                exit,
                manner: CloseManner::EndedOnEof,
                waited: started.elapsed(),
            },
            (None, Ending::Killed) => CloseReport {
                exit,
                manner: CloseManner::Killed,
                waited: started.elapsed(),
            },
        };
        self.join_threads();
        report
    }

    /// Every thread ends soon after the process, so that all events are recorded by now.
    fn join_threads(&self) {
        if self.exit().is_none() {
            // A process that not even a kill ends keeps its threads; nobody waits for those.
            return;
        }
        let threads: Vec<_> = self
            .threads
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .drain(..)
            .collect();
        for thread in threads {
            // A sink that drops the last handle of its own client runs on such a thread.
            if thread.thread().id() != thread::current().id() {
                let _ = thread.join();
            }
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.close();
    }
}

impl Shared {
    fn exchange(
        &self,
        ticket: &Ticket,
        request: &Arc<OutgoingRequest>,
    ) -> Result<Answer, RequestFailure> {
        if let Err(refusal) = self.queue.push(Arc::clone(request)) {
            let state = request.give_up().state();
            return Err(match refusal {
                Refusal::DeadlineExceeded => RequestFailure::DeadlineExceeded(state),
                Refusal::Closed => RequestFailure::ClosedBeforeDispatch(state),
                Refusal::WriteFailed(message) => RequestFailure::Write {
                    request: state,
                    message,
                },
            });
        }
        let patience = request.deadline.saturating_duration_since(Instant::now());
        let delivery = match ticket.delivery.recv_timeout(patience) {
            Ok(delivery) => delivery,
            // The sender lives until the request is given up, so this is always the deadline.
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                let state = request.give_up().state();
                return Err(RequestFailure::DeadlineExceeded(state));
            }
        };
        match delivery {
            Delivery::Answer(answer) => Ok(answer),
            Delivery::Ended(ReadingEnd::LineTooLong {
                max_response_bytes, ..
            }) => Err(RequestFailure::LineTooLong {
                server: self.server.to_string(),
                max_response_bytes,
            }),
            Delivery::Ended(ReadingEnd::OutputClosed | ReadingEnd::ClosedByHost) => {
                Err(RequestFailure::ConnectionClosed(request.give_up().state()))
            }
        }
    }

    /// What the host itself never says about a request.
    fn explain(
        &self,
        ticket: &Ticket,
        request: &OutgoingRequest,
        failure: Option<&RequestFailure>,
    ) -> Vec<Explanation> {
        let mut explanations = Vec::new();
        if failure.is_some() {
            explanations.extend(ticket.ended_before.clone().map(Explanation::ReadingEnded));
        }
        if let Some(RequestFailure::DeadlineExceeded(state)) = failure {
            let unread =
                *state == RequestState::NotDispatched || request.give_up() == Progress::Writing;
            if unread && ticket.ended_before.is_none() {
                explanations.push(Explanation::NotRead(*state));
            }
        }
        let skipped = self.pending.skipped_since(ticket).into_iter();
        explanations.extend(skipped.map(|skip| Explanation::Skipped {
            excerpt: skip.excerpt,
            reason: skip.reason,
        }));
        explanations
    }

    /// Runs on the reading thread until the output or the process ends.
    fn read_lines(&self, mut output: ProcessOutput<ChildStdout>) {
        let mut buffer = LineBuffer::new(self.longest_line);
        loop {
            match buffer.next_line() {
                Next::Line(line) => {
                    self.receive(line);
                    continue;
                }
                Next::TooLong => {
                    self.end_reading(ReadingEnd::LineTooLong {
                        longest_line: self.longest_line,
                        max_response_bytes: self.max_response_bytes,
                    });
                    // The pipe stays open and fills up: a server that still writes blocks.
                    return output.hold_until_exit();
                }
                Next::Unfinished => {}
            }
            match output.read(buffer.spare()) {
                Ok(count @ 1..) => buffer.received(count),
                // A read error ends the reading just as the end of the output does.
                Ok(0) | Err(_) => break,
            }
        }
        if !buffer.last_line().is_empty() {
            self.receive(buffer.last_line());
        }
        // The pipes of an ending process close in any order. Waiting for its end lets every later
        // write fail, instead of vanishing in a pipe that nobody reads any more.
        output.wait_for_exit(EXIT_AFTER_OUTPUT);
        self.end_reading(ReadingEnd::OutputClosed);
    }

    fn receive(&self, line: &[u8]) {
        let claim = match message::read_line(line) {
            Line::Answer { id, outcome } => self.pending.claim(id).map(|caller| (caller, outcome)),
            Line::Skipped(reason) => Err(reason),
        };
        // Recorded before the caller is woken, so that the timeline shows the answer before
        // whatever the caller does next.
        self.tracer.record(|| WireEventKind::Received {
            line: String::from_utf8_lossy(line).into_owned(),
            verdict: match &claim {
                Ok((caller, _)) => Verdict::Answers(caller.id()),
                Err(reason) => Verdict::Skipped(reason.clone()),
            },
        });
        match claim {
            Ok((caller, outcome)) => caller.send(Answer {
                line: line.to_vec(),
                outcome,
            }),
            Err(reason) if reason.is_harmless() => {}
            Err(reason) => self.pending.skipped(line, reason),
        }
    }

    fn end_reading(&self, end: ReadingEnd) {
        self.tracer
            .record(|| WireEventKind::ReadingEnded(end.clone()));
        self.pending.end(end);
    }
}
