//! Real child processes: what they get, what they leave behind, and how they end.

#![cfg(unix)]

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ChildStdout;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, test_kill_process};
use windlass_host::process::stderr::{LINE_BYTES, TAIL_BYTES, TAIL_LINES};
use windlass_host::{Child, Command, Grace, SpawnError, Step};
use windlass_tests::watchdog::eventually;

/// What no test should need; a slow machine may.
const PATIENCE: Duration = Duration::from_secs(20);

const SHORT_GRACE: Grace = Grace { eof: Duration::from_millis(50), terminate: Duration::from_millis(50) };

/// Ignores the request to terminate, and so does its own child. Both report their process ids.
const STUBBORN_TREE: &str = r#"
    trap "" TERM
    sh -c 'echo $$; while :; do sleep 1; done' &
    echo $$
    while :; do sleep 1; done
"#;

fn shell(script: &str) -> Command {
    Command::new("sh").arg("-c").arg(script)
}

fn spawn(command: &Command) -> (Child, BufReader<ChildStdout>) {
    let mut child = Child::spawn(command).unwrap();
    let output = BufReader::new(child.take_stdout().unwrap());
    (child, output)
}

fn all_output(command: &Command) -> String {
    let (child, mut output) = spawn(command);
    let mut text = String::new();
    output.read_to_string(&mut text).unwrap();
    assert!(child.shut_down(Grace::default()).unwrap().success());
    text
}

fn reported_process(output: &mut BufReader<ChildStdout>) -> Pid {
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    Pid::from_raw(line.trim().parse().unwrap()).unwrap()
}

/// A dead process that its new parent has not reaped yet does not count.
fn is_alive(process: Pid) -> bool {
    match std::fs::read_to_string(format!("/proc/{}/stat", process.as_raw_pid())) {
        Ok(stat) => !stat.rsplit(')').next().unwrap().trim_start().starts_with(['Z', 'X']),
        Err(_) if Path::new("/proc/self/stat").exists() => false,
        Err(_) => test_kill_process(process).is_ok(),
    }
}

#[test]
fn only_the_essentials_of_the_environment_are_passed() {
    assert!(std::env::var_os("CARGO_PKG_NAME").is_some(), "the test has nothing to hide");
    let text = all_output(&Command::new("env").env("CONFIGURED", "yes").pass_env("CARGO_PKG_VERSION"));
    let essential = |name: &str| {
        let names = "HOME LANG LANGUAGE LOGNAME PATH SHELL TERM TMPDIR TZ USER CONFIGURED CARGO_PKG_VERSION";
        names.split(' ').any(|known| known == name) || name.starts_with("LC_") || name.starts_with("XDG_")
    };
    let names: Vec<_> = text.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
    assert!(names.iter().all(|name| essential(name)), "{names:?}");
    for expected in ["PATH", "CONFIGURED", "CARGO_PKG_VERSION"] {
        assert!(names.contains(&expected), "{expected} is missing from {names:?}");
    }
}

#[test]
fn the_whole_environment_is_passed_on_request() {
    let text = all_output(&Command::new("env").inherit_env(true));
    assert!(text.lines().any(|line| line.starts_with("CARGO_PKG_NAME=")));
}

#[test]
fn the_program_is_looked_up_in_the_path_of_the_child() {
    let error = Child::spawn(&Command::new("env").env("PATH", "/nowhere")).unwrap_err();
    assert!(error.to_string().contains("/nowhere"), "{error}");
}

#[test]
fn the_child_starts_in_its_working_directory() {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).canonicalize().unwrap();
    assert_eq!(all_output(&Command::new("pwd").cwd(&directory)).trim_end(), directory.to_str().unwrap());
}

#[test]
fn a_flood_on_standard_error_does_not_block_the_child() {
    let (child, mut output) = spawn(&shell("head -c 1000000 /dev/zero | tr '\\0' x >&2; echo done"));
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    assert_eq!(line, "done\n");

    let tail = child.stderr().lines_at_end(PATIENCE);
    assert!(tail.len() <= TAIL_LINES);
    assert!(tail.iter().all(|line| line.len() <= LINE_BYTES));
    assert!(tail.iter().map(String::len).sum::<usize>() <= TAIL_BYTES);
    assert!(child.shut_down(Grace::default()).unwrap().success());
}

