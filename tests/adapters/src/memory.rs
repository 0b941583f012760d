//! What the system says of a process's memory.

use std::io;

/// The most memory that a process ever had, in kilobytes. `process` is its id, or `self`.
pub fn peak_kilobytes(process: &str) -> io::Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = peak.and_then(|peak| peak.trim().strip_suffix(" kB")).and_then(|number| number.parse().ok());
    number.ok_or_else(|| io::Error::other("the process is dead"))
}
