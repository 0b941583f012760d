//! What the system says of a process's memory.

use std::io;

/// The most memory that a process ever had, in kilobytes. `process` is its id, or `self`.
pub fn peak_kilobytes(process: &str) -> io::Result<u64> {
    kilobytes(process, "VmHWM:")
}

/// The memory that a process has now, in kilobytes.
pub fn kilobytes_now(process: &str) -> io::Result<u64> {
    kilobytes(process, "VmRSS:")
}

fn kilobytes(process: &str, which: &str) -> io::Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let found = status.lines().find_map(|line| line.strip_prefix(which));
    let number = found.and_then(|found| found.trim().strip_suffix(" kB")).and_then(|number| number.parse().ok());
    number.ok_or_else(|| io::Error::other("the process is dead"))
}
