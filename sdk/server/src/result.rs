//! What a tool returns, and what goes on the wire for it.
//!
//! The host reads text only: the text of the result's content items, or, when that text is a
//! tool-result envelope, the envelope's text and one line for each artifact (host facts,
//! section 4). So every result is exactly one text item here: the plain text, or the envelope when
//! there are artifacts. Structured content goes along for other hosts; odek drops it.
//!
//! What lives here: [`ToolResult`], [`ToolError`], the conversion [`IntoToolResult`] and the step
//! to the wire. What does not: how a text that is too long for the model is shortened
//! ([`crate::LongTextPolicy`]), and how content becomes a response line.

use std::borrow::Cow;
use std::collections::HashSet;
use std::error::Error;
use std::fmt;

use odek_contract::artifact::{ArtifactRef, MAX_ARTIFACTS};
use odek_contract::envelope::{Detection, ToolResultEnvelope};
use serde::Serialize;
use serde_json::Value;

use crate::artifacts::{Artifact, ArtifactError};

/// The result of a successful call: a text for the model, and files for whoever needs more.
///
/// ```
/// use odek_sdk::ToolResult;
///
/// let result = ToolResult::text("1280 of 1284 test cases passed.");
/// assert_eq!(result.text_content(), "1280 of 1284 test cases passed.");
/// ```
///
/// With artifacts the result is sent as one envelope (`odek.tool-result/v1`): ids that repeat get
/// `-2`, `-3` and so on, and more than 64 artifacts are an error of the call. Without artifacts it
/// is plain text, also when that text happens to look like an envelope: a string that a tool
/// returns is never taken for one.
///
/// The agent loop shows the model at most 4096 bytes of a result, metadata lines and wrapping
/// included; what happens to a longer one is the extension's
/// [`LongTextPolicy`](crate::LongTextPolicy).
#[derive(Debug, Clone, PartialEq)]
pub struct ToolResult {
    pub(crate) body: Body,
    structured: Option<Value>,
}

/// What the text item of a result is made of.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Body {
    /// Text and artifacts, from which the item is built.
    Built {
        text: String,
        artifacts: Vec<Artifact>,
    },
    /// An envelope that is sent as it is.
    Envelope(ToolResultEnvelope),
}

