//! A server's entry in the host's configuration (contract, Server configuration; host facts,
//! sections 5 and 11): reading it, and what the host makes of its limits.
//!
//! Reading follows the host's decoder: member names match in any letter case, unknown members are
//! kept, and one member of the wrong type refuses the whole entry.

use std::{collections::BTreeMap, time::Duration};

use schemars::JsonSchema;
use serde_json::{Value, json};

use crate::{
    decode::{self, Decoder, MergedList, Place, TypeMismatch},
    go::{self, Json, JsonError, Url, UrlError},
    members::ObjectText,
    names::{self, NameError, ServerName},
    raw::RawMembers,
};

/// `timeout_seconds` when it is unset or 0, in seconds.
pub const DEFAULT_TIMEOUT_SECONDS: u64 = 30;
/// The most that `timeout_seconds` can be, in seconds; more is clamped.
pub const MAX_TIMEOUT_SECONDS: u64 = 3600;
/// `max_response_bytes` when it is unset or 0, in bytes.
pub const DEFAULT_MAX_RESPONSE_BYTES: u64 = 10_485_760;
/// The most that `max_response_bytes` can be, in bytes; more is an error.
pub const MAX_RESPONSE_BYTES_CEILING: u64 = 67_108_864;
/// The client reads lines up to this length whatever `max_response_bytes` says, in bytes.
pub const MIN_LINE_BUFFER_BYTES: u64 = 65_536;
/// `max_result_chars` when it is unset or 0, in characters.
pub const DEFAULT_MAX_RESULT_CHARS: u64 = 200_000;
/// The most that `max_result_chars` can be, in characters; more is clamped.
pub const MAX_RESULT_CHARS_CAP: u64 = 1_000_000;
/// The least that `max_result_chars` can be is this many characters plus the length of the
/// server's name; less is raised.
pub const RESULT_CHARS_FLOOR: u64 = 325;
/// The members of an entry that are fields of [`ServerConfig`]; an unknown member of such a name is
/// not written.
const KNOWN_MEMBERS: [&str; 11] = [
    "command",
    "args",
    "env",
    "url",
    "token_env",
    "enabled",
    "auto_approve",
    "timeout_seconds",
    "max_response_bytes",
    "max_result_chars",
    "artifact_roots",
];

/// The member of the configuration file that holds the entries.
const SERVERS_MEMBER: &str = "mcp_servers";

/// The longest name that `token_env` can hold, in characters.
const MAX_TOKEN_ENV_CHARS: usize = 64;

/// The longest line that the client reads with that `max_response_bytes`, in bytes without the
/// line feed (host facts, section 3): one less than the setting, and never less than 65,535.
pub fn longest_line(max_response_bytes: u64) -> usize {
    let buffer = max_response_bytes.max(MIN_LINE_BUFFER_BYTES);
    usize::try_from(buffer - 1).unwrap_or(usize::MAX)
}

/// Why an entry is refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The text is not JSON.
    #[error(transparent)]
    Syntax(#[from] JsonError),
    /// A member has the wrong type.
    #[error(transparent)]
    WrongType(#[from] TypeMismatch),
    /// The server's name breaks the rules.
    #[error(transparent)]
    ServerName(#[from] NameError),
    /// A limit is negative.
    #[error("mcpclient {server}: {setting} must be >= 0, got {value}")]
    Negative {
        /// The server.
        server: String,
        /// The member.
        setting: &'static str,
        /// What it says.
        value: i64,
    },
    /// `max_response_bytes` is over the ceiling.
    #[error(
        "mcpclient {server}: max_response_bytes {value} exceeds the absolute ceiling of \
         {MAX_RESPONSE_BYTES_CEILING} bytes"
    )]
    OverCeiling {
        /// The server.
        server: String,
        /// What it says.
        value: i64,
    },
    /// Neither a command nor a url.
    #[error("mcpclient {server}: server config must set either url or command")]
    NoTarget {
        /// The server.
        server: String,
    },
    /// The url cannot be used.
    #[error("mcpclient {server}: {problem}")]
    Url {
        /// The server.
        server: String,
        /// What is wrong with it.
        problem: UrlProblem,
    },
}

