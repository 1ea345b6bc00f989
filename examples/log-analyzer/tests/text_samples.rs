//! Every sample log and every sample report in JSON gives the totals that its producer's console
//! gave.

mod support;

use std::path::Path;

use log_analyzer::model::{Case, Completeness, Dialect, Status, Totals};
use proptest::prelude::*;
use support::{entries, read, sample, totals};

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

/// Logs of further tools and ways to run them, and what they tell.
const OTHER_LOGS: [(&str, &str); 18] = [
    (
        "node-failing.tap",
        "TAP (node test runner): 9 = 2 + 4 + 0 + 3 Complete",
    ),
    ("unittest.log", "unittest log: 7 = 2 + 2 + 2 + 2 Complete"),
    (
        "unittest-verbose.log",
        "unittest log: 7 = 2 + 2 + 2 + 2 Complete",
    ),
    ("prove-quiet.log", "TAP (prove): 5 = 4 + 1 + 0 + 0 Complete"),
    ("prove-v.log", "TAP (prove): 5 = 4 + 1 + 0 + 0 Complete"),
    (
        "cargo-test-nocapture.log",
        "cargo test log: 4 = 2 + 1 + 0 + 1 Complete",
    ),
    (
        "cargo-test-one-thread-nocapture.log",
        "cargo test log: 4 = 2 + 1 + 0 + 1 Complete",
    ),
    ("nextest.log", "nextest log: 7 = 3 + 3 + 0 + 1 Complete"),
    (
        "go-test-build-failed.jsonl",
        "go test -json: 2 = 0 + 2 + 1 + 0 Complete",
    ),
    ("go-test-quiet.log", "go test log: none Complete"),
    (
        "github-actions.log",
        "cargo test log + pytest log: 4 = 2 + 2 + 0 + 0 Complete",
    ),
    ("pytest-xdist.log", "pytest log: 4 = 2 + 1 + 0 + 1 Complete"),
    (
        "pytest-xdist-cut.log",
        "pytest log: 1 = 1 + 0 + 0 + 0 Incomplete",
    ),
    ("pytest-quiet.log", "pytest log: 5 = 3 + 1 + 0 + 1 Complete"),
    ("bats.tap", "TAP: 4 = 1 + 1 + 0 + 2 Complete"),
    ("mocha.tap", "TAP: 4 = 2 + 1 + 0 + 1 Complete"),
    ("plain.log", "unknown: none Incomplete"),
    (
        "teamcity.log",
        "TeamCity service messages: 3 = 1 + 1 + 0 + 1 Complete",
    ),
];

#[test]
fn other_logs_tell_their_totals() {
    for (name, wanted) in OTHER_LOGS {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/logs")
            .join(name);
        let (outcome, _) = read(&std::fs::read(path).expect("the log is there"));
        let totals = outcome.totals.map(|totals| {
            let Totals {
                tests,
                passed,
                failed,
                errored,
                skipped,
            } = totals;
            format!("{tests} = {passed} + {failed} + {errored} + {skipped}")
        });
        let dialect = match outcome.dialect {
            Dialect::Known(dialect) => dialect,
            Dialect::Unknown => "unknown".into(),
        };
        let totals = totals.unwrap_or_else(|| "none".into());
        assert_eq!(
            format!("{dialect}: {totals} {:?}", outcome.completeness),
            wanted,
            "{name}: {:?}",
            outcome.problems
        );
    }
}

/// Samples that tell at their end that they are whole. `go test -v` has no such end: its log may
/// stop behind any package.
const WHOLE: [&str; 12] = [
    "pytest-orders-terminal.log",
    "pytest-json-report.json",
    "pytest-teamcity.log",
    "libtest.jsonl",
    "go-test-std.jsonl",
    "cargo-test-orders.log",
    "jest-cart.json",
    "vitest-cart.json",
    "node-test-p-queue.tap",
    "tape-qs.tap",
    "rspec.json",
    "prove-verbose.log",
];

