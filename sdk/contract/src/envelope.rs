//! The tool-result envelope (`odek.tool-result/v1`): a text for the model and references to files.
//!
//! An envelope is JSON that stands as the text of a single content item. Whether a text is one is
//! decided by its `schema` member alone: [`ToolResultEnvelope::detect`] decides it as the host
//! does, with the host's lax reading of JSON (any letter case of member names, the last of two
//! equal members, stray bytes replaced). Writing is strict: [`ToolResultEnvelope::to_json_text`]
//! gives the one form that every reader takes.
//!
//! What the model reads of an envelope is in [`crate::render`]; how items, envelopes and notes of
//! one result come together is in [`crate::result`].
//!
//! Implements the contract, "Tool-result envelope", and the host facts, section 4, "Recognising an
//! envelope".

mod fields;

use std::fmt;

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::artifact::{ArtifactRef, MAX_ARTIFACTS};
pub use crate::decode::TypeMismatch;
use crate::go::Json;
use crate::members::{self, MemberError, ObjectText, take_list, take_string};
use crate::raw::{RawJson, RawMembers};

/// The schema name that marks an envelope (contract, "Tool-result envelope").
pub const TOOL_RESULT_SCHEMA: &str = "odek.tool-result/v1";

/// What every version of the schema name begins with; a text that holds it was meant as an
/// envelope.
const SCHEMA_FAMILY: &str = "odek.tool-result/";

/// Members that are fields of [`ToolResultEnvelope`]; an unknown member of such a name is not
/// written.
const KNOWN_MEMBERS: [&str; 3] = ["schema", "text", "artifacts"];

/// A tool result that carries artifact references beside its text.
///
/// Members that this version does not know are kept in [`unknown`](Self::unknown) and written
/// back, as the contract's additive rule asks.
///
/// ```
/// use odek_contract::artifact::ArtifactRef;
/// use odek_contract::envelope::{Detection, ToolResultEnvelope};
///
/// let mut envelope = ToolResultEnvelope::new("Done.");
/// envelope.artifacts.push(ArtifactRef::new("r1", "file:///out/a.txt", "text/plain"));
/// let text = envelope.to_json_text();
/// assert_eq!(ToolResultEnvelope::detect(&text), Detection::Envelope(envelope));
///
/// let fenced = format!("```json\n{text}\n```");
/// assert!(matches!(ToolResultEnvelope::detect(&fenced), Detection::PlainText { .. }));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
pub struct ToolResultEnvelope {
    /// Schema name; exactly `odek.tool-result/v1`.
    #[schemars(extend("const" = TOOL_RESULT_SCHEMA))]
    pub schema: String,
    /// Text for the model. Together with the metadata lines it is cut at `max_result_chars`.
    #[schemars(default)]
    pub text: String,
    /// References to the files that the tool produced, at most 64.
    #[schemars(length(max = MAX_ARTIFACTS), default)]
    pub artifacts: Vec<ArtifactRef>,
    /// Members of a later version of the schema, kept as they came.
    #[schemars(skip)]
    pub unknown: RawMembers,
}

/// What the host takes a text for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Detection {
    /// Ordinary text. The model reads it as it stands.
    PlainText {
        /// Set when the text was evidently meant as an envelope: the model then reads raw JSON,
        /// file URIs included.
        near_miss: Option<NearMiss>,
    },
    /// An envelope. Its references have not been validated.
    Envelope(ToolResultEnvelope),
    /// The schema claims an envelope that the rest does not bear out: the call fails.
    Malformed(EnvelopeError),
}

/// Why a text that was evidently meant as an envelope is not taken for one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NearMiss {
    /// Something stands in front of the JSON object: a code fence, a word, a second byte-order
    /// mark.
    DoesNotStartWithObject,
    /// It is not one JSON document; the reader's complaint.
    NotOneDocument(String),
    /// The schema is another one.
    OtherSchema(String),
    /// The schema is no string, or there is none at the top.
    NoSchema,
}

impl fmt::Display for NearMiss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DoesNotStartWithObject => f.write_str("it does not start with a JSON object"),
            Self::NotOneDocument(problem) => {
                write!(f, "it is not exactly one JSON document: {problem}")
            }
            Self::OtherSchema(schema) => {
                write!(f, "its schema is \"{}\"", schema.escape_debug())
            }
            Self::NoSchema => f.write_str("it has no schema member of type string"),
        }
    }
}

