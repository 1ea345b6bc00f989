//! Logs that are JSON, one object on each line: `go test -json`, libtest, Meson, pytest-reportlog.

use std::collections::BTreeMap;

use super::{Log, Row, go};
use crate::formats::findings::{Findings, Tally, counted};
use crate::formats::json::pull::{Event, fields};
use crate::formats::xml::case::Gathered;
use crate::model::{Sink, Status, Totals};
use crate::text::Line;

/// The streams of a log.
#[derive(Default)]
pub(super) struct Streams {
    go: GoStream,
    libtest: LibtestStream,
    meson: Tally,
    pytest: PytestStream,
    /// Lines that begin like an event and are none.
    damaged: u64,
    any: bool,
}

/// The fields of one event.
struct Fields(Vec<(String, Event)>);

impl Fields {
    fn get(&self, key: &str) -> Option<&Event> {
        self.0
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value)
    }

    fn text(&self, key: &str) -> Option<&str> {
        match self.get(key)? {
            Event::Text(text) => Some(text),
            _ => None,
        }
    }

    fn number(&self, key: &str) -> Option<f64> {
        match self.get(key)? {
            Event::Number(number) if number.is_finite() => Some(*number),
            _ => None,
        }
    }

    fn count(&self, key: &str) -> u64 {
        self.number(key)
            .filter(|number| (0.0..1e15).contains(number))
            .map_or(0, |number| number as u64)
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Go,
    Libtest,
    Meson,
    Pytest,
}

fn kind(fields: &Fields) -> Option<Kind> {
    if fields.text("Action").is_some()
        && (fields.text("Package").is_some() || fields.text("ImportPath").is_some())
    {
        return Some(Kind::Go);
    }
    if let (Some(what), Some(_)) = (fields.text("type"), fields.text("event")) {
        return matches!(what, "suite" | "test" | "bench").then_some(Kind::Libtest);
    }
    if fields.text("$report_type").is_some() {
        return Some(Kind::Pytest);
    }
    let meson = fields.text("name").is_some()
        && fields.text("result").is_some()
        && (fields.get("starttime").is_some() || fields.get("returncode").is_some());
    meson.then_some(Kind::Meson)
}

/// Whether a line is an event of a known stream.
pub(super) fn begins(line: &str) -> bool {
    let Some((fields, _)) = fields(line) else {
        return false;
    };
    let fields = Fields(fields);
    kind(&fields).is_some() || fields.text("type") == Some("bench")
}

/// Takes a line that is an event. Whether it was one.
pub(super) fn take(row: &Row<'_>, log: &mut Log<'_>) -> bool {
    let line = row.raw.trim_start();
    let start = line.find('{').filter(|at| *at == 0).or_else(|| {
        // After the time that a service puts before each line.
        row.shown.starts_with('{').then(|| line.find('{')).flatten()
    });
    let Some((found, whole)) = start.and_then(|start| fields(&line[start..])) else {
        return false;
    };
    if whole.is_err() && row.line != Line::Cut {
        log.json.damaged += u64::from(log.json.any);
        return log.json.any;
    }
    let found = Fields(found);
    let Some(kind) = kind(&found) else {
        return false;
    };
    log.json.any = true;
    let Log {
        json,
        sink,
        findings,
        go_packages,
        ..
    } = log;
    match kind {
        Kind::Go => {
            findings.name("go test -json");
            json.go.event(&found, go_packages, *sink);
        }
        Kind::Libtest => {
            findings.name("libtest JSON lines");
            json.libtest
                .event(&found, &log.cargo.binary, *sink, findings);
        }
        Kind::Meson => {
            findings.name("Meson test log (JSON lines)");
            meson(&found, &mut json.meson, *sink);
        }
        Kind::Pytest => {
            findings.name("pytest report log (JSON lines)");
            json.pytest.event(&found, *sink);
        }
    }
    true
}

/// Draws the conclusion of all streams.
pub(super) fn finish(log: &mut Log<'_>) {
    let streams = std::mem::take(&mut log.json);
    if !streams.any {
        return;
    }
    let findings = &mut log.findings;
    if streams.damaged > 0 {
        findings.incomplete(format!(
            "{} of the event stream cut off or damaged; what they say is missing.",
            match streams.damaged {
                1 => "1 line is".to_owned(),
                count => format!("{count} lines are"),
            }
        ));
    }
    streams.go.finish(log.sink, findings);
    streams.libtest.finish(findings);
    if streams.meson.0.tests > 0 {
        findings.add(streams.meson.0);
    }
    streams.pytest.finish(findings);
}

/// `go test -json`.
#[derive(Default)]
struct GoStream {
    tally: Tally,
    packages: BTreeMap<String, GoPackage>,
    any: bool,
}

#[derive(Default)]
struct GoPackage {
    running: BTreeMap<String, Gathered>,
    failed_tests: u64,
    ended: bool,
}

