//! What was typed, as a value. Nothing here does anything.

use std::borrow::Cow;
use std::ffi::OsString;
use std::time::Duration;

use windlass::client::Negotiation;
use windlass::link::http::redacted;
use windlass::model::ProtocolVersion;

use crate::arguments::Arguments;
use crate::invocation::{
    Certificate, Forgotten, GivenHeader, HttpPlace, Invocation, Options, Place, Request, Runtime, ServerCommand,
    ServerPlace, ToolCall,
};
use crate::login_options::LoginOptions;

/// Reads the words that follow the program's name. An error says what is wrong and what to do.
pub(crate) fn parse(words: &[OsString]) -> Result<Invocation, String> {
    let (ours, command) = split(words);
    let mut typed = Typed::read(ours)?;
    let server = typed.server(command)?;
    if typed.help || typed.first() == Some("help") {
        return Ok(Invocation::Help(typed.words.into_iter().find(|word| word != "help")));
    }
    if typed.version {
        return Ok(Invocation::Version);
    }
    let Some(command) = typed.next() else {
        typed.refuse_json("the tour")?;
        return match server {
            None => {
                typed.refuse_http_options("the tour")?;
                Ok(Invocation::Client(Request::Tour, typed.options))
            }
            Some(_) => {
                Err("there is a server, but nothing to do with it; say `list`, `call TOOL` or `ping` before it".into())
            }
        };
    };
    let request = match command.as_str() {
        "serve" => {
            typed.refuse_client_options()?;
            typed.refuse_rest("serve")?;
            return match server {
                None => Ok(Invocation::Serve(typed.options.runtime, typed.place()?)),
                Some(_) => Err("`serve` is a server itself and takes no other server; \
                                the address to listen on goes after `--http`"
                    .into()),
            };
        }
        "list" => {
            typed.refuse_rest("list")?;
            Request::List(needed("list", server)?)
        }
        "ping" => {
            typed.refuse_rest("ping")?;
            Request::Ping(needed("ping", server)?)
        }
        "call" => {
            let tool =
                typed.next().ok_or("`call` needs the name of a tool, as in `windlass call echo text=hello -- …`")?;
            let arguments = Arguments::parse(&typed.words)?;
            Request::Call(needed("call TOOL", server)?, ToolCall { tool, arguments })
        }
        "login" => {
            typed.refuse_rest("login")?;
            if typed.options.http.auth.stored_only {
                return Err("`--stored-auth-only` is for commands that do not log in, and `login` does".into());
            }
            Request::Login(its_url("login", server)?, std::mem::take(&mut typed.login).plan()?)
        }
        "logout" => {
            typed.refuse_rest("logout")?;
            typed.refuse_all_but_json("logout")?;
            let forgotten = match (server, std::mem::take(&mut typed.all)) {
                (Some(_), true) => return Err("`logout` takes a URL or `--all`, and not both".into()),
                (None, true) => Forgotten::All,
                (server, false) => Forgotten::Server(its_url("logout", server)?),
            };
            return Ok(Invocation::Logout(forgotten, typed.options.json));
        }
        "auth" => {
            match typed.next().as_deref() {
                Some("status") => {}
                _ => return Err("`auth` goes on with `status`, as in `windlass auth status`".into()),
            }
            typed.refuse_rest("auth status")?;
            typed.refuse_all_but_json("auth status")?;
            let url = server.map(|server| its_url("auth status", Some(server))).transpose()?;
            return Ok(Invocation::AuthStatus(url, typed.options.json));
        }
        other => {
            let other = shown(other);
            return Err(format!(
                "there is no command `{other}`; there are list, call, ping, login, logout, auth status, serve and help"
            ));
        }
    };
    typed.refuse_serve_options()?;
    if typed.all {
        return Err("`--all` is an option of `logout`".into());
    }
    typed.login.refuse()?;
    if let Request::List(place) | Request::Call(place, _) | Request::Ping(place) = &request {
        if matches!(place, ServerPlace::Command(_)) {
            typed.refuse_http_options("a server that is started as a command")?;
        }
    }
    Ok(Invocation::Client(request, typed.options))
}

