//! TestNG's own `testng-results.xml`.

use super::case::Gathered;
use super::{Document, End, Summary};
use crate::model::{Sink, Status, Totals};
use crate::xml::Element;

/// A TestNG document.
#[derive(Debug, Default)]
pub(super) struct TestNg {
    stated: Option<Element>,
    class: String,
    open: Option<Method>,
    inside: Vec<String>,
    counted: Totals,
    /// Attempts that were repeated, where the report marks them.
    retried: u64,
}

#[derive(Debug)]
struct Method {
    gathered: Gathered,
    status: Option<Status>,
    role: Role,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Test,
    /// Sets something up or takes it down.
    Configuration,
    /// An attempt of a test that ran again.
    Retried,
}

impl TestNg {
    fn start_method(&mut self, element: &Element) {
        let role = match (element.text("is-config"), element.text("retried")) {
            ("true", _) => Role::Configuration,
            (_, "true") => Role::Retried,
            _ => Role::Test,
        };
        let status = match element.text("status") {
            "PASS" | "SUCCESS_PERCENTAGE_FAILURE" => Some(Status::Passed),
            "FAIL" => Some(Status::Failed),
            "SKIP" => Some(Status::Skipped),
            _ => None,
        };
        let milliseconds: Option<f64> = element
            .get("duration-ms")
            .and_then(|text| text.parse().ok());
        self.open = Some(Method {
            gathered: Gathered {
                suite: self.class.clone(),
                name: element.text("name").to_owned(),
                seconds: milliseconds.map(|milliseconds| milliseconds / 1000.0),
                ..Gathered::default()
            },
            status,
            role,
        });
    }

    fn end_method(&mut self, sink: &mut dyn Sink) {
        let Some(method) = self.open.take() else {
            return;
        };
        match (method.role, method.status) {
            (Role::Configuration, Some(Status::Failed)) => {
                self.counted.errored += 1;
                sink.case(method.gathered.into_case(Some(Status::Errored)));
            }
            (Role::Configuration, _) => {}
            (Role::Retried, _) => self.retried += 1,
            (Role::Test, Some(status)) => {
                super::count(&mut self.counted, status);
                sink.case(method.gathered.into_case(Some(status)));
            }
            (Role::Test, None) => {
                self.counted.tests += 1;
                sink.case(method.gathered.into_case(None));
            }
        }
    }
}

impl Document for TestNg {
    fn start(&mut self, element: &Element, _sink: &mut dyn Sink) {
        match element.name.as_str() {
            "testng-results" if self.inside.is_empty() => self.stated = Some(element.clone()),
            "class" => self.class = element.text("name").to_owned(),
            "test-method" => self.start_method(element),
            "exception" => {
                if let Some(method) = &mut self.open {
                    method.gathered.message = None;
                    method.gathered.details.push(element.text("class"));
                    method.gathered.details.push("\n");
                }
            }
            _ => {}
        }
        self.inside.push(element.name.clone());
    }

    fn text(&mut self, text: &str) {
        let Some(method) = &mut self.open else { return };
        match self.inside.last().map(String::as_str) {
            Some("message") => {
                method.gathered.add_message(text);
                method.gathered.details.push(text);
            }
            Some("full-stacktrace" | "short-stacktrace") => method.gathered.details.push(text),
            Some("line") => method.gathered.output.push(text),
            _ => {}
        }
    }

    fn end(&mut self, name: &str, sink: &mut dyn Sink) {
        self.inside.pop();
        if name == "test-method" {
            self.end_method(sink);
        }
    }

    fn finish(self: Box<Self>, end: End, _sink: &mut dyn Sink) -> Summary {
        let counted = self.counted;
        let mut summary = Summary::counted("TestNG results", counted, end);
        if let (Some(root), End::Proper) = (&self.stated, end) {
            // Ignored tests and repeated attempts are in the stated total, but are no results.
            let beside = root.count("ignored").unwrap_or(0) + self.retried;
            let total = root
                .count("total")
                .filter(|total| *total != counted.tests + beside);
            summary.compare(&[
                ("tests", total, counted.tests),
                ("passed", root.count("passed"), counted.passed),
                ("failed", root.count("failed"), counted.failed),
                ("skipped", root.count("skipped"), counted.skipped),
            ]);
        }
        summary
    }
}
