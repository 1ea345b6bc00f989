//! The JSON of Playwright, mocha, GoogleTest, and the Common Test Report Format.

use super::pull::{Event, Pull};
use super::{End, Report, count, duration};
use crate::formats::findings::{Findings, Tally, brief, counted};
use crate::formats::xml::case::Gathered;
use crate::model::{Sink, Status, Totals};

/// Milliseconds in a second.
const MILLISECONDS: f64 = 1000.0;

/// Compares what a report states with what it lists, and adds what it states.
fn settle(stated: Option<Totals>, listed: Totals, end: End, findings: &mut Findings) {
    match stated {
        Some(stated) if end == End::Reached => {
            if stated != listed {
                findings.incomplete(format!(
                    "The report states {} with {}, but lists {} with {}.",
                    counted(stated.tests, "test"),
                    counted(stated.failed, "failure"),
                    counted(listed.tests, "test"),
                    counted(listed.failed, "failure"),
                ));
            }
            findings.add(stated);
        }
        None if end == End::Reached => {
            findings.incomplete("The report has no summary; the totals are those of its list.");
            findings.add(listed);
        }
        _ => findings.add(listed),
    }
}

/// The report of Playwright: suites in suites, specs, tests for each project, attempts.
#[derive(Default)]
pub(super) struct Playwright {
    tally: Tally,
    spec: String,
    file: String,
    test: Gathered,
    status: String,
    expected: Option<u64>,
    unexpected: Option<u64>,
    flaky: Option<u64>,
    skipped: Option<u64>,
}

impl Report for Playwright {
    fn piece(&mut self, pull: &Pull<'_>, event: Event, sink: &mut dyn Sink) {
        if pull.at(&["stats", "*"]) {
            match pull.key() {
                "expected" => self.expected = count(&event),
                "unexpected" => self.unexpected = count(&event),
                "flaky" => self.flaky = count(&event),
                "skipped" => self.skipped = count(&event),
                _ => {}
            }
        } else if pull.at(&["errors", "*", "message"]) {
            if let Event::Text(text) = event {
                self.tally.part(Status::Errored);
                sink.case(brief("", "(outside of tests)", Status::Errored, &text));
            }
        } else if pull.ends(&["specs", "*", "title"]) {
            // The title of a spec precedes its tests.
            if let Event::Text(text) = event {
                self.spec = text;
            }
        } else if pull.ends(&["suites", "*", "file"]) {
            if let Event::Text(text) = event {
                self.file = text;
            }
        } else if pull.ends(&["specs", "*", "tests", "*"]) && event == Event::Close {
            self.end_test(sink);
        } else if pull.ends(&["tests", "*", "*"]) {
            match (pull.key(), event) {
                ("status", Event::Text(text)) => self.status = text,
                ("projectName", Event::Text(text)) if !text.is_empty() => {
                    self.test.suite = format!("[{text}] ");
                }
                _ => {}
            }
        } else if pull.ends(&["results", "*", "duration"]) {
            if let Some(time) = duration(&event) {
                *self.test.seconds.get_or_insert(0.0) += time / MILLISECONDS;
            }
        } else if pull.ends(&["results", "*", "error", "message"])
            && let Event::Text(text) = event
        {
            self.test.add_message(&text);
            self.test.details.separate();
            self.test.details.push(&text);
        }
    }

    fn finish(self: Box<Self>, end: End, _: &mut dyn Sink, findings: &mut Findings) {
        let stated = self.stated();
        settle(stated, self.tally.0, end, findings);
    }
}

impl Playwright {
    fn stated(&self) -> Option<Totals> {
        let flaky = self.flaky.unwrap_or(0);
        let (expected, failed, skipped) = (self.expected?, self.unexpected?, self.skipped?);
        let passed = expected.saturating_add(flaky);
        Some(Totals {
            tests: passed.saturating_add(failed).saturating_add(skipped),
            passed,
            failed,
            errored: self.tally.0.errored,
            skipped,
        })
    }

    fn end_test(&mut self, sink: &mut dyn Sink) {
        let mut test = std::mem::take(&mut self.test);
        test.suite.push_str(&self.file);
        test.name.clone_from(&self.spec);
        let status = match std::mem::take(&mut self.status).as_str() {
            "expected" | "flaky" => Status::Passed,
            "skipped" => Status::Skipped,
            _ => Status::Failed,
        };
        self.tally.test(status);
        sink.case(test.into_case(Some(status)));
    }
}

/// The report of mocha: all tests, then those pending, failed and passed once more.
#[derive(Default)]
pub(super) struct Mocha {
    tally: Tally,
    test: Gathered,
    passes: Option<u64>,
    pending: Option<u64>,
    failures: Option<u64>,
}

impl Report for Mocha {
    fn piece(&mut self, pull: &Pull<'_>, event: Event, sink: &mut dyn Sink) {
        if pull.at(&["stats", "*"]) {
            match pull.key() {
                "passes" => self.passes = count(&event),
                "pending" => self.pending = count(&event),
                "failures" => self.failures = count(&event),
                _ => {}
            }
            return;
        }
        let status = match pull.outermost_key() {
            "pending" => Status::Skipped,
            "failures" => Status::Failed,
            "passes" => Status::Passed,
            _ => return,
        };
        match pull.depth() {
            2 if event == Event::Close => {
                self.tally.test(status);
                sink.case(std::mem::take(&mut self.test).into_case(Some(status)));
            }
            3 => match (pull.key(), event) {
                ("fullTitle", Event::Text(text)) => self.test.name = text,
                ("file", Event::Text(text)) => self.test.suite = text,
                ("duration", event) => {
                    self.test.seconds = duration(&event).map(|time| time / MILLISECONDS);
                }
                _ => {}
            },
            4 if pull.ends(&["err", "*"]) => match (pull.key(), event) {
                ("message", Event::Text(text)) => self.test.message = Some(first(&text)),
                ("stack", Event::Text(text)) => self.test.details.push(&text),
                _ => {}
            },
            _ => {}
        }
    }

