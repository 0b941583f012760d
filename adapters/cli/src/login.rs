//! `windlass login`: sending the user to log in, waiting for it, and what is said about it.

use std::io::BufRead;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;
use windlass::auth::{AuthConfig, AuthPrompt, Grant, KnownClient, Redirected, Secret};
use windlass::client::Peer;
use windlass::link::http::{Url, redacted};
use windlass_host::auth::{LoopbackRedirect, SharedStore};
use windlass_host::{HttpTarget, Login};

use crate::address::{has_credentials, variable};
use crate::failure::Failure;
use crate::fresh_store::{FreshStore, Granted};
use crate::hint::LoginHint;
use crate::invocation::{HttpOptions, LoginPlan, LoginWay, Options};
use crate::listing::{Introduction, introduction};
use crate::output::{print, print_json};
use crate::screen::Screen;
use crate::table::first_line;
use crate::{browser, calendar, stored};

/// How long the user may take, if nothing else was said.
const PATIENCE: Duration = Duration::from_secs(300);

/// How long the user may take to bring back where the browser ended up. Authorization servers give up after as long.
const PATIENCE_WITH_PAPER: Duration = Duration::from_secs(600);

/// In place of no limit at all.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// What is there for all that is not the user: finding out who authorizes, and the connection itself.
const BESIDE_THE_USER: Duration = Duration::from_secs(60);

/// One login.
#[derive(Debug)]
pub(crate) struct LoginRun {
    url: String,
    plan: LoginPlan,
    patience: Duration,
    store: FreshStore,
    /// Where the browser comes back to, if it does so by itself.
    back: Option<Arc<Mutex<LoopbackRedirect>>>,
    /// By what the login is known that the user was sent to.
    state: Arc<Mutex<Option<Secret>>>,
}

impl LoginRun {
    pub(crate) fn new(url: &str, plan: &LoginPlan, timeout: Option<Duration>) -> Result<Self, Failure> {
        let patience = match (timeout, &plan.way) {
            (Some(Duration::ZERO), _) => LONGEST,
            (Some(limit), _) => limit.min(LONGEST),
            (None, LoginWay::PrintUrl { .. }) => PATIENCE_WITH_PAPER,
            (None, _) => PATIENCE,
        };
        let back = match plan.way {
            LoginWay::Browser { .. } => Some(LoopbackRedirect::bind().map_err(Failure::of_the_system)?),
            _ => None,
        };
        Ok(Self {
            url: url.to_owned(),
            plan: plan.clone(),
            patience,
            store: FreshStore::new(stored::store()?),
            back: back.map(|back| Arc::new(Mutex::new(back))),
            state: Arc::default(),
        })
    }

    /// How long the whole command may take.
    pub(crate) fn limit(&self) -> Duration {
        self.patience + BESIDE_THE_USER
    }

    /// The server, to be logged in at.
    pub(crate) fn target(&self, target: HttpTarget, options: &HttpOptions) -> Result<HttpTarget, Failure> {
        if has_credentials(options) {
            return Err(Failure::usage("with a header `Authorization` there is nothing to log in for"));
        }
        let grant = match (&self.plan.way, &self.back) {
            (LoginWay::Device, _) => Grant::Device,
            (LoginWay::ClientCredentials, _) => Grant::ClientCredentials,
            (LoginWay::PrintUrl { redirect_uri }, _) => Grant::code(redirect_uri),
            (_, Some(back)) => Grant::code(lock(back).redirect_uri()),
            // Where that was is stored with the login.
            (_, None) => Grant::code(""),
        };
        let mut config = stored::configured(AuthConfig::new(grant), options);
        config.login_timeout = self.patience;
        let client = self.client()?;
        config.client = client.clone();
        if let Some(url) = &self.plan.client_metadata_url {
            config = config.client_metadata_url(url);
        }
        if !self.plan.scopes.is_empty() {
            config = config.scopes(&self.plan.scopes);
        }
        if let LoginWay::Finish(back) = &self.plan.way {
            config = config.finish(Redirected::from_url(&address_of(back)?));
            // Whatever comes of it, no other login is begun.
            config.stored_only = true;
        }
        // Without a user nothing is refreshed: the client asks again, and has its password then.
        let client = client.filter(|_| self.plan.way != LoginWay::ClientCredentials);
        Ok(target.with_authorization(config, SharedStore::new(self.store.clone().for_client(client))))
    }

    /// The client that was given, with its password.
    fn client(&self) -> Result<Option<KnownClient>, Failure> {
        let Some(given) = &self.plan.client else { return Ok(None) };
        let client = KnownClient::new(&given.id);
        Ok(Some(match &given.secret_from {
            Some(name) => client.secret(variable(name)?),
            None => client,
        }))
    }