/// Whether errors are wanted as JSON, even if it is the words themselves that are wrong.
pub(crate) fn wants_json(words: &[OsString]) -> bool {
    split(words).0.iter().any(|word| word == "--json")
}

/// Ours, and what follows the first `--`, if there is one.
fn split(words: &[OsString]) -> (&[OsString], Option<&[OsString]>) {
    match words.iter().position(|word| word == "--") {
        Some(at) => (&words[..at], Some(&words[at + 1..])),
        None => (words, None),
    }
}

fn needed(command: &str, server: Option<ServerPlace>) -> Result<ServerPlace, String> {
    server.ok_or_else(|| {
        format!(
            "which server? Put its command after `--`, as in `windlass {command} -- windlass serve`, \
             or give its URL, as in `windlass {command} http://127.0.0.1:8080/mcp`"
        )
    })
}

/// The URL of the server, for commands that make no sense with one that is started.
fn its_url(command: &str, server: Option<ServerPlace>) -> Result<String, String> {
    match server {
        Some(ServerPlace::Url(url)) => Ok(url),
        Some(ServerPlace::Command(_)) => {
            Err(format!("`{command}` is for servers that have a URL; one that is started needs no login"))
        }
        None => Err(format!("which server? Give its URL, as in `windlass {command} https://mcp.example/mcp`")),
    }
}

/// A word as it is repeated in a complaint. One that was meant as a URL may hold a secret.
fn shown(word: &str) -> Cow<'_, str> {
    if word.contains("://") { Cow::Owned(redacted(word)) } else { Cow::Borrowed(word) }
}

fn is_url(word: &str) -> bool {
    let is_scheme = |scheme: &str| word.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme));
    is_scheme("http://") || is_scheme("https://")
}

/// Our words, with the options sorted out.
#[derive(Default)]
struct Typed {
    words: Vec<String>,
    options: Options,
    help: bool,
    version: bool,
    /// Options that only a client has, as far as they were given.
    client_options: Vec<&'static str>,
    /// Options that only make sense with a URL, as far as they were given.
    http_options: Vec<&'static str>,
    /// Where to listen.
    address: Option<String>,
    chain: Option<String>,
    key: Option<String>,
    /// To whom to listen.
    hosts: Vec<String>,
    origins: Vec<String>,
    login: LoginOptions,
    /// Whether all is to be forgotten.
    all: bool,
}

