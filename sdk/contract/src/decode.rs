//! Filling typed members from JSON the way the host's language fills a struct.
//!
//! The rules are those of the host facts, section 3: member names match in any letter case;
//! members are taken in order, so the last of two equal ones wins; null leaves a string, a boolean
//! or an object as it was and empties a list or an optional number; a list given twice is merged
//! by position. A member of the wrong type does not stop the reading, but the first one fails the
//! whole in the end.

use crate::go::{self, Json};

/// A member that the host reads has a JSON type that it cannot take. Worded as the host words it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("json: cannot unmarshal {found} into Go {place} of type {expected}")]
pub struct TypeMismatch {
    /// What was there: `string`, `number`, `number 1.5`, `object`, …
    pub found: String,
    /// The member, as the host names it.
    pub place: &'static str,
    /// The host's type of the member.
    pub expected: &'static str,
}

/// One place in the host's types that a JSON value is read into.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    /// Its name in messages: `struct field Envelope.text`.
    pub(crate) name: &'static str,
    /// Its type in messages: `string`.
    pub(crate) kind: &'static str,
}

impl Place {
    pub(crate) const fn new(name: &'static str, kind: &'static str) -> Self {
        Self { name, kind }
    }
}

/// Whether a member's name in JSON stands for a field.
pub(crate) fn names_field(member: &str, field: &str) -> bool {
    member == field || go::fold_equal(member, field)
}

/// Reads values into fields and remembers the first one that does not fit.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    first_mismatch: Option<TypeMismatch>,
}

impl Decoder {
    /// The value, unless something did not fit.
    pub(crate) fn finish<T>(self, value: T) -> Result<T, TypeMismatch> {
        match self.first_mismatch {
            Some(mismatch) => Err(mismatch),
            None => Ok(value),
        }
    }

    pub(crate) fn string(&mut self, json: &Json, place: Place, field: &mut String) {
        match json {
            Json::Null => {}
            Json::String(text) => field.clone_from(text),
            other => self.mismatch(other, place),
        }
    }

    pub(crate) fn boolean(&mut self, json: &Json, place: Place, field: &mut bool) {
        match json {
            Json::Null => {}
            Json::Bool(value) => *field = *value,
            other => self.mismatch(other, place),
        }
    }

    /// An integer literal of 64 bits: no fraction and no exponent.
    pub(crate) fn integer(&mut self, json: &Json, place: Place, field: &mut Option<i64>) {
        match json {
            Json::Null => *field = None,
            Json::Number(literal) => match literal.parse() {
                Ok(integer) => *field = Some(integer),
                Err(_) => self.mismatch_as(format!("number {literal}"), place),
            },
            other => self.mismatch(other, place),
        }
    }

    /// The members of an object in order; none for null, so that everything stays as it was.
    pub(crate) fn members<'j>(&mut self, json: &'j Json, place: Place) -> &'j [(String, Json)] {
        match json {
            Json::Object(members) => members,
            Json::Null => &[],
            other => {
                self.mismatch(other, place);
                &[]
            }
        }
    }

    /// A list, each element read over what an earlier list of the same name left in its place.
    pub(crate) fn list<T: Default>(
        &mut self,
        json: &Json,
        place: Place,
        field: &mut MergedList<T>,
        mut element: impl FnMut(&mut Self, &Json, &mut T),
    ) {
        match json {
            Json::Null => *field = MergedList::default(),
            Json::Array(items) if items.is_empty() => *field = MergedList::default(),
            Json::Array(items) => {
                if field.elements.len() < items.len() {
                    field.elements.resize_with(items.len(), T::default);
                }
                field.length = items.len();
                for (item, slot) in items.iter().zip(&mut field.elements) {
                    element(self, item, slot);
                }
            }
            other => self.mismatch(other, place),
        }
    }

    fn mismatch(&mut self, found: &Json, place: Place) {
        let found = match found {
            Json::Null => "null",
            Json::Bool(_) => "bool",
            Json::Number(_) => "number",
            Json::String(_) => "string",
            Json::Array(_) => "array",
            Json::Object(_) => "object",
        };
        self.mismatch_as(found.to_owned(), place);
    }

    fn mismatch_as(&mut self, found: String, place: Place) {
        let Place { name, kind } = place;
        self.first_mismatch.get_or_insert(TypeMismatch {
            found,
            place: name,
            expected: kind,
        });
    }
}

/// A list that may be given several times.
///
/// A shorter list hides the elements behind its end without forgetting them: a third, longer list
/// is read over them again, as in the host.
#[derive(Debug)]
pub(crate) struct MergedList<T> {
    elements: Vec<T>,
    length: usize,
}

impl<T> Default for MergedList<T> {
    fn default() -> Self {
        Self {
            elements: Vec::new(),
            length: 0,
        }
    }
}

impl<T> MergedList<T> {
    pub(crate) fn into_vec(mut self) -> Vec<T> {
        self.elements.truncate(self.length);
        self.elements
    }
}
