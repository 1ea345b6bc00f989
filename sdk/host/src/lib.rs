//! The hosts that load an extension, emulated.
//!
//! [`odek`] is the client side of odek: it starts an MCP server and calls its tools exactly as the
//! real host does, down to the text that the model reads. Tests of an extension use it to see what
//! the host would make of their server.
//!
//! What is *right* is not decided here: names, limits, the environment filter, artifact checks and
//! the model-facing text are rules of [`odek_contract`]. This crate runs processes and applies
//! those rules to what they write.
//!
//! Unix only: the emulated hosts' behaviour is measured there, and processes, signals and pipes
//! are part of it.
#![deny(missing_docs)]

pub mod odek;

/// The types and rules that this crate works with, so that tests of an extension need no further
/// dependency.
pub use odek_contract as contract;