/// Why a text that claims to be an envelope fails the call. The text is the host's own.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EnvelopeError {
    /// A member that the host reads has the wrong JSON type.
    #[error("malformed {TOOL_RESULT_SCHEMA} envelope: {0}")]
    WrongType(TypeMismatch),
    /// More references than the host takes; counted before any of them is looked at.
    #[error("{TOOL_RESULT_SCHEMA} envelope carries {count} artifacts; the cap is {MAX_ARTIFACTS}")]
    TooManyArtifacts {
        /// Number of references in the envelope.
        count: usize,
    },
}

impl Default for ToolResultEnvelope {
    fn default() -> Self {
        Self::new("")
    }
}

impl ToolResultEnvelope {
    /// An envelope with a text and no references.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            schema: TOOL_RESULT_SCHEMA.to_owned(),
            text: text.into(),
            artifacts: Vec::new(),
            unknown: RawMembers::new(),
        }
    }

    /// Decides what the host takes a text for (host facts, section 4, "Recognising an envelope").
    ///
    /// White space around it is dropped, then one byte-order mark; the rest has to be one JSON
    /// object whose `schema` is exactly [`TOOL_RESULT_SCHEMA`]. Everything else is plain text.
    /// Never fails and never panics; a deeply nested or huge text costs time linear in its length.
    pub fn detect(text: &str) -> Detection {
        let document = text.trim();
        let document = document.strip_prefix('\u{feff}').unwrap_or(document);
        let plain = |miss| Detection::PlainText {
            near_miss: text.contains(SCHEMA_FAMILY).then_some(miss),
        };
        if !document.starts_with('{') {
            return plain(NearMiss::DoesNotStartWithObject);
        }
        let json = match Json::parse(document.as_bytes()) {
            Ok(json) => json,
            Err(error) => return plain(NearMiss::NotOneDocument(error.to_string())),
        };
        match fields::schema(&json) {
            Some(schema) if schema == TOOL_RESULT_SCHEMA => {}
            Some(schema) if !schema.is_empty() => return plain(NearMiss::OtherSchema(schema)),
            _ => return plain(NearMiss::NoSchema),
        }
        match fields::envelope(&json) {
            Err(mismatch) => Detection::Malformed(EnvelopeError::WrongType(mismatch)),
            Ok(envelope) if envelope.artifacts.len() > MAX_ARTIFACTS => {
                let count = envelope.artifacts.len();
                Detection::Malformed(EnvelopeError::TooManyArtifacts { count })
            }
            Ok(envelope) => Detection::Envelope(envelope),
        }
    }

    /// Why a text that mentions the schema is plain text to the host. Costs next to nothing for a
    /// text that does not mention it.
    pub(crate) fn near_miss(text: &str) -> Option<NearMiss> {
        if !text.contains(SCHEMA_FAMILY) {
            return None;
        }
        match Self::detect(text) {
            Detection::PlainText { near_miss } => near_miss,
            Detection::Envelope(_) | Detection::Malformed(_) => None,
        }
    }

    /// The envelope as the JSON text of a content item: on one line, members in the order of the
    /// contract, `artifacts` left out when there are none.
    pub fn to_json_text(&self) -> String {
        let mut object = ObjectText::default();
        object.value("schema", &self.schema.as_str().into());
        object.value("text", &self.text.as_str().into());
        if !self.artifacts.is_empty() {
            let artifacts: Vec<_> = self
                .artifacts
                .iter()
                .map(ArtifactRef::to_json_text)
                .collect();
            object.raw("artifacts", &format!("[{}]", artifacts.join(",")));
        }
        for (name, value) in self.unknown_members() {
            object.raw(name, value.text());
        }
        object.finish()
    }

    fn unknown_members(&self) -> impl Iterator<Item = (&str, &RawJson)> {
        self.unknown
            .iter()
            .filter(|(name, _)| !KNOWN_MEMBERS.contains(name))
    }

    /// Reads an envelope from a JSON value, tolerating unknown members.
    ///
    /// Missing and null members count as empty, as in the host; member names have to be spelled
    /// exactly. The schema name is not looked at.
    ///
    /// # Errors
    ///
    /// [`MemberError`] when the value is no object or a known member has the wrong JSON type.
    pub fn from_value(value: Value) -> Result<Self, MemberError> {
        Self::from_raw(&value.into())
    }

    fn from_raw(value: &RawJson) -> Result<Self, MemberError> {
        let mut members = members::object(value)?;
        let artifacts = take_list(&mut members, "artifacts")?
            .iter()
            .enumerate()
            .map(|(index, item)| {
                ArtifactRef::from_raw(item)
                    .map_err(|source| source.inside(format!("artifacts[{index}]")))
            })
            .collect::<Result<_, _>>()?;
        Ok(Self {
            schema: take_string(&mut members, "schema")?.unwrap_or_default(),
            text: take_string(&mut members, "text")?.unwrap_or_default(),
            artifacts,
            unknown: members,
        })
    }
}