/// Why a `url` cannot be used (host facts, section 11).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UrlProblem {
    /// It is no URL to the host's parser.
    #[error("invalid url: {0}")]
    Unparseable(UrlError),
    /// Neither http nor https.
    #[error("unsupported scheme {} (want http or https)", go::quote(.0))]
    Scheme(String),
    /// It names no host.
    #[error("missing host")]
    NoHost,
    /// It holds a user name or a password.
    #[error("credentials in the URL are not allowed; use token_env instead")]
    Credentials,
    /// `token_env` is not of the form `MCP_…`.
    #[error(
        "token_env {} is not allowed; it must be an uppercase MCP_-prefixed variable name (declare \
         the token in ~/.odek/secrets.env)",
        go::quote(.0)
    )]
    TokenVariable(String),
}

impl ConfigError {
    /// The kind of mistake, in a word or two: `wrong-type`, `negative`, `over-ceiling`,
    /// `no-target`, `url`, `token-env`, or a [`NameError::reason`].
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Syntax(_) => "syntax",
            Self::WrongType(_) => "wrong-type",
            Self::ServerName(error) => error.reason(),
            Self::Negative { .. } => "negative",
            Self::OverCeiling { .. } => "over-ceiling",
            Self::NoTarget { .. } => "no-target",
            Self::Url {
                problem: UrlProblem::Credentials | UrlProblem::TokenVariable(_),
                ..
            } => "token-env",
            Self::Url { .. } => "url",
        }
    }

    /// Whether the entry could not even be read, so that the host's whole configuration fails.
    pub fn is_decoding(&self) -> bool {
        matches!(self, Self::Syntax(_) | Self::WrongType(_))
    }
}

/// Something the host changes, and says so at its start.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigWarning {
    /// A limit over its cap.
    #[error("mcp server {}: {setting} {value} exceeds the hard cap; clamped to {cap}", go::quote(.server))]
    Clamped {
        /// The server.
        server: String,
        /// The member.
        setting: &'static str,
        /// What it says.
        value: i64,
        /// What it is taken for.
        cap: u64,
    },
    /// `max_result_chars` under its floor.
    #[error(
        "mcp server {}: max_result_chars {value} is below the minimum of {floor} (the truncation \
         notice plus 64 chars); raised to {floor}",
        go::quote(.server)
    )]
    Raised {
        /// The server.
        server: String,
        /// What it says.
        value: i64,
        /// What it is taken for.
        floor: u64,
    },
    /// The variable that `token_env` names is unset or empty.
    #[error(
        "mcp server {}: token_env {variable} is set but the environment variable is empty; \
         requests will be sent unauthenticated",
        go::quote(.server)
    )]
    NoToken {
        /// The server.
        server: String,
        /// The variable.
        variable: String,
    },
}

/// The limits in force for a server, after defaults, clamps and floors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How long each request may take.
    pub timeout: Duration,
    /// The setting that bounds a response line, in bytes; see [`Limits::longest_line`].
    pub max_response_bytes: u64,
    /// The most characters of a result that are passed on, as Unicode code points.
    pub max_result_chars: usize,
}

impl Limits {
    /// What a server has whose entry sets no limit.
    pub const DEFAULT: Self = Self {
        timeout: Duration::from_secs(DEFAULT_TIMEOUT_SECONDS),
        max_response_bytes: DEFAULT_MAX_RESPONSE_BYTES,
        max_result_chars: DEFAULT_MAX_RESULT_CHARS as usize,
    };

