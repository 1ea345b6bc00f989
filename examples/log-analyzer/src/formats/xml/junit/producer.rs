//! Who wrote a JUnit XML report.
//!
//! The format has no field for it, but every producer leaves marks: names, attributes of its own,
//! and the order in which it writes the others.

use crate::xml::Element;

const BATS: [&str; 8] = [
    "name",
    "tests",
    "failures",
    "errors",
    "skipped",
    "time",
    "timestamp",
    "hostname",
];
const LIT: [&str; 5] = ["name", "tests", "failures", "skipped", "time"];
const CTEST: [&str; 8] = [
    "name",
    "tests",
    "failures",
    "disabled",
    "skipped",
    "hostname",
    "time",
    "timestamp",
];
const ROBOT: [&str; 7] = [
    "name",
    "tests",
    "errors",
    "failures",
    "skipped",
    "time",
    "timestamp",
];
const RSPEC: [&str; 8] = [
    "name",
    "tests",
    "skipped",
    "failures",
    "errors",
    "time",
    "timestamp",
    "hostname",
];

/// The producers whose reports need, or are worth, being told apart.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Producer {
    #[default]
    Unknown,
    Ant,
    Bats,
    Catch2,
    Cmocka,
    CTest,
    CucumberJs,
    Doctest,
    Eslint,
    Eunit,
    GoogleTest,
    Gotestsum,
    Jest,
    Libtest,
    Lit,
    Meson,
    MochaJunit,
    MochaXunit,
    Nextest,
    NodeTest,
    PhpUnit,
    Playwright,
    Pytest,
    Regrtest,
    Robot,
    Rspec,
    Ruff,
    Surefire,
    TapFormatter,
    TapHarness,
    Vitest,
    XmlRunner,
}

