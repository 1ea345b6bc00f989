//! What a line of input is, and the JSON-RPC error for one that is nothing.
//!
//! Only as much is parsed as is needed to decide where the line goes; arguments stay text.

use std::{borrow::Cow, fmt};

use serde::{Deserialize, Deserializer};
use serde_json::{error::Category, value::RawValue};

use crate::serve::lines::MAX_REQUEST_BYTES;

const PARSE_ERROR: i32 = -32700;
pub(crate) const INVALID_REQUEST: i32 = -32600;
pub(crate) const INVALID_PARAMS: i32 = -32602;
pub(crate) const INTERNAL_ERROR: i32 = -32603;

/// The longest id that is answered to, in bytes as written. Answers repeat it, and they must stay
/// below the host's limit whatever the request was.
const MAX_ID_BYTES: usize = 1024;

/// The longest message of an error, in bytes. Some of them quote the request.
const MAX_MESSAGE_BYTES: usize = 4096;

/// A request's id as it was written, to be given back the same way.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Id(Box<str>);

impl Id {
    /// Strings and numbers are ids (JSON-RPC 2.0; MCP excludes null).
    fn from_raw(raw: &RawValue) -> Option<Self> {
        let text = raw.get();
        let is_id =
            text.starts_with(|first: char| first == '"' || first == '-' || first.is_ascii_digit());
        (is_id && text.len() <= MAX_ID_BYTES).then(|| Self(text.into()))
    }

    pub(crate) fn as_json(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Id {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// A message that cannot be acted on, and the error that says so.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Rejection {
    pub(crate) id: Option<Id>,
    pub(crate) code: i32,
    pub(crate) message: String,
}

impl Rejection {
    pub(crate) fn new(id: Option<Id>, code: i32, message: impl Into<String>) -> Self {
        let mut message = message.into();
        if message.len() > MAX_MESSAGE_BYTES {
            let is_end = |end: &usize| message.is_char_boundary(*end);
            let end = (0..=MAX_MESSAGE_BYTES).rev().find(is_end).unwrap_or(0);
            message.truncate(end);
            message.push('…');
        }
        Self { id, code, message }
    }

    /// A line over the limit, of which only the start is known.
    pub(crate) fn too_long(start: &[u8], bytes: u64) -> Self {
        let message = format!(
            "the request is {bytes} bytes long; this server reads at most {MAX_REQUEST_BYTES}"
        );
        Self::new(find_id(start), INVALID_REQUEST, message)
    }

    /// The answer's line, with its line feed. Without a known id the error carries `null`.
    pub(crate) fn to_line(&self) -> Vec<u8> {
        let id = self.id.as_ref().map_or("null", Id::as_json);
        let message = serde_json::Value::from(self.message.as_str());
        format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{{\"code\":{},\"message\":{message}}}}}\n",
            self.code
        )
        .into_bytes()
    }
}

#[derive(Debug)]
pub(crate) enum Message<'a> {
    /// Nothing but white space.
    Blank,
    /// `tools/call`.
    Call {
        id: Id,
        tool: Cow<'a, str>,
        arguments: Option<&'a RawValue>,
    },
    /// `notifications/cancelled`.
    Cancel { id: Id },
    /// Any other request, or a notification, which has no id.
    Other { id: Option<Id>, text: &'a str },
    /// An answer to a request. This server sends none, so nobody waits for it.
    Response,
    /// Several messages in a list (MCP 2025-03-26, Batching). Each is answered by itself.
    Batch(Vec<&'a RawValue>),
    /// Anything else.
    Rejected(Rejection),
}

#[derive(Deserialize)]
struct Frame<'a> {
    #[serde(borrow, default, deserialize_with = "even_null")]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<&'a RawValue>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

/// A member that is there, also when it is null.
fn even_null<'de: 'a, 'a, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

#[derive(Deserialize)]
struct CallParameters<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

/// A call in good order, read in one go: its arguments are passed over once instead of twice.
/// Whatever does not fit is looked at more closely.
#[derive(Deserialize)]
struct WholeCall<'a> {
    #[serde(borrow)]
    id: &'a RawValue,
    #[serde(rename = "method")]
    _method: CallMethod,
    #[serde(borrow)]
    params: CallParameters<'a>,
}

#[derive(Deserialize)]
enum CallMethod {
    #[serde(rename = "tools/call")]
    Call,
}

#[derive(Deserialize)]
struct CancelParameters<'a> {
    #[serde(borrow, rename = "requestId")]
    request: &'a RawValue,
}

/// Recognise a line. Never fails: what cannot be understood is [`Message::Rejected`].
pub(crate) fn read(line: &str) -> Message<'_> {
    let text = line.trim_ascii();
    match text.as_bytes().first() {
        None => Message::Blank,
        Some(b'{') => read_object(text),
        Some(b'[') => read_batch(text),
        Some(_) => match serde_json::from_str::<&RawValue>(text) {
            Ok(_) => rejected(
                None,
                INVALID_REQUEST,
                "a JSON-RPC message must be an object",
            ),
            Err(error) => malformed(text, &error),
        },
    }
}

fn read_batch(text: &str) -> Message<'_> {
    match serde_json::from_str::<Vec<&RawValue>>(text) {
        // A list inside a list is no message, and could nest without end.
        Ok(members) if members.iter().any(|member| member.get().starts_with('[')) => {
            rejected(None, INVALID_REQUEST, "a batch must hold JSON-RPC messages")
        }
        Ok(members) if members.is_empty() => {
            rejected(None, INVALID_REQUEST, "a batch must not be empty")
        }
        Ok(members) => Message::Batch(members),
        Err(error) => malformed(text, &error),
    }
}