    /// What sends the user to log in, if this is the place to do it.
    pub(crate) fn handler(&self, screen: &Arc<Screen>) -> Option<impl Fn(Login) + Send + Sync + use<>> {
        let open = match self.plan.way {
            LoginWay::Browser { open } => open,
            LoginWay::Device => false,
            LoginWay::ClientCredentials | LoginWay::PrintUrl { .. } | LoginWay::Finish(_) => return None,
        };
        let (server, patience) = (first_line(&redacted(&self.url)), self.patience);
        let (screen, back, state) = (screen.clone(), self.back.clone(), self.state.clone());
        Some(move |login: Login| {
            let (server, screen, back) = (server.clone(), screen.clone(), back.clone());
            if let AuthPrompt::Browser { url } = login.prompt() {
                *lock(&state) = Some(Redirected::from_url(url).state);
            }
            // On a thread of its own, because the connection is driven where this is called.
            let wait = move || match (login.prompt().clone(), back) {
                (AuthPrompt::Browser { url }, Some(back)) => {
                    send_to_browser(&screen, &server, &url, open, patience);
                    // That the time is over is for the engine to say, which knows it first.
                    match wait_for(&lock(&back), &Redirected::from_url(&url).state, patience + BESIDE_THE_USER) {
                        Some(redirected) => login.finish(redirected),
                        None => login.refuse(),
                    }
                }
                (AuthPrompt::Device { url, complete_url, user_code }, _) => {
                    screen.say(&on_device(&server, &url, complete_url.as_deref(), &user_code));
                }
                _ => {}
            };
            // Without a thread the login is given up, which is told.
            let _ = std::thread::Builder::new().name("login".into()).spawn(wait);
        })
    }

    /// There is a page to log in at, and nobody here to be sent there. Says whether that is what was asked for.
    pub(crate) fn has_printed(&self, login_url: Option<&str>, options: &Options) -> bool {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Page<'a> {
            login_url: &'a str,
            expires_at: u64,
        }

        let (LoginWay::PrintUrl { redirect_uri }, Some(login_url)) = (&self.plan.way, login_url) else { return false };
        let expires_at = calendar::now() + self.patience.as_secs();
        if options.json {
            print_json(&Page { login_url, expires_at });
            return true;
        }
        print(&format!("{login_url}\n"));
        let end = calendar::moment(expires_at, calendar::now());
        crate::output::tell(&format!(
            "windlass: log in on that page, in any browser. It ends up at an address that begins with {redirect_uri}, \
             where nothing has to be seen;\n  copy that address and give it, before {end}, to:\n  \
             {}\n",
            LoginHint::new(&self.url, &options.http, Vec::new()).with("--finish 'ADDRESS'")
        ));
        true
    }

    /// Whether something was granted.
    pub(crate) fn is_granted(&self) -> bool {
        self.store.granted().is_some()
    }

    /// Says what came of it.
    pub(crate) fn show(&self, peer: &Peer, json: bool) {
        let outcome = Outcome::of(&self.url, peer, self.store.granted());
        if json { print_json(&outcome) } else { print(&outcome.to_text(peer)) }
    }

    /// Nothing came of it. What was begun is not left lying about.
    pub(crate) fn give_up(&self) {
        if matches!(self.plan.way, LoginWay::PrintUrl { .. } | LoginWay::Finish(_)) {
            return;
        }
        if let Ok(server) = stored::key(&self.url) {
            self.store.give_up(&server, lock(&self.state).as_ref());
        }
    }
}

fn lock<V>(mutex: &Mutex<V>) -> MutexGuard<'_, V> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where the browser ended up, as it was typed.
fn address_of(typed: &Secret) -> Result<String, Failure> {
    let mut address = typed.expose().to_owned();
    if address == "-" {
        address.clear();
        let read = std::io::stdin().lock().read_line(&mut address);
        read.map_err(|error| Failure::usage(format!("the address cannot be read from standard input: {error}")))?;
    }
    let address = address.trim();
    // What it is, is told without it: it holds what a token is to be had for.
    if !address.contains("state=") {
        return Err(Failure::usage(
            "`--finish` takes the address that the browser has ended up at, as a whole: it has `state=` in it. \
             Put it between single quotes, because shells have their own use for `&`",
        ));
    }
    Ok(address.to_owned())
}

/// Waits for the user to come back with what belongs to this login. What others send there does not end it.
fn wait_for(back: &LoopbackRedirect, state: &Secret, patience: Duration) -> Option<Redirected> {
    let until = Instant::now() + patience;
    loop {
        let redirected = back.wait(until.saturating_duration_since(Instant::now())).ok()?;
        if redirected.state == *state {
            return Some(redirected);
        }
    }
}

