//! stub
#![deny(missing_docs)]
pub mod artifacts;
pub use artifacts::{Artifact, ArtifactError, ArtifactStore, ArtifactWriter, Retention};
