//! The members of an envelope, read as the host reads them.

use super::ToolResultEnvelope;
use crate::artifact::ArtifactRef;
use crate::decode::{Decoder, MergedList, Place, TypeMismatch, names_field};
use crate::go::Json;
use crate::raw::RawMembers;

const ENVELOPE: Place = Place::new("value", "artifact.Envelope");
const SCHEMA: Place = Place::new("struct field Envelope.schema", "string");
const TEXT: Place = Place::new("struct field Envelope.text", "string");
const ARTIFACTS: Place = Place::new("struct field Envelope.artifacts", "[]artifact.Ref");
const ARTIFACT: Place = Place::new("struct field Envelope.artifacts", "artifact.Ref");
const REF_SCHEMA: Place = Place::new("struct field Ref.artifacts.schema", "string");
const REF_ID: Place = Place::new("struct field Ref.artifacts.id", "string");
const REF_URI: Place = Place::new("struct field Ref.artifacts.uri", "string");
const REF_MEDIA_TYPE: Place = Place::new("struct field Ref.artifacts.media_type", "string");
const REF_SHA256: Place = Place::new("struct field Ref.artifacts.sha256", "string");
const REF_SIZE_BYTES: Place = Place::new("struct field Ref.artifacts.size_bytes", "int64");
const REF_SUMMARY: Place = Place::new("struct field Ref.artifacts.summary", "string");

/// The schema alone: empty when missing or null, `None` when it is ever given as another type.
pub(super) fn schema(json: &Json) -> Option<String> {
    let mut decoder = Decoder::default();
    let mut schema = String::new();
    for (name, value) in decoder.members(json, ENVELOPE) {
        if names_field(name, "schema") {
            decoder.string(value, SCHEMA, &mut schema);
        }
    }
    decoder.finish(schema).ok()
}

/// The whole envelope.
pub(super) fn envelope(json: &Json) -> Result<ToolResultEnvelope, TypeMismatch> {
    let mut decoder = Decoder::default();
    let mut envelope = ToolResultEnvelope {
        schema: String::new(),
        ..Default::default()
    };
    let mut artifacts = MergedList::default();
    for (name, value) in decoder.members(json, ENVELOPE) {
        if names_field(name, "schema") {
            decoder.string(value, SCHEMA, &mut envelope.schema);
        } else if names_field(name, "text") {
            decoder.string(value, TEXT, &mut envelope.text);
        } else if names_field(name, "artifacts") {
            decoder.list(value, ARTIFACTS, &mut artifacts, artifact);
        } else {
            envelope.unknown.insert(name, value.into());
        }
    }
    envelope.artifacts = artifacts
        .into_vec()
        .into_iter()
        .map(ArtifactRef::from)
        .collect();
    decoder.finish(envelope)
}

/// A reference while it is read: the optional texts tell absent from null no more than the host.
#[derive(Debug, Default)]
struct RefFields {
    schema: String,
    id: String,
    uri: String,
    media_type: String,
    sha256: String,
    size_bytes: Option<i64>,
    summary: String,
    unknown: RawMembers,
}

fn artifact(decoder: &mut Decoder, json: &Json, fields: &mut RefFields) {
    for (name, value) in decoder.members(json, ARTIFACT) {
        if names_field(name, "schema") {
            decoder.string(value, REF_SCHEMA, &mut fields.schema);
        } else if names_field(name, "id") {
            decoder.string(value, REF_ID, &mut fields.id);
        } else if names_field(name, "uri") {
            decoder.string(value, REF_URI, &mut fields.uri);
        } else if names_field(name, "media_type") {
            decoder.string(value, REF_MEDIA_TYPE, &mut fields.media_type);
        } else if names_field(name, "sha256") {
            decoder.string(value, REF_SHA256, &mut fields.sha256);
        } else if names_field(name, "size_bytes") {
            decoder.integer(value, REF_SIZE_BYTES, &mut fields.size_bytes);
        } else if names_field(name, "summary") {
            decoder.string(value, REF_SUMMARY, &mut fields.summary);
        } else {
            fields.unknown.insert(name, value.into());
        }
    }
}

impl From<RefFields> for ArtifactRef {
    fn from(fields: RefFields) -> Self {
        let given = |text: String| Some(text).filter(|text| !text.is_empty());
        Self {
            schema: fields.schema,
            id: fields.id,
            uri: fields.uri,
            media_type: fields.media_type,
            sha256: given(fields.sha256),
            size_bytes: fields.size_bytes,
            summary: given(fields.summary),
            unknown: fields.unknown,
        }
    }
}
