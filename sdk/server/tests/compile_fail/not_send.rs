use std::rc::Rc;

use odek_sdk::odek_tool;

/// Described.
#[odek_tool]
async fn keeps_a_local_value() {
    let local = Rc::new(());
    std::future::ready(()).await;
    drop(local);
}

fn main() {}
