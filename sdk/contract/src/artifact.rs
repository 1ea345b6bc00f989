//! Artifact references (`odek.artifact-ref/v1`) and their fail-closed validation.
//!
//! An artifact is a file that a tool leaves on disk because its content is too large or too binary
//! for the model. The tool result only carries a reference; the host checks the reference against
//! the configured roots and shows the model one metadata line. The content is never read into the
//! model's context.
//!
//! What lives here: [`ArtifactRef`], the order of checks that the real host applies
//! ([`ArtifactRef::validate`]), the roots ([`ArtifactRoots`]), digests ([`Sha256Digest`],
//! [`hash_file`]) and the URI of a file ([`file_uri`]). What does not: how a reference is shown
//! ([`crate::render`]), how references travel ([`crate::envelope`]) and how files are written.
//!
//! This is the only part of the crate that touches the file system, and it only reads: the file
//! that a reference names is looked at, and opened when the reference carries a digest.
//!
//! Implements the contract, "Artifact-ref schema", and the host facts, section 10.
//!
//! ```
//! use odek_contract::artifact::{ArtifactRef, ArtifactRoots, file_uri};
//!
//! let folder = std::fs::canonicalize(std::env::temp_dir())?;
//! let file = folder.join(format!("odek-contract-example-{}.txt", std::process::id()));
//! std::fs::write(&file, "hello\n")?;
//!
//! let reference = ArtifactRef::new("report-1", file_uri(&file)?, "text/plain");
//! let roots = ArtifactRoots::resolve(&[folder.display().to_string()], &folder);
//! let validated = reference.validate(&roots)?;
//! assert_eq!(validated.size_bytes, 6);
//!
//! let no_roots = ArtifactRoots::resolve(&[], &folder);
//! assert_eq!(reference.validate(&no_roots).map_err(|error| error.reason()), Err("no-roots"));
//! # std::fs::remove_file(&file)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod digest;
mod error;
mod roots;
mod uri;
mod validate;

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

pub(crate) use digest::shorten_digest;
pub use digest::{DigestFormatError, Sha256Digest, hash_file};
pub use error::{ArtifactError, FileError, HashError, ResolveError};
pub use roots::ArtifactRoots;
pub use uri::{FileUriError, file_uri};
pub use validate::ValidatedArtifact;

use crate::members::{self, MemberError, ObjectText, take_integer, take_string};
use crate::raw::{RawJson, RawMembers};

/// The schema name that every artifact reference carries (contract, "Artifact-ref schema").
pub const ARTIFACT_REF_SCHEMA: &str = "odek.artifact-ref/v1";

/// Largest file that a reference may name, in bytes (64 MiB).
///
/// The host looks at the real size, whatever the reference declares (host facts, section 10,
/// check 10). A file of exactly this size is accepted.
pub const MAX_ARTIFACT_BYTES: u64 = 67_108_864;

/// Most references that one tool result may carry, over all its envelopes together
/// (host facts, section 4).
pub const MAX_ARTIFACTS: usize = 64;

/// Most characters (Unicode code points) of an id, media type or summary that the model sees;
/// the rest is replaced by one `…` (host facts, section 4, "Metadata lines").
pub const MAX_METADATA_CHARS: usize = 4096;

/// Members that are fields of [`ArtifactRef`]; an unknown member of such a name is not written.
const KNOWN_MEMBERS: [&str; 7] = [
    "schema",
    "id",
    "uri",
    "media_type",
    "sha256",
    "size_bytes",
    "summary",
];

/// One `odek.artifact-ref/v1` object: a file that a tool produced, and what is known of it.
///
/// The type holds what was sent, good or bad: the host reports the first rule that a reference
/// breaks, so an empty id or a malformed digest has to be representable.
/// [`validate`](Self::validate) applies the rules.
///
/// Members that this version does not know are kept in [`unknown`](Self::unknown) and written
/// back, as the contract's additive rule asks.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema)]
pub struct ArtifactRef {
    /// Schema name; exactly `odek.artifact-ref/v1`.
    #[schemars(extend("const" = ARTIFACT_REF_SCHEMA))]
    pub schema: String,
    /// Identifier of the reference, unique within its envelope. At least one character.
    ///
    /// The host shows the first 4096 characters and does not check uniqueness.
    #[schemars(length(min = 1))]
    pub id: String,
    /// `file://` URI of the file: absolute, clean and percent-encoded.
    #[schemars(length(min = 1))]
    pub uri: String,
    /// MIME type of the content. At least one character; the host does not check its form.
    #[schemars(length(min = 1))]
    pub media_type: String,
    /// SHA-256 of the content as 64 lower-case hex digits. Absent or empty: not verified.
    pub sha256: Option<String>,
    /// Size of the file in bytes. Absent: not verified.
    #[schemars(range(min = 0, max = MAX_ARTIFACT_BYTES))]
    pub size_bytes: Option<i64>,
    /// One line about the content, shown to the model.
    pub summary: Option<String>,
    /// Members of a later version of the schema, kept as they came.
    #[schemars(skip)]
    pub unknown: RawMembers,
}

