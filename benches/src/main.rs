//! How fast, how small and how light the engine is, beside rmcp (the official SDK) and beside what cannot be avoided:
//! bare JSON in one process, a bare pipe between two.
//!
//! ```sh
//! cargo run --release -p windlass-benches                  # everything, but no clean builds
//! cargo run --release -p windlass-benches -- core          # one section: core, stdio, http, memory or weight
//! cargo run --release -p windlass-benches -- stdio --quick # shorter runs, for a first look
//! cargo run --release -p windlass-benches -- stdio --legacy # ours in the era with a handshake
//! cargo run --release -p windlass-benches -- http --modern --one-core # a part of what takes long
//! ```
//!
//! Instructions are counted by callgrind where valgrind is installed; they repeat to about one per cent. Times do not:
//! compare the ratios of one run. Every section ends with the project's aims, reached or not.
//!
//! The program starts itself for what needs a process of its own: a count under valgrind, either end of a stream.

#![deny(unsafe_op_in_unsafe_fn)]

mod aims;
mod allocations;
mod calls;
mod http;
mod in_process;
mod memory;
mod stdio;
mod table;
mod weight;

use windlass::model::Era;

use aims::Aims;
use calls::pinning::Pinning;

/// What the sections measure, in bytes of the text that is echoed.
const PAYLOADS: [usize; 3] = [64, 4 * 1024, 256 * 1024];

const USAGE: &str = "usage: windlass-benches [core | stdio | http | memory | weight] [--quick] [--legacy | --modern] [--one-core | --two-cores]";

/// What the command line asks for.
struct Options {
    section: Option<String>,
    quick: bool,
    /// Both eras where nothing is said, and where both are measured.
    era: Option<Era>,
    pinnings: Vec<Pinning>,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["count-trips", ref case @ ..] => in_process::count_trips(case),
        ["stdio-client", ref case @ ..] => stdio::client_role(case),
        ["stdio-server", ref case @ ..] => stdio::server_role(case),
        ["http-client", ref case @ ..] => http::client_role(case),
        ["http-server", ref case @ ..] => http::server_role(case),
        _ => sections(&options(&words)),
    }
}

fn options(words: &[&str]) -> Options {
    let mut options = Options { section: None, quick: false, era: None, pinnings: Pinning::BOTH.to_vec() };
    for &word in words {
        match word {
            "--quick" => options.quick = true,
            "--legacy" => options.era = Some(Era::Legacy),
            "--modern" => options.era = Some(Era::Modern),
            "--one-core" => options.pinnings = vec![Pinning::OneCore],
            "--two-cores" => options.pinnings = vec![Pinning::TwoCores],
            "core" | "stdio" | "http" | "memory" | "weight" if options.section.is_none() => {
                options.section = Some(word.into());
            }
            _ => {
                eprintln!("{USAGE}");
                std::process::exit(1);
            }
        }
    }
    options
}

fn sections(options: &Options) {
    let mut aims = Aims::default();
    let wanted = |section: &str| options.section.as_deref().is_none_or(|only| only == section);
    if wanted("core") {
        in_process::section(options.quick, &mut aims);
    }
    if wanted("stdio") {
        stdio::section(options.quick, options.era.unwrap_or(Era::Modern), &options.pinnings, &mut aims);
    }
    if wanted("http") {
        http::section(options.quick, options.era, &options.pinnings, &mut aims);
    }
    if wanted("memory") {
        memory::section(options.quick, &mut aims);
    }
    if wanted("weight") {
        weight::section(options.section.is_some(), &mut aims);
    }
    aims.conclude();
}

/// How a payload is called in a table.
fn size(bytes: usize) -> String {
    if bytes < 1024 { format!("{bytes} B") } else { format!("{} KiB", bytes / 1024) }
}
