//! What a minimal client and a minimal server weigh: crates, bytes, and time to build.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::aims::Aims;
use crate::table::Table;

/// The programs, in packages of their own beside this one.
const MINIMAL: [&str; 4] =
    ["minimal-windlass-client", "minimal-windlass-server", "minimal-rmcp-client", "minimal-rmcp-server"];

/// How a program is built.
#[derive(Clone, Copy)]
enum Profile {
    /// As `cargo build --release` does where nothing else is said.
    Ordinary,
    /// For size: `opt-level = "s"`, fat LTO, one unit, `panic = "abort"`.
    Small,
}

impl Profile {
    /// What overrules the profile of this workspace.
    fn settings(self) -> [(&'static str, &'static str); 4] {
        let [level, lto, units, panic] = match self {
            Self::Ordinary => ["3", "false", "16", "unwind"],
            Self::Small => ["s", "fat", "1", "abort"],
        };
        [("OPT_LEVEL", level), ("LTO", lto), ("CODEGEN_UNITS", units), ("PANIC", panic)]
    }
}

/// A program after clean builds.
struct Built {
    /// Of the ordinary build, by the clock.
    seconds: f64,
    /// Of the same, on all cores together. Neighbours on the machine do not change it much.
    cpu_seconds: f64,
    kilobytes: f64,
    kilobytes_small: f64,
}

pub(crate) fn section(with_builds: bool, aims: &mut Aims) {
    println!("\n# weight: a minimal stdio client and server, ours on plain threads\n");
    let mut table = Table::new(["", "crates", "stripped KB", "for size KB", "clean build s", "of CPU"]);
    let mut rows = Vec::new();
    for package in MINIMAL {
        let crates = crates_below(package);
        let built = with_builds.then(|| clean_build(package));
        let figure = |figure: fn(&Built) -> f64| built.as_ref().map_or("–".into(), |it| format!("{:.0}", figure(it)));
        table.row(vec![
            package.trim_start_matches("minimal-").replace('-', " "),
            crates.to_string(),
            figure(|built| built.kilobytes),
            figure(|built| built.kilobytes_small),
            figure(|built| built.seconds),
            figure(|built| built.cpu_seconds),
        ]);
        rows.push((package, crates, built));
    }
    table.print();
    if with_builds {
        println!(
            "  (for size: opt-level s, fat LTO, one codegen unit, panic abort; otherwise cargo's own release profile)"
        );
    } else {
        println!("  (`-- weight` alone builds them too, from nothing, in folders that are removed afterwards)");
    }
    for (package, crates, built) in rows.iter().take(1) {
        aims.at_most(&format!("crates, {package}"), *crates as f64, 25.0, "");
        if let Some(built) = built {
            aims.at_most(&format!("stripped, {package}"), built.kilobytes, 700.0, "KB");
            aims.at_most(&format!("stripped, built for size, {package}"), built.kilobytes_small, 700.0, "KB");
            aims.at_most(&format!("clean build, {package}"), built.seconds, 20.0, "s");
        }
    }
}

/// How many crates a package is built from, itself not counted.
fn crates_below(package: &str) -> usize {
    let output = cargo()
        .args(["tree", "--edges", "normal,build", "--prefix", "none", "--format", "{p}", "--package", package])
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "cargo tree: {}", String::from_utf8_lossy(&output.stderr));
    let listing = String::from_utf8_lossy(&output.stdout);
    // `name v1.2.3 (where) (*)`
    let crates = listing.lines().map(|line| line.split(' ').take(2).collect::<Vec<_>>());
    crates.filter(|name| !name.is_empty()).collect::<BTreeSet<_>>().len() - 1
}

fn clean_build(package: &str) -> Built {
    let cpu_before = cpu_of_children();
    let (kilobytes, seconds) = build(package, Profile::Ordinary);
    let cpu_seconds = cpu_of_children() - cpu_before;
    let (kilobytes_small, _) = build(package, Profile::Small);
    Built { seconds, cpu_seconds, kilobytes, kilobytes_small }
}

/// Builds a program from nothing: its size without symbols, and how long it took.
fn build(package: &str, profile: Profile) -> (f64, f64) {
    let folder = std::env::temp_dir().join(format!("{package}-{}", std::process::id()));
    let settings = profile.settings().map(|(name, value)| (format!("CARGO_PROFILE_RELEASE_{name}"), value));
    let began = Instant::now();
    let status = cargo()
        .args(["build", "--release", "--quiet", "--package", package, "--target-dir"])
        .arg(&folder)
        .env("CARGO_PROFILE_RELEASE_STRIP", "symbols")
        .envs(settings)
        .stdout(Stdio::null())
        .status()
        .expect("cargo runs");
    let seconds = began.elapsed().as_secs_f64();
    assert!(status.success(), "{package} is built");
    let bytes = folder.join("release").join(package).metadata().expect("the program is there").len();
    remove(&folder);
    (bytes as f64 / 1000.0, seconds)
}

/// Seconds of processor time of all processes that were started here and have ended, and of those that they started.
fn cpu_of_children() -> f64 {
    // SAFETY: all-zero is a value of this type, which is plain numbers.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: it writes to where it is told, which is ours and lives on.
    unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage) };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

fn remove(folder: &Path) {
    if let Err(error) = std::fs::remove_dir_all(folder) {
        eprintln!("{} is left behind: {error}", folder.display());
    }
}

/// Cargo, where the packages are found.
fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(PathBuf::from(env!("CARGO_MANIFEST_DIR")));
    command
}
