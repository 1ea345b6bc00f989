//! The environment variables that change what the tools send.
//!
//! They are read on every call, so that there is no set-up that could fail before a test sees it.
//! A variable that is set to nothing counts as not set; one with a value that makes no sense fails
//! the call.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

use odek_sdk::ToolError;

use crate::tools::MAX_TEXT_BYTES;

/// The file that `artifact_result` references.
pub(crate) const ARTIFACT_PATH: &str = "FAKE_ARTIFACT_PATH";
/// The file that `bad_artifact` references.
const BAD_ARTIFACT_PATH: &str = "FAKE_BAD_ARTIFACT_PATH";
/// What is wrong with the reference of `artifact_result`.
const ARTIFACT_TAMPER: &str = "FAKE_ARTIFACT_TAMPER";
/// The text of `artifact_result`.
const ARTIFACT_TEXT: &str = "FAKE_ARTIFACT_TEXT";
/// The length of its text, in bytes.
const ARTIFACT_TEXT_SIZE: &str = "FAKE_ARTIFACT_TEXT_SIZE";
/// By how many bytes the id of its reference is longer.
const ARTIFACT_ID_SIZE: &str = "FAKE_ARTIFACT_ID_SIZE";
/// The length of the message of `error_result`, in bytes.
const ERROR_SIZE: &str = "FAKE_ERROR_SIZE";

/// What is wrong with a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tamper {
    /// Nothing.
    None,
    /// The digest is that of another file.
    Hash,
    /// The size is one byte more.
    Size,
}

pub(crate) fn artifact_path() -> Option<PathBuf> {
    variable(ARTIFACT_PATH).map(PathBuf::from)
}

/// By default a file that does not exist, outside of any root.
pub(crate) fn bad_artifact_path() -> PathBuf {
    let path = variable(BAD_ARTIFACT_PATH);
    path.map_or_else(|| "/nonexistent/outside-any-root.log".into(), PathBuf::from)
}

pub(crate) fn tamper() -> Result<Tamper, ToolError> {
    let Some(value) = text(ARTIFACT_TAMPER)? else {
        return Ok(Tamper::None);
    };
    match value.as_str() {
        "hash" => Ok(Tamper::Hash),
        "size" => Ok(Tamper::Size),
        other => Err(ToolError::new(format_args!(
            "{ARTIFACT_TAMPER} is {other:?}; it can be `hash` or `size`"
        ))),
    }
}

/// The text of the envelope, given whole or by its length.
pub(crate) fn artifact_text() -> Result<Option<String>, ToolError> {
    match text(ARTIFACT_TEXT)? {
        Some(text) => Ok(Some(text)),
        None => Ok(size(ARTIFACT_TEXT_SIZE)?.map(|size| "t".repeat(size))),
    }
}

/// The id of the reference, lengthened on demand.
pub(crate) fn artifact_id(id: &str) -> Result<String, ToolError> {
    Ok(match size(ARTIFACT_ID_SIZE)? {
        None => id.to_owned(),
        Some(size) => format!("{id}-{}", "i".repeat(size)),
    })
}

/// The message of the error, given by its length.
pub(crate) fn error_message() -> Result<Option<String>, ToolError> {
    Ok(size(ERROR_SIZE)?.map(|size| "e".repeat(size)))
}

fn variable(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}

fn text(name: &str) -> Result<Option<String>, ToolError> {
    variable(name)
        .map(OsString::into_string)
        .transpose()
        .map_err(|value| ToolError::new(format_args!("{name} is not UTF-8: {value:?}")))
}

/// A number of bytes; 0 counts as not set.
fn size(name: &str) -> Result<Option<usize>, ToolError> {
    let Some(value) = text(name)? else {
        return Ok(None);
    };
    match value.parse() {
        Ok(0) => Ok(None),
        Ok(size) if size <= MAX_TEXT_BYTES => Ok(Some(size)),
        _ => Err(ToolError::new(format_args!(
            "{name} is {value:?}; it has to be a number of bytes, at most {MAX_TEXT_BYTES}"
        ))),
    }
}
