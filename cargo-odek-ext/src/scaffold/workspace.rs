//! The cargo workspace around a new project: the project becomes a member, or opts out.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use cargo_metadata::MetadataCommand;
use rustix::fs::FlockOperation;
use tempfile::NamedTempFile;
use toml_edit::{Array, DocumentMut, Item, RawString, Value};

use crate::error::ExpectedError;
use crate::project_name::ProjectName;

const BYTE_ORDER_MARK: char = '\u{feff}';

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
    /// What to write; none when the manifest's patterns already cover the project.
    addition: Option<Change>,
}

impl Member {
    /// Fails when another member has the name: cargo would refuse the whole workspace then. Where
    /// cargo cannot be asked, or finds fault with the workspace as it is, nobody is stopped.
    pub(crate) fn check_name(&self, name: &ProjectName) -> Result<(), ExpectedError> {
        let metadata = MetadataCommand::new()
            .manifest_path(self.root.join("Cargo.toml"))
            .current_dir(&self.root)
            .no_deps()
            .exec();
        let taken = metadata.is_ok_and(|metadata| {
            let packages = metadata.packages.iter();
            packages
                .map(|package| &package.name)
                .any(|other| **other == name.as_str())
        });
        if taken {
            return Err(ExpectedError::NameTaken {
                name: name.to_string(),
                workspace: self.root.clone(),
            });
        }
        Ok(())
    }

    /// Writes the workspace manifest, if that is needed.
    pub(crate) fn commit(self) -> Result<(), ExpectedError> {
        match self.addition {
            Some(change) => change.commit(),
            None => Ok(()),
        }
    }
}

/// A member to add to a manifest.
#[derive(Debug)]
struct Change {
    path: PathBuf,
    relative: String,
    before: String,
    prepared: PreparedManifest,
}

impl Change {
    /// Replaces the manifest. Where another process has changed it since it was read, the member
    /// is added to what is there now.
    fn commit(self) -> Result<(), ExpectedError> {
        // Of several processes that add a member, one looks and replaces at a time. Without the
        // lock, which some file systems do not have, the moment between the two stays open.
        let directory = File::open(self.path.parent().unwrap_or(Path::new("/")));
        let _lock = directory.and_then(|directory| {
            rustix::fs::flock(&directory, FlockOperation::LockExclusive)?;
            Ok(directory)
        });
        let text = read(&self.path)?;
        if text == self.before {
            return self.prepared.commit();
        }
        let mut document = parse(&self.path, &text)?;
        match add(&self.path, &mut document, &self.relative)? {
            Addition::Added => {
                PreparedManifest::new(&self.path, &in_style_of(&text, &document))?.commit()
            }
            Addition::AlreadyCovered => Ok(()),
            Addition::Excluded => Err(ExpectedError::WorkspaceManifest {
                path: self.path,
                problem: "another process has excluded the place meanwhile".to_owned(),
            }),
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
        let before = read(&path)?;
        let mut document = parse(&path, &before)?;
        if !document.contains_key("workspace") {
            continue;
        }
        let Some(relative) = target.strip_prefix(directory).ok().and_then(Path::to_str) else {
            return Err(ExpectedError::PathNotUtf8 {
                path: target.to_owned(),
            });
        };
        let addition = match add(&path, &mut document, relative)? {
            Addition::Excluded => return Ok(Membership::OptOut),
            Addition::AlreadyCovered => None,
            Addition::Added => Some(Change {
                prepared: PreparedManifest::new(&path, &in_style_of(&before, &document))?,
                relative: relative.to_owned(),
                before,
                path,
            }),
        };
        return Ok(Membership::Member(Member {
            root: directory.to_owned(),
            addition,
        }));
    }
    Ok(Membership::Alone)
}

fn read(path: &Path) -> Result<String, ExpectedError> {
    fs::read_to_string(path).map_err(|source| ExpectedError::file("read", path, source))
}

fn parse(path: &Path, text: &str) -> Result<DocumentMut, ExpectedError> {
    text.parse().map_err(
        |error: toml_edit::TomlError| ExpectedError::WorkspaceManifest {
            path: path.to_owned(),
            problem: error.message().to_owned(),
        },
    )
}

fn add(path: &Path, document: &mut DocumentMut, relative: &str) -> Result<Addition, ExpectedError> {
    add_member(document, relative).map_err(|problem| ExpectedError::WorkspaceManifest {
        path: path.to_owned(),
        problem,
    })
}

/// The text of a changed document, with the byte-order mark and the line ends of the text that it
/// was read from: the parser knows neither.
fn in_style_of(before: &str, document: &DocumentMut) -> String {
    let mut text = document.to_string();
    let first_line = before.split_inclusive('\n').next().unwrap_or_default();
    if first_line.ends_with("\r\n") {
        text = text.replace("\r\n", "\n").replace('\n', "\r\n");
    }
    if before.starts_with(BYTE_ORDER_MARK) && !text.starts_with(BYTE_ORDER_MARK) {
        text.insert(0, BYTE_ORDER_MARK);
    }
    text
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
        insert_in_line(array, position, text);
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

/// Inserts a value in a list on one line. What stood before the first value stands before the new
/// first one.
fn insert_in_line(array: &mut Array, position: usize, text: &str) {
    let start = array.get(position).and_then(|next| next.decor().prefix());
    let start = start.and_then(RawString::as_str).map(str::to_owned);
    array.insert(position, text);
    if position == 0
        && let Some(start) = start
    {
        for (value, prefix) in array.iter_mut().zip([start.as_str(), " "]) {
            value.decor_mut().set_prefix(prefix);
        }
    }
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
                "[workspace]\nmembers = [\"c\", \"d\"]\n",
                "[workspace]\nmembers = [\"b\", \"c\", \"d\"]\n",
            ),
            (
                "[workspace]\nmembers = [ \"c\" ]\n",
                "[workspace]\nmembers = [ \"b\", \"c\" ]\n",
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
    fn the_line_ends_and_the_mark_of_the_manifest_stay() {
        for (before, after) in [
            (
                "[workspace]\r\nmembers = [\r\n  \"a\",\r\n]\r\n",
                "[workspace]\r\nmembers = [\r\n  \"a\",\r\n  \"b\",\r\n]\r\n",
            ),
            (
                "\u{feff}[workspace]\nmembers = []\n",
                "\u{feff}[workspace]\nmembers = [\"b\"]\n",
            ),
        ] {
            let mut document: DocumentMut = before.parse().unwrap();
            add_member(&mut document, "b").unwrap();
            assert_eq!(in_style_of(before, &document), after);
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
