//! Lines of bounded length from standard input.

use std::io::{self, BufRead, BufReader, ErrorKind, Read};

/// The longest request line that is read, in bytes without its line feed: as much as the host
/// would accept in the other direction at most (contract, Server configuration).
pub(crate) const MAX_REQUEST_BYTES: usize = 64 * 1024 * 1024;

/// How much of a longer line is kept, to find out which request it was.
const KEPT_START: usize = 4096;

/// How large the line buffer may stay between two lines.
const KEPT_CAPACITY: usize = 1024 * 1024;

const READ_BUFFER: usize = 64 * 1024;

/// One line of input, without its line feed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line<'a> {
    Whole(&'a [u8]),
    /// A line over the limit. It has been read to its end and dropped, but for its start.
    TooLong {
        start: &'a [u8],
        bytes: u64,
    },
}

pub(crate) struct Lines<R> {
    reader: BufReader<R>,
    line: Vec<u8>,
    limit: usize,
}

impl<R: Read> Lines<R> {
    pub(crate) fn new(reader: R) -> Self {
        Self::with_limit(reader, MAX_REQUEST_BYTES)
    }

    fn with_limit(reader: R, limit: usize) -> Self {
        Self {
            reader: BufReader::with_capacity(READ_BUFFER, reader),
            line: Vec::new(),
            limit,
        }
    }

    /// Whether the next line is there already, so that reading it will not wait.
    pub(crate) fn has_whole_line(&self) -> bool {
        self.reader.buffer().contains(&b'\n')
    }

    /// The next line; `None` at the end. The last line need not end in a line feed.
    pub(crate) fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        self.line.clear();
        self.line.shrink_to(KEPT_CAPACITY);
        let mut bytes: u64 = 0;
        loop {
            let available = match self.reader.fill_buf() {
                Ok(available) => available,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let at_end = available.is_empty();
            let feed = available.iter().position(|&byte| byte == b'\n');
            let part = &available[..feed.unwrap_or(available.len())];
            bytes += part.len() as u64;
            if bytes <= self.limit as u64 {
                self.line.extend_from_slice(part);
            } else {
                // From here on only the start is of use.
                self.line.truncate(KEPT_START);
            }
            let used = part.len() + usize::from(feed.is_some());
            self.reader.consume(used);
            if feed.is_some() || (at_end && bytes > 0) {
                break;
            }
            if at_end {
                return Ok(None);
            }
        }
        if bytes > self.limit as u64 {
            return Ok(Some(Line::TooLong {
                start: &self.line,
                bytes,
            }));
        }
        Ok(Some(Line::Whole(&self.line)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read_all(input: &[u8], limit: usize) -> Vec<(Vec<u8>, Option<u64>)> {
        let mut lines = Lines::with_limit(input, limit);
        let mut all = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            all.push(match line {
                Line::Whole(text) => (text.to_vec(), None),
                Line::TooLong { start, bytes } => (start.to_vec(), Some(bytes)),
            });
        }
        all
    }

    #[test]
    fn the_last_line_needs_no_line_feed() {
        let lines = read_all(b"a\n\nb", 10);
        assert_eq!(
            lines,
            [(b"a".to_vec(), None), (vec![], None), (b"b".to_vec(), None)]
        );
    }

    #[test]
    fn a_long_line_is_dropped_and_the_next_one_read() {
        let mut input = vec![b'x'; 200_000];
        input.extend_from_slice(b"\nok\n");
        let lines = read_all(&input, 100_000);
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[0].1, Some(200_000));
        assert!(lines[0].0.len() <= KEPT_START);
        assert_eq!(lines[1], (b"ok".to_vec(), None));
    }

    #[test]
    fn a_line_of_exactly_the_limit_is_whole() {
        assert_eq!(read_all(b"12345\n", 5), [(b"12345".to_vec(), None)]);
        assert_eq!(read_all(b"123456\n", 5), [(vec![], Some(6))]);
    }

    proptest! {
        #[test]
        fn lines_are_what_splitting_gives(input in proptest::collection::vec(
            prop_oneof![3 => any::<u8>(), 1 => Just(b'\n')], 0..300)) {
            let mut expected: Vec<Vec<u8>> =
                input.split(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
            if expected.last().is_some_and(Vec::is_empty) {
                expected.pop();
            }
            let lines: Vec<_> = read_all(&input, 1000).into_iter().map(|(line, _)| line).collect();
            prop_assert_eq!(lines, expected);
        }
    }
}
