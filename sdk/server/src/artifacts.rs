//! Artifacts: files that a tool leaves for the host because they are too large or too binary for
//! the model's context.
//!
//! The [`ArtifactStore`] owns one directory, the root, and puts files there in a way that the host
//! accepts and that a crash cannot spoil. A tool reaches it through
//! [`ToolContext::artifacts`](crate::ToolContext::artifacts) and attaches the [`Artifact`] it gets
//! to its [`ToolResult`](crate::ToolResult).
//!
//! # Where files go
//!
//! The root is the directory in `ODEK_EXT_ARTIFACT_ROOT` (a relative path starts at the working
//! directory), else `$HOME/.local/state/odek-ext/<extension>/artifacts`. It is created with mode
//! 0700 when the first artifact is written. The host only accepts files below a directory that its
//! configuration lists in `artifact_roots`, so the two have to agree.
//!
//! The root may be a symbolic link if the link belongs to the user who runs the extension or to the
//! superuser; references name the path that it leads to, as the host resolves its roots too. A root
//! that exists keeps its mode. `/` is refused, since the host accepts nothing below it.
//!
//! # What a file is called
//!
//! `report-1.odek-0123456789abcdef.xml`: the id in safe ASCII characters, a token that makes the
//! name unique, and an extension. Mode 0600. Until it is finished a file has a name that begins
//! with a dot and ends in `.part`; a killed process leaves at most that, nothing references it, and
//! [`Retention`] removes it.
//!
//! # What is promised
//!
//! - An artifact appears whole or not at all: temporary name, stable storage, rename, stable
//!   storage of the directory.
//! - No symbolic link is followed out of the root: every file is reached relative to one directory
//!   descriptor, and files to attach are not opened through a symbolic link in their last element.
//! - Size and digest are those of the bytes that were written, taken while writing.
//!
//! # Blocking
//!
//! All functions block on the file system, for a 64 MiB artifact some tens of milliseconds on a
//! good disk. In an `async` tool that is fine for small artifacts; wrap larger ones in
//! `tokio::task::spawn_blocking` (the store is cheap to clone), or write the tool as a plain
//! function, which the SDK runs off the async threads anyway.
//!
//! What does not live here: the rules by which the host judges a reference (`odek_contract`) and
//! the envelope that carries references ([`crate::ToolResult`]).

mod error;
mod file_name;
mod location;
mod media_type;
mod reference;
mod retention;
mod root;
mod sink;
mod source;
#[cfg(test)]
mod tests;
mod writer;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use odek_contract::artifact::{MAX_ARTIFACT_BYTES, MAX_ARTIFACTS, Sha256Digest};
use serde::Serialize;
use sha2::{Digest, Sha256};

use error::failed;
use location::Location;
use media_type::{Extent, SNIFFED_BYTES};
use reference::shown;
use root::Root;
use sink::CHUNK_BYTES;
use source::Source;

pub use error::{ArtifactError, ContentSize, Encoding, FileKind, FileOperation};
pub use reference::Artifact;
pub use retention::Retention;
pub use writer::ArtifactWriter;

/// At least so many bytes before the end of a part are searched for a line end by
/// [`ArtifactStore::split`].
const LINE_WINDOW_BYTES: usize = 64 * 1024;

/// The artifacts of one extension. Cheap to clone; clones share everything.
///
/// Nothing is touched before the first artifact is written: then the root is created, opened and
/// cleaned by [`Retention`]. A root that disappears later is created anew.
///
/// See the [module](self) for where files go and what is promised.
///
/// ```
/// use odek_sdk::{ArtifactStore, Retention};
///
/// # let folder = std::env::temp_dir().join(format!("odek-sdk-store-{}", std::process::id()));
/// let store = ArtifactStore::at(&folder, Retention::default());
/// let artifact = store.write_bytes("greeting", "hello\n")?.summary("A greeting");
///
/// let reference = artifact.to_reference();
/// assert_eq!(reference.media_type, "text/plain");
/// assert_eq!(reference.size_bytes, Some(6));
/// assert!(reference.uri.starts_with("file:///"));
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct ArtifactStore {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    location: Location,
    retention: Retention,
    /// The root, once it was opened. A failure to open it is not remembered.
    root: Mutex<Option<Arc<Root>>>,
}

