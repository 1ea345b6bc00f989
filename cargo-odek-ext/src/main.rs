//! `cargo odek-ext`: scaffold extensions and run them as their hosts do.

use std::process::ExitCode;

mod cli;
mod commands;
mod error;
mod interrupt;
mod output;
mod project_name;
mod scaffold;

fn main() -> ExitCode {
    cli::run(std::env::args_os())
}