impl ArtifactRef {
    /// Makes a reference with the required members; set the optional ones on the fields.
    ///
    /// Nothing is checked here: [`validate`](Self::validate) does that, as the host would.
    pub fn new(
        id: impl Into<String>,
        uri: impl Into<String>,
        media_type: impl Into<String>,
    ) -> Self {
        Self {
            schema: ARTIFACT_REF_SCHEMA.to_owned(),
            id: id.into(),
            uri: uri.into(),
            media_type: media_type.into(),
            ..Self::default()
        }
    }

    /// Reads a reference from a JSON value, tolerating unknown members.
    ///
    /// A missing or null member counts as empty, as in the host; member names have to be spelled
    /// exactly. (The host also takes other letter cases; that reading is in [`crate::envelope`].)
    ///
    /// # Errors
    ///
    /// [`MemberError`] when the value is no object or a known member has the wrong JSON type.
    pub fn from_value(value: Value) -> Result<Self, MemberError> {
        Self::from_raw(&value.into())
    }

    pub(crate) fn from_raw(value: &RawJson) -> Result<Self, MemberError> {
        let mut members = members::object(value)?;
        Ok(Self {
            schema: take_string(&mut members, "schema")?.unwrap_or_default(),
            id: take_string(&mut members, "id")?.unwrap_or_default(),
            uri: take_string(&mut members, "uri")?.unwrap_or_default(),
            media_type: take_string(&mut members, "media_type")?.unwrap_or_default(),
            sha256: take_string(&mut members, "sha256")?,
            size_bytes: take_integer(&mut members, "size_bytes")?,
            summary: take_string(&mut members, "summary")?,
            unknown: members,
        })
    }

    /// The reference as JSON text on one line, members in the order of the contract.
    pub fn to_json_text(&self) -> String {
        let mut object = ObjectText::default();
        for (name, value) in self.members() {
            object.raw(name, value.text());
        }
        object.finish()
    }

    /// Every member that is there, known ones first.
    fn members(&self) -> impl Iterator<Item = (&str, RawJson)> {
        let known = [
            Some(("schema", Value::from(self.schema.as_str()))),
            Some(("id", self.id.as_str().into())),
            Some(("uri", self.uri.as_str().into())),
            Some(("media_type", self.media_type.as_str().into())),
            self.sha256
                .as_deref()
                .map(|sha256| ("sha256", sha256.into())),
            self.size_bytes
                .map(|size_bytes| ("size_bytes", size_bytes.into())),
            self.summary
                .as_deref()
                .map(|summary| ("summary", summary.into())),
        ];
        let unknown = self
            .unknown
            .iter()
            .filter(|(name, _)| !KNOWN_MEMBERS.contains(name));
        let unknown = unknown.map(|(name, value)| (name, value.clone()));
        let known = known.into_iter().flatten();
        known
            .map(|(name, value)| (name, value.into()))
            .chain(unknown)
    }
}

impl Serialize for ArtifactRef {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.members())
    }
}

impl<'de> Deserialize<'de> for ArtifactRef {
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

    #[test]
    fn unknown_members_survive_a_round_trip() {
        let value = json!({
            "schema": ARTIFACT_REF_SCHEMA, "id": "r1", "uri": "file:///x", "media_type": "a/b",
            "created_at": "2026-01-01", "tags": ["a", {"b": 1.5}],
        });
        let reference = ArtifactRef::from_value(value.clone()).unwrap();
        assert_eq!(reference.unknown.len(), 2);
        assert_eq!(serde_json::to_value(&reference).unwrap(), value);
    }

    #[test]
    fn a_wrong_type_names_the_member_and_both_types() {
        let error = ArtifactRef::from_value(json!({"id": 7})).unwrap_err();
        assert_eq!(
            error.to_string(),
            "member \"id\" must be a string, found a number"
        );
        let error = ArtifactRef::from_value(json!({"size_bytes": 1.5})).unwrap_err();
        assert_eq!(
            error.to_string(),
            "member \"size_bytes\" must be a 64-bit integer, found the number 1.5"
        );
        let error = ArtifactRef::from_value(json!([])).unwrap_err();
        assert_eq!(error.to_string(), "expected an object, found an array");
    }

    #[test]
    fn the_schema_lists_the_required_members() {
        let schema = schemars::schema_for!(ArtifactRef);
        let required = schema.get("required").unwrap();
        assert_eq!(required, &json!(["schema", "id", "uri", "media_type"]));
        assert!(schema.pointer("/properties/unknown").is_none());
    }

    fn scalar() -> impl Strategy<Value = Value> {
        prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ]
    }

    proptest! {
        #[test]
        fn every_reference_round_trips(
            id in any::<String>(),
            uri in any::<String>(),
            media_type in any::<String>(),
            sha256 in proptest::option::of(any::<String>()),
            size_bytes in proptest::option::of(any::<i64>()),
            summary in proptest::option::of(any::<String>()),
            unknown in proptest::collection::btree_map("x_[a-z]{1,8}", scalar(), 0..4),
        ) {
            let reference = ArtifactRef {
                sha256,
                size_bytes,
                summary,
                unknown: unknown.into_iter().map(|(name, value)| (name, value.into())).collect(),
                ..ArtifactRef::new(id, uri, media_type)
            };
            let text = serde_json::to_string(&reference).unwrap();
            prop_assert_eq!(serde_json::from_str::<ArtifactRef>(&text).unwrap(), reference);
        }
    }
}
