//! stub
#![allow(missing_docs, clippy::all, dead_code)]
use crate::{artifacts::ArtifactStore, result::*};
#[derive(Debug, Clone, Copy, Default)]
pub enum LongTextPolicy {
    #[default]
    Attach,
    Keep,
}
pub(crate) fn fit(
    r: ToolResult,
    _: &str,
    _: LongTextPolicy,
    _: &ArtifactStore,
) -> Result<ToolResult, ToolError> {
    Ok(r)
}
