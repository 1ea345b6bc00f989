//! URLs, as Go's `net/url` reads them.
//!
//! Not a URL specification: raw spaces and raw letters outside ASCII are taken in a path, and
//! there are own ideas about hosts.

use std::net::Ipv6Addr;

use super::quote;

/// The parts of a URL. All as they were written, except for scheme and path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Url {
    /// Lower-cased; empty when there is none.
    pub(crate) scheme: String,
    /// What follows the scheme when it does not begin with a slash.
    pub(crate) opaque: String,
    /// User name and password, possibly empty; `None` without an `@`.
    pub(crate) user: Option<String>,
    /// Host and port.
    pub(crate) host: String,
    /// Percent-decoded once, so not necessarily UTF-8.
    pub(crate) path: Vec<u8>,
    pub(crate) query: String,
    pub(crate) fragment: String,
}

/// Why a text is no URL. Worded as the host's language words it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("parse {}: {problem}", quote(url))]
pub struct UrlError {
    /// The text up to its fragment, or the whole text when the fragment is at fault.
    pub url: String,
    problem: Problem,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum Problem {
    #[error("net/url: invalid control character in URL")]
    ControlCharacter,
    #[error("missing protocol scheme")]
    MissingScheme,
    #[error("first path segment in URL cannot contain colon")]
    ColonInFirstSegment,
    #[error("invalid URL escape {}", quote(.0))]
    Escape(String),
    #[error("invalid character {} in host name", quote(.0))]
    HostCharacter(String),
    #[error("invalid port {} after host", quote(.0))]
    Port(String),
    #[error("missing ']' in host")]
    UnclosedBracket,
    #[error("invalid host: {} is no IPv6 address", quote(.0))]
    BracketedHost(String),
    #[error("net/url: invalid userinfo")]
    UserInfo,
}

impl Url {
    /// Take a text apart.
    ///
    /// # Errors
    ///
    /// [`UrlError`] for control characters, bad percent escapes, a malformed scheme or host.
    pub(crate) fn parse(text: &str) -> Result<Self, UrlError> {
        let (main, fragment) = text.split_once('#').unwrap_or((text, ""));
        let fail = |url: &str, problem| UrlError {
            url: url.to_owned(),
            problem,
        };
        let url = parse_main(main).map_err(|problem| fail(main, problem))?;
        check_escapes(fragment).map_err(|problem| fail(text, problem))?;
        Ok(Self {
            fragment: fragment.to_owned(),
            ..url
        })
    }
}

/// Everything in front of the fragment.
fn parse_main(text: &str) -> Result<Url, Problem> {
    if text.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
        return Err(Problem::ControlCharacter);
    }
    let (scheme, rest) = split_scheme(text)?;
    // A single question mark with nothing behind it counts for nothing.
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let url = Url {
        scheme: scheme.to_ascii_lowercase(),
        query: query.to_owned(),
        ..Url::default()
    };
    if !rest.starts_with('/') {
        return parse_rootless(url, rest);
    }
    // Without a scheme, three slashes are a path; with one they are an empty authority.
    let has_authority = rest.starts_with("//") && (!scheme.is_empty() || !rest.starts_with("///"));
    let (authority, path) = if has_authority {
        split_authority(rest)
    } else {
        ("", rest)
    };
    let (user, host) = parse_authority(authority)?;
    Ok(Url {
        user,
        host,
        path: decode_path(path)?,
        ..url
    })
}

/// What follows the scheme has no slash in front: opaque with a scheme, a relative path without.
fn parse_rootless(url: Url, rest: &str) -> Result<Url, Problem> {
    if !url.scheme.is_empty() {
        return Ok(Url {
            opaque: rest.to_owned(),
            ..url
        });
    }
    let first_segment = rest.split('/').next().unwrap_or_default();
    if first_segment.contains(':') {
        return Err(Problem::ColonInFirstSegment);
    }
    Ok(Url {
        path: decode_path(rest)?,
        ..url
    })
}

/// Splits at the colon behind a scheme. Anything that cannot be a scheme is left to the path.
fn split_scheme(text: &str) -> Result<(&str, &str), Problem> {
    for (index, byte) in text.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if index > 0 => {}
            b':' if index == 0 => return Err(Problem::MissingScheme),
            b':' => return Ok((&text[..index], &text[index + 1..])),
            _ => break,
        }
    }
    Ok(("", text))
}

