//! `cargo odek-ext new`: creates a project that builds, passes its tests and can be called.

use std::fmt::{self, Display};
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use dialoguer::console::Term;
use dialoguer::{Input, Select};
use serde::Serialize;

use crate::error::{ExpectedError, NameOrigin};
use crate::interrupt::Interrupt;
use crate::output::{Format, Output, Verdict};
use crate::project_name::ProjectName;
use crate::scaffold::sdk::SdkSource;
use crate::scaffold::templates::{Events, Template};
use crate::scaffold::vcs::{VersionControl, VersionControlChoice};
use crate::scaffold::{self, Created, Plan, Target, WorkspaceChoice};

/// The longest display name and agent id, in characters.
const MAX_TEXT_CHARACTERS: usize = 200;

/// The longest name of a directory on common file systems.
const MAX_DIRECTORY_BYTES: usize = 255;

/// Directories below a workspace's `agents` that the runtime does not take for packages (runtime
/// facts, section 1).
const SKIPPED_AGENTS: [&str; 2] = ["lib", "runtime"];

/// Create an extension in a new directory.
///
/// On a terminal, what no flag decides is asked for.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Directory to create; its name becomes the extension's.
    path: PathBuf,

    /// Name of the package, its binary and its `mcp_servers` entry [default: the directory's name].
    #[arg(long)]
    name: Option<String>,

    /// What the extension can do at first [default: tool].
    #[arg(long, value_enum)]
    template: Option<Template>,

    /// Language of the events entrypoint [default: mjs].
    #[arg(long, value_enum)]
    events: Option<Events>,

    /// Name that people see [default: made from the name].
    #[arg(long, value_name = "TEXT")]
    display_name: Option<String>,

    /// Identity of the package in the agent-extension runtime, and the name of its directory there
    /// [default: the name].
    #[arg(long, value_name = "ID")]
    agent_id: Option<String>,

    /// Version control to set up [default: git, outside of repositories].
    #[arg(long, value_enum)]
    vcs: Option<VersionControl>,

    /// Checkout to take the SDK from [default: the one that this command runs from, else the
    /// published crates].
    #[arg(long, value_name = "DIRECTORY")]
    sdk_path: Option<PathBuf>,

    /// Take the defaults and ask nothing.
    #[arg(long, short)]
    yes: bool,
}

pub(crate) fn run(arguments: Arguments, output: &Output) -> Result<Verdict, ExpectedError> {
    let shown_path = arguments.path.clone();
    let interrupt = Interrupt::arm()?;
    let plan = plan(arguments, output)?;
    if let Some(warning) = plan.name.warning() {
        output.warning(warning);
    }
    output.progress(
        "Creating",
        format_args!("extension `{}` in {}", plan.name, shown_path.display()),
    );
    let created = scaffold::create(&plan, &interrupt)?;
    if let Some(root) = &created.workspace {
        output.note(format_args!(
            "the extension is a member of the workspace in {}",
            root.display()
        ));
    }
    let report = Report::new(&plan, &created, &shown_path);
    output.result(&report, &report)?;
    Ok(Verdict::Fine)
}

fn plan(arguments: Arguments, output: &Output) -> Result<Plan, ExpectedError> {
    let target = Target::new(&arguments.path)?;
    // Before any question is asked, and before a name is derived that cannot be used anyway.
    target.check_vacant()?;
    let mut dialogue = Dialogue::new(arguments.yes, output);
    let name = project_name(arguments.name, &target, &mut dialogue)?;
    let template = match arguments.template {
        Some(template) => template,
        None => dialogue.template()?,
    };
    let events = match arguments.events {
        Some(events) => events,
        None => dialogue.events()?,
    };
    let display_name = match arguments.display_name {
        Some(text) => text,
        None => dialogue.text("Display name", name.display_name(), |text| {
            checked_text("display name", text.to_owned())
        })?,
    };
    let display_name = checked_text("display name", display_name)?;
    let agent_id = match arguments.agent_id {
        Some(text) => text,
        None => name.to_string(),
    };
    let agent_id = checked_agent_id(agent_id)?;
    Ok(Plan {
        name,
        display_name,
        agent_id,
        template,
        events,
        sdk: match arguments.sdk_path {
            Some(path) => SdkSource::from_path(&path)?,
            None => SdkSource::detect(),
        },
        vcs: match arguments.vcs {
            Some(vcs) => VersionControlChoice::Explicit(vcs),
            None => VersionControlChoice::Automatic,
        },
        workspace: WorkspaceChoice::Join,
        target,
    })
}

