//! The six fixture tools, in the order in which the contract lists them.

use std::path::Path;
use std::time::Duration;

use odek_contract::artifact::{ArtifactRef, file_uri, hash_file};
use odek_contract::envelope::ToolResultEnvelope;
use odek_sdk::{ToolError, ToolResult, odek_tool};
use serde_json::json;

use crate::knobs::{self, Tamper};

/// The longest text that a tool makes: twice what any setting lets a host read in one line.
pub(crate) const MAX_TEXT_BYTES: usize = 128 * 1024 * 1024;

const DEFAULT_RESULT_BYTES: usize = 1024;
const DEFAULT_SECONDS: u64 = 30;

/// Give a text back.
#[odek_tool(read_only)]
pub(crate) async fn echo(
    /// The text.
    #[odek(default)]
    text: String,
) -> String {
    format!("echo: {text}")
}

/// Return a text of a given size, whether or not the host can read it.
#[odek_tool(read_only)]
pub(crate) async fn large_result(
    /// Size of the text in bytes; 1024 unless given.
    size: Option<i64>,
) -> Result<String, ToolError> {
    let size = positive(size).unwrap_or(DEFAULT_RESULT_BYTES);
    if size > MAX_TEXT_BYTES {
        return Err(ToolError::new(format_args!(
            "`size` is {size}; at most {MAX_TEXT_BYTES} are possible"
        )));
    }
    Ok("x".repeat(size))
}

/// Summarise a test report and reference the whole of it as an artifact.
#[odek_tool(read_only)]
pub(crate) fn artifact_result() -> Result<ToolResult, ToolError> {
    let path = knobs::artifact_path()
        .ok_or_else(|| ToolError::new(format_args!("{} not set", knobs::ARTIFACT_PATH)))?;
    let mut reference = ArtifactRef::new(
        knobs::artifact_id("report-1")?,
        file_uri(&path).unwrap_or_else(|_| literal_uri(&path)),
        "text/plain",
    );
    reference.summary = Some("Full CI test results (JUnit XML)".to_owned());
    // Of a file that is not there nothing is known, and it is for the host to say so.
    if let Ok((digest, size)) = hash_file(&path) {
        reference.sha256 = Some(digest.to_string());
        reference.size_bytes = i64::try_from(size).ok();
    }
    match knobs::tamper()? {
        Tamper::None => {}
        Tamper::Hash => reference.sha256 = Some("0".repeat(64)),
        Tamper::Size => reference.size_bytes = reference.size_bytes.map(|size| size + 1),
    }
    let text = knobs::artifact_text()?.unwrap_or_else(|| {
        "Analyzed 1284 test cases: 1280 passed, 4 failed. Full report attached as artifact \
         report-1."
            .to_owned()
    });
    Ok(with_reference(text, reference))
}

/// Reference a file that no host should accept.
#[odek_tool(read_only)]
pub(crate) fn bad_artifact() -> ToolResult {
    // The path goes into the URI as it is: what is wrong with it is the point.
    let uri = literal_uri(&knobs::bad_artifact_path());
    let mut reference = ArtifactRef::new("evil-1", uri, "text/plain");
    reference.summary = Some("A file outside every artifact root".to_owned());
    with_reference("Done, see artifact evil-1.", reference)
}

/// Answer late.
#[odek_tool(read_only)]
pub(crate) async fn slow(
    /// How long to wait, in seconds; 30 unless given.
    seconds: Option<i64>,
) -> String {
    let seconds = positive(seconds).unwrap_or(DEFAULT_SECONDS);
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    "slow: done".to_owned()
}

/// Fail.
#[odek_tool(read_only)]
pub(crate) async fn error_result() -> Result<String, ToolError> {
    Err(match knobs::error_message()? {
        Some(message) => ToolError::new(message),
        None => ToolError::new("simulated tool failure: log file is empty"),
    })
}

/// An argument that has to be more than 0 to count.
fn positive<T: TryFrom<i64>>(argument: Option<i64>) -> Option<T> {
    argument
        .filter(|value| *value > 0)
        .and_then(|value| value.try_into().ok())
}

/// An envelope with one reference, and a member that hosts do not know and have to ignore.
fn with_reference(text: impl Into<String>, reference: ArtifactRef) -> ToolResult {
    let mut envelope = ToolResultEnvelope::new(text);
    envelope.artifacts.push(reference);
    let future = json!("ignored").into();
    envelope.unknown.insert("x_future_field", future);
    ToolResult::envelope(envelope)
}

/// The path behind the scheme, with nothing encoded.
fn literal_uri(path: &Path) -> String {
    format!("file://{}", path.display())
}
