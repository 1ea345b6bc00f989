//! Reads test reports and build logs of many producers.
//!
//! [`read::open`] recognises what a file is by what it contains, never by its name, and reads it in
//! bounded memory: cases go one by one to a [`model::Sink`], totals and problems come back in an
//! [`model::Outcome`]. What cannot be read is said, never guessed.
#![deny(missing_docs)]

pub mod formats;
pub mod model;
pub mod read;
pub mod text;
pub mod tools;
mod xml;