impl Serialize for ToolResultEnvelope {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("schema", &self.schema)?;
        map.serialize_entry("text", &self.text)?;
        if !self.artifacts.is_empty() {
            map.serialize_entry("artifacts", &self.artifacts)?;
        }
        for (name, value) in self.unknown_members() {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for ToolResultEnvelope {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = RawJson::deserialize(deserializer)?;
        Self::from_raw(&value).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn envelope(text: &str) -> ToolResultEnvelope {
        match ToolResultEnvelope::detect(text) {
            Detection::Envelope(envelope) => envelope,
            other => panic!("not an envelope: {other:?}"),
        }
    }

    fn near_miss(text: &str) -> Option<String> {
        match ToolResultEnvelope::detect(text) {
            Detection::PlainText { near_miss } => near_miss.map(|miss| miss.to_string()),
            other => panic!("not plain text: {other:?}"),
        }
    }

    #[test]
    fn white_space_and_one_mark_around_an_envelope_do_no_harm() {
        let json = r#"{"schema":"odek.tool-result/v1","text":"x"}"#;
        for text in [
            json.to_owned(),
            format!(" \u{a0}\n\u{feff}{json}\u{2029}\t"),
        ] {
            assert_eq!(envelope(&text), ToolResultEnvelope::new("x"));
        }
    }

    #[test]
    fn a_near_miss_says_why() {
        let json = r#"{"schema":"odek.tool-result/v1","text":"x"}"#;
        let miss = |text: String| near_miss(&text).unwrap();
        let start = "it does not start with a JSON object";
        assert_eq!(miss(format!("```json\n{json}\n```")), start);
        assert_eq!(miss(format!("\u{feff}\u{feff}{json}")), start);
        assert!(miss(format!("{json} done")).starts_with("it is not exactly one JSON document: "));
        assert_eq!(
            miss(r#"{"schema":"odek.tool-result/v2"}"#.to_owned()),
            r#"its schema is "odek.tool-result/v2""#
        );
        let no_schema = "it has no schema member of type string";
        assert_eq!(
            miss(r#"{"schema":["odek.tool-result/v1"]}"#.to_owned()),
            no_schema
        );
        assert_eq!(miss(r#"{"x":"odek.tool-result/v1"}"#.to_owned()), no_schema);
        assert_eq!(near_miss(r#"{"schema":"other"}"#), None);
        assert_eq!(near_miss("plain"), None);
    }

    #[test]
    fn lists_given_again_are_merged_by_position() {
        let text = r#"{"schema":"odek.tool-result/v1",
            "artifacts":[{"id":"a","uri":"1"},{"id":"b"}],
            "ARTIFACTS":[{"uri":"2"}],
            "artifacts":[{},{"uri":"3"},null]}"#;
        let read: Vec<_> = envelope(text)
            .artifacts
            .into_iter()
            .map(|a| (a.id, a.uri))
            .collect();
        let expected = [("a", "2"), ("b", "3"), ("", "")];
        assert_eq!(
            read,
            expected.map(|(id, uri)| (id.to_owned(), uri.to_owned()))
        );
    }

    #[test]
    fn null_empties_a_list_and_a_size_but_no_text() {
        let text = r#"{"schema":"odek.tool-result/v1","text":"x","text":null,
            "artifacts":[{"id":"a","size_bytes":1,"id":null,"size_bytes":null}]}"#;
        let read = envelope(text);
        assert_eq!(read.text, "x");
        assert_eq!(
            (read.artifacts[0].id.as_str(), read.artifacts[0].size_bytes),
            ("a", None)
        );
        let text = r#"{"schema":"odek.tool-result/v1","artifacts":[{}],"artifacts":null}"#;
        assert_eq!(envelope(text).artifacts, []);
    }

    #[test]
    fn the_first_wrong_type_is_reported_in_the_words_of_the_host() {
        let text = r#"{"schema":"odek.tool-result/v1","artifacts":[{"size_bytes":6e0}],"text":5}"#;
        let Detection::Malformed(error) = ToolResultEnvelope::detect(text) else {
            panic!("accepted")
        };
        assert_eq!(
            error.to_string(),
            "malformed odek.tool-result/v1 envelope: json: cannot unmarshal number 6e0 into Go \
             struct field Ref.artifacts.size_bytes of type int64"
        );
    }

    #[test]
    fn unknown_members_survive_the_hosts_reading_and_a_round_trip() {
        let value = json!({
            "schema": TOOL_RESULT_SCHEMA, "text": "x", "later": {"a": [1, 2.5, null]},
            "artifacts": [{"schema": "s", "id": "i", "uri": "u", "media_type": "m", "tag": true}],
        });
        let read = envelope(&value.to_string());
        assert_eq!(serde_json::to_value(&read).unwrap(), value);
        assert_eq!(
            serde_json::from_value::<ToolResultEnvelope>(value).unwrap(),
            read
        );
    }

    #[test]
    fn unknown_members_keep_their_digits_and_may_nest_deep() {
        let deep = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
        let later = format!(r#"{{"b":1e999,"a":[1.0,123456789012345678901234567890],"c":{deep}}}"#);
        let text = format!(
            r#"{{"schema":"odek.tool-result/v1","text":"x","artifacts":[{{"schema":"","id":"","uri":"","media_type":"","later":{later}}}],"later":{later}}}"#
        );
        assert_eq!(envelope(&text).to_json_text(), text);
        let read: ToolResultEnvelope = serde_json::from_str(&text).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), text);

        let over_lines = text.replace("1.0,", "1.0,\n");
        let read: ToolResultEnvelope = serde_json::from_str(&over_lines).unwrap();
        assert_eq!(read.to_json_text(), text);
    }

    #[test]
    fn a_lone_surrogate_is_read_as_the_host_reads_it() {
        let text = r#"{"schema":"odek.tool-result/v1","text":"a\ud800"}"#;
        let read: ToolResultEnvelope = serde_json::from_str(text).unwrap();
        assert_eq!(read, envelope(text));
        assert_eq!(read.text, "a\u{fffd}");
    }

    #[test]
    fn a_wrong_type_inside_the_list_names_its_place() {
        let error = ToolResultEnvelope::from_value(json!({"artifacts": [{}, {"id": 1}]}));
        assert_eq!(
            error.unwrap_err().to_string(),
            "in member \"artifacts[1]\": member \"id\" must be a string, found a number"
        );
    }

    #[test]
    fn the_schema_lists_the_required_members() {
        let schema = schemars::schema_for!(ToolResultEnvelope);
        assert_eq!(schema.get("required"), Some(&json!(["schema"])));
    }

    proptest! {
        #[test]
        fn detection_never_panics(text in any::<String>()) {
            let _ = ToolResultEnvelope::detect(&text);
        }

        #[test]
        fn detection_of_what_is_almost_an_envelope_never_panics(
            text in r#"[\u{feff} ]{0,2}\{"schema":"odek.tool-result/v1"(,"(text|TEXT|artifacts|x)":(null|1e9|"a\\u00e9\\ud800"|\[\{"(id|size_bytes)":(7|"x"|\[\])\},null\])){0,4}\}?.{0,2}"#,
        ) {
            let _ = ToolResultEnvelope::detect(&text);
        }

        #[test]
        fn what_is_written_is_detected(
            text in any::<String>(),
            fields in proptest::collection::vec((any::<String>(), any::<String>(), any::<i64>()), 0..4),
            unknown in proptest::collection::btree_map("x_[a-z]{1,8}", any::<i64>(), 0..3),
        ) {
            let artifacts = fields.into_iter().map(|(id, summary, size)| ArtifactRef {
                size_bytes: Some(size),
                summary: Some(summary).filter(|summary| !summary.is_empty()),
                ..ArtifactRef::new(id, "file:///a", "text/plain")
            });
            let mut written = ToolResultEnvelope::new(text);
            written.artifacts = artifacts.collect();
            written.unknown =
                unknown.into_iter().map(|(name, value)| (name, json!(value).into())).collect();
            let json = written.to_json_text();
            prop_assert!(!json.contains('\n'));
            prop_assert_eq!(serde_json::from_str::<ToolResultEnvelope>(&json).unwrap(), written.clone());
            prop_assert_eq!(ToolResultEnvelope::detect(&json), Detection::Envelope(written));
        }
    }
}