impl ArtifactStore {
    /// The store of the extension of this name, in the root that the environment chooses.
    ///
    /// Infallible, since nothing is looked up before the first use; a missing `HOME` or an unusable
    /// name is an error of the first artifact.
    pub fn for_extension(name: &str, retention: Retention) -> Self {
        Self::new(Location::ForExtension(name.to_owned()), retention)
    }

    /// A store in a directory of the author's choice, for tests and for programs with a
    /// configuration of their own. A relative path starts at the working directory.
    pub fn at(root: impl Into<PathBuf>, retention: Retention) -> Self {
        Self::new(Location::At(root.into()), retention)
    }

    fn new(location: Location, retention: Retention) -> Self {
        Self {
            shared: Arc::new(Shared {
                location,
                retention,
                root: Mutex::new(None),
            }),
        }
    }

    /// The canonical path of the root, which is created and opened if it was not.
    ///
    /// # Errors
    ///
    /// [`ArtifactError`] when there is no such directory and none can be made.
    pub fn root(&self) -> Result<PathBuf, ArtifactError> {
        Ok(self.open_root()?.path().to_owned())
    }

    /// Starts an artifact that is written piece by piece.
    ///
    /// # Errors
    ///
    /// [`ArtifactError`] when the id is blank, or the root or the file cannot be created.
    pub fn create(&self, id: &str) -> Result<ArtifactWriter, ArtifactError> {
        ArtifactWriter::new(id, Encoding::Plain, &self.open_root()?)
    }

    /// Starts an artifact that is compressed with gzip while it is written.
    ///
    /// The limit of 64 MiB then counts compressed bytes. The media type is `application/gzip`
    /// unless set.
    ///
    /// # Errors
    ///
    /// As [`create`](Self::create).
    pub fn create_compressed(&self, id: &str) -> Result<ArtifactWriter, ArtifactError> {
        ArtifactWriter::new(id, Encoding::Gzip, &self.open_root()?)
    }

    /// Copies a file into the root. Later changes to the file do no harm.
    ///
    /// The file has to be a regular file; a symbolic link, directory, pipe, socket or device is an
    /// error, and none of them makes the call wait.
    ///
    /// # Errors
    ///
    /// [`ArtifactError::TooLarge`] for a file of more than 67,108,864 bytes;
    /// [`ArtifactError::NotRegular`]; [`ArtifactError::Io`] when the file cannot be read or the
    /// copy not be written. Nothing is left in the root then.
    pub fn copy_in(&self, id: &str, path: impl AsRef<Path>) -> Result<Artifact, ArtifactError> {
        let source = Source::open(path.as_ref())?;
        refuse_too_large(id, source.size())?;
        copy(source, self.create(id)?)
    }

    /// References a file without copying it.
    ///
    /// A file inside the root stays where it is and is never removed by [`Retention`] unless a
    /// store made it. A file outside is hard-linked into the root, which needs the same file
    /// system; the link shares content and mode with the original, so **a later change to the file
    /// breaks the digest and the host then refuses the whole result**. Use it for files that are
    /// finished, and [`copy_in`](Self::copy_in) otherwise.
    ///
    /// The last element of the path must not be a symbolic link.
    ///
    /// # Errors
    ///
    /// [`ArtifactError::CannotLink`] when the file is on another file system or may not be linked;
    /// otherwise as [`copy_in`](Self::copy_in).
    pub fn link_existing(
        &self,
        id: &str,
        path: impl AsRef<Path>,
    ) -> Result<Artifact, ArtifactError> {
        let shown_id = shown(id);
        if shown_id.is_empty() {
            return Err(ArtifactError::BlankId);
        }
        let mut source = Source::open(path.as_ref())?;
        refuse_too_large(&shown_id, source.size())?;
        let root = self.open_root()?;
        let location = resolve_parents(source.path())?;
        if location.starts_with(root.path()) {
            require_identity(&source, || rustix::fs::lstat(&location))?;
            let measured = Measured::of(&shown_id, &mut source)?;
            return measured.artifact(&shown_id, location);
        }
        let temporary = root
            .link_temporary(&shown_id, source.path())
            .map_err(|cause| ArtifactError::CannotLink {
                path: source.path().to_owned(),
                root: root.path().to_owned(),
                cause: cause.into(),
            })?;
        require_identity(&source, || {
            let flags = rustix::fs::AtFlags::SYMLINK_NOFOLLOW;
            rustix::fs::statat(root.descriptor(), temporary.name(), flags)
        })?;
        let measured = Measured::of(&shown_id, &mut source)?;
        let extension = measured.extension(source.path());
        let name = temporary.publish(&shown_id, extension.as_deref())?;
        measured.artifact(&shown_id, root.path().join(name))
    }

