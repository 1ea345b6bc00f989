//! The walk over a schema that rebuilds it from portable keywords.

use odek_contract::names::is_property_name;
use serde_json::{Map, Value};

use super::{
    error::{SchemaError, SchemaProblem, Step},
    keywords::{COUNTS, FORMATS, NUMBERS, TYPES, UNPORTABLE, implied_type, kind, type_of, typed},
    merge, unions,
};

/// Rebuilds the schemas of one document.
pub(super) struct Converter<'a> {
    document: &'a Value,
    path: Vec<Step>,
    /// The references that are being inlined, and where each was met.
    references: Vec<(&'a str, Vec<Step>)>,
}

impl<'a> Converter<'a> {
    pub(super) fn new(document: &'a Value) -> Self {
        Self {
            document,
            path: Vec::new(),
            references: Vec::new(),
        }
    }

    /// The schema at the top of the document.
    pub(super) fn arguments(&mut self) -> Result<Map<String, Value>, SchemaError> {
        self.schema(self.document)
    }

    fn schema(&mut self, schema: &'a Value) -> Result<Map<String, Value>, SchemaError> {
        match schema {
            Value::Bool(true) => Ok(Map::new()),
            Value::Bool(false) => Err(self.error(SchemaProblem::Unsatisfiable)),
            Value::Object(schema) => self.object(schema),
            other => Err(self.malformed("schema", other)),
        }
    }

    fn at(&mut self, step: Step, schema: &'a Value) -> Result<Map<String, Value>, SchemaError> {
        self.path.push(step);
        let converted = self.schema(schema);
        self.path.pop();
        converted
    }

    fn object(
        &mut self,
        source: &'a Map<String, Value>,
    ) -> Result<Map<String, Value>, SchemaError> {
        if let Some(keyword) = UNPORTABLE
            .into_iter()
            .find(|keyword| source.contains_key(*keyword))
        {
            return Err(self.error(SchemaProblem::Keyword {
                keyword: keyword.to_owned(),
            }));
        }
        let mut schema = self.own_keywords(source)?;
        if let Some(reference) = source.get("$ref") {
            let referenced = self.reference(reference)?;
            schema = self.merge(schema, referenced)?;
        }
        for part in self.list(source, "allOf")? {
            let part = self.schema(part)?;
            schema = self.merge(schema, part)?;
        }
        for keyword in ["oneOf", "anyOf"] {
            if source.contains_key(keyword) {
                let alternatives = self.alternatives(self.list(source, keyword)?)?;
                schema = self.merge(schema, alternatives)?;
            }
        }
        self.close_unevaluated(source, &mut schema)?;
        Ok(schema)
    }

    /// Everything in a schema but references and combinations of other schemas.
    fn own_keywords(
        &mut self,
        source: &'a Map<String, Value>,
    ) -> Result<Map<String, Value>, SchemaError> {
        let mut constraints = Map::new();
        self.copy_constraints(source, &mut constraints)?;
        self.convert_array(source, &mut constraints)?;
        self.convert_object(source, &mut constraints)?;
        let types = self.types(source, &constraints)?;
        let mut schema = match self.allowed_values(source)? {
            Some(values) => self.enumeration(&values, types.as_deref(), &constraints)?,
            None => match types {
                Some(types) => {
                    let alternatives = types.iter().map(|name| typed(name, &constraints));
                    unions::combine(alternatives.collect())
                }
                None => constraints,
            },
        };
        self.annotate(source, &mut schema)?;
        Ok(schema)
    }

    fn copy_constraints(
        &self,
        source: &Map<String, Value>,
        into: &mut Map<String, Value>,
    ) -> Result<(), SchemaError> {
        for (keyword, value) in source {
            let is_valid = match keyword.as_str() {
                name if NUMBERS.contains(&name) => value.is_number(),
                name if COUNTS.iter().any(|(count, _)| *count == name) => value.is_u64(),
                "pattern" | "format" => value.is_string(),
                "uniqueItems" => value.is_boolean(),
                _ => continue,
            };
            if !is_valid {
                return Err(self.malformed(keyword, value));
            }
            let is_private_format =
                keyword == "format" && !value.as_str().is_some_and(|name| FORMATS.contains(&name));
            if !is_private_format && *value != Value::Bool(false) {
                into.insert(keyword.clone(), value.clone());
            }
        }
        Ok(())
    }

