//! Ctrl-C and its relatives. Once armed, a signal no longer ends the process: the work in progress
//! notices it at its next step, so that it can remove what it has begun.

use std::io;
use std::panic;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use crate::error::ExpectedError;

/// How often to look for a signal while something else is waited for.
pub(crate) const POLL: Duration = Duration::from_millis(50);

/// Tells whether the user asked to stop.
#[derive(Clone, Debug)]
pub(crate) struct Interrupt {
    received: Arc<AtomicBool>,
}

impl Interrupt {
    /// Begins to watch.
    pub(crate) fn arm() -> Result<Self, ExpectedError> {
        let received = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            register(signal, &received).map_err(|source| ExpectedError::Signals { source })?;
        }
        Ok(Self { received })
    }

    /// Fails once a signal has arrived. To be asked before every step that takes time.
    pub(crate) fn check(&self) -> Result<(), ExpectedError> {
        if self.received.load(Ordering::SeqCst) {
            return Err(ExpectedError::Interrupted);
        }
        Ok(())
    }

    /// Does `work`, which cannot ask by itself. When a signal arrives meanwhile, `stop` is called
    /// once, and must make `work` come to an end soon.
    ///
    /// # Errors
    ///
    /// Fails once a signal has arrived, whatever the work came to.
    pub(crate) fn watch<T: Send>(
        &self,
        stop: impl FnOnce(),
        work: impl FnOnce() -> T + Send,
    ) -> Result<T, ExpectedError> {
        let mut stop = Some(stop);
        thread::scope(|scope| {
            let (sender, finished) = mpsc::channel::<()>();
            let worker = scope.spawn(move || {
                // Dropped at the end of the work, also when that panics.
                let _sender = sender;
                work()
            });
            while finished.recv_timeout(POLL) == Err(RecvTimeoutError::Timeout) {
                if self.check().is_err()
                    && let Some(stop) = stop.take()
                {
                    stop();
                }
            }
            let result = worker
                .join()
                .unwrap_or_else(|bug| panic::resume_unwind(bug));
            self.check().map(|()| result)
        })
    }
}

fn register(signal: i32, received: &Arc<AtomicBool>) -> io::Result<()> {
    flag::register(signal, Arc::clone(received)).map(drop)
}
