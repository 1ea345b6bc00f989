//! What pytest prints to a terminal.

use std::collections::BTreeMap;

use super::teamcity::Messages;
use super::{Begin, Log, Next, Row, Section, leading_number};
use crate::formats::findings::{Waiting, counted};
use crate::formats::xml::case::Gathered;
use crate::model::{Case, Status, Totals};

/// Failures whose traces are kept.
const DETAILED: usize = 200;

/// Tests whose durations are remembered.
const DURATIONS: usize = 2000;

/// The words of a status column.
const STATUSES: [(&str, Status); 6] = [
    ("PASSED", Status::Passed),
    ("FAILED", Status::Failed),
    ("ERROR", Status::Errored),
    ("SKIPPED", Status::Skipped),
    ("XFAIL", Status::Skipped),
    ("XPASS", Status::Passed),
];

/// A section begins with the headline of a session, or of a part of it where `-q` leaves that out.
pub(super) fn begin(row: &Row<'_>) -> Option<Begin> {
    let part = || {
        ["FAILURES", "ERRORS", "short test summary info"]
            .contains(&headline(row.shown, '=').unwrap_or_default())
    };
    (is_start(row.shown) || part() || summary(row.shown).is_some() || is_quiet_end(row.shown))
        .then_some((|_| Box::<Session>::default()) as Begin)
}

fn is_start(line: &str) -> bool {
    headline(line, '=') == Some("test session starts")
}

/// The last line of quiet progress: dots and letters.
fn is_quiet_end(line: &str) -> bool {
    line.strip_suffix(" [100%]").is_some_and(|marks| {
        let marks = marks.trim_end();
        !marks.is_empty() && marks.chars().all(|mark| ".FEsxXR".contains(mark))
    })
}

/// The text in `===== TEXT =====`.
fn headline(line: &str, fill: char) -> Option<&str> {
    let line = line.trim();
    let text = line.trim_matches(fill);
    (line.len() - text.len() >= 2 && line.starts_with(fill))
        .then(|| text.trim())
        .filter(|text| !text.is_empty())
}

/// The counts of a last line, such as `3 failed, 5 passed in 0.12s`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Summary {
    totals: Totals,
    deselected: u64,
}

fn summary(line: &str) -> Option<Summary> {
    let text = headline(line, '=').unwrap_or(line);
    let (counts, time) = text.rsplit_once(" in ")?;
    let (seconds, unit) = time.split_at(time.find(|c: char| !(c.is_ascii_digit() || c == '.'))?);
    seconds.parse::<f64>().ok()?;
    let unit = unit.split_once(" (").map_or(unit, |(unit, _)| unit);
    if !matches!(unit, "s" | " seconds") {
        return None;
    }
    let mut summary = Summary::default();
    if counts == "no tests ran" {
        return Some(summary);
    }
    let totals = &mut summary.totals;
    for part in counts.split(", ") {
        let (count, what) = leading_number(part)?;
        match what.trim_start() {
            "passed" | "xpassed" => totals.passed = totals.passed.saturating_add(count),
            "failed" => totals.failed = count,
            "error" | "errors" => totals.errored = count,
            "skipped" | "xfailed" => totals.skipped = totals.skipped.saturating_add(count),
            "deselected" => summary.deselected = count,
            "warning" | "warnings" | "rerun" | "reruns" => {}
            "subtests passed" | "subtests failed" | "subtests skipped" => {}
            _ => return None,
        }
    }
    totals.tests = totals
        .passed
        .saturating_add(totals.failed)
        .saturating_add(totals.errored)
        .saturating_add(totals.skipped);
    Some(summary)
}

/// A session that has begun: the outermost one, or one that a test ran and that is shown as its
/// output.
#[derive(Debug, Default)]
struct Level {
    collected: Option<u64>,
    stopped: bool,
}

impl Level {
    /// Whether a session with this number of tests can end like this.
    fn admits(&self, summary: &Summary) -> bool {
        let Some(collected) = self.collected else {
            return true;
        };
        self.stopped || summary.totals.tests.saturating_add(summary.deselected) >= collected
    }
}

#[derive(Debug, Default, PartialEq, Eq)]
enum Part {
    #[default]
    Progress,
    Traces,
    Durations,
    Short,
    Other,
}

