//! What one run of a client command has at hand, whatever the runtime: what to do, how to connect, where to print.

use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use windlass::client::{ClientConfig, Peer};
use windlass::model::CallToolResult;
use windlass_host::{Command, ConnectError, Connector, Login};

use crate::failure::{Failure, FailureKind};
use crate::hint::LoginHint;
use crate::invocation::{Options, Request, Runtime, ServerCommand, ServerPlace};
use crate::listing::{Introduction, Listing, introduction};
use crate::login::LoginRun;
use crate::output::{print, print_json};
use crate::screen::Screen;
use crate::watch::Watch;
use crate::{address, ask, result, stored};

/// What to know of `--insecure`.
const UNCHECKED: &str = "windlass: take care: with --insecure no certificate is checked, so that whoever is in between \
                         can read and change everything";

/// How long a command may take in all if nothing else was said: what a server may take for a call that it keeps telling
/// of, and what people have to think.
const WHOLE_COMMAND: Duration = Duration::from_secs(600);

/// How long to wait where a person may be asked before the server can answer: people have to think.
const PATIENCE_WITH_PEOPLE: Duration = Duration::from_secs(600);

/// One run of a client command.
#[derive(Debug)]
pub(crate) struct CommandRun {
    pub(crate) request: Request,
    pub(crate) options: Options,
    pub(crate) screen: Arc<Screen>,
    pub(crate) watch: Watch,
    server: ServerPlace,
    login: Option<LoginRun>,
}

impl CommandRun {
    pub(crate) fn new(request: Request, options: Options) -> Result<Self, Failure> {
        let server = match &request {
            Request::Tour => ourselves(options.runtime)?,
            Request::List(server) | Request::Call(server, _) | Request::Ping(server) => server.clone(),
            Request::Login(url, _) => ServerPlace::Url(url.clone()),
        };
        let login = match &request {
            Request::Login(url, plan) => Some(LoginRun::new(url, plan, options.timeout)?),
            _ => None,
        };
        let limit = match &login {
            Some(login) => login.limit(),
            None => options.timeout.unwrap_or(WHOLE_COMMAND),
        };
        let watch = Watch::start(Some(limit).filter(|limit| !limit.is_zero())).map_err(Failure::of_the_system)?;
        Ok(Self { request, options, screen: Arc::new(Screen::new()), watch, server, login })
    }

    /// How to get to the server. What one that we start says on its standard error is shown at once.
    pub(crate) fn connector(&self) -> Result<Connector, Failure> {
        match &self.server {
            ServerPlace::Command(command) => {
                let screen = self.screen.clone();
                let command = Command::new(&command.program).args(&command.arguments);
                Ok(command.on_stderr(move |line| screen.note(line)).into())
            }
            ServerPlace::Url(url) => {
                let target = address::target(url, &self.options.http)?;
                if self.options.http.insecure {
                    self.screen.say(UNCHECKED);
                }
                let target = match &self.login {
                    Some(login) => login.target(target, &self.options.http)?,
                    None => stored::authorized(target, &self.options.http)?,
                };
                Ok(target.into())
            }
        }
    }

    /// What sends the user to log in. Only a login does; for all else there is what is stored.
    pub(crate) fn login_handler(&self) -> Option<impl Fn(Login) + Send + Sync + use<>> {
        self.login.as_ref()?.handler(&self.screen)
    }

    /// There is no connection, which is an error unless it is known now where to log in and that was all.
    pub(crate) fn not_connected(&self, error: ConnectError) -> Result<(), Failure> {
        match &self.login {
            Some(login) if login.has_printed(error.login_url(), &self.options) => Ok(()),
            _ => Err(error.into()),
        }
    }

    /// Whether the server has let us in without a login, so that it is worth asking for more.
    pub(crate) fn nothing_granted(&self) -> bool {
        self.login.as_ref().is_some_and(|login| !login.is_granted())
    }

    pub(crate) fn show_login(&self, peer: &Peer) {
        self.watch.answered();
        if let Some(login) = &self.login {
            login.show(peer, self.options.json);
        }
    }

    /// What came of the command, with what to do about a failure, as far as it can be known here.
    pub(crate) fn conclude(&self, outcome: Result<(), Failure>) -> Result<(), Failure> {
        self.screen.finish();
        if let (Some(login), Err(_)) = (&self.login, &outcome) {
            login.give_up();
        }
        self.watch.judge(outcome).map_err(|failure| match &self.server {
            ServerPlace::Command(_) => failure,
            ServerPlace::Url(url) => {
                let hint = LoginHint::new(url, &self.options.http, stored::granted(url));
                failure.at(&hint, self.login.is_some())
            }
        })
    }

    /// Sets the client up by the options.
    pub(crate) fn configure(&self, config: &mut ClientConfig) {
        config.negotiation = self.options.negotiation;
        if self.login.is_some() {
            // How long it takes is up to the user.
            config.handshake_timeout = Duration::MAX;
            return;
        }
        match self.options.timeout {
            // There is one deadline for the whole command, which nothing extends; no other is to come before it.
            Some(limit) => {
                config.idle_timeout = Duration::ZERO;
                config.total_timeout = Duration::ZERO;
                config.handshake_timeout = Duration::MAX;
                if !limit.is_zero() {
                    // A legacy server that ignores the probe has time left to be asked again.
                    config.probe_timeout = config.probe_timeout.min(limit / 3);
                }
            }
            None if ask::is_possible() => config.idle_timeout = PATIENCE_WITH_PEOPLE,
            None => {}
        }
    }

    pub(crate) fn show_listing(&self, listing: &Listing) {
        self.watch.answered();
        if self.options.json { print_json(listing) } else { print(&listing.to_text()) }
    }

    pub(crate) fn show_ping(&self, peer: &Peer, took: Duration) {
        #[derive(Serialize)]
        struct Pong<'a> {
            #[serde(flatten)]
            introduction: Introduction<'a>,
            milliseconds: f64,
        }

        self.watch.answered();
        let milliseconds = took.as_secs_f64() * 1_000.0;
        if self.options.json {
            print_json(&Pong { introduction: Introduction::of(peer), milliseconds });
        } else {
            print(&format!("{}, answered in {milliseconds:.2} ms\n", introduction(peer)));
        }
    }

    /// Shows what a tool has returned. If it says that it failed, so do we.
    pub(crate) fn show_result(&self, result: &CallToolResult) -> Result<(), Failure> {
        self.watch.answered();
        if self.options.json {
            print_json(result)
        } else {
            print(&result::to_text(result))
        }
        match result.is_failure() {
            true => Err(Failure::new(FailureKind::Tool, "the tool reported an error")),
            false => Ok(()),
        }
    }
}

/// This program, as the demo server on the same runtime.
fn ourselves(runtime: Runtime) -> Result<ServerPlace, Failure> {
    let program = std::env::current_exe()
        .map_err(|error| Failure::new(FailureKind::Unreachable, format!("this program cannot find itself: {error}")))?;
    let arguments = ["serve", "--runtime", runtime.name()].map(OsString::from).to_vec();
    Ok(ServerPlace::Command(ServerCommand { program: program.into_os_string(), arguments }))
}
