//! The client side of the benchmarks: a server behind two pipes, and as many callers as wanted.
//!
//! It does as little as possible, so that what is measured is the server: requests are written as
//! they stand, answers are matched by the number behind the first `"id":`.

use std::{
    collections::HashMap,
    env, fs,
    io::{self, BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{self, Receiver, Sender},
    },
    thread,
    time::{Duration, Instant},
};

/// How to start a server.
pub struct Program<'a> {
    /// The file to execute.
    pub path: &'a str,
    /// Its arguments.
    pub arguments: &'a [&'a str],
    /// Variables to set.
    pub variables: &'a [(&'a str, &'a str)],
}

/// A running server with one caller.
pub struct Server {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    line: Vec<u8>,
    next_id: u64,
}

impl Server {
    /// Start a server and shake hands as odek does.
    ///
    /// # Errors
    ///
    /// When it cannot be started or does not answer.
    pub fn start(program: &Program<'_>) -> io::Result<Self> {
        let mut server = Self::spawn(program)?;
        server.request(INITIALIZE)?;
        Ok(server)
    }

    fn spawn(program: &Program<'_>) -> io::Result<Self> {
        let mut child = Command::new(program.path)
            .args(program.arguments)
            .envs(program.variables.iter().copied())
            .current_dir(env::var_os("BENCH_ROOT").unwrap_or_else(|| ".".into()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("the server has no pipes"));
        };
        let stdout = BufReader::with_capacity(1 << 16, stdout);
        Ok(Self {
            child,
            stdin,
            stdout,
            line: Vec::new(),
            next_id: 1,
        })
    }

    /// From the start of the process to the answer to `tools/list`.
    ///
    /// # Errors
    ///
    /// When the server cannot be started or does not answer.
    pub fn time_to_listed(program: &Program<'_>) -> io::Result<Duration> {
        let begin = Instant::now();
        let mut server = Self::spawn(program)?;
        server.request(INITIALIZE)?;
        server.request(r#""method":"tools/list""#)?;
        Ok(begin.elapsed())
    }

    /// Send a request, of which `rest` is everything but version and id, and read its answer.
    ///
    /// # Errors
    ///
    /// When the server closes its output or its input.
    pub fn request(&mut self, rest: &str) -> io::Result<&[u8]> {
        let id = self.next_id;
        self.next_id += 1;
        let request = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},{rest}}}\n");
        self.stdin.write_all(request.as_bytes())?;
        self.line.clear();
        match self.stdout.read_until(b'\n', &mut self.line)? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(&self.line),
        }
    }

    /// The highest amount of memory the server has used so far, in bytes.
    ///
    /// # Errors
    ///
    /// When the system does not tell.
    pub fn peak_memory(&self) -> io::Result<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let kib = status
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:"))
            .and_then(|value| {
                value
                    .trim()
                    .trim_end_matches(" kB")
                    .trim()
                    .parse::<u64>()
                    .ok()
            });
        kib.map(|kib| kib * 1024)
            .ok_or_else(|| io::Error::other("no VmHWM in the status"))
    }

    /// Calls per second with `callers` threads that each wait for their answer before they call
    /// again, `calls` in all.
    ///
    /// # Errors
    ///
    /// When the server closes its output or its input.
    pub fn throughput(mut self, rest: &str, callers: u64, calls: u64) -> io::Result<f64> {
        let first_id = self.next_id;
        let stdin = Mutex::new(&mut self.stdin);
        let waiting: Arc<Mutex<HashMap<u64, Sender<()>>>> = Arc::default();
        let begin = Instant::now();
        let outcome = thread::scope(|scope| {
            let answers = Arc::clone(&waiting);
            let stdout = &mut self.stdout;
            scope.spawn(move || deliver(stdout, &answers, calls));
            let each = calls / callers;
            let threads: Vec<_> = (0..callers)
                .map(|caller| {
                    let (stdin, waiting) = (&stdin, &waiting);
                    scope.spawn(move || {
                        for call in 0..each {
                            let id = first_id + caller * each + call;
                            let answered = expect(waiting, id);
                            let request = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},{rest}}}\n");
                            lock(stdin).write_all(request.as_bytes())?;
                            answered.recv().map_err(io::Error::other)?;
                        }
                        Ok(())
                    })
                })
                .collect();
            threads.into_iter().try_for_each(|thread| {
                thread
                    .join()
                    .unwrap_or_else(|_| Err(io::Error::other("a caller panicked")))
            })
        });
        outcome.map(|()| calls as f64 / begin.elapsed().as_secs_f64())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Nothing of use can be done about a server that cannot be ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const INITIALIZE: &str = r#""method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"odek","version":"dev"}}"#;

fn expect(waiting: &Mutex<HashMap<u64, Sender<()>>>, id: u64) -> Receiver<()> {
    let (sender, answered) = mpsc::channel();
    lock(waiting).insert(id, sender);
    answered
}

/// Wake the caller of each answer until `calls` have been answered or the output ends. Then the
/// remaining callers are dropped, and fail.
fn deliver(
    stdout: &mut BufReader<ChildStdout>,
    waiting: &Mutex<HashMap<u64, Sender<()>>>,
    calls: u64,
) {
    let mut line = Vec::new();
    for _ in 0..calls {
        line.clear();
        match stdout.read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => break,
            Ok(_) => {}
        }
        if let Some(caller) = id_of(&line).and_then(|id| lock(waiting).remove(&id)) {
            // A caller that has gone needs no answer.
            let _ = caller.send(());
        }
    }
    lock(waiting).clear();
}

fn id_of(line: &[u8]) -> Option<u64> {
    let key = b"\"id\":";
    let start = line.windows(key.len()).position(|window| window == key)? + key.len();
    let digits = line[start..]
        .iter()
        .take_while(|byte| byte.is_ascii_digit());
    Some(digits.fold(0, |id, digit| id * 10 + u64::from(digit - b'0')))
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The part of a call's request behind its id.
pub fn call(tool: &str, arguments: &serde_json::Value) -> String {
    format!(r#""method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}}}"#)
}

/// The median of some durations.
pub fn median(mut durations: Vec<Duration>) -> Duration {
    durations.sort_unstable();
    durations
        .get(durations.len() / 2)
        .copied()
        .unwrap_or_default()
}
