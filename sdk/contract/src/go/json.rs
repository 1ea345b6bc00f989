//! JSON, as Go's decoder reads it.
//!
//! Compared with `serde_json` it takes more: bytes that are no UTF-8 and lone surrogates become
//! U+FFFD, and nesting may be 10,000 deep. It also keeps what the host's rules depend on: the
//! order of members, members given twice, and the literal text of numbers.

use std::{borrow::Cow, fmt, mem};

use super::{encode::verbatim, quote_char};

/// How deep lists and objects may nest.
pub const MAX_DEPTH: usize = 10_000;

/// Why a text is not JSON. Worded as Go words it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JsonError {
    /// The text ends in the middle of a value.
    #[error("unexpected end of JSON input")]
    UnexpectedEnd,
    /// A character stands where it must not.
    #[error("invalid character {} {expectation}", quote_char(*.found))]
    InvalidCharacter {
        /// The character; for a byte outside ASCII, the one with the byte's value.
        found: char,
        /// Where it stands: `looking for beginning of value`, `after top-level value`, …
        expectation: Cow<'static, str>,
    },
    /// Lists and objects nest deeper than [`MAX_DEPTH`].
    #[error("invalid character {} exceeded max depth", quote_char(*.found))]
    TooDeep {
        /// What opens one level too many: `[` or `{`.
        found: char,
    },
}

/// A JSON value.
///
/// Reading, comparing, writing and dropping one needs no stack, however deep it nests.
pub enum Json {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number, as it was written.
    Number(String),
    /// A string, decoded.
    String(String),
    /// A list.
    Array(Vec<Json>),
    /// An object: its members as they came, with repetitions.
    Object(Vec<(String, Json)>),
}

impl Json {
    /// Read a whole text. White space around the value is skipped.
    ///
    /// ```
    /// use odek_contract::go::Json;
    ///
    /// let json = Json::parse(br#" {"id": 3.0, "id": 4} "#).unwrap();
    /// assert_eq!(
    ///     json,
    ///     Json::Object(vec![
    ///         ("id".into(), Json::Number("3.0".into())),
    ///         ("id".into(), Json::Number("4".into())),
    ///     ])
    /// );
    /// ```
    ///
    /// # Errors
    ///
    /// The first place where the text is not JSON.
    pub fn parse(text: &[u8]) -> Result<Self, JsonError> {
        Parser { text, position: 0 }.document()
    }

    /// The value of the member that stands for the field `field`, the last one if there are
    /// several (see [`fold_equal`](super::fold_equal)). `None` if this is no object.
    pub fn member(&self, field: &str) -> Option<&Json> {
        let Self::Object(members) = self else {
            return None;
        };
        members
            .iter()
            .rev()
            .find(|(name, _)| super::fold_equal(name, field))
            .map(|(_, value)| value)
    }
}

/// Equal in kind and content; numbers by their literals, members by their order.
impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        let mut pending = vec![(self, other)];
        while let Some(pair) = pending.pop() {
            let equal = match pair {
                (Self::Null, Self::Null) => true,
                (Self::Bool(left), Self::Bool(right)) => left == right,
                (Self::Number(left), Self::Number(right))
                | (Self::String(left), Self::String(right)) => left == right,
                (Self::Array(left), Self::Array(right)) => {
                    pending.extend(left.iter().zip(right));
                    left.len() == right.len()
                }
                (Self::Object(left), Self::Object(right)) => {
                    let members = || left.iter().zip(right);
                    pending.extend(members().map(|(left, right)| (&left.1, &right.1)));
                    left.len() == right.len() && members().all(|(left, right)| left.0 == right.0)
                }
                _ => false,
            };
            if !equal {
                return false;
            }
        }
        true
    }
}

/// As JSON text.
impl fmt::Debug for Json {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&verbatim(self))
    }
}

