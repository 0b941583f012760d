//! The tree as a Unix process group, led by the child.

#[cfg(any(target_os = "linux", target_os = "android"))]
use std::ffi::OsStr;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command as SystemCommand, ExitStatus};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, WaitIdStatus};
use rustix::process::{kill_process_group, test_kill_process_group, waitid};

use crate::process::command::Command;
use crate::process::ladder::Step;
use crate::process::spawn_error::SpawnError;

/// The command as the standard library wants it. Its process leads a group of its own, so that wrappers such as `npx`
/// are ended together with what they started; a side effect is that Ctrl-C in a terminal reaches only the host.
pub(crate) fn system_command(
    command: &Command,
    _environment: &[(OsString, OsString)],
) -> Result<SystemCommand, SpawnError> {
    let mut system_command = SystemCommand::new(&command.program);
    system_command.args(&command.args).process_group(0);
    Ok(system_command)
}

/// A group whose leader has not been reaped, so that the group's id is ours.
pub(crate) struct ProcessTree {
    leader: Child,
    group: Pid,
}

impl ProcessTree {
    pub(crate) fn new(leader: Child) -> io::Result<Self> {
        let group = Pid::from_child(&leader);
        Ok(Self { leader, group })
    }

    pub(crate) fn id(&self) -> u32 {
        self.leader.id()
    }

    /// Whether the leader has exited. It is not reaped yet, which would free its id.
    pub(crate) fn exit_status(&mut self) -> io::Result<Option<ExitStatus>> {
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        Ok(waitid(WaitId::Pid(self.group), look)?.map(|status| to_standard(&status)))
    }

    pub(crate) fn signal(&mut self, step: Step) -> io::Result<()> {
        signal_group(self.group, step)
    }

    /// Reaps the leader, which has exited; its group may have other members.
    pub(crate) fn reap(mut self) -> (Survivors, io::Result<ExitStatus>) {
        let status = self.leader.wait();
        (Survivors { group: self.group }, status)
    }
}

/// What is left of a group after its leader was reaped. The group's id stays reserved while a member lives.
pub(crate) struct Survivors {
    group: Pid,
}

impl Survivors {
    pub(crate) fn remain(&mut self) -> bool {
        // In a container we may be the process that inherits orphans; nobody else would reap them.
        let reap = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
        while let Ok(Some(_)) = waitid(WaitId::Pgid(Some(self.group)), reap) {}
        test_kill_process_group(self.group).is_ok() && has_living_member(self.group)
    }

    /// Only right after [`remain`](Self::remain) has said yes.
    pub(crate) fn signal(&mut self, step: Step) -> io::Result<()> {
        signal_group(self.group, step)
    }
}

/// Whether any member is more than a corpse. The dead count as members until their new parent reaps them, which it may
/// do late or, as the first process of many containers, never; waiting for that would make every shutdown slow.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn has_living_member(group: Pid) -> bool {
    // Without `/proc` nothing is known, and the careful answer is yes.
    let Ok(processes) = std::fs::read_dir("/proc") else { return true };
    let is_number = |name: &OsStr| name.as_encoded_bytes().iter().all(u8::is_ascii_digit);
    processes
        .flatten()
        .filter(|entry| is_number(&entry.file_name()))
        .filter_map(|entry| std::fs::read(entry.path().join("stat")).ok())
        .any(|stat| is_living_member(&String::from_utf8_lossy(&stat), group))
}

/// Other systems do not count the dead.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn has_living_member(_group: Pid) -> bool {
    true
}

/// Reads `id (name) state parent group …`, where the name may hold anything.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn is_living_member(stat: &str, group: Pid) -> bool {
    let mut fields = stat.rsplit(')').next().unwrap_or_default().split_ascii_whitespace();
    let is_dead = matches!(fields.next(), None | Some("Z" | "X"));
    let is_member = fields.nth(1).is_some_and(|field| field == group.as_raw_pid().to_string());
    is_member && !is_dead
}

fn signal_group(group: Pid, step: Step) -> io::Result<()> {
    let signal = match step {
        Step::Terminate => Signal::TERM,
        Step::Kill => Signal::KILL,
    };
    match kill_process_group(group, signal) {
        // Nobody is left to be told.
        Err(Errno::SRCH) => Ok(()),
        told => Ok(told?),
    }
}

/// Encodes a status as `wait` does on every Unix: the signal in the low byte, else the exit code in the next.
fn to_standard(status: &WaitIdStatus) -> ExitStatus {
    const CORE_DUMPED: i32 = 0x80;
    let raw = match (status.terminating_signal(), status.exit_status()) {
        (Some(signal), _) if status.dumped() => signal | CORE_DUMPED,
        (Some(signal), _) => signal,
        (None, code) => (code.unwrap_or_default() & 0xff) << 8,
    };
    ExitStatus::from_raw(raw)
}

#[cfg(all(test, any(target_os = "linux", target_os = "android")))]
mod tests {
    use super::*;

    #[test]
    fn the_dead_and_the_strangers_do_not_count() {
        let group = Pid::from_raw(42).unwrap();
        assert!(is_living_member("50 (sh) S 1 42 42 0", group));
        assert!(is_living_member("50 (odd) Z 1 42) R 1 42 42 0", group));
        assert!(!is_living_member("50 (sh) Z 1 42 42 0", group));
        assert!(!is_living_member("50 (sh) S 42 7 42 0", group));
        assert!(!is_living_member("", group));
    }

    #[test]
    fn we_are_a_living_member_of_our_own_group() {
        assert!(has_living_member(rustix::process::getpgrp()));
    }

    #[test]
    fn statuses_are_told_as_the_standard_library_tells_them() {
        for (script, code, signal) in [("exit 3", Some(3), None), ("kill -TERM $$", None, Some(15))] {
            let command = Command::new("sh").arg("-c").arg(script);
            let child = system_command(&command, &[]).unwrap().spawn().unwrap();
            let mut tree = ProcessTree::new(child).unwrap();
            let seen = loop {
                match tree.exit_status().unwrap() {
                    Some(status) => break status,
                    None => std::thread::yield_now(),
                }
            };
            let (_, reaped) = tree.reap();
            assert_eq!(seen, reaped.unwrap());
            assert_eq!((seen.code(), seen.signal()), (code, signal));
        }
    }
}
