//! `cargo odek-ext demo`: the whole way from nothing to what a model reads, in one command.

use std::fmt::{self, Display};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use odek_contract::artifact::hash_file;
use odek_contract::result::ModelResult;
use odek_host::odek::Arguments as CallArguments;
use serde::Serialize;
use tempfile::{NamedTempFile, TempDir};

use crate::commands::call::Session;
use crate::commands::call::wire::Wire;
use crate::error::ExpectedError;
use crate::interrupt::Interrupt;
use crate::output::{Output, Verdict};
use crate::project::{BuildOptions, Project};
use crate::project_name::ProjectName;
use crate::scaffold::sdk::SdkSource;
use crate::scaffold::templates::{Events, Template};
use crate::scaffold::vcs::{VersionControl, VersionControlChoice};
use crate::scaffold::{self, Plan, Target, WorkspaceChoice};

/// The demonstrated extension, where no directory gives it a name.
const NAME: &str = "report-reader";
const TOOL: &str = "summarize";
/// A report that a real run of Robot Framework wrote; part of the project that is made.
const REPORT: &str = "tests/data/robot-xunit.xml";

/// Scaffold an extension, build it, call its tool on a real test report as odek does, and show what
/// the model reads.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Directory to create and keep [default: a temporary one].
    directory: Option<PathBuf>,
}

pub(crate) fn run(arguments: Arguments, output: &Output) -> Result<Verdict, ExpectedError> {
    let interrupt = Interrupt::arm()?;
    let place = Place::new(arguments.directory)?;
    let plan = plan(&place.project)?;
    output.progress(
        "Creating",
        format_args!("extension `{}` in {}", plan.name, place.project.display()),
    );
    let created = scaffold::create(&plan, &interrupt)?;
    let project = Project::find(plan.target.path())?;
    output.progress("Building", format_args!("it with cargo"));
    let binary = build(&project, &plan.sdk, &interrupt)?;
    output.progress("Calling", format_args!("`{TOOL}` as odek does"));
    let session = Session::of_project(&project, &binary, None, output)?;
    let arguments = format!(r#"{{"path":"{REPORT}"}}"#);
    let result = call(&session, &arguments, &interrupt, output)?;
    let shown = Shown {
        project: plan.target.path(),
        kept: place.is_kept(),
        files: created.files.len(),
        server: session.name.as_str(),
        tool: TOOL,
        arguments: &arguments,
        text: &result.text,
        artifacts: artifacts(&result)?,
    };
    output.result(&shown, &shown)?;
    Ok(Verdict::Fine)
}

/// Where the project goes. A temporary place disappears with this value.
struct Place {
    project: PathBuf,
    temporary: Option<TempDir>,
}

impl Place {
    fn new(directory: Option<PathBuf>) -> Result<Self, ExpectedError> {
        if let Some(project) = directory {
            return Ok(Self {
                project,
                temporary: None,
            });
        }
        let temporary = tempfile::Builder::new()
            .prefix("odek-ext-demo-")
            .tempdir()
            .map_err(|source| {
                ExpectedError::temporary("create a directory in", &std::env::temp_dir(), source)
            })?;
        Ok(Self {
            project: temporary.path().join(NAME),
            temporary: Some(temporary),
        })
    }

    fn is_kept(&self) -> bool {
        self.temporary.is_none()
    }
}

fn plan(directory: &Path) -> Result<Plan, ExpectedError> {
    let target = Target::new(directory)?;
    target.check_vacant()?;
    let name = ProjectName::new(&target.directory_name())
        .or_else(|_| ProjectName::new(NAME))
        .map_err(ExpectedError::derived_name)?;
    Ok(Plan {
        display_name: name.display_name(),
        agent_id: name.to_string(),
        name,
        template: Template::Artifacts,
        events: Events::default(),
        sdk: SdkSource::detect(),
        vcs: VersionControlChoice::Explicit(VersionControl::None),
        // A demonstration changes nothing but its own directory.
        workspace: WorkspaceChoice::OptOut,
        target,
    })
}

/// Builds the project. From a checkout this takes what the checkout has built already: the same
/// versions, the same target directory, the same profiles.
fn build(
    project: &Project,
    sdk: &SdkSource,
    interrupt: &Interrupt,
) -> Result<PathBuf, ExpectedError> {
    let SdkSource::Checkout(checkout) = sdk else {
        return project.build(&BuildOptions::default(), interrupt);
    };
    copy_lock_file(checkout, project)?;
    let profiles = profiles_of(checkout)?;
    let options = BuildOptions {
        binary: None,
        target_directory: Some(target_directory(checkout)?),
        configuration: Some(profiles.path().to_owned()),
    };
    project.build(&options, interrupt)
}

fn copy_lock_file(checkout: &Path, project: &Project) -> Result<(), ExpectedError> {
    let from = checkout.join("Cargo.lock");
    let to = project.directory().join("Cargo.lock");
    fs::copy(&from, &to)
        .map(drop)
        .map_err(|source| ExpectedError::file("copy", &from, source))
}

fn target_directory(checkout: &Path) -> Result<PathBuf, ExpectedError> {
    match std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from) {
        Some(directory) => std::path::absolute(&directory)
            .map_err(|source| ExpectedError::file("find", &directory, source)),
        None => Ok(checkout.join("target")),
    }
}

