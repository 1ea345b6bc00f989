//! The client against a real process, in good and in bad weather.
#![allow(clippy::unwrap_used, reason = "helpers of tests may fail as tests do")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use odek_contract::config::ServerConfig;
use odek_contract::names::ServerName;
use odek_contract::result::RequestState;
use odek_host::odek::{
    Arguments, CLOSE_GRACE, Client, ClientBuilder, CloseManner, ConnectError, DiscoverError,
    DiscoveryFinding, Explanation, ReadingEnd, RequestFailure, ServerExit, SkipReason, Stderr,
    Timeline, Verdict, WireEventKind,
};
use serde_json::{Value, json};
use tempfile::TempDir;

#[path = "support/script.rs"]
mod script;

use script::{Action, AtEnd, Script};

const SCRIPTED_SERVER: &str = env!("CARGO_BIN_EXE_odek-host-scripted-server");

/// A folder with a script in it, and the configuration of a server that follows the script.
struct Stage {
    folder: TempDir,
    config: ServerConfig,
}

impl Stage {
    fn new(script: &Script) -> Self {
        Self::configured(script, |config| config)
    }

    fn configured(script: &Script, adapt: impl FnOnce(ServerConfig) -> ServerConfig) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("script.json");
        std::fs::write(&path, serde_json::to_vec(script).unwrap()).unwrap();
        let config = ServerConfig::new(SCRIPTED_SERVER).args([path.display().to_string()]);
        Self {
            folder,
            config: adapt(config.timeout_seconds(20)),
        }
    }

    fn builder(&self) -> ClientBuilder<'_> {
        Client::builder(ServerName::new("srv").unwrap(), &self.config)
            .working_directory(self.folder.path())
    }

    fn connect(&self) -> Client {
        self.builder().connect().unwrap()
    }
}

fn soon() -> Instant {
    Instant::now() + Duration::from_millis(300)
}

fn is_running(process_id: u32) -> bool {
    Path::new(&format!("/proc/{process_id}")).exists()
}

fn text_of(client: &Client, tool: &str, arguments: impl Into<Arguments>) -> String {
    client.call(tool, arguments).unwrap().text
}

#[test]
fn the_server_receives_exactly_what_the_host_sends() {
    let stage = Stage::new(&Script::default().on("transcript", [Action::Transcript]));
    let client = stage.connect();
    client.discover().unwrap();
    client.call("t", "").unwrap();
    let transcript = text_of(&client, "transcript", json!({"b": "<&>", "a": 1.0}));
    let lines: Vec<String> = serde_json::from_str(&transcript).unwrap();
    assert_eq!(
        lines,
        [
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"odek","version":"dev"}}}"#,
            r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#,
            r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"t","arguments":null}}"#,
            r#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"transcript","arguments":{"a":1,"b":"\u003c\u0026\u003e"}}}"#,
        ]
    );
}