/// Whether a log that ends like this may be whole: between two test binaries cargo's log may end as
/// well as go on.
fn may_end_like(name: &str, part: &[u8]) -> bool {
    let text = String::from_utf8_lossy(part);
    let last = text.trim_end().lines().last().unwrap_or_default();
    let ends: &[&str] = match name {
        "cargo-test-orders.log" => &["test result: ", "\u{1b}[1m\u{1b}[91merror", "    `"],
        _ => &[],
    };
    ends.iter().any(|end| last.starts_with(end))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_truncated_sample_is_never_complete_with_other_totals(
        name in proptest::sample::select(WHOLE.to_vec()),
        end in any::<prop::sample::Index>(),
    ) {
        let bytes = sample(name);
        let (whole, _) = read(&bytes);
        let part = &bytes[..end.index(bytes.len())];
        prop_assume!(!may_end_like(name, part));
        let (part, _) = read(part);
        prop_assert!(
            part.completeness == Completeness::Incomplete && !part.problems.is_empty()
                || part.totals == whole.totals
                || part.totals.is_none(),
            "{name}: {part:?}"
        );
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
    fn any_lines_are_read(pieces in proptest::collection::vec(
        proptest::sample::select(vec![
            "running 3 tests\n", "test a ... ok\n", "test a ... FAILED\n", "---- a stdout ----\n", "failures:\n", "test result: ok. 3 passed; 0 failed; 0 ignored\n",
            "test result: ok. 18446744073709551615 passed; 18446744073709551615 failed; 1 ignored; 9 measured\n", "running 18446744073709551615 tests\n",
            "=== RUN   TestA\n", "--- PASS: TestA (0.00s)\n", "--- FAIL: TestA (1e9s)\n", "ok  \tp\t0.1s\n", "FAIL\tp [build failed]\n", "FAIL\n", "?   \tp\t[no test files]\n",
            "TAP version 13\n", "1..3\n", "1..18446744073709551615\n", "ok 1 - é # SKIP\n", "not ok 2\n", "  ---\n", "  duration_ms: 1e400\n", "  error: |-\n", "  ...\n", "# Subtest: x\n",
            "    ok 1 - inner\n", "# tests 18446744073709551615\n", "# pass 18446744073709551615\n", "# fail 1\n", "# cancelled 1\n", "# skipped 18446744073709551615\n", "# todo 1\n", "Bail out! é\n",
            "t/a.t .. \n", "t/a.t .. ok\n", "Dubious, test returned 1\n", "Files=18446744073709551615, Tests=3, \n", "t/a.t (Wstat: 1 Tests: 1 Failed: 18446744073709551615)\n", "Result: FAIL\n",
            "=== test session starts ===\n", "collected 3 items\n", "a.py::b PASSED [ 3%]\n", "=== FAILURES ===\n", "___ b ___\n", "=== short test summary info ===\n", "FAILED a.py::b - é\n",
            "=== 18446744073709551615 failed, 18446744073709551615 passed in 1.0s ===\n", "[gw0] [ 3%] PASSED a.py::b\n", "1.00s call a.py::b\n",
            "##teamcity[testStarted name='a|", "##teamcity[testFinished name='|0xé|']\n", "##teamcity[testCount count='18446744073709551615']\n", "##teamcity[testStarted name='a']\n",
            "Nextest run ID x\n", "Starting 3 tests across 1 binary\n", "PASS [ 0.1s] a b\n", "TRY 1 FAIL [ 0.1s] a b\n", "Summary [ 0.1s] 18446744073709551615 tests run: 18446744073709551615 passed, 18446744073709551615 failed, 18446744073709551615 skipped\n",
            "{\"Action\":\"run\",\"Package\":\"p\",\"Test\":\"T\"}\n", "{\"Action\":\"fail\",\"Package\":\"p\"}\n", "{\"type\":\"suite\",\"event\":\"ok\",\"passed\":1e14,\"failed\":9}\n", "{\"type\":\"test\",\"event\":\"ok\"}\n",
            "{\"name\":\"a\",\"result\":\"OK\",\"returncode\":0}\n", "{\"$report_type\":\"TestReport\",\"when\":\"call\",\"outcome\":\"failed\"}\n", "{\"a\n", "{\"numTotalTests\":1,\"snapshot\":{},\"testResults\":[", "[{\"elements\":[{\"steps\":[",
            "[==========] Running 3 tests from 1 test suite.\n", "[ RUN      ] A.b\n", "[       OK ] A.b (0 ms)\n", "  YOU HAVE 18446744073709551615 DISABLED TESTS\n", "[  PASSED  ] 18446744073709551615 tests.\n",
            "Test project /x\n", " 1/18446744073709551615 Test #1: a ...   Passed    0.01 sec\n", "test_a (m.C) ... ok\n", "Ran 18446744073709551615 tests in 1s\n", "FAILED (failures=18446744073709551615, skipped=18446744073709551615, expected failures=1)\n", "OK\n",
            "error[E0308]: é\n", " --> src/a.rs:1:1\n", "a.c:1:2: error: é\n", "npm error code É\n", "make: *** [x] Error 1\n", "\u{1b}[31m", "\r", "2024-01-01T00:00:00Z ", "é", "\n",
        ]),
        0..60,
    )) {
        read(pieces.concat().as_bytes());
    }
}
