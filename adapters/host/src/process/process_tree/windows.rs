//! The tree as a Windows job object: closing the job ends every process in it.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::windows::io::AsRawHandle;
use std::os::windows::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command as SystemCommand, ExitStatus};

use win32job::{ExtendedLimitInfo, Job};

use crate::process::command::Command;
use crate::process::environment::{self, Platform};
use crate::process::ladder::Step;
use crate::process::spawn_error::SpawnError;
use crate::process::windows_plan::{self, PlanError, Surroundings};

/// `CREATE_NO_WINDOW`: a server has nothing to show, and a console would flash up for each.
const NO_WINDOW: u32 = 0x0800_0000;

/// The command as the standard library wants it, with the program found and scripts run by `cmd.exe`.
pub(crate) fn system_command(
    command: &Command,
    environment: &[(OsString, OsString)],
) -> Result<SystemCommand, SpawnError> {
    let variable = |name| environment::find(environment, Platform::Windows, name).unwrap_or_default();
    let (path, path_extensions) = (text(command, variable("PATH"))?, text(command, variable("PATHEXT"))?);
    let system_root = text(command, variable("SYSTEMROOT"))?;
    let cwd = text(command, command.cwd.as_deref().unwrap_or(Path::new("")).as_os_str())?;
    let surroundings = Surroundings { path, path_extensions, system_root, cwd };

    let program = text(command, &command.program)?;
    let args = command.args.iter().map(|arg| text(command, arg)).collect::<Result<Vec<_>, _>>()?;
    let plan =
        windows_plan::plan(program, &args, surroundings, |path| Path::new(path).is_file()).map_err(|reason| {
            match reason {
                PlanError::NotFound => SpawnError::explain(command, environment, io::ErrorKind::NotFound.into()),
                reason => SpawnError::Unquotable { program: command.program.clone(), reason },
            }
        })?;

    let mut system_command = SystemCommand::new(&plan.program);
    system_command.creation_flags(NO_WINDOW);
    for arg in &plan.args {
        if plan.verbatim {
            system_command.raw_arg(arg);
        } else {
            system_command.arg(arg);
        }
    }
    Ok(system_command)
}

fn text<'a>(command: &Command, value: &'a OsStr) -> Result<&'a str, SpawnError> {
    value.to_str().ok_or_else(|| SpawnError::Refused {
        program: command.program.clone(),
        source: io::Error::new(io::ErrorKind::InvalidInput, "the command or its PATH is not valid Unicode"),
    })
}

/// A child and the job that its descendants belong to. What the child started before it was put into the job, within
/// the first moments of its life, escapes.
pub(crate) struct ProcessTree {
    leader: Child,
    job: Option<Job>,
}

impl ProcessTree {
    pub(crate) fn new(mut leader: Child) -> io::Result<Self> {
        let mut limits = ExtendedLimitInfo::new();
        limits.limit_kill_on_job_close();
        let assigned = Job::create_with_limit_info(&limits)
            .and_then(|job| job.assign_process(leader.as_raw_handle() as isize).map(|()| job));
        match assigned {
            Ok(job) => Ok(Self { leader, job: Some(job) }),
            // A child that exited at once cannot be assigned any more, and needs not be.
            Err(_) if matches!(leader.try_wait(), Ok(Some(_))) => Ok(Self { leader, job: None }),
            Err(error) => {
                leader.kill()?;
                leader.wait()?;
                Err(io::Error::other(error))
            }
        }
    }

    pub(crate) fn id(&self) -> u32 {
        self.leader.id()
    }

    pub(crate) fn exit_status(&mut self) -> io::Result<Option<ExitStatus>> {
        self.leader.try_wait()
    }

    /// Windows has no request to terminate that a program without a window would hear, so both steps end the job.
    pub(crate) fn signal(&mut self, _step: Step) -> io::Result<()> {
        self.job = None;
        Ok(())
    }

    pub(crate) fn reap(mut self) -> (Survivors, io::Result<ExitStatus>) {
        let status = self.leader.wait();
        (Survivors { job: self.job }, status)
    }
}

/// The job after its first process has exited.
pub(crate) struct Survivors {
    job: Option<Job>,
}

impl Survivors {
    /// Ends what is left: the system does so when the job is closed.
    pub(crate) fn remain(&mut self) -> bool {
        self.job = None;
        false
    }

    pub(crate) fn signal(&mut self, _step: Step) -> io::Result<()> {
        Ok(())
    }
}
