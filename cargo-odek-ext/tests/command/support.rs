//! Starting the binary and looking at what it leaves behind.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// The command, as cargo starts it.
pub fn cargo_odek_ext<A: AsRef<OsStr>>(
    directory: &Path,
    arguments: impl IntoIterator<Item = A>,
) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-odek-ext"));
    command
        .arg("odek-ext")
        .args(arguments)
        .current_dir(directory)
        .stdin(Stdio::null())
        // Set by cargo for this test; the command takes it for the checkout it runs from.
        .env_remove("CARGO_MANIFEST_DIR")
        .env("NO_COLOR", "1");
    command
}

/// What a run of the command came to.
#[derive(Debug)]
pub struct Run {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Run {
    pub fn of(command: &mut Command) -> Run {
        let output = command.output().unwrap();
        Run {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    #[track_caller]
    pub fn expect_code(self, code: i32) -> Run {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }
}

/// Runs the command in a directory.
#[track_caller]
pub fn run<A: AsRef<OsStr>>(directory: &Path, arguments: impl IntoIterator<Item = A>) -> Run {
    Run::of(&mut cargo_odek_ext(directory, arguments))
}

/// An empty directory with a path free of links, outside of every repository and workspace.
pub fn place() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().canonicalize().unwrap();
    (directory, path)
}

/// All files below a directory with their content, without repositories.
pub fn tree(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    collect(directory, directory, &mut files);
    files
}

fn collect(root: &Path, directory: &Path, files: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name() == Some(OsStr::new(".git")) {
            continue;
        }
        if path.is_dir() {
            collect(root, &path, files);
        } else {
            let relative = path.strip_prefix(root).unwrap();
            files.insert(
                relative.to_str().unwrap().to_owned(),
                fs::read(&path).unwrap(),
            );
        }
    }
}

/// Names in a directory, hidden ones included, sorted.
pub fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Writes an executable shell script.
pub fn script(path: &Path, text: &str) {
    fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// The `PATH` of this process with a directory in front of it.
pub fn path_with(directory: &Path) -> std::ffi::OsString {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let directories = std::iter::once(directory.to_owned()).chain(std::env::split_paths(&path));
    std::env::join_paths(directories).unwrap()
}
