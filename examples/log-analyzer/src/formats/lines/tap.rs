//! The Test Anything Protocol, versions 12 to 14, plain, from node's test runner, or through prove.

use std::collections::BTreeMap;

use super::{Begin, Log, Next, Row, Section, leading_number, number};
use crate::formats::findings::{Findings, Tally, brief, counted};
use crate::formats::xml::case::{Gathered, first_line};
use crate::model::{Sink, Status, Totals};

/// Columns by which a subtest is indented.
const INDENT: usize = 4;

/// A section begins with the version, or with a script that prove runs.
pub(super) fn begin(row: &Row<'_>) -> Option<Begin> {
    let script = || prove_script(row.shown).is_some_and(|(name, _)| name.ends_with(".t"));
    (version(row.shown) || script()).then_some((|_| Box::<Tap>::default()) as Begin)
}

/// Without a version a plan or a first test begins a section, where nothing else begins.
pub(super) fn begin_weakly(row: &Row<'_>) -> Option<Box<dyn Section>> {
    let first = Point::parse(row.shown).is_some_and(|point| point.number == Some(1));
    (first || plan(row.shown).is_some()).then(|| Box::<Tap>::default() as Box<dyn Section>)
}

fn version(line: &str) -> bool {
    line.strip_prefix("TAP version ")
        .and_then(leading_number)
        .is_some_and(|(version, rest)| version >= 12 && rest.trim().is_empty())
}

/// The number of tests that `1..N` announces, and whether it skips all of them.
fn plan(line: &str) -> Option<(u64, bool)> {
    let (count, rest) = leading_number(line.strip_prefix("1..")?)?;
    let rest = rest.trim_start();
    if rest.is_empty() {
        return Some((count, false));
    }
    let directive = rest.strip_prefix('#')?.trim_start();
    Some((count, directive.to_ascii_lowercase().starts_with("skip")))
}

