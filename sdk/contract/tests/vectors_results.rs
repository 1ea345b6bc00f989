//! The host vectors for results, against the reading of an answer.
//!
//! Cases about the connection itself (lines that are skipped, deadlines, line lengths) need a
//! process to talk to and are not run here.

#[path = "support/files.rs"]
mod files;
mod support;

use files::{CaseFolder, decode_base64};
use odek_contract::artifact::ArtifactRoots;
use odek_contract::config::{Effective, Limits, ServerConfig};
use odek_contract::go::Json;
use odek_contract::result::{CallFailure, ModelResult, ResultContext};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;
use support::{check_error, check_reason, odek_vectors_text, text};

/// Reasons that arise on the connection, before an answer is read.
const CONNECTION_REASONS: [&str; 3] = ["timeout", "connection-closed", "line-too-long"];

/// What stands in front of the result in a line that holds nothing else.
const LINE_START: &str = r#"{"jsonrpc":"2.0","id":${ID},"result":"#;

/// The reply of a case, its JSON exactly as it stands in the file.
#[derive(Deserialize)]
struct Reply {
    #[serde(default, deserialize_with = "given")]
    result: Option<Box<RawValue>>,
    #[serde(default, deserialize_with = "given")]
    error: Option<Box<RawValue>>,
    #[serde(default)]
    raw: Vec<String>,
    #[serde(default)]
    raw_b64: Option<String>,
}

/// A member that is there, null included.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Box<RawValue>>, D::Error> {
    Box::deserialize(deserializer).map(Some)
}

#[derive(Deserialize)]
struct RawCase<'a> {
    #[serde(borrow)]
    reply: &'a RawValue,
}

/// An answer that can be read without a connection.
enum Answer {
    Result(Vec<u8>),
    Error { code: i64, message: String },
}

#[test]
fn vectors_results_are_read_as_the_host_reads_them() {
    let file = odek_vectors_text("results.json");
    let cases: Vec<&RawValue> = serde_json::from_str(&file).expect("a list of cases");
    let mut failures = Vec::new();
    let (mut run, mut of_the_connection) = (0, 0);
    for raw in cases {
        let case: Value = serde_json::from_str(raw.get()).expect("a case");
        let name = format!("{} ({})", text(&case, "id"), text(&case, "about"));
        let Some(answer) = answer(&case, raw) else {
            of_the_connection += 1;
            continue;
        };
        match check(&case, &answer) {
            Ok(()) => run += 1,
            Err(Failure::Needs(need)) => eprintln!("skipped, needs {need}: {name}"),
            Err(Failure::Differs(difference)) => failures.push(format!("{name}: {difference}")),
        }
    }
    eprintln!("{run} cases agree, {of_the_connection} are about the connection");
    assert!(
        failures.is_empty(),
        "{} cases failed:\n{}",
        failures.len(),
        failures.join("\n")
    );
    assert!(run > 0, "no case was run");
}

/// The answer of a case, `None` when the case is about the connection.
fn answer(case: &Value, raw: &RawValue) -> Option<Answer> {
    if CONNECTION_REASONS.contains(&text(case, "reason")) {
        return None;
    }
    let raw: RawCase<'_> = serde_json::from_str(raw.get()).expect("a case");
    let reply: Reply = serde_json::from_str(raw.reply.get()).expect("a reply");
    if let Some(result) = reply.result {
        return Some(Answer::Result(result.get().as_bytes().to_vec()));
    }
    match reply.error {
        // No error, and no result either.
        Some(error) if error.get() == "null" => return Some(Answer::Result(Vec::new())),
        Some(error) => return Some(error_answer(&error)),
        None => {}
    }
    let line = match reply.raw_b64 {
        Some(encoded) => decode_base64(&encoded),
        None => match reply.raw.as_slice() {
            [line] => line.clone().into_bytes(),
            _ => return None,
        },
    };
    let result = line
        .strip_prefix(LINE_START.as_bytes())?
        .strip_suffix(b"}")?;
    // Other members behind the result belong to the connection.
    Json::parse(result).ok()?;
    Some(Answer::Result(result.to_vec()))
}

