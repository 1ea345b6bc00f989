//! Damaged reports: nothing panics, and nothing that is missing goes unsaid.

use std::path::Path;

use log_analyzer::model::{Case, Completeness, Outcome, Sink};
use log_analyzer::read::open;
use proptest::prelude::*;

struct Nowhere;

impl Sink for Nowhere {
    fn case(&mut self, _: Case) {}
}

fn read(bytes: &[u8]) -> Outcome {
    open(bytes, &mut Nowhere)
}

/// Samples that are one whole document, small enough to read often.
const WHOLE: [&str; 22] = [
    "pytest-markupsafe.xml",
    "pytest-orders.xml",
    "regrtest-stdlib.xml",
    "xmlrunner-small.xml",
    "robot-xunit.xml",
    "ruff-check.xml",
    "lit.xml",
    "nextest-semver.xml",
    "gotestsum-reruns.xml",
    "gotestsum-wrong-directory-utf16.xml",
    "jest-cart.xml",
    "jest-cart.trx",
    "vitest-redux.xml",
    "mocha-cart.xml",
    "gtest.xml",
    "ctest-junit.xml",
    "phpunit.xml",
    "prove-tap-harness-junit.xml",
    "eunit-surefire.xml",
    "surefire-utf16.xml",
    "testng-results.xml",
    "nunit2.xml",
];

fn sample(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/samples")
        .join(name);
    std::fs::read(path).expect("the sample is there")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
        read(&bytes);
    }

    #[test]
    fn any_markup_is_read(pieces in proptest::collection::vec(
        proptest::sample::select(vec![
            "<?xml version='1.0'?>", "<testsuites>", "</testsuites>", "<testsuite tests='18446744073709551615' failures='1' errors='2' skipped='3' name='n'>",
            "<testsuite name=\"", "</testsuite>", "<testcase name='a' classname='b'>", "</testcase>", "<testcase/>", "<failure message='&#27;[1m'>",
            "</failure>", "<error/>", "<skipped", "<![CDATA[", "]]>", "<!--", "-->", "&#0;", "&", "<", ">", "'", "\"", "é", "\u{1b}]", "<TestRun>",
            "<TestRun id='1'>", "<UnitTestResult outcome='Passed'>", "</UnitTestResult>", "<Counters total='9'/>", "<test-run>", "<test-case result='Passed'/>",
            "<testng-results total='1' passed='18446744073709551615'>", "<test-method status='FAIL'>", "<assemblies>", "<assembly total='18446744073709551615'>",
            "<test result='Pass'>", "<robot>", "<suite name='s'>", "<test name='t'>", "<status status='PASS'/>", "<statistics>", "<!-- tests 18446744073709551615 -->",
            "<property name='go.version'/>", "<system-out>test result: ok. 18446744073709551615 passed; 2 filtered out\n</system-out>", "<!DOCTYPE x [", "]>",
        ]),
        0..60,
    )) {
        read(pieces.concat().as_bytes());
    }

    #[test]
    fn changed_samples_are_read(
        name in proptest::sample::select(WHOLE.to_vec()),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..30),
    ) {
        let mut bytes = sample(name);
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        read(&bytes);
    }

    #[test]
    fn a_truncated_sample_is_never_complete_with_other_totals(
        name in proptest::sample::select(WHOLE.to_vec()),
        end in any::<prop::sample::Index>(),
    ) {
        let bytes = sample(name);
        let whole = read(&bytes);
        let part = read(&bytes[..end.index(bytes.len())]);
        prop_assert!(
            part.completeness == Completeness::Incomplete && !part.problems.is_empty() || part.totals == whole.totals,
            "{name}: {part:?}"
        );
    }

    #[test]
    fn a_lost_piece_is_said_or_harmless(
        name in proptest::sample::select(vec!["pytest-markupsafe.xml", "vitest-redux.xml", "ruff-check.xml", "lit.xml"]),
        start in any::<prop::sample::Index>(),
        length in 1usize..2000,
    ) {
        let bytes = sample(name);
        let whole = read(&bytes);
        let start = start.index(bytes.len());
        let kept = [&bytes[..start], &bytes[bytes.len().min(start + length)..]].concat();
        let part = read(&kept);
        prop_assert!(!part.problems.is_empty() || part.totals == whole.totals, "{name}: {part:?}");
    }
}

#[test]
fn a_failing_read_is_said() {
    struct Failing(bool);
    impl std::io::Read for Failing {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            if std::mem::replace(&mut self.0, true) {
                return Err(std::io::Error::other("disk on fire"));
            }
            let start = b"<testsuite name='a' tests='1'><testcase name='x'/>";
            buffer[..start.len()].copy_from_slice(start);
            Ok(start.len())
        }
    }
    let outcome = open(std::io::BufReader::new(Failing(false)), &mut Nowhere);
    assert_eq!(outcome.completeness, Completeness::Incomplete);
    assert!(
        outcome
            .problems
            .iter()
            .any(|problem| problem.0.contains("disk on fire"))
    );
    assert_eq!(outcome.totals.map(|totals| totals.tests), Some(1));
}
