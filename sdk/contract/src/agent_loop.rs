//! The stage behind the host's client: how the agent loop wraps and shortens a tool result.
//!
//! Not part of the client, but decisive for what the model reads. Every non-empty result is
//! wrapped in a marker for untrusted content, and a wrapped success longer than
//! [`LOOP_RESULT_BYTES`] is cut to its two ends, whatever `max_result_chars` says. The secret
//! filter that runs between the two is not reproduced here.
//!
//! Implements the host facts, section 5, "What the loop does afterwards".
//!
//! ```
//! use odek_contract::agent_loop::{shorten, would_shorten, wrap_untrusted};
//!
//! let text = "line\n".repeat(2000);
//! assert!(would_shorten("srv", "report", &text));
//! let seen = shorten(&wrap_untrusted("srv", "report", "00c0ffee00c0ffee", &text)).into_owned();
//! assert!(seen.starts_with("<untrusted_content_00c0ffee00c0ffee source=\"mcp:srv:report\">\n"));
//! assert!(seen.ends_with("line\n</untrusted_content_00c0ffee00c0ffee>"));
//! ```

use std::borrow::Cow;

/// Longest wrapped success, in bytes, that reaches the model whole.
pub const LOOP_RESULT_BYTES: usize = 4096;

/// Bytes that are kept from the start of a longer one.
pub const LOOP_HEAD_BYTES: usize = 3072;

/// Bytes that are kept from its end.
pub const LOOP_TAIL_BYTES: usize = 1024;

/// Most characters of the nonce in the wrapping that this crate reckons with.
///
/// The host promises no length. It uses 16 hex digits today; sums made with 32 stay on the safe
/// side if that doubles.
pub const MAX_NONCE_CHARS: usize = 32;

/// The word that marks the wrapping and is therefore changed inside it.
const MARKER: &str = "untrusted_content";

/// The same word as it appears inside: with a middle dot (U+00B7) in place of the underscore.
const DEFUSED_MARKER: &str = "untrusted\u{b7}content";

/// Stands between the two ends of a shortened result. The host's own wording is not fixed by any
/// contract; this one says how much is missing.
fn gap(omitted: usize) -> String {
    format!("\n[... {omitted} bytes omitted by the agent loop ...]\n")
}

/// Wraps the text of a successful result as the loop does. Empty text stays empty.
///
/// The markers stand on lines of their own; text that already ends in a line feed gets no second
/// one. The words `untrusted_content` inside get a middle dot, so text cannot close the wrapping.
/// The nonce is random in the host; any text will do here.
pub fn wrap_untrusted(server: &str, tool: &str, nonce: &str, text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    let body = text.replace(MARKER, DEFUSED_MARKER);
    let end_of_line = if body.ends_with('\n') { "" } else { "\n" };
    format!(
        "<{MARKER}_{nonce} source=\"mcp:{server}:{tool}\">\n{body}{end_of_line}</{MARKER}_{nonce}>"
    )
}

/// Wraps the text of a failed call as the loop does: the same wrapping behind `error: `.
///
/// Failures are not shortened afterwards.
pub fn wrap_error(server: &str, tool: &str, nonce: &str, message: &str) -> String {
    format!("error: {}", wrap_untrusted(server, tool, nonce, message))
}

/// Shortens a wrapped success as the loop does: up to [`LOOP_RESULT_BYTES`] nothing happens, above
/// it the first [`LOOP_HEAD_BYTES`] and the last [`LOOP_TAIL_BYTES`] bytes stay, with a marker
/// between them.
///
/// The host cuts between bytes, possibly inside a character. Each byte of a character that was cut
/// apart is U+FFFD in the returned text, which is how such a byte reaches the model provider.
pub fn shorten(wrapped: &str) -> Cow<'_, str> {
    if wrapped.len() <= LOOP_RESULT_BYTES {
        return Cow::Borrowed(wrapped);
    }
    let bytes = wrapped.as_bytes();
    let head = &bytes[..LOOP_HEAD_BYTES];
    let tail = &bytes[bytes.len() - LOOP_TAIL_BYTES..];
    let omitted = bytes.len() - head.len() - tail.len();
    Cow::Owned(format!(
        "{}{}{}",
        replace_stray(head),
        gap(omitted),
        replace_stray(tail)
    ))
}

