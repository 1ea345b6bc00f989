//! `new` when it is stopped in the middle.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Instant;

use crate::support::{Run, cargo_odek_ext, names, path_with, place, run, script, tree};

#[test]
fn a_killed_run_leaves_a_whole_project_or_none() {
    let (_guard, reference) = place();
    let started = Instant::now();
    run(&reference, ["new", "logs", "--template", "artifacts"]).expect_code(0);
    let whole_run = started.elapsed();
    let expected = tree(&reference.join("logs"));
    let mut absent = 0;
    for step in 0..40 {
        let (_guard, place) = place();
        let mut child = cargo_odek_ext(&place, ["new", "logs", "--template", "artifacts"])
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        thread::sleep(whole_run.mul_f64(f64::from(step) / 32.0));
        child.kill().unwrap();
        child.wait().unwrap();
        let project = place.join("logs");
        if project.exists() {
            assert_eq!(tree(&project), expected);
            assert!(project.join(".git/HEAD").is_file());
        } else {
            absent += 1;
        }
    }
    assert!(absent > 0, "no run was killed in time");
}

#[test]
fn an_interrupt_leaves_nothing() {
    for signal in ["INT", "TERM", "HUP"] {
        let (_guard, place) = place();
        let tools = place.join("tools");
        fs::create_dir(&tools).unwrap();
        // Git is started when all files are written: the latest moment to change one's mind.
        script(&tools.join("git"), &format!("kill -{signal} $PPID"));
        let mut command = cargo_odek_ext(&place, ["new", "deep/logs"]);
        let run = Run::of(command.env("PATH", path_with(&tools))).expect_code(130);
        assert!(run.stderr.contains("error: interrupted"), "{run:?}");
        assert_eq!(run.stdout, "");
        assert_eq!(names(&place), ["tools"]);
    }
}

#[test]
fn a_workspace_is_unchanged_after_an_interrupt() {
    let (_guard, place) = place();
    fs::write(place.join("Cargo.toml"), "[workspace]\n").unwrap();
    let (_tools_guard, tools) = place_for_tools("kill -INT $PPID");
    let mut command = cargo_odek_ext(&place, ["new", "logs", "--vcs", "git"]);
    Run::of(command.env("PATH", path_with(&tools))).expect_code(130);
    assert_eq!(names(&place), ["Cargo.toml"]);
    let manifest = fs::read_to_string(place.join("Cargo.toml")).unwrap();
    assert_eq!(manifest, "[workspace]\n");
}

fn place_for_tools(git: &str) -> (tempfile::TempDir, std::path::PathBuf) {
    let (guard, tools) = place();
    script(&tools.join("git"), git);
    (guard, tools)
}

#[test]
fn a_place_that_is_taken_in_the_meantime_is_left_alone() {
    let (_guard, place) = place();
    let other = place.join("logs/other");
    let make = format!(
        "mkdir -p '{}' && echo kept > '{}'",
        place.join("logs").display(),
        other.display()
    );
    let (_tools_guard, tools) = place_for_tools(&make);
    let mut command = cargo_odek_ext(&place, ["new", "logs"]);
    let run = Run::of(command.env("PATH", path_with(&tools))).expect_code(3);
    assert!(run.stderr.contains("cannot create `"), "{run:?}");
    assert_eq!(names(&place), ["logs"]);
    assert_eq!(read(&other), "kept\n");
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

#[test]
fn two_runs_at_once_make_one_project() {
    let (_guard, place) = place();
    let spawn = || {
        cargo_odek_ext(&place, ["new", "logs"])
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap()
    };
    let mut children: Vec<_> = (0..4).map(|_| spawn()).collect();
    let successes = children
        .iter_mut()
        .map(|child| child.wait().unwrap())
        .filter(|status| status.success())
        .count();
    assert_eq!(successes, 1);
    assert_eq!(names(&place), ["logs"]);
}

#[test]
fn runs_at_once_in_one_workspace_make_a_member_each() {
    let (_guard, place) = place();
    fs::write(place.join("Cargo.toml"), "[workspace]\nmembers = []\n").unwrap();
    let projects = ["p1", "p2", "p3", "p4"];
    let children = projects.map(|project| {
        cargo_odek_ext(&place, ["new", project])
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap()
    });
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(
        read(&place.join("Cargo.toml")),
        "[workspace]\nmembers = [\"p1\", \"p2\", \"p3\", \"p4\"]\n"
    );
}
