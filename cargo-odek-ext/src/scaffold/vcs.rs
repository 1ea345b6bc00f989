//! Version control of a new project.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use clap::ValueEnum;
use serde::Serialize;

use crate::error::ExpectedError;

/// Which version control a new project gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(crate) enum VersionControl {
    /// A git repository of its own.
    Git,
    /// None.
    None,
}

/// What to do about version control, and what to do when it is impossible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VersionControlChoice {
    /// The user asked for it, so a failure is an error.
    Explicit(VersionControl),
    /// Git, except inside an existing repository or where git is missing.
    Automatic,
}

/// Variables that would make git work on another repository, as inside of a git hook.
const GIT_VARIABLES: [&str; 6] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_NAMESPACE",
];

/// Sets up version control in `directory`, which will live at `target`.
pub(crate) fn initialise(
    choice: VersionControlChoice,
    directory: &Path,
    target: &Path,
) -> Result<VersionControl, ExpectedError> {
    match choice {
        VersionControlChoice::Explicit(VersionControl::None) => Ok(VersionControl::None),
        VersionControlChoice::Explicit(VersionControl::Git) => {
            git_init(directory, target).map(|()| VersionControl::Git)
        }
        VersionControlChoice::Automatic if in_repository(target) => Ok(VersionControl::None),
        VersionControlChoice::Automatic => match git_init(directory, target) {
            Err(ExpectedError::GitMissing) => Ok(VersionControl::None),
            other => other.map(|()| VersionControl::Git),
        },
    }
}

fn in_repository(target: &Path) -> bool {
    target
        .ancestors()
        .skip(1)
        .any(|ancestor| ancestor.join(".git").exists())
}

fn git_init(directory: &Path, target: &Path) -> Result<(), ExpectedError> {
    let mut command = Command::new("git");
    command.args(["init", "--quiet"]).arg(directory);
    command.stdin(Stdio::null());
    for variable in GIT_VARIABLES {
        command.env_remove(variable);
    }
    let run = match command.output() {
        Ok(run) => run,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(ExpectedError::GitMissing);
        }
        Err(source) => return Err(ExpectedError::file("run `git init` in", target, source)),
    };
    if run.status.success() {
        return Ok(());
    }
    Err(ExpectedError::GitFailed {
        path: target.to_owned(),
        message: String::from_utf8_lossy(&run.stderr).trim().to_owned(),
    })
}
