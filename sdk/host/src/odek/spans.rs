//! Where the members of a JSON object lie in its text.
//!
//! The host hands the result of a tool on as it was received, to be read again with other rules.
//! So the bytes of a member are needed, not its value.

use std::ops::Range;

/// The places of the values of an object's members, in order.
///
/// `text` must be a JSON object in whole, as a JSON parser has confirmed; for anything else the
/// places mean nothing.
pub(crate) fn member_values(text: &[u8]) -> Vec<Range<usize>> {
    values(text, b":")
}

/// The places of the elements of a list, in order. `text` must be a JSON list in whole.
pub(crate) fn element_values(text: &[u8]) -> Vec<Range<usize>> {
    values(text, b"[,")
}

/// `before` are the structural bytes that stand before a value.
fn values(text: &[u8], before: &[u8]) -> Vec<Range<usize>> {
    let mut values = Vec::new();
    let mut scanner = Scanner {
        text,
        at: 0,
        depth: 0,
    };
    let mut start = None;
    while let Some((at, byte)) = scanner.next_structural() {
        let is_outermost = match byte {
            b'}' | b']' => scanner.depth == 0,
            _ => scanner.depth == 1,
        };
        if !is_outermost {
            continue;
        }
        if matches!(byte, b',' | b'}' | b']') {
            let place = start.take().map(|start| trimmed(text, start..at));
            // Nothing at all between the brackets of an empty list.
            values.extend(place.filter(|place| !place.is_empty()));
        }
        if before.contains(&byte) {
            start = Some(at + 1);
        }
    }
    values
}

struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
    /// How many objects and lists are open after the last structural byte.
    depth: usize,
}

impl Scanner<'_> {
    /// The next byte that is neither white space, nor part of a string or another scalar.
    fn next_structural(&mut self) -> Option<(usize, u8)> {
        while let Some(&byte) = self.text.get(self.at) {
            let at = self.at;
            self.at += 1;
            match byte {
                b'"' => self.skip_string(),
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                b':' | b',' => {}
                _ => continue,
            }
            if byte != b'"' {
                return Some((at, byte));
            }
        }
        None
    }

    fn skip_string(&mut self) {
        while let Some(&byte) = self.text.get(self.at) {
            self.at += 1;
            match byte {
                b'"' => return,
                b'\\' => self.at += 1,
                _ => {}
            }
        }
    }
}

fn trimmed(text: &[u8], range: Range<usize>) -> Range<usize> {
    let bytes = &text[range.clone()];
    let start = range.start + (bytes.len() - bytes.trim_ascii_start().len());
    start..start + bytes.trim_ascii().len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    fn values_of(text: &str) -> Vec<&str> {
        member_values(text.as_bytes())
            .into_iter()
            .map(|range| &text[range])
            .collect()
    }

    #[test]
    fn values_are_found_in_order() {
        let text = r#"{ "a" : 1 , "b":"x,}\"]{", "a":{"c":[1,{"d":2}]},"e":[ ] }"#;
        assert_eq!(
            values_of(text),
            ["1", r#""x,}\"]{""#, r#"{"c":[1,{"d":2}]}"#, "[ ]"]
        );
        assert!(values_of("{}").is_empty());
    }

    #[test]
    fn elements_are_found_in_order() {
        let text = r#" [1 , "a,]" ,[2,{"b":3}], {} ] "#;
        let elements: Vec<_> = element_values(text.as_bytes())
            .into_iter()
            .map(|place| &text[place])
            .collect();
        assert_eq!(elements, ["1", r#""a,]""#, r#"[2,{"b":3}]"#, "{}"]);
        for empty in ["[]", " [ \n ] "] {
            assert!(element_values(empty.as_bytes()).is_empty());
        }
    }

    proptest! {
        #[test]
        fn values_are_those_of_a_json_parser(
            members in proptest::collection::btree_map("\\PC{0,8}", "\\PC{0,12}", 0..6),
        ) {
            let object: serde_json::Map<String, Value> = members
                .into_iter()
                .map(|(name, text)| (name, serde_json::json!({ "text": text, "list": [1, "]"] })))
                .collect();
            let text = serde_json::to_string_pretty(&object).unwrap();
            let found: Vec<Value> =
                values_of(&text).iter().map(|value| serde_json::from_str(value).unwrap()).collect();
            prop_assert_eq!(found, object.into_iter().map(|(_, value)| value).collect::<Vec<_>>());
        }

        #[test]
        fn nothing_panics(text in proptest::collection::vec(any::<u8>(), 0..200)) {
            member_values(&text);
            element_values(&text);
        }
    }
}
