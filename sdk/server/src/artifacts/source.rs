//! Files of the author's that become artifacts: opened without surprises.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};

use super::error::{ArtifactError, FileKind, FileOperation, failed};
use super::root;

/// A regular file, opened for reading.
#[derive(Debug)]
pub(super) struct Source {
    path: PathBuf,
    file: File,
    size: u64,
    identity: (u64, u64),
}

impl Source {
    /// Opens a regular file.
    ///
    /// The last element of the path must not be a symbolic link; its parents may be. Nothing waits:
    /// a named pipe without a writer is an error like any other file that is not regular.
    pub(super) fn open(path: &Path) -> Result<Self, ArtifactError> {
        let failed = || failed(FileOperation::OpenSource, path);
        // Asked before opening, since opening a device can have effects, and again after it, since
        // the file may have been replaced.
        let before = rustix::fs::statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW).map_err(failed())?;
        require_regular(path, &before)?;
        let flags =
            OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = rustix::fs::open(path, flags, Mode::empty()).map_err(failed())?;
        let stat = rustix::fs::fstat(&file).map_err(failed())?;
        require_regular(path, &stat)?;
        Ok(Self {
            path: path.to_owned(),
            file: File::from(file),
            size: root::size(&stat),
            identity: root::identity(&stat),
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Size in bytes when the file was opened.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// Device and inode.
    pub(super) fn identity(&self) -> (u64, u64) {
        self.identity
    }

    /// Appends up to so many bytes; fewer only at the end of the file. Gives the number of bytes.
    pub(super) fn append_to(
        &mut self,
        buffer: &mut Vec<u8>,
        bytes: usize,
    ) -> Result<usize, ArtifactError> {
        buffer.reserve(bytes);
        (&mut self.file)
            .take(bytes as u64)
            .read_to_end(buffer)
            .map_err(failed(FileOperation::ReadSource, &self.path))
    }
}

fn require_regular(path: &Path, stat: &rustix::fs::Stat) -> Result<(), ArtifactError> {
    let kind = match root::file_type(stat) {
        FileType::RegularFile => return Ok(()),
        FileType::Symlink => FileKind::SymbolicLink,
        FileType::Directory => FileKind::Directory,
        FileType::Fifo => FileKind::Fifo,
        FileType::Socket => FileKind::Socket,
        FileType::BlockDevice | FileType::CharacterDevice => FileKind::Device,
        FileType::Unknown => FileKind::Unknown,
    };
    Err(ArtifactError::NotRegular {
        path: path.to_owned(),
        kind,
    })
}
