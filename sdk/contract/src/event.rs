//! The runtime event stream of the host (`odek.event/v1`): one JSON object per line.
//!
//! [`Event`] is one event; [`EventReader`] reads a stream of them in bounded memory. The types of
//! event and their data fields are in [`EventKind`] and [`EventData`].
//!
//! The schema is additive, so nothing that a later host may add fails: unknown types, unknown
//! members and known members of another type are kept as written and survive a read-write round
//! trip. Implements contract, Event schema, and host facts, section 12. Writing the stream to a
//! file is not done here.

mod data;
mod reader;

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error as _, IgnoredAny};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};
use thiserror::Error;

pub use self::data::{
    BudgetExceeded, ContextTrimmed, ErrorClass, EventData, EventKind, IterationCompleted,
    OperationFailed, PlanCreated, PlanUpdated, RunCompleted, RunFailed, RunStarted, SessionSaved,
    SubagentCompleted, SubagentConcurrencyWait, SubagentDenied, SubagentSpawned, ToolCallCompleted,
    ToolCallExecuting, ToolCallFailed, ToolCallStarted, ToolExecutionCompleted, TrimMode,
};
pub use self::reader::{DEFAULT_LINE_LIMIT, EventLine, EventReadError, EventReader};

use self::data::data_schemas;
use crate::raw::{JsonType, RawMembers};

/// The `schema` of every event.
pub const EVENT_SCHEMA: &str = "odek.event/v1";

/// The known members, in the order in which the host writes them.
const MEMBERS: [&str; 15] = [
    "source_task_id",
    "turn_id",
    "root_run_id",
    "parent_run_id",
    "parent_turn_id",
    "task_id",
    "parent_task_id",
    "schema",
    "type",
    "run_id",
    "session_id",
    "iteration",
    "tool",
    "timestamp",
    "data",
];

/// One runtime event.
///
/// Members that the host leaves out are `None` (or empty, for [`data`](Self::data)). A known
/// member of another type than the schema's is `None` too, and its value is in
/// [`unknown`](Self::unknown); it is written back unless the field has been set since.
///
/// ```
/// use odek_contract::event::{Event, EventData, EventKind};
///
/// let event = Event::from_json(
///     r#"{"schema":"odek.event/v1","type":"tool_call_completed","run_id":"4f","iteration":3,
///         "data":{"duration_ms":412,"later":true},"added":1}"#,
/// )?;
/// assert_eq!(event.kind, EventKind::ToolCallCompleted);
/// let EventData::ToolCallCompleted(data) = event.typed_data() else { unreachable!() };
/// assert_eq!(data.duration_ms, Some(412));
/// assert_eq!(
///     event.to_json_line()?,
///     r#"{"schema":"odek.event/v1","type":"tool_call_completed","run_id":"4f","iteration":3,"data":{"duration_ms":412,"later":true},"added":1}"#,
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// The delegated task that a forwarded event comes from.
    pub source_task_id: Option<String>,
    /// The conversation turn.
    pub turn_id: Option<String>,
    /// The outermost run; the real host always writes it.
    pub root_run_id: Option<String>,
    /// The run that started this one.
    pub parent_run_id: Option<String>,
    /// The turn that started this run.
    pub parent_turn_id: Option<String>,
    /// The delegated task that this run works on.
    pub task_id: Option<String>,
    /// The task that delegated it.
    pub parent_task_id: Option<String>,
    /// What happened: the member `type`.
    pub kind: EventKind,
    /// A random 128-bit hex identifier of the run, the same in all its events.
    pub run_id: Option<String>,
    /// The session, once it is known.
    pub session_id: Option<String>,
    /// The loop iteration, counted from 1.
    pub iteration: Option<u64>,
    /// The qualified tool name (`server__tool`), for events of a tool call.
    pub tool: Option<String>,
    /// When, as RFC 3339 in UTC; the host writes nanoseconds.
    pub timestamp: Option<String>,
    /// The fields of this type of event; [`typed_data`](Self::typed_data) reads them.
    pub data: RawMembers,
    /// Members that the schema does not know, and known ones of another type.
    pub unknown: RawMembers,
}

