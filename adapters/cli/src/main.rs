//! The `windlass` command: talks to any Model Context Protocol server that can be started or has a URL, on any of the
//! runtimes that Windlass has an adapter for, and is a small server itself.
//!
//! | module | what |
//! |---|---|
//! | `usage`, `login_options`, `invocation`, `help` | what was typed, as a value, and what can be |
//! | `arguments`, `coerce` | `key=value` as JSON, by a tool's schema |
//! | `command_run` | what a run has at hand: where to print, what to connect to |
//! | `address` | a URL, headers and certificates as something to connect to |
//! | `login`, `fresh_store`, `browser` | logging in |
//! | `stored`, `auth_status` | what logins have left: for the commands after them, for people to see, and to forget |
//! | `interrupt`, `watch` | Ctrl-C, and the deadline of a client command |
//! | `runtimes` | the commands and the demo server, once for every runtime |
//! | `tour` | what is shown when nothing was typed |
//! | `listing`, `result`, `ordered`, `table`, `calendar` | how it looks |
//! | `output`, `harmless` | standard output and standard error, and what does not get there |
//! | `screen`, `allowance` | what is said while a command runs, with a line of progress, and how much of it |
//! | `ask`, `form`, `page` | questions of a server to the user |
//! | `failure`, `hint` | what went wrong, what to type then, and the exit code |
//! | `reach` | who can reach the demo server over HTTP |
//! | `demo` | the tools, resources and prompts of the demo server |

#![forbid(unsafe_code)]

// The adapters are for Unix as yet; elsewhere this is a program that says so.

#[cfg(unix)]
mod address;
#[cfg(unix)]
mod allowance;
#[cfg(unix)]
mod arguments;
#[cfg(unix)]
mod ask;
#[cfg(unix)]
mod auth_status;
#[cfg(unix)]
mod browser;
#[cfg(unix)]
mod calendar;
#[cfg(unix)]
mod coerce;
#[cfg(unix)]
mod command_run;
#[cfg(unix)]
mod demo;
#[cfg(unix)]
mod failure;
#[cfg(unix)]
mod form;
#[cfg(unix)]
mod fresh_store;
#[cfg(unix)]
mod harmless;
#[cfg(unix)]
mod help;
#[cfg(unix)]
mod hint;
#[cfg(unix)]
mod interrupt;
#[cfg(unix)]
mod invocation;
#[cfg(unix)]
mod listing;
#[cfg(unix)]
mod login;
#[cfg(unix)]
mod login_options;
#[cfg(unix)]
mod ordered;
#[cfg(unix)]
mod output;
#[cfg(unix)]
mod page;
#[cfg(unix)]
mod reach;
#[cfg(unix)]
mod result;
#[cfg(unix)]
mod runtimes;
#[cfg(unix)]
mod screen;
#[cfg(unix)]
mod stored;
#[cfg(unix)]
mod table;
#[cfg(unix)]
mod tour;
#[cfg(unix)]
mod usage;
#[cfg(unix)]
mod watch;

use std::process::ExitCode;

#[cfg(unix)]
fn main() -> ExitCode {
    let words: Vec<_> = std::env::args_os().skip(1).collect();
    match usage::parse(&words).map_err(failure::Failure::usage).and_then(perform).and_then(|()| output::check()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.report(usage::wants_json(&words));
            failure.exit_code()
        }
    }
}

#[cfg(unix)]
fn perform(invocation: invocation::Invocation) -> Result<(), failure::Failure> {
    use invocation::Invocation;
    match invocation {
        Invocation::Help(command) => output::print(&help::about(command.as_deref())),
        Invocation::Version => output::print(concat!("windlass ", env!("CARGO_PKG_VERSION"), "\n")),
        Invocation::Serve(runtime, place) => return runtimes::serve(runtime, place),
        Invocation::Client(request, options) => {
            let command = command_run::CommandRun::new(request, options)?;
            return runtimes::client(command);
        }
        Invocation::Logout(what, json) => return auth_status::logout(&what, json),
        Invocation::AuthStatus(url, json) => return auth_status::status(url.as_deref(), json),
    }
    Ok(())
}

#[cfg(not(unix))]
fn main() -> ExitCode {
    eprintln!("windlass: this platform is not supported yet; Unix systems are");
    ExitCode::FAILURE
}