    /// Writes an artifact from bytes at hand.
    ///
    /// # Errors
    ///
    /// [`ArtifactError::TooLarge`] for more than 67,108,864 bytes; otherwise as
    /// [`create`](Self::create).
    pub fn write_bytes(
        &self,
        id: &str,
        bytes: impl AsRef<[u8]>,
    ) -> Result<Artifact, ArtifactError> {
        let bytes = bytes.as_ref();
        refuse_too_large(id, bytes.len() as u64)?;
        let mut writer = self.create(id)?;
        writer.push(bytes)?;
        writer.finish()
    }

    /// Writes a value as compact JSON, media type `application/json`. The text is never in memory
    /// as a whole.
    ///
    /// # Errors
    ///
    /// [`ArtifactError::Json`] when the value has no JSON form; otherwise as
    /// [`create`](Self::create) and [`ArtifactWriter::finish`].
    pub fn write_json<T: Serialize + ?Sized>(
        &self,
        id: &str,
        value: &T,
    ) -> Result<Artifact, ArtifactError> {
        let mut writer = self.create(id)?.media_type(media_type::JSON);
        match serde_json::to_writer(&mut writer, value) {
            Ok(()) => writer.finish(),
            Err(cause) if cause.is_io() => Err(writer.failure(cause.into())),
            Err(cause) => Err(ArtifactError::Json {
                id: id.to_owned(),
                cause,
            }),
        }
    }

    /// Attaches a file of any size compressed with gzip, media type `application/gzip`.
    ///
    /// # Errors
    ///
    /// [`ArtifactError::TooLarge`] when even the compressed content has more than 67,108,864 bytes;
    /// otherwise as [`copy_in`](Self::copy_in).
    pub fn compress(&self, id: &str, path: impl AsRef<Path>) -> Result<Artifact, ArtifactError> {
        let source = Source::open(path.as_ref())?;
        copy(source, self.create_compressed(id)?)
    }

    /// Attaches a file of any size in parts of at most `part_bytes` bytes.
    ///
    /// The parts, put together in order, are the file, byte for byte. Their ids are `<id>-part-1`,
    /// `<id>-part-2` and so on, their summaries say which part of how many they are. A text is cut
    /// behind a line end where one lies in the last 64 KiB of a part, else between two characters;
    /// its parts are `text/plain`, those of any other file `application/octet-stream`.
    ///
    /// # Errors
    ///
    /// [`ArtifactError::PartSize`] for a size outside 1 to 67,108,864 bytes;
    /// [`ArtifactError::TooManyParts`] when one result could not carry the parts (64); otherwise as
    /// [`copy_in`](Self::copy_in). No part is left then.
    pub fn split(
        &self,
        id: &str,
        path: impl AsRef<Path>,
        part_bytes: u64,
    ) -> Result<Vec<Artifact>, ArtifactError> {
        if !(1..=MAX_ARTIFACT_BYTES).contains(&part_bytes) {
            return Err(ArtifactError::PartSize { part_bytes });
        }
        let source = Source::open(path.as_ref())?;
        if source.size().div_ceil(part_bytes) > MAX_ARTIFACTS as u64 {
            return Err(too_many_parts(&source, part_bytes));
        }
        let mut splitter = Splitter::new(source, part_bytes)?;
        let mut parts = Vec::new();
        match self.write_parts(id, &mut splitter, &mut parts) {
            Ok(()) => {
                let count = parts.len();
                let numbered = parts.into_iter().zip(1..);
                Ok(numbered
                    .map(|(part, number)| part.summary(format!("part {number} of {count}")))
                    .collect())
            }
            Err(error) => {
                self.discard(&parts);
                Err(error)
            }
        }
    }

