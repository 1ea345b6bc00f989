//! Makes a new project: everything between the user's choices and a directory that exists.

use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::error::ExpectedError;
use crate::interrupt::Interrupt;
use crate::project_name::ProjectName;

pub(crate) mod sdk;
mod staging;
pub(crate) mod templates;
pub(crate) mod vcs;
mod workspace;

use sdk::SdkSource;
use staging::Staging;
use templates::{Events, RenderError, Template, Values};
use vcs::{VersionControl, VersionControlChoice};
use workspace::Membership;

/// All that must be known before a project can be made.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) target: Target,
    pub(crate) name: ProjectName,
    pub(crate) display_name: String,
    pub(crate) agent_id: String,
    pub(crate) template: Template,
    pub(crate) events: Events,
    pub(crate) sdk: SdkSource,
    pub(crate) vcs: VersionControlChoice,
    pub(crate) workspace: WorkspaceChoice,
}

/// What to do about a cargo workspace above the project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WorkspaceChoice {
    /// Become a member, unless the workspace excludes the place.
    Join,
    /// Be a workspace of its own.
    OptOut,
}

/// What has been made.
#[derive(Debug)]
pub(crate) struct Created {
    /// Paths relative to the project, sorted.
    pub(crate) files: Vec<&'static str>,
    pub(crate) vcs: VersionControl,
    /// The directory of the workspace that the project is a member of.
    pub(crate) workspace: Option<PathBuf>,
}

/// The place of a new project: an absolute path whose parent is free of links, as far as it exists.
#[derive(Debug)]
pub(crate) struct Target(PathBuf);

impl Target {
    /// # Errors
    ///
    /// Fails for a path that ends in no name, such as `..`, and for one that is not UTF-8: cargo
    /// reports what it builds as JSON, which cannot hold such a path.
    pub(crate) fn new(path: &Path) -> Result<Self, ExpectedError> {
        let no_name = || ExpectedError::DestinationHasNoName {
            path: path.to_owned(),
        };
        let absolute = std::path::absolute(path)
            .map_err(|source| ExpectedError::file("find", path, source))?;
        let name = absolute.file_name().ok_or_else(no_name)?;
        let parent = absolute.parent().ok_or_else(no_name)?;
        let resolved = resolve(parent).join(name);
        match resolved.to_str() {
            Some(_) => Ok(Self(resolved)),
            None => Err(ExpectedError::PathNotUtf8 { path: resolved }),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// The last part of the path, from which the name of the project is derived.
    pub(crate) fn directory_name(&self) -> String {
        self.0
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    }

    /// Fails when nothing can be created there because something else is there.
    pub(crate) fn check_vacant(&self) -> Result<(), ExpectedError> {
        staging::inspect(&self.0).map(drop)
    }
}

/// Resolves the links of the part that exists, and the dots of the part that does not.
fn resolve(path: &Path) -> PathBuf {
    let mut resolved = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                resolved.pop();
            }
            Component::CurDir => {}
            other => resolved.push(other),
        }
        if let Ok(real) = resolved.canonicalize() {
            resolved = real;
        }
    }
    resolved
}

/// Makes the project, whole or not at all.
///
/// # Errors
///
/// Fails when something cannot be read or written, or when the user interrupts. Nothing is left
/// of the project then, and a workspace above is unchanged.
pub(crate) fn create(plan: &Plan, interrupt: &Interrupt) -> Result<Created, ExpectedError> {
    let target = plan.target.path();
    let membership = match plan.workspace {
        WorkspaceChoice::Join => workspace::membership(target)?,
        WorkspaceChoice::OptOut if workspace::is_enclosed(target) => Membership::OptOut,
        WorkspaceChoice::OptOut => Membership::Alone,
    };
    if let Membership::Member(member) = &membership {
        member.check_name(&plan.name)?;
    }
    let files = templates::render(plan.template, plan.events, &values(plan, &membership)?)?;
    let staging = Staging::begin(target)?;
    for file in &files {
        interrupt.check()?;
        staging.write(file.path, file.text.as_bytes())?;
    }
    interrupt.check()?;
    let vcs = vcs::initialise(plan.vcs, staging.path(), target)?;
    interrupt.check()?;
    staging.commit()?;
    let workspace = match membership {
        Membership::Member(member) => {
            let root = member.root.clone();
            // The project must not stay behind as one that cargo refuses to build.
            if let Err(error) = member.commit() {
                let _ = fs::remove_dir_all(target);
                return Err(error);
            }
            Some(root)
        }
        Membership::Alone | Membership::OptOut => None,
    };
    Ok(Created {
        files: files.iter().map(|file| file.path).collect(),
        vcs,
        workspace,
    })
}

fn values<'a>(plan: &'a Plan, membership: &Membership) -> Result<Values<'a>, ExpectedError> {
    let build_directory = build_directory(plan.target.path(), membership);
    Ok(Values {
        name: plan.name.as_str(),
        display_name: &plan.display_name,
        agent_id: &plan.agent_id,
        package_directory: format!("agents/{}", plan.agent_id),
        sdk: dependency(plan, "sdk/server")?,
        host: dependency(plan, "sdk/host")?,
        sdk_version: sdk::PUBLISHED_VERSION,
        local_sdk: match &plan.sdk {
            SdkSource::Checkout(checkout) => !plan.target.path().starts_with(checkout),
            SdkSource::Version(_) => false,
        },
        opt_out: matches!(membership, Membership::OptOut),
        junit: plan.template == Template::Artifacts,
        command: format!("{build_directory}/{}", plan.name),
        events: plan.events.file_name(),
        package_json: plan.events != Events::Mjs,
    })
}

/// Where cargo puts debug builds of the project: in the target directory of its workspace.
fn build_directory(target: &Path, membership: &Membership) -> String {
    let levels = match membership {
        Membership::Member(member) => levels_below(target, &member.root),
        Membership::Alone | Membership::OptOut => 0,
    };
    "../".repeat(levels) + "target/debug"
}

fn levels_below(path: &Path, root: &Path) -> usize {
    path.strip_prefix(root)
        .map_or(0, |relative| relative.components().count())
}

/// A dependency as TOML. Inside of the checkout the path is relative, so that the two can move
/// together.
fn dependency(plan: &Plan, directory: &str) -> Result<String, ExpectedError> {
    let checkout = match &plan.sdk {
        SdkSource::Version(version) => return Ok(toml_string(version)),
        SdkSource::Checkout(checkout) => checkout,
    };
    let target = plan.target.path();
    let path = if target.starts_with(checkout) {
        PathBuf::from("../".repeat(levels_below(target, checkout))).join(directory)
    } else {
        checkout.join(directory)
    };
    match path.to_str() {
        Some(path) => Ok(format!("{{ path = {} }}", toml_string(path))),
        None => Err(ExpectedError::PathNotUtf8 { path }),
    }
}

fn toml_string(text: &str) -> String {
    toml_edit::Value::from(text).to_string()
}

impl From<RenderError> for ExpectedError {
    fn from(source: RenderError) -> Self {
        ExpectedError::Template { source }
    }
}
