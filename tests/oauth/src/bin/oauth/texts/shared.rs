//! Two processes with one store: their token is refused to both at once, again and again; or both connect again and again,
//! each time with a token that is about to end.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use windlass_oauth_tests::provider::Log;
use windlass_oauth_tests::{Outcome, expect, expect_equal};

use super::adapter::auth::{FileStore, SharedStore};
use super::client::{config, connect, log, read, stored};
use crate::task::Task;
use crate::user::User;

/// How often, unless the case says so.
const ROUNDS: u32 = 200;

/// A process of ours: a server, or one that calls a tool whenever it is told to.
struct Process {
    child: Child,
    tell: ChildStdin,
    said: BufReader<ChildStdout>,
}

impl Process {
    fn start(arguments: &[&str]) -> Outcome<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        let mut child = command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (tell, said) = child.stdin.take().zip(child.stdout.take()).ok_or("the process has no streams")?;
        Ok(Self { child, tell, said: BufReader::new(said) })
    }

    /// Waits for a line. Nothing else happens in this process meanwhile.
    fn hear(&mut self) -> Outcome<String> {
        let mut line = String::new();
        self.said.read_line(&mut line)?;
        line.strip_suffix('\n').map(Into::into).ok_or_else(|| "a process has ended".into())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A server in a process of its own, a store with what a user was granted there, and two processes that use it.
struct Sharing {
    _server: Process,
    url: String,
    user: User,
    store: SharedStore,
    processes: [Process; 2],
}

// Each process has one client, or another one for every call, which takes tokens for old.
step!(share(task: &Task, clients: &str) -> Outcome<Sharing>, {
    let issuer = &task.provider.issuer;
    let mut server = Process::start(&[&task.runtime, "serve", issuer, "opaque/600"])?;
    let url = server.hear()?;
    let user = User::new()?;
    let store = SharedStore::from(FileStore::new(&task.folder));
    let client = wait!(connect(&url, config(&user), &store, Some(&user)))?;
    wait!(client.close());
    let folder = task.folder.to_str().ok_or("the folder has a strange name")?;
    let arguments = [&task.runtime, "refresher", issuer, &url, folder, clients];
    let processes = [Process::start(&arguments)?, Process::start(&arguments)?];
    Ok(Sharing { _server: server, url, user, store, processes })
});

fn rounds(task: &Task) -> Outcome<u32> {
    Ok(task.rest.first().map_or(Ok(ROUNDS), |rounds| rounds.parse())?)
}

impl Sharing {
    /// A credential is left, nobody had to log in again, and no token was shown twice.
    fn check(&self, task: &Task) -> Outcome<Log> {
        let log = log(&task.provider, &self.store, &self.url)?;
        expect(&format!("a credential is left: {log:?}"), stored(&self.store, &self.url)?.1.is_some())?;
        expect_equal("logins", &(self.user.asked(), log.codes), &(1, 1))?;
        expect_equal("refused, shown at most", &(log.refused, log.most_shown), &(0, 1))?;
        Ok(log)
    }
}

scene!(shared, |task| {
    let rounds = rounds(task)?;
    let mut sharing = wait!(share(task, "one"))?;
    let mut longest = Duration::ZERO;
    // The first time nothing is to be refreshed.
    for round in 0..=rounds {
        if round > 0 {
            let (known_as, tokens) = stored(&sharing.store, &sharing.url)?;
            expect(&format!("round {round}: a credential is stored"), tokens.is_some())?;
            task.provider.end_access_tokens(&known_as)?;
        }
        let began = Instant::now();
        for process in &mut sharing.processes {
            process.tell.write_all(b"call\n")?;
        }
        for process in &mut sharing.processes {
            let said = process.hear().map_err(|error| format!("round {round}: {error}"))?;
            expect_equal(&format!("round {round}"), &&*said, &"called")?;
        }
        longest = longest.max(began.elapsed());
    }
    let log = sharing.check(task)?;
    expect_equal("refreshes", &log.refreshes, &rounds)?;
    println!(
        "refused to two processes at once, {rounds} times: {} refreshes, no token shown twice, none refused, one login; at \
         most {} ms",
        log.refreshes,
        longest.as_millis()
    );
    Ok(())
});

scene!(storm, |task| {
    let rounds = rounds(task)?;
    let mut sharing = wait!(share(task, "many"))?;
    let began = Instant::now();
    for process in &mut sharing.processes {
        process.tell.write_all("call\n".repeat(rounds as usize).as_bytes())?;
    }
    for process in &mut sharing.processes {
        for call in 0..rounds {
            let said = process.hear().map_err(|error| format!("call {call}: {error}"))?;
            expect_equal(&format!("call {call}"), &&*said, &"called")?;
        }
    }
    let log = sharing.check(task)?;
    // Whoever finds that the other one has just done it takes what there is.
    expect(&format!("it was refreshed for each: {log:?}"), (rounds..=2 * rounds).contains(&log.refreshes))?;
    println!(
        "two processes with another client for every call: {} refreshes in {} ms, no token shown twice, none refused, one \
         login",
        log.refreshes,
        began.elapsed().as_millis()
    );
    Ok(())
});

// Nobody logs in here.
scene!(refresher, |task| {
    let [url, folder, clients] = &task.rest[..] else {
        return Err("usage: oauth RUNTIME refresher ISSUER URL FOLDER CLIENTS".into());
    };
    let store = SharedStore::from(FileStore::new(folder));
    let user = User::new()?;
    let mut config = config(&user);
    let client = match clients.as_str() {
        "one" => Some(wait!(connect(url, config.clone(), &store, None))?),
        _ => None,
    };
    config.early = Duration::from_secs(3600);
    for line in std::io::stdin().lines() {
        line?;
        match &client {
            Some(client) => drop(wait!(read(client))?),
            None => {
                let client = wait!(connect(url, config.clone(), &store, None))?;
                wait!(read(&client))?;
                wait!(client.close());
            }
        }
        println!("called");
        std::io::stdout().flush()?;
    }
    if let Some(client) = client {
        wait!(client.close());
    }
    Ok(())
});
