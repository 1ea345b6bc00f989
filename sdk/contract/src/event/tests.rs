use proptest::collection::btree_map;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;
use crate::budget::BudgetLimit;
use crate::raw::RawJson;

fn event(text: &str) -> Event {
    Event::from_json(text).unwrap()
}

fn error(text: &str) -> String {
    Event::from_json(text).unwrap_err().to_string()
}

/// An event of a type, with data.
fn data(kind: &str, data: &str) -> EventData {
    event(&format!(
        r#"{{"schema":"odek.event/v1","type":"{kind}","data":{data}}}"#
    ))
    .typed_data()
}

#[test]
fn the_contract_example_survives_a_round_trip() {
    let text = r#"{"schema":"odek.event/v1","type":"tool_call_completed","run_id":"…","session_id":"…","iteration":3,"tool":"log-analyzer__summarize","timestamp":"2026-08-07T12:00:00Z","data":{"artifact_count":1,"duration_ms":412,"result_bytes":812}}"#;
    let event = event(text);
    assert_eq!(event.iteration, Some(3));
    assert_eq!(event.tool.as_deref(), Some("log-analyzer__summarize"));
    assert_eq!(
        event.typed_data(),
        EventData::ToolCallCompleted(ToolCallCompleted {
            call_id: None,
            duration_ms: Some(412),
            result_bytes: Some(812),
            artifact_count: Some(1),
        })
    );
    assert_eq!(event.to_json_line().unwrap(), text);
}

#[test]
fn members_are_written_in_the_order_of_the_host() {
    let text = r#"{"source_task_id":"s","turn_id":"t","root_run_id":"r","parent_run_id":"p","parent_turn_id":"q","task_id":"k","parent_task_id":"l","schema":"odek.event/v1","type":"session_saved","run_id":"i","session_id":"j","iteration":1,"tool":"o","timestamp":"z","data":{"message_count":4},"unknown":1}"#;
    assert_eq!(event(text).to_json_line().unwrap(), text);
    let mut reordered: Vec<(String, Value)> = serde_json::from_str::<Map<String, Value>>(text)
        .unwrap()
        .into_iter()
        .collect();
    reordered.reverse();
    let reordered: Vec<String> = reordered
        .iter()
        .map(|(name, value)| format!("{name:?}:{value}"))
        .collect();
    let reordered = format!("{{{}}}", reordered.join(","));
    assert_eq!(event(&reordered).to_json_line().unwrap(), text);
}