#[test]
fn lines_of_standard_error_arrive_while_the_child_runs() {
    let (sender, lines) = mpsc::channel();
    let command = shell("echo one >&2; printf 'two\\r\\nthree' >&2; cat")
        .on_stderr(move |line| sender.send(line.to_owned()).unwrap());
    let child = Child::spawn(&command).unwrap();
    assert_eq!(lines.recv_timeout(PATIENCE).unwrap(), "one");
    assert_eq!(lines.recv_timeout(PATIENCE).unwrap(), "two");
    assert_eq!(child.stderr_tail(), ["one", "two"]);

    let stderr = child.stderr();
    assert!(child.shut_down(Grace::default()).unwrap().success());
    assert_eq!(stderr.lines_at_end(PATIENCE), ["one", "two", "three"]);
    assert_eq!(lines.recv_timeout(PATIENCE).unwrap(), "three");
}

#[test]
fn inherited_standard_error_is_not_collected() {
    let child = Child::spawn(&shell("exit 0").inherit_stderr()).unwrap();
    assert!(child.stderr().lines_at_end(PATIENCE).is_empty());
}

#[test]
fn the_end_of_input_is_enough_for_a_good_server() {
    let (child, _output) = spawn(&Command::new("cat"));
    let endless = Grace { eof: Duration::MAX, terminate: Duration::MAX };
    assert_eq!(child.shut_down(endless).unwrap().code(), Some(0));
}

#[test]
fn an_exit_is_seen_without_being_consumed() {
    let mut child = Child::spawn(&shell("exit 7")).unwrap();
    eventually("the child has exited", || child.try_exit().unwrap().is_some());
    assert_eq!(child.try_exit().unwrap().unwrap().code(), Some(7));
    assert_eq!(child.shut_down(SHORT_GRACE).unwrap().code(), Some(7));
}

#[test]
fn a_death_by_signal_is_reported() {
    let mut child = Child::spawn(&shell("kill -KILL $$")).unwrap();
    eventually("the child has died", || child.try_exit().unwrap().is_some());
    assert_eq!(child.try_exit().unwrap().unwrap().signal(), Some(Signal::KILL.as_raw()));
}

#[test]
fn a_driver_may_climb_the_ladder_itself() {
    let mut child = Child::spawn(&Command::new("sleep").arg("1000")).unwrap();
    assert!(child.try_exit().unwrap().is_none());
    child.signal(Step::Terminate).unwrap();
    eventually("the child has ended", || child.try_exit().unwrap().is_some());
    assert_eq!(child.try_exit().unwrap().unwrap().signal(), Some(Signal::TERM.as_raw()));
    // Its id is still reserved, so a signal now reaches nobody else.
    child.signal(Step::Kill).unwrap();
}

#[test]
fn a_stubborn_tree_is_killed_in_time() {
    let (child, mut output) = spawn(&shell(STUBBORN_TREE));
    let processes = [reported_process(&mut output), reported_process(&mut output)];
    assert!(processes.iter().all(|&process| is_alive(process)));

    let start = Instant::now();
    let status = child.shut_down(SHORT_GRACE).unwrap();
    assert_eq!(status.signal(), Some(Signal::KILL.as_raw()));
    assert!(start.elapsed() >= SHORT_GRACE.eof + SHORT_GRACE.terminate);
    assert!(start.elapsed() < PATIENCE);
    assert!(!processes.iter().any(|&process| is_alive(process)), "{processes:?}");

    // Nobody holds the pipe any more, so it ends.
    output.read_to_end(&mut Vec::new()).unwrap();
}

#[test]
fn what_the_child_leaves_behind_is_ended_too() {
    let (child, mut output) = spawn(&shell("sleep 1000 & echo $!; cat"));
    let orphan = reported_process(&mut output);
    let status = child.shut_down(Grace::default()).unwrap();
    assert_eq!(status.code(), Some(0));
    assert!(!is_alive(orphan));
}

