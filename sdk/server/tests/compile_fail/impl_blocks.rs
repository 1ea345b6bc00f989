use odek_sdk::{odek_tool, odek_tools};

struct Empty;

#[odek_tools]
impl Empty {
    fn not_marked(&self) {}
}

struct Twice;

#[odek_tools]
impl Twice {
    /// Described.
    #[odek_tool]
    fn count(&self) {}

    /// Described.
    #[odek_tool(name = "count")]
    fn count_again(&self) {}
}

struct Settings;

#[odek_tools(prefix = "x")]
impl Settings {
    /// Described.
    #[odek_tool]
    fn tool(&self) {}
}

trait Trait {
    fn method(&self);
}

#[odek_tools]
impl Trait for Empty {
    fn method(&self) {}
}

#[odek_tools]
fn function() {}

#[odek_tool]
struct Struct;

fn main() {}
