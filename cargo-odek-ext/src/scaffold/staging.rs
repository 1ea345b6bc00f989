//! A directory that appears whole or not at all: everything is written into a hidden sibling,
//! brought to stable storage, and renamed into place.

use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::error::ExpectedError;

/// The place where a directory is prepared. Dropped without [`Staging::commit`] it leaves nothing.
#[derive(Debug)]
pub(crate) struct Staging {
    // Declared before `parents`: the directory goes first, then the parents made for it.
    directory: TempDir,
    parents: CreatedParents,
    target: PathBuf,
}

impl Staging {
    /// Begins a directory that will appear at `target`, which must be free or an empty directory.
    ///
    /// # Errors
    ///
    /// Fails when the target is taken, or when nothing can be written beside it.
    pub(crate) fn begin(target: &Path) -> Result<Self, ExpectedError> {
        let vacancy = inspect(target)?;
        let parent = parent_of(target);
        let parents = CreatedParents::create(parent)?;
        // Not made from the target's name, which may be as long as a name can be.
        let directory = tempfile::Builder::new()
            .prefix(".odek-ext-new-")
            // The process's umask applies, as for any other new directory.
            .permissions(Permissions::from_mode(0o777))
            .tempdir_in(parent)
            .map_err(|source| ExpectedError::temporary("create a directory in", parent, source))?;
        if let Vacancy::EmptyDirectory(permissions) = vacancy {
            fs::set_permissions(directory.path(), permissions).map_err(|source| {
                ExpectedError::file("set the permissions of", directory.path(), source)
            })?;
        }
        Ok(Self {
            directory,
            parents,
            target: target.to_owned(),
        })
    }

    /// Where the content is to be written for now.
    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Writes one file. Errors name the place where the file was to end up.
    pub(crate) fn write(&self, relative: &str, content: &[u8]) -> Result<(), ExpectedError> {
        let path = self.path().join(relative);
        write_new_file(&path, content)
            .map_err(|source| ExpectedError::file("write", &self.target.join(relative), source))
    }

    /// Makes the content durable and lets it appear under its name.
    ///
    /// # Errors
    ///
    /// Fails when something cannot be written, or when the target has been taken meanwhile. The
    /// target is untouched then.
    pub(crate) fn commit(self) -> Result<(), ExpectedError> {
        let failure = |source| ExpectedError::file("create", &self.target, source);
        sync_tree(self.directory.path()).map_err(failure)?;
        // Replaces an empty directory and nothing else.
        fs::rename(self.directory.path(), &self.target).map_err(failure)?;
        let _ = self.directory.keep();
        self.parents.keep();
        // The name is there; whether it is durable already cannot change the outcome.
        let _ = sync(parent_of(&self.target));
        Ok(())
    }
}

pub(super) enum Vacancy {
    Free,
    EmptyDirectory(Permissions),
}

pub(super) fn inspect(target: &Path) -> Result<Vacancy, ExpectedError> {
    let path = || target.to_owned();
    let metadata = match fs::symlink_metadata(target) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vacancy::Free),
        Err(source) => return Err(ExpectedError::file("look at", target, source)),
    };
    if !metadata.is_dir() {
        return Err(ExpectedError::DestinationIsNotADirectory { path: path() });
    }
    let mut entries =
        fs::read_dir(target).map_err(|source| ExpectedError::file("read", target, source))?;
    if entries.next().is_some() {
        return Err(ExpectedError::DestinationNotEmpty { path: path() });
    }
    if is_current_directory(target) {
        return Err(ExpectedError::DestinationIsCurrentDirectory { path: path() });
    }
    Ok(Vacancy::EmptyDirectory(metadata.permissions()))
}

/// A rename would leave the shell in a directory that no longer exists.
fn is_current_directory(target: &Path) -> bool {
    match (std::env::current_dir(), target.canonicalize()) {
        (Ok(current), Ok(target)) => current == target,
        _ => false,
    }
}

