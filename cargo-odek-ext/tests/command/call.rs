//! `call` with servers that are written down in a configuration, in any language.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use rustix::process::{Pid, test_kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{Run, place, run, script};

/// A directory with a configuration and a server that answers from a list.
struct Server {
    _guard: TempDir,
    place: PathBuf,
}

impl Server {
    /// `results` holds the result of each tool.
    fn new(results: &[(&str, Value)]) -> Server {
        let tools: Vec<Value> = results
            .iter()
            .map(|(name, _)| json!({"name": name}))
            .collect();
        let mut cases = String::new();
        for (name, result) in results {
            let line = json!({"jsonrpc": "2.0", "id": 3, "result": result}).to_string();
            assert!(!line.contains('\''));
            cases += &format!("*'\"name\":\"{name}\"'*) printf '%s\\n' '{line}' ;;\n");
        }
        let list = json!({"jsonrpc": "2.0", "id": 2, "result": {"tools": tools}});
        Server::of_script(&format!(
            "while IFS= read -r line; do\ncase $line in\n\
             *'\"initialize\"'*) echo '{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{{}}}}' ;;\n\
             *'\"tools/list\"'*) printf '%s\\n' '{list}' ;;\n{cases}esac\ndone"
        ))
    }

    fn of_script(text: &str) -> Server {
        let (guard, place) = place();
        script(&place.join("server"), text);
        let config = json!({"mcp_servers": {"any": {
            "command": "./server", "artifact_roots": ["files"], "timeout_seconds": 5
        }}});
        fs::write(place.join("config.json"), config.to_string()).unwrap();
        Server {
            _guard: guard,
            place,
        }
    }

    #[track_caller]
    fn call(&self, arguments: &[&str]) -> Run {
        let all = ["call", "--config", "config.json"];
        run(&self.place, all.iter().chain(arguments))
    }
}

