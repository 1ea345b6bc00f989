//! From a call's `arguments` to the value that a tool's function takes.
//!
//! Models and hosts send more than tidy objects: the odek client passes a model's text on as a
//! JSON string when it is no JSON, sends `null` for empty text, and writes every number through a
//! 64-bit float (host facts, section 2). Unknown arguments are always tolerated (contract,
//! Tool-name rules). What can be read without guessing is read; everything else is a tool error
//! that says what was expected.

use serde::de::DeserializeOwned;
use serde_json::{Map, Number, Value, value::RawValue};

/// The whole arguments object as one value, for a tool whose arguments are a type of their own.
///
/// ```
/// use odek_sdk::prelude::*;
/// use odek_sdk::__private::{schemars, serde};
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// # #[serde(crate = "odek_sdk::__private::serde")]
/// # #[schemars(crate = "odek_sdk::__private::schemars")]
/// struct Search {
///     /// What to look for.
///     pattern: String,
/// }
///
/// /// Search the log.
/// #[odek_tool]
/// fn search(Args(search): Args<Search>) -> String {
///     format!("nothing found for {}", search.pattern)
/// }
/// # let _ = search;
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Args<T>(pub T);

/// Why a call's arguments could not be read. The text is for the model: it says what was wrong
/// and what the tool expects.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArgumentsError {
    /// `arguments` was neither an object nor text that holds one.
    #[error("arguments must be a JSON object, not {found}; expected {expected}")]
    NotAnObject {
        /// What came instead.
        found: String,
        /// The arguments that the tool takes.
        expected: String,
    },
    /// An argument is missing or has the wrong type.
    #[error("{}{problem}; expected {expected}", place(.path))]
    Mismatch {
        /// Where, such as `options.depth`; empty for the object itself.
        path: String,
        /// What is wrong there.
        problem: String,
        /// The arguments that the tool takes.
        expected: String,
    },
}

fn place(path: &str) -> String {
    if path.is_empty() {
        String::new()
    } else {
        format!("argument {path:?}: ")
    }
}

/// Decode `raw` as `A`, first as it stands, then with the leniency that the schema allows.
pub(crate) fn decode<A: DeserializeOwned>(
    raw: Option<&RawValue>,
    schema: &Map<String, Value>,
) -> Result<A, ArgumentsError> {
    // A list would decode as the fields of a struct in order, so only objects take this way.
    if let Some(text) = raw.map(RawValue::get)
        && text.starts_with('{')
        && let Ok(arguments) = serde_json::from_str(text)
    {
        return Ok(arguments);
    }
    let object = object_by_schema(raw, schema)?;
    serde_path_to_error::deserialize(Value::Object(object)).map_err(|error| {
        let path = match error.path().to_string() {
            path if path == "." => String::new(),
            path => path,
        };
        ArgumentsError::Mismatch {
            path,
            problem: error.into_inner().to_string(),
            expected: expectation(schema),
        }
    })
}

/// The arguments object with every value brought to the type that the schema names, where that
/// loses nothing.
pub(crate) fn object_by_schema(
    raw: Option<&RawValue>,
    schema: &Map<String, Value>,
) -> Result<Map<String, Value>, ArgumentsError> {
    let mut arguments = Value::Object(object(raw, schema)?);
    coerce(&mut arguments, schema);
    match arguments {
        Value::Object(object) => Ok(object),
        other => Err(not_an_object(&other, schema)),
    }
}

/// The arguments as an object: `null` and nothing at all are an empty one, and a string that
/// holds an object is that object.
fn object(
    raw: Option<&RawValue>,
    schema: &Map<String, Value>,
) -> Result<Map<String, Value>, ArgumentsError> {
    let Some(raw) = raw else {
        return Ok(Map::new());
    };
    match serde_json::from_str(raw.get()) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(Value::Null) => Ok(Map::new()),
        Ok(Value::String(text)) => match serde_json::from_str(&text) {
            Ok(Value::Object(object)) => Ok(object),
            Ok(Value::Null) => Ok(Map::new()),
            _ if text.trim().is_empty() => Ok(Map::new()),
            _ => Err(not_an_object(&Value::String(text), schema)),
        },
        Ok(other) => Err(not_an_object(&other, schema)),
        Err(error) => Err(ArgumentsError::NotAnObject {
            found: format!("JSON that cannot be read ({error})"),
            expected: expectation(schema),
        }),
    }
}

