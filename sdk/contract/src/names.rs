//! Names of tools and servers (contract, Tool-name rules; host facts, section 7).
//!
//! One function decides about tool names, [`validate_tool_name`]: the macro applies it when an
//! extension is compiled, the registry when it is built, the host when it lists tools.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::go;

/// The longest tool or server name, in bytes.
pub const MAX_NAME_BYTES: usize = 64;

/// The longest function name that model providers take, in characters. The host joins server and
/// tool name without looking at the length.
pub const PROVIDER_NAME_LIMIT: usize = 64;

/// The separator between server and tool in the name that the model calls, and so the one text
/// that neither name may hold.
pub const SEPARATOR: &str = "__";

/// Names of tools that are built into the host. A server that offers one of them aborts the
/// host's start (host facts, section 7). Compared exactly, case included.
pub const RESERVED_TOOL_NAMES: [&str; 27] = [
    "artifact_read",
    "base64",
    "browser",
    "checksum",
    "clarify",
    "config_view",
    "delegate_tasks",
    "diff",
    "file_info",
    "glob",
    "head_tail",
    "http_request",
    "json_query",
    "list_subagent_profiles",
    "list_tools",
    "math_eval",
    "patch",
    "plan",
    "read_file",
    "search_files",
    "send_message",
    "session_search",
    "shell",
    "transcribe",
    "tree",
    "vision",
    "write_file",
];

/// Why a name is refused. The text is the host's own.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    /// A tool without a name.
    #[error("tool name is empty")]
    EmptyTool,
    /// A tool name of more than [`MAX_NAME_BYTES`] bytes.
    #[error("tool name {} exceeds {MAX_NAME_BYTES} characters", go::quote(.name))]
    LongTool {
        /// The name.
        name: String,
    },
    /// A tool name with `__` in it.
    #[error("tool name {} cannot contain \"__\"", go::quote(.name))]
    SeparatorInTool {
        /// The name.
        name: String,
    },
    /// A tool name with something other than ASCII letters, digits, `_` and `-`.
    #[error("tool name {} contains invalid character {}", go::quote(.name), go::quote_char(*.character))]
    CharacterInTool {
        /// The name.
        name: String,
        /// The first such character.
        character: char,
    },
    /// A server without a name.
    #[error("server name cannot be empty")]
    EmptyServer,
    /// A server name of more than [`MAX_NAME_BYTES`] bytes.
    #[error("server name {} too long ({} > {MAX_NAME_BYTES})", go::quote(.name), .name.len())]
    LongServer {
        /// The name.
        name: String,
    },
    /// A server name with `__` in it.
    #[error("server name {} cannot contain \"__\"", go::quote(.name))]
    SeparatorInServer {
        /// The name.
        name: String,
    },
    /// A server name with something other than ASCII letters, digits, `_` and `-`.
    #[error(
        "server name {} contains invalid character {} at position {position}",
        go::quote(.name),
        go::quote_char(*.character)
    )]
    CharacterInServer {
        /// The name.
        name: String,
        /// The first such character.
        character: char,
        /// Where it begins, in bytes from the start.
        position: usize,
    },
}

impl NameError {
    /// The kind of mistake, in one word: `empty`, `too-long`, `double-underscore` or
    /// `bad-character`.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::EmptyTool | Self::EmptyServer => "empty",
            Self::LongTool { .. } | Self::LongServer { .. } => "too-long",
            Self::SeparatorInTool { .. } | Self::SeparatorInServer { .. } => "double-underscore",
            Self::CharacterInTool { .. } | Self::CharacterInServer { .. } => "bad-character",
        }
    }
}

/// What the two kinds of names have in common: the first rule that a name breaks, in the host's
/// order.
enum Offence {
    Empty,
    TooLong,
    Separator,
    Character { character: char, position: usize },
}

