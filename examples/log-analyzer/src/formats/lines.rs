//! Logs, read line by line.
//!
//! A log is a sequence of [`Section`]s, each written by one producer, with other output in between:
//! a log of continuous integration may hold a build, then `cargo test`, then pytest. A section
//! begins with a line that only its producer writes and owns every line up to its end, so that what
//! a test prints is not taken for the output of another producer. The totals are the sum.

mod build;
mod cargo;
mod ctest;
mod go;
mod gtest;
mod json_lines;
mod nextest;
mod pytest;
mod tap;
mod teamcity;
mod unittest;

use crate::formats::findings::Findings;
use crate::formats::json;
use crate::model::{Outcome, Sink};
use crate::text::{Line, Text, visible};

/// Bytes kept of a line.
const LINE_LIMIT: usize = 1024 * 1024;

/// Bytes looked at to tell whether a JSON report begins with this line.
const REPORT_HEAD: usize = 4096;

/// A line of a log.
struct Row<'a> {
    /// What a terminal shows of it.
    shown: &'a str,
    /// All of it, with control sequences.
    raw: &'a str,
    /// Whether it is there as a whole.
    line: Line,
}

/// A line that belongs to nobody.
const NO_ROW: Row<'static> = Row {
    shown: "",
    raw: "",
    line: Line::Whole,
};

/// What a section says of a line.
enum Next {
    /// It is mine, and more may follow.
    More,
    /// It is my last one.
    Done,
    /// I ended before it.
    NotMine,
}

/// A stretch of a log that one producer wrote.
trait Section {
    /// Takes a line.
    fn line(&mut self, row: &Row<'_>, log: &mut Log<'_>) -> Next;

    /// Whether another section may begin with this line.
    fn may_end(&self, _row: &Row<'_>) -> bool {
        false
    }

    /// Draws the conclusion.
    fn finish(self: Box<Self>, log: &mut Log<'_>);
}

/// What the sections of a log have in common.
struct Log<'a> {
    sink: &'a mut dyn Sink,
    findings: Findings,
    cargo: cargo::Run,
    /// What compilers said about a Go package, by its name.
    go_packages: go::Complaints,
    go: go::Run,
    json: json_lines::Streams,
}

/// Whether tests begin in `head`. Build logs are recognised last, when nothing else is.
pub(crate) fn recognises(head: &str) -> bool {
    // The last line may be cut; it is looked at once there is more of it.
    head.lines().any(|line| {
        let shown = visible(line);
        let row = Row {
            shown: without_prefix(&shown),
            raw: line,
            line: Line::Whole,
        };
        begin(&row).is_some()
    })
}

/// Whether the text begins with a line of JSON that is an event of a known stream.
pub(crate) fn begins_with_json_line(head: &str) -> bool {
    head.trim_start()
        .lines()
        .next()
        .is_some_and(json_lines::begins)
}

/// Reads the whole text and gives its cases to `sink`.
pub(crate) fn read(text: &mut Text<'_>, sink: &mut dyn Sink) -> Outcome {
    let mut log = Log {
        sink,
        findings: Findings::default(),
        cargo: cargo::Run::default(),
        go_packages: go::Complaints::default(),
        go: go::Run::default(),
        json: json_lines::Streams::default(),
    };
    let mut diagnostics = build::Diagnostics::default();
    let mut section: Option<Box<dyn Section>> = None;
    let mut line = String::new();
    loop {
        if text.peek(2).starts_with("{\"")
            && section
                .as_ref()
                .is_none_or(|section| section.may_end(&NO_ROW))
            && json::report_begins(text.peek(REPORT_HEAD))
        {
            end(section.take(), &mut log);
            json::read_within(text, log.sink, &mut log.findings);
        }
        let Some(state) = text.read_line(&mut line, LINE_LIMIT) else {
            break;
        };
        let shown = visible(&line);
        let row = Row {
            shown: without_prefix(&shown),
            raw: &line,
            line: state,
        };
        section = take(section, &row, &mut log, &mut diagnostics);
    }
    end(section, &mut log);
    json_lines::finish(&mut log);
    go::finish(&mut log);
    cargo::finish(&mut log);
    diagnostics.finish(log.sink, &mut log.findings);
    outcome(log)
}

