//! The checks of a reference, in the host's order.

use std::fs::{self, File, Metadata};
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::digest::hash_reader;
use super::error::{ArtifactError, FileError, HashError};
use super::roots::{ArtifactRoots, resolve_links};
use super::uri::{is_clean, names_only_a_path};
use super::{ARTIFACT_REF_SCHEMA, ArtifactRef, MAX_ARTIFACT_BYTES, Sha256Digest};
use crate::go::Url;

/// A reference that passed every check, and where its file really is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValidatedArtifact {
    /// The file, all symbolic links followed. Never shown to the model.
    pub path: PathBuf,
    /// Real size in bytes, at most [`MAX_ARTIFACT_BYTES`].
    pub size_bytes: u64,
    /// The verified digest, when the reference declares one.
    pub sha256: Option<Sha256Digest>,
}

impl ArtifactRef {
    /// Checks the reference as the host does and reports the first rule that it breaks
    /// (contract, "Artifact-ref schema"; host facts, section 10).
    ///
    /// 1. schema, id, uri and media type are there;
    /// 2. the server has artifact roots;
    /// 3. the URI parses, has the scheme `file`, and has no host, user part, query or fragment;
    /// 4. its path, decoded once, is absolute and clean;
    /// 5. the path leads, through all symbolic links, to something that exists;
    /// 6. which lies in a root, is a regular file and has at most [`MAX_ARTIFACT_BYTES`] bytes;
    /// 7. the declared size and the declared digest are the real ones.
    ///
    /// The file is opened only to verify a digest. Whether ids are unique is not checked; neither
    /// is the form of the media type.
    ///
    /// # Errors
    ///
    /// [`ArtifactError`]; its text is the host's own.
    pub fn validate(&self, roots: &ArtifactRoots) -> Result<ValidatedArtifact, ArtifactError> {
        self.check_members(roots)?;
        let path = self.path_of_uri()?;
        let path = resolve_links(&path).map_err(|source| ArtifactError::Unresolvable {
            id: self.id.clone(),
            source,
        })?;
        if !roots.contains(&path) {
            return Err(ArtifactError::OutsideRoots {
                id: self.id.clone(),
            });
        }
        let metadata = self.check_file(&path)?;
        let sha256 = self.check_digest(&path, &metadata)?;
        Ok(ValidatedArtifact {
            path,
            size_bytes: metadata.len(),
            sha256,
        })
    }

    fn check_members(&self, roots: &ArtifactRoots) -> Result<(), ArtifactError> {
        let id = || self.id.clone();
        if self.schema != ARTIFACT_REF_SCHEMA {
            return Err(ArtifactError::Schema {
                found: self.schema.clone(),
            });
        }
        if self.id.is_empty() {
            return Err(ArtifactError::MissingId);
        }
        if self.uri.is_empty() {
            return Err(ArtifactError::MissingField {
                id: id(),
                field: "uri",
            });
        }
        if self.media_type.is_empty() {
            return Err(ArtifactError::MissingField {
                id: id(),
                field: "media_type",
            });
        }
        if roots.is_empty() {
            return Err(ArtifactError::NoRoots { id: id() });
        }
        Ok(())
    }

    fn path_of_uri(&self) -> Result<PathBuf, ArtifactError> {
        let id = || self.id.clone();
        let uri = Url::parse(&self.uri)
            .map_err(|source| ArtifactError::UriUnparseable { id: id(), source })?;
        if uri.scheme != "file" {
            return Err(ArtifactError::Scheme {
                id: id(),
                scheme: uri.scheme,
            });
        }
        if !names_only_a_path(&uri) {
            return Err(ArtifactError::NotPlain { id: id() });
        }
        if !uri.path.starts_with(b"/") {
            return Err(ArtifactError::NotAbsolute {
                id: id(),
                path: uri.path,
            });
        }
        if !is_clean(&uri.path) {
            return Err(ArtifactError::NotClean {
                id: id(),
                path: uri.path,
            });
        }
        Ok(PathBuf::from(std::ffi::OsString::from_vec(uri.path)))
    }

    /// Kind and size. Links were followed already, so one that appears now is no regular file.
    fn check_file(&self, path: &Path) -> Result<Metadata, ArtifactError> {
        let id = || self.id.clone();
        let metadata = fs::symlink_metadata(path).map_err(|source| ArtifactError::Stat {
            id: id(),
            source: FileError::new("stat", path, source),
        })?;
        if !metadata.is_file() {
            return Err(ArtifactError::NotRegular { id: id() });
        }
        let actual = metadata.len();
        if actual > MAX_ARTIFACT_BYTES {
            return Err(ArtifactError::TooLarge {
                id: id(),
                size_bytes: actual,
            });
        }
        match self.size_bytes {
            Some(declared) if declared < 0 => Err(ArtifactError::SizeNegative { id: id() }),
            Some(declared) if u64::try_from(declared) != Ok(actual) => {
                Err(ArtifactError::SizeMismatch {
                    id: id(),
                    declared,
                    actual,
                })
            }
            _ => Ok(metadata),
        }
    }

