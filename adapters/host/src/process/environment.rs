//! Which of the parent's environment variables a server gets to see.
//!
//! A server is somebody else's program and the environment holds secrets, so by default it gets only what programs need
//! in order to run at all. The rules are pure, for both platforms, so that each is tested on the other.

use std::ffi::{OsStr, OsString};

/// What a Unix program needs in order to find its home, its tools, its language and its temporary files.
const UNIX_ESSENTIALS: &[&str] = &[
    "HOME",
    "LANG",
    "LANGUAGE",
    "LOGNAME",
    "PATH",
    "SHELL",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
    "XDG_STATE_HOME",
];

/// The locale's parts, such as `LC_ALL` and `LC_CTYPE`.
const UNIX_LOCALE_PREFIX: &str = "LC_";

/// What a Windows program needs; without `SYSTEMROOT`, for one, sockets do not open.
const WINDOWS_ESSENTIALS: &[&str] = &[
    "APPDATA",
    "COMSPEC",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "NUMBER_OF_PROCESSORS",
    "OS",
    "PATH",
    "PATHEXT",
    "PROCESSOR_ARCHITECTURE",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "PROGRAMFILES(X86)",
    "PROGRAMW6432",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "USERNAME",
    "USERPROFILE",
    "WINDIR",
];

/// How bash exports a function: a value that a shell would run on start-up, which no server needs.
const EXPORTED_FUNCTION_PREFIX: &[u8] = b"() {";

/// Whose rules apply to the names of variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Platform {
    /// Names are exact.
    Unix,
    /// Names are compared without regard to ASCII case.
    Windows,
}

impl Platform {
    /// The platform that this program was built for.
    pub const HERE: Self = if cfg!(windows) { Self::Windows } else { Self::Unix };

    fn same_name(self, one: &OsStr, other: &OsStr) -> bool {
        match self {
            Self::Unix => one == other,
            Self::Windows => one.eq_ignore_ascii_case(other),
        }
    }

    fn is_essential(self, name: &OsStr) -> bool {
        let (essentials, prefix) = match self {
            Self::Unix => (UNIX_ESSENTIALS, Some(UNIX_LOCALE_PREFIX)),
            Self::Windows => (WINDOWS_ESSENTIALS, None),
        };
        essentials.iter().any(|essential| self.same_name(name, OsStr::new(essential)))
            || prefix.is_some_and(|prefix| name.as_encoded_bytes().starts_with(prefix.as_bytes()))
    }
}

/// What the child inherits before the configured variables are added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inherit {
    /// Everything that the parent has.
    Everything,
    /// The essentials of the platform, and these.
    EssentialsAnd(Vec<OsString>),
}

/// The whole environment of a child: what it inherits from `parent`, overridden by what is `configured`.
///
/// ```
/// use windlass_host::process::environment::{Inherit, Platform, child_environment};
///
/// let parent = [("PATH", "/bin"), ("AWS_SECRET_ACCESS_KEY", "hunter2")].map(|(k, v)| (k.into(), v.into()));
/// let child = child_environment(parent, Platform::Unix, &Inherit::EssentialsAnd(Vec::new()), &[]);
/// assert_eq!(child, [("PATH".into(), "/bin".into())]);
/// ```
pub fn child_environment(
    parent: impl IntoIterator<Item = (OsString, OsString)>,
    platform: Platform,
    inherit: &Inherit,
    configured: &[(OsString, OsString)],
) -> Vec<(OsString, OsString)> {
    let mut environment: Vec<_> =
        parent.into_iter().filter(|(name, value)| passes(name, value, platform, inherit)).collect();
    for (name, value) in configured {
        environment.retain(|(existing, _)| !platform.same_name(existing, name));
        environment.push((name.clone(), value.clone()));
    }
    environment
}

/// The value of a variable, found as the platform compares names.
pub fn find<'a>(environment: &'a [(OsString, OsString)], platform: Platform, name: &str) -> Option<&'a OsStr> {
    environment.iter().find(|(key, _)| platform.same_name(key, OsStr::new(name))).map(|(_, value)| value.as_os_str())
}

