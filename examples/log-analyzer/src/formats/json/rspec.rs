//! The JSON of RSpec.

use super::pull::{Event, Pull};
use super::{End, Report, count, duration};
use crate::formats::findings::{Findings, Tally, brief, counted};
use crate::formats::xml::case::Gathered;
use crate::model::{Sink, Status, Totals};

/// A report in the making.
#[derive(Default)]
pub(super) struct Rspec {
    tally: Tally,
    test: Gathered,
    status: String,
    pending: Option<String>,
    class: String,
    examples: Option<u64>,
    failures: Option<u64>,
    pendings: Option<u64>,
    outside: u64,
    messages: Vec<String>,
}

impl Report for Rspec {
    fn piece(&mut self, pull: &Pull<'_>, event: Event, sink: &mut dyn Sink) {
        if pull.at(&["examples", "*"]) && event == Event::Close {
            self.end_test(sink);
        } else if pull.at(&["examples", "*", "*"]) {
            self.field(pull.key(), event);
        } else if pull.at(&["examples", "*", "exception", "*"]) {
            match (pull.key(), event) {
                ("class", Event::Text(text)) => self.class = text,
                ("message", Event::Text(text)) => {
                    self.test.add_message(&text);
                    self.test.details.push(text.trim_matches('\n'));
                    self.test.details.push("\n");
                }
                _ => {}
            }
        } else if pull.at(&["examples", "*", "exception", "backtrace", "*"]) {
            if let Event::Text(text) = event {
                self.test.details.push("\n  ");
                self.test.details.push(&text);
            }
        } else if pull.at(&["summary", "*"]) {
            match pull.key() {
                "example_count" => self.examples = count(&event),
                "failure_count" => self.failures = count(&event),
                "pending_count" => self.pendings = count(&event),
                "errors_outside_of_examples_count" => self.outside = count(&event).unwrap_or(0),
                _ => {}
            }
        } else if pull.at(&["messages", "*"])
            && let Event::Text(text) = event
        {
            self.messages.push(text);
        }
    }

    fn finish(self: Box<Self>, end: End, sink: &mut dyn Sink, findings: &mut Findings) {
        let mut totals = self.tally.0;
        totals.errored = self.outside;
        for message in self.messages.iter().take(self.outside as usize) {
            let message = message.replace("An error occurred while loading", "cannot load");
            sink.case(brief(
                "",
                "(outside of examples)",
                Status::Errored,
                &message,
            ));
        }
        let (Some(tests), Some(failed), Some(skipped)) =
            (self.examples, self.failures, self.pendings)
        else {
            if end == End::Reached {
                findings.incomplete("The report has no summary; the totals are those of its list.");
            }
            findings.add(totals);
            return;
        };
        if tests != totals.tests || failed != totals.failed || skipped != totals.skipped {
            findings.incomplete(format!(
                "The report states {}, {failed} failed and {skipped} pending, but lists {}, {} failed and {} pending.",
                counted(tests, "example"), totals.tests, totals.failed, totals.skipped
            ));
        }
        findings.add(Totals {
            tests,
            passed: tests.saturating_sub(failed).saturating_sub(skipped),
            failed,
            errored: self.outside,
            skipped,
        });
    }
}

impl Rspec {
    fn field(&mut self, key: &str, event: Event) {
        match (key, event) {
            ("full_description", Event::Text(text)) => self.test.name = text,
            ("file_path", Event::Text(text)) => self.test.suite = text,
            ("status", Event::Text(text)) => self.status = text,
            ("pending_message", Event::Text(text)) => self.pending = Some(text),
            ("run_time", event) => self.test.seconds = duration(&event),
            _ => {}
        }
    }

    fn end_test(&mut self, sink: &mut dyn Sink) {
        let mut test = std::mem::take(&mut self.test);
        let status = match std::mem::take(&mut self.status).as_str() {
            "passed" => Status::Passed,
            "failed" => Status::Failed,
            _ => Status::Skipped,
        };
        let class = std::mem::take(&mut self.class);
        if let Some(pending) = self.pending.take() {
            test.add_message(&pending);
        }
        test.add_message(&class);
        self.tally.test(status);
        sink.case(test.into_case(Some(status)));
    }
}
