//! Robot Framework's `output.xml`.

use super::case::{Gathered, clock, seconds};
use super::{Document, End, Summary};
use crate::model::{Sink, Status, Totals};
use crate::xml::Element;

/// A Robot Framework output document.
#[derive(Debug, Default)]
pub(super) struct Robot {
    suites: Vec<String>,
    open: Option<(Gathered, Option<Status>)>,
    inside: Vec<String>,
    counted: Totals,
    /// Passed, failed and skipped tests in the statistics of the whole run.
    stated: Option<[Option<u64>; 3]>,
}

impl Robot {
    /// The status of the open test itself, not that of a keyword in it.
    fn test_status(&mut self, element: &Element) {
        let in_test = self.inside.last().is_some_and(|parent| parent == "test");
        let Some((gathered, status)) = self.open.as_mut().filter(|_| in_test) else {
            return;
        };
        *status = match element.text("status") {
            "PASS" => Some(Status::Passed),
            "FAIL" => Some(Status::Failed),
            "SKIP" | "NOT RUN" => Some(Status::Skipped),
            _ => None,
        };
        gathered.seconds = match element.get("elapsed") {
            Some(elapsed) => seconds(elapsed),
            None => span(element.text("starttime"), element.text("endtime")),
        };
    }
}

/// The seconds between two times of one day written as `20260101 10:20:30.400`.
fn span(start: &str, end: &str) -> Option<f64> {
    let (day, start) = start.split_once(' ')?;
    let (same_day, end) = end.split_once(' ')?;
    let seconds = clock(end)? - clock(start)?;
    (day == same_day && seconds >= 0.0).then_some(seconds)
}

impl Document for Robot {
    fn start(&mut self, element: &Element, _sink: &mut dyn Sink) {
        match element.name.as_str() {
            "suite" => self.suites.push(element.text("name").to_owned()),
            "test" if self.open.is_none() => {
                let gathered = Gathered {
                    suite: self.suites.join("."),
                    name: element.text("name").to_owned(),
                    ..Gathered::default()
                };
                self.open = Some((gathered, None));
            }
            "status" => self.test_status(element),
            // The first total with skips is that of all tests.
            "stat"
                if self.stated.is_none()
                    && self.inside.last().is_some_and(|parent| parent == "total") =>
            {
                self.stated = Some(["pass", "fail", "skip"].map(|name| element.count(name)));
            }
            _ => {}
        }
        self.inside.push(element.name.clone());
    }

    fn text(&mut self, text: &str) {
        let Some((gathered, _)) = &mut self.open else {
            return;
        };
        match self.inside.as_slice() {
            [.., parent, status] if parent == "test" && status == "status" => {
                gathered.details.push(text)
            }
            [.., last] if last == "msg" => {
                gathered.output.push(text);
                gathered.output.push("\n");
            }
            _ => {}
        }
    }

    fn end(&mut self, name: &str, sink: &mut dyn Sink) {
        self.inside.pop();
        match name {
            "suite" => {
                self.suites.pop();
            }
            "test" => {
                if let Some((gathered, status)) = self.open.take() {
                    match status {
                        Some(status) => super::count(&mut self.counted, status),
                        None => self.counted.tests += 1,
                    }
                    sink.case(gathered.into_case(status));
                }
            }
            _ => {}
        }
    }

    fn finish(self: Box<Self>, end: End, _sink: &mut dyn Sink) -> Summary {
        let counted = self.counted;
        let mut summary = Summary::counted("Robot Framework output", counted, end);
        match (end, self.stated) {
            (End::Proper, Some([passed, failed, skipped])) => summary.compare(&[
                ("passed", passed, counted.passed),
                ("failed", failed, counted.failed),
                ("skipped", skipped, counted.skipped),
            ]),
            (End::Proper, None) => {
                summary.missing = true;
                summary.problems.push(
                    "The report has no statistics, so the run did not end \
                     properly."
                        .into(),
                );
            }
            (End::Cut, _) => {}
        }
        summary
    }
}
