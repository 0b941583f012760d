//! Streams of events: the same events however the stream is cut; and what is written is read.
//!
//! The first byte says which bounds there are and where the rest is cut. The rest is a stream; and then, if
//! that byte says so, the names, ids and data of events, with 0xFF between them, that are written and read.

#![no_main]

use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use windlass::codec::sse::{Bounds, EventDecoder, Frame, Oversized, write_comment, write_event, write_retry};
use windlass_fuzz::canary;
use windlass_fuzz::cuts::deliveries;

fuzz_target!(|input: &[u8]| {
    let Some((&choice, bytes)) = input.split_first() else { return };
    let bounds = match choice % 3 {
        0 => Bounds::default(),
        1 => Bounds::for_events_of(64),
        _ => {
            let mut tight = Bounds::for_events_of(17);
            (tight.line_bytes, tight.name_bytes, tight.skipped_bytes) = (20, 4, 60);
            tight
        }
    };
    let [whole, bytewise, cut] = deliveries(bytes, choice).map(|pieces| {
        let stream = decode(&pieces, bounds);
        if canary() && pieces.len() > 1 { damaged(stream) } else { stream }
    });
    assert_eq!(whole, bytewise, "whole and byte by byte");
    assert_eq!(whole, cut, "whole and cut");
    if choice & 0x80 != 0 {
        what_is_written_is_read(bytes, choice);
    }
});

/// What was read of a stream.
#[derive(Debug, PartialEq)]
struct Stream {
    events: Vec<Seen>,
    last_event_id: String,
    retry: Option<Duration>,
    /// Whether nothing was cut off by its end.
    clean: bool,
}

/// An event, with the id and the retry time that were in force then.
#[derive(Debug, PartialEq)]
struct Seen {
    what: What,
    id: String,
    retry: Option<Duration>,
}

#[derive(Debug, PartialEq)]
enum What {
    Event { name: Option<String>, data: Vec<u8> },
    Oversized(Oversized),
    Endless,
}

fn decode(pieces: &[&[u8]], bounds: Bounds) -> Stream {
    let mut decoder = EventDecoder::new(bounds);
    let mut unread = Vec::new();
    let mut events: Vec<Seen> = Vec::new();
    for piece in pieces {
        unread.extend_from_slice(piece);
        loop {
            let (consumed, frame) = decoder.next(&unread);
            let done = frame.is_none();
            if let Some(frame) = frame {
                assert!(events.last().is_none_or(|seen| seen.what != What::Endless), "nothing comes behind no end");
                let what = match frame {
                    Frame::Event(event) => {
                        let data = event.data.bytes(&unread).to_vec();
                        assert!(data.len() <= bounds.event_bytes);
                        assert!(event.name.as_ref().is_none_or(|name| name.len() <= 3 * bounds.name_bytes));
                        What::Event { name: event.name, data }
                    }
                    Frame::Oversized(oversized) => What::Oversized(oversized),
                    Frame::Endless => What::Endless,
                };
                events.push(Seen { what, id: decoder.last_event_id().to_owned(), retry: decoder.retry() });
            }
            unread.drain(..consumed);
            if done {
                assert!(unread.len() <= bounds.line_bytes.max(Bounds::LEAST_LINE), "no more is kept than a line");
                break;
            }
        }
    }
    let clean = decoder.finish();
    Stream { events, last_event_id: decoder.last_event_id().to_owned(), retry: decoder.retry(), clean }
}

fn what_is_written_is_read(bytes: &[u8], choice: u8) {
    let mut written = Vec::new();
    let mut expected = Vec::new();
    let (mut id, mut retry) = (String::new(), None);
    let parts: Vec<_> = bytes.split(|byte| *byte == 0xFF).collect();
    for event in parts.chunks(3) {
        let &[name, new_id, data] = event else { break };
        let text = |part: &[u8]| (!part.is_empty()).then(|| String::from_utf8_lossy(part).into_owned());
        let (name, new_id) = (text(name), text(new_id));
        let before = written.len();
        if write_event(&mut written, name.as_deref(), new_id.as_deref(), data).is_err() {
            assert_eq!(written.len(), before, "what cannot be written leaves no trace");
            continue;
        }
        id = new_id.unwrap_or(id);
        let data = String::from_utf8_lossy(data).replace("\r\n", "\n").replace('\r', "\n");
        expected.push((name.filter(|name| name != "message"), data, id.clone(), retry));
        write_comment(&mut written, &expected[0].1);
        let pause = Duration::from_millis(u64::from(choice));
        write_retry(&mut written, pause);
        retry = Some(pause);
    }
    for pieces in deliveries(&written, choice) {
        let read = decode(&pieces, Bounds::default());
        assert_eq!((&read.last_event_id, read.retry, read.clean), (&id, retry, true));
        let events = read.events.into_iter().map(|seen| match seen.what {
            What::Event { name, data } => (name, String::from_utf8_lossy(&data).into_owned(), seen.id, seen.retry),
            other => panic!("{other:?}"),
        });
        assert!(events.eq(expected.iter().cloned()), "{expected:?}");
    }
}

/// The planted bug: the third event has another id, if it has a name.
fn damaged(mut stream: Stream) -> Stream {
    if let Some(Seen { what: What::Event { name: Some(_), .. }, id, .. }) = stream.events.get_mut(2) {
        id.push('!');
    }
    stream
}
