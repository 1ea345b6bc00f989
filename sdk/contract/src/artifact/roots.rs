//! Artifact roots and the resolution of symbolic links.

use std::collections::VecDeque;
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use super::error::{FileError, ResolveError};

/// Symbolic links that the host follows on the way to one file.
const MAX_LINKS: usize = 255;

/// The directories (or single files) under which a server's artifacts may lie, as configured in
/// `artifact_roots` (contract, "Server configuration"; host facts, section 10, "Roots").
///
/// - A relative root is taken from the host's working directory.
/// - A root may be a symbolic link or a single file; a slash at the end does no harm.
/// - Blank roots and roots that do not exist admit nothing, and `/` admits nothing either.
/// - `~`, `$VAR` and `file://` are ordinary characters of a name.
/// - No roots at all means that every reference is rejected.
///
/// Links in a root are followed anew at each check, as the host does: a directory that the server
/// creates after it was started counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ArtifactRoots {
    configured: usize,
    roots: Vec<PathBuf>,
}

impl ArtifactRoots {
    /// Takes roots as configured; relative ones are joined to the absolute `working_directory`.
    ///
    /// Never fails: a root that cannot be used admits nothing, which the host does not report
    /// either.
    pub fn resolve(configured: &[String], working_directory: &Path) -> Self {
        let usable = configured.iter().filter(|root| !root.trim().is_empty());
        Self {
            configured: configured.len(),
            roots: usable
                .map(|root| clean(&working_directory.join(root)))
                .collect(),
        }
    }

    /// Whether the list is empty, so that every reference is rejected. A blank root still counts
    /// as one.
    pub fn is_empty(&self) -> bool {
        self.configured == 0
    }

    /// The usable roots as absolute, clean paths, links not followed.
    pub fn paths(&self) -> &[PathBuf] {
        &self.roots
    }

    /// Whether a path without links equals a root or lies below one.
    pub(crate) fn contains(&self, resolved: &Path) -> bool {
        let resolved = resolved.as_os_str().as_bytes();
        self.roots
            .iter()
            .filter_map(|root| resolve_links(root).ok())
            .any(|root| {
                let root = root.as_os_str().as_bytes();
                // Byte by byte, as the host does it: with the root "/" the prefix would be "//", which
                // no resolved path has.
                resolved
                    .strip_prefix(root)
                    .is_some_and(|below| below.is_empty() || below.starts_with(b"/"))
                    && (root != b"/" || resolved == b"/")
            })
    }
}

/// Removes `.`, `..`, empty elements and the slash at the end from an absolute path, by its text
/// alone: `/missing/../out` is `/out` whether or not `missing` exists.
fn clean(path: &Path) -> PathBuf {
    let mut kept: Vec<&[u8]> = Vec::new();
    for element in path.as_os_str().as_bytes().split(|byte| *byte == b'/') {
        match element {
            b"" | b"." => {}
            b".." => {
                kept.pop();
            }
            name => kept.push(name),
        }
    }
    let mut cleaned = b"/".to_vec();
    cleaned.extend(kept.join(&b'/'));
    path_from(cleaned)
}

fn path_from(bytes: Vec<u8>) -> PathBuf {
    PathBuf::from(std::ffi::OsString::from_vec(bytes))
}

/// Follows every symbolic link in an absolute path, element by element.
///
/// Not [`std::fs::canonicalize`]: the operating system stops at about 40 links, the host at 255,
/// and its messages name the element at which it stopped.
///
/// # Errors
///
/// [`ResolveError`] when an element does not exist, cannot be looked at, is no directory though
/// something follows it, or when there are too many links.
pub(crate) fn resolve_links(path: &Path) -> Result<PathBuf, ResolveError> {
    let mut pending: VecDeque<Vec<u8>> = elements(path.as_os_str().as_bytes());
    let mut resolved = PathBuf::from("/");
    let mut links = 0;
    while let Some(element) = pending.pop_front() {
        match element.as_slice() {
            b"" | b"." => continue,
            b".." => {
                resolved.pop();
                continue;
            }
            _ => {}
        }
        let candidate = resolved.join(path_from(element));
        let metadata = look_at(&candidate)?;
        if !metadata.is_symlink() {
            // An empty element stands for a slash at the end of a link's target.
            if !metadata.is_dir() && !pending.is_empty() {
                return Err(ResolveError::NotADirectory);
            }
            resolved = candidate;
            continue;
        }
        links += 1;
        if links > MAX_LINKS {
            return Err(ResolveError::TooManyLinks);
        }
        let target = fs::read_link(&candidate)
            .map_err(|source| FileError::new("readlink", &candidate, source))?;
        if target.is_absolute() {
            resolved = PathBuf::from("/");
        }
        let mut target = elements(target.as_os_str().as_bytes());
        target.append(&mut pending);
        pending = target;
    }
    Ok(resolved)
}

