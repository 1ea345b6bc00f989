//! From one answer of a server to what the model reads.
//!
//! [`ResultContext`] takes the `result` or the `error` of a `tools/call` answer and does what the
//! host does with it: reads it, opens envelopes, validates references, guards lines and applies the
//! cap. The outcome is a [`ModelResult`] or a [`CallFailure`], whose texts are the host's, byte for
//! byte. What the host does in silence is listed as [`Observation`]s.
//!
//! Matching answers to requests, deadlines and line lengths belong to the connection and are not
//! here; the failures that they end in are, so that every message has one home.
//!
//! Implements the host facts, sections 4 and 5, and the contract, "Tool-result envelope" and
//! "Timeout and limit behavior".
//!
//! ```
//! use std::path::Path;
//! use odek_contract::artifact::ArtifactRoots;
//! use odek_contract::config::Limits;
//! use odek_contract::result::ResultContext;
//!
//! let roots = ArtifactRoots::resolve(&[], Path::new("/"));
//! let context = ResultContext { server: "srv", tool: "t", limits: &Limits::DEFAULT, roots: &roots };
//!
//! let result = context.read_result(br#"{"content":[{"type":"text","text":"hello"}]}"#)?;
//! assert_eq!(result.text, "hello");
//!
//! let failure = context.read_rpc_error(-32602, "Invalid params");
//! assert_eq!(failure.to_string(), "mcpclient srv: tools/call: MCP error -32602: Invalid params");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod failure;
mod fields;
mod observation;

use std::collections::BTreeSet;

pub use failure::{ArtifactScope, CallFailure, ParseResultError, RequestState};
pub use observation::{MetadataField, Observation};

use crate::artifact::{
    ArtifactRef, ArtifactRoots, MAX_ARTIFACTS, MAX_METADATA_CHARS, ValidatedArtifact,
};
use crate::config::Limits;
use crate::envelope::{Detection, NearMiss, ToolResultEnvelope};
use crate::go::Json;
use crate::raw::RawMembers;
use crate::render::{
    Cap, Capped, breaks_the_line, count_artifact_lines, guard_lines, metadata_line,
};
use fields::{CallResult, ContentItem};

/// What the text of a tool error without content is.
const UNKNOWN_ERROR: &str = "unknown error";

/// Everything that decides how an answer is read.
#[derive(Debug, Clone, Copy)]
pub struct ResultContext<'a> {
    /// Name of the server, as configured.
    pub server: &'a str,
    /// Name of the tool that was called.
    pub tool: &'a str,
    /// The limits in force; only `max_result_chars` matters here.
    pub limits: &'a Limits,
    /// The artifact roots of the server.
    pub roots: &'a ArtifactRoots,
}

/// A successful call, as the model gets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelResult {
    /// The text, at most `max_result_chars` characters. The agent loop wraps it and may shorten
    /// it, see [`crate::agent_loop`].
    pub text: String,
    /// The references of all envelopes, in order, all of them valid.
    pub artifacts: Vec<ArtifactRef>,
    /// The files that the references name, in the same order.
    pub files: Vec<ValidatedArtifact>,
    /// What the host did in silence, in the order in which it did it.
    pub observations: Vec<Observation>,
}

impl ModelResult {
    /// Number of metadata lines in the text, cut ones included: the `artifact_count` of the host's
    /// events (host facts, section 12).
    pub fn artifact_count(&self) -> usize {
        count_artifact_lines(&self.text)
    }
}

/// A text item, with its position among all items.
struct TextItem {
    index: usize,
    text: String,
}

/// The envelopes of a result taken together, and the notes that stood beside them.
#[derive(Default)]
struct Merged {
    texts: Vec<String>,
    artifacts: Vec<ArtifactRef>,
    notes: Vec<String>,
}