fn first_offence(name: &str) -> Option<Offence> {
    if name.is_empty() {
        return Some(Offence::Empty);
    }
    if name.len() > MAX_NAME_BYTES {
        return Some(Offence::TooLong);
    }
    if name.contains(SEPARATOR) {
        return Some(Offence::Separator);
    }
    let is_allowed =
        |character: char| character.is_ascii_alphanumeric() || character == '_' || character == '-';
    name.char_indices()
        .find(|&(_, character)| !is_allowed(character))
        .map(|(position, character)| Offence::Character {
            character,
            position,
        })
}

/// Check a tool's name: 1 to 64 bytes, ASCII letters, digits, `_` and `-`, no `__`.
///
/// ```
/// use odek_contract::names::validate_tool_name;
///
/// assert!(validate_tool_name("summarize").is_ok());
/// let error = validate_tool_name("sum up").unwrap_err();
/// assert_eq!(error.to_string(), r#"tool name "sum up" contains invalid character ' '"#);
/// ```
///
/// # Errors
///
/// The first rule that is broken, in the order empty, length, `__`, characters.
pub fn validate_tool_name(name: &str) -> Result<(), NameError> {
    let named = || name.to_owned();
    match first_offence(name) {
        None => Ok(()),
        Some(Offence::Empty) => Err(NameError::EmptyTool),
        Some(Offence::TooLong) => Err(NameError::LongTool { name: named() }),
        Some(Offence::Separator) => Err(NameError::SeparatorInTool { name: named() }),
        Some(Offence::Character { character, .. }) => Err(NameError::CharacterInTool {
            name: named(),
            character,
        }),
    }
}

/// Check a server's name; the same rules as for tools, in the host's other words.
///
/// # Errors
///
/// The first rule that is broken, in the order empty, length, `__`, characters.
pub fn validate_server_name(name: &str) -> Result<(), NameError> {
    let named = || name.to_owned();
    match first_offence(name) {
        None => Ok(()),
        Some(Offence::Empty) => Err(NameError::EmptyServer),
        Some(Offence::TooLong) => Err(NameError::LongServer { name: named() }),
        Some(Offence::Separator) => Err(NameError::SeparatorInServer { name: named() }),
        Some(Offence::Character {
            character,
            position,
        }) => Err(NameError::CharacterInServer {
            name: named(),
            character,
            position,
        }),
    }
}

/// Whether a tool of that name is built into the host.
pub fn is_reserved_tool_name(name: &str) -> bool {
    RESERVED_TOOL_NAMES.contains(&name)
}

/// The longest property name that the host keeps, in bytes.
pub const MAX_PROPERTY_NAME_BYTES: usize = 64;

/// Whether the host keeps a property of this name in an input schema: 1 to 64 bytes from ASCII
/// letters, digits and `_ . $ @ : -`. It removes others with their whole subschema (host facts,
/// section 8).
pub fn is_property_name(name: &str) -> bool {
    let is_kept = |byte: u8| byte.is_ascii_alphanumeric() || b"_.$@:-".contains(&byte);
    (1..=MAX_PROPERTY_NAME_BYTES).contains(&name.len()) && name.bytes().all(is_kept)
}

macro_rules! name_type {
    ($(#[$attribute:meta])* $name:ident, $validate:path) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// Take a name that follows the rules.
            ///
            /// # Errors
            ///
            /// The first rule that is broken.
            pub fn new(name: impl Into<String>) -> Result<Self, NameError> {
                let name = name.into();
                $validate(&name)?;
                Ok(Self(name))
            }

            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(&self.0)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = NameError;

            fn from_str(name: &str) -> Result<Self, NameError> {
                Self::new(name)
            }
        }

        impl TryFrom<String> for $name {
            type Error = NameError;

            fn try_from(name: String) -> Result<Self, NameError> {
                Self::new(name)
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.0
            }
        }
    };
}

name_type! {
    /// A tool's name that the host accepts. It may still be reserved, see
    /// [`is_reserved_tool_name`].
    ToolName, validate_tool_name
}

