//! The extension: a name, a version, tools, and how it treats what its tools give back.

use std::{env, ffi::OsStr, sync::Arc, time::Duration};

use odek_contract::config::DEFAULT_MAX_RESPONSE_BYTES;

use crate::{
    artifacts::{ArtifactStore, Retention},
    describe,
    error::{Error, Result},
    logging,
    long_text::LongTextPolicy,
    registry::{RegistrationError, Registry},
    serve,
    tool::{Tool, ToolSet},
};

/// How long calls in flight may go on after the host has closed standard input. Below the 5 s
/// after which the host kills the process (host facts, section 1), with room to write the answers.
const DEFAULT_SHUTDOWN_GRACE: Duration = Duration::from_secs(4);

/// The variable that tells the extension the `max_response_bytes` of its `mcp_servers` entry.
pub(crate) const MAX_RESPONSE_BYTES_VARIABLE: &str = "ODEK_EXT_MAX_RESPONSE_BYTES";

/// Whether an answer that the host could not read is replaced.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ResponseGuard {
    /// An answer whose line would be too long is replaced by a tool error that names both sizes.
    /// A line over the limit would end the connection for good (host facts, section 3).
    #[default]
    On,
    /// Answers are sent whatever their length. Only for fixtures that must misbehave.
    Off,
}

/// What a caller is told about a tool that panicked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PanicDetail {
    /// Only that it panicked. The message and backtrace go to stderr: they may quote paths and
    /// data that the model has no business to see.
    #[default]
    Withhold,
    /// The panic message, too. Never the backtrace.
    Include,
}

/// An extension in the making: add tools, then [`serve`](Extension::serve).
///
/// ```no_run
/// use odek_sdk::prelude::*;
///
/// /// Count the words of a text.
/// #[odek_tool(read_only)]
/// fn count_words(
///     /// The text.
///     text: String,
/// ) -> usize {
///     text.split_whitespace().count()
/// }
///
/// fn main() -> odek_sdk::Result<()> {
///     Extension::new("words", env!("CARGO_PKG_VERSION")).tool(count_words).serve()
/// }
/// ```
#[derive(Debug)]
#[must_use = "an extension does nothing until it is served"]
pub struct Extension {
    name: String,
    version: String,
    instructions: Option<String>,
    tools: Vec<Tool>,
    policy: Policy,
    retention: Retention,
}

/// How the server treats calls and results; the same for all tools of an extension.
#[derive(Debug, Clone)]
pub(crate) struct Policy {
    pub(crate) long_text: LongTextPolicy,
    pub(crate) response_guard: ResponseGuard,
    pub(crate) max_response_bytes: u64,
    pub(crate) panic_detail: PanicDetail,
    pub(crate) shutdown_grace: Duration,
}

