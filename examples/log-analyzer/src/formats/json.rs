//! Reports that are one JSON document.
//!
//! JSON lines are logs, see [`lines`](super::lines).

mod cucumber;
mod jest;
mod others;
pub(crate) mod pull;
mod pytest;
mod rspec;

use crate::formats::findings::Findings;
use crate::formats::lines;
use crate::model::{Completeness, Dialect, Outcome, Problem, Sink};
use crate::text::Text;
use pull::{Damage, Event, Pull, Source};

/// Bytes of the beginning that are looked at to tell one report from another.
const HEAD: usize = 256 * 1024;

/// Keys of an unknown document that are named.
const NAMED_KEYS: usize = 8;

/// A kind of report: takes the pieces of a document in order.
trait Report {
    /// The next piece; `pull` knows where it stands.
    fn piece(&mut self, pull: &Pull<'_>, event: Event, sink: &mut dyn Sink);

    /// Draws the conclusion. `end` tells whether the document was read to its end.
    fn finish(self: Box<Self>, end: End, sink: &mut dyn Sink, findings: &mut Findings);
}

/// How far a document could be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Reached,
    Missing,
}

/// Whether the text that begins with `head` is of this family.
pub(crate) fn recognises(head: &str) -> bool {
    let mut characters = head.trim_start().chars();
    match characters.next() {
        Some('{') => !lines::begins_with_json_line(head),
        Some('[') => matches!(
            characters.find(|c| !c.is_whitespace()),
            Some('{' | '[' | ']' | '"') | None
        ),
        _ => false,
    }
}

/// Whether a report begins here, in the middle of other output.
pub(crate) fn report_begins(head: &str) -> bool {
    head.starts_with('{') && choose(head).is_ok()
}

/// Reads the whole text and gives its cases to `sink`.
pub(crate) fn read(text: &mut Text<'_>, sink: &mut dyn Sink) -> Outcome {
    let report = choose(text.peek(HEAD));
    let mut findings = Findings::default();
    match report {
        Ok((name, report)) => {
            findings.name(name);
            read_report(text, report, sink, &mut findings);
        }
        Err(keys) => return unknown(text, &keys),
    }
    findings.into_outcome()
}

/// Reads a report that [`report_begins`] has found.
pub(crate) fn read_within(text: &mut Text<'_>, sink: &mut dyn Sink, findings: &mut Findings) {
    if let Ok((name, report)) = choose(text.peek(HEAD)) {
        findings.name(name);
        read_report(text, report, sink, findings);
    }
}

fn read_report(
    text: &mut Text<'_>,
    mut report: Box<dyn Report>,
    sink: &mut dyn Sink,
    findings: &mut Findings,
) {
    let mut pull = Pull::new(text);
    let damage = loop {
        match pull.next() {
            Ok(Some(event)) => report.piece(&pull, event, sink),
            Ok(None) => break None,
            Err(damage) => break Some(damage),
        }
    };
    let end = match damage {
        None => End::Reached,
        Some(damage) => {
            findings.incomplete(described(damage, text));
            End::Missing
        }
    };
    report.finish(end, sink, findings);
    if end == End::Reached {
        check_rest(text, findings);
    } else {
        pass_rest(text);
    }
}

fn described(damage: Damage, text: &Text<'_>) -> String {
    match damage {
        Damage::Cut => format!(
            "The JSON document is cut off after {} bytes; what follows is missing.",
            text.facts().bytes
        ),
        Damage::Invalid => {
            "The JSON document is damaged in the middle; what follows the damage was not read."
                .into()
        }
        Damage::TooDeep => {
            "The JSON document is nested too deeply; it was read up to that place.".into()
        }
    }
}

/// What follows a document: nothing but blanks, if all is well.
fn check_rest(text: &mut Text<'_>, findings: &mut Findings) {
    let mut first = String::new();
    loop {
        let chunk = text.chunk();
        if chunk.is_empty() {
            break;
        }
        if first.is_empty() {
            first = chunk.trim_start().chars().take(64).collect();
        }
        let length = chunk.len();
        text.pass(length);
    }
    match first.chars().next() {
        None => {}
        Some('{' | '[') => findings.incomplete(
            "A second JSON document follows the first one; only the first one was read.",
        ),
        Some(_) => findings.note("Text follows the JSON document; it was not read."),
    }
}

