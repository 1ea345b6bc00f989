//! Logs go to stderr, which the host passes on (host facts, section 1); stdout belongs to the
//! protocol.

use std::{env, io};

use tracing::level_filters::LevelFilter;
use tracing_subscriber::{Layer, filter::Targets, layer::SubscriberExt, util::SubscriberInitExt};

/// The variable that sets the log level: `error`, `warn`, `info`, `debug`, `trace` or `off`, or
/// targets with levels as in `info,my_extension=debug`.
pub(crate) const LOG_VARIABLE: &str = "ODEK_EXT_LOG";

/// Send `tracing` events to stderr, unless the program has already installed a subscriber.
/// Never with colours: the SDK does not compile in the support for them, so a log that is
/// redirected to a file holds no escape sequences.
pub(crate) fn install() {
    let setting = env::var(LOG_VARIABLE)
        .ok()
        .filter(|text| !text.trim().is_empty());
    let (filter, complaint) = match setting.as_deref().map(str::parse::<Targets>) {
        None => (default_filter(), None),
        Some(Ok(filter)) => (filter, None),
        Some(Err(error)) => (default_filter(), Some(error)),
    };
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(io::stderr)
        // They would be reported with `eprintln!`, which panics when nobody reads stderr.
        .log_internal_errors(false)
        .with_filter(filter);
    // An error means that the program has a subscriber of its own, which then stays.
    let _ = tracing_subscriber::registry().with(lines).try_init();
    if let Some(error) = complaint {
        tracing::warn!("{LOG_VARIABLE} is not understood and is ignored: {error}");
    }
}

/// The extension's own messages from `info` up; the protocol library's only from `warn` up, since
/// its routine messages mean nothing to an extension's author.
fn default_filter() -> Targets {
    Targets::new()
        .with_default(LevelFilter::INFO)
        .with_target("rmcp", LevelFilter::WARN)
}
