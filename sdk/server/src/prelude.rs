//! What nearly every extension uses, for `use odek_sdk::prelude::*`.

pub use std::path::PathBuf;

pub use crate::{
    Args, Artifact, Extension, IntoToolResult, Json, Tool, ToolContext, ToolError, ToolResult,
    ToolSet, odek_tool, odek_tools,
};
