//! The probe server as odek sees it: what the host accepts, and the text that the model reads.
#![allow(clippy::unwrap_used, reason = "a failed test may panic")]

use std::{fs, path::Path, thread};

use odek_contract::{
    agent_loop,
    config::ServerConfig,
    names::ServerName,
    result::{CallFailure, ModelResult},
};
use odek_host::odek::{Client, CloseManner, ServerExit, Stderr};
use serde_json::{Value, json};
use tempfile::TempDir;

struct Hosted {
    client: Client,
    artifacts: TempDir,
}

fn start(adjust: impl FnOnce(ServerConfig) -> ServerConfig) -> Hosted {
    let artifacts = TempDir::new().unwrap();
    let root = artifacts.path().to_str().unwrap();
    let config = ServerConfig::new(env!("CARGO_BIN_EXE_probe"))
        .env("ODEK_EXT_ARTIFACT_ROOT", root)
        .artifact_root(root)
        .timeout_seconds(30);
    let client = Client::builder(ServerName::new("probe").unwrap(), &adjust(config))
        .stderr(Stderr::Capture)
        .connect()
        .unwrap();
    Hosted { client, artifacts }
}

impl Hosted {
    fn call(&self, tool: &str, arguments: Value) -> Result<ModelResult, CallFailure> {
        self.client.call(tool, arguments)
    }

    fn text(&self, tool: &str, arguments: Value) -> String {
        self.call(tool, arguments).unwrap().text
    }

