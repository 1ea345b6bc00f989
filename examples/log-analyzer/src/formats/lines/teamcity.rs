//! TeamCity service messages, alone or within the output of another tool.

use std::collections::BTreeMap;

use super::{Begin, Log, Next, Row, Section, number};
use crate::formats::findings::{Tally, Waiting, counted};
use crate::formats::xml::case::Gathered;
use crate::model::{Case, Status};

const START: &str = "##teamcity[";

/// A section begins with a message about tests.
pub(super) fn begin(row: &Row<'_>) -> Option<Begin> {
    row.shown
        .contains("##teamcity[test")
        .then_some((|_| Box::<Stream>::default()) as Begin)
}

/// The messages about tests.
#[derive(Default)]
pub(super) struct Messages {
    open: BTreeMap<String, Test>,
    done: Waiting,
    suites: Vec<String>,
    problems: Vec<String>,
    announced: u64,
    any: bool,
}

#[derive(Default)]
struct Test {
    gathered: Gathered,
    status: Option<Status>,
}

impl Messages {
    /// Whether there was a message.
    pub(super) fn any(&self) -> bool {
        self.any
    }

    /// The tests that ended since the last call.
    pub(super) fn finished(&mut self) -> Vec<Case> {
        self.done.take()
    }

    /// Takes all messages of a line.
    pub(super) fn take(&mut self, line: &str) {
        let mut rest = line;
        while let Some((_, message)) = rest.split_once(START) {
            let end = message_end(message);
            self.message(&message[..end]);
            rest = &message[end..];
        }
    }

    fn message(&mut self, message: &str) {
        let (kind, attributes) = message.split_once(' ').unwrap_or((message, ""));
        if !(kind.starts_with("test") || kind == "buildProblem") {
            return;
        }
        self.any = true;
        let attributes = attributes_of(attributes);
        let get = |name: &str| attributes.get(name).map_or("", String::as_str);
        let name = get("name").to_owned();
        // Names are unique within a flow only.
        let key = format!("{}\0{name}", get("flowId"));
        match kind {
            "testSuiteStarted" => self.suites.push(name),
            "testSuiteFinished" => {
                if let Some(at) = self.suites.iter().rposition(|suite| *suite == name) {
                    self.suites.remove(at);
                }
            }
            "testCount" => {
                self.announced = self
                    .announced
                    .saturating_add(number(get("count")).unwrap_or(0));
            }
            "testStarted" => {
                let suite = self.suites.last().cloned().unwrap_or_default();
                let test = self.open.entry(key).or_default();
                test.gathered.suite = suite;
                test.gathered.name = name;
            }
            "testFailed" => {
                let test = self.test(key, &name);
                test.status = Some(Status::Failed);
                test.gathered.add_message(get("message"));
                test.gathered.details.separate();
                test.gathered.details.push(get("details"));
            }
            "testIgnored" => {
                let started = self.open.contains_key(&key);
                let test = self.test(key.clone(), &name);
                test.status = test.status.or(Some(Status::Skipped));
                test.gathered.add_message(get("message"));
                if !started {
                    self.end(&key, None);
                }
            }
            "testFinished" => {
                let time = get("duration").parse::<f64>().ok();
                self.test(key.clone(), &name);
                self.end(&key, time.map(|milliseconds| milliseconds / 1000.0));
            }
            "buildProblem" => self.problems.push(get("description").to_owned()),
            _ => {}
        }
    }

    fn test(&mut self, key: String, name: &str) -> &mut Test {
        let suite = self.suites.last().cloned().unwrap_or_default();
        let test = self.open.entry(key).or_default();
        if test.gathered.name.is_empty() {
            test.gathered.suite = suite;
            test.gathered.name = name.to_owned();
        }
        test
    }

    fn end(&mut self, key: &str, seconds: Option<f64>) {
        if let Some(mut test) = self.open.remove(key) {
            test.gathered.seconds = seconds;
            self.done.push(
                test.gathered
                    .into_case(test.status.or(Some(Status::Passed))),
            );
        }
    }
}