impl Typed {
    fn read(words: &[OsString]) -> Result<Self, String> {
        let mut typed = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let word = text(word)?;
            if !word.starts_with('-') || word == "-" {
                typed.words.push(word.to_owned());
                continue;
            }
            let (name, attached) = match word.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (word, None),
            };
            let mut value = || match attached.map(Ok).or_else(|| words.next().map(|word| text(word))) {
                Some(value) => value,
                None => Err(format!("`{name}` needs a value")),
            };
            match name {
                "--runtime" => typed.options.runtime = runtime(value()?)?,
                "--era" => {
                    typed.options.negotiation = negotiation(value()?)?;
                    typed.client_options.push("--era");
                }
                "--timeout" => {
                    typed.options.timeout = Some(timeout(value()?)?);
                    typed.client_options.push("--timeout");
                }
                "--http" => typed.address = Some(value()?.to_owned()),
                "--cert" => typed.chain = Some(value()?.to_owned()),
                "--key" => typed.key = Some(value()?.to_owned()),
                "--allow-host" => typed.hosts.push(host(name, value()?)?),
                "--allow-origin" => typed.origins.push(origin(value()?)?),
                "--header" => {
                    typed.options.http.headers.push(GivenHeader::Line(value()?.to_owned()));
                    typed.http_options.push("--header");
                }
                "--header-from" => {
                    typed.options.http.headers.push(GivenHeader::Variable(value()?.to_owned()));
                    typed.http_options.push("--header-from");
                }
                "--ca" => {
                    typed.options.http.authorities.push(value()?.to_owned());
                    typed.http_options.push("--ca");
                }
                "--allow-auth-host" => {
                    typed.options.http.auth.hosts.push(host(name, value()?)?);
                    typed.http_options.push("--allow-auth-host");
                }
                _ if LoginOptions::takes_value(name) => typed.login.set(name, value()?)?,
                _ if attached.is_some() => return Err(format!("there is no option `{name}` that takes a value")),
                "--json" => {
                    typed.options.json = true;
                    typed.client_options.push("--json");
                }
                "--insecure" => {
                    typed.options.http.insecure = true;
                    typed.http_options.push("--insecure");
                }
                "--allow-local" => {
                    typed.options.http.auth.allow_local = true;
                    typed.http_options.push("--allow-local");
                }
                "--stored-auth-only" => {
                    typed.options.http.auth.stored_only = true;
                    typed.http_options.push("--stored-auth-only");
                }
                "--all" => typed.all = true,
                _ if typed.login.flag(name) => {}
                "--help" | "-h" => typed.help = true,
                "--version" | "-V" => typed.version = true,
                _ => return Err(format!("there is no option `{name}`; options for the server go after `--`")),
            }
        }
        Ok(typed)
    }

    /// Where the demo server is to be found.
    fn place(&mut self) -> Result<Place, String> {
        let certificate = match (self.chain.take(), self.key.take()) {
            (Some(chain), Some(key)) => Some(Certificate { chain, key }),
            (None, None) => None,
            _ => return Err("`--cert` and `--key` go together".into()),
        };
        let (hosts, origins) = (std::mem::take(&mut self.hosts), std::mem::take(&mut self.origins));
        match self.address.take() {
            Some(address) => Ok(Place::Http(HttpPlace { address, certificate, hosts, origins })),
            None if certificate.is_some() => {
                Err("`--cert` and `--key` need an address to listen on: `--http ADDRESS`".into())
            }
            None if hosts.is_empty() && origins.is_empty() => Ok(Place::Stdio),
            None => Err("`--allow-host` and `--allow-origin` need an address to listen on: `--http ADDRESS`".into()),
        }
    }

    /// Takes the server out of the words: a URL among them, or the command after the dashes.
    fn server(&mut self, command: Option<&[OsString]>) -> Result<Option<ServerPlace>, String> {
        let url = self.words.iter().position(|word| is_url(word)).map(|at| self.words.remove(at));
        if let (Some(url), Some(other)) = (&url, self.words.iter().find(|word| is_url(word))) {
            let (url, other) = (redacted(url), redacted(other));
            return Err(format!("there are two servers, {url} and {other}; one is enough"));
        }
        match (url, command) {
            (None, None | Some([])) => Ok(None),
            (Some(url), None | Some([])) => Ok(Some(ServerPlace::Url(url))),
            (Some(url), Some(_)) => {
                let url = redacted(&url);
                Err(format!("there are two servers, {url} and a command after `--`; one is enough"))
            }
            (None, Some([program, arguments @ ..])) => match program.to_str().filter(|word| is_url(word)) {
                Some(url) if arguments.is_empty() => Ok(Some(ServerPlace::Url(url.to_owned()))),
                Some(_) => Err("nothing follows a server's URL; options go before the `--`".into()),
                None => Ok(Some(ServerPlace::Command(ServerCommand {
                    program: program.clone(),
                    arguments: arguments.to_vec(),
                }))),
            },
        }
    }

    fn first(&self) -> Option<&str> {
        self.words.first().map(String::as_str)
    }

    fn next(&mut self) -> Option<String> {
        if self.words.is_empty() { None } else { Some(self.words.remove(0)) }
    }

    fn refuse_rest(&self, command: &str) -> Result<(), String> {
        match self.first() {
            None => Ok(()),
            Some(word) => Err(format!(
                "`{command}` takes no `{}`; a server's command goes after `--`, and a URL begins with http://",
                shown(word)
            )),
        }
    }

    fn refuse_json(&self, what: &str) -> Result<(), String> {
        if self.options.json { Err(format!("`--json` is for commands with a result, not for {what}")) } else { Ok(()) }
    }

    fn refuse_serve_options(&self) -> Result<(), String> {
        if self.chain.is_some() || self.key.is_some() {
            return Err("`--cert` and `--key` are options of `serve --http`".into());
        }
        if !self.hosts.is_empty() || !self.origins.is_empty() {
            return Err("`--allow-host` and `--allow-origin` are options of `serve --http`; \
                        what authorization may lead to is said with `--allow-auth-host`"
                .into());
        }
        if self.address.is_some() {
            return Err("`--http` is an option of `serve`; a client takes the server's URL as it is".into());
        }
        Ok(())
    }

    /// For commands that only look at what is stored.
    fn refuse_all_but_json(&self, command: &str) -> Result<(), String> {
        self.refuse_serve_options()?;
        self.login.refuse()?;
        if self.all && command != "logout" {
            return Err("`--all` is an option of `logout`".into());
        }
        match self.client_options.iter().chain(&self.http_options).find(|option| **option != "--json") {
            None => Ok(()),
            Some(option) => Err(format!("`{option}` is not for `{command}`, which asks no server for anything")),
        }
    }

    fn refuse_http_options(&self, what: &str) -> Result<(), String> {
        match self.http_options.first() {
            None => Ok(()),
            Some(option) => Err(format!("`{option}` is for servers that are reached by a URL, not for {what}")),
        }
    }

    fn refuse_client_options(&self) -> Result<(), String> {
        self.login.refuse()?;
        match self.client_options.iter().chain(&self.http_options).next() {
            None => Ok(()),
            Some(option) => Err(format!("`{option}` is an option of clients; `serve` follows its client")),
        }
    }
}