/// Splits `//authority/path` behind the authority.
fn split_authority(rest: &str) -> (&str, &str) {
    let authority = &rest[2..];
    match authority.find('/') {
        Some(slash) => authority.split_at(slash),
        None => (authority, ""),
    }
}

/// The user and the host that an authority names.
fn parse_authority(authority: &str) -> Result<(Option<String>, String), Problem> {
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) => (Some(user), host),
        None => (None, authority),
    };
    check_host(host)?;
    if let Some(user) = user {
        check_user(user)?;
    }
    Ok((user.map(str::to_owned), host.to_owned()))
}

fn check_user(user: &str) -> Result<(), Problem> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-._:~!$&'()*+,;=%@".contains(c);
    if !user.chars().all(allowed) {
        return Err(Problem::UserInfo);
    }
    check_escapes(user)
}

fn check_host(host: &str) -> Result<(), Problem> {
    if let Some(open) = host.rfind('[') {
        let close = host.rfind(']').ok_or(Problem::UnclosedBracket)?;
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
fn check_port(port: &str) -> Result<(), Problem> {
    let well_formed = match port.strip_prefix(':') {
        Some(digits) => digits.bytes().all(|byte| byte.is_ascii_digit()),
        None => port.is_empty(),
    };
    if well_formed {
        Ok(())
    } else {
        Err(Problem::Port(port.to_owned()))
    }
}

/// Brackets hold an IPv6 address, with an optional zone behind `%25`.
fn check_bracketed(host: &str) -> Result<(), Problem> {
    let (address, zone) = match host.find("%25") {
        Some(percent) => host.split_at(percent),
        None => (host, ""),
    };
    check_host_characters(address, HostPart::Name)?;
    check_host_characters(zone, HostPart::Zone)?;
    if address.parse::<Ipv6Addr>().is_err() || zone == "%25" {
        return Err(Problem::BracketedHost(host.to_owned()));
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

fn check_host_characters(host: &str, part: HostPart) -> Result<(), Problem> {
    check_escapes(host)?;
    let bytes = host.as_bytes();
    for (index, &byte) in bytes.iter().enumerate() {
        if byte == b'%' {
            let escape = &host[index..index + 3];
            if !may_be_escaped(escape, part) {
                return Err(Problem::Escape(escape.to_owned()));
            }
        } else if !may_be_raw(byte) {
            return Err(Problem::HostCharacter(char::from(byte).to_string()));
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
fn check_escapes(text: &str) -> Result<(), Problem> {
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
            return Err(Problem::Escape(escape.into_owned()));
        }
        index += 3;
    }
    Ok(())
}

/// Percent-decodes a path once; `%2F` becomes a separator like any other.
fn decode_path(path: &str) -> Result<Vec<u8>, Problem> {
    check_escapes(path)?;
    Ok(percent_encoding::percent_decode_str(path).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn the_parts_of_a_url() {
        let url = parse("HTTPS://u:p@host.test:80/a%20b?q=1#frag");
        assert_eq!(url.scheme, "https");
        assert_eq!(url.user.as_deref(), Some("u:p"));
        assert_eq!(url.host, "host.test:80");
        assert_eq!(url.path, b"/a b");
        assert_eq!((url.query.as_str(), url.fragment.as_str()), ("q=1", "frag"));
        assert_eq!(parse("mailto:a@b").opaque, "a@b");
        assert_eq!(parse("http://@h/").user.as_deref(), Some(""));
    }

    fn problem(text: &str) -> String {
        Url::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn no_scheme_is_no_error_of_the_parser() {
        for text in ["", "/a", "a/b", "//h/a", "///a", "*", "+/x"] {
            assert_eq!(parse(text).scheme, "", "{text}");
        }
    }

    #[test]
    fn complaints_in_the_words_of_the_library() {
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

    proptest! {
        #[test]
        fn parsing_never_panics(text in "\\PC*") {
            let _ = Url::parse(&text);
        }

        #[test]
        fn parsing_odd_urls_never_panics(text in r"(file|FILE|a1|)(:|)(//|/|)[%@:\[\]/?#a-f0-9é.\x00-\x20]{0,24}") {
            let _ = Url::parse(&text);
        }
    }
}