#[test]
fn the_timeline_tells_what_was_sent_received_and_decided() {
    let noise = [
        Action::line("starting up"),
        Action::line(r#"{"jsonrpc":"2.0","method":"notifications/message","params":{}}"#),
        Action::line(r#"{"jsonrpc":"2.0","id":7,"method":"roots/list"}"#),
        Action::text("fine"),
    ];
    let stage = Stage::new(&Script::default().on("t", noise));
    let timeline = Timeline::new();
    let client = stage.builder().trace(timeline.clone()).connect().unwrap();
    let exchange = client.exchange("t", "{}");
    assert_eq!(exchange.outcome.unwrap().text, "fine");
    assert_eq!(client.close().manner, CloseManner::EndedOnEof);

    let events = timeline.events();
    let times: Vec<_> = events.iter().map(|event| event.elapsed).collect();
    assert!(times.is_sorted());
    assert!(matches!(events[0].kind, WireEventKind::Spawned { .. }));
    let skipped: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.kind {
            WireEventKind::Received {
                verdict: Verdict::Skipped(reason),
                ..
            } => Some(reason),
            _ => None,
        })
        .collect();
    assert!(matches!(
        skipped[..],
        [
            SkipReason::NotJson { .. },
            SkipReason::Notification { .. },
            SkipReason::Request { .. }
        ]
    ));
    // What is no harmless notification is told with the call, too.
    assert!(matches!(
        exchange.explanations[..],
        [
            Explanation::Skipped {
                reason: SkipReason::NotJson { .. },
                ..
            },
            Explanation::Skipped {
                reason: SkipReason::Request { .. },
                ..
            }
        ]
    ));
    let answered = events.iter().filter(|event| {
        matches!(
            event.kind,
            WireEventKind::Received {
                verdict: Verdict::Answers(_),
                ..
            }
        )
    });
    assert_eq!(answered.count(), 2);
    assert_eq!(timeline.sent_lines().len(), 2);
    let ends = events.iter().map(|event| &event.kind);
    assert!(ends.clone().any(|kind| *kind == WireEventKind::InputClosed));
    assert!(
        ends.clone()
            .any(|kind| *kind == WireEventKind::Exited(ServerExit::Code(0)))
    );
}

#[test]
fn a_panicking_sink_does_no_harm() {
    let stage = Stage::new(&Script::default());
    let builder = stage
        .builder()
        .trace(|_| panic!("the sink of this test panics on purpose"));
    let client = builder.connect().unwrap();
    assert!(client.call("t", "{}").is_ok());
}

#[test]
fn sixty_four_callers_each_get_their_own_answer_out_of_order() {
    let stage = Stage::new(&Script::default().on("hold", [Action::Hold(64)]));
    let client = Arc::new(stage.connect());
    let callers: Vec<_> = (0..64)
        .map(|number| {
            let client = Arc::clone(&client);
            thread::spawn(move || text_of(&client, "hold", json!({ "number": number })))
        })
        .collect();
    for (number, caller) in callers.into_iter().enumerate() {
        let request: Value = serde_json::from_str(&caller.join().unwrap()).unwrap();
        assert_eq!(request["params"]["arguments"]["number"], number);
    }
}

#[test]
fn a_late_answer_is_dropped_and_the_next_call_works() {
    // The server keeps the first request until the second one arrives, and answers that one first.
    let stage = Stage::new(&Script::default().on("hold", [Action::Hold(2)]));
    let timeline = Timeline::new();
    let client = stage.builder().trace(timeline.clone()).connect().unwrap();
    let deadline = Instant::now() + Duration::from_secs(1);
    let late = client.exchange_until("hold", "{}", deadline);
    let failure = late.outcome.unwrap_err();
    assert_eq!(failure.reason(), "timeout");
    assert_eq!(
        failure.to_string(),
        "mcpclient srv: tools/call: MCP request outcome unknown after dispatch; verify remote \
         state before retrying: context deadline exceeded"
    );
    assert!(client.exit().is_none());
    let request: Value = serde_json::from_str(&text_of(&client, "hold", "{}")).unwrap();
    assert_eq!(request["id"], 3);
    let request: Value = serde_json::from_str(&text_of(&client, "t", "{}")).unwrap();
    assert_eq!(request["id"], 4);
    let dropped = timeline.events().into_iter().any(|event| {
        matches!(
            event.kind,
            WireEventKind::Received { verdict: Verdict::Skipped(SkipReason::TooLate { id }), .. }
                if id == late.id
        )
    });
    assert!(dropped);
}

#[test]
fn an_oversize_line_ends_the_reading_but_not_the_process() {
    let stage = Stage::configured(
        &Script::default().on("flood", [Action::Flood(100_001), Action::line("")]),
        |config| config.max_response_bytes(100_000),
    );
    let client = stage.connect();
    let failure = client.call("flood", "{}").unwrap_err();
    assert_eq!(failure.reason(), "line-too-long");
    assert_eq!(
        failure.to_string(),
        "mcpclient srv: tools/call: mcpclient srv: response line exceeded configured \
         max_response_bytes limit of 100000 bytes"
    );
    for _ in 0..2 {
        let later = client.exchange_until("t", "{}", soon());
        assert_eq!(later.outcome.unwrap_err().reason(), "timeout");
        assert!(matches!(
            later.explanations[..],
            [Explanation::ReadingEnded(ReadingEnd::LineTooLong {
                longest_line: 99_999,
                max_response_bytes: 100_000
            })]
        ));
    }
    assert!(client.exit().is_none());
    assert_eq!(client.close().manner, CloseManner::EndedOnEof);
}

#[test]
fn a_server_blocked_in_an_oversize_line_is_killed_at_the_end() {
    let stage = Stage::configured(
        &Script::default().on("flood", [Action::Flood(10_000_000)]),
        |config| config.max_response_bytes(100_000),
    );
    let client = stage.connect();
    assert_eq!(
        client.call("flood", "{}").unwrap_err().reason(),
        "line-too-long"
    );
    let report = client.close();
    assert_eq!(
        (report.manner, report.exit),
        (CloseManner::Killed, ServerExit::Signal(9))
    );
    assert!(!is_running(client.process_id()));
}

#[test]
fn an_endless_line_is_read_no_further_than_the_default_limit() {
    // Twice that limit.
    let stage = Stage::new(&Script::default().on("flood", [Action::Flood(20 << 20)]));
    let client = stage.connect();
    let failure = client.call("flood", "{}").unwrap_err();
    assert!(failure.to_string().ends_with("limit of 10485760 bytes"));
}

#[test]
fn a_server_that_ignores_the_end_of_its_input_is_killed_after_the_grace_period() {
    let stage = Stage::new(&Script::default().at_end(AtEnd::Ignore));
    let client = stage.connect();
    let report = client.close();
    assert_eq!(report.manner, CloseManner::Killed);
    assert_eq!(report.exit, ServerExit::Signal(9));
    assert!(report.waited >= CLOSE_GRACE);
    assert!(!is_running(client.process_id()));
    assert_eq!(client.close(), report);
}

#[test]
fn the_server_runs_in_the_process_group_of_the_host() {
    let group = |process: &str| {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
        // Behind the name in parentheses: state, parent, process group.
        let (_, fields) = stat.rsplit_once(')').unwrap();
        fields.split_whitespace().nth(2).unwrap().to_owned()
    };
    let stage = Stage::new(&Script::default());
    let client = stage.connect();
    assert_eq!(group(&client.process_id().to_string()), group("self"));
}

#[test]
fn dropping_the_client_ends_the_server() {
    let stage = Stage::new(&Script::default());
    let client = stage.connect();
    let process_id = client.process_id();
    assert!(is_running(process_id));
    drop(client);
    assert!(!is_running(process_id));
}

#[test]
fn calls_after_the_close_are_not_dispatched() {
    let stage = Stage::new(&Script::default());
    let client = stage.connect();
    client.close();
    let failure = client.call("t", "{}").unwrap_err();
    assert_eq!(
        failure.to_string(),
        "mcpclient srv: tools/call: MCP request not dispatched: connection closed before dispatch"
    );
}

#[test]
fn closing_fails_open_calls() {
    let script = Script::default()
        .on("silent", [])
        .on("transcript", [Action::Transcript]);
    let stage = Stage::new(&script);
    let client = stage.connect();
    thread::scope(|scope| {
        let call = scope.spawn(|| client.call("silent", "{}"));
        // The call is open once the server has seen it, and the server answers in order.
        while !text_of(&client, "transcript", "{}").contains("silent") {}
        client.close();
        assert_eq!(
            call.join().unwrap().unwrap_err().reason(),
            "connection-closed"
        );
    });
}

#[test]
fn a_server_that_exits_during_a_call_fails_it_at_once_and_later_ones_as_the_host_does() {
    let stage = Stage::new(&Script::default().on("exit", [Action::Exit(3)]));
    let client = stage.connect();
    let failure = client.call("exit", "{}").unwrap_err();
    assert_eq!(failure.reason(), "connection-closed");
    assert_eq!(
        failure.to_string(),
        "mcpclient srv: tools/call: MCP request outcome unknown after dispatch; verify remote \
         state before retrying: connection closed before response received"
    );
    // The next call waits out its time, since nobody tells it that its write failed.
    let next = client.exchange_until("t", "{}", Instant::now() + Duration::from_secs(1));
    assert_eq!(next.outcome.unwrap_err().reason(), "timeout");
    assert_eq!(
        next.explanations,
        [Explanation::ReadingEnded(ReadingEnd::OutputClosed)]
    );
    // The ones after that fail at once.
    for _ in 0..3 {
        assert_eq!(
            client.call("t", "{}").unwrap_err().to_string(),
            "mcpclient srv: tools/call: MCP request not dispatched: write: write |1: file already \
             closed"
        );
    }
    let report = client.close();
    assert_eq!(report.exit, ServerExit::Code(3));
    assert_eq!(report.manner, CloseManner::EndedBefore);
}

#[test]
fn an_answer_written_right_before_the_exit_is_read() {
    let whole = [Action::text("bye"), Action::Exit(0)];
    let unfinished = [
        Action::Partial(
            br#"{"id":2,"result":{"content":[{"type":"text","text":"no line feed"}]}}"#.to_vec(),
        ),
        Action::Exit(0),
    ];
    for (actions, expected) in [(whole, "bye"), (unfinished, "no line feed")] {
        let stage = Stage::new(&Script::default().on("t", actions));
        assert_eq!(text_of(&stage.connect(), "t", "{}"), expected);
    }
}

#[test]
fn a_line_without_a_line_feed_is_not_read_while_the_server_runs() {
    let answer = br#"{"id":2,"result":{"content":[]}}"#.to_vec();
    let stage = Stage::new(&Script::default().on("t", [Action::Partial(answer)]));
    let outcome = stage.connect().exchange_until("t", "{}", soon()).outcome;
    assert_eq!(outcome.unwrap_err().reason(), "timeout");
}

#[test]
fn a_process_that_inherited_the_pipes_does_not_keep_the_host_waiting() {
    let script = Script::default()
        .on("fork", [Action::Orphan])
        .on("exit", [Action::Exit(0)]);
    let stage = Stage::new(&script);
    let client = stage.connect();
    let orphan: i32 = text_of(&client, "fork", "{}").parse().unwrap();
    assert_eq!(
        client.call("exit", "{}").unwrap_err().reason(),
        "connection-closed"
    );
    assert_eq!(client.close().manner, CloseManner::EndedBefore);
    // Only the direct child is the host's business.
    let orphan = rustix::process::Pid::from_raw(orphan).unwrap();
    rustix::process::kill_process(orphan, rustix::process::Signal::KILL).unwrap();
}

#[test]
fn a_server_that_never_reads_holds_nobody_up() {
    let stage = Stage::new(&Script::default().at_start([Action::StopReading]));
    let client = stage.builder().spawn().unwrap();
    // Made before the time runs, since that takes a while.
    let big = Arguments::from(json!({ "text": "x".repeat(1 << 20) }));
    let stuck = client.exchange_until("t", big, Instant::now() + Duration::from_secs(1));
    assert_eq!(
        stuck.outcome.unwrap_err().to_string(),
        "mcpclient srv: tools/call: MCP request outcome unknown after dispatch; verify remote \
         state before retrying: context deadline exceeded"
    );
    assert_eq!(
        stuck.explanations,
        [Explanation::NotRead(RequestState::Dispatched)]
    );
    // More than the queue holds, all at once.
    thread::scope(|scope| {
        for _ in 0..40 {
            scope.spawn(|| {
                let exchange = client.exchange_until("t", "{}", soon());
                assert_eq!(
                    exchange.outcome.unwrap_err().to_string(),
                    "mcpclient srv: tools/call: MCP request not dispatched: context deadline \
                     exceeded"
                );
                let reason = Explanation::NotRead(RequestState::NotDispatched);
                assert_eq!(exchange.explanations, [reason]);
            });
        }
    });
    assert_eq!(client.close().manner, CloseManner::Killed);
    assert!(!is_running(client.process_id()));
}

#[test]
fn a_server_that_reads_again_gets_the_rest_of_the_request_and_no_given_up_ones() {
    let script = Script::default().at_start([Action::Sleep { milliseconds: 4000 }]);
    let stage = Stage::new(&script);
    let timeline = Timeline::new();
    let client = stage.builder().trace(timeline.clone()).spawn().unwrap();
    // Made before the time runs, since that takes a while.
    let big = Arguments::from(json!({ "text": "x".repeat(1 << 20) }));
    let stuck = client.exchange_until("t", big, Instant::now() + Duration::from_secs(1));
    assert_eq!(stuck.outcome.unwrap_err().reason(), "timeout");
    let given_up = client.exchange_until("t", "{}", soon());
    assert!(given_up.outcome.is_err());
    let request: Value = serde_json::from_str(&text_of(&client, "t", "{}")).unwrap();
    assert_eq!(request["id"], 3);
    let never_sent = WireEventKind::NeverSent { id: given_up.id };
    assert!(
        timeline
            .events()
            .iter()
            .any(|event| event.kind == never_sent)
    );
    assert_eq!(timeline.sent_lines().len(), 2);
}

#[test]
fn a_server_that_closes_its_input_lets_the_first_call_time_out() {
    let script = Script::default()
        .on("deaf", [Action::CloseInput, Action::Echo])
        .at_end(AtEnd::Ignore);
    let stage = Stage::new(&script);
    let client = stage.connect();
    client.call("deaf", "{}").unwrap();
    let deadline = Instant::now() + Duration::from_secs(1);
    let first = client
        .exchange_until("t", "{}", deadline)
        .outcome
        .unwrap_err();
    assert_eq!(first.reason(), "timeout");
    assert_eq!(
        client.call("t", "{}").unwrap_err().to_string(),
        "mcpclient srv: tools/call: MCP request not dispatched: write: write |1: broken pipe"
    );
    assert_eq!(client.close().manner, CloseManner::Killed);
}

#[test]
fn a_server_that_closes_its_output_fails_open_calls_and_lives_on() {
    let stage = Stage::new(&Script::default().on("mute", [Action::CloseOutput]));
    let client = stage.connect();
    assert_eq!(
        client.call("mute", "{}").unwrap_err().reason(),
        "connection-closed"
    );
    assert!(client.exit().is_none());
    let later = client.exchange_until("t", "{}", soon());
    assert_eq!(later.outcome.unwrap_err().reason(), "timeout");
    assert_eq!(client.close().manner, CloseManner::EndedOnEof);
}

#[test]
fn a_command_is_found_in_the_search_path_of_the_host() {
    let stage = Stage::new(&Script::default().on("env", [Action::Environment]));
    let server = Path::new(SCRIPTED_SERVER);
    let name = server.file_name().unwrap().to_str().unwrap();
    let folder = server.parent().unwrap().to_str().unwrap();
    let mut config = stage.config.clone();
    config.command = name.to_owned();
    let server = ServerName::new("srv").unwrap();
    let parent = [("PATH", folder), ("GITHUB_TOKEN", "x"), ("HOME", "/h")];
    let client = Client::builder(server.clone(), &config)
        .working_directory(stage.folder.path())
        .parent_environment(parent)
        .connect()
        .unwrap();
    let environment: Value = serde_json::from_str(&text_of(&client, "env", "{}")).unwrap();
    assert_eq!(environment, json!({ "PATH": folder, "HOME": "/h" }));

    let without_path = Client::builder(server, &config).parent_environment([("HOME", "/h")]);
    let error = without_path.connect().unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("mcpclient srv: start: exec: \"{name}\": executable file not found in $PATH")
    );
}