/// The members of an error object, found in any letter case. Those that a connection would not
/// read do not get here.
fn error_answer(error: &RawValue) -> Answer {
    let error = Json::parse(error.get().as_bytes()).expect("JSON");
    let code = match error.member("code") {
        Some(Json::Number(literal)) => literal.parse().expect("an integer"),
        _ => 0,
    };
    let message = match error.member("message") {
        Some(Json::String(message)) => message.clone(),
        _ => String::new(),
    };
    Answer::Error { code, message }
}

enum Failure {
    Needs(String),
    Differs(String),
}

impl From<String> for Failure {
    fn from(difference: String) -> Self {
        Self::Differs(difference)
    }
}

fn check(case: &Value, answer: &Answer) -> Result<(), Failure> {
    let folder = CaseFolder::for_case(case).map_err(Failure::Needs)?;
    let server = text(case, "server");
    let (limits, roots) = configuration(case, &folder, server);
    if case["effective_max_result_chars"] != limits.max_result_chars {
        return Err(format!("the cap in force was {}", limits.max_result_chars).into());
    }
    let context = ResultContext {
        server,
        tool: text(case, "tool"),
        limits: &limits,
        roots: &roots,
    };
    let outcome = match answer {
        Answer::Result(json) => context.read_result(&fill_in(&folder, json)),
        Answer::Error { code, message } => {
            Err(context.read_rpc_error(*code, &folder.fill_in(message)))
        }
    };
    match outcome {
        Ok(result) => check_success(case, &folder, &result)?,
        Err(failure) => check_failure(case, &folder, &failure)?,
    }
    Ok(())
}

fn configuration(case: &Value, folder: &CaseFolder, server: &str) -> (Limits, ArtifactRoots) {
    let mut config = case["config"].clone();
    config["command"] = "any".into();
    let config = folder.fill_in_value(&config).to_string();
    let config = ServerConfig::from_json(config.as_bytes()).expect("an entry");
    let roots = ArtifactRoots::resolve(&config.artifact_roots, folder.path());
    match config.effective(server, |_| None).expect("limits") {
        Effective::Enabled { limits, .. } => (limits, roots),
        Effective::Disabled => panic!("a case with a disabled server"),
    }
}

/// Fills the directory into bytes that need not be text.
fn fill_in(folder: &CaseFolder, json: &[u8]) -> Vec<u8> {
    let filled = json.utf8_chunks().flat_map(|chunk| {
        let text = folder.fill_in(chunk.valid()).into_bytes();
        text.into_iter().chain(chunk.invalid().iter().copied())
    });
    filled.collect()
}

fn check_success(case: &Value, folder: &CaseFolder, result: &ModelResult) -> Result<(), String> {
    let shown = folder.put_back(&result.text);
    if case["ok"] != shown.as_str() {
        return Err(format!("read as {shown:?}, expected {}", expectation(case)));
    }
    if case["artifact_count"] != result.artifact_count() {
        return Err(format!("{} artifacts are counted", result.artifact_count()));
    }
    for observation in &result.observations {
        check_sentence(&observation.to_string())?;
    }
    Ok(())
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
    check_reason(case, failure.reason())?;
    let expected = case.get("artifact_reason").and_then(Value::as_str);
    if failure.artifact_reason() != expected {
        return Err(format!("artifact reason {:?}", failure.artifact_reason()));
    }
    for observation in failure.observations() {
        check_sentence(&observation.to_string())?;
    }
    Ok(())
}

fn expectation(case: &Value) -> &Value {
    case.get("ok").unwrap_or(&case["error"])
}

/// Every observation is a full sentence on one line.
fn check_sentence(sentence: &str) -> Result<(), String> {
    let capital = sentence.starts_with(|c: char| c.is_uppercase() || c.is_ascii_digit());
    if capital && sentence.ends_with('.') && !sentence.contains('\n') {
        Ok(())
    } else {
        Err(format!("no sentence: {sentence:?}"))
    }
}
