//! The members of a `tools/call` result, read as the host reads them.

use crate::decode::{Decoder, MergedList, Place, TypeMismatch, names_field};
use crate::go::Json;

const RESULT: Place = Place::new("value", "mcpclient.callToolResult");
const CONTENT: Place = Place::new(
    "struct field callToolResult.content",
    "[]mcpclient.contentItem",
);
const ITEM: Place = Place::new(
    "struct field callToolResult.content",
    "mcpclient.contentItem",
);
const IS_ERROR: Place = Place::new("struct field callToolResult.isError", "bool");
const ITEM_TYPE: Place = Place::new("struct field contentItem.content.type", "string");
const ITEM_TEXT: Place = Place::new("struct field contentItem.content.text", "string");

/// What the host keeps of a result, and the names of what it does not.
#[derive(Debug, Default)]
pub(super) struct CallResult {
    pub(super) content: Vec<ContentItem>,
    pub(super) is_error: bool,
    pub(super) ignored: Vec<String>,
}

/// What the host keeps of one content item.
#[derive(Debug, Default)]
pub(super) struct ContentItem {
    pub(super) kind: String,
    pub(super) text: String,
    pub(super) ignored: Vec<String>,
}

impl CallResult {
    pub(super) fn read(json: &Json) -> Result<Self, TypeMismatch> {
        let mut decoder = Decoder::default();
        let mut result = Self::default();
        let mut content = MergedList::default();
        for (name, value) in decoder.members(json, RESULT) {
            if names_field(name, "content") {
                decoder.list(value, CONTENT, &mut content, ContentItem::read);
            } else if names_field(name, "isError") {
                decoder.boolean(value, IS_ERROR, &mut result.is_error);
            } else {
                note(&mut result.ignored, name);
            }
        }
        result.content = content.into_vec();
        decoder.finish(result)
    }
}

impl ContentItem {
    fn read(decoder: &mut Decoder, json: &Json, item: &mut Self) {
        for (name, value) in decoder.members(json, ITEM) {
            if names_field(name, "type") {
                decoder.string(value, ITEM_TYPE, &mut item.kind);
            } else if names_field(name, "text") {
                decoder.string(value, ITEM_TEXT, &mut item.text);
            } else {
                note(&mut item.ignored, name);
            }
        }
    }
}

fn note(ignored: &mut Vec<String>, name: &str) {
    if !ignored.iter().any(|known| known == name) {
        ignored.push(name.to_owned());
    }
}
