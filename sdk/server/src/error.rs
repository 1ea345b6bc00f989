//! Why an extension could not be served.

use std::{fmt, io};

use crate::registry::RegistrationError;

/// The result of [`Extension::serve`](crate::Extension::serve), for `main`.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an extension could not be served. All of these happen before the first byte of protocol.
///
/// `Debug` prints the message for people, so that `fn main() -> odek_sdk::Result<()>` ends with a
/// readable line on stderr.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The name or the tools of the extension break the contract's rules.
    #[error(transparent)]
    Registration(#[from] RegistrationError),
    /// Standard input and output could not be taken over for the protocol.
    #[error("cannot take over standard input and output for the protocol: {0}")]
    Stdio(#[source] io::Error),
    /// The threads that run the tools could not be started.
    #[error("cannot start the threads that run the tools: {0}")]
    Runtime(#[source] io::Error),
    /// `--describe` could not write its answer.
    #[error("cannot write the description to standard output: {0}")]
    Describe(#[source] io::Error),
}

impl fmt::Debug for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}
