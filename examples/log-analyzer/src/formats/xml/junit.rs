//! JUnit XML in its many dialects.
//!
//! [`JUnit`] gathers suites and cases; [`producer`] tells who wrote the report, [`rules`] has what
//! each producer's report means. Counts in attributes are compared with the cases, and a difference
//! that no rule explains is said.

mod producer;
mod rules;

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::case::{Gathered, Kept, seconds, shown};
use super::{Document, End, Summary, add};
use crate::model::{Case, Sink, Status, Totals};
use crate::xml::Element;
use producer::Producer;

/// Counts that a report states in the attributes of an element.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Declared {
    tests: Option<u64>,
    failures: Option<u64>,
    errors: Option<u64>,
    skipped: Option<u64>,
}

impl Declared {
    fn of(element: &Element) -> Self {
        let skipped = ["skipped", "skips", "skip", "ignored"]
            .iter()
            .find_map(|name| element.count(name));
        let disabled = element.count("disabled");
        Self {
            tests: element.count("tests"),
            failures: element.count("failures"),
            errors: element.count("errors"),
            // Disabled tests alone are not all that did not run.
            skipped: skipped.map(|skipped| skipped.saturating_add(disabled.unwrap_or(0))),
        }
    }

    fn add(&mut self, other: Self) {
        let sum = |one: &mut Option<u64>, other: Option<u64>| {
            if let Some(other) = other {
                *one = Some(one.unwrap_or(0).saturating_add(other));
            }
        };
        sum(&mut self.tests, other.tests);
        sum(&mut self.failures, other.failures);
        sum(&mut self.errors, other.errors);
        sum(&mut self.skipped, other.skipped);
    }
}

/// What the elements of the cases say, before any rule.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Tally {
    cases: u64,
    failed: u64,
    errored: u64,
    skipped: u64,
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.cases += other.cases;
        self.failed += other.failed;
        self.errored += other.errored;
        self.skipped += other.skipped;
    }
}

/// An open `<testsuite>`.
#[derive(Debug, Default)]
struct Suite {
    name: String,
    declared: Declared,
    /// Of the cases directly in it.
    tally: Tally,
    /// What the rules made of the cases directly in it.
    counted: Totals,
    /// Cases that the producer does not count as tests.
    beside: u64,
    /// Tests in the binary, as the output of its cases tells.
    in_binary: Option<u64>,
    /// Cases whose name begins with a number.
    numbered: u64,
    /// Cases without a duration.
    untimed: u64,
    /// Test methods seen, where one test may have several cases.
    methods: HashSet<u64>,
    /// The beginning of what was printed in the suite.
    output: Kept,
}

/// The parts of a report that text belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Section {
    /// A failure, an error or a skip.
    Result,
    /// What the test printed.
    Output,
    /// What the suite printed.
    SuiteOutput,
    /// An error of the suite itself.
    SuiteError,
    /// Something else.
    Other,
}

/// An open `<testcase>`.
#[derive(Debug, Default)]
struct Open {
    gathered: Gathered,
    classname: String,
    status: String,
    result: String,
    /// How many failures, errors and skips were in it.
    failures: u64,
    errors: u64,
    skips: u64,
    /// The first word on each: its `type` and `message`.
    failure_type: String,
    error_type: String,
    error_message: String,
    skip_type: Option<String>,
    skip_message: String,
}

/// Cases that belong to one test.
#[derive(Debug, Default)]
struct Group {
    name: String,
    totals: Totals,
}

/// A JUnit XML document.
#[derive(Debug, Default)]
pub(super) struct JUnit {
    producer: Producer,
    /// The outermost element when it is `<testsuites>`.
    root: Option<Element>,
    /// The counts of the outermost element.
    head: Option<Declared>,
    /// The sum of the counts of the outermost suites.
    suites: Declared,
    open_suites: Vec<Suite>,
    case: Option<Open>,
    /// The section that text belongs to, and how deep within it.
    section: Option<(Section, usize)>,
    suite_error: Gathered,
    tally: Tally,
    counted: Totals,
    /// Tests that are known of, but have no case.
    unlisted: u64,
    beside: u64,
    group: Option<Group>,
    /// A case that the next one may change.
    held: Option<Case>,
    /// Failed cases, where a further case of the same name means something.
    failed_names: HashSet<u64>,
    /// Cases that are a second entry of a test.
    second_entries: u64,
    /// Counts in comments at the end.
    comments: rules::Comments,
    begun: bool,
    /// Whether a rule needed output of a suite that was too long to keep.
    unread_output: bool,
    /// An element that such a report does not have on its top level.
    foreign: Option<String>,
}

