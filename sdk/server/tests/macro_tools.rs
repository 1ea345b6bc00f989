//! What `#[odek_tool]` and `#[odek_tools]` make of functions.

use std::{collections::HashMap, path::PathBuf};

use odek_sdk::{Args, Tool, ToolContext, ToolSet, odek_tool, odek_tools};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

fn schema(tool: &Tool) -> Value {
    match tool.input_schema() {
        Ok(schema) => Value::Object(schema.clone()),
        Err(error) => panic!("{error}"),
    }
}

/// Summarise a report
/// in a few words.
///
/// Only JUnit files are understood.
#[odek_tool(
    title = "Summary",
    read_only,
    idempotent = true,
    open_world = false,
    timeout = "25s"
)]
async fn summarize(
    /// Path of the
    /// JUnit file.
    path: PathBuf,
    /// How many failing cases to list.
    #[odek(default = 10)]
    top: usize,
    /// Only cases of this suite.
    suite: Option<String>,
    _cx: ToolContext,
) -> Result<String, String> {
    Ok(format!("{} {top} {suite:?}", path.display()))
}

#[test]
fn a_function_becomes_a_tool() {
    let tool = Tool::from(summarize);
    assert_eq!(tool.name(), "summarize");
    assert_eq!(
        tool.description(),
        "Summarise a report in a few words.\n\nOnly JUnit files are understood."
    );
    let annotations = tool.annotations();
    assert_eq!(annotations.title.as_deref(), Some("Summary"));
    assert_eq!(annotations.read_only, Some(true));
    assert_eq!(annotations.destructive, None);
    assert_eq!(annotations.idempotent, Some(true));
    assert_eq!(annotations.open_world, Some(false));
    assert_eq!(
        schema(&tool),
        json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "Path of the JUnit file."},
                "top": {
                    "type": "integer",
                    "minimum": 0,
                    "default": 10,
                    "description": "How many failing cases to list.",
                },
                "suite": {"type": "string", "description": "Only cases of this suite."},
            },
            "required": ["path"],
        })
    );
}

/// Add numbers.
#[odek_tool(name = "add-up", description = "Add two numbers.")]
pub(crate) fn add(mut left: i64, #[odek(name = "right-hand", default)] right: i64) -> i64 {
    left += right;
    left
}

#[test]
fn names_and_descriptions_can_be_set() {
    let tool = add();
    assert_eq!(tool.name(), "add-up");
    assert_eq!(tool.description(), "Add two numbers.");
    assert_eq!(
        schema(&tool),
        json!({
            "type": "object",
            "properties": {
                "left": {"type": "integer"},
                "right-hand": {"type": "integer", "default": 0},
            },
            "required": ["left"],
        })
    );
}

#[test]
fn the_function_itself_can_be_called() {
    assert_eq!(add::call(2, 3), 5);
}

/// No arguments at all.
#[odek_tool]
fn ping() {}

#[test]
fn a_local_variable_may_have_the_name_of_a_tool() {
    let ping = Tool::from(ping);
    assert_eq!(schema(&ping), json!({"type": "object", "properties": {}}));
}

/// Raw identifiers are plain names, and a parameter may be named like the tool.
#[odek_tool]
fn r#move(r#type: String, r#move: bool, _unused: u8) -> String {
    format!("{}{}", r#type, r#move)
}

