//! Reading a stream of events: JSON lines, in memory bounded by the longest line allowed.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, BufRead, Read};
use std::str;

use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use thiserror::Error;

use super::{EVENT_SCHEMA, Event, EventError, EventKind, is_json};
use crate::raw::string_of;

/// How long a line may be unless the reader is told otherwise: 1 MiB, without its line feed.
///
/// An event holds hashes, sizes and short words, so only one with opt-in arguments comes near.
pub const DEFAULT_LINE_LIMIT: usize = 1024 * 1024;

/// Reads events from JSON lines.
///
/// One bad line is one error item; the reader goes on with the next. Blank lines are skipped,
/// and a carriage return before the line feed is white space. At most the line limit is held in
/// memory, whatever the stream contains. After a failed read there are no more items.
///
/// As an iterator it yields whole [`Event`]s. [`next_line`](Self::next_line) is for those who
/// look at many events and need few of them: it checks a line and finds its type without decoding
/// or copying the rest.
///
/// ```
/// use odek_contract::event::{EventKind, EventReader};
///
/// let stream = concat!(
///     r#"{"schema":"odek.event/v1","type":"run_started"}"#, "\n",
///     r#"{"schema":"odek.event/v1","type":"run_fai"#,
/// );
/// let mut events = EventReader::new(stream.as_bytes());
/// assert_eq!(events.next().unwrap()?.kind, EventKind::RunStarted);
/// let truncated = events.next().unwrap().unwrap_err();
/// assert_eq!(truncated.to_string(), "line 2: the last line is cut off after 41 bytes");
/// assert!(events.next().is_none());
/// # Ok::<(), odek_contract::event::EventReadError>(())
/// ```
#[derive(Debug)]
pub struct EventReader<R> {
    source: R,
    limit: usize,
    line: Vec<u8>,
    number: u64,
    failed: bool,
}

/// How the line in the buffer ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    LineFeed,
    EndOfStream,
}

impl<R: BufRead> EventReader<R> {
    /// A reader with the [default line limit](DEFAULT_LINE_LIMIT).
    pub fn new(source: R) -> Self {
        Self::with_line_limit(source, DEFAULT_LINE_LIMIT)
    }

    /// A reader that accepts lines of up to `limit` bytes, line feed not included.
    pub fn with_line_limit(source: R, limit: usize) -> Self {
        Self {
            source,
            limit,
            line: Vec::new(),
            number: 0,
            failed: false,
        }
    }

    /// The next line that is not blank, checked to be an event but not decoded; `None` at the
    /// end.
    ///
    /// # Errors
    ///
    /// An error stands for one line; the reader goes on behind it, except after
    /// [`EventReadError::Io`].
    pub fn next_line(&mut self) -> Option<Result<EventLine<'_>, EventReadError>> {
        match self.advance()? {
            Ok(ending) => Some(EventLine::check(&self.line, self.number, ending)),
            Err(error) => Some(Err(error)),
        }
    }

    /// Brings the next line that is not blank into the buffer.
    fn advance(&mut self) -> Option<Result<Ending, EventReadError>> {
        loop {
            if self.failed {
                return None;
            }
            self.number += 1;
            match self.read_line() {
                Ok(None) => return None,
                Ok(Some(_)) if self.line.trim_ascii().is_empty() => {}
                Ok(Some(ending)) => return Some(Ok(ending)),
                Err(error) => return Some(Err(error)),
            }
        }
    }

    fn read_line(&mut self) -> Result<Option<Ending>, EventReadError> {
        self.line.clear();
        // One byte more than the limit: the line feed, or the proof that the line is too long.
        let most = (self.limit as u64).saturating_add(1);
        let mut source = self.source.by_ref().take(most);
        if let Err(error) = source.read_until(b'\n', &mut self.line) {
            return Err(self.fail(error));
        }
        if self.line.pop_if(|last| *last == b'\n').is_some() {
            return Ok(Some(Ending::LineFeed));
        }
        if self.line.len() > self.limit {
            return Err(self.skip_long_line());
        }
        Ok((!self.line.is_empty()).then_some(Ending::EndOfStream))
    }

    fn skip_long_line(&mut self) -> EventReadError {
        match self.skip_rest() {
            Ok(skipped) => EventReadError::TooLong {
                line: self.number,
                length: self.line.len() as u64 + skipped,
                limit: self.limit,
            },
            Err(error) => self.fail(error),
        }
    }

    /// Passes over the rest of the line and its line feed, and counts the bytes before that.
    fn skip_rest(&mut self) -> io::Result<u64> {
        let mut skipped: u64 = 0;
        loop {
            let available = match self.source.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                available => available?,
            };
            if available.is_empty() {
                return Ok(skipped);
            }
            if let Some(position) = available.iter().position(|byte| *byte == b'\n') {
                self.source.consume(position + 1);
                return Ok(skipped + position as u64);
            }
            let passed = available.len();
            self.source.consume(passed);
            skipped += passed as u64;
        }
    }

    fn fail(&mut self, source: io::Error) -> EventReadError {
        self.failed = true;
        EventReadError::Io {
            line: self.number,
            source,
        }
    }
}

impl<R: BufRead> Iterator for EventReader<R> {
    type Item = Result<Event, EventReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        let ending = match self.advance()? {
            Ok(ending) => ending,
            Err(error) => return Some(Err(error)),
        };
        let event = line_text(&self.line, self.number, ending).and_then(|text| {
            Event::from_json(text).map_err(|error| bad_line(text, self.number, ending, error))
        });
        Some(event)
    }
}

