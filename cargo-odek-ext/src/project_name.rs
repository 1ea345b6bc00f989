//! The name of an extension. It is the name of the cargo package and of the binary, and the key
//! of the `mcp_servers` entry, so it must satisfy the rules of both.

use std::fmt;

use odek_contract::names::{self, ServerName};
use serde::Serialize;
use thiserror::Error;

/// Crates that a scaffold depends on: a package cannot depend on one of its own name. Those of a
/// checkout cannot even lie deeper, since cargo's lock file then tells neither from the other.
const DEPENDENCIES: [&str; 5] = [
    "odek-contract",
    "odek-host",
    "odek-sdk",
    "odek-sdk-macros",
    "quick-xml",
];

/// Names that cargo refuses, or warns about, because the standard library or the compiler uses
/// them. A scaffold uses these crates, so a second one of the name would break it.
const STANDARD_LIBRARY: [&str; 6] = ["alloc", "core", "proc-macro", "proc_macro", "std", "test"];

/// Directories below `target/debug` that a binary of the name would collide with.
const BUILD_DIRECTORIES: [&str; 4] = ["build", "deps", "examples", "incremental"];

/// Strict and reserved words of all editions.
const KEYWORDS: [&str; 53] = [
    "Self", "abstract", "as", "async", "await", "become", "box", "break", "const", "continue",
    "crate", "do", "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if",
    "impl", "in", "let", "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub",
    "ref", "return", "self", "static", "struct", "super", "trait", "true", "try", "type", "typeof",
    "union", "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];

/// File names that Windows keeps for devices, in lower case.
const WINDOWS_DEVICES: [&str; 22] = [
    "aux", "com1", "com2", "com3", "com4", "com5", "com6", "com7", "com8", "com9", "con", "lpt1",
    "lpt2", "lpt3", "lpt4", "lpt5", "lpt6", "lpt7", "lpt8", "lpt9", "nul", "prn",
];

/// A name that cargo and odek both accept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub(crate) struct ProjectName(String);

impl ProjectName {
    /// Checks a name against cargo's rules for packages and odek's rule for servers.
    ///
    /// # Errors
    ///
    /// Fails with the first rule that the name breaks.
    pub(crate) fn new(name: &str) -> Result<Self, NameError> {
        match problem(name) {
            None => Ok(Self(name.to_owned())),
            Some(problem) => Err(NameError {
                name: name.to_owned(),
                problem,
                suggestion: suggestion(name),
            }),
        }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// What is allowed but unwise about the name.
    pub(crate) fn warning(&self) -> Option<String> {
        if WINDOWS_DEVICES.contains(&self.0.to_ascii_lowercase().as_str()) {
            return Some(format!(
                "`{self}` is a reserved file name on Windows; the extension will not build there"
            ));
        }
        if self.0.bytes().any(|byte| byte.is_ascii_uppercase()) {
            return Some(format!(
                "`{self}` has capital letters; cargo packages are usually named in kebab-case \
                 or snake_case"
            ));
        }
        None
    }

    /// The name as people write it: `log-analyzer` becomes `Log analyzer`.
    pub(crate) fn display_name(&self) -> String {
        let words = self.0.replace(['-', '_'], " ");
        let words = words.trim();
        let mut letters = words.chars();
        match letters.next() {
            Some(first) => first.to_ascii_uppercase().to_string() + letters.as_str(),
            None => self.0.clone(),
        }
    }
}

impl fmt::Display for ProjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why a name cannot be used.
#[derive(Debug, Error)]
#[error("the name `{name}` cannot be used: {problem}")]
pub(crate) struct NameError {
    name: String,
    problem: Problem,
    suggestion: Option<String>,
}

impl NameError {
    /// A similar name that would be accepted.
    pub(crate) fn suggestion(&self) -> Option<&str> {
        self.suggestion.as_deref()
    }
}

#[derive(Debug, Error)]
enum Problem {
    #[error("it is empty")]
    Empty,
    #[error("a cargo package may not begin with a digit")]
    LeadingDigit,
    #[error("a cargo package may not begin with `-`")]
    LeadingDash,
    #[error("`{0}` is a Rust keyword")]
    Keyword(String),
    #[error("`{0}` is a crate of Rust's standard library or compiler")]
    StandardLibrary(String),
    #[error("cargo keeps a directory of that name beside the binary")]
    BuildDirectory,
    #[error("the extension depends on the crate `{0}`")]
    Dependency(&'static str),
    #[error("{0}")]
    Server(#[from] names::NameError),
    #[error("the crate `_` has no name")]
    OnlyUnderscore,
}

fn problem(name: &str) -> Option<Problem> {
    let Some(first) = name.chars().next() else {
        return Some(Problem::Empty);
    };
    if first.is_ascii_digit() {
        return Some(Problem::LeadingDigit);
    }
    if first == '-' {
        return Some(Problem::LeadingDash);
    }
    if let Err(error) = ServerName::new(name) {
        return Some(Problem::Server(error));
    }
    if name == "_" {
        return Some(Problem::OnlyUnderscore);
    }
    if KEYWORDS.contains(&name) {
        return Some(Problem::Keyword(name.to_owned()));
    }
    if STANDARD_LIBRARY.contains(&name) {
        return Some(Problem::StandardLibrary(name.to_owned()));
    }
    if BUILD_DIRECTORIES.contains(&name) {
        return Some(Problem::BuildDirectory);
    }
    let package = name.replace('_', "-");
    DEPENDENCIES
        .into_iter()
        .find(|dependency| *dependency == package)
        .map(Problem::Dependency)
}

/// The nearest name that is accepted, if there is one.
fn suggestion(name: &str) -> Option<String> {
    let mut candidate = String::new();
    for letter in name.chars() {
        let letter = letter.to_ascii_lowercase();
        if letter.is_ascii_alphanumeric() {
            candidate.push(letter);
        } else if !candidate.is_empty() && !candidate.ends_with(['-', '_']) {
            candidate.push(if letter == '_' { '_' } else { '-' });
        }
    }
    let candidate = candidate.trim_start_matches(|c: char| c.is_ascii_digit());
    let mut candidate = candidate.trim_matches(['-', '_']).to_owned();
    candidate.truncate(names::MAX_NAME_BYTES);
    if problem(&candidate).is_some() {
        candidate = format!("{}-extension", candidate.trim_matches('-'));
    }
    problem(&candidate).is_none().then_some(candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_names_are_accepted() {
        for name in ["log-analyzer", "ci_logs", "x", "a2", "_private", "Logs"] {
            assert_eq!(ProjectName::new(name).unwrap().as_str(), name);
        }
    }

    #[test]
    fn names_that_cargo_or_odek_refuse_are_refused() {
        let long = "a".repeat(65);
        for name in [
            "",
            "9lives",
            "-x",
            "fn",
            "gen",
            "test",
            "core",
            "std",
            "deps",
            "build",
            "odek-sdk",
            "odek_host",
            "odek-contract",
            "quick-xml",
            "a__b",
            "a b",
            "a.b",
            "é",
            "_",
            "a/b",
            &long,
        ] {
            let error = ProjectName::new(name).unwrap_err();
            assert!(!error.to_string().is_empty(), "{name}");
        }
    }

    #[test]
    fn suggestions_are_accepted_themselves() {
        for (name, suggested) in [
            ("My Tool", Some("my-tool")),
            ("9lives", Some("lives")),
            ("test", Some("test-extension")),
            ("a__b", Some("a_b")),
            ("odek-sdk", Some("odek-sdk-extension")),
            ("日本", None),
        ] {
            let error = ProjectName::new(name).unwrap_err();
            assert_eq!(error.suggestion(), suggested, "{name}");
            if let Some(suggested) = suggested {
                ProjectName::new(suggested).unwrap();
            }
        }
    }

    #[test]
    fn display_names_read_like_text() {
        for (name, display) in [("log-analyzer", "Log analyzer"), ("_x_", "X")] {
            assert_eq!(ProjectName::new(name).unwrap().display_name(), display);
        }
    }

    #[test]
    fn unwise_names_are_warned_about() {
        assert!(ProjectName::new("nul").unwrap().warning().is_some());
        assert!(ProjectName::new("Logs").unwrap().warning().is_some());
        assert!(ProjectName::new("logs").unwrap().warning().is_none());
    }

    #[test]
    fn word_lists_are_sorted() {
        assert!(KEYWORDS.is_sorted());
        assert!(WINDOWS_DEVICES.is_sorted());
    }
}
