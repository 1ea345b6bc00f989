//! What `go test` prints, with `-v` or without, one section for each package.

use std::collections::{BTreeMap, HashMap};

use super::{Begin, Log, Next, Row, Section};
use crate::formats::findings::{Findings, Tally, brief, counted};
use crate::formats::xml::case::{Gathered, first_line};
use crate::model::{Sink, Status};

/// Bytes kept of what the compiler says about a package.
const COMPLAINT_LIMIT: usize = 8 * 1024;

/// What compilers said, by package.
#[derive(Default)]
pub(super) struct Complaints {
    packages: BTreeMap<String, String>,
    open: String,
}

impl Complaints {
    /// What was said about a package.
    pub(super) fn of(&self, package: &str) -> &str {
        self.packages.get(package).map_or("", String::as_str)
    }

    /// Takes a line between the packages.
    fn line(&mut self, line: &str) {
        if let Some(package) = line.strip_prefix("# ") {
            let package = package.split(' ').next().unwrap_or(package);
            self.open = package.to_owned();
        } else if !self.open.is_empty() && !line.is_empty() {
            self.add(&self.open.clone(), line);
        }
    }

    /// Adds a line to what was said about a package.
    pub(super) fn add(&mut self, package: &str, line: &str) {
        let text = self.packages.entry(package.to_owned()).or_default();
        if text.len() < COMPLAINT_LIMIT {
            text.push_str(line);
            text.push('\n');
        }
    }
}

/// All the packages of a log.
#[derive(Default)]
pub(super) struct Run {
    tally: Tally,
    packages: u64,
    failed_packages: u64,
    /// Packages that passed without saying how many tests they have.
    silent: u64,
    final_fail: bool,
}

/// Takes a line between the packages.
pub(super) fn note(line: &str, log: &mut Log<'_>) {
    if line == "FAIL" {
        log.go.final_fail = true;
    }
    log.go_packages.line(line);
}

/// The line that ends a package.
enum End<'a> {
    Ok(&'a str, bool),
    Fail(&'a str, &'a str),
    NoTests,
}

fn package_end(line: &str) -> Option<End<'_>> {
    if let Some(rest) = line.strip_prefix("ok  \t") {
        let (package, rest) = rest.split_once('\t')?;
        return Some(End::Ok(package, rest.contains("[no tests to run]")));
    }
    if let Some(rest) = line.strip_prefix("FAIL\t") {
        return Some(match rest.split_once(['\t', ' ']) {
            Some((package, rest)) => End::Fail(package, rest),
            None => End::Fail(rest, ""),
        });
    }
    let rest = line.strip_prefix("?   \t")?;
    let (_, rest) = rest.split_once('\t')?;
    rest.starts_with("[no test files]").then_some(End::NoTests)
}

/// `--- FAIL: TestName (0.01s)`, at the end of a line: unterminated output may precede it.
fn result(line: &str) -> Option<(Status, &str, Option<f64>)> {
    let (at, status) = [
        ("--- PASS: ", Status::Passed),
        ("--- FAIL: ", Status::Failed),
        ("--- SKIP: ", Status::Skipped),
    ]
    .iter()
    .filter_map(|(mark, status)| Some((line.rfind(mark)? + mark.len(), *status)))
    .max_by_key(|(at, _)| *at)?;
    let (name, time) = line[at..].split_once(" (")?;
    let seconds = time.strip_suffix("s)")?;
    if name.contains(' ') {
        return None;
    }
    Some((status, name, Some(seconds.parse().ok()?)))
}

fn frame<'a>(line: &'a str, words: &[&str]) -> Option<&'a str> {
    let (word, name) = line.strip_prefix("=== ")?.split_once(' ')?;
    words.contains(&word).then(|| name.trim())
}

/// A section begins with the first line of a package that only go writes.
pub(super) fn begin(row: &Row<'_>) -> Option<Begin> {
    let line = row.shown;
    let begins = frame(line, &["RUN"]).is_some()
        || line.starts_with("--- ") && result(line).is_some()
        || package_end(line).is_some();
    begins.then_some((|_| Box::<Package>::default()) as Begin)
}

/// A package in the making.
#[derive(Default)]
struct Package {
    tests: Vec<Test>,
    running: HashMap<String, usize>,
    verbose: bool,
    open: Option<usize>,
    /// Whether something was printed that ends a package before its tests end.
    died: bool,
    ended: bool,
}

struct Test {
    gathered: Gathered,
    status: Option<Status>,
}

impl Section for Package {
    fn line(&mut self, row: &Row<'_>, log: &mut Log<'_>) -> Next {
        let line = row.shown;
        if let Some(name) = frame(line, &["RUN"]) {
            self.verbose = true;
            self.died = false;
            self.open = Some(self.add(name));
            self.running.insert(name.to_owned(), self.tests.len() - 1);
        } else if let Some(name) = frame(line, &["CONT", "NAME", "PAUSE"]) {
            self.open = self.running.get(name).copied();
        } else if let Some((status, name, seconds)) = result(line) {
            self.end_test(line, status, name, seconds);
        } else if let Some(end) = package_end(line) {
            if self.end_package(&end, line, log) {
                return Next::Done;
            }
        } else {
            self.died |= line == "FAIL"
                || [
                    "panic: ",
                    "fatal error: ",
                    "exit status ",
                    "signal: ",
                    "*** Test killed",
                ]
                .iter()
                .any(|start| line.starts_with(start));
            self.output(line);
        }
        Next::More
    }

    fn may_end(&self, _: &Row<'_>) -> bool {
        self.running.is_empty() && !self.verbose && self.tests.is_empty()
    }

