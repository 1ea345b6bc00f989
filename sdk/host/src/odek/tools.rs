//! The tool list of a server, read as the host reads it (host facts, section 7).

use std::collections::HashSet;
use std::fmt;

use odek_contract::go::{Json, fold_equal};
use odek_contract::names::{self, QualifiedName, ServerName, ToolName, is_reserved_tool_name};
use serde_json::Value;

use super::error::DiscoverError;
use super::message::{mismatch, object, read_string};
use super::spans::{element_values, member_values};

/// What the host learns from `tools/list`.
#[derive(Debug, Clone, PartialEq)]
pub struct Discovery {
    /// The tools of the first page, in order, duplicates included.
    pub tools: Vec<DiscoveredTool>,
    /// What will happen to them that the list itself does not show.
    pub findings: Vec<DiscoveryFinding>,
}

/// One tool.
#[derive(Debug, Clone, PartialEq)]
pub struct DiscoveredTool {
    /// Its name, without the prefix that the model sees.
    pub name: ToolName,
    /// Its description, empty when missing.
    pub description: String,
    /// Its input schema, whatever JSON that is; numbers have gone through a 64-bit float. `None`
    /// when missing or null. The model is then shown `{"type":"object"}`.
    pub input_schema: Option<Value>,
    /// The entry as the server sent it. Bytes that are not UTF-8 are replaced.
    pub entry: String,
}

/// Something that the host does with a tool list that passes its name rules.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum DiscoveryFinding {
    /// The name is that of one of odek's own tools.
    ReservedName {
        /// The tool.
        tool: ToolName,
    },
    /// The name occurs more than once.
    DuplicateName {
        /// The tool.
        tool: ToolName,
    },
    /// The name that the model sees is longer than model providers allow.
    LongQualifiedName(names::LongQualifiedName),
    /// The server has more tools than it gave.
    MorePages,
    /// The input schema nests too deep to be shown in [`DiscoveredTool::input_schema`].
    DeepSchema {
        /// The tool.
        tool: ToolName,
    },
}

impl fmt::Display for DiscoveryFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ReservedName { tool } => write!(
                f,
                "The tool `{tool}` has the name of one of odek's own tools: odek refuses to start \
                 with this server. Rename the tool."
            ),
            Self::DuplicateName { tool } => write!(
                f,
                "The tool `{tool}` is listed more than once: odek's tool registry panics at \
                 start-up. Give every tool a name of its own."
            ),
            Self::LongQualifiedName(warning) => warning.fmt(f),
            Self::MorePages => f.write_str(
                "The list has a `nextCursor`: odek never asks for more, so only the tools of the \
                 first page exist. List all tools on one page.",
            ),
            Self::DeepSchema { tool } => write!(
                f,
                "The input schema of the tool `{tool}` nests too deep; odek takes it \
                 all the same."
            ),
        }
    }
}

impl Discovery {
    /// The first tool of this name.
    pub fn tool(&self, name: &str) -> Option<&DiscoveredTool> {
        self.tools.iter().find(|tool| tool.name.as_str() == name)
    }
}

/// Reads the `result` of `tools/list`, given as received.
pub(crate) fn read_tool_list(
    server: &ServerName,
    result: &[u8],
) -> Result<Discovery, DiscoverError> {
    let failed = |message| DiscoverError::Parse {
        server: server.to_string(),
        message,
    };
    let json = Json::parse(result).map_err(|error| failed(error.to_string()))?;
    let list = ToolList::read(&json, result).map_err(failed)?;

    let mut tools = Vec::new();
    let mut findings = Vec::new();
    for (index, fields) in list.tools.into_iter().enumerate() {
        let name = ToolName::new(fields.name).map_err(|source| DiscoverError::Name {
            server: server.to_string(),
            index,
            source,
        })?;
        let input_schema = match fields.input_schema {
            None => None,
            Some(schema) => {
                let schema = serde_json::from_str(&schema).ok();
                if schema.is_none() {
                    findings.push(DiscoveryFinding::DeepSchema { tool: name.clone() });
                }
                schema
            }
        };
        let (description, entry) = (fields.description, fields.entry);
        tools.push(DiscoveredTool {
            name,
            description,
            input_schema,
            entry,
        });
    }
    findings.extend(judge_names(server, &tools));
    if list.has_more {
        findings.push(DiscoveryFinding::MorePages);
    }
    Ok(Discovery { tools, findings })
}

/// What the tool registry behind the client does with the names.
fn judge_names(server: &ServerName, tools: &[DiscoveredTool]) -> Vec<DiscoveryFinding> {
    let mut findings = Vec::new();
    let mut seen = HashSet::new();
    for DiscoveredTool { name, .. } in tools {
        if !seen.insert(name) {
            findings.push(DiscoveryFinding::DuplicateName { tool: name.clone() });
            continue;
        }
        if is_reserved_tool_name(name.as_str()) {
            findings.push(DiscoveryFinding::ReservedName { tool: name.clone() });
        }
        let warning = QualifiedName::new(server, name).provider_warning();
        findings.extend(warning.map(DiscoveryFinding::LongQualifiedName));
    }
    findings
}

/// The members of the result that are looked at.
#[derive(Debug, Default)]
struct ToolList {
    tools: Vec<ToolFields>,
    /// How many of the tools are in the list. A shorter list hides those behind its end without
    /// forgetting them: a third, longer one is read over them again, as in the host.
    length: usize,
    has_more: bool,
}

/// The members of an entry that the host looks at.
#[derive(Debug, Default)]
struct ToolFields {
    name: String,
    description: String,
    /// As JSON in the host's spelling.
    input_schema: Option<String>,
    entry: String,
}

