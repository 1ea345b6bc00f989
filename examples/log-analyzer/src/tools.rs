//! The tools: short answers for the model, the full material as artifacts.
//!
//! What a report says is read by [`crate::read`]; here it is counted, sorted and compared while it
//! streams by, so that memory does not grow with the report.

mod compare;
mod failures;
mod search;
mod slowest;
mod totals;

use std::{
    fs::File,
    io::BufReader,
    path::{Path, PathBuf},
};

use odek_sdk::{ArtifactError, ArtifactStore, ToolResult, prelude::*};

use crate::{
    model::{Case, Completeness, Outcome, Sink},
    read,
    tools::{compare::Comparison, failures::Failures, search::Search, slowest::Slowest},
};

pub use search::SearchError;

/// How many characters of a line are shown; artifacts have the whole.
const SHOWN_CHARACTERS: usize = 160;

/// Summarise a test report or a test log: how many tests passed, failed, errored and were skipped,
/// what is wrong with the file, and the first failures. The report and the full list of failures
/// are attached.
#[odek_tool(read_only)]
pub fn summarize(
    /// Path of the report.
    path: PathBuf,
    /// How many failures to show.
    #[odek(default = 8)]
    top: usize,
    cx: ToolContext,
) -> Result<ToolResult, ToolError> {
    let mut failures = Failures::new(top.min(20), None, cx.artifacts());
    let outcome = read_report(&path, &mut failures)?;
    let mut text = totals::describe(&path, &outcome);
    text.push_str(&failures.shown());
    let result = ToolResult::text(text).artifacts(failures.finish()?);
    attach_report(result, &path, cx.artifacts())
}

/// List the tests that failed or errored, with their messages. The full list, with traces, is
/// attached.
#[odek_tool(read_only)]
pub fn list_failures(
    /// Path of the report.
    path: PathBuf,
    /// Only tests whose suite, name, message or trace contains this text, in any letter case.
    filter: Option<String>,
    /// How many to show.
    #[odek(default = 15)]
    limit: usize,
    cx: ToolContext,
) -> Result<ToolResult, ToolError> {
    let mut failures = Failures::new(limit.min(20), filter, cx.artifacts());
    let outcome = read_report(&path, &mut failures)?;
    let mut text = failures.headline();
    text.push_str(&failures.shown());
    text.push_str(&totals::caveats(&outcome));
    Ok(ToolResult::text(text).artifacts(failures.finish()?))
}

/// Show the tests that took longest.
#[odek_tool(read_only)]
pub fn slowest_tests(
    /// Path of the report.
    path: PathBuf,
    /// How many to show.
    #[odek(default = 10)]
    count: usize,
) -> Result<String, ToolError> {
    let mut slowest = Slowest::new(count.clamp(1, 20));
    let outcome = read_report(&path, &mut slowest)?;
    Ok(slowest.describe() + &totals::caveats(&outcome))
}

/// Compare two runs of the same tests: what fails now and did not before, what is fixed, what
/// still fails, and which tests are new or gone. The full comparison is attached.
#[odek_tool(read_only)]
pub fn compare_runs(
    /// Path of the earlier report.
    before: PathBuf,
    /// Path of the later report.
    after: PathBuf,
    cx: ToolContext,
) -> Result<ToolResult, ToolError> {
    let mut comparison = Comparison::default();
    let earlier = read_report(&before, &mut comparison.before())?;
    let later = read_report(&after, &mut comparison.after())?;
    let mut text = comparison.summary();
    for (path, outcome) in [(&before, &earlier), (&after, &later)] {
        let caveats = totals::caveats(outcome);
        if !caveats.is_empty() {
            text.push_str(&format!("\n{}:{caveats}", name_of(path)));
        }
    }
    let full = comparison.full();
    if full.is_empty() {
        return Ok(ToolResult::text(text));
    }
    let full = cx.artifacts().write_bytes("comparison", full)?;
    Ok(ToolResult::text(text).artifact(full.summary("Every test that differs between the runs")))
}

/// Search a log or report of any kind for a text. Terminal colours are ignored, and lines that a
/// terminal redraws are searched as they were last seen. All matches are attached.
#[odek_tool(read_only)]
pub fn search_log(
    /// Path of the log.
    path: PathBuf,
    /// The text to look for.
    text: String,
    /// Whether upper and lower case are the same.
    #[odek(default = true)]
    ignore_case: bool,
    /// How many lines to show around each match.
    #[odek(default = 1)]
    context: usize,
    /// How many matches to show.
    #[odek(default = 10)]
    limit: usize,
    cx: ToolContext,
) -> Result<ToolResult, ToolError> {
    let mut input = open(&path)?;
    let search = Search::new(&text, ignore_case, context.min(5), limit.min(20))?;
    let found = search.run(&mut input, cx.artifacts())?;
    Ok(found.into_result(&name_of(&path), &text))
}

fn open(path: &Path) -> Result<BufReader<File>, ToolError> {
    let explained = |error: &dyn std::fmt::Display| {
        ToolError::new(format!("cannot read {}: {error}", path.display()))
    };
    let file = File::open(path).map_err(|error| explained(&error))?;
    let kind = file.metadata().map_err(|error| explained(&error))?;
    if !kind.is_file() {
        return Err(explained(&"it is no regular file"));
    }
    Ok(BufReader::with_capacity(64 * 1024, file))
}

fn read_report(path: &Path, sink: &mut dyn Sink) -> Result<Outcome, ToolError> {
    Ok(read::open(open(path)?, sink))
}

/// The report itself, unless it is too large for the host or cannot be attached, which is no reason
/// to withhold the summary.
fn attach_report(
    result: ToolResult,
    path: &Path,
    artifacts: &ArtifactStore,
) -> Result<ToolResult, ToolError> {
    match artifacts.copy_in("report", path) {
        Ok(report) => Ok(result.artifact(report.summary("The report itself"))),
        Err(ArtifactError::TooLarge { .. }) => {
            let compressed = artifacts.compress("report", path)?;
            Ok(result.artifact(compressed.summary("The report itself, compressed")))
        }
        Err(error) => Err(error.into()),
    }
}

fn name_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}

/// A case's full name: `suite > name`.
fn full_name(case: &Case) -> String {
    match (case.suite.is_empty(), case.name.is_empty()) {
        (true, _) => case.name.clone(),
        (false, true) => case.suite.clone(),
        (false, false) if case.suite == case.name => case.name.clone(),
        (false, false) => format!("{} > {}", case.suite, case.name),
    }
}

/// A text on one line of bounded length.
fn one_line(text: &str) -> String {
    let mut words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((cut, _)) = words.char_indices().nth(SHOWN_CHARACTERS) {
        words.truncate(cut);
        words.push('…');
    }
    words
}

fn plural(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

fn is_complete(outcome: &Outcome) -> bool {
    outcome.completeness == Completeness::Complete
}
