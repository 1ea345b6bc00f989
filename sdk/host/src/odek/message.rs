//! Reading one line of the server as the host reads it, and writing a request line
//! (host facts, sections 2 and 3).

use odek_contract::go::{Json, fold_equal};

use super::pending::excerpt;
use super::request::{RequestFailure, RequestId};
use super::spans::member_values;
use super::trace::SkipReason;

/// What a line is to the host.
#[derive(Debug, PartialEq)]
pub(crate) enum Line {
    /// An answer to the request with this number, if there is one.
    Answer {
        id: i64,
        outcome: Outcome,
    },
    Skipped(SkipReason),
}

/// What an answer says.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Outcome {
    /// The JSON of the member `result` as received; empty when there is none.
    Result(Vec<u8>),
    Error {
        code: i64,
        message: String,
    },
}

impl Outcome {
    pub(crate) fn into_result(self) -> Result<Vec<u8>, RequestFailure> {
        match self {
            Self::Result(result) => Ok(result),
            Self::Error { code, message } => Err(RequestFailure::Rpc { code, message }),
        }
    }
}

/// An answer as it reaches its caller.
#[derive(Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) line: Vec<u8>,
    pub(crate) outcome: Outcome,
}

/// The request line, without its line feed, with its members in the host's order.
pub(crate) fn request_line(id: RequestId, method: &str, params: Option<&str>) -> String {
    let params = params
        .map(|params| format!(r#","params":{params}"#))
        .unwrap_or_default();
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}"{params}}}"#)
}

/// What the host makes of a line, given without its line feed.
pub(crate) fn read_line(line: &[u8]) -> Line {
    let text = trim(line);
    if text.is_empty() {
        return Line::Skipped(SkipReason::Blank);
    }
    let json = match Json::parse(text) {
        Ok(json) => json,
        Err(error) => {
            return Line::Skipped(SkipReason::NotJson {
                message: error.to_string(),
            });
        }
    };
    match Message::read(&json, text) {
        Ok(message) => message.classify(),
        Err(message) => Line::Skipped(SkipReason::Unreadable { message }),
    }
}

/// The members that the host looks at. `jsonrpc` is none of them.
#[derive(Default)]
struct Message<'a> {
    id: Option<&'a [u8]>,
    method: String,
    result: &'a [u8],
    error: Option<(i64, String)>,
}

impl<'a> Message<'a> {
    /// Takes the members in order: the last of several equal ones wins, except that an `error` is
    /// filled over an earlier one. A wrong type makes the whole line unreadable.
    fn read(json: &Json, text: &'a [u8]) -> Result<Self, String> {
        let mut message = Self::default();
        let members = object(json, "the line")?;
        for ((name, value), place) in members.iter().zip(member_values(text)) {
            if fold_equal(name, "id") {
                message.id = Some(&text[place]);
            } else if fold_equal(name, "method") {
                read_string(value, "method", &mut message.method)?;
            } else if fold_equal(name, "result") {
                message.result = &text[place];
            } else if fold_equal(name, "error") {
                read_error(value, &mut message.error)?;
            }
        }
        Ok(message)
    }

    fn classify(self) -> Line {
        let id = self.id.filter(|id| *id != b"null");
        if !self.method.is_empty() {
            let method = self.method;
            return Line::Skipped(match id {
                Some(_) => SkipReason::Request { method },
                None => SkipReason::Notification { method },
            });
        }
        let Some(literal) = id else {
            return Line::Skipped(SkipReason::NoId);
        };
        // Text that is a JSON value and reads as an integer is an integer literal.
        let Some(id) = str::from_utf8(literal)
            .ok()
            .and_then(|literal| literal.parse().ok())
        else {
            let literal = excerpt(literal);
            return Line::Skipped(SkipReason::IdNotInteger { literal });
        };
        let outcome = match self.error {
            Some((code, message)) => Outcome::Error { code, message },
            None => Outcome::Result(self.result.to_vec()),
        };
        Line::Answer { id, outcome }
    }
}

