//! What CTest prints.

use std::collections::BTreeMap;

use super::{Begin, Log, Next, Row, Section, leading_number};
use crate::formats::findings::{Tally, counted};
use crate::model::{Case, Status};

/// One run.
#[derive(Default)]
struct Run {
    tally: Tally,
    started: BTreeMap<u64, String>,
    wanted: Option<u64>,
    ended: bool,
}

/// A section begins with the name of the build tree, or with a result.
pub(super) fn begin(row: &Row<'_>) -> Option<Begin> {
    let begins = row.shown.starts_with("Test project /") || result(row.shown).is_some();
    begins.then_some((|_| Box::<Run>::default()) as Begin)
}

struct Found<'a> {
    number: u64,
    of: u64,
    name: &'a str,
    status: Status,
    seconds: Option<f64>,
    word: &'a str,
}

/// ` 1/14 Test  #1: name .......   Passed    0.01 sec`.
fn result(line: &str) -> Option<Found<'_>> {
    let (_, rest) = leading_number(line.trim_start())?;
    let (of, rest) = leading_number(rest.strip_prefix('/')?)?;
    let rest = rest.trim_start().strip_prefix("Test")?.trim_start();
    let (number, rest) = leading_number(rest.strip_prefix('#')?)?;
    let rest = rest.strip_prefix(": ")?;
    let (name, result) = match rest.split_once(" ..") {
        Some((name, result)) => (name, result.trim_start_matches('.')),
        None => rest.split_once("***")?,
    };
    let result = result.trim().trim_start_matches('*');
    let (word, time) = match result.strip_suffix(" sec") {
        Some(result) => {
            let (word, time) = result.rsplit_once(' ')?;
            (word.trim(), time.parse().ok())
        }
        None => (result, None),
    };
    let status = match word {
        "Passed" => Status::Passed,
        "Skipped" | "Not Run (Disabled)" => Status::Skipped,
        "" => return None,
        _ => Status::Failed,
    };
    Some(Found {
        number,
        of,
        name: name.trim(),
        status,
        seconds: time,
        word,
    })
}

impl Section for Run {
    fn line(&mut self, row: &Row<'_>, log: &mut Log<'_>) -> Next {
        let line = row.shown;
        if let Some(found) = result(line) {
            self.wanted = Some(found.of);
            self.started.remove(&found.number);
            self.tally.test(found.status);
            log.sink.case(Case {
                suite: String::new(),
                name: found.name.to_owned(),
                status: Some(found.status),
                seconds: found.seconds,
                message: (found.status != Status::Passed).then(|| found.word.to_lowercase()),
                details: None,
            });
        } else if let Some(rest) = line.trim_start().strip_prefix("Start ") {
            if let Some((number, name)) = leading_number(rest.trim_start()) {
                let name = name.trim_start_matches([':', ' ']);
                self.started.insert(number, name.to_owned());
            }
        } else if line.starts_with("Total Test time (real) =") || line == "No tests were found!!!" {
            self.ended = true;
            return Next::Done;
        }
        Next::More
    }

    fn finish(self: Box<Self>, log: &mut Log<'_>) {
        log.findings.name("CTest log");
        let wanted = self.wanted.unwrap_or(0);
        if !self.ended || wanted > self.tally.0.tests {
            log.findings.incomplete(format!(
                "The CTest run ends early: {} of {} have a result.",
                self.tally.0.tests,
                counted(wanted, "test")
            ));
        }
        log.findings.add(self.tally.0);
    }
}
