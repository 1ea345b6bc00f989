//! What the scripted server is told to do. Written by tests, read by the server.
#![allow(
    dead_code,
    reason = "each program that includes this file needs a part of it"
)]

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The whole behaviour of a scripted server.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Script {
    /// What to do on a request: looked up by tool name for a call, then by method. A request that
    /// is not listed gets a plain answer.
    pub on: BTreeMap<String, Vec<Action>>,
    /// What to do before anything is read.
    pub at_start: Vec<Action>,
    /// What to do when standard input ends.
    pub at_end: AtEnd,
}

/// What a scripted server does when its standard input ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum AtEnd {
    #[default]
    Exit,
    Ignore,
}

/// One step of an answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Action {
    /// Writes these bytes and a line feed. `${ID}` becomes the number of the request.
    Line(Vec<u8>),
    /// Writes these bytes without a line feed.
    Partial(Vec<u8>),
    /// Answers with this text as the JSON of `result`.
    Result(String),
    /// Answers with the request line as text.
    Echo,
    /// Answers with all lines received so far, as a JSON list.
    Transcript,
    /// Answers with the environment, as a JSON object.
    Environment,
    /// Keeps the request until this many are kept, then echoes all of them, the last one first.
    Hold(usize),
    /// Writes this many bytes without a line feed.
    Flood(usize),
    Sleep {
        milliseconds: u64,
    },
    /// Writes to standard error.
    Complain(String),
    /// Closes standard output and goes on reading.
    CloseOutput,
    /// Closes standard input and goes on living.
    CloseInput,
    /// Starts a process that inherits the pipes and stays for a while.
    Orphan,
    /// Reads nothing any more.
    StopReading,
    Exit(i32),
}

impl Script {
    pub fn on(mut self, request: &str, actions: impl Into<Vec<Action>>) -> Self {
        self.on.insert(request.to_owned(), actions.into());
        self
    }

    pub fn at_start(mut self, actions: impl Into<Vec<Action>>) -> Self {
        self.at_start = actions.into();
        self
    }

    pub fn at_end(mut self, at_end: AtEnd) -> Self {
        self.at_end = at_end;
        self
    }
}

impl Action {
    pub fn line(text: impl AsRef<[u8]>) -> Self {
        Self::Line(text.as_ref().to_vec())
    }

    /// Answers with this text.
    pub fn text(text: &str) -> Self {
        Self::Result(
            serde_json::json!({ "content": [{ "type": "text", "text": text }] }).to_string(),
        )
    }
}
