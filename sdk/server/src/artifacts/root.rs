//! The opened artifact root: every file below it is reached through one directory descriptor.
//!
//! The directory is opened once and files are created, renamed and removed relative to that
//! descriptor, by names without a separator and without following symbolic links. Whatever happens
//! to the path of the root meanwhile, no operation can leave the directory that was opened.

use std::fs::{DirBuilder, File, Metadata};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, CWD, FileType, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use super::error::{ArtifactError, FileOperation, failed};
use super::file_name::{self, Token};

/// How often a fresh name is tried when another file has it. Once is enough unless something is
/// very wrong with the source of randomness.
const NAME_ATTEMPTS: usize = 8;

/// An opened artifact root.
#[derive(Debug)]
pub(super) struct Root {
    /// The path as it was given, absolute.
    given: PathBuf,
    /// The canonical path, which is what references name: the host resolves its own roots too.
    path: PathBuf,
    directory: OwnedFd,
}

impl Root {
    /// Opens the root, creating it and its missing parents with mode 0700.
    ///
    /// The root itself may be a symbolic link when it belongs to this user or to the superuser.
    /// The modes of directories that exist are left alone.
    pub(super) fn open(path: &Path) -> Result<Self, ArtifactError> {
        refuse_link_unless_owned_by(&[0, rustix::process::geteuid().as_raw()], path)?;
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(path)
            .map_err(failed(FileOperation::CreateRoot, path))?;
        let canonical = path
            .canonicalize()
            .map_err(failed(FileOperation::OpenRoot, path))?;
        if canonical.parent().is_none() {
            return Err(ArtifactError::RootIsSlash);
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let directory = rustix::fs::open(&canonical, flags, Mode::empty())
            .map_err(failed(FileOperation::OpenRoot, &canonical))?;
        Ok(Self {
            given: path.to_owned(),
            path: canonical,
            directory,
        })
    }

    /// The canonical path of the root.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }

    /// Whether the path still leads to the directory that was opened. It does not when somebody
    /// removed or replaced the root, or a link on the way to it; references would then name files
    /// that are not there, or not below the root as the host resolves it.
    pub(super) fn is_current(&self) -> bool {
        let Ok(here) = rustix::fs::fstat(&self.directory) else {
            return false;
        };
        let leads_here = |there: io::Result<Metadata>| {
            there.is_ok_and(|there| {
                (there.dev(), there.ino())
                    == (identity_number(here.st_dev), identity_number(here.st_ino))
            })
        };
        leads_here(std::fs::symlink_metadata(&self.path))
            && (self.given == self.path || leads_here(std::fs::metadata(&self.given)))
    }

    /// Creates an empty temporary file, mode 0600, locked for as long as it stays open.
    pub(super) fn create_temporary(
        self: &Arc<Self>,
        id: &str,
    ) -> Result<(Temporary, File), ArtifactError> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let (temporary, file) = self
            .with_fresh_name(id, |name| {
                rustix::fs::openat(&self.directory, name, flags, Mode::RUSR | Mode::WUSR)
            })
            .map_err(failed(FileOperation::Create, &self.path))?;
        // The lock tells retention in other processes that the writer lives. The operating system
        // releases it however the process ends. A file system without locks loses nothing but that.
        let _ = rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive);
        Ok((temporary, File::from(file)))
    }

    /// Links a file from outside into the root, under a temporary name.
    pub(super) fn link_temporary(
        self: &Arc<Self>,
        id: &str,
        source: &Path,
    ) -> Result<Temporary, Errno> {
        let (temporary, ()) = self.with_fresh_name(id, |name| {
            // Without `SYMLINK_FOLLOW` a symbolic link is linked itself, and found out later.
            rustix::fs::linkat(CWD, source, &self.directory, name, AtFlags::empty())
        })?;
        Ok(temporary)
    }

    /// Opens a file of the root for reading; never through a symbolic link.
    pub(super) fn open_file(&self, name: &str) -> Result<File, Errno> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        rustix::fs::openat(&self.directory, name, flags, Mode::empty()).map(File::from)
    }

    /// Removes a file of the root. A symbolic link is removed itself.
    pub(super) fn remove(&self, name: &str) -> Result<(), Errno> {
        rustix::fs::unlinkat(&self.directory, name, AtFlags::empty())
    }

    /// Makes a file under a temporary name that nothing has yet.
    fn with_fresh_name<T>(
        self: &Arc<Self>,
        id: &str,
        create: impl Fn(&str) -> Result<T, Errno>,
    ) -> Result<(Temporary, T), Errno> {
        for _ in 0..NAME_ATTEMPTS {
            let temporary = Temporary::new(self, id);
            match create(&temporary.name) {
                Ok(created) => return Ok((temporary, created)),
                // The name, if it exists, is not this writer's to remove.
                Err(error) => {
                    temporary.disarm();
                    if error != Errno::EXIST {
                        return Err(error);
                    }
                }
            }
        }
        Err(Errno::EXIST)
    }
}

/// A file under a temporary name. Dropped, the file is removed; [`publish`](Self::publish) gives it
/// its final name.
#[derive(Debug)]
pub(super) struct Temporary {
    root: Arc<Root>,
    token: Token,
    name: String,
    state: TemporaryState,
}

#[derive(Debug, PartialEq, Eq)]
enum TemporaryState {
    /// The name exists and has to be removed.
    Present,
    /// The name does not exist, or is a finished file's now.
    Gone,
}