impl Producer {
    /// The name to show.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown producer",
            Self::Ant => "Ant",
            Self::Bats => "bats",
            Self::Catch2 => "Catch2",
            Self::Cmocka => "cmocka",
            Self::CTest => "CTest",
            Self::CucumberJs => "cucumber-js",
            Self::Doctest => "doctest",
            Self::Eslint => "ESLint",
            Self::Eunit => "eunit",
            Self::GoogleTest => "GoogleTest",
            Self::Gotestsum => "gotestsum",
            Self::Jest => "jest-junit",
            Self::Libtest => "libtest",
            Self::Lit => "LLVM lit",
            Self::Meson => "Meson",
            Self::MochaJunit => "mocha-junit-reporter",
            Self::MochaXunit => "mocha xunit",
            Self::Nextest => "cargo-nextest",
            Self::NodeTest => "node:test",
            Self::PhpUnit => "PHPUnit",
            Self::Playwright => "Playwright",
            Self::Pytest => "pytest",
            Self::Regrtest => "CPython regrtest",
            Self::Robot => "Robot Framework",
            Self::Rspec => "RSpec",
            Self::Ruff => "ruff",
            Self::Surefire => "Maven Surefire",
            Self::TapFormatter => "TAP::Formatter::JUnit",
            Self::TapHarness => "TAP::Harness::JUnit",
            Self::Vitest => "vitest",
            Self::XmlRunner => "unittest-xml-reporting",
        }
    }

    /// What reports of this producer never tell, and whether that makes every total of them
    /// doubtful.
    pub(super) fn caveat(self) -> Option<(&'static str, bool)> {
        match self {
            Self::Nextest => Some((
                "cargo-nextest does not list tests that it skipped, so there may have been some \
                 that are not counted.",
                false,
            )),
            Self::Meson => Some((
                "Meson marks neither time-outs nor unexpected passes in this report, so tests \
                 that are counted as passed may have failed.",
                true,
            )),
            Self::Catch2 => Some((
                "Catch2 leaves test cases without assertions out of this report, so there may \
                 be more than are counted; its own counts are of assertions.",
                true,
            )),
            Self::Doctest => Some((
                "doctest leaves skipped test cases out of this report and does not tell \
                 failures that are allowed (may_fail, should_fail), so the totals may differ from its summary.",
                true,
            )),
            _ => None,
        }
    }

    /// Whether the counts that this producer writes at the head of a report are those of its
    /// console, so that they hold for a report that breaks off.
    pub(super) fn heads_with_totals(self) -> bool {
        matches!(
            self,
            Self::Unknown
                | Self::CucumberJs
                | Self::Libtest
                | Self::Lit
                | Self::Playwright
                | Self::Pytest
                | Self::Robot
                | Self::Rspec
                | Self::Ruff
                | Self::Surefire
                | Self::Vitest
        )
    }

    /// Recognises a producer by the outermost `<testsuites>`.
    pub(super) fn of_root(root: &Element) -> Self {
        match root.text("name") {
            "jest tests" => return Self::Jest,
            "vitest tests" => return Self::Vitest,
            "Mocha Tests" => return Self::MochaJunit,
            "ruff" => return Self::Ruff,
            _ => {}
        }
        if root.get("uuid").is_some() {
            return Self::Nextest;
        }
        if root.has_order(&[
            "id", "name", "tests", "failures", "skipped", "errors", "time",
        ]) {
            return Self::Playwright;
        }
        if root.has_order(&["tests", "errors", "failures"]) {
            return Self::Meson;
        }
        Self::Unknown
    }

    /// Recognises a producer by a `<testsuite>`.
    ///
    /// `root` is the outermost element; `None` when that is this suite.
    pub(super) fn of_suite(suite: &Element, root: Option<&Element>) -> Self {
        if root.is_some_and(|root| root.has_order(&["time"])) {
            if suite.has_order(&BATS) {
                return Self::Bats;
            }
            if suite.has_order(&LIT) {
                return Self::Lit;
            }
        }
        let is_root = root.is_none();
        Self::of_marks(suite, is_root).unwrap_or_else(|| Self::of_order(suite))
    }

    fn of_marks(suite: &Element, is_root: bool) -> Option<Self> {
        let name = suite.text("name");
        let producer = match suite.text("package") {
            "org.ruff" => Self::Ruff,
            "org.eslint" => Self::Eslint,
            "test" if name == "test" && suite.get("id").is_some() => Self::Libtest,
            _ if suite.get("doctest_version").is_some() => Self::Doctest,
            _ if suite.text("hostname") == "tbd" => Self::Catch2,
            _ if suite.text("noNamespaceSchemaLocation").contains("surefire")
                || suite
                    .text("xsi:noNamespaceSchemaLocation")
                    .contains("surefire") =>
            {
                Self::Surefire
            }
            _ if suite.get("start").is_some() && suite.get("timestamp").is_none() => Self::Regrtest,
            _ if name.starts_with("module '") => Self::Eunit,
            _ if name == "pytest" => Self::Pytest,
            _ if is_root && name == "Mocha Tests" => Self::MochaXunit,
            _ if is_root && name == "Cucumber" => Self::CucumberJs,
            _ if has_time_suffix(name) && suite.get("time").is_some() => Self::XmlRunner,
            _ if is_root && suite.has_order(&CTEST) => Self::CTest,
            _ if is_root && suite.has_order(&ROBOT) => Self::Robot,
            _ if name.starts_with("rspec") && suite.has_order(&RSPEC) => Self::Rspec,
            _ if suite.get("assertions").is_some() && suite.get("warnings").is_some() => {
                Self::PhpUnit
            }
            _ => return None,
        };
        Some(producer)
    }

    fn of_order(suite: &Element) -> Self {
        const ORDERS: [(&[&str], Producer); 18] = [
            (
                &["tests", "failures", "errors", "skipped", "time", "name"],
                Producer::Eunit,
            ),
            (
                &[
                    "name",
                    "timestamp",
                    "hostname",
                    "tests",
                    "failures",
                    "errors",
                    "skipped",
                    "time",
                ],
                Producer::Vitest,
            ),
            (
                &[
                    "name",
                    "errors",
                    "failures",
                    "skipped",
                    "timestamp",
                    "time",
                    "tests",
                ],
                Producer::Jest,
            ),
            (
                &["name", "timestamp", "tests", "file", "time", "failures"],
                Producer::MochaJunit,
            ),
            (
                &["name", "timestamp", "tests", "time", "failures"],
                Producer::MochaJunit,
            ),
            (
                &[
                    "name", "time", "disabled", "errors", "tests", "failures", "skipped",
                    "hostname",
                ],
                Producer::NodeTest,
            ),
            (
                &["tests", "failures", "time", "name", "timestamp"],
                Producer::Gotestsum,
            ),
            (
                &["tests", "failures", "skipped", "time", "name", "timestamp"],
                Producer::Gotestsum,
            ),
            (
                &["name", "errors", "failures", "skipped", "tests", "time"],
                Producer::TapHarness,
            ),
            (
                &[
                    "name",
                    "errors",
                    "failures",
                    "skipped",
                    "tests",
                    "time",
                    "timestamp",
                    "hostname",
                ],
                Producer::Pytest,
            ),
            (
                &["name", "time", "tests", "failures", "errors", "skipped"],
                Producer::Cmocka,
            ),
            (
                &[
                    "errors",
                    "failures",
                    "hostname",
                    "id",
                    "name",
                    "package",
                    "skipped",
                    "tests",
                    "time",
                    "timestamp",
                ],
                Producer::Ant,
            ),
            (
                &[
                    "errors",
                    "failures",
                    "hostname",
                    "name",
                    "skipped",
                    "tests",
                    "time",
                    "timestamp",
                ],
                Producer::Ant,
            ),
            (
                &[
                    "errors",
                    "failures",
                    "hostname",
                    "name",
                    "tests",
                    "time",
                    "timestamp",
                ],
                Producer::Ant,
            ),
            (
                &[
                    "name",
                    "tests",
                    "assertions",
                    "errors",
                    "failures",
                    "skipped",
                    "time",
                ],
                Producer::PhpUnit,
            ),
            (
                &[
                    "name",
                    "file",
                    "tests",
                    "assertions",
                    "errors",
                    "failures",
                    "skipped",
                    "time",
                ],
                Producer::PhpUnit,
            ),
            (
                &[
                    "name",
                    "tests",
                    "failures",
                    "disabled",
                    "skipped",
                    "errors",
                    "time",
                    "timestamp",
                ],
                Producer::GoogleTest,
            ),
            (
                &[
                    "name",
                    "tests",
                    "failures",
                    "disabled",
                    "errors",
                    "time",
                    "timestamp",
                ],
                Producer::GoogleTest,
            ),
        ];
        ORDERS
            .iter()
            .find(|(order, _)| suite.has_order(order))
            .map_or(Self::Unknown, |(_, producer)| *producer)
    }

    /// Recognises a producer by a `<testcase>`.
    pub(super) fn of_case(case: &Element) -> Self {
        match (
            case.text("classname"),
            case.text("status"),
            case.text("result"),
        ) {
            ("Test suite failed to run", _, _) => Self::Jest,
            (_, "run" | "notrun", "completed" | "skipped" | "suppressed")
                if case.get("classname").is_some() =>
            {
                Self::GoogleTest
            }
            _ if case.get("assertions").is_some() && case.get("class").is_some() => Self::PhpUnit,
            _ => Self::Unknown,
        }
    }

    /// Recognises a producer by what happened to a case: an element in it and its attributes.
    pub(super) fn of_result(result: &Element) -> Self {
        let (kind, message) = (result.text("type"), result.text("message"));
        if kind.starts_with("pytest.")
            || message.starts_with("failed on setup with \"")
            || message.starts_with("failed on teardown with \"")
            || matches!(
                message,
                "test setup failure" | "test teardown failure" | "collection failure"
            )
        {
            Self::Pytest
        } else if kind == "TAP::Parser::Result::Test" {
            Self::TapHarness
        } else if matches!(kind, "TodoTestSucceeded" | "UnplannedTest") {
            Self::TapFormatter
        } else if kind.starts_with("PHPUnit\\") {
            Self::PhpUnit
        } else if message.starts_with("TEST_CASE tagged with !") {
            Self::Catch2
        } else {
            Self::Unknown
        }
    }

    /// Recognises a producer by a property of a suite.
    pub(super) fn of_property(name: &str) -> Self {
        match name {
            "go.version" => Self::Gotestsum,
            "ant.version" | "ant.home" | "ant.file" => Self::Ant,
            _ => Self::Unknown,
        }
    }
}

/// Whether a name ends with a time stamp of 14 digits after a hyphen.
fn has_time_suffix(name: &str) -> bool {
    name.rsplit_once('-')
        .is_some_and(|(_, stamp)| stamp.len() == 14 && stamp.bytes().all(|b| b.is_ascii_digit()))
}
