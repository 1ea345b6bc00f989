//! Ctrl-C and its relatives. Once armed, a signal no longer ends the process: the work in progress
//! notices it at its next step, so that it can remove what it has begun.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use crate::error::ExpectedError;

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

    /// Watches for nothing: a signal has its own effect, the end of the process.
    pub(crate) fn unarmed() -> Self {
        Self {
            received: Arc::default(),
        }
    }

    /// Fails once a signal has arrived. To be asked before every step that takes time.
    pub(crate) fn check(&self) -> Result<(), ExpectedError> {
        if self.received.load(Ordering::SeqCst) {
            return Err(ExpectedError::Interrupted);
        }
        Ok(())
    }
}

fn register(signal: i32, received: &Arc<AtomicBool>) -> io::Result<()> {
    flag::register(signal, Arc::clone(received)).map(drop)
}