#[test]
fn raw_identifiers_are_plain_names() {
    let tool = Tool::from(r#move);
    assert_eq!(tool.name(), "move");
    let schema = schema(&tool);
    assert_eq!(schema["required"], json!(["type", "move", "_unused"]));
}

/// A page of results.
#[derive(Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
struct Page {
    /// Skip this many.
    #[serde(default)]
    offset: u32,
    limit: Option<u8>,
}

/// Search.
#[odek_tool]
async fn search(query: String, #[odek(flatten)] page: Page) -> String {
    format!("{query} {page:?}")
}

#[test]
fn flattened_structs_join_the_arguments() {
    assert_eq!(
        schema(&search()),
        json!({
            "type": "object",
            "properties": {
                "query": {"type": "string"},
                "offset": {
                    "type": "integer", "minimum": 0, "default": 0, "description": "Skip this many.",
                },
                "limit": {"type": "integer", "minimum": 0, "maximum": 255},
            },
            "required": ["query"],
        })
    );
}

/// Two parts of one name.
#[odek_tool]
fn clash(limit: u8, #[odek(flatten)] page: Page) -> String {
    format!("{limit}{page:?}")
}

/// The same struct twice.
#[odek_tool]
fn twice(#[odek(flatten)] one: Page, #[odek(flatten)] other: Page) -> String {
    format!("{one:?}{other:?}")
}

#[test]
fn arguments_declared_twice_are_found_at_registration() {
    let tool = clash();
    assert_eq!(
        tool.input_schema().unwrap_err().to_string(),
        "the arguments: the property `limit` is declared twice; rename one of the two"
    );
    assert!(twice().input_schema().is_err());
}

/// Take everything.
#[odek_tool]
fn whole(cx: ToolContext, Args(page): Args<Page>) -> String {
    let _ = cx;
    format!("{page:?}")
}

/// Take everything, unpacked later.
#[odek_tool]
fn whole_unpacked(page: Args<HashMap<String, Value>>) -> usize {
    page.0.len()
}

#[test]
fn args_is_the_whole_object() {
    assert_eq!(
        schema(&whole()),
        json!({
            "type": "object",
            "description": "A page of results.",
            "properties": {
                "offset": {
                    "type": "integer", "minimum": 0, "default": 0, "description": "Skip this many.",
                },
                "limit": {"type": "integer", "minimum": 0, "maximum": 255},
            },
        })
    );
    assert_eq!(
        schema(&whole_unpacked()),
        json!({"type": "object", "properties": {}, "additionalProperties": {}})
    );
}

const FIVE: u8 = 5;

#[derive(Default, Deserialize, JsonSchema)]
struct NotSerializable {
    inner: u8,
}

/// Defaults of many kinds.
#[odek_tool]
fn defaults(
    #[odek(default = "out.txt")] path: PathBuf,
    #[odek(default = "x")] text: String,
    #[odek(default = FIVE + 1)] count: u8,
    #[odek(default = 0.1)] ratio: f32,
    #[odek(default = vec!["a".to_owned()])] tags: Vec<String>,
    #[odek(default = Page { offset: 2, limit: None })] page: Page,
    #[odek(default)] hidden: NotSerializable,
) -> String {
    let _ = (path, text, count, ratio, tags, page, hidden.inner);
    String::new()
}

#[test]
fn defaults_are_shown_where_they_have_a_json_form() {
    let schema = schema(&defaults());
    let default = |name: &str| schema["properties"][name].get("default").cloned();
    assert_eq!(default("path"), Some(json!("out.txt")));
    assert_eq!(default("text"), Some(json!("x")));
    assert_eq!(default("count"), Some(json!(6)));
    assert_eq!(default("ratio"), Some(json!(0.1)));
    assert_eq!(default("tags"), Some(json!(["a"])));
    assert_eq!(default("page"), Some(json!({"offset": 2, "limit": null})));
    assert_eq!(default("hidden"), None);
    assert_eq!(schema.get("required"), None);
}

struct Counter {
    start: u64,
}

#[derive(Deserialize, JsonSchema)]
struct Step(u64);

#[odek_tools]
impl Counter {
    /// Not a tool.
    const LIMIT: u64 = 10;

    /// Count on.
    #[odek_tool(name = "count")]
    async fn count_on(
        &self,
        /// How far.
        #[odek(default = Self::LIMIT)]
        by: u64,
        cx: ToolContext,
    ) -> u64 {
        let _ = cx;
        self.start + by
    }

    /// The start.
    #[odek_tool]
    fn start(&self) -> &'static str {
        self.helper()
    }

    /// Without state.
    #[odek_tool]
    fn fixed(#[odek(flatten)] point: Point<u8>, step: Step) -> Result<String, std::io::Error> {
        Ok(format!("{}{}", point.x, step.0))
    }

    /// Exists in no build.
    #[cfg(any())]
    #[odek_tool]
    fn never(&self, missing: DoesNotExist) {}

    fn helper(&self) -> &'static str {
        "start"
    }
}