fn project_name(
    flag: Option<String>,
    target: &Target,
    dialogue: &mut Dialogue,
) -> Result<ProjectName, ExpectedError> {
    if let Some(name) = flag {
        return ProjectName::new(&name).map_err(|source| ExpectedError::InvalidName {
            source,
            origin: NameOrigin::Flag,
        });
    }
    let derived = ProjectName::new(&target.directory_name());
    if !dialogue.is_possible() {
        return derived.map_err(|source| ExpectedError::InvalidName {
            source,
            origin: NameOrigin::Path,
        });
    }
    let proposal = match &derived {
        Ok(name) => name.to_string(),
        Err(error) => error.suggestion().unwrap_or("log-analyzer").to_owned(),
    };
    let name = dialogue.text("Name", proposal, ProjectName::new)?;
    ProjectName::new(&name).map_err(|source| ExpectedError::InvalidName {
        source,
        origin: NameOrigin::Flag,
    })
}

/// One line of text that can stand in a manifest, a heading and a comment.
fn checked_text(field: &'static str, value: String) -> Result<String, ExpectedError> {
    let problem = if value.trim().is_empty() {
        "is blank"
    } else if value
        .chars()
        .any(|c| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}'))
    {
        "holds a line break or another control character"
    } else if value.chars().count() > MAX_TEXT_CHARACTERS {
        "is longer than 200 characters"
    } else {
        return Ok(value.trim().to_owned());
    };
    Err(ExpectedError::InvalidText {
        field,
        value,
        problem,
    })
}

/// The runtime takes any text as an agent's id, but looks the worker up in a directory of that name.
fn checked_agent_id(value: String) -> Result<String, ExpectedError> {
    let value = checked_text("agent id", value)?;
    let problem = if value.contains(['/', '\\']) || value.starts_with('.') {
        "is no name for a directory"
    } else if value.len() > MAX_DIRECTORY_BYTES {
        "is too long for the name of a directory"
    } else if SKIPPED_AGENTS.contains(&value.as_str()) {
        "names a directory that the agent-extension runtime skips"
    } else {
        return Ok(value);
    };
    Err(ExpectedError::InvalidText {
        field: "agent id",
        value,
        problem,
    })
}

/// Questions on the terminal, or the defaults where nobody can be asked.
struct Dialogue {
    possible: bool,
}

impl Dialogue {
    fn new(yes: bool, output: &Output) -> Self {
        let possible = !yes
            && output.format() == Format::Human
            && io::stdin().is_terminal()
            && io::stderr().is_terminal();
        Self { possible }
    }

    fn is_possible(&self) -> bool {
        self.possible
    }

    fn text<T, E: Display>(
        &mut self,
        question: &str,
        default: String,
        check: impl Fn(&str) -> Result<T, E>,
    ) -> Result<String, ExpectedError> {
        if !self.possible {
            return Ok(default);
        }
        Input::new()
            .with_prompt(question)
            .default(default)
            .validate_with(|text: &String| check(text).map(drop).map_err(|e| e.to_string()))
            .interact_text()
            .map_err(unanswered)
    }

    fn template(&mut self) -> Result<Template, ExpectedError> {
        let choices = [
            (
                Template::Tool,
                "tool: one small tool that answers with text",
            ),
            (
                Template::Artifacts,
                "artifacts: summarises a test report and attaches the full file",
            ),
        ];
        self.choice("Template", &choices)
    }

    fn events(&mut self) -> Result<Events, ExpectedError> {
        let choices = [
            (Events::Mjs, "mjs: JavaScript module"),
            (Events::Js, "js: JavaScript with a package.json"),
            (Events::Ts, "ts: TypeScript with erasable types"),
        ];
        self.choice("Events entrypoint", &choices)
    }

