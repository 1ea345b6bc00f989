#![allow(unused_variables)]

use odek_sdk::{Args, ToolContext, odek_tool};

struct Page;

/// Described.
#[odek_tool]
fn misspelt(#[odek(defualt = 3)] value: u8) {}

/// Described.
#[odek_tool]
fn unknown(#[odek(range)] value: u8) {}

/// Described.
#[odek_tool]
fn of_serde(#[serde(default)] value: u8) {}

/// Described.
#[odek_tool]
fn conditional(#[cfg(unix)] value: u8) {}

/// Described.
#[odek_tool]
fn default_of_an_option(#[odek(default = Some(3))] value: Option<u8>) {}

/// Described.
#[odek_tool]
fn twice(#[odek(default)] #[odek(default = 3)] value: u8) {}

/// Described.
#[odek_tool]
fn optional_struct(#[odek(flatten)] page: Option<Page>) {}

/// Described.
#[odek_tool]
fn named_struct(#[odek(flatten, name = "page")] page: Page) {}

/// Described.
#[odek_tool]
fn default_struct(#[odek(flatten, default)] page: Page) {}

/// Described.
#[odek_tool]
fn context(#[odek(name = "cx")] cx: ToolContext) {}

/// Described.
#[odek_tool]
fn flattened_args(#[odek(flatten)] page: Args<Page>) {}

fn main() {}