fn look_at(path: &Path) -> Result<fs::Metadata, ResolveError> {
    fs::symlink_metadata(path).map_err(|source| {
        let source = match source.kind() {
            // The standard library refuses a NUL byte before the operating system can.
            io::ErrorKind::InvalidInput => io::Error::other("invalid argument"),
            _ => source,
        };
        FileError::new("lstat", path, source).into()
    })
}

fn elements(path: &[u8]) -> VecDeque<Vec<u8>> {
    path.split(|byte| *byte == b'/')
        .map(<[u8]>::to_vec)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn folder() -> (tempfile::TempDir, PathBuf) {
        let guard = tempfile::tempdir().unwrap();
        let path = fs::canonicalize(guard.path()).unwrap();
        (guard, path)
    }

    #[test]
    fn cleaning_works_on_the_text_alone() {
        for (path, cleaned) in [
            ("/", "/"),
            ("/a/b/", "/a/b"),
            ("/a//b", "/a/b"),
            ("/a/./b/../c", "/a/c"),
            ("/../../a", "/a"),
        ] {
            assert_eq!(clean(Path::new(path)), Path::new(cleaned), "{path}");
        }
    }

    #[test]
    fn resolving_agrees_with_the_operating_system() {
        let (_guard, root) = folder();
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("a/b/file"), "x").unwrap();
        symlink("b", root.join("a/link")).unwrap();
        symlink(root.join("a"), root.join("absolute")).unwrap();
        symlink("../../absolute/link", root.join("a/b/up")).unwrap();
        for path in [
            "a/b/file",
            "a/link/file",
            "absolute/link/file",
            "a/b/up/file",
            "a/b/up",
        ] {
            let path = root.join(path);
            assert_eq!(
                resolve_links(&path).unwrap(),
                fs::canonicalize(&path).unwrap()
            );
        }
    }

    #[test]
    fn more_links_are_followed_than_the_operating_system_would() {
        let (_guard, root) = folder();
        fs::write(root.join("l0"), "x").unwrap();
        for index in 1..=256 {
            symlink(format!("l{}", index - 1), root.join(format!("l{index}"))).unwrap();
        }
        assert_eq!(resolve_links(&root.join("l255")).unwrap(), root.join("l0"));
        let error = resolve_links(&root.join("l256")).unwrap_err();
        assert_eq!(error.to_string(), "EvalSymlinks: too many links");
    }

    #[test]
    fn what_stops_the_resolution_is_named() {
        let (_guard, root) = folder();
        fs::write(root.join("file"), "x").unwrap();
        symlink("file/", root.join("slash")).unwrap();
        symlink("gone", root.join("dangling")).unwrap();
        let message = |path: &str| resolve_links(&root.join(path)).unwrap_err().to_string();
        let root_text = root.display();
        assert_eq!(
            message("dangling"),
            format!("lstat {root_text}/gone: no such file or directory")
        );
        assert_eq!(
            message("none/more"),
            format!("lstat {root_text}/none: no such file or directory")
        );
        assert_eq!(message("file/more"), "not a directory");
        assert_eq!(message("slash"), "not a directory");
        assert_eq!(
            message("a\0b"),
            format!("lstat {root_text}/a\0b: invalid argument")
        );
    }

    #[test]
    fn blank_roots_count_but_admit_nothing() {
        let (_guard, root) = folder();
        let roots = ArtifactRoots::resolve(&[String::new(), " \t".to_owned()], &root);
        assert!(!roots.is_empty());
        assert!(!roots.contains(&root.join("file")));
        assert!(roots.paths().is_empty());
        assert!(ArtifactRoots::resolve(&[], &root).is_empty());
    }

    #[test]
    fn a_root_made_later_counts() {
        let (_guard, root) = folder();
        let roots = ArtifactRoots::resolve(&["out".to_owned()], &root);
        assert!(!roots.contains(&root.join("out/file")));
        fs::create_dir(root.join("out")).unwrap();
        assert!(roots.contains(&root.join("out/file")));
        assert!(!roots.contains(&root.join("out-side/file")));
    }

    #[test]
    fn the_root_of_the_file_system_admits_only_itself() {
        let roots = ArtifactRoots::resolve(&["/".to_owned()], Path::new("/"));
        assert!(!roots.contains(Path::new("/dev/null")));
        assert!(roots.contains(Path::new("/")));
    }
}
