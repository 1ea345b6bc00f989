//! Calls of marked functions: what they are given for what a host sends.

use std::{collections::HashMap, path::PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use tokio_util::sync::CancellationToken;

use crate::{
    Args, ArtifactStore, Retention, Tool, ToolContext, ToolError, ToolSet, odek_tool, odek_tools,
    tool::Function,
};

/// The text or the error of a call, with the arguments as JSON text.
fn call(tool: impl Into<Tool>, arguments: &str) -> Result<String, String> {
    let tool = tool.into();
    let directory = std::env::temp_dir().join("odek-sdk-macro-tests");
    let store = ArtifactStore::at(directory, Retention::default());
    let cx = ToolContext::new(
        "test".into(),
        tool.name().into(),
        store,
        CancellationToken::new(),
        None,
    );
    let raw = RawValue::from_string(arguments.to_owned()).unwrap();
    let result = match tool.function {
        Function::Blocking(function) => function(Some(raw), cx),
        Function::Async(function) => {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .build()
                .unwrap();
            runtime.block_on(function(Some(raw), cx))
        }
    };
    result
        .map(|result| result.text_content().to_owned())
        .map_err(|error| error.to_string())
}

#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
struct Page {
    #[serde(default)]
    offset: u32,
    limit: Option<u8>,
}

/// Described.
#[odek_tool]
async fn search(
    query: String,
    #[odek(default = 10)] top: usize,
    #[odek(name = "deep-search", default)] deep: bool,
    suite: Option<String>,
    cx: ToolContext,
) -> String {
    format!("{} {query} {top} {deep} {suite:?}", cx.tool_name())
}

#[test]
fn arguments_are_read_by_name() {
    assert_eq!(
        call(search, r#"{"query": "x"}"#),
        Ok("search x 10 false None".into())
    );
    assert_eq!(
        call(
            search,
            r#"{"suite": "s", "deep-search": true, "query": "y", "top": 3, "unknown": [{}]}"#
        ),
        Ok(r#"search y 3 true Some("s")"#.into())
    );
}

#[test]
fn null_is_the_same_as_nothing_where_something_may_be_left_out() {
    assert_eq!(
        call(
            search,
            r#"{"query": "x", "top": null, "suite": null, "deep-search": null}"#
        ),
        Ok("search x 10 false None".into())
    );
    let error = call(search, r#"{"query": null}"#).unwrap_err();
    assert!(
        error.starts_with("argument \"query\": invalid type: null"),
        "{error}"
    );
}

#[test]
fn numbers_in_other_clothes_are_accepted() {
    assert_eq!(
        call(search, r#"{"query": "x", "top": 3.0}"#),
        Ok("search x 3 false None".into())
    );
    assert_eq!(
        call(search, r#""{\"query\": \"x\", \"top\": \"4\"}""#),
        Ok("search x 4 false None".into())
    );
}

#[test]
fn errors_name_the_argument_and_what_the_tool_takes() {
    let expected = "expected {deep-search: boolean (optional), query: string, suite: string \
                    (optional), top: integer (optional)}";
    assert_eq!(
        call(search, "{}"),
        Err(format!("missing field `query`; {expected}"))
    );
    assert_eq!(
        call(search, r#"{"query": "x", "top": "many"}"#),
        Err(format!(
            "argument \"top\": invalid type: string \"many\", expected usize; {expected}"
        ))
    );
}

/// Described.
#[odek_tool]
fn flattened(
    query: String,
    #[odek(flatten)] page: Page,
    #[odek(flatten)] rest: HashMap<String, Value>,
) -> String {
    let mut rest: Vec<_> = rest.into_keys().collect();
    rest.sort();
    format!("{query} {page:?} {rest:?}")
}

#[test]
fn flattened_structs_are_read_from_what_is_left() {
    assert_eq!(
        call(flattened, r#"{"limit": "5", "query": "x", "more": 1}"#),
        Ok(r#"x Page { offset: 0, limit: Some(5) } ["limit", "more"]"#.into())
    );
    let error = call(flattened, r#"{"query": "x", "limit": 300}"#).unwrap_err();
    assert!(
        error.starts_with("argument \"limit\": invalid value: integer `300`, expected u8"),
        "{error}"
    );
}

/// Described.
#[odek_tool]
fn whole(Args(page): Args<Page>) -> String {
    format!("{page:?}")
}

#[test]
fn args_are_read_from_the_whole_object() {
    assert_eq!(
        call(whole, r#"{"offset": 2, "unknown": 1}"#),
        Ok("Page { offset: 2, limit: None }".into())
    );
    let error = call(whole, r#"{"offset": -1}"#).unwrap_err();
    assert!(
        error.starts_with("argument \"offset\": invalid value"),
        "{error}"
    );
}

/// Described.
#[odek_tool]
fn fails(path: PathBuf) -> Result<String, std::io::Error> {
    std::fs::read_to_string(path)
}

/// Described.
#[odek_tool]
async fn returns_early(fail: bool) -> Result<String, ToolError> {
    if fail {
        return Err(ToolError::new("asked to fail"));
    }
    Ok("fine".into())
}

#[test]
fn errors_of_the_function_are_the_tools_errors() {
    let error = call(fails, r#"{"path": "/does/not/exist"}"#).unwrap_err();
    assert!(error.contains("No such file"), "{error}");
    assert_eq!(
        call(returns_early, r#"{"fail": true}"#),
        Err("asked to fail".into())
    );
    assert_eq!(call(returns_early, r#"{"fail": false}"#), Ok("fine".into()));
}

struct Counter {
    count: std::sync::atomic::AtomicU64,
}

#[odek_tools]
impl Counter {
    const STEP: u64 = 2;

    /// Described.
    #[odek_tool]
    async fn count(&self, #[odek(default = Self::STEP)] by: u64) -> u64 {
        let before = self
            .count
            .fetch_add(by, std::sync::atomic::Ordering::Relaxed);
        before + by
    }

    /// Described.
    #[odek_tool]
    fn current(&self) -> String {
        format!("{:?}", self.count)
    }
}

#[test]
fn methods_share_their_state() {
    let counter = Counter { count: 40.into() };
    let [count, current]: [Tool; 2] = counter.into_tools().try_into().unwrap();
    assert_eq!(call(current.clone(), "null"), Ok("40".into()));
    assert_eq!(call(count.clone(), "{}"), Ok("42".into()));
    assert_eq!(call(count, r#"{"by": 5}"#), Ok("47".into()));
    assert_eq!(call(current, "null"), Ok("47".into()));
}

#[test]
fn absent_arguments_are_an_empty_object() {
    let tool = Tool::from(whole);
    let Function::Blocking(function) = tool.function else {
        panic!("not blocking")
    };
    let store = ArtifactStore::at(std::env::temp_dir(), Retention::default());
    let result = function(None, ToolContext::for_test("whole", store)).unwrap();
    assert_eq!(result.text_content(), "Page { offset: 0, limit: None }");
}
