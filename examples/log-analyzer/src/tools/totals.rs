//! Totals and what has to be said with them.

use std::path::Path;

use super::{is_complete, name_of, one_line};
use crate::model::{Dialect, Outcome};

/// How many problems are told.
const SHOWN_PROBLEMS: usize = 5;

/// What the file is, its totals, and what is wrong with it.
pub(super) fn describe(path: &Path, outcome: &Outcome) -> String {
    let name = name_of(path);
    let dialect = match &outcome.dialect {
        Dialect::Known(dialect) => dialect.as_str(),
        Dialect::Unknown => "a format that is not known here",
    };
    let totals = match outcome.totals {
        Some(totals) => format!(
            "{} tests: {} passed, {} failed, {} errored, {} skipped",
            totals.tests, totals.passed, totals.failed, totals.errored, totals.skipped
        ),
        None => "no totals can be given".to_owned(),
    };
    let so_far = if is_complete(outcome) {
        ""
    } else {
        " as far as the file goes"
    };
    format!("{name} ({dialect}): {totals}{so_far}.{}", caveats(outcome))
}

/// A line for each thing that is wrong with the file.
pub(super) fn caveats(outcome: &Outcome) -> String {
    let mut text = String::new();
    if !is_complete(outcome) {
        text.push_str("\nINCOMPLETE: these are not the results of the whole run.");
    }
    for problem in outcome.problems.iter().take(SHOWN_PROBLEMS) {
        text.push_str(&format!("\nNote: {}", one_line(&problem.0)));
    }
    if outcome.problems.len() > SHOWN_PROBLEMS {
        text.push_str(&format!(
            "\nNote: {} more like these.",
            outcome.problems.len() - SHOWN_PROBLEMS
        ));
    }
    text
}
