//! What Python's unittest prints.

use std::collections::BTreeSet;

use super::{Begin, Log, Next, Row, Section, leading_number, number};
use crate::formats::findings::{Tally, Waiting, counted};
use crate::formats::xml::case::{Gathered, first_line};
use crate::model::{Case, Status, Totals};

/// One run.
#[derive(Default)]
struct Run {
    listed: Waiting,
    announced: Option<(String, String)>,
    failures: Vec<(Status, Gathered)>,
    ran: Option<u64>,
    totals: Option<Totals>,
}

/// A section begins with a verbose result, with the heading of a failure, or with the count.
pub(super) fn begin(row: &Row<'_>) -> Option<Begin> {
    let begins = result(row.shown).is_some()
        || announced(row.shown).is_some()
        || heading(row.shown).is_some()
        || ran(row.shown).is_some();
    begins.then_some((|_| Box::<Run>::default()) as Begin)
}

/// `test_a (mod.Class.test_a) ... ok`.
fn result(line: &str) -> Option<(&str, &str, Status, &str)> {
    let (test, result) = line.rsplit_once(" ... ")?;
    let (name, class) = test.strip_suffix(')')?.split_once(" (")?;
    if name.contains(' ') || class.contains(' ') || name.is_empty() {
        return None;
    }
    let class = class_of(class, name);
    let (status, reason) = match result {
        "ok" | "unexpected success" => (Status::Passed, ""),
        "FAIL" => (Status::Failed, ""),
        "ERROR" => (Status::Errored, ""),
        "expected failure" => (Status::Skipped, ""),
        _ => (
            Status::Skipped,
            result.strip_prefix("skipped ")?.trim_matches('\''),
        ),
    };
    Some((name, class, status, reason))
}

/// `FAIL: test_a (mod.Class.test_a)`.
fn heading(line: &str) -> Option<(Status, &str, &str)> {
    let (status, rest) = match line.strip_prefix("FAIL: ") {
        Some(rest) => (Status::Failed, rest),
        None => (Status::Errored, line.strip_prefix("ERROR: ")?),
    };
    let (name, rest) = rest.split_once(" (")?;
    let (class, _) = rest.split_once(')')?;
    (!name.contains(' ')).then_some((status, name, class_of(class, name)))
}

/// `test_a (mod.Class.test_a)`, on a line of its own when the docstring follows.
fn announced(line: &str) -> Option<(&str, &str)> {
    let (name, class) = line.strip_suffix(')')?.split_once(" (")?;
    let named = name.starts_with("test") && !name.contains(' ') && !class.contains(' ');
    named.then_some((name, class_of(class, name)))
}

/// The class, without the name of the test that newer versions add to it.
fn class_of<'a>(class: &'a str, name: &str) -> &'a str {
    class
        .strip_suffix(name)
        .and_then(|class| class.strip_suffix('.'))
        .unwrap_or(class)
}

/// `Ran 5 tests in 0.001s`.
fn ran(line: &str) -> Option<u64> {
    let (count, rest) = leading_number(line.strip_prefix("Ran ")?)?;
    let time = rest
        .strip_prefix(" tests in ")
        .or_else(|| rest.strip_prefix(" test in "))?;
    time.ends_with('s').then_some(count)
}

impl Section for Run {
    fn line(&mut self, row: &Row<'_>, _: &mut Log<'_>) -> Next {
        let line = row.shown;
        if let Some(count) = ran(line) {
            self.ran = Some(count);
        } else if let Some(ran) = self.ran
            && let Some(totals) = self.end(line, ran)
        {
            self.totals = Some(totals);
            return Next::Done;
        } else if let Some((name, class, status, reason)) = result(line) {
            if matches!(status, Status::Passed | Status::Skipped) {
                self.listed.push(Case {
                    suite: class.to_owned(),
                    name: name.to_owned(),
                    status: Some(status),
                    message: first_line(reason),
                    ..Case::default()
                });
            }
        } else if self.failures.is_empty()
            && let Some((name, class)) = announced(line)
        {
            self.announced = Some((name.to_owned(), class.to_owned()));
        } else if line.ends_with(" ... ok")
            && let Some((name, suite)) = self.announced.take()
        {
            self.listed.push(Case {
                suite,
                name,
                status: Some(Status::Passed),
                ..Case::default()
            });
        } else if let Some((status, name, class)) = heading(line) {
            self.failures.push((
                status,
                Gathered {
                    suite: class.to_owned(),
                    name: name.to_owned(),
                    ..Gathered::default()
                },
            ));
        } else if let Some((_, test)) = self.failures.last_mut()
            && self.ran.is_none()
        {
            test.details.push(line);
            test.details.push("\n");
        }
        Next::More
    }

    fn finish(mut self: Box<Self>, log: &mut Log<'_>) {
        log.findings.name("unittest log");
        let mut tally = Tally::default();
        for case in self.listed.take() {
            tally.test(case.status.unwrap_or(Status::Skipped));
            log.sink.case(case);
        }
        for (status, mut test) in std::mem::take(&mut self.failures) {
            tally.test(status);
            if let Some(reason) = reason(test.details.head()) {
                test.add_message(&reason);
            }
            log.sink.case(test.into_case(Some(status)));
        }
        match self.totals {
            Some(totals) => log.findings.add(totals),
            None => {
                log.findings.incomplete(format!(
                    "The unittest run has no last line (OK or FAILED): it died or the log is cut off; {} can be told.",
                    counted(tally.0.tests, "result")
                ));
                if tally.0.tests > 0 {
                    log.findings.add(tally.0);
                }
            }
        }
    }
}

impl Run {
    /// The tests that failed: several subtests may belong to one, and the errors of what prepares
    /// classes and modules to none.
    fn failing_tests(&self) -> u64 {
        let prepares = |name: &str| {
            [
                "setUpClass",
                "tearDownClass",
                "setUpModule",
                "tearDownModule",
            ]
            .contains(&name)
        };
        let tests: BTreeSet<(&str, &str)> = self
            .failures
            .iter()
            .map(|(_, test)| (test.suite.as_str(), test.name.as_str()))
            .filter(|(_, name)| !prepares(name))
            .collect();
        tests.len() as u64
    }

    /// The totals of `OK` or `FAILED (failures=1, errors=2, skipped=3)`.
    fn end(&self, line: &str, ran: u64) -> Option<Totals> {
        let (word, counts) = match line.split_once(" (") {
            Some((word, counts)) => (word, counts.strip_suffix(')')?),
            None => (line, ""),
        };
        if !(matches!(word, "OK" | "FAILED") || word == "NO TESTS RAN") {
            return None;
        }
        let mut totals = Totals {
            tests: ran,
            ..Totals::default()
        };
        for part in counts.split(", ").filter(|part| !part.is_empty()) {
            let (what, count) = part.split_once('=')?;
            let count = number(count)?;
            match what {
                "failures" => totals.failed = count,
                "errors" => totals.errored = count,
                "skipped" | "expected failures" => totals.skipped += count,
                _ => {}
            }
        }
        totals.passed = ran
            .saturating_sub(self.failing_tests())
            .saturating_sub(totals.skipped);
        Some(totals)
    }
}

/// The exception at the end of a trace.
fn reason(details: &str) -> Option<String> {
    let named = |line: &&str| {
        line.split([':', ' ']).next().is_some_and(|word| {
            word.ends_with("Error") || word.ends_with("Exception") || word.ends_with("Exit")
        })
    };
    details.lines().find(named).and_then(first_line)
}
