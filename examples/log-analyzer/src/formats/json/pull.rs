//! A JSON reader that gives one piece at a time, so that a document needs no more memory than its
//! longest kept text, and whatever comes before damage is still read.

use crate::text::{Text, push_within};

/// How deep arrays and objects may be nested.
const DEPTH_LIMIT: usize = 512;

/// Bytes kept of one text; the rest of it is passed over.
const TEXT_LIMIT: usize = 64 * 1024;

/// Where the characters come from.
pub(crate) trait Source {
    /// The characters ahead; empty at the end only.
    fn ahead(&mut self) -> &str;
    /// Passes over the first `bytes` of them.
    fn pass(&mut self, bytes: usize);
}

impl Source for Text<'_> {
    fn ahead(&mut self) -> &str {
        self.chunk()
    }

    fn pass(&mut self, bytes: usize) {
        self.consume(bytes);
    }
}

impl Source for &str {
    fn ahead(&mut self) -> &str {
        self
    }

    fn pass(&mut self, bytes: usize) {
        *self = self.get(bytes..).unwrap_or_default();
    }
}

/// A piece of a document.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Event {
    /// An object or array begins; its place is told at its end.
    Open,
    /// The object or array at this place is over.
    Close,
    /// A text, cut at a limit.
    Text(String),
    /// A number, or one of the words that some writers put in its place (`NaN`).
    Number(f64),
    /// `true` or `false`.
    Truth(bool),
    /// `null`.
    Null,
}

/// Why a document cannot be read on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Damage {
    /// It ends before its end.
    Cut,
    /// It is not JSON from here on.
    Invalid,
    /// It is nested deeper than the limit.
    TooDeep,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expect {
    Value,
    FirstKey,
    FirstItem,
    After,
}

/// One object or array that is open.
struct Frame {
    array: bool,
    key: String,
}

/// The reader.
pub(crate) struct Pull<'s> {
    source: &'s mut dyn Source,
    frames: Vec<Frame>,
    expect: Expect,
}

impl<'s> Pull<'s> {
    pub(crate) fn new(source: &'s mut dyn Source) -> Self {
        Self {
            source,
            frames: Vec::new(),
            expect: Expect::Value,
        }
    }

    /// Whether the latest piece (but for [`Event::Open`]) stands at this place; `*` stands for any item of an array or any
    /// key of an object.
    pub(crate) fn at(&self, path: &[&str]) -> bool {
        path.len() == self.frames.len() && self.ends(path)
    }

    /// Whether the end of the latest piece's place is this; `*` as in [`at`](Self::at).
    pub(crate) fn ends(&self, path: &[&str]) -> bool {
        let skipped = self.frames.len().checked_sub(path.len());
        skipped.is_some_and(|skipped| {
            path.iter()
                .zip(&self.frames[skipped..])
                .all(|(wanted, frame)| {
                    *wanted == "*" || !frame.array && *wanted == frame.key.as_str()
                })
        })
    }

    /// How many objects and arrays the latest piece is in.
    pub(crate) fn depth(&self) -> usize {
        self.frames.len()
    }

    /// The key of the latest piece; empty in an array.
    pub(crate) fn key(&self) -> &str {
        self.frames.last().map_or("", |frame| frame.key.as_str())
    }

    /// The key of the document itself that the latest piece is in.
    pub(crate) fn outermost_key(&self) -> &str {
        self.frames.first().map_or("", |frame| frame.key.as_str())
    }

    /// The next piece, `None` after the end of the document.
    pub(crate) fn next(&mut self) -> Result<Option<Event>, Damage> {
        loop {
            match self.expect {
                Expect::After if self.frames.is_empty() => return Ok(None),
                Expect::After => match self.token()? {
                    ',' => self.item()?,
                    close => return self.close(close).map(Some),
                },
                Expect::FirstKey | Expect::FirstItem => {
                    if let close @ ('}' | ']') = self.look()? {
                        self.source.pass(1);
                        return self.close(close).map(Some);
                    }
                    self.item()?;
                }
                Expect::Value => return self.value().map(Some),
            }
        }
    }

