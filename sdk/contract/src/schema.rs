//! JSON Schemas of the contract's documents, generated from the types that read them.
//!
//! The generated files are in `docs/schemas`; a test compares them with [`json_schemas`] and
//! rewrites them when `ODEK_WRITE_SCHEMAS` is set:
//!
//! ```text
//! ODEK_WRITE_SCHEMAS=1 cargo test -p odek-contract --test schemas
//! ```

use std::collections::BTreeMap;

use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema};
use serde_json::Value;

use crate::artifact::ArtifactRef;
use crate::budget::{BudgetLimits, SharedBudget};
use crate::config::{OdekConfig, ServerConfig};
use crate::envelope::ToolResultEnvelope;
use crate::event::Event;
use crate::external_state::ExternalStateRef;

/// The JSON Schema (2020-12) of every document of the contract, by its file name.
///
/// All of them are additive, as the contract is: none forbids members that it does not list.
///
/// ```
/// let schemas = odek_contract::schema::json_schemas();
/// assert_eq!(schemas["event.schema.json"]["required"][0], "schema");
/// ```
#[must_use]
pub fn json_schemas() -> BTreeMap<&'static str, Value> {
    BTreeMap::from([
        ("artifact-ref.schema.json", schema_of::<ArtifactRef>()),
        ("budget-limits.schema.json", schema_of::<BudgetLimits>()),
        ("event.schema.json", schema_of::<Event>()),
        (
            "external-state-ref.schema.json",
            schema_of::<ExternalStateRef>(),
        ),
        ("odek-config.schema.json", schema_of::<OdekConfig>()),
        ("server-config.schema.json", schema_of::<ServerConfig>()),
        ("shared-budget.schema.json", schema_of::<SharedBudget>()),
        ("tool-result.schema.json", schema_of::<ToolResultEnvelope>()),
    ])
}

fn schema_of<T: JsonSchema>() -> Value {
    let mut schema = SchemaSettings::draft2020_12()
        .into_generator()
        .into_root_schema_for::<T>();
    RecursiveTransform(tidy).transform(&mut schema);
    schema.to_value()
}

/// Makes of one generated schema what a reader of the file expects: no number formats that only
/// Rust knows, no links between Rust items in the descriptions, and of the documentation of a
/// whole type its first paragraph, since the rest is about using the type.
fn tidy(schema: &mut Schema) {
    let format = schema.get("format").and_then(Value::as_str);
    if format.is_some_and(is_number_format) {
        schema.remove("format");
    }
    let is_type = schema.get("properties").is_some();
    if let Some(Value::String(description)) = schema.get_mut("description") {
        let shown = match description.split_once("\n\n") {
            Some((first, _)) if is_type => first,
            _ => description,
        };
        *description = without_links(shown);
    }
}

fn is_number_format(format: &str) -> bool {
    format.starts_with("int") || format.starts_with("uint") || matches!(format, "float" | "double")
}

/// Replaces "[`item`](path)" and "[`item`]" by "`item`".
fn without_links(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("[`") {
        plain.push_str(before);
        plain.push('`');
        let Some((item, after)) = after.split_once("`]") else {
            plain.push_str(after);
            return plain;
        };
        plain.push_str(item);
        plain.push('`');
        rest = match after
            .strip_prefix('(')
            .and_then(|target| target.split_once(')'))
        {
            Some((_, after)) => after,
            None => after,
        };
    }
    plain.push_str(rest);
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forbids_members(schema: &Value) -> bool {
        match schema {
            Value::Object(members) => {
                ["additionalProperties", "unevaluatedProperties"]
                    .iter()
                    .any(|name| members.get(*name) == Some(&Value::Bool(false)))
                    || members.values().any(forbids_members)
            }
            Value::Array(items) => items.iter().any(forbids_members),
            _ => false,
        }
    }

    #[test]
    fn no_schema_forbids_additional_members() {
        for (name, schema) in json_schemas() {
            assert_eq!(schema["type"], "object", "{name}");
            assert!(!forbids_members(&schema), "{name}");
        }
    }

    #[test]
    fn optional_members_are_not_required() {
        let schemas = json_schemas();
        assert_eq!(
            schemas["artifact-ref.schema.json"]["required"],
            serde_json::json!(["schema", "id", "uri", "media_type"])
        );
    }

    #[test]
    fn links_become_their_text() {
        assert_eq!(
            without_links("See [`A::b`](a::A::b) (or [`C`]), not [x] or `y`."),
            "See `A::b` (or `C`), not [x] or `y`."
        );
        assert_eq!(without_links("[`open"), "`open");
    }
}
