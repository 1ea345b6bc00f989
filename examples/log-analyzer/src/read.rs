//! Recognising a file and reading it.

use std::io::BufRead;

use crate::formats::{json, lines, xml};
use crate::model::{Completeness, Dialect, Outcome, Problem, Sink};
use crate::text::{Encoding, Text};

/// Bytes of text that are looked at first to recognise a file.
const HEAD: usize = 64 * 1024;

/// Bytes of text that are looked at while nothing is recognised: some reporters write to standard
/// output, after everything that the tests printed.
const LONGEST_HEAD: usize = 4 * 1024 * 1024;

/// The families of formats, told apart by what a file begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Xml,
    Json,
    Lines,
}

/// Reads a report or log, whatever it is, and gives its cases to `sink`.
///
/// It never fails: a file that cannot be read to its end gives what was read, says so in
/// [`Outcome::problems`] and is [`Completeness::Incomplete`].
pub fn open(mut input: impl BufRead, sink: &mut dyn Sink) -> Outcome {
    let mut text = Text::new(&mut input);
    let head = text.peek(HEAD);
    if head.len() < HEAD && is_blank(head) {
        return nothing(&text);
    }
    let mut outcome = match recognise(&mut text) {
        Format::Xml => xml::read(&mut text, sink),
        Format::Json => json::read(&mut text, sink),
        Format::Lines => lines::read(&mut text, sink),
    };
    add_facts(&text, &mut outcome);
    outcome
}

fn recognise(text: &mut Text<'_>) -> Format {
    let mut size = HEAD;
    loop {
        let head = text.peek(size);
        if let Some(format) = recognise_head(head) {
            return format;
        }
        if head.len() < size || size >= LONGEST_HEAD {
            return Format::Lines;
        }
        size *= 4;
    }
}

/// What may come before and after everything.
fn blank(c: char) -> bool {
    c.is_whitespace() || c == '\u{feff}' || c == '\0'
}

fn is_blank(text: &str) -> bool {
    text.chars().all(blank)
}

fn recognise_head(head: &str) -> Option<Format> {
    let start =
        head.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}' || c == '\0');
    if xml::begins(start) {
        return Some(Format::Xml);
    }
    if json::recognises(start) {
        return Some(Format::Json);
    }
    if lines::recognises(start) {
        return Some(Format::Lines);
    }
    xml::begins_within(start).then_some(Format::Xml)
}

fn nothing(text: &Text<'_>) -> Outcome {
    let mut outcome = Outcome {
        dialect: Dialect::Unknown,
        totals: None,
        completeness: Completeness::Incomplete,
        problems: Vec::new(),
    };
    if text.facts().failure.is_none() {
        outcome.problems.push(Problem(format!(
            "The file is empty ({} bytes, without a visible character): the run ended before \
             anything was written.",
            text.facts().bytes
        )));
    }
    add_facts(text, &mut outcome);
    outcome
}

/// Says what was found out about the bytes.
fn add_facts(text: &Text<'_>, outcome: &mut Outcome) {
    let facts = text.facts();
    if let Some(error) = &facts.failure {
        outcome.completeness = Completeness::Incomplete;
        outcome.problems.push(Problem(format!(
            "Reading failed after {} bytes ({error}); what follows is missing.",
            facts.bytes
        )));
    }
    if facts.undecodable > 0 && !facts.declares_latin1 {
        let (what, how) = match facts.encoding {
            Encoding::Utf8 => ("bytes that are not UTF-8", "read as Latin-1"),
            Encoding::Utf16LittleEndian | Encoding::Utf16BigEndian => {
                ("code units that are not UTF-16", "replaced")
            }
        };
        outcome.problems.push(Problem(format!(
            "The file has {} {what}; they were {how}.",
            facts.undecodable
        )));
    }
}
