//! One tool call, from its request to its answer.

use std::{
    pin::Pin,
    sync::Arc,
    task::{self, Poll},
    time::{Duration, Instant},
};

use odek_contract::agent_loop::LOOP_RESULT_BYTES;
use serde::Serialize;
use serde_json::{Value, value::RawValue};
use tokio::{
    runtime::Handle,
    task::{JoinHandle, block_in_place},
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
        pace::Pace,
        panics,
    },
    tool::{AsyncFunction, BlockingFunction, Function, RawArguments, Tool},
};

/// Runs tools and sends their answers.
pub(crate) struct Calls {
    tools: Handle,
    protocol: Handle,
    shared: Arc<Shared>,
}

struct Shared {
    parts: Arc<Parts>,
    output: Arc<Output>,
    in_flight: Arc<InFlight>,
}

impl Calls {
    /// Tools run on `tools`; what must go on whatever they do, on `protocol`.
    pub(crate) fn new(
        tools: Handle,
        protocol: Handle,
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
            tools,
            protocol,
            shared: Arc::new(shared),
        }
    }

    /// Start a call; it is answered when it is done. One of a tool that is known to be quick is
    /// left to the caller to run.
    pub(crate) fn start(
        &self,
        id: Id,
        name: &str,
        arguments: Option<&RawValue>,
    ) -> Result<Option<QuickCall>, Rejection> {
        let registry = &self.shared.parts.registry;
        let Some(tool) = registry.get(name).map(Arc::clone) else {
            let problem = registry.unknown_tool(name);
            return Err(Rejection::new(Some(id), INVALID_PARAMS, problem));
        };
        let Some(cancellation) = self.shared.in_flight.begin_call(&id) else {
            let problem = format!("a call with the id {id} is still open");
            return Err(Rejection::new(Some(id), INVALID_REQUEST, problem));
        };
        let limit = tool.attributes.timeout;
        let context = ToolContext::new(
            Arc::clone(&self.shared.parts.name),
            tool.name().into(),
            self.shared.parts.artifacts.clone(),
            cancellation.clone(),
            limit.and_then(|limit| Instant::now().checked_add(limit)),
        );
        let arguments = arguments.map(ToOwned::to_owned);
        let call = Call {
            id,
            tool,
            cancellation,
            shared: Arc::clone(&self.shared),
        };
        match (&call.tool.function, limit) {
            // Nothing has to watch it, so it is answered where it ran.
            (Function::Blocking(function), None) => {
                let function = Arc::clone(function);
                self.tools
                    .spawn_blocking(move || call.run_here(&*function, arguments, context));
            }
            (Function::Async(function), None) => {
                let function = Arc::clone(function);
                let quick = QuickCall {
                    pace: Arc::clone(&call.tool.pace),
                    shared: Arc::clone(&self.shared),
                    tools: self.tools.clone(),
                    running: Box::pin(call.run(function, arguments, context)),
                };
                if quick.pace.take_short_way() {
                    return Ok(Some(quick));
                }
                quick.spawn();
            }
            // The watch over the time stands where tools cannot hold it up.
            (_, Some(limit)) => {
                let tools = self.tools.clone();
                self.protocol.spawn(async move {
                    call.run_watched(&tools, limit, arguments, context).await;
                });
            }
        }
        Ok(None)
    }
}

/// A call that has begun.
struct Call {
    id: Id,
    tool: Arc<Tool>,
    cancellation: CancellationToken,
    shared: Arc<Shared>,
}

impl Call {
    /// Run a plain function on this thread, and answer.
    fn run_here(self, function: &BlockingFunction, arguments: RawArguments, context: ToolContext) {
        let outcome = Outcome::of(panics::caught(|| function(arguments, context)));
        let line = self.line(outcome);
        self.shared.conclude(line, Output::send);
    }

    /// Run an async function; the line that answers, if an answer is expected.
    fn run(
        self,
        function: Arc<AsyncFunction>,
        arguments: RawArguments,
        context: ToolContext,
    ) -> impl Future<Output = Option<Vec<u8>>> + Send {
        let pace = Arc::clone(&self.tool.pace);
        let work = async move { function(arguments, context).await };
        let answered = async move {
            let outcome = Outcome::of(panics::caught_async(work).await);
            self.line_from_task(outcome)
        };
        async move { pace.measured(answered).await }
    }