fn hash(parts: (&str, &str)) -> u64 {
    let mut hasher = DefaultHasher::new();
    parts.hash(&mut hasher);
    hasher.finish()
}

impl JUnit {
    fn recognise(&mut self, producer: Producer) {
        if self.producer == Producer::Unknown {
            self.producer = producer;
        }
    }

    fn start_suite(&mut self, element: &Element) {
        self.recognise(Producer::of_suite(element, self.root.as_ref()));
        let declared = Declared::of(element);
        if self.open_suites.is_empty() {
            self.suites.add(declared);
        }
        self.open_suites.push(Suite {
            name: shown(element.text("name")),
            declared,
            ..Suite::default()
        });
    }

    fn start_case(&mut self, element: &Element) {
        self.recognise(Producer::of_case(element));
        let suite = self
            .open_suites
            .last()
            .map(|suite| suite.name.as_str())
            .unwrap_or_default();
        let classname = element.text("classname");
        let open = Open {
            gathered: Gathered {
                suite: if classname.is_empty() {
                    suite
                } else {
                    classname
                }
                .to_owned(),
                name: element.text("name").to_owned(),
                seconds: element.get("time").and_then(seconds),
                ..Gathered::default()
            },
            classname: classname.to_owned(),
            status: element.text("status").to_ascii_lowercase(),
            result: element.text("result").to_ascii_lowercase(),
            ..Open::default()
        };
        self.case = Some(open);
    }

    /// An element in a case.
    fn start_in_case(&mut self, element: &Element) {
        let Some(case) = &mut self.case else { return };
        let text = |name| element.text(name).to_owned();
        let section = match element.name.as_str() {
            "failure" => {
                if case.failures == 0 {
                    case.failure_type = text("type");
                }
                case.failures += 1;
                Section::Result
            }
            "error" => {
                if case.errors == 0 {
                    case.error_type = text("type");
                    case.error_message = text("message");
                }
                case.errors += 1;
                Section::Result
            }
            "skipped" | "skip" | "ignored" | "pending" | "disabled" | "todo" | "incomplete" => {
                if case.skips == 0 {
                    case.skip_type = element.get("type").map(str::to_owned);
                    case.skip_message = text("message");
                }
                case.skips += 1;
                Section::Result
            }
            "system-out" | "system-err" => Section::Output,
            _ => Section::Other,
        };
        if section == Section::Result {
            case.gathered.add_message(element.text("message"));
            case.gathered.details.separate();
            self.recognise(Producer::of_result(element));
        }
        self.section = Some((section, 0));
    }

    /// An element in a suite that is neither a suite nor a case.
    fn start_in_suite(&mut self, element: &Element) {
        match element.name.as_str() {
            "property" => self.recognise(Producer::of_property(element.text("name"))),
            "properties" => {}
            "system-out" | "system-err" => self.section = Some((Section::SuiteOutput, 0)),
            "error" | "failure" if !self.open_suites.is_empty() => {
                self.suite_error = Gathered {
                    suite: self
                        .open_suites
                        .last()
                        .map(|suite| suite.name.clone())
                        .unwrap_or_default(),
                    name: format!("({})", element.name),
                    ..Gathered::default()
                };
                self.suite_error.add_message(element.text("message"));
                self.section = Some((Section::SuiteError, 0));
            }
            name if self.open_suites.is_empty() => {
                self.foreign.get_or_insert_with(|| name.to_owned());
            }
            _ => {}
        }
    }

    fn end_section(&mut self, section: Section, sink: &mut dyn Sink) {
        self.section = None;
        if section == Section::SuiteError {
            self.tally.errored += 1;
            self.counted.errored += 1;
            let error = std::mem::take(&mut self.suite_error);
            sink.case(error.into_case(Some(Status::Errored)));
        }
    }

