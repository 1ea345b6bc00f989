//! The store as a whole, on real directories.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::process::{Command, Stdio};
use std::time::Duration;

use flate2::read::GzDecoder;
use odek_contract::artifact::ArtifactRoots;
use proptest::prelude::*;
use rustix::fs::{CWD, Mode, Timespec, Timestamps};

use super::*;

const HOUR: Duration = Duration::from_secs(60 * 60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

struct Fixture {
    folder: tempfile::TempDir,
    store: ArtifactStore,
}

impl Fixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = ArtifactStore::at(folder.path().join("root"), Retention::default());
        Self { folder, store }
    }

    fn root(&self) -> PathBuf {
        self.store.root().unwrap()
    }

    /// Names of everything in the root, sorted.
    fn listing(&self) -> Vec<String> {
        let entries = fs::read_dir(self.root()).unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// A file outside the root.
    fn outside(&self, name: impl AsRef<Path>, content: &[u8]) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, content).unwrap();
        path
    }

    /// Validates as the host does.
    fn validate(&self, artifact: &Artifact) {
        let roots = [self.root().to_str().unwrap().to_owned()];
        let roots = ArtifactRoots::resolve(&roots, Path::new("/"));
        let validated = artifact.to_reference().validate(&roots).unwrap();
        assert_eq!(validated.path, artifact.path());
        assert_eq!(validated.size_bytes, artifact.size_bytes());
        assert_eq!(validated.sha256, Some(artifact.sha256()));
    }

    fn apply(&self, retention: Retention, later: Duration) {
        let root = self.store.open_root().unwrap();
        retention.apply(&root, SystemTime::now() + later);
    }
}

/// A file of this many bytes that takes no room on the disk.
fn sparse(path: &Path, bytes: u64) {
    fs::File::create(path).unwrap().set_len(bytes).unwrap();
}

#[test]
fn every_way_of_making_an_artifact_satisfies_the_host() {
    let fixture = Fixture::new();
    let store = &fixture.store;
    let source = fixture.outside("in put.csv", b"a,b\n1,2\n");
    let mut writer = store.create("written").unwrap();
    writer.write_all(b"hello ").unwrap();
    writer.flush().unwrap();
    writer.write_all(b"world\n").unwrap();
    let artifacts = [
        writer.finish().unwrap(),
        store.copy_in("copied", &source).unwrap(),
        store.link_existing("linked", &source).unwrap(),
        store.write_bytes("bytes", [0_u8, 1, 2]).unwrap(),
        store.write_bytes("empty", "").unwrap(),
        store
            .write_json("json", &serde_json::json!({"a": [1, 2]}))
            .unwrap(),
        store.compress("compressed", &source).unwrap(),
    ];
    for artifact in &artifacts {
        fixture.validate(artifact);
        assert_eq!(artifact.path().parent().unwrap(), fixture.root());
    }
    let types: Vec<_> = artifacts
        .iter()
        .map(|a| a.to_reference().media_type)
        .collect();
    assert_eq!(
        types,
        [
            "text/plain",
            "text/csv",
            "text/csv",
            "application/octet-stream",
            "text/plain",
            "application/json",
            "application/gzip"
        ]
    );
    assert_eq!(fs::read(artifacts[0].path()).unwrap(), b"hello world\n");
    assert_eq!(fs::read(artifacts[5].path()).unwrap(), br#"{"a":[1,2]}"#);
    assert_eq!(fixture.listing().len(), artifacts.len());
}

#[test]
fn names_are_readable_and_files_private() {
    let fixture = Fixture::new();
    let source = fixture.outside("junit.xml", b"<testsuite/>");
    let artifact = fixture.store.copy_in("report-1", &source).unwrap();
    let name = artifact.path().file_name().unwrap().to_str().unwrap();
    assert!(
        name.starts_with("report-1.odek-") && name.ends_with(".xml"),
        "{name}"
    );
    assert_eq!(artifact.to_reference().media_type, "application/xml");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(artifact.path()), 0o600);
    assert_eq!(mode(&fixture.root()), 0o700);

    let compressed = fixture.store.compress("report-1", &source).unwrap();
    assert!(compressed.path().to_str().unwrap().ends_with(".xml.gz"));
    let typed = fixture.store.create("x").unwrap().media_type("image/png");
    assert!(
        typed
            .finish()
            .unwrap()
            .path()
            .to_str()
            .unwrap()
            .ends_with(".png")
    );
}

