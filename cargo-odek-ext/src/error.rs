//! Every failure that is not a bug of the command, with its exit code.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use odek_host::odek::ConnectError;
use serde::Serialize;
use thiserror::Error;

use crate::project_name::NameError;
use crate::scaffold::templates::RenderError;

/// What kind of failure an error is; decides the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    /// The command line asks for something that cannot be done.
    Usage,
    /// The extension does not do what its host needs.
    Extension,
    /// A build failed.
    Build,
    /// The machine, the file system or a missing program stands in the way.
    Environment,
    /// The user stopped the command.
    Interrupted,
}

impl Kind {
    fn exit_code(self) -> u8 {
        match self {
            Kind::Extension => 1,
            Kind::Usage => 2,
            Kind::Environment => 3,
            Kind::Build => 4,
            // What a shell reports for a program that Ctrl-C ended.
            Kind::Interrupted => 130,
        }
    }
}

/// A failure that is the fault of the input or of the environment.
#[derive(Debug, Error)]
pub(crate) enum ExpectedError {
    #[error("{problem}")]
    CommandLine { problem: String },

    #[error("`{}` already exists and is not a directory", path.display())]
    DestinationIsNotADirectory { path: PathBuf },

    #[error("the directory `{}` is not empty", path.display())]
    DestinationNotEmpty { path: PathBuf },

    #[error("the directory `{}` is in use as the current directory, so it cannot be created anew", path.display())]
    DestinationIsCurrentDirectory { path: PathBuf },

    #[error("`{}` ends in no name for the directory to create", path.display())]
    DestinationHasNoName { path: PathBuf },

    #[error("{source}")]
    InvalidName {
        #[source]
        source: NameError,
        origin: NameOrigin,
    },

    #[error("the workspace in `{}` has a package named `{name}` already", workspace.display())]
    NameTaken { name: String, workspace: PathBuf },

    #[error("the {field} {value:?} {problem}")]
    InvalidText {
        field: &'static str,
        value: String,
        problem: &'static str,
    },

    #[error("`{}` is no checkout of the SDK: it holds no `sdk/server/Cargo.toml`", path.display())]
    NoSdkCheckout { path: PathBuf },

    #[error("the path `{}` is not valid UTF-8, so cargo cannot name it", path.display())]
    PathNotUtf8 { path: PathBuf },

    #[error("cannot {action} `{}`: {source}", path.display())]
    File {
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },

    #[error("`git` is not on the PATH, so no repository can be initialised")]
    GitMissing,

    #[error("`git init` failed in `{}`: {message}", path.display())]
    GitFailed { path: PathBuf, message: String },

    #[error("the workspace manifest `{}` cannot take a new member: {problem}", path.display())]
    WorkspaceManifest { path: PathBuf, problem: String },

    #[error("{source}; this is a bug of `cargo odek-ext`")]
    Template {
        #[source]
        source: RenderError,
    },

    #[error("neither `{}` nor a directory above it holds a `Cargo.toml`", start.display())]
    NoProject { start: PathBuf },

    #[error("`{}` is a workspace and no package of its own", path.display())]
    OnlyWorkspace { path: PathBuf },

    #[error("cannot run cargo: {source}")]
    RunCargo { source: io::Error },

    #[error("the extension in `{}` does not build", path.display())]
    BuildFailed { path: PathBuf },

    #[error("the package in `{}` has no binary", path.display())]
    NoBinary { path: PathBuf },

    #[error("the package in `{}` has several binaries: {}", path.display(), names.join(", "))]
    SeveralBinaries { path: PathBuf, names: Vec<String> },

    #[error("the project has no `{}`, so nothing says how odek starts it", path.display())]
    NoOdekConfig { path: PathBuf },

    #[error("`{}` cannot be used as odek's configuration: {problem}", path.display())]
    OdekConfig { path: PathBuf, problem: String },

    #[error("`{}` has no server named `{wanted}`", path.display())]
    NoServer {
        path: PathBuf,
        wanted: String,
        known: Vec<String>,
    },

    #[error("`{}` has several servers: {}", path.display(), known.join(", "))]
    WhichServer { path: PathBuf, known: Vec<String> },

    #[error("{problem}")]
    Arguments { problem: String },

