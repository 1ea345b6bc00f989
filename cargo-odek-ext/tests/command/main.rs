//! Runs the real binary.

// A helper that fails is a test that fails.
#![allow(clippy::unwrap_used)]

mod call;
mod new;
mod new_on_a_terminal;
mod new_refusals;
mod new_whole_or_nothing;
mod report_template;
mod scaffolds;
mod support;
