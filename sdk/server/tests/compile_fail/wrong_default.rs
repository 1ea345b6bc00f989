use odek_sdk::odek_tool;

/// Described.
#[odek_tool]
fn number(#[odek(default = 2.5)] _value: u8) {}

/// Described.
#[odek_tool]
fn text(#[odek(default = "three")] _value: u8) {}

fn main() {}
