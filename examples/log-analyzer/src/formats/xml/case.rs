//! Text of bounded size, and what is told of one test.

use crate::model::{Case, Status};
use crate::text::{plain, push_within};

/// Bytes kept of the beginning of a text.
const HEAD_LIMIT: usize = 48 * 1024;
/// Bytes kept of its end, where a trace or a log has its point.
const TAIL_LIMIT: usize = 16 * 1024;
/// Bytes kept of a message, which is one line.
const MESSAGE_LIMIT: usize = 1024;

/// A text of which the beginning and the end are kept.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    head: String,
    tail: String,
    left_out: usize,
}

impl Kept {
    /// Appends a piece.
    pub(crate) fn push(&mut self, piece: &str) {
        let before = self.head.len();
        if self.tail.is_empty() {
            push_within(&mut self.head, piece, HEAD_LIMIT);
        }
        self.tail.push_str(&piece[self.head.len() - before..]);
        if self.tail.len() > 2 * TAIL_LIMIT {
            let mut cut = self.tail.len() - TAIL_LIMIT;
            while !self.tail.is_char_boundary(cut) {
                cut += 1;
            }
            self.tail.drain(..cut);
            self.left_out += cut;
        }
    }

    /// Begins a new paragraph, when there is text already.
    pub(crate) fn separate(&mut self) {
        if !self.is_blank() {
            self.push("\n\n");
        }
    }

    /// Whether there is nothing to show.
    pub(crate) fn is_blank(&self) -> bool {
        self.head.trim().is_empty() && self.tail.trim().is_empty()
    }

    /// The last line that begins with `start`, in what is kept.
    pub(crate) fn last_line_starting(&self, start: &str) -> Option<&str> {
        let find = |text: &'_ str| -> Option<(usize, usize)> {
            let at = if text.starts_with(start) && !text[1..].contains(&format!("\n{start}")) {
                0
            } else {
                text.rfind(&format!("\n{start}"))? + 1
            };
            Some((at, text[at..].find('\n').map_or(text.len(), |end| at + end)))
        };
        [&self.tail, &self.head]
            .into_iter()
            .find_map(|text| find(text).map(|(from, to)| &text[from..to]))
    }

    /// The lines that are kept; `None` where some were left out.
    pub(crate) fn all_lines(&self) -> Option<impl Iterator<Item = &str>> {
        // The head may end within a line, but only when there is a tail.
        (self.tail.is_empty()).then(|| self.head.lines())
    }

    /// The beginning.
    pub(crate) fn head(&self) -> &str {
        &self.head
    }

    /// All that is kept, without control sequences.
    pub(crate) fn into_text(self) -> String {
        let mut text = plain(&self.head).into_owned();
        if self.left_out > 0 {
            text.push_str(&format!("\n[{} bytes left out]\n", self.left_out));
        }
        text.push_str(&plain(&self.tail));
        let end = text.trim_end().len();
        text.truncate(end);
        let blank = text.len() - text.trim_start_matches(['\r', '\n']).len();
        text.drain(..blank);
        text
    }
}

/// The first line of `text` that says something, without control sequences.
pub(crate) fn first_line(text: &str) -> Option<String> {
    let mut head = String::new();
    push_within(&mut head, text, 16 * MESSAGE_LIMIT);
    let plain = plain(&head);
    let line = plain.lines().map(str::trim).find(|line| !line.is_empty())?;
    let mut message = String::new();
    push_within(&mut message, line, MESSAGE_LIMIT);
    Some(message)
}

/// Names as they are shown: on one line, without control sequences.
pub(crate) fn shown(name: &str) -> String {
    plain(name)
        .split(['\r', '\n'])
        .collect::<Vec<_>>()
        .join(" ")
}

/// A duration in seconds, written with a point or a comma, or with separators of thousands.
pub(crate) fn seconds(text: &str) -> Option<f64> {
    let text = text.trim();
    let number = match (text.rfind(','), text.rfind('.')) {
        (Some(_), Some(_)) => text.replace(',', ""),
        (Some(_), None) => text.replace(',', "."),
        _ => text.to_owned(),
    };
    number
        .parse::<f64>()
        .ok()
        .filter(|seconds| seconds.is_finite() && *seconds >= 0.0)
}

/// A duration written as `hh:mm:ss.fraction`, in seconds.
pub(crate) fn clock(text: &str) -> Option<f64> {
    text.split(':').try_fold(0.0, |sum, part| {
        let part: f64 = part.trim().parse().ok()?;
        Some(sum * 60.0 + part)
    })
}

/// What is gathered of one test.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    pub(crate) suite: String,
    pub(crate) name: String,
    pub(crate) seconds: Option<f64>,
    /// The message that the report gives apart from the details.
    pub(crate) message: Option<String>,
    /// All lines of a message that has several; the details of a case that has no others.
    pub(crate) whole_message: Kept,
    pub(crate) details: Kept,
    /// What the test printed; the details of a failure that has no others.
    pub(crate) output: Kept,
}

impl Gathered {
    /// Keeps the first message that says something.
    pub(crate) fn add_message(&mut self, message: &str) {
        if self.message.is_none() {
            self.message = first_line(message);
            if message.trim().contains(['\r', '\n']) {
                self.whole_message.push(message);
            }
        }
    }

    /// The case, with a message and details where it did not pass.
    pub(crate) fn into_case(self, status: Option<Status>) -> Case {
        let mut case = Case {
            suite: shown(&self.suite),
            name: shown(&self.name),
            status,
            seconds: self.seconds,
            ..Case::default()
        };
        if matches!(status, Some(Status::Passed) | None) {
            return case;
        }
        case.message = self.message.or_else(|| first_line(self.details.head()));
        let details = if !self.details.is_blank() {
            self.details
        } else if !self.whole_message.is_blank() {
            self.whole_message
        } else if status != Some(Status::Skipped) {
            self.output
        } else {
            Kept::default()
        };
        case.details = Some(details.into_text()).filter(|details| !details.is_empty());
        case
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_keeps_both_ends() {
        let mut kept = Kept::default();
        for line in 0..100_000 {
            kept.push(&format!("line {line}\n"));
        }
        let text = kept.into_text();
        assert!(text.len() < HEAD_LIMIT + 3 * TAIL_LIMIT);
        assert!(text.starts_with("line 0\n") && text.ends_with("line 99999"));
        assert!(text.contains("bytes left out]"));
    }

    #[test]
    fn durations() {
        assert_eq!(seconds("1,234.5"), Some(1234.5));
        assert_eq!(seconds("0,5"), Some(0.5));
        assert_eq!(seconds("NaN"), None);
        assert_eq!(clock("00:01:02.5"), Some(62.5));
    }
}
