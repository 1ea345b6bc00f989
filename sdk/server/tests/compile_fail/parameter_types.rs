#![allow(unused_variables)]

use odek_sdk::odek_tool;

/// Described.
#[odek_tool]
fn text(value: &str) {}

/// Described.
#[odek_tool]
fn path(value: &std::path::Path) {}

/// Described.
#[odek_tool]
fn list(value: &[u8]) {}

/// Described.
#[odek_tool]
fn mutable(value: &mut String) {}

/// Described.
#[odek_tool]
fn opaque(value: impl Into<String>) {}

/// Described.
#[odek_tool]
fn inside(value: Vec<(u8, &str)>) {}

fn main() {}