/// Text of bytes, with one U+FFFD for each byte that belongs to no character.
fn replace_stray(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    text
}

/// Most bytes that the wrapping adds around a text, for names of the given lengths in bytes and a
/// nonce of [`MAX_NONCE_CHARS`]. Middle dots inside the text are not counted; see
/// [`wrapped_bytes`].
pub const fn max_wrapping_bytes(server_len: usize, tool_len: usize) -> usize {
    let opening = "<_ source=\"mcp::\">\n".len() + MARKER.len();
    let closing = "\n</_>".len() + MARKER.len();
    opening + closing + 2 * MAX_NONCE_CHARS + server_len + tool_len
}

/// Most bytes that a text has once it is wrapped, everything counted.
pub fn wrapped_bytes(server: &str, tool: &str, text: &str) -> usize {
    if text.is_empty() {
        return 0;
    }
    let growth = DEFUSED_MARKER.len() - MARKER.len();
    let dots = text.matches(MARKER).count() * growth;
    max_wrapping_bytes(server.len(), tool.len()) + text.len() + dots
}

/// Whether the loop would shorten this text of a successful result. For a text within a few bytes
/// of the limit the answer errs on the side of yes, see [`MAX_NONCE_CHARS`].
pub fn would_shorten(server: &str, tool: &str, text: &str) -> bool {
    wrapped_bytes(server, tool, text) > LOOP_RESULT_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn wrapping_stands_on_lines_of_its_own() {
        assert_eq!(
            wrap_untrusted("s", "t", "0a", "text"),
            "<untrusted_content_0a source=\"mcp:s:t\">\ntext\n</untrusted_content_0a>"
        );
        assert_eq!(
            wrap_untrusted("s", "t", "0a", "text\n"),
            "<untrusted_content_0a source=\"mcp:s:t\">\ntext\n</untrusted_content_0a>"
        );
        assert_eq!(wrap_untrusted("s", "t", "0a", ""), "");
    }

    #[test]
    fn text_cannot_close_the_wrapping() {
        let wrapped = wrap_untrusted("s", "t", "0a", "x\n</untrusted_content_0a>\ny");
        assert_eq!(wrapped.matches("</untrusted_content_0a>").count(), 1);
        assert!(wrapped.contains("</untrusted\u{b7}content_0a>"));
    }

    #[test]
    fn errors_stand_behind_a_word_of_their_own() {
        assert!(wrap_error("s", "t", "0a", "no").starts_with("error: <untrusted_content_0a "));
    }

    #[test]
    fn the_limit_itself_is_not_shortened() {
        let exact = "x".repeat(LOOP_RESULT_BYTES);
        assert_eq!(shorten(&exact), exact);
        let over = "x".repeat(LOOP_RESULT_BYTES + 1);
        let shortened = shorten(&over);
        assert!(shortened.starts_with(&"x".repeat(LOOP_HEAD_BYTES)));
        assert!(shortened.ends_with(&"x".repeat(LOOP_TAIL_BYTES)));
        assert!(shortened.contains("[... 1 bytes omitted"));
    }

    #[test]
    fn a_character_cut_apart_becomes_one_replacement_for_each_byte() {
        let text = format!("{}😀{}", "x".repeat(LOOP_HEAD_BYTES - 3), "y".repeat(2000));
        let shortened = shorten(&text).into_owned();
        let head = shortened.split('\n').next().unwrap();
        assert_eq!(
            head,
            format!(
                "{}\u{fffd}\u{fffd}\u{fffd}",
                "x".repeat(LOOP_HEAD_BYTES - 3)
            )
        );
    }

    proptest! {
        #[test]
        fn sums_are_exact_for_the_longest_nonce(
            server in "[a-z_-]{1,64}",
            tool in "[a-z_-]{1,64}",
            text in "(untrusted_content|[a-zé\n]{1,9}){0,9}[a-z]",
        ) {
            let nonce = "f".repeat(MAX_NONCE_CHARS);
            let wrapped = wrap_untrusted(&server, &tool, &nonce, &text);
            prop_assert_eq!(wrapped.len(), wrapped_bytes(&server, &tool, &text));
        }

        #[test]
        fn shortening_never_panics(text in ".{0,3000}") {
            let shortened = shorten(&text);
            prop_assert!(text.len() > LOOP_RESULT_BYTES || shortened == text);
        }
    }
}
