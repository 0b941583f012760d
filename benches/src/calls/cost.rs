//! What the two processes have used so far, as the system sees it.

use std::time::Duration;

/// Processor time and calls of `write`.
#[derive(Clone, Copy)]
pub(crate) struct Cost {
    pub(crate) cpu: Duration,
    pub(crate) writes: u64,
}

impl Cost {
    /// Of a process, with all its threads; 0 is this one.
    pub(crate) fn of(process: u32) -> Self {
        Self { cpu: cpu_time(process), writes: writes(process) }
    }

    pub(crate) fn since(self, before: Self) -> Self {
        Self { cpu: self.cpu - before.cpu, writes: self.writes - before.writes }
    }
}

/// Exact to the nanosecond, which the ticks of `/proc` are not.
fn cpu_time(process: u32) -> Duration {
    let mut clock = 0;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: both write to where they are told, which is ours and lives on.
    let failed = unsafe {
        libc::clock_getcpuclockid(process as libc::pid_t, &mut clock) != 0 || libc::clock_gettime(clock, &mut time) != 0
    };
    if failed { Duration::ZERO } else { Duration::new(time.tv_sec as u64, time.tv_nsec as u32) }
}

/// Zero where the system does not tell.
fn writes(process: u32) -> u64 {
    let process = if process == 0 { "self".into() } else { process.to_string() };
    let report = std::fs::read_to_string(format!("/proc/{process}/io")).unwrap_or_default();
    let writes = report.lines().find_map(|line| line.strip_prefix("syscw: "));
    writes.and_then(|count| count.parse().ok()).unwrap_or(0)
}
