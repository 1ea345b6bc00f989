//! Writing an artifact piece by piece.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::sync::Arc;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::error::{ArtifactError, Encoding, FileOperation};
use super::media_type::{self, Extent};
use super::reference::{Artifact, shown};
use super::root::{Root, Temporary};
use super::sink::{CHUNK_BYTES, HashingFile, Written};
use super::source::Source;

/// Writes one artifact; hashes while it writes, so that the data passes through memory once.
///
/// Made by [`ArtifactStore::create`](super::ArtifactStore::create). Nothing can be referenced
/// before [`finish`](Self::finish): the bytes go to a temporary name, and a writer that is dropped,
/// or whose writes failed, leaves nothing.
///
/// At most 67,108,864 bytes (64 MiB) can be written. The write that would pass the limit fails with
/// [`io::ErrorKind::FileTooLarge`], and so does everything after it; `finish` then gives the typed
/// [`ArtifactError::TooLarge`].
///
/// Writing blocks, on the disk at worst. Memory use stays below 6 MiB whatever is written.
///
/// ```
/// use std::io::Write;
/// use odek_sdk::{ArtifactStore, Retention};
///
/// # let folder = std::env::temp_dir().join(format!("odek-sdk-writer-{}", std::process::id()));
/// let store = ArtifactStore::at(&folder, Retention::default());
/// let mut writer = store.create("cases")?.media_type("text/csv").summary("One line per case");
/// writeln!(writer, "name,seconds")?;
/// writeln!(writer, "login,0.4")?;
/// let artifact = writer.finish()?;
/// assert_eq!(artifact.size_bytes(), 23);
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ArtifactWriter {
    id: String,
    media_type: Option<String>,
    summary: Option<String>,
    original_name: Option<OsString>,
    sink: Sink,
    temporary: Temporary,
}

/// What the bytes pass through on their way to the file.
#[derive(Debug)]
enum Sink {
    Plain(HashingFile),
    Gzip(GzEncoder<HashingFile>),
}

impl ArtifactWriter {
    pub(super) fn new(
        id: &str,
        encoding: Encoding,
        root: &Arc<Root>,
    ) -> Result<Self, ArtifactError> {
        let id = shown(id);
        if id.is_empty() {
            return Err(ArtifactError::BlankId);
        }
        let (temporary, file) = root.create_temporary(&id)?;
        let file = HashingFile::new(&id, encoding, Arc::clone(root), file);
        let sink = match encoding {
            Encoding::Plain => Sink::Plain(file),
            Encoding::Gzip => Sink::Gzip(GzEncoder::new(file, Compression::default())),
        };
        Ok(Self {
            id,
            media_type: None,
            summary: None,
            original_name: None,
            sink,
            temporary,
        })
    }

    /// Sets the media type. Without it, it is guessed from the id's extension and the content; the
    /// content of a compressed artifact is always `application/gzip`.
    #[must_use]
    pub fn media_type(mut self, media_type: impl AsRef<str>) -> Self {
        self.media_type = Some(shown(media_type.as_ref())).filter(|text| !text.is_empty());
        self
    }

    /// Sets the line about the content that the model reads.
    #[must_use]
    pub fn summary(mut self, summary: impl AsRef<str>) -> Self {
        self.summary = Some(shown(summary.as_ref()));
        self
    }

    /// The name of the file that the content comes from; a witness for the media type.
    pub(super) fn original_name(mut self, name: Option<&OsStr>) -> Self {
        self.original_name = name.map(OsStr::to_owned);
        self
    }

    /// Writes bytes, with a typed error where [`Write`] has an [`io::Error`].
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<(), ArtifactError> {
        match &mut self.sink {
            Sink::Plain(file) => file.push(bytes),
            Sink::Gzip(_) => self.write_all(bytes).map_err(|error| self.failure(error)),
        }
    }

