//! Why a reference is rejected, in the host's words.

use std::io;
use std::path::{Path, PathBuf};

use super::{ARTIFACT_REF_SCHEMA, MAX_ARTIFACT_BYTES, Sha256Digest};
use crate::go::{self, UrlError};

/// The first rule that a reference breaks.
///
/// The text is the host's own, without the `artifact ref rejected: ` that stands in front of it in
/// a failed call. [`reason`](Self::reason) is a short stable name for the rule. Variants are in
/// the order in which the host checks (host facts, section 10).
#[derive(Debug, thiserror::Error)]
pub enum ArtifactError {
    /// The schema is not [`ARTIFACT_REF_SCHEMA`].
    #[error(
        "artifact schema {} does not match {}",
        go::quote(found),
        go::quote(ARTIFACT_REF_SCHEMA)
    )]
    Schema {
        /// The schema that was there; empty when there was none.
        found: String,
    },
    /// The id is missing or empty.
    #[error("artifact ref is missing required field id")]
    MissingId,
    /// Another required member is missing or empty.
    #[error("artifact {} is missing required field {field}", go::quote(id))]
    MissingField {
        /// Id of the reference.
        id: String,
        /// `uri` or `media_type`.
        field: &'static str,
    },
    /// The server has no artifact roots, so it can have no artifacts.
    #[error(
        "artifact {} rejected: no artifact roots configured for this server",
        go::quote(id)
    )]
    NoRoots {
        /// Id of the reference.
        id: String,
    },
    /// The URI does not parse.
    #[error("artifact {} has an unparseable uri: {source}", go::quote(id))]
    UriUnparseable {
        /// Id of the reference.
        id: String,
        /// The parser's complaint.
        source: UrlError,
    },
    /// The URI has another scheme than `file`.
    #[error(
        "artifact {} uses uri scheme {}; only file:// is accepted",
        go::quote(id),
        go::quote(scheme)
    )]
    Scheme {
        /// Id of the reference.
        id: String,
        /// The scheme, lower-cased; empty when there is none.
        scheme: String,
    },
    /// The URI has a host, user part, query or fragment.
    #[error(
        "artifact {} uri must be a plain file:// path (no host, userinfo, query, or fragment)",
        go::quote(id)
    )]
    NotPlain {
        /// Id of the reference.
        id: String,
    },
    /// The decoded path does not begin with a slash.
    #[error(
        "artifact {} path {} is not absolute",
        go::quote(id),
        quote_bytes(path)
    )]
    NotAbsolute {
        /// Id of the reference.
        id: String,
        /// The decoded path.
        path: Vec<u8>,
    },
    /// The decoded path has `//`, `.`, `..` or a slash at its end.
    #[error(
        "artifact {} path {} is not clean (contains .., //, or . elements)",
        go::quote(id),
        quote_bytes(path)
    )]
    NotClean {
        /// Id of the reference.
        id: String,
        /// The decoded path.
        path: Vec<u8>,
    },
    /// The path leads nowhere.
    #[error(
        "artifact {} file is not resolvable (missing or dangling symlink): {source}",
        go::quote(id)
    )]
    Unresolvable {
        /// Id of the reference.
        id: String,
        /// Where the resolution stopped.
        source: ResolveError,
    },
    /// The file, all links followed, lies under none of the roots.
    #[error(
        "artifact {} resolves outside every configured artifact root",
        go::quote(id)
    )]
    OutsideRoots {
        /// Id of the reference.
        id: String,
    },
    /// The file vanished, or could not be looked at, after its path was resolved.
    #[error("artifact {}: stat: {source}", go::quote(id))]
    Stat {
        /// Id of the reference.
        id: String,
        /// The system's error.
        source: FileError,
    },
    /// A directory, pipe or device.
    #[error("artifact {} is not a regular file", go::quote(id))]
    NotRegular {
        /// Id of the reference.
        id: String,
    },
    /// The file is larger than [`MAX_ARTIFACT_BYTES`].
    #[error(
        "artifact {} is {size_bytes} bytes; the absolute artifact cap is {MAX_ARTIFACT_BYTES} bytes",
        go::quote(id)
    )]
    TooLarge {
        /// Id of the reference.
        id: String,
        /// Real size in bytes.
        size_bytes: u64,
    },
    /// The declared size is negative.
    #[error("artifact {} declares a negative size_bytes", go::quote(id))]
    SizeNegative {
        /// Id of the reference.
        id: String,
    },
    /// The declared size is not the real one.
    #[error(
        "artifact {} size mismatch: ref declares {declared} bytes, file has {actual}",
        go::quote(id)
    )]
    SizeMismatch {
        /// Id of the reference.
        id: String,
        /// Declared size in bytes.
        declared: i64,
        /// Real size in bytes.
        actual: u64,
    },
    /// The declared digest is not 64 lower-case hex digits.
    #[error(
        "artifact {} sha256 {} is not a lowercase hex SHA-256 digest",
        go::quote(id),
        go::quote(digest)
    )]
    DigestMalformed {
        /// Id of the reference.
        id: String,
        /// What was declared.
        digest: String,
    },
    /// The file could not be read to verify its digest.
    #[error("artifact {}: hash: {source}", go::quote(id))]
    DigestUnreadable {
        /// Id of the reference.
        id: String,
        /// What went wrong.
        source: HashError,
    },
    /// The content has another digest.
    #[error(
        "artifact {} sha256 mismatch: ref declares {}, file hashes to {}",
        go::quote(id),
        declared.short(),
        actual.short()
    )]
    DigestMismatch {
        /// Id of the reference.
        id: String,
        /// Declared digest.
        declared: Sha256Digest,
        /// Digest of the content.
        actual: Sha256Digest,
    },
}

