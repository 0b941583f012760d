//! Why a server could not be started, in words that say whose turn it is.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use super::command::Command;
use super::environment::{self, Platform};
use super::windows_plan::PlanError;

/// Why a server could not be started. Nothing is left running.
#[derive(Debug)]
#[non_exhaustive]
pub enum SpawnError {
    /// The configured program does not exist.
    NotFound {
        /// The program, as it was given.
        program: OsString,
        /// The child's `PATH`, if the program was looked up there.
        path: Option<OsString>,
    },
    /// The program is there, but what its first line (`#!`) or its format asks for is not.
    MissingInterpreter {
        /// The program, as it was given.
        program: OsString,
    },
    /// The program is there, but we may not run it.
    PermissionDenied {
        /// The program, as it was given.
        program: OsString,
    },
    /// The configured working directory does not exist or is not a directory.
    NoWorkingDirectory {
        /// The directory, as it was given.
        cwd: PathBuf,
    },
    /// The command cannot be expressed on Windows.
    Unquotable {
        /// The program, as it was given.
        program: OsString,
        /// What stands in the way.
        reason: PlanError,
    },
    /// The system refused for a reason of its own.
    Refused {
        /// The program, as it was given.
        program: OsString,
        /// What the system said.
        source: io::Error,
    },
}

impl SpawnError {
    /// Says why starting `command` in `environment` failed with `error`.
    pub(crate) fn explain(command: &Command, environment: &[(OsString, OsString)], error: io::Error) -> Self {
        // The system reports a missing directory in the same way as a missing program, so it is ruled out first.
        if let Some(cwd) = command.cwd.as_ref().filter(|cwd| !cwd.is_dir()) {
            return Self::NoWorkingDirectory { cwd: cwd.clone() };
        }
        let program = command.program.clone();
        match error.kind() {
            io::ErrorKind::NotFound => {
                let path = environment::find(environment, Platform::HERE, "PATH").unwrap_or_default();
                if exists(&program, path, command.cwd.as_deref()) {
                    return Self::MissingInterpreter { program };
                }
                let path = (!has_directory(&program)).then(|| path.to_owned());
                Self::NotFound { program, path }
            }
            io::ErrorKind::PermissionDenied => Self::PermissionDenied { program },
            _ => Self::Refused { program, source: error },
        }
    }
}

fn exists(program: &OsStr, path: &OsStr, cwd: Option<&Path>) -> bool {
    if has_directory(program) {
        return cwd.unwrap_or(Path::new("")).join(program).is_file();
    }
    std::env::split_paths(path).any(|directory| directory.join(program).is_file())
}

fn has_directory(program: &OsStr) -> bool {
    Path::new(program).components().nth(1).is_some() || Path::new(program).is_absolute()
}

impl fmt::Display for SpawnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound { program, path: Some(path) } => write!(
                f,
                "the configured server program {program:?} is in no directory of the server's PATH ({}): install it, \
                 give its full path, or set PATH in the server's environment",
                path.to_string_lossy()
            ),
            Self::NotFound { program, path: None } => write!(
                f,
                "the configured server program {program:?} does not exist: check the path, which is relative to the \
                 server's working directory unless it is absolute"
            ),
            Self::MissingInterpreter { program } => write!(
                f,
                "the configured server program {program:?} exists, but the interpreter or loader that it names does \
                 not: check its first line (`#!`) and that it was built for this system"
            ),
            Self::PermissionDenied { program } => write!(
                f,
                "no permission to run the configured server program {program:?}: check that it is a program and that \
                 this user may execute it"
            ),
            Self::NoWorkingDirectory { cwd } => write!(
                f,
                "the configured working directory {cwd:?} of the server is not a directory: create it or correct the \
                 configuration"
            ),
            Self::Unquotable { program, reason } => {
                write!(f, "the configured server command {program:?} cannot be run on Windows: {reason}")
            }
            Self::Refused { program, source } => {
                write!(f, "the system refused to start the configured server program {program:?}: {source}")
            }
        }
    }
}

impl std::error::Error for SpawnError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Refused { source, .. } => Some(source),
            Self::Unquotable { reason, .. } => Some(reason),
            _ => None,
        }
    }
}
