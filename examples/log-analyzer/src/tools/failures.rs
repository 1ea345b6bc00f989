//! The failures of a report: the first ones for the model, all of them in an artifact.

use std::io::Write;

use odek_sdk::{Artifact, ArtifactError, ArtifactStore, ArtifactWriter, ToolError};

use super::{full_name, one_line, plural};
use crate::model::{Case, Sink, Status};

/// Collects failures while a report is read.
pub(super) struct Failures<'s> {
    limit: usize,
    filter: Option<String>,
    artifacts: &'s ArtifactStore,
    shown: Vec<String>,
    found: u64,
    full: Option<Result<ArtifactWriter, ArtifactError>>,
}

impl<'s> Failures<'s> {
    pub(super) fn new(limit: usize, filter: Option<String>, artifacts: &'s ArtifactStore) -> Self {
        Self {
            limit,
            filter: filter.map(|filter| filter.to_lowercase()),
            artifacts,
            shown: Vec::new(),
            found: 0,
            full: None,
        }
    }

    fn is_wanted(&self, case: &Case) -> bool {
        let has_failed = matches!(case.status, Some(Status::Failed | Status::Errored));
        let Some(filter) = &self.filter else {
            return has_failed;
        };
        let texts = [
            Some(&case.suite),
            Some(&case.name),
            case.message.as_ref(),
            case.details.as_ref(),
        ];
        has_failed
            && texts
                .into_iter()
                .flatten()
                .any(|text| text.to_lowercase().contains(filter))
    }

    /// How many there are.
    pub(super) fn headline(&self) -> String {
        let count = plural(self.found, "failure", "failures");
        match &self.filter {
            Some(filter) => format!("{count} with {filter:?}."),
            None => format!("{count}."),
        }
    }

    /// The first ones, a line each.
    pub(super) fn shown(&self) -> String {
        let mut text: String = self.shown.iter().map(|line| format!("\n{line}")).collect();
        let more = self.found - self.shown.len() as u64;
        if more > 0 && !self.shown.is_empty() {
            text.push_str(&format!(
                "\n… and {more} more; the artifact `failures` has them all."
            ));
        }
        text
    }

    /// The artifact with all of them; nothing where there are none.
    ///
    /// # Errors
    ///
    /// When it could not be written.
    pub(super) fn finish(self) -> Result<Option<Artifact>, ToolError> {
        let Some(full) = self.full else {
            return Ok(None);
        };
        let artifact = full?.finish()?;
        Ok(Some(artifact.summary(
            "All failures, with everything that the report says about them",
        )))
    }

    fn write(&mut self, case: &Case) {
        let artifacts = self.artifacts;
        let full = self.full.get_or_insert_with(|| {
            artifacts
                .create("failures")
                .map(|writer| writer.media_type("text/plain"))
        });
        // A write that fails makes `finish` fail, which says why.
        if let Ok(writer) = full {
            let details = case
                .details
                .as_deref()
                .or(case.message.as_deref())
                .unwrap_or_default();
            let _ = writeln!(writer, "== {}\n{}\n", full_name(case), details.trim_end());
        }
    }
}

impl Sink for Failures<'_> {
    fn case(&mut self, case: Case) {
        if !self.is_wanted(&case) {
            return;
        }
        self.found += 1;
        self.write(&case);
        if self.shown.len() < self.limit {
            let word = if case.status == Some(Status::Errored) {
                "ERROR"
            } else {
                "FAILED"
            };
            let message = case
                .message
                .as_deref()
                .or(case.details.as_deref())
                .unwrap_or_default();
            let name = one_line(&full_name(&case));
            self.shown.push(match one_line(message) {
                message if message.is_empty() => format!("{word} {name}"),
                message => format!("{word} {name}: {message}"),
            });
        }
    }
}
