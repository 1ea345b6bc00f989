//! The environment that the host gives a server (host facts, section 6).
//!
//! A server inherits next to nothing: a short list of names from the host's own environment, then
//! what its entry sets, and in neither case a name that looks like a secret.

use std::collections::BTreeMap;

/// The variables that are passed on from the host's own environment. Exact names; empty values
/// pass.
pub const PASSED_ON: [&str; 22] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "TMPDIR",
    "LANG",
    "TZ",
    "TERM",
    "LC_ALL",
    "LC_CTYPE",
    "LC_MESSAGES",
    "LC_NUMERIC",
    "LC_TIME",
    "LC_COLLATE",
    "LC_MONETARY",
    "LC_PAPER",
    "LC_NAME",
    "LC_ADDRESS",
    "LC_TELEPHONE",
    "LC_MEASUREMENT",
    "LC_IDENTIFICATION",
];

/// What makes a name look like a secret, once it is in upper case and without `-` and `_`.
const SECRET_PARTS: [&str; 12] = [
    "APIKEY",
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "CREDENTIAL",
    "CREDS",
    "PRIVATEKEY",
    "ACCESSKEY",
    "PASSWD",
    "PASSPHRASE",
    "COOKIE",
    "AUTHORIZATION",
];

/// Why a server cannot be started with an environment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EnvironmentError {
    /// A name or a value holds a NUL, which no process can be given.
    #[error("exec: environment variable contains NUL")]
    ContainsNul {
        /// The configured name.
        name: String,
    },
}

/// Whether the host drops a variable of that name, whatever its value. Harmless names such as
/// `MAX_TOKENS` are dropped, too.
///
/// ```
/// use odek_contract::environment::is_secret_name;
///
/// assert!(is_secret_name("GITHUB_TOKEN") && is_secret_name("api-key"));
/// assert!(!is_secret_name("API.KEY") && !is_secret_name("SIGNING_KEY"));
/// ```
pub fn is_secret_name(name: &str) -> bool {
    let folded: String = name
        .chars()
        .map(upper)
        .filter(|&character| character != '-' && character != '_')
        .collect();
    SECRET_PARTS.iter().any(|part| folded.contains(part))
}

/// Upper case character by character, as the host does it: one that has no single upper-case
/// counterpart stays as it is.
fn upper(character: char) -> char {
    let mut upper = character.to_uppercase();
    match (upper.next(), upper.next()) {
        (Some(single), None) => single,
        _ => character,
    }
}

/// The environment of a server: the names of [`PASSED_ON`] from the host's own environment, then
/// the `env` of the server's entry, where an empty value removes a variable and nothing is
/// expanded. Names that look like secrets are dropped from both.
///
/// A `=` inside a configured name moves into the value, as it does when the process is started.
///
/// # Errors
///
/// When a configured name or value that would be passed holds a NUL.
pub fn child_environment(
    parent: impl IntoIterator<Item = (String, String)>,
    configured: &BTreeMap<String, String>,
) -> Result<BTreeMap<String, String>, EnvironmentError> {
    let mut child: BTreeMap<String, String> = parent
        .into_iter()
        .filter(|(name, _)| PASSED_ON.contains(&name.as_str()) && !is_secret_name(name))
        .collect();
    for (name, value) in configured {
        if value.is_empty() {
            child.remove(name);
        } else if !is_secret_name(name) {
            if name.contains('\0') || value.contains('\0') {
                return Err(EnvironmentError::ContainsNul { name: name.clone() });
            }
            child.insert(name.clone(), value.clone());
        }
    }
    Ok(child
        .into_iter()
        .map(|(name, value)| as_received(name, value))
        .collect())
}

/// The split between name and value that the started process sees: at the first `=`.
fn as_received(name: String, value: String) -> (String, String) {
    match name.split_once('=') {
        Some((name, moved)) => (name.to_owned(), format!("{moved}={value}")),
        None => (name, value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn upper_case_is_per_character() {
        for name in ["\u{17f}ecret", "cook\u{131}e", "To_K-eN"] {
            assert!(is_secret_name(name), "{name}");
        }
        // The sharp s has no single upper-case letter, so it does not become two of them.
        for name in [
            "pa\u{df}word",
            "T\u{d3}KEN",
            "\u{ff34}OKEN",
            "KEY",
            "AUTH",
            "PASS",
        ] {
            assert!(!is_secret_name(name), "{name}");
        }
    }

    #[test]
    fn an_equals_sign_in_a_name_moves_into_the_value() {
        let configured = BTreeMap::from([("A=B".to_owned(), "c".to_owned())]);
        let child = child_environment([], &configured).unwrap();
        assert_eq!(child, BTreeMap::from([("A".to_owned(), "B=c".to_owned())]));

        let configured = BTreeMap::from([("=X".to_owned(), "1".to_owned())]);
        let child = child_environment([], &configured).unwrap();
        assert_eq!(child, BTreeMap::from([(String::new(), "X=1".to_owned())]));
    }

    #[test]
    fn a_nul_is_refused_only_where_it_would_be_passed() {
        let with = |name: &str, value: &str| {
            child_environment([], &BTreeMap::from([(name.to_owned(), value.to_owned())]))
        };
        assert!(with("X", "a\0b").is_err());
        assert!(with("X\0", "a").is_err());
        assert_eq!(with("TOKEN", "a\0b"), Ok(BTreeMap::new()));
    }
}