fn not_an_object(found: &Value, schema: &Map<String, Value>) -> ArgumentsError {
    let found = match found {
        Value::Null => "null".to_owned(),
        Value::Bool(_) => "a boolean".to_owned(),
        Value::Number(number) => format!("the number {number}"),
        Value::String(text) => format!("the text {:?}", shortened(text)),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    };
    ArgumentsError::NotAnObject {
        found,
        expected: expectation(schema),
    }
}

/// At most 40 characters of a text, so that an error stays short whatever was sent.
fn shortened(text: &str) -> String {
    let mut characters = text.chars();
    let mut short: String = characters.by_ref().take(40).collect();
    if characters.next().is_some() {
        short.push('…');
    }
    short
}

/// The arguments a tool takes, in one line: `{path: string, top: integer (optional)}`.
fn expectation(schema: &Map<String, Value>) -> String {
    let required = schema.get("required").and_then(Value::as_array);
    let is_required =
        |name: &str| required.is_some_and(|names| names.iter().any(|known| known == name));
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return "{}".to_owned();
    };
    let fields: Vec<_> = properties
        .iter()
        .map(|(name, property)| {
            let optional = if is_required(name) { "" } else { " (optional)" };
            format!("{name}: {}{optional}", type_of(property))
        })
        .collect();
    format!("{{{}}}", fields.join(", "))
}

fn type_of(property: &Value) -> String {
    if let Some(choices) = property.get("enum").and_then(Value::as_array) {
        let choices: Vec<_> = choices.iter().take(8).map(Value::to_string).collect();
        return format!("one of {}", choices.join(", "));
    }
    match property.get("type").and_then(Value::as_str) {
        Some("array") => match property.get("items") {
            Some(items) => format!("list of {}", type_of(items)),
            None => "list".to_owned(),
        },
        Some(name) => name.to_owned(),
        None => "any value".to_owned(),
    }
}

/// Bring `value` to the type that `schema` names, where that cannot be misunderstood; anything
/// else stays for the decoder to complain about.
fn coerce(value: &mut Value, schema: &Map<String, Value>) {
    match type_name(schema) {
        Some("integer") => coerce_integer(value),
        Some("number") => coerce_number(value),
        Some("boolean") => coerce_boolean(value),
        Some("object") => coerce_object(value, schema),
        Some("array") => coerce_array(value, schema),
        Some(_) => {}
        None => coerce_alternative(value, schema),
    }
}

fn coerce_integer(value: &mut Value) {
    let integer = match value {
        Value::Number(number) if number.is_f64() => number.as_f64().and_then(whole),
        Value::String(text) => {
            let text = text.trim();
            text.parse::<i64>()
                .map(Number::from)
                .or_else(|_| text.parse::<u64>().map(Number::from))
                .ok()
                .or_else(|| decimal(text).and_then(whole))
        }
        _ => None,
    };
    if let Some(integer) = integer {
        *value = Value::Number(integer);
    }
}

/// `3.0` as 3. From 2^53 on a float no longer names one integer.
fn whole(float: f64) -> Option<Number> {
    const AMBIGUOUS: f64 = 9_007_199_254_740_992.0;
    (float.fract() == 0.0 && float.abs() < AMBIGUOUS).then(|| Number::from(float as i64))
}

/// A number in decimal notation; not `inf`, `nan` and the like, which Rust would also read.
fn decimal(text: &str) -> Option<f64> {
    let looks_decimal = text
        .bytes()
        .all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    text.parse::<f64>()
        .ok()
        .filter(|float| looks_decimal && float.is_finite())
}

fn coerce_number(value: &mut Value) {
    if let Value::String(text) = value
        && let Some(number) = decimal(text.trim()).and_then(Number::from_f64)
    {
        *value = Value::Number(number);
    }
}

fn coerce_boolean(value: &mut Value) {
    match value.as_str().map(str::trim) {
        Some("true") => *value = Value::Bool(true),
        Some("false") => *value = Value::Bool(false),
        _ => {}
    }
}

fn coerce_object(value: &mut Value, schema: &Map<String, Value>) {
    parse_text(value, Value::is_object);
    let Value::Object(object) = value else { return };
    let properties = schema.get("properties").and_then(Value::as_object);
    let others = schema
        .get("additionalProperties")
        .and_then(Value::as_object);
    let required = schema.get("required").and_then(Value::as_array);
    let is_required =
        |name: &str| required.is_some_and(|names| names.iter().any(|known| known == name));
    // `null` for an optional argument is how many models leave it out.
    object.retain(|name, member| {
        !member.is_null()
            || is_required(name)
            || !properties.is_some_and(|known| known.contains_key(name))
    });
    for (name, member) in object {
        let property = properties
            .and_then(|known| known.get(name))
            .and_then(Value::as_object);
        if let Some(schema) = property.or(others) {
            coerce(member, schema);
        }
    }
}

