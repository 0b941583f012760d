//! The text of the programs `party_*`. What is measured of a whole process needs one of its own.
//!
//! - `serve` serves standard input and output.
//! - `idle PROGRAM ARGS…` connects to a server and waits for a call that is never answered; prints how many milliseconds
//!   of processor time that took.
//! - `leave PROGRAM ARGS…` connects to a peer that stops reading and hangs up; prints the same.
//! - `cycle PROGRAM ARGS…` connects and closes many times; prints how many descriptors are left open.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use super::adapter::client::Negotiation;
use super::adapter::{CallError, Client, Command, Endpoint, Error, Grace};
use super::served;

/// How long an idle client waits.
const IDLE: Duration = Duration::from_millis(300);

/// More than a pipe holds.
const UNWRITABLE: usize = 200_000;

/// How many connections come and go.
const CYCLES: usize = 20;

program!({
    let mut arguments = std::env::args().skip(1);
    let manner = arguments.next().unwrap_or_default();
    if manner == "serve" {
        let server = served::start(Endpoint::own_stdio()?)?;
        return Ok(wait!(server.wait_closed())?);
    }
    let command = Command::new(arguments.next().ok_or("whom to connect to?")?).args(arguments);
    match manner.as_str() {
        "idle" => {
            let client = wait!(Client::connect(command))?;
            let before = processor_time();
            let outcome = wait!(client.with_timeout(IDLE).call_tool("never", serde_json::json!({})));
            println!("{}", (processor_time() - before).as_millis());
            assert!(matches!(outcome, Err(Error::Call(CallError::TimedOut { .. }))), "{outcome:?}");
            wait!(client.close());
        }
        "leave" => {
            let at_once = Grace { eof: Duration::ZERO, terminate: Duration::ZERO };
            let builder = Client::builder("leaver", "1.0").negotiation(Negotiation::Legacy).grace(at_once);
            let client = wait!(builder.connect(command))?;
            let before = processor_time();
            let outcome = wait!(client.call_tool("echo", serde_json::json!({"text": "x".repeat(UNWRITABLE)})));
            wait!(client.wait_closed());
            println!("{}", (processor_time() - before).as_millis());
            assert!(matches!(outcome, Err(Error::Call(CallError::Closed(_)))), "{outcome:?}");
        }
        "cycle" => {
            let mut open = Vec::new();
            for _ in 0..CYCLES {
                let client = wait!(Client::connect(command.clone()))?;
                wait!(client.ping())?;
                wait!(client.close());
                open.push(open_descriptors()?);
            }
            // What the runtime needs for itself is open after the first.
            println!("{}", open[CYCLES - 1].saturating_sub(open[0]));
        }
        _ => return Err("usage: party serve | idle PROGRAM | leave PROGRAM | cycle PROGRAM".into()),
    }
    Ok(())
});

fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}

fn open_descriptors() -> std::io::Result<usize> {
    Ok(std::fs::read_dir("/proc/self/fd")?.count())
}