impl ToolResult {
    /// A result with this text for the model. Empty text is fine, the model then reads the
    /// artifacts' lines only.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            body: Body::Built {
                text: text.into(),
                artifacts: Vec::new(),
            },
            structured: None,
        }
    }

    /// A result whose text is a value as compact JSON; an object is structured content too.
    ///
    /// # Errors
    ///
    /// [`ToolError`] when the value has no JSON form, for example a map whose keys are not strings.
    pub fn json<T: Serialize + ?Sized>(value: &T) -> Result<Self, ToolError> {
        let value = serde_json::to_value(value).map_err(|error| {
            ToolError::new(format_args!("the result has no JSON form: {error}"))
        })?;
        // `Value` displays as compact JSON.
        let result = Self::text(value.to_string());
        // The protocol knows structured content as objects only.
        Ok(if value.is_object() {
            result.structured(value)
        } else {
            result
        })
    }

    /// A result that is exactly this envelope: nothing is added, renamed, checked or shortened.
    ///
    /// For fixtures that have to send what the builder would not, such as unknown members or
    /// references that the host refuses. Tools use [`artifact`](Self::artifact).
    pub fn envelope(envelope: ToolResultEnvelope) -> Self {
        Self {
            body: Body::Envelope(envelope),
            structured: None,
        }
    }

    /// Attaches an artifact, behind those attached before.
    ///
    /// Put what matters most first: of a list that is too long for the model the beginning
    /// survives. On a result made by [`envelope`](Self::envelope) the reference joins the
    /// envelope's.
    #[must_use]
    pub fn artifact(self, artifact: Artifact) -> Self {
        self.artifacts([artifact])
    }

    /// Attaches several artifacts, in order.
    #[must_use]
    pub fn artifacts(mut self, artifacts: impl IntoIterator<Item = Artifact>) -> Self {
        match &mut self.body {
            Body::Built { artifacts: all, .. } => all.extend(artifacts),
            Body::Envelope(envelope) => {
                let references = artifacts
                    .into_iter()
                    .map(|artifact| artifact.to_reference());
                envelope.artifacts.extend(references);
            }
        }
        self
    }

    /// Adds structured content (MCP `structuredContent`), which has to be a JSON object; anything
    /// else is an error of the call. odek does not read it, so the text has to say it all.
    #[must_use]
    pub fn structured(mut self, value: Value) -> Self {
        self.structured = Some(value);
        self
    }

    /// The text for the model, without the artifacts' lines.
    pub fn text_content(&self) -> &str {
        match &self.body {
            Body::Built { text, .. } => text,
            Body::Envelope(envelope) => &envelope.text,
        }
    }

    /// The artifacts attached so far. Those of a result made by [`envelope`](Self::envelope) are
    /// references without a file and not among them.
    pub fn attached_artifacts(&self) -> &[Artifact] {
        match &self.body {
            Body::Built { artifacts, .. } => artifacts,
            Body::Envelope(_) => &[],
        }
    }

    /// The structured content, if there is any.
    pub fn structured_content(&self) -> Option<&Value> {
        self.structured.as_ref()
    }

    /// The same result with another text and other artifacts.
    pub(crate) fn with_body(self, text: String, artifacts: Vec<Artifact>) -> Self {
        Self {
            body: Body::Built { text, artifacts },
            ..self
        }
    }

    /// The result as it goes on the wire.
    pub(crate) fn into_content(self) -> Result<Content, ToolError> {
        if let Some(value) = self.structured.as_ref().filter(|value| !value.is_object()) {
            return Err(ToolError::new(format_args!(
                "the result's structured content is {}, and it has to be a JSON object",
                kind_of(value)
            )));
        }
        let text = match self.body {
            Body::Envelope(envelope) => envelope.to_json_text(),
            Body::Built { text, artifacts } if artifacts.is_empty() => as_plain_text(text),
            Body::Built { text, artifacts } => ToolResultEnvelope {
                artifacts: references(&artifacts)?,
                ..ToolResultEnvelope::new(text)
            }
            .to_json_text(),
        };
        Ok(Content {
            text,
            structured: self.structured,
            is_error: false,
        })
    }
}

/// A text that the host shows as it stands.
///
/// Text that the host would take for an envelope is put into the text of one, which the host
/// unwraps to just that text.
fn as_plain_text(text: String) -> String {
    match ToolResultEnvelope::detect(&text) {
        Detection::PlainText { .. } => text,
        Detection::Envelope(_) | Detection::Malformed(_) => {
            ToolResultEnvelope::new(text).to_json_text()
        }
    }
}

/// The references to artifacts, with ids that differ (contract, "Artifact-ref schema").
///
/// The first artifact of an id keeps it; each later one gets the first of `-2`, `-3` and so on
/// that is free.
pub(crate) fn references(artifacts: &[Artifact]) -> Result<Vec<ArtifactRef>, ToolError> {
    if artifacts.len() > MAX_ARTIFACTS {
        return Err(ToolError::new(format_args!(
            "the result has {} artifacts, and the host accepts at most {MAX_ARTIFACTS} in one \
             result; attach fewer, for example packed into one archive",
            artifacts.len()
        )));
    }
    let mut references: Vec<_> = artifacts.iter().map(Artifact::to_reference).collect();
    if references.iter().any(|reference| reference.id.is_empty()) {
        return Err(ToolError::new(ArtifactError::BlankId));
    }
    let mut taken: HashSet<String> = references.iter().map(|r| r.id.clone()).collect();
    let mut seen = HashSet::new();
    for reference in &mut references {
        if !seen.insert(reference.id.clone()) {
            reference.id = free_id(&reference.id, &taken);
            taken.insert(reference.id.clone());
        }
    }
    Ok(references)
}

