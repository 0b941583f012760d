//! A folder for one test, gone when it is over.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

static NUMBER: AtomicU32 = AtomicU32::new(0);

pub(in crate::auth) struct Scratch(PathBuf);

impl Scratch {
    /// A name that nobody has; there is nothing there yet.
    pub(in crate::auth) fn new() -> Self {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        Self(std::env::temp_dir().join(format!("windlass-auth-{}-{number}", std::process::id())))
    }
}

impl Deref for Scratch {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
