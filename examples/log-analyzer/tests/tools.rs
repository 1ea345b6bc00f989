//! The extension as odek sees it: a process, its tools, the text that the model reads.
#![allow(clippy::unwrap_used, reason = "a failed test may panic")]

use std::{fs, path::Path};

use odek_host::{
    contract::{agent_loop, config::ServerConfig, names::ServerName, result::ModelResult},
    odek::{Client, CloseManner},
};
use serde_json::{Value, json};
use tempfile::TempDir;

struct Hosted {
    client: Client,
    artifacts: TempDir,
}

fn start() -> Hosted {
    let artifacts = TempDir::new().unwrap();
    let root = artifacts.path().to_str().unwrap();
    let config = ServerConfig::new(env!("CARGO_BIN_EXE_log-analyzer"))
        .env("ODEK_EXT_ARTIFACT_ROOT", root)
        .artifact_root(root);
    let client = Client::builder(ServerName::new("log-analyzer").unwrap(), &config)
        .connect()
        .unwrap();
    Hosted { client, artifacts }
}

fn sample(name: &str) -> String {
    format!("{}/tests/samples/{name}", env!("CARGO_MANIFEST_DIR"))
}

impl Hosted {
    /// Every answer has to reach the model whole.
    fn call(&self, tool: &str, arguments: Value) -> ModelResult {
        let result = self.client.call(tool, arguments).unwrap();
        assert!(
            !agent_loop::would_shorten("log-analyzer", tool, &result.text),
            "{}",
            result.text
        );
        result
    }

    fn file_of(&self, id: &str) -> String {
        let entry = fs::read_dir(self.artifacts.path())
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .find(|path| path.file_name().unwrap().to_str().unwrap().starts_with(id));
        fs::read_to_string(entry.unwrap()).unwrap()
    }
}

#[test]
fn the_host_takes_the_extension_as_it_is() {
    let hosted = start();
    let discovery = hosted.client.discover().unwrap();
    assert_eq!(discovery.tools.len(), 5);
    assert!(discovery.findings.is_empty(), "{:?}", discovery.findings);
    assert_eq!(hosted.client.close().manner, CloseManner::EndedOnEof);
}

#[test]
fn a_summary_has_totals_failures_and_the_report() {
    let hosted = start();
    let result = hosted.call(
        "summarize",
        json!({"path": sample("robot-xunit.xml"), "top": 2}),
    );
    let lines: Vec<_> = result.text.lines().collect();
    assert!(
        lines[0].ends_with("11 tests: 3 passed, 7 failed, 0 errored, 1 skipped."),
        "{}",
        lines[0]
    );
    assert!(
        lines[1].starts_with("FAILED ") && lines[2].starts_with("FAILED "),
        "{lines:?}"
    );
    assert_eq!(
        lines[3],
        "… and 5 more; the artifact `failures` has them all."
    );
    assert!(
        lines[4].starts_with("- artifact \"failures\" (text/plain"),
        "{lines:?}"
    );
    assert!(
        lines[5].starts_with("- artifact \"report\" (application/xml"),
        "{lines:?}"
    );
    assert_eq!(hosted.file_of("failures").matches("== ").count(), 7);
    assert_eq!(
        hosted.file_of("report"),
        fs::read_to_string(sample("robot-xunit.xml")).unwrap()
    );
}

#[test]
fn an_incomplete_report_is_said_to_be_one() {
    let hosted = start();
    let text = hosted
        .call(
            "summarize",
            json!({"path": sample("pytest-attrs-disk-quota.xml")}),
        )
        .text;
    assert!(
        text.contains(
            "462 tests: 457 passed, 1 failed, 0 errored, 4 skipped as far as the file goes"
        ),
        "{text}"
    );
    assert!(text.contains("\nINCOMPLETE: "), "{text}");
}

