//! The probe server, driven line by line.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
    sync::mpsc::{self, Receiver},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tempfile::TempDir;

/// Long enough for a loaded machine; reached only when something is wrong.
const PATIENCE: Duration = Duration::from_secs(30);

pub struct Probe {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    stderr: JoinHandle<String>,
    _artifacts: TempDir,
}

/// What is left when the server has ended.
pub struct Ended {
    pub status: ExitStatus,
    pub stderr: String,
    pub unread: Vec<String>,
}

impl Probe {
    pub fn start() -> Self {
        Self::with_variables(&[])
    }

    pub fn with_variables(variables: &[(&str, &str)]) -> Self {
        Self::spawn(variables, Stdio::piped())
    }

    /// A server whose standard error nobody reads any more.
    pub fn without_errors_read() -> Self {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        Self::spawn(&[], writer.into())
    }

    fn spawn(variables: &[(&str, &str)], stderr: Stdio) -> Self {
        let artifacts = TempDir::new().unwrap();
        let mut child = command(&artifacts)
            .envs(variables.iter().copied())
            .stderr(stderr)
            .spawn()
            .unwrap();
        let (sender, lines) = mpsc::channel();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        thread::spawn(move || {
            for line in stdout.lines() {
                let _ = sender.send(line.unwrap());
            }
        });
        let stderr = child.stderr.take();
        let stderr = thread::spawn(move || {
            let mut text = Vec::new();
            if let Some(mut stderr) = stderr {
                stderr.read_to_end(&mut text).unwrap();
            }
            String::from_utf8_lossy(&text).into_owned()
        });
        Self {
            stdin: child.stdin.take(),
            child,
            lines,
            stderr,
            _artifacts: artifacts,
        }
    }

    pub fn send(&mut self, line: impl AsRef<[u8]>) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(line.as_ref()).unwrap();
        stdin.write_all(b"\n").unwrap();
        stdin.flush().unwrap();
    }

    pub fn next_line(&mut self) -> Value {
        let line = self
            .lines
            .recv_timeout(PATIENCE)
            .expect("the server did not answer");
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("no JSON on stdout: {line}"))
    }

    /// Send a request and return its answer, which must be the next line.
    pub fn request(&mut self, id: impl Into<Value>, method: &str, params: Value) -> Value {
        let id = id.into();
        self.send(request(id.clone(), method, params));
        let answer = self.next_line();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// Call a tool; its result's text.
    pub fn call(&mut self, tool: &str, arguments: Value) -> Result<String, String> {
        let answer = self.request(
            7,
            "tools/call",
            json!({"name": tool, "arguments": arguments}),
        );
        text_of(&answer)
    }

    /// Close standard input and wait for the server's end.
    pub fn end(mut self) -> Ended {
        drop(self.stdin.take());
        let status = wait(&mut self.child);
        let stderr = self.stderr.join().unwrap();
        let unread = self.lines.iter().collect();
        Ended {
            status,
            stderr,
            unread,
        }
    }
}

/// How a server ends that got this input at once and whose answers nobody reads.
pub fn end_unread(input: &str) -> ExitStatus {
    let artifacts = TempDir::new().unwrap();
    let mut child = command(&artifacts).stderr(Stdio::null()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).unwrap();
    drop(stdin);
    wait(&mut child)
}

fn command(artifacts: &TempDir) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_probe"));
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("ODEK_EXT_ARTIFACT_ROOT", artifacts.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    command
}

/// Wait for the server's end; kill it when that takes too long.
fn wait(child: &mut Child) -> ExitStatus {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if Instant::now() > end {
            child.kill().unwrap();
            panic!("the server did not end after its input had ended");
        }
        thread::sleep(Duration::from_millis(5));
    }
}

pub fn request(id: Value, method: &str, params: Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

/// The text of a call's answer: `Err` for a tool error. Panics on a JSON-RPC error.
pub fn text_of(answer: &Value) -> Result<String, String> {
    let result = answer
        .get("result")
        .unwrap_or_else(|| panic!("no result: {answer}"));
    let items = result["content"].as_array().unwrap();
    assert_eq!(items.len(), 1, "{answer}");
    assert_eq!(items[0]["type"], "text", "{answer}");
    let text = items[0]["text"].as_str().unwrap().to_owned();
    if result.get("isError") == Some(&Value::Bool(true)) {
        Err(text)
    } else {
        Ok(text)
    }
}
