//! Two runs of the same tests, side by side.

use std::collections::BTreeMap;

use super::{full_name, one_line, plural};
use crate::model::{Case, Sink, Status};

/// How many names of each kind are shown.
const SHOWN: usize = 6;

/// How the tests of two runs ended. Of a test that a run lists several times, the worst counts.
#[derive(Debug, Default)]
pub(super) struct Comparison {
    tests: BTreeMap<String, [Option<Status>; 2]>,
}

/// One of the two runs, while its report is read.
pub(super) struct Run<'c> {
    comparison: &'c mut Comparison,
    side: usize,
}

impl Sink for Run<'_> {
    fn case(&mut self, case: Case) {
        let Some(status) = case.status else { return };
        let ended = &mut self.comparison.tests.entry(full_name(&case)).or_default()[self.side];
        if ended.is_none_or(|so_far| severity(status) > severity(so_far)) {
            *ended = Some(status);
        }
    }
}

fn severity(status: Status) -> u8 {
    match status {
        Status::Skipped => 0,
        Status::Passed => 1,
        Status::Failed => 2,
        Status::Errored => 3,
    }
}

fn is_failing(status: Status) -> bool {
    matches!(status, Status::Failed | Status::Errored)
}

/// What became of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Change {
    NewlyFailing,
    StillFailing,
    Fixed,
    NoLongerRun,
    RunAgain,
    New,
    Gone,
}

impl Change {
    const ALL: [Self; 7] = [
        Self::NewlyFailing,
        Self::StillFailing,
        Self::Fixed,
        Self::NoLongerRun,
        Self::RunAgain,
        Self::New,
        Self::Gone,
    ];

    fn of(before: Option<Status>, after: Option<Status>) -> Option<Self> {
        match (before, after) {
            (before, Some(after)) if is_failing(after) => match before {
                Some(before) if is_failing(before) => Some(Self::StillFailing),
                _ => Some(Self::NewlyFailing),
            },
            (None, Some(_)) => Some(Self::New),
            (Some(_), None) => Some(Self::Gone),
            (Some(before), Some(Status::Skipped)) if before != Status::Skipped => {
                Some(Self::NoLongerRun)
            }
            (Some(before), Some(_)) if is_failing(before) => Some(Self::Fixed),
            (Some(Status::Skipped), Some(Status::Passed)) => Some(Self::RunAgain),
            _ => None,
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::NewlyFailing => "newly failing",
            Self::StillFailing => "still failing",
            Self::Fixed => "fixed",
            Self::NoLongerRun => "now skipped",
            Self::RunAgain => "no longer skipped",
            Self::New => "new",
            Self::Gone => "gone",
        }
    }
}

impl Comparison {
    pub(super) fn before(&mut self) -> Run<'_> {
        Run {
            comparison: self,
            side: 0,
        }
    }

    pub(super) fn after(&mut self) -> Run<'_> {
        Run {
            comparison: self,
            side: 1,
        }
    }

    fn changes(&self) -> BTreeMap<Change, Vec<&str>> {
        let mut changes: BTreeMap<Change, Vec<&str>> = BTreeMap::new();
        for (name, [before, after]) in &self.tests {
            if let Some(change) = Change::of(*before, *after) {
                changes.entry(change).or_default().push(name);
            }
        }
        changes
    }

    /// The numbers, and the first names of each kind.
    pub(super) fn summary(&self) -> String {
        let changes = self.changes();
        let count = |change: &Change| changes.get(change).map_or(0, Vec::len);
        let numbers: Vec<_> = Change::ALL
            .iter()
            .filter(|change| count(change) > 0 || **change <= Change::Fixed)
            .map(|change| format!("{} {}", count(change), change.title()))
            .collect();
        let mut text = format!(
            "{} in both runs together: {}.",
            plural(self.tests.len() as u64, "test", "tests"),
            numbers.join(", ")
        );
        for (change, names) in &changes {
            text.push_str(&format!("\n{}:", change.title()));
            for name in names.iter().take(SHOWN) {
                text.push_str(&format!("\n  {}", one_line(name)));
            }
            if names.len() > SHOWN {
                text.push_str(&format!("\n  … and {} more", names.len() - SHOWN));
            }
        }
        text
    }

    /// Every test that differs, a line each.
    pub(super) fn full(&self) -> String {
        let mut text = String::new();
        for (change, names) in self.changes() {
            for name in names {
                text.push_str(&format!("{}\t{name}\n", change.title()));
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(names: &[(&str, Status)], sink: &mut Run<'_>) {
        for (name, status) in names {
            sink.case(Case {
                name: (*name).to_owned(),
                status: Some(*status),
                ..Case::default()
            });
        }
    }

    #[test]
    fn what_became_of_each_test() {
        use Status::{Errored, Failed, Passed, Skipped};
        let mut comparison = Comparison::default();
        run(
            &[
                ("a", Passed),
                ("b", Failed),
                ("c", Failed),
                ("d", Passed),
                ("e", Passed),
                ("f", Skipped),
            ],
            &mut comparison.before(),
        );
        run(
            // Listed twice: the worse result counts.
            &[
                ("a", Passed),
                ("a", Errored),
                ("b", Failed),
                ("c", Passed),
                ("d", Skipped),
                ("f", Passed),
                ("g", Passed),
            ],
            &mut comparison.after(),
        );
        let full = comparison.full();
        let lines: Vec<_> = full.lines().collect();
        assert_eq!(
            lines,
            [
                "newly failing\ta",
                "still failing\tb",
                "fixed\tc",
                "now skipped\td",
                "no longer skipped\tf",
                "new\tg",
                "gone\te",
            ]
        );
        assert!(comparison.summary().starts_with(
            "7 tests in both runs together: 1 newly failing, 1 still failing, 1 fixed, 1 now skipped"
        ));
    }

    #[test]
    fn two_equal_runs_differ_in_nothing() {
        let mut comparison = Comparison::default();
        run(&[("a", Status::Passed)], &mut comparison.before());
        run(&[("a", Status::Passed)], &mut comparison.after());
        assert_eq!(comparison.full(), "");
        assert_eq!(
            comparison.summary(),
            "1 test in both runs together: 0 newly failing, 0 still failing, 0 fixed."
        );
    }
}
