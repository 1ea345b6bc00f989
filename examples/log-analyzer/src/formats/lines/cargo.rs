//! What libtest prints: `cargo test`, one section for each test binary and for the doc tests.

use super::{Begin, Log, Next, Row, Section, leading_number};
use crate::formats::findings::{Tally, counted};
use crate::formats::xml::case::{Gathered, first_line, shown};
use crate::model::{Case, Status, Totals};
use crate::text::Line;

/// Marks behind a test's name that are not part of it.
const MARKS: [&str; 3] = [" - should panic", " - compile fail", " - compile"];

/// Failed tests whose details are kept.
const DETAILED: usize = 100;

/// The output of one test binary.
struct Libtest {
    binary: String,
    begun: bool,
    announced: u64,
    counted: Tally,
    failed: Vec<Gathered>,
    /// The failed test whose output is being read.
    open: Option<usize>,
    in_list: bool,
    result: Option<Totals>,
}

/// A section begins with `running N tests`.
pub(super) fn begin(row: &Row<'_>) -> Option<Begin> {
    announced(row.shown)?;
    Some(|log| {
        Box::new(Libtest {
            binary: log.cargo.binary.clone(),
            begun: false,
            announced: 0,
            counted: Tally::default(),
            failed: Vec::new(),
            open: None,
            in_list: false,
            result: None,
        })
    })
}

fn announced(line: &str) -> Option<u64> {
    let (count, rest) = leading_number(line.strip_prefix("running ")?)?;
    matches!(rest, " test" | " tests").then_some(count)
}

/// What cargo itself says around the output of the test binaries.
#[derive(Default)]
pub(super) struct Run {
    /// The binary that runs now.
    pub(super) binary: String,
    /// Whether cargo's own lines are part of the log.
    speaks: bool,
    /// Whether a binary that runs has not printed anything yet.
    silent: bool,
    /// Whether tests failed, and cargo did not say so yet.
    failed: bool,
}

impl Run {
    /// Notes that tests print something.
    pub(super) fn hears(&mut self) {
        self.silent = false;
    }

    /// Takes a line between the outputs of two binaries.
    pub(super) fn note(&mut self, row: &Row<'_>) {
        let line = row.shown;
        if self.speaks && is_cut(row) || is_built(line) {
            self.silent = true;
            self.binary.clear();
        } else if let Some(name) = binary_of(line) {
            self.binary = name.to_owned();
            self.speaks = true;
            self.silent = true;
        } else if !line.trim().is_empty() {
            self.silent = false;
            self.failed &= !line.starts_with("error: ");
        }
    }
}

/// Whether this is the beginning of a line that names a binary, and the log ends within it.
fn is_cut(row: &Row<'_>) -> bool {
    let text = row.shown.trim_start();
    row.line == Line::Unfinished
        && !row.raw.is_empty()
        && ["Running ", "Doc-tests ", "Finished `test`"]
            .iter()
            .any(|word| word.starts_with(text) || text.starts_with(word))
}

/// Whether cargo says that it built the tests, which it then runs.
fn is_built(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("Finished `test` profile") || line.starts_with("Finished test [")
}

/// Says what is missing at the end.
pub(super) fn finish(log: &mut Log<'_>) {
    let run = std::mem::take(&mut log.cargo);
    if run.silent {
        log.findings.name("cargo test log");
        let whose = match run.binary.as_str() {
            "" => "the tests",
            binary => binary,
        };
        log.findings.incomplete(format!(
            "The log ends where the output of {whose} should be: it is cut off."
        ));
    } else if run.failed && run.speaks {
        log.findings.incomplete(
            "The log lacks the error that cargo ends with when tests failed: it is cut off.",
        );
    }
}

fn binary_of(line: &str) -> Option<&str> {
    let line = line.trim_start();
    if let Some(name) = line.strip_prefix("Running ") {
        let (name, rest) = name.split_once(" (")?;
        let own = !name.starts_with('`') && rest.ends_with(')');
        return own.then_some(name);
    }
    line.strip_prefix("Doc-tests ").map(|_| line)
}

/// The counts of a result line.
fn result(line: &str) -> Option<Totals> {
    let rest = line.strip_prefix("test result: ")?;
    let (_, rest) = rest.split_once(". ")?;
    let mut totals = Totals::default();
    let mut known = 0;
    for part in rest.split("; ") {
        let Some((count, name)) = leading_number(part.trim()) else {
            continue;
        };
        match name.trim() {
            // A measured benchmark has run to its end.
            "passed" | "measured" => totals.passed = totals.passed.saturating_add(count),
            "failed" => totals.failed = count,
            "ignored" => totals.skipped = count,
            _ => continue,
        }
        known += 1;
    }
    totals.tests = totals
        .passed
        .saturating_add(totals.failed)
        .saturating_add(totals.skipped);
    (known >= 3).then_some(totals)
}

impl Section for Libtest {
    fn line(&mut self, row: &Row<'_>, log: &mut Log<'_>) -> Next {
        let line = row.shown;
        if !self.begun {
            self.begun = true;
            self.announced = announced(line).unwrap_or(0);
            return Next::More;
        }
        if let Some(totals) = result(line) {
            // A test may print such a line itself; the true one counts what was announced.
            if totals.tests != self.announced {
                return Next::More;
            }
            self.result = Some(totals);
            return Next::Done;
        }
        if died(line) {
            return Next::NotMine;
        }
        self.test_or_output(line, log);
        Next::More
    }

