//! The keywords of JSON Schema: which are portable, and which say something about which type.

use serde_json::{Map, Value, json};

/// The formats of JSON Schema 2020-12; others (`uint32`, `double`, `ip`) are private to the
/// generator that wrote them, and some providers refuse what they do not know.
pub(super) const FORMATS: [&str; 19] = [
    "date-time",
    "date",
    "time",
    "duration",
    "email",
    "idn-email",
    "hostname",
    "idn-hostname",
    "ipv4",
    "ipv6",
    "uri",
    "uri-reference",
    "iri",
    "iri-reference",
    "uuid",
    "uri-template",
    "json-pointer",
    "relative-json-pointer",
    "regex",
];

/// Keywords that narrow a schema in ways the portable subset cannot say.
pub(super) const UNPORTABLE: [&str; 12] = [
    "if",
    "then",
    "else",
    "dependentSchemas",
    "dependentRequired",
    "dependencies",
    "contains",
    "minContains",
    "maxContains",
    "propertyNames",
    "unevaluatedItems",
    "$dynamicRef",
];

/// Keywords that say something about values of one type only, and that type.
pub(super) const NUMBERS: [&str; 5] = [
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
];
pub(super) const COUNTS: [(&str, &str); 6] = [
    ("minLength", "string"),
    ("maxLength", "string"),
    ("minItems", "array"),
    ("maxItems", "array"),
    ("minProperties", "object"),
    ("maxProperties", "object"),
];

/// The names of the JSON types.
pub(super) const TYPES: [&str; 7] = [
    "null", "boolean", "object", "array", "number", "string", "integer",
];

/// The schema of one type, with the constraints that apply to it.
pub(super) fn typed(name: &str, constraints: &Map<String, Value>) -> Map<String, Value> {
    let mut schema = Map::from_iter([("type".to_owned(), name.into())]);
    let applicable = constraints
        .iter()
        .filter(|(keyword, _)| applies_to(keyword, name));
    schema.extend(applicable.map(|(keyword, value)| (keyword.clone(), value.clone())));
    if name == "array" {
        // Some providers refuse a list that says nothing about its items.
        schema.entry("items").or_insert_with(|| json!({}));
    }
    schema
}

fn applies_to(keyword: &str, type_name: &str) -> bool {
    if NUMBERS.contains(&keyword) {
        return matches!(type_name, "integer" | "number");
    }
    let of = match keyword {
        "pattern" | "format" => "string",
        // The only description at this point is the remark about the order of a tuple's items.
        "items" | "uniqueItems" | "description" => "array",
        "properties" | "required" | "additionalProperties" => "object",
        _ => match COUNTS.iter().find(|(count, _)| *count == keyword) {
            Some((_, of)) => of,
            None => return true,
        },
    };
    of == type_name
}

/// The type that the constraints plainly speak about, for schemas that name none.
pub(super) fn implied_type(constraints: &Map<String, Value>) -> Option<&'static str> {
    let is = |keyword: &str| constraints.contains_key(keyword);
    let candidates = [
        ("object", is("properties") || is("additionalProperties")),
        ("array", is("items")),
        (
            "string",
            is("minLength") || is("maxLength") || is("pattern") || is("format"),
        ),
        ("number", NUMBERS.iter().any(|keyword| is(keyword))),
    ];
    let mut implied = candidates.iter().filter(|(_, is_implied)| *is_implied);
    match (implied.next(), implied.next()) {
        (Some((name, _)), None) => Some(name),
        _ => None,
    }
}

/// The type of an allowed value, as far as the schema's types admit it.
pub(super) fn type_of(value: &Value, types: Option<&[String]>) -> Option<&'static str> {
    let is_admitted =
        |name: &str| types.is_none_or(|types| types.iter().any(|admitted| admitted == name));
    let candidates: &[&'static str] = match value {
        Value::Null => &["null"],
        Value::Bool(_) => &["boolean"],
        Value::Number(number) if number.is_f64() => &["number"],
        Value::Number(_) => &["integer", "number"],
        Value::String(_) => &["string"],
        Value::Array(_) => &["array"],
        Value::Object(_) => &["object"],
    };
    candidates.iter().copied().find(|name| is_admitted(name))
}

/// What kind of value a schema is for, in a few words.
pub(super) fn kind(schema: &Map<String, Value>) -> String {
    let alternatives = schema.get("anyOf").and_then(Value::as_array);
    match (schema.get("type").and_then(Value::as_str), alternatives) {
        (Some(name), _) => name.to_owned(),
        (None, Some(alternatives)) => {
            let kinds = alternatives.iter().filter_map(Value::as_object).map(kind);
            kinds.collect::<Vec<_>>().join(" or ")
        }
        (None, None) => "anything".to_owned(),
    }
}