impl GoStream {
    fn event(&mut self, fields: &Fields, complaints: &mut go::Complaints, sink: &mut dyn Sink) {
        self.any = true;
        let action = fields.text("Action").unwrap_or_default();
        let Some(package) = fields.text("Package") else {
            if action == "build-output"
                && let (Some(path), Some(text)) = (fields.text("ImportPath"), fields.text("Output"))
            {
                let path = path.split(' ').next().unwrap_or(path);
                complaints.add(path, text.trim_end());
            }
            return;
        };
        let state = self.packages.entry(package.to_owned()).or_default();
        match fields.text("Test") {
            Some(test) => state.test_event(action, package, test, fields, &mut self.tally, sink),
            None => state.package_event(action, package, fields, complaints, &mut self.tally, sink),
        }
    }

    fn finish(self, sink: &mut dyn Sink, findings: &mut Findings) {
        if !self.any {
            return;
        }
        let mut running = 0;
        let mut open = 0;
        for (package, state) in self.packages {
            if state.ended {
                continue;
            }
            open += 1;
            running += state.running.len() as u64;
            for (name, mut test) in state.running {
                test.suite.clone_from(&package);
                test.name = name;
                sink.case(test.into_case(None));
            }
        }
        if open > 0 {
            findings.incomplete(format!(
                "The stream ends before {} ended; {} had no result yet.",
                counted(open, "package"),
                counted(running, "test")
            ));
        }
        findings.add(self.tally.0);
    }
}

impl GoPackage {
    fn test_event(
        &mut self,
        action: &str,
        package: &str,
        name: &str,
        fields: &Fields,
        tally: &mut Tally,
        sink: &mut dyn Sink,
    ) {
        let status = match action {
            "pass" | "bench" => Status::Passed,
            "fail" => Status::Failed,
            "skip" => Status::Skipped,
            "output" => {
                let test = self.running.entry(name.to_owned()).or_default();
                test.details.push(fields.text("Output").unwrap_or_default());
                return;
            }
            _ => {
                self.running.entry(name.to_owned()).or_default();
                return;
            }
        };
        let test = self.running.remove(name).unwrap_or_default();
        self.failed_tests += u64::from(status == Status::Failed);
        tally.test(status);
        sink.case(ended(test, package, name, status, fields.number("Elapsed")));
    }

    fn package_event(
        &mut self,
        action: &str,
        package: &str,
        fields: &Fields,
        complaints: &mut go::Complaints,
        tally: &mut Tally,
        sink: &mut dyn Sink,
    ) {
        match action {
            "output" => {
                let text = fields.text("Output").unwrap_or_default().trim_end();
                let frame = ["PASS", "FAIL", "ok  \t", "FAIL\t", "?   \t", "exit status"];
                if !text.is_empty() && !frame.iter().any(|frame| text.starts_with(frame)) {
                    complaints.add(package, text);
                }
            }
            "fail" => {
                self.ended = true;
                for (name, mut test) in std::mem::take(&mut self.running) {
                    if go::is_benchmark(&name) {
                        continue;
                    }
                    test.message = Some("no result: the package died while it ran".into());
                    self.failed_tests += 1;
                    tally.test(Status::Failed);
                    sink.case(ended(test, package, &name, Status::Failed, None));
                }
                if self.failed_tests == 0 {
                    tally.part(Status::Errored);
                    let why = match fields.text("FailedBuild") {
                        Some(_) => "build failed",
                        None => "",
                    };
                    go::broken_package(package, why, complaints.of(package), sink);
                }
            }
            "pass" | "skip" => {
                self.ended = true;
                self.running.clear();
            }
            _ => {}
        }
    }
}

fn ended(
    mut test: Gathered,
    package: &str,
    name: &str,
    status: Status,
    seconds: Option<f64>,
) -> crate::model::Case {
    test.suite = package.to_owned();
    test.name = name.to_owned();
    test.seconds = seconds;
    if let Some(reason) = go::reason(test.details.head()) {
        test.add_message(&reason);
    }
    test.into_case(Some(status))
}

/// libtest's unstable JSON.
#[derive(Default)]
struct LibtestStream {
    open: Option<(u64, Tally)>,
    totals: Tally,
    any: bool,
}

