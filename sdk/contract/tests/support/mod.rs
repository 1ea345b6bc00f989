//! Finds the host vectors: cases with the answer that the real host gave.
//!
//! `ODEK_VECTORS` may name another folder of the same layout, which holds `odek/`; without it the
//! vectors of this crate are used.
#![allow(dead_code, reason = "each test binary uses a part of this")]

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

/// The folder that holds `odek/`.
pub fn vectors_folder() -> PathBuf {
    match std::env::var_os("ODEK_VECTORS") {
        Some(folder) if !folder.is_empty() => PathBuf::from(folder),
        _ => PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/vectors"),
    }
}

/// The text of one file of the folder `odek/`, such as `limits.json`.
pub fn odek_vectors_text(file: &str) -> String {
    let path = vectors_folder().join("odek").join(file);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The cases of one file of the folder `odek/`. Panics if there is none, so that a wrong folder
/// cannot pass for success.
pub fn odek_vectors(file: &str) -> Vec<Value> {
    let cases: Vec<Value> = serde_json::from_str(&odek_vectors_text(file))
        .unwrap_or_else(|error| panic!("{file}: {error}"));
    assert!(!cases.is_empty(), "{file} holds no case");
    cases
}

/// A text member of a case, or an empty text.
pub fn text<'a>(case: &'a Value, member: &str) -> &'a str {
    case.get(member).and_then(Value::as_str).unwrap_or_default()
}

/// Checks every case and panics with all that failed, so that one run shows the whole picture.
pub fn check_all(cases: &[Value], check: impl Fn(&Value) -> Result<(), String>) {
    let failures: Vec<String> = cases
        .iter()
        .filter_map(|case| {
            let failure = check(case).err()?;
            Some(format!(
                "{} ({}): {failure}",
                text(case, "id"),
                text(case, "about")
            ))
        })
        .collect();
    assert!(
        failures.is_empty(),
        "{} of {} cases failed:\n{}",
        failures.len(),
        cases.len(),
        failures.join("\n")
    );
}

/// Compares an error message with the one in a case: whole, or the part that is the host's own.
pub fn check_error(case: &Value, message: &str) -> Result<(), String> {
    let expected = text(case, "error");
    let agrees = match case.get("error_prefix").and_then(Value::as_str) {
        Some(prefix) => message.starts_with(prefix),
        None => message == expected,
    };
    if agrees {
        Ok(())
    } else {
        Err(format!("error {message:?}, expected {expected:?}"))
    }
}

/// Compares the class of an error with the one in a case.
pub fn check_reason(case: &Value, reason: &str) -> Result<(), String> {
    let expected = text(case, "reason");
    if reason == expected {
        Ok(())
    } else {
        Err(format!("reason {reason:?}, expected {expected:?}"))
    }
}
