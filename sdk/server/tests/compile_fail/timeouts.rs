use odek_sdk::odek_tool;

/// Described.
#[odek_tool(timeout = "25")]
fn without_unit() {}

/// Described.
#[odek_tool(timeout = "soon")]
fn no_number() {}

/// Described.
#[odek_tool(timeout = "2.5s")]
fn fraction() {}

/// Described.
#[odek_tool(timeout = "0s")]
fn zero() {}

/// Described.
#[odek_tool(timeout = "2h")]
fn longer_than_the_host_waits() {}

/// Described.
#[odek_tool(timeout = 25)]
fn number() {}

fn main() {}
