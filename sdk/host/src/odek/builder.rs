//! From a configuration entry to a running server.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::{env, fs, io, path};

use odek_contract::config::{Effective, ServerConfig};
use odek_contract::environment::{EnvironmentError, PASSED_ON, child_environment};
use odek_contract::names::ServerName;

use super::client::Client;
use super::connection::Connection;
use super::error::ConnectError;
use super::process::{Launch, Stderr};
use super::program;
use super::trace::{TraceSink, Tracer, WireEventKind};

/// Sets up a [`Client`]. Made by [`Client::builder`].
pub struct ClientBuilder<'a> {
    server: ServerName,
    config: &'a ServerConfig,
    working_directory: Option<PathBuf>,
    parent_environment: Option<BTreeMap<OsString, OsString>>,
    stderr: Stderr,
    sink: Option<Box<dyn TraceSink>>,
}

impl<'a> ClientBuilder<'a> {
    pub(crate) fn new(server: ServerName, config: &'a ServerConfig) -> Self {
        Self {
            server,
            config,
            working_directory: None,
            parent_environment: None,
            stderr: Stderr::default(),
            sink: None,
        }
    }

    /// The directory in which the host runs. The server is started there, and relative commands and
    /// artifact roots are taken from there. By default the working directory of this process.
    pub fn working_directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.working_directory = Some(directory.into());
        self
    }

    /// The environment in which the host runs. A few of its variables reach the server (host facts,
    /// section 6), and its `PATH` is where a command without a slash is looked for. By default the
    /// environment of this process.
    pub fn parent_environment<N, V>(mut self, environment: impl IntoIterator<Item = (N, V)>) -> Self
    where
        N: Into<OsString>,
        V: Into<OsString>,
    {
        let variables = environment.into_iter();
        self.parent_environment = Some(
            variables
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
        );
        self
    }

    /// Where the server's standard error goes. By default to that of this process, as in the host.
    pub fn stderr(mut self, stderr: Stderr) -> Self {
        self.stderr = stderr;
        self
    }

    /// Who is told of everything that happens on the connection; for example a
    /// [`Timeline`](super::Timeline).
    pub fn trace(mut self, sink: impl TraceSink + 'static) -> Self {
        self.sink = Some(Box::new(sink));
        self
    }

    /// Starts the server and sends `initialize`.
    ///
    /// The answer is not looked at, whatever protocol version it names; only an error fails. No
    /// `initialized` notification follows (host facts, section 2).
    ///
    /// # Errors
    ///
    /// Everything that keeps the host from starting the server, and an error or no answer to
    /// `initialize`. The process is ended before this returns.
    pub fn connect(self) -> Result<Client, ConnectError> {
        let client = self.spawn()?;
        client.initialize()?;
        Ok(client)
    }

    /// Starts the server and sends nothing. A call on such a client arrives at the server before
    /// `initialize`; the host never does that, a test of a server may want to.
    ///
    /// # Errors
    ///
    /// Everything that keeps the host from starting the server.
    pub fn spawn(self) -> Result<Client, ConnectError> {
        let server = self.server.as_str();
        let parent = match self.parent_environment {
            Some(parent) => parent,
            None => env::vars_os().collect(),
        };
        let lookup = |name: &str| {
            parent
                .get(OsStr::new(name))
                .map(|value| value.to_string_lossy().into_owned())
        };
        let effective = self
            .config
            .effective(server, lookup)
            .map_err(ConnectError::Config)?;
        let Effective::Enabled { limits, warnings } = effective else {
            return Err(ConnectError::Disabled {
                server: server.to_owned(),
            });
        };
        if !self.config.url.is_empty() {
            return Err(ConnectError::UrlTransport {
                server: server.to_owned(),
            });
        }
        let start_failed = |message: String| ConnectError::Start {
            server: server.to_owned(),
            command: self.config.command.clone(),
            message,
        };
        let working_directory = existing_directory(self.working_directory.as_deref())?;
        let launch = Launch {
            program: program::locate(
                &self.config.command,
                parent.get(OsStr::new("PATH")).map(OsString::as_os_str),
                &working_directory,
            )
            .map_err(|error| start_failed(error.to_string()))?,
            command: self.config.command.clone(),
            arguments: self.config.args.clone(),
            environment: environment_for_child(&parent, &self.config.env)
                .map_err(|error| start_failed(error.to_string()))?,
            working_directory: working_directory.clone(),
            stderr: self.stderr,
        };
        let tracer = Tracer::new(self.sink);
        for warning in &warnings {
            tracer.record(|| WireEventKind::Warned(warning.clone()));
        }
        let connection = Connection::start(&launch, self.server.clone(), &limits, tracer)
            .map_err(|error| start_failed(fork_error_text(&self.config.command, &error)))?;
        Ok(Client::new(super::client::Parts {
            server: self.server.clone(),
            limits,
            warnings,
            artifact_roots: self.config.artifact_roots.clone(),
            working_directory,
            connection,
        }))
    }
}