    fn finish(mut self: Box<Self>, log: &mut Log<'_>) {
        log.findings.name("cargo test log");
        log.cargo.failed = self.result.is_some_and(|totals| totals.failed > 0);
        for mut test in std::mem::take(&mut self.failed) {
            if let Some(reason) = reason(test.details.head()) {
                test.add_message(&reason);
            }
            log.sink.case(test.into_case(Some(Status::Failed)));
        }
        if let Some(totals) = self.result {
            log.findings.add(totals);
            return;
        }
        let place = match self.binary.is_empty() {
            true => String::new(),
            false => format!(" of {}", self.binary),
        };
        log.findings.incomplete(format!(
            "The output{place} announces {} and ends without a result line: the run died or the log is cut off; {} of them can be told.",
            counted(self.announced, "test"),
            self.counted.0.tests,
        ));
        if self.counted.0.tests > 0 {
            log.findings.add(self.counted.0);
        }
    }
}

/// Whether cargo went on without a result line.
fn died(line: &str) -> bool {
    line.starts_with("error: test failed, to rerun")
        || line.starts_with("error: doctest failed, to rerun")
        || line.starts_with("error: process didn't exit successfully")
        || (line.starts_with("     Running ") || line.starts_with("   Doc-tests "))
            && binary_of(line).is_some()
}

impl Libtest {
    fn test_or_output(&mut self, line: &str, log: &mut Log<'_>) {
        if line == "failures:" {
            self.open = None;
            self.in_list = true;
        } else if self.in_list
            && self.open.is_none()
            && let Some(name) = line.strip_prefix("    ")
            && !name.starts_with(' ')
        {
            // A test whose output was not captured is told here only.
            self.failure(name);
        } else if let Some(name) = heading(line) {
            self.open = Some(self.failure(name));
        } else if let Some(open) = self.open {
            if open < DETAILED {
                let details = &mut self.failed[open].details;
                details.push(line);
                details.push("\n");
            }
        } else if let Some((name, result)) = line
            .strip_prefix("test ")
            .and_then(|line| line.split_once(" ... "))
        {
            self.test(name, result, log);
        }
    }

    fn test(&mut self, name: &str, result: &str, log: &mut Log<'_>) {
        let name = MARKS
            .iter()
            .fold(name, |name, mark| name.strip_suffix(mark).unwrap_or(name));
        let (result, seconds) = timed(result);
        let (status, reason) = match result {
            "ok" => (Status::Passed, None),
            "FAILED" | "FAILED (time limit exceeded)" => (Status::Failed, None),
            "ignored" => (Status::Skipped, None),
            _ => match result.strip_prefix("ignored, ") {
                Some(reason) => (Status::Skipped, first_line(reason)),
                None if result.starts_with("bench: ") => (Status::Passed, None),
                None => return,
            },
        };
        self.counted.test(status);
        if status == Status::Failed {
            let at = self.failure(name);
            self.failed[at].seconds = seconds;
            return;
        }
        log.sink.case(Case {
            suite: shown(&self.binary),
            name: name.to_owned(),
            status: Some(status),
            seconds,
            message: reason,
            details: None,
        });
    }

    /// The place of a failed test among those that are known.
    fn failure(&mut self, name: &str) -> usize {
        if let Some(at) = self.failed.iter().position(|test| test.name == name) {
            return at;
        }
        self.failed.push(Gathered {
            suite: self.binary.clone(),
            name: name.to_owned(),
            ..Gathered::default()
        });
        self.failed.len() - 1
    }
}

/// The test that `---- NAME stdout ----` names.
fn heading(line: &str) -> Option<&str> {
    let name = line.strip_prefix("---- ")?.strip_suffix(" ----")?;
    name.strip_suffix(" stdout")
        .or_else(|| name.strip_suffix(" stderr"))
}

/// A result and the time behind it (`ok <0.003s>`).
fn timed(result: &str) -> (&str, Option<f64>) {
    let Some((result, time)) = result
        .strip_suffix("s>")
        .and_then(|result| result.split_once(" <"))
    else {
        return (result, None);
    };
    (result, time.parse().ok())
}

/// Why a test failed, from what it printed.
pub(super) fn reason(output: &str) -> Option<String> {
    let mut lines = output.lines().map(str::trim_end);
    let panicked = |line: &str| line.starts_with("thread '") && line.contains(" panicked at ");
    while let Some(line) = lines.next() {
        if panicked(line) {
            let (_, place) = line.split_once(" panicked at ")?;
            if let Some(message) = place.strip_prefix('\'') {
                return first_line(message.rsplit_once("', ").map_or(message, |(text, _)| text));
            }
            return lines.find(|line| !line.is_empty()).and_then(first_line);
        }
        if let Some(error) = line.strip_prefix("Error: ") {
            return first_line(error);
        }
        if line.starts_with("note: test did not panic") || line.starts_with("error") {
            return first_line(line);
        }
    }
    first_line(output)
}
