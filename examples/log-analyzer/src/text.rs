//! Text in any encoding, with terminal control sequences taken out.
//!
//! [`Text`] turns the bytes of a file into text in bounded memory and counts what it had to repair.
//! What the bytes are decides the encoding, never what a declaration says. [`visible`] gives what a
//! terminal would show of a line.

use std::borrow::Cow;
use std::io::{self, BufRead, ErrorKind, Read};

/// Bytes decoded at a time.
const STEP: usize = 32 * 1024;

/// Bytes looked at to tell UTF-16 without a byte order mark.
const SNIFF: usize = 512;

/// How the characters of a file are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// UTF-8, or ASCII; single bytes that are neither are read as Latin-1.
    Utf8,
    /// UTF-16, low byte first.
    Utf16LittleEndian,
    /// UTF-16, high byte first.
    Utf16BigEndian,
}

/// What was found out about the bytes so far.
#[derive(Debug)]
pub struct Facts {
    /// The encoding that the bytes have.
    pub encoding: Encoding,
    /// Bytes read from the file.
    pub bytes: u64,
    /// Bytes (UTF-8) or code units (UTF-16) that are not part of a character.
    pub undecodable: u64,
    /// Whether there was a character beyond ASCII.
    pub beyond_ascii: bool,
    /// Whether the file declares that its bytes are Latin-1, so that such bytes are in order.
    pub declares_latin1: bool,
    /// The error that ended the reading early.
    pub failure: Option<io::Error>,
}

/// Whether a line was short enough to be kept whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line {
    /// All of it is there.
    Whole,
    /// It is longer than the limit; the rest was passed over.
    Cut,
    /// It is the last one and has no line end.
    Unfinished,
}

/// The decoded text of a file.
///
/// A failing read ends the text; [`Facts::failure`] then says why, so that readers of formats need
/// not handle it.
pub struct Text<'a> {
    input: &'a mut dyn BufRead,
    /// Bytes that are not decoded yet: the start of a character, or the sniffed beginning.
    raw: Vec<u8>,
    decoded: String,
    position: usize,
    ended: bool,
    facts: Facts,
}

impl<'a> Text<'a> {
    /// Starts reading; finds out the encoding from the first bytes.
    pub fn new(input: &'a mut dyn BufRead) -> Self {
        let mut text = Self {
            input,
            raw: Vec::new(),
            decoded: String::new(),
            position: 0,
            ended: false,
            facts: Facts {
                encoding: Encoding::Utf8,
                bytes: 0,
                undecodable: 0,
                beyond_ascii: false,
                declares_latin1: false,
                failure: None,
            },
        };
        while text.raw.len() < SNIFF && !text.ended {
            text.read_bytes();
        }
        let (encoding, mark) = sniff(&text.raw);
        text.facts.encoding = encoding;
        text.raw.drain(..mark);
        text.decode();
        text
    }

    /// What is known about the bytes read so far.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Notes that the file declares Latin-1.
    pub(crate) fn note_latin1(&mut self) {
        self.facts.declares_latin1 = true;
    }

    /// The text that is decoded and not consumed, at least one character unless the text ended.
    pub fn chunk(&mut self) -> &str {
        while self.position == self.decoded.len() && !self.ended {
            self.refill();
        }
        self.rest()
    }

    /// Passes over the first `bytes` of the chunk; they must end at a character boundary.
    pub fn consume(&mut self, bytes: usize) {
        self.position = (self.position + bytes).min(self.decoded.len());
    }

    /// At least `bytes` of the text ahead (less only at its end), without consuming them.
    pub fn peek(&mut self, bytes: usize) -> &str {
        while self.decoded.len() - self.position < bytes && !self.ended {
            self.refill();
        }
        self.rest()
    }

