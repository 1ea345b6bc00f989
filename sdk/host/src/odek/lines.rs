//! Cutting the server's output into lines in bounded memory (host facts, section 3).

/// Room for the first read; also what the host starts with.
const FIRST_READ_BYTES: usize = 64 * 1024;

/// Bytes received but not yet handed out, never more than one byte beyond the longest line.
#[derive(Debug)]
pub(crate) struct LineBuffer {
    bytes: Vec<u8>,
    /// Where the line in progress begins.
    start: usize,
    /// Up to where it has been searched for a line feed.
    searched: usize,
    /// Where the received bytes end; `bytes` beyond is spare room.
    end: usize,
    longest_line: usize,
}

/// What [`LineBuffer::next_line`] found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next<'a> {
    /// A whole line, without its line feed.
    Line(&'a [u8]),
    /// No line feed yet, and still room to receive one.
    Unfinished,
    /// The line in progress is longer than allowed.
    TooLong,
}

impl LineBuffer {
    /// `longest_line` counts bytes without the line feed.
    pub(crate) fn new(longest_line: usize) -> Self {
        Self {
            bytes: Vec::new(),
            start: 0,
            searched: 0,
            end: 0,
            longest_line,
        }
    }

    /// The next whole line, if one has been received.
    pub(crate) fn next_line(&mut self) -> Next<'_> {
        let unsearched = &self.bytes[self.searched..self.end];
        let Some(offset) = unsearched.iter().position(|&byte| byte == b'\n') else {
            self.searched = self.end;
            return match self.end - self.start > self.longest_line {
                true => Next::TooLong,
                false => Next::Unfinished,
            };
        };
        let (start, feed) = (self.start, self.searched + offset);
        if feed - start > self.longest_line {
            return Next::TooLong;
        }
        self.start = feed + 1;
        self.searched = self.start;
        Next::Line(&self.bytes[start..feed])
    }

    /// Room to receive into, at least one byte unless the line in progress is already too long.
    pub(crate) fn spare(&mut self) -> &mut [u8] {
        if self.start > 0 {
            self.bytes.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.searched -= self.start;
            self.start = 0;
        }
        if self.end == self.bytes.len() {
            let grown = self.bytes.len().saturating_mul(2).max(FIRST_READ_BYTES);
            self.bytes
                .resize(grown.min(self.longest_line.saturating_add(1)), 0);
        }
        &mut self.bytes[self.end..]
    }

    /// Says that `count` bytes were received into the spare room.
    pub(crate) fn received(&mut self, count: usize) {
        self.end = self.end.saturating_add(count).min(self.bytes.len());
    }

    /// What was received after the last line feed. Only meaningful at the end of the output.
    pub(crate) fn last_line(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Feeds `input` in pieces of at most `piece` bytes and collects the lines; `Err` holds the
    /// lines before one that was too long.
    fn lines(input: &[u8], longest: usize, piece: usize) -> Result<Vec<Vec<u8>>, Vec<Vec<u8>>> {
        let mut buffer = LineBuffer::new(longest);
        let mut lines = Vec::new();
        let mut input = input;
        loop {
            loop {
                match buffer.next_line() {
                    Next::Line(line) => lines.push(line.to_vec()),
                    Next::Unfinished => break,
                    Next::TooLong => return Err(lines),
                }
            }
            assert!(buffer.bytes.len() <= (longest + 1).max(1));
            if input.is_empty() {
                break;
            }
            let spare = buffer.spare();
            assert!(!spare.is_empty());
            let count = spare.len().min(piece).min(input.len());
            spare[..count].copy_from_slice(&input[..count]);
            buffer.received(count);
            input = &input[count..];
        }
        if !buffer.last_line().is_empty() {
            lines.push(buffer.last_line().to_vec());
        }
        Ok(lines)
    }

    #[test]
    fn the_longest_line_passes_and_one_byte_more_does_not() {
        assert_eq!(lines(b"12345\n", 5, 64), Ok(vec![b"12345".to_vec()]));
        assert_eq!(lines(b"1\n123456\n", 5, 64), Err(vec![b"1".to_vec()]));
        // Whether or not a line feed would have followed.
        assert_eq!(lines(b"123456", 5, 64), Err(vec![]));
    }

    #[test]
    fn the_last_line_needs_no_line_feed() {
        assert_eq!(
            lines(b"a\n\nb", 5, 64),
            Ok(vec![b"a".to_vec(), vec![], b"b".to_vec()])
        );
    }

    proptest! {
        #[test]
        fn pieces_do_not_matter(
            input in proptest::collection::vec(prop_oneof![Just(b'\n'), any::<u8>()], 0..300),
            longest in 0_usize..40,
            piece in 1_usize..70,
        ) {
            let whole: Vec<&[u8]> = input.split(|&byte| byte == b'\n').collect();
            let (last, before) = whole.split_last().unwrap();
            let mut expected: Vec<Vec<u8>> = Vec::new();
            let mut too_long = false;
            for line in before.iter().chain(Some(last).filter(|line| !line.is_empty())) {
                if line.len() > longest {
                    too_long = true;
                    break;
                }
                expected.push(line.to_vec());
            }
            let actual = lines(&input, longest, piece);
            prop_assert_eq!(actual, if too_long { Err(expected) } else { Ok(expected) });
        }
    }
}