    /// The longest line that the client reads, in bytes without the line feed.
    pub fn longest_line(&self) -> usize {
        longest_line(self.max_response_bytes)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// What the host makes of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effective {
    /// `enabled` is false: the server is not started, and nothing else in the entry is looked at.
    Disabled,
    /// The server is started with these limits.
    Enabled {
        /// The limits in force.
        limits: Limits,
        /// What the host says at its start.
        warnings: Vec<ConfigWarning>,
    },
}

/// An entry of `mcp_servers`.
///
/// ```
/// use odek_contract::config::{Effective, ServerConfig};
///
/// let config = ServerConfig::new("/usr/local/bin/log-analyzer").timeout_seconds(4000);
/// let Effective::Enabled { limits, warnings } = config.effective("logs", |_| None).unwrap() else {
///     unreachable!("the entry is not disabled")
/// };
/// assert_eq!(limits.timeout.as_secs(), 3600);
/// assert_eq!(
///     warnings[0].to_string(),
///     r#"mcp server "logs": timeout_seconds 4000 exceeds the hard cap; clamped to 3600"#
/// );
/// ```
#[derive(Debug, Clone, Default, PartialEq, JsonSchema)]
#[schemars(default)]
#[non_exhaustive]
pub struct ServerConfig {
    /// The program to start. Without a slash it is looked up in `PATH`.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables for its environment, in addition to the few that it inherits; an empty value
    /// removes one, and names that look like secrets are dropped (host facts, section 6).
    pub env: BTreeMap<String, String>,
    /// The address of a server that is reached over HTTP; `command`, `args` and `env` are then
    /// ignored.
    pub url: String,
    /// The variable whose value is sent as bearer token to `url`: `MCP_` and upper-case letters,
    /// digits and `_`, at most 64 characters.
    #[schemars(regex(pattern = "^(MCP_[A-Z0-9_]{0,60})?$"))]
    pub token_env: String,
    /// Whether the server is started at all; it is, unless this is false.
    pub enabled: Option<bool>,
    /// Whether the operator trusts the server, so that neither it nor its tools ask for approval.
    /// The host takes this from the operator's own file only (host facts, section 9).
    pub auto_approve: bool,
    /// How long a request may take, in seconds. 30 if unset or 0; more than 3600 is taken for 3600.
    #[schemars(range(min = 0))]
    pub timeout_seconds: Option<i64>,
    /// The bound for a response line, in bytes: lines are shorter than this. 10,485,760 if unset or
    /// 0; settings under 65,536 do nothing.
    #[schemars(range(min = 0, max = MAX_RESPONSE_BYTES_CEILING))]
    pub max_response_bytes: Option<i64>,
    /// The most characters of a result that are passed on. 200,000 if unset or 0; more than
    /// 1,000,000 is taken for that, less than 325 and the length of the server's name is raised to
    /// it.
    #[schemars(range(min = 0))]
    pub max_result_chars: Option<i64>,
    /// Directories in which artifacts are accepted. Without one, every reference is refused.
    pub artifact_roots: Vec<String>,
    /// All other members, as they came.
    #[schemars(skip)]
    pub unknown: RawMembers,
}

impl ServerConfig {
    /// An entry that starts `command`, with everything else at its default.
    pub fn new(command: impl Into<String>) -> Self {
        Self {
            command: command.into(),
            ..Self::default()
        }
    }

    /// Set the arguments.
    pub fn args(mut self, args: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.args = args.into_iter().map(Into::into).collect();
        self
    }

    /// Set one variable of the environment.
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.env.insert(name.into(), value.into());
        self
    }

    /// Set how long a request may take, in seconds.
    pub fn timeout_seconds(mut self, seconds: i64) -> Self {
        self.timeout_seconds = Some(seconds);
        self
    }

    /// Set the bound for a response line, in bytes.
    pub fn max_response_bytes(mut self, bytes: i64) -> Self {
        self.max_response_bytes = Some(bytes);
        self
    }

    /// Set the most characters of a result that are passed on.
    pub fn max_result_chars(mut self, characters: i64) -> Self {
        self.max_result_chars = Some(characters);
        self
    }

    /// Add a directory in which artifacts are accepted.
    pub fn artifact_root(mut self, root: impl Into<String>) -> Self {
        self.artifact_roots.push(root.into());
        self
    }

    /// Read an entry as the host does.
    ///
    /// # Errors
    ///
    /// When the text is not JSON or a member has the wrong type.
    pub fn from_json(text: &[u8]) -> Result<Self, ConfigError> {
        let mut decoder = Decoder::default();
        let config = Self::read(&mut decoder, &Json::parse(text)?);
        Ok(decoder.finish(config)?)
    }

