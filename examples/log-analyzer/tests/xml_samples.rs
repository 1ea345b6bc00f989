//! Every sample report in XML gives the totals that its producer's console gave.

mod support;

use log_analyzer::model::{Completeness, Dialect, Status, Totals};
use support::{entries, read, sample, totals};

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

/// Totals, and whether the report is complete, in one line.
fn told(report: &str) -> String {
    let (outcome, _) = read(report.as_bytes());
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
        Dialect::Known(name) => name,
        Dialect::Unknown => "unknown".into(),
    };
    format!(
        "{dialect}: {} {:?}",
        totals.unwrap_or_else(|| "none".into()),
        outcome.completeness
    )
}

#[test]
fn other_producers() {
    let reports = [
        (
            "Check XML: 3 = 1 + 1 + 1 + 0 Complete",
            r#"<?xml version="1.0"?><testsuites xmlns="http://check.sourceforge.net/ns"><datetime>d</datetime><suite><title>Money</title>
            <test result="success"><id>a</id><message>Passed</message></test><test result="failure"><id>b</id><message>no</message></test>
            <test result="error"><id>c</id><message>Test timeout expired</message></test></suite><duration>0.1</duration></testsuites>"#,
        ),
        (
            "Catch2 XML: 3 = 2 + 1 + 0 + 0 Complete",
            r#"<?xml version="1.0"?><Catch2TestRun name="t"><TestCase name="a"><Section name="s"><OverallResults successes="1" failures="0"/></Section><OverallResult success="true"/></TestCase>
            <TestCase name="b"><OverallResult success="false"/></TestCase><OverallResults successes="1" failures="1" expectedFailures="1"/>
            <OverallResultsCases successes="1" failures="1" expectedFailures="1"/></Catch2TestRun>"#,
        ),
        (
            "doctest XML: 3 = 1 + 1 + 0 + 1 Complete",
            r#"<?xml version="1.0"?><doctest binary="t"><TestSuite><TestCase name="a" filename="f"><OverallResultsAsserts successes="1" failures="0" test_case_success="true"/></TestCase>
            <TestCase name="b" filename="f"><OverallResultsAsserts successes="0" failures="1" test_case_success="false"/></TestCase><TestCase name="c" skipped="true"/></TestSuite>
            <OverallResultsAsserts successes="1" failures="1"/><OverallResultsTestCases successes="1" failures="1" skipped="1"/></doctest>"#,
        ),
        (
            "CTest XML: 4 = 1 + 2 + 0 + 1 Complete",
            r#"<Site><Testing><TestList><Test>./a</Test></TestList><Test Status="passed"><Name>a</Name><Results><NamedMeasurement type="numeric/double" name="Execution Time"><Value>0.5</Value></NamedMeasurement></Results></Test>
            <Test Status="failed"><Name>b</Name></Test><Test Status="notrun"><Name>c</Name><Results><NamedMeasurement name="Completion Status"><Value>Disabled</Value></NamedMeasurement></Results></Test>
            <Test Status="notrun"><Name>d</Name><Results><NamedMeasurement name="Completion Status"><Value>Unable to find executable</Value></NamedMeasurement></Results></Test></Testing></Site>"#,
        ),
        (
            "JUnit XML (Meson): 3 = 1 + 1 + 0 + 1 Incomplete",
            r#"<testsuites tests="5" errors="0" failures="1"><testsuite name="p.tap" tests="3" errors="0" failures="1" skipped="1" time="0.1"><testcase name="1" classname="p.tap"/>
            <testcase name="2" classname="p.tap"><failure/></testcase><testcase name="3" classname="p.tap"><skipped/></testcase></testsuite>
            <testsuite name="p" tests="2" errors="0" failures="0" skipped="1" time="0.1"><testcase name="x" classname="p" time="0.1"/><testcase name="y" classname="p" time="0.1"><skipped/></testcase></testsuite></testsuites>"#,
        ),
        (
            "NUnit 3 XML: 5 = 2 + 1 + 1 + 1 Complete",
            r#"<test-run testcasecount="5" result="Failed" total="5" passed="1" failed="2" warnings="1" inconclusive="0" skipped="1"><test-suite name="S">
            <test-case name="a" fullname="S.a" classname="S" result="Passed" duration="0.1"/><test-case name="b" fullname="S.b" result="Failed"><failure><message>m</message></failure></test-case>
            <test-case name="c" fullname="S.c" result="Failed" label="Error"/><test-case name="d" fullname="S.d" result="Skipped" label="Ignored"/><test-case name="e" fullname="S.e" result="Warning"/></test-suite></test-run>"#,
        ),
        (
            "xUnit.net XML: 3 = 1 + 1 + 1 + 1 Complete",
            r#"<assemblies><assembly name="a.dll" total="3" passed="1" failed="1" skipped="1" errors="1"><errors><error type="assembly-cleanup" name="n"><failure><message>m</message></failure></error></errors>
            <collection><test name="a" type="T" result="Pass" time="0.1"/><test name="b" type="T" result="Fail"><failure><message>m</message></failure></test><test name="c" type="T" result="Skip"><reason>r</reason></test></collection></assembly></assemblies>"#,
        ),
        (
            "Robot Framework output: 3 = 1 + 1 + 0 + 1 Complete",
            r#"<robot generator="Robot 7.0"><suite name="S"><test name="a"><kw name="k"><status status="FAIL">no</status></kw><status status="PASS" elapsed="0.1"/></test>
            <test name="b"><status status="FAIL" elapsed="0.1">msg</status></test><test name="c"><status status="SKIP"/></test><status status="FAIL"/></suite>
            <statistics><total><stat pass="1" fail="1" skip="1">All Tests</stat></total></statistics></robot>"#,
        ),
        (
            "TRX (Visual Studio test results): 2 = 1 + 1 + 0 + 0 Complete",
            r#"<TestRun id="1" xmlns="http://microsoft.com/schemas/VisualStudio/TeamTest/2010"><Results><UnitTestResult testName="rows" outcome="Failed"><InnerResults>
            <UnitTestResult testName="rows (1)" outcome="Passed"/><UnitTestResult testName="rows (2)" outcome="Failed"/></InnerResults></UnitTestResult></Results>
            <ResultSummary><Counters total="2" executed="2" passed="1" failed="1"/></ResultSummary></TestRun>"#,
        ),
        (
            "JUnit XML (Maven Surefire): 2 = 1 + 1 + 0 + 0 Complete",
            r#"<testsuite xsi:noNamespaceSchemaLocation="https://maven.apache.org/surefire/surefire-test-report.xsd" name="T" tests="2" errors="0" skipped="0" failures="1">
            <testcase name="flaky"><flakyFailure message="m"><stackTrace>s</stackTrace></flakyFailure></testcase>
            <testcase name="bad"><failure message="m"/><rerunFailure message="m"/><rerunError message="m"/></testcase></testsuite>"#,
        ),
        (
            "JUnit XML (gotestsum): 1 = 1 + 0 + 1 + 0 Complete",
            r#"<testsuites tests="1" failures="1" errors="0" time="1"><testsuite tests="1" failures="0" time="1" name="a" timestamp="t"><properties><property name="go.version" value="go1"/></properties>
            <testcase classname="" name="TestMain" time="0"><failure message="Failed" type="">panic</failure></testcase><testcase classname="a" name="TestA" time="0"/></testsuite></testsuites>"#,
        ),
        (
            "JUnit XML (vitest): 1 = 1 + 0 + 1 + 0 Complete",
            r#"<testsuites name="vitest tests" tests="2" failures="1" errors="0" time="1"><testsuite name="a.test.ts" tests="1" failures="1" errors="0" skipped="0" time="0">
            <testcase classname="a.test.ts" name="a.test.ts" time="0"><failure message="cannot load"/></testcase></testsuite>
            <testsuite name="b.test.ts" tests="1" failures="0" errors="0" skipped="0" time="0"><testcase classname="b.test.ts" name="adds" time="0"/></testsuite></testsuites>"#,
        ),
        (
            "JUnit XML (ESLint): 2 = 0 + 2 + 0 + 0 Complete",
            r#"<testsuites><testsuite package="org.eslint" time="0" tests="2" errors="2" name="a.js"><testcase time="0" name="org.eslint.semi"><failure message="m"/></testcase>
            <testcase time="0" name="org.eslint.quotes"><failure message="m"/></testcase></testsuite><testsuite package="org.eslint" time="0" tests="1" errors="0" name="b.js"><testcase time="0" name="b.js"/></testsuite></testsuites>"#,
        ),
        (
            "JUnit XML (TAP::Formatter::JUnit): 5 = 1 + 1 + 1 + 3 Complete",
            r#"<testsuites><testsuite failures="1" errors="2" name="cart_t" tests="5"><testcase name="1 - adds"/><testcase name="2 - bad"><failure type="TestFailed" message="not ok 2 - bad"/></testcase>
            <testcase name="3"/><testcase name="4 - later"/><testcase name="5 - done"><error type="TodoTestSucceeded" message="m"/></testcase>
            <system-out><![CDATA[1..6
ok 1 - adds
not ok 2 - bad
ok 3 # skip no network
not ok 4 - later # TODO later
ok 5 - done # TODO soon
]]></system-out><system-err/></testsuite></testsuites>"#,
        ),
        (
            "unknown: none Incomplete",
            "<testsuites><result><name>x</name></result></testsuites>",
        ),
        (
            "JUnit XML (unknown producer): 2 = 1 + 0 + 0 + 1 Complete",
            r#"<testsuite name="s" tests="2" failures="0" skipped="1"><testcase name="a"/><testcase name="b" status="skipped"/></testsuite>"#,
        ),
    ];
    for (wanted, report) in reports {
        assert_eq!(
            told(report),
            wanted,
            "{:?}",
            read(report.as_bytes()).0.problems
        );
    }
}