fn read_object(text: &str) -> Message<'_> {
    if let Ok(call) = serde_json::from_str::<WholeCall<'_>>(text)
        && let Some(id) = Id::from_raw(call.id)
    {
        let CallParameters { name, arguments } = call.params;
        return Message::Call {
            id,
            tool: name,
            arguments,
        };
    }
    let frame: Frame<'_> = match serde_json::from_str(text) {
        Ok(frame) => frame,
        Err(error) => return malformed(text, &error),
    };
    let id = frame.id.and_then(Id::from_raw);
    let Some(method) = frame.method else {
        return if frame.result.is_some() || frame.error.is_some() {
            Message::Response
        } else {
            rejected(id, INVALID_REQUEST, "the message has no method")
        };
    };
    if frame.id.is_some() && id.is_none() {
        let problem =
            format!("the id must be a string or a number of at most {MAX_ID_BYTES} bytes");
        return rejected(None, INVALID_REQUEST, problem);
    }
    let Ok(method) = serde_json::from_str::<Cow<'_, str>>(method.get()) else {
        return rejected(id, INVALID_REQUEST, "the method must be a string");
    };
    match (method.as_ref(), id) {
        ("tools/call", Some(id)) => read_call(id, frame.params),
        ("notifications/cancelled", None) => read_cancel(frame.params, text),
        (_, id) => Message::Other { id, text },
    }
}

fn read_call(id: Id, params: Option<&RawValue>) -> Message<'_> {
    // A list would be read as the members in order; only an object names them.
    let params = params
        .map(RawValue::get)
        .filter(|text| text.starts_with('{'));
    let Some(params) = params else {
        return rejected(
            Some(id),
            INVALID_PARAMS,
            "the params of tools/call must be an object with a tool's name and its arguments",
        );
    };
    match serde_json::from_str::<CallParameters<'_>>(params) {
        Ok(call) => Message::Call {
            id,
            tool: call.name,
            arguments: call.arguments,
        },
        Err(error) => rejected(
            Some(id),
            INVALID_PARAMS,
            format!("the params of tools/call: {error}"),
        ),
    }
}

