#![allow(unused_variables)]

use odek_sdk::odek_tool;

struct Point {
    x: u8,
}

/// Described.
#[odek_tool]
fn tuple((left, right): (u8, u8)) {}

/// Described.
#[odek_tool]
fn fields(Point { x }: Point) {}

/// Described.
#[odek_tool]
fn unnamed(_: u8) {}

fn main() {}
