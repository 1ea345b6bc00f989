//! Bytes on their way to a file: counted, hashed and written in one pass.
//!
//! The first mebibyte is written as it is hashed. From there on a thread of the writer's own does
//! the writing, so that hashing, which is the slower of the two, never waits for the disk; the
//! thread also asks for stable storage every few mebibytes, so that little is left to wait for at
//! the end. Memory stays bounded: the chunks under way are [`CHUNKS_UNDER_WAY`] at most.

use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{self, JoinHandle};

use odek_contract::artifact::{MAX_ARTIFACT_BYTES, Sha256Digest};
use sha2::{Digest, Sha256};

use super::error::{ArtifactError, ContentSize, Encoding, FileOperation};
use super::media_type::SNIFFED_BYTES;
use super::root::{self, Root};
use super::source::Source;

/// Bytes that are hashed and written at once.
pub(super) const CHUNK_BYTES: usize = 256 * 1024;
/// Chunks that may wait for the writing thread; with the one in either hand, 4.5 MiB.
const CHUNKS_UNDER_WAY: usize = 16;
/// Bytes after which writing moves to a thread. Smaller artifacts are not worth one.
const DIRECT_BYTES: u64 = 1024 * 1024;
/// Bytes after which the writing thread asks for stable storage.
const SYNC_BYTES: usize = 8 * 1024 * 1024;

/// What became of the bytes.
#[derive(Debug)]
pub(super) struct Written {
    pub(super) sha256: Sha256Digest,
    /// In bytes.
    pub(super) size: u64,
    /// The beginning of the content, for guessing the media type.
    pub(super) head: Vec<u8>,
}

/// A file that is hashed while it is written, and that refuses to grow over the host's limit.
#[derive(Debug)]
pub(super) struct HashingFile {
    id: String,
    encoding: Encoding,
    root: Arc<Root>,
    hasher: Sha256,
    head: Vec<u8>,
    size: u64,
    buffer: Vec<u8>,
    output: Output,
    /// The first failure. It is kept, since [`Write`] can only report its text, and so that nothing
    /// after it can succeed.
    failure: Option<ArtifactError>,
}

impl HashingFile {
    pub(super) fn new(id: &str, encoding: Encoding, root: Arc<Root>, file: File) -> Self {
        Self {
            id: id.to_owned(),
            encoding,
            root,
            hasher: Sha256::new(),
            head: Vec::new(),
            size: 0,
            buffer: Vec::new(),
            output: Output::Direct(file),
            failure: None,
        }
    }

    /// The first failure, if there was one.
    pub(super) fn take_failure(&mut self) -> Option<ArtifactError> {
        self.failure.take()
    }

