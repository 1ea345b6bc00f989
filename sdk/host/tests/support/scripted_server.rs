//! An MCP server that does what a script says, for the tests of `odek-host`.
//!
//! `odek-host-scripted-server SCRIPT` reads the script, a JSON file, and then answers requests on
//! standard input. Without a script, or with `--serve` as some vectors have it, every request gets
//! a plain answer. It knows nothing of the host and shares only the script's types with the tests.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;
use std::{env, fs, process, thread};

use serde_json::{Value, json};

mod script;

use script::{Action, AtEnd, Script};

/// How long a server that is told to hang does so. Long enough to be killed first, and short enough
/// not to stay behind when a test itself is killed.
const HANG: Duration = Duration::from_secs(60);

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // A host that went away is no failure of the script.
            let _ = writeln!(io::stderr(), "scripted server: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> io::Result<()> {
    let script = match env::args_os()
        .nth(1)
        .filter(|argument| argument != "--serve")
    {
        Some(path) => serde_json::from_slice(&fs::read(path)?)?,
        None => Script::default(),
    };
    let mut server = Server {
        script,
        transcript: Vec::new(),
        held: Vec::new(),
    };
    server.act(&server.script.at_start.clone(), &Value::Null)?;
    for line in io::stdin().lock().lines() {
        server.answer(line?)?;
    }
    if server.script.at_end == AtEnd::Ignore {
        thread::sleep(HANG);
    }
    Ok(())
}

struct Server {
    script: Script,
    transcript: Vec<String>,
    held: Vec<(Value, String)>,
}

impl Server {
    fn answer(&mut self, line: String) -> io::Result<()> {
        let request: Value = serde_json::from_str(&line)?;
        self.transcript.push(line);
        let tool = request["params"]["name"].as_str().unwrap_or_default();
        let method = request["method"].as_str().unwrap_or_default();
        let on = &self.script.on;
        let actions = on.get(tool).or_else(|| on.get(method)).cloned();
        let actions = actions.unwrap_or_else(|| vec![plain_answer(method)]);
        self.act(&actions, &request["id"])
    }

    fn act(&mut self, actions: &[Action], id: &Value) -> io::Result<()> {
        let last = self.transcript.last().cloned().unwrap_or_default();
        for action in actions {
            match action {
                Action::Line(bytes) => write_line(bytes, id)?,
                Action::Partial(bytes) => write(bytes)?,
                Action::Result(result) => {
                    let line = format!(r#"{{"jsonrpc":"2.0","id":${{ID}},"result":{result}}}"#);
                    write_line(line.as_bytes(), id)?;
                }
                Action::Echo => write_text(&last, id)?,
                Action::Transcript => write_text(&json!(self.transcript).to_string(), id)?,
                Action::Environment => write_text(&json!(environment()?).to_string(), id)?,
                Action::Hold(count) => {
                    self.held.push((id.clone(), last.clone()));
                    if self.held.len() >= *count {
                        for (id, line) in self.held.drain(..).rev() {
                            write_text(&line, &id)?;
                        }
                    }
                }
                Action::Flood(count) => write(&vec![b'x'; *count])?,
                Action::Sleep { milliseconds } => {
                    thread::sleep(Duration::from_millis(*milliseconds));
                }
                Action::Complain(text) => io::stderr().write_all(text.as_bytes())?,
                Action::CloseOutput => rustix::stdio::dup2_stdout(fs::File::open("/dev/null")?)?,
                Action::CloseInput => rustix::stdio::dup2_stdin(fs::File::open("/dev/null")?)?,
                Action::Orphan => {
                    let orphan = Command::new("sleep")
                        .arg("20")
                        .stderr(Stdio::null())
                        .spawn()?;
                    write_text(&orphan.id().to_string(), id)?;
                }
                Action::StopReading => thread::sleep(HANG),
                Action::Exit(code) => process::exit(*code),
            }
        }
        Ok(())
    }
}

fn plain_answer(method: &str) -> Action {
    match method {
        "initialize" => Action::Result(
            r#"{"protocolVersion":"2025-03-26","capabilities":{"tools":{}},"serverInfo":{"name":"scripted","version":"1"}}"#
                .to_owned(),
        ),
        "tools/list" => {
            Action::Result(r#"{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}"#.to_owned())
        }
        _ => Action::Echo,
    }
}

fn write_text(text: &str, id: &Value) -> io::Result<()> {
    let answer = json!({
        "jsonrpc": "2.0",
        "id": id,
        "result": { "content": [{ "type": "text", "text": text }] },
    });
    write_line(answer.to_string().as_bytes(), id)
}

fn write_line(bytes: &[u8], id: &Value) -> io::Result<()> {
    let mut line = Vec::with_capacity(bytes.len() + 1);
    let id = id.to_string();
    let mut rest = bytes;
    while let Some(at) = rest.windows(5).position(|window| window == b"${ID}") {
        line.extend_from_slice(&rest[..at]);
        line.extend_from_slice(id.as_bytes());
        rest = &rest[at + 5..];
    }
    line.extend_from_slice(rest);
    line.push(b'\n');
    write(&line)
}

fn write(bytes: &[u8]) -> io::Result<()> {
    let mut output = io::stdout().lock();
    output.write_all(bytes)?;
    output.flush()
}

/// The environment with every entry that the process was given, odd names included.
fn environment() -> io::Result<BTreeMap<String, String>> {
    let bytes = fs::read("/proc/self/environ")?;
    let entries = bytes
        .split(|&byte| byte == 0)
        .filter(|entry| !entry.is_empty());
    Ok(entries
        .map(|entry| {
            let entry = String::from_utf8_lossy(entry);
            let (name, value) = entry.split_once('=').unwrap_or((&entry, ""));
            (name.to_owned(), value.to_owned())
        })
        .collect())
}