    fn choice<T: Copy + Default>(
        &mut self,
        question: &str,
        choices: &[(T, &str)],
    ) -> Result<T, ExpectedError> {
        if !self.possible {
            return Ok(T::default());
        }
        let texts: Vec<&str> = choices.iter().map(|(_, text)| *text).collect();
        let index = Select::new()
            .with_prompt(question)
            .items(&texts)
            .default(0)
            .interact()
            .map_err(unanswered)?;
        Ok(choices
            .get(index)
            .map_or_else(T::default, |(choice, _)| *choice))
    }
}

/// Ends a question that got no answer. A list hides the cursor while it is shown.
fn unanswered(error: dialoguer::Error) -> ExpectedError {
    let _ = Term::stderr().show_cursor();
    let dialoguer::Error::IO(source) = error;
    match source.kind() {
        io::ErrorKind::Interrupted => ExpectedError::Interrupted,
        _ => ExpectedError::Prompt { source },
    }
}

/// What was made; the document of `--format json`.
#[derive(Debug, Serialize)]
struct Report<'a> {
    /// Absolute path of the new directory.
    path: &'a Path,
    name: &'a ProjectName,
    display_name: &'a str,
    agent_id: &'a str,
    template: Template,
    events: Events,
    sdk: &'a SdkSource,
    vcs: VersionControl,
    /// Directory of the workspace that the project became a member of, or null.
    workspace: Option<&'a Path>,
    /// Paths relative to `path`, sorted; without the repository's own files.
    files: &'a [&'static str],
    /// Commands to run next, from the directory in which this command was started.
    next_steps: Vec<String>,
}

impl<'a> Report<'a> {
    fn new(plan: &'a Plan, created: &'a Created, shown_path: &Path) -> Self {
        Self {
            path: plan.target.path(),
            name: &plan.name,
            display_name: &plan.display_name,
            agent_id: &plan.agent_id,
            template: plan.template,
            events: plan.events,
            sdk: &plan.sdk,
            vcs: created.vcs,
            workspace: created.workspace.as_deref(),
            files: &created.files,
            next_steps: next_steps(plan.template, shown_path),
        }
    }
}

fn next_steps(template: Template, path: &Path) -> Vec<String> {
    let project = shell_word(&path.display().to_string());
    let manifest = shell_word(&path.join("Cargo.toml").display().to_string());
    let call = match template {
        Template::Tool => "largest_files directory=src",
        Template::Artifacts => "summarize path=tests/data/robot-xunit.xml",
    };
    vec![
        format!("cargo test --manifest-path {manifest}"),
        format!("cargo odek-ext call --project {project} {call}"),
    ]
}

/// Quotes a word for a shell where that is needed.
fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:,@".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

impl Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "Created `{}` with {} files:",
            self.name,
            self.files.len()
        )?;
        for file in self.files {
            writeln!(f, "  {file}")?;
        }
        write!(f, "\nNext:")?;
        for step in &self.next_steps {
            write!(f, "\n  {step}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_would_break_a_file_are_refused() {
        for text in [
            "",
            "  ",
            "a\nb",
            "a\u{7}",
            "a\u{2028}b",
            "\u{feff}",
            &"x".repeat(201),
        ] {
            checked_text("display name", text.to_owned()).unwrap_err();
        }
        let text = checked_text("display name", " Log \"analyzer\" ".to_owned()).unwrap();
        assert_eq!(text, "Log \"analyzer\"");
    }

    #[test]
    fn agent_ids_name_a_directory() {
        let long = "é".repeat(128);
        for id in ["..", ".hidden", "a/b", "a\\b", "", "lib", "runtime", &long] {
            checked_agent_id(id.to_owned()).unwrap_err();
        }
        checked_agent_id("log-analyzer".to_owned()).unwrap();
    }

    #[test]
    fn shell_words_are_quoted_where_needed() {
        for (word, quoted) in [
            ("a/b-c.d", "a/b-c.d"),
            ("my dir", "'my dir'"),
            ("it's", r"'it'\''s'"),
            ("", "''"),
        ] {
            assert_eq!(shell_word(word), quoted);
        }
    }
}