    /// Takes bytes, as [`Write::write_all`] would, with a typed error.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<(), ArtifactError> {
        self.grow_by(bytes.len())?;
        self.keep_head(bytes);
        let mut rest = bytes;
        while !rest.is_empty() {
            let room = CHUNK_BYTES - self.buffer.len();
            let (now, later) = rest.split_at(room.min(rest.len()));
            self.buffer.extend_from_slice(now);
            rest = later;
            self.emit_when_full()?;
        }
        Ok(())
    }

    /// Takes a file to its end, reading straight into the buffer that is hashed and written.
    pub(super) fn push_file(&mut self, source: &mut Source) -> Result<(), ArtifactError> {
        loop {
            let have = self.buffer.len();
            let count = source.append_to(&mut self.buffer, CHUNK_BYTES - have)?;
            if count == 0 {
                return Ok(());
            }
            self.grow_by(count)?;
            let buffer = std::mem::take(&mut self.buffer);
            self.keep_head(&buffer[have..]);
            self.buffer = buffer;
            self.emit_when_full()?;
        }
    }

    fn grow_by(&mut self, bytes: usize) -> Result<(), ArtifactError> {
        let size = self.size.saturating_add(bytes as u64);
        if size > MAX_ARTIFACT_BYTES {
            return Err(ArtifactError::TooLarge {
                id: self.id.clone(),
                size: ContentSize::AtLeast(size),
                encoding: self.encoding,
            });
        }
        self.size = size;
        Ok(())
    }

    fn keep_head(&mut self, bytes: &[u8]) {
        let missing = SNIFFED_BYTES.saturating_sub(self.head.len());
        self.head
            .extend_from_slice(&bytes[..missing.min(bytes.len())]);
    }

    fn emit_when_full(&mut self) -> Result<(), ArtifactError> {
        if self.buffer.len() < CHUNK_BYTES {
            return Ok(());
        }
        self.emit()
    }

    /// Hashes and writes what is buffered.
    fn emit(&mut self) -> Result<(), ArtifactError> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        if self.size > DIRECT_BYTES {
            self.output.move_to_thread();
        }
        self.hasher.update(&self.buffer);
        self.output
            .write(&mut self.buffer)
            .map_err(|cause| ArtifactError::io(FileOperation::Write, self.root.path(), cause))
    }

    /// Writes the rest and brings everything to stable storage.
    pub(super) fn finish(mut self) -> Result<Written, ArtifactError> {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        self.emit()?;
        let file = self
            .output
            .into_file()
            .map_err(|cause| ArtifactError::io(FileOperation::Write, self.root.path(), cause))?;
        root::sync_file(&file, &self.root)?;
        Ok(Written {
            sha256: Sha256Digest::from_bytes(self.hasher.finalize().into()),
            size: self.size,
            head: self.head,
        })
    }

    /// Keeps a failure and gives its text.
    fn fail(&mut self, failure: ArtifactError) -> io::Error {
        let error = failure.as_io_error();
        self.failure = Some(failure);
        error
    }

    fn refuse_after_failure(&self) -> io::Result<()> {
        match &self.failure {
            Some(failure) => Err(failure.as_io_error()),
            None => Ok(()),
        }
    }
}

impl Write for HashingFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.refuse_after_failure()?;
        match self.push(bytes) {
            Ok(()) => Ok(bytes.len()),
            Err(failure) => Err(self.fail(failure)),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.refuse_after_failure()?;
        self.emit().map_err(|failure| self.fail(failure))
    }
}

/// Who writes.
#[derive(Debug)]
enum Output {
    /// The thread that hashes.
    Direct(File),
    /// A thread of its own.
    Threaded(WritingThread),
    /// Nobody: the file is being handed over, or the writing thread has failed.
    Closed,
}

impl Output {
    /// Starts the writing thread, if there is none yet. A system that has no thread to spare keeps
    /// writing directly.
    fn move_to_thread(&mut self) {
        if let Self::Direct(file) = self
            && let Ok(duplicate) = file.try_clone()
            && let Ok(thread) = WritingThread::start(duplicate)
        {
            *self = Self::Threaded(thread);
        }
    }

    /// Writes a chunk and leaves the buffer empty.
    fn write(&mut self, buffer: &mut Vec<u8>) -> io::Result<()> {
        match self {
            Self::Direct(file) => {
                file.write_all(buffer)?;
                buffer.clear();
                Ok(())
            }
            Self::Threaded(thread) => match thread.send(std::mem::take(buffer)) {
                Some(recycled) => {
                    *buffer = recycled;
                    Ok(())
                }
                None => Err(self.failure_of_thread()),
            },
            Self::Closed => Err(stopped()),
        }
    }

    /// Waits for the writing thread to end and gives the file back.
    fn into_file(self) -> io::Result<File> {
        match self {
            Self::Direct(file) => Ok(file),
            Self::Threaded(thread) => thread.join(),
            Self::Closed => Err(stopped()),
        }
    }

    fn failure_of_thread(&mut self) -> io::Error {
        match std::mem::replace(self, Self::Closed).into_file() {
            Err(error) => error,
            Ok(_) => stopped(),
        }
    }
}

fn stopped() -> io::Error {
    io::Error::other("the thread that writes the file has stopped")
}

/// A thread that writes chunks to a file, in order.
#[derive(Debug)]
struct WritingThread {
    chunks: SyncSender<Vec<u8>>,
    recycled: Receiver<Vec<u8>>,
    handle: JoinHandle<io::Result<File>>,
}

