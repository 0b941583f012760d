//! A folder that is the user's alone, the files in it, and locks between processes.
//!
//! Files are replaced as a whole: whoever reads one needs no lock, and sees the old or the new. Whoever replaces one holds
//! the lock of its name. The system gives that back when a process dies, however it dies; the file that is locked stays,
//! for if it were removed, two processes could hold two locks of one name.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use windlass::auth::StoreError;

#[cfg(unix)]
use unix::Directory;
#[cfg(windows)]
use windows::Directory;

use super::envelope::LONGEST;

/// The first pause between two tries to take a lock: who holds it writes a file.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
/// The longest one: a person does not notice it.
const LONGEST_PAUSE: Duration = Duration::from_millis(20);

/// Why something was not done.
#[derive(Debug)]
enum Fault {
    /// The system says so.
    System(io::Error),
    /// Somebody else could have written it or could read it. Says what, and what to do.
    Exposed(String),
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}

impl Fault {
    fn at(self, path: &Path) -> StoreError {
        let path = path.display();
        match self {
            Self::System(error) => StoreError(format!("{path}: {error}")),
            Self::Exposed(why) => StoreError(format!("{path} {why}")),
        }
    }

    fn is_missing(&self) -> bool {
        matches!(self, Self::System(error) if error.kind() == io::ErrorKind::NotFound)
    }
}

/// `None` for what is not there.
fn if_there<T>(outcome: Result<T, Fault>) -> Result<Option<T>, Fault> {
    match outcome {
        Ok(value) => Ok(Some(value)),
        Err(fault) if fault.is_missing() => Ok(None),
        Err(fault) => Err(fault),
    }
}

/// An open folder that nobody else can write to.
pub(super) struct Folder {
    path: PathBuf,
    directory: Directory,
}

impl Folder {
    /// Opens it, if it is there.
    pub(super) fn open(path: &Path) -> Result<Option<Self>, StoreError> {
        let directory = if_there(Directory::open(path)).map_err(|fault| fault.at(path))?;
        Ok(directory.map(|directory| Self { path: path.to_owned(), directory }))
    }

    /// Opens it, and makes it if it is not there.
    pub(super) fn create(path: &Path) -> Result<Self, StoreError> {
        if let Some(folder) = Self::open(path)? {
            return Ok(folder);
        }
        let made = Directory::create(path).map_err(Fault::System).and_then(|()| Directory::open(path));
        let directory = made.map_err(|fault| fault.at(path))?;
        Ok(Self { path: path.to_owned(), directory })
    }