    /// `items`, and the items of a tuple as one schema for all of them.
    fn convert_array(
        &mut self,
        source: &'a Map<String, Value>,
        into: &mut Map<String, Value>,
    ) -> Result<(), SchemaError> {
        // Before 2020-12 the items of a tuple stood in `items`, those after them elsewhere.
        let (tuple, rest) = match (source.get("prefixItems"), source.get("items")) {
            (Some(tuple), rest) => (Some(tuple), rest),
            (None, Some(tuple @ Value::Array(_))) => (Some(tuple), source.get("additionalItems")),
            (None, rest) => (None, rest),
        };
        let Some(tuple) = tuple else {
            if let Some(items) = rest {
                let items = self.at(Step::Items, items)?;
                into.insert("items".to_owned(), Value::Object(items));
            }
            return Ok(());
        };
        let Value::Array(tuple) = tuple else {
            return Err(self.malformed("prefixItems", tuple));
        };
        let count = tuple.len() as u64;
        let mut items = Vec::new();
        for item in tuple {
            items.push(self.at(Step::Items, item)?);
        }
        let order = items.iter().map(kind).collect::<Vec<_>>().join(", ");
        let maximum = into.get("maxItems").and_then(Value::as_u64);
        match rest {
            Some(Value::Bool(false)) => {
                into.insert(
                    "maxItems".to_owned(),
                    maximum.unwrap_or(count).min(count).into(),
                );
            }
            _ if maximum.is_some_and(|maximum| maximum <= count) => {}
            None => items.push(Map::new()),
            Some(rest) => items.push(self.at(Step::Items, rest)?),
        }
        let items = unions::combine(items);
        if items.contains_key("anyOf") || items.is_empty() {
            into.insert(
                "description".to_owned(),
                format!("Items in this order: {order}.").into(),
            );
        }
        into.insert("items".to_owned(), Value::Object(items));
        Ok(())
    }

    fn convert_object(
        &mut self,
        source: &'a Map<String, Value>,
        into: &mut Map<String, Value>,
    ) -> Result<(), SchemaError> {
        let required = self.required(source)?;
        let mut properties = Map::new();
        if let Some(declared) = source.get("properties") {
            let Value::Object(declared) = declared else {
                return Err(self.malformed("properties", declared));
            };
            for (name, property) in declared {
                let mut property = self.property(name, property)?;
                if !required.contains(name) {
                    // Leaving the argument out says the same, and is understood everywhere.
                    unions::remove_null(&mut property);
                }
                properties.insert(name.clone(), Value::Object(property));
            }
            into.insert("properties".to_owned(), Value::Object(properties));
        }
        if !required.is_empty() {
            into.insert("required".to_owned(), required.into());
        }
        self.convert_other_properties(source, into)
    }

    fn property(
        &mut self,
        name: &str,
        schema: &'a Value,
    ) -> Result<Map<String, Value>, SchemaError> {
        if !is_property_name(name) {
            let problem = SchemaProblem::PropertyName {
                name: name.to_owned(),
            };
            return Err(self.error(problem));
        }
        self.at(Step::Property(name.to_owned()), schema)
    }

    fn required(&self, source: &Map<String, Value>) -> Result<Vec<String>, SchemaError> {
        let mut required = Vec::new();
        for name in self.list(source, "required")? {
            match name {
                Value::String(name) if required.contains(name) => {}
                Value::String(name) => required.push(name.clone()),
                other => return Err(self.malformed("required", other)),
            }
        }
        Ok(required)
    }

    /// What applies to members beyond `properties`. Maps with integer keys come as a pattern for
    /// the keys and nothing else allowed; the pattern is left to the decoder.
    fn convert_other_properties(
        &mut self,
        source: &'a Map<String, Value>,
        into: &mut Map<String, Value>,
    ) -> Result<(), SchemaError> {
        let mut values = Vec::new();
        if let Some(patterns) = source.get("patternProperties") {
            let Value::Object(patterns) = patterns else {
                return Err(self.malformed("patternProperties", patterns));
            };
            for schema in patterns.values() {
                values.push(self.at(Step::Values, schema)?);
            }
        }
        match source.get("additionalProperties") {
            None | Some(Value::Bool(false)) if !values.is_empty() => {}
            None => return Ok(()),
            Some(Value::Bool(false)) => {
                into.insert("additionalProperties".to_owned(), Value::Bool(false));
                return Ok(());
            }
            // For an object with properties this is the default.
            Some(Value::Bool(true)) if source.contains_key("properties") => return Ok(()),
            Some(schema) => values.push(self.at(Step::Values, schema)?),
        }
        let values = unions::combine(values);
        into.insert("additionalProperties".to_owned(), Value::Object(values));
        Ok(())
    }