/// Gives a line to whom it belongs, and says who gets the next one.
fn take(
    section: Option<Box<dyn Section>>,
    row: &Row<'_>,
    log: &mut Log<'_>,
    diagnostics: &mut build::Diagnostics,
) -> Option<Box<dyn Section>> {
    let mut section = section;
    if section.as_ref().is_some_and(|section| section.may_end(row)) && begin(row).is_some() {
        end(section.take(), log);
    }
    if let Some(mut owner) = section {
        match owner.line(row, log) {
            Next::More => return Some(owner),
            Next::Done => {
                owner.finish(log);
                return None;
            }
            Next::NotMine => owner.finish(log),
        }
    }
    if json_lines::take(row, log) {
        log.cargo.hears();
        return None;
    }
    let Some(mut owner) = begin(row)
        .map(|kind| kind(log))
        .or_else(|| tap::begin_weakly(row))
    else {
        log.cargo.note(row);
        go::note(row.shown, log);
        diagnostics.line(row.shown);
        return None;
    };
    log.cargo.hears();
    match owner.line(row, log) {
        Next::More => Some(owner),
        Next::Done | Next::NotMine => {
            owner.finish(log);
            None
        }
    }
}

/// Makes the section that a line begins.
type Begin = fn(&Log<'_>) -> Box<dyn Section>;

fn begin(row: &Row<'_>) -> Option<Begin> {
    cargo::begin(row)
        .or_else(|| nextest::begin(row))
        .or_else(|| pytest::begin(row))
        .or_else(|| teamcity::begin(row))
        .or_else(|| go::begin(row))
        .or_else(|| tap::begin(row))
        .or_else(|| gtest::begin(row))
        .or_else(|| ctest::begin(row))
        .or_else(|| unittest::begin(row))
}

fn end(section: Option<Box<dyn Section>>, log: &mut Log<'_>) {
    if let Some(section) = section {
        section.finish(log);
    }
}

fn outcome(mut log: Log<'_>) -> Outcome {
    if !log.findings.is_known() {
        log.findings.incomplete(
            "The file is no test report and no build log that is known; it can be searched as text.",
        );
    }
    log.findings.into_outcome()
}

/// A line without the time that a service for continuous integration puts before it, and without
/// the names of job and step that come before that in a downloaded log.
fn without_prefix(line: &str) -> &str {
    let after_time = |text: &'_ str| -> Option<usize> {
        let bytes = text.as_bytes();
        let digits = |range: std::ops::Range<usize>| {
            bytes
                .get(range)
                .is_some_and(|bytes| bytes.iter().all(u8::is_ascii_digit))
        };
        let is_time = digits(0..4)
            && bytes.get(4) == Some(&b'-')
            && digits(5..7)
            && bytes.get(7) == Some(&b'-')
            && digits(8..10)
            && bytes.get(10) == Some(&b'T')
            && digits(11..13)
            && bytes.get(13) == Some(&b':');
        let end = text.find('Z').filter(|end| is_time && *end < 32)?;
        match text[end + 1..].chars().next() {
            Some(' ') => Some(end + 2),
            None => Some(end + 1),
            Some(_) => None,
        }
    };
    if let Some(start) = after_time(line) {
        return &line[start..];
    }
    let mut columns = line.splitn(3, '\t');
    if let (Some(_), Some(_), Some(rest)) = (columns.next(), columns.next(), columns.next())
        && let Some(start) = after_time(rest)
    {
        return &rest[start..];
    }
    line
}

/// The largest number that counts something; sums of such numbers cannot overflow.
const LARGEST_COUNT: u64 = 1_000_000_000_000;

/// The number that `text` begins with, and what follows it.
fn leading_number(text: &str) -> Option<(u64, &str)> {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    Some((number(&text[..end])?, &text[end..]))
}

/// The number that `text` is.
fn number(text: &str) -> Option<u64> {
    let number = text.parse().ok()?;
    (number <= LARGEST_COUNT).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_of_services_are_taken_off() {
        assert_eq!(
            without_prefix("2024-05-01T12:00:00.1234567Z running 3 tests"),
            "running 3 tests"
        );
        assert_eq!(
            without_prefix("build\tRun tests\t2024-05-01T12:00:00Z ok 1 - a"),
            "ok 1 - a"
        );
        assert_eq!(without_prefix("2024-05-01T12:00:00Z"), "");
        assert_eq!(without_prefix("2024-05-01 plain"), "2024-05-01 plain");
    }
}
