//! Every sample log and every sample report in JSON gives the totals that its producer's console
//! gave.

use std::path::Path;

use log_analyzer::model::{Case, Completeness, Dialect, Outcome, Status, Totals};
use log_analyzer::read::open;
use serde_json::Value;

fn sample(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/samples")
        .join(name);
    std::fs::read(path).expect("the sample is there")
}

fn entries() -> Vec<Value> {
    serde_json::from_slice(&sample("samples.json")).expect("samples.json is JSON")
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

#[test]
fn samples_give_their_totals() {
    let mut wrong = Vec::new();
    let mut seen = 0;
    for entry in entries() {
        let Some(name) = entry["file"]
            .as_str()
            .filter(|name| !(name.ends_with(".xml") || name.ends_with(".trx")))
        else {
            continue;
        };
        seen += 1;
        let (outcome, cases) = read(&sample(name));
        let damaged = entry.get("malformed").is_some();
        let right = match damaged {
            // What could be read, and that it is not all.
            true => {
                outcome.completeness == Completeness::Incomplete && !outcome.problems.is_empty()
            }
            false => {
                outcome.totals == totals(&entry)
                    && outcome.completeness == Completeness::Complete
                    && outcome.dialect != Dialect::Unknown
            }
        };
        if !right {
            wrong.push(format!(
                "{name}: {outcome:#?} with {} cases\nwanted {:?}",
                cases.len(),
                totals(&entry)
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(seen, 19);
}

/// The cases bear out the totals: each failure is listed, with a reason.
#[test]
fn samples_list_their_failures() {
    for entry in entries() {
        let Some(name) = entry["file"]
            .as_str()
            .filter(|name| !(name.ends_with(".xml") || name.ends_with(".trx")))
        else {
            continue;
        };
        let Some(totals) = totals(&entry) else {
            continue;
        };
        let (_, cases) = read(&sample(name));
        for (status, wanted) in [
            (Status::Failed, totals.failed),
            (Status::Errored, totals.errored),
        ] {
            let found: Vec<&Case> = cases
                .iter()
                .filter(|case| case.status == Some(status))
                .collect();
            assert_eq!(found.len() as u64, wanted, "{name}: {status:?} {found:#?}");
            for case in found {
                assert!(!case.name.is_empty(), "{name}: {case:?}");
                let reason = case.message.as_deref().unwrap_or_default();
                let why = case.details.as_deref().unwrap_or(reason);
                let subtests = ["go", "prove"];
                assert!(
                    !why.trim().is_empty() || subtests.iter().any(|kind| name.starts_with(kind)),
                    "{name}: {case:?}"
                );
            }
        }
        for case in cases {
            let control = |c: char| c.is_control() && c != '\n' && c != '\t';
            let shown = [
                Some(case.name),
                Some(case.suite),
                case.message,
                case.details,
            ];
            for text in shown.into_iter().flatten() {
                assert!(!text.contains(control), "{name}: {text:?}");
            }
        }
    }
}
