//! One tool: what the host is told about it, and the function that runs.
//!
//! The macros build [`Tool`]s from functions; programs that only know their tools at run time
//! build them with [`Tool::dynamic`]. Whether a set of tools may be offered together is the
//! registry's business, how a call reaches a tool the server's.

use std::{borrow::Cow, fmt, future::Future, pin::Pin, sync::Arc, time::Duration};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, value::RawValue};

use crate::{
    ToolContext,
    arguments::{self, ArgumentsError},
    result::{IntoToolResult, ToolError, ToolResult},
    schema::{self, SchemaError},
    serve::pace::Pace,
};

/// What a running tool resolves to.
pub type ToolFuture =
    Pin<Box<dyn Future<Output = std::result::Result<ToolResult, ToolError>> + Send>>;

/// Hints about a tool's behaviour, sent as MCP tool annotations. The odek client does not read
/// them (host facts, section 7); other MCP hosts show or act on them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Annotations {
    /// A title for people, where the name is for programs.
    pub title: Option<Cow<'static, str>>,
    /// The tool changes nothing in its environment.
    pub read_only: Option<bool>,
    /// The tool may destroy something, rather than only add to it.
    pub destructive: Option<bool>,
    /// A second call with the same arguments changes nothing further.
    pub idempotent: Option<bool>,
    /// The tool reaches things outside this machine, such as the web.
    pub open_world: Option<bool>,
}

/// Everything about a tool except its arguments and its function.
#[derive(Debug, Clone)]
pub struct ToolAttributes {
    /// The name the host lists: 1 to 64 ASCII letters, digits, `_` or `-`, no `__` (contract,
    /// Tool-name rules). Checked when the extension is built.
    pub name: Cow<'static, str>,
    /// What the tool does, for the model.
    pub description: Cow<'static, str>,
    /// MCP tool annotations.
    pub annotations: Annotations,
    /// After this long a call is answered with a tool error. Without it a call may take as long
    /// as the host waits.
    pub timeout: Option<Duration>,
}

impl ToolAttributes {
    /// A name and a description, no annotations and no time limit.
    pub fn new(
        name: impl Into<Cow<'static, str>>,
        description: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            annotations: Annotations::default(),
            timeout: None,
        }
    }
}

/// A call's `arguments` as they stood in the request; absent when the request had none.
pub(crate) type RawArguments = Option<Box<RawValue>>;

pub(crate) type AsyncFunction = dyn Fn(RawArguments, ToolContext) -> ToolFuture + Send + Sync;
pub(crate) type BlockingFunction =
    dyn Fn(RawArguments, ToolContext) -> std::result::Result<ToolResult, ToolError> + Send + Sync;

/// How a tool's function wants to be run.
#[derive(Clone)]
pub(crate) enum Function {
    /// On the async threads.
    Async(Arc<AsyncFunction>),
    /// On a thread of its own, so that it may block or compute for long.
    Blocking(Arc<BlockingFunction>),
}

/// One tool of an extension.
///
/// Usually made by [`odek_tool`](crate::odek_tool) and passed to
/// [`Extension::tool`](crate::Extension::tool). A tool that is only known at run time is made with
/// [`Tool::dynamic`]:
///
/// ```
/// use odek_sdk::{Tool, ToolAttributes, ToolResult};
/// use serde_json::json;
///
/// let tool = Tool::dynamic(
///     ToolAttributes::new("lookup", "Look a word up in the loaded dictionary."),
///     json!({"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}),
///     |arguments, _cx| async move {
///         Ok::<_, String>(format!("you asked for {}", arguments["word"]))
///     },
/// );
/// assert_eq!(tool.name(), "lookup");
/// # let _ = ToolResult::text("");
/// ```
#[derive(Clone)]
pub struct Tool {
    pub(crate) attributes: ToolAttributes,
    pub(crate) input_schema: std::result::Result<Arc<Map<String, Value>>, SchemaError>,
    pub(crate) function: Function,
    pub(crate) pace: Arc<Pace>,
}

impl Tool {
    fn new(
        attributes: ToolAttributes,
        input_schema: std::result::Result<Arc<Map<String, Value>>, SchemaError>,
        function: Function,
    ) -> Self {
        Self {
            attributes,
            input_schema,
            function,
            pace: Arc::default(),
        }
    }

