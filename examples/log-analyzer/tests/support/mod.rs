//! The samples: real reports and logs, with the totals that their producers' consoles gave.

use std::path::{Path, PathBuf};

use log_analyzer::model::{Case, Outcome, Totals};
use log_analyzer::read::open;
use serde_json::Value;

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples")
}

pub fn entries() -> Vec<Value> {
    let text = std::fs::read_to_string(directory().join("samples.json")).expect("samples.json");
    serde_json::from_str(&text).expect("samples.json is JSON")
}

pub fn sample(name: &str) -> Vec<u8> {
    std::fs::read(directory().join(name)).expect("the sample is there")
}

pub fn read(bytes: &[u8]) -> (Outcome, Vec<Case>) {
    let mut cases = Vec::new();
    let outcome = open(bytes, &mut cases);
    (outcome, cases)
}

pub fn totals(entry: &Value) -> Option<Totals> {
    let count = |name: &str| entry["totals"][name].as_u64();
    Some(Totals {
        tests: count("tests")?,
        passed: count("passed")?,
        failed: count("failed")?,
        errored: count("errored")?,
        skipped: count("skipped")?,
    })
}