fn read_error(json: &Json, error: &mut Option<(i64, String)>) -> Result<(), String> {
    if *json == Json::Null {
        *error = None;
        return Ok(());
    }
    let (code, message) = error.get_or_insert_default();
    for (name, value) in object(json, "error")? {
        if fold_equal(name, "code") {
            read_integer(value, "error.code", code)?;
        } else if fold_equal(name, "message") {
            read_string(value, "error.message", message)?;
        }
    }
    Ok(())
}

/// The members of an object; null has none.
pub(crate) fn object<'a>(json: &'a Json, place: &str) -> Result<&'a [(String, Json)], String> {
    match json {
        Json::Object(members) => Ok(members),
        Json::Null => Ok(&[]),
        other => Err(mismatch(place, "an object", other)),
    }
}

/// Null leaves the field as it is, here and below.
pub(crate) fn read_string(json: &Json, place: &str, field: &mut String) -> Result<(), String> {
    match json {
        Json::String(text) => field.clone_from(text),
        Json::Null => {}
        other => return Err(mismatch(place, "a string", other)),
    }
    Ok(())
}

fn read_integer(json: &Json, place: &str, field: &mut i64) -> Result<(), String> {
    match json {
        Json::Number(literal) => {
            *field = literal
                .parse()
                .map_err(|_| format!("{place} is {literal}, not a 64-bit integer literal"))?;
        }
        Json::Null => {}
        other => return Err(mismatch(place, "an integer", other)),
    }
    Ok(())
}

pub(crate) fn mismatch(place: &str, expected: &str, found: &Json) -> String {
    let found = match found {
        Json::Null => "null",
        Json::Bool(_) => "a boolean",
        Json::Number(_) => "a number",
        Json::String(_) => "a string",
        Json::Array(_) => "an array",
        Json::Object(_) => "an object",
    };
    format!("{place} is {found}, not {expected}")
}

