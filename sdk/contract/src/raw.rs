//! JSON kept exactly as it was written.
//!
//! Every schema of the contract is additive: fields that a later version adds must be tolerated
//! (contract, Compatibility rule), and a program that reads and rewrites a document must hand
//! them on unchanged. Decoding such a field into a number or a tree would already change it
//! (`1.0`, integers above 64 bits, digits beyond the precision of a float), so [`RawJson`] keeps
//! its text and [`RawMembers`] keeps the members of one object. What is known about a document
//! does not live here, but with its type.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::collections::btree_map;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, Value};

use crate::go::Json;

/// One JSON value, kept as the text it was written in.
///
/// Two values are equal when their texts are. Reading works from any JSON source (`serde_json`);
/// other formats have no raw text to keep and fail.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RawJson(Box<RawValue>);

impl RawJson {
    /// The JSON form of `value`.
    ///
    /// # Errors
    ///
    /// When `value` has no JSON form, for example a map whose keys are not strings.
    pub fn from_value<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        serde_json::value::to_raw_value(value).map(Self)
    }

    /// The value of a text that is known to be JSON.
    fn of_json(text: String) -> Self {
        // Cannot fail, and a panic would be worse than a null.
        Self(RawValue::from_string(text).unwrap_or_else(|_| RawValue::NULL.to_owned()))
    }

    /// The text as written, without surrounding white space.
    #[must_use]
    pub fn text(&self) -> &str {
        self.0.get()
    }

    /// What kind of JSON value this is.
    #[must_use]
    pub fn json_type(&self) -> JsonType {
        JsonType::of(self.text())
    }

    /// Decodes the value as a `T`.
    ///
    /// # Errors
    ///
    /// When the value is not a `T`, with serde's own explanation.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.text())
    }
}

impl From<Value> for RawJson {
    fn from(value: Value) -> Self {
        Self::of_json(value.to_string())
    }
}

/// Numbers, repetitions and the order of members stay as they were read.
impl From<&Json> for RawJson {
    fn from(value: &Json) -> Self {
        Self::of_json(format!("{value:?}"))
    }
}

impl PartialEq for RawJson {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

impl Eq for RawJson {}

impl JsonSchema for RawJson {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "RawJson".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!(true)
    }
}

/// The kinds of JSON value, for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonType {
    /// `null`
    Null,
    /// `true` or `false`
    Boolean,
    /// A number.
    Number,
    /// A string.
    String,
    /// An array.
    Array,
    /// An object.
    Object,
}

impl JsonType {
    /// The type of a text that is known to be JSON: its first character tells.
    pub(crate) fn of(text: &str) -> Self {
        match text.trim_ascii_start().as_bytes().first() {
            Some(b'{') => Self::Object,
            Some(b'[') => Self::Array,
            Some(b'"') => Self::String,
            Some(b't' | b'f') => Self::Boolean,
            Some(b'n') => Self::Null,
            _ => Self::Number,
        }
    }
}

impl fmt::Display for JsonType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Null => "null",
            Self::Boolean => "a boolean",
            Self::Number => "a number",
            Self::String => "a string",
            Self::Array => "an array",
            Self::Object => "an object",
        })
    }
}

/// The members of one JSON object, each value kept as written, in the order of their names.
///
/// A name that is given twice keeps its last value, as the host reads it (host facts, section 3).
///
/// ```
/// use odek_contract::raw::RawMembers;
///
/// let members: RawMembers = serde_json::from_str(r#"{"size": 1.0, "name": "a"}"#)?;
/// assert_eq!(members.decode::<f64>("size"), Some(1.0));
/// assert_eq!(serde_json::to_string(&members)?, r#"{"name":"a","size":1.0}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RawMembers(BTreeMap<String, RawJson>);

impl RawMembers {
    /// No members.
    #[must_use]
    pub const fn new() -> Self {
        Self(BTreeMap::new())
    }

