//! What is to be done.

use std::path::PathBuf;

use windlass_oauth_tests::Outcome;
use windlass_oauth_tests::provider::Provider;

/// A case.
pub(crate) struct Task {
    pub(crate) runtime: String,
    pub(crate) case: String,
    pub(crate) provider: Provider,
    /// What else was said.
    pub(crate) rest: Vec<String>,
    /// For whatever is to be kept: gone when the case is over.
    pub(crate) folder: PathBuf,
}

impl Task {
    pub(crate) fn new(runtime: &str, case: &str, rest: &[String]) -> Outcome<Self> {
        let (issuer, rest) = rest.split_first().ok_or("which issuer?")?;
        let folder = std::env::temp_dir().join(format!("windlass-oauth-{}", std::process::id()));
        let provider = Provider::from_environment(issuer)?;
        Ok(Self { runtime: runtime.into(), case: case.into(), provider, rest: rest.into(), folder })
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
