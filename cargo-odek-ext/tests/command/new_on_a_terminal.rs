//! `new` when there is somebody to ask.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Child, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::support::{cargo_odek_ext, names, place};

const ENTER: &str = "\r";
const DOWN: &str = "\u{1b}[B";
const CONTROL_C: &str = "\u{3}";

/// The command on a terminal of its own.
struct Session {
    terminal: File,
    child: Child,
    seen: String,
}

impl Session {
    fn start(place: &Path, arguments: &[&str]) -> Session {
        let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&terminal).unwrap();
        unlockpt(&terminal).unwrap();
        let name = ptsname(&terminal, Vec::new()).unwrap();
        let side = OpenOptions::new()
            .read(true)
            .write(true)
            .open(OsStr::from_bytes(name.to_bytes()))
            .unwrap();
        let child = cargo_odek_ext(place, arguments)
            .stdin(Stdio::from(side.try_clone().unwrap()))
            .stdout(Stdio::from(side.try_clone().unwrap()))
            .stderr(Stdio::from(side))
            .env("TERM", "xterm")
            .spawn()
            .unwrap();
        Session {
            terminal: File::from(terminal),
            child,
            seen: String::new(),
        }
    }

    /// Waits for a text, then types.
    #[track_caller]
    fn answer(&mut self, question: &str, keys: &str) {
        while !self.seen.contains(question) {
            assert!(
                self.read(),
                "the command ended without asking: {}",
                self.seen
            );
        }
        self.seen.clear();
        self.terminal.write_all(keys.as_bytes()).unwrap();
    }

    /// Reads what is there; false at the end.
    fn read(&mut self) -> bool {
        let mut buffer = [0; 1024];
        // At its end a terminal gives an error, not an empty read.
        match self.terminal.read(&mut buffer) {
            Ok(0) | Err(_) => false,
            Ok(count) => {
                self.seen += &String::from_utf8_lossy(&buffer[..count]);
                true
            }
        }
    }

    /// Presses Ctrl-C until the command ends: the key does nothing in the short time between two
    /// questions, since this terminal has no process group to send a signal to.
    fn interrupt(mut self) -> (ExitStatus, String) {
        while self.child.try_wait().unwrap().is_none() {
            self.terminal.write_all(CONTROL_C.as_bytes()).unwrap();
            thread::sleep(Duration::from_millis(20));
        }
        self.finish()
    }

    fn finish(mut self) -> (ExitStatus, String) {
        while self.read() {}
        (self.child.wait().unwrap(), self.seen)
    }
}

#[test]
fn what_no_flag_decides_is_asked_for() {
    let (_guard, place) = place();
    let mut session = Session::start(&place, &["new", "9 lives", "--vcs", "none"]);
    session.answer("Name [lives]", "fn\r");
    session.answer("is a Rust keyword", "\u{15}cats\r");
    session.answer("artifacts: summarises", &format!("{DOWN}{ENTER}"));
    session.answer("ts: TypeScript", ENTER);
    session.answer("Display name [Cats]", "Nine lives\r");
    let (status, seen) = session.finish();
    assert!(status.success(), "{seen}");
    let project = place.join("9 lives");
    assert!(project.join("src/report.rs").is_file());
    assert!(project.join("events.mjs").is_file());
    let manifest = fs::read_to_string(project.join("extension.manifest.json")).unwrap();
    assert!(
        manifest.contains("\"displayName\": \"Nine lives\""),
        "{manifest}"
    );
}

#[test]
fn an_interrupted_question_ends_the_command() {
    let (_guard, place) = place();
    let mut session = Session::start(&place, &["new", "logs"]);
    session.answer("Name [logs]", ENTER);
    session.answer("artifacts: summarises", DOWN);
    let (status, seen) = session.interrupt();
    assert_eq!(status.code(), Some(130));
    assert!(seen.contains("interrupted"), "{seen}");
    // The cursor, which a list hides, is there again.
    assert!(seen.contains("\u{1b}[?25h"), "{seen:?}");
    assert!(names(&place).is_empty());
}

#[test]
fn nothing_is_asked_when_told_so() {
    for flags in [&["--yes"][..], &["--format", "json"]] {
        let (_guard, place) = place();
        let mut arguments = vec!["new", "logs"];
        arguments.extend(flags);
        let (status, seen) = Session::start(&place, &arguments).finish();
        assert!(status.success(), "{seen}");
        assert!(place.join("logs/src/main.rs").is_file());
    }
}

#[test]
fn nothing_is_asked_where_the_place_is_taken() {
    let (_guard, place) = place();
    fs::write(place.join("logs"), "").unwrap();
    let (status, seen) = Session::start(&place, &["new", "logs"]).finish();
    assert_eq!(status.code(), Some(2));
    assert!(!seen.contains("Name ["), "{seen}");
}