#[test]
fn failures_can_be_filtered() {
    let hosted = start();
    let arguments = json!({"path": sample("robot-xunit.xml"), "filter": "DATABASE"});
    let text = hosted.call("list_failures", arguments).text;
    assert!(
        text.starts_with("2 failures with \"database\".\nFAILED "),
        "{text}"
    );
    let arguments = json!({"path": sample("robot-xunit.xml"), "filter": "no such thing"});
    assert_eq!(
        hosted.call("list_failures", arguments).text,
        "0 failures with \"no such thing\"."
    );
}

#[test]
fn the_slowest_tests_come_first() {
    let hosted = start();
    let text = hosted
        .call(
            "slowest_tests",
            json!({"path": sample("jest-dayjs.xml"), "count": 3}),
        )
        .text;
    let seconds: Vec<f64> = text
        .lines()
        .skip(1)
        .map(|line| line.split_whitespace().next().unwrap().parse().unwrap())
        .collect();
    assert_eq!(seconds.len(), 3, "{text}");
    assert!(
        seconds.is_sorted_by(|slower, faster| slower >= faster),
        "{text}"
    );
}

#[test]
fn two_runs_are_compared() {
    let folder = TempDir::new().unwrap();
    let write = |name: &str, cases: &str| {
        let path = folder.path().join(name);
        let report = format!("<testsuites><testsuite name=\"s\">{cases}</testsuite></testsuites>");
        fs::write(&path, report).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let failed =
        |name: &str| format!("<testcase name=\"{name}\"><failure message=\"no\"/></testcase>");
    let passed = |name: &str| format!("<testcase name=\"{name}\"/>");
    let before = write("before.xml", &(failed("a") + &passed("b")));
    let after = write("after.xml", &(passed("a") + &failed("b")));
    let hosted = start();
    let result = hosted.call("compare_runs", json!({"before": before, "after": after}));
    assert!(
        result.text.starts_with(
            "2 tests in both runs together: 1 newly failing, 0 still failing, 1 fixed.\n\
             newly failing:\n  s > b\nfixed:\n  s > a"
        ),
        "{}",
        result.text
    );
    assert_eq!(
        hosted.file_of("comparison"),
        "newly failing\ts > b\nfixed\ts > a\n"
    );
}

#[test]
fn logs_are_searched_without_their_colours() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a log.txt");
    fs::write(
        &path,
        "start\n\x1b[31mERROR\x1b[0m one\nbetween\n 10%\r100% Error two\nend\n",
    )
    .unwrap();
    let hosted = start();
    let result = hosted.call(
        "search_log",
        json!({"path": path, "text": "error", "context": 0}),
    );
    assert!(
        result.text.starts_with("2 lines of 5 lines in a log.txt contain \"error\".\n> 2: ERROR one\n> 4: 100% Error two"),
        "{}",
        result.text
    );
    let arguments = json!({"path": path, "text": "error", "ignore_case": false});
    assert!(
        hosted
            .call("search_log", arguments)
            .text
            .starts_with("0 lines of 5 lines")
    );
}

#[test]
fn what_cannot_be_read_is_a_clear_error() {
    let hosted = start();
    for (path, why) in [
        ("/no/such/report.xml", "No such file"),
        ("/", "no regular file"),
    ] {
        let failure = hosted
            .client
            .call("summarize", json!({"path": path}))
            .unwrap_err();
        assert!(
            failure
                .to_string()
                .contains(&format!("cannot read {path}: ")),
            "{failure}"
        );
        assert!(failure.to_string().contains(why), "{failure}");
    }
    let failure = hosted.client.call(
        "search_log",
        json!({"path": sample("lit.xml"), "text": " "}),
    );
    assert!(
        failure
            .unwrap_err()
            .to_string()
            .contains("every line would match")
    );
    let text = hosted
        .call("summarize", json!({"path": sample("robot-killed.xml")}))
        .text;
    assert!(
        text.contains("no totals can be given") && text.contains("The file is empty"),
        "{text}"
    );
    assert!(Path::new(&sample("samples.json")).exists());
}