    /// Reads one line into `line`, without its line end, keeping at most `limit` bytes of it.
    /// `None` at the end of the text.
    pub fn read_line(&mut self, line: &mut String, limit: usize) -> Option<Line> {
        line.clear();
        let mut cut = false;
        let mut any = false;
        loop {
            let chunk = self.chunk();
            if chunk.is_empty() {
                return any.then_some(if cut { Line::Cut } else { Line::Unfinished });
            }
            any = true;
            let (part, taken, ended) = match chunk.find('\n') {
                Some(at) => (&chunk[..at], at + 1, true),
                None => (chunk, chunk.len(), false),
            };
            cut |= push_within(line, part, limit);
            self.consume(taken);
            if ended {
                if line.ends_with('\r') {
                    line.pop();
                }
                return Some(if cut { Line::Cut } else { Line::Whole });
            }
        }
    }

    fn rest(&self) -> &str {
        self.decoded.get(self.position..).unwrap_or_default()
    }

    fn refill(&mut self) {
        if self.decoded.is_char_boundary(self.position) {
            self.decoded.drain(..self.position);
            self.position = 0;
        }
        self.read_bytes();
        self.decode();
    }

    fn read_bytes(&mut self) {
        match self.input.fill_buf() {
            Ok([]) => self.ended = true,
            Ok(bytes) => {
                let taken = bytes.len().min(STEP);
                self.raw.extend_from_slice(&bytes[..taken]);
                self.input.consume(taken);
                self.facts.bytes += taken as u64;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => {
                self.facts.failure = Some(error);
                self.ended = true;
            }
        }
    }

    fn decode(&mut self) {
        match self.facts.encoding {
            Encoding::Utf8 => self.decode_utf8(),
            Encoding::Utf16LittleEndian => self.decode_utf16(u16::from_le_bytes),
            Encoding::Utf16BigEndian => self.decode_utf16(u16::from_be_bytes),
        }
    }

    fn decode_utf8(&mut self) {
        let mut rest = self.raw.as_slice();
        loop {
            let (valid, error) = match std::str::from_utf8(rest) {
                Ok(valid) => (valid, None),
                Err(error) => (
                    std::str::from_utf8(&rest[..error.valid_up_to()]).unwrap_or_default(),
                    Some(error),
                ),
            };
            self.facts.beyond_ascii |= !valid.is_ascii();
            self.decoded.push_str(valid);
            rest = &rest[valid.len()..];
            let Some(error) = error else { break };
            if error.error_len().is_none() && !self.ended {
                break;
            }
            let [byte, after @ ..] = rest else { break };
            self.decoded.push(latin1(*byte));
            self.facts.undecodable += 1;
            rest = after;
        }
        let kept = rest.len();
        self.raw.drain(..self.raw.len() - kept);
    }

    fn decode_utf16(&mut self, unit: fn([u8; 2]) -> u16) {
        let mut units = Vec::with_capacity(self.raw.len() / 2);
        units.extend(
            self.raw
                .chunks_exact(2)
                .map(|pair| unit([pair[0], pair[1]])),
        );
        let mut used = units.len() * 2;
        if !self.ended
            && units
                .last()
                .is_some_and(|unit| (0xD800..0xDC00).contains(unit))
        {
            units.pop();
            used -= 2;
        }
        for character in char::decode_utf16(units) {
            let character = character.unwrap_or_else(|_| {
                self.facts.undecodable += 1;
                char::REPLACEMENT_CHARACTER
            });
            self.facts.beyond_ascii |= !character.is_ascii();
            self.decoded.push(character);
        }
        self.raw.drain(..used);
        if self.ended && !self.raw.is_empty() {
            self.facts.undecodable += 1;
            self.raw.clear();
        }
    }
}

/// The text as UTF-8 bytes, for parsers that take a reader. Reading may stop inside a character;
/// go on with this trait alone then.
impl Read for Text<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.position == self.decoded.len() && !self.ended {
            self.refill();
        }
        let available = &self.decoded.as_bytes()[self.position..];
        let taken = available.len().min(buffer.len());
        buffer[..taken].copy_from_slice(&available[..taken]);
        self.position += taken;
        Ok(taken)
    }
}

