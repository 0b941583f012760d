//! The text of the programs `party_*`.
//!
//! - `serve` serves standard input and output.
//! - `idle PROGRAM ARGS…` connects to a server, waits for a call that is never answered, and prints how many
//!   milliseconds of processor time that took.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use super::adapter::{CallError, Client, Command, Endpoint, Error};
use super::served;

/// How long an idle client waits.
const IDLE: Duration = Duration::from_millis(300);

program!({
    let mut arguments = std::env::args().skip(1);
    match arguments.next().as_deref() {
        Some("serve") => {
            let server = served::start(Endpoint::own_stdio()?)?;
            wait!(server.wait_closed())?;
        }
        Some("idle") => {
            let program = arguments.next().ok_or("whom to connect to?")?;
            let client = wait!(Client::connect(Command::new(program).args(arguments)))?;
            let before = processor_time();
            let outcome = wait!(client.with_timeout(IDLE).call_tool("never", serde_json::json!({})));
            let used = processor_time() - before;
            assert!(matches!(outcome, Err(Error::Call(CallError::TimedOut { .. }))), "{outcome:?}");
            wait!(client.close());
            println!("{}", used.as_millis());
        }
        _ => return Err("usage: party serve | idle PROGRAM ARGS…".into()),
    }
    Ok(())
});

fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}
