//! Standard output: whole lines, from any thread.
//!
//! Whoever has a line while nobody writes becomes the writer and goes on until nothing is left;
//! everybody else leaves the line and goes back to work. So lines never mix, a slow reader holds
//! up one thread at most, and many small answers share one write.

use std::{
    fs::File,
    io::Write,
    mem,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use odek_contract::config;

use crate::extension::{Policy, ResponseGuard};

/// Lines up to this size are joined before they are written, in bytes.
const JOINED: usize = 64 * 1024;

#[derive(Debug)]
pub(crate) struct Output {
    file: File,
    longest_line: Option<usize>,
    state: Mutex<State>,
    written: Condvar,
}

#[derive(Debug, Default)]
struct State {
    waiting: Vec<Vec<u8>>,
    waiting_bytes: usize,
    is_writing: bool,
    is_broken: bool,
}

impl Output {
    pub(crate) fn new(file: File, policy: &Policy) -> Self {
        let longest_line = match policy.response_guard {
            ResponseGuard::On => Some(config::longest_line(policy.max_response_bytes)),
            ResponseGuard::Off => None,
        };
        Self {
            file,
            longest_line,
            state: Mutex::default(),
            written: Condvar::new(),
        }
    }

    /// The limit that `line`, which ends in its line feed, is over, if it is.
    pub(crate) fn limit_exceeded_by(&self, line: &[u8]) -> Option<usize> {
        self.longest_line
            .filter(|&limit| line.len().saturating_sub(1) > limit)
    }

    /// Write a line that ends in a line feed, now or after those that wait already.
    pub(crate) fn send(&self, line: Vec<u8>) {
        self.leave(line);
        self.write_waiting();
    }

    /// Leave a line to be written with the next one, or by
    /// [`write_waiting`](Self::write_waiting), which must follow soon. Never waits for the host.
    pub(crate) fn leave(&self, line: Vec<u8>) {
        let mut state = self.lock();
        if !state.is_broken {
            state.waiting_bytes += line.len();
            state.waiting.push(line);
        }
    }

    /// Whether more waits than is written at once.
    pub(crate) fn is_much_waiting(&self) -> bool {
        self.lock().waiting_bytes > JOINED
    }

    /// Write all lines that wait, unless another thread is at it, which then goes on with them.
    pub(crate) fn write_waiting(&self) {
        let mut state = self.lock();
        if state.is_writing || state.waiting.is_empty() {
            return;
        }
        state.is_writing = true;
        while !state.waiting.is_empty() {
            let lines = mem::take(&mut state.waiting);
            state.waiting_bytes = 0;
            drop(state);
            let outcome = self.write(lines);
            state = self.lock();
            if let Err(error) = outcome {
                tracing::error!("standard output cannot be written any further: {error}");
                state.is_broken = true;
                state.waiting.clear();
            }
        }
        state.is_writing = false;
        drop(state);
        self.written.notify_all();
    }

    /// Wait until everything has been written, at most until `end`.
    pub(crate) fn flush(&self, end: Instant) {
        let mut state = self.lock();
        while state.is_writing {
            let Some(left) = end.checked_duration_since(Instant::now()) else {
                return;
            };
            state = self
                .written
                .wait_timeout(state, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    fn write(&self, lines: Vec<Vec<u8>>) -> std::io::Result<()> {
        let mut joined = Vec::new();
        for line in lines {
            if joined.is_empty() {
                joined = line;
            } else if joined.len() + line.len() <= JOINED {
                joined.extend_from_slice(&line);
            } else {
                (&self.file).write_all(&joined)?;
                joined = line;
            }
        }
        (&self.file).write_all(&joined)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
