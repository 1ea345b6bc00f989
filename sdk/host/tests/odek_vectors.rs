//! The host vectors, each against a real server process.
//!
//! `ODEK_VECTORS` names another folder of the same layout.
#![allow(clippy::unwrap_used, reason = "helpers of tests may fail as tests do")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, fs, thread};

use odek_contract::config::{Effective, Limits, ServerConfig};
use odek_contract::names::ServerName;
use odek_host::odek::{Client, ClientBuilder, ConnectError};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tempfile::TempDir;

#[allow(dead_code, reason = "shared with the tests of odek-contract")]
#[path = "../../contract/tests/support/files.rs"]
mod files;
#[path = "support/script.rs"]
mod script;

use files::{CaseFolder, decode_base64};
use script::{Action, Script};

const SCRIPTED_SERVER: &str = env!("CARGO_BIN_EXE_odek-host-scripted-server");

/// More than there are cores, since the cases mostly wait.
const WORKERS: usize = 16;

/// What the real host answered; `error_prefix` is the part of `error` that is its own wording.
#[derive(Deserialize)]
struct ExpectedError {
    error: Option<String>,
    error_prefix: Option<String>,
}

impl ExpectedError {
    /// Compares an error text with the expected one.
    fn check(&self, actual: &str) -> Result<(), String> {
        let (expected, agrees) = match (&self.error_prefix, &self.error) {
            (Some(prefix), _) => (prefix, actual.starts_with(prefix.as_str())),
            (None, Some(error)) => (error, actual == *error),
            (None, None) => return Err(format!("unexpected error: {actual}")),
        };
        if agrees {
            Ok(())
        } else {
            Err(format!("expected: {expected}\n  actual: {actual}"))
        }
    }

    /// For a case that went well here: it must have gone well with the host.
    fn check_absent(&self) -> Result<(), String> {
        self.error
            .as_ref()
            .map_or(Ok(()), |error| Err(format!("expected an error: {error}")))
    }
}

fn vector_file(name: &str) -> PathBuf {
    let folder = match env::var_os("ODEK_VECTORS") {
        Some(folder) if !folder.is_empty() => PathBuf::from(folder),
        _ => Path::new(env!("CARGO_MANIFEST_DIR")).join("../contract/tests/vectors"),
    };
    folder.join("odek").join(name)
}

/// Runs every case of a vector file in a folder of its own and lists all failures.
fn run_all(name: &str, run: impl Fn(&Path, &str) -> Result<(), String> + Sync) {
    let path = vector_file(name);
    let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let cases: Vec<Box<RawValue>> = serde_json::from_str(&text).unwrap();
    assert!(!cases.is_empty());
    let next = AtomicUsize::new(0);
    let failures = Mutex::new(BTreeMap::new());
    thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let value: Value = serde_json::from_str(case.get()).unwrap();
                    // A need that this machine does not meet.
                    let Ok(folder) = CaseFolder::for_case(&value) else {
                        continue;
                    };
                    // The text, not the value: its spelling matters.
                    if let Err(failure) = run(folder.path(), &folder.fill_in(case.get())) {
                        let id = value["id"].to_string();
                        failures.lock().unwrap().insert(id, failure);
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    let list = failures
        .iter()
        .fold(String::new(), |mut list, (id, failure)| {
            let _ = write!(list, "\n{id}\n  {failure}");
            list
        });
    assert!(
        failures.is_empty(),
        "{} of {} cases:{list}",
        failures.len(),
        cases.len()
    );
}

/// Writes a script outside of `root`, which has to stay empty, and gives its path.
fn write_script(script: &Script) -> (TempDir, String) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("script.json");
    fs::write(&path, serde_json::to_vec(script).unwrap()).unwrap();
    let path = path.display().to_string();
    (folder, path)
}

fn builder<'a>(server: &str, config: &'a ServerConfig, root: &Path) -> ClientBuilder<'a> {
    Client::builder(ServerName::new(server).unwrap(), config).working_directory(root)
}

#[derive(Deserialize)]
struct ToolNameCase {
    kind: String,
    name: Option<String>,
    /// Null is a case of its own and reads as absent here.
    entry: Option<Box<RawValue>>,
    seen_name: Option<String>,
    #[serde(flatten)]
    expected: ExpectedError,
}

