//! Pointers to state that lives outside the host (contract, External-state-ref schema).
//!
//! A session carries such references; the host stores and transports them and never follows them,
//! and neither does anything here.

use std::borrow::Cow;
use std::collections::HashSet;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

use crate::raw::RawMembers;

/// The most characters of a `kind`.
pub const MAX_KIND_CHARS: usize = 64;
/// The most characters of a `uri`.
pub const MAX_URI_CHARS: usize = 2048;
/// The most characters of a `created_by`.
pub const MAX_CREATED_BY_CHARS: usize = 128;

/// A reference to state outside the host, such as a CI run or a dashboard.
///
/// Always valid: [`new`](Self::new), [`from_json`](Self::from_json) and deserialization check it.
/// Unknown fields are kept and written back.
///
/// ```
/// use odek_contract::external_state::ExternalStateRef;
///
/// let run = ExternalStateRef::new("ci-run", "https://ci.example.test/runs/4821", "ci")?;
/// assert_eq!(
///     serde_json::to_string(&run)?,
///     r#"{"kind":"ci-run","uri":"https://ci.example.test/runs/4821","created_by":"ci"}"#,
/// );
/// let error = ExternalStateRef::new("CI run", "https://ci.example.test/", "ci").unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "`kind` contains 'C'; allowed are lower-case letters, digits, `_` and `-`",
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternalStateRef {
    kind: String,
    uri: String,
    created_by: String,
    /// Whether the state may only be read; `None` when the reference does not say.
    pub read_only: Option<bool>,
    /// When the reference was made, as RFC 3339; not checked.
    pub created_at: Option<String>,
    /// Fields that this version does not know.
    pub unknown: RawMembers,
}

impl ExternalStateRef {
    /// A reference without the optional fields.
    ///
    /// # Errors
    ///
    /// When a field is empty, too long, or holds a character that it must not hold.
    pub fn new(
        kind: impl Into<String>,
        uri: impl Into<String>,
        created_by: impl Into<String>,
    ) -> Result<Self, ExternalStateRefError> {
        let reference = Self {
            kind: kind.into(),
            uri: uri.into(),
            created_by: created_by.into(),
            read_only: None,
            created_at: None,
            unknown: RawMembers::new(),
        };
        reference.check()?;
        Ok(reference)
    }

    /// Reads one reference.
    ///
    /// # Errors
    ///
    /// When the text is not a JSON object, a required field is missing, a known field has another
    /// type, or [`new`](Self::new) would refuse it.
    pub fn from_json(text: &str) -> Result<Self, ExternalStateRefError> {
        let members = serde_json::from_str(text).map_err(ExternalStateRefError::NotAnObject)?;
        Self::from_members(members)
    }

    /// What kind of state it is: 1 to 64 characters from `a-z`, `0-9`, `_` and `-`.
    #[must_use]
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// Where the state is: 1 to 2048 characters, no control characters. Never dereferenced.
    #[must_use]
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// Who made the reference: 1 to 128 characters.
    #[must_use]
    pub fn created_by(&self) -> &str {
        &self.created_by
    }

    fn identity(&self) -> (&str, &str, &str) {
        (&self.kind, &self.uri, &self.created_by)
    }

    fn from_members(mut members: RawMembers) -> Result<Self, ExternalStateRefError> {
        let reference = Self {
            kind: required(&mut members, "kind")?,
            uri: required(&mut members, "uri")?,
            created_by: required(&mut members, "created_by")?,
            read_only: optional(&mut members, "read_only")?,
            created_at: optional(&mut members, "created_at")?,
            unknown: members,
        };
        reference.check()?;
        Ok(reference)
    }

    fn check(&self) -> Result<(), ExternalStateRefError> {
        check_length("kind", &self.kind, MAX_KIND_CHARS)?;
        if let Some(found) = self.kind.chars().find(|found| !is_kind_char(*found)) {
            return Err(ExternalStateRefError::KindCharacter { found });
        }
        check_length("uri", &self.uri, MAX_URI_CHARS)?;
        if let Some(position) = self.uri.chars().position(char::is_control) {
            return Err(ExternalStateRefError::ControlCharacter {
                position: position + 1,
            });
        }
        check_length("created_by", &self.created_by, MAX_CREATED_BY_CHARS)
    }
}

fn is_kind_char(character: char) -> bool {
    matches!(character, 'a'..='z' | '0'..='9' | '_' | '-')
}