#[test]
fn a_relative_command_starts_in_the_working_directory() {
    let stage = Stage::new(&Script::default());
    std::os::unix::fs::symlink(SCRIPTED_SERVER, stage.folder.path().join("server")).unwrap();
    let mut config = stage.config.clone();
    config.command = "./server".to_owned();
    let server = ServerName::new("srv").unwrap();
    let folder = stage.folder.path();
    let builder = Client::builder(server.clone(), &config).working_directory(folder);
    assert!(builder.connect().is_ok());
    config.command = "./nothing".to_owned();
    let builder = Client::builder(server, &config).working_directory(folder);
    assert_eq!(
        builder.connect().unwrap_err().to_string(),
        "mcpclient srv: start: fork/exec ./nothing: no such file or directory"
    );
}

#[test]
fn a_missing_working_directory_is_named() {
    let stage = Stage::new(&Script::default());
    let missing = stage.folder.path().join("missing");
    let error = stage
        .builder()
        .working_directory(&missing)
        .connect()
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "working directory {}: no such file or directory",
            missing.display()
        )
    );
}

#[test]
fn an_error_to_initialize_fails_the_connection() {
    let refusal = r#"{"jsonrpc":"2.0","id":${ID},"error":{"code":-32600,"message":"no"}}"#;
    let stage = Stage::new(&Script::default().on("initialize", [Action::line(refusal)]));
    let error = stage.builder().connect().unwrap_err();
    assert_eq!(
        error.to_string(),
        "mcpclient srv: initialize: MCP error -32600: no"
    );
    assert!(matches!(
        error,
        ConnectError::Initialize {
            failure: RequestFailure::Rpc { code: -32600, .. },
            ..
        }
    ));
}

