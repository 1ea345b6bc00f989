//! An extension whose tools do what the SDK has to survive.
//!
//! `PROBE_REGISTER` adds tools that cannot be registered, `PROBE_PANIC_DETAIL` opts in to panic
//! messages, `PROBE_GUARDS=off` switches the guards off.

use std::{
    env,
    io::{self, Read, Write},
    process::{Command, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use odek_sdk::{LongTextPolicy, PanicDetail, ResponseGuard, ToolAttributes, prelude::*};
use serde_json::json;

/// Give a text back.
#[odek_tool(read_only, idempotent)]
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

/// Add two integers.
#[odek_tool]
fn add(
    /// The first.
    a: i64,
    /// The second.
    #[odek(default = 1)]
    b: i64,
) -> i64 {
    a + b
}

/// Panic in an async function.
#[odek_tool]
async fn panic_async() -> String {
    tokio::task::yield_now().await;
    panic!("secret path /etc/probe")
}

/// Panic in a plain function.
#[odek_tool]
fn panic_plain() -> String {
    panic!("secret path /etc/probe")
}

/// Panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("the bomb was dropped");
    }
}

/// Panic while the call is given up after its time.
#[odek_tool(timeout = "50ms")]
async fn panic_when_stopped() -> String {
    let _bomb = Bomb;
    tokio::time::sleep(Duration::from_secs(60)).await;
    "too late".to_owned()
}

/// Panic with something that panics again.
#[odek_tool]
async fn panic_twice() -> String {
    std::panic::panic_any(Bomb)
}

/// Write to standard output in every way there is.
#[odek_tool]
#[allow(clippy::print_stdout)]
fn noise() -> io::Result<String> {
    println!("noise from println");
    io::stdout().write_all(b"noise from write\n")?;
    io::stdout().flush()?;
    let status = Command::new("sh")
        .args(["-c", "echo noise from a child"])
        .status()?;
    Ok(format!("noise made, {status}"))
}

/// Read standard input, and let a child read it.
#[odek_tool]
fn read_input() -> io::Result<String> {
    let mut own = Vec::new();
    io::stdin().read_to_end(&mut own)?;
    let child = Command::new("cat")
        .stdin(Stdio::inherit())
        .stdout(Stdio::piped())
        .output()?;
    Ok(format!(
        "read {} and {} bytes",
        own.len(),
        child.stdout.len()
    ))
}

/// Sleep, then answer.
#[odek_tool]
async fn sleep(
    /// How long, in milliseconds.
    ms: u64,
) -> String {
    tokio::time::sleep(Duration::from_millis(ms)).await;
    format!("slept {ms} ms")
}

/// Block an async thread, as an async tool should not.
#[odek_tool]
async fn block(
    /// How long, in milliseconds.
    ms: u64,
) -> String {
    thread::sleep(Duration::from_millis(ms));
    format!("blocked for {ms} ms")
}

/// Run past the tool's own time limit.
#[odek_tool(timeout = "50ms")]
async fn late() -> String {
    tokio::time::sleep(Duration::from_secs(60)).await;
    "too late".to_owned()
}

/// Run past the tool's own time limit in a plain function that notices.
#[odek_tool(timeout = "50ms")]
fn late_plain(cx: ToolContext) -> String {
    while !cx.is_cancelled() {
        thread::sleep(Duration::from_millis(5));
    }
    eprintln!("late_plain noticed that its time is up");
    "too late".to_owned()
}

/// Run past the tool's own time limit in an async function that never yields.
#[odek_tool(timeout = "50ms")]
async fn late_unyielding(cx: ToolContext) -> String {
    hold_thread(&cx);
    "too late".to_owned()
}

/// Keep a thread for async tools to itself until the call is cancelled.
#[odek_tool]
async fn never_yield(cx: ToolContext) -> String {
    hold_thread(&cx);
    "cancelled".to_owned()
}

/// Answer at once, or keep the thread until `release` is called.
#[odek_tool]
async fn hang(
    /// Whether to keep the thread.
    is_hanging: bool,
) -> String {
    while is_hanging && !RELEASED.load(Ordering::Relaxed) {
        thread::sleep(Duration::from_millis(5));
    }
    "done".to_owned()
}

/// Let all calls of `hang` go on.
#[odek_tool]
fn release() -> String {
    RELEASED.store(true, Ordering::Relaxed);
    "released".to_owned()
}

static RELEASED: AtomicBool = AtomicBool::new(false);

fn hold_thread(cx: &ToolContext) {
    while !cx.is_cancelled() {
        thread::sleep(Duration::from_millis(5));
    }
}

/// Wait until the call is cancelled, and say so on standard error.
#[odek_tool]
async fn wait_for_cancel(cx: ToolContext) -> String {
    cx.cancelled().await;
    eprintln!("the cancellation arrived");
    "cancelled".to_owned()
}

/// Give back a text of some length.
#[odek_tool]
fn big(
    /// How many letters.
    size: usize,
) -> String {
    "x".repeat(size)
}

/// Give back an object of some size, as text and as structured content.
#[odek_tool]
fn big_object(
    /// How many letters.
    size: usize,
) -> Json<serde_json::Value> {
    Json(json!({"letters": "x".repeat(size)}))
}

/// Fail with an error that looks like an envelope.
#[odek_tool]
fn fail(
    /// The message.
    message: String,
) -> Result<String, String> {
    Err(message)
}

/// Attach a text as an artifact.
#[odek_tool]
fn attach(
    /// The id of the artifact.
    id: String,
    /// Its content.
    content: String,
    cx: ToolContext,
) -> Result<ToolResult, ToolError> {
    let artifact = cx
        .artifacts()
        .write_bytes(&id, content.as_bytes())?
        .summary("What was given");
    Ok(ToolResult::text("attached").artifact(artifact))
}

fn dynamic(name: &'static str) -> Tool {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    Tool::dynamic(
        ToolAttributes::new(name, "Show the arguments."),
        schema,
        |arguments, _| async { Json(arguments) },
    )
}

fn main() -> odek_sdk::Result<()> {
    let mut extension = Extension::new("probe", "1.2.3")
        .instructions("Only for tests.")
        .tool(echo)
        .tool(echo_plain)
        .tool(add)
        .tool(panic_async)
        .tool(panic_plain)
        .tool(panic_when_stopped)
        .tool(panic_twice)
        .tool(noise)
        .tool(read_input)
        .tool(sleep)
        .tool(block)
        .tool(late)
        .tool(late_plain)
        .tool(late_unyielding)
        .tool(never_yield)
        .tool(hang)
        .tool(release)
        .tool(wait_for_cancel)
        .tool(big)
        .tool(big_object)
        .tool(fail)
        .tool(attach)
        .tool(dynamic("show"));
    if env::var_os("PROBE_REGISTER").is_some() {
        extension = extension
            .tool(dynamic("a b"))
            .tool(dynamic("shell"))
            .tool(dynamic("echo"));
    }
    if env::var_os("PROBE_PANIC_DETAIL").is_some() {
        extension = extension.panic_detail(PanicDetail::Include);
    }
    if env::var_os("PROBE_GUARDS").is_some() {
        extension = extension
            .response_guard(ResponseGuard::Off)
            .long_text(LongTextPolicy::Keep);
    }
    if env::var_os("PROBE_KEEP_TEXT").is_some() {
        extension = extension.long_text(LongTextPolicy::Keep);
    }
    extension.serve()
}
