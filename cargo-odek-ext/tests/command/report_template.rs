//! The code that the `artifacts` template brings along, without a scaffold around it.

// The template's own error type reaches the model as text and nobody else.
#[allow(dead_code)]
#[path = "../../templates/artifacts/src/report.rs.hbs"]
mod report;

use std::path::Path;

use report::Report;

const REPORT: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/templates/artifacts/tests/data/robot-xunit.xml"
);

#[test]
fn a_real_report_is_summarised() {
    let report = Report::read(Path::new(REPORT)).unwrap();
    insta::assert_snapshot!(report.summary(3), @r"
    robot-xunit.xml: 11 test cases, 3 passed, 7 failed, 0 errored, 1 skipped.
    FAILED Robot.Checkout.Total Of Two Items: cart total <wrong> & unexpected: 5 != 6
    FAILED Robot.Checkout.Fails Then Continues: Several failures occurred: 1) a != b 2) c != d
    FAILED Robot.Checkout.Missing Keyword: No keyword with name 'No Such Keyword Exists' found.
    ... and 4 more that did not pass.
    ");
    let details = report.failure_details("Robot.Checkout.Fails Then Continues");
    assert_eq!(
        details,
        Some("Several failures occurred:\n\n1) a != b\n\n2) c != d")
    );
}

#[test]
fn a_report_in_another_encoding_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("report.xml");
    std::fs::write(&path, b"\xff\xfe<\0").unwrap();
    let error = Report::read(&path).unwrap_err();
    assert!(error.to_string().contains("UTF-16"));
    let missing = Report::read(&directory.path().join("none.xml")).unwrap_err();
    assert!(missing.to_string().starts_with("cannot read `"));
}

#[test]
fn bytes_that_are_no_text_are_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("report.xml");
    std::fs::write(
        &path,
        b"<testsuite><testcase name='caf\xe9'><failure message='&#27;[31m &unknown;'/></testcase></testsuite>",
    )
    .unwrap();
    let report = Report::read(&path).unwrap();
    assert_eq!(
        report.failure_details("caf\u{fffd}"),
        Some("&#27;[31m &unknown;")
    );
}
