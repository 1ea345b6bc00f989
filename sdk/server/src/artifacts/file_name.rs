//! Names of the files below an artifact root.
//!
//! A finished artifact is `SLUG.odek-TOKEN[.EXTENSION]`, one that is being written is
//! `.SLUG.odek-TOKEN.part`. The slug comes from the artifact's id and makes a listing readable; the
//! token is what makes the name unique; `.odek-` and the token's form are how retention tells the
//! store's own files from those of others.

use std::ffi::OsStr;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Longest slug in bytes. With token and extension a name stays well below the 255 bytes that file
/// systems take.
const MAX_SLUG_BYTES: usize = 64;
/// Longest extension in bytes, without its dot; a longer one is rather the end of a sentence.
const MAX_EXTENSION_BYTES: usize = 16;
const MARKER: &str = ".odek-";
const TOKEN_DIGITS: usize = 16;
const TEMPORARY_EXTENSION: &str = "part";

/// Sixteen hex digits that no other artifact has.
///
/// The keys of [`RandomState`] come from the operating system and differ in every process; time,
/// process id and a counter make two tokens of one process differ whatever the keys are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token(String);

impl Token {
    pub(super) fn unique() -> Self {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        let mut hasher = RandomState::new().build_hasher();
        hasher.write_u64(COUNTER.fetch_add(1, Ordering::Relaxed));
        hasher.write_u32(std::process::id());
        if let Ok(since) = SystemTime::now().duration_since(UNIX_EPOCH) {
            hasher.write_u128(since.as_nanos());
        }
        Self(format!("{:0TOKEN_DIGITS$x}", hasher.finish()))
    }
}

/// Name of a file that is still being written.
pub(super) fn temporary(id: &str, token: &Token) -> String {
    format!(".{}{MARKER}{}.{TEMPORARY_EXTENSION}", slug(id), token.0)
}

/// Name of a finished artifact. An id that already ends in the extension does not repeat it.
pub(super) fn finished(id: &str, token: &Token, extension: Option<&str>) -> String {
    let Some(extension) = extension else {
        return format!("{}{MARKER}{}", slug(id), token.0);
    };
    let stem = id
        .strip_suffix(extension)
        .and_then(|stem| stem.strip_suffix('.'))
        .filter(|stem| !stem.is_empty())
        .unwrap_or(id);
    format!("{}{MARKER}{}.{extension}", slug(stem), token.0)
}

/// What a file below the root is, told by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OwnFile {
    /// An artifact.
    Finished,
    /// A file that is being written, or that a killed writer left.
    Temporary,
}

/// Recognises the names that this module makes, and nothing else.
pub(super) fn recognise(name: &str) -> Option<OwnFile> {
    let (slug, rest) = name.rsplit_once(MARKER)?;
    let (token, rest) = rest.split_at_checked(TOKEN_DIGITS)?;
    let is_token = token
        .bytes()
        .all(|b| b.is_ascii_digit() || matches!(b, b'a'..=b'f'));
    if !is_token {
        return None;
    }
    if let Some(slug) = slug.strip_prefix('.') {
        let is_own = is_slug(slug) && rest.strip_prefix('.') == Some(TEMPORARY_EXTENSION);
        return is_own.then_some(OwnFile::Temporary);
    }
    let is_extension = |text: &str| text.split('.').all(is_extension);
    let is_own =
        is_slug(slug) && (rest.is_empty() || rest.strip_prefix('.').is_some_and(is_extension));
    is_own.then_some(OwnFile::Finished)
}

/// The extension of a file name, when it is one that can be kept.
pub(super) fn extension_of(name: &OsStr) -> Option<&str> {
    let extension = Path::new(name).extension()?.to_str()?;
    is_extension(extension).then_some(extension)
}

fn is_extension(text: &str) -> bool {
    (1..=MAX_EXTENSION_BYTES).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric())
}

