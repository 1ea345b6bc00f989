//! Serving an extension: one line in, at most one line out.
//!
//! A thread reads requests from standard input. A `tools/call` goes straight to the tool;
//! every other message goes to the protocol library, whose answers come back through the same
//! output. The parts, in the order in which a call meets them:
//!
//! - [`stdio`] takes the real descriptors away from the rest of the program,
//! - [`lines`] cuts the input into lines of bounded length,
//! - [`message`] recognises what a line is,
//! - [`calls`] runs the tool and turns what it gives back into an answer,
//! - [`pace`] knows which tools are quick enough to be run by the reader itself,
//! - [`watch`] has another thread read on when that turns out wrong,
//! - [`output`] writes whole lines, from whichever thread has one,
//! - [`bridge`] hands everything else to rmcp.
//!
//! Why calls do not go through rmcp as well: it answers arguments that are no object with "method
//! not found", never answers a call whose handler panicked, and ends the connection on some
//! malformed messages.

pub(crate) mod listing;
pub(crate) mod pace;

mod bridge;
mod calls;
mod in_flight;
mod lines;
mod message;
mod output;
mod panics;
mod stdio;
mod watch;

use std::{
    fs::File,
    io::{self, IsTerminal, Write},
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{self, Sender},
    },
    thread,
    time::{Duration, Instant},
};

use tokio::runtime::{self, Handle, Runtime};

use crate::{
    error::{Error, Result},
    extension::Parts,
    serve::{
        bridge::Bridge,
        calls::{Calls, QuickCall},
        in_flight::InFlight,
        lines::{Line, Lines},
        message::{Message, Rejection},
        output::Output,
        stdio::ProtocolStdio,
        watch::{Reader, Watch},
    },
};

/// After the grace period: for calls to notice that they are cancelled, and for the last answers
/// to be written. Twice this and the default grace stay below the host's 5 s.
const LAST_CHANCE: Duration = Duration::from_millis(250);

/// Longer than any process runs.
const FOREVER: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// Threads for the protocol, time limits and answers. They are apart from the tools' threads, so
/// that async tools that never yield hold up each other at most.
const PROTOCOL_THREADS: usize = 2;

/// Serve until standard input ends.
pub(crate) fn run(parts: Arc<Parts>) -> Result<()> {
    warn_about_surroundings();
    panics::install_hook();
    let stdio = ProtocolStdio::take().map_err(Error::Stdio)?;
    let protocol = runtime("odek-protocol", |builder| {
        builder.worker_threads(PROTOCOL_THREADS)
    })?;
    let tools = runtime("odek-tools", |builder| builder)?;
    let output = Arc::new(Output::new(stdio.output, &parts.policy));
    let in_flight = Arc::new(InFlight::default());
    let session = Arc::new(Session {
        lines: Mutex::new(Lines::new(stdio.input)),
        bridge: Bridge::start(&protocol, &parts, &output, &in_flight),
        calls: Calls::new(
            tools.handle().clone(),
            protocol.handle().clone(),
            &parts,
            &output,
            &in_flight,
        ),
        tools: tools.handle().clone(),
        watch: Watch::default(),
        in_flight,
        output,
    });
    let (ended, end) = mpsc::channel();
    start_reader(&session, ended.clone()).map_err(Error::Runtime)?;
    protocol.spawn(replace_readers(Arc::clone(&session), ended));
    // An error would mean that there is no reader any more, which is the end as well.
    let _ = end.recv();
    session.finish(parts.policy.shutdown_grace);
    // Tools that are still running end with the process.
    tools.shutdown_background();
    protocol.shutdown_background();
    Ok(())
}

fn runtime(
    name: &str,
    adjust: impl FnOnce(&mut runtime::Builder) -> &mut runtime::Builder,
) -> Result<Runtime> {
    adjust(runtime::Builder::new_multi_thread().enable_all())
        .thread_name(name)
        .build()
        .map_err(Error::Runtime)
}

/// Start a thread that reads; it says when the input has ended.
fn start_reader(session: &Arc<Session>, ended: Sender<()>) -> io::Result<()> {
    let session = Arc::clone(session);
    thread::Builder::new()
        .name("odek-reader".to_owned())
        .spawn(move || {
            if panics::caught(|| session.read()) != Ok(Reading::GoesOnElsewhere) {
                // Nobody listens any more when the end has been told already.
                let _ = ended.send(());
            }
        })
        .map(drop)
}

