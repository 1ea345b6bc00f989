//! The top of an input schema, which is an object whatever the type.

use serde_json::{Map, Value, json};

use super::{
    error::{SchemaError, SchemaProblem},
    unions,
};

/// Make `schema` the schema of an arguments object, or say why it is none.
pub(super) fn as_arguments_object(schema: &mut Map<String, Value>) -> Result<(), SchemaError> {
    let problem = |problem| Err(SchemaError::new(&[], problem));
    unions::remove_null(schema);
    if schema.contains_key("anyOf") {
        return problem(SchemaProblem::AlternativesAtTop);
    }
    let is_unconstrained = schema.keys().all(|keyword| keyword == "description");
    match schema.get("type").and_then(Value::as_str) {
        Some("object") if !schema.contains_key("enum") => {}
        None if is_unconstrained => {
            schema.insert("type".to_owned(), "object".into());
        }
        found => {
            let found = match found {
                Some("object") => "a list of allowed objects",
                Some("string") => "text",
                Some("integer" | "number") => "a number",
                Some("boolean") => "a boolean",
                Some("array") => "a list",
                Some("null") => "null, as `()` and structs without fields are",
                _ => "something else",
            };
            return problem(SchemaProblem::NotAnObject {
                found: found.to_owned(),
            });
        }
    }
    schema.entry("properties").or_insert_with(|| json!({}));
    declare_required(schema);
    Ok(())
}

/// Some providers refuse `required` names that `properties` lacks, so such a property is declared
/// as anything, here and in everything below.
fn declare_required(schema: &mut Map<String, Value>) {
    if let Some(Value::Array(required)) = schema.get("required").cloned()
        && let Value::Object(properties) = schema.entry("properties").or_insert_with(|| json!({}))
    {
        for name in required.iter().filter_map(Value::as_str) {
            properties.entry(name).or_insert_with(|| json!({}));
        }
    }
    for (keyword, value) in schema {
        match (keyword.as_str(), value) {
            ("properties", Value::Object(properties)) => {
                properties
                    .values_mut()
                    .filter_map(Value::as_object_mut)
                    .for_each(declare_required);
            }
            ("anyOf", Value::Array(alternatives)) => {
                alternatives
                    .iter_mut()
                    .filter_map(Value::as_object_mut)
                    .for_each(declare_required);
            }
            ("items" | "additionalProperties", Value::Object(nested)) => declare_required(nested),
            _ => {}
        }
    }
}
