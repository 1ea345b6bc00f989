//! Doc comments as descriptions.

use syn::{Attribute, Expr, Lit, Meta};

/// The text of the doc comments among `attributes`: the lines of a paragraph joined, paragraphs,
/// lists, headings and code blocks kept. Empty when there is none.
///
/// The line breaks of source code are where its editor put them; a model reads one flowing text.
pub(crate) fn description(attributes: &[Attribute]) -> String {
    let mut text = String::new();
    let mut is_code = false;
    let mut previous_joins = false;
    let lines: Vec<String> = attributes.iter().filter_map(doc_text).collect();
    for line in lines.iter().flat_map(|text| text.split('\n')) {
        let trimmed = line.trim();
        let is_fence = trimmed.starts_with("```");
        let joins = !is_code && !is_fence && !trimmed.is_empty();
        if is_code && !is_fence {
            start_line(&mut text, line.strip_prefix(' ').unwrap_or(line).trim_end());
        } else if joins && previous_joins && !starts_block(trimmed) {
            text.push(' ');
            text.push_str(trimmed);
        } else {
            start_line(&mut text, trimmed);
        }
        is_code ^= is_fence;
        previous_joins = joins && !trimmed.starts_with('#');
    }
    text.trim().to_owned()
}

/// One blank line between paragraphs is enough.
fn start_line(text: &mut String, line: &str) {
    let is_second_blank = line.is_empty() && text.ends_with('\n');
    if !text.is_empty() && !is_second_blank {
        text.push('\n');
    }
    text.push_str(line);
}

fn starts_block(line: &str) -> bool {
    let is_bullet = ["- ", "* ", "+ ", "> ", "| ", "#"]
        .iter()
        .any(|mark| line.starts_with(mark));
    let after_digits = line.trim_start_matches(|character: char| character.is_ascii_digit());
    let is_numbered = after_digits.len() < line.len()
        && (after_digits.starts_with(". ") || after_digits.starts_with(") "));
    is_bullet || is_numbered
}

/// The text of `#[doc = "…"]`; not of `#[doc(hidden)]` or of a macro that makes the text.
fn doc_text(attribute: &Attribute) -> Option<String> {
    match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
            Expr::Lit(literal) => match &literal.lit {
                Lit::Str(text) => Some(text.value()),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use syn::{ItemFn, parse_str};

    use super::*;

    fn described(docs: &str) -> String {
        let function: ItemFn = parse_str(&format!("{docs}\nfn f() {{}}")).unwrap();
        description(&function.attrs)
    }

    #[test]
    fn lines_join_and_paragraphs_stay() {
        assert_eq!(
            described("/// Summarise a report\n/// in a few words.\n///\n///\n/// Second.  "),
            "Summarise a report in a few words.\n\nSecond."
        );
        assert_eq!(described("/** One\n two. */"), "One two.");
        assert_eq!(described("#[doc(hidden)]\n#[doc = \" Text\"]"), "Text");
        assert_eq!(described("#[doc = include_str!(\"x.md\")]"), "");
        assert_eq!(described("///\n///  \n"), "");
    }

    #[test]
    fn lists_headings_and_code_keep_their_lines() {
        assert_eq!(
            described(
                "/// Modes:\n/// - fast: no\n///   checks\n/// - full\n/// 1. one\n/// 2) two"
            ),
            "Modes:\n- fast: no checks\n- full\n1. one\n2) two"
        );
        assert_eq!(
            described(
                "/// # Notes\n/// text\n/// ```json\n/// {\n///   \"a\": 1\n/// }\n/// ```\n/// end"
            ),
            "# Notes\ntext\n```json\n{\n  \"a\": 1\n}\n```\nend"
        );
    }
}
