//! The files in `docs/schemas` are what the types generate, all of it and nothing else.
//!
//! To write them anew: `ODEK_WRITE_SCHEMAS=1 cargo test -p odek-contract --test schemas`.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io;
use std::path::Path;

use odek_contract::schema::json_schemas;

#[test]
fn the_schema_files_are_up_to_date() -> io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schemas");
    let expected: BTreeMap<String, String> = json_schemas()
        .into_iter()
        .map(|(name, schema)| (name.to_owned(), format!("{schema:#}\n")))
        .collect();
    if env::var_os("ODEK_WRITE_SCHEMAS").is_some() {
        write(&folder, &expected)?;
    }
    let found = read(&folder)?;
    for (name, text) in &expected {
        assert!(
            found.get(name) == Some(text),
            "docs/schemas/{name} is stale; run this test with ODEK_WRITE_SCHEMAS=1"
        );
    }
    let names = |files: &BTreeMap<String, String>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&found), names(&expected));
    Ok(())
}

fn write(folder: &Path, files: &BTreeMap<String, String>) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    files
        .iter()
        .try_for_each(|(name, text)| fs::write(folder.join(name), text))
}

fn read(folder: &Path) -> io::Result<BTreeMap<String, String>> {
    fs::read_dir(folder)?
        .map(|entry| {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            Ok((name, fs::read_to_string(entry.path())?))
        })
        .collect()
}