/// The first of `<id>-2`, `<id>-3` and so on that is not taken.
pub(crate) fn free_id(id: &str, taken: &HashSet<String>) -> String {
    let mut number = 2_usize;
    loop {
        let candidate = format!("{id}-{number}");
        if !taken.contains(&candidate) {
            return candidate;
        }
        number += 1;
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// The content of a response to `tools/call`: exactly one text item.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Content {
    /// Plain text, or the JSON text of an envelope. Of a failure never empty.
    pub(crate) text: String,
    /// Structured content for hosts that read it; an object.
    pub(crate) structured: Option<Value>,
    /// Whether the call failed; the protocol's own member, which odek looks at first.
    pub(crate) is_error: bool,
}

impl Content {
    /// The content of a failed call. Its artifacts, if it had any, are gone: the host shows the
    /// first text item of a failure as it stands, an envelope included (host facts, section 4).
    pub(crate) fn error(message: impl fmt::Display) -> Self {
        Self {
            text: ToolError::new(message).message,
            structured: None,
            is_error: true,
        }
    }
}

/// Why a call failed, as the text that the model reads. Never blank.
///
/// Any error turns into one with `?`; its causes are part of the text, joined with `: `:
///
/// ```
/// use odek_sdk::ToolError;
///
/// fn load(path: &str) -> Result<String, ToolError> {
///     let text = std::fs::read_to_string(path)?;
///     if text.is_empty() {
///         return Err(ToolError::new(format_args!("`{path}` is empty")));
///     }
///     Ok(text)
/// }
///
/// assert!(load("/nowhere").unwrap_err().to_string().contains("No such file"));
/// ```
///
/// This type does not implement [`std::error::Error`] itself; otherwise the conversion from every
/// other error could not exist.
#[derive(Clone, PartialEq, Eq)]
pub struct ToolError {
    message: String,
}

impl ToolError {
    /// An error with this message. A blank one is replaced by a sentence that says so.
    pub fn new(message: impl fmt::Display) -> Self {
        // Errors that collect context (anyhow's and its like) show all of it in this form only.
        let message = format!("{message:#}");
        if message.trim().is_empty() {
            return Self {
                message: "the tool failed without saying why".to_owned(),
            };
        }
        Self { message }
    }

    /// The same error with a sentence in front of it that says what was being done.
    #[must_use]
    pub fn context(self, doing: impl fmt::Display) -> Self {
        Self::new(format_args!("{doing}: {}", self.message))
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl fmt::Debug for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl<E: Error> From<E> for ToolError {
    fn from(error: E) -> Self {
        let mut message = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            let text = error.to_string();
            // Many errors quote their cause already.
            if !message.contains(&text) {
                message = format!("{message}: {text}");
            }
            cause = error.source();
        }
        Self::new(message)
    }
}

/// A value that is returned as JSON: compact text for the model and, when it is an object,
/// structured content for hosts that read it.
///
/// ```
/// use odek_sdk::{IntoToolResult, Json};
///
/// let counts = std::collections::BTreeMap::from([("passed", 1280), ("failed", 4)]);
/// let result = Json(counts).into_tool_result().unwrap();
/// assert_eq!(result.text_content(), r#"{"failed":4,"passed":1280}"#);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Json<T>(pub T);

/// Anything that a tool can return.
///
/// | type | what the model reads |
/// |---|---|
/// | `String`, `&str`, `Cow<str>`, `Box<str>` | the text |
/// | numbers, `bool`, `char` | the value as text |
/// | `()` | nothing |
/// | [`Json<T>`], [`serde_json::Value`] | compact JSON |
/// | [`ToolResult`] | its text and artifacts |
/// | [`Artifact`], `Vec<Artifact>` | the artifacts' lines |
/// | `Option<T>` | the value, or nothing |
/// | `Result<T, E>` with `E: Display` | the value, or the call fails with the error's text |
///
/// Implement it for a type of your own to return that from tools:
///
/// ```
/// use odek_sdk::{IntoToolResult, ToolError, ToolResult};
///
/// struct Report { passed: u32, failed: u32 }
///
/// impl IntoToolResult for Report {
///     fn into_tool_result(self) -> Result<ToolResult, ToolError> {
///         Ok(ToolResult::text(format!("{} passed, {} failed", self.passed, self.failed)))
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "a tool cannot return `{Self}`",
    label = "not a tool result",
    note = "return a `String`, a number, `()`, `Json<T>` for a type that implements `Serialize`, a \
            `ToolResult`, or a `Result` of one of these whose error implements `Display`"
)]
pub trait IntoToolResult {
    /// Converts the value.
    ///
    /// # Errors
    ///
    /// [`ToolError`] when the value stands for a failure, or cannot be written as a result.
    fn into_tool_result(self) -> Result<ToolResult, ToolError>;
}

