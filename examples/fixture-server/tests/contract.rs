//! The fixture tools, called as the host calls them.
#![allow(clippy::unwrap_used, reason = "a failed test may panic")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use odek_contract::artifact::hash_file;
use odek_contract::config::ServerConfig;
use odek_contract::names::ServerName;
use odek_contract::result::{CallFailure, ModelResult, Observation};
use odek_host::odek::{Client, CloseManner, ServerExit, Timeline};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A root with a report in it, and the settings of a server.
struct Setup {
    root: TempDir,
    report: PathBuf,
    config: ServerConfig,
}

const REPORT: &str = "<testsuite tests=\"1284\"/>\n";

fn setup() -> Setup {
    let root = TempDir::new().unwrap();
    let report = root.path().join("junit 100%.xml");
    fs::write(&report, REPORT).unwrap();
    let config = ServerConfig::new(env!("CARGO_BIN_EXE_odek-fixture-server"))
        .timeout_seconds(30)
        .artifact_root(root.path().to_str().unwrap());
    Setup {
        root,
        report,
        config,
    }
}

impl Setup {
    fn env(mut self, name: &str, value: impl AsRef<Path>) -> Self {
        self.config = self.config.env(name, value.as_ref().to_str().unwrap());
        self
    }

    /// The settings with the report as the artifact.
    fn with_report(self) -> Self {
        let report = self.report.clone();
        self.env("FAKE_ARTIFACT_PATH", report)
    }

    fn connect(&self) -> Client {
        Client::builder(ServerName::new("log-analyzer").unwrap(), &self.config)
            .connect()
            .unwrap()
    }

    fn call(&self, tool: &str, arguments: Value) -> Result<ModelResult, CallFailure> {
        self.connect().call(tool, arguments)
    }

    fn text(&self, tool: &str, arguments: Value) -> String {
        self.call(tool, arguments).unwrap().text
    }

    fn failure(&self, tool: &str) -> String {
        self.call(tool, json!({})).unwrap_err().to_string()
    }
}

#[test]
fn the_tools_are_those_of_the_contract_in_its_order() {
    let client = setup().connect();
    let discovery = client.discover().unwrap();
    let names: Vec<_> = discovery
        .tools
        .iter()
        .map(|tool| tool.name.as_str())
        .collect();
    assert_eq!(
        names,
        [
            "echo",
            "large_result",
            "artifact_result",
            "bad_artifact",
            "slow",
            "error_result",
        ]
    );
    assert!(discovery.findings.is_empty(), "{:?}", discovery.findings);
    let report = client.close();
    assert_eq!(report.manner, CloseManner::EndedOnEof);
    assert_eq!(report.exit, ServerExit::Code(0));
}

#[test]
fn echo_gives_the_text_back_and_ignores_other_arguments() {
    let client = setup().connect();
    let echo = |arguments: Value| client.call("echo", arguments).unwrap().text;
    assert_eq!(echo(json!({"text": "hello"})), "echo: hello");
    assert_eq!(echo(json!({"text": "a\nb", "x_future": [1]})), "echo: a\nb");
    assert_eq!(echo(json!({})), "echo: ");
}

#[test]
fn large_results_have_the_size_that_was_asked_for() {
    let client = setup().connect();
    let large = |arguments: Value| client.call("large_result", arguments).unwrap().text;
    assert_eq!(large(json!({})), "x".repeat(1024));
    assert_eq!(large(json!({"size": 0})), "x".repeat(1024));
    assert_eq!(large(json!({"size": 5_000})), "x".repeat(5_000));
    let truncated = large(json!({"size": 300_000}));
    assert_eq!(truncated.len(), 200_000 + "—".len() - 1);
    assert!(truncated.contains("produced 300000 chars"));
    let error = client
        .call("large_result", json!({"size": 1_000_000_000}))
        .unwrap_err();
    assert!(error.to_string().contains("at most 134217728"), "{error}");
}

#[test]
fn a_result_over_the_line_limit_is_sent_and_ends_the_connection() {
    let mut setup = setup();
    setup.config = setup.config.max_response_bytes(100_000);
    let client = setup.connect();
    let failure = client
        .call("large_result", json!({"size": 200_000}))
        .unwrap_err();
    assert!(
        matches!(failure, CallFailure::LineTooLong { .. }),
        "{failure:?}"
    );
}

#[test]
fn the_artifact_is_the_real_file() {
    let setup = setup().with_report();
    let result = setup.call("artifact_result", json!({})).unwrap();
    let (digest, size) = hash_file(&setup.report).unwrap();
    assert_eq!(
        result.text,
        format!(
            "Analyzed 1284 test cases: 1280 passed, 4 failed. Full report attached as artifact \
             report-1.\n- artifact \"report-1\" (text/plain, {size} bytes, sha256 {}…): Full CI \
             test results (JUnit XML)",
            &digest.to_string()[..12]
        )
    );
    let [Observation::EnvelopeMembersIgnored { members }] = result.observations.as_slice() else {
        panic!("{:?}", result.observations)
    };
    assert_eq!(members, &["x_future_field"]);
}

