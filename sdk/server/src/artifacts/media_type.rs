//! Media types: guessed from a file's name and the beginning of its content.
//!
//! Content decides what a file is when it is sure: a PNG is a PNG whatever it is called, and text
//! is never a video because its name ends in `.ts`. Within what the content allows, the name is the
//! better witness (`.csv` against any other text, `.docx` against any other zip archive).

use std::ffi::OsStr;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::file_name;

/// Bytes of the content that are looked at.
pub(super) const SNIFFED_BYTES: usize = 8 * 1024;

pub(super) const GZIP: &str = "application/gzip";
pub(super) const JSON: &str = "application/json";
pub(super) const TEXT: &str = "text/plain";
pub(super) const BINARY: &str = "application/octet-stream";
const HTML: &str = "text/html";
const XML: &str = "application/xml";
const ZIP: &str = "application/zip";
const ZSTD: &str = "application/zstd";

/// Guesses a media type; there is always one.
///
/// `names` are file names, most telling first; `head` is the content, or the beginning of it.
pub(super) fn guess(names: &[&OsStr], head: &[u8], extent: Extent) -> &'static str {
    let by_name = names.iter().find_map(|name| by_extension(name));
    match Content::of(head, extent) {
        Content::Known(media_type) => media_type,
        Content::Container(media_type) => match by_name {
            Some(named) if !is_textual(named) => named,
            _ => media_type,
        },
        Content::Text(media_type) => match by_name {
            Some(named) if is_textual(named) => named,
            _ => media_type,
        },
        Content::Empty => by_name.unwrap_or(TEXT),
        Content::Binary => match by_name {
            Some(named) if !is_textual(named) => named,
            _ => BINARY,
        },
    }
}

/// How much of the content the sniffed bytes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// All of it.
    Whole,
    /// Its beginning.
    Beginning,
}

/// What the content says by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Content {
    Empty,
    /// A format that the first bytes prove.
    Known(&'static str),
    /// A format in which others are wrapped.
    Container(&'static str),
    /// Text, of the kind that its beginning suggests.
    Text(&'static str),
    Binary,
}

/// First bytes of the formats that need no name.
const SIGNATURES: [(&[u8], Content); 10] = [
    (b"\x89PNG\r\n\x1a\n", Content::Known("image/png")),
    (b"\xff\xd8\xff", Content::Known("image/jpeg")),
    (b"GIF87a", Content::Known("image/gif")),
    (b"GIF89a", Content::Known("image/gif")),
    (b"%PDF-", Content::Known("application/pdf")),
    (b"PK\x03\x04", Content::Container(ZIP)),
    (b"PK\x05\x06", Content::Container(ZIP)),
    (b"\x1f\x8b", Content::Container(GZIP)),
    (b"\x28\xb5\x2f\xfd", Content::Container(ZSTD)),
    (
        b"SQLite format 3\0",
        Content::Known("application/vnd.sqlite3"),
    ),
];

impl Content {
    fn of(head: &[u8], extent: Extent) -> Self {
        if head.is_empty() {
            return Self::Empty;
        }
        let signed = SIGNATURES
            .iter()
            .find(|(signature, _)| head.starts_with(signature));
        if let Some((_, content)) = signed {
            return *content;
        }
        // A byte-order mark of UTF-16 is as good as a promise of text.
        if head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff") {
            return Self::Text(TEXT);
        }
        match text_of(head, extent) {
            Some(text) => Self::Text(kind_of_text(text, extent)),
            None => Self::Binary,
        }
    }
}

/// The content as text, if it is UTF-8 without the control characters that text does not have. A
/// character that the end of the sniffed bytes cuts in two does no harm.
fn text_of(head: &[u8], extent: Extent) -> Option<&str> {
    let text = match (std::str::from_utf8(head), extent) {
        (Ok(text), _) => text,
        (Err(error), Extent::Beginning) if error.error_len().is_none() => {
            std::str::from_utf8(&head[..error.valid_up_to()]).ok()?
        }
        (Err(_), _) => return None,
    };
    // Tab to carriage return, and escape, which coloured logs are full of.
    let is_plain = |c: char| !c.is_ascii_control() || matches!(c, '\t'..='\r' | '\x1b' | '\x08');
    text.chars().all(is_plain).then_some(text)
}

fn kind_of_text(text: &str, extent: Extent) -> &'static str {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let starts_with = |prefix: &str| {
        text.get(..prefix.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(prefix))
    };
    if starts_with("<!doctype html") || starts_with("<html") {
        HTML
    } else if starts_with("<?xml") {
        XML
    } else if text.starts_with(['{', '[']) && is_json(text, extent) {
        JSON
    } else {
        TEXT
    }
}

/// Whether the text is one JSON document, or the beginning of one.
fn is_json(text: &str, extent: Extent) -> bool {
    let mut document = serde_json::Deserializer::from_str(text);
    match IgnoredAny::deserialize(&mut document).and_then(|_| document.end()) {
        Ok(()) => true,
        Err(error) => extent == Extent::Beginning && error.is_eof(),
    }
}

/// The media type of a name, by its extension.
fn by_extension(name: &OsStr) -> Option<&'static str> {
    let extension = file_name::extension_of(name)?.to_ascii_lowercase();
    match extension.as_str() {
        // Where the table of registered types is silent, or means something that is never meant in
        // the output of a tool.
        "xml" => Some(XML),
        "ts" | "tsx" => Some("text/typescript"),
        "jsonl" | "ndjson" => Some("application/x-ndjson"),
        "sarif" | "har" => Some(JSON),
        "yaml" | "yml" => Some("application/yaml"),
        "toml" => Some("application/toml"),
        "patch" | "diff" => Some("text/x-diff"),
        "zst" => Some(ZSTD),
        "tgz" => Some(GZIP),
        _ => mime_guess::from_ext(&extension).first_raw(),
    }
}

