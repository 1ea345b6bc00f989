//! `cargo bench`: the SDK against its peers, in one run, as a Markdown table on stdout.
//!
//! The peer in Rust, rmcp alone, is always there. The peers in other languages are when
//! `benches/peers/run` has installed them and starts this.
//!
//! Every figure is taken for all servers in turn, three rounds of it, and the best round counts,
//! so that what else the machine does falls on all of them alike.
#![allow(clippy::print_stdout, reason = "the table is the result")]

use std::{
    env, fs,
    io::{self, Write},
    process::Command,
    time::{Duration, Instant},
};

use odek_benchmarks::{Program, Server, call, median};
use serde_json::{Value, json};

const SDK: &str = env!("CARGO_BIN_EXE_bench-sdk");
const RMCP: &str = env!("CARGO_BIN_EXE_bench-rmcp");

const ROUNDS: usize = 3;
const MIB: usize = 1024 * 1024;

fn main() -> io::Result<()> {
    let scratch = tempfile::tempdir()?;
    let root = scratch.path().display().to_string();
    let artifacts = [("ODEK_EXT_ARTIFACT_ROOT", root.as_str())];
    let sdk = Program {
        path: SDK,
        arguments: &[],
        variables: &artifacts,
    };
    let rmcp = Program {
        path: RMCP,
        arguments: &[],
        variables: &[],
    };
    let pipes = Program {
        path: RMCP,
        arguments: &["--pipes"],
        variables: &[],
    };
    let many = [("BENCH_TOOLS", "1000"), artifacts[0]];
    let thousand = Program {
        path: SDK,
        arguments: &[],
        variables: &many,
    };

    let others = [
        ("FastMCP", "BENCH_FASTMCP"),
        ("TypeScript SDK", "BENCH_TYPESCRIPT"),
    ];
    let others: Vec<(&str, Vec<String>)> = others
        .into_iter()
        .filter_map(|(name, variable)| Some((name, words(&env::var(variable).ok()?))))
        .collect();
    let others: Vec<(&str, &str, Vec<&str>)> = others
        .iter()
        .filter_map(|(name, words)| {
            let (path, arguments) = words.split_first()?;
            Some((
                *name,
                path.as_str(),
                arguments.iter().map(String::as_str).collect(),
            ))
        })
        .collect();
    let mut peers = vec![
        ("odek-sdk", sdk),
        ("rmcp, `stdio()`", rmcp),
        ("rmcp, `stdio_pipes()`", pipes),
    ];
    for (name, path, arguments) in &others {
        let variables = &[];
        peers.push((
            name,
            Program {
                path,
                arguments,
                variables,
            },
        ));
    }
    let names: Vec<_> = peers.iter().map(|(name, _)| *name).collect();
    println!("| what | {} |", names.join(" | "));
    println!("|---|{}", "---|".repeat(names.len()));
    let peers: Vec<&Program<'_>> = peers.iter().map(|(_, program)| program).collect();
    let peers = peers.as_slice();
    let small = call("echo", &json!({"text": "hello"}));
    row("`echo`, p50", peers, |program| {
        latency(program, &small, 5_000)
    })?;
    for (size, calls) in [(1_000, 5_000), (100_000, 500), (1_000_000, 60)] {
        let sized = call("echo", &json!({"text": "x".repeat(size)}));
        let title = format!("`echo` with {} KB, p50", size / 1000);
        row(&title, peers, |program| latency(program, &sized, calls))?;
    }
    for callers in [1, 16, 64] {
        let title = format!("`echo`, {callers} callers");
        row(&title, peers, |program| {
            let rate = Server::start(program)?.throughput(&small, callers, 9_600)?;
            Ok(Figure::PerSecond(rate))
        })?;
    }
    row("start to `tools/list` answered, median", peers, |program| {
        let times = (0..15).map(|_| Server::time_to_listed(program));
        Ok(Figure::Time(median(times.collect::<io::Result<_>>()?)))
    })?;
    row("8 MiB result, peak memory above idle", peers, result_memory)?;

    println!();
    println!("| odek-sdk alone | |");
    println!("|---|---|");
    let plain = call("echo_plain", &json!({"text": "hello"}));
    let plain = best(|| latency(peers[0], &plain, 20_000))?;
    println!("| `echo` as a plain function, p50 | {plain} |");
    let of_many = best(|| latency(&thousand, &small, 20_000))?;
    println!("| `echo` among 1,000 further tools, p50 | {of_many} |");
    hashing(peers[0], scratch.path())?;
    parallel(peers[0])?;
    Ok(())
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

#[derive(Clone, Copy)]
enum Figure {
    Time(Duration),
    PerSecond(f64),
    Bytes(u64),
}

impl Figure {
    /// Whether this is the better of two figures of one kind.
    fn beats(self, other: Self) -> bool {
        match (self, other) {
            (Self::PerSecond(this), Self::PerSecond(other)) => this > other,
            (this, other) => this.amount() < other.amount(),
        }
    }

    fn amount(self) -> f64 {
        match self {
            Self::Time(time) => time.as_secs_f64(),
            Self::PerSecond(rate) => rate,
            Self::Bytes(bytes) => bytes as f64,
        }
    }
}

impl std::fmt::Display for Figure {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Time(time) if *time < Duration::from_millis(1) => {
                write!(formatter, "{:.1} us", time.as_secs_f64() * 1e6)
            }
            Self::Time(time) => write!(formatter, "{:.2} ms", time.as_secs_f64() * 1e3),
            Self::PerSecond(rate) => write!(formatter, "{:.1}k/s", rate / 1e3),
            Self::Bytes(bytes) => write!(formatter, "{:.1} MiB", *bytes as f64 / MIB as f64),
        }
    }
}