/// Values nest too deep to be freed by recursion.
impl Drop for Json {
    fn drop(&mut self) {
        let mut pending = Vec::new();
        take_children(self, &mut pending);
        while let Some(mut value) = pending.pop() {
            take_children(&mut value, &mut pending);
        }
    }
}

fn take_children(value: &mut Json, into: &mut Vec<Json>) {
    match value {
        Json::Array(items) => into.append(items),
        Json::Object(members) => {
            into.extend(mem::take(members).into_iter().map(|(_, value)| value))
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
    }
}

/// A list or object that is still being read.
enum Open {
    Array(Vec<Json>),
    Object {
        members: Vec<(String, Json)>,
        name: String,
    },
}

struct Parser<'t> {
    text: &'t [u8],
    position: usize,
}

const IN_STRING: &str = "in string literal";
const IN_ESCAPE: &str = "in string escape code";
const IN_UNICODE_ESCAPE: &str = "in \\u hexadecimal character escape";
const VALUE_START: &str = "looking for beginning of value";
const NAME_START: &str = "looking for beginning of object key string";
const AFTER_NAME: &str = "after object key";
const AFTER_MEMBER: &str = "after object key:value pair";
const AFTER_ITEM: &str = "after array element";
const AFTER_DOCUMENT: &str = "after top-level value";
const IN_NUMBER: &str = "in numeric literal";
const IN_FRACTION: &str = "after decimal point in numeric literal";
const IN_EXPONENT: &str = "in exponent of numeric literal";

