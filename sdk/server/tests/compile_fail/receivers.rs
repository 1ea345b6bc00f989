use std::sync::Arc;

use odek_sdk::{odek_tool, odek_tools};

struct Counter;

#[odek_tools]
impl Counter {
    /// Described.
    #[odek_tool]
    fn exclusive(&mut self) {}

    /// Described.
    #[odek_tool]
    fn consuming(self) {}

    /// Described.
    #[odek_tool]
    fn shared(self: Arc<Self>) {}
}

struct Unmarked;

impl Unmarked {
    /// Described.
    #[odek_tool]
    fn method(&self) {}
}

fn main() {}
