//! The event types and the `data` fields of each, as one table.
//!
//! Contract, Event schema, "Per-type data fields"; host facts, section 12, for the types and
//! fields that the contract does not list. How an event is read and written is not told here, but
//! in [`event`](crate::event).

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::budget::BudgetLimit;
use crate::raw::{RawJson, RawMembers};

/// An enumeration of strings to which the host may add: every other word is kept.
macro_rules! open_words {
    (
        $(#[$meta:meta])*
        $name:ident {
            $( $(#[$variant_meta:meta])* $variant:ident = $word:literal, )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name {
            $( $(#[$variant_meta])* $variant, )*
            /// A word that this version does not know, as written.
            Unknown(String),
        }

        impl $name {
            /// The words that this version knows, in the contract's order.
            pub const KNOWN: &'static [Self] = &[$( Self::$variant ),*];

            /// The word as it is written in an event.
            #[must_use]
            pub fn as_str(&self) -> &str {
                match self {
                    $( Self::$variant => $word, )*
                    Self::Unknown(word) => word,
                }
            }
        }

        impl From<&str> for $name {
            fn from(word: &str) -> Self {
                match word {
                    $( $word => Self::$variant, )*
                    _ => Self::Unknown(word.to_owned()),
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let word = String::deserialize(deserializer)?;
                Ok(Self::from(word.as_str()))
            }
        }

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            // No `enum`: a word that is added later must not fail validation.
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "examples": [$( $word ),*] })
            }
        }
    };
}

/// One row per event type: its name and its `data` fields. From it come the enumeration of the
/// types, one structure per type, and the enumeration that holds any of these.
macro_rules! event_types {
    (
        $(
            $(#[$meta:meta])*
            $variant:ident = $word:literal {
                $( $(#[$field_meta:meta])* $field:ident: $type:ty, )*
            }
        )*
    ) => {
        open_words! {
            /// What happened: the `type` of an event.
            ///
            /// Types that this version does not know are kept and must be ignored by consumers
            /// (contract, Event schema).
            EventKind {
                $( $(#[$meta])* $variant = $word, )*
            }
        }

        $(
            $(#[$meta])*
            #[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
            #[schemars(inline)]
            pub struct $variant {
                $(
                    $(#[$field_meta])*
                    #[serde(skip_serializing_if = "Option::is_none")]
                    #[schemars(transform = without_null)]
                    pub $field: Option<$type>,
                )*
            }

            impl $variant {
                // A type without fields reads nothing.
                #[allow(unused_variables)]
                fn read(data: &RawMembers) -> Self {
                    Self { $( $field: data.decode(stringify!($field)), )* }
                }
            }

            impl From<$variant> for EventData {
                fn from(data: $variant) -> Self {
                    Self::$variant(data)
                }
            }
        )*

        /// The `data` of an event, typed.
        ///
        /// Every field of every type is optional: `None` when the event has no such field or one
        /// of another type. [`Event::data`](crate::event::Event::data) tells the two apart, and
        /// has the fields that are not known.
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum EventData {
            $( $(#[$meta])* $variant($variant), )*
            /// A type that this version does not know, by name.
            Unknown(String),
        }

        impl EventData {
            /// The type of event that has this data.
            #[must_use]
            pub fn kind(&self) -> EventKind {
                match self {
                    $( Self::$variant(_) => EventKind::$variant, )*
                    Self::Unknown(word) => EventKind::Unknown(word.clone()),
                }
            }

            /// Reads the fields that `kind` is known to have out of `data`.
            pub(crate) fn read(kind: &EventKind, data: &RawMembers) -> Self {
                match kind {
                    $( EventKind::$variant => Self::$variant($variant::read(data)), )*
                    EventKind::Unknown(word) => Self::Unknown(word.clone()),
                }
            }

            /// The fields as members of an object.
            pub(crate) fn to_members(&self) -> Result<RawMembers, serde_json::Error> {
                match self {
                    $( Self::$variant(data) => RawMembers::from_value(data), )*
                    Self::Unknown(_) => Ok(RawMembers::new()),
                }
            }
        }

        /// The name of each known type with the schema of its `data`.
        pub(crate) fn data_schemas(generator: &mut SchemaGenerator) -> Vec<(&'static str, Schema)> {
            vec![$( ($word, generator.subschema_for::<$variant>()) ),*]
        }
    };
}

/// The host leaves a field out rather than write `null`; the schema says so.
fn without_null(schema: &mut Schema) {
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|name| name != "null");
        if let [single] = types.as_slice() {
            let single = single.clone();
            schema.insert("type".to_owned(), single);
        }
    }
}

event_types! {
    /// An agent run starts.
    RunStarted = "run_started" {
        /// The model that the run uses.
        model: String,
        /// Whether the run is sandboxed.
        sandbox: bool,
        /// The most loop iterations the run may take.
        max_iterations: u64,
    }
    /// One iteration of the agent loop is done.
    IterationCompleted = "iteration_completed" {
        /// Input tokens of the run so far.
        input_tokens: u64,
        /// Output tokens of the run so far.
        output_tokens: u64,
        /// Tools called.
        tools_called: u64,
    }
    /// The model asked for a tool.
    ToolCallStarted = "tool_call_started" {
        /// Pairs this event with the other events of the call; never pair by position.
        call_id: String,
        /// SHA-256 of the argument text as the model wrote it, in lower-case hex.
        args_sha256: String,
        /// Length of the argument text in bytes.
        args_bytes: u64,
        /// Structured audit metadata; never there for extension tools.
        args_summary: RawJson,
        /// The redacted arguments, only on request (`--events-include-args`).
        args: RawJson,
    }
    /// The tool starts to run (not in the contract; host facts, section 12).
    ToolCallExecuting = "tool_call_executing" {
        /// Pairs this event with the other events of the call.
        call_id: String,
    }
    /// The tool has returned (not in the contract; host facts, section 12).
    ToolExecutionCompleted = "tool_execution_completed" {
        /// Pairs this event with the other events of the call.
        call_id: String,
        /// How long the tool ran, in milliseconds.
        duration_ms: u64,
        /// How it ended.
        status: String,
    }
    /// The call succeeded.
    ToolCallCompleted = "tool_call_completed" {
        /// Pairs this event with the other events of the call.
        call_id: String,
        /// How long the call took, in milliseconds.
        duration_ms: u64,
        /// Bytes of the result, wrapped and filtered as the model reads it.
        result_bytes: u64,
        /// Lines of the result that begin like artifact metadata.
        artifact_count: u64,
    }
    /// The call failed.
    ToolCallFailed = "tool_call_failed" {
        /// Pairs this event with the other events of the call.
        call_id: String,
        /// How long the call took, in milliseconds.
        duration_ms: u64,
        /// Why; for extension tools always [`ErrorClass::ToolError`].
        error_class: ErrorClass,
    }
    /// The session was written.
    SessionSaved = "session_saved" {
        /// Messages in the session.
        message_count: u64,
    }
    /// Older messages were dropped to make room.
    ContextTrimmed = "context_trimmed" {
        /// What made the host trim.
        mode: TrimMode,
        /// Groups of messages dropped.
        dropped_groups: u64,
        /// Results shortened.
        truncated_results: u64,
    }
    /// An execution budget is exhausted; `run_failed` follows.
    BudgetExceeded = "budget_exceeded" {
        /// Which budget; see [`BudgetExceeded::limit_kind`] for the typed form.
        limit_name: String,
        /// What was used, in the limit's own unit.
        observed: f64,
        /// The configured maximum, in the same unit.
        limit: f64,
    }
    /// The run ended well.
    RunCompleted = "run_completed" {
        /// How long the run took, in milliseconds.
        duration_ms: u64,
        /// Input tokens of the whole run.
        input_tokens: u64,
        /// Output tokens of the whole run.
        output_tokens: u64,
    }
    /// The run failed.
    RunFailed = "run_failed" {
        /// How long the run took, in milliseconds.
        duration_ms: u64,
        /// Why.
        error_class: ErrorClass,
    }
    /// The plan tool made or replaced a plan. Has no iteration.
    PlanCreated = "plan_created" {
        /// Steps in the plan.
        steps: u64,
        /// Version of the plan.
        version: u64,
    }
    /// The plan tool changed the plan. Has no iteration.
    PlanUpdated = "plan_updated" {
        /// Steps in the plan.
        steps: u64,
        /// Steps done.
        done: u64,
        /// Steps in progress.
        in_progress: u64,
        /// Steps blocked.
        blocked: u64,
        /// Steps not begun.
        pending: u64,
        /// Version of the plan.
        version: u64,
    }
    /// A sub-agent's policy refused something.
    SubagentDenied = "subagent_denied" {
        /// Which of the delegated tasks, counted from 0.
        task_index: u64,
        /// The danger class that was refused.
        class: String,
        /// Why it was refused.
        reason: String,
    }
    /// A sub-agent was started. The contract lists the type but no fields; these are the host's.
    SubagentSpawned = "subagent_spawned" {
        /// Identifies the delegated task.
        task_id: String,
        /// Process id of the sub-agent.
        pid: u64,
        /// How deep the delegation is.
        depth: u64,
        /// Time that the sub-agent has, in seconds.
        timeout_seconds: u64,
        /// Start of the SHA-256 of the task's goal, in hex.
        goal_sha256: String,
    }
    /// A sub-agent ended. The contract lists the type but no fields; these are the host's.
    SubagentCompleted = "subagent_completed" {
        /// Identifies the delegated task.
        task_id: String,
        /// How it ended.
        status: String,
        /// Loop iterations that it took.
        iterations: u64,
        /// How long it ran, in seconds.
        duration_seconds: f64,
        /// Tokens that it used.
        tokens_used: u64,
        /// Artifact references that it returned.
        artifact_count: u64,
    }
    /// A sub-agent waits for a free place. The contract lists the type but no fields; these are
    /// the host's.
    SubagentConcurrencyWait = "subagent_concurrency_wait" {
        /// Which of the delegated tasks, counted from 0.
        task_index: u64,
        /// How long it has waited, in milliseconds.
        waited_ms: u64,
    }
    /// A part of the host failed, for example an extension server that cannot start (not in the
    /// contract; host facts, section 12).
    OperationFailed = "operation_failed" {
        /// The part that failed; `mcp` for extension servers.
        component: String,
        /// What it did; for extension servers `connect` or `discover`.
        operation: String,
        /// Why.
        error_class: ErrorClass,
        /// The type of the error inside the host.
        error_type: String,
    }
}

impl BudgetExceeded {
    /// Which budget is exhausted; `None` for a name that this version does not know.
    #[must_use]
    pub fn limit_kind(&self) -> Option<BudgetLimit> {
        self.limit_name.as_deref()?.parse().ok()
    }
}

open_words! {
    /// Why something failed, in a stable word; the text of an error is never in an event.
    ErrorClass {
        /// Cancelled by the user or the host.
        ContextCanceled = "context_canceled",
        /// Out of time.
        DeadlineExceeded = "deadline_exceeded",
        /// The tool reported an error; extension tools always fail with this.
        ToolError = "tool_error",
        /// Anything else.
        Error = "error",
    }
}

open_words! {
    /// What made the host trim the context.
    TrimMode {
        /// Ahead of need.
        Proactive = "proactive",
        /// The model had refused the context.
        Survival = "survival",
    }
}
