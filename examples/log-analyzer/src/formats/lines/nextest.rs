//! What cargo-nextest prints.

use std::collections::BTreeMap;

use super::{Begin, Log, Next, Row, Section, cargo, leading_number, number};
use crate::formats::findings::{Tally, counted};
use crate::formats::xml::case::Gathered;
use crate::model::{Status, Totals};

/// Failed tests whose output is kept.
const DETAILED: usize = 100;

/// One run.
#[derive(Default)]
struct Nextest {
    announced: Option<u64>,
    tally: Tally,
    failed: BTreeMap<String, Gathered>,
    /// Tests of which an attempt failed, until the last attempt is known.
    attempts: BTreeMap<String, Gathered>,
    open: Option<String>,
    summary: Option<Totals>,
    not_run: u64,
}

/// A section begins with the run's identity or with the number of tests.
pub(super) fn begin(row: &Row<'_>) -> Option<Begin> {
    let line = row.shown.trim_start();
    (line.starts_with("Nextest run ID ") || starting(line).is_some())
        .then_some((|_| Box::<Nextest>::default()) as Begin)
}

/// The number of tests in `Starting N tests across M binaries`.
fn starting(line: &str) -> Option<u64> {
    let (count, rest) = leading_number(line.strip_prefix("Starting ")?)?;
    let across = rest.starts_with(" test across ") || rest.starts_with(" tests across ");
    (across && rest.contains(" binar")).then_some(count)
}

impl Section for Nextest {
    fn line(&mut self, row: &Row<'_>, log: &mut Log<'_>) -> Next {
        let line = row.shown.trim_start();
        if let Some(count) = starting(line) {
            self.announced = Some(count);
        } else if let Some((totals, not_run)) = summary(line) {
            if self.announced.is_none_or(|count| {
                count
                    == totals
                        .passed
                        .saturating_add(totals.failed)
                        .saturating_add(not_run)
            }) {
                (self.summary, self.not_run) = (Some(totals), not_run);
                return Next::Done;
            }
        } else if let Some(event) = event(line) {
            self.open = None;
            self.event(event, log);
        } else if let Some(open) = &self.open
            && let Some(test) = self.failed.get_mut(open)
        {
            test.details.push(row.shown);
            test.details.push("\n");
        }
        Next::More
    }

    fn finish(mut self: Box<Self>, log: &mut Log<'_>) {
        log.findings.name("nextest log");
        for (name, test) in std::mem::take(&mut self.attempts) {
            if !self.failed.contains_key(&name) {
                self.tally.test(Status::Failed);
                self.failed.insert(name, test);
            }
        }
        for mut test in std::mem::take(&mut self.failed).into_values() {
            let output = output_of(test.details.head());
            if let Some(reason) = cargo::reason(&output) {
                test.message = Some(reason);
            }
            log.sink.case(test.into_case(Some(Status::Failed)));
        }
        match self.summary {
            Some(totals) => {
                if self.not_run > 0 {
                    log.findings.incomplete(format!(
                        "nextest stopped early: {} did not run.",
                        counted(self.not_run, "test")
                    ));
                }
                log.findings.add(totals);
            }
            None => {
                log.findings.incomplete(
                    "The nextest run has no summary line: it died or the log is cut off; the totals count the tests that are listed.",
                );
                if self.tally.0.tests > 0 {
                    log.findings.add(self.tally.0);
                }
            }
        }
    }
}

/// Output of a test without the frames that nextest puts around it.
fn output_of(text: &str) -> String {
    text.lines()
        .map(str::trim_start)
        .filter(|line| {
            !(line.ends_with("───")
                || line.starts_with("--- STD")
                || line.starts_with("running ")
                || line.starts_with("test ")
                || *line == "failures:"
                || line.starts_with("---- "))
        })
        .collect::<Vec<_>>()
        .join("\n")
}

/// A status line.
struct Event<'a> {
    attempt: bool,
    status: Option<Status>,
    word: &'a str,
    seconds: Option<f64>,
    test: &'a str,
}