impl Extension {
    /// An extension without tools. `name` and `version` are what the host sees as `serverInfo`;
    /// the name follows the rules for server names (1 to 64 ASCII letters, digits, `_`, `-`) and
    /// also names the default artifact directory.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            version: version.into(),
            instructions: None,
            tools: Vec::new(),
            policy: Policy {
                long_text: LongTextPolicy::default(),
                response_guard: ResponseGuard::default(),
                max_response_bytes: env::var_os(MAX_RESPONSE_BYTES_VARIABLE)
                    .and_then(|setting| max_response_bytes_from(&setting))
                    .unwrap_or(DEFAULT_MAX_RESPONSE_BYTES),
                panic_detail: PanicDetail::default(),
                shutdown_grace: DEFAULT_SHUTDOWN_GRACE,
            },
            retention: Retention::default(),
        }
    }

    /// Add one tool: a function marked [`odek_tool`](crate::odek_tool), or a [`Tool`].
    pub fn tool(mut self, tool: impl Into<Tool>) -> Self {
        self.tools.push(tool.into());
        self
    }

    /// Add several tools: the state of an `impl` block marked
    /// [`odek_tools`](crate::odek_tools), or a list of [`Tool`]s.
    pub fn tools(mut self, tools: impl ToolSet) -> Self {
        self.tools.extend(tools.into_tools());
        self
    }

    /// Advice on how to use the extension, sent with the answer to `initialize`. The odek client
    /// does not read it (host facts, section 2); other MCP hosts show it to the model.
    pub fn instructions(mut self, instructions: impl Into<String>) -> Self {
        self.instructions = Some(instructions.into());
        self
    }

    /// What happens to a text that the host's agent loop would shorten.
    pub fn long_text(mut self, policy: LongTextPolicy) -> Self {
        self.policy.long_text = policy;
        self
    }

    /// Whether answers that the host could not read are replaced.
    pub fn response_guard(mut self, guard: ResponseGuard) -> Self {
        self.policy.response_guard = guard;
        self
    }

    /// The `max_response_bytes` of this extension's `mcp_servers` entry, in bytes. Unless set
    /// here, it is taken from the environment variable `ODEK_EXT_MAX_RESPONSE_BYTES`, else it is
    /// the host's default of 10,485,760 (contract, Server configuration).
    pub fn max_response_bytes(mut self, bytes: u64) -> Self {
        self.policy.max_response_bytes = bytes;
        self
    }

    /// What a caller is told about a tool that panicked.
    pub fn panic_detail(mut self, detail: PanicDetail) -> Self {
        self.policy.panic_detail = detail;
        self
    }

    /// How long calls in flight may go on after the host has closed standard input; 4 s unless
    /// set. The host kills the process after 5 s.
    pub fn shutdown_grace(mut self, grace: Duration) -> Self {
        self.policy.shutdown_grace = grace;
        self
    }

    /// How long artifacts are kept.
    pub fn artifact_retention(mut self, retention: Retention) -> Self {
        self.retention = retention;
        self
    }

    /// Check the name and all tools together.
    ///
    /// # Errors
    ///
    /// One error that lists every tool with an invalid, reserved or duplicate name, without a
    /// description, or without a usable schema.
    pub fn build(self) -> Result<Server, RegistrationError> {
        let registry = Registry::new(&self.name, self.tools)?;
        let artifacts = ArtifactStore::for_extension(&self.name, self.retention);
        Ok(Server {
            parts: Arc::new(Parts {
                name: self.name.into(),
                version: self.version,
                instructions: self.instructions,
                registry,
                artifacts,
                policy: self.policy,
            }),
        })
    }

    /// Check the extension, then serve it on standard input and output until the host closes
    /// standard input. With the argument `--describe`, print what the host would be told, as
    /// JSON, and return.
    ///
    /// # Errors
    ///
    /// Everything that keeps the extension from being served; nothing has been written to
    /// standard output by then. The end of standard input is no error.
    pub fn serve(self) -> Result<()> {
        let server = self.build().map_err(Error::Registration)?;
        if env::args_os()
            .skip(1)
            .any(|argument| argument == "--describe")
        {
            return describe::print(&server.parts).map_err(Error::Describe);
        }
        server.serve()
    }
}

/// A checked extension, ready to be served.
#[derive(Debug)]
pub struct Server {
    parts: Arc<Parts>,
}

/// What a serving extension consists of.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) name: Arc<str>,
    pub(crate) version: String,
    pub(crate) instructions: Option<String>,
    pub(crate) registry: Registry,
    pub(crate) artifacts: ArtifactStore,
    pub(crate) policy: Policy,
}

impl Server {
    /// Serve on standard input and output until the host closes standard input.
    ///
    /// # Errors
    ///
    /// When standard input and output cannot be taken over or threads cannot be started.
    pub fn serve(self) -> Result<()> {
        logging::install();
        warn_about_setting();
        serve::run(self.parts)
    }

    /// What `--describe` prints: name, version, and every tool with its schema and the hashes by
    /// which the host notices a change.
    pub fn describe(&self) -> serde_json::Value {
        describe::describe(&self.parts)
    }

    /// The tools, in the order in which the host lists them.
    pub fn tools(&self) -> impl Iterator<Item = &Tool> {
        self.parts.registry.iter()
    }
}

fn max_response_bytes_from(setting: &OsStr) -> Option<u64> {
    setting
        .to_str()
        .and_then(|text| text.trim().parse().ok())
        .filter(|&bytes| bytes > 0)
}

/// A limit that is not understood must not pass for one that is kept.
fn warn_about_setting() {
    if let Some(setting) = env::var_os(MAX_RESPONSE_BYTES_VARIABLE)
        && !setting.is_empty()
        && max_response_bytes_from(&setting).is_none()
    {
        tracing::warn!(
            "{MAX_RESPONSE_BYTES_VARIABLE} is {setting:?}, which is no number of bytes above zero; \
             the host's default of {DEFAULT_MAX_RESPONSE_BYTES} is used"
        );
    }
}