impl Event {
    /// An event with this data and nothing else.
    ///
    /// # Errors
    ///
    /// When a field of `data` has no JSON form; no field that was read from JSON does that.
    pub fn new(data: impl Into<EventData>) -> Result<Self, serde_json::Error> {
        let data = data.into();
        let mut event = Self::of_kind(data.kind());
        event.data = data.to_members()?;
        Ok(event)
    }

    /// Reads one event.
    ///
    /// # Errors
    ///
    /// When the text is not one JSON object, or not an event of this schema with a type.
    pub fn from_json(text: &str) -> Result<Self, EventError> {
        let members =
            serde_json::from_str(text).map_err(|error| EventError::from_serde(text, &error))?;
        Self::from_members(members)
    }

    /// The event as one line of the stream, without the line feed, its members in the order in
    /// which the host writes them and unknown ones last.
    ///
    /// # Errors
    ///
    /// Never for an event that was read from JSON.
    pub fn to_json_line(&self) -> Result<String, serde_json::Error> {
        let mut line = serde_json::to_string(self)?;
        // A raw value read from a document of several lines still holds its line breaks. JSON
        // allows them between tokens only, where they mean nothing.
        line.retain(|character| !matches!(character, '\n' | '\r'));
        Ok(line)
    }

    /// The `data` as the structure that belongs to this type of event.
    #[must_use]
    pub fn typed_data(&self) -> EventData {
        EventData::read(&self.kind, &self.data)
    }

    fn of_kind(kind: EventKind) -> Self {
        Self {
            source_task_id: None,
            turn_id: None,
            root_run_id: None,
            parent_run_id: None,
            parent_turn_id: None,
            task_id: None,
            parent_task_id: None,
            kind,
            run_id: None,
            session_id: None,
            iteration: None,
            tool: None,
            timestamp: None,
            data: RawMembers::new(),
            unknown: RawMembers::new(),
        }
    }

    fn from_members(mut members: RawMembers) -> Result<Self, EventError> {
        let found = members.take::<String>("schema");
        if found.as_deref() != Some(EVENT_SCHEMA) {
            return Err(EventError::WrongSchema { found });
        }
        let kind = members.take("type").ok_or(EventError::MissingType)?;
        Ok(Self {
            source_task_id: members.take("source_task_id"),
            turn_id: members.take("turn_id"),
            root_run_id: members.take("root_run_id"),
            parent_run_id: members.take("parent_run_id"),
            parent_turn_id: members.take("parent_turn_id"),
            task_id: members.take("task_id"),
            parent_task_id: members.take("parent_task_id"),
            kind,
            run_id: members.take("run_id"),
            session_id: members.take("session_id"),
            iteration: members.take("iteration"),
            tool: members.take("tool"),
            timestamp: members.take("timestamp"),
            data: take_data(&mut members),
            unknown: members,
        })
    }
}

/// Takes `data` out of the members. An empty object stays: an event without data is written
/// without the member, so it could not be told from one that had it.
fn take_data(members: &mut RawMembers) -> RawMembers {
    match members.decode::<RawMembers>("data") {
        Some(data) if !data.is_empty() => {
            members.remove("data");
            data
        }
        _ => RawMembers::new(),
    }
}

impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::from_members(RawMembers::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let before = [
            ("source_task_id", &self.source_task_id),
            ("turn_id", &self.turn_id),
            ("root_run_id", &self.root_run_id),
            ("parent_run_id", &self.parent_run_id),
            ("parent_turn_id", &self.parent_turn_id),
            ("task_id", &self.task_id),
            ("parent_task_id", &self.parent_task_id),
        ];
        for (name, value) in before {
            self.write_member(&mut map, name, value.as_ref())?;
        }
        map.serialize_entry("schema", EVENT_SCHEMA)?;
        map.serialize_entry("type", &self.kind)?;
        self.write_member(&mut map, "run_id", self.run_id.as_ref())?;
        self.write_member(&mut map, "session_id", self.session_id.as_ref())?;
        self.write_member(&mut map, "iteration", self.iteration.as_ref())?;
        self.write_member(&mut map, "tool", self.tool.as_ref())?;
        self.write_member(&mut map, "timestamp", self.timestamp.as_ref())?;
        let data = (!self.data.is_empty()).then_some(&self.data);
        self.write_member(&mut map, "data", data)?;
        for (name, value) in self.unknown.iter() {
            if !MEMBERS.contains(&name) {
                map.serialize_entry(name, value)?;
            }
        }
        map.end()
    }
}