#[test]
fn any_result_of_initialize_will_do() {
    for result in ["null", "7", r#"{"protocolVersion":"1999-01-01"}"#] {
        let script = Script::default().on("initialize", [Action::Result(result.to_owned())]);
        assert!(Stage::new(&script).builder().connect().is_ok(), "{result}");
    }
}

#[test]
fn a_disabled_server_is_not_started() {
    let config = ServerConfig::from_json(br#"{"command":"/nowhere","enabled":false}"#).unwrap();
    let builder = Client::builder(ServerName::new("srv").unwrap(), &config);
    assert!(matches!(
        builder.connect(),
        Err(ConnectError::Disabled { .. })
    ));
}

#[test]
fn an_entry_with_a_url_is_refused_by_name() {
    let config = ServerConfig::from_json(br#"{"url":"https://example.test/mcp"}"#).unwrap();
    let builder = Client::builder(ServerName::new("srv").unwrap(), &config);
    assert!(matches!(
        builder.connect(),
        Err(ConnectError::UrlTransport { .. })
    ));
}

#[test]
fn discovery_says_what_the_registry_will_do() {
    let list = json!({
        "tools": [
            { "name": "ok", "description": "Fine.", "inputSchema": { "type": "object" } },
            { "name": "shell" },
            { "name": "ok", "inputSchema": 5 },
        ],
        "nextCursor": "more",
    });
    let script = Script::default().on("tools/list", [Action::Result(list.to_string())]);
    let discovery = Stage::new(&script).connect().discover().unwrap();
    let names: Vec<_> = discovery
        .tools
        .iter()
        .map(|tool| tool.name.as_str())
        .collect();
    assert_eq!(names, ["ok", "shell", "ok"]);
    assert_eq!(discovery.tools[0].description, "Fine.");
    assert_eq!(
        discovery.tools[0].input_schema,
        Some(json!({ "type": "object" }))
    );
    assert_eq!(discovery.tools[1].input_schema, None);
    let findings: BTreeSet<_> = discovery
        .findings
        .iter()
        .map(|finding| match finding {
            DiscoveryFinding::ReservedName { .. } => "reserved",
            DiscoveryFinding::DuplicateName { .. } => "duplicate",
            DiscoveryFinding::MorePages => "pages",
            _ => "other",
        })
        .collect();
    assert_eq!(findings, BTreeSet::from(["reserved", "duplicate", "pages"]));
}

#[test]
fn a_tool_list_of_another_type_is_refused() {
    for (result, message) in [
        ("[]", "mcpclient srv: parse tools/list: "),
        (r#"{"tools":{}}"#, "mcpclient srv: parse tools/list: "),
    ] {
        let script = Script::default().on("tools/list", [Action::Result(result.to_owned())]);
        let error = Stage::new(&script).connect().discover().unwrap_err();
        assert!(matches!(error, DiscoverError::Parse { .. }));
        assert!(error.to_string().starts_with(message), "{error}");
    }
    for empty in ["null", "{}", r#"{"tools":null}"#] {
        let script = Script::default().on("tools/list", [Action::Result(empty.to_owned())]);
        assert!(
            Stage::new(&script)
                .connect()
                .discover()
                .unwrap()
                .tools
                .is_empty()
        );
    }
}

#[test]
fn standard_error_can_be_captured() {
    let complaint = [Action::Complain("on fire\n".to_owned()), Action::Exit(1)];
    let stage = Stage::new(&Script::default().on("t", complaint));
    let client = stage.builder().stderr(Stderr::Capture).connect().unwrap();
    assert_eq!(
        client.call("t", "{}").unwrap_err().reason(),
        "connection-closed"
    );
    client.close();
    assert_eq!(client.captured_stderr().as_deref(), Some("on fire\n"));
}

#[test]
fn a_string_id_is_explained_when_the_call_times_out() {
    let answer = r#"{"jsonrpc":"2.0","id":"${ID}","result":{"content":[]}}"#;
    let stage = Stage::new(&Script::default().on("t", [Action::line(answer)]));
    let exchange = stage.connect().exchange_until("t", "{}", soon());
    assert_eq!(exchange.outcome.unwrap_err().reason(), "timeout");
    assert!(matches!(
        &exchange.explanations[..],
        [Explanation::Skipped { reason: SkipReason::IdNotInteger { literal }, .. }]
            if literal == "\"2\""
    ));
}
