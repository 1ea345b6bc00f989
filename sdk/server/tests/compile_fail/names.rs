use odek_sdk::odek_tool;

/// Described.
#[odek_tool(name = "sum up")]
fn sum_up() {}

/// Described.
#[odek_tool(name = "sum__up")]
fn separator() {}

/// Described.
#[odek_tool(name = "")]
fn empty() {}

/// Described.
#[odek_tool]
fn double__underscore() {}

/// Described.
#[odek_tool]
fn a_function_whose_name_is_longer_than_the_sixty_four_bytes_of_the_host() {}

/// Described.
#[odek_tool]
fn größe() {}

/// Described.
#[odek_tool]
fn read_file() {}

/// Described.
#[odek_tool(name = "shell")]
fn run() {}

fn main() {}
