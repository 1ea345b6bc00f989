//! What the cases and counts of each producer mean.
//!
//! Three steps: a case is judged when it ends ([`JUnit::judge`], [`JUnit::count`]), a suite is
//! settled when it ends ([`JUnit::settle`]), and the report is concluded ([`JUnit::conclude`]).

use super::super::{End, Summary, add};
use super::producer::Producer;
use super::{Declared, Group, JUnit, Open, Suite, Tally, hash};
use crate::model::{Status, Totals};
use crate::xml::count as parse_count;

/// What became of a case.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) status: Option<Status>,
    /// What it adds to the totals.
    pub(super) counts: Totals,
    /// Whether the producer does not count it as a test.
    pub(super) beside: bool,
}

impl Verdict {
    fn test(status: Status) -> Self {
        let mut counts = Totals {
            tests: 1,
            ..Totals::default()
        };
        *part(&mut counts, status) = 1;
        Self {
            status: Some(status),
            counts,
            beside: false,
        }
    }

    /// An error of something that is not a test.
    fn error_beside() -> Self {
        Self {
            status: Some(Status::Errored),
            counts: Totals {
                errored: 1,
                ..Totals::default()
            },
            beside: true,
        }
    }

    /// Something that is not counted at all.
    fn nothing(status: Status) -> Self {
        Self {
            status: Some(status),
            counts: Totals::default(),
            beside: true,
        }
    }
}

fn part(totals: &mut Totals, status: Status) -> &mut u64 {
    match status {
        Status::Passed => &mut totals.passed,
        Status::Failed => &mut totals.failed,
        Status::Errored => &mut totals.errored,
        Status::Skipped => &mut totals.skipped,
    }
}

/// Counts that node:test writes as comments at the end of the report.
#[derive(Debug, Default)]
pub(super) struct Comments {
    tests: Option<u64>,
    passed: Option<u64>,
    failed: Option<u64>,
    cancelled: u64,
    skipped: u64,
    todo: u64,
}

impl Comments {
    pub(super) fn read(&mut self, comment: &str) {
        let mut words = comment.split_whitespace();
        let (Some(what), Some(count), None) = (words.next(), words.next(), words.next()) else {
            return;
        };
        let Some(count) = parse_count(count) else {
            return;
        };
        match what {
            "tests" => self.tests = Some(count),
            "pass" => self.passed = Some(count),
            "fail" => self.failed = Some(count),
            "cancelled" => self.cancelled = count,
            "skipped" => self.skipped = count,
            "todo" => self.todo = count,
            _ => {}
        }
    }

    fn totals(&self) -> Option<Totals> {
        Some(Totals {
            tests: self.tests?,
            passed: self.passed?,
            failed: self.failed? + self.cancelled,
            errored: 0,
            skipped: self.skipped + self.todo,
        })
    }
}

/// What a script printed in the Test Anything Protocol.
#[derive(Debug, Default)]
struct Tap {
    planned: Option<u64>,
    tests: u64,
    /// Skipped tests, and todos that did not pass.
    unmarked: u64,
}

impl Tap {
    fn of<'l>(lines: impl Iterator<Item = &'l str>) -> Self {
        let mut tap = Self::default();
        for line in lines {
            if let Some(plan) = line.strip_prefix("1..") {
                tap.planned = plan.split_whitespace().next().and_then(parse_count);
            }
            let (failed, rest) = match (line.strip_prefix("not ok"), line.strip_prefix("ok")) {
                (Some(rest), _) => (true, rest),
                (None, Some(rest)) => (false, rest),
                (None, None) => continue,
            };
            if !rest.is_empty() && !rest.starts_with(char::is_whitespace) {
                continue;
            }
            tap.tests += 1;
            let directive = rest
                .rsplit_once("# ")
                .map(|(_, directive)| directive.to_ascii_lowercase());
            let is = |name| {
                directive
                    .as_deref()
                    .is_some_and(|directive| directive.starts_with(name))
            };
            tap.unmarked += u64::from(!failed && is("skip") || failed && is("todo"));
        }
        tap
    }
}

fn begins_tap(text: &str) -> bool {
    let text = text.trim_start();
    text.starts_with("1..")
        || text.starts_with("ok ")
        || text.starts_with("not ok ")
        || text.starts_with("TAP version ")
}

