//! What is in a folder, who may read it, and what is refused.

use std::fs::{self, OpenOptions, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, lchown, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;
use windlass::auth::{AuthRecord, AuthStore, MemoryStore, StoreError, Swap};

use super::scratch::Scratch;
use crate::auth::envelope::LONGEST;
use crate::auth::file_name::file_name;
use crate::auth::folder::Folder;
use crate::auth::{FileStore, SharedStore, check_store};

const SERVER: &str = "https://mcp.example.com/mcp";
/// Nobody.
const SOMEBODY_ELSE: u32 = 65534;

fn record() -> AuthRecord {
    serde_json::from_value(json!({ "issuers": { "https://issuer.example": { "tokens": {
        "accessToken": "hunter2", "tokenType": "Bearer", "tokenEndpoint": "https://issuer.example/token",
    } } } }))
    .unwrap()
}

/// A store with one record in it, that record's file, and its version.
fn filled(folder: &Path) -> (FileStore, PathBuf, u64) {
    let mut store = FileStore::new(folder);
    let Ok(Swap::Done(version)) = store.swap(SERVER, None, Some(&record())) else { panic!() };
    (store, folder.join(format!("{}.json", file_name(SERVER))), version)
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// All that a store does with a record.
fn refusals(store: &mut FileStore) -> [StoreError; 2] {
    [store.load(SERVER).unwrap_err(), store.swap(SERVER, None, Some(&record())).unwrap_err()]
}

#[track_caller]
fn says(error: &StoreError, words: &[&str]) {
    let text = error.to_string();
    for word in words {
        assert!(text.contains(word), "{text:?} does not say {word:?}");
    }
    assert!(!text.contains("hunter2"), "{text:?} tells a secret");
}

#[test]
fn files_keep_the_contract() {
    let folder = Scratch::new();
    check_store(|| Box::new(FileStore::new(&*folder)));
    assert_eq!(FileStore::new(&*folder).servers().unwrap().servers, [""; 0]);
    let left = fs::read_dir(&*folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert!(left.into_iter().all(|name| name.ends_with(".lock")), "nothing is left but locks");
}

#[test]
fn memory_keeps_the_contract() {
    let store = SharedStore::from(MemoryStore::new());
    check_store(|| Box::new(store.clone()));
}

#[test]
fn shared_files_keep_the_contract() {
    let folder = Scratch::new();
    let store = SharedStore::from(FileStore::new(&*folder));
    check_store(|| Box::new(store.clone()));
    check_store(|| Box::new(SharedStore::from(FileStore::new(&*folder))));
}

#[test]
fn nothing_is_made_to_find_out_that_there_is_nothing() {
    let folder = Scratch::new();
    let mut store = FileStore::new(&*folder);
    assert_eq!(store.load(SERVER), Ok(None));
    assert_eq!(store.forget(SERVER), Ok(false));
    assert_eq!(store.servers().unwrap().servers, [""; 0]);
    assert!(!folder.exists());
}

#[test]
fn folders_and_files_are_private() {
    let parent = Scratch::new();
    let folder = parent.join("deep/in/it");
    let (mut store, file, version) = filled(&folder);
    store.swap(SERVER, Some(version), Some(&record())).unwrap();
    for folder in [&folder, &parent.join("deep"), &*parent] {
        assert_eq!(mode(folder), 0o700);
    }
    assert_eq!(mode(&file), 0o600);
    assert_eq!(mode(&file.with_extension("lock")), 0o600);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 2, "nothing else is left");
    assert!(!format!("{store:?} {:?}", store.load(SERVER)).contains("hunter2"));
}

#[test]
fn servers_are_listed() {
    let folder = Scratch::new();
    let (mut store, file, _) = filled(&folder);
    store.swap("https://a.example/", None, Some(&record())).unwrap();
    let kept = store.servers().unwrap();
    assert_eq!(kept.servers, ["https://a.example/", SERVER]);
    assert_eq!(kept.unreadable, []);

    // One that cannot be read does not hide the others.
    fs::write(&file, "hunter2").unwrap();
    let kept = store.servers().unwrap();
    assert_eq!(kept.servers, ["https://a.example/"]);
    let [error] = &kept.unreadable[..] else { panic!("{kept:?}") };
    says(error, &[file.to_str().unwrap(), "damaged", "forget"]);
}

#[test]
fn what_is_damaged_is_kept_until_it_is_forgotten() {
    let folder = Scratch::new();
    let (mut store, file, version) = filled(&folder);
    let whole = fs::read(&file).unwrap();
    for damaged in [&whole[..whole.len() / 2], b"", b"{\"format\":1}", &[0; 512]] {
        fs::write(&file, damaged).unwrap();
        for error in refusals(&mut store) {
            says(&error, &[file.to_str().unwrap(), "damaged", "forget the server"]);
        }
        store.swap(SERVER, Some(version), None).unwrap_err();
        assert_eq!(fs::read(&file).unwrap(), damaged, "it is not overwritten");
    }
    assert_eq!(store.forget(SERVER), Ok(true));
    assert_eq!(store.forget(SERVER), Ok(false));
    assert_eq!(store.load(SERVER), Ok(None));
    let Ok(Swap::Done(next)) = store.swap(SERVER, None, Some(&record())) else { panic!() };
    assert!(next > version);
}

#[test]
fn a_file_that_is_too_long_is_not_read() {
    let folder = Scratch::new();
    let (mut store, file, _) = filled(&folder);
    OpenOptions::new().write(true).open(&file).unwrap().set_len(LONGEST as u64 + 1).unwrap();
    refusals(&mut store).iter().for_each(|error| says(error, &["damaged", "bytes"]));
}

#[test]
fn another_servers_file_is_not_taken_for_ours() {
    let folder = Scratch::new();
    let (mut store, file, _) = filled(&folder);
    fs::rename(&file, folder.join(format!("{}.json", file_name("https://evil.example/")))).unwrap();
    says(&store.load("https://evil.example/").unwrap_err(), &["another server"]);
    assert_eq!(store.load(SERVER), Ok(None));
}

#[test]
fn versions_go_on_when_the_folder_was_emptied_by_hand() {
    let folder = Scratch::new();
    let (mut store, _, version) = filled(&folder);
    fs::remove_dir_all(&*folder).unwrap();
    assert_eq!(store.swap(SERVER, Some(version), Some(&record())), Ok(Swap::Conflict(None)));
    let (_, _, next) = filled(&folder);
    assert!(next > version);
}

#[test]
fn what_others_can_write_is_refused() {
    let folder = Scratch::new();
    let (mut store, file, _) = filled(&folder);
    for shared in [0o770, 0o707, 0o777] {
        set_mode(&folder, shared);
        refusals(&mut store).iter().for_each(|error| says(error, &["by others", "chmod 700"]));
        store.forget(SERVER).unwrap_err();
        store.servers().unwrap_err();
    }
    set_mode(&folder, 0o755);
    store.load(SERVER).unwrap().unwrap();
    for shared in [0o620, 0o602, 0o604, 0o640] {
        set_mode(&file, shared);
        refusals(&mut store).iter().for_each(|error| says(error, &["by others", "chmod 600"]));
    }
    assert_eq!(store.forget(SERVER), Ok(true), "it is removed all the same");
    set_mode(&file.with_extension("lock"), 0o666);
    says(&store.swap(SERVER, None, None).unwrap_err(), &["by others", ".lock"]);
}

#[test]
fn links_are_followed_to_a_folder_of_ours_alone() {
    let (folder, link) = (Scratch::new(), Scratch::new());
    let (_, file, _) = filled(&folder);
    symlink(&*folder, &*link).unwrap();
    let mut store = FileStore::new(&*link);
    store.load(SERVER).unwrap().unwrap();
    if is_root() {
        lchown(&*link, Some(SOMEBODY_ELSE), None).unwrap();
        refusals(&mut store).iter().for_each(|error| says(error, &["link", "somebody else"]));
    }
    fs::remove_file(&*link).unwrap();

    let mut store = FileStore::new(&*folder);
    let elsewhere = folder.join("elsewhere");
    fs::rename(&file, &elsewhere).unwrap();
    symlink(&elsewhere, &file).unwrap();
    refusals(&mut store).iter().for_each(|error| says(error, &["is a link"]));
    assert_eq!(store.forget(SERVER), Ok(true));
    assert!(elsewhere.exists(), "the link is removed, not what it leads to");
}

#[test]
fn what_belongs_to_somebody_else_is_refused() {
    let folder = Scratch::new();
    let (mut store, file, _) = filled(&folder);
    if !is_root() {
        return;
    }
    chown(&file, Some(SOMEBODY_ELSE), None).unwrap();
    refusals(&mut store).iter().for_each(|error| says(error, &["somebody else", "65534"]));
    chown(&*folder, Some(SOMEBODY_ELSE), None).unwrap();
    refusals(&mut store).iter().for_each(|error| says(error, &["somebody else", "another folder"]));
}

#[test]
fn whatever_is_no_file_is_refused_at_once() {
    let folder = Scratch::new();
    let (mut store, file, _) = filled(&folder);
    fs::remove_file(&file).unwrap();
    let pipe = std::process::Command::new("mkfifo").args(["-m", "600"]).arg(&file).status().unwrap();
    assert!(pipe.success());
    refusals(&mut store).iter().for_each(|error| says(error, &["is no file"]));
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    refusals(&mut store).iter().for_each(|error| says(error, &["is no file"]));

    let mut inside_a_file = FileStore::new(file.with_extension("lock"));
    refusals(&mut inside_a_file).iter().for_each(|error| says(error, &["is no folder"]));
}

#[test]
fn what_a_dead_process_began_to_write_is_replaced() {
    let folder = Scratch::new();
    let (mut store, file, version) = filled(&folder);
    let begun = PathBuf::from(format!("{}.new", file.display()));
    fs::write(&begun, "{\"format\":1,").unwrap();
    set_mode(&begun, 0o644);
    store.swap(SERVER, Some(version), Some(&record())).unwrap();
    assert!(!begun.exists());
    assert_eq!(mode(&file), 0o600);
    assert_eq!(store.servers().unwrap().unreadable, []);
}

#[test]
fn a_lock_that_is_held_is_waited_for_and_named() {
    let folder = Scratch::new();
    let (store, _, version) = filled(&folder);
    let mut store = store.lock_timeout(Duration::from_millis(30));
    let opened = Folder::open(&folder).unwrap().unwrap();
    let held = opened.lock(&file_name(SERVER), Duration::ZERO).unwrap();
    let error = store.swap(SERVER, Some(version), None).unwrap_err();
    says(&error, &["still locked after 30ms", &format!("process {} may hold it", std::process::id())]);
    says(&store.forget(SERVER).unwrap_err(), &["still locked"]);
    // Readers and other servers need no lock.
    store.load(SERVER).unwrap().unwrap();
    store.swap("https://a.example/", None, Some(&record())).unwrap();

    drop(held);
    assert!(matches!(store.swap(SERVER, Some(version), None), Ok(Swap::Done(_))));
}

#[test]
fn the_lock_of_a_file_that_was_removed_is_none() {
    let folder = Scratch::new();
    let (store, file, version) = filled(&folder);
    let mut store = store.lock_timeout(Duration::ZERO);
    let opened = Folder::open(&folder).unwrap().unwrap();
    let held = opened.lock(&file_name(SERVER), Duration::ZERO).unwrap();
    fs::remove_file(file.with_extension("lock")).unwrap();
    assert!(matches!(store.swap(SERVER, Some(version), None), Ok(Swap::Done(_))));
    drop(held);
}
