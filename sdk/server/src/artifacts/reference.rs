//! A finished artifact and the reference to it.

use std::path::{Path, PathBuf};

use odek_contract::artifact::{ArtifactRef, Sha256Digest, file_uri};
use odek_contract::render::one_line;

use super::error::ArtifactError;

/// A file that is ready to be referenced: whole, on stable storage, measured and hashed.
///
/// Attach it with [`ToolResult::artifact`](crate::ToolResult::artifact). The file stays when the
/// value is dropped; [`Retention`](super::Retention) removes it in time.
///
/// Id, media type and summary are kept as the host will show them: on one line, at most 4096
/// characters (Unicode code points) each, with control characters replaced by spaces (host facts,
/// section 4, "Metadata lines").
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    id: String,
    path: PathBuf,
    uri: String,
    media_type: String,
    size_bytes: u64,
    sha256: Sha256Digest,
    summary: Option<String>,
}

impl Artifact {
    pub(super) fn new(
        id: &str,
        path: PathBuf,
        media_type: &str,
        size_bytes: u64,
        sha256: Sha256Digest,
    ) -> Result<Self, ArtifactError> {
        Ok(Self {
            id: shown(id),
            uri: file_uri(&path).map_err(ArtifactError::Uri)?,
            path,
            media_type: shown(media_type),
            size_bytes,
            sha256,
            summary: None,
        })
    }

    /// Replaces the id. Ids that repeat within a result are told apart when it is sent.
    #[must_use]
    pub fn id(mut self, id: impl AsRef<str>) -> Self {
        self.id = shown(id.as_ref());
        self
    }

    /// Replaces the media type, which was guessed from name and content. A blank one is ignored,
    /// since the host refuses a reference without.
    #[must_use]
    pub fn media_type(mut self, media_type: impl AsRef<str>) -> Self {
        let media_type = shown(media_type.as_ref());
        if !media_type.is_empty() {
            self.media_type = media_type;
        }
        self
    }

    /// Sets the line about the content that the model reads. A blank one means none.
    #[must_use]
    pub fn summary(mut self, summary: impl AsRef<str>) -> Self {
        self.summary = Some(shown(summary.as_ref())).filter(|summary| !summary.is_empty());
        self
    }

    /// The absolute path of the file, below the canonical path of the root.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Size of the file in bytes; at most 67,108,864.
    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Digest of the content.
    pub fn sha256(&self) -> Sha256Digest {
        self.sha256
    }

    /// The reference that goes into the tool-result envelope (contract, "Artifact-ref schema").
    pub fn to_reference(&self) -> ArtifactRef {
        ArtifactRef {
            sha256: Some(self.sha256.to_string()),
            // Below the cap of 64 MiB, so the conversion cannot fail.
            size_bytes: i64::try_from(self.size_bytes).ok(),
            summary: self.summary.clone(),
            ..ArtifactRef::new(&self.id, &self.uri, &self.media_type)
        }
    }
}

/// A field as the host shows it, without white space around it.
pub(super) fn shown(field: &str) -> String {
    one_line(field.trim()).trim().to_owned()
}
