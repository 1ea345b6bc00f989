#![allow(unused_variables)]

use odek_sdk::{Args, ToolContext, odek_tool};

struct Page;

/// Described.
#[odek_tool]
fn two_contexts(one: ToolContext, other: ToolContext) {}

/// Described.
#[odek_tool]
fn borrowed_context(cx: &ToolContext) {}

/// Described.
#[odek_tool]
fn args_and_more(page: Args<Page>, query: String) {}

/// Described.
#[odek_tool]
fn args_of_nothing(page: Args) {}

fn main() {}
