//! `file:` URIs: reading them the way the host's URL parser does, and writing them so that it
//! accepts every file name.
//!
//! Only what decides about a reference is kept of a parsed URI. The parser follows the host's
//! standard library, not a URI specification: it takes raw spaces and raw letters outside ASCII,
//! and it has its own ideas about hosts (host facts, section 10, checks 3 to 6).

use std::net::Ipv6Addr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};

use crate::go;

/// Bytes of a path that stay as they are in a URI; everything else is percent-encoded.
const ESCAPED_IN_PATH: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'/')
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// What the host's URL parser makes of a URI, as far as artifact validation looks at it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ParsedUri {
    /// Lower-cased; empty when there is none.
    pub(crate) scheme: String,
    pub(crate) shape: UriShape,
    /// Percent-decoded once, so not necessarily UTF-8.
    pub(crate) path: Vec<u8>,
}

/// Whether a URI has any part beside scheme and path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UriShape {
    /// Scheme and path only.
    Plain,
    /// A host, user part, query or fragment is there, or the path has no slash in front.
    WithOtherParts,
}

/// Why the host's URL parser does not accept a URI.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("parse {}: {problem}", go::quote(uri))]
pub struct UriParseError {
    /// The URI up to its fragment, or the whole URI when the fragment is at fault.
    pub uri: String,
    problem: UriProblem,
}

/// The parser's complaint, in the host's words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum UriProblem {
    #[error("net/url: invalid control character in URL")]
    ControlCharacter,
    #[error("missing protocol scheme")]
    MissingScheme,
    #[error("first path segment in URL cannot contain colon")]
    ColonInFirstSegment,
    #[error("invalid URL escape {}", go::quote(.0))]
    Escape(String),
    #[error("invalid character {} in host name", go::quote(.0))]
    HostCharacter(String),
    #[error("invalid port {} after host", go::quote(.0))]
    Port(String),
    #[error("missing ']' in host")]
    UnclosedBracket,
    #[error("invalid host: {} is no IPv6 address", go::quote(.0))]
    BracketedHost(String),
    #[error("net/url: invalid userinfo")]
    UserInfo,
}

impl ParsedUri {
    /// Parses a URI.
    ///
    /// # Errors
    ///
    /// [`UriParseError`] for control characters, bad percent escapes, a malformed scheme or host.
    pub(crate) fn parse(uri: &str) -> Result<Self, UriParseError> {
        let (main, fragment) = uri.split_once('#').unwrap_or((uri, ""));
        let fail = |uri: &str, problem| UriParseError {
            uri: uri.to_owned(),
            problem,
        };
        let mut parsed = parse_main(main).map_err(|problem| fail(main, problem))?;
        check_escapes(fragment).map_err(|problem| fail(uri, problem))?;
        if !fragment.is_empty() {
            parsed.shape = UriShape::WithOtherParts;
        }
        Ok(parsed)
    }
}

/// Everything in front of the fragment.
fn parse_main(uri: &str) -> Result<ParsedUri, UriProblem> {
    if uri.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
        return Err(UriProblem::ControlCharacter);
    }
    let (scheme, rest) = split_scheme(uri)?;
    let scheme = scheme.to_ascii_lowercase();
    let (rest, query) = split_query(rest);
    let with_query = !query.is_empty();

    if !rest.starts_with('/') {
        return parse_rootless(scheme, rest, with_query);
    }
    // Without a scheme, three slashes are a path; with one they are an empty authority.
    let has_authority = rest.starts_with("//") && (!scheme.is_empty() || !rest.starts_with("///"));
    let (authority, path) = if has_authority {
        split_authority(rest)
    } else {
        ("", rest)
    };
    let named_host = parse_authority(authority)?;
    let shape = if named_host || with_query {
        UriShape::WithOtherParts
    } else {
        UriShape::Plain
    };
    Ok(ParsedUri {
        scheme,
        shape,
        path: decode_path(path)?,
    })
}

/// What follows the scheme has no slash in front: opaque with a scheme, a relative path without.
fn parse_rootless(scheme: String, rest: &str, with_query: bool) -> Result<ParsedUri, UriProblem> {
    let shape = |other: bool| {
        if other {
            UriShape::WithOtherParts
        } else {
            UriShape::Plain
        }
    };
    if !scheme.is_empty() {
        let shape = shape(with_query || !rest.is_empty());
        return Ok(ParsedUri {
            scheme,
            shape,
            path: Vec::new(),
        });
    }
    let first_segment = rest.split('/').next().unwrap_or_default();
    if first_segment.contains(':') {
        return Err(UriProblem::ColonInFirstSegment);
    }
    Ok(ParsedUri {
        scheme,
        shape: shape(with_query),
        path: decode_path(rest)?,
    })
}

