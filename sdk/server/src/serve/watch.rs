//! Makes sure that somebody reads requests, whatever the thread that does is kept busy with.
//!
//! The reading thread runs quick tools and writes answers itself. Should one of these take long, a
//! tool that this time blocks or a host that does not read, another thread goes on reading, and
//! the first one only finishes what it has begun.

use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::Duration,
};

use tokio::{sync::Notify, time};

/// After at least this long, and at most twice as long, a busy reader is relieved.
const PATIENCE: Duration = Duration::from_millis(10);

/// Whether the thread that reads is busy with something else, and since when.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    /// Counts beginnings and ends, so it is odd while the reader is busy.
    changes: AtomicU64,
    is_asleep: AtomicBool,
    wake: Notify,
}

/// What a reader was busy with.
#[derive(Debug)]
pub(crate) struct Busy(u64);

/// Who goes on reading.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Reader {
    This,
    Another,
}

impl Watch {
    /// The reader turns to something that may take long.
    pub(crate) fn begin(&self) -> Busy {
        let busy = Busy(self.changes.fetch_add(1, Ordering::SeqCst) + 1);
        if self.is_asleep.swap(false, Ordering::SeqCst) {
            self.wake.notify_one();
        }
        busy
    }

    /// The reader is done with it.
    pub(crate) fn end(&self, busy: Busy) -> Reader {
        match self.pass(busy.0) {
            true => Reader::This,
            false => Reader::Another,
        }
    }

    /// Wait until a reader has been busy for too long; it is relieved then, and another one must
    /// be started.
    pub(crate) async fn relieved(&self) {
        loop {
            let before = self.changes.load(Ordering::SeqCst);
            time::sleep(PATIENCE).await;
            if self.changes.load(Ordering::SeqCst) != before {
                continue;
            }
            let is_busy = before % 2 == 1;
            if is_busy {
                if self.pass(before) {
                    return;
                }
                continue;
            }
            // Nothing goes on. Whatever begins after this is stored wakes this task.
            self.is_asleep.store(true, Ordering::SeqCst);
            if self.changes.load(Ordering::SeqCst) == before {
                self.wake.notified().await;
            }
        }
    }

    /// From busy to not busy, for whoever comes first.
    fn pass(&self, busy: u64) -> bool {
        self.changes
            .compare_exchange(busy, busy + 1, Ordering::SeqCst, Ordering::SeqCst)
            .is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_busy_reader_is_relieved_once() {
        let watch = Watch::default();
        let quick = watch.begin();
        assert_eq!(watch.end(quick), Reader::This);
        let slow = watch.begin();
        watch.relieved().await;
        let next = watch.begin();
        assert_eq!(watch.end(slow), Reader::Another);
        assert_eq!(watch.end(next), Reader::This);
    }

    #[tokio::test(start_paused = true)]
    async fn an_idle_reader_is_left_alone_and_watched_again_when_it_is_busy() {
        let watch = Watch::default();
        let waiting = time::timeout(PATIENCE * 100, watch.relieved());
        waiting.await.unwrap_err();
        let busy = watch.begin();
        watch.relieved().await;
        assert_eq!(watch.end(busy), Reader::Another);
    }
}