#[test]
fn tool_name_vectors() {
    run_all("tool_names.json", |root, case| {
        let case: ToolNameCase = serde_json::from_str(case).unwrap();
        let entry = match case.kind.as_str() {
            "tool" => json!({ "name": case.name }).to_string(),
            "entry" => case
                .entry
                .map_or_else(|| "null".to_owned(), |entry| one_line(&entry)),
            // Server names never reach a server.
            _ => return Ok(()),
        };
        let list = Action::Result(format!(r#"{{"tools":[{entry}]}}"#));
        let (_folder, script) = write_script(&Script::default().on("tools/list", [list]));
        let config = ServerConfig::new(SCRIPTED_SERVER).args([script]);
        let client = builder("srv", &config, root)
            .connect()
            .map_err(|e| e.to_string())?;
        match client.discover() {
            Err(error) => case.expected.check(&error.to_string()),
            Ok(discovery) => {
                case.expected.check_absent()?;
                let name = discovery.tools[0].name.as_str();
                let seen = case.seen_name.or(case.name).unwrap_or_default();
                if name == seen {
                    Ok(())
                } else {
                    Err(format!("{name:?} is not {seen:?}"))
                }
            }
        }
    });
}

#[derive(Deserialize)]
struct LimitsCase {
    server: String,
    config: Box<RawValue>,
    effective: Option<EffectiveLimits>,
    #[serde(default)]
    warnings: Vec<String>,
    #[serde(default)]
    disabled: bool,
    #[serde(flatten)]
    expected: ExpectedError,
}

#[derive(Debug, Deserialize, PartialEq)]
struct EffectiveLimits {
    max_response_bytes: u64,
    max_result_chars: usize,
    timeout_ms: u128,
}

impl EffectiveLimits {
    fn of(limits: &Limits) -> Self {
        Self {
            max_response_bytes: limits.max_response_bytes,
            max_result_chars: limits.max_result_chars,
            timeout_ms: limits.timeout.as_millis(),
        }
    }
}

#[test]
fn limits_vectors() {
    run_all("limits.json", |root, case| {
        let case: LimitsCase =
            serde_json::from_str(&case.replace("${SERVER}", SCRIPTED_SERVER)).unwrap();
        let config = match ServerConfig::from_json(case.config.get().as_bytes()) {
            Ok(config) => config,
            Err(error) => return case.expected.check(&error.to_string()),
        };
        let (limits, warnings) = match builder(&case.server, &config, root).spawn() {
            Ok(client) => (*client.limits(), client.warnings().to_vec()),
            Err(ConnectError::Disabled { .. }) if case.disabled => return Ok(()),
            // The transport is not emulated, its limits are.
            Err(ConnectError::UrlTransport { .. }) => {
                match config.effective(&case.server, |_| None) {
                    Ok(Effective::Enabled { limits, warnings }) => (limits, warnings),
                    other => return Err(format!("unexpected: {other:?}")),
                }
            }
            Err(error) => return case.expected.check(&error.to_string()),
        };
        case.expected.check_absent()?;
        let warnings: Vec<_> = warnings.iter().map(ToString::to_string).collect();
        if case.effective == Some(EffectiveLimits::of(&limits)) && warnings == case.warnings {
            return Ok(());
        }
        Err(format!("actual: {limits:?}, {warnings:?}"))
    });
}

#[derive(Deserialize)]
struct EnvironmentCase {
    config_env: BTreeMap<String, String>,
    parent_env: BTreeMap<String, String>,
    child_env: Option<BTreeMap<String, String>>,
    #[serde(flatten)]
    expected: ExpectedError,
}

#[test]
fn environment_vectors() {
    let (_folder, script) = write_script(&Script::default().on("env", [Action::Environment]));
    run_all("env.json", |root, case| {
        let case: EnvironmentCase = serde_json::from_str(case).unwrap();
        let mut config = ServerConfig::new(SCRIPTED_SERVER).args([script.clone()]);
        config.env = case.config_env;
        let client = match builder("srv", &config, root)
            .parent_environment(case.parent_env)
            .connect()
        {
            Ok(client) => client,
            Err(error) => return case.expected.check(&error.to_string()),
        };
        case.expected.check_absent()?;
        let text = client.call("env", "{}").map_err(|e| e.to_string())?.text;
        let actual: BTreeMap<String, String> = serde_json::from_str(&text).unwrap();
        if Some(&actual) == case.child_env.as_ref() {
            return Ok(());
        }
        Err(format!(
            "expected: {:?}\n  actual: {actual:?}",
            case.child_env
        ))
    });
}

#[derive(Deserialize)]
struct ResultCase {
    server: String,
    tool: String,
    config: Box<RawValue>,
    reply: Reply,
    ok: Option<String>,
    artifact_count: Option<usize>,
    reason: Option<String>,
    artifact_reason: Option<String>,
    effective_max_result_chars: usize,
    #[serde(flatten)]
    expected: ExpectedError,
}

#[derive(Deserialize)]
struct Reply {
    #[serde(default, deserialize_with = "given")]
    result: Option<Box<RawValue>>,
    #[serde(default, deserialize_with = "given")]
    error: Option<Box<RawValue>>,
    raw: Option<Vec<String>>,
    raw_b64: Option<String>,
    #[serde(default)]
    close: bool,
    pad_to: Option<usize>,
}

/// A member that is there, null included.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Box<RawValue>>, D::Error> {
    Box::deserialize(deserializer).map(Some)
}

impl Reply {
    /// `id` is the number that the call will have.
    fn actions(&self, id: &str) -> Vec<Action> {
        let member = |name: &str, value: &RawValue| {
            format!(
                r#"{{"jsonrpc":"2.0","id":${{ID}},"{name}":{}}}"#,
                one_line(value)
            )
            .into_bytes()
        };
        let lines: Vec<Vec<u8>> = match self {
            Self {
                raw: Some(lines), ..
            } => lines.iter().map(|line| line.clone().into()).collect(),
            Self {
                raw_b64: Some(bytes),
                ..
            } => vec![decode_base64(bytes)],
            Self {
                error: Some(error), ..
            } => vec![member("error", error)],
            Self { close: true, .. } => return vec![Action::Exit(0)],
            Self {
                result: Some(result),
                ..
            } => vec![member("result", result)],
            _ => panic!("the vectors have a kind of reply that is not known here"),
        };
        let padded = lines.into_iter().map(|mut line| {
            if let Some(length) = self.pad_to {
                // Counted with the number in place.
                let written = line.windows(5).filter(|window| window == b"${ID}").count();
                let surplus = written * ("${ID}".len() - id.len());
                line.resize(length + surplus, b' ');
            }
            line
        });
        padded.map(Action::Line).collect()
    }
}

#[test]
fn result_vectors() {
    run_all("results.json", |root, case| {
        let case: ResultCase = serde_json::from_str(case).unwrap();
        let script = Script::default().on("tools/call", case.reply.actions("3"));
        let (_folder, script) = write_script(&script);
        let mut config =
            ServerConfig::from_json(case.config.get().as_bytes()).map_err(|e| e.to_string())?;
        config.command = SCRIPTED_SERVER.to_owned();
        config.args = vec![script];
        let client = builder(&case.server, &config, root)
            .connect()
            .map_err(|e| e.to_string())?;
        client.discover().map_err(|e| e.to_string())?;
        if client.limits().max_result_chars != case.effective_max_result_chars {
            return Err(format!("effective limits: {:?}", client.limits()));
        }
        match client.call(&case.tool, "{}") {
            Ok(result) => {
                case.expected.check_absent()?;
                if Some(&result.text) == case.ok.as_ref()
                    && Some(result.artifact_count()) == case.artifact_count
                {
                    return Ok(());
                }
                Err(format!(
                    "expected: {:?}\n  actual: {:?}",
                    case.ok, result.text
                ))
            }
            Err(failure) => {
                case.expected.check(&failure.to_string())?;
                let reasons = (Some(failure.reason()), failure.artifact_reason());
                if reasons == (case.reason.as_deref(), case.artifact_reason.as_deref()) {
                    return Ok(());
                }
                Err(format!("reasons: {reasons:?}"))
            }
        }
    });
}

/// JSON text without line breaks. Inside of strings there are none.
fn one_line(json: &RawValue) -> String {
    json.get().replace(['\n', '\r'], " ")
}
