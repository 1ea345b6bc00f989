//! The tools of an extension, checked together: every rule that would make the host refuse the
//! extension is applied before anything is served.

use std::{collections::HashMap, fmt, sync::Arc};

use odek_contract::names::{self, NameError, ServerName};

use crate::{schema::SchemaError, tool::Tool};

/// One reason why an extension cannot be served.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RegistrationProblem {
    /// The extension's name is not one that the host accepts for a server.
    #[error("extension name: {0}; odek rejects a server of that name")]
    ExtensionName(#[source] NameError),
    /// The tool's name breaks the tool-name rules.
    #[error("{0}; odek rejects the whole server for one such name")]
    ToolName(#[source] NameError),
    /// The tool's name belongs to a tool that is built into the host.
    #[error(
        "tool name {0:?} is the name of a tool built into odek, which does not start with a \
         server that offers it; choose another"
    )]
    ReservedName(String),
    /// Two tools have the same name.
    #[error("tool name {0:?} is used by more than one tool; odek's registry aborts on the second")]
    DuplicateName(String),
    /// The tool has no description, so the model cannot know when to call it.
    #[error("tool {0:?} has no description; the model chooses tools by it")]
    NoDescription(String),
    /// The tool's arguments have no schema that every model provider accepts.
    #[error("tool {tool:?} has no usable input schema: {source}")]
    Schema {
        /// The tool.
        tool: String,
        /// Which field, and why.
        source: SchemaError,
    },
}

/// Everything that keeps an extension from being served, all of it at once.
#[derive(Debug, Clone, PartialEq)]
pub struct RegistrationError {
    problems: Vec<RegistrationProblem>,
}

impl RegistrationError {
    /// The problems, in the order in which the tools were added.
    pub fn problems(&self) -> &[RegistrationProblem] {
        &self.problems
    }
}

impl fmt::Display for RegistrationError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.problems.as_slice() {
            [only] => write!(formatter, "the extension cannot be served: {only}"),
            problems => {
                write!(
                    formatter,
                    "the extension cannot be served, for {} reasons:",
                    problems.len()
                )?;
                problems
                    .iter()
                    .try_for_each(|problem| write!(formatter, "\n  - {problem}"))
            }
        }
    }
}

impl std::error::Error for RegistrationError {}

/// The tools of one extension, known to be acceptable to the host.
#[derive(Debug)]
pub(crate) struct Registry {
    tools: Vec<Arc<Tool>>,
    by_name: HashMap<String, usize>,
}

impl Registry {
    pub(crate) fn new(extension: &str, tools: Vec<Tool>) -> Result<Self, RegistrationError> {
        let problems = problems(extension, &tools);
        if !problems.is_empty() {
            return Err(RegistrationError { problems });
        }
        let by_name = tools
            .iter()
            .enumerate()
            .map(|(index, tool)| (tool.name().to_owned(), index))
            .collect();
        Ok(Self {
            tools: tools.into_iter().map(Arc::new).collect(),
            by_name,
        })
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Arc<Tool>> {
        self.by_name.get(name).map(|&index| &self.tools[index])
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Tool> {
        self.tools.iter().map(Arc::as_ref)
    }

    /// What to say to a caller who asked for a tool that does not exist.
    pub(crate) fn unknown_tool(&self, name: &str) -> String {
        match self.nearest(name) {
            Some(nearest) => format!("unknown tool {name:?}; did you mean {nearest:?}?"),
            None => {
                let known: Vec<_> = self.iter().map(Tool::name).collect();
                format!(
                    "unknown tool {name:?}; this extension offers: {}",
                    known.join(", ")
                )
            }
        }
    }

    fn nearest(&self, name: &str) -> Option<&str> {
        self.iter()
            .map(|tool| (strsim::jaro_winkler(tool.name(), name), tool.name()))
            .filter(|(similarity, _)| *similarity > 0.8)
            .max_by(|(a, _), (b, _)| a.total_cmp(b))
            .map(|(_, nearest)| nearest)
    }
}

fn problems(extension: &str, tools: &[Tool]) -> Vec<RegistrationProblem> {
    let mut problems = Vec::new();
    if let Err(error) = ServerName::new(extension) {
        problems.push(RegistrationProblem::ExtensionName(error));
    }
    let mut uses: HashMap<&str, usize> = HashMap::new();
    for tool in tools {
        problems.extend(problems_of(tool));
        let count = uses.entry(tool.name()).or_default();
        *count += 1;
        if *count == 2 {
            problems.push(RegistrationProblem::DuplicateName(tool.name().to_owned()));
        }
    }
    problems
}

fn problems_of(tool: &Tool) -> impl Iterator<Item = RegistrationProblem> {
    let name = || tool.name().to_owned();
    let invalid = names::validate_tool_name(tool.name())
        .err()
        .map(RegistrationProblem::ToolName);
    let reserved = names::is_reserved_tool_name(tool.name())
        .then(|| RegistrationProblem::ReservedName(name()));
    let undescribed = tool
        .description()
        .trim()
        .is_empty()
        .then(|| RegistrationProblem::NoDescription(name()));
    let schema = tool
        .input_schema()
        .err()
        .map(|error| RegistrationProblem::Schema {
            tool: name(),
            source: error.clone(),
        });
    [invalid, reserved, undescribed, schema]
        .into_iter()
        .flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tool::ToolAttributes;

    fn tool(name: &'static str) -> Tool {
        Tool::dynamic(
            ToolAttributes::new(name, "Does it."),
            json!({"type": "object"}),
            |_, _| async { "done" },
        )
    }

    #[test]
    fn all_offenders_are_listed_at_once() {
        let tools = vec![
            tool("ok"),
            tool("a b"),
            tool("shell"),
            tool("twice"),
            tool("twice"),
            tool("a__b"),
        ];
        let error = Registry::new("bad name", tools).unwrap_err();
        let kinds: Vec<_> = error
            .problems()
            .iter()
            .map(|problem| match problem {
                RegistrationProblem::ExtensionName(_) => "extension",
                RegistrationProblem::ToolName(_) => "name",
                RegistrationProblem::ReservedName(_) => "reserved",
                RegistrationProblem::DuplicateName(_) => "duplicate",
                _ => "other",
            })
            .collect();
        assert_eq!(
            kinds,
            ["extension", "name", "reserved", "duplicate", "name"]
        );
        assert!(
            error.to_string().contains("for 5 reasons:\n  - "),
            "{error}"
        );
    }

    #[test]
    fn a_tool_used_three_times_is_one_problem() {
        let error = Registry::new("x", vec![tool("t"), tool("t"), tool("t")]).unwrap_err();
        assert_eq!(
            error.problems(),
            [RegistrationProblem::DuplicateName("t".to_owned())]
        );
    }

    #[test]
    fn the_nearest_name_is_suggested() {
        let registry = Registry::new("x", vec![tool("summarize"), tool("search")]).unwrap();
        assert_eq!(
            registry.unknown_tool("sumarise"),
            "unknown tool \"sumarise\"; did you mean \"summarize\"?"
        );
        assert_eq!(
            registry.unknown_tool("zzz"),
            "unknown tool \"zzz\"; this extension offers: summarize, search"
        );
    }
}
