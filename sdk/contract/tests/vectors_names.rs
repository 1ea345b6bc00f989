//! The host vectors for names, against the rules.

mod support;

use odek_contract::names::{validate_server_name, validate_tool_name};
use serde_json::Value;
use support::{check_all, check_error, check_reason, odek_vectors, text};

#[test]
fn vectors_names_are_judged_as_the_host_judges_them() {
    // Raw entries of `tools/list` are read by the host crate, which tests them.
    let cases: Vec<Value> = odek_vectors("tool_names.json")
        .into_iter()
        .filter(|case| case["kind"] != "entry")
        .collect();
    check_all(&cases, |case| {
        let name = text(case, "name");
        let (verdict, prefix) = match text(case, "kind") {
            "tool" => (validate_tool_name(name), "mcpclient srv: tools/list: "),
            "server" => (validate_server_name(name), ""),
            other => return Err(format!("unknown kind {other}")),
        };
        match (verdict, case["valid"].as_bool()) {
            (Ok(()), Some(true)) => Ok(()),
            (Err(error), Some(false)) => {
                check_error(case, &format!("{prefix}{error}"))?;
                check_reason(case, error.reason())
            }
            (verdict, _) => Err(format!("verdict was {verdict:?}")),
        }
    });
}
