//! The own XML of C and C++ test tools: Check, Catch2, doctest and CTest's `Test.xml`.

use super::case::{Gathered, Kept, seconds};
use super::{Document, End, Summary};
use crate::model::{Sink, Status, Totals};
use crate::xml::Element;

/// Which tool wrote the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tool {
    /// libcheck: `<testsuites>` with `<suite>` and `<test>`.
    Check,
    /// Catch and Catch2.
    Catch,
    /// doctest.
    Doctest,
    /// CTest's dashboard format.
    CTest,
}

impl Tool {
    /// The tool whose report begins with this element.
    pub(super) fn of_root(root: &Element) -> Option<Self> {
        match root.name.as_str() {
            "testsuites" if root.text("xmlns").contains("check.sourceforge.net") => {
                Some(Self::Check)
            }
            "Catch" | "Catch2TestRun" => Some(Self::Catch),
            "doctest" => Some(Self::Doctest),
            "Site" => Some(Self::CTest),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Check => "Check XML",
            Self::Catch => "Catch2 XML",
            Self::Doctest => "doctest XML",
            Self::CTest => "CTest XML",
        }
    }

    fn test_element(self) -> &'static str {
        match self {
            Self::Check => "test",
            Self::Catch | Self::Doctest => "TestCase",
            Self::CTest => "Test",
        }
    }
}

#[derive(Debug, Default)]
struct Test {
    gathered: Gathered,
    status: Option<Status>,
    /// The measurement that a value belongs to.
    measurement: String,
}

/// A document of one of these tools.
#[derive(Debug)]
pub(super) struct Native {
    tool: Tool,
    open: Option<Test>,
    suite: String,
    inside: Vec<String>,
    text: Kept,
    counted: Totals,
    stated: Option<Totals>,
    /// Tests whose outcome is not told.
    unclear: u64,
}

impl Native {
    pub(super) fn new(tool: Tool) -> Self {
        Self {
            tool,
            open: None,
            suite: String::new(),
            inside: Vec::new(),
            text: Kept::default(),
            counted: Totals::default(),
            stated: None,
            unclear: 0,
        }
    }

    fn start_test(&mut self, element: &Element) {
        let status = match self.tool {
            Tool::Check => match element.text("result") {
                "success" => Some(Status::Passed),
                "failure" => Some(Status::Failed),
                "error" => Some(Status::Errored),
                _ => None,
            },
            Tool::CTest => match element.get("Status") {
                Some("passed") => Some(Status::Passed),
                Some("failed" | "notrun") => Some(Status::Failed),
                // An entry of the list of tests.
                _ => return,
            },
            Tool::Doctest if element.text("skipped") == "true" => Some(Status::Skipped),
            Tool::Doctest | Tool::Catch => None,
        };
        let gathered = Gathered {
            suite: self.suite.clone(),
            name: element.text("name").trim().to_owned(),
            ..Gathered::default()
        };
        self.open = Some(Test {
            gathered,
            status,
            measurement: String::new(),
        });
    }

    /// The result of a test and the totals of the run, which are attributes of these elements.
    fn result(&mut self, element: &Element) {
        let count = |name| element.count(name).unwrap_or(0);
        match (element.name.as_str(), &mut self.open) {
            ("OverallResult", Some(test)) => {
                test.status = match (element.text("success"), count("skips")) {
                    ("true", 1..) => Some(Status::Skipped),
                    ("true", _) => Some(Status::Passed),
                    _ => Some(Status::Failed),
                };
                test.gathered.seconds = element.get("durationInSeconds").and_then(seconds);
            }
            ("OverallResultsAsserts", Some(test)) => {
                test.status = match element.text("test_case_success") {
                    "true" => Some(Status::Passed),
                    _ => Some(Status::Failed),
                };
                test.gathered.seconds = element.get("duration").and_then(seconds);
            }
            ("OverallResultsCases", None) => {
                let passed = count("successes") + count("expectedFailures");
                self.stated = Some(totals(passed, count("failures"), count("skips")));
            }
            ("OverallResultsTestCases", None) => {
                self.stated = Some(totals(
                    count("successes"),
                    count("failures"),
                    count("skipped"),
                ));
            }
            _ => {}
        }
    }

