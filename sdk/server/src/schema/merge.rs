//! Two schemas that apply to the same value, as one.
//!
//! Both are portable already: no references, no `allOf`, one plain `type` or one `anyOf`.

use serde_json::{Map, Value, map::Entry};

use super::{error::SchemaProblem, unions};

/// Members that describe and do not constrain.
pub(super) const ANNOTATIONS: [&str; 2] = ["description", "default"];

/// The schema of the values that both accept.
pub(super) fn merge(
    mut left: Map<String, Value>,
    mut right: Map<String, Value>,
) -> Result<Map<String, Value>, SchemaProblem> {
    let annotations = merged_annotations(&mut left, &mut right);
    let mut schema = match (left.remove("anyOf"), right.remove("anyOf")) {
        (None, None) => merge_plain(left, right)?,
        (Some(alternatives), None) => distribute(left, alternatives, right)?,
        (None, Some(alternatives)) => distribute(right, alternatives, left)?,
        (Some(one), Some(other)) if one == other => distribute(left, one, right)?,
        (Some(_), Some(_)) => return Err(SchemaProblem::CombinedAlternatives),
    };
    if let Some(Value::String(text)) = annotations.get("description") {
        let inner = schema.remove("description");
        add_description(&mut schema, text);
        add_description(
            &mut schema,
            inner.as_ref().and_then(Value::as_str).unwrap_or_default(),
        );
    }
    schema.extend(
        annotations
            .into_iter()
            .filter(|(keyword, _)| keyword != "description"),
    );
    Ok(schema)
}

/// Add `text` to the description, on a line of its own.
pub(super) fn add_description(schema: &mut Map<String, Value>, text: &str) {
    if text.is_empty() {
        return;
    }
    match schema.get_mut("description") {
        Some(Value::String(description)) if description.lines().any(|line| line == text) => {}
        Some(Value::String(description)) => {
            description.push('\n');
            description.push_str(text);
        }
        _ => {
            schema.insert("description".to_owned(), text.into());
        }
    }
}

fn merged_annotations(
    left: &mut Map<String, Value>,
    right: &mut Map<String, Value>,
) -> Map<String, Value> {
    let mut annotations = Map::new();
    for side in [left, right] {
        if let Some(Value::String(text)) = side.remove("description") {
            add_description(&mut annotations, &text);
        }
        if let Some(default) = side.remove("default") {
            annotations.entry("default").or_insert(default);
        }
    }
    annotations
}

/// Put what applies to the whole value into each alternative: `anyOf` beside other keywords is
/// where providers differ most. Alternatives of another type than the rest can never match.
fn distribute(
    beside: Map<String, Value>,
    alternatives: Value,
    other: Map<String, Value>,
) -> Result<Map<String, Value>, SchemaProblem> {
    let common = merge_plain(other, beside)?;
    let Value::Array(alternatives) = alternatives else {
        return Ok(common);
    };
    let mut merged = Vec::new();
    let mut refused = None;
    for alternative in alternatives.into_iter().filter_map(unions::into_object) {
        match merge(alternative, common.clone()) {
            Ok(alternative) => merged.push(alternative),
            Err(problem @ SchemaProblem::Conflict { .. }) => refused = Some(problem),
            Err(problem) => return Err(problem),
        }
    }
    match refused {
        Some(problem) if merged.is_empty() => Err(problem),
        _ => Ok(unions::combine(merged)),
    }
}

fn merge_plain(
    mut left: Map<String, Value>,
    mut right: Map<String, Value>,
) -> Result<Map<String, Value>, SchemaProblem> {
    refuse_closed(&left, &right)?;
    refuse_closed(&right, &left)?;
    if let Some(Value::Object(more)) = right.remove("properties") {
        add_properties(&mut left, more)?;
    }
    if let Some(Value::Array(more)) = right.remove("required") {
        add_required(&mut left, more);
    }
    for (keyword, value) in right {
        match left.entry(keyword) {
            Entry::Vacant(entry) => {
                entry.insert(value);
            }
            Entry::Occupied(mut entry) => {
                let both = both(entry.key(), entry.get(), value)?;
                entry.insert(both);
            }
        }
    }
    Ok(left)
}

/// A part with `additionalProperties: false` admits no properties of another part.
fn refuse_closed(
    part: &Map<String, Value>,
    other: &Map<String, Value>,
) -> Result<(), SchemaProblem> {
    let has_properties = other
        .get("properties")
        .and_then(Value::as_object)
        .is_some_and(|properties| !properties.is_empty());
    if part.get("additionalProperties") == Some(&Value::Bool(false)) && has_properties {
        return Err(SchemaProblem::RefusesOthers);
    }
    Ok(())
}

fn add_properties(
    into: &mut Map<String, Value>,
    more: Map<String, Value>,
) -> Result<(), SchemaProblem> {
    let Value::Object(properties) = into
        .entry("properties")
        .or_insert_with(|| Value::Object(Map::new()))
    else {
        return Ok(());
    };
    for (name, property) in more {
        match properties.entry(name) {
            Entry::Vacant(entry) => {
                entry.insert(property);
            }
            Entry::Occupied(entry) => {
                return Err(SchemaProblem::DuplicateProperty {
                    name: entry.key().clone(),
                });
            }
        }
    }
    Ok(())
}

fn add_required(into: &mut Map<String, Value>, more: Vec<Value>) {
    let Value::Array(required) = into
        .entry("required")
        .or_insert_with(|| Value::Array(Vec::new()))
    else {
        return;
    };
    for name in more {
        if !required.contains(&name) {
            required.push(name);
        }
    }
}

/// One keyword that both parts have.
fn both(keyword: &str, left: &Value, right: Value) -> Result<Value, SchemaProblem> {
    if *left == right {
        return Ok(right);
    }
    let is_less = |one: &Value, other: &Value| one.as_f64() < other.as_f64();
    match (keyword, left, &right) {
        (
            "minimum" | "exclusiveMinimum" | "minLength" | "minItems" | "minProperties",
            left,
            right,
        ) => Ok(if is_less(left, right) { right } else { left }.clone()),
        (
            "maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" | "maxProperties",
            left,
            right,
        ) => Ok(if is_less(left, right) { left } else { right }.clone()),
        ("uniqueItems", _, _) => Ok(Value::Bool(true)),
        ("type", Value::String(one), Value::String(other))
            if matches!(
                (one.as_str(), other.as_str()),
                ("integer", "number") | ("number", "integer")
            ) =>
        {
            Ok("integer".into())
        }
        ("enum", Value::Array(one), Value::Array(other)) => {
            let common: Vec<_> = one.iter().filter(|value| other.contains(value)).collect();
            if common.is_empty() {
                return Err(SchemaProblem::Unsatisfiable);
            }
            Ok(common.into_iter().cloned().collect())
        }
        // `{}` says nothing, so the other side holds.
        ("items" | "additionalProperties", Value::Object(one), _) if one.is_empty() => Ok(right),
        ("items" | "additionalProperties", _, Value::Object(other)) if other.is_empty() => {
            Ok(left.clone())
        }
        _ => Err(SchemaProblem::Conflict {
            keyword: keyword.to_owned(),
        }),
    }
}