fn text(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

#[test]
fn the_text_is_printed_byte_for_byte() {
    for content in ["hello", "two\nlines\n", "\u{1b}[31m & <b>", ""] {
        let server = Server::new(&[("greet", text(content))]);
        let run = server.call(&["greet"]).expect_code(0);
        assert_eq!(run.stdout, content);
    }
    let server = Server::new(&[("greet", text("- artifact x"))]);
    let run = server.call(&["greet"]).expect_code(0);
    assert_eq!(run.stdout, " - artifact x");
}

#[test]
fn what_the_host_does_in_silence_is_told() {
    let result = json!({
        "content": [{"type": "text", "text": "seen"}, {"type": "image", "data": "", "mimeType": "a/b"}],
        "structuredContent": {"a": 1}
    });
    let server = Server::new(&[("mixed", result)]);
    let run = server.call(&["mixed"]).expect_code(0);
    assert_eq!(run.stdout, "seen");
    assert_eq!(run.stderr.matches("note: ").count(), 2, "{run:?}");
    assert!(run.stderr.contains("image"), "{run:?}");
    assert!(run.stderr.contains("structuredContent"), "{run:?}");
}

#[test]
fn arguments_are_sent_as_odek_sends_them() {
    let server = Server::new(&[("echo", text("ok"))]);
    fs::write(
        server.place.join("arguments.json"),
        "{\"b\": 1.0, \"a\": [2]}",
    )
    .unwrap();
    for (words, expected) in [
        (&[][..], json!({})),
        (
            &["path=a b", "top=3", "deep={\"z\":null}"],
            json!({"path": "a b", "top": 3, "deep": {"z": null}}),
        ),
        (
            &["{\"n\": 12345678901234567890}"],
            json!({"n": 12_345_678_901_234_567_000_u64}),
        ),
        (&["@arguments.json"], json!({"a": [2], "b": 1})),
        (&["null"], Value::Null),
    ] {
        let mut arguments = vec!["--format", "json", "echo"];
        arguments.extend(words);
        let run = server.call(&arguments).expect_code(0);
        assert_eq!(run.json()["arguments"], expected);
    }
}

#[test]
fn arguments_of_no_form_are_refused_before_anything_starts() {
    let server = Server::of_script("touch started");
    for (words, message) in [
        (
            &["report.xml"][..],
            "`report.xml` is neither `key=value` nor JSON",
        ),
        (&["{\"a\": }"], "not valid JSON"),
        (&["a=1", "a=2"], "for the second time"),
        (&["@none.json"], "cannot read `none.json`"),
    ] {
        let mut arguments = vec!["echo"];
        arguments.extend(words);
        let run = server.call(&arguments);
        assert!(matches!(run.code, Some(2 | 3)), "{run:?}");
        assert!(run.stderr.contains(message), "{run:?}");
    }
    assert!(!server.place.join("started").exists());
}

#[test]
fn a_failure_of_the_tool_is_the_hosts_message() {
    let result = json!({"isError": true, "content": [{"type": "text", "text": "no such file"}]});
    let server = Server::new(&[("read", result)]);
    let run = server.call(&["read"]).expect_code(1);
    assert_eq!(run.stdout, "");
    let message = "mcpclient any: tool read returned error: no such file";
    assert_eq!(run.stderr, format!("error: {message}\n"));
    let run = server.call(&["read", "--format", "json"]).expect_code(1);
    assert_eq!(run.json()["error"], message);
    assert_eq!(run.json()["text"], Value::Null);
    let run = server.call(&["read", "--as-model"]).expect_code(1);
    assert!(
        run.stdout.starts_with("error: <untrusted_content_"),
        "{run:?}"
    );
}

#[test]
fn an_artifact_that_odek_refuses_fails_the_call() {
    let envelope = json!({
        "schema": "odek.tool-result/v1", "text": "see the file",
        "artifacts": [{"schema": "odek.artifact-ref/v1", "id": "a", "media_type": "text/plain",
                       "uri": "file:///etc/hostname"}]
    });
    let server = Server::new(&[("attach", text(&envelope.to_string()))]);
    let run = server.call(&["attach"]).expect_code(1);
    assert!(run.stderr.contains("artifact ref rejected"), "{run:?}");
}

#[test]
fn artifacts_are_listed_with_their_files() {
    let server = Server::of_script("");
    let files = server.place.join("files");
    fs::create_dir(&files).unwrap();
    fs::write(files.join("a.txt"), "content").unwrap();
    let envelope = json!({
        "schema": "odek.tool-result/v1", "text": "see the file",
        "artifacts": [{"schema": "odek.artifact-ref/v1", "id": "a", "media_type": "text/plain",
                       "uri": format!("file://{}", files.join("a.txt").display())}]
    });
    let other = Server::new(&[("attach", text(&envelope.to_string()))]);
    fs::rename(other.place.join("server"), server.place.join("server")).unwrap();
    let run = server.call(&["attach", "--format", "json"]).expect_code(0);
    let document = run.json();
    assert_eq!(
        document["text"],
        "see the file\n- artifact \"a\" (text/plain)"
    );
    assert_eq!(document["artifacts"][0]["size_bytes"], 7);
    assert_eq!(
        document["artifacts"][0]["path"],
        files.join("a.txt").to_str().unwrap()
    );
}

#[test]
fn a_result_that_the_loop_shortens_is_warned_about() {
    let long = "0123456789".repeat(500);
    let server = Server::new(&[("long", text(&long))]);
    let run = server.call(&["long"]).expect_code(0);
    assert_eq!(run.stdout, long);
    assert!(
        run.stderr
            .contains("warning: the model will not see this result whole")
    );
    let run = server.call(&["long", "--as-model"]).expect_code(0);
    assert_eq!(run.stderr, "");
    assert!(
        run.stdout
            .starts_with("<untrusted_content_0000000000000000 source=\"mcp:any:long\">\n0123")
    );
    assert!(
        run.stdout
            .ends_with("89\n</untrusted_content_0000000000000000>")
    );
    assert!(run.stdout.len() < 4300);
    let run = server.call(&["long", "--format", "json"]).expect_code(0);
    assert_eq!(run.json()["shortened"], true);
}

#[test]
fn a_result_that_just_fits_is_not_warned_about() {
    let wrapping = "<untrusted_content_0000000000000000 source=\"mcp:any:long\">\n\
                    \n</untrusted_content_0000000000000000>";
    let fitting = "x".repeat(4096 - wrapping.len());
    let server = Server::new(&[("long", text(&fitting))]);
    let run = server.call(&["long", "--format", "json"]).expect_code(0);
    assert_eq!(run.stderr, "");
    assert_eq!(run.json()["shortened"], false);
    let server = Server::new(&[("long", text(&(fitting + "x")))]);
    let run = server.call(&["long"]).expect_code(0);
    assert!(run.stderr.contains("4097 bytes"), "{run:?}");
}

#[test]
fn the_wire_is_shown_byte_for_byte() {
    let server = Server::of_script(
        "read -r line; printf '\\033[1mhello\\033[0m\\n'; echo '{\"id\":1,\"error\":{}}'; cat > /dev/null",
    );
    let run = server.call(&["x", "--raw"]).expect_code(1);
    // A server may write before the request has been seen to be sent, so the line may come first.
    let line = "< \u{1b}[1mhello\u{1b}[0m";
    assert!(run.stdout.lines().any(|shown| shown == line), "{run:?}");
}

#[test]
fn the_end_of_a_server_is_told_where_it_explains_a_failure() {
    let server = Server::of_script("read -r line; exit 7");
    let run = server.call(&["x"]).expect_code(1);
    assert!(
        run.stderr
            .contains("note: the server process has ended: exit code 7"),
        "{run:?}"
    );
}

#[test]
fn an_interrupt_ends_the_server() {
    // A server that does not look at its standard input is given 5 s; the three share them.
    thread::scope(|scope| {
        for phase in ["initialize", "tools/list", "tools/call"] {
            scope.spawn(move || check_interrupt_during(phase));
        }
    });
}

fn check_interrupt_during(phase: &str) {
    let server = Server::of_script(&format!(
        "while IFS= read -r line; do\ncase $line in\n\
         *'\"{phase}\"'*) echo $$ > pid; kill -TERM $PPID; while :; do sleep 0.1; done ;;\n\
         *'\"initialize\"'*) echo '{{\"id\":1,\"result\":{{}}}}' ;;\n\
         *) echo '{{\"id\":2,\"result\":{{\"tools\":[{{\"name\":\"x\"}}]}}}}' ;;\nesac\ndone"
    ));
    let run = server.call(&["x"]).expect_code(130);
    assert_eq!(run.stderr, "error: interrupted\n");
    let pid = fs::read_to_string(server.place.join("pid")).unwrap();
    let pid = Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
    assert!(test_kill_process(pid).is_err(), "the server lives");
}

#[test]
fn the_wire_is_shown_on_request() {
    let server = Server::new(&[("greet", text("hello"))]);
    let run = server.call(&["greet", "--raw"]).expect_code(0);
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert_eq!(lines.len(), 6, "{run:?}");
    assert!(lines[0].starts_with("> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\""));
    assert_eq!(
        lines[2],
        "> {\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}"
    );
    assert_eq!(
        lines[4],
        "> {\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\
         \"params\":{\"name\":\"greet\",\"arguments\":{}}}"
    );
    assert!(lines[5].starts_with("< {"));
    let run = server
        .call(&["greet", "--raw", "--format", "json"])
        .expect_code(0);
    assert_eq!(run.json()["wire"].as_array().unwrap().len(), 6);
    assert_eq!(run.json()["wire"][5]["from"], "server");
}

#[test]
fn a_misspelt_tool_gets_a_suggestion() {
    let server = Server::new(&[("summarize", text("")), ("details", text(""))]);
    let run = server.call(&["sumarise"]).expect_code(2);
    insta::assert_snapshot!(run.stderr, @r"
    error: the server `any` has no tool named `sumarise`
    hint: did you mean `summarize`? There are: summarize, details
    ");
    let run = server.call(&["x"]).expect_code(2);
    assert!(
        run.stderr.contains("hint: there are: summarize, details"),
        "{run:?}"
    );
}

#[test]
fn a_server_that_odek_would_not_take_falls_short() {
    let bad_name = Server::new(&[("a b", text(""))]);
    let run = bad_name.call(&["a b"]).expect_code(1);
    assert!(run.stderr.contains("invalid character"), "{run:?}");
    let refuses = Server::of_script(
        "read -r line; echo '{\"id\":1,\"error\":{\"code\":-1,\"message\":\"no\"}}'; cat > /dev/null",
    );
    let run = refuses.call(&["x"]).expect_code(1);
    assert!(run.stderr.contains("initialize"), "{run:?}");
    let exits = Server::of_script("exit 7");
    exits.call(&["x"]).expect_code(1);
}

#[test]
fn lines_that_the_host_skips_are_explained() {
    let server = Server::of_script(
        "while IFS= read -r line; do\ncase $line in\n\
         *'\"initialize\"'*) echo '{\"id\":1,\"result\":{}}' ;;\n\
         *'\"tools/list\"'*) echo '{\"id\":2,\"result\":{\"tools\":[{\"name\":\"x\"}]}}' ;;\n\
         *) echo 'debug: working'; echo '{\"id\":3,\"result\":null}' ;;\nesac\ndone",
    );
    let run = server.call(&["x"]).expect_code(0);
    assert!(run.stderr.contains("debug: working"), "{run:?}");
}

#[test]
fn one_of_several_servers_is_chosen_by_name() {
    let server = Server::new(&[("greet", text("hello"))]);
    let config = json!({"mcp_servers": {
        "first": {"command": "./server"}, "second": {"command": "no-such-program"},
        "off": {"command": "./server", "enabled": false}
    }});
    fs::write(server.place.join("config.json"), config.to_string()).unwrap();
    let run = server.call(&["greet"]).expect_code(2);
    assert!(run.stderr.contains("first, off, second"), "{run:?}");
    let run = server.call(&["greet", "--server", "first"]).expect_code(0);
    assert_eq!(run.stdout, "hello");
    let run = server.call(&["greet", "--server", "second"]).expect_code(3);
    assert!(run.stderr.contains("no-such-program"), "{run:?}");
    server.call(&["greet", "--server", "off"]).expect_code(3);
    let run = server.call(&["greet", "--server", "frist"]).expect_code(2);
    assert!(run.stderr.contains("did you mean `first`?"), "{run:?}");
}

#[test]
fn configurations_that_cannot_be_used_are_named() {
    let (_guard, place) = place();
    let call = |config: &Path| run(&place, ["call", "x", "--config", config.to_str().unwrap()]);
    let path = place.join("config.json");
    call(&path).expect_code(3);
    for (content, message) in [
        ("{", "cannot be used as odek's configuration"),
        ("{}", "names no server"),
        (
            "{\"mcp_servers\": {\"a b\": {\"command\": \"x\"}}}",
            "invalid character",
        ),
        (
            "{\"mcp_servers\": {\"a\": {\"command\": 3}}}",
            "cannot be used",
        ),
        ("{\"mcp_servers\": {\"a\": {}}}", "command"),
    ] {
        fs::write(&path, content).unwrap();
        let run = call(&path).expect_code(3);
        assert!(run.stderr.contains(message), "{run:?}");
    }
}

#[test]
fn a_place_without_a_project_is_named() {
    let (_guard, place) = place();
    let run = run(&place, ["call", "x"]).expect_code(2);
    assert!(run.stderr.contains("holds a `Cargo.toml`"), "{run:?}");
}

#[test]
fn projects_that_do_not_build_or_have_no_single_binary() {
    let (_guard, place) = place();
    let manifest = "[package]\nname = \"logs\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";
    fs::write(place.join("Cargo.toml"), manifest).unwrap();
    fs::create_dir_all(place.join("src/bin")).unwrap();
    fs::write(place.join("src/lib.rs"), "").unwrap();
    let call = || run(&place, ["call", "x"]);
    assert!(call().expect_code(2).stderr.contains("has no binary"));
    let workspace = place.join("workspace");
    fs::create_dir(&workspace).unwrap();
    fs::write(workspace.join("Cargo.toml"), "[workspace]\n").unwrap();
    let at_its_top = run(&workspace, ["call", "x"]).expect_code(2);
    assert!(
        at_its_top.stderr.contains("a member with `--project`"),
        "{at_its_top:?}"
    );
    for name in ["one", "two"] {
        fs::write(place.join(format!("src/bin/{name}.rs")), "fn main() {}").unwrap();
    }
    let several = call().expect_code(2);
    assert!(several.stderr.contains("several binaries: "), "{several:?}");
    assert!(several.stderr.contains("--bin NAME"), "{several:?}");
    // One is chosen, and then there is no configuration to start it with.
    let chosen = run(&place, ["call", "x", "--bin", "one"]).expect_code(3);
    assert!(chosen.stderr.contains("odek.json"), "{chosen:?}");
    assert!(chosen.stderr.contains("hint: write one"), "{chosen:?}");
    fs::write(place.join("src/lib.rs"), "mistake").unwrap();
    let run = call().expect_code(4);
    assert!(run.stderr.contains("does not build"), "{run:?}");
    assert_eq!(run.stdout, "");
}