#[test]
fn a_root_with_any_name_works() {
    let folder = tempfile::tempdir().unwrap();
    for name in [
        &b"sp ace"[..],
        b"100%",
        b"a#b",
        b"a?b",
        "ümlaut 日本".as_bytes(),
        b"caf\xe9",
        b"new\nline",
    ] {
        let root = folder.path().join(OsStr::from_bytes(name));
        let store = ArtifactStore::at(&root, Retention::default());
        let artifact = store.write_bytes("x", "hello").unwrap();
        let configured = folder.path().to_str().unwrap().to_owned();
        let roots = ArtifactRoots::resolve(&[configured], Path::new("/"));
        let validated = artifact.to_reference().validate(&roots).unwrap();
        assert_eq!(validated.path, artifact.path(), "{name:?}");
        assert!(artifact.to_reference().uri.is_ascii());
        // The same names as a file that is referenced in place.
        let file = root.join(OsStr::from_bytes(name));
        fs::write(&file, "in place").unwrap();
        let artifact = store.link_existing("y", &file).unwrap();
        assert_eq!(artifact.path(), file.canonicalize().unwrap());
        artifact.to_reference().validate(&roots).unwrap();
    }
}

#[test]
fn two_artifacts_of_one_id_do_not_meet() {
    let fixture = Fixture::new();
    let first = fixture.store.write_bytes("same", "1").unwrap();
    let second = fixture.store.write_bytes("same", "2").unwrap();
    assert_ne!(first.path(), second.path());
    fixture.validate(&first);
    fixture.validate(&second);
}

#[test]
fn many_threads_share_one_store() {
    let fixture = Fixture::new();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let store = fixture.store.clone();
            scope.spawn(move || {
                for number in 0..10 {
                    store
                        .write_bytes("x", format!("{thread} {number}"))
                        .unwrap();
                }
            });
        }
    });
    assert_eq!(fixture.listing().len(), 80);
}

#[test]
fn a_dropped_writer_leaves_nothing() {
    let fixture = Fixture::new();
    for bytes in [0, 10, 3 * 1024 * 1024] {
        let mut writer = fixture.store.create("x").unwrap();
        writer.write_all(&vec![7; bytes]).unwrap();
        writer.flush().unwrap();
        let listing = fixture.listing();
        assert!(listing[0].starts_with(".x.odek-") && listing[0].ends_with(".part"));
        drop(writer);
        assert!(fixture.listing().is_empty());
    }
    drop(fixture.store.create_compressed("x").unwrap());
    assert!(fixture.listing().is_empty());
}

#[test]
fn large_content_is_written_and_hashed_alike() {
    let fixture = Fixture::new();
    let content: Vec<u8> = (0..5_000_011_u32).map(|n| (n % 251) as u8).collect();
    let source = fixture.outside("big", &content);
    let mut writer = fixture.store.create("pieces").unwrap();
    for piece in content.chunks(100_003) {
        writer.write_all(piece).unwrap();
    }
    for artifact in [
        writer.finish().unwrap(),
        fixture.store.copy_in("copy", &source).unwrap(),
        fixture.store.link_existing("link", &source).unwrap(),
        fixture.store.write_bytes("bytes", &content).unwrap(),
    ] {
        assert_eq!(artifact.sha256(), Sha256Digest::of(&content));
        assert!(fs::read(artifact.path()).unwrap() == content);
        fixture.validate(&artifact);
    }
}

#[test]
fn the_cap_is_exact() {
    let fixture = Fixture::new();
    let path = fixture.folder.path().join("sparse");
    sparse(&path, MAX_ARTIFACT_BYTES);
    let artifact = fixture.store.copy_in("x", &path).unwrap();
    assert_eq!(artifact.size_bytes(), MAX_ARTIFACT_BYTES);
    fixture.validate(&artifact);

    sparse(&path, MAX_ARTIFACT_BYTES + 1);
    for result in [
        fixture.store.copy_in("x", &path),
        fixture.store.link_existing("x", &path),
        fixture.store.write_bytes("x", vec![0; 67_108_865]),
    ] {
        let message = result.unwrap_err().to_string();
        assert!(message.contains("67108865 bytes") && message.contains("67108864 bytes"));
        assert!(message.contains("`compress`") && message.contains("`split`"));
    }
    assert_eq!(fixture.listing().len(), 1);
}