    #[error("{source}")]
    Connect {
        #[source]
        source: ConnectError,
    },

    #[error("{message}")]
    Discover { message: String },

    #[error("the server `{server}` has no tool named `{wanted}`")]
    UnknownTool {
        server: String,
        wanted: String,
        known: Vec<String>,
    },

    #[error("the tool failed: {message}")]
    DemoCall { message: String },

    #[error("the artifact `{}` differs from what the extension says about it", path.display())]
    DemoArtifact { path: PathBuf },

    #[error("cannot ask on the terminal: {source}")]
    Prompt { source: io::Error },

    #[error("cannot watch for interrupts: {source}")]
    Signals { source: io::Error },

    #[error("cannot write the result to standard output: {source}")]
    WriteResult { source: io::Error },

    #[error("interrupted")]
    Interrupted,
}

/// Where a project name came from; decides the advice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameOrigin {
    /// Given with `--name`.
    Flag,
    /// Derived from the last part of the path.
    Path,
}

impl ExpectedError {
    pub(crate) fn file(action: &'static str, path: &Path, source: io::Error) -> Self {
        ExpectedError::File {
            action,
            path: path.to_owned(),
            source,
        }
    }

    /// A failure to make something under a random name in `directory`. The usual reasons are put in
    /// words here, since `tempfile` adds the random path to its own.
    pub(crate) fn temporary(action: &'static str, directory: &Path, source: io::Error) -> Self {
        use io::ErrorKind::{
            NotFound, PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull,
        };
        let source = match source.kind() {
            kind @ (NotFound | PermissionDenied | QuotaExceeded | ReadOnlyFilesystem
            | StorageFull) => io::Error::from(kind),
            _ => source,
        };
        Self::file(action, directory, source)
    }

    pub(crate) fn derived_name(source: NameError) -> Self {
        ExpectedError::InvalidName {
            source,
            origin: NameOrigin::Path,
        }
    }

    pub(crate) fn connect(source: ConnectError) -> Self {
        ExpectedError::Connect { source }
    }

    pub(crate) fn unknown_tool(server: &str, wanted: &str, known: Vec<String>) -> Self {
        ExpectedError::UnknownTool {
            server: server.to_owned(),
            wanted: wanted.to_owned(),
            known,
        }
    }

    pub(crate) fn write_result(source: io::Error) -> Self {
        ExpectedError::WriteResult { source }
    }