/// One line of the stream that is an event, not decoded yet. It borrows the reader's buffer.
#[derive(Clone, Debug)]
pub struct EventLine<'a> {
    text: &'a str,
    number: u64,
    type_name: Cow<'a, str>,
}

impl<'a> EventLine<'a> {
    fn check(line: &'a [u8], number: u64, ending: Ending) -> Result<Self, EventReadError> {
        let text = line_text(line, number, ending)?;
        let type_name = type_name(text).map_err(|error| bad_line(text, number, ending, error))?;
        Ok(Self {
            text,
            number,
            type_name,
        })
    }

    /// The member `type`.
    #[must_use]
    pub fn type_name(&self) -> &str {
        &self.type_name
    }

    /// The type of event.
    #[must_use]
    pub fn kind(&self) -> EventKind {
        EventKind::from(self.type_name())
    }

    /// The number of the line in the stream, counted from 1; blank lines count.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The line as it stands in the stream, without its line ending.
    #[must_use]
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// Decodes the line.
    ///
    /// # Errors
    ///
    /// None that the reader has not already reported: a line that passed its check decodes.
    pub fn event(&self) -> Result<Event, EventReadError> {
        Event::from_json(self.text).map_err(|source| EventReadError::Invalid {
            line: self.number,
            source,
        })
    }
}

fn line_text(line: &[u8], number: u64, ending: Ending) -> Result<&str, EventReadError> {
    str::from_utf8(line.trim_ascii_end()).map_err(|error| match ending {
        Ending::EndOfStream => EventReadError::Truncated {
            line: number,
            bytes: line.len(),
        },
        Ending::LineFeed => EventReadError::NotUtf8 {
            line: number,
            column: error.valid_up_to() + 1,
        },
    })
}

fn bad_line(text: &str, line: u64, ending: Ending, source: EventError) -> EventReadError {
    if ending == Ending::EndOfStream && !is_json(text) {
        return EventReadError::Truncated {
            line,
            bytes: text.len(),
        };
    }
    EventReadError::Invalid { line, source }
}

/// What is wrong with one line, or with the stream.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum EventReadError {
    /// The stream cannot be read any further.
    #[error("line {line}: the event stream cannot be read: {source}")]
    Io {
        /// The line that was being read.
        line: u64,
        /// Why.
        source: io::Error,
    },
    /// The line is longer than the reader accepts; it was skipped.
    #[error("line {line}: the line has {length} bytes, the limit is {limit}; it was skipped")]
    TooLong {
        /// The line.
        line: u64,
        /// Its length in bytes, without the line feed.
        length: u64,
        /// The most bytes that the reader accepts.
        limit: usize,
    },
    /// The line holds bytes that are not UTF-8.
    #[error("line {line}: not UTF-8 at column {column}")]
    NotUtf8 {
        /// The line.
        line: u64,
        /// Where, in bytes from 1.
        column: usize,
    },
    /// The stream ends in the middle of a line, as when its writer was killed or is still
    /// writing.
    #[error("line {line}: the last line is cut off after {bytes} bytes")]
    Truncated {
        /// The line.
        line: u64,
        /// How much of it there is.
        bytes: usize,
    },
    /// The line is no event.
    #[error("line {line}: {source}")]
    Invalid {
        /// The line.
        line: u64,
        /// Why.
        source: EventError,
    },
}

impl EventReadError {
    /// The number of the line, counted from 1.
    #[must_use]
    pub fn line(&self) -> u64 {
        match self {
            Self::Io { line, .. }
            | Self::TooLong { line, .. }
            | Self::NotUtf8 { line, .. }
            | Self::Truncated { line, .. }
            | Self::Invalid { line, .. } => *line,
        }
    }
}

/// Checks that `text` is an event and finds its type, passing over everything else.
fn type_name(text: &str) -> Result<Cow<'_, str>, EventError> {
    let header: Header<'_> =
        serde_json::from_str(text).map_err(|error| EventError::from_serde(text, &error))?;
    let schema = header.schema.and_then(string_of);
    if schema.as_deref() != Some(EVENT_SCHEMA) {
        return Err(EventError::WrongSchema {
            found: schema.map(Cow::into_owned),
        });
    }
    header
        .kind
        .and_then(string_of)
        .ok_or(EventError::MissingType)
}

/// The two members that make a line an event. Written by hand since the derived form refuses a
/// member that is given twice, and here the last one wins.
#[derive(Default)]
struct Header<'a> {
    schema: Option<&'a RawValue>,
    kind: Option<&'a RawValue>,
}

impl<'de> Deserialize<'de> for Header<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(HeaderVisitor)
    }
}

struct HeaderVisitor;

impl<'de> Visitor<'de> for HeaderVisitor {
    type Value = Header<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an event object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut header = Header::default();
        while let Some(member) = map.next_key()? {
            match member {
                Member::Schema => header.schema = Some(map.next_value()?),
                Member::Type => header.kind = Some(map.next_value()?),
                Member::Other => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(header)
    }
}

enum Member {
    Schema,
    Type,
    Other,
}

impl<'de> Deserialize<'de> for Member {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_identifier(MemberVisitor)
    }
}

struct MemberVisitor;

impl Visitor<'_> for MemberVisitor {
    type Value = Member;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a member")
    }

    fn visit_str<E>(self, name: &str) -> Result<Member, E> {
        Ok(match name {
            "schema" => Member::Schema,
            "type" => Member::Type,
            _ => Member::Other,
        })
    }
}

#[cfg(test)]
mod tests;