/// Print a row: the figure of each peer, with the ratio of the first one to it.
fn row(
    title: &str,
    peers: &[&Program<'_>],
    measure: impl Fn(&Program<'_>) -> io::Result<Figure>,
) -> io::Result<()> {
    let mut figures: Vec<Option<Figure>> = vec![None; peers.len()];
    for _ in 0..ROUNDS {
        for (&program, best) in peers.iter().zip(&mut figures) {
            let figure = measure(program)?;
            if best.is_none_or(|best| figure.beats(best)) {
                *best = Some(figure);
            }
        }
    }
    print!("| {title} |");
    let first = figures
        .first()
        .copied()
        .flatten()
        .map_or(f64::NAN, Figure::amount);
    for (index, figure) in figures.iter().flatten().enumerate() {
        match index {
            0 => print!(" {figure} |"),
            _ => print!(" {figure} ({:.2}x) |", first / figure.amount()),
        }
    }
    println!();
    io::stdout().flush()
}

fn best(measure: impl Fn() -> io::Result<Figure>) -> io::Result<Figure> {
    let mut best = measure()?;
    for _ in 1..ROUNDS {
        let figure = measure()?;
        if figure.beats(best) {
            best = figure;
        }
    }
    Ok(best)
}

fn latency(program: &Program<'_>, request: &str, calls: usize) -> io::Result<Figure> {
    let mut server = Server::start(program)?;
    for _ in 0..calls / 10 {
        server.request(request)?;
    }
    let mut times = Vec::with_capacity(calls);
    for _ in 0..calls {
        let begin = Instant::now();
        server.request(request)?;
        times.push(begin.elapsed());
    }
    Ok(Figure::Time(median(times)))
}

fn result_memory(program: &Program<'_>) -> io::Result<Figure> {
    let mut server = Server::start(program)?;
    server.request(&call("echo", &json!({"text": "warm"})))?;
    let idle = server.peak_memory()?;
    let length = server
        .request(&call("large", &json!({"size": 8 * MIB})))?
        .len();
    if length < 8 * MIB {
        return Err(io::Error::other("the large result did not arrive"));
    }
    Ok(Figure::Bytes(server.peak_memory()? - idle))
}

/// Hashing an artifact while it is copied, against `openssl` on the same file.
fn hashing(sdk: &Program<'_>, scratch: &std::path::Path) -> io::Result<()> {
    let file = scratch.join("hashed.bin");
    let content: Vec<u8> = (0..60 * MIB)
        .map(|index| (index * 31 % 251) as u8)
        .collect();
    fs::write(&file, content)?;
    let request = call("attach_timed", &json!({"path": file}));
    let mut server = Server::start(sdk)?;
    let mut own: Option<f64> = None;
    let mut peer: Option<f64> = None;
    for _ in 0..ROUNDS {
        let milliseconds = milliseconds(server.request(&request)?)?;
        own = Some(own.map_or(milliseconds, |best| best.min(milliseconds)));
        let begin = Instant::now();
        let output = Command::new("openssl")
            .args(["dgst", "-sha256"])
            .arg(&file)
            .output();
        if output.is_ok_and(|output| output.status.success()) {
            let milliseconds = begin.elapsed().as_secs_f64() * 1e3;
            peer = Some(peer.map_or(milliseconds, |best| best.min(milliseconds)));
        }
    }
    if let (Some(own), Some(peer)) = (own, peer) {
        println!(
            "| 60 MiB copied, hashed and synced / `openssl dgst -sha256` | {own:.1} ms / {peer:.1} ms \
             ({:.2}x its speed) |",
            peer / own
        );
    }
    Ok(())
}

/// 64 artifacts on one thread and on two.
fn parallel(sdk: &Program<'_>) -> io::Result<()> {
    let mut server = Server::start(sdk)?;
    let mut times = [f64::MAX; 2];
    for _ in 0..ROUNDS {
        for (threads, best) in [1, 2].into_iter().zip(&mut times) {
            let arguments = json!({"count": 64, "size": 4 * MIB, "threads": threads});
            let took = milliseconds(server.request(&call("attach_many", &arguments))?)?;
            *best = best.min(took);
        }
    }
    let [one, two] = times;
    println!(
        "| 64 artifacts of 4 MiB, one thread / two | {one:.0} ms / {two:.0} ms ({:.2}x) |",
        one / two
    );
    Ok(())
}

/// The number that a tool gave back.
fn milliseconds(answer: &[u8]) -> io::Result<f64> {
    let answer: Value = serde_json::from_slice(answer)?;
    answer["result"]["content"][0]["text"]
        .as_str()
        .and_then(|text| text.parse().ok())
        .ok_or_else(|| io::Error::other(format!("no time in {answer}")))
}
