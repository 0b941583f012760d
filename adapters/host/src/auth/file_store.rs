//! A file for each MCP server, in a folder that is the user's alone.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use windlass::auth::{AuthRecord, AuthStore, StoreError, Stored, Swap};

use super::envelope;
use super::file_name::file_name;
use super::folder::{Folder, Lock};

/// How long to wait for another process: it writes one file, and a disk that is asleep takes seconds.
pub(super) const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// Keeps a record for each MCP server in a file of JSON. Processes that use the same folder share what is in it.
///
/// On Unix nobody but the user can read the files, and a folder or a file that somebody else could have written is refused.
/// On Windows they are as private as the folder that they are in, which the default one is. A damaged file is an error until
/// it is removed, or [forgotten](Self::forget).
///
/// ```
/// use windlass::auth::{AuthRecord, AuthStore};
/// use windlass_host::auth::FileStore;
///
/// # let folder = std::env::temp_dir().join(format!("windlass-doc-{}", std::process::id()));
/// let mut store = FileStore::new(&folder);
/// store.swap("https://example.com/mcp", None, Some(&AuthRecord::default()))?;
/// assert_eq!(store.servers()?.servers, ["https://example.com/mcp"]);
/// assert!(store.forget("https://example.com/mcp")?);
/// # std::fs::remove_dir_all(folder).unwrap();
/// # Ok::<(), windlass::auth::StoreError>(())
/// ```
#[derive(Clone, Debug)]
pub struct FileStore {
    folder: PathBuf,
    lock_timeout: Duration,
}

/// What a [`FileStore`] keeps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Kept {
    /// The URLs of the MCP servers that there are records of, in order.
    pub servers: Vec<String>,
    /// Files that cannot be read, and why.
    pub unreadable: Vec<StoreError>,
}

impl FileStore {
    /// Keeps records in this folder, which is made when there is something to keep.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), lock_timeout: LOCK_TIMEOUT }
    }

    /// Keeps them in the [default folder](Self::default_folder).
    ///
    /// # Errors
    ///
    /// When the environment does not say where the user's folders are.
    pub fn of_user() -> Result<Self, StoreError> {
        Self::default_folder().map(Self::new)
    }

    /// Where programs of this user keep their records, if nobody says otherwise: `windlass/auth` in `$XDG_STATE_HOME` or
    /// `~/.local/state`; on macOS in `~/Library/Application Support`, on Windows in `%LOCALAPPDATA%`.
    ///
    /// # Errors
    ///
    /// When the environment does not say where that is.
    pub fn default_folder() -> Result<PathBuf, StoreError> {
        let system = if cfg!(windows) {
            System::Windows
        } else if cfg!(target_vendor = "apple") {
            System::Apple
        } else {
            System::Xdg
        };
        system.folder(|name| env::var_os(name))
    }

    /// How long to wait for another process that is at the same record: ten seconds by default.
    #[must_use]
    pub fn lock_timeout(mut self, timeout: Duration) -> Self {
        self.lock_timeout = timeout;
        self
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Which servers there are records of.
    ///
    /// # Errors
    ///
    /// When the folder cannot be read, or others can write to it.
    pub fn servers(&self) -> Result<Kept, StoreError> {
        let mut kept = Kept::default();
        let Some(folder) = Folder::open(&self.folder)? else { return Ok(kept) };
        for name in folder.names()?.into_iter().filter(|name| name.ends_with(".json")) {
            let read = folder.read(&name).and_then(|bytes| {
                let decode = |bytes: Vec<u8>| envelope::decode(&bytes).map_err(|why| unusable(&folder, &name, &why));
                bytes.map(decode).transpose()
            });
            match read {
                Ok(Some((server, _))) => kept.servers.push(server),
                // It was removed meanwhile.
                Ok(None) => {}
                Err(error) => kept.unreadable.push(error),
            }
        }
        kept.servers.sort();
        Ok(kept)
    }

    /// Removes what is kept for a server, even if it is damaged. Says whether there was something.
    ///
    /// # Errors
    ///
    /// When it cannot be removed.
    pub fn forget(&mut self, server: &str) -> Result<bool, StoreError> {
        let Some(folder) = Folder::open(&self.folder)? else { return Ok(false) };
        let name = file_name(server);
        let mut lock = folder.lock(&name, self.lock_timeout)?;
        let file = format!("{name}.json");
        let current = read(&folder, &file, server).unwrap_or_default();
        remove(&folder, &file, current.map(|stored| stored.version), &mut lock).map(|(was_there, _)| was_there)
    }
}