#[test]
fn a_writer_stops_at_the_cap_and_says_so_again_at_the_end() {
    let fixture = Fixture::new();
    let mut writer = fixture.store.create("endless").unwrap();
    let error = std::io::copy(&mut std::io::repeat(0), &mut writer).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::FileTooLarge);
    assert!(error.to_string().contains("at least"), "{error}");
    assert!(writer.write_all(b"x").is_err());
    let error = writer.finish().unwrap_err();
    assert!(matches!(
        error,
        ArtifactError::TooLarge { size: ContentSize::AtLeast(bytes), .. } if bytes > MAX_ARTIFACT_BYTES
    ));
    assert!(fixture.listing().is_empty());
}

#[test]
fn only_regular_files_can_be_attached() {
    let fixture = Fixture::new();
    let folder = fixture.folder.path();
    let file = fixture.outside("file", b"x");
    symlink(&file, folder.join("link")).unwrap();
    rustix::fs::mkfifoat(CWD, folder.join("fifo"), Mode::RUSR | Mode::WUSR).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(folder.join("socket")).unwrap();
    for (name, kind) in [
        ("link", FileKind::SymbolicLink),
        ("fifo", FileKind::Fifo),
        ("socket", FileKind::Socket),
        (".", FileKind::Directory),
        ("/dev/null", FileKind::Device),
    ] {
        let path = folder.join(name);
        let store = &fixture.store;
        for error in [
            store.copy_in("x", &path).unwrap_err(),
            store.link_existing("x", &path).unwrap_err(),
            store.compress("x", &path).unwrap_err(),
            store.split("x", &path, 10).unwrap_err(),
        ] {
            assert!(
                matches!(error, ArtifactError::NotRegular { kind: found, .. } if found == kind),
                "{name}: {error}"
            );
        }
    }
    let error = fixture
        .store
        .copy_in("x", folder.join("missing"))
        .unwrap_err();
    assert!(error.to_string().ends_with("check the path"), "{error}");
    assert!(fixture.listing().is_empty());
}

#[test]
fn a_blank_id_is_an_error() {
    let fixture = Fixture::new();
    let file = fixture.outside("file", b"x");
    for id in ["", "  ", "\n"] {
        assert!(matches!(
            fixture.store.create(id),
            Err(ArtifactError::BlankId)
        ));
        assert!(matches!(
            fixture.store.link_existing(id, &file),
            Err(ArtifactError::BlankId)
        ));
    }
}

#[test]
fn metadata_is_kept_as_the_host_shows_it() {
    let fixture = Fixture::new();
    let artifact = fixture.store.write_bytes(" a\nb ", "x").unwrap();
    assert_eq!(artifact.to_reference().id, "a b");
    let reference = artifact
        .id("other\tid")
        .media_type("text/\u{2028}plain")
        .media_type("  ")
        .summary("two\r\nlines\u{202e}")
        .to_reference();
    assert_eq!(reference.id, "other id");
    assert_eq!(reference.media_type, "text/ plain");
    assert_eq!(reference.summary.as_deref(), Some("two  lines"));
    let long = fixture
        .store
        .write_bytes("x", "x")
        .unwrap()
        .summary("é".repeat(5000));
    assert_eq!(long.to_reference().summary.unwrap().chars().count(), 4097);
}

#[test]
fn a_file_in_the_root_is_referenced_in_place() {
    let fixture = Fixture::new();
    let below = fixture.root().join("sub");
    fs::create_dir(&below).unwrap();
    let path = below.join("report.html");
    fs::write(&path, "<html></html>").unwrap();
    // A parent that is a link is resolved, so that containment is judged on the real path.
    let link = fixture.folder.path().join("link");
    symlink(&below, &link).unwrap();
    for given in [path.clone(), link.join("report.html")] {
        let artifact = fixture.store.link_existing("r", given).unwrap();
        assert_eq!(artifact.path(), path);
        assert_eq!(artifact.to_reference().media_type, "text/html");
        fixture.validate(&artifact);
    }
    assert_eq!(fixture.listing(), ["sub"]);
}

#[test]
fn a_file_outside_is_hard_linked() {
    let fixture = Fixture::new();
    let path = fixture.outside("data.json", b"{}");
    let artifact = fixture.store.link_existing("r", &path).unwrap();
    let [original, link] = [&path, artifact.path()].map(|path| fs::metadata(path).unwrap());
    assert_eq!((original.dev(), original.ino()), (link.dev(), link.ino()));
    assert!(artifact.path().to_str().unwrap().ends_with(".json"));
    fixture.validate(&artifact);
}

