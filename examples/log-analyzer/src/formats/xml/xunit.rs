//! xUnit.net's XML, versions 1 (`<assembly>`) to 3 (`<assemblies>`).

use super::case::{Gathered, seconds};
use super::{Document, End, Summary};
use crate::model::{Sink, Status, Totals};
use crate::xml::Element;

/// An xUnit.net document.
#[derive(Debug, Default)]
pub(super) struct XUnit {
    stated: [Option<u64>; 5],
    open: Option<(Gathered, Option<Status>)>,
    /// An error outside of the tests.
    error: Option<Gathered>,
    inside: Vec<String>,
    counted: Totals,
}

const STATED: [&str; 5] = ["total", "passed", "failed", "skipped", "errors"];

impl XUnit {
    fn start_test(&mut self, test: &Element) {
        let status = match test.text("result") {
            "Pass" => Some(Status::Passed),
            "Fail" => Some(Status::Failed),
            "Skip" | "NotRun" => Some(Status::Skipped),
            _ => None,
        };
        self.open = Some((
            Gathered {
                suite: test.text("type").to_owned(),
                name: test.text("name").to_owned(),
                seconds: test.get("time").and_then(seconds),
                ..Gathered::default()
            },
            status,
        ));
    }

    /// What texts belong to.
    fn current(&mut self) -> Option<&mut Gathered> {
        match &mut self.open {
            Some((gathered, _)) => Some(gathered),
            None => self.error.as_mut(),
        }
    }
}

impl Document for XUnit {
    fn start(&mut self, element: &Element, _sink: &mut dyn Sink) {
        match element.name.as_str() {
            "assembly" => {
                for (sum, name) in self.stated.iter_mut().zip(STATED) {
                    if let Some(count) = element.count(name) {
                        *sum = Some(sum.unwrap_or(0).saturating_add(count));
                    }
                }
                if let (Some(skipped), Some(not_run)) =
                    (&mut self.stated[3], element.count("not-run"))
                {
                    *skipped = skipped.saturating_add(not_run);
                }
            }
            "test" => self.start_test(element),
            "error" if self.open.is_none() => {
                let name = [element.text("type"), element.text("name")].join(" ");
                self.error = Some(Gathered {
                    name: name.trim().to_owned(),
                    ..Gathered::default()
                });
            }
            _ => {}
        }
        self.inside.push(element.name.clone());
    }

    fn text(&mut self, text: &str) {
        let inside = self.inside.last().cloned();
        let Some(gathered) = self.current() else {
            return;
        };
        match inside.as_deref() {
            Some("message" | "stack-trace" | "reason") => gathered.details.push(text),
            Some("output") => gathered.output.push(text),
            _ => {}
        }
    }

    fn end(&mut self, name: &str, sink: &mut dyn Sink) {
        self.inside.pop();
        match name {
            "message" => {
                if let Some(gathered) = self.current() {
                    gathered.details.push("\n");
                }
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
            "error" => {
                if let Some(error) = self.error.take() {
                    self.counted.errored += 1;
                    sink.case(error.into_case(Some(Status::Errored)));
                }
            }
            _ => {}
        }
    }

    fn finish(self: Box<Self>, end: End, _sink: &mut dyn Sink) -> Summary {
        let counted = self.counted;
        let mut summary = Summary::counted("xUnit.net XML", counted, end);
        if end == End::Proper {
            let [total, passed, failed, skipped, errors] = self.stated;
            summary.compare(&[
                ("tests", total, counted.tests),
                ("passed", passed, counted.passed),
                ("failed", failed, counted.failed),
                ("skipped", skipped, counted.skipped),
                ("errors", errors, counted.errored),
            ]);
        }
        summary
    }
}
