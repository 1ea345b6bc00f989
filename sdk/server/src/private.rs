//! What the output of the macros names. Not for anything else: it may change with any version.
//!
//! The macros keep to a few calls into this module, so that the code in an author's crate is
//! small and each of the author's types is required to be a [`Parameter`] in one way only. A type
//! that is none is then one compile error, in the words below.

use std::{fmt, marker::PhantomData};

pub use std::{borrow::Cow, sync::Arc};

pub use schemars;
pub use serde::{self, de::MapAccess};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{DeserializeOwned, Error as _, IgnoredAny, Visitor, value::MapAccessDeserializer},
    forward_to_deserialize_any,
};
use serde_json::{Map, Value, json};

use crate::{IntoToolResult, Tool, ToolError, ToolResult};

/// What a marked function's name is as an expression: a function that makes the tool. The name of
/// this trait is what the compiler shows for a function that is not marked.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tool",
    label = "not a tool",
    note = "mark the function with `#[odek_tool]`"
)]
pub trait MarkedWithOdekTool {
    /// The tool.
    fn make(self) -> Tool;
}

#[diagnostic::do_not_recommend]
impl<F: FnOnce() -> Tool> MarkedWithOdekTool for F {
    fn make(self) -> Tool {
        self()
    }
}

impl<F: MarkedWithOdekTool> From<F> for Tool {
    fn from(function: F) -> Self {
        function.make()
    }
}

/// A result that the author's own type has been converted to already.
pub struct Converted(pub Result<ToolResult, ToolError>);

impl IntoToolResult for Converted {
    fn into_tool_result(self) -> Result<ToolResult, ToolError> {
        self.0
    }
}

/// The arguments of one tool: the struct that the macro writes for its parameters.
pub trait FromArguments: Sized {
    /// Say which arguments there are.
    fn declare(schema: &mut ArgumentsSchema<'_>);

    /// Read the arguments of a call.
    ///
    /// # Errors
    ///
    /// What is missing, or the problem of a member.
    fn read<'de, A: MapAccess<'de>>(members: Members<'de, A>) -> Result<Self, A::Error>;
}

/// [`FromArguments`] in the terms of serde and schemars.
pub struct Decoded<T>(pub T);

impl<'de, T: FromArguments> Deserialize<'de> for Decoded<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer
            .deserialize_map(ArgumentsVisitor(PhantomData))
            .map(Self)
    }
}

struct ArgumentsVisitor<T>(PhantomData<T>);

impl<'de, T: FromArguments> Visitor<'de> for ArgumentsVisitor<T> {
    type Value = T;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object with the tool's arguments")
    }

    fn visit_map<A: MapAccess<'de>>(self, access: A) -> Result<T, A::Error> {
        T::read(Members {
            access,
            kept: Map::new(),
            lifetime: PhantomData,
        })
    }
}

impl<T: FromArguments> JsonSchema for Decoded<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("Arguments")
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = ArgumentsSchema {
            generator,
            properties: Map::new(),
            required: Vec::new(),
            parts: Vec::new(),
            whole: None,
        };
        T::declare(&mut schema);
        schema.finish()
    }
}

/// The members of an arguments object, while they are read.
pub struct Members<'de, A> {
    access: A,
    kept: Map<String, Value>,
    lifetime: PhantomData<&'de ()>,
}

impl<'de, A: MapAccess<'de>> Members<'de, A> {
    /// The name of the next member, whose value must then be read, skipped or kept.
    pub fn next_name(&mut self) -> Result<Option<String>, A::Error> {
        self.access.next_key()
    }

    /// An unknown argument; those are tolerated.
    pub fn skip(&mut self, _name: String) -> Result<(), A::Error> {
        self.access.next_value::<IgnoredAny>().map(drop)
    }

    /// A member that belongs to a flattened struct, or to nothing.
    pub fn keep(&mut self, name: String) -> Result<(), A::Error> {
        let value = self.access.next_value()?;
        self.kept.insert(name, value);
        Ok(())
    }
}

/// The schema of an arguments object, while it is declared.
pub struct ArgumentsSchema<'a> {
    generator: &'a mut SchemaGenerator,
    properties: Map<String, Value>,
    required: Vec<String>,
    parts: Vec<Schema>,
    whole: Option<Schema>,
}

impl ArgumentsSchema<'_> {
    fn property<T: JsonSchema>(&mut self, name: &str, description: &str, default: Option<Value>) {
        let mut schema = self.generator.subschema_for::<T>();
        if !description.is_empty() {
            schema.insert("description".to_owned(), description.into());
        }
        if let Some(default) = default {
            schema.insert("default".to_owned(), default);
        }
        // Two arguments of one name are a compile error, so nothing is replaced.
        self.properties.insert(name.to_owned(), schema.to_value());
    }

    /// Parts become one object, or an error, when the schema is made portable.
    fn finish(self) -> Schema {
        if let Some(whole) = self.whole {
            return whole;
        }
        let mut schema = schemars::json_schema!({
            "type": "object",
            "properties": self.properties,
            "required": self.required,
        });
        if !self.parts.is_empty() {
            schema.insert("allOf".to_owned(), json!(self.parts));
        }
        schema
    }
}

/// A type that can be an argument, or hold all or some of them.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an argument of a tool",
    label = "arguments cannot be decoded to this type",
    note = "derive `serde::Deserialize` and `schemars::JsonSchema` for it"
)]
pub trait Parameter: Sized {
    /// Declare an argument of this type.
    fn declare(schema: &mut ArgumentsSchema<'_>, name: &'static str, description: &str);