/// The encoding of a file from its first bytes, and the length of its byte order mark.
fn sniff(bytes: &[u8]) -> (Encoding, usize) {
    match bytes {
        [0xEF, 0xBB, 0xBF, ..] => return (Encoding::Utf8, 3),
        [0xFF, 0xFE, ..] => return (Encoding::Utf16LittleEndian, 2),
        [0xFE, 0xFF, ..] => return (Encoding::Utf16BigEndian, 2),
        _ => {}
    }
    let bytes = &bytes[..bytes.len().min(SNIFF)];
    let pairs = bytes.len() / 2;
    let zeros = |offset: usize| {
        bytes
            .iter()
            .skip(offset)
            .step_by(2)
            .filter(|byte| **byte == 0)
            .count()
    };
    let (even, odd) = (zeros(0), zeros(1));
    // Text in UTF-16 has mostly ASCII at its beginning: markup, dates, words of a log.
    if pairs >= 2 && odd * 10 >= pairs * 7 && even * 10 <= pairs {
        (Encoding::Utf16LittleEndian, 0)
    } else if pairs >= 2 && even * 10 >= pairs * 7 && odd * 10 <= pairs {
        (Encoding::Utf16BigEndian, 0)
    } else {
        (Encoding::Utf8, 0)
    }
}

/// What the bytes 0x80 to 0x9F stand for in Windows-1252, the superset of Latin-1 that is meant in
/// practice.
const WINDOWS_1252: [char; 32] = [
    '€', '\u{fffd}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{fffd}', 'Ž',
    '\u{fffd}', '\u{fffd}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{fffd}',
    'ž', 'Ÿ',
];

/// The character that a byte outside UTF-8 stands for in Latin-1.
fn latin1(byte: u8) -> char {
    let index = usize::from(byte).wrapping_sub(0x80);
    WINDOWS_1252.get(index).copied().unwrap_or(char::from(byte))
}

/// Appends `part` to `text` until that has `limit` bytes; true when something was left out.
pub fn push_within(text: &mut String, part: &str, limit: usize) -> bool {
    let room = limit.saturating_sub(text.len());
    if part.len() <= room {
        text.push_str(part);
        return false;
    }
    let mut end = room;
    while !part.is_char_boundary(end) {
        end -= 1;
    }
    text.push_str(&part[..end]);
    true
}

/// The longest escape sequence that is taken for one; a longer one is taken out up to there.
const ESCAPE_LIMIT: usize = 4096;

/// Columns that cursor movements may reach in a line.
const COLUMN_LIMIT: usize = 4096;

const ESCAPE: char = '\u{1b}';