fn read_cancel<'a>(params: Option<&'a RawValue>, text: &'a str) -> Message<'a> {
    let id = params
        .and_then(|params| serde_json::from_str::<CancelParameters<'_>>(params.get()).ok())
        .and_then(|params| Id::from_raw(params.request));
    match id {
        Some(id) => Message::Cancel { id },
        None => Message::Other { id: None, text },
    }
}

fn rejected<'a>(id: Option<Id>, code: i32, message: impl Into<String>) -> Message<'a> {
    Message::Rejected(Rejection::new(id, code, message))
}

fn malformed<'a>(text: &str, error: &serde_json::Error) -> Message<'a> {
    match error.classify() {
        Category::Data => rejected(
            find_id(text.as_bytes()),
            INVALID_REQUEST,
            format!("the line is no JSON-RPC message: {error}"),
        ),
        _ => rejected(
            find_id(text.as_bytes()),
            PARSE_ERROR,
            format!("the line is not valid JSON: {error}"),
        ),
    }
}

/// The id of a message that cannot be parsed as a whole, so that its sender need not wait for its
/// time-out: the first complete `"id": <string or number>` directly inside the outermost object.
fn find_id(text: &[u8]) -> Option<Id> {
    let mut rest = text;
    let mut depth = 0_usize;
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        match first {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.checked_sub(1)?,
            b'"' => {
                let end = string_end(rest)?;
                let (string, after) = rest.split_at(end);
                rest = &after[1..];
                if depth == 1
                    && string == b"id"
                    && let Some(value) = rest.trim_ascii_start().strip_prefix(b":")
                {
                    return id_at(value.trim_ascii_start());
                }
            }
            _ => {}
        }
    }
    None
}

/// Where the string that `text` starts inside of ends: the index of its closing quote.
fn string_end(text: &[u8]) -> Option<usize> {
    let mut escaped = false;
    text.iter().position(|&byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    })
}

