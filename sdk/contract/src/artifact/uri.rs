//! `file:` URIs: reading them the way the host's URL parser does, and writing them so that it
//! accepts every file name.
//!
//! Reading is the URL parser of the host's language, [`crate::go`]; what lives here is what a
//! reference may look like (host facts, section 10, checks 3 to 6).

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};

use crate::go::Url;

/// Bytes of a path that stay as they are in a URI; everything else is percent-encoded.
const ESCAPED_IN_PATH: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'/')
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Whether a URI has no part beside scheme and path. A lone `?` or `#` at the end is none.
pub(crate) fn names_only_a_path(uri: &Url) -> bool {
    let others = [&uri.opaque, &uri.host, &uri.query, &uri.fragment];
    uri.user.is_none() && others.iter().all(|part| part.is_empty())
}

/// Whether an absolute path has no empty, `.` or `..` element and no slash at its end.
pub(crate) fn is_clean(path: &[u8]) -> bool {
    path == b"/"
        || path
            .split(|byte| *byte == b'/')
            .skip(1)
            .all(|element| !matches!(element, b"" | b"." | b".."))
}

/// Why a path cannot be written as the URI of an artifact.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileUriError {
    /// The host only takes absolute paths.
    #[error("path {} is not absolute", .0.display())]
    NotAbsolute(std::path::PathBuf),
    /// The host refuses `//`, `.`, `..` and a slash at the end, also when they are encoded.
    #[error("path {} has an empty, \".\" or \"..\" element or a slash at its end", .0.display())]
    NotClean(std::path::PathBuf),
    /// No file can have such a name.
    #[error("path {} holds a NUL byte", .0.display())]
    HoldsNul(std::path::PathBuf),
}

/// The `file://` URI of an absolute, clean path, in the form that the host accepts for every file
/// name (host facts, section 10, checks 3 to 6).
///
/// Letters, digits, `-`, `.`, `_`, `~` and `/` stay; every other byte is percent-encoded, so
/// spaces, `%`, `#`, `?`, line feeds and bytes that are no UTF-8 all survive.
///
/// ```
/// use std::path::Path;
/// use odek_contract::artifact::{FileUriError, file_uri};
///
/// let uri = file_uri(Path::new("/var/out/100% done?.txt"))?;
/// assert_eq!(uri, "file:///var/out/100%25%20done%3F.txt");
/// assert!(matches!(file_uri(Path::new("out/a.txt")), Err(FileUriError::NotAbsolute(_))));
/// # Ok::<(), FileUriError>(())
/// ```
///
/// # Errors
///
/// [`FileUriError`] when the path is relative, not clean or holds a NUL byte. Nothing is read from
/// the file system; in particular symbolic links stay as they are.
pub fn file_uri(path: &Path) -> Result<String, FileUriError> {
    let bytes = path.as_os_str().as_bytes();
    if !bytes.starts_with(b"/") {
        return Err(FileUriError::NotAbsolute(path.to_owned()));
    }
    if !is_clean(bytes) {
        return Err(FileUriError::NotClean(path.to_owned()));
    }
    if bytes.contains(&0) {
        return Err(FileUriError::HoldsNul(path.to_owned()));
    }
    Ok(format!("file://{}", percent_encode(bytes, ESCAPED_IN_PATH)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::ffi::OsStr;

    fn parse(uri: &str) -> Url {
        Url::parse(uri).unwrap()
    }

    #[test]
    fn plain_file_uris() {
        for uri in [
            "file:///a/b",
            "file:/a/b",
            "FILE:///a/b",
            "file:///a/b?",
            "file:///a/b#",
        ] {
            let parsed = parse(uri);
            assert_eq!(parsed.scheme, "file", "{uri}");
            assert!(names_only_a_path(&parsed), "{uri}");
            assert_eq!(parsed.path, b"/a/b", "{uri}");
        }
    }

    #[test]
    fn other_parts_are_noticed() {
        for uri in [
            "file://host/a",
            "file://localhost/a",
            "file://@/a",
            "file://u:p@h/a",
            "file://:80/a",
            "file://:/a",
            "file://[::1]/a",
            "file://[fe80::1%25eth0]:9/a",
            "file://h%C3%A9/a",
            "file:///a?v",
            "file:///a??",
            "file:///a#f",
            "file:///a#\u{1}",
            "file:///a?v#",
            "file:a/b",
            "file:a",
        ] {
            assert!(!names_only_a_path(&parse(uri)), "{uri}");
        }
    }

    #[test]
    fn a_scheme_alone_has_an_empty_path() {
        for uri in ["file:", "file://", "file:?", "file:#"] {
            let parsed = parse(uri);
            assert!(
                names_only_a_path(&parsed) && parsed.path.is_empty(),
                "{uri}"
            );
        }
    }

    #[test]
    fn unusable_paths_have_no_uri() {
        let error = |path: &str| file_uri(Path::new(path)).unwrap_err();
        assert!(matches!(error("a/b"), FileUriError::NotAbsolute(_)));
        assert!(matches!(error(""), FileUriError::NotAbsolute(_)));
        for path in ["/a/", "/a//b", "/a/./b", "/a/../b", "/a/..", "//", "/."] {
            assert!(matches!(error(path), FileUriError::NotClean(_)), "{path}");
        }
        assert!(matches!(error("/a\0b"), FileUriError::HoldsNul(_)));
    }

    proptest! {
        #[test]
        fn every_file_name_has_a_uri_that_reads_back(
            name in proptest::collection::vec(
                any::<u8>().prop_filter("not in a file name", |b| *b != 0 && *b != b'/'),
                1..40,
            ),
        ) {
            prop_assume!(name != b"." && name != b"..");
            let path = [b"/some/folder/", name.as_slice()].concat();
            let uri = file_uri(Path::new(OsStr::from_bytes(&path))).unwrap();
            let parsed = Url::parse(&uri).unwrap();
            prop_assert_eq!(&parsed.scheme, "file");
            prop_assert!(names_only_a_path(&parsed));
            prop_assert!(is_clean(&parsed.path));
            prop_assert_eq!(parsed.path, path);
        }
    }
}
