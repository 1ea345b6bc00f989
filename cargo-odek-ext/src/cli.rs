//! The command line: which verbs exist, and how an invocation becomes an exit code. What a verb
//! does lives in its own module under `commands`.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::commands::{call, demo, new};
use crate::error::ExpectedError;
use crate::output::{Format, Output, Verdict};

/// Scaffold extensions for AI agents and call their tools exactly as the host does.
#[derive(Debug, Parser)]
#[command(
    name = "cargo-odek-ext",
    bin_name = "cargo odek-ext",
    version,
    after_help = "Exit codes:\n    \
        0  everything is fine\n    \
        1  the extension falls short: a tool failed, a result was refused\n    \
        2  the command line is wrong: an unknown flag, a bad name, a path that is taken\n    \
        3  the set-up or the environment is at fault: a file cannot be written, a program is missing\n    \
        4  a build of the extension failed\n  \
        130  a signal, such as Ctrl-C, stopped the command"
)]
struct Arguments {
    /// Form of the result on standard output; progress always goes to standard error.
    #[arg(long, value_enum, default_value_t, global = true)]
    format: Format,

    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    New(new::Arguments),
    Call(call::Arguments),
    Demo(demo::Arguments),
}

/// Runs one invocation. Cargo starts external subcommands with the subcommand's name as the first
/// argument, so `cargo odek-ext new x` and `cargo-odek-ext new x` both arrive here.
pub(crate) fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let words = without_subcommand_name(arguments);
    let arguments = match Arguments::try_parse_from(&words) {
        Ok(arguments) => arguments,
        Err(error) => return refuse(&error, &words),
    };
    let output = Output::new(arguments.format);
    match dispatch(arguments.verb, &output) {
        Ok(verdict) => verdict.exit_code(),
        Err(error) => {
            output.error(&error);
            error.exit_code()
        }
    }
}

/// Ends an invocation that the parser does not take. Help and version are "errors" of the parser,
/// too; it knows the stream and the exit code.
fn refuse(error: &clap::Error, words: &[OsString]) -> ExitCode {
    // Nobody is left to tell when the streams are closed.
    let _ = error.print();
    if !error.use_stderr() {
        return ExitCode::SUCCESS;
    }
    let text = error.to_string();
    let paragraph = text.split("\n\n").next().unwrap_or_default();
    let refusal = ExpectedError::CommandLine {
        problem: paragraph.trim_start_matches("error: ").trim().to_owned(),
    };
    if asks_for_json(words) {
        let _ = Output::new(Format::Json).document(&refusal.document());
    }
    refusal.exit_code()
}

/// Whether a command line that cannot be parsed asks for documents, as far as one can tell.
fn asks_for_json(words: &[OsString]) -> bool {
    words.iter().any(|word| word == "--format=json")
        || words
            .windows(2)
            .any(|pair| pair[0] == "--format" && pair[1] == "json")
}

fn dispatch(verb: Verb, output: &Output) -> Result<Verdict, ExpectedError> {
    match verb {
        Verb::New(arguments) => new::run(arguments, output),
        Verb::Call(arguments) => call::run(arguments, output),
        Verb::Demo(arguments) => demo::run(arguments, output),
    }
}

fn without_subcommand_name(arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = arguments.into_iter().collect();
    if arguments.get(1).is_some_and(|first| first == "odek-ext") {
        arguments.remove(1);
    }
    arguments
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn the_name_that_cargo_adds_is_dropped_once() {
        let arguments = ["cargo-odek-ext", "odek-ext", "odek-ext"].map(OsString::from);
        assert_eq!(
            without_subcommand_name(arguments),
            ["cargo-odek-ext", "odek-ext"]
        );
    }
}
