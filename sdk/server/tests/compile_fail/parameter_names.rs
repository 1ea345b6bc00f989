#![allow(unused_variables)]

use odek_sdk::odek_tool;

/// Described.
#[odek_tool]
fn renamed(path: String, #[odek(name = "path")] other: String) {}

/// Described.
#[odek_tool]
fn raw(value: u8, r#value: u8) {}

/// Described.
#[odek_tool]
fn removed_by_the_host(größe: u8, #[odek(name = "two words")] other: u8) {}

fn main() {}