/// Where a message ends: at the first bracket that is not escaped, or at the end of the line.
fn message_end(message: &str) -> usize {
    let mut escaped = false;
    for (at, character) in message.char_indices() {
        match character {
            ']' if !escaped => return at,
            '|' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    message.len()
}

/// `name='value'` pairs, with their escapes resolved.
fn attributes_of(text: &str) -> BTreeMap<String, String> {
    let mut attributes = BTreeMap::new();
    let mut rest = text.trim_start();
    if let Some(single) = rest.strip_prefix('\'') {
        attributes.insert("name".into(), value_of(single).0);
        return attributes;
    }
    while let Some((name, after)) = rest.split_once("='") {
        let (value, after) = value_of(after);
        attributes.insert(name.trim().to_owned(), value);
        rest = after;
    }
    attributes
}

/// A value up to its closing quotation mark, and what follows that.
fn value_of(text: &str) -> (String, &str) {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '\'' => return (value, &text[at + 1..]),
            '|' => match characters.next() {
                Some((_, 'n')) => value.push('\n'),
                Some((_, 'r')) => value.push('\r'),
                Some((_, 'x')) => value.push('\u{85}'),
                Some((_, 'l')) => value.push('\u{2028}'),
                Some((_, 'p')) => value.push('\u{2029}'),
                Some((at, '0')) if text[at..].starts_with("0x") => {
                    let digits = text.get(at + 2..at + 6).unwrap_or_default();
                    let point = u32::from_str_radix(digits, 16).ok();
                    value.push(
                        point
                            .and_then(char::from_u32)
                            .unwrap_or(char::REPLACEMENT_CHARACTER),
                    );
                    let skipped = 2 + digits.len();
                    return {
                        let (more, rest) = value_of(text.get(at + skipped..).unwrap_or_default());
                        value.push_str(&more);
                        (value, rest)
                    };
                }
                Some((_, escaped)) => value.push(escaped),
                None => break,
            },
            _ => value.push(character),
        }
    }
    (value, "")
}

/// A log that has messages and no totals of its own.
#[derive(Default)]
struct Stream {
    messages: Messages,
    tally: Tally,
}

impl Section for Stream {
    fn line(&mut self, row: &Row<'_>, log: &mut Log<'_>) -> Next {
        self.messages.take(row.shown);
        self.hand_over(log);
        Next::More
    }

    fn may_end(&self, _: &Row<'_>) -> bool {
        self.messages.open.is_empty() && self.messages.suites.is_empty()
    }

    fn finish(mut self: Box<Self>, log: &mut Log<'_>) {
        log.findings.name("TeamCity service messages");
        let open = self.messages.open.len() as u64;
        let mut missing = Vec::new();
        if open > 0 {
            missing.push(format!("{} did not finish", counted(open, "test")));
        }
        if !self.messages.suites.is_empty() {
            let suites = self.messages.suites.len() as u64;
            missing.push(format!("{} did not finish", counted(suites, "suite")));
        }
        if self.tally.0.tests < self.messages.announced {
            missing.push(format!(
                "{} announced, {} finished",
                counted(self.messages.announced, "test"),
                self.tally.0.tests
            ));
        }
        for problem in std::mem::take(&mut self.messages.problems) {
            self.tally.part(Status::Errored);
            log.sink.case(crate::formats::findings::brief(
                "",
                "(build problem)",
                Status::Errored,
                &problem,
            ));
        }
        if !missing.is_empty() {
            log.findings.incomplete(format!(
                "The service messages end early: {}.",
                missing.join(", ")
            ));
        }
        log.findings.add(self.tally.0);
    }
}

impl Stream {
    fn hand_over(&mut self, log: &mut Log<'_>) {
        for case in self.messages.finished() {
            self.tally.test(case.status.unwrap_or(Status::Passed));
            log.sink.case(case);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes() {
        let attributes = attributes_of("name='a|'b|[c|]|n|0x00e9!' details='||'");
        assert_eq!(attributes["name"], "a'b[c]\né!");
        assert_eq!(attributes["details"], "|");
    }

    #[test]
    fn messages_become_tests() {
        let mut messages = Messages::default();
        messages.take("noise##teamcity[testStarted name='a']##teamcity[testFailed name='a' message='m|]' details='d']");
        messages.take("##teamcity[testFinished name='a' duration='1500']");
        messages.take("##teamcity[testIgnored name='b' message='why']");
        let cases = messages.finished();
        assert_eq!(cases.len(), 2);
        assert_eq!(
            (
                cases[0].status,
                cases[0].seconds,
                cases[0].message.as_deref()
            ),
            (Some(Status::Failed), Some(1.5), Some("m]"))
        );
        assert_eq!(cases[1].status, Some(Status::Skipped));
    }
}
