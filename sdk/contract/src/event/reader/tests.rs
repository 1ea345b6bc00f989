use std::io::{BufReader, Cursor};

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::event::EventData;

const STARTED: &str = r#"{"schema":"odek.event/v1","type":"run_started","data":{"model":"m"}}"#;
const FAILED: &str = r#"{"schema":"odek.event/v1","type":"run_failed"}"#;

/// The types of the events of a stream, and the messages of its errors.
fn read(stream: impl AsRef<[u8]>, limit: usize) -> Vec<String> {
    EventReader::with_line_limit(stream.as_ref(), limit)
        .map(|item| match item {
            Ok(event) => event.kind.to_string(),
            Err(error) => error.to_string(),
        })
        .collect()
}

fn skim(stream: &[u8], limit: usize) -> Vec<String> {
    let mut reader = EventReader::with_line_limit(stream, limit);
    let mut items = Vec::new();
    while let Some(item) = reader.next_line() {
        items.push(match item {
            Ok(line) => line.type_name().to_owned(),
            Err(error) => error.to_string(),
        });
    }
    items
}

#[test]
fn blank_lines_and_carriage_returns_are_tolerated() {
    let stream = format!("\r\n{STARTED}\r\n\n \t\n{FAILED}");
    assert_eq!(read(stream, 1000), ["run_started", "run_failed"]);
}

#[test]
fn lines_are_numbered_with_the_blank_ones() {
    let stream = format!("\n{STARTED}\n\n{FAILED}\n");
    let mut reader = EventReader::new(stream.as_bytes());
    let first = reader.next_line().unwrap().unwrap();
    assert_eq!((first.number(), first.text()), (2, STARTED));
    assert_eq!(first.kind(), EventKind::RunStarted);
    let EventData::RunStarted(data) = first.event().unwrap().typed_data() else {
        panic!("another type")
    };
    assert_eq!(data.model.as_deref(), Some("m"));
    assert_eq!(reader.next_line().unwrap().unwrap().number(), 4);
    assert!(reader.next_line().is_none());
    assert!(reader.next_line().is_none());
}

#[test]
fn a_bad_line_is_one_error_and_the_next_line_is_read() {
    let stream = [
        STARTED.as_bytes(),
        b"not json",
        b"[1]",
        br#"{"schema":"other/v1","type":"x"}"#,
        br#"{"schema":"odek.event/v1"}"#,
        b"{\"schema\":\"\xff\"}",
        FAILED.as_bytes(),
        b"",
    ]
    .join(&b'\n');
    let expected = [
        "run_started",
        "line 2: not JSON: expected ident at column 2",
        "line 3: an event is a JSON object, this is an array",
        "line 4: the event has the schema \"other/v1\"; expected \"odek.event/v1\"",
        "line 5: the event has no `type`, or one that is no string",
        "line 6: not UTF-8 at column 12",
        "run_failed",
    ];
    assert_eq!(read(&stream, 1000), expected);
    assert_eq!(skim(&stream, 1000), expected);
}

#[test]
fn the_limit_is_exact_and_does_not_count_the_line_feed() {
    let limit = STARTED.len();
    let stream = format!("{STARTED}\n{STARTED} \n{FAILED}\n{STARTED}");
    assert_eq!(
        read(&stream, limit),
        [
            "run_started",
            "line 2: the line has 69 bytes, the limit is 68; it was skipped",
            "run_failed",
            "run_started",
        ]
    );
}

#[test]
fn an_over_long_last_line_is_measured_without_a_line_feed() {
    for ending in ["", "\n"] {
        let stream = format!("{FAILED}\n{}{ending}", "x".repeat(5000));
        let small_reads = BufReader::with_capacity(7, Cursor::new(stream));
        let items: Vec<_> = EventReader::with_line_limit(small_reads, 100).collect();
        assert_eq!(items.len(), 2);
        assert!(matches!(
            items[1],
            Err(EventReadError::TooLong {
                line: 2,
                length: 5000,
                limit: 100
            })
        ));
    }
}

#[test]
fn memory_is_bounded_by_the_limit() {
    let endless = BufReader::new(io::repeat(b'x').take(50_000_000));
    let mut reader = EventReader::with_line_limit(endless, 1000);
    assert!(matches!(
        reader.next(),
        Some(Err(EventReadError::TooLong {
            length: 50_000_000,
            ..
        }))
    ));
    assert!(reader.line.capacity() < 10_000);
    assert!(reader.next().is_none());
}

#[test]
fn a_cut_last_line_is_told_apart_from_a_bad_one() {
    for cut in 1..STARTED.len() {
        let stream = format!("{FAILED}\n{}", &STARTED[..cut]);
        let expected = format!("line 2: the last line is cut off after {cut} bytes");
        assert_eq!(read(&stream, 1000)[1], expected);
        assert_eq!(skim(stream.as_bytes(), 1000)[1], expected);
    }
    let in_a_character = b"{\"schema\":\"odek.event/v1\",\"type\":\"\xc3";
    assert_eq!(
        read(in_a_character, 1000),
        ["line 1: the last line is cut off after 35 bytes"]
    );
    // Whole JSON without a line feed is complete, if wrong.
    assert_eq!(
        read("[]", 1000),
        ["line 1: an event is a JSON object, this is an array"]
    );
}

#[test]
fn nothing_follows_a_failed_read() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("gone"))
        }
    }
    let stream = format!("{FAILED}\n{{");
    let mut reader = EventReader::new(BufReader::new(Cursor::new(stream).chain(Broken)));
    assert!(reader.next().unwrap().is_ok());
    let error = reader.next().unwrap().unwrap_err();
    assert_eq!(
        error.to_string(),
        "line 2: the event stream cannot be read: gone"
    );
    assert_eq!(error.line(), 2);
    assert!(reader.next().is_none());
}

#[test]
fn escaped_names_and_types_are_understood() {
    let stream = r#"{"sch\u0065ma":"odek.event\/v1","type":"run\u005fstarted"}"#;
    assert_eq!(skim(stream.as_bytes(), 1000), ["run_started"]);
    assert_eq!(read(stream, 1000), ["run_started"]);
}

/// Lines that are nearly events, so that the readers get past the first check.
fn line() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        vec(any::<u8>(), 0..60),
        Just(STARTED.as_bytes().to_vec()),
        any::<String>().prop_map(String::into_bytes),
        (any::<prop::sample::Index>(), any::<u8>()).prop_map(|(index, byte)| {
            let mut line = STARTED.as_bytes().to_vec();
            let position = index.index(line.len());
            line[position] = byte;
            line
        }),
    ]
}

proptest! {
    #[test]
    fn reading_never_panics_and_skimming_agrees(lines in vec(line(), 0..6), limit in 0..100usize) {
        let stream = lines.join(&b'\n');
        prop_assert_eq!(read(&stream, limit), skim(&stream, limit));
    }

    #[test]
    fn the_size_of_reads_makes_no_difference(lines in vec(line(), 0..6), size in 1..50usize) {
        let stream = lines.join(&b'\n');
        let in_pieces: Vec<_> = EventReader::with_line_limit(
            BufReader::with_capacity(size, stream.as_slice()), 90,
        )
        .map(|item| item.map_or_else(|error| error.to_string(), |event| event.kind.to_string()))
        .collect();
        prop_assert_eq!(in_pieces, read(&stream, 90));
    }

    #[test]
    fn a_line_that_is_skimmed_decodes(line in line()) {
        if let Some(Ok(line)) = EventReader::new(line.as_slice()).next_line() {
            prop_assert_eq!(line.event().unwrap().kind, line.kind());
        }
    }
}
