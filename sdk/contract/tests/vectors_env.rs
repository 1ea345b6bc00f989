//! The host vectors for the environment of a server, against the filter.

mod support;

use std::collections::BTreeMap;

use odek_contract::environment::child_environment;
use serde_json::{Value, json};
use support::{check_all, check_error, check_reason, odek_vectors};

#[test]
fn vectors_environments_are_filtered_as_the_host_filters_them() {
    check_all(&odek_vectors("env.json"), |case| {
        let configured = variables(&case["config_env"]);
        match child_environment(variables(&case["parent_env"]), &configured) {
            Ok(child) if json!(child) == case["child_env"] => Ok(()),
            Ok(child) => Err(format!("the environment was {}", json!(child))),
            Err(error) => {
                check_error(case, &format!("mcpclient srv: start: {error}"))?;
                check_reason(case, "start-failed")
            }
        }
    });
}

fn variables(value: &Value) -> BTreeMap<String, String> {
    serde_json::from_value(value.clone()).expect("a map of texts")
}