#[test]
fn the_envelope_is_one_item_with_a_member_of_the_future() {
    let setup = setup().with_report();
    let timeline = Timeline::new();
    let client = Client::builder(ServerName::new("log-analyzer").unwrap(), &setup.config)
        .trace(timeline.clone())
        .connect()
        .unwrap();
    let reply = client.exchange("artifact_result", json!({})).reply.unwrap();
    let reply: Value = serde_json::from_slice(&reply).unwrap();
    let content = reply["result"]["content"].as_array().unwrap();
    assert_eq!(content.len(), 1);
    let envelope: Value = serde_json::from_str(content[0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(envelope["x_future_field"], "ignored");
    assert_eq!(envelope["artifacts"].as_array().unwrap().len(), 1);
}

#[test]
fn without_a_path_there_is_no_artifact() {
    assert_eq!(
        setup().failure("artifact_result"),
        "mcpclient log-analyzer: tool artifact_result returned error: FAKE_ARTIFACT_PATH not set"
    );
}

#[test]
fn a_missing_file_is_for_the_host_to_report() {
    let setup = setup();
    let missing = setup.root.path().join("missing.xml");
    let failure = setup
        .env("FAKE_ARTIFACT_PATH", missing)
        .call("artifact_result", json!({}))
        .unwrap_err();
    assert_eq!(failure.artifact_reason(), Some("unresolvable"), "{failure}");
}

#[test]
fn tampered_references_are_refused() {
    for (tamper, reason) in [("hash", "digest-mismatch"), ("size", "size-mismatch")] {
        let setup = setup().with_report().env("FAKE_ARTIFACT_TAMPER", tamper);
        let failure = setup.call("artifact_result", json!({})).unwrap_err();
        assert_eq!(failure.artifact_reason(), Some(reason), "{failure}");
    }
    let setup = setup().with_report().env("FAKE_ARTIFACT_TAMPER", "other");
    assert!(
        setup
            .failure("artifact_result")
            .ends_with("FAKE_ARTIFACT_TAMPER is \"other\"; it can be `hash` or `size`")
    );
}

#[test]
fn the_text_of_the_envelope_can_be_set() {
    let text = |setup: Setup| {
        let text = setup.text("artifact_result", json!({}));
        text.split_once("\n- artifact ").unwrap().0.to_owned()
    };
    let given = || setup().with_report().env("FAKE_ARTIFACT_TEXT", "all green");
    assert_eq!(text(given()), "all green");
    assert_eq!(
        text(given().env("FAKE_ARTIFACT_TEXT_SIZE", "9")),
        "all green"
    );
    let sized = setup().with_report().env("FAKE_ARTIFACT_TEXT_SIZE", "5000");
    assert_eq!(text(sized), "t".repeat(5000));
}

#[test]
fn the_id_of_the_reference_can_be_long() {
    let setup = setup().with_report().env("FAKE_ARTIFACT_ID_SIZE", "7");
    let result = setup.call("artifact_result", json!({})).unwrap();
    assert_eq!(result.artifacts[0].id, "report-1-iiiiiii");
}

#[test]
fn bad_artifacts_are_refused() {
    let failure = setup().call("bad_artifact", json!({})).unwrap_err();
    assert_eq!(failure.artifact_reason(), Some("unresolvable"), "{failure}");

    let outside = TempDir::new().unwrap();
    let file = outside.path().join("report.xml");
    fs::write(&file, REPORT).unwrap();
    let reason = |setup: Setup, path: &Path| {
        let setup = setup.env("FAKE_BAD_ARTIFACT_PATH", path);
        let failure = setup.call("bad_artifact", json!({})).unwrap_err();
        failure.artifact_reason().unwrap().to_owned()
    };
    assert_eq!(reason(setup(), &file), "outside-roots");

    let linking = setup();
    let link = linking.root.path().join("link");
    symlink(&file, &link).unwrap();
    assert_eq!(reason(linking, &link), "outside-roots");

    let climbing = setup();
    let climb = climbing.root.path().join("../report.xml");
    assert_eq!(reason(climbing, &climb), "not-clean");
}

#[test]
fn slow_answers_after_its_time_and_the_server_goes_on_after_a_timeout() {
    let mut setup = setup();
    setup.config = setup.config.timeout_seconds(2);
    let client = setup.connect();
    let failure = client.call("slow", json!({"seconds": 3})).unwrap_err();
    assert!(
        matches!(failure, CallFailure::Timeout { .. }),
        "{failure:?}"
    );
    let result = client.call("slow", json!({"seconds": 1})).unwrap();
    assert_eq!(result.text, "slow: done");
}

#[test]
fn errors_have_the_text_or_the_size_that_was_asked_for() {
    const PREFIX: &str = "mcpclient log-analyzer: tool error_result returned error: ";
    assert_eq!(
        setup().failure("error_result"),
        format!("{PREFIX}simulated tool failure: log file is empty")
    );
    assert_eq!(
        setup()
            .env("FAKE_ERROR_SIZE", "5000")
            .failure("error_result"),
        format!("{PREFIX}{}", "e".repeat(5000))
    );
    assert!(
        setup()
            .env("FAKE_ERROR_SIZE", "many")
            .failure("error_result")
            .contains("FAKE_ERROR_SIZE is \"many\"")
    );
}