    fn read(decoder: &mut Decoder, json: &Json) -> Self {
        let mut fields = Fields::default();
        for (name, value) in decoder.members(json, Place::new("value", "mcpclient.ServerConfig")) {
            fields.read_member(decoder, name, value);
        }
        fields.into_config()
    }

    /// The entry as JSON text: what is set, and all unknown members.
    pub fn to_json(&self) -> String {
        let mut members = ObjectText::default();
        let mut put = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                members.value(name, &value);
            }
        };
        let text = |text: &String| (!text.is_empty()).then(|| json!(text));
        let list = |list: &Vec<String>| (!list.is_empty()).then(|| json!(list));
        put("command", text(&self.command));
        put("args", list(&self.args));
        put("env", (!self.env.is_empty()).then(|| json!(self.env)));
        put("url", text(&self.url));
        put("token_env", text(&self.token_env));
        put("enabled", self.enabled.map(Value::from));
        put(
            "auto_approve",
            self.auto_approve.then_some(Value::Bool(true)),
        );
        put("timeout_seconds", self.timeout_seconds.map(Value::from));
        put(
            "max_response_bytes",
            self.max_response_bytes.map(Value::from),
        );
        put("max_result_chars", self.max_result_chars.map(Value::from));
        put("artifact_roots", list(&self.artifact_roots));
        for (name, value) in self.unknown.iter() {
            if !KNOWN_MEMBERS.contains(&name) {
                members.raw(name, value.text());
            }
        }
        members.finish()
    }

    /// What the host makes of the entry under the name `server`. `variable` looks up the host's
    /// own environment, for `token_env`.
    ///
    /// # Errors
    ///
    /// The host's first complaint: the server's name, a negative limit, the byte ceiling, a
    /// missing command, then the url.
    pub fn effective(
        &self,
        server: &str,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Effective, ConfigError> {
        if self.enabled == Some(false) {
            return Ok(Effective::Disabled);
        }
        names::validate_server_name(server)?;
        let name = || server.to_owned();
        let timeout = not_negative(server, "timeout_seconds", self.timeout_seconds)?;
        let bytes = not_negative(server, "max_response_bytes", self.max_response_bytes)?;
        let chars = not_negative(server, "max_result_chars", self.max_result_chars)?;
        if bytes > MAX_RESPONSE_BYTES_CEILING {
            let value = self.max_response_bytes.unwrap_or_default();
            return Err(ConfigError::OverCeiling {
                server: name(),
                value,
            });
        }
        if self.url.is_empty() && self.command.is_empty() {
            return Err(ConfigError::NoTarget { server: name() });
        }
        let mut warnings = Vec::new();
        let timeout = clamped(
            server,
            "timeout_seconds",
            timeout,
            DEFAULT_TIMEOUT_SECONDS,
            MAX_TIMEOUT_SECONDS,
            &mut warnings,
        );
        let chars = clamped(
            server,
            "max_result_chars",
            chars,
            DEFAULT_MAX_RESULT_CHARS,
            MAX_RESULT_CHARS_CAP,
            &mut warnings,
        );
        let floor = RESULT_CHARS_FLOOR + server.len() as u64;
        if chars < floor {
            let value = self.max_result_chars.unwrap_or_default();
            warnings.push(ConfigWarning::Raised {
                server: name(),
                value,
                floor,
            });
        }
        if !self.url.is_empty() {
            self.check_url().map_err(|problem| ConfigError::Url {
                server: name(),
                problem,
            })?;
            let has_token = variable(&self.token_env).is_some_and(|token| !token.is_empty());
            if !self.token_env.is_empty() && !has_token {
                let variable = self.token_env.clone();
                warnings.push(ConfigWarning::NoToken {
                    server: name(),
                    variable,
                });
            }
        }
        let limits = Limits {
            timeout: Duration::from_secs(timeout),
            max_response_bytes: if bytes == 0 {
                DEFAULT_MAX_RESPONSE_BYTES
            } else {
                bytes
            },
            max_result_chars: usize::try_from(chars.max(floor)).unwrap_or(usize::MAX),
        };
        Ok(Effective::Enabled { limits, warnings })
    }

    fn check_url(&self) -> Result<(), UrlProblem> {
        let url = Url::parse(&self.url).map_err(UrlProblem::Unparseable)?;
        if url.scheme != "http" && url.scheme != "https" {
            return Err(UrlProblem::Scheme(url.scheme));
        }
        if url.host.is_empty() {
            return Err(UrlProblem::NoHost);
        }
        if url.user.is_some() {
            return Err(UrlProblem::Credentials);
        }
        if !self.token_env.is_empty() && !is_token_variable(&self.token_env) {
            return Err(UrlProblem::TokenVariable(self.token_env.clone()));
        }
        Ok(())
    }
}

