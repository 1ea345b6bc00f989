//! Standard input and output, taken out of everybody else's reach.
//!
//! Afterwards descriptor 0 reads as empty and descriptor 1 is standard error. So `println!`, a C
//! library or a child process can neither write into the protocol nor eat a request.

use std::{
    fs::{File, OpenOptions},
    io,
    os::fd::AsFd,
};

use rustix::{
    io::fcntl_dupfd_cloexec,
    stdio::{dup2_stdin, dup2_stdout, stderr, stdin, stdout},
};

/// The lowest number for a private descriptor: above the three that programs reach for.
const FIRST_PRIVATE: i32 = 3;

/// The real standard input and output; children do not inherit them.
pub(crate) struct ProtocolStdio {
    pub(crate) input: File,
    pub(crate) output: File,
}

impl ProtocolStdio {
    /// Move standard input and output to private descriptors.
    ///
    /// Nothing is lost: neither has been read from nor written to before, unless the program did
    /// so itself before serving.
    pub(crate) fn take() -> io::Result<Self> {
        let input = fcntl_dupfd_cloexec(stdin(), FIRST_PRIVATE)?;
        let output = fcntl_dupfd_cloexec(stdout(), FIRST_PRIVATE)?;
        let nothing = OpenOptions::new()
            .read(true)
            .write(true)
            .open("/dev/null")?;
        dup2_stdin(nothing.as_fd())?;
        // Without a usable stderr, stray output goes nowhere rather than into the protocol.
        dup2_stdout(stderr()).or_else(|_| dup2_stdout(nothing.as_fd()))?;
        Ok(Self {
            input: File::from(input),
            output: File::from(output),
        })
    }
}