fn text(word: &OsString) -> Result<&str, String> {
    word.to_str().ok_or_else(|| format!("{word:?} is not UTF-8, which only a server's command may be"))
}

fn runtime(name: &str) -> Result<Runtime, String> {
    Runtime::ALL.into_iter().find(|runtime| runtime.name() == name).ok_or_else(|| {
        let names = Runtime::ALL.map(Runtime::name).join(", ");
        format!("there is no runtime `{name}`; there are {names}")
    })
}

fn negotiation(era: &str) -> Result<Negotiation, String> {
    match era {
        "auto" => Ok(Negotiation::Automatic),
        "legacy" => Ok(Negotiation::Legacy),
        "modern" => Ok(Negotiation::Pinned(ProtocolVersion::LATEST)),
        _ => Err(format!("there is no era `{era}`; there are auto, legacy and modern")),
    }
}

fn timeout(seconds: &str) -> Result<Duration, String> {
    let parsed = seconds.parse::<f64>().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    parsed.ok_or_else(|| format!("`--timeout` takes a number of seconds such as 30 or 0.5, and `{seconds}` is none"))
}

/// A name that a client may call a server by.
fn host(option: &str, name: &str) -> Result<String, String> {
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    let is_address =
        name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).is_some_and(|name| !name.is_empty());
    match is_address || (!name.is_empty() && name.bytes().all(is_name)) {
        true => Ok(name.to_owned()),
        false => {
            Err(format!("`{option}` takes a name such as mcp.example, without a port, and `{}` is none", shown(name)))
        }
    }
}