#[test]
fn every_type_is_known_by_its_name_and_has_its_data() {
    assert_eq!(EventKind::KNOWN.len(), 19);
    for kind in EventKind::KNOWN {
        assert_eq!(&EventKind::from(kind.as_str()), kind);
        assert_eq!(&data(kind.as_str(), "{}").kind(), kind);
    }
    assert_eq!(
        data("turn_started", r#"{"a":1}"#),
        EventData::Unknown("turn_started".to_owned())
    );
}

#[test]
fn data_fields_are_typed() {
    let EventData::BudgetExceeded(budget) = data(
        "budget_exceeded",
        r#"{"limit_name":"cost_usd","observed":1.25,"limit":1}"#,
    ) else {
        panic!("another type")
    };
    assert_eq!(budget.limit_kind(), Some(BudgetLimit::CostUsd));
    assert_eq!((budget.observed, budget.limit), (Some(1.25), Some(1.0)));

    let EventData::ToolCallFailed(failed) = data(
        "tool_call_failed",
        r#"{"call_id":"it1-call0","error_class":"new_class"}"#,
    ) else {
        panic!("another type")
    };
    assert_eq!(
        failed.error_class,
        Some(ErrorClass::Unknown("new_class".to_owned()))
    );

    let EventData::ToolCallStarted(started) = data(
        "tool_call_started",
        r#"{"args_summary":{"argv0":"ls"},"args":"{}"}"#,
    ) else {
        panic!("another type")
    };
    assert_eq!(
        started.args_summary.as_ref().map(RawJson::text),
        Some(r#"{"argv0":"ls"}"#)
    );

    assert_eq!(
        data(
            "operation_failed",
            r#"{"component":"mcp","operation":"connect","error_class":"error","error_type":"x"}"#
        ),
        EventData::OperationFailed(OperationFailed {
            component: Some("mcp".to_owned()),
            operation: Some("connect".to_owned()),
            error_class: Some(ErrorClass::Error),
            error_type: Some("x".to_owned()),
        })
    );
}

#[test]
fn values_of_another_type_are_absent_and_kept() {
    let text = r#"{"schema":"odek.event/v1","type":"run_completed","session_id":null,"iteration":"3","data":{"duration_ms":"long","input_tokens":-1,"output_tokens":7},"tool":["a"]}"#;
    let event = event(text);
    assert_eq!((event.iteration, &event.tool), (None, &None));
    let EventData::RunCompleted(run) = event.typed_data() else {
        panic!("another type")
    };
    assert_eq!(run.duration_ms, None);
    assert_eq!(run.input_tokens, None);
    assert_eq!(run.output_tokens, Some(7));
    assert_eq!(event.data.get("duration_ms").unwrap().text(), r#""long""#);
    assert_eq!(
        serde_json::from_str::<Value>(&event.to_json_line().unwrap()).unwrap(),
        serde_json::from_str::<Value>(text).unwrap()
    );
}

#[test]
fn a_set_field_replaces_the_value_of_another_type() {
    let mut event = event(r#"{"schema":"odek.event/v1","type":"x","iteration":"3"}"#);
    event.iteration = Some(4);
    assert_eq!(
        event.to_json_line().unwrap(),
        r#"{"schema":"odek.event/v1","type":"x","iteration":4}"#
    );
}

#[test]
fn data_that_is_no_object_or_empty_survives() {
    for data in ["{}", "[1]", "null", "\"x\""] {
        let text = format!(r#"{{"schema":"odek.event/v1","type":"x","data":{data}}}"#);
        let event = event(&text);
        assert!(event.data.is_empty());
        assert_eq!(event.to_json_line().unwrap(), text);
    }
}

#[test]
fn deep_and_large_unknown_values_survive() {
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let text = format!(
        r#"{{"schema":"odek.event/v1","type":"x","data":{{"a":{deep}}},"b":123456789012345678901234567890}}"#
    );
    assert_eq!(event(&text).to_json_line().unwrap(), text);
}

#[test]
fn an_event_of_several_lines_is_written_as_one() {
    let event = event("{\"schema\":\"odek.event/v1\",\r\n\"type\":\"x\",\"a\":[1,\n\"\\n\"]}");
    let line = event.to_json_line().unwrap();
    assert_eq!(
        line,
        r#"{"schema":"odek.event/v1","type":"x","a":[1,"\n"]}"#
    );
}

#[test]
fn the_last_of_two_equal_members_wins() {
    let event = event(r#"{"schema":"x","type":"a","schema":"odek.event/v1","type":"b"}"#);
    assert_eq!(event.kind.as_str(), "b");
}

#[test]
fn errors_say_what_is_wrong() {
    assert_eq!(error("[1]"), "an event is a JSON object, this is an array");
    assert_eq!(error("12"), "an event is a JSON object, this is a number");
    assert_eq!(error("{]"), "not JSON: key must be a string at column 2");
    assert_eq!(error("[1] 2"), "not JSON: trailing characters at column 5");
    assert_eq!(
        error(r#"{"type":"x"}"#),
        r#"the event has no `schema`; expected "odek.event/v1""#
    );
    assert_eq!(
        error(r#"{"schema":"odek.event/v2","type":"x"}"#),
        r#"the event has the schema "odek.event/v2"; expected "odek.event/v1""#
    );
    assert_eq!(
        error(r#"{"schema":"odek.event/v1","type":5}"#),
        "the event has no `type`, or one that is no string"
    );
    let long = format!(r#"{{"schema":"{}"}}"#, "x".repeat(10_000));
    assert!(error(&long).len() < 200);
}

#[test]
fn a_new_event_has_its_type_and_fields() {
    let event = Event::new(SessionSaved {
        message_count: Some(3),
    })
    .unwrap();
    assert_eq!(
        event.to_json_line().unwrap(),
        r#"{"schema":"odek.event/v1","type":"session_saved","data":{"message_count":3}}"#
    );
}

/// Any JSON value with a few levels.
fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            btree_map(any::<String>(), inner, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Names of members, known ones among them.
fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(&MEMBERS[..]).prop_map(str::to_owned),
        any::<String>()
    ]
}

proptest! {
    #[test]
    fn reading_never_panics(text in any::<String>()) {
        let _ = Event::from_json(&text);
    }

    #[test]
    fn every_member_survives_a_round_trip(
        kind in any::<String>(), members in btree_map(name(), json_value(), 0..8),
    ) {
        let mut object: Map<String, Value> = members.into_iter().collect();
        object.insert("schema".to_owned(), json!(EVENT_SCHEMA));
        object.insert("type".to_owned(), json!(kind));
        let text = Value::Object(object).to_string();
        let event = event(&text);
        let line = event.to_json_line().unwrap();
        prop_assert_eq!(Event::from_json(&line).unwrap(), event);
        // The texts of the values stay, so the documents are equal as they were read.
        let before: RawMembers = serde_json::from_str(&text).unwrap();
        let after: RawMembers = serde_json::from_str(&line).unwrap();
        prop_assert_eq!(before, after);
    }
}