impl ResultContext<'_> {
    /// Reads the `result` member of an answer, given as it stood on the wire.
    ///
    /// # Errors
    ///
    /// [`CallFailure`] when the result is unreadable, is a tool error, or holds an envelope that is
    /// malformed or has a bad reference. Its text is the host's.
    pub fn read_result(&self, result_json: &[u8]) -> Result<ModelResult, CallFailure> {
        let result = Json::parse(result_json)
            .map_err(ParseResultError::from)
            .and_then(|json| CallResult::read(&json).map_err(ParseResultError::from))
            .map_err(|source| CallFailure::ParseResult {
                server: self.server.to_owned(),
                source,
            })?;
        if result.is_error {
            return Err(self.tool_error(result));
        }
        self.success(result)
    }

    /// The failure that an `error` member of an answer ends in.
    ///
    /// A missing code is 0 and a missing message is empty; `data` is never shown.
    pub fn read_rpc_error(&self, code: i64, message: &str) -> CallFailure {
        let mut observations = Vec::new();
        let message = self.guard_and_cap(message, &mut observations);
        CallFailure::RpcError {
            server: self.server.to_owned(),
            code,
            message,
            observations,
        }
    }

    fn tool_error(&self, result: CallResult) -> CallFailure {
        let mut observations = observe_members(&result);
        let mut items = result.content.into_iter();
        let message = match items.next() {
            Some(first) => {
                let detected = ToolResultEnvelope::detect(&first.text);
                if !matches!(detected, Detection::PlainText { .. }) {
                    observations.push(Observation::EnvelopeInErrorNotOpened);
                }
                first.text
            }
            None => {
                observations.push(Observation::ErrorWithoutContent);
                UNKNOWN_ERROR.to_owned()
            }
        };
        if items.len() > 0 {
            observations.push(Observation::ErrorItemsDropped { count: items.len() });
        }
        CallFailure::ToolError {
            server: self.server.to_owned(),
            tool: self.tool.to_owned(),
            message: self.guard_and_cap(&message, &mut observations),
            observations,
        }
    }

    fn success(&self, result: CallResult) -> Result<ModelResult, CallFailure> {
        let mut observations = observe_members(&result);
        let items = text_items(result.content, &mut observations);
        let texts: Vec<&str> = items.iter().map(|item| item.text.as_str()).collect();
        let joined = texts.join("\n");
        match ToolResultEnvelope::detect(&joined) {
            Detection::Malformed(error) => {
                Err(CallFailure::from_envelope(self.server, self.tool, error))
            }
            Detection::Envelope(envelope) => {
                let mut merged = Merged::default();
                merged.add(envelope, &mut observations);
                self.show_envelopes(merged, observations)
            }
            Detection::PlainText { near_miss } => {
                let merged = match items.len() {
                    0 | 1 => None,
                    _ => self.merge_items(&items, &mut observations)?,
                };
                match merged {
                    Some(merged) => self.show_envelopes(merged, observations),
                    None => Ok(self.show_plain(&joined, &items, near_miss, observations)),
                }
            }
        }
    }

    /// Tries every item by itself. `None` when none of them is an envelope.
    fn merge_items(
        &self,
        items: &[TextItem],
        observations: &mut Vec<Observation>,
    ) -> Result<Option<Merged>, CallFailure> {
        let mut merged = Merged::default();
        let mut found = Vec::new();
        let mut notes = Vec::new();
        for item in items {
            match ToolResultEnvelope::detect(&item.text) {
                Detection::Malformed(error) => {
                    return Err(CallFailure::from_envelope(self.server, self.tool, error));
                }
                Detection::Envelope(envelope) => {
                    merged.add(envelope, &mut found);
                    self.check_count(&merged)?;
                }
                Detection::PlainText { near_miss } => {
                    notes.push((item, near_miss, merged.texts.is_empty()));
                }
            }
        }
        if merged.texts.is_empty() {
            return Ok(None);
        }
        if merged.texts.len() > 1 {
            observations.push(Observation::EnvelopesMerged {
                count: merged.texts.len(),
            });
        }
        observations.append(&mut found);
        for (note, near_miss, before_envelope) in notes {
            let index = note.index;
            if note.text.trim().is_empty() {
                observations.push(Observation::BlankNoteDropped { index });
                continue;
            }
            if before_envelope {
                observations.push(Observation::NoteMovedBehindEnvelope { index });
            }
            if let Some(near_miss) = near_miss {
                let index = Some(index);
                observations.push(Observation::EnvelopeNotRecognised { index, near_miss });
            }
            merged.notes.push(note.text.clone());
        }
        Ok(Some(merged))
    }

    fn check_count(&self, merged: &Merged) -> Result<(), CallFailure> {
        let count = merged.artifacts.len();
        if count <= MAX_ARTIFACTS {
            return Ok(());
        }
        Err(CallFailure::TooManyArtifacts {
            server: self.server.to_owned(),
            tool: self.tool.to_owned(),
            count,
            scope: ArtifactScope::Result,
        })
    }

    fn show_plain(
        &self,
        joined: &str,
        items: &[TextItem],
        near_miss: Option<NearMiss>,
        mut observations: Vec<Observation>,
    ) -> ModelResult {
        if items.len() > 1 {
            observations.push(Observation::ItemsJoined { count: items.len() });
        }
        observations.extend(observe_near_misses(items, near_miss));
        let text = self.guard_and_cap(joined, &mut observations);
        if text.is_empty() {
            observations.push(Observation::EmptyText);
        }
        ModelResult {
            text,
            artifacts: Vec::new(),
            files: Vec::new(),
            observations,
        }
    }

    fn show_envelopes(
        &self,
        merged: Merged,
        mut observations: Vec<Observation>,
    ) -> Result<ModelResult, CallFailure> {
        let files = self.validate(&merged.artifacts)?;
        observations.extend(observe_artifacts(&merged.artifacts));

        let text = merged.texts.join("\n");
        observations.extend(observe_guard(&text));
        let shown = self.cap().render_envelope(&text, &merged.artifacts);
        let mut text = note_cut(shown, &mut observations);
        if !merged.notes.is_empty() {
            // The envelope was fitted to the cap by itself; now the whole is plain text.
            let notes = merged.notes.join("\n");
            observations.extend(observe_guard(&notes));
            let whole = format!("{text}\n{}", guard_lines(&notes));
            text = note_cut(self.cap().apply(whole), &mut observations);
        }
        observations.extend(observe_lost_lines(&text, &merged.artifacts));
        if text.is_empty() {
            observations.push(Observation::EmptyText);
        }
        Ok(ModelResult {
            text,
            artifacts: merged.artifacts,
            files,
            observations,
        })
    }

    /// Validates references in order; the first bad one fails the call.
    fn validate(&self, artifacts: &[ArtifactRef]) -> Result<Vec<ValidatedArtifact>, CallFailure> {
        let validated = artifacts
            .iter()
            .map(|artifact| artifact.validate(self.roots));
        validated
            .collect::<Result<_, _>>()
            .map_err(|source| CallFailure::ArtifactRejected {
                server: self.server.to_owned(),
                tool: self.tool.to_owned(),
                source: Box::new(source),
            })
    }

    fn guard_and_cap(&self, text: &str, observations: &mut Vec<Observation>) -> String {
        observations.extend(observe_guard(text));
        note_cut(
            self.cap().apply(guard_lines(text).into_owned()),
            observations,
        )
    }

    fn cap(&self) -> Cap<'_> {
        Cap {
            server: self.server,
            tool: self.tool,
            limit: self.limits.max_result_chars,
        }
    }
}

