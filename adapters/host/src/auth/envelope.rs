//! How a record is written, with its server and its version: one object of JSON.

use serde::{Deserialize, Serialize};
use windlass::auth::{AuthRecord, Stored};

/// How it is written. A later program that writes it in another way says so by another number, and is not misunderstood.
const FORMAT: u32 = 1;
/// How long it may be: what is kept of a server takes some thousand bytes, and whatever is longer is no record.
pub(super) const LONGEST: usize = 4 << 20;

#[derive(Serialize)]
struct Written<'a> {
    format: u32,
    server: &'a str,
    version: u64,
    record: &'a AuthRecord,
}

#[derive(Deserialize)]
struct Format {
    format: u32,
}

#[derive(Deserialize)]
struct Envelope {
    server: String,
    version: u64,
    record: AuthRecord,
}

/// Writes it.
pub(super) fn encode(server: &str, version: u64, record: &AuthRecord) -> Result<Vec<u8>, String> {
    let written = Written { format: FORMAT, server, version, record };
    let mut bytes = serde_json::to_vec(&written).map_err(|_| String::from("the record cannot be written as JSON"))?;
    bytes.push(b'\n');
    if bytes.len() > LONGEST {
        return Err(format!("the record takes {} bytes, and {LONGEST} are the most that is kept", bytes.len()));
    }
    Ok(bytes)
}

/// Reads it: whose it is, and what. What is wrong is said without a word of the content, which is secret.
pub(super) fn decode(bytes: &[u8]) -> Result<(String, Stored), String> {
    let damaged = |error: serde_json::Error| {
        let what = if error.is_eof() { "ends too early" } else { "is no record" };
        format!("it is damaged: it {what}, at line {}, column {}", error.line(), error.column())
    };
    let Format { format } = serde_json::from_slice(bytes).map_err(damaged)?;
    if format != FORMAT {
        return Err(format!("it has format {format}, and this program knows format {FORMAT}: use a later one"));
    }
    let Envelope { server, version, record } = serde_json::from_slice(bytes).map_err(damaged)?;
    Ok((server, Stored { version, record }))
}

/// The same, if it is of this server.
pub(super) fn decode_of(server: &str, bytes: &[u8]) -> Result<Stored, String> {
    let (owner, stored) = decode(bytes)?;
    // Somebody has renamed it, or copied it.
    if owner == server { Ok(stored) } else { Err("it belongs to another server".into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_cut_off_is_noticed() {
        let bytes = encode("https://a.example/", 7, &AuthRecord::default()).unwrap();
        assert_eq!(decode_of("https://a.example/", &bytes), Ok(Stored { version: 7, record: AuthRecord::default() }));
        // Without the line's end it is complete.
        for length in 0..bytes.len() - 1 {
            assert!(decode(&bytes[..length]).is_err(), "{length}");
        }
        assert!(decode(&vec![0; bytes.len()]).is_err());
        assert!(decode(&bytes.repeat(2)).is_err());
    }

    #[test]
    fn errors_tell_nothing_of_the_content() {
        let text = r#"{"format":1,"server":"https://a.example/","version":"hunter2","record":{"lease":"hunter2"}}"#;
        let error = decode(text.as_bytes()).unwrap_err();
        assert!(error.contains("damaged") && !error.contains("hunter2"), "{error}");
    }

    #[test]
    fn later_formats_and_other_servers_are_told_apart() {
        let error = decode(br#"{"format":2,"tokens":[]}"#).unwrap_err();
        assert!(error.contains("use a later one"), "{error}");
        let bytes = encode("https://a.example/", 7, &AuthRecord::default()).unwrap();
        assert_eq!(decode_of("https://b.example/", &bytes), Err("it belongs to another server".into()));
    }
}
