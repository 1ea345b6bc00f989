//! NUnit's own XML: `<test-results>` of version 2 and `<test-run>` of version 3.

use super::case::{Gathered, seconds};
use super::{Document, End, Summary};
use crate::model::{Sink, Status, Totals};
use crate::xml::Element;

/// An NUnit document.
#[derive(Debug, Default)]
pub(super) struct NUnit {
    third: bool,
    stated: Vec<(&'static str, Option<u64>, Counter)>,
    open: Option<(Gathered, Status)>,
    inside: Vec<String>,
    suites: Vec<String>,
    counted: Totals,
}

/// Which parts of the totals a stated number is the sum of.
#[derive(Debug, Clone, Copy)]
enum Counter {
    Tests,
    Passed,
    Bad,
    Skipped,
}

impl Counter {
    fn of(self, totals: &Totals) -> u64 {
        match self {
            Self::Tests => totals.tests,
            Self::Passed => totals.passed,
            Self::Bad => totals.failed + totals.errored,
            Self::Skipped => totals.skipped,
        }
    }
}

fn sum(element: &Element, names: &[&str]) -> Option<u64> {
    element.count(names[0])?;
    Some(
        names
            .iter()
            .filter_map(|name| element.count(name))
            .fold(0, u64::saturating_add),
    )
}

/// How a case ended, by its attributes.
fn status(case: &Element) -> Status {
    match (case.text("result"), case.text("label")) {
        ("Success" | "Passed" | "Warning", _) => Status::Passed,
        ("Error", _) | ("Failed", "Error") => Status::Errored,
        ("Failure" | "Failed" | "Cancelled", _) => Status::Failed,
        ("", _) if case.text("executed") == "True" => match case.text("success") {
            "True" => Status::Passed,
            _ => Status::Failed,
        },
        _ => Status::Skipped,
    }
}

impl NUnit {
    fn start_root(&mut self, root: &Element) {
        self.third = root.name == "test-run";
        self.stated = if self.third {
            vec![
                ("tests", root.count("total"), Counter::Tests),
                (
                    "passed",
                    sum(root, &["passed", "warnings"]),
                    Counter::Passed,
                ),
                ("failed", root.count("failed"), Counter::Bad),
                (
                    "skipped or inconclusive",
                    sum(root, &["skipped", "inconclusive"]),
                    Counter::Skipped,
                ),
            ]
        } else {
            vec![
                ("tests", sum(root, &["total", "not-run"]), Counter::Tests),
                (
                    "failures and errors",
                    sum(root, &["failures", "errors"]),
                    Counter::Bad,
                ),
                (
                    "not run or inconclusive",
                    sum(root, &["not-run", "inconclusive"]),
                    Counter::Skipped,
                ),
            ]
        };
    }

    fn start_case(&mut self, case: &Element) {
        let full = case.get("fullname").unwrap_or(case.text("name"));
        let own = case.get("fullname").and(case.get("name"));
        let suite = case
            .get("classname")
            .map(str::to_owned)
            .or_else(|| self.suites.last().cloned())
            .unwrap_or_default();
        let gathered = Gathered {
            name: own.unwrap_or(full).to_owned(),
            suite,
            seconds: case.get("duration").or(case.get("time")).and_then(seconds),
            ..Gathered::default()
        };
        self.open = Some((gathered, status(case)));
    }
}

impl Document for NUnit {
    fn start(&mut self, element: &Element, _sink: &mut dyn Sink) {
        match element.name.as_str() {
            "test-results" | "test-run" if self.inside.is_empty() => self.start_root(element),
            "test-suite" => self.suites.push(element.text("name").to_owned()),
            "test-case" => self.start_case(element),
            _ => {}
        }
        self.inside.push(element.name.clone());
    }

    fn text(&mut self, text: &str) {
        let Some((gathered, _)) = &mut self.open else {
            return;
        };
        match self.inside.last().map(String::as_str) {
            Some("message" | "stack-trace") => gathered.details.push(text),
            Some("output") => gathered.output.push(text),
            _ => {}
        }
    }

    fn end(&mut self, name: &str, sink: &mut dyn Sink) {
        self.inside.pop();
        match (name, &mut self.open) {
            ("message", Some((gathered, _))) => gathered.details.push("\n"),
            ("test-suite", _) => {
                self.suites.pop();
            }
            ("test-case", _) => {
                if let Some((gathered, status)) = self.open.take() {
                    super::count(&mut self.counted, status);
                    sink.case(gathered.into_case(Some(status)));
                }
            }
            _ => {}
        }
    }

    fn finish(self: Box<Self>, end: End, _sink: &mut dyn Sink) -> Summary {
        let dialect = if self.third {
            "NUnit 3 XML"
        } else {
            "NUnit 2 XML"
        };
        let mut summary = Summary::counted(dialect, self.counted, end);
        if end == End::Proper {
            let stated: Vec<_> = self
                .stated
                .iter()
                .map(|(what, stated, counter)| (*what, *stated, counter.of(&self.counted)))
                .collect();
            summary.compare(&stated);
        }
        summary
    }
}
