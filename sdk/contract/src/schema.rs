//! JSON Schemas of the contract's documents, generated from the types that read them.
//!
//! The generated files are in `docs/schemas`; a test compares them with [`json_schemas`] and
//! rewrites them when `ODEK_WRITE_SCHEMAS` is set:
//!
//! ```text
//! ODEK_WRITE_SCHEMAS=1 cargo test -p odek-contract --test schemas
//! ```

use std::collections::BTreeMap;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use crate::budget::{BudgetLimits, SharedBudget};
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
        ("budget-limits.schema.json", schema_of::<BudgetLimits>()),
        ("event.schema.json", schema_of::<Event>()),
        (
            "external-state-ref.schema.json",
            schema_of::<ExternalStateRef>(),
        ),
        ("shared-budget.schema.json", schema_of::<SharedBudget>()),
    ])
}

fn schema_of<T: JsonSchema>() -> Value {
    SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value()
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
}