/// `PASS [   0.005s] (1/9) crate::binary module::test`, with `TRY 2 ` before the word of an attempt.
fn event(line: &str) -> Option<Event<'_>> {
    let (word, rest) = line.split_once('[')?;
    let (time, rest) = rest.split_once(']')?;
    let word = word.trim();
    let seconds = time.trim().trim_start_matches('>').trim().strip_suffix('s');
    let seconds = match seconds {
        Some(seconds) => Some(seconds.parse().ok()?),
        None if time.trim().is_empty() => None,
        None => return None,
    };
    let (attempt, result) = match word.strip_prefix("TRY ") {
        Some(rest) => (true, rest.split_once(' ')?.1),
        None => (false, word),
    };
    let status = match result {
        "PASS" | "LEAK" => Some(Status::Passed),
        "SKIP" => Some(Status::Skipped),
        "FAIL" | "TIMEOUT" | "ABORT" | "XFAIL" | "LEAK-FAIL" | "FAIL + LEAK" | "FL+LK" | "TMT" => {
            Some(Status::Failed)
        }
        _ if result.starts_with("SIG") => Some(Status::Failed),
        _ if result.starts_with("FLAKY ") => Some(Status::Passed),
        "SLOW" | "TERMINATING" | "START" | "DELAY" | "RETRY" => None,
        _ => return None,
    };
    let rest = rest.trim_start();
    let test = match rest.strip_prefix('(') {
        Some(counter) => counter.split_once(')')?.1.trim_start(),
        None => rest,
    };
    Some(Event {
        attempt,
        status,
        word: result,
        seconds,
        test,
    })
}

/// The totals of the summary line, and how many tests did not run.
fn summary(line: &str) -> Option<(Totals, u64)> {
    let rest = line.strip_prefix("Summary [")?;
    let (_, rest) = rest.split_once(']')?;
    let (run, parts) = rest.split_once(" run: ")?;
    let run = run
        .trim()
        .strip_suffix("tests")
        .or_else(|| run.trim().strip_suffix("test"))?;
    let mut numbers = run.trim().split('/').map(|text| number(text.trim()));
    let run = numbers.next()??;
    let wanted = numbers.next().flatten().unwrap_or(run);
    let mut totals = Totals::default();
    for part in outside_parentheses(parts).split(',') {
        let Some((count, what)) = leading_number(part.trim()) else {
            continue;
        };
        match what.trim() {
            "passed" => totals.passed = count,
            "skipped" => totals.skipped = count,
            "failed" | "timed out" | "exec failed" | "aborted" => {
                totals.failed = totals.failed.saturating_add(count);
            }
            _ => {}
        }
    }
    totals.tests = run.saturating_add(totals.skipped);
    Some((totals, wanted.saturating_sub(run)))
}

/// `8 passed (1 slow, 2 flaky), 3 failed` without what is in parentheses.
fn outside_parentheses(text: &str) -> String {
    let mut depth = 0_usize;
    text.chars()
        .filter(|c| {
            match c {
                '(' => depth += 1,
                ')' => {
                    depth = depth.saturating_sub(1);
                    return false;
                }
                _ => {}
            }
            depth == 0
        })
        .collect()
}

impl Nextest {
    fn event(&mut self, event: Event<'_>, log: &mut Log<'_>) {
        let Some(status) = event.status else { return };
        let (suite, name) = event.test.split_once(' ').unwrap_or(("", event.test));
        let mut test = Gathered {
            suite: suite.to_owned(),
            name: name.to_owned(),
            seconds: event.seconds,
            ..Gathered::default()
        };
        let key = event.test.to_owned();
        match status {
            Status::Failed | Status::Errored => {
                test.message = Some(event.word.to_lowercase());
                if self.failed.len() < DETAILED {
                    self.open = Some(key.clone());
                }
                if event.attempt {
                    self.attempts.insert(key, test);
                } else if self.failed.insert(key, test).is_none() {
                    self.tally.test(Status::Failed);
                }
            }
            Status::Passed | Status::Skipped => {
                if event.word.starts_with("FLAKY") {
                    return;
                }
                self.attempts.remove(&key);
                self.tally.test(status);
                log.sink.case(test.into_case(Some(status)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries() {
        let line = "Summary [   3.005s] 17 tests run: 8 passed (1 slow, 2 flaky, 1 leaky), 8 failed, 1 timed out, 2 skipped";
        let (totals, not_run) = summary(line).expect("a summary");
        assert_eq!(
            (
                totals.tests,
                totals.passed,
                totals.failed,
                totals.skipped,
                not_run
            ),
            (19, 8, 9, 2, 0)
        );
        let (totals, not_run) =
            summary("Summary [   0.1s] 1/5 tests run: 0 passed, 1 failed, 0 skipped").expect("one");
        assert_eq!((totals.tests, not_run), (1, 4));
    }
}