fn coerce_array(value: &mut Value, schema: &Map<String, Value>) {
    parse_text(value, Value::is_array);
    if let (Value::Array(items), Some(Value::Object(schema))) = (value, schema.get("items")) {
        items.iter_mut().for_each(|item| coerce(item, schema));
    }
}

/// Lists and objects that arrive as their JSON text.
fn parse_text(value: &mut Value, is_wanted: fn(&Value) -> bool) {
    if let Value::String(text) = value
        && let Ok(parsed) = serde_json::from_str::<Value>(text)
        && is_wanted(&parsed)
    {
        *value = parsed;
    }
}

/// A value that fits one alternative only, going by what cannot be mistaken, is brought to that
/// one. With more there would be a choice to guess.
fn coerce_alternative(value: &mut Value, schema: &Map<String, Value>) {
    let Some(alternatives) = schema.get("anyOf").and_then(Value::as_array) else {
        return;
    };
    let others: Vec<_> = alternatives
        .iter()
        .filter_map(Value::as_object)
        .filter(|alternative| type_name(alternative) != Some("null"))
        .collect();
    let chosen = match others.as_slice() {
        [only] if !value.is_null() => Some(*only),
        several => {
            let mut fitting = several.iter().filter(|schema| is_shaped_by(value, schema));
            fitting.next().filter(|_| fitting.next().is_none()).copied()
        }
    };
    if let Some(schema) = chosen {
        coerce(value, schema);
    }
}

/// Whether an object has the members that the schema requires, and the right one of fixed values,
/// which is how the variants of an enum differ; or whether a list or a number is asked for and
/// given.
fn is_shaped_by(value: &Value, schema: &Map<String, Value>) -> bool {
    let object = match value {
        Value::Object(object) => object,
        Value::Array(_) => return type_name(schema) == Some("array"),
        Value::Number(_) => return matches!(type_name(schema), Some("integer" | "number")),
        _ => return false,
    };
    let required = schema.get("required").and_then(Value::as_array);
    let has_required = required.is_none_or(|names| {
        let mut names = names.iter().filter_map(Value::as_str);
        names.all(|name| object.contains_key(name))
    });
    let properties = schema.get("properties").and_then(Value::as_object);
    let has_fixed_values = properties.is_none_or(|properties| {
        properties.iter().all(|(name, property)| {
            let fixed = property.get("enum").and_then(Value::as_array);
            match (fixed, object.get(name)) {
                (Some(fixed), Some(member)) => fixed.contains(member),
                _ => true,
            }
        })
    });
    type_name(schema) == Some("object") && has_required && has_fixed_values
}