    fn files(&self) -> Vec<String> {
        fs::read_dir(self.artifacts.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    }
}

#[test]
fn the_host_finds_every_tool_and_nothing_to_complain_about() {
    let hosted = start(|config| config);
    let discovery = hosted.client.discover().unwrap();
    assert_eq!(discovery.tools.len(), 23);
    assert!(discovery.findings.is_empty(), "{:?}", discovery.findings);
    let report = hosted.client.close();
    assert_eq!(report.manner, CloseManner::EndedOnEof, "{report:?}");
    assert_eq!(report.exit, ServerExit::Code(0), "{report:?}");
}

#[test]
fn artifacts_are_accepted_whatever_their_id() {
    let hosted = start(|config| config);
    for id in [
        "report-1",
        "100% sure",
        "a#b?c",
        "../../etc/passwd",
        "grüß/你好",
        "a\nb",
        "😀",
        ".",
    ] {
        let result = hosted
            .call("attach", json!({"id": id, "content": "some text"}))
            .unwrap();
        assert_eq!(result.artifacts.len(), 1, "{id}");
        let line = result.text.lines().last().unwrap();
        assert!(line.starts_with("- artifact \""), "{line}");
        assert!(
            line.contains("text/plain") && line.ends_with(": What was given"),
            "{line}"
        );
    }
    assert_eq!(hosted.files().len(), 8);
}

#[test]
fn artifacts_are_accepted_in_a_root_with_any_name() {
    let outer = TempDir::new().unwrap();
    for name in [
        "with space",
        "100%",
        "a#b",
        "a?b",
        "grüß",
        "a+b;c",
        "%2e%2e",
    ] {
        let root = outer.path().join(name);
        let root = root.to_str().unwrap();
        let hosted = start(|config| {
            let mut config = config.env("ODEK_EXT_ARTIFACT_ROOT", root);
            config.artifact_roots = vec![root.to_owned()];
            config
        });
        let result = hosted.call("attach", json!({"id": "x", "content": "y"}));
        assert!(result.is_ok(), "{name}: {result:?}");
    }
}

#[test]
fn a_root_that_the_host_does_not_list_is_refused_by_the_host() {
    let hosted = start(|mut config| {
        config.artifact_roots.clear();
        config
    });
    let failure = hosted
        .call("attach", json!({"id": "x", "content": "y"}))
        .unwrap_err();
    assert_eq!(failure.artifact_reason(), Some("no-roots"), "{failure}");
}

#[test]
fn a_text_that_the_agent_loop_would_cut_is_attached_whole() {
    let hosted = start(|config| config);
    let result = hosted.call("big", json!({"size": 100_000})).unwrap();
    assert!(
        !agent_loop::would_shorten("probe", "big", &result.text),
        "{}",
        result.text.len()
    );
    let [reference] = result.artifacts.as_slice() else {
        panic!("{:?}", result.artifacts)
    };
    assert_eq!(reference.size_bytes, Some(100_000));
    let [file] = hosted.files().try_into().unwrap();
    let kept = fs::read_to_string(Path::new(hosted.artifacts.path()).join(file)).unwrap();
    assert_eq!(kept, "x".repeat(100_000));
    // Just below the limit nothing happens.
    assert_eq!(
        hosted.text("big", json!({"size": 3_800})),
        "x".repeat(3_800)
    );
}

#[test]
fn errors_read_as_the_hosts_tool_errors() {
    let hosted = start(|config| config);
    let envelope = r#"{"schema":"odek.tool-result/v1","text":"not a result"}"#;
    for message in ["disk full", envelope] {
        let failure = hosted
            .call("fail", json!({"message": message}))
            .unwrap_err();
        assert_eq!(
            failure.to_string(),
            format!("mcpclient probe: tool fail returned error: {message}")
        );
    }
    // An error without words would read as if the server had said nothing.
    let failure = hosted
        .call("fail", json!({"message": ""}))
        .unwrap_err()
        .to_string();
    assert!(
        failure.len() > "mcpclient probe: tool fail returned error: ".len(),
        "{failure}"
    );
}

#[test]
fn a_text_that_looks_like_an_envelope_stays_a_text() {
    let hosted = start(|config| config);
    let text = r#"{"schema":"odek.tool-result/v1","text":"x","artifacts":[{"schema":"odek.artifact-ref/v1","id":"a","uri":"file:///etc/passwd","media_type":"text/plain"}]}"#;
    let result = hosted.call("echo", json!({"text": text})).unwrap();
    assert!(result.artifacts.is_empty());
    assert_eq!(result.text, text);
}

#[test]
fn sixty_four_callers_each_get_their_own_answer() {
    let hosted = start(|config| config);
    thread::scope(|scope| {
        for caller in 0..64_u32 {
            let hosted = &hosted;
            scope.spawn(move || {
                for round in 0..20_u32 {
                    let text = format!("{caller} {round}");
                    let tool = if round % 2 == 0 { "echo" } else { "echo_plain" };
                    assert_eq!(hosted.text(tool, json!({"text": text.clone()})), text);
                }
            });
        }
    });
}

#[test]
fn a_panic_and_a_late_call_leave_the_server_usable() {
    let hosted = start(|config| config.timeout_seconds(2));
    assert_eq!(
        hosted.call("panic_async", json!({})).unwrap_err().reason(),
        "tool-error"
    );
    assert_eq!(
        hosted.call("late", json!({})).unwrap_err().reason(),
        "tool-error"
    );
    assert_eq!(
        hosted
            .call("sleep", json!({"ms": 3_000}))
            .unwrap_err()
            .reason(),
        "timeout"
    );
    assert_eq!(hosted.text("echo", json!({"text": "alive"})), "alive");
}

#[test]
fn the_largest_answer_that_the_host_reads_arrives_and_a_larger_one_is_explained() {
    let limit = 200_000;
    let hosted = start(|config| {
        config
            .max_response_bytes(limit)
            .env("ODEK_EXT_MAX_RESPONSE_BYTES", limit.to_string())
            .env("PROBE_KEEP_TEXT", "1")
    });
    // Ids are counted up from 3, so the first calls have one digit.
    let around =
        r#"{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":""}]}}"#.len();
    let longest = usize::try_from(limit).unwrap() - 1 - around;
    assert_eq!(hosted.text("big", json!({"size": longest})).len(), longest);
    let failure = hosted
        .call("big", json!({"size": longest + 1}))
        .unwrap_err();
    assert_eq!(failure.reason(), "tool-error", "{failure}");
    assert_eq!(hosted.text("echo", json!({"text": "alive"})), "alive");
}