#[test]
fn a_file_on_another_file_system_is_to_be_copied() {
    let fixture = Fixture::new();
    let error = fixture
        .store
        .link_existing("x", "/proc/self/status")
        .unwrap_err();
    assert!(matches!(error, ArtifactError::CannotLink { .. }), "{error}");
    assert!(
        error
            .to_string()
            .ends_with("use `copy_in`, which copies the content")
    );
    assert!(fixture.listing().is_empty());
    // Such files report no size, and still have content.
    let artifact = fixture.store.copy_in("x", "/proc/self/status").unwrap();
    assert!(artifact.size_bytes() > 0);
    fixture.validate(&artifact);
}

#[test]
fn a_file_that_is_replaced_while_it_is_linked_is_refused() {
    let fixture = Fixture::new();
    let path = fixture.outside("file", b"x");
    let source = Source::open(&path).unwrap();
    fs::remove_file(&path).unwrap();
    symlink("/etc/hostname", &path).unwrap();
    let error = require_identity(&source, || rustix::fs::lstat(&path)).unwrap_err();
    assert!(matches!(error, ArtifactError::Replaced { .. }));
}

#[test]
fn compressed_artifacts_unpack_to_what_was_given() {
    let fixture = Fixture::new();
    let path = fixture.folder.path().join("huge.log");
    sparse(&path, MAX_ARTIFACT_BYTES + 12_345);
    let mut writer = fixture.store.create_compressed("written").unwrap();
    writer.write_all(b"a few words\n").unwrap();
    let written = writer.finish().unwrap();
    let mut text = String::new();
    GzDecoder::new(fs::File::open(written.path()).unwrap())
        .read_to_string(&mut text)
        .unwrap();
    assert_eq!(text, "a few words\n");

    let artifact = fixture.store.compress("huge", &path).unwrap();
    fixture.validate(&artifact);
    let unpacked = GzDecoder::new(fs::File::open(artifact.path()).unwrap());
    let length = std::io::copy(&mut { unpacked }, &mut std::io::sink()).unwrap();
    assert_eq!(length, MAX_ARTIFACT_BYTES + 12_345);
}

fn joined(parts: &[Artifact]) -> Vec<u8> {
    parts
        .iter()
        .flat_map(|part| fs::read(part.path()).unwrap())
        .collect()
}

#[test]
fn text_is_split_behind_line_ends() {
    let fixture = Fixture::new();
    let lines: String = (0..100_000).map(|n| format!("line {n} é\n")).collect();
    let path = fixture.outside("app.log", lines.as_bytes());
    let parts = fixture.store.split("log", &path, 400_000).unwrap();
    assert!(joined(&parts) == lines.as_bytes());
    for part in &parts {
        fixture.validate(part);
        assert!(part.size_bytes() <= 400_000);
        assert!(fs::read(part.path()).unwrap().ends_with(b"\n"));
        assert_eq!(part.to_reference().media_type, "text/plain");
    }
    let last = parts.last().unwrap().to_reference();
    assert_eq!(last.id, format!("log-part-{}", parts.len()));
    assert_eq!(last.summary, Some(format!("part {0} of {0}", parts.len())));
}

#[test]
fn other_files_are_split_into_equal_parts() {
    let fixture = Fixture::new();
    let content: Vec<u8> = (0..1_000_000_u32).map(|n| (n % 256) as u8).collect();
    let path = fixture.outside("data.bin", &content);
    let parts = fixture.store.split("x", &path, 300_000).unwrap();
    let sizes: Vec<_> = parts.iter().map(Artifact::size_bytes).collect();
    assert_eq!(sizes, [300_000, 300_000, 300_000, 100_000]);
    assert!(joined(&parts) == content);
    let whole = fixture.store.split("x", &path, 1_000_000).unwrap();
    assert_eq!(whole.len(), 1);
    let empty = fixture.outside("empty", b"");
    assert_eq!(fixture.store.split("x", &empty, 1).unwrap().len(), 1);
}

