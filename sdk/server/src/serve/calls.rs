//! One tool call, from its request to its answer.

use std::{
    sync::Arc,
    task::{self, Poll},
    time::{Duration, Instant},
};

use odek_contract::agent_loop::LOOP_RESULT_BYTES;
use serde::Serialize;
use serde_json::{Value, value::RawValue};
use tokio::{
    runtime::Handle,
    task::{block_in_place, spawn_blocking},
    time,
};
use tokio_util::sync::CancellationToken;

use crate::{
    context::ToolContext,
    extension::{PanicDetail, Parts},
    long_text,
    result::{Content, ToolError, ToolResult},
    serve::{
        in_flight::InFlight,
        message::{INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, Id, Rejection},
        output::Output,
        panics,
    },
    tool::{BlockingFunction, Function, RawArguments, Tool},
};

/// Runs tools and sends their answers.
pub(crate) struct Calls {
    runtime: Handle,
    shared: Arc<Shared>,
}

struct Shared {
    parts: Arc<Parts>,
    output: Arc<Output>,
    in_flight: Arc<InFlight>,
}

impl Calls {
    pub(crate) fn new(
        runtime: Handle,
        parts: &Arc<Parts>,
        output: &Arc<Output>,
        in_flight: &Arc<InFlight>,
    ) -> Self {
        let shared = Shared {
            parts: Arc::clone(parts),
            output: Arc::clone(output),
            in_flight: Arc::clone(in_flight),
        };
        Self {
            runtime,
            shared: Arc::new(shared),
        }
    }

    /// Start a call; it is answered when it is done.
    pub(crate) fn start(&self, id: Id, name: &str, arguments: Option<&RawValue>) {
        let Some(tool) = self.shared.parts.registry.get(name).map(Arc::clone) else {
            let problem = self.shared.parts.registry.unknown_tool(name);
            self.shared
                .output
                .send(Rejection::new(Some(id), INVALID_PARAMS, problem).to_line());
            return;
        };
        let Some(cancellation) = self.shared.in_flight.begin_call(&id) else {
            let problem = format!("a call with the id {id} is still open");
            self.shared
                .output
                .send(Rejection::new(Some(id), INVALID_REQUEST, problem).to_line());
            return;
        };
        let context = ToolContext::new(
            Arc::clone(&self.shared.parts.name),
            tool.name().into(),
            self.shared.parts.artifacts.clone(),
            cancellation.clone(),
            tool.attributes
                .timeout
                .and_then(|limit| Instant::now().checked_add(limit)),
        );
        let call = Call {
            id,
            tool,
            arguments: arguments.map(ToOwned::to_owned),
            context,
            cancellation,
            shared: Arc::clone(&self.shared),
        };
        match (&call.tool.function, call.tool.attributes.timeout) {
            (Function::Blocking(function), None) => {
                let function = Arc::clone(function);
                self.runtime
                    .spawn_blocking(move || call.run_here(&*function));
            }
            _ => self.start_async(call),
        }
    }

    /// Start a call that may await something. One of a tool that is known to be quick is begun on
    /// this thread, and answered from it if it never waits.
    fn start_async(&self, call: Call) {
        let shared = Arc::clone(&self.shared);
        let pace = Arc::clone(&call.tool.pace);
        let is_quick = pace.is_quick();
        let mut running = Box::pin(async move { pace.measured(call.run()).await });
        if is_quick {
            // Whatever it waits for will wake the task that it is moved to below, which polls it
            // again first thing.
            let mut nobody = task::Context::from_waker(task::Waker::noop());
            if let Poll::Ready(line) = running.as_mut().poll(&mut nobody) {
                shared.conclude(line, Output::send_later);
                return;
            }
        }
        self.runtime
            .spawn(async move { shared.conclude(running.await, Output::send) });
    }
}

/// A call that has begun.
struct Call {
    id: Id,
    tool: Arc<Tool>,
    arguments: RawArguments,
    context: ToolContext,
    cancellation: CancellationToken,
    shared: Arc<Shared>,
}

impl Call {
    /// Run a plain function without a time limit on this thread, and answer.
    fn run_here(self, function: &BlockingFunction) {
        let run = || function(self.arguments, self.context);
        let outcome = Outcome::of(panics::caught(run));
        let line = self.shared.line_for(&self.id, &self.tool, outcome);
        self.shared.conclude(line, Output::send);
    }

    /// Run the tool; the line that answers, if an answer is expected.
    async fn run(self) -> Option<Vec<u8>> {
        let outcome = run(&self.tool, self.arguments, self.context).await;
        // A plain function goes on after its time; this tells it that it need not.
        if matches!(outcome, Outcome::TimedOut(_)) {
            self.cancellation.cancel();
        }
        let is_long = outcome.is_long();
        let answer = || self.shared.line_for(&self.id, &self.tool, outcome);
        // Attaching a long text writes a file, and encoding a large one takes a while.
        if is_long {
            block_in_place(answer)
        } else {
            answer()
        }
    }
}

/// How a call ended.
enum Outcome {
    Returned(Result<ToolResult, ToolError>),
    Panicked(String),
    TimedOut(Duration),
}

async fn run(tool: &Tool, arguments: RawArguments, context: ToolContext) -> Outcome {
    let running = run_function(&tool.function, arguments, context);
    let returned = match tool.attributes.timeout {
        None => running.await,
        Some(limit) => match time::timeout(limit, running).await {
            Ok(returned) => returned,
            Err(_) => return Outcome::TimedOut(limit),
        },
    };
    Outcome::of(returned)
}

