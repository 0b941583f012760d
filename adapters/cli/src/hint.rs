//! The `windlass login` that users are told to type: with what they have typed already, and nothing that a server wrote and
//! a shell would obey.

use windlass::link::http::redacted;

use crate::invocation::HttpOptions;

/// How to log in at a server.
#[derive(Debug)]
pub(crate) struct LoginHint {
    /// The server, as it is shown.
    pub(crate) url: String,
    options: String,
    /// What is allowed already, by what is stored.
    granted: Vec<String>,
}

impl LoginHint {
    /// With those of the options that say whom to trust: without them the login would fail where this command did not.
    pub(crate) fn new(url: &str, options: &HttpOptions, granted: Vec<String>) -> Self {
        let mut words = String::new();
        if options.auth.allow_local {
            words += " --allow-local";
        }
        for host in &options.auth.hosts {
            words += &format!(" --allow-auth-host {}", quoted(host));
        }
        for file in &options.authorities {
            words += &format!(" --ca {}", quoted(file));
        }
        Self { url: redacted(url), options: words, granted }
    }

    /// The whole command.
    pub(crate) fn command(&self) -> String {
        format!("windlass login{} {}", self.options, quoted(&self.url))
    }

    /// The same, with these words before all others.
    pub(crate) fn with(&self, words: &str) -> String {
        format!("windlass login {words}{} {}", self.options, quoted(&self.url))
    }

    /// What to do where the server wants a scope that is not among what was granted. What is allowed now is asked for again,
    /// because a login takes the place of the one before it.
    pub(crate) fn for_scope(&self, wanted: &str) -> String {
        let wanted: Vec<&str> = wanted.split_ascii_whitespace().collect();
        if wanted.iter().all(|scope| self.granted.iter().any(|granted| granted == scope)) {
            return "a login would ask for nothing else than was granted; ask whoever runs the server".into();
        }
        let mut scopes: Vec<&str> = self.granted.iter().map(String::as_str).collect();
        scopes.extend(wanted.into_iter().filter(|scope| !self.granted.iter().any(|granted| granted == scope)));
        // A server could write what a shell would obey, and users copy what they are told to type.
        if !scopes.iter().all(|scope| is_sensible(scope)) {
            return "log in again, and ask for it with --scope".into();
        }
        format!("log in with `{}`", self.with(&format!("--scope {}", quoted(&scopes.join(" ")))))
    }
}

/// Whether a scope is one that can be typed without a thought.
fn is_sensible(scope: &str) -> bool {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || ":._/-".contains(character);
    !scope.starts_with('-') && scope.chars().all(is_plain)
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || ":/._-+%@,".contains(character);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::invocation::AuthOptions;

    #[test]
    fn what_was_given_is_repeated() {
        let auth = AuthOptions { allow_local: true, hosts: vec!["as.example".into()], stored_only: true };
        let options = HttpOptions { authorities: vec!["my ca.pem".into()], auth, ..HttpOptions::default() };
        let hint = LoginHint::new("https://h/mcp", &options, Vec::new());
        let rest = "--allow-local --allow-auth-host as.example --ca 'my ca.pem' https://h/mcp";
        assert_eq!(hint.command(), format!("windlass login {rest}"));
        assert_eq!(hint.with("--finish 'ADDRESS'"), format!("windlass login --finish 'ADDRESS' {rest}"));
        let plain = LoginHint::new("http://h:1/a;b", &HttpOptions::default(), Vec::new());
        assert_eq!(plain.command(), "windlass login 'http://h:1/a;b'");
        assert_eq!((quoted("it's"), quoted("")), (r"'it'\''s'".into(), "''".into()));
    }

    #[test]
    fn what_is_to_be_typed_is_nothing_that_a_shell_obeys() {
        let advice = |granted: &[&str], wanted: &str| {
            let granted = granted.iter().map(|scope| (*scope).to_owned()).collect();
            LoginHint::new("https://h", &HttpOptions::default(), granted).for_scope(wanted)
        };
        assert_eq!(advice(&[], "admin"), "log in with `windlass login --scope admin https://h`");
        assert_eq!(advice(&["mcp"], "mcp admin:x"), "log in with `windlass login --scope 'mcp admin:x' https://h`");
        for hostile in ["'; rm -rf ~; '", "$(x)", "`x`", "a*", "--x", "é"] {
            for advice in [advice(&["mcp"], hostile), advice(&[hostile], "admin")] {
                assert!(!advice.contains("windlass") && !advice.contains(hostile), "{hostile}: {advice}");
            }
        }
        for nothing_new in ["", "mcp"] {
            assert!(advice(&["mcp"], nothing_new).contains("whoever runs the server"), "{nothing_new}");
        }
    }
}
