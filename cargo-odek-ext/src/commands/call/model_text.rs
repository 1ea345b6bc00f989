//! The arguments of a tool call, from the words on the command line to the text that a model would
//! have written.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use serde_json::{Map, Value};

use crate::error::ExpectedError;

/// Turns the words behind the tool's name into the text of a JSON document: nothing gives an empty
/// object, `@file` the content of a file, one word that looks like JSON itself, and `key=value`
/// words an object.
///
/// # Errors
///
/// Fails for words of neither form, for JSON that does not parse, and when the file cannot be read.
pub(crate) fn model_text(words: &[String]) -> Result<String, ExpectedError> {
    match words {
        [] => Ok("{}".to_owned()),
        [word] if word.starts_with('@') => from_file(&word[1..]),
        [word] if looks_like_json(word) => checked_json(word.clone(), "the argument"),
        words => from_pairs(words),
    }
}

fn looks_like_json(word: &str) -> bool {
    word.starts_with(['{', '[', '"']) || (!word.contains('=') && is_json(word))
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

fn checked_json(text: String, origin: &str) -> Result<String, ExpectedError> {
    match serde_json::from_str::<serde::de::IgnoredAny>(&text) {
        Ok(_) => Ok(text),
        Err(error) => Err(ExpectedError::Arguments {
            problem: format!("{origin} is not valid JSON: {error}"),
        }),
    }
}

fn from_file(name: &str) -> Result<String, ExpectedError> {
    let read = match name {
        "-" => {
            let mut text = String::new();
            io::stdin().read_to_string(&mut text).map(|_| text)
        }
        name => fs::read_to_string(name),
    };
    let text = read.map_err(|source| ExpectedError::file("read", Path::new(name), source))?;
    checked_json(text, &format!("`{name}`"))
}

fn from_pairs(words: &[String]) -> Result<String, ExpectedError> {
    let mut object = Map::new();
    for word in words {
        let problem = match word.split_once('=') {
            Some(("", _)) => "has no key in front of `=`",
            Some((key, _)) if object.contains_key(key) => "gives a key for the second time",
            Some((key, value)) => {
                object.insert(key.to_owned(), value_of(value));
                continue;
            }
            None => "is neither `key=value` nor JSON",
        };
        return Err(ExpectedError::Arguments {
            problem: format!("`{word}` {problem}"),
        });
    }
    Ok(Value::Object(object).to_string())
}

fn value_of(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &[&str]) -> Result<String, ExpectedError> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        model_text(&words)
    }

    #[test]
    fn words_become_an_object() {
        for (words, expected) in [
            (&[][..], "{}"),
            (&["path=a.xml", "top=3"], r#"{"path":"a.xml","top":3}"#),
            (&["a=", "b=true", "c=[1]"], r#"{"a":"","b":true,"c":[1]}"#),
            (&["n=\"3\"", "m=x=y"], r#"{"m":"x=y","n":"3"}"#),
            (&["n=3 "], r#"{"n":3}"#),
            (&["n=[1"], r#"{"n":"[1"}"#),
        ] {
            assert_eq!(of(words).unwrap(), expected);
        }
    }

    #[test]
    fn json_is_passed_on_as_it_is() {
        for text in [r#"{"a": 1.0}"#, "[1]", "null", "3", r#""a=b""#] {
            assert_eq!(of(&[text]).unwrap(), text);
        }
    }

    #[test]
    fn other_words_are_refused() {
        for words in [
            &["report.xml"][..],
            &["{\"a\": }"],
            &["=1"],
            &["a=1", "a=2"],
            &["a=1", "b"],
            &["a=1", "{}"],
        ] {
            let error = of(words).unwrap_err();
            assert!(
                matches!(error, ExpectedError::Arguments { .. }),
                "{words:?}"
            );
        }
        assert!(matches!(
            of(&["@no/such/file"]).unwrap_err(),
            ExpectedError::File { .. }
        ));
    }
}