    fn end_case(&mut self, sink: &mut dyn Sink) {
        self.section = None;
        let Some(open) = self.case.take() else { return };
        let tally = rules::tally(&open);
        let verdict = self.judge(&open);
        let place = hash((&open.classname, &open.gathered.name));
        if tally.failed > 0 && self.producer == Producer::Pytest {
            self.failed_names.insert(place);
        }
        match self.open_suites.last_mut() {
            Some(suite) => suite.tally.add(tally),
            None => self.tally.add(tally),
        }
        self.count(&open, &verdict);
        self.send(open.gathered.into_case(verdict.status), sink);
    }

    /// Gives a case to the sink, perhaps after the next one is known.
    fn send(&mut self, case: Case, sink: &mut dyn Sink) {
        if self.producer != Producer::MochaXunit {
            sink.case(case);
            return;
        }
        if let Some(before) = self.held.replace(case) {
            let now = self.held.as_ref();
            let again = now.is_some_and(|now| {
                let failed = Some(Status::Failed);
                (now.status, before.status) == (failed, failed)
                    && (&now.suite, &now.name) == (&before.suite, &before.name)
            });
            if again {
                self.passed_before_it_failed();
            }
            sink.case(if again {
                Case {
                    status: Some(Status::Passed),
                    message: None,
                    details: None,
                    ..before
                }
            } else {
                before
            });
        }
    }

    fn end_suite(&mut self, sink: &mut dyn Sink) {
        self.end_case(sink);
        self.end_group();
        let Some(mut suite) = self.open_suites.pop() else {
            return;
        };
        self.settle(&mut suite);
        self.tally.add(suite.tally);
        self.beside += suite.beside;
        self.counted = add(self.counted, suite.counted);
    }
}

impl Document for JUnit {
    fn start(&mut self, element: &Element, sink: &mut dyn Sink) {
        let outermost = !std::mem::replace(&mut self.begun, true);
        if outermost {
            self.head = Some(Declared::of(element));
        }
        match element.name.as_str() {
            "testsuites" if outermost => {
                self.recognise(Producer::of_root(element));
                self.root = Some(element.clone());
            }
            // A suite or case cannot begin within a case: the end of that is missing.
            "testsuite" => {
                self.end_case(sink);
                self.start_suite(element);
            }
            "testcase" => {
                self.end_case(sink);
                self.start_case(element);
            }
            _ => match &mut self.section {
                Some((_, depth)) => *depth += 1,
                None if self.case.is_some() => self.start_in_case(element),
                None => self.start_in_suite(element),
            },
        }
    }

    fn text(&mut self, text: &str) {
        let Some((section, _)) = self.section else {
            return;
        };
        match (section, &mut self.case, self.open_suites.last_mut()) {
            (Section::Result, Some(case), _) => case.gathered.details.push(text),
            (Section::Output, Some(case), _) => case.gathered.output.push(text),
            (Section::SuiteOutput, _, Some(suite)) => suite.output.push(text),
            (Section::SuiteError, ..) => self.suite_error.details.push(text),
            _ => {}
        }
    }

    fn comment(&mut self, comment: &str) {
        if self.case.is_none() && self.open_suites.is_empty() {
            self.comments.read(comment);
        }
    }

    fn end(&mut self, name: &str, sink: &mut dyn Sink) {
        match name {
            "testcase" => self.end_case(sink),
            "testsuite" => self.end_suite(sink),
            "testsuites" => {}
            _ => match self.section {
                Some((section, 0)) => self.end_section(section, sink),
                Some((section, depth)) => self.section = Some((section, depth - 1)),
                None => {}
            },
        }
    }

    fn finish(mut self: Box<Self>, end: End, sink: &mut dyn Sink) -> Summary {
        if end == End::Cut {
            // How the open case ended is not known.
            self.case = None;
        }
        while !self.open_suites.is_empty() {
            if end == End::Cut {
                self.end_group();
                // What a suite states holds for all of it, so a part of it is not compared.
                if let Some(suite) = self.open_suites.last_mut() {
                    suite.declared = Declared::default();
                    suite.in_binary = None;
                }
            }
            self.end_suite(sink);
        }
        self.end_case(sink);
        self.end_group();
        if let Some(case) = self.held.take() {
            sink.case(case);
        }
        self.conclude(end)
    }
}
