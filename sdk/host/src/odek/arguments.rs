//! The arguments of a tool call, as the host sends them.

use odek_contract::go;
use serde::Serialize;
use serde_json::Value;

/// What a model gave as arguments, in the form in which the host sends it to the server.
///
/// Models write text, and the host turns any text into JSON: empty text becomes `null`, text that
/// is not JSON becomes a JSON string, objects are sorted by key at every level, and numbers go
/// through a 64-bit float (host facts, section 2).
///
/// ```
/// use odek_host::odek::Arguments;
///
/// assert_eq!(Arguments::from(r#"{"b": 1.0, "a": 2}"#).as_json(), r#"{"a":2,"b":1}"#);
/// assert_eq!(Arguments::from("not json").as_json(), r#""not json""#);
/// assert_eq!(Arguments::from(serde_json::json!({"top": 5})).as_json(), r#"{"top":5}"#);
/// assert_eq!(Arguments::none().as_json(), "null");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arguments(String);

impl Arguments {
    /// What the host sends when the model gave no text at all: `null`.
    pub fn none() -> Self {
        Self::from_model_text("")
    }

    /// The arguments as the text that a model wrote.
    pub fn from_model_text(text: &str) -> Self {
        Self(go::arguments_from_model_text(text))
    }

    /// The JSON form of `value`, as if a model had written it.
    ///
    /// # Errors
    ///
    /// When `value` has no JSON form, such as a map whose keys are no strings.
    pub fn of(value: &(impl Serialize + ?Sized)) -> Result<Self, serde_json::Error> {
        Ok(Self::from_model_text(&serde_json::to_string(value)?))
    }

    /// The JSON that is sent as `arguments`.
    pub fn as_json(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Arguments {
    fn from(model_text: &str) -> Self {
        Self::from_model_text(model_text)
    }
}

impl From<String> for Arguments {
    fn from(model_text: String) -> Self {
        Self::from_model_text(&model_text)
    }
}

impl From<Value> for Arguments {
    fn from(value: Value) -> Self {
        Self::from(&value)
    }
}

impl From<&Value> for Arguments {
    fn from(value: &Value) -> Self {
        Self::from_model_text(&value.to_string())
    }
}
