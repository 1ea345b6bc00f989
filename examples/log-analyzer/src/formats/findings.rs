//! What is found out while a file is read.

use crate::formats::xml::case::first_line;
use crate::model::{Case, Completeness, Dialect, Outcome, Problem, Status, Totals};

/// Bytes of details that are kept while the cases that they belong to have to wait.
const WAITING_LIMIT: usize = 6 * 1024 * 1024;

/// The outcome in the making.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    names: Vec<String>,
    totals: Option<Totals>,
    problems: Vec<Problem>,
    missing: bool,
}

impl Findings {
    /// Names a format that was found.
    pub(crate) fn name(&mut self, name: impl Into<String>) {
        let name = name.into();
        if !self.names.contains(&name) {
            self.names.push(name);
        }
    }

    /// Adds the totals of a part.
    pub(crate) fn add(&mut self, part: Totals) {
        let sum = self.totals.get_or_insert_default();
        sum.tests = sum.tests.saturating_add(part.tests);
        sum.passed = sum.passed.saturating_add(part.passed);
        sum.failed = sum.failed.saturating_add(part.failed);
        sum.errored = sum.errored.saturating_add(part.errored);
        sum.skipped = sum.skipped.saturating_add(part.skipped);
    }

    /// Says something that does not make the totals doubtful.
    pub(crate) fn note(&mut self, sentence: impl Into<String>) {
        let problem = Problem(sentence.into());
        if !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }

    /// Says what is missing.
    pub(crate) fn incomplete(&mut self, sentence: impl Into<String>) {
        self.missing = true;
        self.note(sentence);
    }

    /// Whether a format was found.
    pub(crate) fn is_known(&self) -> bool {
        !self.names.is_empty()
    }

    /// Whether there are totals already.
    pub(crate) fn has_totals(&self) -> bool {
        self.totals.is_some()
    }

    /// The outcome.
    pub(crate) fn into_outcome(self) -> Outcome {
        Outcome {
            dialect: match self.names.is_empty() {
                true => Dialect::Unknown,
                false => Dialect::Known(self.names.join(" + ")),
            },
            totals: self.totals,
            completeness: match self.missing {
                true => Completeness::Incomplete,
                false => Completeness::Complete,
            },
            problems: self.problems,
        }
    }
}

/// Counts cases by how they ended.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Tally(pub(crate) Totals);

impl Tally {
    /// Counts a test.
    pub(crate) fn test(&mut self, status: Status) {
        self.0.tests += 1;
        self.part(status);
    }

    /// Counts what comes on top of the tests.
    pub(crate) fn part(&mut self, status: Status) {
        *match status {
            Status::Passed => &mut self.0.passed,
            Status::Failed => &mut self.0.failed,
            Status::Errored => &mut self.0.errored,
            Status::Skipped => &mut self.0.skipped,
        } += 1;
    }
}

/// Cases that have to wait for something that the file says later.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    cases: Vec<Case>,
    bytes: usize,
}

impl Waiting {
    /// Takes a case; its details only while there is room for them.
    pub(crate) fn push(&mut self, mut case: Case) {
        let size = case.details.as_ref().map_or(0, String::len);
        if self.bytes + size > WAITING_LIMIT {
            case.details = None;
        } else {
            self.bytes += size;
        }
        self.cases.push(case);
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.cases.len()
    }

    /// All of them, to be changed.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Case> {
        self.cases.iter_mut()
    }

    /// Hands them over.
    pub(crate) fn take(&mut self) -> Vec<Case> {
        self.bytes = 0;
        std::mem::take(&mut self.cases)
    }
}

/// A case that has no more than a name, an end and a reason.
pub(crate) fn brief(suite: &str, name: &str, status: Status, reason: &str) -> Case {
    Case {
        suite: suite.into(),
        name: name.into(),
        status: Some(status),
        message: first_line(reason),
        ..Case::default()
    }
}

/// `1 test`, `2 tests`.
pub(crate) fn counted(count: u64, thing: &str) -> String {
    match count {
        1 => format!("1 {thing}"),
        _ => format!("{count} {thing}s"),
    }
}