impl Parser<'_> {
    /// Reads with a stack of its own instead of recursion, since depth is the sender's choice.
    fn document(mut self) -> Result<Json, JsonError> {
        let mut open: Vec<Open> = Vec::new();
        loop {
            let Some(mut value) = self.value_or_opening(&mut open)? else {
                continue;
            };
            loop {
                match open.pop() {
                    None => {
                        self.skip_space();
                        return match self.peek() {
                            None => Ok(value),
                            Some(_) => Err(self.invalid(AFTER_DOCUMENT)),
                        };
                    }
                    Some(Open::Array(mut items)) => {
                        items.push(value);
                        if self.next_of([b',', b']'], AFTER_ITEM)? == b',' {
                            open.push(Open::Array(items));
                            break;
                        }
                        value = Json::Array(items);
                    }
                    Some(Open::Object { mut members, name }) => {
                        members.push((name, value));
                        if self.next_of([b',', b'}'], AFTER_MEMBER)? == b',' {
                            let name = self.name()?;
                            open.push(Open::Object { members, name });
                            break;
                        }
                        value = Json::Object(members);
                    }
                }
            }
        }
    }

    /// A complete value, or `None` after a list or an object with something in it has begun.
    fn value_or_opening(&mut self, open: &mut Vec<Open>) -> Result<Option<Json>, JsonError> {
        self.skip_space();
        let value = match self.peek().ok_or(JsonError::UnexpectedEnd)? {
            b'[' => {
                self.enter(open, '[')?;
                self.skip_space();
                if self.take(b']') {
                    Json::Array(Vec::new())
                } else {
                    open.push(Open::Array(Vec::new()));
                    return Ok(None);
                }
            }
            b'{' => {
                self.enter(open, '{')?;
                self.skip_space();
                if self.take(b'}') {
                    Json::Object(Vec::new())
                } else {
                    let name = self.name()?;
                    open.push(Open::Object {
                        members: Vec::new(),
                        name,
                    });
                    return Ok(None);
                }
            }
            b'"' => {
                self.position += 1;
                Json::String(self.string()?)
            }
            b't' => self.literal("true", Json::Bool(true))?,
            b'f' => self.literal("false", Json::Bool(false))?,
            b'n' => self.literal("null", Json::Null)?,
            b'-' | b'0'..=b'9' => Json::Number(self.number()?),
            _ => return Err(self.invalid(VALUE_START)),
        };
        Ok(Some(value))
    }

    fn enter(&mut self, open: &[Open], found: char) -> Result<(), JsonError> {
        self.position += 1;
        if open.len() < MAX_DEPTH {
            Ok(())
        } else {
            Err(JsonError::TooDeep { found })
        }
    }

    /// A member's name and the colon after it.
    fn name(&mut self) -> Result<String, JsonError> {
        self.next_of([b'"'], NAME_START)?;
        let name = self.string()?;
        self.next_of([b':'], AFTER_NAME)?;
        Ok(name)
    }

    /// The rest of a string after its opening quote.
    fn string(&mut self) -> Result<String, JsonError> {
        let mut string = String::new();
        loop {
            let rest = &self.text[self.position..];
            let plain = rest
                .iter()
                .position(|&byte| byte == b'"' || byte == b'\\' || byte < 0x20)
                .ok_or(JsonError::UnexpectedEnd)?;
            push_lossy(&mut string, &rest[..plain]);
            self.position += plain;
            match rest[plain] {
                b'"' => {
                    self.position += 1;
                    return Ok(string);
                }
                b'\\' => {
                    self.position += 1;
                    self.escape(&mut string)?;
                }
                _ => return Err(self.invalid(IN_STRING)),
            }
        }
    }

    fn escape(&mut self, string: &mut String) -> Result<(), JsonError> {
        let character = match self.peek_or_space() {
            quoted @ (b'"' | b'\\' | b'/') => char::from(quoted),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                self.position += 1;
                let character = self.unicode_escape()?;
                string.push(character);
                return Ok(());
            }
            _ => return Err(self.invalid(IN_ESCAPE)),
        };
        self.position += 1;
        string.push(character);
        Ok(())
    }

    /// The four digits after `\u`, and a second escape if the two are a surrogate pair. A lone
    /// surrogate is U+FFFD.
    fn unicode_escape(&mut self) -> Result<char, JsonError> {
        let first = self.four_digits()?;
        if let Some(character) = char::from_u32(first) {
            return Ok(character);
        }
        let behind = self.position;
        if first < 0xdc00 && self.text[behind..].starts_with(b"\\u") {
            self.position += 2;
            let second = self.four_digits()?;
            if (0xdc00..0xe000).contains(&second) {
                let code = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            self.position = behind;
        }
        Ok(char::REPLACEMENT_CHARACTER)
    }

    fn four_digits(&mut self) -> Result<u32, JsonError> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = char::from(self.peek_or_space())
                .to_digit(16)
                .ok_or_else(|| self.invalid(IN_UNICODE_ESCAPE))?;
            code = code * 16 + digit;
            self.position += 1;
        }
        Ok(code)
    }

    fn literal(&mut self, word: &str, value: Json) -> Result<Json, JsonError> {
        for &expected in word.as_bytes() {
            if !self.take(expected) {
                let expected = char::from(expected);
                return Err(self.invalid(format!("in literal {word} (expecting '{expected}')")));
            }
        }
        Ok(value)
    }

    fn number(&mut self) -> Result<String, JsonError> {
        let start = self.position;
        self.take(b'-');
        // Nothing follows a leading zero; what does is no part of this number.
        if !self.take(b'0') {
            self.digits(IN_NUMBER)?;
        }
        if self.take(b'.') {
            self.digits(IN_FRACTION)?;
        }
        if self.take(b'e') || self.take(b'E') {
            let _ = self.take(b'+') || self.take(b'-');
            self.digits(IN_EXPONENT)?;
        }
        let literal = &self.text[start..self.position];
        Ok(literal.iter().map(|&byte| char::from(byte)).collect())
    }

    /// One digit or more.
    fn digits(&mut self, expectation: &'static str) -> Result<(), JsonError> {
        if !self.peek_or_space().is_ascii_digit() {
            return Err(self.invalid(expectation));
        }
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.position += 1;
        }
        Ok(())
    }

    /// Skip white space and take one of `wanted`.
    fn next_of<const N: usize>(
        &mut self,
        wanted: [u8; N],
        expectation: &'static str,
    ) -> Result<u8, JsonError> {
        self.skip_space();
        match self.peek() {
            None => Err(JsonError::UnexpectedEnd),
            Some(byte) if wanted.contains(&byte) => {
                self.position += 1;
                Ok(byte)
            }
            Some(_) => Err(self.invalid(expectation)),
        }
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.position += 1;
        }
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.position += usize::from(found);
        found
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.position).copied()
    }

    /// The next byte. Behind the end, the host's reader sees a space and complains of that.
    fn peek_or_space(&self) -> u8 {
        self.peek().unwrap_or(b' ')
    }

    fn invalid(&self, expectation: impl Into<Cow<'static, str>>) -> JsonError {
        JsonError::InvalidCharacter {
            found: char::from(self.peek_or_space()),
            expectation: expectation.into(),
        }
    }
}