    /// Where this file is.
    pub(super) fn path_of(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The names of all files.
    pub(super) fn names(&self) -> Result<Vec<String>, StoreError> {
        let mut names = self.directory.names().map_err(|error| Fault::System(error).at(&self.path))?;
        names.sort();
        Ok(names)
    }

    /// What is in a file, if it is there.
    pub(super) fn read(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let read = |file: File| {
            let mut bytes = Vec::new();
            file.take(LONGEST as u64 + 1).read_to_end(&mut bytes)?;
            if bytes.len() > LONGEST {
                return Err(io::Error::other(format!("it is damaged: it has more than {LONGEST} bytes")).into());
            }
            Ok(bytes)
        };
        if_there(self.directory.open_file(name).and_then(read)).map_err(|fault| fault.at(&self.path_of(name)))
    }

    /// Puts this in place of what is in a file, or of nothing. It is there as a whole or not at all, whatever happens.
    pub(super) fn replace(&self, name: &str, bytes: &[u8], _lock: &Lock) -> Result<(), StoreError> {
        let fresh = format!("{name}.new");
        let replace = || -> Result<(), Fault> {
            // Of a process that died. Whoever holds the lock owns the name.
            self.directory.remove(&fresh)?;
            let mut file = self.directory.create_file(&fresh)?;
            file.write_all(bytes)?;
            file.sync_all()?;
            drop(file);
            self.directory.rename(&fresh, name)?;
            Ok(())
        };
        replace().map_err(|fault| {
            let _ = self.directory.remove(&fresh);
            fault.at(&self.path_of(name))
        })
    }

    /// Removes a file. Says whether it was there.
    pub(super) fn remove(&self, name: &str, _lock: &Lock) -> Result<bool, StoreError> {
        self.directory.remove(name).map_err(|error| Fault::System(error).at(&self.path_of(name)))
    }

    /// Takes the lock of this name, for as long as it is not dropped. Waits no longer than `patience`.
    pub(super) fn lock(&self, name: &str, patience: Duration) -> Result<Lock, StoreError> {
        let name = format!("{name}.lock");
        let path = self.path_of(&name);
        let (began, mut pause) = (Instant::now(), FIRST_PAUSE);
        loop {
            if let Some(file) = self.directory.try_lock(&name).map_err(|fault| fault.at(&path))? {
                return Lock::taken(file, path);
            }
            let left = patience.saturating_sub(began.elapsed());
            if left.is_zero() {
                return Err(self.still_locked(&name, patience));
            }
            thread::sleep(pause.min(left));
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    fn still_locked(&self, name: &str, patience: Duration) -> StoreError {
        let noted = self.directory.open_file(name).ok().map(|file| Noted::read(&file)).unwrap_or_default();
        let holder = match noted.holder {
            0 => "another process holds it".into(),
            holder => format!("process {holder} may hold it"),
        };
        let path = self.path_of(name);
        let path = path.display();
        StoreError(format!("{path} is still locked after {patience:?}: {holder}; end it, or try again when it is done"))
    }
}

/// A lock that this process holds, until it is dropped.
pub(super) struct Lock {
    file: File,
    path: PathBuf,
    noted: Noted,
}

impl Lock {
    fn taken(file: File, path: PathBuf) -> Result<Self, StoreError> {
        let mut lock = Self { noted: Noted::read(&file), file, path };
        lock.noted.holder = process::id();
        // For those who wait alone: it need not survive.
        lock.noted.write(&lock.file).map_err(|error| Fault::System(error).at(&lock.path))?;
        Ok(lock)
    }

    /// A version that was never given before, where `current` is that of what is there. It is the time, in microseconds since
    /// 1970, unless that is not later: so it is another one even if somebody has emptied the folder by hand, or has removed
    /// a damaged record whose version cannot be known.
    pub(super) fn next_version(&self, current: Option<u64>) -> Result<u64, StoreError> {
        let clock = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_micros();
        let next = self.noted.version.max(current.unwrap_or_default()).checked_add(1);
        let next = next.ok_or_else(|| StoreError(format!("{}: there are no more versions", self.path.display())))?;
        Ok(next.max(u64::try_from(clock).unwrap_or_default()))
    }

    /// Keeps a version that no record has, so that it is not given again. To be done before the record is removed.
    pub(super) fn note(&mut self, version: u64) -> Result<(), StoreError> {
        self.noted.version = version;
        let write = self.noted.write(&self.file).and_then(|()| self.file.sync_all());
        write.map_err(|error| Fault::System(error).at(&self.path))
    }
}

/// What stands in a file that is locked: two lines that always take as many bytes, so that writing them again tears nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Noted {
    /// The last version of a record that was removed.
    version: u64,
    /// Who took the lock last.
    holder: u32,
}

impl Noted {
    /// What cannot be read is taken for nothing: versions go on from the clock.
    fn read(file: &File) -> Self {
        let mut text = String::new();
        if file.take(64).read_to_string(&mut text).is_err() {
            return Self::default();
        }
        let mut lines = text.lines();
        let version = lines.next().and_then(|line| line.parse().ok()).unwrap_or_default();
        let holder = lines.next().and_then(|line| line.parse().ok()).unwrap_or_default();
        Self { version, holder }
    }

    fn write(self, mut file: &File) -> io::Result<()> {
        let text = format!("{:020}\n{:010}\n", self.version, self.holder);
        file.seek(SeekFrom::Start(0))?;
        file.write_all(text.as_bytes())
    }
}