/// One step of a line that was written to a terminal.
enum Step<'a> {
    /// Characters to show.
    Show(&'a str),
    /// A control sequence: its parameters and final character.
    Sequence(&'a str, char),
    /// A single control character.
    Control(char),
}

/// Splits off the next step; `None` at the end.
fn step(text: &str) -> Option<(Step<'_>, &str)> {
    let first = text.chars().next()?;
    if first == ESCAPE {
        return Some(escape_sequence(text));
    }
    if first == '\u{9b}' {
        return Some(control_sequence(text, first.len_utf8()));
    }
    if is_control(first) {
        let (_, rest) = text.split_at(first.len_utf8());
        return Some((Step::Control(first), rest));
    }
    let end = text.find(is_control).unwrap_or(text.len());
    let (shown, rest) = text.split_at(end);
    Some((Step::Show(shown), rest))
}

/// Control characters other than line ends and tabulators.
fn is_control(character: char) -> bool {
    character.is_control() && character != '\n' && character != '\t'
}

fn escape_sequence(text: &str) -> (Step<'_>, &str) {
    let mut characters = text.char_indices().skip(1);
    let Some((at, kind)) = characters.next() else {
        return (Step::Sequence("", ESCAPE), "");
    };
    match kind {
        '[' => control_sequence(text, at + 1),
        // Strings: operating system command (titles, links), device control, privacy, application.
        ']' | 'P' | '^' | '_' | 'X' => {
            let end = string_end(text, at + 1);
            (Step::Sequence("", kind), &text[end..])
        }
        // Character set selections and the like: intermediates, then one character.
        ' '..='/' => {
            let end = characters
                .find(|(_, character)| !(' '..='/').contains(character))
                .map_or(text.len(), |(at, character)| at + character.len_utf8());
            (Step::Sequence("", kind), &text[end..])
        }
        '0'..='~' => (Step::Sequence("", kind), &text[at + kind.len_utf8()..]),
        _ => (Step::Sequence("", ESCAPE), &text[at..]),
    }
}

/// A control sequence whose parameters start at `start`. A broken one ends before the first
/// character that cannot be part of it, so that no text is lost.
fn control_sequence(text: &str, start: usize) -> (Step<'_>, &str) {
    for (at, character) in text[start..].char_indices().take(ESCAPE_LIMIT) {
        let at = start + at;
        match character {
            ' '..='?' => {}
            '@'..='~' => {
                return (
                    Step::Sequence(&text[start..at], character),
                    &text[at + character.len_utf8()..],
                );
            }
            _ => return (Step::Sequence("", ESCAPE), &text[at..]),
        }
    }
    (Step::Sequence("", ESCAPE), "")
}

/// Where a string that starts at `start` ends: after BEL or ESC backslash, or before a line end.
fn string_end(text: &str, start: usize) -> usize {
    let mut previous = ' ';
    for (at, character) in text[start..].char_indices().take(ESCAPE_LIMIT) {
        let at = start + at;
        match character {
            '\u{7}' | '\u{9c}' => return at + character.len_utf8(),
            '\\' if previous == ESCAPE => return at + 1,
            '\n' => return at,
            _ => previous = character,
        }
    }
    // Without an end it is no such string: only the two characters that start it go.
    start
}

/// `text` without terminal control sequences and control characters; line ends and tabulators stay.
pub fn plain(text: &str) -> Cow<'_, str> {
    if !text.contains(is_control) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((step, after)) = step(rest) {
        match step {
            Step::Show(shown) => plain.push_str(shown),
            Step::Control('\r') if !after.starts_with('\n') && !after.is_empty() => {
                plain.push('\n')
            }
            Step::Control(_) | Step::Sequence(..) => {}
        }
        rest = after;
    }
    Cow::Owned(plain)
}

/// What a terminal shows of one line in the end: carriage returns, backspaces, cursor movements
/// within the line and erasures are carried out, everything else that does not print is taken out.
pub fn visible(line: &str) -> Cow<'_, str> {
    if !line.contains(is_control) {
        return Cow::Borrowed(line);
    }
    let mut screen = Screen::default();
    let mut rest = line;
    while let Some((step, after)) = step(rest) {
        match step {
            Step::Show(shown) => shown.chars().for_each(|character| screen.write(character)),
            Step::Control(control) => screen.control(control),
            Step::Sequence(parameters, last) => screen.sequence(parameters, last),
        }
        rest = after;
    }
    let mut shown: String = screen.cells.into_iter().collect();
    shown.truncate(shown.trim_end_matches(' ').len());
    Cow::Owned(shown)
}

/// One line of a terminal.
#[derive(Default)]
struct Screen {
    cells: Vec<char>,
    column: usize,
}

impl Screen {
    fn write(&mut self, character: char) {
        while self.cells.len() < self.column {
            self.cells.push(' ');
        }
        match self.cells.get_mut(self.column) {
            Some(cell) => *cell = character,
            None => self.cells.push(character),
        }
        self.column += 1;
    }

    fn control(&mut self, control: char) {
        match control {
            '\r' => self.column = 0,
            '\u{8}' => self.column = self.column.saturating_sub(1),
            _ => {}
        }
    }

