//! The JSON results of jest, and of vitest, which writes the same.

use std::collections::BTreeMap;

use super::pull::{Event, Pull};
use super::{End, Report, count, duration};
use crate::formats::findings::{Findings, Tally, Waiting, brief, counted};
use crate::formats::xml::case::Gathered;
use crate::model::{Sink, Status, Totals};

const CASE: [&str; 4] = ["testResults", "*", "assertionResults", "*"];

/// A report in the making.
#[derive(Default)]
pub(super) struct Jest {
    counts: BTreeMap<String, u64>,
    tally: Tally,
    interrupted: bool,
    test: Gathered,
    status: String,
    title: String,
    /// The tests of the file that is being read: its name comes after them.
    waiting: Waiting,
    file: File,
    broken_files: u64,
}

/// A test file.
#[derive(Default)]
struct File {
    name: String,
    message: String,
    failed: bool,
    failed_tests: u64,
}

impl Report for Jest {
    fn piece(&mut self, pull: &Pull<'_>, event: Event, sink: &mut dyn Sink) {
        match pull.depth() {
            1 => self.field_of_run(pull.key(), &event),
            2 if event == Event::Close => self.end_file(sink),
            3 => self.field_of_file(pull.key(), event),
            4 if event == Event::Close && pull.at(&CASE) => self.end_test(),
            5 if pull.ends(&["assertionResults", "*", "*"]) => {
                self.field_of_test(pull.key(), event)
            }
            6 if pull.ends(&["failureMessages", "*"]) => {
                if let Event::Text(text) = event {
                    self.test.add_message(&text);
                    self.test.details.separate();
                    self.test.details.push(&text);
                }
            }
            _ => {}
        }
    }

    fn finish(mut self: Box<Self>, end: End, sink: &mut dyn Sink, findings: &mut Findings) {
        if end == End::Missing {
            self.end_file(sink);
        }
        if self.interrupted {
            findings.incomplete("The run was interrupted; tests that did not run are missing.");
        }
        let mut totals = self.tally.0;
        totals.errored = self.broken_files;
        match self.stated() {
            Some(stated) if end == End::Reached => {
                if stated.tests != totals.tests || stated.failed != totals.failed {
                    findings.incomplete(format!(
                        "The report states {} with {}, but lists {} with {}.",
                        counted(stated.tests, "test"),
                        counted(stated.failed, "failure"),
                        counted(totals.tests, "test"),
                        counted(totals.failed, "failure"),
                    ));
                }
                findings.add(stated);
            }
            _ => findings.add(totals),
        }
    }
}

impl Jest {
    fn field_of_run(&mut self, key: &str, event: &Event) {
        match (key, event) {
            ("wasInterrupted", Event::Truth(true)) => self.interrupted = true,
            (key, event) if key.starts_with("num") => {
                if let Some(count) = count(event) {
                    self.counts.insert(key.to_owned(), count);
                }
            }
            _ => {}
        }
    }

    fn field_of_file(&mut self, key: &str, event: Event) {
        match (key, event) {
            ("name", Event::Text(text)) => self.file.name = text,
            ("message", Event::Text(text)) => self.file.message = text,
            ("status", Event::Text(text)) => self.file.failed = text == "failed",
            _ => {}
        }
    }

    fn field_of_test(&mut self, key: &str, event: Event) {
        match (key, event) {
            ("status", Event::Text(text)) => self.status = text,
            ("fullName", Event::Text(text)) => self.test.name = text,
            ("title", Event::Text(text)) => self.title = text,
            ("duration", event) => {
                self.test.seconds = duration(&event).map(|milliseconds| milliseconds / 1000.0);
            }
            _ => {}
        }
    }

    fn end_test(&mut self) {
        let mut test = std::mem::take(&mut self.test);
        let title = std::mem::take(&mut self.title);
        if test.name.is_empty() {
            test.name = title;
        }
        let status = match std::mem::take(&mut self.status).as_str() {
            "passed" | "focused" => Status::Passed,
            "failed" => Status::Failed,
            _ => Status::Skipped,
        };
        self.tally.test(status);
        self.file.failed_tests += u64::from(status == Status::Failed);
        self.waiting.push(test.into_case(Some(status)));
    }

    fn end_file(&mut self, sink: &mut dyn Sink) {
        let file = std::mem::take(&mut self.file);
        for mut case in self.waiting.take() {
            case.suite.clone_from(&file.name);
            sink.case(case);
        }
        if file.failed && file.failed_tests == 0 {
            self.broken_files += 1;
            let mut case = brief(
                &file.name,
                "(file)",
                Status::Errored,
                &reason(&file.message),
            );
            case.details = Some(crate::text::plain(&file.message).into_owned());
            sink.case(case);
        }
    }

    /// The totals that the report states.
    fn stated(&self) -> Option<Totals> {
        let count = |key: &str| self.counts.get(key).copied();
        Some(Totals {
            tests: count("numTotalTests")?,
            passed: count("numPassedTests")?,
            failed: count("numFailedTests")?,
            errored: count("numRuntimeErrorTestSuites").unwrap_or(self.broken_files),
            skipped: count("numPendingTests")?.saturating_add(count("numTodoTests").unwrap_or(0)),
        })
    }
}

/// What a message says beyond the heading that all of them have.
fn reason(message: &str) -> String {
    let heading = "Test suite failed to run";
    match message.split_once(heading) {
        Some((_, rest)) if !rest.trim().is_empty() => rest.to_owned(),
        _ => message.to_owned(),
    }
}
