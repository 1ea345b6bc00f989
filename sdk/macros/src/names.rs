//! What may be a name, and what an author may have meant.

use odek_contract::names::{is_property_name, is_reserved_tool_name, validate_tool_name};

/// Why the host would not take `name` as a tool's name; none when it would.
pub(crate) fn tool_name_problem(name: &str) -> Option<String> {
    if let Err(error) = validate_tool_name(name) {
        return Some(format!(
            "{error}; with it the host would reject the whole extension"
        ));
    }
    is_reserved_tool_name(name).then(|| {
        format!(
            "tool name {name:?} belongs to a built-in tool of odek; with it the host would not start"
        )
    })
}

/// Why the host would remove an argument named `name`; none when it would keep it.
pub(crate) fn parameter_name_problem(name: &str) -> Option<String> {
    (!is_property_name(name)).then(|| {
        format!(
            "the host would remove the argument {name:?}: it keeps names of 1 to 64 bytes from \
             ASCII letters, digits and `_ . $ @ : -`"
        )
    })
}

/// The candidate that `name` is most likely a misspelling of.
pub(crate) fn nearest<'a>(name: &str, candidates: &[&'a str]) -> Option<&'a str> {
    let tolerated = name.chars().count().max(3) / 3;
    let distances = candidates
        .iter()
        .map(|candidate| (strsim::osa_distance(name, candidate), *candidate));
    let (_, candidate) = distances
        .filter(|(distance, _)| *distance <= tolerated)
        .min()?;
    Some(candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_misses_are_recognised() {
        let known = ["name", "title", "read_only", "timeout"];
        assert_eq!(nearest("readonly", &known), Some("read_only"));
        assert_eq!(nearest("tiemout", &known), Some("timeout"));
        assert_eq!(nearest("nmae", &known), Some("name"));
        assert_eq!(nearest("schema", &known), None);
        assert_eq!(nearest("", &known), None);
    }
}
