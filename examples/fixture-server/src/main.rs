//! The fixture tools of the odek extension contract ("Building a compatible server"), for tests of
//! a host.
//!
//! A fixture has to do what a good extension must not: send results that are too long, references
//! that are wrong, and files that it did not make. So both of the SDK's guards are off here; an
//! extension that is no fixture leaves them on. What the tools do is in `tools.rs`, how environment
//! variables change it in `knobs.rs`.

mod knobs;
mod tools;

use odek_sdk::{Extension, LongTextPolicy, ResponseGuard};

fn main() -> odek_sdk::Result<()> {
    Extension::new("fixture-server", env!("CARGO_PKG_VERSION"))
        .long_text(LongTextPolicy::Keep)
        .response_guard(ResponseGuard::Off)
        .tool(tools::echo)
        .tool(tools::large_result)
        .tool(tools::artifact_result)
        .tool(tools::bad_artifact)
        .tool(tools::slow)
        .tool(tools::error_result)
        .serve()
}
