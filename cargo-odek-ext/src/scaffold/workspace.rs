//! The cargo workspace around a new project: the project becomes a member, or opts out.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;
use toml_edit::{Array, DocumentMut, Item, RawString, Value};

use crate::error::ExpectedError;

/// How a new project relates to the manifests above it.
#[derive(Debug)]
pub(crate) enum Membership {
    /// No workspace is near.
    Alone,
    /// There is a workspace that the project does not belong to, so it needs to be a workspace
    /// of its own.
    OptOut,
    /// The project is or becomes a member.
    Member(Member),
}

#[derive(Debug)]
pub(crate) struct Member {
    /// The directory of the workspace manifest.
    pub(crate) root: PathBuf,
    /// The manifest to write; none when its patterns already cover the project.
    addition: Option<PreparedManifest>,
}

impl Member {
    /// Writes the workspace manifest, if that is needed.
    pub(crate) fn commit(self) -> Result<(), ExpectedError> {
        match self.addition {
            Some(manifest) => manifest.commit(),
            None => Ok(()),
        }
    }
}

/// A new version of a manifest on stable storage, under a temporary name beside the old one.
#[derive(Debug)]
struct PreparedManifest {
    file: NamedTempFile,
    path: PathBuf,
}

impl PreparedManifest {
    fn new(path: &Path, content: &str) -> Result<Self, ExpectedError> {
        // A manifest that is a link is replaced where it really lies.
        let path = path
            .canonicalize()
            .map_err(|source| ExpectedError::file("read", path, source))?;
        let failure = |source| ExpectedError::file("write beside", &path, source);
        let directory = path.parent().unwrap_or(Path::new("/"));
        let mut file = NamedTempFile::new_in(directory)
            .map_err(|source| ExpectedError::temporary("create a file in", directory, source))?;
        file.write_all(content.as_bytes()).map_err(failure)?;
        let permissions = fs::metadata(&path).map_err(failure)?.permissions();
        file.as_file()
            .set_permissions(permissions)
            .map_err(failure)?;
        file.as_file().sync_all().map_err(failure)?;
        Ok(Self { file, path })
    }

    fn commit(self) -> Result<(), ExpectedError> {
        let path = self.path;
        self.file
            .persist(&path)
            .map(drop)
            .map_err(|error| ExpectedError::file("replace", &path, error.error))
    }
}

/// Finds out what the nearest workspace above `target` says about it, and prepares the change.
/// `target` must be absolute.
///
/// # Errors
///
/// Fails when the workspace's manifest cannot be read as one, since cargo would then refuse to
/// build the new project.
pub(crate) fn membership(target: &Path) -> Result<Membership, ExpectedError> {
    for directory in target.ancestors().skip(1) {
        let path = directory.join("Cargo.toml");
        if !path.is_file() {
            continue;
        }
        let text = fs::read_to_string(&path)
            .map_err(|source| ExpectedError::file("read", &path, source))?;
        let mut document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| {
            ExpectedError::WorkspaceManifest {
                path: path.clone(),
                problem: error.message().to_owned(),
            }
        })?;
        if !document.contains_key("workspace") {
            continue;
        }
        let Some(relative) = target.strip_prefix(directory).ok().and_then(Path::to_str) else {
            return Err(ExpectedError::PathNotUtf8 {
                path: target.to_owned(),
            });
        };
        let addition = match add_member(&mut document, relative) {
            Ok(Addition::Excluded) => return Ok(Membership::OptOut),
            Ok(Addition::AlreadyCovered) => None,
            Ok(Addition::Added) => Some(PreparedManifest::new(&path, &document.to_string())?),
            Err(problem) => return Err(ExpectedError::WorkspaceManifest { path, problem }),
        };
        return Ok(Membership::Member(Member {
            root: directory.to_owned(),
            addition,
        }));
    }
    Ok(Membership::Alone)
}

/// Whether a manifest with a `[workspace]` table lies above `target`.
pub(crate) fn is_enclosed(target: &Path) -> bool {
    target
        .ancestors()
        .skip(1)
        .any(|directory| directory.join("Cargo.toml").is_file())
}

#[derive(Debug, PartialEq, Eq)]
enum Addition {
    Added,
    AlreadyCovered,
    Excluded,
}

