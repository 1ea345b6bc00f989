//! Removing old artifacts.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, Dir, FileType, FlockOperation};
use rustix::io::Errno;

use super::file_name::{self, OwnFile};
use super::root::{self, Root};

/// No file younger than this is ever removed: the host may be about to read it.
const ALWAYS_KEPT: Duration = Duration::from_secs(60 * 60);

/// How long artifacts are kept, and how many bytes of them.
///
/// Applied when a store first opens its root, that is, at the first artifact that an extension
/// writes after its start; an extension that runs for weeks does not clean up meanwhile. Removed
/// are, oldest first, artifacts older than [`max_age`](Self::max_age), then artifacts until the
/// rest has at most [`max_total_bytes`](Self::max_total_bytes).
///
/// Never removed:
///
/// - a file younger than one hour, even when the total is exceeded;
/// - a file that no store created, told by its name (`report-1.odek-0123456789abcdef.xml`), hence
///   also one that [`link_existing`](super::ArtifactStore::link_existing) referenced in place;
/// - anything but a regular file, and anything in a directory below the root;
/// - the unfinished file of a writer that lives, in whatever process.
///
/// The age of a file counts from when it was put there or last written, whichever is later.
///
/// The default keeps artifacts for 7 days and 1 GiB (1,073,741,824 bytes) of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    max_age: Option<Duration>,
    max_total_bytes: Option<u64>,
}

impl Retention {
    /// Keeps every artifact; removes only what a killed writer left.
    pub const fn keep_all() -> Self {
        Self {
            max_age: None,
            max_total_bytes: None,
        }
    }

    /// Removes artifacts older than this. Less than one hour acts as one hour.
    #[must_use]
    pub const fn max_age(mut self, max_age: Duration) -> Self {
        self.max_age = Some(max_age);
        self
    }

    /// Removes the oldest artifacts until the rest has at most this many bytes.
    #[must_use]
    pub const fn max_total_bytes(mut self, max_total_bytes: u64) -> Self {
        self.max_total_bytes = Some(max_total_bytes);
        self
    }

    /// Applies the rule to a root, as if it were `now`. What cannot be removed is logged and left:
    /// a full store is no reason to fail a call.
    pub(super) fn apply(self, root: &Root, now: SystemTime) {
        let mut files = match own_files(root) {
            Ok(files) => files,
            Err(error) => {
                let root = root.path().display();
                tracing::warn!("cannot look for old artifacts in `{root}`: {error}");
                return;
            }
        };
        let age = |file: &StoredFile| now.duration_since(file.since).unwrap_or_default();
        files.sort_by_key(|file| file.since);
        let mut total: u64 = files.iter().map(|file| file.size).sum();
        for file in files {
            let age = age(&file);
            let is_due = match file.kind {
                OwnFile::Temporary => !is_being_written(root, &file.name),
                OwnFile::Finished => {
                    self.max_age.is_some_and(|max_age| age > max_age)
                        || self.max_total_bytes.is_some_and(|max| total > max)
                }
            };
            if !is_due || age < ALWAYS_KEPT {
                continue;
            }
            match root.remove(&file.name) {
                Ok(()) => total -= file.size,
                // Another process was faster.
                Err(Errno::NOENT) => total -= file.size,
                Err(error) => {
                    let path = root.path().join(&file.name);
                    tracing::warn!(
                        "cannot remove the old artifact `{}`: {error}",
                        path.display()
                    );
                }
            }
        }
    }
}

impl Default for Retention {
    fn default() -> Self {
        Self::keep_all()
            .max_age(Duration::from_secs(7 * 24 * 60 * 60))
            .max_total_bytes(1 << 30)
    }
}

/// A file that a store made.
#[derive(Debug)]
struct StoredFile {
    name: String,
    kind: OwnFile,
    /// In bytes.
    size: u64,
    since: SystemTime,
}

/// The regular files directly in the root that carry a name of the store's own making.
fn own_files(root: &Root) -> Result<Vec<StoredFile>, Errno> {
    let mut files = Vec::new();
    for entry in Dir::read_from(root.descriptor())? {
        let entry = entry?;
        let Ok(name) = entry.file_name().to_str() else {
            continue;
        };
        let Some(kind) = file_name::recognise(name) else {
            continue;
        };
        let stat = match rustix::fs::statat(root.descriptor(), name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => continue,
            Err(error) => return Err(error),
        };
        if root::file_type(&stat) == FileType::RegularFile {
            files.push(StoredFile {
                name: name.to_owned(),
                kind,
                size: root::size(&stat),
                since: since(&stat),
            });
        }
    }
    Ok(files)
}

/// When a file was last written or, for a hard link to an old file, put there.
fn since(stat: &rustix::fs::Stat) -> SystemTime {
    let latest = seconds(stat.st_mtime).max(seconds(stat.st_ctime));
    UNIX_EPOCH + Duration::from_secs(latest)
}

/// A time as the system counts it, in whatever integer type; one before 1970 counts as 1970.
fn seconds<T: TryInto<u64>>(time: T) -> u64 {
    time.try_into().unwrap_or(0)
}

/// Whether a writer holds the lock on its unfinished file.
fn is_being_written(root: &Root, name: &str) -> bool {
    root.open_file(name).is_ok_and(|file| {
        let lock = rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive);
        lock == Err(Errno::WOULDBLOCK)
    })
}