/// Splits at the colon behind a scheme. Anything that cannot be a scheme is left to the path.
fn split_scheme(uri: &str) -> Result<(&str, &str), UriProblem> {
    for (index, byte) in uri.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if index > 0 => {}
            b':' if index == 0 => return Err(UriProblem::MissingScheme),
            b':' => return Ok((&uri[..index], &uri[index + 1..])),
            _ => break,
        }
    }
    Ok(("", uri))
}

/// Splits off the query. A single question mark with nothing behind it counts for nothing.
fn split_query(rest: &str) -> (&str, &str) {
    rest.split_once('?').unwrap_or((rest, ""))
}

/// Splits `//authority/path` behind the authority.
fn split_authority(rest: &str) -> (&str, &str) {
    let authority = &rest[2..];
    match authority.find('/') {
        Some(slash) => authority.split_at(slash),
        None => (authority, ""),
    }
}

/// Checks an authority and tells whether it names a host or a user, be it an empty one.
fn parse_authority(authority: &str) -> Result<bool, UriProblem> {
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) => (Some(user), host),
        None => (None, authority),
    };
    check_host(host)?;
    if let Some(user) = user {
        check_user(user)?;
    }
    Ok(user.is_some() || !host.is_empty())
}

fn check_user(user: &str) -> Result<(), UriProblem> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-._:~!$&'()*+,;=%@".contains(c);
    if !user.chars().all(allowed) {
        return Err(UriProblem::UserInfo);
    }
    check_escapes(user)
}

fn check_host(host: &str) -> Result<(), UriProblem> {
    if let Some(open) = host.rfind('[') {
        let close = host.rfind(']').ok_or(UriProblem::UnclosedBracket)?;
        let port = &host[close + 1..];
        check_port(port)?;
        return check_bracketed(host.get(open + 1..close).unwrap_or_default());
    }
    if let Some(colon) = host.rfind(':') {
        check_port(&host[colon..])?;
    }
    check_host_characters(host, HostPart::Name)
}

/// A port is a colon and any number of digits, none included; or nothing at all.
fn check_port(port: &str) -> Result<(), UriProblem> {
    let well_formed = match port.strip_prefix(':') {
        Some(digits) => digits.bytes().all(|byte| byte.is_ascii_digit()),
        None => port.is_empty(),
    };
    if well_formed {
        Ok(())
    } else {
        Err(UriProblem::Port(port.to_owned()))
    }
}

/// Brackets hold an IPv6 address, with an optional zone behind `%25`.
fn check_bracketed(host: &str) -> Result<(), UriProblem> {
    let (address, zone) = match host.find("%25") {
        Some(percent) => host.split_at(percent),
        None => (host, ""),
    };
    check_host_characters(address, HostPart::Name)?;
    check_host_characters(zone, HostPart::Zone)?;
    if address.parse::<Ipv6Addr>().is_err() || zone == "%25" {
        return Err(UriProblem::BracketedHost(host.to_owned()));
    }
    Ok(())
}

/// The parts of a host differ in what may be percent-encoded.
#[derive(Clone, Copy, PartialEq, Eq)]
enum HostPart {
    /// Only bytes outside ASCII, and the percent sign.
    Name,
    /// Also what could stand there raw, and the space.
    Zone,
}

fn check_host_characters(host: &str, part: HostPart) -> Result<(), UriProblem> {
    check_escapes(host)?;
    let bytes = host.as_bytes();
    for (index, &byte) in bytes.iter().enumerate() {
        if byte == b'%' {
            let escape = &host[index..index + 3];
            if !may_be_escaped(escape, part) {
                return Err(UriProblem::Escape(escape.to_owned()));
            }
        } else if !may_be_raw(byte) {
            return Err(UriProblem::HostCharacter(char::from(byte).to_string()));
        }
    }
    Ok(())
}

fn may_be_escaped(escape: &str, part: HostPart) -> bool {
    let value = u8::from_str_radix(&escape[1..], 16).unwrap_or_default();
    match part {
        _ if escape == "%25" => true,
        HostPart::Name => !value.is_ascii(),
        HostPart::Zone => value == b' ' || (value.is_ascii() && may_be_raw(value)),
    }
}

fn may_be_raw(byte: u8) -> bool {
    !byte.is_ascii() || byte.is_ascii_alphanumeric() || b"!$&'()*+,;=:[]<>\"-_.~".contains(&byte)
}

