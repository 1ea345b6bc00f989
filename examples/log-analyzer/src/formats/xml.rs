//! Reports in XML: finding the documents in a text, and what was wrong with the markup.
//!
//! Each kind of report has a module that implements [`Document`]; the dialects of JUnit XML are in
//! [`junit`].

pub(crate) mod case;
mod cppunit;
mod junit;
mod native;
mod nunit;
mod robot;
mod testng;
mod trx;
mod xunit;

use crate::model::{Completeness, Dialect, Outcome, Problem, Sink, Status, Totals};
use crate::text::{Encoding, Text};
use crate::xml::{Damage, Element, Scanner, Token};

/// One document, while it is read.
trait Document {
    /// An element begins; the outermost one comes first.
    fn start(&mut self, element: &Element, sink: &mut dyn Sink);
    /// A piece of the text in the element that began last.
    fn text(&mut self, text: &str);
    /// A comment.
    fn comment(&mut self, _comment: &str) {}
    /// An element ends.
    fn end(&mut self, name: &str, sink: &mut dyn Sink);
    /// The document is over, or breaks off.
    fn finish(self: Box<Self>, end: End, sink: &mut dyn Sink) -> Summary;
}

/// How a document ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// With its last end tag.
    Proper,
    /// In the middle.
    Cut,
}

/// What one document says.
#[derive(Debug, Default)]
struct Summary {
    /// What the document is; empty where that is not known.
    dialect: String,
    totals: Option<Totals>,
    /// Whether something is missing although the document ends properly.
    missing: bool,
    problems: Vec<String>,
}

/// Elements that a report has as its outermost one.
const ROOTS: [&str; 13] = [
    "testsuites",
    "testsuite",
    "TestRun",
    "test-results",
    "test-run",
    "testng-results",
    "assemblies",
    "assembly",
    "robot",
    "Catch",
    "Catch2TestRun",
    "doctest",
    "Site",
];

fn is_root(name: &str) -> bool {
    ROOTS.contains(&name.rsplit(':').next().unwrap_or(name))
}

/// Whether `head`, the beginning of a text, begins an XML document.
pub(crate) fn begins(head: &str) -> bool {
    head.starts_with("<?xml")
        || !head.is_empty() && "<?xml".starts_with(head)
        || head.starts_with("<!DOCTYPE")
        || head.starts_with("<!--")
        || begins_root(head)
}

/// Whether an XML report, or a part of one, begins somewhere in `head`. Logs hold markup too, so
/// only what nothing but a report has is taken for one.
pub(crate) fn begins_within(head: &str) -> bool {
    head.match_indices('<').any(|(at, _)| {
        let markup = &head[at..];
        let junit = ["<testsuites>", "<testsuites ", "<testsuite ", "<testcase "];
        junit.iter().any(|start| markup.starts_with(start)) || begins_declared_root(markup)
    })
}

/// Whether `markup` is a declaration and then the outermost element of a report.
fn begins_declared_root(markup: &str) -> bool {
    markup.starts_with("<?xml ")
        && markup
            .split_once("?>")
            .is_some_and(|(_, rest)| begins_root(rest.trim_start()))
}

fn begins_root(text: &str) -> bool {
    let Some(tag) = text.strip_prefix('<') else {
        return false;
    };
    let end = tag.find(|c: char| c.is_whitespace() || c == '>' || c == '/');
    is_root(end.map_or(tag, |end| &tag[..end]))
}

/// Reads the whole text and gives its cases to `sink`.
pub(crate) fn read(text: &mut Text<'_>, sink: &mut dyn Sink) -> Outcome {
    let mut reading = Reading::default();
    let mut scanner = Scanner::new(text, is_root);
    while let Some(token) = scanner.next() {
        reading.take(token, sink);
    }
    let damage = scanner.damage().clone();
    let declared = scanner.declared_encoding().map(str::to_owned);
    if declared.as_deref().is_some_and(is_latin1) {
        text.note_latin1();
    }
    reading.outcome(&damage, declared.as_deref(), text)
}

/// All documents of a text.
#[derive(Default)]
struct Reading {
    document: Option<Box<dyn Document>>,
    depth: usize,
    summaries: Vec<Summary>,
    foreign: Option<String>,
}

