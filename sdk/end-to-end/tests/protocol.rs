//! What the server does with every kind of line, and what it never does.
#![allow(clippy::unwrap_used, reason = "a failed test may panic")]

mod support;

use std::{
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use support::{Probe, end_unread, request, text_of};

#[test]
fn the_handshake_is_the_hosts_and_the_extension_names_itself() {
    let mut probe = Probe::start();
    let answer = probe.request(
        1,
        "initialize",
        json!({"protocolVersion": "2025-03-26", "capabilities": {},
               "clientInfo": {"name": "odek", "version": "dev"}}),
    );
    let result = &answer["result"];
    assert_eq!(result["protocolVersion"], "2025-03-26");
    assert_eq!(
        result["serverInfo"],
        json!({"name": "probe", "version": "1.2.3"})
    );
    assert_eq!(result["instructions"], "Only for tests.");
    assert!(result["capabilities"]["tools"].is_object());

    probe.send(r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#);
    let listed = probe.next_line();
    let names: Vec<_> = listed["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(names[..3], ["echo", "echo_plain", "add"]);
    assert_eq!(names.last(), Some(&"show"));
    let echo = &listed["result"]["tools"][0];
    assert_eq!(echo["description"], "Give a text back.");
    assert_eq!(
        echo["annotations"],
        json!({"readOnlyHint": true, "idempotentHint": true})
    );
    assert_eq!(
        echo["inputSchema"],
        json!({"type": "object", "properties":
               {"text": {"type": "string", "description": "What to give back."}},
               "required": ["text"]})
    );
    assert!(listed["result"].get("nextCursor").is_none());
}

#[test]
fn other_protocol_versions_and_a_missing_handshake_are_no_obstacle() {
    let mut probe = Probe::start();
    let listed = probe.request("first", "tools/list", json!({}));
    assert!(listed["result"]["tools"].is_array(), "{listed}");
    for version in ["1999-01-01", "2025-11-25"] {
        let answer = probe.request(
            1,
            "initialize",
            json!({"protocolVersion": version, "capabilities": {},
                   "clientInfo": {"name": "x", "version": "1"}}),
        );
        let agreed = answer["result"]["protocolVersion"].as_str().unwrap();
        assert!(agreed == version || agreed == "2025-03-26", "{agreed}");
        assert_eq!(probe.call("echo", json!({"text": "a"})).unwrap(), "a");
    }
    assert_eq!(probe.request(9, "ping", json!({}))["result"], json!({}));
    probe.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    assert_eq!(probe.call("echo", json!({"text": "b"})).unwrap(), "b");
}

#[test]
fn requests_sent_at_once_and_then_eof_are_all_answered() {
    let mut probe = Probe::start();
    let initialize = json!({"protocolVersion": "2025-03-26", "capabilities": {},
                            "clientInfo": {"name": "odek", "version": "dev"}});
    probe.send(request(json!(1), "initialize", initialize));
    probe.send(r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#);
    for id in 3..103 {
        let arguments = json!({"name": "echo", "arguments": {"text": id.to_string()}});
        probe.send(request(json!(id), "tools/call", arguments));
    }
    let ended = probe.end();
    assert!(ended.status.success(), "{}", ended.stderr);
    let mut ids: Vec<u64> = ended
        .unread
        .iter()
        .map(|line| {
            serde_json::from_str::<Value>(line).unwrap()["id"]
                .as_u64()
                .unwrap()
        })
        .collect();
    ids.sort_unstable();
    assert_eq!(ids, (1..103).collect::<Vec<_>>());
}

#[test]
fn bad_lines_are_answered_and_the_connection_goes_on() {
    let mut probe = Probe::start();
    for (line, id, code) in [
        ("nonsense".to_owned(), Value::Null, -32700),
        (
            r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"#.to_owned(),
            json!(5),
            -32700,
        ),
        (
            r#"{"jsonrpc":"2.0","id":"x","method":7}"#.to_owned(),
            json!("x"),
            -32600,
        ),
        (r#"{"jsonrpc":"2.0","id":6}"#.to_owned(), json!(6), -32600),
        (
            r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#.to_owned(),
            Value::Null,
            -32600,
        ),
        ("[]".to_owned(), Value::Null, -32600),
        (
            r#"{"jsonrpc":"1.0","id":7,"method":"ping"}"#.to_owned(),
            json!(7),
            -32600,
        ),
        (request(json!(8), "no/such", json!({})), json!(8), -32601),
        (
            request(json!(9), "initialize", json!({"protocolVersion": 5})),
            json!(9),
            -32602,
        ),
        (
            request(json!(10), "tools/call", json!({"arguments": {}})),
            json!(10),
            -32602,
        ),
        (
            request(json!(11), "tools/call", json!({"name": "ehco"})),
            json!(11),
            -32602,
        ),
    ] {
        probe.send(&line);
        let answer = probe.next_line();
        assert_eq!(
            (&answer["id"], &answer["error"]["code"]),
            (&id, &json!(code)),
            "{line}"
        );
    }
    probe.send("   ");
    probe.send(r#"{"jsonrpc":"2.0","id":99,"result":{}}"#);
    probe.send(r#"{"jsonrpc":"2.0","method":"notifications/of/some/kind","params":[1]}"#);
    probe.send(b"{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":\"\xff\"}");
    assert_eq!(
        probe.call("echo", json!({"text": "alive"})).unwrap(),
        "alive"
    );
}

#[test]
fn an_unknown_tool_is_named_with_its_nearest_neighbour() {
    let mut probe = Probe::start();
    let answer = probe.request(1, "tools/call", json!({"name": "ehco", "arguments": {}}));
    assert_eq!(
        answer["error"]["message"],
        "unknown tool \"ehco\"; did you mean \"echo\"?"
    );
}

#[test]
fn a_request_over_the_limit_is_refused_under_its_id() {
    let mut probe = Probe::start();
    let mut line =
        br#"{"jsonrpc":"2.0","id":"long","method":"tools/call","params":{"name":"echo","arguments":{"text":""#
            .to_vec();
    line.resize(line.len() + 64 * 1024 * 1024, b'a');
    line.extend_from_slice(br#""}}}"#);
    probe.send(&line);
    let answer = probe.next_line();
    assert_eq!(answer["id"], "long");
    assert_eq!(answer["error"]["code"], -32600);
    assert_eq!(
        probe.call("echo", json!({"text": "alive"})).unwrap(),
        "alive"
    );
}

#[test]
fn a_batch_is_answered_member_by_member() {
    let mut probe = Probe::start();
    let call = |id: u64| {
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
               "params": {"name": "echo", "arguments": {"text": "t"}}})
    };
    probe.send(json!([call(1), call(2)]).to_string());
    let mut ids = [
        probe.next_line()["id"].clone(),
        probe.next_line()["id"].clone(),
    ];
    ids.sort_by_key(Value::to_string);
    assert_eq!(ids, [json!(1), json!(2)]);
}

#[test]
fn every_form_of_arguments_gives_the_call_or_a_tool_error() {
    let mut probe = Probe::start();
    assert_eq!(
        probe
            .call("add", json!({"a": 1, "b": 2, "unknown": [1]}))
            .unwrap(),
        "3"
    );
    assert_eq!(probe.call("add", json!({"a": "41"})).unwrap(), "42");
    probe.send(
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":1.0,"b":3.0}}}"#,
    );
    assert_eq!(text_of(&probe.next_line()).unwrap(), "4");
    assert_eq!(probe.call("add", json!(r#"{"a": 1}"#)).unwrap(), "2");
    for arguments in [
        json!(null),
        json!("look at it"),
        json!(5),
        json!([1, 2]),
        json!({"a": []}),
    ] {
        let error = probe.call("add", arguments.clone()).unwrap_err();
        assert!(
            error.contains("{a: integer, b: integer (optional)}"),
            "{arguments}: {error}"
        );
    }
    assert_eq!(probe.call("show", json!(null)).unwrap(), "{}");
    assert_eq!(
        probe.call("show", json!({"n": "7", "x": "7"})).unwrap(),
        r#"{"n":7,"x":"7"}"#
    );
    let answer = probe.request(3, "tools/call", json!({"name": "show"}));
    assert_eq!(text_of(&answer).unwrap(), "{}");
}

#[test]
fn a_panic_is_a_tool_error_and_the_next_call_works() {
    let mut probe = Probe::start();
    for tool in ["panic_async", "panic_plain"] {
        let error = probe.call(tool, json!({})).unwrap_err();
        assert!(
            error.contains(&format!("tool {tool:?} panicked")),
            "{error}"
        );
        assert!(!error.contains("secret"), "{error}");
        assert_eq!(
            probe.call("echo", json!({"text": "alive"})).unwrap(),
            "alive"
        );
    }
    let ended = probe.end();
    assert!(ended.status.success());
    assert_eq!(
        ended.stderr.matches("secret path /etc/probe").count(),
        2,
        "{}",
        ended.stderr
    );
    assert!(
        ended.stderr.contains("stack backtrace:"),
        "{}",
        ended.stderr
    );
}

#[test]
fn a_panic_while_something_is_dropped_is_answered() {
    let mut probe = Probe::start();
    let error = probe.call("panic_when_stopped", json!({})).unwrap_err();
    assert!(error.contains("time limit of 50ms"), "{error}");
    let error = probe.call("panic_twice", json!({})).unwrap_err();
    assert!(error.contains("tool \"panic_twice\" panicked"), "{error}");
    assert!(probe.end().status.success());
}

#[test]
fn nobody_has_to_read_standard_error() {
    let mut probe = Probe::without_errors_read();
    probe.call("panic_async", json!({})).unwrap_err();
    probe.send("no JSON, which is logged");
    assert_eq!(probe.next_line()["error"]["code"], -32700);
    assert_eq!(
        probe.call("echo", json!({"text": "alive"})).unwrap(),
        "alive"
    );
    assert!(probe.end().status.success());
}

#[test]
fn the_panic_message_is_shown_on_request() {
    let mut probe = Probe::with_variables(&[("PROBE_PANIC_DETAIL", "1")]);
    let error = probe.call("panic_plain", json!({})).unwrap_err();
    assert!(
        error.contains("panicked: secret path /etc/probe"),
        "{error}"
    );
}

#[test]
fn nothing_else_reaches_the_protocol() {
    let mut probe = Probe::start();
    let text = probe.call("noise", json!({})).unwrap();
    assert!(text.starts_with("noise made"), "{text}");
    assert_eq!(
        probe.call("read_input", json!({})).unwrap(),
        "read 0 and 0 bytes"
    );
    assert_eq!(
        probe.call("echo", json!({"text": "alive"})).unwrap(),
        "alive"
    );
    let ended = probe.end();
    for noise in [
        "noise from println",
        "noise from write",
        "noise from a child",
    ] {
        assert!(
            ended.stderr.contains(noise),
            "{noise} is not in {}",
            ended.stderr
        );
    }
    assert!(ended.unread.is_empty(), "{:?}", ended.unread);
}

#[test]
fn a_tool_past_its_own_time_limit_is_a_tool_error() {
    let mut probe = Probe::start();
    for tool in ["late", "late_plain", "late_unyielding"] {
        let error = probe.call(tool, json!({})).unwrap_err();
        assert!(
            error.contains("did not finish within its time limit of 50ms"),
            "{error}"
        );
    }
    // Nothing waits for a function that is past its time, so give it some.
    probe.call("sleep", json!({"ms": 500})).unwrap();
    let ended = probe.end();
    assert!(ended.status.success());
    assert!(
        ended.stderr.contains("late_plain noticed"),
        "{}",
        ended.stderr
    );
}

#[test]
fn tools_that_never_yield_hold_up_nothing_but_each_other() {
    let mut probe = Probe::start();
    let calls = thread::available_parallelism().unwrap().get() + 2;
    for id in 0..calls {
        probe.send(request(
            json!(id),
            "tools/call",
            json!({"name": "never_yield"}),
        ));
    }
    let pong = probe.request("ping", "ping", json!({}));
    assert_eq!(pong["result"], json!({}));
    assert_eq!(
        probe.call("echo_plain", json!({"text": "alive"})).unwrap(),
        "alive"
    );
    for id in 0..calls {
        let cancelled = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
                               "params": {"requestId": id}});
        probe.send(cancelled.to_string());
    }
    assert!(probe.end().status.success());
}

#[test]
fn the_end_of_input_is_noticed_while_nobody_reads_the_answers() {
    // Short lines with long answers: more than a pipe holds, for input that fits into one.
    assert!(end_unread(&"x\n".repeat(10_000)).success());
}

#[test]
fn cancellation_reaches_the_tool_and_is_not_answered() {
    let mut probe = Probe::start();
    probe.send(request(
        json!("c"),
        "tools/call",
        json!({"name": "wait_for_cancel"}),
    ));
    probe
        .send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"c"}}"#);
    assert_eq!(probe.call("echo", json!({"text": "next"})).unwrap(), "next");
    let ended = probe.end();
    assert!(
        ended.stderr.contains("the cancellation arrived"),
        "{}",
        ended.stderr
    );
    assert!(ended.unread.is_empty(), "{:?}", ended.unread);
}

#[test]
fn calls_in_flight_are_finished_at_the_end_of_input() {
    let mut probe = Probe::start();
    probe.send(request(
        json!(1),
        "tools/call",
        json!({"name": "sleep", "arguments": {"ms": 300}}),
    ));
    let ended = probe.end();
    assert!(ended.status.success());
    assert_eq!(ended.unread.len(), 1);
    assert!(ended.unread[0].contains("slept 300 ms"));
}

#[test]
fn a_call_without_end_does_not_keep_the_server_alive() {
    let mut probe = Probe::start();
    probe.send(request(
        json!(1),
        "tools/call",
        json!({"name": "sleep", "arguments": {"ms": 600_000}}),
    ));
    let begin = Instant::now();
    let ended = probe.end();
    assert!(ended.status.success());
    // The host kills after 5 s; this is no measurement but the rule that it must not come to that.
    assert!(begin.elapsed() < Duration::from_secs(20));
    assert!(
        ended.stderr.contains("did not end within"),
        "{}",
        ended.stderr
    );
}

#[test]
fn calls_run_side_by_side_and_answers_come_as_they_are_ready() {
    let mut probe = Probe::start();
    probe.send(request(
        json!(1),
        "tools/call",
        json!({"name": "sleep", "arguments": {"ms": 400}}),
    ));
    probe.send(request(
        json!(2),
        "tools/call",
        json!({"name": "echo", "arguments": {"text": "x"}}),
    ));
    assert_eq!(probe.next_line()["id"], 2);
    assert_eq!(probe.next_line()["id"], 1);
}

#[test]
fn a_tool_that_turns_slow_holds_nobody_up_for_long() {
    let mut probe = Probe::start();
    let block = |ms: u64| json!({"name": "block", "arguments": {"ms": ms}});
    // Quick calls earn the tool the thread that reads requests, and the first slow one loses it.
    for id in 0..30 {
        probe.request(id, "tools/call", block(0));
    }
    probe.request(30, "tools/call", block(50));
    probe.send(request(json!(31), "tools/call", block(600)));
    probe.send(request(
        json!(32),
        "tools/call",
        json!({"name": "echo", "arguments": {"text": "x"}}),
    ));
    assert_eq!(probe.next_line()["id"], 32);
    assert_eq!(probe.next_line()["id"], 31);
}

#[test]
fn a_tool_that_hangs_after_many_quick_calls_hangs_alone() {
    let mut probe = Probe::start();
    for id in 0..30 {
        probe.request(
            id,
            "tools/call",
            json!({"name": "hang", "arguments": {"is_hanging": false}}),
        );
    }
    // The first keeps the thread that reads, until that is relieved.
    for id in 30..33 {
        probe.send(request(
            json!(id),
            "tools/call",
            json!({"name": "hang", "arguments": {"is_hanging": true}}),
        ));
    }
    probe.send(request(json!(33), "tools/call", json!({"name": "release"})));
    let mut answered: Vec<_> = (30..34).map(|_| probe.next_line()["id"].as_u64()).collect();
    answered.sort();
    assert_eq!(answered, [Some(30), Some(31), Some(32), Some(33)]);
    assert!(probe.end().status.success());
}

#[test]
fn the_same_id_twice_at_once_is_refused() {
    let mut probe = Probe::start();
    let sleep = request(
        json!(1),
        "tools/call",
        json!({"name": "sleep", "arguments": {"ms": 500}}),
    );
    probe.send(&sleep);
    probe.send(&sleep);
    assert_eq!(probe.next_line()["error"]["code"], -32600);
    assert_eq!(text_of(&probe.next_line()).unwrap(), "slept 500 ms");
}

#[test]
fn an_answer_that_the_host_could_not_read_is_replaced() {
    let limit = ("ODEK_EXT_MAX_RESPONSE_BYTES", "100000");
    let mut probe = Probe::with_variables(&[limit, ("PROBE_KEEP_TEXT", "1")]);
    // {"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":""}]}} around the text.
    let around =
        r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":""}]}}"#.len();
    let longest = 99_999 - around;
    assert_eq!(
        probe.call("big", json!({"size": longest})).unwrap().len(),
        longest
    );
    let error = probe.call("big", json!({"size": longest + 1})).unwrap_err();
    assert!(
        error.contains("100000 bytes") && error.contains("at most 99999"),
        "{error}"
    );
    // Nor does an error that repeats a request make a line that is too long.
    let long = "x".repeat(200_000);
    let answer = probe.request(1, "tools/call", json!({"name": long}));
    assert_eq!(answer["error"]["code"], -32602);
    assert!(answer.to_string().len() < 100_000);
    let answer = probe.request(2, &long, json!({}));
    assert!(answer.to_string().len() < 100_000);
    probe.send(request(json!(long), "ping", json!({})));
    let answer = probe.next_line();
    assert_eq!(
        (&answer["id"], &answer["error"]["code"]),
        (&Value::Null, &json!(-32600))
    );
    let mut probe = Probe::with_variables(&[limit, ("PROBE_GUARDS", "off")]);
    assert_eq!(
        probe.call("big", json!({"size": 200_000})).unwrap().len(),
        200_000
    );
}

#[test]
fn structured_content_is_left_out_before_a_result_is_given_up() {
    let limit = ("ODEK_EXT_MAX_RESPONSE_BYTES", "100000");
    let mut probe = Probe::with_variables(&[limit, ("PROBE_KEEP_TEXT", "1")]);
    let call = |size: u64| json!({"name": "big_object", "arguments": {"size": size}});
    let small = probe.request(1, "tools/call", call(10));
    assert_eq!(
        small["result"]["structuredContent"],
        json!({"letters": "xxxxxxxxxx"})
    );
    let large = probe.request(2, "tools/call", call(60_000));
    assert!(
        large["result"].get("structuredContent").is_none(),
        "{large}"
    );
    assert_eq!(
        text_of(&large).unwrap().len(),
        60_000 + r#"{"letters":""}"#.len()
    );
}

#[test]
fn registration_errors_come_before_the_first_byte() {
    let probe = Probe::with_variables(&[("PROBE_REGISTER", "1")]);
    let ended = probe.end();
    assert_eq!(ended.status.code(), Some(1));
    assert!(ended.unread.is_empty(), "{:?}", ended.unread);
    for expected in ["for 3 reasons", "\"a b\"", "\"shell\"", "\"echo\""] {
        assert!(
            ended.stderr.contains(expected),
            "{expected} is not in {}",
            ended.stderr
        );
    }
}

#[test]
fn logs_go_to_stderr_without_colours_and_by_level() {
    let run = |level: &str| {
        let mut probe = Probe::with_variables(&[("ODEK_EXT_LOG", level)]);
        probe.send("nonsense");
        probe.next_line();
        probe.end().stderr
    };
    let usual = run("info");
    assert!(
        usual.contains("WARN") && usual.contains("a message was refused"),
        "{usual}"
    );
    assert!(!usual.contains('\x1b'), "{usual}");
    assert_eq!(run("off"), "");
    assert!(run("not=a=filter").contains("is not understood"));
    let misspelt = run("debgu");
    assert!(
        misspelt.contains("is not understood") && misspelt.contains("a message was refused"),
        "{misspelt}"
    );
}

#[test]
fn a_limit_that_is_no_number_is_complained_about() {
    let probe = Probe::with_variables(&[("ODEK_EXT_MAX_RESPONSE_BYTES", "10 MB")]);
    let ended = probe.end();
    assert!(
        ended.stderr.contains("no number of bytes above zero"),
        "{}",
        ended.stderr
    );
}

#[test]
fn describe_prints_the_tools_and_does_not_serve() {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_probe"))
        .arg("--describe")
        .output()
        .unwrap();
    assert!(output.status.success());
    let described: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&described["name"], &described["version"]),
        (&json!("probe"), &json!("1.2.3"))
    );
    let late = described["tools"]
        .as_array()
        .unwrap()
        .iter()
        .find(|tool| tool["name"] == "late")
        .unwrap();
    assert_eq!(late["timeoutMs"], 50);
    for hash in ["inputSchemaSha256", "descriptionSha256"] {
        assert_eq!(late[hash].as_str().unwrap().len(), 64);
    }
}