    /// The types a schema names or plainly means; none when every type is allowed.
    fn types(
        &self,
        source: &Map<String, Value>,
        constraints: &Map<String, Value>,
    ) -> Result<Option<Vec<String>>, SchemaError> {
        let named = match source.get("type") {
            Some(Value::Array(names)) => names.iter().collect(),
            Some(name) => vec![name],
            None => vec![],
        };
        let mut types = Vec::new();
        for name in named {
            match name.as_str() {
                Some(name) if types.iter().any(|known| known == name) => {}
                Some(name) if TYPES.contains(&name) => types.push(name.to_owned()),
                _ => return Err(self.malformed("type", name)),
            }
        }
        if types.is_empty() {
            types.extend(implied_type(constraints).map(str::to_owned));
        }
        let is_nullable = source.get("nullable") == Some(&Value::Bool(true));
        if is_nullable && !types.is_empty() && !types.iter().any(|name| name == "null") {
            types.push("null".to_owned());
        }
        Ok((!types.is_empty()).then_some(types))
    }

    fn allowed_values(
        &self,
        source: &Map<String, Value>,
    ) -> Result<Option<Vec<Value>>, SchemaError> {
        if let Some(value) = source.get("const") {
            return Ok(Some(vec![value.clone()]));
        }
        match source.get("enum") {
            None => Ok(None),
            Some(Value::Array(values)) => Ok(Some(values.clone())),
            Some(other) => Err(self.malformed("enum", other)),
        }
    }

    /// Values of one type as an `enum` of that type, others as alternatives.
    fn enumeration(
        &self,
        values: &[Value],
        types: Option<&[String]>,
        constraints: &Map<String, Value>,
    ) -> Result<Map<String, Value>, SchemaError> {
        let mut groups: Vec<(&str, Vec<Value>)> = Vec::new();
        for value in values {
            let Some(name) = type_of(value, types) else {
                continue;
            };
            match groups.iter_mut().find(|(group, _)| *group == name) {
                Some((_, group)) if group.contains(value) => {}
                Some((_, group)) => group.push(value.clone()),
                None => groups.push((name, vec![value.clone()])),
            }
        }
        if groups.is_empty() {
            return Err(self.error(SchemaProblem::Unsatisfiable));
        }
        let alternatives = groups.into_iter().map(|(name, values)| {
            let mut alternative = typed(name, constraints);
            if name != "null" {
                alternative.insert("enum".to_owned(), Value::Array(values));
            }
            alternative
        });
        Ok(unions::combine(alternatives.collect()))
    }

    /// Description and default, with what else a reader would miss told in the description.
    fn annotate(
        &self,
        source: &Map<String, Value>,
        schema: &mut Map<String, Value>,
    ) -> Result<(), SchemaError> {
        let order = schema.remove("description");
        let order = order.as_ref().and_then(Value::as_str).unwrap_or_default();
        let main = match (
            self.text(source, "description")?,
            self.text(source, "title")?,
        ) {
            ("", title) => title,
            (description, _) => description,
        };
        let excluded = self.excluded_values(source)?;
        let examples = examples(self.list(source, "examples")?);
        for text in [main, order, &excluded, &examples] {
            merge::add_description(schema, text);
        }
        if let Some(default) = source.get("default") {
            schema.insert("default".to_owned(), default.clone());
        }
        Ok(())
    }

    /// `not` with plain values, as the types that exclude zero have it, becomes a remark.
    fn excluded_values(&self, source: &Map<String, Value>) -> Result<String, SchemaError> {
        let Some(excluded) = source.get("not") else {
            return Ok(String::new());
        };
        let values = match excluded.as_object() {
            Some(schema) if schema.len() == 1 => self.allowed_values(schema)?,
            _ => None,
        };
        let Some(values) = values else {
            return Err(self.error(SchemaProblem::Keyword {
                keyword: "not".to_owned(),
            }));
        };
        Ok(format!("Must not be {}.", listed(&values, " or ")))
    }