impl Temporary {
    fn new(root: &Arc<Root>, id: &str) -> Self {
        let token = Token::unique();
        Self {
            root: Arc::clone(root),
            name: file_name::temporary(id, &token),
            token,
            state: TemporaryState::Present,
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn root(&self) -> &Arc<Root> {
        &self.root
    }

    /// Renames the file to its final name and brings the new name to stable storage. The content
    /// has to be there already. Gives the final name.
    pub(super) fn publish(
        mut self,
        id: &str,
        extension: Option<&str>,
    ) -> Result<String, ArtifactError> {
        let name = file_name::finished(id, &self.token, extension);
        let directory = &self.root.directory;
        rustix::fs::renameat(directory, self.name.as_str(), directory, name.as_str())
            .map_err(failed(FileOperation::Publish, self.root.path()))?;
        self.state = TemporaryState::Gone;
        if let Err(error) = rustix::fs::fsync(directory) {
            // Nobody learns of the artifact, so it must not stay.
            let _ = self.root.remove(&name);
            return Err(ArtifactError::io(
                FileOperation::Sync,
                self.root.path(),
                error,
            ));
        }
        Ok(name)
    }

    fn disarm(mut self) {
        self.state = TemporaryState::Gone;
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if self.state == TemporaryState::Present {
            // A failure leaves a temporary name that nothing references; retention removes it.
            let _ = self.root.remove(&self.name);
        }
    }
}

/// Refuses a root that is somebody else's symbolic link, who could point it elsewhere at any time.
fn refuse_link_unless_owned_by(trusted: &[u32], path: &Path) -> Result<(), ArtifactError> {
    // A trailing slash would make the link be followed.
    let path: PathBuf = path.components().collect();
    let Ok(metadata) = std::fs::symlink_metadata(&path) else {
        return Ok(());
    };
    let owner = metadata.uid();
    if metadata.is_symlink() && !trusted.contains(&owner) {
        return Err(ArtifactError::ForeignRootLink { path, owner });
    }
    Ok(())
}

/// Device and inode numbers have different integer types on different systems.
fn identity_number<T: TryInto<u64>>(number: T) -> u64 {
    number.try_into().unwrap_or(u64::MAX)
}

/// Which file a descriptor or a path stands for.
pub(super) fn identity(stat: &rustix::fs::Stat) -> (u64, u64) {
    (identity_number(stat.st_dev), identity_number(stat.st_ino))
}

/// The type of file that a stat describes.
pub(super) fn file_type(stat: &rustix::fs::Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

/// Size in bytes; a negative one, which no file system reports, counts as 0.
pub(super) fn size(stat: &rustix::fs::Stat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or(0)
}

/// Brings the content of a file to stable storage.
pub(super) fn sync_file(file: &File, root: &Root) -> Result<(), ArtifactError> {
    file.sync_all()
        .map_err(|cause: io::Error| ArtifactError::io(FileOperation::Sync, root.path(), cause))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_root_that_is_a_link_of_another_user_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("target");
        let link = folder.path().join("link");
        std::fs::create_dir(&target).unwrap();
        symlink(&target, &link).unwrap();
        let owner = std::fs::symlink_metadata(&link).unwrap().uid();
        let with_slash = folder.path().join("link/");
        for path in [&link, &with_slash] {
            let error = refuse_link_unless_owned_by(&[owner + 1], path).unwrap_err();
            assert!(
                matches!(error, ArtifactError::ForeignRootLink { owner: found, .. } if found == owner)
            );
            refuse_link_unless_owned_by(&[owner], path).unwrap();
        }
        refuse_link_unless_owned_by(&[owner + 1], &target).unwrap();
        refuse_link_unless_owned_by(&[], &folder.path().join("missing")).unwrap();
    }

    #[test]
    fn a_root_that_is_an_own_link_is_resolved() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        symlink(folder.path(), &link).unwrap();
        let root = Root::open(&link).unwrap();
        assert_eq!(root.path(), folder.path().canonicalize().unwrap());
        assert!(root.is_current());
    }

    #[test]
    fn a_root_that_is_a_file_or_slash_is_an_error() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = Root::open(file.path()).unwrap_err();
        assert!(matches!(
            error,
            ArtifactError::Io {
                operation: FileOperation::CreateRoot,
                ..
            }
        ));
        let error = Root::open(&file.path().join("below"))
            .unwrap_err()
            .to_string();
        assert!(
            error.ends_with("one of its parents is a file; choose another path"),
            "{error}"
        );
        assert!(matches!(
            Root::open(Path::new("/")),
            Err(ArtifactError::RootIsSlash)
        ));
    }

    #[test]
    fn files_are_never_opened_through_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::open(folder.path()).unwrap();
        symlink("/etc/hostname", folder.path().join("link")).unwrap();
        assert_eq!(root.open_file("link").unwrap_err(), Errno::LOOP);
    }

    #[test]
    fn a_link_to_the_root_that_leads_elsewhere_by_now_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name| folder.path().join(name);
        std::fs::create_dir(at("first")).unwrap();
        std::fs::create_dir(at("second")).unwrap();
        symlink(at("first"), at("link")).unwrap();
        let root = Root::open(&at("link")).unwrap();
        assert!(root.is_current());
        std::fs::remove_file(at("link")).unwrap();
        assert!(!root.is_current());
        symlink(at("second"), at("link")).unwrap();
        assert!(!root.is_current());
    }

    #[test]
    fn a_replaced_root_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("root");
        let root = Root::open(&path).unwrap();
        std::fs::rename(&path, folder.path().join("elsewhere")).unwrap();
        assert!(!root.is_current());
        std::fs::create_dir(&path).unwrap();
        assert!(!root.is_current());
    }
}
