//! What went wrong, how it is told, and the exit code.

use std::io;
use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Value, json};
use windlass::auth::AuthError;
use windlass::{CallError, CloseReason, HttpFailure, Json, NegotiationError, SendError};
use windlass_host::{ConnectError, Error, ServeError};

use crate::hint::LoginHint;
use crate::screen::indented;
use crate::table::cut;
use crate::{interrupt, output};

/// Characters of a message for people; a program gets all of it.
const MESSAGE: usize = 4_000;

/// Whose fault it is. Each has its exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FailureKind {
    /// The words that were typed.
    Usage,
    /// The server wants to be given credentials, or others.
    Authorization,
    /// The server could not be started or reached, is gone, or takes too long.
    Unreachable,
    /// The server answered with an error, or with what the protocol does not allow.
    Server,
    /// The tool reported an error in its result.
    Tool,
    /// The result could not be written.
    Output,
    /// A signal ended the command before it was done.
    Interrupted(i32),
}

impl FailureKind {
    pub(crate) fn exit_code(self) -> u8 {
        match self {
            Self::Usage => 1,
            Self::Authorization => 3,
            Self::Unreachable => 4,
            Self::Server | Self::Tool => 5,
            Self::Output => 6,
            Self::Interrupted(signal) => interrupt::exit_code(signal),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Usage => "usage",
            Self::Authorization => "authorization",
            Self::Unreachable => "unreachable",
            Self::Server => "server",
            Self::Tool => "tool",
            Self::Output => "output",
            Self::Interrupted(_) => "interrupted",
        }
    }
}

/// Why the command did not do what it was asked to.
#[derive(Debug)]
pub(crate) struct Failure {
    kind: FailureKind,
    message: String,
    /// The JSON-RPC error's code and data, if it was one.
    code: Option<i64>,
    data: Option<Json>,
    /// What the server said last on its standard error, if it did not get up.
    stderr: Vec<String>,
    /// The status of HTTP, if it was one.
    status: Option<u16>,
    /// Why there is no authorization, if that is what is missing.
    authorization: Option<Box<AuthError>>,
}

