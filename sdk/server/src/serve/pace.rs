//! Whether a tool is quick enough to be run without changing threads.
//!
//! Handing a call to another thread and waking it costs more than a short tool itself. So an async
//! tool that has proven to be quick is started on the thread that reads requests, and only goes to
//! another thread if it has to wait for something. A tool that blocks or computes instead of
//! awaiting would keep requests from being read; it does so at most once, after which it never
//! runs there again.

use std::{
    future::poll_fn,
    pin::pin,
    sync::atomic::{AtomicU8, Ordering},
    time::{Duration, Instant},
};

/// So many quick turns in a row earn the short way.
const PROOF: u8 = 8;

/// The mark of a tool that has taken too long once.
const SLOW: u8 = u8::MAX;

/// A quick turn: about what handing the call to another thread would cost at worst.
const QUICK: Duration = Duration::from_micros(200);

/// What is known about one tool. A turn is the time from being polled to giving way.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    /// Quick turns so far, up to [`PROOF`], or [`SLOW`].
    turns: AtomicU8,
}

impl Pace {
    /// Whether the tool has always been quick, often enough.
    pub(crate) fn is_quick(&self) -> bool {
        self.turns.load(Ordering::Relaxed) == PROOF
    }

    /// Run a call of the tool, measuring its turns.
    pub(crate) async fn measured<F: Future>(&self, call: F) -> F::Output {
        let mut call = pin!(call);
        poll_fn(|context| {
            let begin = Instant::now();
            let poll = call.as_mut().poll(context);
            self.record(begin.elapsed());
            poll
        })
        .await
    }

    /// Calls may record at the same time; a lost count only makes the proof longer, and a slow
    /// turn is never lost.
    fn record(&self, turn: Duration) {
        if turn > QUICK {
            self.turns.store(SLOW, Ordering::Relaxed);
            return;
        }
        let turns = self.turns.load(Ordering::Relaxed);
        if turns < PROOF {
            let next = turns + 1;
            let _ = self
                .turns
                .compare_exchange(turns, next, Ordering::Relaxed, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quick_turns_earn_the_short_way_and_one_slow_turn_ends_it() {
        let pace = Pace::default();
        for _ in 0..PROOF {
            assert!(!pace.is_quick());
            pace.record(QUICK);
        }
        assert!(pace.is_quick());
        pace.record(QUICK * 2);
        assert!(!pace.is_quick());
        for _ in 0..PROOF {
            pace.record(Duration::ZERO);
        }
        assert!(!pace.is_quick());
    }
}
