//! The JSON of pytest-json-report.

use super::pull::{Event, Pull};
use super::{End, Report, count, duration};
use crate::formats::findings::{Findings, Tally, brief, counted};
use crate::formats::xml::case::Gathered;
use crate::model::{Sink, Status};

/// A report in the making.
#[derive(Default)]
pub(super) struct PytestReport {
    tally: Tally,
    tests: u64,
    stated: Option<u64>,
    exit_code: Option<u64>,
    collector: Collector,
    test: Gathered,
    outcome: String,
    setup: String,
    call: String,
    teardown: String,
}

#[derive(Default)]
struct Collector {
    id: String,
    outcome: String,
    reason: String,
}

impl Report for PytestReport {
    fn piece(&mut self, pull: &Pull<'_>, event: Event, sink: &mut dyn Sink) {
        match pull.depth() {
            1 if pull.key() == "exitcode" => self.exit_code = count(&event),
            2 if event == Event::Close && pull.at(&["tests", "*"]) => self.end_test(sink),
            2 if event == Event::Close && pull.at(&["collectors", "*"]) => self.end_collector(sink),
            2 if pull.at(&["summary", "total"]) => self.stated = count(&event),
            3 if pull.at(&["tests", "*", "*"]) => match (pull.key(), event) {
                ("nodeid", Event::Text(text)) => self.test.name = text,
                ("outcome", Event::Text(text)) => self.outcome = text,
                _ => {}
            },
            3 if pull.at(&["collectors", "*", "*"]) => match (pull.key(), event) {
                ("nodeid", Event::Text(text)) => self.collector.id = text,
                ("outcome", Event::Text(text)) => self.collector.outcome = text,
                ("longrepr", Event::Text(text)) => self.collector.reason = text,
                _ => {}
            },
            4 if pull.at(&["tests", "*", "setup", "outcome"]) => self.setup = text_of(event),
            4 if pull.at(&["tests", "*", "call", "outcome"]) => self.call = text_of(event),
            4 if pull.at(&["tests", "*", "teardown", "outcome"]) => self.teardown = text_of(event),
            4 if pull.at(&["tests", "*", "*", "duration"]) => {
                if let Some(seconds) = duration(&event) {
                    *self.test.seconds.get_or_insert(0.0) += seconds;
                }
            }
            4 if pull.at(&["tests", "*", "*", "longrepr"]) => {
                let text = text_of(event);
                if !text.is_empty() {
                    self.test.details.separate();
                    self.test.details.push(&text);
                }
            }
            5 if pull.at(&["tests", "*", "*", "crash", "message"]) => {
                self.test.add_message(&text_of(event));
            }
            _ => {}
        }
    }

    fn finish(self: Box<Self>, end: End, _: &mut dyn Sink, findings: &mut Findings) {
        if end == End::Reached {
            match self.stated {
                Some(stated) if stated != self.tests => findings.incomplete(format!(
                    "The report states {}, but lists {}.",
                    counted(stated, "test"),
                    self.tests
                )),
                None => findings.incomplete("The report's summary has no number of tests."),
                Some(_) => {}
            }
        }
        match self.exit_code {
            Some(2) => {
                findings.incomplete("pytest says that the run was interrupted (exit code 2).")
            }
            Some(3) => {
                findings.incomplete("pytest says that it had an internal error (exit code 3).")
            }
            _ => {}
        }
        findings.add(self.tally.0);
    }
}

impl PytestReport {
    /// The console counts a test once for each way in which it ended: a test that failed and then
    /// had an error in its teardown is a failure and an error.
    fn end_test(&mut self, sink: &mut dyn Sink) {
        self.tests += 1;
        let mut test = std::mem::take(&mut self.test);
        if let Some((file, name)) = test.name.split_once("::") {
            (test.suite, test.name) = (file.to_owned(), name.to_owned());
        }
        let call = match std::mem::take(&mut self.call).as_str() {
            "passed" => Some(Status::Passed),
            "failed" => Some(Status::Failed),
            "skipped" => Some(Status::Skipped),
            _ => None,
        };
        let stages = [
            std::mem::take(&mut self.setup),
            std::mem::take(&mut self.teardown),
        ];
        let broken = stages.iter().filter(|stage| *stage == "failed").count();
        let outcome = match std::mem::take(&mut self.outcome).as_str() {
            "passed" | "xpassed" => Some(Status::Passed),
            "failed" => Some(Status::Failed),
            "skipped" | "xfailed" => Some(Status::Skipped),
            "error" => call,
            _ => None,
        };
        if let Some(status) = outcome {
            self.tally.test(status);
        }
        for _ in 0..broken {
            self.tally.test(Status::Errored);
        }
        if broken == 0 {
            sink.case(test.into_case(outcome));
            return;
        }
        if let Some(status) = outcome {
            let mut case = test.into_case(Some(Status::Errored));
            sink.case(brief(
                &case.suite,
                &case.name,
                status,
                case.message.as_deref().unwrap_or_default(),
            ));
            case.message = Some(case.message.unwrap_or_else(|| "teardown failed".into()));
            sink.case(case);
        } else {
            sink.case(test.into_case(Some(Status::Errored)));
        }
    }

    fn end_collector(&mut self, sink: &mut dyn Sink) {
        let collector = std::mem::take(&mut self.collector);
        if collector.outcome == "failed" {
            self.tally.test(Status::Errored);
            let reason = collector
                .reason
                .lines()
                .rev()
                .find_map(|line| line.strip_prefix("E "))
                .unwrap_or(&collector.reason);
            let mut case = brief(&collector.id, "(collection)", Status::Errored, reason);
            case.details = Some(crate::text::plain(&collector.reason).into_owned());
            sink.case(case);
        }
    }
}

fn text_of(event: Event) -> String {
    match event {
        Event::Text(text) => text,
        _ => String::new(),
    }
}
