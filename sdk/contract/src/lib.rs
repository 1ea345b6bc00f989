//! Data types and rules of the odek extension contract.
//!
//! Everything that both an extension and a host have to agree on lives here, once: names, limits,
//! the environment filter, artifact references, the tool-result envelope and the text that the
//! model reads of it, events, external state references and budgets. There is no I/O beyond
//! reading the file that an artifact reference names, and nothing asynchronous.
#![deny(missing_docs)]

pub mod agent_loop;
pub mod artifact;
pub mod budget;
pub mod config;
mod decode;
pub mod envelope;
pub mod environment;
pub mod event;
pub mod external_state;
pub mod go;
pub mod members;
pub mod names;
pub mod raw;
pub mod render;
pub mod result;
pub mod schema;