fn passes(name: &OsStr, value: &OsStr, platform: Platform, inherit: &Inherit) -> bool {
    // Windows keeps a working directory for each drive under names such as `=C:`; they cannot be set by name.
    if name.is_empty() || name.as_encoded_bytes()[0] == b'=' {
        return false;
    }
    match inherit {
        Inherit::Everything => true,
        Inherit::EssentialsAnd(extra) => {
            let listed = platform.is_essential(name) || extra.iter().any(|extra| platform.same_name(name, extra));
            listed && !value.as_encoded_bytes().starts_with(EXPORTED_FUNCTION_PREFIX)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
        pairs.iter().map(|(name, value)| (name.into(), value.into())).collect()
    }

    fn essentials() -> Inherit {
        Inherit::EssentialsAnd(Vec::new())
    }

    #[test]
    fn unix_passes_the_essentials_only() {
        let parent =
            pairs(&[("HOME", "/h"), ("LC_ALL", "C"), ("GITHUB_TOKEN", "t"), ("LD_PRELOAD", "x"), ("TZ", "UTC")]);
        let child = child_environment(parent, Platform::Unix, &essentials(), &[]);
        assert_eq!(child, pairs(&[("HOME", "/h"), ("LC_ALL", "C"), ("TZ", "UTC")]));
    }

    #[test]
    fn unix_names_are_exact() {
        let parent = pairs(&[("Path", "/bin"), ("home", "/h")]);
        assert_eq!(child_environment(parent, Platform::Unix, &essentials(), &[]), []);
    }

    #[test]
    fn windows_names_ignore_case() {
        let parent = pairs(&[("Path", r"C:\bin"), ("SystemRoot", r"C:\Windows"), ("HOME", "x"), ("LC_ALL", "x")]);
        let child = child_environment(parent, Platform::Windows, &essentials(), &[]);
        assert_eq!(child, pairs(&[("Path", r"C:\bin"), ("SystemRoot", r"C:\Windows")]));
    }

    #[test]
    fn exported_functions_are_left_out() {
        let parent = pairs(&[("TERM", "() { :; }; echo gotcha"), ("USER", "()"), ("F", "() { :; }")]);
        let inherit = Inherit::EssentialsAnd(vec!["F".into()]);
        assert_eq!(child_environment(parent, Platform::Unix, &inherit, &[]), pairs(&[("USER", "()")]));
    }

    #[test]
    fn named_variables_pass_too() {
        let parent = pairs(&[("Api_Key", "k"), ("OTHER", "o")]);
        let inherit = Inherit::EssentialsAnd(vec!["API_KEY".into()]);
        assert_eq!(child_environment(parent.clone(), Platform::Unix, &inherit, &[]), []);
        assert_eq!(child_environment(parent, Platform::Windows, &inherit, &[]), pairs(&[("Api_Key", "k")]));
    }

    #[test]
    fn everything_means_everything_that_can_be_named() {
        let parent = pairs(&[("A", "1"), ("=C:", r"C:\x"), ("F", "() { :; }")]);
        let child = child_environment(parent, Platform::Windows, &Inherit::Everything, &[]);
        assert_eq!(child, pairs(&[("A", "1"), ("F", "() { :; }")]));
    }

    #[test]
    fn configured_variables_win() {
        let parent = pairs(&[("Path", "parent"), ("TEMP", "t")]);
        let configured = pairs(&[("PATH", "configured"), ("NEW", "n")]);
        let child = child_environment(parent, Platform::Windows, &essentials(), &configured);
        assert_eq!(child, pairs(&[("TEMP", "t"), ("PATH", "configured"), ("NEW", "n")]));
    }

    #[test]
    fn the_last_configured_value_wins() {
        let child = child_environment([], Platform::Unix, &essentials(), &pairs(&[("A", "1"), ("A", "2")]));
        assert_eq!(child, pairs(&[("A", "2")]));
    }

    #[test]
    fn variables_are_found_as_the_platform_compares_names() {
        let environment = pairs(&[("Path", "p")]);
        assert_eq!(find(&environment, Platform::Windows, "PATH"), Some(OsStr::new("p")));
        assert_eq!(find(&environment, Platform::Unix, "PATH"), None);
    }
}