fn id_at(text: &[u8]) -> Option<Id> {
    let end = match text.split_first()? {
        (b'"', rest) => string_end(rest)? + 2,
        // A number that runs to the end of what is known may be cut off.
        _ => text
            .iter()
            .position(|byte| !byte.is_ascii_digit() && !b"+-.eE".contains(byte))?,
    };
    let raw: &RawValue = serde_json::from_slice(&text[..end]).ok()?;
    Id::from_raw(raw)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn id(text: &str) -> Option<Id> {
        Some(Id(text.into()))
    }

    fn rejection(line: &str) -> Rejection {
        match read(line) {
            Message::Rejected(rejection) => rejection,
            other => panic!("{line} was read as {other:?}"),
        }
    }

    #[test]
    fn a_call_keeps_its_arguments_as_text() {
        let line = r#" {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"t\u0061","arguments":{"a": 1.0}}} "#;
        let Message::Call {
            id: found,
            tool,
            arguments,
        } = read(line)
        else {
            panic!()
        };
        assert_eq!((Some(found), tool.as_ref()), (id("3"), "ta"));
        assert_eq!(arguments.map(RawValue::get), Some(r#"{"a": 1.0}"#));
    }

    #[test]
    fn a_call_may_lack_arguments_or_have_null() {
        for params in [
            r#"{"name":"t"}"#,
            r#"{"name":"t","arguments":null,"_meta":{"x":1}}"#,
        ] {
            let line = format!(r#"{{"id":"a","method":"tools/call","params":{params}}}"#);
            let Message::Call { arguments, .. } = read(line.as_str()) else {
                panic!("{line}")
            };
            assert!(arguments.is_none(), "{line}");
        }
    }

    #[test]
    fn wrong_shapes_are_answered_under_their_id() {
        for (line, expected_id, code) in [
            (r#"{"id":1,"method":"tools/call"}"#, id("1"), INVALID_PARAMS),
            (
                r#"{"id":1,"method":"tools/call","params":["t"]}"#,
                id("1"),
                INVALID_PARAMS,
            ),
            (
                r#"{"id":1,"method":"tools/call","params":{"name":5}}"#,
                id("1"),
                INVALID_PARAMS,
            ),
            (r#"{"id":1,"method":5}"#, id("1"), INVALID_REQUEST),
            (r#"{"id":"x"}"#, id("\"x\""), INVALID_REQUEST),
            (r#"{"id":{},"method":"ping"}"#, None, INVALID_REQUEST),
            (r#"{"id":null,"method":"ping"}"#, None, INVALID_REQUEST),
            (
                r#"{"id":1,"id":2,"method":"ping"}"#,
                id("1"),
                INVALID_REQUEST,
            ),
            (
                r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"#,
                id("7"),
                PARSE_ERROR,
            ),
            (
                r#"{"params":{"id":1},"id":"b","method":}"#,
                id("\"b\""),
                PARSE_ERROR,
            ),
            (r#"{"id":12"#, None, PARSE_ERROR),
            (r#"{"id":1.5,"method":}"#, id("1.5"), PARSE_ERROR),
            (r#"{"id":1e5,"method":}"#, id("1e5"), PARSE_ERROR),
            ("hello", None, PARSE_ERROR),
            ("5", None, INVALID_REQUEST),
            ("[]", None, INVALID_REQUEST),
            ("[[]]", None, INVALID_REQUEST),
        ] {
            let rejection = rejection(line);
            assert_eq!(
                (rejection.id, rejection.code),
                (expected_id, code),
                "{line}"
            );
        }
    }

    #[test]
    fn what_an_error_repeats_of_a_request_is_bounded() {
        let long = "é".repeat(10_000);
        let rejection = rejection(&format!(r#"{{"id":"{long}","method":"tools/call"}}"#));
        assert_eq!((rejection.id, rejection.code), (None, INVALID_REQUEST));
        let rejection = Rejection::new(None, INVALID_PARAMS, format!("a{long}"));
        assert!(rejection.message.len() <= MAX_MESSAGE_BYTES + "…".len());
        assert!(rejection.message.ends_with("é…"));
    }

    #[test]
    fn answers_notifications_and_other_requests_are_told_apart() {
        assert!(matches!(read("  \r"), Message::Blank));
        assert!(matches!(read(r#"{"id":1,"result":{}}"#), Message::Response));
        assert!(matches!(read(r#"{"id":1,"error":{}}"#), Message::Response));
        assert!(matches!(
            read(r#"{"method":"notifications/initialized"}"#),
            Message::Other { id: None, .. }
        ));
        assert!(matches!(
            read(r#"{"id":1,"method":"ping"}"#),
            Message::Other { id: Some(_), .. }
        ));
        let cancel = r#"{"method":"notifications/cancelled","params":{"requestId":"x"}}"#;
        assert!(matches!(read(cancel), Message::Cancel { id } if id.as_json() == "\"x\""));
    }

    #[test]
    fn a_batch_is_its_members() {
        let line = r#"[{"id":1,"method":"ping"},{"id":2,"method":"ping"}]"#;
        assert!(matches!(read(line), Message::Batch(members) if members.len() == 2));
    }

    #[test]
    fn the_error_line_is_json() {
        let line = Rejection::new(id("\"q\\\"\""), PARSE_ERROR, "a \"b\"\n").to_line();
        let value: serde_json::Value = serde_json::from_slice(&line).unwrap();
        assert_eq!(value["id"], "q\"");
        assert_eq!(value["error"]["message"], "a \"b\"\n");
        assert_eq!(line.iter().filter(|&&byte| byte == b'\n').count(), 1);
    }

    proptest! {
        #[test]
        fn any_line_is_something(line in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = read(&String::from_utf8_lossy(&line));
            let _ = find_id(&line);
        }

        #[test]
        fn a_cut_message_never_gets_a_wrong_id(id in any::<u32>(), cut in 0_usize..80) {
            let whole = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"t"}}}}"#);
            let cut = &whole.as_bytes()[..cut.min(whole.len())];
            if let Some(found) = find_id(cut) {
                prop_assert_eq!(found.as_json(), id.to_string());
            }
        }
    }
}