impl Merged {
    fn add(&mut self, envelope: ToolResultEnvelope, observations: &mut Vec<Observation>) {
        if !envelope.unknown.is_empty() {
            let members = names_of(&envelope.unknown);
            observations.push(Observation::EnvelopeMembersIgnored { members });
        }
        self.texts.push(envelope.text);
        self.artifacts.extend(envelope.artifacts);
    }
}

fn names_of(members: &RawMembers) -> Vec<String> {
    members.iter().map(|(name, _)| name.to_owned()).collect()
}

/// The items that the host keeps.
fn text_items(content: Vec<ContentItem>, observations: &mut Vec<Observation>) -> Vec<TextItem> {
    let mut items = Vec::new();
    for (index, item) in content.into_iter().enumerate() {
        if item.kind != "text" {
            observations.push(Observation::NonTextItemDropped {
                index,
                kind: item.kind,
            });
            continue;
        }
        if !item.ignored.is_empty() {
            let members = item.ignored;
            observations.push(Observation::ItemMembersIgnored { index, members });
        }
        items.push(TextItem {
            index,
            text: item.text,
        });
    }
    items
}

fn observe_members(result: &CallResult) -> Vec<Observation> {
    let observe = |member: &String| match member.as_str() {
        "structuredContent" => Observation::StructuredContentDropped,
        _ => Observation::ResultMemberIgnored {
            member: member.clone(),
        },
    };
    result.ignored.iter().map(observe).collect()
}