    /// A tool from an async function. `A` is decoded from the call's arguments object, and its
    /// JSON Schema is what the model is shown.
    pub fn from_async<A, F, Fut, R>(attributes: ToolAttributes, function: F) -> Self
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        F: Fn(A, ToolContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: IntoToolResult,
    {
        let input_schema = schema::input_schema::<A>().map(Arc::new);
        let decoder = Decoder::new(&input_schema);
        let run = move |raw: RawArguments, cx: ToolContext| -> ToolFuture {
            let decoded = decoder.decode::<A>(raw);
            answer(decoded.map(|arguments| function(arguments, cx)))
        };
        Self::new(attributes, input_schema, Function::Async(Arc::new(run)))
    }

    /// A tool from a plain function, which runs off the async threads.
    pub fn from_blocking<A, F, R>(attributes: ToolAttributes, function: F) -> Self
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        F: Fn(A, ToolContext) -> R + Send + Sync + 'static,
        R: IntoToolResult,
    {
        let input_schema = schema::input_schema::<A>().map(Arc::new);
        let decoder = Decoder::new(&input_schema);
        let run = move |raw: RawArguments, cx: ToolContext| match decoder.decode::<A>(raw) {
            Ok(arguments) => function(arguments, cx).into_tool_result(),
            Err(error) => Err(ToolError::new(error)),
        };
        Self::new(attributes, input_schema, Function::Blocking(Arc::new(run)))
    }

    /// A tool whose name and schema are only known at run time. The function receives the
    /// arguments object as it came, after numbers and the like have been brought to the types
    /// that the schema names.
    ///
    /// The schema is made portable by the same rules as a generated one; one that cannot be is
    /// reported when the extension is built.
    pub fn dynamic<F, Fut, R>(attributes: ToolAttributes, input_schema: Value, function: F) -> Self
    where
        F: Fn(Map<String, Value>, ToolContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: IntoToolResult,
    {
        let input_schema = schema::portable(input_schema).map(Arc::new);
        let decoder = Decoder::new(&input_schema);
        let run = move |raw: RawArguments, cx: ToolContext| -> ToolFuture {
            let decoded = decoder.object(raw);
            answer(decoded.map(|arguments| function(arguments, cx)))
        };
        Self::new(attributes, input_schema, Function::Async(Arc::new(run)))
    }

    /// The name the host lists.
    pub fn name(&self) -> &str {
        &self.attributes.name
    }

    /// What the model reads about the tool.
    pub fn description(&self) -> &str {
        &self.attributes.description
    }

    /// Hints for MCP hosts.
    pub fn annotations(&self) -> &Annotations {
        &self.attributes.annotations
    }

    /// The JSON Schema of the arguments.
    ///
    /// # Errors
    ///
    /// The reason why the argument type has no schema that every model provider accepts.
    pub fn input_schema(&self) -> std::result::Result<&Map<String, Value>, &SchemaError> {
        self.input_schema.as_deref()
    }
}

impl fmt::Debug for Tool {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Tool")
            .field("attributes", &self.attributes)
            .field("input_schema", &self.input_schema)
            .finish_non_exhaustive()
    }
}

/// Something that holds several tools: the state behind an `impl` block marked
/// [`odek_tools`](crate::odek_tools), or tools made at run time.
pub trait ToolSet {
    /// The tools, in the order in which the host shall list them.
    fn into_tools(self) -> Vec<Tool>;
}

impl ToolSet for Vec<Tool> {
    fn into_tools(self) -> Vec<Tool> {
        self
    }
}

impl<const N: usize> ToolSet for [Tool; N] {
    fn into_tools(self) -> Vec<Tool> {
        self.into()
    }
}

/// Runs a call whose arguments could be decoded.
fn answer<Fut, R>(running: std::result::Result<Fut, ArgumentsError>) -> ToolFuture
where
    Fut: Future<Output = R> + Send + 'static,
    R: IntoToolResult,
{
    Box::pin(async move {
        match running {
            Ok(running) => running.await.into_tool_result(),
            Err(error) => Err(ToolError::new(error)),
        }
    })
}

/// Decodes a tool's arguments by its schema. Without a schema the tool can never be registered,
/// so an empty one serves.
struct Decoder(Arc<Map<String, Value>>);

impl Decoder {
    fn new(schema: &std::result::Result<Arc<Map<String, Value>>, SchemaError>) -> Self {
        Self(schema.as_ref().map(Arc::clone).unwrap_or_default())
    }

    fn decode<A: DeserializeOwned>(
        &self,
        raw: RawArguments,
    ) -> std::result::Result<A, ArgumentsError> {
        arguments::decode(raw.as_deref(), &self.0)
    }

    fn object(&self, raw: RawArguments) -> std::result::Result<Map<String, Value>, ArgumentsError> {
        arguments::object_by_schema(raw.as_deref(), &self.0)
    }
}
