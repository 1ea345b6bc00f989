#![allow(unused_variables)]

use odek_sdk::odek_tool;

/// Described.
#[odek_tool]
fn generic<T>(value: T) {}

/// Described.
#[odek_tool]
fn lifetime<'a>() -> &'a str {
    ""
}

/// Described.
#[odek_tool]
fn clause()
where
    u8: Copy,
{
}

/// Described.
#[odek_tool]
const fn constant() {}

/// Described.
#[odek_tool]
unsafe fn dangerous() {}

/// Described.
#[odek_tool]
extern "C" fn foreign() {}

fn main() {}
