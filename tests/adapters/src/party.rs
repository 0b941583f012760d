//! The text of the programs `party_*`. What is measured of a whole process needs one of its own.
//!
//! - `serve` serves standard input and output; `serve_measured` tells on standard error at the end how many kilobytes
//!   of memory that took at most.
//! - `idle PROGRAM ARGS…` connects to a server and waits for a call that is never answered; prints how many
//!   milliseconds of processor time that took.
//! - `leave PROGRAM ARGS…` connects to a peer that stops reading and hangs up; prints the same.
//! - `cycle PROGRAM ARGS…` connects and closes many times; prints how many descriptors are left open.
//! - `endure PROGRAM ARGS…` calls a peer that pours out more than anybody wants to hear; prints what became of the
//!   call, what else was heard, and how many kilobytes of memory that took at most.
//! - `swarm CALLS PROGRAM ARGS…` makes that many calls from many callers at once; prints how many milliseconds that
//!   took.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use serde_json::json;

use super::adapter::client::Negotiation;
use super::adapter::{CallError, Client, Command, Endpoint, Error, Grace};
use super::{served, swarm};

/// How long an idle client waits.
const IDLE: Duration = Duration::from_millis(300);

/// More than a pipe holds.
const UNWRITABLE: usize = 200_000;

/// How many connections come and go.
const CYCLES: usize = 20;

program!({
    let mut arguments = std::env::args().skip(1);
    let manner = arguments.next().unwrap_or_default();
    if manner.starts_with("serve") {
        let server = served::start(Endpoint::own_stdio()?)?;
        let before = peak_kilobytes()?;
        let outcome = wait!(server.wait_closed());
        if manner == "serve_measured" {
            eprintln!("{}", peak_kilobytes()? - before);
        }
        return Ok(outcome?);
    }
    let calls = if manner == "swarm" { arguments.next().ok_or("how many calls?")?.parse()? } else { 0 };
    let command = Command::new(arguments.next().ok_or("whom to connect to?")?).args(arguments);
    match manner.as_str() {
        "idle" => {
            let client = wait!(Client::connect(command))?;
            let before = processor_time();
            let outcome = wait!(client.with_timeout(IDLE).call_tool("never", json!({})));
            println!("{}", (processor_time() - before).as_millis());
            assert!(matches!(outcome, Err(Error::Call(CallError::TimedOut { .. }))), "{outcome:?}");
            wait!(client.close());
        }
        "leave" => {
            let at_once = Grace { eof: Duration::ZERO, terminate: Duration::ZERO };
            let builder = Client::builder("leaver", "1.0").negotiation(Negotiation::Legacy).grace(at_once);
            let client = wait!(builder.connect(command))?;
            let before = processor_time();
            let outcome = wait!(client.call_tool("echo", json!({"text": "x".repeat(UNWRITABLE)})));
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
        "endure" => {
            let (malformed, notifications) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
            let (skipping, hearing) = (malformed.clone(), notifications.clone());
            let builder = Client::builder("endurer", "1.0");
            let builder = builder.on_malformed(move |_| {
                skipping.fetch_add(1, Ordering::SeqCst);
            });
            let builder = builder.on_notification(move |_| {
                hearing.fetch_add(1, Ordering::SeqCst);
            });
            let client = wait!(builder.connect(command))?;
            let before = peak_kilobytes()?;
            let outcome = match wait!(client.call_tool("echo", json!({"text": "the answer"}))) {
                Ok(result) => result.text_content(),
                Err(error) => error.to_string(),
            };
            let usable = wait!(client.ping()).is_ok();
            let report = json!({
                "outcome": outcome,
                "usable": usable,
                "malformed": malformed.load(Ordering::SeqCst),
                "notifications": notifications.load(Ordering::SeqCst),
                "kilobytes": peak_kilobytes()? - before,
            });
            println!("{report}");
            wait!(client.close());
        }
        "swarm" => {
            let client = wait!(Client::connect(command))?;
            let started = Instant::now();
            wait!(swarm::call_at_once(&client, calls));
            println!("{}", started.elapsed().as_millis());
            wait!(client.close());
        }
        _ => {
            return Err(
                "usage: party serve | serve_measured | idle | leave | cycle | endure PROGRAM | swarm CALLS PROGRAM"
                    .into(),
            );
        }
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

/// The most memory that this process ever had.
fn peak_kilobytes() -> std::io::Result<u64> {
    windlass_adapter_tests::memory::peak_kilobytes("self")
}