/// What the elements in a case and its attributes say.
fn plain_status(open: &Open) -> (bool, bool, bool) {
    let (mut failed, mut errored) = (open.failures > 0, open.errors > 0);
    let mut skipped = open.skips > 0 && !failed && !errored;
    if !failed && !errored && !skipped {
        match open.status.as_str() {
            "notrun" | "disabled" | "skipped" | "ignored" | "pending" => skipped = true,
            "failed" | "fail" | "failure" => failed = true,
            "error" => errored = true,
            _ => {}
        }
        skipped |= matches!(open.result.as_str(), "suppressed" | "skipped") && !failed && !errored;
    }
    (failed, errored, skipped)
}

pub(super) fn tally(open: &Open) -> Tally {
    let (failed, errored, skipped) = plain_status(open);
    Tally {
        cases: 1,
        failed: failed.into(),
        errored: errored.into(),
        skipped: skipped.into(),
    }
}

/// The test that a case with sections belongs to.
fn test_of(name: &str) -> &str {
    name.split('/').next().unwrap_or(name)
}

impl JUnit {
    /// How a case ended, by the rules of the producer.
    pub(super) fn judge(&self, open: &Open) -> Verdict {
        let (failed, errored, skipped) = plain_status(open);
        let bad = failed || errored;
        match self.producer {
            Producer::Catch2 if bad && open.skip_message.starts_with("TEST_CASE tagged with !") => {
                Verdict::test(Status::Passed)
            }
            Producer::Catch2
            | Producer::Doctest
            | Producer::MochaXunit
            | Producer::MochaJunit
            | Producer::NodeTest
                if bad =>
            {
                Verdict::test(Status::Failed)
            }
            // Not run is skipped only when the test said so itself; otherwise it failed to run.
            Producer::CTest
                if open.status == "notrun" && !open.skip_message.starts_with("SKIP_") =>
            {
                Verdict::test(Status::Failed)
            }
            Producer::TapFormatter if open.error_type == "TodoTestSucceeded" => {
                Verdict::test(Status::Skipped)
            }
            // A setup script is listed like a test.
            Producer::Nextest if self.suite_name().starts_with("@setup-script") && bad => {
                Verdict::error_beside()
            }
            Producer::Nextest if self.suite_name().starts_with("@setup-script") => {
                Verdict::nothing(Status::Passed)
            }
            Producer::PhpUnit if errored && is_risky(&open.error_type) => {
                Verdict::test(Status::Passed)
            }
            // Failed assertions are reported as errors; a skip is something that was cancelled.
            Producer::Eunit if bad => Verdict::test(Status::Failed),
            Producer::Eunit if skipped => Verdict::nothing(Status::Skipped),
            Producer::Jest if open.classname == "Test suite failed to run" && errored => {
                Verdict::error_beside()
            }
            Producer::Jest if open.classname == "Test suite failed to run" => {
                Verdict::nothing(Status::Errored)
            }
            Producer::Gotestsum
                if open.gathered.name == "TestMain"
                    && open.classname != self.suite_name()
                    && bad =>
            {
                Verdict::error_beside()
            }
            Producer::Vitest
                if bad
                    && open.gathered.name == open.classname
                    && open.classname == self.suite_name() =>
            {
                Verdict::error_beside()
            }
            Producer::Ant if errored && open.classname == "junit.framework.TestSuite" => {
                Verdict::error_beside()
            }
            Producer::TapHarness if failed && open.failure_type == "Plan" => {
                Verdict::error_beside()
            }
            Producer::GoogleTest if bad && self.suite_name() == "NonTestSuiteFailure" => {
                Verdict::error_beside()
            }
            Producer::Ruff | Producer::Eslint if !bad => Verdict::nothing(Status::Passed),
            Producer::Eslint => Verdict::test(Status::Failed),
            Producer::XmlRunner
                if self.suite_name().starts_with("unittest.suite._ErrorHolder") && bad =>
            {
                Verdict::error_beside()
            }
            Producer::Pytest if errored => self.judge_pytest_error(open),
            _ => plain_verdict(failed, errored, skipped),
        }
    }