    fn alternatives(&mut self, schemas: &'a [Value]) -> Result<Map<String, Value>, SchemaError> {
        let mut alternatives = Vec::new();
        for schema in schemas {
            if *schema != Value::Bool(false) {
                alternatives.push(self.schema(schema)?);
            }
        }
        if alternatives.is_empty() {
            return Err(self.error(SchemaProblem::Unsatisfiable));
        }
        Ok(unions::combine(alternatives))
    }

    /// `unevaluatedProperties` looks through combinations; once those are merged it says the same
    /// as `additionalProperties`.
    fn close_unevaluated(
        &mut self,
        source: &'a Map<String, Value>,
        schema: &mut Map<String, Value>,
    ) -> Result<(), SchemaError> {
        let others = match source.get("unevaluatedProperties") {
            None | Some(Value::Bool(true)) => return Ok(()),
            Some(Value::Bool(false)) => Value::Bool(false),
            Some(other) => Value::Object(self.at(Step::Values, other)?),
        };
        unions::for_each_object(schema, |object| {
            object
                .entry("additionalProperties")
                .or_insert_with(|| others.clone());
        });
        Ok(())
    }

    fn reference(&mut self, reference: &'a Value) -> Result<Map<String, Value>, SchemaError> {
        let Value::String(reference) = reference else {
            return Err(self.malformed("$ref", reference));
        };
        if let Some((_, first)) = self.references.iter().find(|(name, _)| name == reference) {
            let name = reference.rsplit('/').next().unwrap_or(reference);
            let problem = SchemaProblem::Recursive {
                type_name: percent_decoded(name),
            };
            return Err(SchemaError::new(first, problem));
        }
        let target = reference
            .strip_prefix('#')
            .and_then(|pointer| self.document.pointer(&percent_decoded(pointer)));
        let Some(target) = target else {
            let problem = SchemaProblem::UnresolvableReference {
                reference: reference.clone(),
            };
            return Err(self.error(problem));
        };
        self.references.push((reference, self.path.clone()));
        let schema = self.schema(target);
        self.references.pop();
        schema
    }

    fn merge(
        &self,
        left: Map<String, Value>,
        right: Map<String, Value>,
    ) -> Result<Map<String, Value>, SchemaError> {
        merge::merge(left, right).map_err(|problem| self.error(problem))
    }

    fn list(
        &self,
        source: &'a Map<String, Value>,
        keyword: &str,
    ) -> Result<&'a [Value], SchemaError> {
        match source.get(keyword) {
            None => Ok(&[]),
            Some(Value::Array(values)) => Ok(values),
            Some(other) => Err(self.malformed(keyword, other)),
        }
    }

    fn text(&self, source: &'a Map<String, Value>, keyword: &str) -> Result<&'a str, SchemaError> {
        match source.get(keyword) {
            None => Ok(""),
            Some(Value::String(text)) => Ok(text.trim()),
            Some(other) => Err(self.malformed(keyword, other)),
        }
    }

    fn error(&self, problem: SchemaProblem) -> SchemaError {
        SchemaError::new(&self.path, problem)
    }

    fn malformed(&self, keyword: &str, found: &Value) -> SchemaError {
        let found = found.to_string().chars().take(40).collect();
        self.error(SchemaProblem::Malformed {
            keyword: keyword.to_owned(),
            found,
        })
    }
}

fn examples(examples: &[Value]) -> String {
    if examples.is_empty() {
        return String::new();
    }
    format!("For example {}.", listed(examples, ", "))
}

fn listed(values: &[Value], separator: &str) -> String {
    let values: Vec<_> = values
        .iter()
        .map(|value| format!("`{}`", unions::label(value)))
        .collect();
    values.join(separator)
}

/// A fragment of a reference, whose `%XX` stand for bytes. One that does not decode names nothing.
fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let escaped = match tail {
            [high, low, ..] if *first == b'%' => hex(*high).zip(hex(*low)),
            _ => None,
        };
        match escaped {
            Some((high, low)) => {
                bytes.push(high * 16 + low);
                rest = &tail[2..];
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit)
        .to_digit(16)
        .and_then(|value| u8::try_from(value).ok())
}