impl LibtestStream {
    fn event(
        &mut self,
        fields: &Fields,
        binary: &str,
        sink: &mut dyn Sink,
        findings: &mut Findings,
    ) {
        self.any = true;
        let event = fields.text("event").unwrap_or_default();
        if fields.text("type") == Some("suite") {
            if event == "started" {
                self.lost(findings);
                self.open = Some((fields.count("test_count"), Tally::default()));
            } else {
                self.end_suite(fields, findings);
            }
            return;
        }
        let status = match event {
            "ok" => Status::Passed,
            "failed" => Status::Failed,
            "ignored" => Status::Skipped,
            _ => return,
        };
        let (_, tally) = self.open.get_or_insert_default();
        tally.test(status);
        let mut test = Gathered {
            suite: binary.to_owned(),
            name: fields.text("name").unwrap_or_default().to_owned(),
            seconds: fields.number("exec_time"),
            ..Gathered::default()
        };
        if let Some(output) = fields.text("stdout") {
            test.details.push(output);
        }
        let reason = match (fields.text("message"), fields.text("stdout")) {
            (Some(message), _) => Some(message.to_owned()),
            (None, Some(output)) => super::cargo::reason(output),
            (None, None) => fields.text("reason").map(str::to_owned),
        };
        if let Some(reason) = reason {
            test.add_message(&reason);
        }
        sink.case(test.into_case(Some(status)));
    }

    fn end_suite(&mut self, fields: &Fields, findings: &mut Findings) {
        let (announced, tally) = self.open.take().unwrap_or_default();
        let passed = fields
            .count("passed")
            .saturating_add(fields.count("measured"));
        let (failed, skipped) = (fields.count("failed"), fields.count("ignored"));
        let tests = passed.saturating_add(failed).saturating_add(skipped);
        if tests != announced || tally.0.tests > tests {
            findings.incomplete(format!(
                "A suite announces {}, lists {} and ends with {tests}.",
                counted(announced, "test"),
                tally.0.tests
            ));
        }
        let sum = &mut self.totals.0;
        *sum = Totals {
            tests: sum.tests.saturating_add(tests),
            passed: sum.passed.saturating_add(passed),
            failed: sum.failed.saturating_add(failed),
            errored: sum.errored,
            skipped: sum.skipped.saturating_add(skipped),
        };
    }

    /// Takes what can be told of a suite that does not end.
    fn lost(&mut self, findings: &mut Findings) {
        let Some((announced, tally)) = self.open.take() else {
            return;
        };
        findings.incomplete(format!(
            "A suite announces {} and does not end; {} of them can be told.",
            counted(announced, "test"),
            tally.0.tests
        ));
        findings.add(tally.0);
    }

    fn finish(mut self, findings: &mut Findings) {
        if self.any {
            self.lost(findings);
            findings.add(self.totals.0);
        }
    }
}

/// A test of Meson's `testlog.json`.
fn meson(fields: &Fields, tally: &mut Tally, sink: &mut dyn Sink) {
    let result = fields.text("result").unwrap_or_default();
    let status = match result {
        "OK" | "EXPECTEDFAIL" => Status::Passed,
        "SKIP" | "IGNORED" => Status::Skipped,
        _ => Status::Failed,
    };
    tally.test(status);
    let mut test = Gathered {
        name: fields.text("name").unwrap_or_default().to_owned(),
        seconds: fields.number("duration"),
        ..Gathered::default()
    };
    if status == Status::Failed {
        test.message = Some(match fields.number("returncode") {
            Some(code) => format!("{} (exit status {code})", result.to_lowercase()),
            None => result.to_lowercase(),
        });
        for stream in ["stdout", "stderr"] {
            if let Some(text) = fields.text(stream) {
                test.details.separate();
                test.details.push(text);
            }
        }
    }
    sink.case(test.into_case(Some(status)));
}

/// pytest-reportlog.
#[derive(Default)]
struct PytestStream {
    tally: Tally,
    any: bool,
    finished: bool,
}

impl PytestStream {
    fn event(&mut self, fields: &Fields, sink: &mut dyn Sink) {
        self.any = true;
        let failed = fields.text("outcome") == Some("failed");
        let status = match fields.text("$report_type").unwrap_or_default() {
            "SessionFinish" => {
                self.finished = true;
                return;
            }
            "CollectReport" => match fields.text("outcome") {
                Some("failed") => Status::Errored,
                Some("skipped") => Status::Skipped,
                _ => return,
            },
            "TestReport" => match (fields.text("when"), fields.text("outcome")) {
                (_, Some("skipped")) => Status::Skipped,
                (Some("call"), _) if failed => Status::Failed,
                (Some("call"), Some("passed")) => Status::Passed,
                _ if failed => Status::Errored,
                _ => return,
            },
            _ => return,
        };
        self.tally.test(status);
        let id = fields.text("nodeid").unwrap_or_default();
        let (suite, name) = id.split_once("::").unwrap_or((id, ""));
        let mut test = Gathered {
            suite: suite.to_owned(),
            name: name.to_owned(),
            seconds: fields.number("duration"),
            ..Gathered::default()
        };
        if let Some(text) = fields.text("longrepr") {
            test.details.push(text);
        }
        sink.case(test.into_case(Some(status)));
    }

    fn finish(self, findings: &mut Findings) {
        if !self.any {
            return;
        }
        if !self.finished {
            findings.incomplete("The report log ends before the session does.");
        }
        findings.add(self.tally.0);
    }
}