    /// pytest's console counts the outcome of a test and that of its teardown.
    fn judge_pytest_error(&self, open: &Open) -> Verdict {
        let mut verdict = plain_verdict(open.failures > 0, true, false);
        let teardown = open.error_message.starts_with("failed on teardown")
            || open.error_message == "test teardown failure";
        if open.skips > 0 {
            verdict.counts.skipped += 1;
        } else if teardown && open.failures == 0 && !self.is_second_entry(open) {
            verdict.counts.passed += 1;
        }
        let counts = &mut verdict.counts;
        counts.tests = counts.passed + counts.failed + counts.errored + counts.skipped;
        verdict
    }

    /// Whether the case is a further one of a test that failed.
    fn is_second_entry(&self, open: &Open) -> bool {
        self.failed_names
            .contains(&hash((&open.classname, &open.gathered.name)))
    }

    fn suite_name(&self) -> &str {
        self.open_suites
            .last()
            .map(|suite| suite.name.as_str())
            .unwrap_or_default()
    }

    /// Adds a case to the totals.
    pub(super) fn count(&mut self, open: &Open, verdict: &Verdict) {
        if self.producer == Producer::Pytest && open.errors > 0 && self.is_second_entry(open) {
            self.second_entries += 1;
        }
        if matches!(self.producer, Producer::Catch2 | Producer::Doctest) {
            self.count_in_group(&open.gathered.name, verdict);
            return;
        }
        let mut counts = verdict.counts;
        let totals = match self.open_suites.last_mut() {
            Some(suite) => {
                suite.beside += u64::from(verdict.beside);
                suite.numbered +=
                    u64::from(open.gathered.name.starts_with(|c: char| c.is_ascii_digit()));
                suite.untimed += u64::from(open.gathered.seconds.is_none());
                if self.producer == Producer::Nextest {
                    suite.in_binary = suite.in_binary.max(tests_in_binary(open));
                }
                if self.producer == Producer::XmlRunner && !verdict.beside {
                    // Subtests are cases named like "method (parameters)".
                    let method = open
                        .gathered
                        .name
                        .split_whitespace()
                        .next()
                        .unwrap_or_default();
                    counts.tests = suite.methods.insert(hash((&open.classname, method))).into();
                }
                &mut suite.counted
            }
            None => {
                self.beside += u64::from(verdict.beside);
                &mut self.counted
            }
        };
        *totals = add(*totals, counts);
    }

    fn count_in_group(&mut self, name: &str, verdict: &Verdict) {
        let test = test_of(name);
        if self.group.as_ref().is_none_or(|group| group.name != test) {
            self.end_group();
            self.group = Some(Group {
                name: test.to_owned(),
                totals: Totals::default(),
            });
        }
        if let Some(group) = &mut self.group {
            group.totals = add(group.totals, verdict.counts);
        }
    }

    /// Counts the sections of a test as one test.
    pub(super) fn end_group(&mut self) {
        let Some(group) = self.group.take() else {
            return;
        };
        let status = match group.totals {
            Totals { failed: 1.., .. } => Status::Failed,
            Totals { passed: 1.., .. } => Status::Passed,
            _ => Status::Skipped,
        };
        self.counted = add(self.counted, Verdict::test(status).counts);
    }

    /// mocha reports a test that calls `done()` twice as passed and then as failed, but writes the
    /// failure in both places.
    pub(super) fn passed_before_it_failed(&mut self) {
        let totals = match self.open_suites.last_mut() {
            Some(suite) => &mut suite.counted,
            None => &mut self.counted,
        };
        totals.failed = totals.failed.saturating_sub(1);
        totals.passed += 1;
    }

