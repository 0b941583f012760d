//! How fast, how small and how light the engine is, beside rmcp (the official SDK) and beside what cannot be avoided:
//! bare JSON in one process, a bare pipe between two.
//!
//! ```sh
//! cargo run --release -p windlass-benches                  # everything, but no clean builds
//! cargo run --release -p windlass-benches -- core          # one section: core, stdio, memory or weight
//! cargo run --release -p windlass-benches -- stdio --quick # shorter runs, for a first look
//! cargo run --release -p windlass-benches -- stdio --legacy # ours in the era with a handshake
//! ```
//!
//! Instructions are counted by callgrind where valgrind is installed; they repeat to about one per cent. Times do not:
//! compare the ratios of one run. Every section ends with the project's aims, reached or not.
//!
//! The program starts itself for what needs a process of its own: a count under valgrind, either end of a pipe.

#![deny(unsafe_op_in_unsafe_fn)]

mod aims;
mod allocations;
mod in_process;
mod memory;
mod stdio;
mod table;
mod weight;

use windlass::model::Era;

use aims::Aims;

/// What the sections measure, in bytes of the text that is echoed.
const PAYLOADS: [usize; 3] = [64, 4 * 1024, 256 * 1024];

const USAGE: &str = "usage: windlass-benches [core | stdio | memory | weight] [--quick] [--legacy]";

/// What the command line asks for.
struct Options {
    section: Option<String>,
    quick: bool,
    era: Era,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["count-trips", ref case @ ..] => in_process::count_trips(case),
        ["stdio-client", ref case @ ..] => stdio::client_role(case),
        ["stdio-server", ref case @ ..] => stdio::server_role(case),
        _ => sections(&options(&words)),
    }
}

fn options(words: &[&str]) -> Options {
    let mut options = Options { section: None, quick: false, era: Era::Modern };
    for &word in words {
        match word {
            "--quick" => options.quick = true,
            "--legacy" => options.era = Era::Legacy,
            "core" | "stdio" | "memory" | "weight" if options.section.is_none() => options.section = Some(word.into()),
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
        stdio::section(options.quick, options.era, &mut aims);
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
