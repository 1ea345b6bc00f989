//! What the model reads of a tool result: guarded lines, metadata lines and the truncation notice.
//!
//! Everything here is text to text. Which text a result has, and in what order things are checked,
//! is in [`crate::result`].
//!
//! Implements the host facts, section 4 ("Line guard", "Metadata lines") and section 5 (the cap),
//! and the contract, "Timeout and limit behavior". Characters are Unicode code points throughout.

use std::borrow::Cow;

use crate::artifact::{ArtifactRef, MAX_METADATA_CHARS, shorten_digest};
use crate::go;

/// What every metadata line begins with, and no line of a server's own text may begin with.
pub const ARTIFACT_LINE_PREFIX: &str = "- artifact ";

/// Puts one space in front of every line that would read as a metadata line, so that text cannot
/// forge one (host facts, section 4, "Line guard").
///
/// Lines end at a line feed only. Ordinary lists whose items begin with the word are changed too.
///
/// ```
/// use odek_contract::render::guard_lines;
///
/// assert_eq!(guard_lines("Done:\n- artifact upload"), "Done:\n - artifact upload");
/// assert_eq!(guard_lines("- Artifact upload"), "- Artifact upload");
/// ```
pub fn guard_lines(text: &str) -> Cow<'_, str> {
    if count_artifact_lines(text) == 0 {
        return Cow::Borrowed(text);
    }
    let lines = text.split('\n').map(|line| {
        if line.starts_with(ARTIFACT_LINE_PREFIX) {
            Cow::Owned(format!(" {line}"))
        } else {
            Cow::Borrowed(line)
        }
    });
    Cow::Owned(lines.collect::<Vec<_>>().join("\n"))
}

/// Number of lines that begin as a metadata line does.
///
/// This is the `artifact_count` of the host's events: a line that the cap cut in the middle still
/// counts (host facts, section 12).
pub fn count_artifact_lines(text: &str) -> usize {
    text.split('\n')
        .filter(|line| line.starts_with(ARTIFACT_LINE_PREFIX))
        .count()
}

/// The line that stands for one artifact (host facts, section 4, "Metadata lines").
///
/// The id is quoted; media type and summary are not. Controls, direction marks and line separators
/// of all three become spaces, and each is cut after [`MAX_METADATA_CHARS`] characters. The path
/// never appears.
///
/// ```
/// use odek_contract::artifact::ArtifactRef;
/// use odek_contract::render::metadata_line;
///
/// let reference = ArtifactRef {
///     size_bytes: Some(6),
///     summary: Some("A greeting".to_owned()),
///     ..ArtifactRef::new("r1", "file:///out/a.txt", "text/plain")
/// };
/// assert_eq!(metadata_line(&reference), r#"- artifact "r1" (text/plain, 6 bytes): A greeting"#);
/// ```
pub fn metadata_line(artifact: &ArtifactRef) -> String {
    let id = go::quote(&one_line(&artifact.id));
    let mut line = format!(
        "{ARTIFACT_LINE_PREFIX}{id} ({}",
        one_line(&artifact.media_type)
    );
    if let Some(size_bytes) = artifact.size_bytes {
        line.push_str(&format!(", {size_bytes} bytes"));
    }
    if let Some(sha256) = artifact.sha256.as_deref().filter(|text| !text.is_empty()) {
        line.push_str(&format!(", sha256 {}", shorten_digest(sha256)));
    }
    line.push(')');
    if let Some(summary) = artifact.summary.as_deref().filter(|text| !text.is_empty()) {
        line.push_str(": ");
        line.push_str(&one_line(summary));
    }
    line
}

/// A field as a metadata line shows it: on one line, and cut after [`MAX_METADATA_CHARS`]
/// characters (host facts, section 4, "Metadata lines").
///
/// ```
/// use odek_contract::render::one_line;
///
/// assert_eq!(one_line("two\nlines"), "two lines");
/// ```
pub fn one_line(field: &str) -> String {
    let (kept, rest) = split_chars(field, MAX_METADATA_CHARS);
    let mut line: String = kept
        .chars()
        .map(|c| if breaks_the_line(c) { ' ' } else { c })
        .collect();
    if !rest.is_empty() {
        line.push('…');
    }
    line
}