    /// Applies the rules that need a whole suite.
    pub(super) fn settle(&mut self, suite: &mut Suite) {
        if self.producer == Producer::Unknown
            && suite.numbered == suite.tally.cases
            && begins_tap(suite.output.head())
        {
            self.producer = Producer::TapFormatter;
        }
        let declared = suite.declared;
        let listed = suite.tally.cases - suite.beside.min(suite.tally.cases);
        let counted = &mut suite.counted;
        match self.producer {
            // A todo is a case like one that passed, but is not in the count of tests.
            Producer::Jest => {
                let todo = declared
                    .tests
                    .map_or(0, |tests| listed.saturating_sub(tests))
                    .min(counted.passed);
                counted.passed -= todo;
                counted.skipped += todo;
                // A file that did not run may have no case.
                counted.errored = counted.errored.max(declared.errors.unwrap_or(0));
            }
            // Skipped tests and todos have no mark but in the TAP that the suite printed.
            Producer::TapFormatter => match suite.output.all_lines().map(Tap::of) {
                Some(tap) => {
                    let without_mark = tap.unmarked.min(counted.passed);
                    counted.passed -= without_mark;
                    counted.skipped += without_mark;
                    counted.errored +=
                        u64::from(tap.planned.is_some_and(|planned| planned != tap.tests));
                }
                None => self.unread_output = true,
            },
            // A todo is in the count of tests, but has no case. After a bad plan the count is that
            // of the plan.
            Producer::TapHarness if suite.beside == 0 => {
                let todo = declared
                    .tests
                    .map_or(0, |tests| tests.saturating_sub(listed));
                counted.tests += todo;
                counted.skipped += todo;
            }
            // A group whose setup failed is a failure among the cases and an error in the counts.
            Producer::Cmocka => {
                if let (Some(failures), Some(errors)) = (declared.failures, declared.errors)
                    && failures + errors == counted.failed + counted.errored
                {
                    (counted.failed, counted.errored) = (failures, errors);
                }
            }
            // What a test reports of itself (TAP) is a suite of cases without durations, and is one
            // test.
            Producer::Meson if suite.untimed == suite.tally.cases && suite.tally.cases > 0 => {
                let status = match counted {
                    Totals { failed: 1.., .. } => Status::Failed,
                    Totals { passed: 1.., .. } => Status::Passed,
                    _ => Status::Skipped,
                };
                *counted = Verdict::test(status).counts;
            }
            Producer::Nextest => {
                let unlisted = suite
                    .in_binary
                    .map_or(0, |tests| tests.saturating_sub(listed));
                counted.tests += unlisted;
                counted.skipped += unlisted;
                self.unlisted += unlisted;
            }
            _ => {}
        }
    }

    /// The totals, compared with what the report states.
    pub(super) fn conclude(&mut self, end: End) -> Summary {
        let mut summary = Summary {
            dialect: format!("JUnit XML ({})", self.producer.name()),
            ..Summary::default()
        };
        if let Some(name) = self
            .foreign
            .take()
            .filter(|_| self.tally == Tally::default())
        {
            summary.dialect.clear();
            summary.missing = true;
            summary.problems.push(format!(
                "The report looks like JUnit XML, but holds <{name}> instead of test cases; \
                 what that means is not known here."
            ));
            return summary;
        }
        if end == End::Cut {
            self.conclude_cut(&mut summary);
            return summary;
        }
        self.apply_report_rules(&mut summary);
        if self.unlisted == 0
            && let Some((caveat, missing)) = self.producer.caveat()
        {
            summary.missing |= missing;
            summary.problems.push(caveat.into());
        }
        summary.totals = Some(self.counted);
        self.compare(&mut summary);
        summary
    }

    /// Totals of a report that breaks off: its head states those of the run, when it has them.
    fn conclude_cut(&mut self, summary: &mut Summary) {
        let read = self.tally.cases;
        // These write one suite, and the counts on that.
        let head = match self.producer {
            Producer::Pytest | Producer::Libtest => Some(self.suites),
            _ => self.head,
        };
        if let Some(totals) = head
            .filter(|_| self.producer.heads_with_totals())
            .and_then(headed)
        {
            summary.totals = Some(totals);
            summary.problems.push(format!(
                "The totals are those at the head of the report; {read} of its {} tests could \
                 be read.",
                totals.tests
            ));
        } else if read > 0 {
            summary.totals = Some(self.counted);
            summary.problems.push(format!(
                "The totals cover only the {read} cases before the report breaks off; the run \
                 had more or as many."
            ));
        }
    }