fn is_token_variable(name: &str) -> bool {
    name.len() <= MAX_TOKEN_ENV_CHARS
        && name.strip_prefix("MCP_").is_some_and(|rest| {
            rest.bytes()
                .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
        })
}

fn not_negative(
    server: &str,
    setting: &'static str,
    value: Option<i64>,
) -> Result<u64, ConfigError> {
    let value = value.unwrap_or_default();
    u64::try_from(value).map_err(|_| ConfigError::Negative {
        server: server.to_owned(),
        setting,
        value,
    })
}

/// The value, its default if it is 0, or its cap with a warning.
fn clamped(
    server: &str,
    setting: &'static str,
    value: u64,
    default: u64,
    cap: u64,
    warnings: &mut Vec<ConfigWarning>,
) -> u64 {
    if value == 0 {
        return default;
    }
    if value > cap {
        let value = i64::try_from(value).unwrap_or(i64::MAX);
        warnings.push(ConfigWarning::Clamped {
            server: server.to_owned(),
            setting,
            value,
            cap,
        });
        return cap;
    }
    value
}

/// An entry that is being read.
#[derive(Default)]
struct Fields {
    config: ServerConfig,
    args: MergedList<String>,
    artifact_roots: MergedList<String>,
}

impl Fields {
    fn read_member(&mut self, decoder: &mut Decoder, name: &str, value: &Json) {
        let is = |field: &str| decode::names_field(name, field);
        let config = &mut self.config;
        if is("command") {
            decoder.string(
                value,
                STRING.at("struct field ServerConfig.command"),
                &mut config.command,
            );
        } else if is("args") {
            let place = Place::new("struct field ServerConfig.args", "[]string");
            decoder.list(value, place, &mut self.args, |decoder, item, text| {
                decoder.string(item, STRING.at("struct field ServerConfig.args"), text);
            });
        } else if is("env") {
            read_environment(decoder, value, &mut config.env);
        } else if is("url") {
            decoder.string(
                value,
                STRING.at("struct field ServerConfig.url"),
                &mut config.url,
            );
        } else if is("token_env") {
            let place = STRING.at("struct field ServerConfig.token_env");
            decoder.string(value, place, &mut config.token_env);
        } else if is("enabled") {
            let place = Place::new("struct field ServerConfig.enabled", "bool");
            let mut enabled = config.enabled.unwrap_or(true);
            decoder.boolean(value, place, &mut enabled);
            config.enabled = (*value != Json::Null).then_some(enabled);
        } else if is("auto_approve") {
            let place = Place::new("struct field ServerConfig.auto_approve", "bool");
            decoder.boolean(value, place, &mut config.auto_approve);
        } else if is("timeout_seconds") {
            let place = INTEGER.at("struct field ServerConfig.timeout_seconds");
            read_limit(decoder, value, place, &mut config.timeout_seconds);
        } else if is("max_response_bytes") {
            let place = Place::new("struct field ServerConfig.max_response_bytes", "int64");
            read_limit(decoder, value, place, &mut config.max_response_bytes);
        } else if is("max_result_chars") {
            let place = INTEGER.at("struct field ServerConfig.max_result_chars");
            read_limit(decoder, value, place, &mut config.max_result_chars);
        } else if is("artifact_roots") {
            let place = Place::new("struct field ServerConfig.artifact_roots", "[]string");
            decoder.list(
                value,
                place,
                &mut self.artifact_roots,
                |decoder, item, text| {
                    decoder.string(
                        item,
                        STRING.at("struct field ServerConfig.artifact_roots"),
                        text,
                    );
                },
            );
        } else {
            config.unknown.insert(name, value.into());
        }
    }