/// The readable part of a name: ASCII letters, digits, `-`, `_` and inner dots of the id; every run
/// of anything else is one `-`.
fn slug(id: &str) -> String {
    let mut slug = String::new();
    for c in id.chars() {
        let c = if is_slug_char(c) { c } else { '-' };
        let repeats = matches!(c, '-' | '.') && slug.ends_with(['-', '.']);
        if !repeats {
            slug.push(c);
        }
    }
    let slug = slug.trim_start_matches(['-', '.']);
    let slug = slug[..slug.len().min(MAX_SLUG_BYTES)].trim_end_matches(['-', '.']);
    if slug.is_empty() {
        "artifact".to_owned()
    } else {
        slug.to_owned()
    }
}

fn is_slug_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}

fn is_slug(text: &str) -> bool {
    slug(text) == text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn token() -> Token {
        Token("00c0ffee00c0ffee".to_owned())
    }

    #[test]
    fn names_are_readable() {
        let name = |id, extension| finished(id, &token(), extension);
        assert_eq!(
            name("report-1", Some("xml")),
            "report-1.odek-00c0ffee00c0ffee.xml"
        );
        assert_eq!(
            name("junit.xml", Some("xml")),
            "junit.odek-00c0ffee00c0ffee.xml"
        );
        assert_eq!(name("log", None), "log.odek-00c0ffee00c0ffee");
        assert_eq!(
            name("../../etc/passwd", None),
            "etc-passwd.odek-00c0ffee00c0ffee"
        );
        assert_eq!(
            name("CI run #4 (full)", Some("xml.gz")),
            "CI-run-4-full.odek-00c0ffee00c0ffee.xml.gz"
        );
        assert_eq!(name("報告", None), "artifact.odek-00c0ffee00c0ffee");
        assert_eq!(
            temporary("report-1", &token()),
            ".report-1.odek-00c0ffee00c0ffee.part"
        );
    }

    #[test]
    fn names_of_others_are_not_recognised() {
        for name in [
            "",
            ".",
            "report.xml",
            "report.odek-",
            "report.odek-00c0ffee",
            "report.odek-00C0FFEE00C0FFEE.xml",
            "report.odek-00c0ffee00c0ffee.",
            "report.odek-00c0ffee00c0ffee.x/y",
            "report.odek-00c0ffee00c0ffeexml",
            ".odek-00c0ffee00c0ffee.xml",
            ".report.odek-00c0ffee00c0ffee.xml",
            ".report.odek-00c0ffee00c0ffee",
            "my report.odek-00c0ffee00c0ffee.xml",
        ] {
            assert_eq!(recognise(name), None, "{name:?}");
        }
    }

    #[test]
    fn tokens_differ() {
        let tokens: std::collections::HashSet<_> = (0..1000).map(|_| Token::unique().0).collect();
        assert_eq!(tokens.len(), 1000);
    }

    #[test]
    fn odd_extensions_are_dropped() {
        assert_eq!(extension_of(OsStr::new("a.tar.gz")), Some("gz"));
        for name in [
            "a",
            ".bashrc",
            "a.",
            "a.b c",
            "a.ünder",
            "a.averyveryverylongend",
        ] {
            assert_eq!(extension_of(OsStr::new(name)), None, "{name:?}");
        }
    }

    proptest! {
        #[test]
        fn every_made_name_is_recognised_and_stays_in_the_root(
            id in any::<String>(),
            extension in proptest::option::of("[a-z0-9]{1,8}(\\.gz)?"),
        ) {
            let token = Token::unique();
            let name = finished(&id, &token, extension.as_deref());
            prop_assert_eq!(recognise(&name), Some(OwnFile::Finished));
            prop_assert!(!name.contains('/') && !name.starts_with('.') && name.len() < 200);
            let name = temporary(&id, &token);
            prop_assert_eq!(recognise(&name), Some(OwnFile::Temporary));
            prop_assert!(!name.contains('/') && name.len() < 200);
        }
    }
}
