//! JSON, as Go's encoder writes it.

use std::{collections::BTreeMap, fmt::Write};

use super::Json;

/// What the host puts on the wire as `arguments`, from the text that the model produced (host
/// facts, section 2): nothing for the empty text is `null`; a JSON value is that value, objects
/// with sorted keys and every number through a 64-bit float; anything else is that text as a JSON
/// string.
///
/// ```
/// use odek_contract::go::arguments_from_model_text;
///
/// assert_eq!(arguments_from_model_text(r#"{"b":1.0,"a":1e3}"#), r#"{"a":1000,"b":1}"#);
/// assert_eq!(arguments_from_model_text("look here"), r#""look here""#);
/// assert_eq!(arguments_from_model_text(""), "null");
/// ```
pub fn arguments_from_model_text(text: &str) -> String {
    if text.is_empty() {
        return "null".to_owned();
    }
    let value = Json::parse(text.as_bytes()).ok();
    value
        .and_then(|value| value.as_any_value())
        .unwrap_or_else(|| {
            let mut string = String::with_capacity(text.len() + 2);
            push_string(&mut string, text);
            string
        })
}

impl Json {
    /// The value as the host writes it after it has read it without knowing its type: objects with
    /// sorted keys, the last of several equal ones, and every number through a 64-bit float.
    ///
    /// `None` if a number is too large for that; the host then cannot read the value at all.
    pub fn as_any_value(&self) -> Option<String> {
        // The host reads a member before a later one of the same name replaces it.
        if !numbers_fit(self) {
            return None;
        }
        Some(encode(self, Form::AnyValue))
    }
}

/// A value as JSON text, with its members and numbers as they were read.
pub(super) fn verbatim(value: &Json) -> String {
    encode(value, Form::Verbatim)
}

/// How members and numbers are written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// As the host writes a value that it has read without knowing its type: members sorted, one
    /// of each name, numbers through a 64-bit float.
    AnyValue,
    /// As they came.
    Verbatim,
}

