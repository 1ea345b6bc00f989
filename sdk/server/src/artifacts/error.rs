//! Everything that can go wrong with an artifact.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use odek_contract::artifact::{FileUriError, MAX_ARTIFACT_BYTES, MAX_ARTIFACTS};

use super::location::ROOT_VARIABLE;

/// Why an artifact could not be made.
///
/// Every message says what happened, where, and what to change. A tool that returns the error with
/// `?` shows the message to the model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArtifactError {
    /// Neither the environment nor the home directory says where artifacts go.
    #[error(
        "no directory for artifacts: neither {ROOT_VARIABLE} nor HOME is set; set {ROOT_VARIABLE} \
         in the `env` of the extension's entry in `mcp_servers`, and list the same directory in \
         `artifact_roots`"
    )]
    NoRoot,
    /// `HOME` is no absolute path, so the default root would depend on the working directory.
    #[error(
        "no directory for artifacts: HOME is `{}`, which is not an absolute path; correct it or \
         set {ROOT_VARIABLE}", .home.display()
    )]
    HomeNotAbsolute {
        /// The value of `HOME`.
        home: PathBuf,
    },
    /// The extension's name cannot be part of the default root.
    #[error(
        "the extension name `{name}` cannot name a directory for artifacts; rename the extension \
         or set {ROOT_VARIABLE}"
    )]
    UnusableName {
        /// The name of the extension.
        name: String,
    },
    /// The root is a symbolic link that belongs to another user, who could redirect it.
    #[error(
        "the artifact root `{}` is a symbolic link that belongs to user {owner}; use a root that \
         belongs to the user who runs the extension, or to the superuser", .path.display()
    )]
    ForeignRootLink {
        /// The root as configured.
        path: PathBuf,
        /// User id of the link's owner.
        owner: u32,
    },
    /// The root is `/`, under which the host accepts nothing.
    #[error(
        "the artifact root is `/`, below which the host accepts no artifact; set {ROOT_VARIABLE} \
         to a directory of its own"
    )]
    RootIsSlash,
    /// A file operation failed.
    #[error("cannot {operation} `{}`: {cause}; {}", .path.display(), advice(.cause))]
    Io {
        /// What was being done.
        operation: FileOperation,
        /// The file or directory.
        path: PathBuf,
        /// What the operating system said.
        // Not called `source`: it is part of the message already, and error chains repeat sources.
        cause: io::Error,
    },
    /// The file to attach is something else than a regular file.
    #[error(
        "cannot attach `{}`: it is {kind}, and an artifact has to be a regular file; {}",
        .path.display(), .kind.advice()
    )]
    NotRegular {
        /// The path that was given.
        path: PathBuf,
        /// What it is.
        kind: FileKind,
    },
    /// The content is larger than the host accepts.
    #[error(
        "artifact `{id}` has {size}, and the host accepts at most {MAX_ARTIFACT_BYTES} bytes \
         (64 MiB) for one artifact; {}", .encoding.advice_when_too_large()
    )]
    TooLarge {
        /// Id of the artifact.
        id: String,
        /// Size of the content.
        size: ContentSize,
        /// Whether the content was already compressed.
        encoding: Encoding,
    },
    /// The id is empty or holds nothing but white space.
    #[error(
        "an artifact needs an id, but the id given is blank; give a short name such as `report-1`"
    )]
    BlankId,
    /// A hard link into the root is not possible.
    #[error(
        "cannot link `{}` into the artifact root `{}`: {cause}; use `copy_in`, which copies the \
         content", .path.display(), .root.display()
    )]
    CannotLink {
        /// The file to link.
        path: PathBuf,
        /// The root.
        root: PathBuf,
        /// What the operating system said.
        cause: io::Error,
    },
    /// Another file took the place of the one to link while it was being linked.
    #[error(
        "`{}` was replaced while it was being attached; try again when nothing else writes it",
        .path.display()
    )]
    Replaced {
        /// The path that was given.
        path: PathBuf,
    },
    /// A part size of nothing, or of more than the host accepts.
    #[error(
        "cannot split into parts of {part_bytes} bytes; choose a size from 1 to \
         {MAX_ARTIFACT_BYTES} bytes (64 MiB)"
    )]
    PartSize {
        /// The part size that was given, in bytes.
        part_bytes: u64,
    },
    /// More parts than one result can carry.
    #[error(
        "splitting `{}` ({size_bytes} bytes) into parts of {part_bytes} bytes makes more than \
         {MAX_ARTIFACTS} artifacts, the most that one result can carry; choose larger parts or use \
         `compress`", .path.display()
    )]
    TooManyParts {
        /// The file to split.
        path: PathBuf,
        /// Its size in bytes.
        size_bytes: u64,
        /// The part size that was given, in bytes.
        part_bytes: u64,
    },
    /// A value has no JSON form, for example a map whose keys are not strings.
    #[error("cannot write artifact `{id}` as JSON: {cause}; change the type that is serialised")]
    Json {
        /// Id of the artifact.
        id: String,
        /// What the serialiser said.
        cause: serde_json::Error,
    },
    /// The path of the file has no URI that the host accepts.
    #[error("cannot refer to an artifact: {0}; choose another root with {ROOT_VARIABLE}")]
    Uri(FileUriError),
}

impl ArtifactError {
    pub(super) fn io(
        operation: FileOperation,
        path: impl Into<PathBuf>,
        cause: impl Into<io::Error>,
    ) -> Self {
        Self::Io {
            operation,
            path: path.into(),
            cause: cause.into(),
        }
    }