/// The checkout's build profiles, as a file of cargo configuration: dependencies that are built
/// with other settings would be built anew.
fn profiles_of(checkout: &Path) -> Result<NamedTempFile, ExpectedError> {
    let path = checkout.join("Cargo.toml");
    let text =
        fs::read_to_string(&path).map_err(|source| ExpectedError::file("read", &path, source))?;
    let manifest: toml_edit::DocumentMut = text.parse().map_err(
        |error: toml_edit::TomlError| ExpectedError::WorkspaceManifest {
            path: path.clone(),
            problem: error.message().to_owned(),
        },
    )?;
    let mut configuration = toml_edit::DocumentMut::new();
    if let Some(profiles) = manifest.get("profile") {
        configuration.insert("profile", profiles.clone());
    }
    let failure = |source| ExpectedError::file("write to", &std::env::temp_dir(), source);
    let mut file = tempfile::Builder::new()
        .prefix("odek-ext-demo-")
        .suffix(".toml")
        .tempfile()
        .map_err(|source| {
            ExpectedError::temporary("create a file in", &std::env::temp_dir(), source)
        })?;
    file.write_all(configuration.to_string().as_bytes())
        .map_err(failure)?;
    Ok(file)
}

fn call(
    session: &Session,
    arguments: &str,
    interrupt: &Interrupt,
    output: &Output,
) -> Result<ModelResult, ExpectedError> {
    let arguments = CallArguments::from_model_text(arguments);
    let exchange = session.exchange(TOOL, arguments, &Wire::unwanted(), interrupt, output)?;
    exchange.outcome.map_err(|failure| ExpectedError::DemoCall {
        message: failure.to_string(),
    })
}

/// Looks at the files themselves, not at what the extension says about them.
fn artifacts(result: &ModelResult) -> Result<Vec<ArtifactOnDisk>, ExpectedError> {
    let mut artifacts = Vec::new();
    for (reference, file) in result.artifacts.iter().zip(&result.files) {
        let path = file.path.clone();
        let (digest, size_bytes) =
            hash_file(&path).map_err(|source| ExpectedError::file("read", &path, source))?;
        let sha256 = digest.to_string();
        if reference
            .sha256
            .as_ref()
            .is_some_and(|said| *said != sha256)
        {
            return Err(ExpectedError::DemoArtifact { path });
        }
        artifacts.push(ArtifactOnDisk {
            id: reference.id.clone(),
            path,
            size_bytes,
            sha256,
        });
    }
    Ok(artifacts)
}

/// What there is to see; the document of `--format json`.
#[derive(Debug, Serialize)]
struct Shown<'a> {
    /// Absolute path of the project.
    project: &'a Path,
    /// Whether the project still exists.
    kept: bool,
    /// How many files were made.
    files: usize,
    server: &'a str,
    tool: &'a str,
    /// What was sent as the tool's arguments.
    arguments: &'a str,
    /// What the model reads.
    text: &'a str,
    artifacts: Vec<ArtifactOnDisk>,
}

#[derive(Debug, Serialize)]
struct ArtifactOnDisk {
    id: String,
    path: PathBuf,
    size_bytes: u64,
    sha256: String,
}

impl Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            server,
            tool,
            arguments,
            text,
            ..
        } = self;
        writeln!(
            f,
            "An extension of {} files was made and built, and its tool called as odek calls it:\n",
            self.files
        )?;
        writeln!(f, "  {server}__{tool} {arguments}\n")?;
        writeln!(f, "What the model reads:\n\n{text}\n")?;
        for artifact in &self.artifacts {
            writeln!(f, "The artifact `{}` on disk:\n", artifact.id)?;
            writeln!(f, "  path    {}", artifact.path.display())?;
            writeln!(f, "  size    {} bytes", artifact.size_bytes)?;
            writeln!(f, "  sha256  {}\n", artifact.sha256)?;
        }
        if self.kept {
            write!(f, "The extension is in {}.", self.project.display())
        } else {
            write!(
                f,
                "The extension was temporary and is gone now; `cargo odek-ext demo DIRECTORY` \
                 keeps one."
            )
        }
    }
}