/// Adds `relative` to the members, keeping the order and the formatting of the others.
fn add_member(document: &mut DocumentMut, relative: &str) -> Result<Addition, String> {
    let workspace = document
        .get_mut("workspace")
        .and_then(Item::as_table_like_mut)
        .ok_or("`workspace` is not a table")?;
    if strings(workspace.get("exclude"), "exclude")?
        .iter()
        .any(|excluded| Path::new(relative).starts_with(excluded.trim_start_matches("./")))
    {
        return Ok(Addition::Excluded);
    }
    let members = strings(workspace.get("members"), "members")?;
    if members.iter().any(|pattern| covers(pattern, relative)) {
        return Ok(Addition::AlreadyCovered);
    }
    let sorted = members.is_sorted();
    let array = workspace
        .entry("members")
        .or_insert_with(|| Item::Value(Value::Array(Array::new())))
        .as_array_mut()
        .ok_or("`workspace.members` is not a list")?;
    let position = if sorted {
        members
            .iter()
            .position(|member| member.as_str() > relative)
            .unwrap_or(members.len())
    } else {
        members.len()
    };
    insert_in_style(array, position, relative);
    Ok(Addition::Added)
}

fn strings(item: Option<&Item>, key: &str) -> Result<Vec<String>, String> {
    let Some(item) = item else {
        return Ok(Vec::new());
    };
    item.as_array()
        .and_then(|array| {
            array
                .iter()
                .map(|value| value.as_str().map(str::to_owned))
                .collect()
        })
        .ok_or_else(|| format!("`workspace.{key}` is not a list of texts"))
}

/// Inserts a value so that it is laid out like the others: on a line of its own in a list of lines,
/// behind a comma and a space in a list on one line. Comments stay where they are: one behind a
/// value on its line, others before the value they precede.
fn insert_in_style(array: &mut Array, position: usize, text: &str) {
    let Some(indentation) = array.iter().find_map(line_break) else {
        array.insert(position, text);
        return;
    };
    let (comment, rest) = split_at_line_end(&text_before(array, position));
    if position < array.len() {
        if let Some(next) = array.get_mut(position) {
            next.decor_mut().set_prefix(rest);
        }
    } else {
        if let Some(last) = array.get_mut(position.saturating_sub(1)) {
            last.decor_mut().set_suffix("");
        }
        array.set_trailing_comma(true);
        array.set_trailing(rest);
    }
    let mut value = Value::from(text);
    value.decor_mut().set_prefix(comment + &indentation);
    array.insert_formatted(position, value);
}

/// What stands between the comma before a position and the value there, or the list's end. The
/// last value of a list without a comma at its end has that text behind it.
fn text_before(array: &Array, position: usize) -> String {
    let text = match array.get(position) {
        Some(value) => value.decor().prefix(),
        None if array.trailing_comma() => Some(array.trailing()),
        None => array
            .get(position.saturating_sub(1))
            .and_then(|last| last.decor().suffix()),
    };
    text.and_then(RawString::as_str)
        .unwrap_or_default()
        .to_owned()
}

fn split_at_line_end(text: &str) -> (String, String) {
    let (line, rest) = text.split_at(text.find('\n').unwrap_or(0));
    (line.to_owned(), rest.to_owned())
}

/// The line break and the indentation before a value that begins a line.
fn line_break(value: &Value) -> Option<String> {
    let prefix = value.decor().prefix()?.as_str()?;
    prefix.rfind('\n').map(|start| prefix[start..].to_owned())
}

/// Whether a member pattern of cargo covers a path: `*` and `?` match within one directory name,
/// `**` any number of names.
fn covers(pattern: &str, path: &str) -> bool {
    let pattern: Vec<&str> = parts(pattern).collect();
    let path: Vec<&str> = parts(path).collect();
    covers_parts(&pattern, &path)
}

fn parts(path: &str) -> impl Iterator<Item = &str> {
    path.split('/')
        .filter(|part| !part.is_empty() && *part != ".")
}

fn covers_parts(pattern: &[&str], path: &[&str]) -> bool {
    match (pattern.split_first(), path.split_first()) {
        (None, None) => true,
        (Some((&"**", rest)), _) => {
            covers_parts(rest, path)
                || path
                    .split_first()
                    .is_some_and(|(_, path)| covers_parts(pattern, path))
        }
        (Some((first, pattern)), Some((name, path))) => {
            covers_name(first.as_bytes(), name.as_bytes()) && covers_parts(pattern, path)
        }
        _ => false,
    }
}

