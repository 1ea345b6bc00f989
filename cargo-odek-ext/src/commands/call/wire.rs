//! The lines on the wire, where they were asked for.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use odek_host::odek::{RequestId, Verdict, WireEvent, WireEventKind};
use serde::Serialize;

use crate::output::{Format, Output};

/// Takes the lines of one connection.
pub(crate) struct Wire {
    mode: Mode,
    lines: Arc<Mutex<Lines>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Unwanted,
    /// Printed as they come: a call that hangs then shows how far it got.
    Printed,
    Collected,
}

impl Wire {
    pub(crate) fn unwanted() -> Self {
        Self::in_mode(Mode::Unwanted)
    }

    pub(crate) fn wanted(format: Format) -> Self {
        Self::in_mode(match format {
            Format::Human => Mode::Printed,
            Format::Json => Mode::Collected,
        })
    }

    fn in_mode(mode: Mode) -> Self {
        Self {
            mode,
            lines: Arc::default(),
        }
    }

    /// What the client is to be traced with.
    pub(crate) fn sink(&self) -> impl Fn(WireEvent) + Send + Sync + 'static {
        let (mode, lines) = (self.mode, Arc::clone(&self.lines));
        move |event| {
            if mode == Mode::Unwanted {
                return;
            }
            let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
            let in_order = lines.take(event.kind);
            match mode {
                Mode::Printed => in_order.iter().for_each(WireLine::print),
                Mode::Collected | Mode::Unwanted => lines.collected.extend(in_order),
            }
        }
    }

    /// The lines so far, where they were collected.
    pub(crate) fn collected(&self) -> Option<Vec<WireLine>> {
        if self.mode != Mode::Collected {
            return None;
        }
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        Some(lines.collected.clone())
    }
}

/// Puts the lines in their order. Requests are written and answers read by different threads, so
/// that a quick answer can be reported before the request it belongs to.
#[derive(Default)]
struct Lines {
    sent: BTreeSet<i64>,
    early: Vec<(RequestId, WireLine)>,
    collected: Vec<WireLine>,
}

impl Lines {
    fn take(&mut self, event: WireEventKind) -> Vec<WireLine> {
        match event {
            WireEventKind::Sent { id, line } => {
                self.sent.insert(id.get());
                let mut lines = vec![WireLine::new(Side::Host, line)];
                let answers = self.early.extract_if(.., |(early, _)| *early == id);
                lines.extend(answers.map(|(_, line)| line));
                lines
            }
            WireEventKind::Received {
                line,
                verdict: Verdict::Answers(id),
            } if !self.sent.contains(&id.get()) => {
                self.early.push((id, WireLine::new(Side::Server, line)));
                Vec::new()
            }
            WireEventKind::Received { line, .. } => vec![WireLine::new(Side::Server, line)],
            _ => Vec::new(),
        }
    }
}

/// One line without its line feed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct WireLine {
    from: Side,
    text: String,
}

/// Who wrote a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Side {
    Host,
    Server,
}

impl WireLine {
    fn new(from: Side, text: String) -> Self {
        Self { from, text }
    }

    fn print(&self) {
        let mark = match self.from {
            Side::Host => '>',
            Side::Server => '<',
        };
        // A reader that has gone away must not stop the call.
        let _ = Output::write_line(format_args!("{mark} {}", self.text));
    }
}
