//! Makes the files that a host vector asks for.
//!
//! A vector's `files` are made in order below a fresh directory, `${ROOT}`, which stands for the
//! host's working directory too; modes are set last and in reverse order, so that a directory
//! without permissions can still be filled.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

/// How a vector writes the directory in its inputs and outputs.
const PLACEHOLDER: &str = "${ROOT}";

/// The directory of one case. Removed when dropped.
pub struct CaseFolder {
    path: PathBuf,
    restricted: Vec<PathBuf>,
    _guard: TempDir,
}

impl CaseFolder {
    /// An empty directory whose path holds no symbolic link.
    pub fn new() -> Self {
        let guard = tempfile::tempdir().expect("a temporary directory");
        let path = fs::canonicalize(guard.path()).expect("the directory just made");
        Self {
            path,
            restricted: Vec::new(),
            _guard: guard,
        }
    }

    /// A directory with the files of a case, or the first of its needs that this machine does not
    /// meet.
    pub fn for_case(case: &Value) -> Result<Self, String> {
        let mut folder = Self::new();
        for need in case["needs"].as_array().into_iter().flatten() {
            folder.meet(need.as_str().expect("a need is a string"))?;
        }
        folder.make(&case["files"]);
        Ok(folder)
    }

    /// The directory itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Text of a vector with the placeholder replaced by the directory.
    pub fn fill_in(&self, text: &str) -> String {
        text.replace(PLACEHOLDER, &self.text())
    }

    /// A value of a vector with the placeholder replaced by the directory, names included.
    pub fn fill_in_value(&self, value: &Value) -> Value {
        // The directory's path needs no escapes in JSON, so this can be done on the text.
        serde_json::from_str(&self.fill_in(&value.to_string())).expect("still JSON")
    }

    /// Text of a result with the directory replaced by the placeholder.
    pub fn put_back(&self, text: &str) -> String {
        text.replace(&self.text(), PLACEHOLDER)
    }

    fn text(&self) -> String {
        self.path
            .to_str()
            .expect("a temporary directory has a plain name")
            .to_owned()
    }

    fn meet(&self, need: &str) -> Result<(), String> {
        let probe = self.path.join(".probe-e\u{301}");
        fs::write(&probe, "x").expect("a file in the directory just made");
        let met = match need {
            "unprivileged" => {
                fs::set_permissions(&probe, Permissions::from_mode(0o000)).expect("own file");
                File::open(&probe).is_err()
            }
            "case-sensitive-names" => !self.path.join(".PROBE-E\u{301}").exists(),
            "exact-unicode-names" => !self.path.join(".probe-\u{e9}").exists(),
            other => panic!("the vectors have a need that is not known here: {other}"),
        };
        fs::remove_file(&probe).expect("the probe just made");
        if met { Ok(()) } else { Err(need.to_owned()) }
    }

    fn make(&mut self, files: &Value) {
        let files = files.as_array().map(Vec::as_slice).unwrap_or_default();
        for file in files {
            self.make_one(file);
        }
        for file in files.iter().rev() {
            let Some(mode) = file["mode"].as_str() else {
                continue;
            };
            let mode = u32::from_str_radix(mode, 8).expect("an octal mode");
            let path = self.place_of(file);
            fs::set_permissions(&path, Permissions::from_mode(mode)).expect("own file");
            self.restricted.push(path);
        }
    }

    fn make_one(&self, file: &Value) {
        let path = self.place_of(file);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).expect("the parent directories");
        }
        if let Some(content) = file["content"].as_str() {
            write_new(&path, content.as_bytes());
        } else if let Some(content) = file["content_b64"].as_str() {
            write_new(&path, &decode_base64(content));
        } else if let Some(size) = file["sparse_size"].as_u64() {
            File::create_new(&path)
                .and_then(|file| file.set_len(size))
                .expect("a sparse file");
        } else if let Some(target) = file["symlink"].as_str() {
            symlink(self.fill_in(target), &path).expect("a symbolic link");
        } else if let Some(target) = file["hardlink"].as_str() {
            fs::hard_link(self.path.join(self.fill_in(target)), &path).expect("a hard link");
        } else if file["dir"].as_bool() == Some(true) {
            fs::create_dir_all(&path).expect("a directory");
        } else if file["fifo"].as_bool() == Some(true) {
            let status = Command::new("mkfifo")
                .arg(&path)
                .status()
                .expect("the mkfifo program");
            assert!(status.success(), "mkfifo failed for {}", path.display());
        } else {
            panic!("the vectors have a kind of file that is not known here: {file}");
        }
    }

    fn place_of(&self, file: &Value) -> PathBuf {
        self.path
            .join(file["path"].as_str().expect("a file has a path"))
    }
}

impl Drop for CaseFolder {
    fn drop(&mut self) {
        // Outer directories come last in the list and have to be opened first.
        for path in self.restricted.iter().rev() {
            let _ = fs::set_permissions(path, Permissions::from_mode(0o700));
        }
    }
}

fn write_new(path: &Path, content: &[u8]) {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path)
        .expect("a new file");
    file.write_all(content).expect("room for a small file");
}

/// Decodes standard base64.
pub fn decode_base64(text: &str) -> Vec<u8> {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut bytes = Vec::new();
    let (mut bits, mut count) = (0_u32, 0);
    for letter in text.bytes().filter(|letter| *letter != b'=') {
        let value = ALPHABET
            .iter()
            .position(|known| *known == letter)
            .expect("a base64 letter");
        bits = (bits << 6) | u32::try_from(value).expect("below 64");
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from((bits >> count) & 0xff).expect("masked"));
        }
    }
    bytes
}