/// What is still to be written.
enum Step<'j> {
    Value(&'j Json),
    Name(&'j str),
    Punctuation(char),
}

/// Whether every number fits into a 64-bit float; Go's decoder refuses others.
fn numbers_fit(value: &Json) -> bool {
    let mut pending = vec![value];
    while let Some(value) = pending.pop() {
        match value {
            Json::Number(literal) if finite(literal).is_none() => return false,
            Json::Array(items) => pending.extend(items),
            Json::Object(members) => pending.extend(members.iter().map(|(_, value)| value)),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
        }
    }
    true
}

fn finite(literal: &str) -> Option<f64> {
    literal
        .parse()
        .ok()
        .filter(|number: &f64| number.is_finite())
}

/// For [`Form::AnyValue`] all numbers have to [fit](numbers_fit).
fn encode(value: &Json, form: Form) -> String {
    let mut text = String::new();
    // A stack of its own instead of recursion, since depth is the sender's choice.
    let mut steps = vec![Step::Value(value)];
    while let Some(step) = steps.pop() {
        match step {
            Step::Punctuation(character) => text.push(character),
            Step::Name(name) => {
                push_string(&mut text, name);
                text.push(':');
            }
            Step::Value(Json::Null) => text.push_str("null"),
            Step::Value(Json::Bool(value)) => text.push_str(if *value { "true" } else { "false" }),
            Step::Value(Json::Number(literal)) if form == Form::Verbatim => text.push_str(literal),
            Step::Value(Json::Number(literal)) => {
                push_number(&mut text, finite(literal).unwrap_or_default());
            }
            Step::Value(Json::String(string)) => push_string(&mut text, string),
            Step::Value(Json::Array(items)) => {
                text.push('[');
                steps.push(Step::Punctuation(']'));
                for (index, item) in items.iter().enumerate().rev() {
                    steps.push(Step::Value(item));
                    if index > 0 {
                        steps.push(Step::Punctuation(','));
                    }
                }
            }
            Step::Value(Json::Object(members)) => {
                text.push('{');
                steps.push(Step::Punctuation('}'));
                let mut members: Vec<(&str, &Json)> = members
                    .iter()
                    .map(|(name, value)| (name.as_str(), value))
                    .collect();
                if form == Form::AnyValue {
                    // The last of several members with one name stays.
                    let sorted: BTreeMap<_, _> = members.into_iter().collect();
                    members = sorted.into_iter().collect();
                }
                for (index, (name, value)) in members.into_iter().enumerate().rev() {
                    steps.push(Step::Value(value));
                    steps.push(Step::Name(name));
                    if index > 0 {
                        steps.push(Step::Punctuation(','));
                    }
                }
            }
        }
    }
    text
}

fn push_number(text: &mut String, number: f64) {
    let size = number.abs();
    if size != 0.0 && !(1e-6..1e21).contains(&size) {
        // Rust leaves the plus sign out.
        let scientific = format!("{number:e}");
        let signed = match scientific.split_once('e') {
            Some((digits, exponent)) if !exponent.starts_with('-') => {
                format!("{digits}e+{exponent}")
            }
            _ => scientific,
        };
        text.push_str(&signed);
    } else {
        // Writing to a string cannot fail.
        let _ = write!(text, "{number}");
    }
}

/// A JSON string, with what could end or hide in HTML escaped.
fn push_string(text: &mut String, string: &str) {
    text.push('"');
    for character in string.chars() {
        match character {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\u{8}' => text.push_str("\\b"),
            '\u{c}' => text.push_str("\\f"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            '\0'..='\u{1f}' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                // Writing to a string cannot fail.
                let _ = write!(text, "\\u{:04x}", u32::from(character));
            }
            other => text.push(other),
        }
    }
    text.push('"');
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, wire: &str) {
        assert_eq!(arguments_from_model_text(text), wire);
    }

    #[test]
    fn values_stay_what_they_are() {
        check("null", "null");
        check(" 7 ", "7");
        check("\"x\"", "\"x\"");
        check("[1, {\"b\":[],\"a\":{}}]", "[1,{\"a\":{},\"b\":[]}]");
        check("true", "true");
    }

    #[test]
    fn what_is_no_json_is_a_string() {
        check("{} x", "\"{} x\"");
        check("  ", "\"  \"");
        check("{'a':1}", "\"{'a':1}\"");
        check("1e400", "\"1e400\"");
        check(r#"{"a":1e400,"a":1}"#, r#""{\"a\":1e400,\"a\":1}""#);
    }

    #[test]
    fn numbers_go_through_a_float() {
        for (literal, wire) in [
            ("1.0", "1"),
            ("1e3", "1000"),
            ("12345678901234567890", "12345678901234567000"),
            ("-0.0", "-0"),
            ("-0", "-0"),
            ("0.000001", "0.000001"),
            ("0.0000001", "1e-7"),
            ("1.5e-10", "1.5e-10"),
            ("100000000000000000000", "100000000000000000000"),
            ("1e21", "1e+21"),
            ("-1.25e300", "-1.25e+300"),
            ("0.1", "0.1"),
            ("1e-400", "0"),
        ] {
            check(literal, wire);
        }
    }

    #[test]
    fn text_is_escaped_for_html() {
        check(
            r#""<a>&\u2028\u2029\u0001\b\f/é\ud800""#,
            r#""\u003ca\u003e\u0026\u2028\u2029\u0001\b\f/é�""#,
        );
    }

    #[test]
    fn of_two_members_with_one_name_the_last_stays() {
        check(r#"{"a":1,"b":2,"a":{"c":3}}"#, r#"{"a":{"c":3},"b":2}"#);
    }

    proptest! {
        #[test]
        fn the_wire_is_always_json(text in any::<String>()) {
            let wire = arguments_from_model_text(&text);
            prop_assert!(serde_json::from_str::<serde_json::Value>(&wire).is_ok(), "{}", wire);
        }

        #[test]
        fn the_wire_form_is_stable(text in r#"[\[\]{}",:0-9eE+\-.truefalsn \\u<]{0,24}"#) {
            let wire = arguments_from_model_text(&text);
            prop_assert_eq!(arguments_from_model_text(&wire), wire);
        }
    }
}