fn check_length(
    field: &'static str,
    value: &str,
    limit: usize,
) -> Result<(), ExternalStateRefError> {
    match value.chars().count() {
        0 => Err(ExternalStateRefError::Empty { field }),
        length if length > limit => Err(ExternalStateRefError::TooLong {
            field,
            length,
            limit,
        }),
        _ => Ok(()),
    }
}

fn required(
    members: &mut RawMembers,
    field: &'static str,
) -> Result<String, ExternalStateRefError> {
    optional(members, field)?.ok_or(ExternalStateRefError::Missing { field })
}

fn optional<T: serde::de::DeserializeOwned>(
    members: &mut RawMembers,
    field: &'static str,
) -> Result<Option<T>, ExternalStateRefError> {
    members
        .take_typed(field)
        .map_err(|source| ExternalStateRefError::WrongType { field, source })
}

/// Keeps the first reference of each (kind, uri, created_by) and drops the others (contract,
/// External-state-ref schema). The order stays.
#[must_use]
pub fn deduplicate(references: Vec<ExternalStateRef>) -> Vec<ExternalStateRef> {
    let first: Vec<bool> = {
        let mut seen = HashSet::new();
        references
            .iter()
            .map(|reference| seen.insert(reference.identity()))
            .collect()
    };
    references
        .into_iter()
        .zip(first)
        .filter_map(|(reference, first)| first.then_some(reference))
        .collect()
}

/// Why something is no external state reference.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ExternalStateRefError {
    /// The text is no JSON object.
    #[error("an external state reference is a JSON object: {0}")]
    NotAnObject(#[source] serde_json::Error),
    /// A required field is missing or null.
    #[error("`{field}` is missing")]
    Missing {
        /// The field.
        field: &'static str,
    },
    /// A field has another type.
    #[error("`{field}` has the wrong type: {source}")]
    WrongType {
        /// The field.
        field: &'static str,
        /// What was expected and found.
        source: serde_json::Error,
    },
    /// A field is empty.
    #[error("`{field}` is empty")]
    Empty {
        /// The field.
        field: &'static str,
    },
    /// A field is too long.
    #[error("`{field}` has {length} characters, at most {limit} are allowed")]
    TooLong {
        /// The field.
        field: &'static str,
        /// Its length in characters.
        length: usize,
        /// The most characters allowed.
        limit: usize,
    },
    /// `kind` holds a character that it must not hold.
    #[error("`kind` contains {found:?}; allowed are lower-case letters, digits, `_` and `-`")]
    KindCharacter {
        /// The character.
        found: char,
    },
    /// `uri` holds a control character.
    #[error("`uri` has a control character at position {position}")]
    ControlCharacter {
        /// Where, in characters from 1.
        position: usize,
    },
}