fn send_to_browser(screen: &Screen, server: &str, url: &str, open: bool, patience: Duration) {
    let host = Url::parse(url).map(|url| url.authority().to_owned()).unwrap_or_default();
    screen.say(&format!(
        "to log in to {server}, open this page of {host} in a browser on this machine:\n  {url}\n\
         It is waited for, for {} s; Ctrl-C gives up. Where there is no browser: --device, or --print-url",
        patience.as_secs()
    ));
    match open.then(|| browser::open(url)) {
        None => {}
        Some(Ok(())) => screen.say("a browser was asked to open it"),
        Some(Err(why)) => screen.say(&format!("no browser was opened: {why}")),
    }
}

fn on_device(server: &str, url: &str, complete_url: Option<&str>, user_code: &str) -> String {
    let mut text = format!(
        "to log in to {server}, open this page on any device:\n  {}\nand type this code there:\n  {}",
        first_line(url),
        first_line(user_code)
    );
    // The page with the code in it has not been looked at by the guard: it has to be on the same host.
    let host = |url: &str| Url::parse(url).ok().map(|url| (url.is_secure(), url.authority().to_owned()));
    if let Some(complete) = complete_url.filter(|complete| host(complete).is_some() && host(complete) == host(url)) {
        text += &format!("\nor follow this link, which has it in it:\n  {}", first_line(complete));
    }
    text + "\nIt is waited for; Ctrl-C gives up"
}

/// What came of a login.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Outcome<'a> {
    server: String,
    #[serde(flatten)]
    introduction: Introduction<'a>,
    /// Whether the server wanted a login at all.
    logged_in: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    issuer: Option<String>,
    scopes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<u64>,
    can_refresh: bool,
}

impl<'a> Outcome<'a> {
    fn of(url: &str, peer: &'a Peer, granted: Option<Granted>) -> Self {
        let tokens = granted.as_ref().map(|granted| &granted.tokens);
        Self {
            server: redacted(url),
            introduction: Introduction::of(peer),
            logged_in: granted.is_some(),
            scopes: tokens.map(|tokens| scopes(tokens.scope.as_deref())).unwrap_or_default(),
            expires_at: tokens.and_then(|tokens| tokens.expires_at),
            can_refresh: granted
                .as_ref()
                .is_some_and(|granted| granted.has_client && granted.tokens.refresh_token.is_some()),
            issuer: granted.map(|granted| granted.issuer),
        }
    }

    fn to_text(&self, peer: &Peer) -> String {
        let (name, server) = (introduction(peer), first_line(&self.server));
        let Some(issuer) = &self.issuer else {
            return format!("{server} wants no login: {name}\nnothing was stored\n");
        };
        let scopes = if self.scopes.is_empty() { "not said".into() } else { first_line(&self.scopes.join(" ")) };
        let until = match (self.expires_at, self.can_refresh) {
            (None, _) => "the server says otherwise".into(),
            (Some(at), true) => calendar::moment(at, calendar::now()) + ", and refreshed by itself",
            (Some(at), false) => calendar::moment(at, calendar::now()) + "; then log in again",
        };
        let issuer = first_line(issuer);
        format!("logged in to {server}: {name}\n  by      {issuer}\n  scopes  {scopes}\n  until   {until}\n")
    }
}

/// Scopes as they are written between blanks.
pub(crate) fn scopes(text: Option<&str>) -> Vec<String> {
    text.unwrap_or_default().split_ascii_whitespace().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_told_with_a_link_only_if_it_leads_to_the_same_host() {
        let told = |complete| on_device("s", "https://as.example/device", complete, "AB\x1b[2J\nCD");
        assert!(told(Some("https://as.example/device?user_code=AB")).contains("follow this link"));
        for other in [Some("https://evil.example/"), Some("http://as.example/device"), Some("javascript:1"), None] {
            assert!(!told(other).contains("follow this link"), "{other:?}");
        }
        assert!(told(None).contains("\n  AB\\u{1b}[2J\nIt"), "{}", told(None));
    }

    #[test]
    fn what_is_brought_back_is_not_repeated() {
        let complaint = format!("{:?}", address_of(&Secret::new("hush")).unwrap_err());
        assert!(complaint.contains("single quotes") && !complaint.contains("hush"), "{complaint}");
        assert_eq!(address_of(&Secret::new(" http://h/?code=c&state=s ")).unwrap(), "http://h/?code=c&state=s");
    }
}