/// Every percent sign has two hex digits behind it.
fn check_escapes(text: &str) -> Result<(), UriProblem> {
    let bytes = text.as_bytes();
    let mut index = 0;
    while index < bytes.len() {
        if bytes[index] != b'%' {
            index += 1;
            continue;
        }
        let digits = bytes.get(index + 1..index + 3);
        if !digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)) {
            let end = bytes.len().min(index + 3);
            let escape = String::from_utf8_lossy(&bytes[index..end]);
            return Err(UriProblem::Escape(escape.into_owned()));
        }
        index += 3;
    }
    Ok(())
}

/// Percent-decodes a path once; `%2F` becomes a separator like any other.
fn decode_path(path: &str) -> Result<Vec<u8>, UriProblem> {
    check_escapes(path)?;
    Ok(percent_encoding::percent_decode_str(path).collect())
}

/// Whether an absolute path has no empty, `.` or `..` element and no slash at its end.
pub(crate) fn is_clean(path: &[u8]) -> bool {
    path == b"/"
        || path
            .split(|byte| *byte == b'/')
            .skip(1)
            .all(|element| !matches!(element, b"" | b"." | b".."))
}

/// Why a path cannot be written as the URI of an artifact.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileUriError {
    /// The host only takes absolute paths.
    #[error("path {} is not absolute", .0.display())]
    NotAbsolute(std::path::PathBuf),
    /// The host refuses `//`, `.`, `..` and a slash at the end, also when they are encoded.
    #[error("path {} has an empty, \".\" or \"..\" element or a slash at its end", .0.display())]
    NotClean(std::path::PathBuf),
    /// No file can have such a name.
    #[error("path {} holds a NUL byte", .0.display())]
    HoldsNul(std::path::PathBuf),
}