    fn apply_report_rules(&mut self, summary: &mut Summary) {
        let head = self.head.unwrap_or_default();
        let counted = &mut self.counted;
        match self.producer {
            // Pending tests have no case, unless the reporter was told to list them.
            Producer::MochaJunit => {
                let pending = head.skipped.unwrap_or(0).saturating_sub(counted.skipped);
                counted.skipped += pending;
                counted.tests += pending;
            }
            Producer::NodeTest => {
                if let Some(totals) = self.comments.totals() {
                    *counted = totals;
                }
            }
            Producer::Gotestsum if counted.errored == 0 => {
                counted.errored = head.errors.unwrap_or(0);
            }
            // Ignored tests are counted, but have no mark or no case.
            Producer::Libtest => {
                if let Some(totals) = headed(self.suites) {
                    *counted = totals;
                }
            }
            // Skips are written to the wrong case, and cases are lost.
            Producer::Bats => {
                if let Some(totals) = headed(self.suites) {
                    *counted = totals;
                    if totals.tests != self.tally.cases || totals.skipped != self.tally.skipped {
                        summary.missing = totals.tests > self.tally.cases;
                        summary.problems.push(format!(
                            "The report counts {} tests and lists {}; the totals are its \
                             counts, but names and outcomes of single tests may be wrong.",
                            totals.tests, self.tally.cases
                        ));
                    }
                }
            }
            Producer::Nextest if self.unlisted > 0 => summary.problems.push(format!(
                "{} tests are not listed (ignored, filtered out or not run); they are counted \
                 as skipped because the output of the others mentions them.",
                self.unlisted
            )),
            Producer::Eunit if self.tally.skipped > 0 => summary.problems.push(format!(
                "{} tests or groups were cancelled; eunit does not count them.",
                self.tally.skipped
            )),
            Producer::TapFormatter if self.unread_output => {
                summary.missing = true;
                summary.problems.push(
                    "Skipped tests are told only by the output of a suite, which is too long \
                     here to be kept; some that are counted as passed may have been skipped."
                        .into(),
                );
            }
            _ => {}
        }
    }

    /// Says where the counts that the report states are not those of its cases.
    fn compare(&self, summary: &mut Summary) {
        let stated = match self.head {
            Some(head) if head.tests.is_some() => head,
            _ => self.suites,
        };
        let Tally {
            cases,
            failed,
            errored,
            skipped,
        } = self.tally;
        let found = match self.producer {
            // Their counts are of something else, or the totals come from them.
            Producer::Catch2
            | Producer::Doctest
            | Producer::Libtest
            | Producer::Bats
            | Producer::TapHarness => return,
            Producer::NodeTest => return self.compare_with_comments(summary),
            // Suites count their tests whether they ran or not, and hooks are no tests.
            Producer::MochaJunit => (None, failed, None),
            Producer::MochaXunit => {
                let bad = self.counted.failed;
                let stated_bad = stated.failures.max(stated.errors);
                if stated_bad.is_some_and(|stated| stated != bad) {
                    summary.problems.push(format!(
                        "The report states {} failures, but its cases have {bad}; the totals \
                         are those of the cases.",
                        stated_bad.unwrap_or(0)
                    ));
                }
                return;
            }
            Producer::Pytest => {
                let totals = self.counted;
                let parts = totals.passed + totals.failed + totals.errored + totals.skipped;
                let tests = parts - self.second_entries.min(parts);
                // Old versions leave skipped tests out of the count.
                let old = stated.tests == Some(tests - totals.skipped.min(tests));
                (
                    Some(if old { tests - totals.skipped } else { tests }),
                    failed + errored,
                    Some(totals.skipped),
                )
            }
            Producer::Jest => (None, self.counted.failed + self.counted.errored, None),
            Producer::Eslint | Producer::Ruff => (None, failed + errored, None),
            Producer::Gotestsum => (
                Some(cases - self.beside.min(cases)),
                failed + errored + head_errors_beside(self),
                Some(skipped),
            ),
            Producer::Ant | Producer::GoogleTest => (
                Some(cases - self.beside.min(cases)),
                failed + errored,
                Some(skipped),
            ),
            _ => (Some(cases), failed + errored, Some(skipped)),
        };
        report_difference(stated, found, self.tally, summary);
    }

    fn compare_with_comments(&self, summary: &mut Summary) {
        let Some(totals) = self.comments.totals() else {
            summary.problems.push(
                "The counts that node:test writes at the end of its report are not there; the \
                 totals are those of the cases."
                    .into(),
            );
            return;
        };
        let bad = self.tally.failed + self.tally.errored;
        if totals.tests != self.tally.cases || totals.failed != bad {
            summary.problems.push(format!(
                "The report states {} tests with {} failures, but lists {} with {bad}; the \
                 totals are those that it states.",
                totals.tests, totals.failed, self.tally.cases
            ));
        }
    }
}

