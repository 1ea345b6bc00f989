//! Everything that the user sees. Results go to standard output, everything else to standard
//! error. Colours appear on terminals only, and never with `NO_COLOR`.

use std::fmt::{self, Display};
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use clap::ValueEnum;
use serde::Serialize;

use crate::error::ExpectedError;

/// Form of the result on standard output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Text for people.
    #[default]
    Human,
    /// One JSON document.
    Json,
}

const PROGRESS: Style = AnsiColor::Green.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const NOTE: Style = AnsiColor::Cyan.on_default().bold();
const ERROR: Style = AnsiColor::Red.on_default().bold();

/// How a verb ended that did what it was asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nothing is wrong with the extension.
    Fine,
    /// The extension falls short, and the reason has been reported.
    FallsShort,
}

impl Verdict {
    pub(crate) fn exit_code(self) -> ExitCode {
        match self {
            Verdict::Fine => ExitCode::SUCCESS,
            Verdict::FallsShort => ExitCode::FAILURE,
        }
    }
}

/// Where and how to report.
#[derive(Debug)]
pub(crate) struct Output {
    format: Format,
}

impl Output {
    pub(crate) fn new(format: Format) -> Self {
        Self { format }
    }

    pub(crate) fn format(&self) -> Format {
        self.format
    }

    /// A step that is being taken, in the form that cargo uses: `    Creating extension ...`.
    pub(crate) fn progress(&self, verb: &str, what: impl Display) {
        self.stderr(format_args!("{PROGRESS}{verb:>12}{PROGRESS:#} {what}"));
    }

    pub(crate) fn warning(&self, text: impl Display) {
        self.stderr(format_args!("{WARNING}warning{WARNING:#}: {text}"));
    }

    pub(crate) fn note(&self, text: impl Display) {
        self.stderr(format_args!("{NOTE}note{NOTE:#}: {text}"));
    }

    /// Prints the result: `human` or the JSON form of `document`, as the format asks.
    ///
    /// # Errors
    ///
    /// Fails when standard output cannot be written, except when its reader has gone away.
    pub(crate) fn result(
        &self,
        human: impl Display,
        document: &impl Serialize,
    ) -> Result<(), ExpectedError> {
        match self.format {
            Format::Human => Self::write_line(format_args!("{human}")),
            Format::Json => self.document(document),
        }
    }

    /// Prints a document as JSON.
    pub(crate) fn document(&self, document: &impl Serialize) -> Result<(), ExpectedError> {
        written(write_json(document))
    }

    /// Prints a text byte for byte. On a terminal a line feed follows where the text has none, so
    /// that the prompt gets a line of its own.
    pub(crate) fn exact(&self, text: &str) -> Result<(), ExpectedError> {
        let mut stdout = io::stdout().lock();
        let end = if stdout.is_terminal() && !text.ends_with('\n') {
            "\n"
        } else {
            ""
        };
        written(
            stdout
                .write_all(text.as_bytes())
                .and_then(|()| stdout.write_all(end.as_bytes()))
                .and_then(|()| stdout.flush()),
        )
    }

    /// Prints one line of a result that comes in pieces, as it is: nothing there is coloured, and
    /// what a server has written must not lose its escape sequences on the way.
    pub(crate) fn write_line(line: fmt::Arguments<'_>) -> Result<(), ExpectedError> {
        written(write_line(&mut io::stdout().lock(), line))
    }

    /// Reports that the extension falls short.
    pub(crate) fn failure(&self, text: impl Display) {
        self.stderr(format_args!("{ERROR}error{ERROR:#}: {text}"));
    }

    /// Reports a failure; with `--format json` also as a document on standard output.
    pub(crate) fn error(&self, error: &ExpectedError) {
        self.failure(error);
        if let Some(hint) = error.hint() {
            self.stderr(format_args!("{NOTE}hint{NOTE:#}: {hint}"));
        }
        if self.format == Format::Json {
            // The failure is already on standard error; a second one has nowhere to go.
            let _ = write_json(&error.document());
        }
    }

    fn stderr(&self, line: fmt::Arguments<'_>) {
        // Nobody is left to tell when standard error is closed.
        let _ = write_line(&mut anstream::stderr(), line);
    }
}

fn write_line(stream: &mut impl Write, line: fmt::Arguments<'_>) -> io::Result<()> {
    writeln!(stream, "{line}")?;
    stream.flush()
}

fn write_json(document: &impl Serialize) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    serde_json::to_writer_pretty(&mut stdout, document)?;
    writeln!(stdout)?;
    stdout.flush()
}

/// A reader that has gone away wants no more; that is no failure.
fn written(result: io::Result<()>) -> Result<(), ExpectedError> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other.map_err(ExpectedError::write_result),
    }
}