    fn sequence(&mut self, parameters: &str, last: char) {
        let number = parameters.parse::<usize>().unwrap_or(0);
        let count = number.clamp(1, COLUMN_LIMIT);
        match (last, number) {
            ('K', 0) => self.cells.truncate(self.column),
            ('K', 1) => {
                let end = self.cells.len().min(self.column + 1);
                self.cells[..end].fill(' ');
            }
            ('K' | 'J', 2) => self.cells.clear(),
            ('G', _) => self.column = count - 1,
            ('C', _) => self.column = (self.column + count).min(self.column.max(COLUMN_LIMIT)),
            ('D', _) => self.column = self.column.saturating_sub(count),
            ('P', _) => {
                let end = self.cells.len().min(self.column + count);
                self.cells.drain(self.column.min(end)..end);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(bytes: &[u8]) -> (String, u64) {
        // One byte at a time, so that every boundary falls inside something.
        let mut reader = io::BufReader::with_capacity(1, bytes);
        let mut text = Text::new(&mut reader);
        let mut all = String::new();
        while !text.chunk().is_empty() {
            let chunk = text.chunk().to_owned();
            text.consume(chunk.len());
            all.push_str(&chunk);
        }
        (all, text.facts().undecodable)
    }

    #[test]
    fn utf8_and_latin1_mix() {
        assert_eq!(decode("grüße 日本".as_bytes()), ("grüße 日本".into(), 0));
        assert_eq!(
            decode(b"\xEF\xBB\xBFcaf\xE9 \xC3\xA9 \x85"),
            ("café é …".into(), 2)
        );
        assert_eq!(decode(b"cut \xE6\x97").1, 2);
    }

    #[test]
    fn utf16_with_and_without_mark() {
        let units: Vec<u16> = "<a b='ü🦀'/>".encode_utf16().collect();
        let little: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
        let big: Vec<u8> = units.iter().flat_map(|unit| unit.to_be_bytes()).collect();
        assert_eq!(decode(&little).0, "<a b='ü🦀'/>");
        assert_eq!(decode(&big).0, "<a b='ü🦀'/>");
        assert_eq!(
            decode(&[b"\xFF\xFE", little.as_slice()].concat()),
            ("<a b='ü🦀'/>".into(), 0)
        );
        assert_eq!(
            decode(&[b"\xFF\xFE", &little[..little.len() - 1]].concat()).1,
            1
        );
    }

    #[test]
    fn lines_are_cut_at_the_limit() {
        let mut input: &[u8] = b"one\r\ntoo long\nlast";
        let mut text = Text::new(&mut input);
        let mut line = String::new();
        assert_eq!(text.read_line(&mut line, 5), Some(Line::Whole));
        assert_eq!(line, "one");
        assert_eq!(text.read_line(&mut line, 5), Some(Line::Cut));
        assert_eq!(line, "too l");
        assert_eq!(text.read_line(&mut line, 5), Some(Line::Unfinished));
        assert_eq!(line, "last");
        assert_eq!(text.read_line(&mut line, 5), None);
    }

    #[test]
    fn reading_bytes_may_split_characters() {
        let mut input: &[u8] = "日本語".as_bytes();
        let mut text = Text::new(&mut input);
        let mut bytes = Vec::new();
        let mut one = [0];
        while text.read(&mut one).expect("a slice") == 1 {
            bytes.push(one[0]);
        }
        assert_eq!(bytes, "日本語".as_bytes());
    }

    #[test]
    fn control_sequences_go_and_text_stays() {
        assert_eq!(plain("\u{1b}[1;31mred\u{1b}[0m"), "red");
        assert_eq!(
            plain("\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{7}"),
            "link"
        );
        assert_eq!(plain("\u{1b}]0;no end"), "0;no end");
        assert_eq!(plain("\u{1b}[31"), "");
        assert_eq!(plain("\u{1b}[31é"), "é");
        assert_eq!(plain("a\u{1b}(Bb\u{7}\0"), "ab");
    }

    #[test]
    fn redraws_show_the_last_state() {
        assert_eq!(visible("10%\r20%\rdone"), "done");
        assert_eq!(visible("done\r"), "done");
        assert_eq!(visible("abcdef\rxy"), "xycdef");
        assert_eq!(visible("abcdef\r\u{1b}[Kxy"), "xy");
        assert_eq!(visible("abc\u{8}\u{8}X"), "aXc");
        assert_eq!(visible("\u{1b}[2Kspin\u{1b}[1Gok\u{1b}[0K"), "ok");
    }
}
