use std::cell::RefCell;

use odek_sdk::odek_tools;

struct Counter {
    count: RefCell<u64>,
}

#[odek_tools]
impl Counter {
    /// Described.
    #[odek_tool]
    async fn count(&self) -> u64 {
        *self.count.borrow()
    }
}

fn main() {}
