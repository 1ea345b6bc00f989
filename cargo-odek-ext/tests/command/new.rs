//! `new` in places where it succeeds.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::{Run, cargo_odek_ext, names, path_with, place, run, script, tree};

const TEMPLATES: [&str; 2] = ["tool", "artifacts"];
const EVENTS: [&str; 3] = ["mjs", "js", "ts"];

fn read_json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

#[test]
fn every_template_with_every_entrypoint_is_made_as_reported() {
    for template in TEMPLATES {
        for events in EVENTS {
            let (_guard, place) = place();
            let run = run(
                &place,
                [
                    "new",
                    "log-analyzer",
                    "--template",
                    template,
                    "--events",
                    events,
                    "--vcs",
                    "none",
                    "--format",
                    "json",
                ],
            )
            .expect_code(0);
            let report = run.json();
            let project = place.join("log-analyzer");
            assert_eq!(report["path"], project.to_str().unwrap());
            assert_eq!(report["name"], "log-analyzer");
            assert_eq!(report["template"], template);
            assert_eq!(report["events"], events);
            assert_eq!(report["vcs"], "none");
            assert_eq!(report["workspace"], Value::Null);
            let files: Vec<String> = tree(&project).into_keys().collect();
            assert_eq!(report["files"], json!(files));
            check_package(&project, events);
        }
    }
}

/// What the agent-extension runtime and odek need of the files.
fn check_package(project: &Path, events: &str) {
    let entrypoint = format!("events.{events}");
    let manifest = read_json(&project.join("extension.manifest.json"));
    assert_eq!(manifest["name"], "log-analyzer");
    assert_eq!(manifest["version"], "0.1.0");
    assert_eq!(manifest["agentId"], "log-analyzer");
    assert_eq!(manifest["displayName"], "Log analyzer");
    assert_eq!(manifest["runtime"]["coreApiVersion"], 1);
    assert_eq!(manifest["runtime"]["profiles"][0]["name"], "codex-manager");
    assert_eq!(manifest["entrypoints"]["events"], format!("./{entrypoint}"));
    for (_, target) in manifest["entrypoints"].as_object().unwrap() {
        assert!(project.join(target.as_str().unwrap()).is_file(), "{target}");
    }
    let readme = fs::read_to_string(project.join("README.md")).unwrap();
    for entry in fs::read_dir(project).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        // What every crate or every repository has is not explained.
        let is_usual = name.starts_with('.') || ["Cargo.toml", "README.md"].contains(&&*name);
        assert!(is_usual || readme.contains(&format!("`{name}")), "{name}");
    }
    let source = fs::read_to_string(project.join(entrypoint)).unwrap();
    for event in manifest["capabilities"]["events"].as_array().unwrap() {
        let registration = format!("registry.on({event}, ");
        assert_eq!(source.matches(&registration).count(), 1);
    }
    assert_eq!(source.matches("registry.on(").count(), 1);
    assert!(!source.contains("import "));
    let server = &read_json(&project.join("odek.json"))["mcp_servers"]["log-analyzer"];
    assert_eq!(server["command"], "target/debug/log-analyzer");
    assert_eq!(server["artifact_roots"], json!(["artifacts"]));
    assert_eq!(server["env"]["ODEK_EXT_ARTIFACT_ROOT"], "artifacts");
}

