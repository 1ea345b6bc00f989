//! Text in messages, quoted as Go's `%q` does.

use std::cmp::Ordering;
use std::fmt::Write;

use unicode_general_category::{GeneralCategory, get_general_category};

/// Code points that Unicode 15.1 and 16.0 assigned, in ascending order.
///
/// The host's language knows Unicode 15.0. To it, these are unassigned and do not print, while the
/// table of general categories used here is newer.
const ASSIGNED_AFTER_UNICODE_15_0: &[(u32, u32)] = &[
    (0x0897, 0x0897),
    (0x1B4E, 0x1B4F),
    (0x1B7F, 0x1B7F),
    (0x1C89, 0x1C8A),
    (0x2427, 0x2429),
    (0x2FFC, 0x2FFF),
    (0x31E4, 0x31E5),
    (0x31EF, 0x31EF),
    (0xA7CB, 0xA7CD),
    (0xA7DA, 0xA7DC),
    (0x105C0, 0x105F3),
    (0x10D40, 0x10D65),
    (0x10D69, 0x10D85),
    (0x10D8E, 0x10D8F),
    (0x10EC2, 0x10EC4),
    (0x10EFC, 0x10EFC),
    (0x11380, 0x11389),
    (0x1138B, 0x1138B),
    (0x1138E, 0x1138E),
    (0x11390, 0x113B5),
    (0x113B7, 0x113C0),
    (0x113C2, 0x113C2),
    (0x113C5, 0x113C5),
    (0x113C7, 0x113CA),
    (0x113CC, 0x113D5),
    (0x113D7, 0x113D8),
    (0x113E1, 0x113E2),
    (0x116D0, 0x116E3),
    (0x11BC0, 0x11BE1),
    (0x11BF0, 0x11BF9),
    (0x11F5A, 0x11F5A),
    (0x13460, 0x143FA),
    (0x16100, 0x16139),
    (0x16D40, 0x16D79),
    (0x18CFF, 0x18CFF),
    (0x1CC00, 0x1CCF9),
    (0x1CD00, 0x1CEB3),
    (0x1E5D0, 0x1E5FA),
    (0x1E5FF, 0x1E5FF),
    (0x1F8B2, 0x1F8BB),
    (0x1F8C0, 0x1F8C1),
    (0x1FA89, 0x1FA89),
    (0x1FA8F, 0x1FA8F),
    (0x1FABE, 0x1FABE),
    (0x1FAC6, 0x1FAC6),
    (0x1FADC, 0x1FADC),
    (0x1FADF, 0x1FADF),
    (0x1FAE9, 0x1FAE9),
    (0x1FBCB, 0x1FBEF),
    (0x2EBF0, 0x2EE5D),
];

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
/// What Unicode 15.0 leaves unassigned does not.
fn is_print(character: char) -> bool {
    use GeneralCategory as Category;
    if character.is_ascii() {
        return (' '..='~').contains(&character);
    }
    let hidden = matches!(
        get_general_category(character),
        Category::Control
            | Category::Format
            | Category::LineSeparator
            | Category::ParagraphSeparator
            | Category::SpaceSeparator
            | Category::PrivateUse
            | Category::Surrogate
            | Category::Unassigned
    );
    !hidden && !is_assigned_after_unicode_15_0(character)
}

fn is_assigned_after_unicode_15_0(character: char) -> bool {
    let code = u32::from(character);
    ASSIGNED_AFTER_UNICODE_15_0
        .binary_search_by(|&(first, last)| {
            if last < code {
                Ordering::Less
            } else if first > code {
                Ordering::Greater
            } else {
                Ordering::Equal
            }
        })
        .is_ok()
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
    fn characters_newer_than_unicode_15_0_do_not_print() {
        assert_eq!(quote("\u{1c89}\u{2ebf0}"), r#""\u1c89\U0002ebf0""#);
        assert_eq!(quote("\u{1c88}\u{1f6dc}"), "\"\u{1c88}\u{1f6dc}\"");
        assert!(
            ASSIGNED_AFTER_UNICODE_15_0
                .windows(2)
                .all(|pair| pair[0].1 < pair[1].0),
            "the table is searched by halving"
        );
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