    pub(crate) fn kind(&self) -> Kind {
        match self {
            ExpectedError::CommandLine { .. }
            | ExpectedError::DestinationIsNotADirectory { .. }
            | ExpectedError::DestinationNotEmpty { .. }
            | ExpectedError::DestinationIsCurrentDirectory { .. }
            | ExpectedError::DestinationHasNoName { .. }
            | ExpectedError::InvalidName { .. }
            | ExpectedError::NameTaken { .. }
            | ExpectedError::InvalidText { .. }
            | ExpectedError::NoSdkCheckout { .. }
            | ExpectedError::PathNotUtf8 { .. }
            | ExpectedError::NoProject { .. }
            | ExpectedError::OnlyWorkspace { .. }
            | ExpectedError::NoBinary { .. }
            | ExpectedError::SeveralBinaries { .. }
            | ExpectedError::NoServer { .. }
            | ExpectedError::WhichServer { .. }
            | ExpectedError::Arguments { .. }
            | ExpectedError::UnknownTool { .. } => Kind::Usage,
            ExpectedError::Connect {
                source: ConnectError::Initialize { .. },
            }
            | ExpectedError::Discover { .. }
            | ExpectedError::DemoCall { .. }
            | ExpectedError::DemoArtifact { .. } => Kind::Extension,
            ExpectedError::BuildFailed { .. } => Kind::Build,
            ExpectedError::File { .. }
            | ExpectedError::GitMissing
            | ExpectedError::GitFailed { .. }
            | ExpectedError::WorkspaceManifest { .. }
            | ExpectedError::Template { .. }
            | ExpectedError::RunCargo { .. }
            | ExpectedError::NoOdekConfig { .. }
            | ExpectedError::OdekConfig { .. }
            | ExpectedError::Connect { .. }
            | ExpectedError::Prompt { .. }
            | ExpectedError::Signals { .. }
            | ExpectedError::WriteResult { .. } => Kind::Environment,
            ExpectedError::Interrupted => Kind::Interrupted,
        }
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.kind().exit_code())
    }

    /// What to change, where that is not obvious from the message.
    pub(crate) fn hint(&self) -> Option<String> {
        match self {
            ExpectedError::DestinationIsNotADirectory { .. }
            | ExpectedError::DestinationNotEmpty { .. } => {
                Some("give a path that does not exist yet".to_owned())
            }
            ExpectedError::DestinationIsCurrentDirectory { .. } => {
                Some("run the command from the parent directory".to_owned())
            }
            ExpectedError::DestinationHasNoName { .. } => {
                Some("give the path of a directory to create, such as `log-analyzer`".to_owned())
            }
            ExpectedError::InvalidName { source, origin } => {
                let name = source.suggestion().unwrap_or("log-analyzer");
                Some(match origin {
                    NameOrigin::Flag => format!("`{name}` would be accepted"),
                    NameOrigin::Path => {
                        format!("give another name with `--name`, such as `--name {name}`")
                    }
                })
            }
            ExpectedError::NameTaken { .. } => Some("give another name with `--name`".to_owned()),
            ExpectedError::InvalidText { field, .. } => Some(format!(
                "give another one with `--{}`",
                field.replace(' ', "-")
            )),
            ExpectedError::NoSdkCheckout { .. } => {
                Some("`--sdk-path` takes the top directory of a checkout".to_owned())
            }
            ExpectedError::NoProject { .. } => {
                Some("run the command inside of a project, or name one with `--project`".to_owned())
            }
            ExpectedError::OnlyWorkspace { .. } => {
                Some("name the directory of a member with `--project`".to_owned())
            }
            ExpectedError::SeveralBinaries { .. } => {
                Some("choose one with `--bin NAME`".to_owned())
            }
            ExpectedError::NoOdekConfig { .. } => Some(
                "write one with an `mcp_servers` entry, or give another file with `--config`"
                    .to_owned(),
            ),
            ExpectedError::WhichServer { .. } => Some("choose one with `--server NAME`".to_owned()),
            ExpectedError::NoServer { wanted, known, .. }
            | ExpectedError::UnknownTool { wanted, known, .. } => Some(alternatives(wanted, known)),
            ExpectedError::Arguments { .. } => Some(
                "give one JSON document, `@FILE`, or `key=value` words, such as `top=3`".to_owned(),
            ),
            ExpectedError::PathNotUtf8 { .. } => {
                Some("give a path whose directories all have UTF-8 names".to_owned())
            }
            ExpectedError::GitMissing => Some("install git, or pass `--vcs none`".to_owned()),
            ExpectedError::WorkspaceManifest { .. } => Some(
                "repair that manifest, or create the extension outside of its directory".to_owned(),
            ),
            _ => None,
        }
    }

    /// The form of `--format json`.
    pub(crate) fn document(&self) -> ErrorDocument {
        ErrorDocument {
            error: ErrorBody {
                kind: self.kind(),
                message: self.to_string(),
                hint: self.hint(),
                exit_code: self.kind().exit_code(),
            },
        }
    }
}

/// The name that was probably meant, and all there are.
fn alternatives(wanted: &str, known: &[String]) -> String {
    if known.is_empty() {
        return "there is none at all".to_owned();
    }
    let all = known.join(", ");
    match nearest(wanted, known) {
        Some(name) => format!("did you mean `{name}`? There are: {all}"),
        None => format!("there are: {all}"),
    }
}

fn nearest<'a>(wanted: &str, known: &'a [String]) -> Option<&'a str> {
    /// Below this likeness two names have little in common.
    const LIKENESS: f64 = 0.75;
    known
        .iter()
        .map(|name| (strsim::jaro_winkler(wanted, name), name.as_str()))
        .filter(|(likeness, _)| *likeness >= LIKENESS)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, name)| name)
}

/// What `--format json` prints for a failure: `{"error": {...}}`.
#[derive(Debug, Serialize)]
pub(crate) struct ErrorDocument {
    error: ErrorBody,
}

#[derive(Debug, Serialize)]
struct ErrorBody {
    kind: Kind,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    exit_code: u8,
}