/// The near misses of single items, or that of the joined text when no item is one by itself.
fn observe_near_misses(items: &[TextItem], joined: Option<NearMiss>) -> Vec<Observation> {
    let of_items: Vec<_> = items
        .iter()
        .filter_map(|item| {
            let near_miss = ToolResultEnvelope::near_miss(&item.text)?;
            let index = Some(item.index);
            Some(Observation::EnvelopeNotRecognised { index, near_miss })
        })
        .collect();
    match joined {
        Some(near_miss) if of_items.is_empty() => {
            vec![Observation::EnvelopeNotRecognised {
                index: None,
                near_miss,
            }]
        }
        _ => of_items,
    }
}

fn observe_guard(text: &str) -> Option<Observation> {
    let count = count_artifact_lines(text);
    (count > 0).then_some(Observation::LinesIndented { count })
}

fn observe_artifacts(artifacts: &[ArtifactRef]) -> Vec<Observation> {
    let mut observations = Vec::new();
    let mut seen = BTreeSet::new();
    let mut repeated = BTreeSet::new();
    for artifact in artifacts {
        let id = &artifact.id;
        if !seen.insert(id) && repeated.insert(id) {
            observations.push(Observation::ArtifactIdRepeated { id: id.clone() });
        }
        if !artifact.unknown.is_empty() {
            let members = names_of(&artifact.unknown);
            let id = id.clone();
            observations.push(Observation::ArtifactMembersIgnored { id, members });
        }
        let summary = artifact.summary.as_deref().unwrap_or_default();
        let fields = [
            (MetadataField::Id, id.as_str()),
            (MetadataField::MediaType, &artifact.media_type),
            (MetadataField::Summary, summary),
        ];
        for (field, text) in fields {
            observations.extend(observe_field(id, field, text));
        }
    }
    observations
}

fn observe_field(id: &str, field: MetadataField, text: &str) -> Vec<Observation> {
    let mut observations = Vec::new();
    if text.chars().take(MAX_METADATA_CHARS).any(breaks_the_line) {
        observations.push(Observation::MetadataFlattened {
            id: id.to_owned(),
            field,
        });
    }
    let chars = text.chars().count();
    if chars > MAX_METADATA_CHARS {
        observations.push(Observation::MetadataCut {
            id: id.to_owned(),
            field,
            chars,
        });
    }
    observations
}

/// Metadata lines that the text should have and does not show whole. The lines stand in order, so
/// each is looked for behind the one before.
fn observe_lost_lines(text: &str, artifacts: &[ArtifactRef]) -> Option<Observation> {
    let mut lines = text.split('\n');
    let whole = artifacts
        .iter()
        .map(metadata_line)
        .take_while(|line| lines.any(|shown| shown == line))
        .count();
    let total = artifacts.len();
    (whole < total).then_some(Observation::MetadataLinesCut { whole, total })
}

