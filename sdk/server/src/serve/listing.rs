//! Tools as `tools/list` shows them.

use std::sync::Arc;

use rmcp::model;
use serde_json::{Map, Value};

use crate::tool::{Annotations, Tool};

/// The tool as the protocol library lists it.
pub(crate) fn listed_tool(tool: &Tool) -> model::Tool {
    // Without a schema the tool would not have been registered.
    let schema = tool
        .input_schema
        .as_ref()
        .map(Arc::clone)
        .unwrap_or_default();
    let attributes = &tool.attributes;
    let listed = model::Tool::new(
        attributes.name.clone(),
        attributes.description.clone(),
        schema,
    );
    match annotations(&attributes.annotations) {
        Some(annotations) => listed.with_annotations(annotations),
        None => listed,
    }
}

/// The tool's entry in `tools/list`, member by member.
pub(crate) fn listed(tool: &Tool) -> Map<String, Value> {
    match serde_json::to_value(listed_tool(tool)) {
        Ok(Value::Object(entry)) => entry,
        // The entry is made of text, flags and a JSON object.
        Ok(_) | Err(_) => Map::new(),
    }
}

fn annotations(annotations: &Annotations) -> Option<model::ToolAnnotations> {
    (annotations != &Annotations::default()).then(|| {
        model::ToolAnnotations::from_raw(
            annotations.title.as_ref().map(ToString::to_string),
            annotations.read_only,
            annotations.destructive,
            annotations.idempotent,
            annotations.open_world,
        )
    })
}
