//! Every sample report in XML gives the totals that its producer's console gave.

use std::path::{Path, PathBuf};

use log_analyzer::model::{Case, Completeness, Dialect, Outcome, Status, Totals};
use log_analyzer::read::open;
use serde_json::Value;

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples")
}

fn entries() -> Vec<Value> {
    let text = std::fs::read_to_string(directory().join("samples.json")).expect("samples.json");
    serde_json::from_str(&text).expect("samples.json is JSON")
}

fn sample(name: &str) -> Vec<u8> {
    std::fs::read(directory().join(name)).expect("the sample is there")
}

fn read(bytes: &[u8]) -> (Outcome, Vec<Case>) {
    let mut cases = Vec::new();
    let outcome = open(bytes, &mut cases);
    (outcome, cases)
}

fn totals(entry: &Value) -> Option<Totals> {
    let count = |name: &str| entry["totals"][name].as_u64();
    Some(Totals {
        tests: count("tests")?,
        passed: count("passed")?,
        failed: count("failed")?,
        errored: count("errored")?,
        skipped: count("skipped")?,
    })
}

/// Reports that do not hold what the console counted. What is missing is said.
const NOT_IN_THE_REPORT: [&str; 2] = ["catch2-junit.xml", "doctest-two-runs.xml"];

#[test]
fn samples_give_their_totals() {
    let mut wrong = Vec::new();
    let mut seen = 0;
    for entry in entries() {
        let Some(name) = entry["file"].as_str().filter(|name| name.ends_with(".xml") || name.ends_with(".trx")) else {
            continue;
        };
        seen += 1;
        let (outcome, _) = read(&sample(name));
        let told = outcome.totals == totals(&entry)
            || NOT_IN_THE_REPORT.contains(&name) && outcome.completeness == Completeness::Incomplete;
        let said = entry.get("malformed").is_none() || !outcome.problems.is_empty();
        if !told || !said {
            wrong.push(format!("{name}: {outcome:#?}\nwanted {:?}", totals(&entry)));
        }
        if std::env::var_os("SHOW").is_some() {
            println!("{name}: {outcome:?}");
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(seen, 43);
}
