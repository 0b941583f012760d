//! `frames SCHEMAS TRANSCRIPTS WIRES SOURCES…`: validates every frame that our side put on a wire.
//!
//! The transcripts are those of the tests, where the other side is often scripted and wrong on purpose. The wires are
//! what the tests have left in the folder that `WINDLASS_WIRES` named; each says who spoke on it. On top of that come
//! simulated sessions, in which both sides are ours. From each of the sources there must be something: tests that leave
//! no recordings would pass for tests that have nothing wrong in them.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use windlass::model::ProtocolVersion;
use windlass_schema_tests::examiner::{Examiner, Figures};
use windlass_schema_tests::recording::Head;
use windlass_schema_tests::schemas::Schemas;
use windlass_schema_tests::{self_check, sessions};
use windlass_sim::NetworkConditions;
use windlass_tests::wires::Speaker;

/// Simulated sessions in each revision and under all network conditions.
const SEEDS: u64 = 10;

/// How many faults are shown. Where there are more, they are mostly the same one.
const SHOWN_FAULTS: usize = 50;

fn main() -> ExitCode {
    let words: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [schemas, transcripts, wires, sources @ ..] = words.as_slice() else {
        eprintln!("usage: frames SCHEMAS TRANSCRIPTS WIRES SOURCES…");
        return ExitCode::FAILURE;
    };
    match run(schemas, transcripts, wires, sources) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(wrong) => {
            eprintln!("{wrong} frames of ours are not as the schemas say");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// How many frames are wrong.
fn run(schemas: &Path, transcripts: &Path, wires: &Path, sources: &[PathBuf]) -> Result<usize, String> {
    let schemas = Schemas::read(schemas)?;
    let (broken, unnoticed) = self_check::run(&schemas)?;
    if !unnoticed.is_empty() {
        return Err(format!("broken on purpose, and not noticed:\n{}", unnoticed.join("\n")));
    }
    println!("{broken} frames were broken on purpose, and each was noticed");

    let mut examiner = Examiner::new(schemas);
    for path in files(transcripts)? {
        examiner.conversation(&of_transcript(&path)?, &read(&path)?);
    }
    for path in files(wires)? {
        let text = read(&path)?;
        let head = Head::read(&text).map_err(|error| format!("{}: {error}", path.display()))?;
        examiner.recording(&head, &text).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    simulate(&mut examiner)?;

    for (source, figures) in examiner.figures() {
        report(source, figures);
    }
    for source in sources {
        let figures = source.to_str().and_then(|source| examiner.figures().get(source));
        if figures.is_none_or(|figures| figures.frames.is_empty()) {
            return Err(format!("nothing of `{}` was recorded", source.display()));
        }
    }
    println!("methods that no revision has, called by tests on purpose: {:?}", examiner.own_methods());
    report_coverage(examiner.schemas());
    for fault in examiner.faults().iter().take(SHOWN_FAULTS) {
        eprintln!("{}\n  {}\n  {}", fault.test, fault.frame, fault.complaints.join("\n  "));
    }
    Ok(examiner.faults().len())
}

fn simulate(examiner: &mut Examiner) -> Result<(), String> {
    for version in ProtocolVersion::ALL {
        for (name, conditions) in [
            ("calm", NetworkConditions::ideal()),
            ("bytewise", NetworkConditions::bytewise()),
            ("rough", NetworkConditions::rough()),
        ] {
            for seed in 0..SEEDS {
                let session = sessions::transcript(seed, conditions.clone(), version)?;
                let test = format!("session {seed}, {name}, {}", version.as_str());
                let (source, client, server) = ("sessions of all revisions".to_owned(), Speaker::Ours, Speaker::Ours);
                examiner.conversation(&Head { source, test: test.clone(), client, server }, &session);
                if name == "rough" {
                    let session = sessions::over_http::record(seed, conditions.clone(), version)?;
                    let source = "sessions of all revisions over HTTP".to_owned();
                    examiner.recording(&Head { source, test, client, server }, &session.connections)?;
                }
            }
        }
    }
    Ok(())
}

fn report(source: &str, figures: &Figures) {
    let (frames, shapes): (usize, usize) = (figures.frames.values().sum(), figures.shapes.values().sum());
    println!("{source}: {} conversations, {frames} frames of ours of {shapes} shapes", figures.conversations);
    for (version, frames) in &figures.frames {
        let shapes = figures.shapes.get(version).copied().unwrap_or_default();
        println!("  {}  {frames:>7}  {shapes:>6}", version.as_str());
    }
    if figures.null_ids > 0 {
        println!("  let pass: {} shapes of errors with a null id, before 2025-11-25", figures.null_ids);
    }
    if figures.cut > 0 {
        println!("  not looked at: {} frames that the transcripts cut short", figures.cut);
    }
    if figures.read_in_part > 0 {
        println!("  not looked at: the end of {} recordings that are too long", figures.read_in_part);
    }
    if figures.foreign > 0 {
        println!("  others said {} frames", figures.foreign);
    }
    for (rule, example) in &figures.foreign_faults {
        println!("  theirs are not always as the schemas say, which fails nobody here: {rule}");
        println!("    {}: {}", example.test, beginning(&example.frame));
        println!("    {}", beginning(&example.complaints.join("; ")));
    }
}

/// As much as anybody reads.
fn beginning(text: &str) -> String {
    const LONGEST: usize = 300;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Frames are held against the definitions of whole messages and results; these refer to the others.
fn report_coverage(schemas: &Schemas) {
    println!("definitions that frames were held against directly:");
    for version in ProtocolVersion::ALL {
        let (held, all) = schemas.of(version).coverage();
        println!("  {}  {held} of {all}", version.as_str());
    }
}

/// Which side of a test's transcript is ours: its name begins with it.
fn of_transcript(path: &Path) -> Result<Head, String> {
    let test = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let (client, server) = match test.split('_').next() {
        Some("client" | "negotiate") => (Speaker::Ours, Speaker::Raw),
        Some("server") => (Speaker::Raw, Speaker::Ours),
        _ => return Err(format!("{}: the name does not say which side is ours", path.display())),
    };
    Ok(Head { source: "transcripts".to_owned(), test, client, server })
}

/// The transcripts in a folder, in order. None at all is a mistake: it would pass for all being well.
fn files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let read = || -> std::io::Result<Vec<PathBuf>> {
        std::fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect()
    };
    let mut files = read().map_err(|error| format!("{}: {error}", folder.display()))?;
    files.retain(|path| path.extension() == Some(OsStr::new("txt")));
    files.sort();
    if files.is_empty() { Err(format!("{}: there are no transcripts", folder.display())) } else { Ok(files) }
}

/// What scripts say may be no text at all.
fn read(path: &Path) -> Result<String, String> {
    let bytes = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}