fn type_name(schema: &Map<String, Value>) -> Option<&str> {
    schema.get("type").and_then(Value::as_str)
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Taken {
        path: String,
        #[serde(default = "ten")]
        top: u32,
        ratio: Option<f64>,
        #[serde(default)]
        tags: Vec<i64>,
    }

    fn ten() -> u32 {
        10
    }

    fn schema() -> Map<String, Value> {
        let schema = json!({
            "type": "object",
            "properties": {
                "path": {"type": "string"},
                "top": {"type": "integer", "default": 10},
                "ratio": {"type": "number"},
                "tags": {"type": "array", "items": {"type": "integer"}},
            },
            "required": ["path"],
        });
        schema.as_object().unwrap().clone()
    }

    fn decoded(text: &str) -> Result<Taken, String> {
        let raw = RawValue::from_string(text.to_owned()).unwrap();
        decode(Some(&raw), &schema()).map_err(|error| error.to_string())
    }

    fn taken(top: u32) -> Taken {
        Taken {
            path: "a".into(),
            top,
            ratio: None,
            tags: vec![],
        }
    }

    #[test]
    fn tidy_objects_and_unknown_arguments_decode() {
        assert_eq!(decoded(r#"{"path":"a","top":3}"#), Ok(taken(3)));
        assert_eq!(decoded(r#"{"path":"a","who":{"knows":1}}"#), Ok(taken(10)));
    }

    #[test]
    fn numbers_in_other_clothes_decode() {
        assert_eq!(decoded(r#"{"path":"a","top":3.0}"#), Ok(taken(3)));
        assert_eq!(decoded(r#"{"path":"a","top":"3"}"#), Ok(taken(3)));
        assert_eq!(decoded(r#"{"path":"a","top":" 3.0 "}"#), Ok(taken(3)));
        let with = |ratio, tags| Taken {
            ratio,
            tags,
            ..taken(10)
        };
        assert_eq!(
            decoded(r#"{"path":"a","ratio":"0.5"}"#),
            Ok(with(Some(0.5), vec![]))
        );
        assert_eq!(
            decoded(r#"{"path":"a","tags":["1",2.0]}"#),
            Ok(with(None, vec![1, 2]))
        );
        assert_eq!(
            decoded(r#"{"path":"a","tags":"[1,2]"}"#),
            Ok(with(None, vec![1, 2]))
        );
    }

    #[test]
    fn what_could_be_misunderstood_is_refused() {
        for text in [
            r#"{"path":"a","top":3.5}"#,
            r#"{"path":"a","top":"three"}"#,
            r#"{"path":"a","top":"0x10"}"#,
            r#"{"path":"a","top":1e300}"#,
            r#"{"path":"a","tags":["9007199254740993.0"]}"#,
            r#"{"path":"a","ratio":"nan"}"#,
            r#"{"path":"a","ratio":"inf"}"#,
            r#"{"path":3}"#,
        ] {
            assert!(decoded(text).is_err(), "{text}");
        }
    }

    #[test]
    fn null_leaves_an_optional_argument_out() {
        assert_eq!(
            decoded(r#"{"path":"a","top":null,"ratio":null}"#),
            Ok(taken(10))
        );
        assert!(decoded(r#"{"path":null}"#).is_err());
    }

    #[test]
    fn numbers_in_other_clothes_are_found_in_the_variants_of_enums() {
        let tagged = json!({"anyOf": [
            {"type": "object", "properties": {"kind": {"type": "string", "enum": ["a"]},
             "x": {"type": "integer"}}, "required": ["kind", "x"]},
            {"type": "object", "properties": {"kind": {"type": "string", "enum": ["b"]},
             "x": {"type": "string"}}, "required": ["kind", "x"]},
            {"type": "object", "properties": {"C": {"type": "integer"}}, "required": ["C"]},
            {"type": "array", "items": {"type": "integer"}},
            {"type": "string"},
            {"type": "integer"},
        ]});
        for (given, expected) in [
            (json!({"kind": "a", "x": "7"}), json!({"kind": "a", "x": 7})),
            (
                json!({"kind": "b", "x": "7"}),
                json!({"kind": "b", "x": "7"}),
            ),
            (json!({"C": 7.0}), json!({"C": 7})),
            // As many variants as one likes, so none.
            (
                json!({"kind": "a", "x": "7", "C": "7"}),
                json!({"kind": "a", "x": "7", "C": "7"}),
            ),
            (json!({"kind": "c"}), json!({"kind": "c"})),
            (json!(["7"]), json!([7])),
            (json!("7"), json!("7")),
            (json!(7.0), json!(7)),
            (json!(null), json!(null)),
        ] {
            let mut value = given;
            coerce(&mut value, tagged.as_object().unwrap());
            assert_eq!(value, expected);
        }
    }

    #[test]
    fn text_that_holds_an_object_is_that_object() {
        assert_eq!(decoded(r#""{\"path\":\"a\",\"top\":\"4\"}""#), Ok(taken(4)));
    }

    #[test]
    fn a_key_given_twice_takes_the_last_value() {
        assert_eq!(decoded(r#"{"path":"z","path":"a"}"#), Ok(taken(10)));
    }

    #[test]
    fn errors_say_where_what_and_what_was_expected() {
        let expected = "{path: string, ratio: number (optional), tags: list of integer (optional), \
                        top: integer (optional)}";
        assert_eq!(
            decoded("null"),
            Err(format!("missing field `path`; expected {expected}"))
        );
        assert_eq!(
            decoded(r#"{"path":"a","tags":["x"]}"#),
            Err(format!(
                "argument \"tags[0]\": invalid type: string \"x\", expected i64; expected {expected}"
            ))
        );
        assert_eq!(
            decoded("[1,2]"),
            Err(format!(
                "arguments must be a JSON object, not a list; expected {expected}"
            ))
        );
        assert_eq!(
            decoded(r#""please look at a.xml""#),
            Err(format!(
                "arguments must be a JSON object, not the text \"please look at a.xml\"; expected \
                 {expected}"
            ))
        );
        assert_eq!(
            decoded("7"),
            Err(format!(
                "arguments must be a JSON object, not the number 7; expected {expected}"
            ))
        );
    }
}