impl AuthStore for FileStore {
    fn load(&mut self, server: &str) -> Result<Option<Stored>, StoreError> {
        match Folder::open(&self.folder)? {
            Some(folder) => read(&folder, &format!("{}.json", file_name(server)), server),
            None => Ok(None),
        }
    }

    fn swap(&mut self, server: &str, expected: Option<u64>, record: Option<&AuthRecord>) -> Result<Swap, StoreError> {
        let folder = Folder::create(&self.folder)?;
        let name = file_name(server);
        let mut lock = folder.lock(&name, self.lock_timeout)?;
        let file = format!("{name}.json");
        let current = read(&folder, &file, server)?;
        let version = current.as_ref().map(|stored| stored.version);
        if version != expected {
            return Ok(Swap::Conflict(current));
        }
        let Some(record) = record else {
            return remove(&folder, &file, version, &mut lock).map(|(_, version)| Swap::Done(version));
        };
        let version = lock.next_version(version)?;
        let bytes = envelope::encode(server, version, record).map_err(StoreError)?;
        folder.replace(&file, &bytes, &lock)?;
        Ok(Swap::Done(version))
    }
}

fn read(folder: &Folder, file: &str, server: &str) -> Result<Option<Stored>, StoreError> {
    let Some(bytes) = folder.read(file)? else { return Ok(None) };
    envelope::decode_of(server, &bytes).map(Some).map_err(|why| unusable(folder, file, &why))
}

/// Removes a file. Says whether it was there, and what its version would be.
fn remove(folder: &Folder, file: &str, current: Option<u64>, lock: &mut Lock) -> Result<(bool, u64), StoreError> {
    let version = lock.next_version(current)?;
    lock.note(version)?;
    let was_there = folder.remove(file, lock)?;
    Ok((was_there, version))
}

fn unusable(folder: &Folder, file: &str, why: &str) -> StoreError {
    let path = folder.path_of(file);
    StoreError(format!("{}: {why}; remove it, or forget the server, and log in again", path.display()))
}

/// Where a system keeps what programs note for a user.
#[derive(Clone, Copy)]
enum System {
    Xdg,
    Apple,
    Windows,
}

impl System {
    fn folder(self, variable: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf, StoreError> {
        // One that is not absolute would be another one in every folder that a program is started in.
        let absolute = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let (base, wanted) = match self {
            Self::Xdg => {
                let state = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")));
                (state, "$HOME or $XDG_STATE_HOME")
            }
            Self::Apple => (absolute("HOME").map(|home| home.join("Library/Application Support")), "$HOME"),
            Self::Windows => (absolute("LOCALAPPDATA"), "%LOCALAPPDATA%"),
        };
        let base =
            base.ok_or_else(|| StoreError(format!("there is no folder for them: set {wanted}, or choose one")))?;
        Ok(base.join("windlass").join("auth"))
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn chosen(system: System, variables: &[(&str, &str)]) -> Result<String, String> {
        let variable = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into());
        let folder = system.folder(variable);
        folder.map(|path| path.to_str().unwrap().into()).map_err(|error| error.to_string())
    }

    #[test]
    fn the_default_folder_is_where_the_system_wants_it() {
        let home = ("HOME", "/home/ada");
        let state = ("XDG_STATE_HOME", "/state");
        assert_eq!(chosen(System::Xdg, &[home]).unwrap(), "/home/ada/.local/state/windlass/auth");
        assert_eq!(chosen(System::Xdg, &[home, state]).unwrap(), "/state/windlass/auth");
        assert_eq!(
            chosen(System::Apple, &[home, state]).unwrap(),
            "/home/ada/Library/Application Support/windlass/auth"
        );
        assert_eq!(chosen(System::Windows, &[home, ("LOCALAPPDATA", "/local")]).unwrap(), "/local/windlass/auth");
    }

    #[test]
    fn folders_that_depend_on_where_a_program_runs_are_none() {
        assert_eq!(
            chosen(System::Xdg, &[("HOME", "/home/ada"), ("XDG_STATE_HOME", "state")]).unwrap(),
            "/home/ada/.local/state/windlass/auth"
        );
        for system in [System::Xdg, System::Apple, System::Windows] {
            let error = chosen(system, &[("HOME", "ada"), ("LOCALAPPDATA", "")]).unwrap_err();
            assert!(error.contains("or choose one"), "{error}");
        }
    }
}
