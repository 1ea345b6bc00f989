//! Picking one entry of `mcp_servers`.

use std::fs;
use std::path::Path;

use odek_contract::config::{OdekConfig, ServerConfig};
use odek_contract::names::ServerName;

use crate::error::ExpectedError;

/// One configured server.
#[derive(Debug)]
pub(crate) struct ServerEntry {
    pub(crate) name: ServerName,
    pub(crate) config: ServerConfig,
    /// How many servers the file has in all.
    pub(crate) total: usize,
}

/// Reads a configuration file of odek and picks the entry `wanted`, else the only one, else the
/// first of those in `preferred`.
///
/// # Errors
///
/// Fails when the file is no configuration, has no such entry, or leaves the choice open.
pub(crate) fn read(
    path: &Path,
    wanted: Option<&str>,
    preferred: Option<&str>,
) -> Result<ServerEntry, ExpectedError> {
    let bytes = fs::read(path).map_err(|source| ExpectedError::file("read", path, source))?;
    let mut file = OdekConfig::from_json(&bytes).map_err(|source| ExpectedError::OdekConfig {
        path: path.to_owned(),
        problem: source.to_string(),
    })?;
    let total = file.servers.len();
    let name = choose(&file, path, wanted, preferred)?;
    let config = file.servers.remove(&name);
    let server_name =
        ServerName::new(name.as_str()).map_err(|error| ExpectedError::OdekConfig {
            path: path.to_owned(),
            problem: error.to_string(),
        })?;
    match config {
        Some(config) => Ok(ServerEntry {
            name: server_name,
            config,
            total,
        }),
        None => Err(ExpectedError::NoServer {
            path: path.to_owned(),
            wanted: name,
            known: file.servers.into_keys().collect(),
        }),
    }
}

fn choose(
    file: &OdekConfig,
    path: &Path,
    wanted: Option<&str>,
    preferred: Option<&str>,
) -> Result<String, ExpectedError> {
    if let Some(wanted) = wanted {
        return Ok(wanted.to_owned());
    }
    let mut names = file.servers.keys();
    match (names.next(), names.next()) {
        (Some(only), None) => Ok(only.clone()),
        (None, _) => Err(ExpectedError::OdekConfig {
            path: path.to_owned(),
            problem: "it names no server under `mcp_servers`".to_owned(),
        }),
        _ => match preferred.filter(|name| file.servers.contains_key(*name)) {
            Some(name) => Ok(name.to_owned()),
            None => Err(ExpectedError::WhichServer {
                path: path.to_owned(),
                known: file.servers.keys().cloned().collect(),
            }),
        },
    }
}