    fn write_parts(
        &self,
        id: &str,
        splitter: &mut Splitter,
        parts: &mut Vec<Artifact>,
    ) -> Result<(), ArtifactError> {
        loop {
            if parts.len() == MAX_ARTIFACTS {
                return Err(too_many_parts(&splitter.source, splitter.part_bytes));
            }
            let id = format!("{id}-part-{}", parts.len() + 1);
            let mut writer = self.create(&id)?.media_type(splitter.media_type);
            let next = splitter.write_part(&mut writer)?;
            parts.push(writer.finish()?);
            if next == Next::End {
                return Ok(());
            }
        }
    }

    /// Removes artifacts that nobody will reference.
    fn discard(&self, artifacts: &[Artifact]) {
        let Ok(root) = self.open_root() else { return };
        for artifact in artifacts {
            if let Some(name) = artifact.path().file_name().and_then(OsStr::to_str) {
                // What cannot be removed now is removed by retention.
                let _ = root.remove(name);
            }
        }
    }

    /// The opened root. Opens it, and opens it anew when its path leads elsewhere by now.
    fn open_root(&self) -> Result<Arc<Root>, ArtifactError> {
        let shared = &self.shared;
        // Nothing that could leave a half-changed value can panic while the lock is held.
        let mut opened = shared.root.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(root) = opened.as_ref().filter(|root| root.is_current()) {
            return Ok(Arc::clone(root));
        }
        let root = Arc::new(Root::open(&shared.location.resolve()?)?);
        shared.retention.apply(&root, SystemTime::now());
        *opened = Some(Arc::clone(&root));
        Ok(root)
    }
}

/// Copies a file into an artifact.
fn copy(mut source: Source, writer: ArtifactWriter) -> Result<Artifact, ArtifactError> {
    let mut writer = writer.original_name(source.path().file_name());
    writer.push_file(&mut source)?;
    writer.finish()
}

fn refuse_too_large(id: &str, size: u64) -> Result<(), ArtifactError> {
    if size <= MAX_ARTIFACT_BYTES {
        return Ok(());
    }
    Err(ArtifactError::TooLarge {
        id: id.to_owned(),
        size: ContentSize::Exactly(size),
        encoding: Encoding::Plain,
    })
}

fn too_many_parts(source: &Source, part_bytes: u64) -> ArtifactError {
    ArtifactError::TooManyParts {
        path: source.path().to_owned(),
        size_bytes: source.size(),
        part_bytes,
    }
}

/// The path of a file with its parents' symbolic links resolved, but not its own.
fn resolve_parents(path: &Path) -> Result<PathBuf, ArtifactError> {
    let failed = || failed(FileOperation::ResolvePath, path);
    let absolute = std::path::absolute(path).map_err(failed())?;
    let (Some(parent), Some(name)) = (absolute.parent(), absolute.file_name()) else {
        return Ok(absolute);
    };
    Ok(parent.canonicalize().map_err(failed())?.join(name))
}

/// Makes sure that a path still leads to the file that was opened.
fn require_identity(
    source: &Source,
    stat: impl FnOnce() -> Result<rustix::fs::Stat, rustix::io::Errno>,
) -> Result<(), ArtifactError> {
    let is_same = stat().is_ok_and(|stat| root::identity(&stat) == source.identity());
    if is_same {
        return Ok(());
    }
    Err(ArtifactError::Replaced {
        path: source.path().to_owned(),
    })
}

/// What is known of a file that stays where it is.
struct Measured {
    size: u64,
    sha256: Sha256Digest,
    media_type: &'static str,
}

impl Measured {
    fn of(id: &str, source: &mut Source) -> Result<Self, ArtifactError> {
        let mut hasher = Sha256::new();
        let mut size = 0;
        let mut head = Vec::new();
        let mut buffer = Vec::new();
        while source.append_to(&mut buffer, CHUNK_BYTES)? > 0 {
            if size == 0 {
                head.extend_from_slice(&buffer[..buffer.len().min(SNIFFED_BYTES)]);
            }
            size += buffer.len() as u64;
            // The file may be growing.
            refuse_too_large(id, size)?;
            hasher.update(&buffer);
            buffer.clear();
        }
        let names = source
            .path()
            .file_name()
            .into_iter()
            .chain([OsStr::new(id)]);
        let extent = if size > head.len() as u64 {
            Extent::Beginning
        } else {
            Extent::Whole
        };
        Ok(Self {
            size,
            sha256: Sha256Digest::from_bytes(hasher.finalize().into()),
            media_type: media_type::guess(&names.collect::<Vec<_>>(), &head, extent),
        })
    }