    /// The members of the object that `value` becomes in JSON.
    ///
    /// # Errors
    ///
    /// When `value` has no JSON form, or one that is not an object.
    pub fn from_value<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        RawJson::from_value(value)?.decode()
    }

    /// The value of the member `name`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&RawJson> {
        self.0.get(name)
    }

    /// The member `name` as a `T`: `None` when it is missing or something else. Ask
    /// [`get`](Self::get) to tell the two apart.
    #[must_use]
    pub fn decode<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        self.get(name)?.decode().ok()
    }

    /// Adds or replaces the member `name`.
    pub fn insert(&mut self, name: impl Into<String>, value: RawJson) {
        self.0.insert(name.into(), value);
    }

    /// Removes the member `name` and returns its value.
    pub fn remove(&mut self, name: &str) -> Option<RawJson> {
        self.0.remove(name)
    }

    /// Removes the member `name` if it is a `T`; a value of another type stays where it is.
    pub(crate) fn take<T: DeserializeOwned>(&mut self, name: &str) -> Option<T> {
        let value = self.decode(name)?;
        self.0.remove(name);
        Some(value)
    }

    /// Like [`take`](Self::take), but a value of another type is an error. `null` counts as
    /// missing, as it does for the host, and stays.
    pub(crate) fn take_typed<T: DeserializeOwned>(
        &mut self,
        name: &str,
    ) -> Result<Option<T>, serde_json::Error> {
        match self.get(name) {
            None => Ok(None),
            Some(value) if value.text() == "null" => Ok(None),
            Some(value) => {
                let value = value.decode()?;
                self.0.remove(name);
                Ok(Some(value))
            }
        }
    }

    /// The members in the order of their names.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &RawJson)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// How many members there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<(String, RawJson)> for RawMembers {
    fn from_iter<I: IntoIterator<Item = (String, RawJson)>>(members: I) -> Self {
        Self(members.into_iter().collect())
    }
}

impl IntoIterator for RawMembers {
    type Item = (String, RawJson);
    type IntoIter = btree_map::IntoIter<String, RawJson>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl JsonSchema for RawMembers {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "RawMembers".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object" })
    }
}

/// The string that a JSON text stands for, borrowed when it has no escapes; `None` for anything
/// that is no string.
pub(crate) fn string_of(value: &RawValue) -> Option<Cow<'_, str>> {
    let text = value.get();
    let inner = text.strip_prefix('"')?.strip_suffix('"')?;
    if inner.contains('\\') {
        return serde_json::from_str(text).ok().map(Cow::Owned);
    }
    Some(Cow::Borrowed(inner))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_digits() {
        let text =
            r#"{"a":1.0,"b":123456789012345678901234567890,"c":1e999,"d":0.1234567890123456789}"#;
        let members: RawMembers = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&members).unwrap(), text);
    }

    #[test]
    fn the_last_of_two_equal_names_wins() {
        let members: RawMembers = serde_json::from_str(r#"{"a":1,"a":2}"#).unwrap();
        assert_eq!(members.decode::<u8>("a"), Some(2));
        assert_eq!(members.len(), 1);
    }

    #[test]
    fn take_leaves_a_value_of_another_type() {
        let mut members: RawMembers = serde_json::from_str(r#"{"a":"x","b":null}"#).unwrap();
        assert_eq!(members.take::<u64>("a"), None);
        assert!(members.take_typed::<u64>("a").is_err());
        assert_eq!(members.take_typed::<u64>("b").unwrap(), None);
        assert_eq!(members.take::<String>("a").as_deref(), Some("x"));
        assert_eq!(members.len(), 1, "null stays");
    }

    #[test]
    fn strings_are_borrowed_unless_escaped() {
        let plain: &RawValue = serde_json::from_str(r#""abc""#).unwrap();
        assert!(matches!(string_of(plain), Some(Cow::Borrowed("abc"))));
        let escaped: &RawValue = serde_json::from_str(r#""a\u0062c""#).unwrap();
        assert_eq!(string_of(escaped).as_deref(), Some("abc"));
        for other in ["1", "null", "[\"a\"]", "\"\\ud800\""] {
            let raw: &RawValue = serde_json::from_str(other).unwrap();
            assert_eq!(string_of(raw), None, "{other}");
        }
    }
}
