//! Where a new project takes the SDK from.

use std::env;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::error::ExpectedError;

/// The version of the published crates that belong to this command.
pub(crate) const PUBLISHED_VERSION: &str = env!("CARGO_PKG_VERSION");

/// Where the SDK comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SdkSource {
    /// The top directory of a checkout, as an absolute path.
    Checkout(PathBuf),
    /// The registry.
    Version(String),
}

impl SdkSource {
    /// The checkout given by the user.
    ///
    /// # Errors
    ///
    /// Fails when the directory is no checkout.
    pub(crate) fn from_path(path: &Path) -> Result<Self, ExpectedError> {
        path.canonicalize()
            .ok()
            .filter(|path| is_checkout(path))
            .map(SdkSource::Checkout)
            .ok_or_else(|| ExpectedError::NoSdkCheckout {
                path: path.to_owned(),
            })
    }

    /// The checkout that this command runs from, else the published version.
    pub(crate) fn detect() -> Self {
        match running_checkout() {
            Some(path) => SdkSource::Checkout(path),
            None => SdkSource::Version(PUBLISHED_VERSION.to_owned()),
        }
    }
}

/// The top directory of the checkout that this command was built in, if it still runs there.
///
/// `cargo run`, and so the alias of the checkout, names the package's directory in the
/// environment; a binary that was started by hand lies below the checkout's target directory.
fn running_checkout() -> Option<PathBuf> {
    let manifest_directory = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let executable = env::current_exe().ok();
    manifest_directory
        .iter()
        .chain(&executable)
        .filter_map(|path| path.canonicalize().ok())
        .find_map(|path| {
            path.ancestors()
                .find(|path| is_checkout(path))
                .map(Path::to_owned)
        })
}

fn is_checkout(directory: &Path) -> bool {
    directory.join("sdk/server/Cargo.toml").is_file()
        && directory.join("sdk/host/Cargo.toml").is_file()
}
