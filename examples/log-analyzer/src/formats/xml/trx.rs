//! Visual Studio TRX, as `dotnet test --logger trx` and others write it.

use super::case::{Gathered, clock};
use super::{Document, End, Summary};
use crate::model::{Sink, Status, Totals};
use crate::xml::Element;

/// A TRX document.
#[derive(Debug, Default)]
pub(super) struct Trx {
    /// The open results: data rows are within the result of their test.
    open: Vec<(Gathered, Option<Status>)>,
    inside: Vec<String>,
    /// Results that are not within another.
    outer: Totals,
    /// Results without others in them.
    leaves: Totals,
    has_rows: Vec<bool>,
    stated: Stated,
    /// Outcomes that are not known.
    unclear: u64,
    run_errors: u64,
}

#[derive(Debug, Default)]
struct Stated {
    total: Option<u64>,
    passed: Option<u64>,
    failed: Option<u64>,
}

fn status(outcome: &str) -> Option<Status> {
    match outcome {
        "Passed" | "PassedButRunAborted" | "Warning" | "Completed" => Some(Status::Passed),
        "Failed" | "Timeout" | "Aborted" => Some(Status::Failed),
        "Error" => Some(Status::Errored),
        "NotExecuted" | "Inconclusive" | "NotRunnable" | "Pending" | "Disconnected" => {
            Some(Status::Skipped)
        }
        _ => None,
    }
}

impl Trx {
    fn start_result(&mut self, element: &Element) {
        let full = element.text("testName");
        let gathered = Gathered {
            name: full.to_owned(),
            seconds: element.get("duration").and_then(clock),
            ..Gathered::default()
        };
        if let Some(last) = self.has_rows.last_mut() {
            *last = true;
        }
        // The default outcome is a failure.
        let outcome = element.get("outcome").unwrap_or("Failed");
        self.open.push((gathered, status(outcome)));
        self.has_rows.push(false);
    }

    fn end_result(&mut self, sink: &mut dyn Sink) {
        let Some((gathered, status)) = self.open.pop() else {
            return;
        };
        let rows = self.has_rows.pop().unwrap_or(false);
        self.unclear += u64::from(status.is_none());
        let count = |totals: &mut Totals| match status {
            Some(status) => super::count(totals, status),
            None => totals.tests += 1,
        };
        if self.open.is_empty() {
            count(&mut self.outer);
        }
        if !rows {
            count(&mut self.leaves);
            sink.case(gathered.into_case(status));
        }
    }
}

impl Document for Trx {
    fn start(&mut self, element: &Element, _sink: &mut dyn Sink) {
        match element.name.as_str() {
            "UnitTestResult"
            | "TestResultAggregation"
            | "GenericTestResult"
            | "WebTestResult"
            | "ManualTestResult" => {
                self.start_result(element);
            }
            "Counters" => {
                self.stated = Stated {
                    total: element.count("total"),
                    passed: element.count("passed"),
                    failed: element.count("failed"),
                };
            }
            "RunInfo" if matches!(element.text("outcome"), "Error" | "Failed") => {
                self.run_errors += 1
            }
            _ => {}
        }
        self.inside.push(element.name.clone());
    }

    fn text(&mut self, text: &str) {
        let Some((gathered, _)) = self.open.last_mut() else {
            return;
        };
        match self.inside.last().map(String::as_str) {
            Some("Message" | "StackTrace") => gathered.details.push(text),
            Some("StdOut" | "StdErr" | "DebugTrace") => gathered.output.push(text),
            _ => {}
        }
    }

    fn end(&mut self, name: &str, sink: &mut dyn Sink) {
        self.inside.pop();
        match name {
            "Message" => {
                if let Some((gathered, _)) = self.open.last_mut() {
                    gathered.details.push("\n");
                }
            }
            "UnitTestResult"
            | "TestResultAggregation"
            | "GenericTestResult"
            | "WebTestResult"
            | "ManualTestResult" => {
                self.end_result(sink);
            }
            _ => {}
        }
    }

    fn finish(self: Box<Self>, end: End, _sink: &mut dyn Sink) -> Summary {
        // Data rows are counted, or the tests that have them: the counters tell.
        let counted = match self.stated.total {
            Some(total) if total == self.outer.tests => self.outer,
            _ => self.leaves,
        };
        let mut summary = Summary::counted("TRX (Visual Studio test results)", counted, end);
        if self.unclear > 0 {
            summary.missing = true;
            summary.problems.push(format!(
                "{} results have no outcome that is known; they are in no part of the totals.",
                self.unclear
            ));
        }
        if self.run_errors > 0 {
            summary.problems.push(format!(
                "The run reports {} errors outside of its tests.",
                self.run_errors
            ));
        }
        let bad = counted.failed + counted.errored;
        // Where errors count apart, "failed" holds the failures alone.
        let stated_bad = self
            .stated
            .failed
            .filter(|failed| *failed != counted.failed);
        // The counters come before the results or after them, but always whole.
        if end == End::Proper {
            summary.compare(&[
                ("tests", self.stated.total, counted.tests),
                ("passed", self.stated.passed, counted.passed),
                ("failed", stated_bad, bad),
            ]);
        }
        summary
    }
}