impl WritingThread {
    fn start(file: File) -> io::Result<Self> {
        let (chunks, incoming) = sync_channel(CHUNKS_UNDER_WAY);
        let (outgoing, recycled) = channel();
        let handle = thread::Builder::new()
            .name("artifact-writer".to_owned())
            .spawn(move || write_chunks(file, &incoming, &outgoing))?;
        Ok(Self {
            chunks,
            recycled,
            handle,
        })
    }

    /// Hands a chunk over and gives an empty buffer for the next one; `None` when the thread has
    /// ended.
    fn send(&self, chunk: Vec<u8>) -> Option<Vec<u8>> {
        self.chunks.send(chunk).ok()?;
        let recycled = self.recycled.try_recv();
        Some(recycled.unwrap_or_else(|_| Vec::with_capacity(CHUNK_BYTES)))
    }

    fn join(self) -> io::Result<File> {
        drop(self.chunks);
        self.handle.join().unwrap_or_else(|_| Err(stopped()))
    }
}

/// Body of the writing thread: ends when the sender is dropped or a write fails.
fn write_chunks(
    mut file: File,
    incoming: &Receiver<Vec<u8>>,
    outgoing: &Sender<Vec<u8>>,
) -> io::Result<File> {
    let mut unsynced = 0;
    while let Ok(mut chunk) = incoming.recv() {
        file.write_all(&chunk)?;
        unsynced += chunk.len();
        if unsynced >= SYNC_BYTES {
            file.sync_data()?;
            unsynced = 0;
        }
        chunk.clear();
        // The hashing side may have ended meanwhile; then nobody needs the buffer.
        let _ = outgoing.send(chunk);
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sink whose file cannot be written, since it is open for reading only.
    fn failing_sink() -> (tempfile::TempDir, HashingFile) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "").unwrap();
        let root = Arc::new(Root::open(folder.path()).unwrap());
        let file = File::open(&path).unwrap();
        (folder, HashingFile::new("x", Encoding::Plain, root, file))
    }

    #[test]
    fn a_failure_of_the_writing_thread_fails_a_write_and_all_after_it() {
        let (_folder, mut sink) = failing_sink();
        // Past the bytes that are written directly, in one step.
        sink.size = DIRECT_BYTES;
        let chunk = vec![0; CHUNK_BYTES];
        let failed = (0..200).find_map(|_| sink.write_all(&chunk).err());
        let message = failed
            .expect("200 chunks cannot all be under way")
            .to_string();
        assert!(
            message.starts_with("cannot write an artifact in `"),
            "{message}"
        );
        assert_eq!(sink.write_all(b"x").unwrap_err().to_string(), message);
        assert_eq!(sink.flush().unwrap_err().to_string(), message);
        assert_eq!(sink.finish().unwrap_err().to_string(), message);
    }

    #[test]
    fn a_failure_that_only_shows_at_the_end_is_not_lost() {
        let (_folder, mut sink) = failing_sink();
        sink.size = DIRECT_BYTES;
        sink.write_all(&vec![0; CHUNK_BYTES]).unwrap_or_default();
        assert!(matches!(sink.finish(), Err(ArtifactError::Io { .. })));
        let (_folder, mut sink) = failing_sink();
        sink.write_all(b"x").unwrap();
        assert!(matches!(sink.finish(), Err(ArtifactError::Io { .. })));
    }

    /// The device that is always full stands in for a disk.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_an_error_with_advice() {
        let folder = tempfile::tempdir().unwrap();
        let root = Arc::new(Root::open(folder.path()).unwrap());
        let full = File::options().write(true).open("/dev/full").unwrap();
        let mut sink = HashingFile::new("x", Encoding::Plain, root, full);
        sink.write_all(b"x").unwrap();
        let error = sink.finish().unwrap_err().to_string();
        assert!(error.contains("No space left on device"), "{error}");
        assert!(error.contains("free some space there"), "{error}");
    }
}
