//! What GoogleTest prints.

use super::{Begin, Log, Next, Row, Section, leading_number};
use crate::formats::findings::{Tally, counted};
use crate::formats::xml::case::Gathered;
use crate::model::Status;

/// One program.
#[derive(Default)]
struct Program {
    wanted: u64,
    tally: Tally,
    open: Option<Gathered>,
    ended: bool,
    passed: Option<u64>,
}

/// A section begins with the number of tests.
pub(super) fn begin(row: &Row<'_>) -> Option<Begin> {
    running(row.shown)?;
    Some(|_| Box::<Program>::default())
}

fn running(line: &str) -> Option<u64> {
    let (count, rest) = leading_number(line.strip_prefix("[==========] Running ")?)?;
    rest.starts_with(" test").then_some(count)
}

/// `Suite.name (12 ms)`, with parameters in between.
fn ended(text: &str) -> (&str, Option<f64>) {
    let (name, time) = text
        .strip_suffix(" ms)")
        .and_then(|text| text.rsplit_once(" ("))
        .map_or((text, None), |(name, time)| {
            (name, time.parse::<f64>().ok().map(|time| time / 1000.0))
        });
    (name.split(", where ").next().unwrap_or(name), time)
}

impl Section for Program {
    fn line(&mut self, row: &Row<'_>, log: &mut Log<'_>) -> Next {
        let line = row.shown;
        if let Some(count) = running(line) {
            if self.wanted > 0 {
                return Next::NotMine;
            }
            self.wanted = count;
        } else if let Some(name) = line.strip_prefix("[ RUN      ] ") {
            let (suite, name) = name.split_once('.').unwrap_or(("", name));
            self.open = Some(Gathered {
                suite: suite.to_owned(),
                name: name.to_owned(),
                ..Gathered::default()
            });
        } else if !self.ended && self.end_test(line, log) {
        } else if line.starts_with("[==========] ") && line.contains(" ran.") {
            self.ended = true;
        } else if let Some(rest) = line.strip_prefix("[  PASSED  ] ") {
            self.passed = leading_number(rest).map(|(count, _)| count);
        } else if let Some(disabled) = line.trim_start().strip_prefix("YOU HAVE ") {
            if let Some((count, _)) = leading_number(disabled) {
                self.tally.0.tests += count;
                self.tally.0.skipped += count;
            }
            return Next::Done;
        } else if let Some(test) = &mut self.open {
            test.details.push(line);
            test.details.push("\n");
        }
        Next::More
    }

    fn may_end(&self, _: &Row<'_>) -> bool {
        self.ended
    }

    fn finish(self: Box<Self>, log: &mut Log<'_>) {
        log.findings.name("GoogleTest log");
        let run = self.tally.0.passed + self.tally.0.failed + self.tally.0.skipped;
        if !self.ended || run < self.wanted || self.passed.is_none() {
            log.findings.incomplete(format!(
                "The GoogleTest program ends early: {} of {} have a result.",
                self.tally.0.tests,
                counted(self.wanted, "test")
            ));
        } else if self.passed != Some(self.tally.0.passed) {
            log.findings.incomplete(
                "The GoogleTest program sums up another number of passed tests than it lists.",
            );
        }
        log.findings.add(self.tally.0);
    }
}

impl Program {
    /// A result counts for the test that runs; unterminated output may precede it.
    fn end_test(&mut self, line: &str, log: &mut Log<'_>) -> bool {
        let marks = [
            ("[       OK ] ", Status::Passed),
            ("[  FAILED  ] ", Status::Failed),
            ("[  SKIPPED ] ", Status::Skipped),
        ];
        for (mark, status) in marks {
            let Some((_, rest)) = line.split_once(mark) else {
                continue;
            };
            let (name, seconds) = ended(rest);
            let runs = self.open.as_ref().is_some_and(|test| {
                name.split_once('.').unwrap_or(("", name)) == (&test.suite, &test.name)
            });
            if runs && let Some(mut test) = self.open.take() {
                test.seconds = seconds;
                self.tally.test(status);
                log.sink.case(test.into_case(Some(status)));
                return true;
            }
        }
        false
    }
}