impl Outcome {
    fn of(returned: Result<Result<ToolResult, ToolError>, String>) -> Self {
        match returned {
            Ok(result) => Self::Returned(result),
            Err(panic) => Self::Panicked(panic),
        }
    }

    /// Whether there is more to answer than the host's agent loop takes at once.
    fn is_long(&self) -> bool {
        matches!(self, Self::Returned(Ok(result)) if result.text_content().len() > LOOP_RESULT_BYTES)
    }
}

/// Run the tool's function where it wants to run. A panic is its message.
async fn run_function(
    function: &Function,
    arguments: RawArguments,
    context: ToolContext,
) -> Result<Result<ToolResult, ToolError>, String> {
    match function {
        Function::Async(function) => {
            panics::caught_async(async { function(arguments, context).await }).await
        }
        Function::Blocking(function) => {
            let function = Arc::clone(function);
            let work = move || panics::caught(|| function(arguments, context));
            spawn_blocking(work)
                .await
                .unwrap_or_else(|error| Err(error.to_string()))
        }
    }
}

impl Shared {
    /// The line that answers a call, unless the host has withdrawn it.
    fn line_for(&self, id: &Id, tool: &Tool, outcome: Outcome) -> Option<Vec<u8>> {
        if !self.in_flight.conclude_call(id) {
            return None;
        }
        let content = panics::caught(|| self.content(tool, outcome));
        let content = content.unwrap_or_else(|panic| self.panicked(tool, &panic));
        Some(self.line(id, tool, &content))
    }

    /// A call is over: send its answer, if it has one, and count it out.
    fn conclude(&self, line: Option<Vec<u8>>, send: impl FnOnce(&Output, Vec<u8>)) {
        if let Some(line) = line {
            send(&self.output, line);
        }
        self.in_flight.end();
    }

    fn content(&self, tool: &Tool, outcome: Outcome) -> Content {
        let result = match outcome {
            Outcome::Returned(result) => result,
            Outcome::Panicked(panic) => return self.panicked(tool, &panic),
            Outcome::TimedOut(limit) => {
                return Content::error(format!(
                    "tool {:?} did not finish within its time limit of {limit:?} and was stopped; \
                     what it has done so far may have taken effect",
                    tool.name()
                ));
            }
        };
        result
            .and_then(|result| {
                let policy = self.parts.policy.long_text;
                long_text::fit(result, tool.name(), policy, &self.parts.artifacts)
            })
            .and_then(ToolResult::into_content)
            .unwrap_or_else(|error| Content::error(error.to_string()))
    }

    fn panicked(&self, tool: &Tool, panic: &str) -> Content {
        let detail = match self.parts.policy.panic_detail {
            PanicDetail::Withhold => "; the server's standard error says why".to_owned(),
            PanicDetail::Include => format!(": {panic}"),
        };
        Content::error(format!(
            "tool {:?} panicked{detail}. The server goes on and other calls are not affected",
            tool.name()
        ))
    }

    /// The answer's line. One that the host could not read goes without its structured content,
    /// which odek does not look at; if that does not help, it is a tool error that says so.
    fn line(&self, id: &Id, tool: &Tool, content: &Content) -> Vec<u8> {
        let mut line = encode(
            id,
            &content.text,
            content.structured.as_ref(),
            content.is_error,
        );
        if content.structured.is_some() && self.output.limit_exceeded_by(&line).is_some() {
            line = encode(id, &content.text, None, content.is_error);
        }
        let Some(limit) = self.output.limit_exceeded_by(&line) else {
            return line;
        };
        let problem = format!(
            "the result of tool {:?} makes an answer of {} bytes; the host reads at most {limit} \
             bytes, set by max_response_bytes, and would close the connection on a longer one. \
             Ask for less, or let the tool attach the data as an artifact",
            tool.name(),
            line.len() - 1
        );
        encode(id, &problem, None, true)
    }
}

#[derive(Serialize)]
struct Answer<'a> {
    jsonrpc: &'static str,
    id: &'a RawValue,
    result: CallResult<'a>,
}

#[derive(Serialize)]
struct CallResult<'a> {
    content: [TextItem<'a>; 1],
    #[serde(rename = "structuredContent", skip_serializing_if = "Option::is_none")]
    structured: Option<&'a Value>,
    #[serde(rename = "isError", skip_serializing_if = "std::ops::Not::not")]
    is_error: bool,
}

#[derive(Serialize)]
struct TextItem<'a> {
    r#type: &'static str,
    text: &'a str,
}

fn encode(id: &Id, text: &str, structured: Option<&Value>, is_error: bool) -> Vec<u8> {
    let result = CallResult {
        content: [TextItem {
            r#type: "text",
            text,
        }],
        structured,
        is_error,
    };
    let mut line = Vec::with_capacity(text.len() + 128);
    let encoded = serde_json::from_str(id.as_json()).and_then(|id| {
        let answer = Answer {
            jsonrpc: "2.0",
            id,
            result,
        };
        serde_json::to_writer(&mut line, &answer)
    });
    if let Err(error) = encoded {
        let problem = format!("the result cannot be written as JSON: {error}");
        return Rejection::new(Some(id.clone()), INTERNAL_ERROR, problem).to_line();
    }
    line.push(b'\n');
    line
}