/// Append bytes as text; every byte that is no part of UTF-8 is a U+FFFD of its own.
fn push_lossy(string: &mut String, mut bytes: &[u8]) {
    loop {
        match std::str::from_utf8(bytes) {
            Ok(valid) => {
                string.push_str(valid);
                return;
            }
            Err(error) => {
                let (valid, rest) = bytes.split_at(error.valid_up_to());
                string.push_str(&String::from_utf8_lossy(valid));
                string.push(char::REPLACEMENT_CHARACTER);
                bytes = &rest[1..];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    fn parsed(text: &[u8]) -> Json {
        Json::parse(text).unwrap_or_else(|error| panic!("{}: {error}", text.escape_ascii()))
    }

    fn text(value: &str) -> Json {
        Json::String(value.to_owned())
    }

    #[test]
    fn order_repetitions_and_number_literals_are_kept() {
        let json = parsed(br#"{"b":1.50,"a":-0e+5,"b":[]}"#);
        let number = |literal: &str| Json::Number(literal.to_owned());
        assert_eq!(
            json,
            Json::Object(vec![
                ("b".into(), number("1.50")),
                ("a".into(), number("-0e+5")),
                ("b".into(), Json::Array(vec![])),
            ])
        );
        assert_eq!(json.member("B"), Some(&Json::Array(vec![])));
        assert_eq!(json.member("c"), None);
    }

    #[test]
    fn bytes_that_are_no_text_become_replacement_characters() {
        assert_eq!(
            parsed(b"\"a\xff\xfeb\xe2\x82c\xc0\xafd\""),
            text("a��b��c��d")
        );
        assert_eq!(parsed(b"\"\xed\xa0\x80\""), text("���"));
    }

    #[test]
    fn lone_surrogates_become_replacement_characters() {
        assert_eq!(parsed(br#""\ud83d\ude00""#), text("😀"));
        assert_eq!(parsed(br#""\ud83d""#), text("�"));
        assert_eq!(parsed(br#""\ude00\ud83d""#), text("��"));
        assert_eq!(parsed(br#""\ud83d\ud83d\ude00""#), text("�😀"));
        assert_eq!(parsed(br#""\ud83dx""#), text("�x"));
        assert_eq!(parsed(br#""\ud83d\u0041""#), text("�A"));
    }

    #[test]
    fn what_is_no_json_is_refused() {
        for (text, message) in [
            ("", "unexpected end of JSON input"),
            ("{", "unexpected end of JSON input"),
            (
                "[1,]",
                "invalid character ']' looking for beginning of value",
            ),
            (
                r#"{"a":1,}"#,
                "invalid character '}' looking for beginning of object key string",
            ),
            (r#"{"a" 1}"#, "invalid character '1' after object key"),
            (
                r#"{"a":1 "b"}"#,
                "invalid character '\"' after object key:value pair",
            ),
            ("[1 2]", "invalid character '2' after array element"),
            ("1 2", "invalid character '2' after top-level value"),
            ("01", "invalid character '1' after top-level value"),
            ("[1,", "unexpected end of JSON input"),
            ("{\"a\"", "unexpected end of JSON input"),
            ("\"abc", "unexpected end of JSON input"),
            ("-", "invalid character ' ' in numeric literal"),
            ("-a", "invalid character 'a' in numeric literal"),
            (
                "1.x",
                "invalid character 'x' after decimal point in numeric literal",
            ),
            (
                "1e+",
                "invalid character ' ' in exponent of numeric literal",
            ),
            (
                "nul1",
                "invalid character '1' in literal null (expecting 'l')",
            ),
            (
                "tru",
                "invalid character ' ' in literal true (expecting 'e')",
            ),
            (r#""\"#, "invalid character ' ' in string escape code"),
            ("\"a\nb\"", "invalid character '\\n' in string literal"),
            (r#""\x""#, "invalid character 'x' in string escape code"),
            (
                r#""\u00g0""#,
                "invalid character 'g' in \\u hexadecimal character escape",
            ),
            (
                "\u{feff}{}",
                "invalid character 'ï' looking for beginning of value",
            ),
            (
                "// x",
                "invalid character '/' looking for beginning of value",
            ),
        ] {
            let error = Json::parse(text.as_bytes()).unwrap_err();
            assert_eq!(error.to_string(), message, "{text}");
        }
    }

    #[test]
    fn nesting_has_a_limit_and_needs_no_stack() {
        let nested = |depth: usize| [vec![b'['; depth], vec![b']'; depth]].concat();
        let small_stack = std::thread::Builder::new().stack_size(128 * 1024);
        let check = move || {
            let deepest = parsed(&nested(MAX_DEPTH));
            assert!(deepest == parsed(&nested(MAX_DEPTH)));
            assert_eq!(format!("{deepest:?}").as_bytes(), nested(MAX_DEPTH));
            let too_deep = Err(JsonError::TooDeep { found: '[' });
            assert_eq!(Json::parse(&nested(MAX_DEPTH + 1)), too_deep);
            assert!(Json::parse("{\"a\":".repeat(MAX_DEPTH).as_bytes()).is_err());
        };
        small_stack.spawn(check).unwrap().join().unwrap();
    }

    fn as_value(json: &Json) -> Value {
        match json {
            Json::Null => Value::Null,
            Json::Bool(value) => Value::Bool(*value),
            Json::Number(literal) => match literal.parse::<i64>() {
                Ok(integer) => Value::from(integer),
                Err(_) => Value::from(literal.parse::<f64>().unwrap()),
            },
            Json::String(text) => Value::from(text.as_str()),
            Json::Array(items) => items.iter().map(as_value).collect(),
            Json::Object(members) => members
                .iter()
                .map(|(name, value)| (name.clone(), as_value(value)))
                .collect(),
        }
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            (-1e12..1e12_f64).prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::btree_map(any::<String>(), inner, 0..6)
                    .prop_map(|members| members.into_iter().collect()),
            ]
        })
    }

    proptest! {
        #[test]
        fn ordinary_documents_read_as_everywhere(value in any_value()) {
            for text in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
                prop_assert_eq!(&as_value(&parsed(text.as_bytes())), &value);
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let accepted = Json::parse(&bytes).is_ok();
            // Whatever the stricter reader takes is taken.
            if serde_json::from_slice::<Value>(&bytes).is_ok() {
                prop_assert!(accepted);
            }
        }

        #[test]
        fn json_like_text_is_judged_as_everywhere(text in r#"[\[\]{}",:0-9eE+\-.truefalsn \\u]{0,24}"#) {
            let accepted = Json::parse(text.as_bytes()).is_ok();
            let ordinary = serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok();
            prop_assert_eq!(accepted, ordinary, "{}", text);
        }
    }
}