#[derive(Deserialize, JsonSchema)]
struct Point<T> {
    x: T,
}

#[test]
fn methods_of_an_impl_block_become_tools() {
    let counter = Counter { start: 1 };
    assert_eq!(counter.start(), "start");
    let tools = counter.into_tools();
    let names: Vec<_> = tools.iter().map(Tool::name).collect();
    assert_eq!(names, ["count", "start", "fixed"]);
    assert_eq!(
        schema(&tools[0]),
        json!({
            "type": "object",
            "properties": {
                "by": {"type": "integer", "minimum": 0, "default": 10, "description": "How far."},
            },
        })
    );
    assert_eq!(schema(&tools[2])["required"], json!(["step", "x"]));
}

struct Generic<T>(T);

#[odek_tools]
impl<T: AsRef<str> + Send + Sync + 'static> Generic<T> {
    /// Say it.
    #[odek_tool]
    fn say(&self, times: usize) -> String {
        self.0.as_ref().repeat(times)
    }
}

#[test]
fn the_state_may_be_generic() {
    let tools = Generic("x").into_tools();
    assert_eq!(tools[0].name(), "say");
}

/// Exists in no build.
#[cfg(any())]
#[odek_tool]
fn never(missing: DoesNotExist) {}

mod inner {
    use odek_sdk::odek_tool;

    /// Opaque results are fine.
    #[odek_tool]
    pub fn opaque() -> impl odek_sdk::IntoToolResult {
        "text"
    }
}

#[test]
fn tools_can_be_used_from_other_modules() {
    use inner::opaque;
    assert_eq!(Tool::from(opaque).name(), "opaque");
    let _ = inner::opaque::call();
}

/// Authors may be strict.
pub mod strict {
    #![deny(
        missing_docs,
        missing_debug_implementations,
        unreachable_pub,
        unused_qualifications,
        warnings,
        clippy::all,
        clippy::pedantic
    )]
    #![allow(clippy::must_use_candidate)]

    use odek_sdk::{ToolContext, odek_tool, odek_tools};

    /// Described.
    #[odek_tool]
    pub fn documented(
        /// Described.
        #[odek(default = 3)]
        value: u8,
        /// Described.
        #[odek(default)]
        other: u8,
    ) -> u64 {
        u64::from(value) + u64::from(other)
    }

    /// The state.
    #[derive(Debug)]
    pub struct State;

    #[odek_tools]
    impl State {
        /// Described.
        #[odek_tool]
        pub async fn method(&self, cx: ToolContext) -> String {
            cx.cancelled().await;
            format!("{self:?}")
        }
    }
}

#[test]
fn strict_lints_find_nothing_in_the_output() {
    assert_eq!(Tool::from(strict::documented).name(), "documented");
    assert_eq!(strict::State.into_tools().len(), 1);
}

/// State with a type argument.
struct Stepper<T> {
    step: T,
}

#[odek_tools]
impl Stepper<u8> {
    const LIMIT: u8 = 7;

    /// Add the step.
    #[odek_tool]
    fn add_step(&self, #[odek(default = Self::LIMIT - Self { step: 2 }.step)] start: u8) -> u8 {
        start + self.step
    }
}

#[test]
fn a_default_can_name_the_state_with_its_type_arguments() {
    let tools = Stepper { step: 1 }.into_tools();
    assert_eq!(
        tools[0].input_schema().unwrap()["properties"]["start"]["default"],
        5
    );
}

/// Makes tools of a pattern, as authors do.
macro_rules! doubling_tool {
    ($name:ident, $type:ty, $default:expr) => {
        /// Double a number.
        #[odek_tool]
        async fn $name(#[odek(default = $default)] x: $type) -> $type {
            x * 2
        }
    };
}

doubling_tool!(double_small, u8, 3);
doubling_tool!(double_large, i64, 4);

#[test]
fn a_tool_can_be_made_by_another_macro() {
    let tools = [Tool::from(double_small), Tool::from(double_large)];
    assert_eq!(
        tools.each_ref().map(Tool::name),
        ["double_small", "double_large"]
    );
    assert_eq!(
        tools[1].input_schema().unwrap()["properties"]["x"]["default"],
        4
    );
}