#[test]
fn a_stubborn_orphan_is_killed() {
    let (child, mut output) = spawn(&shell(r#"(trap "" TERM; sh -c 'echo $$; while :; do sleep 1; done') & cat"#));
    let orphan = reported_process(&mut output);
    assert_eq!(child.shut_down(SHORT_GRACE).unwrap().code(), Some(0));
    assert!(!is_alive(orphan));
}

#[test]
fn a_shutdown_in_the_background_reports() {
    let (child, mut output) = spawn(&shell(STUBBORN_TREE));
    let processes = [reported_process(&mut output), reported_process(&mut output)];
    let (sender, done) = mpsc::channel();
    child.shut_down_with(SHORT_GRACE, move |status| sender.send(status).unwrap());
    assert_eq!(done.recv_timeout(PATIENCE).unwrap().unwrap().signal(), Some(Signal::KILL.as_raw()));
    assert!(!processes.iter().any(|&process| is_alive(process)));
}

#[test]
fn dropping_leaves_nothing_behind() {
    let (child, mut output) = spawn(&shell("sleep 1000 & echo $!; echo $$; sleep 1000"));
    let processes = [reported_process(&mut output), reported_process(&mut output)];
    drop(child);
    eventually("both processes are gone", || !processes.iter().any(|&process| is_alive(process)));
}

#[test]
fn dropping_a_stubborn_tree_does_not_block_and_leaves_nothing_behind() {
    let (child, mut output) = spawn(&shell(STUBBORN_TREE));
    let processes = [reported_process(&mut output), reported_process(&mut output)];
    let start = Instant::now();
    drop(child);
    assert!(start.elapsed() < Grace::default().terminate);
    eventually("both processes are gone", || !processes.iter().any(|&process| is_alive(process)));
}

#[test]
fn dropping_an_exited_child_reaps_it() {
    let mut child = Child::spawn(&shell("exit 0")).unwrap();
    let process = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    eventually("the child has exited", || child.try_exit().unwrap().is_some());
    assert!(test_kill_process(process).is_ok(), "not reaped while the child is held");
    drop(child);
    assert!(test_kill_process(process).is_err(), "reaped by the drop");
}

#[test]
fn a_missing_program_is_explained() {
    let error = Child::spawn(&Command::new("no-such-server").env("PATH", "/first:/second")).unwrap_err();
    assert!(matches!(error, SpawnError::NotFound { .. }), "{error:?}");
    let message = error.to_string();
    for part in ["no-such-server", "/first:/second", "install it"] {
        assert!(message.contains(part), "{part} is missing from: {message}");
    }

    let error = Child::spawn(&Command::new("/no/such/server")).unwrap_err();
    assert!(matches!(error, SpawnError::NotFound { path: None, .. }), "{error:?}");
}

#[test]
fn a_missing_working_directory_is_explained() {
    let error = Child::spawn(&Command::new("cat").cwd("/no/such/directory")).unwrap_err();
    assert!(matches!(error, SpawnError::NoWorkingDirectory { .. }), "{error:?}");
    assert!(error.to_string().contains("/no/such/directory"), "{error}");
}

#[test]
fn a_file_that_is_no_program_is_explained() {
    let error = Child::spawn(&Command::new("/dev/null")).unwrap_err();
    assert!(matches!(error, SpawnError::PermissionDenied { .. }), "{error:?}");
}

#[test]
fn a_missing_interpreter_is_explained() {
    // Written by another process: one that we held open for writing could not be run.
    let script = "printf '#!/no/such/interpreter\\n' > orphaned-script && chmod +x orphaned-script";
    all_output(&shell(script).cwd(env!("CARGO_TARGET_TMPDIR")));
    let error = Child::spawn(&Command::new("./orphaned-script").cwd(env!("CARGO_TARGET_TMPDIR"))).unwrap_err();
    assert!(matches!(error, SpawnError::MissingInterpreter { .. }), "{error:?}");
}