/// Without the white space around, which is more than ASCII's.
fn trim(line: &[u8]) -> &[u8] {
    let first = line.utf8_chunks().next();
    let start = first.map_or(0, |chunk| {
        chunk.valid().len() - chunk.valid().trim_start().len()
    });
    let rest = &line[start..];
    let last = rest
        .utf8_chunks()
        .last()
        .filter(|chunk| chunk.invalid().is_empty());
    let end = last.map_or(0, |chunk| {
        chunk.valid().len() - chunk.valid().trim_end().len()
    });
    &rest[..rest.len() - end]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(line: &str) -> Option<String> {
        match read_line(line.as_bytes()) {
            Line::Answer {
                id: 3,
                outcome: Outcome::Result(result),
            } => Some(String::from_utf8(result).unwrap()),
            _ => None,
        }
    }

    fn skipped(line: impl AsRef<[u8]>) -> SkipReason {
        match read_line(line.as_ref()) {
            Line::Skipped(reason) => reason,
            answer => panic!("not skipped: {answer:?}"),
        }
    }

    #[test]
    fn an_answer_carries_its_result_as_received() {
        assert_eq!(
            result(r#"{"id":3,"result":{"a": 1.0, "a": 2}}"#).unwrap(),
            r#"{"a": 1.0, "a": 2}"#
        );
        assert_eq!(
            result(r#"{"ID":3,"Result":[1],"RESULT": null }"#).unwrap(),
            "null"
        );
        assert_eq!(result(r#"{"id":"x","id":3}"#).unwrap(), "");
        assert_eq!(
            result("\u{a0} {\"id\":3,\"result\":1}\u{3000}\r").unwrap(),
            "1"
        );
        assert_eq!(result(r#"{"id":3,"result":1,"error":null}"#).unwrap(), "1");
        assert_eq!(
            result(r#"{"id":3,"result":1,"method":"","jsonrpc":7}"#).unwrap(),
            "1"
        );
        assert_eq!(result(r#"{"id":3,"result":1,"method":null}"#).unwrap(), "1");
        assert_eq!(
            result(r#"{"id":3,"result":1,"error":{"code":1},"error":null}"#).unwrap(),
            "1"
        );
    }

    #[test]
    fn an_error_wins_over_a_result() {
        for (line, code, message) in [
            (
                r#"{"id":3,"result":1,"error":{"code":-5,"message":"no"}}"#,
                -5,
                "no",
            ),
            (r#"{"id":3,"error":{}}"#, 0, ""),
            (
                r#"{"id":3,"error":{"code":null,"message":null,"data":1.5}}"#,
                0,
                "",
            ),
            (
                r#"{"id":3,"error":{"code":1},"ERROR":{"Message":"x"}}"#,
                1,
                "x",
            ),
        ] {
            let outcome = Outcome::Error {
                code,
                message: message.to_owned(),
            };
            assert_eq!(
                read_line(line.as_bytes()),
                Line::Answer { id: 3, outcome },
                "{line}"
            );
        }
    }

    #[test]
    fn what_is_no_answer_is_skipped_for_a_reason() {
        assert_eq!(skipped(" \r\t"), SkipReason::Blank);
        for line in [
            "starting",
            "{\"id\":3",
            "\u{feff}{\"id\":3}",
            "{\"id\":03}",
            "{} {}",
        ] {
            assert!(
                matches!(skipped(line), SkipReason::NotJson { .. }),
                "{line}"
            );
        }
        for line in [
            "[]",
            "7",
            r#"[{"id":3,"result":{}}]"#,
            r#"{"id":3,"method":5}"#,
            r#"{"id":3,"error":"boom"}"#,
            r#"{"id":3,"error":{"code":-32e3}}"#,
            r#"{"id":3,"error":{"code":-32000.0}}"#,
            r#"{"id":3,"error":{"code":"x"}}"#,
            r#"{"id":3,"error":{"code":9223372036854775808}}"#,
            r#"{"id":3,"error":{"message":5}}"#,
            r#"{"id":3,"error":{"code":1.5},"error":null}"#,
        ] {
            assert!(
                matches!(skipped(line), SkipReason::Unreadable { .. }),
                "{line}"
            );
        }
        for line in [
            "null",
            "{}",
            r#"{"id":null,"result":1}"#,
            r#"{"id":3,"id":null}"#,
        ] {
            assert_eq!(skipped(line), SkipReason::NoId, "{line}");
        }
        for literal in ["\"3\"", "3.0", "3e0", "true", "[3]", "9223372036854775808"] {
            let line = format!(r#"{{"id":{literal},"result":{{}}}}"#);
            let reason = SkipReason::IdNotInteger {
                literal: literal.to_owned(),
            };
            assert_eq!(skipped(line), reason);
        }
        let method = "ping".to_owned();
        assert_eq!(
            skipped(r#"{"id":3,"method":"ping"}"#),
            SkipReason::Request { method }
        );
        let method = "x".to_owned();
        let notification = r#"{"method":"x","result":1,"id":null}"#;
        assert_eq!(skipped(notification), SkipReason::Notification { method });
    }

    #[test]
    fn bytes_that_are_no_text_are_kept_for_the_reader_of_the_result() {
        let line = b"\xc2\xa0{\"id\":3,\"result\":\"a\xff\"} ";
        let outcome = Outcome::Result(b"\"a\xff\"".to_vec());
        assert_eq!(read_line(line), Line::Answer { id: 3, outcome });
        assert!(matches!(skipped(b"\xff{}"), SkipReason::NotJson { .. }));
        assert!(matches!(skipped(b"{}\xff "), SkipReason::NotJson { .. }));
    }

    #[test]
    fn requests_have_the_members_in_the_order_of_the_host() {
        assert_eq!(
            request_line(RequestId(2), "tools/list", None),
            r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#
        );
        assert_eq!(
            request_line(RequestId(3), "tools/call", Some("{}")),
            r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{}}"#
        );
    }
}
