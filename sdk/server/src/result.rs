//! stub
#![allow(missing_docs, clippy::all, dead_code)]
use serde_json::Value;
#[derive(Debug)]
pub struct ToolResult(String);
impl ToolResult {
    pub fn text(s: impl Into<String>) -> Self {
        Self(s.into())
    }
    pub(crate) fn into_content(self) -> Result<Content, ToolError> {
        Ok(Content {
            text: self.0,
            structured: None,
            is_error: false,
        })
    }
}
pub(crate) struct Content {
    pub text: String,
    pub structured: Option<Value>,
    pub is_error: bool,
}
impl Content {
    pub fn error(s: String) -> Self {
        Self {
            text: s,
            structured: None,
            is_error: true,
        }
    }
}
#[derive(Debug)]
pub struct ToolError(String);
impl ToolError {
    pub fn new(e: impl std::fmt::Display) -> Self {
        Self(e.to_string())
    }
}
impl std::fmt::Display for ToolError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}
pub trait IntoToolResult {
    fn into_tool_result(self) -> Result<ToolResult, ToolError>;
}
impl IntoToolResult for String {
    fn into_tool_result(self) -> Result<ToolResult, ToolError> {
        Ok(ToolResult(self))
    }
}
impl IntoToolResult for &str {
    fn into_tool_result(self) -> Result<ToolResult, ToolError> {
        Ok(ToolResult(self.into()))
    }
}
impl<T: IntoToolResult, E: std::fmt::Display> IntoToolResult for Result<T, E> {
    fn into_tool_result(self) -> Result<ToolResult, ToolError> {
        self.map_err(|e| ToolError(e.to_string()))
            .and_then(|v| v.into_tool_result())
    }
}
pub struct Json<T>(pub T);
macro_rules! show { ($($t:ty),*) => { $(impl IntoToolResult for $t { fn into_tool_result(self)->Result<ToolResult,ToolError>{Ok(ToolResult(self.to_string()))} })* } }
show!(i64, usize);
impl IntoToolResult for ToolResult {
    fn into_tool_result(self) -> Result<ToolResult, ToolError> {
        Ok(self)
    }
}
impl<T: serde::Serialize> IntoToolResult for Json<T> {
    fn into_tool_result(self) -> Result<ToolResult, ToolError> {
        Ok(ToolResult(serde_json::to_string(&self.0).unwrap()))
    }
}
impl<E: std::error::Error> From<E> for ToolError {
    fn from(e: E) -> Self {
        Self(e.to_string())
    }
}
impl ToolResult {
    pub fn artifact(self, _: crate::Artifact) -> Self {
        self
    }
}
