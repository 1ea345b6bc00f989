//! Finding the program that a configured command names, the way the host's language does.
//!
//! A command without a slash is looked for in the `PATH` of the host, not in that of the server. A
//! command with a slash is taken as it is, from the host's working directory. No shell is involved
//! and nothing is expanded (host facts, section 1).

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

use rustix::fs::Access;
use thiserror::Error;

/// Why a command without a slash names no program. The text is the host's own.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LookupError {
    /// No directory of the host's `PATH` holds an executable file of that name.
    #[error("exec: {}: executable file not found in $PATH", odek_contract::go::quote(.command))]
    NotFound {
        /// The command as configured.
        command: String,
    },
    /// The first match came from a relative `PATH` entry, which the host refuses to run.
    #[error(
        "exec: {}: cannot run executable found relative to current directory",
        odek_contract::go::quote(.command)
    )]
    RelativeToWorkingDirectory {
        /// The command as configured.
        command: String,
        /// The executable that the host found and did not run.
        found: PathBuf,
    },
}

/// The file to execute for `command`, absolute as long as `working_directory` is.
pub(crate) fn locate(
    command: &str,
    search_path: Option<&OsStr>,
    working_directory: &Path,
) -> Result<PathBuf, LookupError> {
    if command.contains('/') {
        return Ok(working_directory.join(command));
    }
    for entry in split_search_path(search_path.unwrap_or_default()) {
        // An empty entry stands for the working directory.
        let candidate = Path::new(&entry).join(command);
        let absolute = working_directory.join(&candidate);
        if !is_executable_file(&absolute) {
            continue;
        }
        if candidate.is_absolute() {
            return Ok(absolute);
        }
        return Err(LookupError::RelativeToWorkingDirectory {
            command: command.to_owned(),
            found: absolute,
        });
    }
    Err(LookupError::NotFound {
        command: command.to_owned(),
    })
}

fn split_search_path(search_path: &OsStr) -> Vec<OsString> {
    if search_path.is_empty() {
        return Vec::new();
    }
    search_path
        .as_bytes()
        .split(|&byte| byte == b':')
        .map(|entry| OsStr::from_bytes(entry).to_owned())
        .collect()
}

fn is_executable_file(path: &Path) -> bool {
    let is_file = fs::metadata(path).is_ok_and(|metadata| !metadata.is_dir());
    is_file && rustix::fs::access(path, Access::EXEC_OK).is_ok()
}

/// An operating system error as the host words it: lower case, without the number.
pub(crate) fn system_error_text(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error ").next().unwrap_or_default();
    let mut characters = text.chars();
    match characters.next() {
        Some(first) => first.to_lowercase().chain(characters).collect(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn directory_with(name: &str, mode: u32) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join(name);
        fs::write(&file, "").unwrap();
        fs::set_permissions(file, fs::Permissions::from_mode(mode)).unwrap();
        directory
    }

    #[test]
    fn a_command_with_a_slash_is_taken_from_the_working_directory() {
        let here = Path::new("/work dir");
        assert_eq!(
            locate("./bin/x", None, here),
            Ok(PathBuf::from("/work dir/./bin/x"))
        );
        assert_eq!(locate("/bin/x", None, here), Ok(PathBuf::from("/bin/x")));
    }

    #[test]
    fn a_bare_command_is_looked_for_in_the_search_path() {
        let plain = directory_with("tool", 0o644);
        let executable = directory_with("tool", 0o755);
        let path = std::env::join_paths([plain.path(), executable.path()]).unwrap();
        let found = locate("tool", Some(&path), Path::new("/"));
        assert_eq!(found, Ok(executable.path().join("tool")));
    }

    #[test]
    fn a_missing_command_names_the_search_path() {
        let error = locate("no-such-tool", Some(OsStr::new("/nowhere")), Path::new("/"));
        assert_eq!(
            error.unwrap_err().to_string(),
            "exec: \"no-such-tool\": executable file not found in $PATH"
        );
        assert!(locate("sh", None, Path::new("/bin")).is_err());
    }

    #[test]
    fn a_match_in_a_relative_entry_is_refused() {
        let directory = directory_with("tool", 0o755);
        for path in ["", ".", "x:", ".:/bin"] {
            let result = locate("tool", Some(OsStr::new(path)), directory.path());
            match path {
                "" => assert!(matches!(result, Err(LookupError::NotFound { .. }))),
                _ => assert!(matches!(
                    result,
                    Err(LookupError::RelativeToWorkingDirectory { .. })
                )),
            }
        }
    }

    #[test]
    fn system_errors_read_as_the_host_writes_them() {
        let error = io::Error::from_raw_os_error(rustix::io::Errno::NOENT.raw_os_error());
        assert_eq!(system_error_text(&error), "no such file or directory");
    }
}