    fn into_config(self) -> ServerConfig {
        ServerConfig {
            args: self.args.into_vec(),
            artifact_roots: self.artifact_roots.into_vec(),
            ..self.config
        }
    }
}

/// A type in the host's messages, to be completed with a place.
struct Kind(&'static str);

const STRING: Kind = Kind("string");
const INTEGER: Kind = Kind("int");

impl Kind {
    const fn at(&self, name: &'static str) -> Place {
        Place::new(name, self.0)
    }
}

/// A plain integer in the host: null leaves it as it was.
fn read_limit(decoder: &mut Decoder, value: &Json, place: Place, field: &mut Option<i64>) {
    if *value != Json::Null {
        decoder.integer(value, place, field);
    }
}

/// A map in the host: given twice, its members are joined; null empties it.
fn read_environment(decoder: &mut Decoder, value: &Json, env: &mut BTreeMap<String, String>) {
    if *value == Json::Null {
        env.clear();
    }
    let place = Place::new("struct field ServerConfig.env", "map[string]string");
    for (name, value) in decoder.members(value, place) {
        let mut text = String::new();
        decoder.string(value, STRING.at("struct field ServerConfig.env"), &mut text);
        env.insert(name.clone(), text);
    }
}

/// The part of the host's configuration file that concerns servers.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema)]
#[schemars(default)]
#[non_exhaustive]
pub struct OdekConfig {
    /// The entries of `mcp_servers` by name. The names are not checked here, but for each server
    /// that is started; see [`ServerConfig::effective`].
    #[schemars(rename = "mcp_servers")]
    pub servers: BTreeMap<String, ServerConfig>,
    /// All other members, as they came.
    #[schemars(skip)]
    pub unknown: RawMembers,
}

impl OdekConfig {
    /// Read a configuration file, `~/.odek/config.json` or `odek.json`.
    ///
    /// # Errors
    ///
    /// When the text is not JSON or a member of an entry has the wrong type.
    pub fn from_json(text: &[u8]) -> Result<Self, ConfigError> {
        let mut decoder = Decoder::default();
        let json = Json::parse(text)?;
        let mut config = Self::default();
        for (name, value) in decoder.members(&json, Place::new("value", "config.Config")) {
            if decode::names_field(name, SERVERS_MEMBER) {
                let place = Place::new(
                    "struct field Config.mcp_servers",
                    "map[string]mcpclient.ServerConfig",
                );
                if *value == Json::Null {
                    config.servers.clear();
                }
                for (server, entry) in decoder.members(value, place) {
                    config
                        .servers
                        .insert(server.clone(), ServerConfig::read(&mut decoder, entry));
                }
            } else {
                config.unknown.insert(name, value.into());
            }
        }
        Ok(decoder.finish(config)?)
    }

    /// The entry of a server.
    pub fn server(&self, name: &ServerName) -> Option<&ServerConfig> {
        self.servers.get(name.as_str())
    }

    /// The file as JSON text, unknown members included.
    pub fn to_json(&self) -> String {
        let mut servers = ObjectText::default();
        for (name, server) in &self.servers {
            servers.raw(name, &server.to_json());
        }
        let mut members = ObjectText::default();
        for (name, value) in self.unknown.iter() {
            if name != SERVERS_MEMBER {
                members.raw(name, value.text());
            }
        }
        members.raw(SERVERS_MEMBER, &servers.finish());
        members.finish()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Result<ServerConfig, String> {
        ServerConfig::from_json(text.as_bytes()).map_err(|error| error.to_string())
    }

    #[test]
    fn members_are_read_as_the_host_reads_them() {
        let config = read(
            r#"{"COMMAND":"a","args":["x",null],"env":{"A":"1","B":"2"},"env":{"B":"3"},
                "timeout_seconds":null,"Enabled":null,"x":{"y":[1]}}"#,
        )
        .unwrap();
        assert_eq!(config.command, "a");
        assert_eq!(config.args, ["x", ""]);
        let env = [("A", "1"), ("B", "3")].map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(config.env, BTreeMap::from(env));
        assert_eq!((config.timeout_seconds, config.enabled), (None, None));
        assert_eq!(config.unknown.decode("x"), Some(json!({"y": [1]})));
    }

    #[test]
    fn limits_are_integer_literals() {
        for literal in ["30.0", "1e2", "\"30\"", "9223372036854775808", "[]", "true"] {
            let error = read(&format!(r#"{{"timeout_seconds":{literal}}}"#)).unwrap_err();
            assert!(
                error.contains("ServerConfig.timeout_seconds of type int"),
                "{error}"
            );
        }
        assert_eq!(
            read(r#"{"timeout_seconds":-0}"#).unwrap().timeout_seconds,
            Some(0)
        );
    }

    fn url_problem(url: &str, token_env: &str) -> Option<String> {
        let config = ServerConfig {
            url: url.into(),
            token_env: token_env.into(),
            ..Default::default()
        };
        let error = config.effective("s", |_| Some("t".into())).err()?;
        let message = error.to_string();
        let problem = message.strip_prefix("mcpclient s: ").unwrap_or(&message);
        Some(format!("{}: {problem}", error.reason()))
    }

    #[test]
    fn urls_are_http_with_a_host_and_without_credentials() {
        for url in [
            "HTTPS://example.test:8080/x?q#f",
            "http://:80",
            "http://[::1]:9/",
            "http://h/a b",
            "http://h:",
        ] {
            assert_eq!(url_problem(url, ""), None, "{url}");
        }
        for (url, problem) in [
            (
                "ftp://a",
                r#"unsupported scheme "ftp" (want http or https)"#,
            ),
            ("//a", r#"unsupported scheme "" (want http or https)"#),
            ("a/b:c", r#"unsupported scheme "" (want http or https)"#),
            (
                "localhost:80",
                r#"unsupported scheme "localhost" (want http or https)"#,
            ),
            ("http:", "missing host"),
            ("http:///x", "missing host"),
            ("http:a", "missing host"),
            ("http:?x", "missing host"),
            (
                "ht tp://a",
                r#"invalid url: parse "ht tp://a": first path segment in URL cannot contain colon"#,
            ),
            (
                "127.0.0.1:80/x",
                r#"invalid url: parse "127.0.0.1:80/x": first path segment in URL cannot contain colon"#,
            ),
            (
                "://a",
                r#"invalid url: parse "://a": missing protocol scheme"#,
            ),
            (
                "http://a:b/",
                r#"invalid url: parse "http://a:b/": invalid port ":b" after host"#,
            ),
            (
                "http://a b/",
                r#"invalid url: parse "http://a b/": invalid character " " in host name"#,
            ),
            (
                "http://a/%zz",
                r#"invalid url: parse "http://a/%zz": invalid URL escape "%zz""#,
            ),
            (
                "http://a\n",
                r#"invalid url: parse "http://a\n": net/url: invalid control character in URL"#,
            ),
        ] {
            assert_eq!(
                url_problem(url, ""),
                Some(format!("url: {problem}")),
                "{url}"
            );
        }
    }

    #[test]
    fn credentials_belong_in_a_variable_for_tokens() {
        let credentials =
            "token-env: credentials in the URL are not allowed; use token_env instead".to_owned();
        for url in ["http://u@a", "https://u:p@a/", "http://@a", "http://a@b@c"] {
            assert_eq!(url_problem(url, "bad"), Some(credentials.clone()), "{url}");
        }
        for variable in ["MCP_", "MCP_TOKEN_1", &format!("MCP_{}", "X".repeat(60))] {
            assert_eq!(url_problem("http://a", variable), None, "{variable}");
        }
        for variable in [
            "TOKEN",
            "MCP-X",
            "MCP_x",
            "mcp_X",
            " MCP_X",
            &format!("MCP_{}", "X".repeat(61)),
        ] {
            let problem = url_problem("http://a", variable).unwrap();
            assert!(problem.starts_with("token-env: token_env \""), "{problem}");
        }
    }

    #[test]
    fn all_members_the_host_reads_have_a_type() {
        for (member, value) in [
            ("auto_approve", "\"yes\""),
            ("enabled", "1"),
            ("command", "[]"),
            ("url", "{}"),
            ("token_env", "true"),
            ("args", "\"-x\""),
            ("env", "[]"),
            ("artifact_roots", "{}"),
            ("max_response_bytes", "1.5"),
            ("max_result_chars", "\"1\""),
        ] {
            let error = ServerConfig::from_json(format!(r#"{{"{member}":{value}}}"#).as_bytes());
            assert_eq!(error.unwrap_err().reason(), "wrong-type", "{member}");
        }
        assert!(read(r#"{"AUTO_APPROVE":true}"#).unwrap().auto_approve);
    }

    #[test]
    fn the_later_of_two_lists_of_servers_is_laid_over_the_first() {
        let servers = |text: &str| OdekConfig::from_json(text.as_bytes()).unwrap().servers;
        let merged = servers(
            r#"{"mcp_servers":{"a":{"command":"x","url":"u"},"b":{}},"MCP_servers":{"a":{"command":"y"}}}"#,
        );
        assert_eq!(merged.len(), 2);
        assert_eq!(merged["a"], ServerConfig::new("y"));
        assert!(servers(r#"{"mcp_servers":{"a":{}},"mcp_servers":null}"#).is_empty());
    }

    #[test]
    fn the_server_name_comes_first_and_enabled_before_it() {
        let config = ServerConfig {
            timeout_seconds: Some(-1),
            ..Default::default()
        };
        assert_eq!(
            config.effective("a b", |_| None).unwrap_err().reason(),
            "bad-character"
        );
        let disabled = ServerConfig {
            enabled: Some(false),
            ..config
        };
        assert_eq!(disabled.effective("a b", |_| None), Ok(Effective::Disabled));
    }

    #[test]
    fn a_whole_file_keeps_what_it_does_not_know() {
        let text = r#"{"model":"m","mcp_servers":{"a":{"command":"x","new":[1]},"b":{"url":"u"}}}"#;
        let config = OdekConfig::from_json(text.as_bytes()).unwrap();
        assert_eq!(config.servers.len(), 2);
        let written: Value = serde_json::from_str(&config.to_json()).unwrap();
        assert_eq!(written, serde_json::from_str::<Value>(text).unwrap());
    }

    #[test]
    fn unknown_members_keep_their_digits_and_may_nest_deep() {
        let deep = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
        let later = format!(r#"{{"b":1e999,"a":[1.0,123456789012345678901234567890],"c":{deep}}}"#);
        let entry = format!(r#"{{"command":"x","later":{later}}}"#);
        let text = format!(r#"{{"later":{later},"mcp_servers":{{"s":{entry}}}}}"#);
        assert_eq!(
            OdekConfig::from_json(text.as_bytes()).unwrap().to_json(),
            text
        );
    }

    proptest! {
        #[test]
        fn unknown_members_survive(
            unknown in prop::collection::btree_map("x_[a-z]{1,8}", any::<i32>(), 0..6),
            command in "[a-z/]{1,12}",
            args in prop::collection::vec(any::<String>(), 0..4),
            timeout in any::<i64>(),
        ) {
            let mut config = ServerConfig::new(command).args(args).timeout_seconds(timeout);
            config.auto_approve = timeout % 2 == 0;
            config.unknown = unknown.into_iter().map(|(name, value)| (name, json!(value).into())).collect();
            let text = config.to_json();
            prop_assert_eq!(&ServerConfig::from_json(text.as_bytes()).unwrap(), &config);

            let file = OdekConfig {
                unknown: config.unknown.clone(),
                servers: BTreeMap::from([("s".to_owned(), config)]),
            };
            let text = file.to_json();
            prop_assert_eq!(OdekConfig::from_json(text.as_bytes()).unwrap(), file);
        }

        #[test]
        fn any_text_is_read_or_refused(text in any::<Vec<u8>>()) {
            let _ = ServerConfig::from_json(&text);
            let _ = OdekConfig::from_json(&text);
        }
    }
}