impl ArtifactError {
    /// A short stable name for the broken rule, the same as in the host vectors.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Schema { .. } => "schema",
            Self::MissingId | Self::MissingField { .. } => "missing-field",
            Self::NoRoots { .. } => "no-roots",
            Self::UriUnparseable { .. } => "uri-unparseable",
            Self::Scheme { .. } => "scheme",
            Self::NotPlain { .. } => "not-plain",
            Self::NotAbsolute { .. } => "not-absolute",
            Self::NotClean { .. } => "not-clean",
            Self::Unresolvable { .. } | Self::Stat { .. } => "unresolvable",
            Self::OutsideRoots { .. } => "outside-roots",
            Self::NotRegular { .. } => "not-regular",
            Self::TooLarge { .. } => "too-large",
            Self::SizeNegative { .. } => "size-negative",
            Self::SizeMismatch { .. } => "size-mismatch",
            Self::DigestMalformed { .. } => "digest-malformed",
            Self::DigestUnreadable { .. } => "digest-unreadable",
            Self::DigestMismatch { .. } => "digest-mismatch",
        }
    }
}

/// Why a path could not be followed to a file.
#[derive(Debug, thiserror::Error)]
pub enum ResolveError {
    /// An element is missing or may not be looked at.
    #[error(transparent)]
    File(#[from] FileError),
    /// An element in the middle of the path is no directory.
    #[error("not a directory")]
    NotADirectory,
    /// More than 255 symbolic links, or links in a circle.
    #[error("EvalSymlinks: too many links")]
    TooManyLinks,
}

/// Why a file could not be hashed.
#[derive(Debug, thiserror::Error)]
pub enum HashError {
    /// It could not be opened or read, or is not the file that was checked any more.
    #[error(transparent)]
    File(#[from] FileError),
    /// It holds more than its size says: it grew while it was checked, or it is a virtual file
    /// without a size. The host calls the size a cap here.
    #[error(
        "content is at least {at_least} bytes; the absolute artifact cap is {size_bytes} bytes"
    )]
    LongerThanItsSize {
        /// Bytes that were read.
        at_least: u64,
        /// Size of the file when it was checked, in bytes.
        size_bytes: u64,
    },
}

/// A failed operation on a file, worded as the host words it: `open /a/b: permission denied`.
#[derive(Debug, thiserror::Error)]
#[error("{operation} {}: {}", path.display(), system_text(source))]
pub struct FileError {
    operation: &'static str,
    path: PathBuf,
    source: io::Error,
}

impl FileError {
    pub(crate) fn new(operation: &'static str, path: &Path, source: io::Error) -> Self {
        Self {
            operation,
            path: path.to_owned(),
            source,
        }
    }

    /// The file at fault.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The system's error.
    pub fn io_error(&self) -> &io::Error {
        &self.source
    }
}

/// The system's message without its number and with a small letter in front.
fn system_text(error: &io::Error) -> String {
    let text = error.to_string();
    let text = match error.raw_os_error() {
        Some(code) => text
            .strip_suffix(&format!(" (os error {code})"))
            .unwrap_or(&text),
        None => &text,
    };
    let mut characters = text.chars();
    match characters.next() {
        Some(first) => first.to_lowercase().chain(characters).collect(),
        None => String::new(),
    }
}

/// Quotes a path that may not be UTF-8 the way the host does: stray bytes become `\xNN`.
fn quote_bytes(path: &[u8]) -> String {
    let mut quoted = String::from("\"");
    for chunk in path.utf8_chunks() {
        let valid = go::quote(chunk.valid());
        quoted.push_str(&valid[1..valid.len() - 1]);
        for byte in chunk.invalid() {
            quoted.push_str(&format!("\\x{byte:02x}"));
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_quoted_byte_by_byte() {
        assert_eq!(
            quote_bytes(b"/a\xff\"b\xc3\xa9\xe2\x82"),
            "\"/a\\xff\\\"b\u{e9}\\xe2\\x82\""
        );
        assert_eq!(quote_bytes(b""), "\"\"");
    }

    #[test]
    fn system_errors_read_as_the_host_writes_them() {
        let error = FileError::new("open", Path::new("/a"), io::Error::from_raw_os_error(13));
        assert_eq!(error.to_string(), "open /a: permission denied");
        let error = FileError::new("open", Path::new("/a"), io::Error::other("changed"));
        assert_eq!(error.to_string(), "open /a: changed");
    }
}
