//! The projects that `new` and `demo` make, built and run. All share one target directory, the
//! checkout's versions and its profiles, so that the dependencies are built once.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal};
use tempfile::TempDir;

use crate::support::{Run, cargo_odek_ext, names, place, run};

/// One build at a time: cargo would make the others wait anyway.
static BUILDS: Mutex<()> = Mutex::new(());

/// A directory in which projects are built as the checkout builds.
struct Workshop {
    _builds: MutexGuard<'static, ()>,
    _guard: TempDir,
    place: PathBuf,
}

impl Workshop {
    fn new() -> Workshop {
        let builds = BUILDS.lock().unwrap_or_else(PoisonError::into_inner);
        let (guard, place) = place();
        let manifest = fs::read_to_string(checkout().join("Cargo.toml")).unwrap();
        let manifest: toml_edit::DocumentMut = manifest.parse().unwrap();
        let mut configuration = toml_edit::DocumentMut::new();
        configuration.insert("profile", manifest["profile"].clone());
        fs::create_dir(place.join(".cargo")).unwrap();
        fs::write(place.join(".cargo/config.toml"), configuration.to_string()).unwrap();
        Workshop {
            _builds: builds,
            _guard: guard,
            place,
        }
    }

    fn scaffold(&self, flags: &[&str]) -> PathBuf {
        let sdk = checkout().to_str().unwrap();
        let all = ["new", "logs", "--vcs", "none", "--sdk-path", sdk];
        run(&self.place, all.iter().chain(flags)).expect_code(0);
        let project = self.place.join("logs");
        fs::copy(checkout().join("Cargo.lock"), project.join("Cargo.lock")).unwrap();
        project
    }
}

fn checkout() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

fn target_directory() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("scaffolds")
}

/// Makes a command build in the shared directory, without a network.
fn here(mut command: Command, directory: &Path) -> Command {
    command
        .current_dir(directory)
        .env("CARGO_TARGET_DIR", target_directory())
        .env("CARGO_NET_OFFLINE", "true");
    command
}

#[track_caller]
fn cargo(project: &Path, arguments: &[&str]) -> Run {
    let mut command = Command::new(env!("CARGO"));
    command.args(arguments);
    let run = Run::of(&mut here(command, project)).expect_code(0);
    assert!(!run.stderr.contains("warning: "), "{}", run.stderr);
    run
}

fn call(project: &Path, arguments: &[&str]) -> Run {
    let all = ["call"].iter().chain(arguments);
    Run::of(&mut here(cargo_odek_ext(project, all), project))
}

#[test]
fn scaffolds_pass_their_own_tests_and_every_lint() {
    for template in ["tool", "artifacts"] {
        let workshop = Workshop::new();
        let project = workshop.scaffold(&["--template", template]);
        let tests = cargo(&project, &["test"]);
        assert!(tests.stdout.contains("test result: ok"), "{tests:?}");
        cargo(
            &project,
            &["clippy", "--all-targets", "--", "-D", "warnings"],
        );
        cargo(&project, &["fmt", "--check"]);
        check_readme(&project);
    }
}

/// Runs the calls that the README shows and compares what they print.
#[track_caller]
fn check_readme(project: &Path) {
    let readme = fs::read_to_string(project.join("README.md")).unwrap();
    let mut calls = 0;
    for block in readme.split("```console\n").skip(1) {
        let (block, _) = block.split_once("```").unwrap();
        let (command, expected) = block.split_once('\n').unwrap();
        let Some(arguments) = command.strip_prefix("$ cargo odek-ext call ") else {
            continue;
        };
        let arguments: Vec<&str> = arguments.split(' ').collect();
        let run = call(project, &arguments).expect_code(0);
        assert_eq!(run.stdout, expected.strip_suffix('\n').unwrap());
        calls += 1;
    }
    assert_eq!(calls, 1);
}

#[test]
fn long_names_and_display_names_leave_the_code_formatted() {
    let workshop = Workshop::new();
    let name = "n".repeat(64);
    for template in ["tool", "artifacts"] {
        let flags = [
            "--template",
            template,
            "--name",
            &name,
            "--display-name",
            "Ä \"x\" \\ y",
        ];
        let project = workshop.scaffold(&flags);
        cargo(&project, &["fmt", "--check"]);
        cargo(&project, &["metadata", "--format-version=1", "--no-deps"]);
        fs::remove_dir_all(&project).unwrap();
    }
}