    fn check_digest(
        &self,
        path: &Path,
        checked: &Metadata,
    ) -> Result<Option<Sha256Digest>, ArtifactError> {
        let id = || self.id.clone();
        let Some(text) = self.sha256.as_deref().filter(|text| !text.is_empty()) else {
            return Ok(None);
        };
        let declared: Sha256Digest = text.parse().map_err(|_| ArtifactError::DigestMalformed {
            id: id(),
            digest: text.to_owned(),
        })?;
        let actual = hash_checked(path, checked)
            .map_err(|source| ArtifactError::DigestUnreadable { id: id(), source })?;
        if actual != declared {
            return Err(ArtifactError::DigestMismatch {
                id: id(),
                declared,
                actual,
            });
        }
        Ok(Some(declared))
    }
}

/// Hashes the very file that was checked: another one under the same name, or one that grew in the
/// meantime, is an error, so nothing outside the roots and nothing unbounded is ever read.
fn hash_checked(path: &Path, checked: &Metadata) -> Result<Sha256Digest, HashError> {
    let file = File::open(path).map_err(|source| FileError::new("open", path, source))?;
    let read_error = |source| FileError::new("read", path, source);
    let opened = file.metadata().map_err(read_error)?;
    if (opened.dev(), opened.ino()) != (checked.dev(), checked.ino()) {
        let replaced = io::Error::other("the file was replaced while it was checked");
        return Err(read_error(replaced).into());
    }
    let size_bytes = checked.len();
    let (digest, length) = hash_reader(file.take(size_bytes + 1)).map_err(read_error)?;
    if length > size_bytes {
        return Err(HashError::LongerThanItsSize {
            at_least: length,
            size_bytes,
        });
    }
    Ok(digest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::file_uri;
    use proptest::prelude::*;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    fn folder() -> (tempfile::TempDir, PathBuf, ArtifactRoots) {
        let guard = tempfile::tempdir().unwrap();
        let path = fs::canonicalize(guard.path()).unwrap();
        let roots = ArtifactRoots::resolve(&[".".to_owned()], &path);
        (guard, path, roots)
    }

    #[test]
    fn a_file_that_is_replaced_is_not_read() {
        let (_guard, path, _) = folder();
        fs::write(path.join("a"), "one").unwrap();
        fs::write(path.join("b"), "two").unwrap();
        let checked = fs::symlink_metadata(path.join("a")).unwrap();
        let error = hash_checked(&path.join("b"), &checked).unwrap_err();
        assert!(
            error
                .to_string()
                .ends_with("the file was replaced while it was checked")
        );
    }

    #[test]
    fn a_file_that_grows_is_not_read_to_its_end() {
        let (_guard, path, _) = folder();
        let file = path.join("a");
        fs::write(&file, "one").unwrap();
        let checked = fs::symlink_metadata(&file).unwrap();
        fs::write(&file, "longer").unwrap();
        let error = hash_checked(&file, &checked).unwrap_err();
        assert_eq!(
            error.to_string(),
            "content is at least 4 bytes; the absolute artifact cap is 3 bytes"
        );
    }

    #[test]
    fn an_opaque_uri_is_not_plain() {
        let (_guard, _, roots) = folder();
        let reason = |uri: &str| {
            ArtifactRef::new("r", uri, "a/b")
                .validate(&roots)
                .unwrap_err()
                .reason()
        };
        assert_eq!(reason("file:a/b"), "not-plain");
        assert_eq!(reason("file:"), "not-absolute");
        assert_eq!(reason("file:////a"), "not-clean");
        assert_eq!(reason("file:///"), "outside-roots");
        assert_eq!(reason("file:///a%00b"), "unresolvable");
    }

    #[test]
    fn a_path_that_is_no_utf8_is_quoted_in_the_error() {
        let (_guard, _, roots) = folder();
        let error = ArtifactRef::new("r", "file:///a%ff/../b", "a/b")
            .validate(&roots)
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            r#"artifact "r" path "/a\xff/../b" is not clean (contains .., //, or . elements)"#
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]
        #[test]
        fn the_uri_of_every_file_name_is_accepted(
            name in proptest::collection::vec(
                prop_oneof![
                    any::<u8>().prop_filter("not in a file name", |b| *b != 0 && *b != b'/'),
                    proptest::sample::select(b" %#?\n&+;:@\"\\.~".to_vec()),
                ],
                1..30,
            ),
        ) {
            prop_assume!(name != b"." && name != b"..");
            let (_guard, path, roots) = folder();
            let file = path.join(OsStr::from_bytes(&name));
            fs::write(&file, &name).unwrap();
            let reference = ArtifactRef {
                sha256: Some(Sha256Digest::of(&name).to_string()),
                size_bytes: i64::try_from(name.len()).ok(),
                ..ArtifactRef::new("r", file_uri(&file).unwrap(), "a/b")
            };
            let validated = reference.validate(&roots).unwrap();
            prop_assert_eq!(validated.path, file);
        }

        #[test]
        fn validation_never_panics(uri in "(file:|)(//|)/?.{0,30}", sha in ".{0,70}") {
            let roots = ArtifactRoots::resolve(&[".".to_owned()], Path::new("/nonexistent"));
            let reference = ArtifactRef {
                sha256: Some(sha),
                ..ArtifactRef::new("r", uri, "a/b")
            };
            prop_assert!(reference.validate(&roots).is_err());
        }
    }
}