    /// Run the function as a task of its own, watch its time, and answer.
    ///
    /// A panic in a task goes no further, be it in what is dropped when it is given up. And its
    /// time is over when it is over, be it that it never yields.
    async fn run_watched(
        self,
        tools: &Handle,
        limit: Duration,
        arguments: RawArguments,
        context: ToolContext,
    ) {
        let running = match &self.tool.function {
            Function::Async(function) => {
                let function = Arc::clone(function);
                tools.spawn(async move { function(arguments, context).await })
            }
            Function::Blocking(function) => {
                let function = Arc::clone(function);
                tools.spawn_blocking(move || function(arguments, context))
            }
        };
        let outcome = Outcome::within(limit, running).await;
        if matches!(outcome, Outcome::TimedOut(_)) {
            // A function that does not await goes on after its time; this tells it that it need
            // not.
            self.cancellation.cancel();
        }
        let line = self.line_from_task(outcome);
        block_in_place(|| self.shared.conclude(line, Output::send));
    }

    /// As [`line`](Self::line), from a thread for async tasks.
    fn line_from_task(&self, outcome: Outcome) -> Option<Vec<u8>> {
        // Attaching a long text writes a file, and encoding a large one takes a while.
        if outcome.is_long() {
            block_in_place(|| self.line(outcome))
        } else {
            self.line(outcome)
        }
    }

    /// The line that answers the call, unless the host has withdrawn it.
    fn line(&self, outcome: Outcome) -> Option<Vec<u8>> {
        self.shared
            .in_flight
            .conclude_call(&self.id)
            .then(|| self.shared.line_for(&self.id, &self.tool, outcome))
    }
}

/// A call of a tool that has always been quick, still to be run.
#[must_use = "it is answered only when it is run or spawned"]
pub(crate) struct QuickCall {
    pace: Arc<Pace>,
    shared: Arc<Shared>,
    tools: Handle,
    running: Pin<Box<dyn Future<Output = Option<Vec<u8>>> + Send>>,
}

impl QuickCall {
    /// Run it on this thread for as long as it does not wait. Its answer is left to be written
    /// with the next one.
    pub(crate) fn run(mut self) {
        // Whatever it waits for will wake the task that it is moved to below, which polls it again
        // first thing.
        let mut nobody = task::Context::from_waker(task::Waker::noop());
        let poll = self.running.as_mut().poll(&mut nobody);
        self.pace.leave_short_way();
        match poll {
            Poll::Ready(line) => self.shared.conclude(line, Output::leave),
            Poll::Pending => self.spawn(),
        }
    }

    /// Give it up to the threads for tools.
    pub(crate) fn hand_over(self) {
        self.pace.leave_short_way();
        self.spawn();
    }

    fn spawn(self) {
        let Self {
            running, shared, ..
        } = self;
        self.tools
            .spawn(async move { shared.conclude(running.await, Output::send) });
    }
}

/// How a call ended.
enum Outcome {
    Returned(Result<ToolResult, ToolError>),
    Panicked(String),
    TimedOut(Duration),
}

impl Outcome {
    fn of(returned: Result<Result<ToolResult, ToolError>, String>) -> Self {
        match returned {
            Ok(result) => Self::Returned(result),
            Err(panic) => Self::Panicked(panic),
        }
    }

    /// What becomes of a task within its time.
    async fn within(
        limit: Duration,
        mut running: JoinHandle<Result<ToolResult, ToolError>>,
    ) -> Self {
        let Ok(joined) = time::timeout(limit, &mut running).await else {
            running.abort();
            return Self::TimedOut(limit);
        };
        Self::of(joined.map_err(|error| match error.try_into_panic() {
            Ok(payload) => panics::message(payload),
            Err(error) => error.to_string(),
        }))
    }

    /// Whether there is more to answer than the host's agent loop takes at once.
    fn is_long(&self) -> bool {
        matches!(self, Self::Returned(Ok(result)) if result.text_content().len() > LOOP_RESULT_BYTES)
    }
}

impl Shared {
    fn line_for(&self, id: &Id, tool: &Tool, outcome: Outcome) -> Vec<u8> {
        let content = panics::caught(|| self.content(tool, outcome));
        let content = content.unwrap_or_else(|panic| self.panicked(tool, &panic));
        self.line(id, tool, &content)
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
                    "tool {:?} did not finish within its time limit of {limit:?}; \
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
