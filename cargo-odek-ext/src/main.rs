//! `cargo odek-ext`: scaffold extensions and run them as their hosts do.

use std::process::ExitCode;

mod cli;
mod commands;
mod error;
mod interrupt;
mod output;
mod project;
mod project_name;
mod scaffold;
mod server_entry;

fn main() -> ExitCode {
    cli::run(std::env::args_os())
}