impl Reading {
    fn take(&mut self, token: Token, sink: &mut dyn Sink) {
        match token {
            Token::Start(element) => {
                self.depth += 1;
                self.document
                    .get_or_insert_with(|| document(&element))
                    .start(&element, sink);
            }
            Token::Cut => self.close(End::Cut, sink),
            Token::Foreign(name) => self.foreign = Some(name),
            Token::End(name) => self.end(&name, sink),
            Token::Text(text) => {
                if let Some(document) = &mut self.document {
                    document.text(&text);
                }
            }
            Token::Comment(comment) => {
                if let Some(document) = &mut self.document {
                    document.comment(&comment);
                }
            }
        }
    }

    fn end(&mut self, name: &str, sink: &mut dyn Sink) {
        self.depth = self.depth.saturating_sub(1);
        if let Some(document) = &mut self.document {
            document.end(name, sink);
        }
        if self.depth == 0 {
            self.close(End::Proper, sink);
        }
    }

    fn close(&mut self, end: End, sink: &mut dyn Sink) {
        self.depth = 0;
        if let Some(document) = self.document.take() {
            self.summaries.push(document.finish(end, sink));
        }
    }

    fn outcome(self, damage: &Damage, declared: Option<&str>, text: &Text<'_>) -> Outcome {
        if let Some(name) = self.foreign {
            return unknown(format!(
                "This is XML with <{name}> as its outermost element, which is no test report \
                 that is known here."
            ));
        }
        let Some(first) = self.summaries.first() else {
            return unknown(
                "No report begins in this file, although it has markup like one; its \
             beginning or all of it is missing."
                    .into(),
            );
        };
        let mut outcome = Outcome {
            dialect: match first.dialect.as_str() {
                "" => Dialect::Unknown,
                dialect => Dialect::Known(dialect.to_owned()),
            },
            totals: self
                .summaries
                .iter()
                .filter_map(|summary| summary.totals)
                .reduce(add),
            completeness: Completeness::Complete,
            problems: Vec::new(),
        };
        if damage.cut.is_some() || self.summaries.iter().any(|summary| summary.missing) {
            outcome.completeness = Completeness::Incomplete;
        }
        let mut say = |sentence: String| {
            let problem = Problem(sentence);
            if !outcome.problems.contains(&problem) {
                outcome.problems.push(problem);
            }
        };
        if let Some(place) = &damage.cut {
            say(format!(
                "The report breaks off {place}: what follows is missing."
            ));
        }
        if self.summaries.len() > 1 {
            say(format!(
                "The file holds {} documents one after another; they were read as one report.",
                self.summaries.len()
            ));
        }
        self.summaries
            .iter()
            .flat_map(|summary| &summary.problems)
            .cloned()
            .for_each(&mut say);
        markup_problems(damage).into_iter().for_each(&mut say);
        encoding_problem(text, declared)
            .into_iter()
            .for_each(&mut say);
        outcome
    }
}

/// The reader for the document whose outermost element is this one.
fn document(root: &Element) -> Box<dyn Document> {
    if let Some(tool) = native::Tool::of_root(root) {
        return Box::new(native::Native::new(tool));
    }
    match root.name.as_str() {
        "TestRun" if root.get("xmlns").is_some() || root.get("id").is_some() => {
            Box::<trx::Trx>::default()
        }
        "TestRun" => Box::<cppunit::CppUnit>::default(),
        "test-results" | "test-run" => Box::<nunit::NUnit>::default(),
        "testng-results" => Box::<testng::TestNg>::default(),
        "assemblies" | "assembly" => Box::<xunit::XUnit>::default(),
        "robot" => Box::<robot::Robot>::default(),
        _ => Box::<junit::JUnit>::default(),
    }
}

fn unknown(problem: String) -> Outcome {
    Outcome {
        dialect: Dialect::Unknown,
        totals: None,
        completeness: Completeness::Incomplete,
        problems: vec![Problem(problem)],
    }
}

fn add(one: Totals, other: Totals) -> Totals {
    Totals {
        tests: one.tests + other.tests,
        passed: one.passed + other.passed,
        failed: one.failed + other.failed,
        errored: one.errored + other.errored,
        skipped: one.skipped + other.skipped,
    }
}

