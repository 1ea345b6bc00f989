//! The host vectors for artifact references, each sent as the only reference of an envelope.

#[path = "support/files.rs"]
mod files;
mod support;

use files::CaseFolder;
use odek_contract::artifact::ArtifactRoots;
use odek_contract::config::Limits;
use odek_contract::result::{CallFailure, ModelResult, ResultContext};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use support::{check_error, check_reason, odek_vectors_text, text};

/// The reference of a case exactly as it stands in the file, or as literal text where its spelling
/// matters.
#[derive(Deserialize)]
struct RawCase<'a> {
    #[serde(borrow, default, rename = "ref")]
    reference: Option<&'a RawValue>,
    #[serde(default)]
    ref_raw: Option<String>,
}

#[test]
fn vectors_artifact_refs_are_judged_as_the_host_judges_them() {
    let file = odek_vectors_text("artifact_refs.json");
    let cases: Vec<&RawValue> = serde_json::from_str(&file).expect("a list of cases");
    let mut failures = Vec::new();
    let mut run = 0;
    for raw in cases {
        let case: Value = serde_json::from_str(raw.get()).expect("a case");
        let name = format!("{} ({})", text(&case, "id"), text(&case, "about"));
        let folder = match CaseFolder::for_case(&case) {
            Ok(folder) => folder,
            Err(need) => {
                eprintln!("skipped, needs {need}: {name}");
                continue;
            }
        };
        run += 1;
        if let Err(difference) = check(&case, &reference(raw), &folder) {
            failures.push(format!("{name}: {difference}"));
        }
    }
    eprintln!("{run} cases were run");
    assert!(
        failures.is_empty(),
        "{} cases failed:\n{}",
        failures.len(),
        failures.join("\n")
    );
    assert!(run > 0, "no case was run");
}

fn reference(case: &RawValue) -> String {
    let case: RawCase<'_> = serde_json::from_str(case.get()).expect("a reference");
    match (case.ref_raw, case.reference) {
        (Some(literal), _) => literal,
        (None, Some(reference)) => reference.get().to_owned(),
        // A reference that is null.
        (None, None) => "null".to_owned(),
    }
}

fn check(case: &Value, reference: &str, folder: &CaseFolder) -> Result<(), String> {
    let roots: Vec<String> =
        serde_json::from_value(folder.fill_in_value(&case["roots"])).expect("a list of roots");
    let roots = ArtifactRoots::resolve(&roots, folder.path());
    let context = ResultContext {
        server: "srv",
        tool: "t",
        limits: &Limits::DEFAULT,
        roots: &roots,
    };
    let reference = folder.fill_in(reference);
    let envelope =
        format!(r#"{{"schema":"odek.tool-result/v1","text":"x","artifacts":[{reference}]}}"#);
    let result = json!({"content": [{"type": "text", "text": envelope}]});
    match context.read_result(result.to_string().as_bytes()) {
        Ok(result) => check_success(case, folder, &result),
        Err(failure) => check_failure(case, folder, &failure),
    }
}

fn check_success(case: &Value, folder: &CaseFolder, result: &ModelResult) -> Result<(), String> {
    let shown = folder.put_back(&result.text);
    if case["ok"] == true && case["rendered"] == shown.as_str() {
        Ok(())
    } else {
        Err(format!(
            "shown as {shown:?}, expected {}",
            expectation(case)
        ))
    }
}

fn check_failure(case: &Value, folder: &CaseFolder, failure: &CallFailure) -> Result<(), String> {
    let message = folder.put_back(&failure.to_string());
    if case.get("error").is_none() {
        return Err(format!(
            "failed with {message:?}, expected {}",
            expectation(case)
        ));
    }
    check_error(case, &message)?;
    // A reference that cannot be read at all makes the whole envelope malformed.
    let reason = match failure {
        CallFailure::MalformedEnvelope { .. } => "malformed",
        other => other.artifact_reason().unwrap_or_else(|| other.reason()),
    };
    check_reason(case, reason)
}

fn expectation(case: &Value) -> &Value {
    case.get("rendered").unwrap_or(&case["error"])
}
