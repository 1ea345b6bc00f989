use odek_sdk::{Args, Tool, odek_tool};

struct Opaque;

/// Described.
#[odek_tool]
fn plain(_value: Opaque) {}

/// Described.
#[odek_tool]
async fn nested(_value: Vec<Option<Opaque>>) {}

/// Described.
#[odek_tool]
fn with_default(#[odek(default = Opaque)] _value: Opaque) {}

/// Described.
#[odek_tool]
fn flattened(#[odek(flatten)] _value: Opaque) {}

/// Described.
#[odek_tool]
fn whole(_value: Args<Opaque>) {}

fn main() {
    let _ = [Tool::from(plain), Tool::from(nested)];
}
