//! `new` where it must refuse, each time with one message and nothing left behind.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::process::Command;

use crate::support::{Run, cargo_odek_ext, names, place, run, tree};

#[track_caller]
fn refused(arguments: &[&str], code: i32, message: &str) {
    let (_guard, place) = place();
    fs::write(place.join("file"), "kept").unwrap();
    fs::create_dir(place.join("full")).unwrap();
    fs::write(place.join("full/data"), "kept").unwrap();
    let before = tree(&place);
    let run = run(&place, arguments).expect_code(code);
    let errors = run.stderr.matches("error: ").count();
    assert_eq!(errors, 1, "{run:#?}");
    assert!(run.stderr.contains(message), "{run:#?}");
    assert_eq!(run.stdout, "");
    assert_eq!(tree(&place), before);
    assert_eq!(names(&place), ["file", "full"]);
}

#[test]
fn places_that_are_taken() {
    refused(&["new", "full"], 2, "is not empty");
    refused(&["new", "file"], 2, "already exists and is not a directory");
    refused(&["new", "file/logs"], 3, "Not a directory");
    refused(&["new", "."], 2, "is not empty");
    refused(&["new", ".."], 2, "ends in no name");
    refused(&["new", "/"], 2, "ends in no name");
}

#[test]
fn places_where_nothing_can_be_written() {
    refused(
        &["new", "/proc/logs"],
        3,
        "cannot create a directory in `/proc`",
    );
    refused(
        &["new", "/proc/self/a/logs"],
        3,
        "cannot create the directory",
    );
}

#[test]
fn names_that_cannot_be_used() {
    refused(&["new", "9lives"], 2, "may not begin with a digit");
    refused(&["new", "9lives"], 2, "--name lives");
    refused(
        &["new", "logs", "--name", "9lives"],
        2,
        "`lives` would be accepted",
    );
    refused(&["new", "test"], 2, "standard library");
    refused(&["new", "core"], 2, "standard library");
    refused(&["new", "fn"], 2, "is a Rust keyword");
    refused(&["new", "deps"], 2, "cargo keeps a directory of that name");
    refused(&["new", "odek-sdk"], 2, "depends on the crate `odek-sdk`");
    refused(&["new", "my logs"], 2, "invalid character");
    refused(&["new", "a__b"], 2, "__");
    refused(&["new", "日本"], 2, "--name log-analyzer");
    refused(&["new", "logs", "--name", ""], 2, "it is empty");
    refused(
        &["new", "logs", "--display-name", "a\nb"],
        2,
        "display name",
    );
    refused(&["new", "logs", "--display-name", " "], 2, "is blank");
    refused(
        &["new", "logs", "--agent-id", "../x"],
        2,
        "no name for a directory",
    );
    refused(&["new", "runtime"], 2, "give another one with `--agent-id`");
    refused(
        &["new", "logs", "--sdk-path", "full"],
        2,
        "no checkout of the SDK",
    );
}

#[test]
fn the_command_line_is_checked() {
    refused(&["new"], 2, "required arguments were not provided");
    refused(
        &["new", "logs", "--template", "tol"],
        2,
        "a similar value exists: 'tool'",
    );
    refused(
        &["new", "logs", "--evnts", "js"],
        2,
        "a similar argument exists: '--events'",
    );
    refused(&["nwe", "logs"], 2, "unrecognized subcommand");
}

#[test]
fn a_refusal_is_a_document_too() {
    let (_guard, place) = place();
    let run = run(&place, ["new", "fn", "--format", "json"]).expect_code(2);
    let document = run.json();
    assert_eq!(document["error"]["kind"], "usage");
    assert_eq!(document["error"]["exit_code"], 2);
    let message = document["error"]["message"].as_str().unwrap();
    assert!(run.stderr.contains(message));
}

#[test]
fn a_command_line_that_cannot_be_parsed_gives_a_document_too() {
    let (_guard, place) = place();
    for arguments in [
        &["new", "a", "b", "--format", "json"][..],
        &["--format=json", "new", "a", "b"],
    ] {
        let run = run(&place, arguments).expect_code(2);
        assert_eq!(run.json()["error"]["kind"], "usage");
        assert_eq!(
            run.json()["error"]["message"],
            "unexpected argument 'b' found"
        );
        assert!(run.stderr.contains("Usage:"), "{run:?}");
    }
}

#[test]
fn a_path_that_is_not_utf8_is_refused() {
    let (_guard, place) = place();
    let path = OsStr::from_bytes(b"logs-\xff");
    let arguments = [OsStr::new("new"), path, OsStr::new("--name=logs")];
    let run = run(&place, arguments).expect_code(2);
    assert!(run.stderr.contains("not valid UTF-8"), "{run:?}");
    assert!(fs::read_dir(&place).unwrap().next().is_none());
}

#[test]
fn the_current_directory_is_not_replaced() {
    let (_guard, place) = place();
    let here = place.join("logs");
    fs::create_dir(&here).unwrap();
    let run = run(&here, ["new", "../logs"]).expect_code(2);
    assert!(run.stderr.contains("current directory"), "{run:?}");
    assert_eq!(names(&place), ["logs"]);
    assert!(names(&here).is_empty());
}

#[test]
fn a_name_that_the_workspace_has_already_is_refused() {
    let (_guard, place) = place();
    fs::write(place.join("Cargo.toml"), "[workspace]\nresolver = \"3\"\n").unwrap();
    run(&place, ["new", "logs"]).expect_code(0);
    let before = tree(&place);
    let second = run(&place, ["new", "other", "--name", "logs"]).expect_code(2);
    assert!(
        second.stderr.contains("has a package named `logs` already"),
        "{second:?}"
    );
    assert_eq!(tree(&place), before);
    assert_eq!(names(&place), ["Cargo.toml", "logs"]);
}

#[test]
fn a_broken_workspace_is_reported_and_kept() {
    for (manifest, problem) in [
        ("[workspace", "cannot take a new member"),
        (
            "[workspace]\nmembers = 1\n",
            "`workspace.members` is not a list",
        ),
    ] {
        let (_guard, place) = place();
        fs::write(place.join("Cargo.toml"), manifest).unwrap();
        let run = run(&place, ["new", "logs"]).expect_code(3);
        assert!(run.stderr.contains(problem), "{run:?}");
        assert_eq!(names(&place), ["Cargo.toml"]);
        let kept = fs::read_to_string(place.join("Cargo.toml")).unwrap();
        assert_eq!(kept, manifest);
    }
}

#[test]
fn a_file_that_cannot_be_written_leaves_nothing() {
    let (_guard, place) = place();
    fs::write(place.join("Cargo.toml"), "[workspace]\n").unwrap();
    // The first file larger than the limit fails to be written, as on a full disk.
    let command = cargo_odek_ext(&place, ["new", "deep/logs", "--vcs", "none"]);
    let mut limited = Command::new("sh");
    limited
        .args(["-c", "trap '' XFSZ; ulimit -f 1; exec \"$0\" \"$@\""])
        .arg(command.get_program())
        .args(command.get_args())
        .current_dir(&place);
    let run = Run::of(&mut limited).expect_code(3);
    assert!(run.stderr.contains("cannot write `"), "{run:?}");
    assert!(run.stderr.contains("File too large"), "{run:?}");
    assert_eq!(names(&place), ["Cargo.toml"]);
    let kept = fs::read_to_string(place.join("Cargo.toml")).unwrap();
    assert_eq!(kept, "[workspace]\n");
}
