//! Whether a tool is quick enough to be run without changing threads.
//!
//! Handing a call to another thread and waking it costs more than a short tool itself. So an async
//! tool that has proven to be quick is started on the thread that reads requests, and only goes to
//! another thread if it has to wait for something. A tool that blocks or computes instead of
//! awaiting keeps requests from being read until the reader is relieved (see
//! [`watch`](super::watch)); it does so at most once, after which it never runs there again.

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

/// The mark of a tool that is on the short way now. Until it is back, nobody knows whether it
/// still is quick, so no other call of it is let on.
const ON_THE_WAY: u8 = SLOW - 1;

/// A quick turn: about what handing the call to another thread would cost at worst.
const QUICK: Duration = Duration::from_micros(200);

/// What is known about one tool. A turn is the time from being polled to giving way.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    /// Quick turns so far, up to [`PROOF`], or [`SLOW`].
    turns: AtomicU8,
}

impl Pace {
    /// Whether a call may take the short way: the tool has always been quick, often enough.
    /// [`leave_short_way`](Self::leave_short_way) must follow.
    pub(crate) fn take_short_way(&self) -> bool {
        self.replace(PROOF, ON_THE_WAY)
    }

    /// The call is done with its first turn; a slow one has been recorded by now.
    pub(crate) fn leave_short_way(&self) {
        self.replace(ON_THE_WAY, PROOF);
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
            self.replace(turns, turns + 1);
        }
    }

    fn replace(&self, known: u8, next: u8) -> bool {
        self.turns
            .compare_exchange(known, next, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quick_turns_earn_the_short_way_and_one_slow_turn_ends_it() {
        let pace = Pace::default();
        for _ in 0..PROOF {
            assert!(!pace.take_short_way());
            pace.record(QUICK);
        }
        assert!(pace.take_short_way());
        assert!(!pace.take_short_way(), "one call at a time");
        pace.record(QUICK);
        pace.leave_short_way();
        assert!(pace.take_short_way());
        pace.record(QUICK * 2);
        pace.leave_short_way();
        assert!(!pace.take_short_way());
        for _ in 0..PROOF {
            pace.record(Duration::ZERO);
        }
        assert!(!pace.take_short_way());
    }
}