impl Event {
    /// Writes a known member: its field if set, else the value of another type that was read.
    fn write_member<M: SerializeMap, T: Serialize>(
        &self,
        map: &mut M,
        name: &'static str,
        value: Option<&T>,
    ) -> Result<(), M::Error> {
        match (value, self.unknown.get(name)) {
            (Some(value), _) => map.serialize_entry(name, value),
            (None, Some(raw)) => map.serialize_entry(name, raw),
            (None, None) => Ok(()),
        }
    }
}

/// Why a text is no event.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EventError {
    /// The text is not one JSON value.
    #[error("not JSON: {reason} at column {column}")]
    NotJson {
        /// What the parser expected.
        reason: String,
        /// Where, in bytes from 1.
        column: usize,
    },
    /// JSON, but no object.
    #[error("an event is a JSON object, this is {found}")]
    NotAnObject {
        /// What it is.
        found: JsonType,
    },
    /// The member `schema` is missing, no string, or names another schema.
    #[error("{}", wrong_schema(found.as_deref()))]
    WrongSchema {
        /// The schema that the text names.
        found: Option<String>,
    },
    /// The member `type` is missing or no string.
    #[error("the event has no `type`, or one that is no string")]
    MissingType,
}

impl EventError {
    fn from_serde(text: &str, error: &serde_json::Error) -> Self {
        if !error.is_data() {
            return Self::not_json(error);
        }
        // Only the top level can have a wrong type; all that is below is kept as it is. Whether
        // the text is JSON at all has not been seen then.
        match serde_json::from_str::<IgnoredAny>(text) {
            Ok(_) => Self::NotAnObject {
                found: JsonType::of(text),
            },
            Err(error) => Self::not_json(&error),
        }
    }

    fn not_json(error: &serde_json::Error) -> Self {
        let place = format!(" at line {} column {}", error.line(), error.column());
        let reason = error.to_string();
        Self::NotJson {
            reason: reason.strip_suffix(&place).unwrap_or(&reason).to_owned(),
            column: error.column(),
        }
    }
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

fn wrong_schema(found: Option<&str>) -> String {
    const SHOWN_CHARS: usize = 80;
    match found {
        None => format!("the event has no `schema`; expected {EVENT_SCHEMA:?}"),
        Some(found) => {
            let shown: String = found.chars().take(SHOWN_CHARS).collect();
            format!("the event has the schema {shown:?}; expected {EVENT_SCHEMA:?}")
        }
    }
}

impl JsonSchema for Event {
    fn schema_name() -> Cow<'static, str> {
        "Event".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let text = json!({ "type": "string" });
        let members: serde_json::Map<String, Value> = MEMBERS
            .iter()
            .map(|&name| {
                let schema = match name {
                    "schema" => json!({ "const": EVENT_SCHEMA }),
                    "type" => generator.subschema_for::<EventKind>().to_value(),
                    "iteration" => json!({ "type": "integer", "minimum": 1 }),
                    "timestamp" => json!({ "type": "string", "format": "date-time" }),
                    "data" => json!({ "type": "object" }),
                    _ => text.clone(),
                };
                (name.to_owned(), schema)
            })
            .collect();
        let by_type: Vec<Value> = data_schemas(generator)
            .into_iter()
            .map(|(name, data)| {
                json!({
                    "if": { "properties": { "type": { "const": name } }, "required": ["type"] },
                    "then": { "properties": { "data": data } },
                })
            })
            .collect();
        json_schema!({
            "description": "One runtime event of the host: one line of its event stream.",
            "type": "object",
            "properties": members,
            "required": ["schema", "type"],
            "allOf": by_type,
        })
    }
}

#[cfg(test)]
mod tests;