/// Start another reader whenever one is busy for too long.
async fn replace_readers(session: Arc<Session>, ended: Sender<()>) {
    loop {
        session.watch.relieved().await;
        if let Err(error) = start_reader(&session, ended.clone()) {
            tracing::error!("no thread can be started that reads standard input: {error}");
            let _ = ended.send(());
            return;
        }
    }
}

struct Session {
    lines: Mutex<Lines<File>>,
    bridge: Bridge,
    calls: Calls,
    tools: Handle,
    watch: Watch,
    in_flight: Arc<InFlight>,
    output: Arc<Output>,
}

/// Why a thread has stopped reading.
#[derive(Debug, PartialEq, Eq)]
enum Reading {
    Ended,
    GoesOnElsewhere,
}

/// What the reader has to do before it reads on.
struct Turn {
    call: Option<QuickCall>,
    answers: Answers,
}

/// Whether answers that are left lying can wait for those to the next line.
#[derive(Debug, PartialEq, Eq)]
enum Answers {
    Due,
    MayWait,
}

impl Session {
    /// Read and dispatch lines until the host closes standard input, or until another thread
    /// reads.
    fn read(&self) -> Reading {
        // Tools that are run on this thread find the runtime's timers.
        let _entered = self.tools.enter();
        while let Some(turn) = self.next_turn() {
            let busy = self.watch.begin();
            if let Some(call) = turn.call {
                call.run();
            }
            if turn.answers == Answers::Due || self.output.is_much_waiting() {
                self.output.write_waiting();
            }
            if self.watch.end(busy) == Reader::Another {
                // The other one does not know of an answer that was left here.
                self.output.write_waiting();
                return Reading::GoesOnElsewhere;
            }
        }
        Reading::Ended
    }

    /// Read and dispatch one line; none at the end. Nothing in here waits for a tool or
    /// for the host to read.
    fn next_turn(&self) -> Option<Turn> {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let call = match lines.next() {
            // Bytes that are no text become replacement characters, as everywhere in the host.
            Ok(Some(Line::Whole(line))) => self.accept(&String::from_utf8_lossy(line)),
            Ok(Some(Line::TooLong { start, bytes })) => {
                self.reject(&Rejection::too_long(start, bytes));
                None
            }
            Ok(None) => return None,
            Err(error) => {
                tracing::error!("standard input cannot be read any further: {error}");
                return None;
            }
        };
        let answers = match lines.has_whole_line() {
            true => Answers::MayWait,
            false => Answers::Due,
        };
        Some(Turn { call, answers })
    }

    fn accept(&self, line: &str) -> Option<QuickCall> {
        match message::read(line) {
            Message::Blank | Message::Response => {}
            Message::Batch(members) => members
                .iter()
                .filter_map(|member| self.accept(member.get()))
                .for_each(QuickCall::hand_over),
            Message::Call {
                id,
                tool,
                arguments,
            } => match self.calls.start(id, &tool, arguments) {
                Ok(call) => return call,
                Err(rejection) => self.reject(&rejection),
            },
            Message::Cancel { id } => self.in_flight.withdraw(&id),
            Message::Other { id, text } => {
                if let Err(rejection) = self.bridge.forward(id, text) {
                    self.reject(&rejection);
                }
            }
            Message::Rejected(rejection) => self.reject(&rejection),
        }
        None
    }

    fn reject(&self, rejection: &Rejection) {
        tracing::warn!("a message was refused: {}", rejection.message);
        self.output.leave(rejection.to_line());
    }

    /// Give calls in flight their time, then tell them that it is over, and write what there is.
    fn finish(&self, grace: Duration) {
        // A point in time beyond what can be counted never comes.
        let now = Instant::now();
        let end = now.checked_add(grace).unwrap_or(now + FOREVER);
        if !self.in_flight.wait_until_idle(end) {
            tracing::warn!(
                "{} call(s) did not end within {grace:?} of the end of standard input",
                self.in_flight.count()
            );
            self.in_flight.cancel_all();
            self.in_flight.wait_until_idle(Instant::now() + LAST_CHANCE);
        }
        self.output.flush(end.max(Instant::now() + LAST_CHANCE));
    }
}

/// Two mistakes that are better said at once than found later.
fn warn_about_surroundings() {
    if cfg!(panic = "abort") {
        tracing::warn!(
            "built with panic = \"abort\": a panic in a tool ends the whole server instead of \
             failing one call; remove that line from the Cargo profile"
        );
    }
    if io::stdin().is_terminal() {
        // Not `eprintln!`, which panics when nobody reads stderr.
        let _ = writeln!(
            io::stderr(),
            "This program is an extension: a host starts it and talks to it over standard input. \
             Run it with --describe to see its tools; end it with Ctrl-D."
        );
    }
}