/// The host's working directory, absolute. A process cannot be started anywhere else.
fn existing_directory(directory: Option<&Path>) -> Result<PathBuf, ConnectError> {
    let directory = directory.unwrap_or(Path::new("."));
    let failed = |source: io::Error| ConnectError::WorkingDirectory {
        directory: directory.to_owned(),
        message: program::system_error_text(&source),
    };
    let absolute = path::absolute(directory).map_err(failed)?;
    match fs::metadata(&absolute).map_err(failed)?.is_dir() {
        true => Ok(absolute),
        false => Err(failed(io::ErrorKind::NotADirectory.into())),
    }
}

/// The server's environment. Values need not be UTF-8; the rules only know names.
fn environment_for_child(
    parent: &BTreeMap<OsString, OsString>,
    configured: &BTreeMap<String, String>,
) -> Result<Vec<(OsString, OsString)>, EnvironmentError> {
    let readable = parent
        .iter()
        .filter_map(|(name, value)| Some((name.to_str()?.to_owned(), value.to_str()?.to_owned())));
    let mut environment: Vec<(OsString, OsString)> = child_environment(readable, configured)?
        .into_iter()
        .map(|(name, value)| (name.into(), value.into()))
        .collect();
    for name in PASSED_ON
        .into_iter()
        .filter(|name| !configured.contains_key(*name))
    {
        let value = parent
            .get(OsStr::new(name))
            .filter(|value| value.to_str().is_none());
        environment.extend(value.map(|value| (name.into(), value.clone())));
    }
    Ok(environment)
}

/// The host's words for a process that could not be started.
fn fork_error_text(command: &str, error: &io::Error) -> String {
    format!("fork/exec {command}: {}", program::system_error_text(error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStringExt;

    #[test]
    fn values_that_are_not_utf_8_are_passed_on_unchanged() {
        let odd = || OsString::from_vec(b"/a\xff".to_vec());
        let parent = BTreeMap::from([
            ("HOME".into(), odd()),
            ("X".into(), odd()),
            ("TZ".into(), odd()),
        ]);
        let configured = BTreeMap::from([("TZ".to_owned(), "UTC".to_owned())]);
        let environment = environment_for_child(&parent, &configured).unwrap();
        assert_eq!(
            environment,
            [("TZ".into(), "UTC".into()), ("HOME".into(), odd())]
        );
    }

    #[test]
    fn a_directory_is_made_absolute_and_has_to_be_there() {
        let here = env::current_dir().unwrap();
        assert_eq!(existing_directory(None), Ok(here.clone()));
        assert_eq!(
            existing_directory(Some(Path::new("src"))),
            Ok(here.join("src"))
        );
        let file = existing_directory(Some(Path::new("src/lib.rs"))).unwrap_err();
        assert_eq!(
            file.to_string(),
            "working directory src/lib.rs: not a directory"
        );
    }
}