#[test]
fn a_project_is_called_from_anywhere() {
    let workshop = Workshop::new();
    let project = workshop.scaffold(&["--template", "artifacts"]);
    let arguments = [
        "--project",
        "logs",
        "summarize",
        "path=tests/data/robot-xunit.xml",
    ];
    let run = call(&workshop.place, &arguments).expect_code(0);
    assert!(run.stdout.contains("- artifact \"report-1\""), "{run:?}");
    assert_eq!(names(&project.join("artifacts")).len(), 1);
    let inside = call(&project.join("src"), &["summarize", "path=Cargo.toml"]).expect_code(1);
    assert!(inside.stderr.contains("no JUnit report"), "{inside:?}");
    // A name that the model would get wrong, too.
    let run = call(&project, &["sumarize"]).expect_code(2);
    assert!(run.stderr.contains("did you mean `summarize`?"), "{run:?}");
    // Two servers: the one of the binary's name is meant.
    let odek = fs::read_to_string(project.join("odek.json")).unwrap();
    let odek = odek.replacen("\"logs\":", "\"aaa\": {\"command\": \"x\"}, \"logs\":", 1);
    fs::write(project.join("odek.json"), odek).unwrap();
    let run = call(&project, &["summarize", "path=tests/data/robot-xunit.xml"]).expect_code(0);
    assert!(
        run.stderr.contains("names 2 servers; calling `logs`"),
        "{run:?}"
    );
    // The other one, asked for by name, is not the project's binary.
    let run = call(&project, &["summarize", "--server", "aaa"]).expect_code(3);
    assert!(
        run.stderr.contains("it runs as `x`, as configured"),
        "{run:?}"
    );
    assert!(run.stderr.contains("exec: \"x\""), "{run:?}");
}

fn demo(place: &Path, arguments: &[&str]) -> Command {
    let all = ["demo"].iter().chain(arguments);
    let mut command = here(cargo_odek_ext(place, all), place);
    command
        .env("CARGO_MANIFEST_DIR", env!("CARGO_MANIFEST_DIR"))
        .env("TMPDIR", place);
    command
}

#[test]
fn the_demo_shows_what_the_model_reads_and_cleans_up() {
    let workshop = Workshop::new();
    let run = Run::of(&mut demo(&workshop.place, &[])).expect_code(0);
    assert!(
        run.stdout.contains("11 test cases, 3 passed, 7 failed"),
        "{run:?}"
    );
    assert!(
        run.stdout
            .contains("- artifact \"report-1\" (application/xml, 2396 bytes")
    );
    assert!(run.stdout.contains("size    2396 bytes"));
    assert!(run.stdout.contains("sha256  de8db339f022"));
    assert_eq!(names(&workshop.place), [".cargo"]);
}

#[test]
fn the_demo_keeps_a_directory_that_was_named() {
    let workshop = Workshop::new();
    fs::write(workshop.place.join("Cargo.toml"), "[workspace]\n").unwrap();
    let run = Run::of(&mut demo(&workshop.place, &["kept", "--format", "json"])).expect_code(0);
    let document = run.json();
    assert_eq!(document["kept"], true);
    assert_eq!(document["server"], "kept");
    let artifact = &document["artifacts"][0];
    let bytes = fs::read(artifact["path"].as_str().unwrap()).unwrap();
    assert_eq!(artifact["size_bytes"], bytes.len());
    let report = workshop.place.join("kept/tests/data/robot-xunit.xml");
    assert_eq!(bytes, fs::read(report).unwrap());
    let manifest = fs::read_to_string(workshop.place.join("Cargo.toml")).unwrap();
    assert_eq!(manifest, "[workspace]\n");
    Run::of(&mut demo(&workshop.place, &["kept"])).expect_code(2);
}

#[test]
fn the_terminals_interrupt_reaches_cargo_and_the_demo() {
    let workshop = Workshop::new();
    let tools = workshop.place.join("cargo");
    crate::support::script(&tools, "touch \"$TMPDIR/started\"; exec sleep 600");
    let mut command = demo(&workshop.place, &[]);
    let mut child = command
        .env("CARGO", &tools)
        .process_group(0)
        .spawn()
        .unwrap();
    while !workshop.place.join("started").exists() {
        assert!(child.try_wait().unwrap().is_none(), "it ended too soon");
        thread::sleep(Duration::from_millis(20));
    }
    let group = Pid::from_child(&child);
    rustix::process::kill_process_group(group, Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(names(&workshop.place), [".cargo", "cargo", "started"]);
}

#[test]
fn an_interrupted_demo_leaves_nothing() {
    let workshop = Workshop::new();
    let tools = workshop.place.join("cargo");
    // The build is the step that takes time. The interrupt arrives, and cargo goes on.
    crate::support::script(&tools, "kill -TERM $PPID; exec sleep 600");
    let mut command = demo(&workshop.place, &[]);
    let run = Run::of(command.env("CARGO", &tools)).expect_code(130);
    assert!(run.stderr.contains("error: interrupted"), "{run:?}");
    assert_eq!(names(&workshop.place), [".cargo", "cargo"]);
}
