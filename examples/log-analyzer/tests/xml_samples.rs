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
        let Some(name) = entry["file"]
            .as_str()
            .filter(|name| name.ends_with(".xml") || name.ends_with(".trx"))
        else {
            continue;
        };
        seen += 1;
        let (outcome, _) = read(&sample(name));
        let told = outcome.totals == totals(&entry)
            || NOT_IN_THE_REPORT.contains(&name)
                && outcome.completeness == Completeness::Incomplete;
        let said = entry.get("malformed").is_none() || !outcome.problems.is_empty();
        if !told || !said {
            wrong.push(format!("{name}: {outcome:#?}\nwanted {:?}", totals(&entry)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(seen, 46);
}

/// The statuses that the cases have add up to the totals where nothing comes on top.
#[test]
fn cases_have_the_statuses_that_the_totals_count() {
    for name in [
        "pytest-attrs-py313.xml",
        "gtest.xml",
        "phpunit.xml",
        "ctest-junit.xml",
        "eunit-surefire.xml",
        "mocha-cart-xunit-stdout.xml",
        "ant-testsuites.xml",
        "jest-cart.trx",
        "nunit2.xml",
        "testng-results.xml",
        "cppunit.xml",
    ] {
        let (outcome, cases) = read(&sample(name));
        let totals = outcome.totals.expect("totals");
        let count = |status| {
            cases
                .iter()
                .filter(|case| case.status == Some(status))
                .count() as u64
        };
        assert_eq!(count(Status::Failed), totals.failed, "{name}");
        assert_eq!(count(Status::Errored), totals.errored, "{name}");
        assert_eq!(count(Status::Passed), totals.passed, "{name}");
    }
}

#[test]
fn failures_have_a_message_and_details() {
    let (_, cases) = read(&sample("pytest-orders.xml"));
    let case = cases
        .iter()
        .find(|case| case.status == Some(Status::Failed))
        .expect("a failure");
    assert_eq!(case.suite, "tests.test_orders");
    assert!(
        case.message
            .as_deref()
            .is_some_and(|message| message.contains("unexpected value"))
    );
    assert!(
        case.details
            .as_deref()
            .is_some_and(|details| details.contains("test_orders.py"))
    );

    let (_, cases) = read(&sample("ctest-junit.xml"));
    let case = cases
        .iter()
        .find(|case| case.name == "doctest_all")
        .expect("the case");
    assert!(
        case.details
            .as_deref()
            .is_some_and(|details| details.contains("[doctest]"))
    );

    for entry in entries() {
        let Some(name) = entry["file"].as_str() else {
            continue;
        };
        if !(name.ends_with(".xml") || name.ends_with(".trx")) {
            continue;
        }
        for case in read(&sample(name)).1 {
            let shown = [
                Some(case.name),
                Some(case.suite),
                case.message,
                case.details,
            ];
            for text in shown.into_iter().flatten() {
                let control = |c: char| c.is_control() && c != '\n' && c != '\t';
                assert!(!text.contains(control), "{name}: {text:?}");
            }
        }
    }
}

#[test]
fn unknown_markup_is_not_guessed() {
    let page: &[u8] = b"<?xml version='1.0'?><html><body><testsuite tests='1'/></body></html>";
    let (outcome, cases) = read(page);
    assert_eq!(
        (outcome.dialect, outcome.totals, cases),
        (Dialect::Unknown, None, vec![])
    );
    assert!(outcome.problems[0].0.contains("<html>"));
}

#[test]
fn stated_counts_that_the_cases_do_not_bear_out_are_said() {
    let report: &[u8] = b"<testsuites><testsuite name='a' tests='3' failures='0'>\
        <testcase name='x'/><testcase name='y'><failure/></testcase></testsuite></testsuites>";
    let (outcome, _) = read(report);
    assert_eq!(
        outcome.dialect,
        Dialect::Known("JUnit XML (unknown producer)".into())
    );
    assert_eq!(outcome.completeness, Completeness::Incomplete);
    assert!(
        outcome.problems[0].0.contains("3 tests (found 2)"),
        "{:?}",
        outcome.problems
    );
    assert!(
        outcome.problems[0]
            .0
            .contains("0 failures and errors (found 1)")
    );
}
