//! Input schemas that every model provider accepts.
//!
//! Providers read different subsets of JSON Schema. What all of them read is small: an object at
//! the top, no references, one plain `type` per schema, alternatives as `anyOf`, standard formats
//! only. [`input_schema`] brings the schema of a Rust type to that subset, [`portable`] one that
//! was written by hand. Nothing is dropped that would make a schema refuse what the function
//! accepts; what cannot be expressed is a [`SchemaError`] that names the field and the reason, so
//! that it shows when the extension starts and not when a model first stumbles over it.
//!
//! The result is deterministic: members are sorted, while the orders that carry meaning
//! (`required`, `enum`, alternatives) stay as declared. The host asks its operator again whenever
//! a tool's schema changes (host facts, section 9), so equal types must give equal schemas.

use schemars::{
    JsonSchema,
    generate::SchemaSettings,
    transform::{RecursiveTransform, Transform},
};
use serde_json::{Map, Value};

mod arguments;
mod convert;
mod error;
mod keywords;
mod merge;
mod unions;

pub use error::{SchemaError, SchemaProblem};

/// The largest schema, written as JSON, that the host offers to the model; above it the tool is
/// skipped (host facts, section 8). In bytes.
const MAX_SCHEMA_BYTES: usize = 262_144;

/// The portable schema of the arguments that `A` decodes from.
///
/// ```
/// use odek_sdk::__private::{schemars, serde};
/// use odek_sdk::schema::input_schema;
/// use serde_json::json;
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// # #[serde(crate = "odek_sdk::__private::serde")]
/// # #[schemars(crate = "odek_sdk::__private::schemars")]
/// struct Search {
///     /// What to look for.
///     pattern: String,
///     /// At most this many hits.
///     limit: Option<u32>,
/// }
///
/// assert_eq!(
///     serde_json::Value::Object(input_schema::<Search>()?),
///     json!({
///         "type": "object",
///         "properties": {
///             "limit": {"type": "integer", "minimum": 0, "description": "At most this many hits."},
///             "pattern": {"type": "string", "description": "What to look for."},
///         },
///         "required": ["pattern"],
///     })
/// );
/// # Ok::<(), odek_sdk::schema::SchemaError>(())
/// ```
///
/// # Errors
///
/// [`SchemaError`] when the type contains itself, is no object (an enum, a number, a list), asks
/// for property names that the host removes, or says what the portable subset cannot say.
pub fn input_schema<A: JsonSchema>() -> Result<Map<String, Value>, SchemaError> {
    let settings = SchemaSettings::draft2020_12()
        .for_deserialize()
        .with(|settings| {
            settings.meta_schema = None;
            settings.inline_subschemas = true;
        });
    let mut generator = settings.into_generator();
    let mut schema = generator.subschema_for::<A>();
    RecursiveTransform(open_variant_wrapper).transform(&mut schema);
    let mut schema = schema.to_value();
    // With everything inlined, what is left in the definitions are types that contain themselves.
    let definitions = generator.take_definitions(false);
    if let (Value::Object(schema), false) = (&mut schema, definitions.is_empty()) {
        schema.insert("$defs".to_owned(), Value::Object(definitions));
    }
    portable(schema)
}

/// The same rules for a schema that was written by hand, local `$ref`s included.
///
/// `null` is taken out of properties that are not required, where leaving them out says the same;
/// keywords that constrain nothing (`$comment`, vendor extensions) are dropped.
///
/// # Errors
///
/// As [`input_schema`], and when a `$ref` leads nowhere or out of the document.
pub fn portable(schema: Value) -> Result<Map<String, Value>, SchemaError> {
    let mut schema = convert::Converter::new(&schema).arguments()?;
    arguments::as_arguments_object(&mut schema)?;
    let bytes = host_bytes(&schema);
    if bytes > MAX_SCHEMA_BYTES {
        let problem = SchemaProblem::TooLarge {
            bytes,
            maximum: MAX_SCHEMA_BYTES,
        };
        return Err(SchemaError::new(&[], problem));
    }
    Ok(schema)
}

/// The size of the schema as the host measures it: `<`, `>` and `&` are written as `\u` escapes.
fn host_bytes(schema: &Map<String, Value>) -> usize {
    let text = Value::Object(schema.clone()).to_string();
    let escaped = text.bytes().filter(|byte| b"<>&".contains(byte)).count();
    text.len() + 5 * escaped
}

/// The derive closes the wrapper object of an externally tagged variant (`{"Circle": {…}}`), which
/// no author asked for and which strict providers treat as a promise about every other object.
fn open_variant_wrapper(schema: &mut schemars::Schema) {
    for keyword in ["oneOf", "anyOf"] {
        let Some(Value::Array(variants)) = schema.get_mut(keyword) else {
            continue;
        };
        for variant in variants {
            if let Value::Object(variant) = variant
                && is_variant_wrapper(variant)
            {
                variant.remove("additionalProperties");
            }
        }
    }
}

fn is_variant_wrapper(variant: &Map<String, Value>) -> bool {
    let Some(properties) = variant.get("properties").and_then(Value::as_object) else {
        return false;
    };
    let Some((name, content)) = properties.iter().next() else {
        return false;
    };
    let is_tag = content.get("const").is_some();
    let required = variant.get("required").and_then(Value::as_array);
    let requires_only_it = required.is_some_and(|names| names.len() == 1 && names[0] == **name);
    properties.len() == 1 && requires_only_it && !is_tag
}

#[cfg(test)]
mod tests;