    /// Goes to the next item of the innermost array or object.
    fn item(&mut self) -> Result<(), Damage> {
        self.expect = Expect::Value;
        if self.frames.last().is_none_or(|frame| frame.array) {
            return Ok(());
        }
        if self.token()? != '"' {
            return Err(Damage::Invalid);
        }
        let key = self.text()?;
        if self.token()? != ':' {
            return Err(Damage::Invalid);
        }
        if let Some(frame) = self.frames.last_mut() {
            frame.key = key;
        }
        Ok(())
    }

    fn close(&mut self, close: char) -> Result<Event, Damage> {
        let array = self.frames.last().is_some_and(|frame| frame.array);
        if close != if array { ']' } else { '}' } {
            return Err(Damage::Invalid);
        }
        self.frames.pop();
        self.expect = Expect::After;
        Ok(Event::Close)
    }

    fn value(&mut self) -> Result<Event, Damage> {
        let first = self.look()?;
        self.expect = Expect::After;
        match first {
            '{' | '[' => {
                self.source.pass(1);
                if self.frames.len() == DEPTH_LIMIT {
                    return Err(Damage::TooDeep);
                }
                self.open(first == '[');
                Ok(Event::Open)
            }
            '"' => {
                self.source.pass(1);
                self.text().map(Event::Text)
            }
            '-' | '0'..='9' | 'a'..='z' | 'A'..='Z' => self.word(),
            _ => Err(Damage::Invalid),
        }
    }

    fn open(&mut self, array: bool) {
        self.frames.push(Frame {
            array,
            key: String::new(),
        });
        self.expect = if array {
            Expect::FirstItem
        } else {
            Expect::FirstKey
        };
    }