/// The script in `t/cart.t ..... ok`, and what follows the dots.
fn prove_script(line: &str) -> Option<(&str, &str)> {
    let (name, rest) = line.split_once(" ..")?;
    let rest = rest.trim_start_matches('.');
    if name.is_empty() || name.contains(' ') || name.starts_with('#') {
        return None;
    }
    match rest.strip_prefix(' ') {
        Some(rest) => Some((name, rest)),
        None => rest.is_empty().then_some((name, "")),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Directive {
    None,
    Skip,
    Todo,
}

/// A test line.
struct Point {
    ok: bool,
    number: Option<u64>,
    dashed: bool,
    name: String,
    directive: Directive,
    reason: String,
    indent: usize,
    gathered: Gathered,
    /// Whether node's test runner says how long it took.
    timed: bool,
    suite: bool,
}

impl Point {
    fn parse(line: &str) -> Option<Self> {
        let text = line.trim_start_matches(' ');
        let indent = line.len() - text.len();
        let (ok, rest) = match text.strip_prefix("not ok") {
            Some(rest) => (false, rest),
            None => (true, text.strip_prefix("ok")?),
        };
        if !rest.is_empty() && !rest.starts_with(' ') {
            return None;
        }
        let rest = rest.trim_start();
        let (number, rest) = match leading_number(rest) {
            Some((number, after)) if after.is_empty() || after.starts_with(' ') => {
                (Some(number), after.trim_start())
            }
            _ => (None, rest),
        };
        let (dashed, rest) = match rest.strip_prefix("- ") {
            Some(rest) => (true, rest),
            None => (false, rest),
        };
        let (name, directive, reason) = directive(rest);
        Some(Self {
            ok,
            number,
            dashed,
            name: name.replace("\\#", "#"),
            directive,
            reason: reason.to_owned(),
            indent,
            gathered: Gathered::default(),
            timed: false,
            suite: false,
        })
    }

    fn status(&self) -> Status {
        match (self.directive, self.ok) {
            (Directive::Skip | Directive::Todo, _) => Status::Skipped,
            (Directive::None, true) => Status::Passed,
            (Directive::None, false) => Status::Failed,
        }
    }
}

/// Splits a description from its directive.
fn directive(text: &str) -> (&str, Directive, &str) {
    let mut from = 0;
    while let Some(at) = text[from..].find('#').map(|at| from + at) {
        from = at + 1;
        if text[..at].ends_with('\\') {
            continue;
        }
        let word = text[from..].trim_start();
        let lower = word.to_ascii_lowercase();
        let found = match lower.as_str() {
            lower if lower.starts_with("skip") => Directive::Skip,
            lower if lower.starts_with("todo") => Directive::Todo,
            _ => continue,
        };
        let reason = word.split_once(' ').map_or("", |(_, reason)| reason);
        return (text[..at].trim_end(), found, reason.trim());
    }
    (text.trim_end(), Directive::None, "")
}

/// One stream of test lines with one plan.
#[derive(Default)]
struct Document {
    script: String,
    plan: Option<u64>,
    plan_first: bool,
    tally: Tally,
    exit: Option<String>,
    /// Whether prove says that it ran no test.
    barren: bool,
}

impl Document {
    fn is_satisfied(&self) -> bool {
        self.plan.is_some_and(|plan| plan == self.tally.0.tests)
    }

    fn is_blank(&self) -> bool {
        self.plan.is_none() && self.tally.0.tests == 0
    }
}

/// A TAP stream, or several.
#[derive(Default)]
struct Tap {
    version: bool,
    prove: Option<Prove>,
    document: Document,
    tally: Tally,
    /// Tests at any depth that are no suites, as node's test runner counts them.
    leaves: Tally,
    timed: bool,
    pending: Option<Point>,
    yaml: Option<Yaml>,
    /// Titles of the subtests that are open, by depth.
    titles: Vec<String>,
    comment: String,
    /// Whether comments are titles, as tape prints them.
    titled: bool,
    counts: BTreeMap<String, u64>,
    bail_out: Option<String>,
    shortfalls: Vec<String>,
}

#[derive(Default)]
struct Prove {
    files: Option<(u64, u64)>,
    result: bool,
    reports: Vec<Report>,
}

/// What prove's summary report says of a script.
struct Report {
    script: String,
    failed: u64,
    broken: bool,
    reason: String,
}

#[derive(Default)]
struct Yaml {
    indent: usize,
    message_follows: bool,
}

impl Section for Tap {
    fn line(&mut self, row: &Row<'_>, log: &mut Log<'_>) -> Next {
        let line = row.shown;
        if self.yaml.is_some() {
            self.yaml_line(line);
            return Next::More;
        }
        if let Some(point) = Point::parse(line).filter(|point| !self.is_proves_own(point)) {
            self.settle(log);
            self.pending = Some(point);
            return Next::More;
        }
        let indent = line.len() - line.trim_start_matches(' ').len();
        let text = line.trim_start_matches(' ');
        if text == "---"
            && self
                .pending
                .as_ref()
                .is_some_and(|point| indent > point.indent)
        {
            self.yaml = Some(Yaml {
                indent,
                message_follows: false,
            });
        } else if let Some(title) = text.strip_prefix("# Subtest: ") {
            self.settle(log);
            self.titles.truncate(indent / INDENT);
            self.titles.push(title.to_owned());
        } else if indent > 0
            && self
                .prove
                .as_ref()
                .is_none_or(|prove| prove.reports.is_empty())
        {
            self.diagnostic(line);
        } else if let Some((count, _)) = plan(line) {
            self.settle(log);
            self.plan(count, log);
        } else if version(line) {
            self.settle(log);
            if !self.document.is_blank() {
                self.end_document(log);
            }
            self.version = true;
        } else if let Some(reason) = line.strip_prefix("Bail out!") {
            self.bail_out = Some(reason.trim().to_owned());
        } else {
            return self.other(line, log);
        }
        Next::More
    }

    fn may_end(&self, _: &Row<'_>) -> bool {
        self.prove.is_none() && self.yaml.is_none() && {
            let pending = u64::from(self.pending.as_ref().is_some_and(|point| point.indent == 0));
            self.document.plan == Some(self.document.tally.0.tests + pending)
        }
    }

    fn finish(mut self: Box<Self>, log: &mut Log<'_>) {
        self.settle(log);
        if !self.document.is_blank() || self.prove.is_some() {
            self.end_document(log);
        } else if self.tally.0.tests == 0 {
            self.shortfalls
                .push("has neither tests nor a plan: it is cut off".into());
        }
        self.conclude(log);
    }
}

impl Tap {
    /// Whether this is the bare `ok` by which prove says that a script has passed.
    fn is_proves_own(&self, point: &Point) -> bool {
        let pending = u64::from(self.pending.is_some());
        self.prove.is_some()
            && point.number.is_none()
            && point.name.is_empty()
            && self.document.plan == Some(self.document.tally.0.tests + pending)
    }

    fn plan(&mut self, count: u64, log: &mut Log<'_>) {
        if self.document.plan.is_some() {
            self.end_document(log);
        }
        self.document.plan_first = self.document.tally.0.tests == 0;
        self.document.plan = Some(count);
    }

    /// Counts the test line that was waiting for its diagnostics.
    fn settle(&mut self, log: &mut Log<'_>) {
        let Some(mut point) = self.pending.take() else {
            return;
        };
        let status = point.status();
        let depth = point.indent / INDENT;
        if point.indent == 0 {
            if point.number == Some(1)
                && self.document.is_satisfied()
                && self.document.tally.0.tests > 0
            {
                self.end_document(log);
            }
            self.document.tally.test(status);
            self.titled |= self.version
                && !point.dashed
                && self.document.plan.is_none()
                && !self.comment.is_empty();
        }
        self.timed |= point.timed;
        if point.timed && !point.suite {
            self.leaves.test(status);
        }
        let told = point.indent == 0 || point.timed;
        let name = std::mem::take(&mut point.name);
        if told && !point.suite {
            let mut test = point.gathered;
            if status != Status::Failed {
                // No more than how long it took.
                test.details = Default::default();
            }
            test.suite = self.suite_of(depth, point.dashed);
            test.name = match (name.is_empty(), point.number) {
                (true, Some(number)) => format!("test {number}"),
                _ => name,
            };
            test.add_message(&point.reason);
            log.sink.case(test.into_case(Some(status)));
        }
        self.titles.truncate(depth);
    }

    fn suite_of(&self, depth: usize, dashed: bool) -> String {
        if !self.document.script.is_empty() {
            return self.document.script.clone();
        }
        if depth > 0 {
            return self.titles[..self.titles.len().min(depth)].join(" > ");
        }
        // tape prints the title of a test as a comment before its assertions.
        match self.version && !dashed && self.document.plan.is_none() {
            true => self.comment.clone(),
            false => String::new(),
        }
    }

    fn yaml_line(&mut self, line: &str) {
        let (Some(yaml), Some(point)) = (&mut self.yaml, &mut self.pending) else {
            return;
        };
        let text = line.trim_start();
        let indent = line.len() - text.len();
        if text == "..." && indent <= yaml.indent {
            self.yaml = None;
            return;
        }
        point
            .gathered
            .details
            .push(line.get(yaml.indent..).unwrap_or(text));
        point.gathered.details.push("\n");
        if std::mem::take(&mut yaml.message_follows) {
            point.gathered.add_message(text);
        }
        if indent != yaml.indent {
            return;
        }
        let Some((key, value)) = text.split_once(':') else {
            return;
        };
        let value = value.trim().trim_matches(['\'', '"']);
        match key {
            "duration_ms" => {
                point.timed = true;
                point.gathered.seconds = value.parse::<f64>().ok().map(|time| time / 1000.0);
            }
            "type" => point.suite = value == "suite",
            "error" | "message" => match value.starts_with(['|', '>']) {
                true => yaml.message_follows = true,
                false => point.gathered.add_message(value),
            },
            _ => {}
        }
    }

    /// Takes a line that belongs to the last test line.
    fn diagnostic(&mut self, line: &str) {
        if let Some(point) = &mut self.pending
            && point.status() == Status::Failed
        {
            let text = line.trim_start().trim_start_matches('#');
            point
                .gathered
                .details
                .push(text.strip_prefix(' ').unwrap_or(text));
            point.gathered.details.push("\n");
        }
    }

    fn other(&mut self, line: &str, log: &mut Log<'_>) -> Next {
        if let Some(comment) = line.strip_prefix('#') {
            self.diagnostic(line);
            let comment = comment.trim();
            if !self.summary(comment) && !comment.is_empty() {
                self.comment = comment.to_owned();
            }
            return Next::More;
        }
        if let Some((script, rest)) = prove_script(line) {
            self.settle(log);
            if self.prove.is_some() || !self.document.is_blank() {
                self.end_document(log);
            }
            self.document.script = script.to_owned();
            self.prove.get_or_insert_default();
            self.script_end(rest);
            return Next::More;
        }
        if self.prove.is_some() {
            if self.prove_line(line) {
                return Next::Done;
            }
        } else {
            self.diagnostic(line);
        }
        Next::More
    }

    /// Takes `# pass 7` and the like.
    fn summary(&mut self, comment: &str) -> bool {
        let Some((word, count)) = comment.split_once(' ') else {
            return false;
        };
        let known = [
            "tests",
            "suites",
            "pass",
            "fail",
            "cancelled",
            "skipped",
            "todo",
            "skip",
        ];
        match number(count.trim()) {
            Some(count) if known.contains(&word) => {
                self.counts.insert(word.to_owned(), count);
                true
            }
            _ => false,
        }
    }

    /// Takes what prove says behind a script's name, or after its output.
    fn script_end(&mut self, text: &str) {
        if text.starts_with("skipped:") {
            self.document.plan = Some(0);
        } else if text.starts_with("Dubious, test returned") {
            self.document.exit = Some(text.to_owned());
        } else if text == "No subtests run" {
            self.document.barren = true;
        }
    }

    /// Takes a line of prove itself. Whether it is the last one.
    fn prove_line(&mut self, line: &str) -> bool {
        self.script_end(line);
        let Some(prove) = &mut self.prove else {
            return false;
        };
        if let Some(rest) = line.strip_prefix("Files=") {
            let numbers = leading_number(rest).and_then(|(files, rest)| {
                let (tests, _) = leading_number(rest.strip_prefix(", Tests=")?)?;
                Some((files, tests))
            });
            prove.files = numbers.or(prove.files);
        } else if let Some((script, report)) = line.split_once(" (Wstat: ") {
            let script = script.trim_end();
            let failed = report
                .split_once("Failed: ")
                .and_then(|(_, rest)| leading_number(rest))
                .map_or(0, |(failed, _)| failed);
            let broken = failed == 0 && !report.starts_with("0 ");
            prove.reports.push(Report {
                script: script.to_owned(),
                failed,
                broken,
                reason: String::new(),
            });
        } else if let Some(report) = prove.reports.last_mut()
            && line.starts_with("  ")
        {
            report.broken |= line.starts_with("  Parse errors:");
            if !report.reason.is_empty() {
                report.reason.push_str("; ");
            }
            let words: Vec<&str> = line.split_whitespace().collect();
            report.reason.push_str(&words.join(" "));
        } else if line.starts_with("Result: ") {
            prove.result = true;
            return true;
        }
        false
    }

    /// Ends a stream: its plan must have been kept.
    fn end_document(&mut self, log: &mut Log<'_>) {
        let document = std::mem::take(&mut self.document);
        let mut totals = document.tally;
        let run = totals.0.tests;
        let shortfall = match document.plan {
            None => Some(format!("has {} and no plan", counted(run, "test"))),
            Some(plan) if plan != run => {
                Some(format!("plans {} and has {run}", counted(plan, "test")))
            }
            Some(_) => None,
        };
        if self.prove.is_none() {
            self.shortfalls.extend(shortfall);
        } else if !document.script.is_empty() && !document.is_blank_run() {
            // A script that dies is an error of its own, whatever tests failed before.
            let why = match (&document.exit, shortfall) {
                (exit, Some(shortfall)) => Some(format!(
                    "{shortfall}{}",
                    exit.as_ref()
                        .map_or(String::new(), |exit| format!(": {exit}"))
                )),
                (Some(exit), None) if totals.0.failed == 0 => Some(exit.clone()),
                _ => None,
            };
            if let Some(why) = why {
                totals.part(Status::Errored);
                log.sink
                    .case(brief(&document.script, "(script)", Status::Errored, &why));
            }
        }
        let sum = &mut self.tally.0;
        sum.tests += totals.0.tests;
        sum.passed += totals.0.passed;
        sum.failed += totals.0.failed;
        sum.errored += totals.0.errored;
        sum.skipped += totals.0.skipped;
    }

    fn conclude(self, log: &mut Log<'_>) {
        let findings = &mut log.findings;
        findings.name(match (&self.prove, self.timed) {
            (Some(_), _) => "TAP (prove)",
            (None, true) => "TAP (node test runner)",
            (None, false) => "TAP",
        });
        if let Some(reason) = &self.bail_out {
            let reason = first_line(reason).unwrap_or_else(|| "no reason given".into());
            findings.incomplete(format!("The run was given up (Bail out: {reason})."));
        }
        let mut shortfalls = self.shortfalls.clone();
        let totals = match &self.prove {
            Some(prove) => {
                if self.tally.0.tests == 0 {
                    prove.tell(findings, log.sink);
                }
                shortfalls.extend(prove.shortfall(&self.tally.0));
                prove.totals(self.tally.0)
            }
            None => self.plain_totals(&mut shortfalls),
        };
        if !shortfalls.is_empty() {
            findings.incomplete(format!(
                "The TAP stream {}; the totals count the test lines that are there.",
                shortfalls.join(", ")
            ));
        }
        if totals.tests > 0 || shortfalls.is_empty() {
            findings.add(totals);
        }
    }

    /// The totals of a stream without prove: those of node's test runner where it gives its own.
    fn plain_totals(&self, shortfalls: &mut Vec<String>) -> Totals {
        let count = |word: &str| self.counts.get(word).copied();
        let from_node = || {
            Some(Totals {
                tests: count("tests")?,
                passed: count("pass")?,
                failed: count("fail")?.saturating_add(count("cancelled")?),
                errored: 0,
                skipped: count("skipped")?.saturating_add(count("todo")?),
            })
        };
        if self.timed || count("cancelled").is_some() {
            let Some(totals) = from_node() else {
                shortfalls.push("has no summary".into());
                return match self.leaves.0.tests {
                    0 => self.tally.0,
                    _ => self.leaves.0,
                };
            };
            let parts = totals.passed + totals.failed + totals.skipped;
            if parts != totals.tests {
                shortfalls.push(format!(
                    "sums up {} as {parts}",
                    counted(totals.tests, "test")
                ));
            }
            return totals;
        }
        // tape, mocha and QUnit sum up; what they count as passed has passed, even if skipped.
        let Some(passed) = count("pass") else {
            if self.titled {
                shortfalls.push("has no summary".into());
            }
            return self.tally.0;
        };
        let listed = self.tally.0;
        let failed = count("fail").unwrap_or(0);
        let stated = count("tests").unwrap_or(listed.tests);
        let leaves_out_skipped = stated.saturating_add(listed.skipped);
        let told = passed.saturating_add(failed);
        let left_out = count("skip").unwrap_or(0) + count("todo").unwrap_or(0);
        if count("tests").is_some() && !(told..=told + left_out).contains(&stated)
            || !(stated..=leaves_out_skipped).contains(&listed.tests)
            || told > listed.tests
            || failed > listed.failed.saturating_add(listed.skipped)
        {
            shortfalls.push(format!(
                "sums up {} with {failed} failed and has {} with {} failed",
                counted(stated, "test"),
                listed.tests,
                listed.failed
            ));
            return listed;
        }
        Totals {
            tests: listed.tests,
            passed,
            failed,
            errored: 0,
            skipped: listed.tests - passed - failed,
        }
    }
}

impl Document {
    /// Whether prove ran it without showing its output.
    fn is_blank_run(&self) -> bool {
        self.is_blank() && !self.barren
    }
}

impl Prove {
    /// Tells of the scripts, where prove did not show their tests.
    fn tell(&self, findings: &mut Findings, sink: &mut dyn Sink) {
        findings.note(
            "prove ran without -v: it does not list the tests, and skipped ones count as passed.",
        );
        for report in &self.reports {
            if report.failed > 0 {
                let reason = format!("{} failed: {}", report.failed, report.reason);
                sink.case(brief(&report.script, "(script)", Status::Failed, &reason));
            }
            if report.broken {
                sink.case(brief(
                    &report.script,
                    "(script)",
                    Status::Errored,
                    &report.reason,
                ));
            }
        }
    }

    fn shortfall(&self, listed: &Totals) -> Option<String> {
        match self.files {
            _ if !self.result => Some("lacks prove's last line".into()),
            None => Some("lacks prove's count of files and tests".into()),
            Some((_, tests)) if listed.tests > 0 && listed.tests != tests => Some(format!(
                "sums up {} and has {}",
                counted(tests, "test"),
                listed.tests
            )),
            Some(_) => None,
        }
    }

    /// The totals, from prove's summary where it did not show the tests.
    fn totals(&self, listed: Totals) -> Totals {
        let Some((_, tests)) = self.files.filter(|_| listed.tests == 0) else {
            return listed;
        };
        let failed = self.reports.iter().map(|report| report.failed).sum();
        let broken = self.reports.iter().filter(|report| report.broken).count() as u64;
        Totals {
            tests,
            passed: tests.saturating_sub(failed),
            failed,
            errored: broken.max(listed.errored),
            skipped: 0,
        }
    }
}