#[test]
fn encodings_are_said_only_where_they_are_wrong() {
    let report = |encoding: &str, name: &[u8]| {
        let head = format!(
            "<?xml version='1.0' encoding='{encoding}'?><testsuite name='s' tests='1'><testcase name='"
        );
        [head.as_bytes(), name, b"'/></testsuite>"].concat()
    };
    let (outcome, cases) = read(&report("ISO-8859-1", b"caf\xE9"));
    assert_eq!(
        (outcome.problems.len(), cases[0].name.as_str()),
        (0, "café")
    );
    let (outcome, cases) = read(&report("ISO-8859-1", "café".as_bytes()));
    assert_eq!(
        (outcome.problems.len(), cases[0].name.as_str()),
        (1, "café")
    );
    let (outcome, _) = read(&report("UTF-16", b"ascii"));
    assert!(
        outcome.problems[0]
            .0
            .contains("declares the encoding UTF-16, but its bytes are UTF-8")
    );
    let (outcome, _) = read(&report("Shift_JIS", b"\x93\xFA"));
    assert!(
        outcome.problems[0]
            .0
            .contains("Shift_JIS, which is not supported")
    );
}

#[test]
fn markup_in_a_log_makes_no_report_of_it() {
    let log: &[u8] = b"GET /feed\n<?xml version='1.0'?><rss/>\n<Site>ok</Site>\ndone\n";
    let (outcome, cases) = read(log);
    assert_eq!((outcome.totals, cases), (None, vec![]));
    assert!(
        !outcome
            .problems
            .iter()
            .any(|problem| problem.0.contains("markup"))
    );
}