fn parent_of(target: &Path) -> &Path {
    match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// The missing ancestors that were made; removed again unless kept.
#[derive(Debug)]
struct CreatedParents {
    innermost_last: Vec<PathBuf>,
}

impl CreatedParents {
    fn create(parent: &Path) -> Result<Self, ExpectedError> {
        let missing: Vec<&Path> = parent
            .ancestors()
            .take_while(|path| !path.as_os_str().is_empty() && !path.exists())
            .collect();
        let mut created = Self {
            innermost_last: Vec::new(),
        };
        for path in missing.into_iter().rev() {
            fs::create_dir(path)
                .map_err(|source| ExpectedError::file("create the directory", path, source))?;
            created.innermost_last.push(path.to_owned());
        }
        Ok(created)
    }

    fn keep(mut self) {
        self.innermost_last.clear();
    }
}

impl Drop for CreatedParents {
    fn drop(&mut self) {
        for path in self.innermost_last.iter().rev() {
            // Removes empty directories only, so what others put there stays.
            let _ = fs::remove_dir(path);
        }
    }
}

fn write_new_file(path: &Path, content: &[u8]) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    let mut file = File::create_new(path)?;
    file.write_all(content)
}

fn sync_tree(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            sync_tree(&entry.path())?;
        } else if kind.is_file() {
            sync(&entry.path())?;
        }
    }
    sync(directory)
}

fn sync(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_committed_directory_is_whole() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("a/b/target");
        let staging = Staging::begin(&target).unwrap();
        staging.write("src/main.rs", b"fn main() {}").unwrap();
        assert!(!target.exists());
        staging.commit().unwrap();
        assert_eq!(
            fs::read(target.join("src/main.rs")).unwrap(),
            b"fn main() {}"
        );
        assert_eq!(names(&place.path().join("a/b")), ["target"]);
    }

    #[test]
    fn a_dropped_directory_leaves_nothing_not_even_its_parents() {
        let place = tempfile::tempdir().unwrap();
        let staging = Staging::begin(&place.path().join("a/b/target")).unwrap();
        staging.write("file", b"content").unwrap();
        drop(staging);
        assert!(names(place.path()).is_empty());
    }

    #[test]
    fn the_longest_name_of_a_directory_can_be_used() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("x".repeat(255));
        Staging::begin(&target).unwrap().commit().unwrap();
        assert!(target.is_dir());
    }

    #[test]
    fn an_empty_directory_is_replaced_and_keeps_its_permissions() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("target");
        fs::create_dir(&target).unwrap();
        fs::set_permissions(&target, Permissions::from_mode(0o750)).unwrap();
        let staging = Staging::begin(&target).unwrap();
        staging.write("file", b"content").unwrap();
        staging.commit().unwrap();
        assert_eq!(names(&target), ["file"]);
        let mode = fs::metadata(&target).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o750);
    }

    #[test]
    fn a_target_that_is_taken_meanwhile_is_left_alone() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("target");
        let staging = Staging::begin(&target).unwrap();
        staging.write("file", b"content").unwrap();
        fs::create_dir(&target).unwrap();
        fs::write(target.join("other"), b"kept").unwrap();
        staging.commit().unwrap_err();
        assert_eq!(names(place.path()), ["target"]);
        assert_eq!(names(&target), ["other"]);
    }

    #[test]
    fn links_and_files_are_no_place_for_a_directory() {
        let place = tempfile::tempdir().unwrap();
        let empty = place.path().join("empty");
        fs::create_dir(&empty).unwrap();
        let link = place.path().join("link");
        std::os::unix::fs::symlink(&empty, &link).unwrap();
        let file = place.path().join("file");
        fs::write(&file, b"").unwrap();
        for path in [link, file] {
            let error = Staging::begin(&path).unwrap_err();
            assert!(matches!(
                error,
                ExpectedError::DestinationIsNotADirectory { .. }
            ));
        }
    }
}