impl<'de> Deserialize<'de> for ExternalStateRef {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::from_members(RawMembers::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl Serialize for ExternalStateRef {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("kind", &self.kind)?;
        map.serialize_entry("uri", &self.uri)?;
        map.serialize_entry("created_by", &self.created_by)?;
        if let Some(read_only) = self.read_only {
            map.serialize_entry("read_only", &read_only)?;
        }
        if let Some(created_at) = &self.created_at {
            map.serialize_entry("created_at", created_at)?;
        }
        for (name, value) in self.unknown.iter() {
            if !self.writes(name) {
                map.serialize_entry(name, value)?;
            }
        }
        map.end()
    }
}

impl ExternalStateRef {
    /// Whether the fields already write a member of this name.
    fn writes(&self, name: &str) -> bool {
        match name {
            "kind" | "uri" | "created_by" => true,
            "read_only" => self.read_only.is_some(),
            "created_at" => self.created_at.is_some(),
            _ => false,
        }
    }
}

impl JsonSchema for ExternalStateRef {
    fn schema_name() -> Cow<'static, str> {
        "ExternalStateRef".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A reference to state outside the host, which the host never follows.",
            "type": "object",
            "properties": {
                "kind": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": MAX_KIND_CHARS,
                    "pattern": "^[a-z0-9_-]*$",
                },
                "uri": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": MAX_URI_CHARS,
                    "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f]*$",
                },
                "created_by": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": MAX_CREATED_BY_CHARS,
                },
                "read_only": { "type": "boolean" },
                "created_at": { "type": "string", "format": "date-time" },
            },
            "required": ["kind", "uri", "created_by"],
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const EXAMPLE: &str = r#"{"kind":"ci-run","uri":"https://ci.example.test/runs/4821","created_by":"ci-orchestrator","read_only":true,"created_at":"2026-08-07T12:00:00Z"}"#;

    fn error(text: &str) -> String {
        ExternalStateRef::from_json(text).unwrap_err().to_string()
    }

    #[test]
    fn the_contract_example_survives_a_round_trip() {
        let reference = ExternalStateRef::from_json(EXAMPLE).unwrap();
        assert_eq!(reference.kind(), "ci-run");
        assert_eq!(reference.read_only, Some(true));
        assert_eq!(serde_json::to_string(&reference).unwrap(), EXAMPLE);
    }

    #[test]
    fn unknown_fields_and_nulls_survive_a_round_trip() {
        let text = r#"{"kind":"k","uri":"u","created_by":"c","a":1.0,"created_at":null}"#;
        let reference = ExternalStateRef::from_json(text).unwrap();
        assert_eq!(serde_json::to_string(&reference).unwrap(), text);
    }

    #[test]
    fn a_field_that_was_null_is_written_once_when_set() {
        let text = r#"{"kind":"k","uri":"u","created_by":"c","read_only":null}"#;
        let mut reference = ExternalStateRef::from_json(text).unwrap();
        reference.read_only = Some(false);
        assert_eq!(
            serde_json::to_string(&reference).unwrap(),
            r#"{"kind":"k","uri":"u","created_by":"c","read_only":false}"#
        );
    }

    #[test]
    fn each_violation_has_its_own_message() {
        assert_eq!(
            error(r#"{"uri":"u","created_by":"c"}"#),
            "`kind` is missing"
        );
        assert_eq!(
            error(r#"{"kind":null,"uri":"u","created_by":"c"}"#),
            "`kind` is missing"
        );
        assert_eq!(
            error(r#"{"kind":"k","uri":"","created_by":"c"}"#),
            "`uri` is empty"
        );
        assert_eq!(
            error(r#"{"kind":"k","uri":"a\u0085b","created_by":"c"}"#),
            "`uri` has a control character at position 2"
        );
        assert!(
            error(r#"{"kind":"k","uri":"u","created_by":"c","read_only":"yes"}"#)
                .starts_with("`read_only` has the wrong type: ")
        );
        assert!(error("[]").starts_with("an external state reference is a JSON object: "));
    }

    #[test]
    fn lengths_count_characters() {
        let long = |kind: usize, uri: usize, created_by: usize| {
            ExternalStateRef::new("k".repeat(kind), "ü".repeat(uri), "é".repeat(created_by))
                .map_err(|error| error.to_string())
        };
        assert!(long(64, 2048, 128).is_ok());
        assert_eq!(
            long(65, 1, 1).unwrap_err(),
            "`kind` has 65 characters, at most 64 are allowed"
        );
        assert_eq!(
            long(1, 2049, 1).unwrap_err(),
            "`uri` has 2049 characters, at most 2048 are allowed"
        );
        assert_eq!(
            long(1, 1, 129).unwrap_err(),
            "`created_by` has 129 characters, at most 128 are allowed"
        );
    }

    #[test]
    fn deduplication_keeps_the_first_and_the_order() {
        let with_time = |kind: &str, created_by: &str, time: &str| {
            let mut reference = ExternalStateRef::new(kind, "u", created_by).unwrap();
            reference.created_at = Some(time.to_owned());
            reference
        };
        let kept = deduplicate(vec![
            with_time("b", "x", "1"),
            with_time("a", "x", "2"),
            with_time("b", "x", "3"),
            with_time("b", "y", "4"),
        ]);
        let times: Vec<_> = kept
            .iter()
            .filter_map(|reference| reference.created_at.as_deref())
            .collect();
        assert_eq!(times, ["1", "2", "4"]);
    }

    proptest! {
        #[test]
        fn reading_never_panics(text in any::<String>()) {
            let _ = ExternalStateRef::from_json(&text);
        }

        #[test]
        fn what_is_accepted_survives_a_round_trip(
            kind in "[a-z0-9_-]{1,64}", uri in "[^\\p{Cc}]{1,64}", created_by in ".{1,64}",
        ) {
            let reference = ExternalStateRef::new(kind, uri, created_by).unwrap();
            let text = serde_json::to_string(&reference).unwrap();
            prop_assert_eq!(ExternalStateRef::from_json(&text).unwrap(), reference);
        }
    }
}