/// One session.
#[derive(Default)]
struct Session {
    levels: Vec<Level>,
    part: Part,
    cases: Waiting,
    /// Traces by the names that their headlines have.
    traces: BTreeMap<String, Gathered>,
    open: Option<String>,
    durations: BTreeMap<String, f64>,
    /// The test that a line of progress names before its status.
    running: Option<String>,
    short: Vec<Case>,
    messages: Messages,
    summary: Option<Summary>,
    interrupted: bool,
}

impl Section for Session {
    fn line(&mut self, row: &Row<'_>, _: &mut Log<'_>) -> Next {
        let line = row.shown;
        if self.levels.is_empty() {
            self.levels.push(Level::default());
            if is_start(line) {
                return Next::More;
            }
        }
        if is_start(line) {
            if self.summary.is_some() {
                return Next::NotMine;
            }
            self.levels.push(Level::default());
        } else if let Some(summary) = summary(line) {
            self.end_level(summary);
        } else if let Some(title) = headline(line, '=') {
            self.headline(title);
        } else {
            self.messages.take(row.shown);
            self.inner_line(line);
        }
        Next::More
    }

    fn may_end(&self, row: &Row<'_>) -> bool {
        // Another last line is one more candidate for this session's, not a session of its own.
        self.summary.is_some()
            && (is_start(row.shown) || is_quiet_end(row.shown) || begin(row).is_none())
    }

    fn finish(mut self: Box<Self>, log: &mut Log<'_>) {
        let teamcity = self.messages.any();
        log.findings.name(match teamcity {
            true => "TeamCity service messages (pytest)",
            false => "pytest log",
        });
        let cases = self.all_cases(teamcity);
        let mut listed = Totals::default();
        for case in cases {
            listed.tests += 1;
            match case.status {
                Some(Status::Passed) => listed.passed += 1,
                Some(Status::Failed) => listed.failed += 1,
                Some(Status::Errored) => listed.errored += 1,
                _ => listed.skipped += 1,
            }
            log.sink.case(case);
        }
        if self.interrupted {
            log.findings.incomplete(
                "pytest says that the run was interrupted; tests that did not run are missing.",
            );
        }
        match self.summary {
            Some(summary) => log.findings.add(summary.totals),
            None => {
                log.findings.incomplete(format!(
                    "The pytest session has no last line with its totals: it died or the log is cut off; {} can be told from what is there.",
                    counted(listed.tests, "result")
                ));
                if listed.tests > 0 {
                    log.findings.add(listed);
                }
            }
        }
    }
}

impl Session {
    /// A last line ends the innermost session that it fits.
    fn end_level(&mut self, summary: Summary) {
        self.open = None;
        let fitting = self.levels.iter().rposition(|level| level.admits(&summary));
        match fitting {
            Some(0) | None if self.levels.len() == 1 || fitting == Some(0) => {
                self.levels.truncate(1);
                if self.levels[0].admits(&summary) {
                    self.summary = Some(summary);
                }
            }
            Some(at) => self.levels.truncate(at),
            None => {}
        }
    }

    fn headline(&mut self, title: &str) {
        self.open = None;
        self.part = match title {
            "FAILURES" | "ERRORS" => Part::Traces,
            "short test summary info" => Part::Short,
            _ if title.starts_with("slowest ") => Part::Durations,
            _ => Part::Other,
        };
        if title.starts_with("short test summary") && self.levels.len() == 1 {
            self.short.clear();
        }
    }

    fn inner_line(&mut self, line: &str) {
        if line.starts_with("collected ") || line.contains(" ... collected ") {
            self.collected(line);
        } else if line.contains(" workers [") || line.starts_with("gw0 [") {
            self.workers(line);
        }
        if line.contains("!!!!") {
            let text = line.trim_matches(['!', ' ']);
            if let Some(level) = self.levels.last_mut() {
                level.stopped |= text.starts_with("stopping after")
                    || text.contains("xdist.dsession.Interrupted")
                    || text.starts_with("Interrupted")
                    || text.contains("KeyboardInterrupt");
            }
            self.interrupted |= self.levels.len() == 1
                && (text.contains("KeyboardInterrupt") || text.contains("INTERNALERROR"));
        }
        match self.part {
            Part::Progress => self.progress(line),
            Part::Traces => self.trace(line),
            Part::Durations => self.duration(line),
            Part::Short => self.short(line),
            Part::Other => {}
        }
    }

    fn collected(&mut self, line: &str) {
        let Some((_, rest)) = line.rsplit_once("collected ") else {
            return;
        };
        if let (Some((count, _)), Some(level)) = (leading_number(rest), self.levels.last_mut()) {
            level.collected = Some(count);
        }
    }