/// Characters that could end the line or turn its direction round.
pub(crate) fn breaks_the_line(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{61c}'
                | '\u{200e}'
                | '\u{200f}'
                | '\u{202a}'..='\u{202e}'
                | '\u{2066}'..='\u{2069}'
                | '\u{2028}'
                | '\u{2029}'
                | '\u{feff}'
        )
}

/// An envelope's text, guarded, and one metadata line for each artifact.
///
/// Each metadata line has a line feed in front unless nothing has been written yet. No cap is
/// applied.
pub fn render_envelope(text: &str, artifacts: &[ArtifactRef]) -> String {
    let mut rendered = guard_lines(text).into_owned();
    for artifact in artifacts {
        if !rendered.is_empty() {
            rendered.push('\n');
        }
        rendered.push_str(&metadata_line(artifact));
    }
    rendered
}

/// The notice that ends a truncated result, with its leading line feed (contract, "Timeout and
/// limit behavior"; host facts, section 5).
///
/// `observed` and `limit` are characters. For valid names the notice has 180 characters and the
/// lengths of both names and both numbers.
pub fn truncation_notice(server: &str, tool: &str, observed: usize, limit: usize) -> String {
    format!(
        "\n[odek: result truncated — server {} tool {} produced {observed} chars, exceeding the \
         configured max_result_chars={limit}; the full result is available via the retained \
         artifact references, if any]",
        go::quote(server),
        go::quote(tool)
    )
}

/// Who produced a text and how long it may be: what the cap needs to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cap<'a> {
    /// Name of the server.
    pub server: &'a str,
    /// Name of the tool.
    pub tool: &'a str,
    /// The effective `max_result_chars`, in characters.
    pub limit: usize,
}

/// A text that obeys a cap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capped {
    /// At most `limit` characters, the notice included.
    pub text: String,
    /// Present when something was cut.
    pub truncation: Option<Truncation>,
}

/// What a cap cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Truncation {
    /// Characters before the cut, line guard included.
    pub observed: usize,
    /// The cap, in characters.
    pub limit: usize,
}

impl Cap<'_> {
    /// Cuts plain text, an error text or an RPC message, already guarded.
    ///
    /// Up to the limit nothing happens. Above it the text is cut so that text and notice together
    /// have exactly `limit` characters.
    pub fn apply(&self, text: String) -> Capped {
        let observed = text.chars().count();
        if observed <= self.limit {
            return Capped {
                text,
                truncation: None,
            };
        }
        let notice = self.notice(observed);
        let text = match self.limit.checked_sub(notice.chars().count()) {
            Some(room) => format!("{}{notice}", split_chars(&text, room).0),
            None => split_chars(&notice, self.limit).0.to_owned(),
        };
        self.cut(text, observed)
    }

    /// Renders an envelope so that text and metadata lines together obey the cap.
    ///
    /// The text gives way first. What still does not fit is cut from the end, so that metadata
    /// lines are lost from the last one backwards.
    pub fn render_envelope(&self, text: &str, artifacts: &[ArtifactRef]) -> Capped {
        let rendered = render_envelope(text, artifacts);
        let observed = rendered.chars().count();
        if observed <= self.limit {
            return Capped {
                text: rendered,
                truncation: None,
            };
        }
        let notice = self.notice(observed);
        let Some(room) = self.limit.checked_sub(notice.chars().count()) else {
            return self.cut(split_chars(&notice, self.limit).0.to_owned(), observed);
        };
        // The text is measured before the line guard and rendered again after the cut, so guarded
        // lines can still push metadata out.
        let beside_text = observed - text.chars().count();
        let shorter = split_chars(text, room.saturating_sub(beside_text)).0;
        let rendered = render_envelope(shorter, artifacts);
        self.cut(
            format!("{}{notice}", split_chars(&rendered, room).0),
            observed,
        )
    }

    fn notice(&self, observed: usize) -> String {
        truncation_notice(self.server, self.tool, observed, self.limit)
    }

    fn cut(&self, text: String, observed: usize) -> Capped {
        Capped {
            text,
            truncation: Some(Truncation {
                observed,
                limit: self.limit,
            }),
        }
    }
}

