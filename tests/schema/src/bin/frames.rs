//! `frames SCHEMAS TRANSCRIPTS RECORDINGS`: validates every frame that our side put on a wire.
//!
//! The transcripts are those of the tests, where the other side is often scripted and wrong on purpose; in the
//! recordings of real wires, and in the simulated sessions, both sides are ours.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::Value;
use windlass::model::ProtocolVersion;
use windlass_schema_tests::check::check;
use windlass_schema_tests::conversation::Conversation;
use windlass_schema_tests::schemas::Schemas;
use windlass_schema_tests::{sessions, transcript};
use windlass_sim::{Side, Weather};

/// Simulated sessions in each revision and weather.
const SEEDS: u64 = 10;

fn main() -> ExitCode {
    let words: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [schemas, transcripts, recordings] = words.as_slice() else {
        eprintln!("usage: frames SCHEMAS TRANSCRIPTS RECORDINGS");
        return ExitCode::FAILURE;
    };
    match run(schemas, transcripts, recordings) {
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
fn run(schemas: &Path, transcripts: &Path, recordings: &Path) -> Result<usize, String> {
    let mut frames = Frames { schemas: Schemas::read(schemas)?, count: Count::default(), wrong: 0 };
    for path in files(transcripts)? {
        frames.conversation(&name(&path), &read(&path)?, ours(&path)?);
    }
    frames.report("transcripts of the tests");
    for path in files(recordings)? {
        frames.conversation(&name(&path), &read(&path)?, &[Side::Client, Side::Server]);
    }
    frames.report("recorded wires");
    for version in ProtocolVersion::ALL {
        for (weather_name, weather) in
            [("calm", Weather::calm()), ("bytewise", Weather::bytewise()), ("rough", Weather::rough())]
        {
            for seed in 0..SEEDS {
                let session = sessions::transcript(seed, weather.clone(), version)?;
                let name = format!("session {seed}, {weather_name}, {}", version.as_str());
                frames.conversation(&name, &session, &[Side::Client, Side::Server]);
            }
        }
    }
    frames.report("simulated sessions");
    frames.report_coverage();
    Ok(frames.wrong)
}

struct Frames {
    schemas: Schemas,
    /// Of the source that is being read.
    count: Count,
    wrong: usize,
}

#[derive(Default)]
struct Count {
    conversations: usize,
    frames: BTreeMap<ProtocolVersion, usize>,
    cut: usize,
    null_ids: usize,
}

impl Frames {
    fn conversation(&mut self, name: &str, text: &str, ours: &[Side]) {
        self.count.conversations += 1;
        let mut conversation = Conversation::default();
        for line in transcript::lines(text) {
            let is_ours = ours.contains(&line.sender);
            match serde_json::from_str::<Value>(line.text) {
                // Ours never sends batches; a scripted peer may, and its requests are to be known.
                Ok(Value::Array(entries)) if !is_ours => entries.iter().for_each(|entry| {
                    conversation.follow(line.sender, entry);
                }),
                Ok(message) => {
                    let place = conversation.follow(line.sender, &message);
                    if is_ours {
                        *self.count.frames.entry(place.version).or_default() += 1;
                        let findings = check(self.schemas.of(place.version), line.sender, &message, &place);
                        self.count.null_ids += usize::from(findings.null_id_waived);
                        self.wrong += usize::from(!findings.violations.is_empty());
                        for violation in findings.violations {
                            eprintln!("{name}\n  {}\n  {violation}", line.text);
                        }
                    }
                }
                Err(_) if line.is_cut => self.count.cut += usize::from(is_ours),
                Err(error) if is_ours => {
                    self.wrong += 1;
                    eprintln!("{name}\n  {}\n  {error}", line.text);
                }
                Err(_) => {}
            }
        }
    }

    fn report(&mut self, source: &str) {
        let count = std::mem::take(&mut self.count);
        let frames: usize = count.frames.values().sum();
        println!("{source}: {} conversations, {frames} frames of ours", count.conversations);
        for (version, frames) in &count.frames {
            println!("  {}  {frames}", version.as_str());
        }
        if count.null_ids > 0 {
            println!("  let pass: {} errors with a null id, before 2025-11-25", count.null_ids);
        }
        if count.cut > 0 {
            println!("  not looked at: {} frames that the transcripts cut short", count.cut);
        }
    }

    /// Frames are held against the definitions of whole messages and results; these refer to the others.
    fn report_coverage(&self) {
        println!("definitions that frames were held against directly:");
        for version in ProtocolVersion::ALL {
            let (held, all) = self.schemas.of(version).coverage();
            println!("  {}  {held} of {all}", version.as_str());
        }
    }
}

/// Which side of a test's transcript is ours: its name begins with it.
fn ours(path: &Path) -> Result<&'static [Side], String> {
    match name(path).split('_').next() {
        Some("client" | "negotiate") => Ok(&[Side::Client]),
        Some("server") => Ok(&[Side::Server]),
        _ => Err(format!("{}: the name does not say which side is ours", path.display())),
    }
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

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn name(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}