    /// The extension for the link to a file.
    fn extension(&self, path: &Path) -> Option<String> {
        path.file_name()
            .and_then(file_name::extension_of)
            .or_else(|| media_type::usual_extension(self.media_type))
            .map(str::to_owned)
    }

    fn artifact(self, id: &str, path: PathBuf) -> Result<Artifact, ArtifactError> {
        Artifact::new(id, path, self.media_type, self.size, self.sha256)
    }
}

/// Cuts a file into parts.
struct Splitter {
    source: Source,
    part_bytes: u64,
    media_type: &'static str,
    kind: Cutting,
    /// What has been read and not been written.
    pending: Vec<u8>,
}

/// Where a file may be cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cutting {
    /// Anywhere.
    AtBytes,
    /// Behind a line end, else between characters.
    AtLines,
}

/// Whether anything follows a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Part,
    End,
}

impl Splitter {
    fn new(mut source: Source, part_bytes: u64) -> Result<Self, ArtifactError> {
        let mut pending = Vec::new();
        let count = source.append_to(&mut pending, SNIFFED_BYTES)?;
        let extent = if count < SNIFFED_BYTES {
            Extent::Whole
        } else {
            Extent::Beginning
        };
        let names: Vec<&OsStr> = source.path().file_name().into_iter().collect();
        let whole = media_type::guess(&names, &pending, extent);
        let (kind, media_type) = if media_type::is_textual(whole) {
            (Cutting::AtLines, media_type::TEXT)
        } else {
            (Cutting::AtBytes, media_type::BINARY)
        };
        Ok(Self {
            source,
            part_bytes,
            media_type,
            kind,
            pending,
        })
    }

    /// Writes one part and says whether another follows.
    fn write_part(&mut self, writer: &mut ArtifactWriter) -> Result<Next, ArtifactError> {
        let mut room = self.part_bytes;
        while room >= 2 * LINE_WINDOW_BYTES as u64 {
            self.read_up_to(LINE_WINDOW_BYTES)?;
            if self.pending.len() < LINE_WINDOW_BYTES {
                writer.push(&self.pending)?;
                return Ok(Next::End);
            }
            writer.push(&self.pending[..LINE_WINDOW_BYTES])?;
            self.pending.drain(..LINE_WINDOW_BYTES);
            room -= LINE_WINDOW_BYTES as u64;
        }
        // Less than two windows, so it fits.
        let room = usize::try_from(room).unwrap_or(LINE_WINDOW_BYTES);
        // One byte more than there is room for tells whether the file goes on.
        self.read_up_to(room + 1)?;
        if self.pending.len() <= room {
            writer.push(&self.pending)?;
            return Ok(Next::End);
        }
        let cut = match self.kind {
            Cutting::AtBytes => room,
            Cutting::AtLines => line_cut(&self.pending, room),
        };
        writer.push(&self.pending[..cut])?;
        self.pending.drain(..cut);
        Ok(Next::Part)
    }

    /// Reads until this many bytes are pending or the file ends.
    fn read_up_to(&mut self, bytes: usize) -> Result<(), ArtifactError> {
        let missing = bytes.saturating_sub(self.pending.len());
        self.source.append_to(&mut self.pending, missing)?;
        Ok(())
    }
}

/// The best place to cut text in `1..=end`: behind the last line end, else before a character.
fn line_cut(text: &[u8], end: usize) -> usize {
    if let Some(position) = text[..end].iter().rposition(|byte| *byte == b'\n') {
        return position + 1;
    }
    let is_start = |at: &usize| !matches!(text[*at], 0x80..=0xbf);
    // A character has at most four bytes.
    (1..=end).rev().take(4).find(is_start).unwrap_or(end)
}
