//! Alternatives: one `anyOf`, flat, without doubles, `null` last, plain enums as one `enum`.

use serde_json::{Map, Value};

use super::merge;

/// One schema for all alternatives. With a single alternative it is that one.
pub(super) fn combine(alternatives: Vec<Map<String, Value>>) -> Map<String, Value> {
    let mut flat: Vec<Map<String, Value>> = Vec::new();
    for alternative in flattened(alternatives) {
        if flat.contains(&alternative) {
            continue;
        }
        match flat
            .iter_mut()
            .find(|known| is_same_enum_kind(known, &alternative))
        {
            Some(known) => add_values(known, alternative),
            None => flat.push(alternative),
        }
    }
    let (null, mut others): (Vec<_>, Vec<_>) = flat.into_iter().partition(is_null);
    if let ([only], true) = (others.as_mut_slice(), null.is_empty()) {
        return std::mem::take(only);
    }
    let mut union = Map::new();
    if let ([only], false) = (others.as_mut_slice(), null.is_empty()) {
        // What is said about the one real alternative is said about the value as a whole.
        for annotation in merge::ANNOTATIONS {
            union.extend(only.remove_entry(annotation));
        }
    }
    let alternatives = others.into_iter().chain(null.into_iter().take(1));
    let mut alternatives: Vec<_> = alternatives.map(Value::Object).collect();
    if let [Value::Object(only)] = alternatives.as_mut_slice() {
        return std::mem::take(only);
    }
    union.insert("anyOf".to_owned(), Value::Array(alternatives));
    union
}

/// Alternatives that are unions themselves are replaced by their members, unless that would lose
/// what is said about them as a group.
fn flattened(alternatives: Vec<Map<String, Value>>) -> Vec<Map<String, Value>> {
    let mut flat = Vec::new();
    for mut alternative in alternatives {
        match alternative.get_mut("anyOf") {
            Some(Value::Array(members)) if !members.is_empty() => {
                let members = std::mem::take(members);
                alternative.remove("anyOf");
                if alternative.is_empty() {
                    flat.extend(members.into_iter().filter_map(into_object));
                } else {
                    alternative.insert("anyOf".to_owned(), Value::Array(members));
                    flat.push(alternative);
                }
            }
            _ => flat.push(alternative),
        }
    }
    flat
}

/// Two lists of values of one type, which say the same as one list.
fn is_same_enum_kind(left: &Map<String, Value>, right: &Map<String, Value>) -> bool {
    let is_plain = |schema: &Map<String, Value>| {
        schema.contains_key("enum")
            && schema
                .keys()
                .all(|key| matches!(key.as_str(), "type" | "enum" | "description"))
    };
    is_plain(left) && is_plain(right) && left.get("type") == right.get("type")
}

/// Join two enums. What is said about single values becomes a line each in the description.
fn add_values(into: &mut Map<String, Value>, mut from: Map<String, Value>) {
    let said = value_remark(into);
    into.remove("description");
    merge::add_description(into, &said);
    merge::add_description(into, &value_remark(&from));
    let added = from
        .get_mut("enum")
        .and_then(Value::as_array_mut)
        .map(std::mem::take);
    if let Some(Value::Array(values)) = into.get_mut("enum") {
        for value in added.unwrap_or_default() {
            if !values.contains(&value) {
                values.push(value);
            }
        }
    }
}

fn value_remark(schema: &Map<String, Value>) -> String {
    let description = schema
        .get("description")
        .and_then(Value::as_str)
        .unwrap_or_default();
    match schema
        .get("enum")
        .and_then(Value::as_array)
        .map(Vec::as_slice)
    {
        Some([value]) if !description.is_empty() => format!("- `{}`: {description}", label(value)),
        _ => description.to_owned(),
    }
}

/// A value as it is shown in a description.
pub(super) fn label(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Take `null` out of a schema that also allows something else.
pub(super) fn remove_null(schema: &mut Map<String, Value>) {
    let Some(Value::Array(alternatives)) = schema.get_mut("anyOf") else {
        return;
    };
    alternatives.retain(|alternative| !alternative.as_object().is_some_and(is_null));
    let only = match alternatives.as_mut_slice() {
        [Value::Object(only)] => Some(std::mem::take(only)),
        _ => None,
    };
    if let Some(only) = only {
        schema.remove("anyOf");
        let description = schema.remove("description");
        let inner = only.get("description").cloned();
        schema.extend(only);
        schema.remove("description");
        for text in [description, inner]
            .iter()
            .flatten()
            .filter_map(Value::as_str)
        {
            merge::add_description(schema, text);
        }
    }
    if schema.get("default") == Some(&Value::Null) {
        schema.remove("default");
    }
}

fn is_null(schema: &Map<String, Value>) -> bool {
    schema.get("type").and_then(Value::as_str) == Some("null")
}

/// Apply `change` to the schema, or to its alternatives, where they describe objects.
pub(super) fn for_each_object(
    schema: &mut Map<String, Value>,
    mut change: impl FnMut(&mut Map<String, Value>),
) {
    let is_object =
        |schema: &Map<String, Value>| schema.get("type").and_then(Value::as_str) == Some("object");
    if is_object(schema) {
        change(schema);
    } else if let Some(Value::Array(alternatives)) = schema.get_mut("anyOf") {
        alternatives
            .iter_mut()
            .filter_map(Value::as_object_mut)
            .filter(|alternative| is_object(alternative))
            .for_each(change);
    }
}

pub(super) fn into_object(value: Value) -> Option<Map<String, Value>> {
    match value {
        Value::Object(object) => Some(object),
        _ => None,
    }
}