impl Failure {
    pub(crate) fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            code: None,
            data: None,
            stderr: Vec::new(),
            status: None,
            authorization: None,
        }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Usage, message)
    }

    /// A signal has ended the command.
    pub(crate) fn interrupted(signal: i32) -> Self {
        Self::new(FailureKind::Interrupted(signal), "interrupted; what was begun has been ended")
    }

    /// The same, told by its cause: it was the end of the time that had made the connection end.
    pub(crate) fn because_of_deadline(self, limit: Duration) -> Self {
        if self.kind != FailureKind::Unreachable {
            return self;
        }
        let message =
            format!("the server did not answer within the {limit:?} that --timeout gives to the whole command");
        Self { message, ..self }
    }

    /// The system does not give what the program needs.
    pub(crate) fn of_the_system(error: io::Error) -> Self {
        Self::new(FailureKind::Unreachable, format!("the program cannot start: {error}"))
    }

    /// An address that cannot be listened on.
    pub(crate) fn not_bound(address: &str, error: &io::Error) -> Self {
        let advice = match error.kind() {
            io::ErrorKind::AddrInUse => "another program listens there; take another port, or 0 for any that is free",
            io::ErrorKind::PermissionDenied => "ports below 1024 are not for everybody; take a higher one",
            io::ErrorKind::AddrNotAvailable => "it is not one of this machine's; 127.0.0.1 is",
            io::ErrorKind::InvalidInput => "write it as in 127.0.0.1:8080",
            _ => "an address is written as in 127.0.0.1:8080",
        };
        let kind =
            if error.kind() == io::ErrorKind::InvalidInput { FailureKind::Usage } else { FailureKind::Unreachable };
        Self::new(kind, format!("cannot listen on {address}: {error}; {advice}"))
    }

    /// A response that is no success.
    fn of_http(failure: &HttpFailure, what: &str) -> Self {
        let mut shown = failure.clone();
        // A whole page is for a browser to show.
        if shown.body.trim_start().starts_with('<') {
            shown.body = "a web page, not a message".into();
        }
        let kind = match failure.status {
            401 | 403 => FailureKind::Authorization,
            // Whoever stands before the server says that it is not there.
            502..=504 => FailureKind::Unreachable,
            _ => FailureKind::Server,
        };
        let wanted: String = failure.www_authenticate.iter().map(|wanted| format!("; it asks for: {wanted}")).collect();
        Self { status: Some(failure.status), ..Self::new(kind, format!("{what}{shown}{wanted}")) }
    }

    /// There is no authorization.
    fn of_authorization(error: &AuthError) -> Self {
        let kind = match error {
            AuthError::Unavailable { .. } => FailureKind::Unreachable,
            _ => FailureKind::Authorization,
        };
        let message = match error {
            // What to do about it is told below.
            AuthError::NothingStored => "the server wants a login, and nothing that is stored will do".into(),
            error => error.to_string(),
        };
        Self { authorization: Some(Box::new(error.clone())), ..Self::new(kind, message) }
    }

    /// Says where it happened and what to do about it, for a server that has a URL.
    pub(crate) fn at(mut self, hint: &LoginHint, logging_in: bool) -> Self {
        let url = &hint.url;
        if let (Some(AuthError::InsufficientScope { scope }), false) = (self.authorization.as_deref(), logging_in) {
            self.message = match scope.as_str() {
                "" => "what is stored does not allow this, and the server does not say what it needs".into(),
                scope => format!("what is stored does not allow this: it needs `{scope}`"),
            };
        }
        let advised = self.authorization.as_ref().map(|error| authorization_advice(error, hint, logging_in));
        let advice = match (self.kind, self.status) {
            (FailureKind::Usage | FailureKind::Tool | FailureKind::Interrupted(_), _) => return self,
            _ if advised.is_some() => advised.as_deref().unwrap_or_default(),
            (_, Some(401)) => {
                // Servers say a lot about it, which is of no use to most users, so it comes last.
                self.message = format!(
                    "{url}: the server wants a login: log in with `{}`, or give credentials with --header \
                     'Authorization: Bearer …' or --header-from VARIABLE\n{}",
                    hint.command(),
                    self.message
                );
                return self;
            }
            (_, Some(502..=504)) => {
                "a proxy stands before the server, which does not answer it; is the server running?"
            }
            (_, Some(403)) => "give other credentials, or ask whoever runs the server for more rights",
            (_, Some(404 | 405)) => "is the path right? Servers are often at /mcp",
            _ if self.message.contains("text/html") => "it is a web page, not an MCP server; is the path right?",
            _ if self.message.contains("Connection refused") => "is the server running, and is the port right?",
            _ if self.message.contains("certificate") => "if it is one of your own, trust its authority with --ca FILE",
            _ => "",
        };
        let separator = if advice.is_empty() { "" } else { "; " };
        self.message = format!("{url}: {}{separator}{advice}", self.message);
        self
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.kind.exit_code())
    }

    /// Tells it on standard error: to a program as one line of JSON, to a person in words.
    pub(crate) fn report(&self, as_json: bool) {
        if as_json {
            return output::tell_json(&self.to_json());
        }
        // What the server said on its standard error was shown when it said so.
        output::tell(&format!("windlass: {}\n", indented(&cut(&self.message, MESSAGE))));
        if self.kind == FailureKind::Usage {
            output::tell("`windlass help` tells how it is used\n");
        }
    }

    fn to_json(&self) -> Value {
        let mut error = json!({ "kind": self.kind.name(), "exitCode": self.kind.exit_code(), "message": self.message });
        if let Some(code) = self.code {
            error["code"] = code.into();
        }
        if let Some(data) = self.data.as_ref().and_then(|data| data.decode().ok()) {
            error["data"] = data;
        }
        if let Some(status) = self.status {
            error["httpStatus"] = status.into();
        }
        if !self.stderr.is_empty() {
            error["stderr"] = self.stderr.clone().into();
        }
        json!({ "error": error })
    }
}

/// What to do about missing authorization.
fn authorization_advice(error: &AuthError, hint: &LoginHint, logging_in: bool) -> String {
    match error {
        AuthError::NothingStored if logging_in => {
            "it does not take what this login has given; ask whoever runs it, or log in as somebody else".into()
        }
        AuthError::UnknownLogin => format!("begin with `{}`", hint.with("--print-url")),
        AuthError::UrlRefused(why) if why.contains("local development") => {
            "if it is yours, or in a network of yours, say --allow-local".into()
        }
        AuthError::UrlRefused(why) if why.contains("allow it by name") => "--allow-auth-host HOST does that".into(),
        AuthError::UrlRefused(_) => "that is for whoever runs the server to put right".into(),
        AuthError::NoClient { .. } => {
            "--client-id ID does that, with --client-secret-from VARIABLE if it has a password".into()
        }
        AuthError::Unusable { reason, .. } if reason.contains("another device") => "log in without --device".into(),
        AuthError::TimedOut => "--timeout SECONDS waits longer".into(),
        AuthError::InsufficientScope { scope } => hint.for_scope(scope),
        AuthError::LoginNeeded { .. } | AuthError::NothingStored | AuthError::TokenNotAccepted if !logging_in => {
            format!("log in with `{}`", hint.command())
        }
        AuthError::TokenRefused { .. } if !logging_in => format!("if it stays so, log in with `{}`", hint.command()),
        _ => String::new(),
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        if let Error::Call(CallError::Authorization(error)) = &error {
            return Self::of_authorization(error);
        }
        if let Error::Call(CallError::Http(failure)) = &error {
            return Self::of_http(failure, "");
        }
        let kind = match &error {
            Error::Call(CallError::Transport(_) | CallError::NoResponse { .. }) => FailureKind::Unreachable,
            Error::Call(CallError::TimedOut { .. } | CallError::Closed(_)) => FailureKind::Unreachable,
            Error::NotSent(SendError::Closed | SendError::Full | SendError::NotReady) => FailureKind::Unreachable,
            _ => FailureKind::Server,
        };
        let remote = error.remote();
        let message = match remote {
            Some(remote) => format!("the server answered with an error: {remote}"),
            None => error.to_string(),
        };
        let (code, data) = (remote.map(|remote| remote.code), remote.and_then(|remote| remote.data.clone()));
        Self { code, data, ..Self::new(kind, message) }
    }
}