#[test]
fn a_split_that_cannot_be_sent_leaves_nothing() {
    let fixture = Fixture::new();
    let path = fixture.outside("file", &b"0123456789\n".repeat(10));
    for part_bytes in [0, MAX_ARTIFACT_BYTES + 1] {
        let error = fixture.store.split("x", &path, part_bytes).unwrap_err();
        assert!(matches!(error, ArtifactError::PartSize { .. }));
    }
    let error = fixture.store.split("x", &path, 1).unwrap_err();
    assert!(matches!(error, ArtifactError::TooManyParts { .. }));
    // 64 parts by size, but more by lines.
    let long_lines = fixture.outside("lines", &b"0123456\n".repeat(120));
    let error = fixture.store.split("x", &long_lines, 15).unwrap_err();
    assert!(matches!(error, ArtifactError::TooManyParts { .. }));
    assert!(fixture.listing().is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn parts_put_together_are_the_file(
        content in prop_oneof![
            "[a-zé\n]{0,300}".prop_map(String::into_bytes),
            proptest::collection::vec(any::<u8>(), 0..300),
        ],
        part_bytes in 1_u64..400,
    ) {
        let fixture = Fixture::new();
        let path = fixture.outside("file", &content);
        match fixture.store.split("x", &path, part_bytes) {
            Ok(parts) => {
                prop_assert!(joined(&parts) == content);
                prop_assert!(parts.len() <= MAX_ARTIFACTS);
                prop_assert!(parts.iter().all(|part| part.size_bytes() <= part_bytes));
                let empty = parts.iter().filter(|part| part.size_bytes() == 0).count();
                prop_assert_eq!(empty, usize::from(content.is_empty()));
            }
            Err(error) => {
                prop_assert!(matches!(error, ArtifactError::TooManyParts { .. }), "{}", error);
                prop_assert!(fixture.listing().is_empty());
            }
        }
    }
}

#[test]
fn a_value_without_json_form_leaves_nothing() {
    let fixture = Fixture::new();
    let map = std::collections::BTreeMap::from([((1, 2), 3)]);
    let error = fixture.store.write_json("x", &map).unwrap_err();
    assert!(matches!(error, ArtifactError::Json { .. }));
    assert!(fixture.listing().is_empty());
}

#[test]
fn a_root_that_disappears_is_made_anew() {
    let fixture = Fixture::new();
    let first = fixture.store.write_bytes("x", "1").unwrap();
    fs::remove_dir_all(fixture.root()).unwrap();
    let second = fixture.store.write_bytes("x", "2").unwrap();
    assert!(!first.path().exists());
    fixture.validate(&second);
}

#[test]
fn old_artifacts_are_removed_and_nothing_else() {
    let fixture = Fixture::new();
    let own = fixture.store.write_bytes("own", "x").unwrap();
    let root = fixture.root();
    fs::write(root.join("report.xml"), "not ours").unwrap();
    fs::create_dir(root.join("a.odek-0123456789abcdef.txt")).unwrap();
    let target = fixture.outside("target", b"x");
    symlink(&target, root.join("b.odek-0123456789abcdef.txt")).unwrap();
    let in_place = fixture
        .store
        .link_existing("p", root.join("report.xml"))
        .unwrap();

    fixture.apply(Retention::default(), 7 * DAY - HOUR);
    assert!(own.path().exists());
    fixture.apply(Retention::keep_all(), 100 * DAY);
    assert!(own.path().exists());
    fixture.apply(Retention::default(), 7 * DAY + HOUR);
    assert!(!own.path().exists());
    assert!(in_place.path().exists() && target.exists());
    let rest = [
        "a.odek-0123456789abcdef.txt",
        "b.odek-0123456789abcdef.txt",
        "report.xml",
    ];
    assert_eq!(fixture.listing(), rest);
}

#[test]
fn nothing_younger_than_an_hour_is_removed() {
    let fixture = Fixture::new();
    let own = fixture.store.write_bytes("own", "x").unwrap();
    let greedy = Retention::default()
        .max_age(Duration::ZERO)
        .max_total_bytes(0);
    fixture.apply(greedy, HOUR - Duration::from_secs(10));
    assert!(own.path().exists());
    fixture.apply(greedy, HOUR + Duration::from_secs(10));
    assert!(!own.path().exists());
}

#[test]
fn the_oldest_go_first_when_there_are_too_many_bytes() {
    let fixture = Fixture::new();
    let artifacts: Vec<_> = (0..4_i64)
        .map(|number| {
            let artifact = fixture.store.write_bytes("x", [0; 100]).unwrap();
            // The later in this list, the older by the time of last writing. The time of putting
            // them there is the same to the second or so, and in the past of all of them.
            let seconds = i64::try_from(HOUR.as_secs()).unwrap() * (4 - number);
            let now = SystemTime::now()
                .duration_since(std::time::UNIX_EPOCH)
                .unwrap();
            let time = Timespec {
                tv_sec: i64::try_from(now.as_secs()).unwrap() + seconds,
                tv_nsec: 0,
            };
            let times = Timestamps {
                last_access: time,
                last_modification: time,
            };
            let flags = rustix::fs::AtFlags::empty();
            rustix::fs::utimensat(CWD, artifact.path(), &times, flags).unwrap();
            artifact
        })
        .collect();
    fixture.apply(Retention::keep_all().max_total_bytes(250), 10 * HOUR);
    let kept: Vec<_> = artifacts
        .iter()
        .map(|artifact| artifact.path().exists())
        .collect();
    assert_eq!(kept, [true, true, false, false]);
}

#[test]
fn a_link_to_an_old_file_is_young() {
    let fixture = Fixture::new();
    let path = fixture.outside("old", b"x");
    let time = Timespec {
        tv_sec: 1_000_000,
        tv_nsec: 0,
    };
    let times = Timestamps {
        last_access: time,
        last_modification: time,
    };
    rustix::fs::utimensat(CWD, &path, &times, rustix::fs::AtFlags::empty()).unwrap();
    let artifact = fixture.store.link_existing("old", &path).unwrap();
    fixture.apply(Retention::default(), Duration::ZERO);
    assert!(artifact.path().exists());
    fixture.apply(Retention::default(), 8 * DAY);
    assert!(!artifact.path().exists());
    assert!(path.exists());
}

#[test]
fn retention_is_applied_when_a_store_opens() {
    let fixture = Fixture::new();
    let root = fixture.root();
    let left = root.join(".x.odek-0123456789abcdef.part");
    fs::write(&left, "half").unwrap();
    // Its age counts from now, so the next opening keeps it.
    let again = ArtifactStore::at(&root, Retention::default().max_age(Duration::ZERO));
    again.write_bytes("y", "y").unwrap();
    assert!(left.exists());
    fixture.apply(Retention::keep_all(), 2 * HOUR);
    assert!(!left.exists());
}

/// Writes half an artifact and waits to be killed. Started by the test below, in a process of its
/// own.
#[test]
#[ignore = "only makes sense in the process that a_killed_writer_leaves_no_artifact starts"]
fn write_half_and_wait() {
    let root = std::env::var_os("ODEK_SDK_TEST_KILLED_ROOT").expect("the other test sets it");
    let store = ArtifactStore::at(root, Retention::keep_all());
    let mut writer = store.create("half").unwrap();
    writer.write_all(&[7; 3 * 1024 * 1024]).unwrap();
    writer.flush().unwrap();
    let mut stdout = std::io::stdout();
    stdout.write_all(b"\nhalf written\n").unwrap();
    stdout.flush().unwrap();
    std::thread::sleep(Duration::from_secs(600));
}

#[test]
fn a_killed_writer_leaves_no_artifact() {
    let fixture = Fixture::new();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "--nocapture", "--test-threads=1"])
        .arg("artifacts::tests::write_half_and_wait")
        .env("ODEK_SDK_TEST_KILLED_ROOT", fixture.root())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let stdout = BufReader::new(child.stdout.take().unwrap());
    let is_ready = stdout.lines().any(|line| line.unwrap() == "half written");
    assert!(is_ready, "the writing process ended early");

    // While it lives, its file is left alone whatever its age.
    fixture.apply(Retention::keep_all(), 2 * HOUR);
    let listing = fixture.listing();
    assert_eq!(listing.len(), 1);
    assert!(listing[0].starts_with(".half.odek-") && listing[0].ends_with(".part"));

    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(fixture.listing(), listing);
    // Other artifacts come and go; the half file disappears with the next old ones.
    let whole = fixture.store.write_bytes("half", "whole").unwrap();
    fixture.validate(&whole);
    fixture.apply(Retention::keep_all(), HOUR / 2);
    assert_eq!(fixture.listing().len(), 2);
    fixture.apply(Retention::keep_all(), 2 * HOUR);
    assert_eq!(
        fixture.listing(),
        [whole.path().file_name().unwrap().to_str().unwrap()]
    );
}