    fn workers(&mut self, line: &str) {
        let count = line
            .split_once('[')
            .and_then(|(_, rest)| leading_number(rest));
        if let (Some((count, _)), Some(level)) = (count, self.levels.last_mut()) {
            level.collected = Some(count);
        }
    }

    /// `file.py::test PASSED [ 50%]`, or with the status on a later line, or xdist's
    /// `[gw0] [ 50%] PASSED file.py::test`.
    fn progress(&mut self, line: &str) {
        if line.starts_with("[gw") {
            let rest = line.split_once("] ").map_or("", |(_, rest)| rest);
            let rest = match rest.strip_prefix('[') {
                Some(percent) => percent.split_once("] ").map_or("", |(_, rest)| rest),
                None => rest,
            };
            if let Some((word, id)) = rest.trim_start().split_once(' ')
                && let Some(status) = status_of(word)
            {
                self.listed(id.trim(), status);
            }
            return;
        }
        let Some((before, status)) = status_column(line) else {
            if line.contains("::") && !line.starts_with(' ') {
                let id = line.split(" ::").next().unwrap_or(line);
                let id = id.split(" ##teamcity[").next().unwrap_or(id);
                self.running = Some(id.trim_end().to_owned());
            }
            return;
        };
        let id = match before.trim().is_empty() {
            true => self.running.take().unwrap_or_default(),
            false => before.trim_end().to_owned(),
        };
        if id.contains("::") || id.contains(".py") {
            self.listed(&id, status);
        }
    }

    fn listed(&mut self, id: &str, status: Status) {
        if self.levels.len() > 1 {
            return;
        }
        let (suite, name) = id.split_once("::").unwrap_or((id, ""));
        self.cases.push(Case {
            suite: suite.to_owned(),
            name: name.to_owned(),
            status: Some(status),
            ..Case::default()
        });
    }

    fn trace(&mut self, line: &str) {
        if let Some(title) = headline(line, '_').filter(|title| !title.starts_with("_ ")) {
            self.open = None;
            if self.traces.len() < DETAILED {
                self.traces.entry(title.to_owned()).or_default();
                self.open = Some(title.to_owned());
            }
            return;
        }
        if let Some(test) = self
            .open
            .as_ref()
            .and_then(|open| self.traces.get_mut(open))
        {
            if let Some(reason) = line.strip_prefix("E   ") {
                test.add_message(reason);
            }
            test.details.push(line);
            test.details.push("\n");
        }
    }

    fn duration(&mut self, line: &str) {
        let Some((time, rest)) = line.split_once("s ") else {
            return;
        };
        let Some((stage, id)) = rest.trim_start().split_once(' ') else {
            return;
        };
        if let Ok(seconds) = time.trim().parse::<f64>()
            && matches!(stage, "call" | "setup" | "teardown")
            && self.durations.len() < DURATIONS
        {
            *self.durations.entry(id.trim().to_owned()).or_insert(0.0) += seconds;
        }
    }

    /// `FAILED file.py::test - reason` and the like.
    fn short(&mut self, line: &str) {
        let Some((word, rest)) = line.split_once(' ') else {
            return;
        };
        let Some(status) = status_of(word) else {
            return;
        };
        if !matches!(status, Status::Failed | Status::Errored) || rest.starts_with('[') {
            return;
        }
        let (id, reason) = split_reason(rest);
        let (suite, name) = id.split_once("::").unwrap_or((id, "(collection)"));
        self.short.push(Case {
            suite: suite.to_owned(),
            name: name.to_owned(),
            status: Some(status),
            message: (!reason.is_empty()).then(|| reason.to_owned()),
            ..Case::default()
        });
    }