    fn finish(mut self: Box<Self>, log: &mut Log<'_>) {
        log.findings.name("go test log");
        if self.ended {
            return;
        }
        let running = self.running.len() as u64;
        log.findings.incomplete(format!(
            "The log ends within a package: {} had no result yet, and the package has none.",
            counted(running, "test")
        ));
        if !self.verbose {
            log.go.silent += 1;
        }
        self.hand_over("", log);
    }
}

impl Package {
    fn add(&mut self, name: &str) -> usize {
        self.tests.push(Test {
            gathered: Gathered {
                name: name.to_owned(),
                ..Gathered::default()
            },
            status: None,
        });
        self.tests.len() - 1
    }

    fn output(&mut self, line: &str) {
        if let Some(test) = self.open.and_then(|open| self.tests.get_mut(open))
            && !matches!(test.status, Some(Status::Passed))
        {
            test.gathered.details.push(line);
            test.gathered.details.push("\n");
        }
    }

    /// A result counts for a test that runs; a test may print what looks like a result.
    fn end_test(&mut self, line: &str, status: Status, name: &str, seconds: Option<f64>) {
        let at = match self.running.remove(name) {
            Some(at) => at,
            None if self.verbose => return self.output(line),
            None => self.add(name),
        };
        self.died = false;
        self.open = Some(at);
        if let Some(test) = self.tests.get_mut(at) {
            test.status = Some(status);
            test.gathered.seconds = seconds;
            if status == Status::Passed {
                test.gathered.details = Default::default();
            }
        }
    }

    /// Takes the end of the package, unless a test printed it. Whether it is the end.
    fn end_package(&mut self, end: &End<'_>, line: &str, log: &mut Log<'_>) -> bool {
        let died = self.died && matches!(end, End::Fail(..));
        if !(self.running.is_empty() || died) {
            self.output(line);
            return false;
        }
        self.ended = true;
        log.go.packages += 1;
        log.go.final_fail = false;
        match end {
            End::NoTests => {}
            End::Ok(package, no_tests) => {
                if !self.verbose && !no_tests {
                    log.go.silent += 1;
                }
                self.hand_over(package, log);
            }
            End::Fail(package, why) => {
                log.go.failed_packages += 1;
                let failed = self.tests.iter().any(|test| {
                    test.status == Some(Status::Failed)
                        || test.status.is_none() && !is_benchmark(&test.gathered.name)
                });
                let builds = !why.contains("build failed]") && !why.contains("setup failed]");
                if !self.verbose && builds {
                    log.go.silent += 1;
                }
                if !failed {
                    log.go.tally.part(Status::Errored);
                    broken_package(package, why, log.go_packages.of(package), log.sink);
                }
                self.hand_over(package, log);
            }
        }
        true
    }

    fn hand_over(&mut self, package: &str, log: &mut Log<'_>) {
        for mut test in std::mem::take(&mut self.tests) {
            test.gathered.suite = package.to_owned();
            let status = match test.status {
                Some(status) => status,
                None if is_benchmark(&test.gathered.name) => continue,
                None if !self.ended => continue,
                None => {
                    test.gathered.message =
                        Some("no result: the package died while it ran".to_owned());
                    Status::Failed
                }
            };
            if let Some(reason) = reason(test.gathered.details.head()) {
                test.gathered.add_message(&reason);
            }
            log.go.tally.test(status);
            log.sink.case(test.gathered.into_case(Some(status)));
        }
    }
}

/// Tells of a package that failed without a failing test.
pub(super) fn broken_package(package: &str, why: &str, complaint: &str, sink: &mut dyn Sink) {
    let why = why.trim_matches(['[', ']']);
    let reason = match complaint.lines().find(|line| !line.starts_with("# ")) {
        Some(line) => line,
        None if why.is_empty() || why.ends_with('s') => "the package failed without a failing test",
        None => why,
    };
    let mut case = brief(package, "(package)", Status::Errored, reason);
    case.details = Some(complaint.to_owned()).filter(|text| !text.is_empty());
    sink.case(case);
}

/// Benchmarks have no result line.
pub(super) fn is_benchmark(name: &str) -> bool {
    name.starts_with("Benchmark")
}

/// Why a test failed: what it logged, or the panic.
pub(super) fn reason(output: &str) -> Option<String> {
    let logged = |line: &&str| {
        line.split_once(".go:").is_some_and(|(file, rest)| {
            !file.trim_start().contains(' ') && rest.starts_with(|c: char| c.is_ascii_digit())
        })
    };
    let told = |line: &&str| {
        !line.starts_with("=== ") && !line.trim_start().starts_with("--- ") && !line.is_empty()
    };
    output
        .lines()
        .find(logged)
        .or_else(|| output.lines().find(|line| line.starts_with("panic: ")))
        .or_else(|| output.lines().find(told))
        .and_then(first_line)
}

/// Adds what the packages give.
pub(super) fn finish(log: &mut Log<'_>) {
    let run = std::mem::take(&mut log.go);
    let findings: &mut Findings = &mut log.findings;
    if run.packages == 0 && run.tally.0.tests == 0 {
        return;
    }
    if run.packages > 1 && run.failed_packages > 0 && !run.final_fail {
        findings.incomplete(
            "The log lacks the last line that go prints after packages that failed: it is cut off.",
        );
    }
    if run.silent == 0 {
        findings.add(run.tally.0);
        return;
    }
    let sentence = format!(
        "go test ran without -v, so that {} of {} say nothing about tests that passed; the tests cannot be counted, {} failed.",
        run.silent,
        counted(run.packages, "package"),
        run.tally.0.failed
    );
    match findings.has_totals() {
        true => findings.incomplete(sentence),
        false => findings.note(sentence),
    }
}
