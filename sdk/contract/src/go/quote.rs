//! Text in messages, quoted as Go's `%q` does.

use std::fmt::Write;

use unicode_general_category::{GeneralCategory, get_general_category};

/// The text in double quotes: `"` and `\` with a backslash, what does not print as an escape.
///
/// ```
/// assert_eq!(odek_contract::go::quote("a\"b\u{200b}\n"), r#""a\"b\u200b\n""#);
/// ```
pub fn quote(text: &str) -> String {
    quoted(text.chars(), '"')
}

/// The character in single quotes, otherwise as [`quote`].
pub fn quote_char(character: char) -> String {
    quoted([character].into_iter(), '\'')
}

fn quoted(characters: impl Iterator<Item = char>, mark: char) -> String {
    let mut quoted = String::from(mark);
    for character in characters {
        match character {
            '\\' => quoted.push_str("\\\\"),
            _ if character == mark => {
                quoted.push('\\');
                quoted.push(mark);
            }
            _ if is_print(character) => quoted.push(character),
            _ => push_escape(&mut quoted, character),
        }
    }
    quoted.push(mark);
    quoted
}

fn push_escape(text: &mut String, character: char) {
    let short = match character {
        '\u{7}' => "\\a",
        '\u{8}' => "\\b",
        '\u{c}' => "\\f",
        '\n' => "\\n",
        '\r' => "\\r",
        '\t' => "\\t",
        '\u{b}' => "\\v",
        _ => "",
    };
    let code = u32::from(character);
    // Writing to a string cannot fail.
    let _ = match code {
        _ if !short.is_empty() => write!(text, "{short}"),
        0..=0x1f | 0x7f => write!(text, "\\x{code:02x}"),
        0x80..=0xffff => write!(text, "\\u{code:04x}"),
        _ => write!(text, "\\U{code:08x}"),
    };
}

/// Letters, marks, numbers, punctuation and symbols print, and of the spaces only the ASCII one.
fn is_print(character: char) -> bool {
    use GeneralCategory as Category;
    if character.is_ascii() {
        return (' '..='~').contains(&character);
    }
    !matches!(
        get_general_category(character),
        Category::Control
            | Category::Format
            | Category::LineSeparator
            | Category::ParagraphSeparator
            | Category::SpaceSeparator
            | Category::PrivateUse
            | Category::Surrogate
            | Category::Unassigned
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_prints_stays() {
        assert_eq!(
            quote("grüß ✓ 😀 你好 e\u{301} '"),
            "\"grüß ✓ 😀 你好 e\u{301} '\""
        );
        assert_eq!(quote("\u{fffd}"), "\"\u{fffd}\"");
    }

    #[test]
    fn what_does_not_print_is_escaped() {
        assert_eq!(
            quote("\u{7}\u{8}\u{c}\n\r\t\u{b}\0\u{1f}\u{7f}"),
            r#""\a\b\f\n\r\t\v\x00\x1f\x7f""#
        );
        assert_eq!(
            quote("\u{85}\u{a0}\u{ad}\u{200d}\u{2028}\u{feff}"),
            r#""\u0085\u00a0\u00ad\u200d\u2028\ufeff""#
        );
        assert_eq!(quote("\u{e000}\u{10ffff}"), r#""\ue000\U0010ffff""#);
    }

    #[test]
    fn only_the_own_mark_gets_a_backslash() {
        assert_eq!(quote("\"\\"), r#""\"\\""#);
        assert_eq!(quote_char('"'), "'\"'");
        assert_eq!(quote_char('\''), r"'\''");
        assert_eq!(quote_char('\\'), r"'\\'");
        assert_eq!(quote_char(' '), "' '");
    }
}