/// The first `count` characters, and the rest.
pub(crate) fn split_chars(text: &str, count: usize) -> (&str, &str) {
    let end = text
        .char_indices()
        .nth(count)
        .map_or(text.len(), |(index, _)| index);
    text.split_at(end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn reference(id: &str, summary: &str) -> ArtifactRef {
        ArtifactRef {
            summary: Some(summary.to_owned()),
            ..ArtifactRef::new(id, "file:///a", "text/plain")
        }
    }

    #[test]
    fn only_line_feeds_end_a_guarded_line() {
        assert_eq!(guard_lines("- artifact x"), " - artifact x");
        assert_eq!(guard_lines("a\r- artifact x"), "a\r- artifact x");
        assert_eq!(
            guard_lines("a\u{2028}- artifact x"),
            "a\u{2028}- artifact x"
        );
        assert_eq!(
            guard_lines("- artifact\n-  artifact x"),
            "- artifact\n-  artifact x"
        );
        assert_eq!(
            guard_lines("- artifact a\n- artifact b"),
            " - artifact a\n - artifact b"
        );
    }

    #[test]
    fn the_first_metadata_line_of_an_empty_text_stands_at_the_start() {
        let artifacts = [reference("a", ""), reference("b", "")];
        assert_eq!(
            render_envelope("", &artifacts),
            "- artifact \"a\" (text/plain)\n- artifact \"b\" (text/plain)"
        );
    }

    #[test]
    fn an_empty_digest_is_not_shown_and_a_negative_size_is() {
        let artifact = ArtifactRef {
            sha256: Some(String::new()),
            size_bytes: Some(-1),
            ..ArtifactRef::new("a", "file:///a", "t")
        };
        assert_eq!(metadata_line(&artifact), "- artifact \"a\" (t, -1 bytes)");
    }

    #[test]
    fn the_notice_has_the_length_that_the_facts_give() {
        let notice = truncation_notice("server", "tool", 12_345, 400);
        assert_eq!(notice.chars().count(), 180 + 6 + 4 + 5 + 3);
    }

    #[test]
    fn a_cap_below_the_notice_still_holds() {
        let cap = Cap {
            server: "s",
            tool: "t",
            limit: 10,
        };
        assert_eq!(cap.apply("x".repeat(11)).text.chars().count(), 10);
        assert_eq!(
            cap.render_envelope(&"x".repeat(11), &[])
                .text
                .chars()
                .count(),
            10
        );
    }

    proptest! {
        #[test]
        fn a_cut_text_has_exactly_the_cap(
            text in "[a-zé😀\n-]{0,900}",
            limit in 195_usize..700,
        ) {
            let cap = Cap { server: "srv", tool: "t", limit };
            let observed = text.chars().count();
            let capped = cap.apply(text.clone());
            if observed <= limit {
                prop_assert_eq!(capped, Capped { text, truncation: None });
            } else {
                prop_assert_eq!(capped.text.chars().count(), limit);
                prop_assert_eq!(capped.truncation, Some(Truncation { observed, limit }));
            }
        }

        #[test]
        fn a_rendered_envelope_never_exceeds_the_cap(
            text in "(- artifact x\n|[a-zé😀\n]{0,40}){0,20}",
            artifacts in proptest::collection::vec(("[a-z]{1,9}", "[a-zé]{0,90}"), 0..6),
            limit in 0_usize..900,
        ) {
            let artifacts: Vec<_> =
                artifacts.iter().map(|(id, summary)| reference(id, summary)).collect();
            let capped =
                Cap { server: "srv", tool: "t", limit }.render_envelope(&text, &artifacts);
            prop_assert!(capped.text.chars().count() <= limit);
        }

        #[test]
        fn guarded_text_has_no_metadata_line(text in "(- artifact |\n|\r|x){0,30}") {
            let guarded = guard_lines(&text);
            prop_assert_eq!(count_artifact_lines(&guarded), 0);
            prop_assert_eq!(guard_lines(&guarded), guarded.as_ref());
        }

        #[test]
        fn a_metadata_line_is_one_line(id in any::<String>(), summary in any::<String>()) {
            prop_assert!(!metadata_line(&reference(&id, &summary)).contains(['\n', '\r']));
        }
    }
}