    /// Declare an argument that may be left out for `default`; none when it has no JSON form.
    fn declare_with_default(
        schema: &mut ArgumentsSchema<'_>,
        name: &'static str,
        description: &str,
        default: Option<Value>,
    );

    /// Declare the fields of this struct as arguments.
    fn declare_flattened(schema: &mut ArgumentsSchema<'_>);

    /// Declare that this type is all arguments.
    fn declare_whole(schema: &mut ArgumentsSchema<'_>);

    /// Read the value of a member.
    fn read<'de, A: MapAccess<'de>>(members: &mut Members<'de, A>) -> Result<Self, A::Error>;

    /// Read the value of a member for which `null` is the same as nothing.
    fn read_unless_null<'de, A: MapAccess<'de>>(
        members: &mut Members<'de, A>,
    ) -> Result<Option<Self>, A::Error>;

    /// Read the struct from the members that no parameter has taken.
    fn read_flattened<'de, A: MapAccess<'de>>(members: &Members<'de, A>) -> Result<Self, A::Error>;

    /// Read everything.
    fn read_whole<'de, A: MapAccess<'de>>(members: Members<'de, A>) -> Result<Self, A::Error>;

    /// The value when the argument is left out: `None` of an `Option`, else an error.
    fn missing<E: serde::de::Error>(name: &'static str) -> Result<Self, E>;
}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned + JsonSchema> Parameter for T {
    fn declare(schema: &mut ArgumentsSchema<'_>, name: &'static str, description: &str) {
        schema.property::<T>(name, description, None);
        if Self::missing::<serde::de::value::Error>(name).is_err() {
            schema.required.push(name.to_owned());
        }
    }

    fn declare_with_default(
        schema: &mut ArgumentsSchema<'_>,
        name: &'static str,
        description: &str,
        default: Option<Value>,
    ) {
        schema.property::<T>(name, description, default);
    }

    fn declare_flattened(schema: &mut ArgumentsSchema<'_>) {
        let mut part = schema.generator.subschema_for::<T>();
        // What is said about the struct would read as if said about the tool.
        part.remove("title");
        part.remove("description");
        schema.parts.push(part);
    }

    fn declare_whole(schema: &mut ArgumentsSchema<'_>) {
        schema.whole = Some(schema.generator.subschema_for::<T>());
    }

    fn read<'de, A: MapAccess<'de>>(members: &mut Members<'de, A>) -> Result<Self, A::Error> {
        members.access.next_value()
    }

    fn read_unless_null<'de, A: MapAccess<'de>>(
        members: &mut Members<'de, A>,
    ) -> Result<Option<Self>, A::Error> {
        members.access.next_value()
    }

    fn read_flattened<'de, A: MapAccess<'de>>(members: &Members<'de, A>) -> Result<Self, A::Error> {
        let members = Value::Object(members.kept.clone());
        serde_path_to_error::deserialize(members).map_err(|error| {
            let path = error.path().to_string();
            match path.as_str() {
                "." => A::Error::custom(error.into_inner()),
                path => A::Error::custom(format!("argument {path:?}: {}", error.inner())),
            }
        })
    }

    fn read_whole<'de, A: MapAccess<'de>>(members: Members<'de, A>) -> Result<Self, A::Error> {
        T::deserialize(MapAccessDeserializer::new(members.access))
    }

    fn missing<E: serde::de::Error>(name: &'static str) -> Result<Self, E> {
        T::deserialize(Missing(name, PhantomData))
    }
}

/// Stands for an argument that was left out. Only a type that asks for an option accepts it.
struct Missing<E>(&'static str, PhantomData<E>);

impl<'de, E: serde::de::Error> Deserializer<'de> for Missing<E> {
    type Error = E;

    fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, E> {
        Err(E::missing_field(self.0))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, E> {
        visitor.visit_none()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// A type with defaults that are written as text: `#[odek(default = "report.txt")]`.
#[diagnostic::on_unimplemented(
    message = "a text cannot be the default of `{Self}`",
    label = "not made from text",
    note = "write a value of the type, without quotes"
)]
pub trait FromText: Sized {
    /// The value.
    fn from_text(text: &'static str) -> Self;
}

#[diagnostic::do_not_recommend]
impl<T: From<&'static str>> FromText for T {
    fn from_text(text: &'static str) -> Self {
        text.into()
    }
}

/// The default of a parameter. It is shown in the schema if its type can be serialised, which the
/// macro cannot know: the method of that name is this one where it can, else that of [`NoJson`].
pub struct DefaultValue<T>(pub T);

impl<T: Serialize> DefaultValue<T> {
    /// The default as JSON, written the short way: as text first, so that an `f32` of 0.1 is not
    /// shown with the digits of the nearest `f64`.
    pub fn to_json(&self) -> Option<Value> {
        let text = serde_json::to_string(&self.0).ok()?;
        serde_json::from_str(&text)
            .ok()
            .filter(|value: &Value| !value.is_null())
    }
}

/// See [`DefaultValue`].
pub trait NoJson {
    /// Nothing to show.
    fn to_json(&self) -> Option<Value> {
        None
    }
}

impl<T> NoJson for DefaultValue<T> {}

#[cfg(test)]
#[path = "private/tests.rs"]
mod tests;
