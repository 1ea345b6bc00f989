//! Why a server cannot be used. The texts are the host's own.

use std::path::PathBuf;

use odek_contract::config::ConfigError;
use odek_contract::names::NameError;
use thiserror::Error;

use super::request::RequestFailure;
use super::trace::Explanation;

/// Why a server could not be started or did not take `initialize`. On most surfaces one such server
/// stops the whole program (host facts, section 7).
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The configuration entry is not usable.
    #[error(transparent)]
    Config(ConfigError),
    /// The entry says `"enabled": false`, so the host never starts the server.
    #[error("mcp server {}: disabled by `enabled: false`", odek_contract::go::quote(.server))]
    Disabled {
        /// The server's name.
        server: String,
    },
    /// The entry has a `url`. The host would use HTTP, which is not emulated here.
    #[error(
        "mcp server {}: the entry has a `url`, so odek would use HTTP and ignore `command`; only \
         servers that are started as a process can be called here",
        odek_contract::go::quote(.server)
    )]
    UrlTransport {
        /// The server's name.
        server: String,
    },
    /// The directory in which the host is to run is not there.
    #[error("working directory {}: {message}", .directory.display())]
    WorkingDirectory {
        /// The directory as given.
        directory: PathBuf,
        /// The reason, as the operating system words it.
        message: String,
    },
    /// The process could not be started.
    #[error("mcpclient {server}: start: {message}")]
    Start {
        /// The server's name.
        server: String,
        /// The configured command.
        command: String,
        /// The reason, as the host words it.
        message: String,
    },
    /// `initialize` failed.
    #[error("mcpclient {server}: initialize: {failure}")]
    Initialize {
        /// The server's name.
        server: String,
        /// How it failed.
        failure: RequestFailure,
        /// What the host does not say about it.
        explanations: Vec<Explanation>,
    },
}

/// Why the host rejects the tool list of a server, and with it the server (host facts, section 7).
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum DiscoverError {
    /// `tools/list` failed.
    #[error("mcpclient {server}: tools/list: {failure}")]
    Request {
        /// The server's name.
        server: String,
        /// How it failed.
        failure: RequestFailure,
        /// What the host does not say about it.
        explanations: Vec<Explanation>,
    },
    /// The result is no tool list.
    #[error("mcpclient {server}: parse tools/list: {message}")]
    Parse {
        /// The server's name.
        server: String,
        /// What the JSON decoder complains about.
        message: String,
    },
    /// A tool has a name that the host does not take.
    #[error("mcpclient {server}: tools/list: {source}")]
    Name {
        /// The server's name.
        server: String,
        /// Position of the entry in the list, from 0.
        index: usize,
        /// The rule that the name breaks.
        source: NameError,
    },
}

impl ConnectError {
    /// What the host does not say about the failure.
    pub fn explanations(&self) -> &[Explanation] {
        match self {
            Self::Initialize { explanations, .. } => explanations,
            _ => &[],
        }
    }
}

impl DiscoverError {
    /// What the host does not say about the failure.
    pub fn explanations(&self) -> &[Explanation] {
        match self {
            Self::Request { explanations, .. } => explanations,
            _ => &[],
        }
    }
}
