//! A cargo project on disk: where it is, and how it becomes a binary.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;

use cargo_metadata::{Artifact, Message, TargetKind};
use toml_edit::DocumentMut;

use crate::error::ExpectedError;
use crate::interrupt::{Interrupt, POLL};

/// A directory with a `Cargo.toml`.
#[derive(Debug)]
pub(crate) struct Project {
    directory: PathBuf,
}

/// How to build.
#[derive(Debug, Default)]
pub(crate) struct BuildOptions {
    /// Which binary to build, where the package has several.
    pub(crate) binary: Option<String>,
    /// Where to build, instead of where cargo would.
    pub(crate) target_directory: Option<PathBuf>,
    /// A file of cargo configuration that applies in addition.
    pub(crate) configuration: Option<PathBuf>,
}

impl Project {
    /// The project that a directory belongs to: the nearest one upwards, as cargo finds it.
    ///
    /// # Errors
    ///
    /// Fails when there is none.
    pub(crate) fn find(start: &Path) -> Result<Self, ExpectedError> {
        let absolute = start
            .canonicalize()
            .map_err(|source| ExpectedError::file("find", start, source))?;
        absolute
            .ancestors()
            .find(|directory| directory.join("Cargo.toml").is_file())
            .map(|directory| Self {
                directory: directory.to_owned(),
            })
            .ok_or(ExpectedError::NoProject { start: absolute })
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Builds the project's binary. Cargo's progress and the compiler's messages go to standard
    /// error.
    ///
    /// # Errors
    ///
    /// Fails when the project is no package, when cargo cannot be run, when the build fails, when the project has no binary or
    /// several, and when the user interrupts.
    pub(crate) fn build(
        &self,
        options: &BuildOptions,
        interrupt: &Interrupt,
    ) -> Result<PathBuf, ExpectedError> {
        self.check_package()?;
        let mut build = Build::start(self.command(options))?;
        let mut binaries: Vec<Binary> = Vec::new();
        while let Some(artifact) = build.next_artifact(interrupt)? {
            if artifact.manifest_path.as_std_path() == self.manifest() {
                binaries.extend(Binary::of(artifact));
            }
        }
        let status = build.wait()?;
        // The terminal's interrupt ends cargo as well.
        interrupt.check()?;
        if !status.success() {
            return Err(ExpectedError::BuildFailed {
                path: self.directory.clone(),
            });
        }
        self.only(binaries)
    }

    /// Fails for a workspace that is no package as well: cargo would build all of its members, and
    /// none would be the one to run.
    fn check_package(&self) -> Result<(), ExpectedError> {
        let path = self.manifest();
        let text = fs::read_to_string(&path)
            .map_err(|source| ExpectedError::file("read", &path, source))?;
        // What is no TOML is for cargo to complain about.
        let Ok(manifest) = text.parse::<DocumentMut>() else {
            return Ok(());
        };
        if manifest.contains_key("workspace") && !manifest.contains_key("package") {
            return Err(ExpectedError::OnlyWorkspace {
                path: self.directory.clone(),
            });
        }
        Ok(())
    }

    fn manifest(&self) -> PathBuf {
        self.directory.join("Cargo.toml")
    }

    fn command(&self, options: &BuildOptions) -> Command {
        let mut command = Command::new(cargo());
        command
            .arg("build")
            .arg("--message-format=json-render-diagnostics")
            .arg("--manifest-path")
            .arg(self.manifest());
        if let Some(binary) = &options.binary {
            command.arg("--bin").arg(binary);
        }
        if let Some(directory) = &options.target_directory {
            command.arg("--target-dir").arg(directory);
        }
        if let Some(file) = &options.configuration {
            command.arg("--config").arg(file);
        }
        command
            .current_dir(&self.directory)
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        command
    }

    fn only(&self, mut binaries: Vec<Binary>) -> Result<PathBuf, ExpectedError> {
        let path = self.directory.clone();
        match (binaries.pop(), binaries.is_empty()) {
            (None, _) => Err(ExpectedError::NoBinary { path }),
            (Some(binary), true) => Ok(binary.path),
            (Some(last), false) => {
                let mut names: Vec<String> =
                    binaries.into_iter().map(|binary| binary.name).collect();
                names.push(last.name);
                Err(ExpectedError::SeveralBinaries { path, names })
            }
        }
    }
}

#[derive(Debug)]
struct Binary {
    name: String,
    path: PathBuf,
}

impl Binary {
    fn of(artifact: Artifact) -> Option<Binary> {
        if !artifact.target.kind.contains(&TargetKind::Bin) {
            return None;
        }
        Some(Binary {
            name: artifact.target.name,
            path: artifact.executable?.into_std_path_buf(),
        })
    }
}

/// A cargo process that is being listened to. Dropped while it runs, it is killed.
struct Build {
    cargo: Child,
    artifacts: Receiver<Result<Artifact, std::io::Error>>,
}

impl Build {
    fn start(mut command: Command) -> Result<Self, ExpectedError> {
        let failure = |source| ExpectedError::RunCargo { source };
        let mut cargo = command.spawn().map_err(failure)?;
        let (sender, artifacts) = mpsc::channel();
        if let Some(stdout) = cargo.stdout.take() {
            // A thread of its own, so that a signal is noticed while nothing arrives.
            thread::spawn(move || {
                for message in Message::parse_stream(BufReader::new(stdout)) {
                    let artifact = match message {
                        Ok(Message::CompilerArtifact(artifact)) => Ok(artifact),
                        Ok(_) => continue,
                        Err(error) => Err(error),
                    };
                    if sender.send(artifact).is_err() {
                        return;
                    }
                }
            });
        }
        Ok(Self { cargo, artifacts })
    }

    fn next_artifact(&mut self, interrupt: &Interrupt) -> Result<Option<Artifact>, ExpectedError> {
        loop {
            interrupt.check()?;
            match self.artifacts.recv_timeout(POLL) {
                Ok(artifact) => {
                    return artifact
                        .map(Some)
                        .map_err(|source| ExpectedError::RunCargo { source });
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
            }
        }
    }

    fn wait(&mut self) -> Result<ExitStatus, ExpectedError> {
        self.cargo
            .wait()
            .map_err(|source| ExpectedError::RunCargo { source })
    }
}

impl Drop for Build {
    fn drop(&mut self) {
        // Both do nothing to a process that has ended and been waited for.
        let _ = self.cargo.kill();
        let _ = self.cargo.wait();
    }
}

/// The cargo that started this command, else the one on the PATH.
fn cargo() -> OsString {
    env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}
