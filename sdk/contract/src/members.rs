//! Reading known members out of a JSON object with messages that name the member.
//!
//! Used by the types that keep unknown members: they take what they know out of the object and
//! keep the rest. This is ordinary JSON reading, exact in names and types; the host's own, laxer
//! reading is in [`crate::go`].

use serde_json::{Map, Value};

/// Why a JSON value is not the object that a schema describes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MemberError {
    /// The value itself is of another type.
    #[error("expected an object, found {found}")]
    NotAnObject {
        /// What was there, with its article: `a string`.
        found: String,
    },
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
pub(crate) fn object(value: Value) -> Result<Map<String, Value>, MemberError> {
    match value {
        Value::Object(members) => Ok(members),
        other => Err(MemberError::NotAnObject {
            found: describe(&other),
        }),
    }
}

/// Takes a string member out of the object; absent and null give `None`.
pub(crate) fn take_string(
    members: &mut Map<String, Value>,
    member: &str,
) -> Result<Option<String>, MemberError> {
    match members.remove(member) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(other) => Err(wrong_type(member, "a string", &other)),
    }
}

/// Takes an integer member out of the object; absent and null give `None`.
pub(crate) fn take_integer(
    members: &mut Map<String, Value>,
    member: &str,
) -> Result<Option<i64>, MemberError> {
    match members.remove(member) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Number(number)) => match number.as_i64() {
            Some(integer) => Ok(Some(integer)),
            None => Err(MemberError::WrongType {
                member: member.to_owned(),
                expected: "a 64-bit integer",
                found: format!("the number {number}"),
            }),
        },
        Some(other) => Err(wrong_type(member, "a 64-bit integer", &other)),
    }
}

/// Takes a list member out of the object; absent and null give an empty list.
pub(crate) fn take_list(
    members: &mut Map<String, Value>,
    member: &str,
) -> Result<Vec<Value>, MemberError> {
    match members.remove(member) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(items)) => Ok(items),
        Some(other) => Err(wrong_type(member, "a list", &other)),
    }
}

fn wrong_type(member: &str, expected: &'static str, found: &Value) -> MemberError {
    MemberError::WrongType {
        member: member.to_owned(),
        expected,
        found: describe(found),
    }
}

fn describe(value: &Value) -> String {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
    .to_owned()
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
        self.0.push_str(if self.0.is_empty() { "{}" } else { "}" });
        self.0
    }
}
