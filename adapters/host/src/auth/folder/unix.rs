//! A private folder on Unix. Everything is named from the open folder, so that nobody can put another in its place.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::Path;

use rustix::fs::{AtFlags, Dir, FileType, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use super::Fault;

/// Who may do something other than the user: nobody may write to a folder, nor read or write a file.
const WRITTEN_BY_OTHERS: u32 = 0o022;
const USED_BY_OTHERS: u32 = 0o077;

const OURS: Mode = Mode::RUSR.union(Mode::WUSR);
/// A link could lead anywhere, and opening a pipe could wait for ever.
const PLAIN: OFlags = OFlags::NOFOLLOW.union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

pub(super) struct Directory(File);

impl Directory {
    pub(super) fn create(path: &Path) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(path)
    }

    pub(super) fn open(path: &Path) -> Result<Self, Fault> {
        let link = fs::symlink_metadata(path)?;
        if link.is_symlink() && !is_trusted(link.uid()) {
            let owner = link.uid();
            return Err(Fault::Exposed(format!(
                "is a link that belongs to somebody else (user {owner}): remove it, or choose another folder"
            )));
        }
        let directory = File::open(path)?;
        let metadata = directory.metadata()?;
        if !metadata.is_dir() {
            return Err(Fault::Exposed("is no folder: remove it, or choose another".into()));
        }
        if !is_trusted(metadata.uid()) {
            let owner = metadata.uid();
            return Err(Fault::Exposed(format!("belongs to somebody else (user {owner}): choose another folder")));
        }
        if metadata.mode() & WRITTEN_BY_OTHERS != 0 {
            let path = path.display();
            return Err(Fault::Exposed(format!(
                "can be written to by others: look at what is in it, then `chmod 700 '{path}'`"
            )));
        }
        Ok(Self(directory))
    }

    pub(super) fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.0)? {
            // Whatever is not text is not ours.
            if let Ok(name) = entry?.file_name().to_str() {
                names.push(name.to_owned());
            }
        }
        Ok(names)
    }

    pub(super) fn open_file(&self, name: &str) -> Result<File, Fault> {
        self.checked(name, OFlags::RDONLY)
    }

    /// A file that was not there before. Nobody else can read it at any time.
    pub(super) fn create_file(&self, name: &str) -> Result<File, Fault> {
        self.checked(name, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL)
    }

    pub(super) fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        rustix::fs::renameat(&self.0, from, &self.0, to)?;
        self.sync();
        Ok(())
    }

    pub(super) fn remove(&self, name: &str) -> io::Result<bool> {
        match rustix::fs::unlinkat(&self.0, name, AtFlags::empty()) {
            Ok(()) => {
                self.sync();
                Ok(true)
            }
            Err(Errno::NOENT) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// The file of a lock if nobody else holds it. It is held for as long as the file is open.
    pub(super) fn try_lock(&self, name: &str) -> Result<Option<File>, Fault> {
        let file = self.checked(name, OFlags::RDWR | OFlags::CREATE)?;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK | Errno::INTR) => return Ok(None),
            Err(error) => return Err(Fault::System(error.into())),
        }
        // Whoever has emptied the folder meanwhile has left us the lock of a file that nobody else will find.
        let ours = file.metadata()?;
        match rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW) {
            #[allow(clippy::unnecessary_cast, clippy::cast_lossless, reason = "they have other types on other systems")]
            Ok(named) if named.st_ino as u64 == ours.ino() => Ok(Some(file)),
            Ok(_) | Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(Fault::System(error.into())),
        }
    }

    /// Opens a file, and looks at what was opened.
    fn checked(&self, name: &str, how: OFlags) -> Result<File, Fault> {
        let file = match rustix::fs::openat(&self.0, name, how | PLAIN, OURS) {
            Ok(file) => File::from(file),
            // FreeBSD says EMLINK.
            Err(Errno::LOOP | Errno::MLINK) => {
                return Err(Fault::Exposed("is a link: remove it, and log in again".into()));
            }
            Err(error) => return Err(Fault::System(error.into())),
        };
        let metadata = file.metadata()?;
        if FileType::from_raw_mode(metadata.mode() as rustix::fs::RawMode) != FileType::RegularFile {
            return Err(Fault::Exposed("is no file: remove it, and log in again".into()));
        }
        if !is_trusted(metadata.uid()) {
            let owner = metadata.uid();
            return Err(Fault::Exposed(format!(
                "belongs to somebody else (user {owner}): remove it, and log in again"
            )));
        }
        if metadata.mode() & USED_BY_OTHERS != 0 {
            return Err(Fault::Exposed(
                "can be read or written by others: `chmod 600` it if they are trusted, otherwise remove it and log in \
                 again"
                    .into(),
            ));
        }
        Ok(file)
    }

    /// What was renamed or removed stays so. Some file systems cannot promise it for folders, and need not.
    fn sync(&self) {
        let _ = self.0.sync_all();
    }
}

/// Whether the owner may do what it likes anyway: the user, and the administrator.
fn is_trusted(owner: u32) -> bool {
    owner == rustix::process::geteuid().as_raw() || owner == 0
}