/// gotestsum counts lines of build errors at its head that have no case.
fn head_errors_beside(junit: &JUnit) -> u64 {
    if junit.head.is_some_and(|head| head.tests.is_some()) {
        junit.head.and_then(|head| head.errors).unwrap_or(0)
    } else {
        0
    }
}

/// `found` is the number of tests, of failures with errors, and of skips.
fn report_difference(
    stated: Declared,
    found: (Option<u64>, u64, Option<u64>),
    tally: Tally,
    summary: &mut Summary,
) {
    let (tests, bad, skipped) = found;
    let differs = |stated: Option<u64>, found| {
        stated
            .zip(found)
            .is_some_and(|(stated, found)| stated != found)
    };
    let stated_bad = match (stated.failures, stated.errors) {
        (None, None) => None,
        (failures, errors) => Some(failures.unwrap_or(0) + errors.unwrap_or(0)),
    };
    let mut differences = Vec::new();
    let mut note = |stated: Option<u64>, found: Option<u64>, what: &str| {
        if differs(stated, found) {
            differences.push(format!(
                "{} {what} (found {})",
                stated.unwrap_or(0),
                found.unwrap_or(0)
            ));
        }
    };
    note(stated.tests, tests, "tests");
    note(stated_bad, Some(bad), "failures and errors");
    note(stated.skipped, skipped, "skipped");
    if differences.is_empty() {
        return;
    }
    summary.missing |= stated
        .tests
        .zip(tests)
        .is_some_and(|(stated, found)| stated > found);
    summary.problems.push(format!(
        "The report states {}, which its {} cases do not bear out; the totals are those of the \
         cases.",
        differences.join(", "),
        tally.cases
    ));
}

fn plain_verdict(failed: bool, errored: bool, skipped: bool) -> Verdict {
    match (failed, errored, skipped) {
        // Both happened, in the test and in what follows it, and both are counted.
        (true, true, _) => {
            let mut verdict = Verdict::test(Status::Errored);
            verdict.counts.failed = 1;
            verdict
        }
        (true, false, _) => Verdict::test(Status::Failed),
        (false, true, _) => Verdict::test(Status::Errored),
        (false, false, true) => Verdict::test(Status::Skipped),
        (false, false, false) => Verdict::test(Status::Passed),
    }
}

/// PHPUnit calls tests risky that it lets pass: without assertions, with output, and so on.
fn is_risky(error_type: &str) -> bool {
    let class = error_type.rsplit('\\').next().unwrap_or(error_type);
    error_type.starts_with("PHPUnit\\")
        && (class.contains("Risky")
            || matches!(
                class,
                "OutputError"
                    | "UnintentionallyCoveredCodeError"
                    | "CoveredCodeNotExecutedException"
                    | "MissingCoversAnnotationException"
            ))
}

/// The totals that an element states, when it states all parts.
fn headed(declared: Declared) -> Option<Totals> {
    let (failed, errored) = match (declared.failures, declared.errors) {
        (None, None) => return None,
        (failures, errors) => (failures.unwrap_or(0), errors.unwrap_or(0)),
    };
    let (tests, skipped) = (declared.tests?, declared.skipped?);
    Some(Totals {
        tests,
        passed: tests
            .checked_sub(failed)?
            .checked_sub(errored)?
            .checked_sub(skipped)?,
        failed,
        errored,
        skipped,
    })
}

/// How many tests a Rust test binary has, from the summary that it prints for the one that ran.
fn tests_in_binary(open: &Open) -> Option<u64> {
    let line = open.gathered.output.last_line_starting("test result: ")?;
    let counts = line.split(';').filter_map(|part| {
        let mut words = part
            .split_whitespace()
            .rev()
            .skip_while(|word| word.parse::<u64>().is_err());
        let known = ["passed", "failed", "ignored", "measured", "filtered out"];
        known
            .iter()
            .any(|word| part.contains(word))
            .then(|| words.next().and_then(parse_count))?
    });
    Some(counts.sum())
}
