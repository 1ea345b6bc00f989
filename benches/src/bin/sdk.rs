//! The measured server, written with odek-sdk.
//!
//! `BENCH_TOOLS=N` adds N further tools; `echo` stays the first.

use std::{env, fs, thread, time::Instant};

use odek_sdk::{LongTextPolicy, ToolAttributes, prelude::*};
use serde_json::json;

/// Give a text back.
#[odek_tool]
async fn echo(
    /// What to give back.
    text: String,
) -> String {
    text
}

/// Give a text back, from a plain function.
#[odek_tool]
fn echo_plain(
    /// What to give back.
    text: String,
) -> String {
    text
}

/// Give back a text of some length.
#[odek_tool]
fn large(
    /// How many letters.
    size: usize,
) -> String {
    "x".repeat(size)
}

/// Copy a file into an artifact; the milliseconds it took.
#[odek_tool]
fn attach_timed(
    /// Path of the file.
    path: PathBuf,
    cx: ToolContext,
) -> Result<f64, ToolError> {
    let begin = Instant::now();
    let artifact = cx.artifacts().copy_in("timed", &path)?;
    let elapsed = begin.elapsed();
    fs::remove_file(artifact.path())?;
    Ok(elapsed.as_secs_f64() * 1e3)
}

/// Write artifacts of some size on one thread or on several; the milliseconds it took.
#[odek_tool]
fn attach_many(
    /// How many artifacts.
    count: usize,
    /// The size of each, in bytes.
    size: usize,
    /// How many threads.
    threads: usize,
    cx: ToolContext,
) -> Result<f64, ToolError> {
    let content = vec![b'x'; size];
    let begin = Instant::now();
    let outcomes: Vec<Result<(), ToolError>> = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|worker| {
                let (content, cx) = (&content, &cx);
                scope.spawn(move || {
                    for index in (worker..count).step_by(threads) {
                        cx.artifacts()
                            .write_bytes(&format!("many-{index}"), content)?;
                    }
                    Ok(())
                })
            })
            .collect();
        let ended = workers.into_iter().map(|worker| {
            worker
                .join()
                .unwrap_or_else(|_| Err(ToolError::new("a worker panicked")))
        });
        ended.collect()
    });
    outcomes.into_iter().collect::<Result<(), _>>()?;
    Ok(begin.elapsed().as_secs_f64() * 1e3)
}

fn main() -> odek_sdk::Result<()> {
    let further = env::var("BENCH_TOOLS")
        .ok()
        .and_then(|count| count.parse().ok())
        .unwrap_or(0);
    let tools: Vec<Tool> = (0..further).map(further_tool).collect();
    Extension::new("bench", env!("CARGO_PKG_VERSION"))
        .long_text(LongTextPolicy::Keep)
        .tool(echo)
        .tool(echo_plain)
        .tool(large)
        .tool(attach_timed)
        .tool(attach_many)
        .tools(tools)
        .serve()
}

fn further_tool(index: usize) -> Tool {
    let schema = json!({"type": "object", "properties": {"text": {"type": "string"}}});
    let attributes = ToolAttributes::new(format!("further-{index}"), "One of many.");
    Tool::dynamic(attributes, schema, |_, _| async { "done" })
}