    /// The same failure as an [`io::Error`], for the [`io::Write`] side of a writer.
    pub(super) fn as_io_error(&self) -> io::Error {
        let kind = match self {
            Self::TooLarge { .. } => io::ErrorKind::FileTooLarge,
            Self::Io { cause, .. } | Self::CannotLink { cause, .. } => cause.kind(),
            _ => io::ErrorKind::Other,
        };
        io::Error::new(kind, self.to_string())
    }
}

/// What was being done to a file when it failed; part of [`ArtifactError::Io`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileOperation {
    /// Creating the artifact root.
    CreateRoot,
    /// Opening the artifact root.
    OpenRoot,
    /// Finding the working directory that a relative path starts from.
    ResolvePath,
    /// Opening the file to attach.
    OpenSource,
    /// Reading the file to attach.
    ReadSource,
    /// Creating a file below the artifact root.
    Create,
    /// Writing a file below the artifact root.
    Write,
    /// Bringing a file or the root to stable storage.
    Sync,
    /// Giving a finished file its name.
    Publish,
}

impl fmt::Display for FileOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CreateRoot => "create the artifact root",
            Self::OpenRoot => "open the artifact root",
            Self::ResolvePath => "resolve the path",
            Self::OpenSource => "open the file to attach",
            Self::ReadSource => "read the file to attach",
            Self::Create => "create an artifact in",
            Self::Write => "write an artifact in",
            Self::Sync => "bring an artifact to stable storage in",
            Self::Publish => "name a finished artifact in",
        })
    }
}

/// What a path is, when it is no regular file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileKind {
    /// A symbolic link. It is not followed: what it leads to may change.
    SymbolicLink,
    /// A directory.
    Directory,
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
    /// A block or character device.
    Device,
    /// Something the operating system gives no name to.
    Unknown,
}

impl FileKind {
    fn advice(self) -> &'static str {
        match self {
            Self::SymbolicLink => "give the path that the link leads to",
            Self::Directory => "attach its files one by one, or pack them into one archive",
            Self::Fifo | Self::Socket | Self::Device | Self::Unknown => {
                "write what it yields with `create`"
            }
        }
    }
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SymbolicLink => "a symbolic link",
            Self::Directory => "a directory",
            Self::Fifo => "a named pipe",
            Self::Socket => "a socket",
            Self::Device => "a device",
            Self::Unknown => "a special file",
        })
    }
}

/// How much content there is; part of [`ArtifactError::TooLarge`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContentSize {
    /// The whole content has this many bytes.
    Exactly(u64),
    /// Writing stopped here, in bytes; how much was still to come is not known.
    AtLeast(u64),
}

impl fmt::Display for ContentSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exactly(bytes) => write!(f, "{bytes} bytes"),
            Self::AtLeast(bytes) => write!(f, "at least {bytes} bytes"),
        }
    }
}

/// How the bytes of an artifact relate to what was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// The bytes are stored as they were written.
    Plain,
    /// The bytes are stored gzip-compressed.
    Gzip,
}

impl Encoding {
    fn advice_when_too_large(self) -> &'static str {
        match self {
            Self::Plain => {
                "attach it compressed (`compress`, or `create_compressed` to write it) or in parts \
                 (`split`)"
            }
            Self::Gzip => "it is compressed already, so attach it in parts (`split`)",
        }
    }
}

/// What to do about an error of the operating system.
fn advice(cause: &io::Error) -> &'static str {
    use io::ErrorKind as Kind;
    match cause.kind() {
        Kind::StorageFull | Kind::QuotaExceeded => {
            "free some space there, or set ODEK_EXT_ARTIFACT_ROOT to a directory with more room"
        }
        Kind::ReadOnlyFilesystem => {
            "set ODEK_EXT_ARTIFACT_ROOT to a directory on a file system that can be written"
        }
        Kind::PermissionDenied => {
            "give the user who runs the extension access to it, or choose another path"
        }
        Kind::NotFound => "check the path",
        Kind::NotADirectory => "one of its parents is a file; choose another path",
        Kind::AlreadyExists => "something else has that name; remove it or choose another path",
        Kind::InvalidFilename => "choose a shorter path",
        _ => "check the path and the file system it is on",
    }
}

/// Shorthand for the `map_err` of file operations.
pub(super) fn failed<E: Into<io::Error>>(
    operation: FileOperation,
    path: &Path,
) -> impl FnOnce(E) -> ArtifactError + '_ {
    move |cause| ArtifactError::io(operation, path, cause)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_say_what_where_and_what_to_do() {
        let error = ArtifactError::io(
            FileOperation::Write,
            "/var/out",
            io::Error::from(io::ErrorKind::StorageFull),
        );
        assert_eq!(
            error.to_string(),
            "cannot write an artifact in `/var/out`: no storage space; free some space there, or \
             set ODEK_EXT_ARTIFACT_ROOT to a directory with more room"
        );
        let error = ArtifactError::TooLarge {
            id: "dump".to_owned(),
            size: ContentSize::Exactly(70_000_000),
            encoding: Encoding::Plain,
        };
        assert_eq!(
            error.to_string(),
            "artifact `dump` has 70000000 bytes, and the host accepts at most 67108864 bytes \
             (64 MiB) for one artifact; attach it compressed (`compress`, or `create_compressed` \
             to write it) or in parts (`split`)"
        );
    }

    #[test]
    fn the_cause_is_not_repeated_by_error_chains() {
        let error = ArtifactError::io(
            FileOperation::OpenRoot,
            "/x",
            io::Error::from(io::ErrorKind::PermissionDenied),
        );
        assert!(std::error::Error::source(&error).is_none());
    }
}