impl ToolList {
    fn read(json: &Json, text: &[u8]) -> Result<Self, String> {
        let mut list = Self::default();
        for ((name, value), place) in object(json, "the result")?.iter().zip(member_values(text)) {
            if fold_equal(name, "tools") {
                list.read_tools(value, &text[place])?;
            } else if name == "nextCursor" {
                list.has_more = !matches!(value, Json::Null);
            }
        }
        list.tools.truncate(list.length);
        Ok(list)
    }

    /// A list given twice is merged by position: members that the later one leaves out keep the
    /// earlier value.
    fn read_tools(&mut self, json: &Json, text: &[u8]) -> Result<(), String> {
        let items = match json {
            Json::Array(items) => items.as_slice(),
            Json::Null => &[],
            other => return Err(mismatch("tools", "an array", other)),
        };
        if items.is_empty() {
            self.tools.clear();
        }
        if self.tools.len() < items.len() {
            self.tools.resize_with(items.len(), ToolFields::default);
        }
        self.length = items.len();
        for ((tool, item), place) in self.tools.iter_mut().zip(items).zip(element_values(text)) {
            tool.read(item, &text[place])?;
        }
        Ok(())
    }
}

impl ToolFields {
    /// A null entry is an entry without a name.
    fn read(&mut self, json: &Json, text: &[u8]) -> Result<(), String> {
        self.entry = String::from_utf8_lossy(text).into_owned();
        for (name, value) in object(json, "tools[]")? {
            if fold_equal(name, "name") {
                read_string(value, "tools[].name", &mut self.name)?;
            } else if fold_equal(name, "description") {
                read_string(value, "tools[].description", &mut self.description)?;
            } else if fold_equal(name, "inputSchema") {
                self.input_schema = read_schema(value)?;
            }
        }
        Ok(())
    }
}

/// Any value will do, as long as its numbers fit into 64-bit floats.
fn read_schema(value: &Json) -> Result<Option<String>, String> {
    if *value == Json::Null {
        return Ok(None);
    }
    let Some(schema) = value.as_any_value() else {
        return Err("tools[].inputSchema holds a number that no 64-bit float can hold".to_owned());
    };
    Ok(Some(schema))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(result: &str) -> Result<Discovery, DiscoverError> {
        read_tool_list(&ServerName::new("srv").unwrap(), result.as_bytes())
    }

    #[test]
    fn members_match_in_any_letter_case_and_the_last_one_wins() {
        let list = r#"{"TOOLS":[{"name":"bad name","Name":"good","INPUTSCHEMA":{"a":1.0}}]}"#;
        let discovery = read(list).unwrap();
        let tool = discovery.tool("good").unwrap();
        assert_eq!(tool.input_schema, Some(serde_json::json!({ "a": 1 })));
        assert!(tool.entry.starts_with("{\"name\":\"bad name\""));
    }

    #[test]
    fn lists_given_twice_are_merged_by_position() {
        let list = r#"{"tools":[{"name":"a","description":"A"},{"name":"b"}],
                       "tools":[{"name":"c"}]}"#;
        let discovery = read(list).unwrap();
        assert_eq!(discovery.tools.len(), 1);
        assert_eq!(discovery.tools[0].description, "A");
        assert_eq!(discovery.tools[0].name.as_str(), "c");

        let third = list.replace("}]}", "}],\"tools\":[{},{\"description\":\"B\"}]}");
        let discovery = read(&third).unwrap();
        assert_eq!(discovery.tools[1].name.as_str(), "b");
        let emptied = list.replace("}]}", "}],\"tools\":[],\"tools\":[{}]}");
        assert!(read(&emptied).is_err());
    }

    #[test]
    fn a_bad_name_rejects_the_list_and_says_where() {
        let error = read(r#"{"tools":[{"name":"a"},null]}"#).unwrap_err();
        assert!(matches!(error, DiscoverError::Name { index: 1, .. }));
        assert_eq!(
            error.to_string(),
            "mcpclient srv: tools/list: tool name is empty"
        );
    }

    #[test]
    fn any_schema_is_taken() {
        let deep = format!("{}{}", "[".repeat(1000), "]".repeat(1000));
        for (schema, expected) in [
            ("null", None),
            ("5", Some(serde_json::json!(5))),
            ("\"\\ud800\"", Some(serde_json::json!("\u{fffd}"))),
            (deep.as_str(), None),
        ] {
            let list = format!(r#"{{"tools":[{{"name":"a","inputSchema":{schema}}}]}}"#);
            let discovery = read(&list).unwrap();
            assert_eq!(discovery.tools[0].input_schema, expected);
            assert_eq!(discovery.findings.is_empty(), schema != deep);
        }
    }

    #[test]
    fn wrong_types_are_named() {
        for (list, message) in [
            ("", "unexpected end of JSON input"),
            (r#"{"tools":{}}"#, "tools is an object, not an array"),
            (
                r#"{"tools":["echo"]}"#,
                "tools[] is a string, not an object",
            ),
            (
                r#"{"tools":[{"name":5}]}"#,
                "tools[].name is a number, not a string",
            ),
            (
                r#"{"tools":[{"name":"a","inputSchema":{"maximum":[1e400]}}]}"#,
                "tools[].inputSchema holds a number that no 64-bit float can hold",
            ),
        ] {
            let error = read(list).unwrap_err().to_string();
            assert_eq!(error, format!("mcpclient srv: parse tools/list: {message}"));
        }
    }
}
