//! Serving an extension: one line in, at most one line out.
//!
//! The main thread reads requests from standard input. A `tools/call` goes straight to the tool;
//! every other message goes to the protocol library, whose answers come back through the same
//! output. The parts, in the order in which a call meets them:
//!
//! - [`stdio`] takes the real descriptors away from the rest of the program,
//! - [`lines`] cuts the input into lines of bounded length,
//! - [`message`] recognises what a line is,
//! - [`calls`] runs the tool, at the [`pace`] it has shown, and turns what it gives back into an
//!   answer,
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

use std::{
    fs::File,
    io::IsTerminal,
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::runtime::{self, Runtime};

use crate::{
    error::{Error, Result},
    extension::Parts,
    serve::{
        bridge::Bridge,
        calls::Calls,
        in_flight::InFlight,
        lines::{Line, Lines},
        message::{Message, Rejection},
        output::Output,
        stdio::ProtocolStdio,
    },
};

/// After the grace period: for calls to notice that they are cancelled, and for the last answers
/// to be written. Twice this and the default grace stay below the host's 5 s.
const LAST_CHANCE: Duration = Duration::from_millis(250);

/// Serve until standard input ends.
pub(crate) fn run(parts: Arc<Parts>) -> Result<()> {
    warn_about_surroundings();
    panics::install_hook();
    let stdio = ProtocolStdio::take().map_err(Error::Stdio)?;
    let runtime = runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_name("odek-tools")
        .build()
        .map_err(Error::Runtime)?;
    let output = Arc::new(Output::new(stdio.output, &parts.policy));
    let in_flight = Arc::new(InFlight::default());
    let session = Session {
        bridge: Bridge::start(&runtime, &parts, &output, &in_flight),
        calls: Calls::new(runtime.handle().clone(), &parts, &output, &in_flight),
        in_flight,
        output,
    };
    session.read(stdio.input, &runtime);
    session.finish(parts.policy.shutdown_grace);
    // Tools that are still running end with the process.
    runtime.shutdown_background();
    Ok(())
}

struct Session {
    bridge: Bridge,
    calls: Calls,
    in_flight: Arc<InFlight>,
    output: Arc<Output>,
}

impl Session {
    /// Read and dispatch lines until the host closes standard input.
    fn read(&self, input: File, runtime: &Runtime) {
        // Tools that are run on this thread find the runtime's timers.
        let _entered = runtime.enter();
        let mut lines = Lines::new(input);
        loop {
            if !lines.has_whole_line() {
                self.output.write_waiting();
            }
            match lines.next() {
                // Bytes that are no text become replacement characters, as everywhere in the host.
                Ok(Some(Line::Whole(line))) => self.accept(&String::from_utf8_lossy(line)),
                Ok(Some(Line::TooLong { start, bytes })) => {
                    self.reject(&Rejection::too_long(start, bytes));
                }
                Ok(None) => return,
                Err(error) => {
                    tracing::error!("standard input cannot be read any further: {error}");
                    return;
                }
            }
        }
    }

    fn accept(&self, line: &str) {
        match message::read(line) {
            Message::Blank | Message::Response => {}
            Message::Batch(members) => {
                members.iter().for_each(|member| self.accept(member.get()));
            }
            Message::Call {
                id,
                tool,
                arguments,
            } => self.calls.start(id, &tool, arguments),
            Message::Cancel { id } => self.in_flight.withdraw(&id),
            Message::Other { id, text } => {
                if let Err(rejection) = self.bridge.forward(id, text) {
                    self.reject(&rejection);
                }
            }
            Message::Rejected(rejection) => self.reject(&rejection),
        }
    }

    fn reject(&self, rejection: &Rejection) {
        tracing::warn!("a message was refused: {}", rejection.message);
        self.output.send(rejection.to_line());
    }

    /// Give calls in flight their time, then tell them that it is over, and write what there is.
    fn finish(&self, grace: Duration) {
        let end = Instant::now() + grace;
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
    if std::io::stdin().is_terminal() {
        eprintln!(
            "This program is an extension: a host starts it and talks to it over standard input. \
             Run it with --describe to see its tools; end it with Ctrl-D."
        );
    }
}
