//! How the host's language does it.
//!
//! odek is written in Go, and some of what an extension or an emulated host has to get exactly
//! right is the behaviour of Go's own library: what its JSON decoder accepts, how it writes JSON,
//! how it quotes text in messages, what it takes for a URL. That lives here, and nothing that is odek's own.

mod encode;
mod json;
mod quote;
mod url;

pub use encode::arguments_from_model_text;
pub use json::{Json, JsonError, MAX_DEPTH};
pub use quote::{quote, quote_char};
pub(crate) use url::Url;
pub use url::UrlError;

/// Whether the member name `member` of a JSON object stands for the ASCII field name `field`: in
/// any letter case, where the long s (U+017F) and the kelvin sign (U+212A) are letter cases of `s`
/// and `k` (host facts, section 3).
pub fn fold_equal(member: &str, field: &str) -> bool {
    member.chars().map(fold).eq(field.chars().map(fold))
}

fn fold(character: char) -> char {
    match character {
        '\u{17f}' => 's',
        '\u{212a}' => 'k',
        other => other.to_ascii_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn member_names_match_in_any_letter_case() {
        for member in ["schema", "SCHEMA", "Schema", "\u{17f}chema"] {
            assert!(fold_equal(member, "schema"), "{member}");
        }
        assert!(fold_equal("to\u{212a}en_env", "token_env"));
        for member in ["schem", "schemaa", "sch\u{e9}ma", "schema ", "ſſchema"] {
            assert!(!fold_equal(member, "schema"), "{member}");
        }
    }
}
