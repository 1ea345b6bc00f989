//! What a report says, whatever its format.

use std::fmt;

/// How many tests there were, and how they ended, as the producer's own console summary counts
/// them. Parts may add up to more than `tests`: errors of fixtures, hooks, files and packages come
/// on top.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// The tests that the producer counts, including skipped ones.
    pub tests: u64,
    /// Passed, flaky ones that passed in the end included.
    pub passed: u64,
    /// Failed.
    pub failed: u64,
    /// Errors of fixtures, hooks, files or packages, and what the producer itself calls an error.
    pub errored: u64,
    /// Skipped, ignored, pending; expected failures and todo unless the producer counts them as
    /// passed.
    pub skipped: u64,
}

/// How one test ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    /// It passed.
    Passed,
    /// It failed.
    Failed,
    /// It, or something it needs, ended with an error.
    Errored,
    /// It did not run.
    Skipped,
}

/// One test, or one execution of it where the format lists several.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Case {
    /// The suite, class, package, file or binary that the test belongs to; may be empty.
    pub suite: String,
    /// The test's own name.
    pub name: String,
    /// How it ended; `None` where the format does not say.
    pub status: Option<Status>,
    /// How long it took, in seconds.
    pub seconds: Option<f64>,
    /// One line on why it failed, errored or was skipped.
    pub message: Option<String>,
    /// All that the report says about the failure (trace, diff, output), cut at a limit.
    pub details: Option<String>,
}

/// Something about the file that makes its reading less than complete, as a full sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem(pub String);

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// What a file is, in words, such as `JUnit XML (pytest)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Dialect {
    /// A format that is understood.
    Known(String),
    /// Nothing that is understood.
    Unknown,
}

/// Whether a file was read to its proper end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completeness {
    /// Everything is there.
    Complete,
    /// The file ends early or is damaged so that something is missing; `problems` says what.
    Incomplete,
}

/// What came of reading a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// What the file is.
    pub dialect: Dialect,
    /// The totals. `None` where the file holds no tests or no way to count them.
    pub totals: Option<Totals>,
    /// Whether the totals are those of the whole run.
    pub completeness: Completeness,
    /// What is wrong with the file, or was repaired while it was read.
    pub problems: Vec<Problem>,
}

/// Takes the cases of a report while it is read.
pub trait Sink {
    /// One case, in the order of the file.
    fn case(&mut self, case: Case);
}

impl Sink for Vec<Case> {
    fn case(&mut self, case: Case) {
        self.push(case);
    }
}