    /// All cases: listed ones completed by the summary and by traces.
    fn all_cases(&mut self, teamcity: bool) -> Vec<Case> {
        let mut traces = std::mem::take(&mut self.traces);
        let mut cases = match teamcity {
            true => self.messages.finished(),
            false => self.cases.take(),
        };
        let fails = |case: &Case| matches!(case.status, Some(Status::Failed | Status::Errored));
        let mut failures = std::mem::take(&mut self.short);
        let mut from_titles = Vec::new();
        if failures.is_empty() && !cases.iter().any(fails) {
            from_titles = traces.keys().map(|title| from_title(title)).collect();
        }
        if teamcity && !failures.is_empty() {
            cases.retain(|case| !fails(case));
        } else {
            for failure in &mut failures {
                let listed = cases.iter().position(|case| {
                    case.suite == failure.suite
                        && case.name == failure.name
                        && case.status == failure.status
                });
                if let Some(at) = listed {
                    cases.remove(at);
                }
            }
        }
        cases.extend(failures);
        cases.extend(from_titles);
        for case in cases.iter_mut() {
            let id = format!("{}::{}", case.suite, case.name);
            if let Some(seconds) = self.durations.get(&id) {
                case.seconds = case.seconds.or(Some(*seconds));
            }
            if fails(case) {
                complete(case, &mut traces);
            }
        }
        cases
    }
}

/// Adds the trace to a failure.
fn complete(case: &mut Case, traces: &mut BTreeMap<String, Gathered>) {
    let title = case.name.replace("::", ".");
    let titles = match case.status {
        Some(Status::Failed) => vec![title],
        _ => vec![
            format!("ERROR at setup of {title}"),
            format!("ERROR at teardown of {title}"),
            format!("ERROR collecting {}", case.suite),
        ],
    };
    let Some(trace) = titles.iter().find_map(|title| traces.remove(title)) else {
        return;
    };
    let told = trace.into_case(case.status);
    case.message = case.message.take().or(told.message);
    case.details = told.details;
}

fn from_title(title: &str) -> Case {
    let error = title
        .strip_prefix("ERROR at ")
        .or_else(|| title.strip_prefix("ERROR "));
    let name = match error {
        Some(rest) => rest
            .trim_start_matches("setup of ")
            .trim_start_matches("teardown of ")
            .trim_start_matches("collecting "),
        None => title,
    };
    Case {
        name: name.to_owned(),
        status: Some(match error {
            Some(_) => Status::Errored,
            None => Status::Failed,
        }),
        ..Case::default()
    }
}

fn status_of(word: &str) -> Option<Status> {
    STATUSES
        .iter()
        .find(|(name, _)| *name == word)
        .map(|(_, status)| *status)
}

/// What precedes the status in `NODE STATUS (reason) [ 50%]`, and the status.
fn status_column(line: &str) -> Option<(&str, Status)> {
    let line = line.split("##teamcity[").next().unwrap_or(line);
    let line = line.split("::warning ").next().unwrap_or(line);
    let rest = line.trim_end().strip_suffix("%]")?;
    let (rest, percent) = rest.rsplit_once('[')?;
    percent.trim().parse::<u64>().ok()?;
    let rest = rest.trim_end();
    STATUSES
        .iter()
        .filter_map(|(name, status)| {
            let at = match rest.starts_with(name) {
                true => 0,
                false => rest.rfind(&format!(" {name}"))? + 1,
            };
            let after = &rest[at + name.len()..];
            (after.is_empty() || after.starts_with(" (")).then_some((at, *status))
        })
        .max_by_key(|(at, _)| *at)
        .map(|(at, status)| (&rest[..at], status))
}

/// Splits `id - reason`; the parameters of a test may hold the separator, too.
fn split_reason(text: &str) -> (&str, &str) {
    let mut depth = 0_usize;
    for (at, character) in text.char_indices() {
        match character {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            ' ' if depth == 0 && text[at..].starts_with(" - ") => {
                return (&text[..at], &text[at + 3..]);
            }
            _ => {}
        }
    }
    text.split_once(" - ").unwrap_or((text, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_lines() {
        let counted = |line: &str| summary(line).map(|summary| summary.totals);
        assert_eq!(
            counted(
                "= 15 failed, 25 passed, 3 skipped, 1 xfailed, 1 xpassed, 2 warnings, 4 errors in 4.28s ="
            ),
            Some(Totals {
                tests: 49,
                passed: 26,
                failed: 15,
                errored: 4,
                skipped: 4
            })
        );
        assert_eq!(
            counted("=== 1 passed in 3.17 seconds ===").map(|t| t.tests),
            Some(1)
        );
        assert_eq!(
            counted("1 passed in 70.17s (0:01:10)").map(|t| t.tests),
            Some(1)
        );
        assert_eq!(
            counted("=== no tests ran in 0.01s ===").map(|t| t.tests),
            Some(0)
        );
        assert_eq!(counted("3 apples in 2s"), None);
        assert_eq!(counted("went in 2s"), None);
    }
}