/// The `file://` URI of an absolute, clean path, in the form that the host accepts for every file
/// name (host facts, section 10, checks 3 to 6).
///
/// Letters, digits, `-`, `.`, `_`, `~` and `/` stay; every other byte is percent-encoded, so
/// spaces, `%`, `#`, `?`, line feeds and bytes that are no UTF-8 all survive.
///
/// ```
/// use std::path::Path;
/// use odek_contract::artifact::{FileUriError, file_uri};
///
/// let uri = file_uri(Path::new("/var/out/100% done?.txt"))?;
/// assert_eq!(uri, "file:///var/out/100%25%20done%3F.txt");
/// assert!(matches!(file_uri(Path::new("out/a.txt")), Err(FileUriError::NotAbsolute(_))));
/// # Ok::<(), FileUriError>(())
/// ```
///
/// # Errors
///
/// [`FileUriError`] when the path is relative, not clean or holds a NUL byte. Nothing is read from
/// the file system; in particular symbolic links stay as they are.
pub fn file_uri(path: &Path) -> Result<String, FileUriError> {
    let bytes = path.as_os_str().as_bytes();
    if !bytes.starts_with(b"/") {
        return Err(FileUriError::NotAbsolute(path.to_owned()));
    }
    if !is_clean(bytes) {
        return Err(FileUriError::NotClean(path.to_owned()));
    }
    if bytes.contains(&0) {
        return Err(FileUriError::HoldsNul(path.to_owned()));
    }
    Ok(format!("file://{}", percent_encode(bytes, ESCAPED_IN_PATH)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::ffi::OsStr;

    fn parse(uri: &str) -> ParsedUri {
        ParsedUri::parse(uri).unwrap()
    }

    fn problem(uri: &str) -> String {
        ParsedUri::parse(uri).unwrap_err().to_string()
    }

    #[test]
    fn plain_file_uris() {
        for uri in [
            "file:///a/b",
            "file:/a/b",
            "FILE:///a/b",
            "file:///a/b?",
            "file:///a/b#",
        ] {
            let parsed = parse(uri);
            assert_eq!(parsed.scheme, "file", "{uri}");
            assert_eq!(parsed.shape, UriShape::Plain, "{uri}");
            assert_eq!(parsed.path, b"/a/b", "{uri}");
        }
    }

    #[test]
    fn other_parts_are_noticed() {
        for uri in [
            "file://host/a",
            "file://localhost/a",
            "file://@/a",
            "file://u:p@h/a",
            "file://:80/a",
            "file://:/a",
            "file://[::1]/a",
            "file://[fe80::1%25eth0]:9/a",
            "file://h%C3%A9/a",
            "file:///a?v",
            "file:///a??",
            "file:///a#f",
            "file:///a#\u{1}",
            "file:///a?v#",
            "file:a/b",
            "file:a",
        ] {
            assert_eq!(parse(uri).shape, UriShape::WithOtherParts, "{uri}");
        }
    }

    #[test]
    fn a_scheme_alone_has_an_empty_path() {
        for uri in ["file:", "file://", "file:?", "file:#"] {
            let parsed = parse(uri);
            assert_eq!(
                (parsed.shape, parsed.path),
                (UriShape::Plain, Vec::new()),
                "{uri}"
            );
        }
    }

    #[test]
    fn no_scheme_is_no_error_of_the_parser() {
        for uri in ["", "/a", "a/b", "//h/a", "///a", "*", "+/x"] {
            assert_eq!(parse(uri).scheme, "", "{uri}");
        }
    }

    #[test]
    fn complaints_in_the_words_of_the_host() {
        assert_eq!(problem("://x"), r#"parse "://x": missing protocol scheme"#);
        assert_eq!(
            problem("file:///a%"),
            r#"parse "file:///a%": invalid URL escape "%""#
        );
        assert_eq!(
            problem("file:///a%2"),
            r#"parse "file:///a%2": invalid URL escape "%2""#
        );
        assert_eq!(
            problem("file:///a%zzb"),
            r#"parse "file:///a%zzb": invalid URL escape "%zz""#
        );
        assert_eq!(
            problem("file://%41/a"),
            r#"parse "file://%41/a": invalid URL escape "%41""#
        );
        assert_eq!(
            problem("file:///a#%"),
            r#"parse "file:///a#%": invalid URL escape "%""#
        );
        assert_eq!(
            problem("file://a b/c"),
            r#"parse "file://a b/c": invalid character " " in host name"#
        );
        assert_eq!(
            problem("file://h:x/c"),
            r#"parse "file://h:x/c": invalid port ":x" after host"#
        );
        assert_eq!(
            problem("file://[::1/c"),
            r#"parse "file://[::1/c": missing ']' in host"#
        );
        assert_eq!(
            problem("file://u<@h/c"),
            r#"parse "file://u<@h/c": net/url: invalid userinfo"#
        );
        assert_eq!(
            problem("1a:b/c"),
            r#"parse "1a:b/c": first path segment in URL cannot contain colon"#
        );
        assert_eq!(
            problem("file:///a\nb"),
            r#"parse "file:///a\nb": net/url: invalid control character in URL"#
        );
        assert!(problem("file://[zz]/c").contains("invalid host"));
        assert!(problem("file://]a[/c").contains("invalid port"));
    }

    #[test]
    fn a_cut_escape_inside_a_character_is_reported_without_panic() {
        assert!(problem("file:///a%é").contains("invalid URL escape"));
        assert!(problem("file://%é/a").contains("invalid URL escape"));
    }

    #[test]
    fn unusable_paths_have_no_uri() {
        let error = |path: &str| file_uri(Path::new(path)).unwrap_err();
        assert!(matches!(error("a/b"), FileUriError::NotAbsolute(_)));
        assert!(matches!(error(""), FileUriError::NotAbsolute(_)));
        for path in ["/a/", "/a//b", "/a/./b", "/a/../b", "/a/..", "//", "/."] {
            assert!(matches!(error(path), FileUriError::NotClean(_)), "{path}");
        }
        assert!(matches!(error("/a\0b"), FileUriError::HoldsNul(_)));
    }

    proptest! {
        #[test]
        fn parsing_never_panics(uri in "\\PC*") {
            let _ = ParsedUri::parse(&uri);
        }

        #[test]
        fn parsing_odd_uris_never_panics(uri in r"(file|FILE|a1|)(:|)(//|/|)[%@:\[\]/?#a-f0-9é.\x00-\x20]{0,24}") {
            let _ = ParsedUri::parse(&uri);
        }

        #[test]
        fn every_file_name_has_a_uri_that_reads_back(
            name in proptest::collection::vec(
                any::<u8>().prop_filter("not in a file name", |b| *b != 0 && *b != b'/'),
                1..40,
            ),
        ) {
            prop_assume!(name != b"." && name != b"..");
            let path = [b"/some/folder/", name.as_slice()].concat();
            let uri = file_uri(Path::new(OsStr::from_bytes(&path))).unwrap();
            let parsed = ParsedUri::parse(&uri).unwrap();
            prop_assert_eq!(parsed.scheme, "file");
            prop_assert_eq!(parsed.shape, UriShape::Plain);
            prop_assert!(is_clean(&parsed.path));
            prop_assert_eq!(parsed.path, path);
        }
    }
}