    fn word(&mut self) -> Result<Event, Damage> {
        let mut word = String::new();
        loop {
            let ahead = self.source.ahead();
            if ahead.is_empty() && !self.frames.is_empty() {
                return Err(Damage::Cut);
            }
            let end = ahead
                .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '+' | '.')))
                .unwrap_or(ahead.len());
            push_within(&mut word, &ahead[..end], 64);
            let more = end > 0 && end == ahead.len();
            self.source.pass(end);
            if !more {
                break;
            }
        }
        match word.as_str() {
            "true" => Ok(Event::Truth(true)),
            "false" => Ok(Event::Truth(false)),
            "null" => Ok(Event::Null),
            "NaN" | "Infinity" | "-Infinity" => Ok(Event::Number(f64::NAN)),
            _ if word.starts_with(|c: char| c == '-' || c.is_ascii_digit()) => {
                word.parse().map(Event::Number).map_err(|_| Damage::Invalid)
            }
            _ => Err(Damage::Invalid),
        }
    }

    /// The rest of a text, after its first quotation mark.
    fn text(&mut self) -> Result<String, Damage> {
        let mut text = String::new();
        loop {
            let ahead = self.source.ahead();
            if ahead.is_empty() {
                return Err(Damage::Cut);
            }
            let end = ahead.find(['"', '\\']).unwrap_or(ahead.len());
            push_within(&mut text, &ahead[..end], TEXT_LIMIT);
            let special = ahead[end..].chars().next();
            self.source.pass(end + special.map_or(0, char::len_utf8));
            match special {
                Some('"') => return Ok(text),
                Some(_) => {
                    let escaped = self.escape()?;
                    push_within(&mut text, escaped.encode_utf8(&mut [0; 4]), TEXT_LIMIT);
                }
                None => {}
            }
        }
    }

    fn escape(&mut self) -> Result<char, Damage> {
        Ok(match self.character()? {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'u' => return self.code_point(),
            other @ ('"' | '\\' | '/') => other,
            _ => return Err(Damage::Invalid),
        })
    }

    /// A code point after `\u`; half of a pair becomes the replacement character.
    fn code_point(&mut self) -> Result<char, Damage> {
        let first = self.code_unit()?;
        if !(0xD800..0xDC00).contains(&first) || !self.source.ahead().starts_with('\\') {
            return Ok(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        self.source.pass(1);
        if self.source.ahead().starts_with('u') {
            self.source.pass(1);
            let second = self.code_unit()?;
            if (0xDC00..0xE000).contains(&second) {
                let point = 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
                return Ok(char::from_u32(point).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            return Ok(char::from_u32(second).unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        self.escape()
    }

    fn code_unit(&mut self) -> Result<u32, Damage> {
        let mut unit = 0;
        for _ in 0..4 {
            let digit = self.character()?.to_digit(16).ok_or(Damage::Invalid)?;
            unit = unit * 16 + digit;
        }
        Ok(unit)
    }

    fn character(&mut self) -> Result<char, Damage> {
        let next = self.source.ahead().chars().next().ok_or(Damage::Cut)?;
        self.source.pass(next.len_utf8());
        Ok(next)
    }

    /// The next character that is no white space, without passing over it.
    fn look(&mut self) -> Result<char, Damage> {
        loop {
            let ahead = self.source.ahead();
            if ahead.is_empty() {
                return Err(Damage::Cut);
            }
            let blank = ahead.len() - ahead.trim_start().len();
            let next = ahead[blank..].chars().next();
            self.source.pass(blank);
            if let Some(next) = next {
                return Ok(next);
            }
        }
    }

    fn token(&mut self) -> Result<char, Damage> {
        let next = self.look()?;
        self.source.pass(next.len_utf8());
        Ok(next)
    }
}

/// Keys and values, in order.
pub(crate) type Fields = Vec<(String, Event)>;

/// The top-level fields of an object on one line that are not objects or arrays themselves, and
/// whether the line is whole. Of a damaged line, those before the damage.
pub(crate) fn fields(mut line: &str) -> Option<(Fields, Result<(), Damage>)> {
    if !line.trim_start().starts_with('{') {
        return None;
    }
    let mut pull = Pull::new(&mut line);
    let mut fields = Vec::new();
    loop {
        match pull.next() {
            Ok(Some(Event::Open | Event::Close)) => {}
            Ok(Some(event)) if pull.depth() == 1 => fields.push((pull.key().to_owned(), event)),
            Ok(Some(_)) => {}
            Ok(None) => break,
            Err(damage) => return Some((fields, Err(damage))),
        }
    }
    let rest = if line.trim().is_empty() {
        Ok(())
    } else {
        Err(Damage::Invalid)
    };
    Some((fields, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(mut text: &str) -> (Vec<Event>, Option<Damage>) {
        let mut pull = Pull::new(&mut text);
        let mut events = Vec::new();
        loop {
            match pull.next() {
                Ok(Some(event)) => events.push(event),
                Ok(None) => return (events, None),
                Err(damage) => return (events, Some(damage)),
            }
        }
    }

    #[test]
    fn pieces_come_in_order() {
        use Event::{Close, Null, Number, Open, Truth};
        let text = |text: &str| Event::Text(text.into());
        assert_eq!(
            events(
                r#" {"a": [1, "x\n\u00e9\ud83e\udd80\ud800"], "b": {}, "c": [null, true, -1.5e3]} "#
            ),
            (
                vec![
                    Open,
                    Open,
                    Number(1.0),
                    text("x\né🦀\u{fffd}"),
                    Close,
                    Open,
                    Close,
                    Open,
                    Null,
                    Truth(true),
                    Number(-1500.0),
                    Close,
                    Close
                ],
                None
            )
        );
        assert_eq!(events("[1").1, Some(Damage::Cut));
        assert_eq!(events(r#"{"a" 1}"#).1, Some(Damage::Invalid));
        assert_eq!(events("[}").1, Some(Damage::Invalid));
        assert_eq!(events(&"[".repeat(600)).1, Some(Damage::TooDeep));
    }

    #[test]
    fn a_piece_knows_its_place() {
        let mut text = r#"{"a": [{"b": 7}], "c": 8}"#;
        let mut pull = Pull::new(&mut text);
        let mut found = (false, false);
        while let Ok(Some(event)) = pull.next() {
            found.0 |= pull.at(&["a", "*", "b"]) && event == Event::Number(7.0);
            found.1 |= pull.at(&["c"]) && event == Event::Number(8.0);
        }
        assert_eq!(found, (true, true));
    }

    #[test]
    fn fields_before_damage_are_kept() {
        let (whole, rest) = fields(r#"{"a": "x", "b": [1], "c": 2}"#).expect("an object");
        assert_eq!((whole.len(), rest), (2, Ok(())));
        let (part, rest) = fields(r#"{"a": "x", "b": "y"#).expect("an object");
        assert_eq!((part.len(), rest), (1, Err(Damage::Cut)));
        assert!(fields("plain").is_none());
    }
}
