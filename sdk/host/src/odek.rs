//! odek's MCP client, emulated: starts a server and calls its tools exactly as odek does.
//!
//! [`Client`] is the way in. It filters the environment and starts the process without a shell,
//! sends the handshake of the real host byte for byte, keeps its limits and deadlines, and ends
//! the process as the host does: end of input, five seconds, SIGKILL. A call gives what the model
//! reads, or the error text that it reads instead.
//!
//! The real client says little about what goes wrong: lines that it cannot use are skipped without
//! a word, and then a call can only time out. This one behaves the same and tells why, in
//! [`Exchange::explanations`] and, step by step, to a [`TraceSink`] such as [`Timeline`].
//!
//! ```no_run
//! use odek_contract::config::ServerConfig;
//! use odek_contract::names::ServerName;
//! use odek_host::odek::{Client, Timeline};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let config = ServerConfig::new("./target/debug/my-extension").timeout_seconds(5);
//! let timeline = Timeline::new();
//! let client = Client::builder(ServerName::new("my-extension")?, &config)
//!     .trace(timeline.clone())
//!     .connect()?;
//! client.discover()?;
//! let exchange = client.exchange("greet", serde_json::json!({"name": "Ada"}));
//! match &exchange.outcome {
//!     Ok(result) => println!("the model reads: {}", result.text),
//!     Err(failure) => {
//!         println!("the model reads: {failure}");
//!         for explanation in &exchange.explanations {
//!             println!("what odek would not say: {explanation}");
//!         }
//!         println!("{timeline}");
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Implements the host facts, sections 1 to 5. Where the real host is a matter of luck, this one is
//! not: an answer that a server writes right before it exits is always read, while the host loses
//! some. Left out are servers that are configured by `url`, and the agent loop behind the client
//! ([`odek_contract::agent_loop`] has its rules).

mod arguments;
mod builder;
mod client;
mod connection;
mod error;
mod latch;
mod lines;
mod message;
mod output;
mod pending;
mod process;
mod program;
mod request;
mod spans;
mod tools;
mod trace;
mod writer;

pub use arguments::Arguments;
pub use builder::ClientBuilder;
pub use client::{Client, Exchange};
pub use connection::{CloseManner, CloseReport};
pub use error::{ConnectError, DiscoverError};
pub use output::CAPTURED_STDERR_BYTES;
pub use process::{CLOSE_GRACE, ServerExit, Stderr};
pub use request::{RequestFailure, RequestId};
pub use tools::{DiscoveredTool, Discovery, DiscoveryFinding};
pub use trace::{
    Explanation, ReadingEnd, SkipReason, Timeline, TraceSink, Verdict, WireEvent, WireEventKind,
};
