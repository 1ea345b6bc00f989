//! The server reads reports of 40 MB in less than 64 MiB, whatever it is asked.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a failed test may panic")]

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

use odek_host::contract::{config::ServerConfig, names::ServerName};
use odek_host::odek::Client;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A server that works in a directory of its own.
struct Setup {
    work: TempDir,
    _root: TempDir,
    client: Client,
}

fn setup() -> Setup {
    let (work, root) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let place = root.path().to_str().unwrap();
    let config = ServerConfig::new(env!("CARGO_BIN_EXE_log-analyzer"))
        .timeout_seconds(300)
        .env("ODEK_EXT_ARTIFACT_ROOT", place)
        .artifact_root(place);
    let client = Client::builder(ServerName::new("log-analyzer").unwrap(), &config)
        .working_directory(work.path())
        .connect()
        .unwrap();
    Setup {
        work,
        _root: root,
        client,
    }
}

impl Setup {
    fn text(&self, tool: &str, arguments: Value) -> String {
        let text = self.client.call(tool, arguments).unwrap().text;
        assert!(text.len() < 4096, "{} bytes", text.len());
        text
    }
}

#[track_caller]
fn assert_contains(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "`{part}` is not in:\n{text}");
    }
}

/// Writes a report of 40 MB: many cases with output, and one whose output is huge.
fn write_large_report(path: &Path) -> std::io::Result<u64> {
    let mut file = BufWriter::new(File::create(path)?);
    write!(
        file,
        "<?xml version=\"1.0\" encoding=\"utf-8\"?><testsuites><testsuite name=\"pytest\" errors=\"0\" failures=\"600\" skipped=\"0\" tests=\"60000\" time=\"1.0\">"
    )?;
    for number in 0..60_000 {
        write!(
            file,
            "<testcase classname=\"tests.test_large\" name=\"test_row[{number}]\" time=\"0.001\">"
        )?;
        if number % 100 == 0 {
            write!(
                file,
                "<failure message=\"assert {number} == 0\">trace of {number}\n{}</failure>",
                "E   line\n".repeat(200)
            )?;
        }
        write!(
            file,
            "<system-out>{}</system-out></testcase>",
            "captured output of a test\n".repeat(20)
        )?;
        if number == 30_000 {
            write!(file, "<!-- {} -->", "wide ".repeat(1000))?;
        }
    }
    write!(file, "</testsuite></testsuites>")?;
    file.flush()?;
    Ok(fs::metadata(path)?.len())
}

fn peak_kib(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM:"))
        .unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn a_large_report_fits_into_64_mib() {
    let setup = setup();
    let size = write_large_report(&setup.work.path().join("large.xml")).unwrap();
    assert!(size > 32 * 1024 * 1024, "{size}");
    let path = json!({"path": "large.xml"});
    let text = setup.text("summarize", path.clone());
    assert_contains(&text, &["60000 tests: 59400 passed, 600 failed"]);
    setup.text("list_failures", path.clone());
    setup.text("slowest_tests", path.clone());
    setup.text(
        "search_log",
        json!({"path": "large.xml", "text": "assert 59900"}),
    );
    setup.text(
        "compare_runs",
        json!({"before": "large.xml", "after": "large.xml"}),
    );
    let peak = peak_kib(setup.client.process_id());
    assert!(peak < 64 * 1024, "{peak} KiB");
}

#[test]
fn a_large_json_report_on_one_line_fits_into_64_mib() {
    let setup = setup();
    let case = |number: usize| {
        format!(
            r#"{{"ancestorTitles":["cart"],"duration":1,"failureMessages":["{}"],"fullName":"cart row {number}","status":"failed","title":"row"}}"#,
            "Error: expected \\u001b[31mred\\u001b[39m\\n    at somewhere\\n".repeat(80)
        )
    };
    let path = setup.work.path().join("jest.json");
    let mut file = BufWriter::new(File::create(&path).unwrap());
    write!(file, r#"{{"numFailedTestSuites":1,"numFailedTests":9000,"numPassedTestSuites":0,"numPassedTests":0,"numPendingTests":0,"numRuntimeErrorTestSuites":0,"numTodoTests":0,"numTotalTests":9000,"success":false,"testResults":[{{"assertionResults":["#).unwrap();
    for number in 0..9000 {
        let comma = if number > 0 { "," } else { "" };
        write!(file, "{comma}{}", case(number)).unwrap();
    }
    write!(
        file,
        r#"],"message":"","name":"/a/cart.test.js","status":"failed"}}],"wasInterrupted":false}}"#
    )
    .unwrap();
    drop(file);
    assert!(fs::metadata(&path).unwrap().len() > 38 * 1024 * 1024);
    let text = setup.text("summarize", json!({"path": "jest.json"}));
    assert_contains(&text, &["9000 tests: 0 passed, 9000 failed", "cart row 0"]);
    let peak = peak_kib(setup.client.process_id());
    assert!(peak < 64 * 1024, "{peak} KiB");
}
