//! What compilers and package managers print: no tests, but errors and warnings.

use std::collections::BTreeSet;

use crate::formats::findings::{Findings, Waiting, counted};
use crate::formats::xml::case::first_line;
use crate::model::{Case, Sink, Status};

/// Errors and warnings that are listed.
const LISTED: usize = 5000;

/// Lines of context kept of one error.
const CONTEXT_LINES: usize = 30;

/// Lines that only one tool writes, and the tool.
fn tool_of(line: &str) -> Option<&'static str> {
    let text = line.trim_start();
    let starts = |starts: &[&str]| starts.iter().any(|start| text.starts_with(start));
    let versioned = |word: &str| {
        text.strip_prefix(word).is_some_and(|rest| {
            rest.split_once(" v").is_some_and(|(name, version)| {
                !name.contains(' ') && version.starts_with(|c: char| c.is_ascii_digit())
            })
        })
    };
    if versioned("Compiling ") || versioned("Checking ") || text.contains("could not compile `") {
        Some("cargo")
    } else if starts(&["error[E", "warning: unused "]) {
        Some("rustc")
    } else if starts(&[
        "-- The C compiler identification",
        "-- Configuring done",
        "CMake Error",
    ]) || text.starts_with('[') && text.contains("%] Building C")
    {
        Some("CMake")
    } else if is_make_failure(text) || starts(&["make[1]: Entering directory"]) {
        Some("make")
    } else if starts(&["npm error", "npm ERR!", "npm warn ", "npm WARN "]) {
        Some("npm")
    } else if starts(&["[INFO] BUILD ", "[INFO] Scanning for projects"]) {
        Some("Maven")
    } else if starts(&["> Task :", "BUILD SUCCESSFUL in ", "BUILD FAILED in "]) {
        Some("Gradle")
    } else {
        located(line).map(|found| found.tool)
    }
}

fn is_make_failure(text: &str) -> bool {
    let Some((maker, rest)) = text.split_once(": *** ") else {
        return false;
    };
    let maker = maker.split('[').next().unwrap_or(maker);
    matches!(maker, "make" | "gmake" | "mingw32-make") && !rest.is_empty()
}

/// An error or warning at a place.
struct Located<'a> {
    tool: &'static str,
    place: &'a str,
    error: bool,
    message: &'a str,
}

/// `file.c:9:26: error: message`, `file.ts(3,5): error TS1: message`, `file.ts:3:5 - error TS1: ..`.
fn located(line: &str) -> Option<Located<'_>> {
    for (mark, error) in [
        (": error: ", true),
        (": fatal error: ", true),
        (": warning: ", false),
    ] {
        if let Some((place, message)) = line.split_once(mark)
            && is_place(place)
        {
            let java = place
                .split(':')
                .next()
                .is_some_and(|file| file.ends_with(".java"));
            let tool = if java { "javac" } else { "C/C++ compiler" };
            return Some(Located {
                tool,
                place,
                error,
                message,
            });
        }
    }
    for (mark, error) in [
        ("): error ", true),
        ("): warning ", false),
        (" - error TS", true),
    ] {
        if let Some((place, message)) = line.split_once(mark) {
            let code = message.split(':').next().unwrap_or_default();
            let coded = code.ends_with(|c: char| c.is_ascii_digit()) && code.len() < 12;
            let numbered = place.ends_with(|c: char| c.is_ascii_digit());
            if coded && numbered && !place.contains(' ') {
                let typescript = code.starts_with("TS") || mark.ends_with("TS");
                let tool = if typescript { "TypeScript" } else { "MSVC" };
                return Some(Located {
                    tool,
                    place,
                    error,
                    message,
                });
            }
        }
    }
    None
}