name_type! {
    /// A server's name, the key of an `mcp_servers` entry, that the host accepts.
    ServerName, validate_server_name
}

/// The name under which the model calls a tool: `<server>__<tool>`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct QualifiedName(String);

/// A name that the host accepts and that causes trouble further on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the model calls this tool {name:?}, which has {} characters; model providers take function \
     names of at most {PROVIDER_NAME_LIMIT}, and the host does not check",
    .name.len()
)]
pub struct LongQualifiedName {
    /// The qualified name.
    pub name: String,
}

impl QualifiedName {
    /// Join a server's and a tool's name.
    pub fn new(server: &ServerName, tool: &ToolName) -> Self {
        Self(format!("{server}{SEPARATOR}{tool}"))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What is wrong with a name that is longer than model providers take.
    pub fn provider_warning(&self) -> Option<LongQualifiedName> {
        (self.0.len() > PROVIDER_NAME_LIMIT).then(|| LongQualifiedName {
            name: self.0.clone(),
        })
    }
}

impl fmt::Display for QualifiedName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn rules_apply_in_the_hosts_order() {
        let long = "é__".repeat(30);
        for (name, reason) in [
            ("", "empty"),
            (long.as_str(), "too-long"),
            ("é__", "double-underscore"),
            ("é_", "bad-character"),
        ] {
            assert_eq!(
                validate_tool_name(name).unwrap_err().reason(),
                reason,
                "{name}"
            );
            assert_eq!(
                validate_server_name(name).unwrap_err().reason(),
                reason,
                "{name}"
            );
        }
    }

    #[test]
    fn positions_are_in_bytes() {
        let error = validate_server_name("ab\u{e9}").unwrap_err();
        assert!(error.to_string().ends_with("'é' at position 2"), "{error}");
    }

    #[test]
    fn reserved_names_are_exact() {
        assert!(is_reserved_tool_name("shell"));
        assert!(!is_reserved_tool_name("Shell"));
        assert!(!is_reserved_tool_name("web_search"));
        assert!(
            RESERVED_TOOL_NAMES
                .iter()
                .all(|name| validate_tool_name(name).is_ok())
        );
    }

    #[test]
    fn property_names_are_those_that_the_host_keeps() {
        let longest = "x".repeat(64);
        for name in ["a", "_.$@:-9Z", &longest] {
            assert!(is_property_name(name), "{name}");
        }
        let too_long = "x".repeat(65);
        for name in ["", "a b", "größe", "a/b", &too_long] {
            assert!(!is_property_name(name), "{name}");
        }
    }

    #[test]
    fn names_are_checked_when_they_are_read() {
        assert_eq!(
            serde_json::from_str::<ToolName>(r#""echo""#)
                .unwrap()
                .as_str(),
            "echo"
        );
        let error = serde_json::from_str::<ToolName>(r#""a b""#).unwrap_err();
        assert!(error.to_string().contains("invalid character"), "{error}");
    }

    #[test]
    fn long_qualified_names_are_warned_about() {
        let qualified = |tool: &str| {
            QualifiedName::new(
                &ServerName::new("server").unwrap(),
                &ToolName::new(tool).unwrap(),
            )
        };
        let exact = qualified(&"t".repeat(56));
        assert_eq!(exact.as_str().len(), 64);
        assert_eq!(exact.provider_warning(), None);
        let warning = qualified(&"t".repeat(57)).provider_warning().unwrap();
        assert!(warning.to_string().contains("65 characters"), "{warning}");
    }

    proptest! {
        #[test]
        fn valid_names_are_exactly_the_pattern(name in "[a-zA-Z0-9_-]{0,70}|.{0,8}") {
            let valid = (1..=64).contains(&name.len())
                && !name.contains("__")
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
            prop_assert_eq!(validate_tool_name(&name).is_ok(), valid);
            prop_assert_eq!(validate_server_name(&name).is_ok(), valid);
        }
    }
}
