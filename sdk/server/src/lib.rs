//! Write extensions for the odek agent in Rust: functions become tools.
//!
//! An extension is a program that its host starts and talks to over standard input and output.
//! This crate turns functions marked [`odek_tool`] into such a program:
//!
//! ```no_run
//! use odek_sdk::prelude::*;
//!
//! /// Say hello to somebody.
//! #[odek_tool]
//! fn greet(
//!     /// Whom to greet.
//!     name: String,
//! ) -> String {
//!     format!("Hello, {name}!")
//! }
//!
//! fn main() -> odek_sdk::Result<()> {
//!     Extension::new("greeter", env!("CARGO_PKG_VERSION"))
//!         .tool(greet)
//!         .serve()
//! }
//! ```
//!
//! What lives here: the [`Extension`] builder and its checks, tools and their arguments, results,
//! artifacts, and the server that answers the host. What does not: the rules of the contract
//! themselves (`odek-contract`) and the emulation of the hosts (`odek-host`), which tests an
//! extension from outside, as a separate process.
#![deny(missing_docs)]

// The output of the macros names this crate from outside.
#[cfg(test)]
extern crate self as odek_sdk;

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;
mod arguments;
pub mod artifacts;
mod context;
mod describe;
mod error;
mod extension;
mod logging;
mod long_text;
pub mod prelude;
mod registry;
mod result;
pub mod schema;
mod serve;
mod tool;

pub use arguments::{Args, ArgumentsError};
pub use artifacts::{Artifact, ArtifactError, ArtifactStore, ArtifactWriter, Retention};
pub use context::ToolContext;
pub use error::{Error, Result};
pub use extension::{Extension, PanicDetail, ResponseGuard, Server};
pub use long_text::LongTextPolicy;
#[doc = include_str!("../docs/odek_tool.md")]
pub use odek_sdk_macros::odek_tool;
#[doc = include_str!("../docs/odek_tools.md")]
pub use odek_sdk_macros::odek_tools;
pub use registry::{RegistrationError, RegistrationProblem};
pub use result::{IntoToolResult, Json, ToolError, ToolResult};
pub use tool::{Annotations, Tool, ToolAttributes, ToolFuture, ToolSet};
