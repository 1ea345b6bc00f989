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
    let setting = env::var_os(LOG_VARIABLE).unwrap_or_default();
    let (filter, complaint) = match read(&setting.to_string_lossy()) {
        Ok(filter) => (filter.unwrap_or_else(default_filter), None),
        Err(problem) => (default_filter(), Some(problem)),
    };
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(io::stderr)
        // They would be reported with `eprintln!`, which panics when nobody reads stderr.
        .log_internal_errors(false)
        .with_filter(filter);
    // An error means that the program has a subscriber of its own, which then stays.
    let _ = tracing_subscriber::registry().with(lines).try_init();
    if let Some(problem) = complaint {
        tracing::warn!("{LOG_VARIABLE} is not understood and is ignored: {problem}");
    }
}

/// The filter that the variable asks for, if it asks for one.
fn read(setting: &str) -> Result<Option<Targets>, String> {
    let setting = setting.trim();
    if setting.is_empty() {
        return Ok(None);
    }
    let mut filter = Targets::new();
    for part in setting.split(',') {
        // A word alone would also do for a target, and a level misspelt would turn off all others.
        let (target, level) = match part.split_once('=') {
            Some((target, level)) => (Some(target.trim()), level.trim()),
            None => (None, part.trim()),
        };
        let level = LEVELS
            .into_iter()
            .find(|known| known.to_string().eq_ignore_ascii_case(level));
        filter = match (target, level) {
            (None, Some(level)) => filter.with_default(level),
            (Some(target), Some(level)) if !target.is_empty() => filter.with_target(target, level),
            _ => {
                return Err(format!(
                    "{part:?} is no level (error, warn, info, debug, trace, off) and no target \
                     with a level, such as my_extension=debug"
                ));
            }
        };
    }
    Ok(Some(filter))
}

const LEVELS: [LevelFilter; 6] = [
    LevelFilter::OFF,
    LevelFilter::ERROR,
    LevelFilter::WARN,
    LevelFilter::INFO,
    LevelFilter::DEBUG,
    LevelFilter::TRACE,
];

/// The extension's own messages from `info` up; the protocol library's only from `warn` up, since
/// its routine messages mean nothing to an extension's author.
fn default_filter() -> Targets {
    Targets::new()
        .with_default(LevelFilter::INFO)
        .with_target("rmcp", LevelFilter::WARN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_and_targets_are_read() {
        assert_eq!(read("  ").unwrap(), None);
        let warn = Targets::new().with_default(LevelFilter::WARN);
        assert_eq!(read(" WARN ").unwrap(), Some(warn));
        let both = Targets::new()
            .with_default(LevelFilter::INFO)
            .with_target("my_extension", LevelFilter::DEBUG);
        assert_eq!(read("info, my_extension = debug").unwrap(), Some(both));
    }

    #[test]
    fn mistakes_turn_nothing_off() {
        for setting in [
            "debgu", "info,", "=", "x=", "=debug", "x=loud", "9", "\u{fffd}",
        ] {
            let problem = read(setting).unwrap_err();
            assert!(problem.contains("is no level"), "{setting}: {problem}");
        }
    }
}