/// Where pages come from, as browsers write it.
fn origin(text: &str) -> Result<String, String> {
    let host = text.split_once("://").map(|(_, host)| host).unwrap_or_default();
    match !host.is_empty() && !host.contains(['/', '?', '#', '@']) {
        true => Ok(text.to_owned()),
        false => Err(format!(
            "`--allow-origin` takes an origin such as https://app.example, without a path, and `{}` is none",
            shown(text)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::invocation::{AuthOptions, HttpOptions, LoginPlan, LoginWay};

    fn read(line: &str) -> Result<Invocation, String> {
        parse(&line.split_whitespace().map(OsString::from).collect::<Vec<_>>())
    }

    fn complaint(line: &str) -> String {
        read(line).expect_err(line)
    }

    fn server(line: &str) -> ServerPlace {
        let mut words = line.split_whitespace().map(OsString::from);
        ServerPlace::Command(ServerCommand { program: words.next().unwrap(), arguments: words.collect() })
    }

    fn url(url: &str) -> ServerPlace {
        ServerPlace::Url(url.to_owned())
    }

    #[test]
    fn nothing_is_the_tour() {
        assert_eq!(read(""), Ok(Invocation::Client(Request::Tour, Options::default())));
        let tokio = Options { runtime: Runtime::Tokio, ..Options::default() };
        assert_eq!(read("--runtime tokio"), Ok(Invocation::Client(Request::Tour, tokio)));
    }

    #[test]
    fn what_follows_the_dashes_is_the_servers() {
        let expected = Request::List(server("npx -y thing --json -- --runtime"));
        let options = Options::default();
        assert_eq!(read("list -- npx -y thing --json -- --runtime"), Ok(Invocation::Client(expected, options)));
        assert!(!wants_json(&["list", "--", "x", "--json"].map(OsString::from)));
        assert!(wants_json(&["--json", "--", "x"].map(OsString::from)));
    }

    #[test]
    fn options_stand_anywhere_before_the_dashes() {
        let expected = Options {
            runtime: Runtime::AsyncStd,
            negotiation: Negotiation::Legacy,
            timeout: Some(Duration::from_millis(1_500)),
            json: true,
            http: HttpOptions::default(),
        };
        for line in [
            "--runtime async-std --era legacy --timeout 1.5 --json ping -- s",
            "ping --runtime=async-std --era=legacy --timeout=1.5 --json -- s",
        ] {
            assert_eq!(read(line), Ok(Invocation::Client(Request::Ping(server("s")), expected.clone())), "{line}");
        }
    }

    #[test]
    fn a_call_takes_its_arguments_apart() {
        let Ok(Invocation::Client(Request::Call(_, call), _)) = read("call add a=1 --json b:=2 -- s") else { panic!() };
        assert_eq!(call.tool, "add");
        assert_eq!(Ok(call.arguments), Arguments::parse(&["a=1".into(), "b:=2".into()]));
        assert!(complaint("call add 1 -- s").contains("key=value"));
    }

    #[test]
    fn a_url_is_a_server_wherever_a_command_may_be() {
        for line in ["list http://h/mcp", "list -- http://h/mcp", "http://h/mcp list", "list http://h/mcp --"] {
            let expected = Invocation::Client(Request::List(url("http://h/mcp")), Options::default());
            assert_eq!(read(line), Ok(expected), "{line}");
        }
        for line in ["call echo text=1 https://h/?a=b", "call https://h/?a=b echo text=1"] {
            let Ok(Invocation::Client(Request::Call(server, call), _)) = read(line) else { panic!("{line}") };
            assert_eq!((server, call.tool.as_str()), (url("https://h/?a=b"), "echo"), "{line}");
        }
    }

    #[test]
    fn a_url_has_options_of_its_own() {
        let line = "ping HTTPS://h --header A:b --header-from TOKEN --ca x.pem --ca y.pem --insecure";
        let Ok(Invocation::Client(_, options)) = read(line) else { panic!() };
        let headers = vec![GivenHeader::Line("A:b".into()), GivenHeader::Variable("TOKEN".into())];
        let authorities = vec!["x.pem".into(), "y.pem".into()];
        assert!(!format!("{options:?}").contains("A:b"), "a header may be a secret");
        assert_eq!(options.http, HttpOptions { headers, authorities, insecure: true, ..HttpOptions::default() });
        let Ok(Invocation::Client(_, options)) =
            read("list https://h --stored-auth-only --allow-local --allow-auth-host a.example")
        else {
            panic!()
        };
        let auth = AuthOptions { allow_local: true, hosts: vec!["a.example".into()], stored_only: true };
        assert_eq!(options.http.auth, auth);
    }

    #[test]
    fn logging_in_takes_a_url_and_how() {
        let plan = |line: &str| match read(line) {
            Ok(Invocation::Client(Request::Login(url, plan), _)) if url == "https://h/mcp" => plan,
            other => panic!("{line}: {other:?}"),
        };
        let browser = |open| LoginPlan {
            way: LoginWay::Browser { open },
            client: None,
            client_metadata_url: None,
            scopes: Vec::new(),
        };
        assert_eq!(plan("login https://h/mcp"), browser(true));
        assert_eq!(plan("login --no-browser https://h/mcp"), browser(false));
        assert_eq!(plan("login --device https://h/mcp").way, LoginWay::Device);
        let given = plan("login https://h/mcp --scope a --scope b --client-id c --client-secret-from V");
        assert_eq!((given.scopes, given.client.unwrap().secret_from), (vec!["a".into(), "b".into()], Some("V".into())));
        assert!(matches!(plan("login --print-url https://h/mcp").way, LoginWay::PrintUrl { .. }));
        let back = plan("login --finish http://127.0.0.1:1/callback?code=hush&state=hush https://h/mcp");
        assert!(matches!(back.way, LoginWay::Finish(_)) && !format!("{back:?}").contains("hush"), "{back:?}");
        for (line, part) in [
            ("login", "which server?"),
            ("login -- s", "needs no login"),
            ("login --device --print-url https://h", "one of"),
            ("login --client-credentials https://h", "--client-id"),
            ("login --client-credentials --client-id c https://h", "--client-secret-from"),
            ("login --client-secret-from V https://h", "--client-id"),
            ("login --redirect-uri http://127.0.0.1:1/c https://h", "--print-url"),
            ("login --print-url --redirect-uri x:y https://h", "--redirect-uri"),
            ("login --device --no-browser https://h", "--no-browser"),
            ("login --stored-auth-only https://h", "--stored-auth-only"),
            ("login --client-metadata-url http://h https://h", "https"),
            ("list --device https://h", "`login`"),
            ("list --all https://h", "`logout`"),
            ("serve --device", "`login`"),
            ("list --allow-local -- s", "--allow-local"),
            ("login x https://h", "`x`"),
        ] {
            assert!(complaint(line).contains(part), "{line}: {}", complaint(line));
        }
    }

    #[test]
    fn what_is_stored_can_be_told_and_forgotten() {
        assert_eq!(read("auth status"), Ok(Invocation::AuthStatus(None, false)));
        assert_eq!(read("auth status --json https://h"), Ok(Invocation::AuthStatus(Some("https://h".into()), true)));
        assert_eq!(read("logout --all"), Ok(Invocation::Logout(Forgotten::All, false)));
        assert_eq!(read("logout https://h"), Ok(Invocation::Logout(Forgotten::Server("https://h".into()), false)));
        for (line, part) in [
            ("auth", "auth status"),
            ("auth frob", "auth status"),
            ("auth status --all", "`logout`"),
            ("logout", "which server?"),
            ("logout --all https://h", "not both"),
            ("logout --insecure https://h", "--insecure"),
        ] {
            assert!(complaint(line).contains(part), "{line}: {}", complaint(line));
        }
    }

    #[test]
    fn serving_has_a_runtime_and_a_place_and_nothing_else() {
        assert_eq!(read("serve --runtime mio"), Ok(Invocation::Serve(Runtime::Mio, Place::Stdio)));
        let at = |address: &str, certificate| {
            Place::Http(HttpPlace { address: address.into(), certificate, hosts: Vec::new(), origins: Vec::new() })
        };
        let http = at("127.0.0.1:0", None);
        assert_eq!(read("serve --http 127.0.0.1:0"), Ok(Invocation::Serve(Runtime::Blocking, http)));
        let certificate = Certificate { chain: "c.pem".into(), key: "k.pem".into() };
        let https = at("h:1", Some(certificate));
        assert_eq!(read("serve --http h:1 --cert c.pem --key=k.pem"), Ok(Invocation::Serve(Runtime::Blocking, https)));
        assert!(complaint("serve --http h:1 --cert c.pem").contains("go together"));
        assert!(complaint("serve --http h:1 --key k.pem").contains("go together"));
        assert!(complaint("serve --cert c.pem --key k.pem").contains("--http ADDRESS"));
        assert!(complaint("list --cert c.pem --key k.pem http://h").contains("`serve --http`"));
        assert!(complaint("serve http://127.0.0.1:0").contains("--http"));
        assert!(complaint("serve --ca x").contains("--ca"));
        assert!(complaint("serve --json").contains("--json"));
        assert!(complaint("serve --era legacy").contains("--era"));
        assert!(complaint("serve -- x").contains("serve"));
    }

    #[test]
    fn who_may_reach_a_server_can_be_said() {
        let line =
            "serve --http 127.0.0.1:0 --allow-host a.example --allow-host=[::2] --allow-origin https://b.example:8";
        let Ok(Invocation::Serve(_, Place::Http(place))) = read(line) else { panic!() };
        assert_eq!(place.hosts, ["a.example", "[::2]"]);
        assert_eq!(place.origins, ["https://b.example:8"]);
        for (line, part) in [
            ("serve --allow-host a", "--http ADDRESS"),
            ("list --allow-origin https://a -- s", "`serve --http`"),
            ("serve --http h:1 --allow-host a:80", "without a port"),
            ("serve --http h:1 --allow-host https://a", "without a port"),
            ("serve --http h:1 --allow-origin a", "https://app.example"),
            ("serve --http h:1 --allow-origin https://a/b", "without a path"),
        ] {
            assert!(complaint(line).contains(part), "{line}: {}", complaint(line));
        }
    }

    #[test]
    fn help_and_version_come_first() {
        for line in ["help", "--help", "-h", "help --help"] {
            assert_eq!(read(line), Ok(Invocation::Help(None)), "{line}");
        }
        for line in ["login --help", "help login", "login --device http://h -h"] {
            assert_eq!(read(line), Ok(Invocation::Help(Some("login".into()))), "{line}");
        }
        assert_eq!(read("--version"), Ok(Invocation::Version));
    }

    #[test]
    fn mistakes_are_named() {
        for (line, part) in [
            ("lst -- s", "`lst`"),
            ("list", "which server?"),
            ("list --", "which server?"),
            ("list npx", "after `--`"),
            ("call -- s", "name of a tool"),
            ("-- s", "`list`"),
            ("http://h", "`list`"),
            ("list http://h -- s", "two servers"),
            ("list http://h http://i", "two servers"),
            ("list -- http://h --json", "before the `--`"),
            ("list --http 127.0.0.1:0 -- s", "`serve`"),
            ("list --insecure -- s", "`--insecure`"),
            ("--header a:b", "the tour"),
            ("--json", "the tour"),
            ("list --frob -- s", "`--frob`"),
            ("list --frob=1 -- s", "`--frob`"),
            ("list --runtime", "needs a value"),
            ("list --runtime glommio -- s", "async-std"),
            ("list --era stone -- s", "modern"),
            ("list --timeout soon -- s", "`soon`"),
            ("list --timeout -1 -- s", "`-1`"),
        ] {
            assert!(complaint(line).contains(part), "{line}: {}", complaint(line));
        }
    }
}
