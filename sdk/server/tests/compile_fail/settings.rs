use odek_sdk::odek_tool;

/// Described.
#[odek_tool(readonly)]
fn misspelt() {}

/// Described.
#[odek_tool(schema = "x")]
fn unknown() {}

/// Described.
#[odek_tool(read_only = "yes", idempotent = 1)]
fn flags() {}

/// Described.
#[odek_tool(name = sum, title = "")]
fn texts() {}

/// Described.
#[odek_tool(title = "A", title = "B")]
fn twice() {}

/// Described.
#[odek_tool(read_only, destructive)]
fn contradiction() {}

/// Described.
#[odek_tool("name")]
fn no_key() {}

fn main() {}