fn pass_rest(text: &mut Text<'_>) {
    while !text.chunk().is_empty() {
        let length = text.chunk().len();
        text.consume(length);
    }
}

fn unknown(text: &mut Text<'_>, keys: &[String]) -> Outcome {
    pass_rest(text);
    let keys: Vec<String> = keys
        .iter()
        .take(NAMED_KEYS)
        .map(|key| format!("`{}`", key.chars().take(40).collect::<String>()))
        .collect();
    let found = match keys.is_empty() {
        true => String::new(),
        false => format!(" (it begins with {})", keys.join(", ")),
    };
    Outcome {
        dialect: Dialect::Unknown,
        totals: None,
        completeness: Completeness::Incomplete,
        problems: vec![Problem(format!(
            "The file is JSON, but no kind of test report that is known{found}."
        ))],
    }
}

/// The kind of report that begins like this, or the keys that were seen.
fn choose(mut head: &str) -> Result<(&'static str, Box<dyn Report>), Vec<String>> {
    let mut seen = Vec::new();
    let mut pull = Pull::new(&mut head);
    while let Ok(Some(event)) = pull.next() {
        let place = match pull.depth() {
            _ if event == Event::Open => continue,
            1 => pull.key().to_owned(),
            2 if pull.ends(&["*"]) && !pull.key().is_empty() => {
                // Of the first object of an array, or of an object within the document.
                format!(".{}", pull.key())
            }
            _ => continue,
        };
        if !place.is_empty() && !seen.contains(&place) && seen.len() < 200 {
            seen.push(place);
        }
        if let Some(found) = chosen(&seen) {
            return Ok(found);
        }
    }
    // A document of one object may be cut before its telling key is over.
    let open = pull.outermost_key().to_owned();
    if !open.is_empty() && !seen.contains(&open) {
        seen.push(open);
    }
    chosen(&seen).ok_or_else(|| {
        seen.retain(|key| !key.starts_with('.'));
        seen
    })
}

fn chosen(seen: &[String]) -> Option<(&'static str, Box<dyn Report>)> {
    let has = |key: &str| seen.iter().any(|seen| seen == key);
    if has("numRuntimeErrorTestSuites") && has("numTotalTests") {
        Some(("jest JSON", Box::<jest::Jest>::default()))
    } else if has("numTotalTests") && (has("testResults") || has("snapshot")) {
        Some(("vitest JSON", Box::<jest::Jest>::default()))
    } else if has("examples") && (has("version") || has("summary_line")) {
        Some(("RSpec JSON", Box::<rspec::Rspec>::default()))
    } else if has("exitcode") && has("summary") && (has("created") || has("root")) {
        Some((
            "pytest-json-report JSON",
            Box::<pytest::PytestReport>::default(),
        ))
    } else if has("config") && has("suites") {
        Some(("Playwright JSON", Box::<others::Playwright>::default()))
    } else if has("stats") && has(".passes") && has(".failures") && has(".suites") && has("tests") {
        Some(("mocha JSON", Box::<others::Mocha>::default()))
    } else if has(".elements") && (has(".uri") || has(".keyword")) {
        Some(("Cucumber JSON", Box::<cucumber::Cucumber>::default()))
    } else if has("results") && has(".tool") && has(".summary") {
        Some(("CTRF JSON", Box::<others::Ctrf>::default()))
    } else if has("tests") && has("disabled") && has("testsuites") {
        Some(("GoogleTest JSON", Box::<others::GoogleTest>::default()))
    } else {
        None
    }
}

/// A number of a report, where it is one that can count.
fn count(event: &Event) -> Option<u64> {
    match event {
        Event::Number(number) if number.fract() == 0.0 && (0.0..1e15).contains(number) => {
            Some(*number as u64)
        }
        _ => None,
    }
}

/// A duration, where it is one.
fn duration(event: &Event) -> Option<f64> {
    match event {
        Event::Number(number) if number.is_finite() && *number >= 0.0 => Some(*number),
        _ => None,
    }
}
