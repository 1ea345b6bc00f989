//! Reading what a server process writes, until it ends.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::event::PollFlags;

use super::latch::Latch;

/// How much is still read after the process has ended. A pipe holds no more than this, so more can
/// only come from another process that keeps the pipe open.
const LEFT_IN_PIPE_BYTES: usize = 1024 * 1024;

/// How much of the server's standard error is kept when it is captured: the last 64 KiB.
pub const CAPTURED_STDERR_BYTES: usize = 64 * 1024;

/// One output pipe of a process.
///
/// The host stops reading when the process has ended, even when a child of the process keeps the
/// pipe open. It does so at once and can lose an answer that is still in the pipe (host facts,
/// section 1); here, what is left in the pipe is always read.
pub(crate) struct ProcessOutput<R> {
    pipe: R,
    exited: Arc<Latch>,
    left_after_exit: usize,
}

impl<R: Read + AsFd> ProcessOutput<R> {
    pub(crate) fn new(pipe: R, exited: Arc<Latch>) -> io::Result<Self> {
        // Without this a read could block beyond the end of the process.
        rustix::io::ioctl_fionbio(&pipe, true)?;
        Ok(Self {
            pipe,
            exited,
            left_after_exit: LEFT_IN_PIPE_BYTES,
        })
    }

    /// Like [`Read::read`]: blocks, and gives 0 at the end.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            // Asked before reading: what was written before the end is then seen by the read.
            let has_exited = self.exited.is_set();
            let room = match has_exited {
                true => buffer.len().min(self.left_after_exit),
                false => buffer.len(),
            };
            match self.pipe.read(&mut buffer[..room]) {
                Ok(count) => {
                    if has_exited {
                        self.left_after_exit -= count;
                    }
                    return Ok(count);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if has_exited {
                        return Ok(0);
                    }
                    self.exited.wait_or(self.pipe.as_fd(), PollFlags::IN)?;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Keeps the pipe open, unread, until the process has ended.
    pub(crate) fn hold_until_exit(&self) {
        // On a failing poll the pipe is let go early, which only a broken server notices.
        let _ = self.exited.wait(None);
    }

    /// Gives a process whose output has ended the time to end, too.
    pub(crate) fn wait_for_exit(&self, at_most: Duration) {
        // Whether it has ended is asked elsewhere.
        let _ = self.exited.wait(Some(at_most));
    }
}

/// The end of the server's standard error.
#[derive(Debug, Clone, Default)]
pub(crate) struct CapturedOutput(Arc<Mutex<VecDeque<u8>>>);

impl CapturedOutput {
    pub(crate) fn text(&self) -> String {
        let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes: Vec<u8> = bytes.iter().copied().collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Reads until the end.
    pub(crate) fn fill<R: Read + AsFd>(&self, mut output: ProcessOutput<R>) {
        let mut buffer = [0; 8 * 1024];
        while let Ok(count @ 1..) = output.read(&mut buffer) {
            self.append(&buffer[..count]);
        }
    }

    fn append(&self, bytes: &[u8]) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend(bytes);
        let surplus = kept.len().saturating_sub(CAPTURED_STDERR_BYTES);
        kept.drain(..surplus);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn output() -> (ProcessOutput<io::PipeReader>, io::PipeWriter, Arc<Latch>) {
        let exited = Arc::new(Latch::new().unwrap());
        let (reader, writer) = io::pipe().unwrap();
        (
            ProcessOutput::new(reader, Arc::clone(&exited)).unwrap(),
            writer,
            exited,
        )
    }

    #[test]
    fn what_is_left_in_the_pipe_is_read_after_the_exit() {
        let (mut output, mut writer, exited) = output();
        writer.write_all(b"last words").unwrap();
        exited.set();
        let mut buffer = [0; 64];
        assert_eq!(output.read(&mut buffer).unwrap(), 10);
        // The write end is still open, as when a grandchild holds it.
        assert_eq!(output.read(&mut buffer).unwrap(), 0);
        drop(writer);
    }

    #[test]
    fn another_process_cannot_keep_the_reader_busy() {
        let (mut output, mut writer, exited) = output();
        exited.set();
        let mut buffer = [0; 4096];
        let mut total = 0;
        loop {
            writer.write_all(&[b'x'; 4096]).unwrap();
            let count = output.read(&mut buffer).unwrap();
            if count == 0 {
                break;
            }
            total += count;
        }
        assert_eq!(total, LEFT_IN_PIPE_BYTES);
    }

    #[test]
    fn only_the_end_is_kept() {
        let captured = CapturedOutput::default();
        captured.append(&[b'a'; CAPTURED_STDERR_BYTES]);
        captured.append(b"end");
        let text = captured.text();
        assert_eq!(text.len(), CAPTURED_STDERR_BYTES);
        assert!(text.ends_with("aend"));
    }
}