/// Whether a media type is one of text.
pub(super) fn is_textual(media_type: &str) -> bool {
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    essence.starts_with("text/")
        || essence.ends_with("+xml")
        || essence.ends_with("+json")
        || matches!(
            essence,
            JSON | XML
                | "application/javascript"
                | "application/toml"
                | "application/x-ndjson"
                | "application/x-sh"
                | "application/yaml"
        )
}

/// The extension for a file of a media type, where there is a usual one.
pub(super) fn usual_extension(media_type: &str) -> Option<&'static str> {
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    Some(match essence.to_ascii_lowercase().as_str() {
        TEXT => "txt",
        JSON => "json",
        XML | "text/xml" => "xml",
        HTML => "html",
        GZIP => "gz",
        ZIP => "zip",
        ZSTD => "zst",
        "application/pdf" => "pdf",
        "application/toml" => "toml",
        "application/vnd.sqlite3" => "sqlite",
        "application/x-ndjson" => "jsonl",
        "application/yaml" => "yaml",
        "image/gif" => "gif",
        "image/jpeg" => "jpg",
        "image/png" => "png",
        "image/svg+xml" => "svg",
        "text/csv" => "csv",
        "text/markdown" => "md",
        "text/x-diff" => "diff",
        _ => return None,
    })
}

/// The extension that a name already has, when it is one that means something.
pub(super) fn known_extension(name: &OsStr) -> Option<&str> {
    by_extension(name).and(file_name::extension_of(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn guess_whole(name: &str, head: &[u8]) -> &'static str {
        guess(&[OsStr::new(name)], head, Extent::Whole)
    }

    #[test]
    fn the_content_alone_is_enough_for_common_formats() {
        for (head, expected) in [
            (&b"hello\n"[..], "text/plain"),
            (b"\x1b[31mred\x1b[0m\n", "text/plain"),
            (b"", "text/plain"),
            (b"{\"a\": 1}\n", "application/json"),
            (b" \n[1, 2]", "application/json"),
            (b"{\"a\": 1", "text/plain"),
            (b"[INFO] started", "text/plain"),
            (b"{\"a\":1}\n{\"a\":2}\n", "text/plain"),
            (b"<?xml version=\"1.0\"?><a/>", "application/xml"),
            (
                b"\xef\xbb\xbf<?xml version=\"1.0\"?><a/>",
                "application/xml",
            ),
            (b"<!DOCTYPE html><p>", "text/html"),
            (b"<HTML>", "text/html"),
            (b"\x89PNG\r\n\x1a\n\0\0", "image/png"),
            (b"\xff\xd8\xff\xe0", "image/jpeg"),
            (b"GIF89a", "image/gif"),
            (b"%PDF-1.7", "application/pdf"),
            (b"PK\x03\x04", "application/zip"),
            (b"\x1f\x8b\x08", "application/gzip"),
            (b"\x28\xb5\x2f\xfd", "application/zstd"),
            (b"\x00\x01\x02", "application/octet-stream"),
            (b"caf\xe9", "application/octet-stream"),
        ] {
            assert_eq!(guess(&[], head, Extent::Whole), expected, "{head:?}");
        }
    }

    #[test]
    fn the_name_refines_what_the_content_allows() {
        assert_eq!(guess_whole("junit.xml", b"<testsuite/>"), "application/xml");
        assert_eq!(guess_whole("a.csv", b"a,b\n1,2\n"), "text/csv");
        assert_eq!(guess_whole("a.jsonl", b"{}\n{}\n"), "application/x-ndjson");
        assert_eq!(guess_whole("a.ts", b"const a = 1\n"), "text/typescript");
        assert_eq!(guess_whole("a.wasm", b"\0asm"), "application/wasm");
        let docx = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
        assert_eq!(guess_whole("a.docx", b"PK\x03\x04"), docx);
        assert_eq!(guess_whole("UPPER.JSON", b"{}"), "application/json");
        assert_eq!(guess_whole("empty.csv", b""), "text/csv");
    }

    #[test]
    fn the_content_overrules_a_name_that_cannot_be_true() {
        assert_eq!(guess_whole("a.txt", b"\x89PNG\r\n\x1a\n"), "image/png");
        assert_eq!(guess_whole("a.mp4", b"just text"), "text/plain");
        assert_eq!(guess_whole("a.txt", b"\0\x01"), "application/octet-stream");
        assert_eq!(guess_whole("a.txt", b"\x1f\x8b"), "application/gzip");
    }

    #[test]
    fn the_first_name_with_a_meaning_counts() {
        let names = [OsStr::new("report-1"), OsStr::new("results.csv")];
        assert_eq!(guess(&names, b"a,b\n", Extent::Whole), "text/csv");
    }

    #[test]
    fn a_beginning_may_stop_anywhere() {
        let text = "é".repeat(10);
        let cut = &text.as_bytes()[..5];
        assert_eq!(guess(&[], cut, Extent::Beginning), "text/plain");
        assert_eq!(guess(&[], cut, Extent::Whole), "application/octet-stream");
        assert_eq!(
            guess(&[], b"[{\"a\": [1, 2", Extent::Beginning),
            "application/json"
        );
    }

    proptest! {
        #[test]
        fn guessing_takes_any_bytes(head in proptest::collection::vec(any::<u8>(), 0..64), name in "[a-z.]{0,8}") {
            for extent in [Extent::Whole, Extent::Beginning] {
                prop_assert!(guess(&[OsStr::new(&name)], &head, extent).contains('/'));
            }
        }
    }
}
