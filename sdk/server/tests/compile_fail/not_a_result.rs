use odek_sdk::odek_tool;

struct Opaque;

/// Described.
#[odek_tool]
fn plain() -> Opaque {
    Opaque
}

/// Described.
#[odek_tool]
async fn nested() -> Result<Opaque, String> {
    Ok(Opaque)
}

fn main() {}
