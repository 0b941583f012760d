//! Several processes at one record: this binary is started again, and told by its environment what to do.

use std::env;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::json;
use windlass::auth::{AuthRecord, AuthStore, Swap};
use windlass_tests::watchdog::within_deadline;

use super::scratch::Scratch;
use crate::auth::FileStore;
use crate::auth::file_name::file_name;
use crate::auth::folder::Folder;

const SERVER: &str = "https://mcp.example.com/mcp";
const ISSUER: &str = "https://issuer.example";
const PROCESSES: u64 = 4;
const INCREMENTS: u64 = 50;

const WHAT: &str = "WINDLASS_TEST_CHILD_DOES";
const FOLDER: &str = "WINDLASS_TEST_CHILD_FOLDER";
/// Behind this a child says how far it is.
const MARK: &str = "child: ";

/// A child that does not outlive its test.
struct Started(Child);

impl Started {
    /// Waits until it has said something so often.
    fn heard(&mut self, times: usize) {
        let lines = BufReader::new(self.0.stdout.as_mut().unwrap()).lines();
        // The runner of tests writes in front of what the test writes, without an end of line.
        let said = lines.map(Result::unwrap).filter(|line| line.contains(MARK)).take(times).count();
        assert_eq!(said, times, "the child ended early");
    }

    /// Waits for it to have done what it was told to.
    fn finished(mut self) {
        let mut said = String::new();
        self.0.stdout.take().unwrap().read_to_string(&mut said).unwrap();
        assert!(self.0.wait().unwrap().success(), "{said}");
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(what: &str, folder: &Path) -> Started {
    let child = Command::new(env::current_exe().unwrap())
        .args(["--exact", "auth::tests::processes::child", "--nocapture"])
        .env(WHAT, what)
        .env(FOLDER, folder)
        .stdout(Stdio::piped())
        .spawn();
    Started(child.unwrap())
}

fn counted(record: &AuthRecord) -> u64 {
    record.issuers[ISSUER].tokens.as_ref().unwrap().expires_at.unwrap()
}

/// A record that takes more than one page, so that a torn one would be seen.
fn counting(count: u64) -> AuthRecord {
    serde_json::from_value(json!({ "issuers": { ISSUER: { "tokens": {
        "accessToken": "x".repeat(10_000), "tokenType": "Bearer", "expiresAt": count, "tokenEndpoint": ISSUER,
    } } } }))
    .unwrap()
}

/// Adds one, as often as somebody else is faster.
fn increment(store: &mut FileStore) {
    let mut current = store.load(SERVER).unwrap();
    loop {
        let next = current.as_ref().map_or(1, |stored| counted(&stored.record) + 1);
        match store.swap(SERVER, current.map(|stored| stored.version), Some(&counting(next))).unwrap() {
            Swap::Done(_) => return,
            Swap::Conflict(other) => current = other,
        }
    }
}

/// No test, but what children do. Without being told to, it does nothing.
#[test]
fn child() {
    let (Ok(what), Some(folder)) = (env::var(WHAT), env::var_os(FOLDER)) else { return };
    let mut store = FileStore::new(&folder);
    match &*what {
        "increments" => (0..INCREMENTS).for_each(|_| increment(&mut store)),
        "increments until it is killed" => loop {
            increment(&mut store);
            println!("{MARK}incremented");
        },
        "holds the lock" => {
            let folder = Folder::open(Path::new(&folder)).unwrap().unwrap();
            let _lock = folder.lock(&file_name(SERVER), Duration::ZERO).unwrap();
            println!("{MARK}locked");
            loop {
                std::thread::park();
            }
        }
        other => panic!("nobody knows how to do {other:?}"),
    }
}

#[test]
fn no_increment_of_many_processes_is_lost() {
    within_deadline(|| {
        let folder = Scratch::new();
        let children: Vec<_> = (0..PROCESSES).map(|_| start("increments", &folder)).collect();
        children.into_iter().for_each(Started::finished);
        let mut store = FileStore::new(&*folder);
        assert_eq!(counted(&store.load(SERVER).unwrap().unwrap().record), PROCESSES * INCREMENTS);
        assert_eq!(store.servers().unwrap().unreadable, []);
    });
}

#[test]
fn a_process_that_is_killed_leaves_a_store_that_can_be_used() {
    within_deadline(|| {
        let folder = Scratch::new();
        let mut store = FileStore::new(&*folder);
        let mut least = 0;
        for round in 1..=12 {
            let mut child = start("increments until it is killed", &folder);
            child.heard(round);
            // By SIGKILL.
            drop(child);
            least += round as u64;
            assert!(counted(&store.load(SERVER).unwrap().unwrap().record) >= least);
            increment(&mut store);
            least += 1;
        }
        assert_eq!(store.servers().unwrap().unreadable, []);
    });
}

#[test]
fn a_lock_is_free_when_its_holder_is_killed() {
    within_deadline(|| {
        let folder = Scratch::new();
        let mut store = FileStore::new(&*folder);
        increment(&mut store);
        let mut child = start("holds the lock", &folder);
        child.heard(1);
        let error = store.clone().lock_timeout(Duration::ZERO).forget(SERVER).unwrap_err().to_string();
        assert!(error.contains(&format!("process {} may hold it", child.0.id())), "{error}");

        drop(child);
        let mut impatient = store.clone().lock_timeout(Duration::ZERO);
        increment(&mut impatient);
        assert_eq!(counted(&store.load(SERVER).unwrap().unwrap().record), 2);
    });
}
