//! CppUnit's XML: failed and successful tests, then statistics.

use super::case::Gathered;
use super::{Document, End, Summary};
use crate::model::{Sink, Status, Totals};
use crate::xml::{Element, count};

/// A CppUnit document.
#[derive(Debug, Default)]
pub(super) struct CppUnit {
    gathered: Option<Gathered>,
    failed: bool,
    errored: bool,
    /// The text of the innermost element, and its name.
    inside: Vec<String>,
    text: String,
    counted: Totals,
    stated: Stated,
}

#[derive(Debug, Default)]
struct Stated {
    tests: Option<u64>,
    errors: Option<u64>,
    failures: Option<u64>,
}

/// Bytes kept of a name or number.
const SHORT: usize = 4096;

impl CppUnit {
    fn end_test(&mut self, sink: &mut dyn Sink) {
        let Some(gathered) = self.gathered.take() else {
            return;
        };
        let status = match (self.failed, self.errored) {
            (false, _) => Status::Passed,
            (true, false) => Status::Failed,
            (true, true) => Status::Errored,
        };
        super::count(&mut self.counted, status);
        sink.case(gathered.into_case(Some(status)));
    }

    fn statistics(&mut self, name: &str) {
        let number = count(&self.text);
        match name {
            "Tests" => self.stated.tests = number,
            "Errors" => self.stated.errors = number,
            "Failures" => self.stated.failures = number,
            _ => {}
        }
    }
}

impl Document for CppUnit {
    fn start(&mut self, element: &Element, _sink: &mut dyn Sink) {
        self.text.clear();
        if matches!(element.name.as_str(), "FailedTest" | "Test") {
            self.gathered = Some(Gathered::default());
            self.failed = element.name == "FailedTest";
            self.errored = false;
        }
        self.inside.push(element.name.clone());
    }

    fn text(&mut self, text: &str) {
        match (self.inside.last().map(String::as_str), &mut self.gathered) {
            (Some("Message"), Some(gathered)) => gathered.details.push(text),
            _ => {
                crate::text::push_within(&mut self.text, text, SHORT);
            }
        }
    }

    fn end(&mut self, name: &str, sink: &mut dyn Sink) {
        self.inside.pop();
        let text = self.text.trim().to_owned();
        match (name, &mut self.gathered) {
            ("Name", Some(gathered)) => match text.rsplit_once("::") {
                Some((suite, name)) => {
                    (gathered.suite, gathered.name) = (suite.into(), name.into())
                }
                None => gathered.name = text,
            },
            ("FailureType", Some(_)) => self.errored = text == "Error",
            ("FailedTest" | "Test", _) => self.end_test(sink),
            (_, None)
                if self
                    .inside
                    .last()
                    .is_some_and(|parent| parent == "Statistics") =>
            {
                self.statistics(name)
            }
            _ => {}
        }
        self.text.clear();
    }

    fn finish(self: Box<Self>, end: End, _sink: &mut dyn Sink) -> Summary {
        let mut summary = Summary::counted("CppUnit XML", self.counted, end);
        let stated = &self.stated;
        if end == End::Proper {
            summary.compare(&[
                ("tests", stated.tests, self.counted.tests),
                ("failures", stated.failures, self.counted.failed),
                ("errors", stated.errors, self.counted.errored),
            ]);
        }
        summary
    }
}
