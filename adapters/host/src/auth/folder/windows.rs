//! A private folder on Windows. What is in a user's profile is the user's alone by what it inherits; a file that is open
//! without sharing is a lock.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::windows::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::Fault;

/// `ERROR_SHARING_VIOLATION`: somebody else has it open.
const SHARING_VIOLATION: i32 = 32;

pub(super) struct Directory(PathBuf);

impl Directory {
    pub(super) fn create(path: &Path) -> io::Result<()> {
        fs::create_dir_all(path)
    }

    pub(super) fn open(path: &Path) -> Result<Self, Fault> {
        if !fs::metadata(path)?.is_dir() {
            return Err(Fault::Exposed("is no folder: remove it, or choose another".into()));
        }
        Ok(Self(path.to_owned()))
    }

    pub(super) fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.0)? {
            // Whatever is not text is not ours.
            names.extend(entry?.file_name().into_string());
        }
        Ok(names)
    }

    pub(super) fn open_file(&self, name: &str) -> Result<File, Fault> {
        self.refuse_link(name)?;
        Ok(File::open(self.0.join(name))?)
    }

    pub(super) fn create_file(&self, name: &str) -> Result<File, Fault> {
        Ok(OpenOptions::new().write(true).create_new(true).open(self.0.join(name))?)
    }

    pub(super) fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.0.join(from), self.0.join(to))
    }

    pub(super) fn remove(&self, name: &str) -> io::Result<bool> {
        match fs::remove_file(self.0.join(name)) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The file of a lock if nobody else holds it. It is held for as long as the file is open.
    pub(super) fn try_lock(&self, name: &str) -> Result<Option<File>, Fault> {
        self.refuse_link(name)?;
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).share_mode(0);
        match options.open(self.0.join(name)) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.raw_os_error() == Some(SHARING_VIOLATION) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn refuse_link(&self, name: &str) -> Result<(), Fault> {
        match fs::symlink_metadata(self.0.join(name)) {
            Ok(metadata) if metadata.is_symlink() => {
                Err(Fault::Exposed("is a link: remove it, and log in again".into()))
            }
            _ => Ok(()),
        }
    }
}