#[test]
fn people_are_told_what_was_made_and_what_to_run_next() {
    let (_guard, place) = place();
    let run = run(&place, ["new", "my logs", "--name", "logs", "--yes"]).expect_code(0);
    insta::assert_snapshot!(run.stdout, @r"
    Created `logs` with 11 files:
      .gitignore
      AGENTS.md
      Cargo.toml
      README.md
      agent.config.json
      events.mjs
      extension.manifest.json
      odek.json
      playbooks/suggest-request.md
      src/main.rs
      tests/contract.rs

    Next:
      cargo test --manifest-path 'my logs/Cargo.toml'
      cargo odek-ext call --project 'my logs' largest_files directory=src
    ");
    insta::assert_snapshot!(run.stderr, @"    Creating extension `logs` in my logs");
}

#[test]
fn the_binary_works_without_cargo_in_front_of_it() {
    let (_guard, place) = place();
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-odek-ext"));
    command.args(["new", "logs"]).current_dir(&place);
    Run::of(&mut command).expect_code(0);
    assert!(place.join("logs/Cargo.toml").is_file());
}

#[test]
fn names_come_from_the_flags() {
    let (_guard, place) = place();
    run(
        &place,
        [
            "new",
            "9 lives",
            "--name",
            "lives",
            "--display-name",
            "Nine \"Lives\" \\ <b>",
            "--agent-id",
            "Cat 9",
        ],
    )
    .expect_code(0);
    let project = place.join("9 lives");
    let manifest = read_json(&project.join("extension.manifest.json"));
    assert_eq!(manifest["name"], "lives");
    assert_eq!(manifest["displayName"], "Nine \"Lives\" \\ <b>");
    assert_eq!(manifest["agentId"], "Cat 9");
    let cargo = fs::read_to_string(project.join("Cargo.toml")).unwrap();
    assert!(cargo.contains("name = \"lives\"\n"));
    assert!(cargo.contains("description = \"Nine \\\"Lives\\\" \\\\ <b>\"\n"));
}

#[test]
fn unwise_names_are_warned_about() {
    let (_guard, place) = place();
    let run = run(&place, ["new", "nul"]).expect_code(0);
    assert!(
        run.stderr
            .contains("warning: `nul` is a reserved file name on Windows")
    );
}

#[test]
fn the_sdk_comes_from_a_checkout_or_from_the_registry() {
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let checkout = checkout.canonicalize().unwrap();
    let (_guard, place) = place();
    let make = |name: &str, flags: &[&str], variable: Option<&Path>| {
        let mut command = cargo_odek_ext(&place, ["new", name]);
        command.args(flags);
        if let Some(value) = variable {
            command.env("CARGO_MANIFEST_DIR", value);
        }
        Run::of(&mut command).expect_code(0);
        fs::read_to_string(place.join(name).join("Cargo.toml")).unwrap()
    };
    let by_path = format!(
        "odek-sdk = {{ path = \"{}\" }}\n",
        checkout.join("sdk/server").display()
    );
    let flag = make("flag", &["--sdk-path", checkout.to_str().unwrap()], None);
    assert!(flag.contains(&by_path), "{flag}");
    assert!(
        flag.contains("# The SDK is taken from a checkout on this machine."),
        "{flag}"
    );
    let under_cargo_run = make("alias", &[], Some(&checkout.join("cargo-odek-ext")));
    assert!(under_cargo_run.contains(&by_path), "{under_cargo_run}");
    // A copy of the binary that lies outside of the checkout.
    let installed = place.join("installed");
    fs::copy(env!("CARGO_BIN_EXE_cargo-odek-ext"), &installed).unwrap();
    let mut command = Command::new(&installed);
    command
        .args(["new", "published"])
        .current_dir(&place)
        .env_remove("CARGO_MANIFEST_DIR");
    Run::of(&mut command).expect_code(0);
    let cargo = fs::read_to_string(place.join("published/Cargo.toml")).unwrap();
    let version = env!("CARGO_PKG_VERSION");
    assert!(
        cargo.contains(&format!("odek-sdk = \"{version}\"\n")),
        "{cargo}"
    );
    assert!(!cargo.contains('#'), "{cargo}");
    // Nothing else names a place on this machine.
    for project in ["flag", "published"] {
        for (file, content) in tree(&place.join(project)) {
            let text = String::from_utf8(content).unwrap();
            assert!(!text.contains(place.to_str().unwrap()), "{project}/{file}");
            let names_checkout = text.contains(checkout.to_str().unwrap());
            assert_eq!(names_checkout, (project, &*file) == ("flag", "Cargo.toml"));
        }
    }
}

#[test]
fn git_is_initialised_outside_of_repositories_only() {
    let (_guard, place) = place();
    run(&place, ["new", "outer", "--vcs", "git"]).expect_code(0);
    let outer = place.join("outer");
    assert!(outer.join(".git/HEAD").is_file());
    let run_inside = run(&outer, ["new", "inner", "--format", "json"]).expect_code(0);
    assert_eq!(run_inside.json()["vcs"], "none");
    assert!(!outer.join("inner/.git").exists());
    run(&outer, ["new", "own", "--vcs", "git"]).expect_code(0);
    assert!(outer.join("own/.git/HEAD").is_file());
    run(&place, ["new", "bare", "--vcs", "none"]).expect_code(0);
    assert!(!place.join("bare/.git").exists());
    // A path that git knows by a variable, as in a hook, is not touched.
    let mut command = cargo_odek_ext(&place, ["new", "hook", "--vcs", "git"]);
    Run::of(command.env("GIT_DIR", outer.join(".git"))).expect_code(0);
    assert!(place.join("hook/.git/HEAD").is_file());
}

#[test]
fn without_git_there_is_no_repository_unless_it_was_asked_for() {
    let (_guard, place) = place();
    let empty = place.join("empty");
    fs::create_dir(&empty).unwrap();
    let mut command = cargo_odek_ext(&place, ["new", "quiet", "--format", "json"]);
    let run = Run::of(command.env("PATH", &empty)).expect_code(0);
    assert_eq!(run.json()["vcs"], "none");
    let mut command = cargo_odek_ext(&place, ["new", "loud", "--vcs", "git"]);
    let run = Run::of(command.env("PATH", &empty)).expect_code(3);
    assert!(run.stderr.contains("`git` is not on the PATH"), "{run:?}");
    assert!(run.stderr.contains("--vcs none"), "{run:?}");
    assert_eq!(names(&place), ["empty", "quiet"]);
}

#[test]
fn a_failure_of_git_leaves_nothing() {
    let (_guard, place) = place();
    let tools = place.join("tools");
    fs::create_dir(&tools).unwrap();
    script(&tools.join("git"), "echo 'fatal: broken' >&2; exit 128");
    let mut command = cargo_odek_ext(&place, ["new", "logs"]);
    let run = Run::of(command.env("PATH", path_with(&tools))).expect_code(3);
    assert!(run.stderr.contains("fatal: broken"), "{run:?}");
    assert_eq!(names(&place), ["tools"]);
}

#[test]
fn an_empty_directory_is_filled() {
    let (_guard, place) = place();
    fs::create_dir(place.join("logs")).unwrap();
    run(&place, ["new", "logs"]).expect_code(0);
    assert!(place.join("logs/src/main.rs").is_file());
    assert_eq!(names(&place), ["logs"]);
}

#[test]
fn missing_parents_are_made() {
    let (_guard, place) = place();
    run(&place, ["new", "a/b/logs"]).expect_code(0);
    assert!(place.join("a/b/logs/src/main.rs").is_file());
    assert_eq!(names(&place.join("a/b")), ["logs"]);
}

#[test]
fn a_workspace_gets_a_new_member() {
    let (_guard, place) = place();
    let before = "# ours\n[workspace]\nresolver = \"3\"\nmembers = [\n    \"alpha\", # first\n    \"zulu\",\n]\n";
    let manifest = place.join("Cargo.toml");
    fs::write(&manifest, before).unwrap();
    let run = run(&place, ["new", "tools/logs", "--format", "json"]).expect_code(0);
    assert_eq!(run.json()["workspace"], place.to_str().unwrap());
    let after = before.replace("    \"zulu\"", "    \"tools/logs\",\n    \"zulu\"");
    assert_eq!(fs::read_to_string(&manifest).unwrap(), after);
    assert_eq!(names(&place), ["Cargo.toml", "tools"]);
    // Cargo builds members into the workspace's own target directory.
    let odek = read_json(&place.join("tools/logs/odek.json"));
    assert_eq!(
        odek["mcp_servers"]["logs"]["command"],
        "../../target/debug/logs"
    );
    let cargo = fs::read_to_string(place.join("tools/logs/Cargo.toml")).unwrap();
    assert!(!cargo.contains("[workspace]"));
}

#[test]
fn a_workspace_that_covers_or_excludes_the_place_is_left_alone() {
    let (_guard, place) = place();
    let text = "[workspace]\nmembers = [\"crates/*\"]\nexclude = [\"vendor\"]\n";
    let manifest = place.join("Cargo.toml");
    fs::write(&manifest, text).unwrap();
    run(&place, ["new", "crates/logs"]).expect_code(0);
    run(&place, ["new", "vendor/logs"]).expect_code(0);
    assert_eq!(fs::read_to_string(&manifest).unwrap(), text);
    let cargo = |path: &str| fs::read_to_string(place.join(path)).unwrap();
    assert!(!cargo("crates/logs/Cargo.toml").contains("[workspace]"));
    assert!(cargo("vendor/logs/Cargo.toml").contains("\n[workspace]\n"));
}

#[test]
fn a_project_in_the_checkout_names_the_sdk_relatively() {
    let (_guard, place) = place();
    for package in ["sdk/server", "sdk/host"] {
        fs::create_dir_all(place.join(package)).unwrap();
        fs::write(place.join(package).join("Cargo.toml"), "").unwrap();
    }
    fs::write(place.join("Cargo.toml"), "[workspace]\nmembers = []\n").unwrap();
    run(&place, ["new", "examples/logs", "--sdk-path", "."]).expect_code(0);
    let cargo = fs::read_to_string(place.join("examples/logs/Cargo.toml")).unwrap();
    assert!(
        cargo.contains("odek-sdk = { path = \"../../sdk/server\" }\n"),
        "{cargo}"
    );
}

#[test]
fn the_events_entrypoint_enqueues_one_job() {
    for (events, agent) in [("mjs", "logs"), ("js", "It's \"me\""), ("ts", "logs")] {
        if !node_can_load(events) {
            eprintln!("skipped for .{events}: there is no node, or it cannot load such a file");
            continue;
        }
        let (_guard, place) = place();
        run(
            &place,
            ["new", "logs", "--events", events, "--agent-id", agent],
        )
        .expect_code(0);
        let check = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/command/check_events.mjs");
        let mut command = Command::new("node");
        command
            .arg(check)
            .arg(place.join(format!("logs/events.{events}")))
            .arg(agent);
        Run::of(&mut command).expect_code(0);
    }
}

fn node_can_load(events: &str) -> bool {
    let question = match events {
        "ts" => "process.exit(process.features.typescript ? 0 : 1)",
        _ => "0",
    };
    let node = Command::new("node").args(["-e", question]).status();
    node.is_ok_and(|status| status.success())
}