/// `path:line` or `path:line:column`.
fn is_place(text: &str) -> bool {
    let mut parts = text.trim().rsplit(':');
    let number = |part: Option<&str>| {
        part.is_some_and(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
    };
    number(parts.next()) && parts.next().is_some_and(|rest| !rest.is_empty())
}

/// What a log says beside its tests.
#[derive(Default)]
pub(super) struct Diagnostics {
    tools: BTreeSet<&'static str>,
    found: Waiting,
    open: Option<Case>,
    open_lines: usize,
    errors: u64,
    failed: Option<String>,
}

impl Diagnostics {
    /// Takes a line that belongs to no test run.
    pub(super) fn line(&mut self, line: &str) {
        self.tools.extend(tool_of(line));
        if let Some(found) = located(line) {
            self.add(found.tool, found.place, found.error, found.message);
        } else if let Some((error, message)) = rustc(line) {
            self.add("rustc", "", error, message);
        } else if let Some((error, message)) = npm(line) {
            self.npm(line, error, message);
        } else if is_make_failure(line) || is_cargo_failure(line) {
            self.close();
            self.failed = Some(line.trim().to_owned());
        } else if line.starts_with("[ERROR] ") && self.tools.contains("Maven") {
            self.add("Maven", "", true, line.trim_start_matches("[ERROR] "));
        } else {
            self.context(line);
        }
    }

    fn add(&mut self, tool: &str, place: &str, error: bool, message: &str) {
        self.close();
        self.errors += u64::from(error);
        self.open_lines = 0;
        self.open = Some(Case {
            suite: tool.to_owned(),
            name: place.trim().to_owned(),
            status: error.then_some(Status::Errored),
            seconds: None,
            message: first_line(message),
            details: Some(String::new()),
        });
    }

    /// npm tells its errors in several lines, of which the one with the code is the first.
    fn npm(&mut self, line: &str, error: bool, message: &str) {
        let heads = message.starts_with("code ") || !error;
        if heads || self.open.as_ref().is_none_or(|case| case.suite != "npm") {
            self.add("npm", message, error, "");
            return;
        }
        if let Some(case) = &mut self.open
            && case.message.is_none()
            && !message.starts_with("path ")
        {
            case.message = first_line(message);
        }
        self.context(line);
    }

    fn context(&mut self, line: &str) {
        let Some(case) = &mut self.open else { return };
        let text = line.trim_start();
        if let Some(place) = text.strip_prefix("--> ")
            && case.name.is_empty()
        {
            case.name = place.to_owned();
        }
        self.open_lines += 1;
        let ends = line.is_empty() && case.suite == "rustc" || self.open_lines > CONTEXT_LINES;
        if ends {
            self.close();
        } else if let Some(details) = &mut case.details {
            details.push_str(line);
            details.push('\n');
        }
    }

    fn close(&mut self) {
        if let Some(mut case) = self.open.take()
            && self.found.len() < LISTED
        {
            case.details = case.details.filter(|details| !details.trim().is_empty());
            self.found.push(case);
        }
    }

    /// Hands over what was found, where the log is that of a build.
    pub(super) fn finish(mut self, sink: &mut dyn Sink, findings: &mut Findings) {
        self.close();
        if findings.is_known() {
            if self.errors > 0 {
                let first = self
                    .found
                    .iter_mut()
                    .find(|case| case.status.is_some())
                    .map(|case| format!("{} {}", case.name, case.message.as_deref().unwrap_or("")));
                findings.note(format!(
                    "Beside the tests the log has {} of a build; the first: {}.",
                    counted(self.errors, "error"),
                    first.unwrap_or_default().trim()
                ));
            }
            return;
        }
        if self.tools.is_empty() {
            return;
        }
        let tools: Vec<&str> = self.tools.iter().copied().collect();
        findings.name(format!("build log ({})", tools.join(", ")));
        if let Some(line) = self.failed.take().filter(|_| self.errors == 0) {
            self.add("", "", true, &line);
            self.close();
        }
        for case in self.found.take() {
            sink.case(case);
        }
    }
}

fn is_cargo_failure(line: &str) -> bool {
    line.starts_with("error: could not compile `") || line.starts_with("error: aborting due to")
}

/// An error or warning of rustc or cargo, which begins its line.
fn rustc(line: &str) -> Option<(bool, &str)> {
    if is_cargo_failure(line) {
        return None;
    }
    let (error, rest) = match line.strip_prefix("error") {
        Some(rest) => (true, rest),
        None => (false, line.strip_prefix("warning")?),
    };
    let rest = match rest.strip_prefix('[') {
        Some(code) => code.split_once(']')?.1,
        None => rest,
    };
    let message = rest.strip_prefix(": ")?;
    let sums_up = message.starts_with('`') && message.contains(" generated ")
        || message.contains("test failed, to rerun")
        || message == "test run failed"
        || message.ends_with("target failed:")
        || message.ends_with("targets failed:")
        || message.contains("doctest failed, to rerun");
    (!sums_up).then_some((
        error,
        match error {
            true => line,
            false => message,
        },
    ))
}

/// A line of npm: whether it is an error, and what it says.
fn npm(line: &str) -> Option<(bool, &str)> {
    let rest = line.strip_prefix("npm ")?;
    for (word, error) in [
        ("error", true),
        ("ERR!", true),
        ("warn", false),
        ("WARN", false),
    ] {
        if let Some(rest) = rest.strip_prefix(word) {
            return Some((error, rest.trim()));
        }
    }
    None
}