    fn finish(self: Box<Self>, end: End, _: &mut dyn Sink, findings: &mut Findings) {
        let stated = || {
            let (passed, skipped, failed) = (self.passes?, self.pending?, self.failures?);
            Some(Totals {
                tests: passed.saturating_add(skipped).saturating_add(failed),
                passed,
                failed,
                errored: 0,
                skipped,
            })
        };
        settle(stated(), self.tally.0, end, findings);
    }
}

/// The Common Test Report Format.
#[derive(Default)]
pub(super) struct Ctrf {
    tally: Tally,
    test: Gathered,
    status: String,
    counts: [Option<u64>; 6],
}

const CTRF_COUNTS: [&str; 6] = ["tests", "passed", "failed", "skipped", "pending", "other"];

impl Report for Ctrf {
    fn piece(&mut self, pull: &Pull<'_>, event: Event, sink: &mut dyn Sink) {
        if pull.at(&["results", "summary", "*"]) {
            if let Some(place) = CTRF_COUNTS.iter().position(|name| *name == pull.key()) {
                self.counts[place] = count(&event);
            }
        } else if pull.at(&["results", "tests", "*"]) && event == Event::Close {
            let status = match std::mem::take(&mut self.status).as_str() {
                "passed" => Status::Passed,
                "failed" => Status::Failed,
                "other" => Status::Errored,
                _ => Status::Skipped,
            };
            self.tally.test(status);
            sink.case(std::mem::take(&mut self.test).into_case(Some(status)));
        } else if pull.at(&["results", "tests", "*", "*"]) {
            match (pull.key(), event) {
                ("name", Event::Text(text)) => self.test.name = text,
                ("suite", Event::Text(text)) => self.test.suite = text,
                ("status", Event::Text(text)) => self.status = text,
                ("message", Event::Text(text)) => self.test.message = Some(first(&text)),
                ("trace", Event::Text(text)) => self.test.details.push(&text),
                ("duration", event) => {
                    self.test.seconds = duration(&event).map(|time| time / MILLISECONDS);
                }
                _ => {}
            }
        }
    }

    fn finish(self: Box<Self>, end: End, _: &mut dyn Sink, findings: &mut Findings) {
        let [tests, passed, failed, skipped, pending, other] = self.counts;
        let stated = || {
            Some(Totals {
                tests: tests?,
                passed: passed?,
                failed: failed?,
                errored: other.unwrap_or(0),
                skipped: skipped?.saturating_add(pending.unwrap_or(0)),
            })
        };
        settle(stated(), self.tally.0, end, findings);
    }
}

/// The report of GoogleTest.
#[derive(Default)]
pub(super) struct GoogleTest {
    tally: Tally,
    test: Gathered,
    ran: bool,
    outcome: String,
    failed: bool,
    tests: Option<u64>,
    failures: Option<u64>,
    disabled: u64,
}

impl Report for GoogleTest {
    fn piece(&mut self, pull: &Pull<'_>, event: Event, sink: &mut dyn Sink) {
        match pull.depth() {
            1 => match pull.key() {
                "tests" => self.tests = count(&event),
                "failures" => self.failures = count(&event),
                "disabled" => self.disabled = count(&event).unwrap_or(0),
                _ => {}
            },
            4 if event == Event::Close && pull.at(&["testsuites", "*", "testsuite", "*"]) => {
                self.end_test(sink);
            }
            5 if pull.at(&["testsuites", "*", "testsuite", "*", "*"]) => {
                match (pull.key(), event) {
                    ("name", Event::Text(text)) => self.test.name = text,
                    ("classname", Event::Text(text)) => self.test.suite = text,
                    ("status", Event::Text(text)) => self.ran = text == "RUN",
                    ("result", Event::Text(text)) => self.outcome = text,
                    ("time", Event::Text(text)) => {
                        self.test.seconds = text.trim_end_matches('s').parse().ok();
                    }
                    ("failures", Event::Close) => self.failed = true,
                    _ => {}
                }
            }
            7 if pull.ends(&["failures", "*", "failure"]) => {
                if let Event::Text(text) = event {
                    self.test.add_message(&text);
                    self.test.details.separate();
                    self.test.details.push(&text);
                }
            }
            _ => {}
        }
    }

    fn finish(self: Box<Self>, end: End, _: &mut dyn Sink, findings: &mut Findings) {
        let listed = self.tally.0;
        let stated = || {
            let (tests, failed) = (self.tests?, self.failures?);
            let passed = tests
                .saturating_sub(failed)
                .saturating_sub(listed.skipped.max(self.disabled));
            Some(Totals {
                tests,
                passed,
                failed,
                errored: 0,
                skipped: listed.skipped,
            })
        };
        settle(stated(), listed, end, findings);
    }
}

impl GoogleTest {
    fn end_test(&mut self, sink: &mut dyn Sink) {
        let outcome = std::mem::take(&mut self.outcome);
        let ran = std::mem::take(&mut self.ran);
        let status = if std::mem::take(&mut self.failed) {
            Status::Failed
        } else if !ran || outcome == "SKIPPED" || outcome == "SUPPRESSED" {
            Status::Skipped
        } else {
            Status::Passed
        };
        self.tally.test(status);
        sink.case(std::mem::take(&mut self.test).into_case(Some(status)));
    }
}

fn first(text: &str) -> String {
    crate::formats::xml::case::first_line(text).unwrap_or_default()
}
