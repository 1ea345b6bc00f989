//! The extension `log-analyzer`.

use log_analyzer::tools::{compare_runs, list_failures, search_log, slowest_tests, summarize};
use odek_sdk::Extension;

fn main() -> odek_sdk::Result<()> {
    Extension::new("log-analyzer", env!("CARGO_PKG_VERSION"))
        .instructions(
            "Give these tools the path of a test report or a log instead of reading it yourself: \
             they answer in a few lines and attach the rest.",
        )
        .tool(summarize)
        .tool(list_failures)
        .tool(slowest_tests)
        .tool(compare_runs)
        .tool(search_log)
        .serve()
}
