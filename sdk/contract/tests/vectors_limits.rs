//! The host vectors for limits, against the reading of a server's entry.

mod support;

use std::collections::BTreeMap;

use odek_contract::config::{ConfigError, Effective, ServerConfig};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use support::{check_all, check_error, check_reason, odek_vectors, odek_vectors_text, text};

/// The entry of a case as it is written, since the spelling of numbers and members given twice
/// matter to the host.
#[derive(Deserialize)]
struct Entry {
    id: String,
    config: Box<RawValue>,
}

#[test]
fn vectors_limits_are_taken_as_the_host_takes_them() {
    let entries = entries();
    let mut cases = odek_vectors("limits.json");
    // Starting a program is up to the host crate, which tests that.
    cases.retain(|case| case["reason"] != "start-failed");
    check_all(&cases, |case| match effective(case, &entries) {
        Ok(Effective::Disabled) if case["disabled"] == true => Ok(()),
        Ok(Effective::Enabled { limits, warnings }) if case.get("effective").is_some() => {
            let found = json!({
                "timeout_ms": limits.timeout.as_millis() as u64,
                "max_response_bytes": limits.max_response_bytes,
                "max_result_chars": limits.max_result_chars,
            });
            let warnings: Vec<_> = warnings.iter().map(ToString::to_string).collect();
            if found == case["effective"] && json!(warnings) == case["warnings"] {
                Ok(())
            } else {
                Err(format!("limits were {found}, warnings {warnings:?}"))
            }
        }
        Ok(other) => Err(format!("the entry was taken as {other:?}")),
        Err(error) => {
            let stage = if error.is_decoding() {
                "decode"
            } else {
                "connect"
            };
            if stage != text(case, "stage") {
                return Err(format!("failed at stage {stage}: {error}"));
            }
            check_error(case, &error.to_string())?;
            check_reason(case, error.reason())
        }
    });
}

fn entries() -> BTreeMap<String, Box<RawValue>> {
    let entries: Vec<Entry> =
        serde_json::from_str(&odek_vectors_text("limits.json")).expect("a list of cases");
    let by_id = entries.into_iter().map(|entry| (entry.id, entry.config));
    by_id.collect()
}

fn effective(
    case: &Value,
    entries: &BTreeMap<String, Box<RawValue>>,
) -> Result<Effective, ConfigError> {
    let entry = entries[text(case, "id")].get();
    ServerConfig::from_json(entry.as_bytes())?.effective(text(case, "server"), |_| None)
}
