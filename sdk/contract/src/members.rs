//! Reading known members out of a JSON object with messages that name the member.
//!
//! Used by the types that keep unknown members: they take what they know out of the object and
//! keep the rest. This is ordinary JSON reading, exact in names and types; the host's own, laxer
//! reading is in [`crate::go`].

use serde_json::Value;

use crate::go::Json;
use crate::raw::{JsonType, RawJson, RawMembers};

/// Why a JSON value is not the object that a schema describes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MemberError {
    /// The value itself is of another type.
    #[error("expected an object, found {found}")]
    NotAnObject {
        /// What was there.
        found: JsonType,
    },
    /// A member has a name that is no text.
    #[error("the names of the members cannot be read: {0}")]
    Unreadable(String),
    /// A known member is of another type.
    #[error("member \"{member}\" must be {expected}, found {found}")]
    WrongType {
        /// Name of the member.
        member: String,
        /// What the schema asks for, with its article.
        expected: &'static str,
        /// What was there, with its article.
        found: String,
    },
    /// A member holds an object or a list with something wrong inside.
    #[error("in member \"{member}\": {source}")]
    Inside {
        /// Name of the member, with the index of the element: `artifacts[2]`.
        member: String,
        /// What is wrong inside.
        source: Box<MemberError>,
    },
}

impl MemberError {
    /// The same error, seen from the member that holds the value.
    pub(crate) fn inside(self, member: String) -> Self {
        Self::Inside {
            member,
            source: Box::new(self),
        }
    }
}

/// The members of an object.
pub(crate) fn object(value: &RawJson) -> Result<RawMembers, MemberError> {
    match value.json_type() {
        JsonType::Object => value
            .decode()
            .map_err(|error| MemberError::Unreadable(error.to_string())),
        found => Err(MemberError::NotAnObject { found }),
    }
}

/// Takes a string member out of the object; absent and null give `None`. A lone surrogate is
/// U+FFFD, as in the host.
pub(crate) fn take_string(
    members: &mut RawMembers,
    member: &str,
) -> Result<Option<String>, MemberError> {
    let Some(value) = members.remove(member) else {
        return Ok(None);
    };
    match &Json::parse(value.text().as_bytes()) {
        Ok(Json::Null) => Ok(None),
        Ok(Json::String(text)) => Ok(Some(text.clone())),
        _ => Err(wrong_type(member, "a string", &value)),
    }
}

/// Takes an integer member out of the object; absent and null give `None`.
pub(crate) fn take_integer(
    members: &mut RawMembers,
    member: &str,
) -> Result<Option<i64>, MemberError> {
    let Some(value) = members.remove(member) else {
        return Ok(None);
    };
    match (value.json_type(), value.text().parse()) {
        (JsonType::Null, _) => Ok(None),
        (JsonType::Number, Ok(integer)) => Ok(Some(integer)),
        (JsonType::Number, Err(_)) => Err(MemberError::WrongType {
            member: member.to_owned(),
            expected: "a 64-bit integer",
            found: format!("the number {}", value.text()),
        }),
        _ => Err(wrong_type(member, "a 64-bit integer", &value)),
    }
}

/// Takes a list member out of the object; absent and null give an empty list.
pub(crate) fn take_list(
    members: &mut RawMembers,
    member: &str,
) -> Result<Vec<RawJson>, MemberError> {
    let Some(value) = members.remove(member) else {
        return Ok(Vec::new());
    };
    match (value.json_type(), value.decode()) {
        (JsonType::Null, _) => Ok(Vec::new()),
        (JsonType::Array, Ok(items)) => Ok(items),
        _ => Err(wrong_type(member, "a list", &value)),
    }
}

fn wrong_type(member: &str, expected: &'static str, found: &RawJson) -> MemberError {
    MemberError::WrongType {
        member: member.to_owned(),
        expected,
        found: found.json_type().to_string(),
    }
}

/// Writes a JSON object member by member, in the order given.
#[derive(Debug, Default)]
pub(crate) struct ObjectText(String);

impl ObjectText {
    /// Adds a member whose value is JSON text already.
    pub(crate) fn raw(&mut self, name: &str, json: &str) {
        self.0.push(if self.0.is_empty() { '{' } else { ',' });
        self.0.push_str(&Value::from(name).to_string());
        self.0.push(':');
        self.0.push_str(json);
    }

    /// Adds a member.
    pub(crate) fn value(&mut self, name: &str, value: &Value) {
        self.raw(name, &value.to_string());
    }

    /// The object as JSON text, on one line.
    pub(crate) fn finish(mut self) -> String {
        // Values kept from a document of several lines still hold its line breaks. JSON allows
        // them between tokens only, where they mean nothing.
        self.0.retain(|character| !matches!(character, '\n' | '\r'));
        self.0.push_str(if self.0.is_empty() { "{}" } else { "}" });
        self.0
    }
}
