//! How to start a server.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::environment::{self, Inherit, Platform};

/// A function that gets each line of a child's standard error.
pub type StderrCallback = Arc<dyn Fn(&str) + Send + Sync>;

/// A server's program, arguments, environment and working directory.
///
/// The child gets only the essentials of the parent's environment (see [`environment`]), because the rest may hold
/// secrets that are none of its business; what it needs is configured here.
///
/// ```
/// use windlass_host::Command;
///
/// let command = Command::new("npx")
///     .args(["-y", "@modelcontextprotocol/server-filesystem", "/tmp"])
///     .env("API_KEY", "secret")
///     .on_stderr(|line| eprintln!("server: {line}"));
/// assert!(!format!("{command:?}").contains("secret"));
/// ```
#[derive(Clone)]
pub struct Command {
    pub(crate) program: OsString,
    pub(crate) args: Vec<OsString>,
    pub(crate) cwd: Option<PathBuf>,
    pub(crate) stderr: Stderr,
    env: Vec<(OsString, OsString)>,
    inherit_env: bool,
    passed_env: Vec<OsString>,
}

/// Where a child's standard error goes.
#[derive(Clone)]
pub(crate) enum Stderr {
    /// Into the tail that the child keeps and, line by line, to the callback.
    Collected(Option<StderrCallback>),
    /// To our own.
    Inherited,
}

impl Command {
    /// A command that runs `program`: a path, or a name that is looked up in the child's `PATH`.
    pub fn new(program: impl Into<OsString>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            cwd: None,
            stderr: Stderr::Collected(None),
            env: Vec::new(),
            inherit_env: false,
            passed_env: Vec::new(),
        }
    }

    /// Adds an argument.
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Adds several arguments.
    pub fn args(mut self, args: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets a variable of the child's environment, whatever the parent has under that name.
    pub fn env(mut self, key: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((key.into(), value.into()));
        self
    }

    /// Sets several variables of the child's environment.
    pub fn envs(mut self, vars: impl IntoIterator<Item = (impl Into<OsString>, impl Into<OsString>)>) -> Self {
        self.env.extend(vars.into_iter().map(|(key, value)| (key.into(), value.into())));
        self
    }

    /// Whether the child gets the whole environment of the parent; `false` unless said otherwise.
    pub fn inherit_env(mut self, inherit: bool) -> Self {
        self.inherit_env = inherit;
        self
    }

    /// Lets one more variable of the parent's through, if the parent has it.
    pub fn pass_env(mut self, name: impl Into<OsString>) -> Self {
        self.passed_env.push(name.into());
        self
    }

    /// The directory that the child starts in; the parent's unless said otherwise.
    pub fn cwd(mut self, path: impl Into<PathBuf>) -> Self {
        self.cwd = Some(path.into());
        self
    }

    /// Calls `callback` with each line that the child writes to its standard error, without the line's end.
    ///
    /// It runs on a thread of its own; while it blocks, the child's standard error is not read. A callback that panics
    /// is not called again.
    pub fn on_stderr(mut self, callback: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.stderr = Stderr::Collected(Some(Arc::new(callback)));
        self
    }

    /// Gives the child our own standard error. Nothing is collected then, and no callback is called.
    pub fn inherit_stderr(mut self) -> Self {
        self.stderr = Stderr::Inherited;
        self
    }

    /// The program, as it was given.
    pub fn program(&self) -> &OsStr {
        &self.program
    }

    /// The working directory, if one was given.
    pub fn working_directory(&self) -> Option<&Path> {
        self.cwd.as_deref()
    }

    /// The whole environment that a child started now would get.
    pub(crate) fn environment(&self) -> Vec<(OsString, OsString)> {
        let inherit =
            if self.inherit_env { Inherit::Everything } else { Inherit::EssentialsAnd(self.passed_env.clone()) };
        environment::child_environment(std::env::vars_os(), Platform::HERE, &inherit, &self.env)
    }
}

/// Shows the names of configured variables and never their values: those are where secrets live.
impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let env_keys: Vec<_> = self.env.iter().map(|(key, _)| key).collect();
        f.debug_struct("Command")
            .field("program", &self.program)
            .field("args", &self.args)
            .field("cwd", &self.cwd)
            .field("env_keys", &env_keys)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_names_and_no_values() {
        let command = Command::new("server").arg("--stdio").cwd("/srv").env("TOKEN", "hunter2");
        let shown = format!("{command:?}");
        for part in ["server", "--stdio", "/srv", "TOKEN"] {
            assert!(shown.contains(part), "{part} is missing from {shown}");
        }
        assert!(!shown.contains("hunter2"), "{shown}");
    }

    #[test]
    fn a_clone_keeps_everything() {
        let command = Command::new("server").args(["a", "b"]).envs([("A", "1"), ("B", "2")]).on_stderr(|_| ());
        let clone = command.clone();
        assert_eq!(clone.program(), "server");
        assert_eq!(clone.args, command.args);
        assert_eq!(clone.environment(), command.environment());
        assert!(matches!(clone.stderr, Stderr::Collected(Some(_))));
    }
}
