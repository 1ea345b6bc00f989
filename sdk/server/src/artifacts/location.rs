//! Where the artifacts of an extension go.

use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

use super::error::{ArtifactError, FileOperation, failed};

/// Environment variable that names the artifact root.
pub(super) const ROOT_VARIABLE: &str = "ODEK_EXT_ARTIFACT_ROOT";

/// Where a store keeps its files, before anything is looked up or created.
#[derive(Debug, Clone)]
pub(super) enum Location {
    /// A path chosen by the author.
    At(PathBuf),
    /// The environment decides; the default is under the home directory.
    ForExtension(String),
}

impl Location {
    /// The absolute path of the root. Nothing is created; symbolic links stay as they are.
    pub(super) fn resolve(&self) -> Result<PathBuf, ArtifactError> {
        let path = match self {
            Self::At(path) => path.clone(),
            Self::ForExtension(name) => from_environment(name, |name| std::env::var_os(name))?,
        };
        std::path::absolute(&path).map_err(failed(FileOperation::ResolvePath, &path))
    }
}

/// `ODEK_EXT_ARTIFACT_ROOT`, else `$HOME/.local/state/odek-ext/<name>/artifacts`. An empty variable
/// counts as unset.
fn from_environment(
    name: &str,
    lookup: impl Fn(&str) -> Option<OsString>,
) -> Result<PathBuf, ArtifactError> {
    let lookup = |variable| lookup(variable).filter(|value| !value.is_empty());
    if let Some(root) = lookup(ROOT_VARIABLE) {
        return Ok(root.into());
    }
    let home = PathBuf::from(lookup("HOME").ok_or(ArtifactError::NoRoot)?);
    if !home.is_absolute() {
        return Err(ArtifactError::HomeNotAbsolute { home });
    }
    if !names_one_directory(name) {
        return Err(ArtifactError::UnusableName {
            name: name.to_owned(),
        });
    }
    let mut root = home;
    root.extend([".local", "state", "odek-ext", name, "artifacts"]);
    Ok(root)
}

/// Whether a name stays one element of a path: no separator, no `.` or `..`, not empty.
fn names_one_directory(name: &str) -> bool {
    let mut components = Path::new(name).components();
    let only = components.next();
    only == Some(Component::Normal(OsStr::new(name))) && !name.contains('\0')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(name: &str, variables: &[(&str, &str)]) -> Result<PathBuf, ArtifactError> {
        from_environment(name, |wanted| {
            let found = variables.iter().find(|(name, _)| *name == wanted)?;
            Some(OsString::from(found.1))
        })
    }

    #[test]
    fn the_variable_wins_over_the_home_directory() {
        let both = [(ROOT_VARIABLE, "/srv/out"), ("HOME", "/home/ann")];
        assert_eq!(resolve("x", &both).unwrap(), Path::new("/srv/out"));
        let home = [(ROOT_VARIABLE, ""), ("HOME", "/home/ann")];
        assert_eq!(
            resolve("log-analyzer", &home).unwrap(),
            Path::new("/home/ann/.local/state/odek-ext/log-analyzer/artifacts")
        );
    }

    #[test]
    fn a_relative_root_starts_at_the_working_directory() {
        let location = Location::At("out/artifacts".into());
        let expected = std::env::current_dir().unwrap().join("out/artifacts");
        assert_eq!(location.resolve().unwrap(), expected);
    }

    #[test]
    fn without_a_home_the_error_names_the_variable() {
        for variables in [&[][..], &[("HOME", "")][..]] {
            let error = resolve("x", variables).unwrap_err();
            assert!(matches!(error, ArtifactError::NoRoot));
            assert!(error.to_string().contains("ODEK_EXT_ARTIFACT_ROOT"));
        }
        let error = resolve("x", &[("HOME", "ann")]).unwrap_err();
        assert!(matches!(error, ArtifactError::HomeNotAbsolute { .. }));
    }

    #[test]
    fn a_name_cannot_lead_out_of_the_state_directory() {
        for name in ["", ".", "..", "a/b", "/etc", "a/", "a\0b"] {
            let error = resolve(name, &[("HOME", "/home/ann")]).unwrap_err();
            assert!(
                matches!(error, ArtifactError::UnusableName { .. }),
                "{name:?}"
            );
        }
    }
}