fn note_cut(capped: Capped, observations: &mut Vec<Observation>) -> String {
    observations.extend(capped.truncation.map(Observation::Truncated));
    capped.text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::file_uri;
    use proptest::prelude::*;
    use serde_json::{Value, json};
    use std::fs;
    use std::path::Path;

    const NO_ROOTS: &[String] = &[];

    fn read(result: &Value) -> Result<ModelResult, CallFailure> {
        let roots = ArtifactRoots::resolve(NO_ROOTS, Path::new("/"));
        context(&Limits::DEFAULT, &roots).read_result(result.to_string().as_bytes())
    }

    fn context<'a>(limits: &'a Limits, roots: &'a ArtifactRoots) -> ResultContext<'a> {
        ResultContext {
            server: "srv",
            tool: "t",
            limits,
            roots,
        }
    }

    fn texts(items: &[&str]) -> Value {
        let items = items
            .iter()
            .map(|text| json!({"type": "text", "text": text}));
        json!({"content": items.collect::<Vec<_>>()})
    }

    fn envelope(text: &str) -> String {
        ToolResultEnvelope::new(text).to_json_text()
    }

    fn sentences(result: &ModelResult) -> Vec<String> {
        result
            .observations
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    /// A directory with a file, its roots, and an envelope with the given number of references.
    fn with_file(count: usize) -> (tempfile::TempDir, ArtifactRoots, ToolResultEnvelope) {
        let guard = tempfile::tempdir().unwrap();
        let folder = fs::canonicalize(guard.path()).unwrap();
        fs::write(folder.join("a"), "x").unwrap();
        let uri = file_uri(&folder.join("a")).unwrap();
        let mut envelope = ToolResultEnvelope::new("Done.");
        envelope.artifacts = (0..count)
            .map(|n| ArtifactRef::new(format!("r{n}"), &uri, "text/plain"))
            .collect();
        (
            guard,
            ArtifactRoots::resolve(&[".".to_owned()], &folder),
            envelope,
        )
    }

    #[test]
    fn a_note_behind_an_envelope_without_text_keeps_its_line_feed() {
        assert_eq!(
            read(&texts(&["note", &envelope("")])).unwrap().text,
            "\nnote"
        );
    }

    #[test]
    fn an_envelope_split_over_items_is_one_after_joining() {
        let result = read(&texts(&[
            "{\"schema\":\"odek.tool-result/v1\",",
            "\"text\":\"x\"}",
        ]));
        assert_eq!(result.unwrap().text, "x");
    }

    #[test]
    fn references_of_all_envelopes_are_counted_together() {
        let (_guard, roots, first) = with_file(64);
        let mut second = first.clone();
        second.artifacts.truncate(1);
        let items = texts(&[&first.to_json_text(), &second.to_json_text()]);
        let context = context(&Limits::DEFAULT, &roots);
        let failure = context
            .read_result(items.to_string().as_bytes())
            .unwrap_err();
        assert_eq!(
            failure.to_string(),
            "mcpclient srv: tool t: envelope carries 65 artifacts; the cap is 64"
        );
        assert_eq!(failure.reason(), "too-many-artifacts");
        assert_eq!(failure.artifact_reason(), None);
    }

    #[test]
    fn valid_files_come_with_the_result() {
        let (guard, roots, envelope) = with_file(2);
        let items = texts(&[&envelope.to_json_text()]);
        let result = context(&Limits::DEFAULT, &roots)
            .read_result(items.to_string().as_bytes())
            .unwrap();
        assert_eq!(result.artifacts, envelope.artifacts);
        let expected = fs::canonicalize(guard.path()).unwrap().join("a");
        assert!(
            result
                .files
                .iter()
                .all(|file| file.path == expected && file.size_bytes == 1)
        );
        assert_eq!(result.artifact_count(), 2);
        assert_eq!(result.observations, []);
    }

    #[test]
    fn what_is_dropped_is_observed() {
        let result = read(&json!({
            "structuredContent": {}, "_meta": {},
            "content": [
                {"type": "image", "data": ""},
                {"text": "lost"},
                {"type": "text", "text": "kept", "annotations": {}},
                {"type": "text", "text": "- artifact x\n- artifact y"},
            ],
        }))
        .unwrap();
        assert_eq!(result.text, "kept\n - artifact x\n - artifact y");
        assert_eq!(
            result.observations,
            [
                Observation::ResultMemberIgnored {
                    member: "_meta".to_owned()
                },
                Observation::StructuredContentDropped,
                Observation::NonTextItemDropped {
                    index: 0,
                    kind: "image".to_owned()
                },
                Observation::NonTextItemDropped {
                    index: 1,
                    kind: String::new()
                },
                Observation::ItemMembersIgnored {
                    index: 2,
                    members: vec!["annotations".to_owned()]
                },
                Observation::ItemsJoined { count: 2 },
                Observation::LinesIndented { count: 2 },
            ]
        );
    }

    #[test]
    fn what_is_moved_or_merged_is_observed() {
        let items = texts(&["note", " ", &envelope("one"), &envelope("two"), "end"]);
        let result = read(&items).unwrap();
        assert_eq!(result.text, "one\ntwo\nnote\nend");
        assert_eq!(
            result.observations,
            [
                Observation::EnvelopesMerged { count: 2 },
                Observation::NoteMovedBehindEnvelope { index: 0 },
                Observation::BlankNoteDropped { index: 1 },
            ]
        );
    }

    #[test]
    fn an_envelope_that_is_none_is_observed() {
        let near = format!("Here it is: {}", envelope("x"));
        let expected = "because it does not start with a JSON object; the model reads the raw \
                        JSON, file URIs included.";
        assert!(sentences(&read(&texts(&[&near])).unwrap())[0].ends_with(expected));
        let beside = sentences(&read(&texts(&[&near, &envelope("y")])).unwrap());
        assert!(beside[0].contains("moved it behind"));
        assert!(beside[1].starts_with("Content item 0 looks like an envelope"));
        assert!(beside[1].ends_with(expected));
    }

    #[test]
    fn what_the_metadata_lines_hide_is_observed() {
        let (_guard, roots, mut envelope) = with_file(2);
        envelope.artifacts[0].id = "same\nid".to_owned();
        envelope.artifacts[1].id = "same\nid".to_owned();
        envelope.artifacts[1].summary = Some("s".repeat(MAX_METADATA_CHARS + 1));
        envelope.artifacts[1].unknown.insert("tag", json!(1).into());
        let items = texts(&[&envelope.to_json_text()]);
        let limits = Limits {
            max_result_chars: 400,
            ..Limits::DEFAULT
        };
        let result = context(&limits, &roots)
            .read_result(items.to_string().as_bytes())
            .unwrap();
        let id = || "same\nid".to_owned();
        assert_eq!(
            result.observations,
            [
                Observation::MetadataFlattened {
                    id: id(),
                    field: MetadataField::Id
                },
                Observation::ArtifactIdRepeated { id: id() },
                Observation::ArtifactMembersIgnored {
                    id: id(),
                    members: vec!["tag".to_owned()]
                },
                Observation::MetadataFlattened {
                    id: id(),
                    field: MetadataField::Id
                },
                Observation::MetadataCut {
                    id: id(),
                    field: MetadataField::Summary,
                    chars: MAX_METADATA_CHARS + 1
                },
                Observation::Truncated(crate::render::Truncation {
                    observed: 4172,
                    limit: 400
                }),
                Observation::MetadataLinesCut { whole: 1, total: 2 },
            ]
        );
    }

    #[test]
    fn a_tool_error_says_what_it_hides() {
        let failure = read(&json!({
            "isError": true,
            "content": [
                {"type": "text", "text": envelope("x")},
                {"type": "text", "text": "lost"},
            ],
        }))
        .unwrap_err();
        assert_eq!(
            failure.observations(),
            [
                Observation::EnvelopeInErrorNotOpened,
                Observation::ErrorItemsDropped { count: 1 }
            ]
        );
        let failure = read(&json!({"isError": true})).unwrap_err();
        assert_eq!(failure.observations(), [Observation::ErrorWithoutContent]);
    }

    #[test]
    fn what_is_no_json_is_a_parse_error() {
        let roots = ArtifactRoots::resolve(NO_ROOTS, Path::new("/"));
        let failure = context(&Limits::DEFAULT, &roots)
            .read_result(b"")
            .unwrap_err();
        assert_eq!(
            failure.to_string(),
            "mcpclient srv: parse result: unexpected end of JSON input"
        );
    }

    #[test]
    fn an_rpc_message_is_guarded_and_capped_but_its_prefix_is_not_counted() {
        let roots = ArtifactRoots::resolve(NO_ROOTS, Path::new("/"));
        let limits = Limits {
            max_result_chars: 328,
            ..Limits::DEFAULT
        };
        let failure = context(&limits, &roots).read_rpc_error(-1, &"- artifact \n".repeat(30));
        let message = failure.to_string();
        let shown = message
            .strip_prefix("mcpclient srv: tools/call: MCP error -1: ")
            .unwrap();
        assert_eq!(shown.chars().count(), 328);
        assert!(shown.starts_with(" - artifact \n - artifact "));
        assert_eq!(failure.observations().len(), 2);
    }

    #[test]
    fn failures_of_the_connection_in_the_words_of_the_host() {
        let server = || "srv".to_owned();
        let texts = [
            CallFailure::Timeout {
                server: server(),
                request: RequestState::Dispatched,
            },
            CallFailure::Timeout {
                server: server(),
                request: RequestState::NotDispatched,
            },
            CallFailure::ConnectionClosed {
                server: server(),
                request: RequestState::Dispatched,
            },
            CallFailure::LineTooLong {
                server: server(),
                limit: 1000,
            },
        ]
        .map(|failure| failure.to_string());
        assert_eq!(
            texts,
            [
                "mcpclient srv: tools/call: MCP request outcome unknown after dispatch; verify \
                 remote state before retrying: context deadline exceeded",
                "mcpclient srv: tools/call: MCP request not dispatched: context deadline exceeded",
                "mcpclient srv: tools/call: MCP request outcome unknown after dispatch; verify \
                 remote state before retrying: connection closed before response received",
                "mcpclient srv: tools/call: mcpclient srv: response line exceeded configured \
                 max_response_bytes limit of 1000 bytes",
            ]
        );
    }

    fn item() -> impl Strategy<Value = Value> {
        let text = prop_oneof![
            any::<String>(),
            "(- artifact |x|\n){0,400}",
            "[a-z\n]{0,500}".prop_map(|text| envelope(&text)),
            "[a-z]{0,9}".prop_map(|text| format!("{} {text}", envelope(&text))),
        ];
        (prop_oneof![Just("text"), Just("image")], text)
            .prop_map(|(kind, text)| json!({"type": kind, "text": text}))
    }

    proptest! {
        #[test]
        fn no_text_exceeds_the_cap(
            items in proptest::collection::vec(item(), 0..5),
            is_error in any::<bool>(),
            limit in 0_usize..800,
        ) {
            let roots = ArtifactRoots::resolve(NO_ROOTS, Path::new("/"));
            let limits = Limits { max_result_chars: limit, ..Limits::DEFAULT };
            let json = json!({"content": items, "isError": is_error}).to_string();
            match context(&limits, &roots).read_result(json.as_bytes()) {
                Ok(result) => prop_assert!(result.text.chars().count() <= limit),
                Err(CallFailure::ToolError { message, .. }) => {
                    prop_assert!(message.chars().count() <= limit);
                }
                Err(other) => prop_assert!(false, "{other}"),
            }
        }

        #[test]
        fn reading_never_panics(json in proptest::collection::vec(any::<u8>(), 0..80)) {
            let roots = ArtifactRoots::resolve(NO_ROOTS, Path::new("/"));
            let _ = context(&Limits::DEFAULT, &roots).read_result(&json);
        }
    }
}
