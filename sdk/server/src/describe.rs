//! `--describe`: what the host would be told, without serving.

use std::io::{self, Write};

use odek_contract::go;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::{extension::Parts, serve::listing, tool::Tool};

/// The name of the layout, so that readers can tell later ones apart.
const SCHEMA: &str = "odek-ext.describe/v1";

pub(crate) fn print(parts: &Parts) -> io::Result<()> {
    let mut text = serde_json::to_string_pretty(&describe(parts))?;
    text.push('\n');
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}

pub(crate) fn describe(parts: &Parts) -> Value {
    json!({
        "schema": SCHEMA,
        "name": &*parts.name,
        "version": parts.version,
        "sdkVersion": env!("CARGO_PKG_VERSION"),
        "contract": "odek-extension/v1",
        "tools": parts.registry.iter().map(describe_tool).collect::<Vec<_>>(),
    })
}

/// A tool as it is listed, with the two hashes that the host's approval depends on (host facts,
/// section 9): of the schema as canonical JSON, and of the description.
fn describe_tool(tool: &Tool) -> Value {
    let mut described = listing::listed(tool);
    let schema = described.get("inputSchema").cloned().unwrap_or(Value::Null);
    described.insert(
        "inputSchemaSha256".into(),
        hex_digest(&canonical(&schema)).into(),
    );
    described.insert(
        "descriptionSha256".into(),
        hex_digest(tool.description()).into(),
    );
    if let Some(timeout) = tool.attributes.timeout {
        described.insert("timeoutMs".into(), json!(timeout.as_millis() as u64));
    }
    Value::Object(described)
}

/// The schema as the host hashes it: JSON with sorted keys and `<`, `>` and `&` escaped, which is
/// also how the host writes arguments.
fn canonical(schema: &Value) -> String {
    go::arguments_from_model_text(&schema.to_string())
}

fn hex_digest(text: &str) -> String {
    Sha256::digest(text.as_bytes())
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
