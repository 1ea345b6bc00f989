//! The tests that took longest.

use super::{full_name, one_line, plural};
use crate::model::{Case, Sink};

/// Keeps the slowest tests while a report is read.
pub(super) struct Slowest {
    count: usize,
    slowest: Vec<(f64, String)>,
    timed: u64,
    seconds: f64,
}

impl Slowest {
    pub(super) fn new(count: usize) -> Self {
        Self {
            count,
            slowest: Vec::new(),
            timed: 0,
            seconds: 0.0,
        }
    }

    pub(super) fn describe(&self) -> String {
        if self.timed == 0 {
            return "The report says of no test how long it took.".to_owned();
        }
        let tests = plural(self.timed, "test", "tests");
        let mut text = format!("{tests} took {:.3} s in all; the slowest:", self.seconds);
        for (seconds, name) in &self.slowest {
            text.push_str(&format!("\n{seconds:>10.3} s  {name}"));
        }
        text
    }
}

impl Sink for Slowest {
    fn case(&mut self, case: Case) {
        let Some(seconds) = case.seconds.filter(|seconds| seconds.is_finite()) else {
            return;
        };
        self.timed += 1;
        self.seconds += seconds;
        let place = self
            .slowest
            .partition_point(|(slower, _)| *slower >= seconds);
        if place < self.count {
            self.slowest
                .insert(place, (seconds, one_line(&full_name(&case))));
            self.slowest.truncate(self.count);
        }
    }
}
