//! Looking for a text in a log.

use std::{collections::VecDeque, io::BufRead, io::Write};

use odek_sdk::{Artifact, ArtifactStore, ArtifactWriter, ToolError, ToolResult};

use super::{one_line, plural};
use crate::text::{self, Text};

/// How much of a line is looked at, in bytes.
const LINE_LIMIT: usize = 64 * 1024;

/// Why nothing can be searched for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SearchError {
    /// The text to look for is blank.
    #[error("the text to look for is empty; every line would match")]
    Blank,
}

/// What is looked for, and how much of what is found is shown.
pub(super) struct Search {
    wanted: String,
    ignore_case: bool,
    context: usize,
    limit: usize,
}

/// What was found.
pub(super) struct Found {
    lines: u64,
    matches: u64,
    shown: Vec<String>,
    all: Option<Artifact>,
}

impl Search {
    pub(super) fn new(
        wanted: &str,
        ignore_case: bool,
        context: usize,
        limit: usize,
    ) -> Result<Self, SearchError> {
        if wanted.trim().is_empty() {
            return Err(SearchError::Blank);
        }
        let wanted = if ignore_case {
            wanted.to_lowercase()
        } else {
            wanted.to_owned()
        };
        Ok(Self {
            wanted,
            ignore_case,
            context,
            limit,
        })
    }

    pub(super) fn run(
        &self,
        input: &mut dyn BufRead,
        artifacts: &ArtifactStore,
    ) -> Result<Found, ToolError> {
        let mut text = Text::new(input);
        let mut found = Found {
            lines: 0,
            matches: 0,
            shown: Vec::new(),
            all: None,
        };
        let mut before: VecDeque<String> = VecDeque::new();
        let mut to_show = 0;
        let mut all: Option<ArtifactWriter> = None;
        let mut line = String::new();
        while text.read_line(&mut line, LINE_LIMIT).is_some() {
            found.lines += 1;
            let visible = text::visible(&line);
            let numbered = format!("{:>6}: {}", found.lines, visible.trim_end());
            if self.matches(&visible) {
                found.matches += 1;
                let writer = match &mut all {
                    Some(writer) => writer,
                    none => none.insert(artifacts.create("matches")?.media_type("text/plain")),
                };
                writeln!(writer, "{numbered}")?;
                if found.matches <= self.limit as u64 {
                    found
                        .shown
                        .extend(before.drain(..).map(|line| one_line(&line)));
                    found.shown.push(format!("> {}", one_line(&numbered)));
                    to_show = self.context;
                    continue;
                }
            }
            if to_show > 0 {
                to_show -= 1;
                found.shown.push(one_line(&numbered));
            } else if self.context > 0 {
                if before.len() == self.context {
                    before.pop_front();
                }
                before.push_back(numbered);
            }
        }
        if let Some(all) = all {
            found.all = Some(all.finish()?.summary("All matching lines"));
        }
        Ok(found)
    }

    fn matches(&self, line: &str) -> bool {
        if self.ignore_case {
            line.to_lowercase().contains(&self.wanted)
        } else {
            line.contains(&self.wanted)
        }
    }
}

impl Found {
    pub(super) fn into_result(self, name: &str, wanted: &str) -> ToolResult {
        let lines = plural(self.lines, "line", "lines");
        let matches = plural(self.matches, "line", "lines");
        let mut text = format!("{matches} of {lines} in {name} contain {wanted:?}.");
        for line in &self.shown {
            text.push('\n');
            text.push_str(line);
        }
        ToolResult::text(text).artifacts(self.all)
    }
}