impl IntoToolResult for ToolResult {
    fn into_tool_result(self) -> Result<ToolResult, ToolError> {
        Ok(self)
    }
}

impl IntoToolResult for () {
    fn into_tool_result(self) -> Result<ToolResult, ToolError> {
        Ok(ToolResult::text(""))
    }
}

/// Implements the conversion for types whose text is made by `ToString`.
macro_rules! into_tool_result_by_display {
    ($($type:ty),* $(,)?) => {$(
        impl IntoToolResult for $type {
            fn into_tool_result(self) -> Result<ToolResult, ToolError> {
                Ok(ToolResult::text(self.to_string()))
            }
        }
    )*};
}

into_tool_result_by_display!(
    i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize, f32, f64, bool, char,
);

/// Implements the conversion for types that become a `String` by `Into`.
macro_rules! into_tool_result_by_into {
    ($($type:ty),* $(,)?) => {$(
        impl IntoToolResult for $type {
            fn into_tool_result(self) -> Result<ToolResult, ToolError> {
                Ok(ToolResult::text(self))
            }
        }
    )*};
}

into_tool_result_by_into!(String, &str, Cow<'_, str>, Box<str>);

impl<T: Serialize> IntoToolResult for Json<T> {
    fn into_tool_result(self) -> Result<ToolResult, ToolError> {
        ToolResult::json(&self.0)
    }
}

impl IntoToolResult for Value {
    fn into_tool_result(self) -> Result<ToolResult, ToolError> {
        ToolResult::json(&self)
    }
}

impl IntoToolResult for Artifact {
    fn into_tool_result(self) -> Result<ToolResult, ToolError> {
        Ok(ToolResult::text("").artifact(self))
    }
}

impl IntoToolResult for Vec<Artifact> {
    fn into_tool_result(self) -> Result<ToolResult, ToolError> {
        Ok(ToolResult::text("").artifacts(self))
    }
}

impl<T: IntoToolResult> IntoToolResult for Option<T> {
    fn into_tool_result(self) -> Result<ToolResult, ToolError> {
        match self {
            Some(value) => value.into_tool_result(),
            None => ().into_tool_result(),
        }
    }
}

impl<T: IntoToolResult, E: fmt::Display> IntoToolResult for Result<T, E> {
    fn into_tool_result(self) -> Result<ToolResult, ToolError> {
        match self {
            Ok(value) => value.into_tool_result(),
            Err(error) => Err(ToolError::new(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifacts::{ArtifactStore, Retention};
    use odek_contract::render::render_envelope;
    use proptest::prelude::*;
    use serde_json::json;

    fn text_of(value: impl IntoToolResult) -> String {
        value
            .into_tool_result()
            .and_then(ToolResult::into_content)
            .unwrap()
            .text
    }

    fn error_of(value: impl IntoToolResult) -> String {
        let result = value.into_tool_result().and_then(ToolResult::into_content);
        result.unwrap_err().to_string()
    }

    fn envelope_of(result: ToolResult) -> ToolResultEnvelope {
        match ToolResultEnvelope::detect(&text_of(result)) {
            Detection::Envelope(envelope) => envelope,
            other => panic!("no envelope: {other:?}"),
        }
    }

    /// What the model reads of a text item, before any cap.
    fn model_text(item: &str) -> String {
        match ToolResultEnvelope::detect(item) {
            Detection::PlainText { .. } => render_envelope(item, &[]),
            Detection::Envelope(envelope) => render_envelope(&envelope.text, &envelope.artifacts),
            Detection::Malformed(error) => panic!("the host refuses it: {error}"),
        }
    }

    fn artifacts(count: usize) -> (tempfile::TempDir, Vec<Artifact>) {
        let folder = tempfile::tempdir().unwrap();
        let store = ArtifactStore::at(folder.path(), Retention::default());
        let artifact = store.write_bytes("a", "x").unwrap();
        let artifacts = (0..count).map(|_| artifact.clone()).collect();
        (folder, artifacts)
    }

    #[test]
    fn ordinary_values_become_their_text() {
        assert_eq!(text_of("a"), "a");
        assert_eq!(text_of(String::from("a")), "a");
        assert_eq!(text_of(Cow::Borrowed("a")), "a");
        assert_eq!(text_of(Box::<str>::from("a")), "a");
        assert_eq!(text_of('é'), "é");
        assert_eq!(text_of(u64::MAX), "18446744073709551615");
        assert_eq!(text_of(-1_i8), "-1");
        assert_eq!(text_of(2.5), "2.5");
        assert_eq!(text_of(true), "true");
        assert_eq!(text_of(()), "");
        assert_eq!(text_of(None::<u8>), "");
        assert_eq!(text_of(Some(7)), "7");
        assert_eq!(text_of(Ok::<_, String>(7)), "7");
        assert_eq!(error_of(Err::<u8, _>("broken")), "broken");
    }

    #[test]
    fn json_is_compact_text_and_structured_content() {
        #[derive(Serialize)]
        struct Counts {
            passed: u32,
            names: Vec<&'static str>,
        }
        let counts = Counts {
            passed: 3,
            names: vec!["a b"],
        };
        let content = Json(counts)
            .into_tool_result()
            .unwrap()
            .into_content()
            .unwrap();
        assert_eq!(content.text, r#"{"names":["a b"],"passed":3}"#);
        assert_eq!(
            content.structured,
            Some(json!({"passed": 3, "names": ["a b"]}))
        );
        let list = Json([1, 2])
            .into_tool_result()
            .unwrap()
            .into_content()
            .unwrap();
        assert_eq!((list.text.as_str(), list.structured), ("[1,2]", None));
        let map = std::collections::BTreeMap::from([((1, 2), 3)]);
        assert!(error_of(Json(map)).starts_with("the result has no JSON form: "));
    }

    #[test]
    fn structured_content_has_to_be_an_object() {
        let error = error_of(ToolResult::text("x").structured(json!([1])));
        assert_eq!(
            error,
            "the result's structured content is an array, and it has to be a JSON object"
        );
    }

    #[test]
    fn artifacts_make_one_envelope() {
        let (_folder, artifacts) = artifacts(1);
        let result = ToolResult::text("Done.")
            .artifacts(artifacts)
            .structured(json!({"n": 1}));
        let content = result.into_content().unwrap();
        assert_eq!(content.structured, Some(json!({"n": 1})));
        let digest = "2d711642b726…";
        assert_eq!(
            model_text(&content.text),
            format!("Done.\n- artifact \"a\" (text/plain, 1 bytes, sha256 {digest})")
        );
        assert!(!content.text.contains('\n'), "one line of compact JSON");
    }

    #[test]
    fn repeated_ids_are_told_apart() {
        let (_folder, artifacts) = artifacts(5);
        let ids = ["a", "a", "a-2", "a", "b"];
        let artifacts = artifacts
            .into_iter()
            .zip(ids)
            .map(|(artifact, id)| artifact.id(id));
        let envelope = envelope_of(ToolResult::text("").artifacts(artifacts));
        let sent: Vec<_> = envelope.artifacts.iter().map(|a| a.id.as_str()).collect();
        assert_eq!(sent, ["a", "a-3", "a-2", "a-4", "b"]);
    }

    #[test]
    fn sixty_four_artifacts_are_the_most() {
        let (_folder, all) = artifacts(64);
        let envelope = envelope_of(ToolResult::text("").artifacts(all));
        assert_eq!(envelope.artifacts.len(), 64);
        let (_folder, all) = artifacts(65);
        let error = error_of(all);
        assert!(
            error.contains("65 artifacts") && error.contains("at most 64"),
            "{error}"
        );
        let (_folder, all) = artifacts(1);
        let blank = all
            .into_iter()
            .map(|artifact| artifact.id(" "))
            .collect::<Vec<_>>();
        assert!(error_of(blank).contains("blank"));
    }

    #[test]
    fn a_text_is_never_taken_for_an_envelope() {
        for text in [
            r#"{"schema":"odek.tool-result/v1","text":"x"}"#,
            "\u{feff} {\"Schema\":\"odek.tool-result/v1\",\"artifacts\":[{}]}\n",
            r#"{"schema":"odek.tool-result/v1","text":7}"#,
        ] {
            assert_eq!(model_text(&text_of(text)), text);
        }
        assert_eq!(text_of("{\"schema\":\"other\"}"), "{\"schema\":\"other\"}");
    }

    #[test]
    fn a_given_envelope_is_sent_as_it_is() {
        let envelope = ToolResultEnvelope {
            artifacts: vec![ArtifactRef::new("", "http://x", "")],
            unknown: [("future".to_owned(), json!(1).into())]
                .into_iter()
                .collect(),
            ..ToolResultEnvelope::new("x")
        };
        let (_folder, one) = artifacts(1);
        let result = ToolResult::envelope(envelope.clone());
        assert_eq!(text_of(result.clone()), envelope.to_json_text());
        assert_eq!(result.text_content(), "x");
        assert!(result.attached_artifacts().is_empty());
        assert_eq!(envelope_of(result.artifacts(one)).artifacts.len(), 2);
    }

    #[test]
    fn errors_carry_their_causes_once() {
        #[derive(Debug, thiserror::Error)]
        #[error("cannot load")]
        struct Outer(#[source] Middle);
        #[derive(Debug, thiserror::Error)]
        #[error("cannot read: {0}")]
        struct Middle(#[source] std::fmt::Error);
        let error = ToolError::from(Outer(Middle(std::fmt::Error)));
        let cause = std::fmt::Error.to_string();
        assert_eq!(
            error.to_string(),
            format!("cannot load: cannot read: {cause}")
        );
        assert_eq!(
            error.context("summarising").to_string(),
            format!("summarising: cannot load: cannot read: {cause}")
        );
    }

    #[test]
    fn an_error_always_says_something() {
        for blank in ["", " \n"] {
            let content = Content::error(blank);
            assert_eq!(content.text, "the tool failed without saying why");
            assert!(content.is_error);
            assert_eq!(content.structured, None);
        }
        assert_eq!(
            error_of(Err::<(), _>("")),
            "the tool failed without saying why"
        );
    }

    proptest! {
        #[test]
        fn any_text_reaches_the_model_as_it_is(text in any::<String>()) {
            let expected = render_envelope(&text, &[]);
            prop_assert_eq!(model_text(&text_of(text)), expected);
        }

        #[test]
        fn ids_always_differ(ids in proptest::collection::vec("[ab](-[23])?", 0..20)) {
            let (_folder, all) = artifacts(ids.len());
            let all: Vec<_> = all.into_iter().zip(&ids).map(|(a, id)| a.id(id)).collect();
            let references = references(&all).unwrap();
            let distinct: HashSet<_> = references.iter().map(|r| &r.id).collect();
            prop_assert_eq!(distinct.len(), ids.len());
        }
    }
}
