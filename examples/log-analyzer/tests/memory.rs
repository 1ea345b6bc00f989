//! A report of 40 MB is read with a peak below 64 MB, whatever its bytes are spent on.
#![cfg(target_os = "linux")]

use std::io::{self, BufReader, Read};

use log_analyzer::model::{Case, Completeness, Sink};
use log_analyzer::read::open;

const SIZE: usize = 40 * 1024 * 1024;

/// Writes itself while it is read: a beginning, a piece over and over, an end.
struct Endless<'a> {
    begin: &'a [u8],
    piece: &'a [u8],
    end: &'a [u8],
    at: usize,
    total: usize,
}

impl Read for Endless<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let part = match self.at {
            0 => self.begin,
            at if at < self.total => self.piece,
            _ => std::mem::take(&mut self.end),
        };
        buffer[..part.len()].copy_from_slice(part);
        self.at += part.len().max(1);
        Ok(part.len())
    }
}

struct Count(u64);

impl Sink for Count {
    fn case(&mut self, _: Case) {
        self.0 += 1;
    }
}

fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("the kernel tells");
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM:"))
        .expect("the peak");
    line.split_whitespace()
        .nth(1)
        .and_then(|number| number.parse().ok())
        .expect("a number")
}

#[test]
fn forty_megabytes_fit() {
    let shapes: [(&[u8], &[u8], &[u8]); 5] = [
        (
            b"<testsuites><testsuite name='pytest'>",
            b"<testcase classname='a.b' name='t' time='0.1'><failure message='m'>text</failure></testcase>",
            b"</testsuite></testsuites>",
        ),
        (b"<testsuite><testcase name='x'><failure><![CDATA[", b"a line of the log\n", b"]]></failure></testcase></testsuite>"),
        (b"<testsuite><testcase name='x'><system-out>", b"a line &amp; another\n", b"</system-out></testcase></testsuite>"),
        (b"<testsuite><testcase name='", b"long name ", b"'/></testsuite>"),
        (b"<testsuite><!-- ", b"no comment ", b"--><testcase name='x'/></testsuite>"),
    ];
    for (begin, piece, end) in shapes {
        let mut count = Count(0);
        let input = Endless {
            begin,
            piece,
            end,
            at: 0,
            total: SIZE,
        };
        let outcome = open(BufReader::new(input), &mut count);
        assert_eq!(outcome.completeness, Completeness::Complete, "{outcome:?}");
        assert!(count.0 > 0);
    }
    assert!(peak_kib() < 64 * 1024, "{} KiB", peak_kib());
}
