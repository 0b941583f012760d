//! Servers that want a login: `login`, `logout`, `auth status`, and what all other commands make of what is stored.

#![cfg(unix)]

mod authority;
mod common;

use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use authority::http::get;
use authority::{Authority, KNOWN_CLIENT, KNOWN_SECRET, SECRET};
use common::{RUNTIMES, Run};
use serde_json::json;

/// A user's home, with nothing in it.
struct Home(PathBuf);

impl Home {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("windlass-home-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
        for screen in ["DISPLAY", "WAYLAND_DISPLAY", "BROWSER", "WSL_DISTRO_NAME"] {
            command.env_remove(screen);
        }
        command.args(words).env("HOME", &self.0).env("XDG_STATE_HOME", self.0.join("state"));
        command.env("PASSWORD", KNOWN_SECRET).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    #[track_caller]
    fn run(&self, words: &[&str]) -> Run {
        finished(self.command(words).spawn().unwrap(), String::new())
    }

    /// Begins a login, up to where the user is asked to open a page.
    #[track_caller]
    fn begin(&self, words: &[&str]) -> Begun {
        Begun::start(self.command(&[&["login", "--allow-local"], words].concat()))
    }

    /// Logs in as a user would, and says what is said about it.
    #[track_caller]
    fn log_in(&self, words: &[&str]) -> Run {
        let begun = self.begin(words);
        let back = get(&begun.page).0.expect("the user is sent back");
        let page = get(&back).1;
        let run = begun.end();
        if run.code == Some(0) {
            assert_eq!(page, "You have logged in. You can close this window.");
        }
        run
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A login that waits for the user.
struct Begun {
    process: Child,
    stderr: BufReader<ChildStderr>,
    said: String,
    page: String,
}

impl Begun {
    #[track_caller]
    fn start(mut command: Command) -> Self {
        let mut process = command.spawn().unwrap();
        let mut stderr = BufReader::new(process.stderr.take().unwrap());
        let (mut said, mut page) = (String::new(), None);
        while page.is_none() {
            let start = said.len();
            assert_ne!(stderr.read_line(&mut said).unwrap(), 0, "no page was told: {said}");
            page = said[start..].strip_prefix("  http").map(|page| format!("http{}", page.trim_end()));
        }
        Self { process, stderr, said, page: page.unwrap() }
    }

    #[track_caller]
    fn end(mut self) -> Run {
        self.stderr.read_to_string(&mut self.said).unwrap();
        finished(self.process, self.said)
    }
}

/// What became of a run. Whatever it was, no secret was told.
#[track_caller]
fn finished(process: Child, said: String) -> Run {
    let output = process.wait_with_output().unwrap();
    let run = Run {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: said + &String::from_utf8(output.stderr).unwrap(),
    };
    assert!(!run.stdout.contains(SECRET) && !run.stderr.contains(SECRET), "{run:?}");
    assert!(!run.stdout.contains('\u{1b}') && !run.stderr.contains('\u{1b}'), "{run:?}");
    run
}

#[test]
fn a_login_is_used_by_later_commands_refreshed_and_forgotten() {
    for runtime in RUNTIMES {
        let (home, vault) = (Home::new(), Authority::start());
        let (url, on) = (vault.url.as_str(), ["--runtime", runtime]);
        let run = |words: &[&str]| home.run(&[words, &on].concat());

        let refused = run(&["list", url]).expect(3);
        let advice = format!("windlass: {url}: the server wants a login: log in with `windlass login {url}`, or ");
        assert!(refused.stderr.starts_with(&advice), "{refused:?}");
        let refused = run(&["list", "--allow-local", "--allow-auth-host=a.example", url]).expect(3);
        let advice = format!("`windlass login --allow-local --allow-auth-host a.example {url}`");
        assert!(refused.stderr.contains(&advice), "{refused:?}");
        assert_eq!(vault.used(), [""; 0], "nobody is asked for authorization but by a login");

        let logged_in = home.log_in(&[&[url][..], &on].concat()).expect(0);
        assert!(logged_in.stdout.starts_with(&format!("logged in to {url}: vault 1, ")), "{logged_in:?}");
        assert!(logged_in.stdout.contains("scopes  mcp\n"), "{logged_in:?}");
        assert!(logged_in.stdout.contains("minutes), and refreshed by itself\n"), "{logged_in:?}");
        assert!(vault.used().ends_with(&["authorize".into(), "token authorization_code".into()]));

        assert_eq!(run(&["call", "open", url]).expect(0).stdout, "it is open\n", "{runtime}");
        assert_eq!(vault.used(), [""; 0]);

        // It is over before its time, and the server says so.
        vault.expire_tokens();
        assert_eq!(run(&["call", "open", url, "--stored-auth-only"]).expect(0).stdout, "it is open\n", "{runtime}");
        assert_eq!(vault.used().last().unwrap(), "token refresh_token");

        // It is over in its time, and nobody has to say so.
        vault.state().expires_in = 0;
        vault.expire_tokens();
        run(&["ping", url]).expect(0);
        let status = home.run(&["auth", "status", url]).expect(0);
        assert!(status.stdout.contains("expired since ") && status.stdout.contains("by itself"), "{status:?}");
        vault.used();
        vault.state().expires_in = 3600;
        run(&["ping", url]).expect(0);
        assert_eq!(vault.used(), ["token refresh_token"]);

        // Credentials of one's own are all that is shown.
        run(&["ping", url, "--header", "authorization: Bearer x"]).expect(3);
        assert_eq!(vault.used(), [""; 0]);
        run(&["ping", url, "--header", "Authorization: Bearer x", "--stored-auth-only"]).expect(1);

        let gone = home.run(&["logout", url]).expect(0);
        assert!(gone.stdout.starts_with(&format!("forgotten: {url}\n")), "{gone:?}");
        assert_eq!(home.run(&["logout", url]).expect(0).stdout, format!("nothing was stored for {url}\n"));
        run(&["list", url]).expect(3);
    }
}

#[test]
fn what_is_revoked_is_told_and_never_begins_a_login() {
    for runtime in RUNTIMES {
        let (home, vault) = (Home::new(), Authority::start());
        home.log_in(&[&vault.url]).expect(0);
        vault.revoke_everything();
        vault.used();
        for option in [&[][..], &["--stored-auth-only"]] {
            let words = [&["list", "--json", &vault.url, "--runtime", runtime], option].concat();
            let error = home.run(&words).expect(3).json_error();
            assert_eq!((&error["kind"], &error["exitCode"]), (&json!("authorization"), &json!(3)));
            assert!(error["message"].as_str().unwrap().contains("windlass login"), "{error}");
        }
        let used = vault.used();
        assert!(!used.iter().any(|used| used == "register" || used == "authorize"), "{used:?}");
    }
}

#[test]
fn a_login_asks_anew_and_takes_nothing_away_until_it_is_done() {
    let (home, vault) = (Home::new(), Authority::start());
    home.log_in(&[&vault.url]).expect(0);
    // It comes to nothing, and what was good stays so.
    vault.state().denial = Some(("access_denied".into(), "\u{1b}]0;owned\u{7}\u{202e}no".into()));
    let denied = home.log_in(&[&vault.url]).expect(3);
    assert!(denied.stderr.contains("the login was refused: access_denied"), "{denied:?}");
    assert!(denied.stderr.contains(r"\u{1b}]0;owned\u{7}\u{202e}no"), "{denied:?}");
    home.run(&["list", &vault.url]).expect(0);
    // More is wanted than was granted: another login asks for it.
    vault.state().denial = None;
    vault.state().scope = "admin";
    let run = home.run(&["list", &vault.url]).expect(3);
    let advice = format!("it needs `admin`; log in with `windlass login --scope 'mcp admin' {}`\n", vault.url);
    assert!(run.stderr.ends_with(&advice), "{run:?}");
    let run = home.log_in(&["--json", "--scope", "mcp", "--scope=admin", &vault.url]).expect(0);
    assert_eq!(run.json()["scopes"], json!(["mcp", "admin"]));
    assert_eq!((&run.json()["loggedIn"], &run.json()["canRefresh"]), (&json!(true), &json!(true)));
    home.run(&["list", &vault.url]).expect(0);
}

#[test]
fn a_server_that_wants_no_login_is_told_of() {
    for runtime in RUNTIMES {
        let (home, open) = (Home::new(), Authority::start());
        open.state().is_protected = false;
        let run = home.run(&["login", &open.url, "--runtime", runtime]).expect(0);
        assert!(run.stdout.starts_with(&format!("{} wants no login: vault 1, ", open.url)), "{run:?}");
        let run = home.run(&["login", "--json", &open.url, "--runtime", runtime]).expect(0);
        assert_eq!(run.json()["loggedIn"], false);
        assert_eq!(open.used(), [""; 0]);
        assert_eq!(home.run(&["auth", "status", "--json"]).expect(0).json()["servers"], json!([]));
    }
}

#[test]
fn status_shows_no_secret() {
    let (home, vault, other) = (Home::new(), Authority::start(), Authority::start());
    let empty = home.run(&["auth", "status"]).expect(0);
    assert!(empty.stdout.starts_with("nothing is stored in "), "{empty:?}");
    home.run(&["auth", "status", &vault.url]).expect(3);

    home.log_in(&[&vault.url]).expect(0);
    home.run(&["login", "--print-url", "--allow-local", &other.url]).expect(0);
    let plain = home.run(&["auth", "status"]).expect(0).stdout;
    for part in [&vault.url, &vault.issuer, "scopes  mcp\n", "good until ", "by itself", &other.url, "waiting "] {
        assert!(plain.contains(part), "{part}: {plain}");
    }
    let json = home.run(&["auth", "status", "--json"]).expect(0).json();
    let of =
        |url: &str| json["servers"].as_array().unwrap().iter().find(|entry| entry["server"] == url).unwrap().clone();
    let known = of(&vault.url);
    assert_eq!(
        (&known["token"], &known["canRefresh"], &known["scopes"]),
        (&json!("good"), &json!(true), &json!(["mcp"]))
    );
    assert_eq!((&known["issuer"], &known["clientId"]), (&json!(vault.issuer), &json!("client-0")));
    let waiting = of(&other.url);
    assert_eq!((&waiting["token"], &waiting["pendingLogins"][0]["issuer"]), (&json!("none"), &json!(other.issuer)));
    home.run(&["auth", "status", "--json", &vault.url]).expect(0);
    let error = home.run(&["auth", "status", "--json", &other.url]).expect(3).json_error();
    assert!(error["message"].as_str().unwrap().contains("windlass login"), "{error}");

    // A file that is damaged is named, by all who need it, with what to do.
    let folder = home.0.join("state/windlass/auth");
    for file in std::fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path()) {
        if file.extension().is_some_and(|ending| ending == "json") {
            std::fs::write(file, "{\"hush-").unwrap();
        }
    }
    let damaged = home.run(&["auth", "status"]).expect(0).stdout;
    assert!(damaged.contains("remove it, or forget the server, and log in again"), "{damaged}");
    assert_eq!(home.run(&["auth", "status", "--json"]).expect(0).json()["unreadable"].as_array().unwrap().len(), 2);
    assert!(home.run(&["list", &vault.url]).expect(3).stderr.contains("it is damaged"));
    let left = home.run(&["logout", "--all"]).expect(3);
    assert!(left.stderr.contains("2 files are left"), "{left:?}");
    for url in [&vault.url, &other.url] {
        home.run(&["logout", url]).expect(0);
    }
    home.log_in(&[&vault.url]).expect(0);
    let gone = home.run(&["logout", "--all", "--json"]).expect(0).json();
    assert_eq!(gone["forgotten"], json!([vault.url]));
    assert_eq!(home.run(&["logout", "--all"]).expect(0).stdout, "nothing was stored\n");
}

#[test]
fn a_device_is_waited_for() {
    for (at, runtime) in RUNTIMES.into_iter().enumerate() {
        let (home, vault) = (Home::new(), Authority::start());
        // Also one that is known, whose password goes on being needed.
        let known = ["--client-id", KNOWN_CLIENT, "--client-secret-from", "PASSWORD"];
        let client = if at % 2 == 0 { &known[..] } else { &[] };
        let words = [&["login", "--device", "--allow-local", &vault.url, "--runtime", runtime], client].concat();
        let run = home.run(&words).expect(0);
        let page = format!("{}/activate", vault.issuer);
        for part in [&format!("  {page}\n"), "  WDJB-MJHT\n", &format!("  {page}?user_code=WDJB-MJHT\n")] {
            assert!(run.stderr.contains(part), "{part}: {run:?}");
        }
        assert!(run.stdout.starts_with("logged in to "), "{run:?}");
        vault.expire_tokens();
        home.run(&["list", &vault.url, "--runtime", runtime]).expect(0);
        assert_eq!(vault.used().last().unwrap(), "token refresh_token");
    }
    // Whoever has logged in by a browser is another client here.
    let (home, vault) = (Home::new(), Authority::start());
    home.log_in(&[&vault.url]).expect(0);
    home.run(&["login", "--device", "--allow-local", &vault.url]).expect(0);

    let (home, without) = (Home::new(), Authority::start());
    without.state().metadata.insert("device_authorization_endpoint", json!(null));
    let run = home.run(&["login", "--device", "--allow-local", &without.url]).expect(3);
    assert!(run.stderr.contains("log in without --device"), "{run:?}");
}

#[test]
fn a_login_can_be_finished_by_a_later_process() {
    for runtime in RUNTIMES {
        let (home, vault) = (Home::new(), Authority::start());
        let on = ["--runtime", runtime, "--allow-local", &vault.url];
        let print_url = |words: &[&str]| home.run(&[&["login", "--print-url"], words, &on].concat()).expect(0);
        let finish = |address: &str| home.run(&[&["login", "--finish", address][..], &on].concat());

        let printed = print_url(&[]);
        let command = format!("  windlass login --finish 'ADDRESS' --allow-local {}\n", vault.url);
        assert!(printed.stderr.ends_with(&command), "{printed:?}");
        assert!(printed.stdout.starts_with(&vault.issuer) && printed.stdout.lines().count() == 1, "{printed:?}");
        let back = get(printed.stdout.trim_end()).0.unwrap();
        assert!(back.starts_with("http://127.0.0.1:28976/callback?code="), "{back}");
        let other = finish(&back.replace("state=%", "state=x%")).expect(3);
        assert!(other.stderr.contains("--print-url"), "{other:?}");
        let done = finish(&back).expect(0);
        assert!(done.stdout.starts_with("logged in to "), "{done:?}");
        home.run(&["list", &vault.url]).expect(0);
        // Once is enough.
        finish(&back).expect(3);
        home.run(&["list", &vault.url]).expect(0);

        // Where the client is known with another address, and what comes back is on standard input.
        let known = ["--client-id", KNOWN_CLIENT, "--client-secret-from", "PASSWORD", "--json"];
        let printed = print_url(&[&known[..], &["--redirect-uri", "https://app.example/back"]].concat());
        let back = get(printed.json()["loginUrl"].as_str().unwrap()).0.unwrap();
        assert!(back.starts_with("https://app.example/back?"), "{back}");
        let file = home.0.join("address");
        std::fs::write(&file, format!("{back}\n")).unwrap();
        let mut command = home.command(&[&["login", "--finish", "-"][..], &on].concat());
        let process = command.stdin(std::fs::File::open(file).unwrap()).spawn().unwrap();
        finished(process, String::new()).expect(0);
        vault.expire_tokens();
        home.run(&["list", &vault.url]).expect(0);
    }
    let home = Home::new();
    let run = home.run(&["login", "--finish", "hush-nonsense", "http://127.0.0.1:1/mcp"]).expect(1);
    assert!(run.stderr.contains("single quotes"), "{run:?}");
}

#[test]
fn a_client_logs_in_by_itself() {
    for runtime in RUNTIMES {
        let (home, vault) = (Home::new(), Authority::start());
        let words = ["login", "--client-credentials", "--client-id", KNOWN_CLIENT, "--allow-local", &vault.url];
        let on = ["--runtime", runtime, "--client-secret-from"];
        let run = home.run(&[&words[..], &on, &["PASSWORD"]].concat()).expect(0);
        assert!(run.stdout.contains("; then log in again\n"), "{run:?}");
        home.run(&["list", &vault.url, "--runtime", runtime]).expect(0);
        vault.expire_tokens();
        home.run(&["list", &vault.url, "--runtime", runtime]).expect(3);
        home.run(&[&words[..], &on, &["PASSWORD"]].concat()).expect(0);
        home.run(&["list", &vault.url, "--runtime", runtime]).expect(0);
        let run = home.run(&[&words[..], &on, &["NO_SUCH_VARIABLE"]].concat()).expect(1);
        assert!(run.stderr.contains("NO_SUCH_VARIABLE is not set"), "{run:?}");
    }
}

#[test]
fn logins_at_once_do_not_disturb_each_other() {
    let (home, vault, other) = (Home::new(), Authority::start(), Authority::start());
    // Two to one server, and one to another.
    let begun = [&vault, &other, &vault].map(|server| (server, home.begin(&[&server.url])));
    // A browser that shows something else in between ends none of them.
    for (_, login) in &begun {
        let asked = authority::http::form(login.page.split_once('?').unwrap().1);
        get(&format!("{}?code=x&state=y", asked["redirect_uri"]));
    }
    for (server, login) in begun.into_iter().rev() {
        get(&get(&login.page).0.unwrap());
        let run = login.end().expect(0);
        assert!(run.stdout.starts_with(&format!("logged in to {}", server.url)), "{run:?}");
    }
    for server in [&vault, &other] {
        home.run(&["list", &server.url]).expect(0);
    }
}

#[test]
fn a_signal_ends_a_login_and_leaves_nothing_behind() {
    for runtime in RUNTIMES {
        let (home, vault) = (Home::new(), Authority::start());
        let begun = home.begin(&[&vault.url, "--runtime", runtime]);
        let asked = authority::http::form(begun.page.split_once('?').unwrap().1);
        assert!(Command::new("kill").args(["-INT", &begun.process.id().to_string()]).status().unwrap().success());
        let run = begun.end().expect(130);
        assert!(run.stderr.contains("windlass: interrupted"), "{run:?}");
        let authority = asked["redirect_uri"].trim_start_matches("http://").split('/').next().unwrap();
        assert!(std::net::TcpStream::connect(authority).is_err(), "somebody still listens");
        assert_eq!(home.run(&["auth", "status", "--json"]).expect(0).json()["servers"], json!([]), "{runtime}");
    }
}

#[test]
fn nobody_is_waited_for_longer_than_was_said() {
    for runtime in RUNTIMES {
        let (home, vault) = (Home::new(), Authority::start());
        let run = home.run(&["login", "--allow-local", "--timeout", "0.5", "--json", &vault.url, "--runtime", runtime]);
        let error = run.expect(3).json_error();
        assert!(error["message"].as_str().unwrap().contains("--timeout SECONDS waits longer"), "{error}");
        assert_eq!(home.run(&["auth", "status", "--json"]).expect(0).json()["servers"], json!([]), "{runtime}");
    }
}

#[test]
fn a_browser_is_asked_with_the_page_and_nothing_else() {
    use std::os::unix::fs::PermissionsExt;

    let (home, vault) = (Home::new(), Authority::start());
    let (tools, opened) = (home.0.join("tools"), home.0.join("opened"));
    std::fs::create_dir(&tools).unwrap();
    for name in ["xdg-open", "open"] {
        let script = tools.join(name);
        std::fs::write(&script, format!("#!/bin/sh\nprintf '%s\\n' \"$#\" \"$@\" > '{}'\n", opened.display())).unwrap();
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let start = |words: &[&str]| {
        let mut command = home.command(&[&["login", "--allow-local", &vault.url], words].concat());
        let path = std::env::join_paths(
            std::iter::once(tools.clone()).chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
        );
        command.env("PATH", path.unwrap()).env("DISPLAY", ":none");
        Begun::start(command)
    };
    let login = start(&["--no-browser"]);
    get(&get(&login.page).0.unwrap());
    let run = login.end().expect(0);
    assert!(!opened.exists() && !run.stderr.contains("no browser was opened"), "{run:?}");
    if !cfg!(target_os = "macos") {
        let run = home.log_in(&[&vault.url]).expect(0);
        assert!(run.stderr.contains("no browser was opened: there is no display"), "{run:?}");
    }

    let login = start(&[]);
    let page = login.page.clone();
    get(&get(&page).0.unwrap());
    let run = login.end().expect(0);
    assert!(run.stderr.contains("a browser was asked to open it"), "{run:?}");
    let mut shown = String::new();
    // It is another process, which nobody waits for.
    while shown.lines().count() < 2 {
        shown = std::fs::read_to_string(&opened).unwrap_or_default();
        std::thread::yield_now();
    }
    assert_eq!(shown, format!("1\n{page}\n"));
}

#[test]
fn a_hostile_authorization_server_gets_no_user() {
    let (home, vault) = (Home::new(), Authority::start());
    for (at, page) in [
        "file:///etc/passwd",
        "javascript:alert(1)",
        "--version",
        "-https://h/",
        "https://user@h/",
        "http://evil.example/",
        "http://127.0.0.1:1/`x`",
        "http://127.0.0.1:1/\u{1b}[2J",
        "",
    ]
    .into_iter()
    .enumerate()
    {
        vault.state().metadata.insert("authorization_endpoint", page.into());
        let runtime = RUNTIMES[at % RUNTIMES.len()];
        let run = home.run(&["login", "--allow-local", &vault.url, "--runtime", runtime]).expect(3);
        assert!(run.stdout.is_empty() && !run.stderr.contains("to log in to"), "{page}: {run:?}");
    }
    assert_eq!(home.run(&["auth", "status", "--json"]).expect(0).json()["servers"], json!([]));

    // What stands behind the page, and is never sent, is not shown either.
    let page = format!("{}/authorize#\u{1b}]0;owned\u{7}", vault.issuer);
    vault.state().metadata.insert("authorization_endpoint", page.into());
    let run = home.log_in(&[&vault.url]).expect(0);
    assert!(!run.stderr.contains("owned"), "{run:?}");

    // What it says in a refusal does not steer the terminal, for people or for programs.
    vault.state().metadata.insert("token_endpoint_auth_methods_supported", json!(["none"]));
    let wrong = ["--client-id", KNOWN_CLIENT, &vault.url];
    let run = home.log_in(&wrong).expect(3);
    assert!(run.stderr.contains(r"invalid_client (\u{1b}[2Jno)"), "{run:?}");
    let error = home.log_in(&[&wrong[..], &["--json"]].concat()).expect(3).json_error();
    assert!(error["message"].as_str().unwrap().contains("invalid_client (\u{1b}[2Jno)"), "{error}");
}

#[test]
fn only_what_is_public_is_reached_unless_it_was_said() {
    let (home, vault) = (Home::new(), Authority::start());
    let run = home.run(&["login", &vault.url]).expect(3);
    assert!(run.stderr.contains("--allow-local"), "{run:?}");
    assert_eq!(vault.used(), [""; 0]);
    // An endpoint elsewhere has to be named.
    let port = vault.issuer.rsplit(':').next().unwrap();
    vault.state().metadata.insert("token_endpoint", format!("http://localhost:{port}/token").into());
    let run = home.run(&["login", "--allow-local", &vault.url]).expect(3);
    assert!(run.stderr.contains("--allow-auth-host HOST"), "{run:?}");
    home.log_in(&["--allow-auth-host", "localhost", &vault.url]).expect(0);
    // From then on it is known.
    vault.state().expires_in = 0;
    vault.expire_tokens();
    home.run(&["list", &vault.url]).expect(0);
    home.run(&["list", &vault.url]).expect(0);

    vault.state().metadata.insert("registration_endpoint", json!(null));
    let run = home.run(&["login", "--allow-local", "--allow-auth-host", "localhost", &vault.url]).expect(3);
    assert!(run.stderr.contains("--client-id ID"), "{run:?}");
    let run = home.run(&["login", &vault.url, "--header", "Authorization: Bearer x"]).expect(1);
    assert!(run.stderr.contains("nothing to log in for"), "{run:?}");
}