fn covers_name(pattern: &[u8], name: &[u8]) -> bool {
    match (pattern.split_first(), name.split_first()) {
        (None, None) => true,
        (Some((b'*', rest)), _) => {
            covers_name(rest, name)
                || name
                    .split_first()
                    .is_some_and(|(_, name)| covers_name(pattern, name))
        }
        (Some((b'?', pattern)), Some((_, name))) => covers_name(pattern, name),
        (Some((first, pattern)), Some((letter, name))) => {
            first == letter && covers_name(pattern, name)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after_adding(manifest: &str, relative: &str) -> (Addition, String) {
        let mut document: DocumentMut = manifest.parse().unwrap();
        let addition = add_member(&mut document, relative).unwrap();
        (addition, document.to_string())
    }

    #[test]
    fn a_member_joins_a_sorted_list_in_its_place() {
        for (before, after) in [
            (
                "[workspace] # keep\nmembers = [\"a\", \"c\"]\n",
                "[workspace] # keep\nmembers = [\"a\", \"b\", \"c\"]\n",
            ),
            (
                "[workspace]\nmembers = [\n    # first\n    \"a\",\n    \"c\",\n]\n",
                "[workspace]\nmembers = [\n    # first\n    \"a\",\n    \"b\",\n    \"c\",\n]\n",
            ),
            (
                "[workspace]\nmembers = [\n  \"z\",\n  \"a\"\n]\n",
                "[workspace]\nmembers = [\n  \"z\",\n  \"a\",\n  \"b\",\n]\n",
            ),
            (
                "[workspace]\nmembers = [\n  \"a\", # one\n  # two\n  \"c\",\n]\n",
                "[workspace]\nmembers = [\n  \"a\", # one\n  \"b\",\n  # two\n  \"c\",\n]\n",
            ),
            (
                "[workspace]\nmembers = [\n  \"a\", # one\n  # end\n]\n",
                "[workspace]\nmembers = [\n  \"a\", # one\n  \"b\",\n  # end\n]\n",
            ),
            (
                "[workspace]\nmembers = [\n  \"a\" # one\n]\n",
                "[workspace]\nmembers = [\n  \"a\", # one\n  \"b\",\n]\n",
            ),
            (
                "[workspace]\nmembers = [\"a\",\n  \"c\"]\n",
                "[workspace]\nmembers = [\"a\",\n  \"b\",\n  \"c\"]\n",
            ),
            (
                "[workspace]\nmembers = []\n",
                "[workspace]\nmembers = [\"b\"]\n",
            ),
            (
                "[workspace]\nresolver = \"3\"\n",
                "[workspace]\nresolver = \"3\"\nmembers = [\"b\"]\n",
            ),
        ] {
            assert_eq!(
                after_adding(before, "b"),
                (Addition::Added, after.to_owned())
            );
        }
    }

    #[test]
    fn covered_and_excluded_projects_change_nothing() {
        let manifest = "[workspace]\nmembers = [\"crates/*\"]\nexclude = [\"crates/old\"]\n";
        for (relative, expected) in [
            ("crates/new", Addition::AlreadyCovered),
            ("crates/old", Addition::Excluded),
            ("crates/old/deep", Addition::Excluded),
        ] {
            assert_eq!(
                after_adding(manifest, relative),
                (expected, manifest.to_owned())
            );
        }
        assert_eq!(after_adding(manifest, "crates/a/b").0, Addition::Added);
    }

    #[test]
    fn odd_workspaces_are_refused() {
        for manifest in [
            "workspace = 1\n",
            "[workspace]\nmembers = \"a\"\n",
            "[workspace]\nmembers = [1]\n",
            "[workspace]\nexclude = {}\n",
        ] {
            let mut document: DocumentMut = manifest.parse().unwrap();
            assert!(add_member(&mut document, "b").is_err(), "{manifest}");
            assert_eq!(document.to_string(), manifest);
        }
    }

    #[test]
    fn patterns_match_as_cargo_matches_them() {
        for (pattern, path, expected) in [
            ("crates/*", "crates/a", true),
            ("crates/*", "crates/a/b", false),
            ("./crates/a/", "crates/a", true),
            ("**", "a/b/c", true),
            ("a/**/z", "a/z", true),
            ("x?-*", "xy-tool", true),
            ("x?-*", "x-tool", false),
            ("a", "b", false),
        ] {
            assert_eq!(covers(pattern, path), expected, "{pattern} {path}");
        }
    }
}