impl From<ConnectError> for Failure {
    fn from(error: ConnectError) -> Self {
        if let CloseReason::Negotiation(NegotiationError::Http(failure)) = &error.reason {
            return Self::of_http(failure, "the handshake failed: ");
        }
        if let Some(missing) = error.authorization() {
            return Self::of_authorization(missing);
        }
        Self { stderr: error.stderr, ..Self::new(FailureKind::Unreachable, error.reason.to_string()) }
    }
}

impl From<ServeError> for Failure {
    fn from(error: ServeError) -> Self {
        Self::new(FailureKind::Unreachable, error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::invocation::HttpOptions;
    use windlass::{CloseReason, RpcError};

    fn hint(granted: &[&str]) -> LoginHint {
        let granted = granted.iter().map(|scope| (*scope).to_owned()).collect();
        LoginHint::new("http://h", &HttpOptions::default(), granted)
    }

    #[test]
    fn every_fault_has_its_code() {
        let code = |error: Error| Failure::from(error).kind.exit_code();
        assert_eq!(code(CallError::TimedOut { after: Duration::ZERO }.into()), 4);
        assert_eq!(code(CallError::Closed(CloseReason::PeerClosed).into()), 4);
        assert_eq!(code(SendError::Closed.into()), 4);
        assert_eq!(code(CallError::Remote(RpcError::internal("x")).into()), 5);
        assert_eq!(code(CallError::InvalidResponse("x".into()).into()), 5);
        assert_eq!(code(SendError::NotSupported { method: "m".into(), capability: "c" }.into()), 5);
        assert_eq!(Failure::usage("x").kind.exit_code(), 1);
    }

    #[test]
    fn a_status_of_http_has_its_code_and_advice() {
        let failed = |status, body: &str| {
            let mut failure = HttpFailure::new(status);
            failure.body = body.into();
            failure.www_authenticate = vec!["Bearer".into()];
            Failure::from(Error::from(CallError::Http(Box::new(failure)))).at(&hint(&[]), false)
        };
        for (status, code, part) in [(401, 3, "--header"), (403, 3, "rights"), (404, 5, "/mcp"), (502, 4, "proxy")] {
            let failure = failed(status, "no");
            assert_eq!(failure.kind.exit_code(), code, "{failure:?}");
            assert!(failure.message.starts_with("http://h: ") && failure.message.contains(part), "{failure:?}");
            assert_eq!(failure.to_json()["error"]["httpStatus"], status);
        }
        let unknown = failed(401, "no").message;
        let (advice, details) = unknown.split_once('\n').unwrap();
        assert!(advice.starts_with("http://h: the server wants a login: log in with `windlass login http://h`, or "));
        assert!(details.contains("401") && details.ends_with(": no; it asks for: Bearer"), "{details}");
        assert!(!failed(404, " <!doctype html>").message.contains("doctype"));
    }

    #[test]
    fn a_scope_that_is_missing_is_named_with_the_login_that_asks_for_it() {
        let failed = |scope: &str, logging_in| {
            let missing = AuthError::InsufficientScope { scope: scope.into() };
            let error = CallError::Authorization(Box::new(missing));
            Failure::from(Error::from(error)).at(&hint(&["mcp"]), logging_in).message
        };
        let expected = "http://h: what is stored does not allow this: it needs `admin`; \
                        log in with `windlass login --scope 'mcp admin' http://h`";
        assert_eq!(failed("admin", false), expected);
        assert!(failed("admin", true).contains("than was granted: admin; log in with"), "{}", failed("admin", true));
        assert!(failed("mcp", true).ends_with("ask whoever runs the server"), "{}", failed("mcp", true));
        assert!(!failed("$(x)", false).contains("windlass login"), "{}", failed("$(x)", false));
        assert!(failed("", false).contains("does not say what it needs"), "{}", failed("", false));
    }

    #[test]
    fn an_error_as_json_has_all_that_the_server_said() {
        let error = CallError::Remote(RpcError::new(-32602, "no").with_data(&[1]));
        let expected = json!({"error": {
            "kind": "server", "exitCode": 5, "message": "the server answered with an error: no (code -32602)",
            "code": -32602, "data": [1],
        }});
        assert_eq!(Failure::from(Error::from(error)).to_json(), expected);
    }
}
