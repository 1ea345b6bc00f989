//! Why a schema cannot be made portable, and where.

use std::fmt;

/// A schema that cannot be written so that every model provider accepts it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {problem}", Place(.path))]
#[non_exhaustive]
pub struct SchemaError {
    /// The field, such as `filter.rules[].name`; empty for the arguments as a whole. `[]` stands
    /// for the items of a list, `*` for the values of a map.
    pub path: String,
    /// What is wrong there.
    pub problem: SchemaProblem,
}

/// What is wrong with a schema, and what to change.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaProblem {
    /// A type that contains itself has no schema without references.
    #[error(
        "the type `{type_name}` contains itself, and model providers need schemas without \
         references; take the nested part as a list, or as text that the function parses"
    )]
    Recursive {
        /// The type, as its schema names it.
        type_name: String,
    },
    /// The arguments are not an object.
    #[error(
        "the arguments of a tool are an object, but this type is {found}; make it a field of a \
         struct"
    )]
    NotAnObject {
        /// What the type is instead.
        found: String,
    },
    /// The arguments are one of several shapes.
    #[error(
        "the arguments of a tool are one object, but this type has alternatives, as an enum does; \
         make it a field of a struct"
    )]
    AlternativesAtTop,
    /// A `$ref` that does not lead to a schema in the same document.
    #[error("the reference {reference:?} leads to no schema in this document")]
    UnresolvableReference {
        /// The reference.
        reference: String,
    },
    /// A property name that the host removes.
    #[error(
        "the property name {name:?} would be removed by the host, which keeps names of 1 to 64 \
         bytes from ASCII letters, digits and `_ . $ @ : -`; rename the field"
    )]
    PropertyName {
        /// The name.
        name: String,
    },
    /// Two parts of the same object declare the same property.
    #[error("the property `{name}` is declared twice; rename one of the two")]
    DuplicateProperty {
        /// The name.
        name: String,
    },
    /// Part of a merged object refuses the properties of the other parts.
    #[error(
        "this struct refuses unknown fields, so it cannot share an object with others; remove \
         `deny_unknown_fields`"
    )]
    RefusesOthers,
    /// Two parts of one schema contradict each other.
    #[error("two parts of this schema disagree about `{keyword}`")]
    Conflict {
        /// The keyword about which they disagree.
        keyword: String,
    },
    /// Alternatives that are combined with other alternatives.
    #[error(
        "two sets of alternatives apply to the same value, as when two enums are flattened into \
         one struct; make at least one of them a field"
    )]
    CombinedAlternatives,
    /// No value matches.
    #[error("no value is ever accepted here, as with an enum that has no variants")]
    Unsatisfiable,
    /// A keyword that model providers do not share and that has no portable equivalent.
    #[error("the keyword `{keyword}` is not understood by every model provider; remove it")]
    Keyword {
        /// The keyword.
        keyword: String,
    },
    /// A keyword with a value that JSON Schema does not allow.
    #[error("`{keyword}` is not a valid schema keyword value: {found}")]
    Malformed {
        /// The keyword, or `schema` when the schema itself is neither an object nor a boolean.
        keyword: String,
        /// The start of the value.
        found: String,
    },
    /// The schema is larger than the host accepts.
    #[error(
        "the schema has {bytes} bytes, above the {maximum} at which the host skips the tool; \
         shorten descriptions or enums"
    )]
    TooLarge {
        /// The size as the host measures it.
        bytes: usize,
        /// The host's limit.
        maximum: usize,
    },
}

impl SchemaError {
    pub(super) fn new(path: &[Step], problem: SchemaProblem) -> Self {
        Self {
            path: render(path),
            problem,
        }
    }
}

/// One step from the arguments object towards a nested schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    Property(String),
    Items,
    Values,
}

fn render(path: &[Step]) -> String {
    let mut text = String::new();
    for step in path {
        match step {
            Step::Items => text.push_str("[]"),
            Step::Property(_) | Step::Values if text.is_empty() => {}
            Step::Property(_) | Step::Values => text.push('.'),
        }
        match step {
            Step::Items => {}
            Step::Property(name) => text.push_str(name),
            Step::Values => text.push('*'),
        }
    }
    text
}

struct Place<'a>(&'a str);

impl fmt::Display for Place<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            "" => formatter.write_str("the arguments"),
            path => write!(formatter, "field `{path}`"),
        }
    }
}