    /// The text of an element in a test.
    fn field(&mut self, name: &str, text: Kept) {
        let Some(test) = &mut self.open else {
            if self.tool == Tool::Check && name == "title" {
                self.suite = text.into_text();
            }
            return;
        };
        let gathered = &mut test.gathered;
        match (self.tool, name) {
            (Tool::Check, "id") | (Tool::CTest, "Name") => gathered.name = text.into_text(),
            (Tool::Check, "duration") => gathered.seconds = seconds(text.head()),
            (Tool::CTest, "Value") => match test.measurement.as_str() {
                "Execution Time" => gathered.seconds = seconds(text.head()),
                "Completion Status" | "Exit Value" | "Exit Code" => {
                    let value = text.into_text();
                    if value == "Disabled" || value.starts_with("SKIP_") {
                        test.status = Some(Status::Skipped);
                    }
                    if test.measurement != "Exit Value" && value != "Completed" {
                        gathered.add_message(&value);
                    }
                }
                "" => gathered.output.push(&text.into_text()),
                _ => {}
            },
            (Tool::Check, "message")
            | (
                Tool::Catch | Tool::Doctest,
                "Original" | "Expanded" | "Exception" | "Failure" | "Message" | "Info" | "Text",
            ) => {
                gathered.details.push(text.into_text().trim());
                gathered.details.push("\n");
            }
            _ => {}
        }
    }

    fn end_test(&mut self, sink: &mut dyn Sink) {
        let Some(test) = self.open.take() else { return };
        match test.status {
            Some(status) => super::count(&mut self.counted, status),
            None => {
                self.counted.tests += 1;
                self.unclear += 1;
            }
        }
        sink.case(test.gathered.into_case(test.status));
    }
}

fn totals(passed: u64, failed: u64, skipped: u64) -> Totals {
    Totals {
        tests: passed + failed + skipped,
        passed,
        failed,
        errored: 0,
        skipped,
    }
}

impl Document for Native {
    fn start(&mut self, element: &Element, _sink: &mut dyn Sink) {
        self.text = Kept::default();
        match (element.name.as_str(), &mut self.open) {
            (name, None) if name == self.tool.test_element() => self.start_test(element),
            ("TestSuite", None) => self.suite = element.text("name").to_owned(),
            ("NamedMeasurement", Some(test)) => test.measurement = element.text("name").to_owned(),
            ("Measurement", Some(test)) => test.measurement.clear(),
            _ => self.result(element),
        }
        self.inside.push(element.name.clone());
    }

    fn text(&mut self, text: &str) {
        self.text.push(text);
    }

    fn end(&mut self, name: &str, sink: &mut dyn Sink) {
        self.inside.pop();
        let text = std::mem::take(&mut self.text);
        if name == self.tool.test_element() {
            self.end_test(sink);
        } else {
            self.field(name, text);
        }
    }

    fn finish(self: Box<Self>, end: End, _sink: &mut dyn Sink) -> Summary {
        // The statistics come last and are of the whole run, also of what is not listed.
        let totals = self.stated.unwrap_or(self.counted);
        let mut summary = Summary::counted(self.tool.name(), totals, end);
        let states = matches!(self.tool, Tool::Catch | Tool::Doctest);
        if end == End::Proper && states && self.stated.is_none() {
            summary.missing = true;
            summary.problems.push(
                "The report has no totals at its end, so the run did not end properly.".into(),
            );
        }
        if self.unclear > 0 {
            summary.missing |= self.stated.is_none();
            summary.problems.push(format!(
                "{} tests have no outcome in the report.",
                self.unclear
            ));
        }
        if self.tool == Tool::CTest && totals.tests == 0 {
            summary.totals = None;
        }
        if self
            .stated
            .is_some_and(|stated| stated.failed != self.counted.failed)
        {
            summary.problems.push(format!(
                "The report states {} failed tests, but lists {}; the totals are those that it \
                 states.",
                totals.failed, self.counted.failed
            ));
        }
        summary
    }
}
