//! A one-way switch that a thread can wait for together with a pipe.
//!
//! A condition variable cannot be waited for while waiting for bytes. The latch is the read end of
//! an empty pipe: switching it on closes the write end, which `poll` reports to every waiter, now
//! and for ever after.

use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Starts off; [`Latch::set`] switches it on for good.
#[derive(Debug)]
pub(crate) struct Latch {
    watched: PipeReader,
    trigger: Mutex<Option<PipeWriter>>,
}

impl Latch {
    pub(crate) fn new() -> io::Result<Self> {
        let (watched, trigger) = io::pipe()?;
        Ok(Self {
            watched,
            trigger: Mutex::new(Some(trigger)),
        })
    }

    /// Switches the latch on and wakes every waiter.
    pub(crate) fn set(&self) {
        self.trigger
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
    }

    pub(crate) fn is_set(&self) -> bool {
        self.trigger
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .is_none()
    }

    /// Waits until the latch is on, but no longer than `timeout`. Says whether it is on.
    pub(crate) fn wait(&self, timeout: Option<Duration>) -> io::Result<bool> {
        Ok(wait_for_any([(self.watched.as_fd(), PollFlags::IN)], timeout)?[0])
    }

    /// Waits until the latch is on or `fd` is `ready`. Says whether the latch is on.
    pub(crate) fn wait_or(&self, fd: BorrowedFd<'_>, ready: PollFlags) -> io::Result<bool> {
        Ok(wait_for_any([(self.watched.as_fd(), PollFlags::IN), (fd, ready)], None)?[0])
    }
}

/// Waits for `fd` to be `ready` or for either of two latches. Says whether one of the latches is on.
pub(crate) fn wait_for_either(
    latches: [&Latch; 2],
    fd: BorrowedFd<'_>,
    ready: PollFlags,
) -> io::Result<bool> {
    let [first, second] = latches.map(|latch| latch.watched.as_fd());
    let awake = wait_for_any(
        [(first, PollFlags::IN), (second, PollFlags::IN), (fd, ready)],
        None,
    )?;
    Ok(awake[0] || awake[1])
}

fn wait_for_any<const N: usize>(
    watched: [(BorrowedFd<'_>, PollFlags); N],
    timeout: Option<Duration>,
) -> io::Result<[bool; N]> {
    let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    let mut fds = watched.map(|(fd, flags)| PollFd::from_borrowed_fd(fd, flags));
    loop {
        let remaining = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        match poll(&mut fds, remaining.map(timespec).as_ref()) {
            // Hang-ups and errors count as ready too: the next read or write tells what they mean.
            Ok(_) => return Ok(fds.each_ref().map(|fd| !fd.revents().is_empty())),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn timespec(duration: Duration) -> Timespec {
    Timespec {
        tv_sec: duration.as_secs().try_into().unwrap_or(i64::MAX),
        tv_nsec: duration.subsec_nanos().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn a_latch_stays_on() {
        let latch = Latch::new().unwrap();
        assert!(!latch.wait(Some(Duration::ZERO)).unwrap());
        assert!(!latch.is_set());
        latch.set();
        assert!(latch.is_set());
        assert!(latch.wait(None).unwrap());
        assert!(latch.wait(None).unwrap());
    }

    #[test]
    fn setting_wakes_every_waiter() {
        let latch = Latch::new().unwrap();
        thread::scope(|scope| {
            let waiters: Vec<_> = (0..4).map(|_| scope.spawn(|| latch.wait(None))).collect();
            latch.set();
            for waiter in waiters {
                assert!(waiter.join().unwrap().unwrap());
            }
        });
    }
}