    /// Writes a file to its end.
    pub(super) fn push_file(&mut self, source: &mut Source) -> Result<(), ArtifactError> {
        if let Sink::Plain(file) = &mut self.sink {
            return file.push_file(source);
        }
        let mut buffer = Vec::new();
        while source.append_to(&mut buffer, CHUNK_BYTES)? > 0 {
            self.push(&buffer)?;
            buffer.clear();
        }
        Ok(())
    }

    /// Brings the content to stable storage, gives the file its name and the artifact to attach.
    ///
    /// # Errors
    ///
    /// The first failure of any write, and any failure to finish the file. Nothing is left then.
    pub fn finish(mut self) -> Result<Artifact, ArtifactError> {
        let (written, encoding) = match self.sink {
            Sink::Plain(file) => (file.finish()?, Encoding::Plain),
            Sink::Gzip(mut encoder) => {
                let finished = encoder.try_finish();
                if let Some(failure) = encoder.get_mut().take_failure() {
                    return Err(failure);
                }
                let file = finished.and_then(|()| encoder.finish()).map_err(|cause| {
                    let root = self.temporary.root().path();
                    ArtifactError::io(FileOperation::Write, root, cause)
                })?;
                (file.finish()?, Encoding::Gzip)
            }
        };
        let names = Names {
            id: &self.id,
            original: self.original_name.as_deref(),
        };
        let media_type = match self.media_type.take() {
            Some(media_type) => media_type,
            None => names.guess(&written, encoding).to_owned(),
        };
        let extension = names.extension(&media_type, encoding);
        let root = Arc::clone(self.temporary.root());
        let name = self.temporary.publish(&self.id, extension.as_deref())?;
        let artifact = Artifact::new(
            &self.id,
            root.path().join(name),
            &media_type,
            written.size,
            written.sha256,
        )?;
        Ok(match self.summary {
            Some(summary) => artifact.summary(summary),
            None => artifact,
        })
    }

    /// The typed failure behind an error of [`Write`].
    pub(super) fn failure(&mut self, error: io::Error) -> ArtifactError {
        let file = match &mut self.sink {
            Sink::Plain(file) => file,
            Sink::Gzip(encoder) => encoder.get_mut(),
        };
        file.take_failure().unwrap_or_else(|| {
            ArtifactError::io(FileOperation::Write, self.temporary.root().path(), error)
        })
    }
}

impl Write for ArtifactWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.sink {
            Sink::Plain(file) => file.write(bytes),
            Sink::Gzip(encoder) => encoder.write(bytes),
        }
    }

    /// Hands what is buffered to the operating system. It is on stable storage only after
    /// [`ArtifactWriter::finish`].
    fn flush(&mut self) -> io::Result<()> {
        match &mut self.sink {
            Sink::Plain(file) => file.flush(),
            Sink::Gzip(encoder) => encoder.flush(),
        }
    }
}

/// The names that tell what an artifact is.
struct Names<'a> {
    id: &'a str,
    original: Option<&'a OsStr>,
}

impl Names<'_> {
    fn guess(&self, written: &Written, encoding: Encoding) -> &'static str {
        if encoding == Encoding::Gzip {
            return media_type::GZIP;
        }
        let extent = if written.size > written.head.len() as u64 {
            Extent::Beginning
        } else {
            Extent::Whole
        };
        let names: Vec<&OsStr> = self
            .original
            .into_iter()
            .chain([OsStr::new(self.id)])
            .collect();
        media_type::guess(&names, &written.head, extent)
    }

    /// The extension of the stored file: that of the original, that of the id, or the usual one of
    /// the media type; with `.gz` behind it for a compressed file.
    fn extension(&self, media_type: &str, encoding: Encoding) -> Option<String> {
        let named = self
            .original
            .and_then(super::file_name::extension_of)
            .or_else(|| media_type::known_extension(OsStr::new(self.id)));
        match (encoding, named) {
            (Encoding::Plain, named) => named
                .or_else(|| media_type::usual_extension(media_type))
                .map(str::to_owned),
            (Encoding::Gzip, Some("gz") | None) => Some("gz".to_owned()),
            (Encoding::Gzip, Some(named)) => Some(format!("{named}.gz")),
        }
    }
}