/// What was repaired in the markup, in sentences.
fn markup_problems(damage: &Damage) -> Vec<String> {
    let counted = [
        (
            damage.control_characters,
            "control characters that XML forbids",
        ),
        (
            damage.forbidden_references,
            "references to characters that XML forbids",
        ),
        (damage.unescaped, "unescaped \"<\" or \"&\""),
        (damage.section_ends, "\"]]>\" in text"),
        (damage.quotes, "attributes that are not quoted properly"),
        (damage.unclosed, "elements without an end tag"),
        (damage.unopened, "end tags of elements that are not open"),
        (
            damage.too_deep,
            "elements nested too deeply, which were left out",
        ),
    ];
    let mut found: Vec<String> = counted
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{what} ({count})"))
        .collect();
    if damage.text_outside {
        found.push("text before or after the report".into());
    }
    if found.is_empty() {
        return Vec::new();
    }
    vec![format!(
        "The file is not well-formed XML and was repaired: {}.",
        found.join(", ")
    )]
}

/// Whether an encoding is Latin-1, or so near that its bytes are read as they are meant.
fn is_latin1(encoding: &str) -> bool {
    let encoding = encoding.to_ascii_lowercase();
    [
        "iso-8859-1",
        "iso_8859-1",
        "latin1",
        "latin-1",
        "windows-1252",
        "cp1252",
    ]
    .contains(&encoding.as_str())
}

/// What is wrong when the declaration names another encoding than the bytes have.
fn encoding_problem(text: &Text<'_>, declared: Option<&str>) -> Option<String> {
    let declared = declared?;
    let facts = text.facts();
    let name = declared.to_ascii_lowercase();
    let wide = name.starts_with("utf-16") || name.starts_with("utf16");
    let differs = |actual: &str| {
        Some(format!(
            "The file declares the encoding {declared}, but its bytes are {actual}; it was read \
             as {actual}."
        ))
    };
    match facts.encoding {
        Encoding::Utf16LittleEndian | Encoding::Utf16BigEndian if wide => None,
        Encoding::Utf16LittleEndian | Encoding::Utf16BigEndian => differs("UTF-16"),
        Encoding::Utf8 if ["utf-8", "utf8"].contains(&name.as_str()) => None,
        Encoding::Utf8 if wide => differs("UTF-8"),
        // Of ASCII alone no other narrow encoding is wrong.
        Encoding::Utf8 if facts.undecodable == 0 && facts.beyond_ascii => differs("UTF-8"),
        Encoding::Utf8 if facts.undecodable == 0 || is_latin1(declared) => None,
        Encoding::Utf8 => Some(format!(
            "The file declares the encoding {declared}, which is not supported; names and \
             messages may be garbled, the counts are not affected."
        )),
    }
}

/// Adds a test to the totals.
fn count(totals: &mut Totals, status: Status) {
    totals.tests += 1;
    *match status {
        Status::Passed => &mut totals.passed,
        Status::Failed => &mut totals.failed,
        Status::Errored => &mut totals.errored,
        Status::Skipped => &mut totals.skipped,
    } += 1;
}

impl Summary {
    /// Totals that are those of the cases; `None` where a document breaks off before the first.
    fn counted(dialect: &str, totals: Totals, end: End) -> Self {
        let mut summary = Self {
            dialect: dialect.to_owned(),
            totals: (end == End::Proper || totals != Totals::default()).then_some(totals),
            ..Self::default()
        };
        if end == End::Cut && summary.totals.is_some() {
            summary.problems.push(format!(
                "The totals cover only the {} tests before the report breaks off.",
                totals.tests
            ));
        }
        summary
    }

    /// Says which numbers the document states are not those of its cases: what is counted, what it
    /// states and what was found.
    fn compare(&mut self, numbers: &[(&str, Option<u64>, u64)]) {
        let differences: Vec<String> = numbers
            .iter()
            .filter_map(|(what, stated, found)| {
                let stated = (*stated)?;
                (stated != *found).then(|| format!("{stated} {what} (found {found})"))
            })
            .collect();
        self.missing |= numbers.iter().any(|(what, stated, found)| {
            *what == "tests" && stated.is_some_and(|stated| stated > *found)
        });
        if !differences.is_empty() {
            self.problems.push(format!(
                "The report states {}, which its cases do not bear out; the totals are those of \
                 the cases.",
                differences.join(", ")
            ));
        }
    }
}
