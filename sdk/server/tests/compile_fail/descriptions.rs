use odek_sdk::odek_tool;

#[odek_tool]
fn nothing() {}

///
#[odek_tool]
fn blank() {}

#[odek_tool(description = " ")]
fn spaces() {}

#[doc = include_str!("descriptions.rs")]
#[odek_tool]
fn included() {}

fn main() {}
