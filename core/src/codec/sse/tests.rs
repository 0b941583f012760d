//! What one peer writes and the other one sees.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use quickcheck::quickcheck;

use super::*;

/// An event, or what is known of one that was too large (nothing, if it has no end), with the id and the retry time that
/// were in force then.
#[derive(Clone, Debug, PartialEq)]
struct Seen {
    frame: Result<(Option<String>, Vec<u8>), Option<Oversized>>,
    id: String,
    retry: Option<Duration>,
}

/// Feeds `chunks` one after the other, as a link does, and collects what comes out; last the id and the retry time that
/// are left, and whether anything was cut off.
fn decode<'a>(
    bounds: Bounds,
    chunks: impl IntoIterator<Item = &'a [u8]>,
) -> (Vec<Seen>, String, Option<Duration>, bool) {
    let mut decoder = EventDecoder::new(bounds);
    let mut unread = Vec::new();
    let mut seen = Vec::new();
    for chunk in chunks {
        unread.extend_from_slice(chunk);
        loop {
            let (consumed, frame) = decoder.next(&unread);
            let done = frame.is_none();
            if let Some(frame) = frame {
                let frame = match frame {
                    Frame::Event(event) => Ok((event.name, event.data.bytes(&unread).to_vec())),
                    Frame::Oversized(oversized) => Err(Some(oversized)),
                    Frame::Endless => Err(None),
                };
                seen.push(Seen { frame, id: decoder.last_event_id().to_owned(), retry: decoder.retry() });
            }
            unread.drain(..consumed);
            if done {
                assert!(unread.len() <= bounds.line_bytes.max(Bounds::LEAST_LINE), "no more is kept than a line");
                break;
            }
        }
    }
    let clean = decoder.finish();
    (seen, decoder.last_event_id().to_owned(), decoder.retry(), clean)
}

/// The events in `input`, whole, byte by byte and cut anywhere, as a person writes them: `name@id:data`.
fn events(input: &str) -> Vec<String> {
    let whole = decode(Bounds::default(), [input.as_bytes()]);
    assert_eq!(whole, decode(Bounds::default(), input.as_bytes().chunks(1)), "{input:?}");
    for at in 0..input.len() {
        let (first, second) = input.as_bytes().split_at(at);
        assert_eq!(whole, decode(Bounds::default(), [first, second]), "{input:?} cut at {at}");
    }
    whole
        .0
        .into_iter()
        .map(|seen| {
            let (name, data) = seen.frame.unwrap();
            alloc::format!("{}@{}:{}", name.unwrap_or_default(), seen.id, String::from_utf8_lossy(&data))
        })
        .collect()
}

#[test]
fn the_examples_of_the_standard() {
    assert_eq!(events("data: YHOO\ndata: +2\ndata: 10\n\n"), ["@:YHOO\n+2\n10"]);
    let stream = ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n";
    assert_eq!(events(stream), ["@1:first event", "@:second event", "@: third event"]);
    assert_eq!(events("data\n\ndata\ndata\n\ndata:"), ["@:", "@:\n"]);
    assert_eq!(events("data:test\n\ndata: test\n\n"), ["@:test", "@:test"]);
    assert_eq!(
        events("event: add\ndata: 73857293\n\nevent: remove\ndata: 2153\n\n"),
        ["add@:73857293", "remove@:2153"]
    );
}

#[test]
fn all_line_ends_and_their_mixtures() {
    for end in ["\n", "\r", "\r\n"] {
        let input = ["id: 1", "data: a", "data: b", "", "data: c", "", ""].join(end);
        assert_eq!(events(&input), ["@1:a\nb", "@1:c"], "{end:?}");
    }
    assert_eq!(events("data: a\r\n\rdata: b\n\r\ndata: c\r\r\n"), ["@:a", "@:b", "@:c"]);
    assert_eq!(events("data: a\n\r\ndata: b\r\n\n"), ["@:a", "@:b"]);
}

#[test]
fn a_byte_order_mark_counts_at_the_start_only() {
    assert_eq!(events("\u{feff}data: a\n\n\u{feff}data: b\n\ndata: \u{feff}\n\n"), ["@:a", "@:\u{feff}"]);
    assert_eq!(events("\u{feff}\u{feff}data: a\n\n"), [""; 0]);
    assert_eq!(events("\u{feff}\n\ndata: a\n\n"), ["@:a"]);
}

#[test]
fn blocks_without_data_are_no_events() {
    assert_eq!(events("event: x\n\nid: 5\n\nretry: 7\n\n: comment\n\nunknown: y\n\n\n\ndata: a\n\n"), ["@5:a"]);
    assert_eq!(events("data: cut off"), [""; 0]);
    assert_eq!(events("data: cut off\n"), [""; 0]);
    let (_, id, retry, clean) = decode(Bounds::default(), [&b"id: 5\nretry: 70\n\nid: 6\nretry: 80\n"[..]]);
    // The standard lets a retry time count at once, an id with its block.
    assert_eq!((&id[..], retry, clean), ("5", Some(Duration::from_millis(80)), false));
}

#[test]
fn an_event_that_primes_has_empty_data() {
    assert_eq!(events("id: p\ndata: \n\n"), ["@p:"]);
    let mut out = Vec::new();
    write_priming_event(&mut out, "p", Some(Duration::from_millis(500))).unwrap();
    assert_eq!(out, b"retry: 500\nid: p\ndata: \n\n");
    let (seen, ..) = decode(Bounds::default(), [&out[..]]);
    let frame = Ok((None, Vec::new()));
    assert_eq!(seen, [Seen { frame, id: "p".to_owned(), retry: Some(Duration::from_millis(500)) }]);
}

#[test]
fn fields_as_they_may_be_written() {
    assert_eq!(events("event: a\nevent: b\ndata: 1\n\ndata: 2\n\n"), ["b@:1", "@:2"]);
    assert_eq!(events("event: message\ndata: 1\n\nevent: x\nevent\ndata: 2\n\n"), ["@:1", "@:2"]);
    assert_eq!(events("id: 1\nid: a\0b\ndata: x\n\nid:\ndata: y\n\n"), ["@1:x", "@:y"]);
    assert_eq!(events("Data: x\n data: y\ndata : z\ndatax\n\ndata: a: b:\n\n"), ["@:a: b:"]);
    let id = decode(Bounds::default(), [&b"id: \xff\n\n"[..]]).1;
    assert_eq!(id, "\u{fffd}");
    let data = decode(Bounds::default(), [&b"data: \xff\n\n"[..]]).0;
    assert_eq!(data[0].frame, Ok((None, b"\xff".to_vec())));
}

#[test]
fn retry_times_are_plain_digits() {
    for (value, expected) in [
        ("0", Some(0)),
        ("0500", Some(500)),
        ("99999999999999999999999", Some(u64::MAX)),
        ("", None),
        ("-1", None),
        ("+1", None),
        ("1.5", None),
        ("1 ", None),
        ("5s", None),
        ("\u{665}", None),
    ] {
        let input = alloc::format!("retry: {value}\n");
        let (.., retry, _) = decode(Bounds::default(), [input.as_bytes()]);
        assert_eq!(retry, expected.map(Duration::from_millis), "{value}");
    }
    let (.., retry, _) = decode(Bounds::default(), [&b"retry: 5\nretry: x\n"[..]]);
    assert_eq!(retry, Some(Duration::from_millis(5)), "what is no time changes nothing");
}

#[test]
fn a_single_line_is_not_copied() {
    for input in ["data: abc\n\n", "id: 1\ndata:abc\r\nevent: x\r\n\r\n", ":\n\ndata: abc\r\rdata"] {
        let (_, frame) = EventDecoder::new(Bounds::default()).next(input.as_bytes());
        let Some(Frame::Event(event)) = frame else { panic!("an event") };
        let Data::Range(range) = event.data else { panic!("not copied") };
        assert_eq!(&input[range], "abc");
    }
}

/// What is seen of `input` within `bounds`: the lengths of events, and of data that was too long as a negative; the least
/// number for what has no end.
fn lengths(bounds: Bounds, input: &str) -> Vec<i64> {
    let whole = decode(bounds, [input.as_bytes()]);
    assert_eq!(whole, decode(bounds, input.as_bytes().chunks(1)), "{input:?}");
    let length = |seen: Seen| match seen.frame {
        Ok((_, data)) => i64::try_from(data.len()).unwrap(),
        Err(Some(oversized)) => -i64::try_from(oversized.length).unwrap(),
        Err(None) => i64::MIN,
    };
    whole.0.into_iter().map(length).collect()
}

#[test]
fn events_at_and_beyond_their_bounds() {
    let bounds = Bounds { line_bytes: 26, event_bytes: 30, name_bytes: 5, skipped_bytes: 100 };
    let next = "\ndata: 1\n\n";
    let line = |count: usize| alloc::format!("data: {}\n", "x".repeat(count));
    assert_eq!(lengths(bounds, &(line(20) + next)), [20, 1]);
    assert_eq!(lengths(bounds, &(line(21) + next)), [-21, 1]);
    assert_eq!(lengths(bounds, &(line(21) + "data: 1\n" + next)), [-23, 1]);
    assert_eq!(lengths(bounds, &(line(20) + &line(9) + next)), [30, 1]);
    assert_eq!(lengths(bounds, &(line(20) + &line(10) + next)), [-31, 1]);
    assert_eq!(lengths(bounds, &(line(20) + &line(21) + next)), [-42, 1]);
    assert_eq!(lengths(bounds, &("data\n".repeat(31) + next)), [30, 1]);
    assert_eq!(lengths(bounds, &("data\n".repeat(32) + next))[1..], [1]);
    for field in ["id", "event"] {
        assert_eq!(lengths(bounds, &alloc::format!("{field}: 12345\ndata: x\n{next}")), [1, 1]);
        assert_eq!(lengths(bounds, &alloc::format!("{field}: 123456\ndata: x\n{next}")), [-1, 1]);
        assert_eq!(lengths(bounds, &alloc::format!("data: x\n{field}: {}\n{next}", "y".repeat(90))), [-1, 1]);
    }
    let single = Bounds { line_bytes: 100, event_bytes: 30, name_bytes: 5, skipped_bytes: 100 };
    assert_eq!(lengths(single, &(line(30) + next)), [30, 1]);
    assert_eq!(lengths(single, &(line(31) + next)), [-31, 1]);
    let mark = alloc::format!("\u{feff}{}{next}", line(20));
    assert_eq!(lengths(bounds, &mark), [20, 1]);
}

#[test]
fn lines_that_mean_nothing_may_be_longer_than_others() {
    let bounds = Bounds { line_bytes: 20, event_bytes: 30, name_bytes: 5, skipped_bytes: 5000 };
    let long = "x".repeat(1000);
    let input =
        alloc::format!(": {long}\ndata: a\n:{long}\n{long}: 1\n{long}\nretry: 1{long}\ndatax: {long}\n\ndata: b\n\n");
    assert_eq!(lengths(bounds, &input), [1, 1]);
}

#[test]
fn what_has_no_end_is_given_up() {
    const ENDLESS: i64 = i64::MIN;
    let bounds = Bounds { line_bytes: 20, event_bytes: 30, name_bytes: 5, skipped_bytes: 100 };
    let next = "\n\ndata: 1\n\n";
    let long = |count: usize| "x".repeat(count);
    // One line, whatever it is.
    for start in ["data: ", "data:"] {
        assert_eq!(lengths(bounds, &alloc::format!("{start}{}{next}", long(100))), [-100, 1]);
        assert_eq!(lengths(bounds, &alloc::format!("{start}{}{next}", long(101))), [ENDLESS]);
    }
    for start in ["", ":", "id: ", "event: ", "retry: ", "unknown: "] {
        let fits = 100 - start.len();
        let seen = lengths(bounds, &alloc::format!("{start}{}{next}", long(fits)));
        assert!(seen.last() == Some(&1) && !seen.contains(&ENDLESS), "{start}");
        assert_eq!(lengths(bounds, &alloc::format!("{start}{}{next}", long(fits + 1))), [ENDLESS], "{start}");
    }
    // Many lines.
    assert_eq!(lengths(bounds, &("data\n".repeat(100) + next))[1..], [1]);
    for (line, fit) in [("data\n", 100), ("data: 7\n", 50), ("x\n", 50), ("x:\n", 33), ("id: 7\n", 16)] {
        assert!(!lengths(bounds, &(line.repeat(fit) + next)).contains(&ENDLESS), "{line}");
        assert_eq!(lengths(bounds, &(line.repeat(fit + 2) + next)), [ENDLESS], "{line}");
    }
    // Comments show that the server lives, and cost nothing.
    assert_eq!(lengths(bounds, &(": hello\n".repeat(1000) + "data: a\n" + &":\n".repeat(1000) + next)), [1, 1]);
}

#[test]
fn a_stream_goes_on_behind_what_had_no_end() {
    let bounds = Bounds { skipped_bytes: 100, ..Bounds::default() };
    let mut decoder = EventDecoder::new(bounds);
    let endless = alloc::format!("id: 4\nretry: 9\ndata: {}", "x".repeat(200));
    assert_eq!(decoder.next(endless.as_bytes()), (endless.len(), Some(Frame::Endless)));
    assert_eq!(decoder.next(b"\n\ndata: more\n\n"), (14, None));
    assert_eq!((decoder.last_event_id(), decoder.retry()), ("4", Some(Duration::from_millis(9))));
    assert!(!decoder.finish());
    assert!(matches!(decoder.next(b"data: b\n\n"), (9, Some(Frame::Event(_)))));
}

#[test]
fn an_oversized_event_leaves_its_ends_and_its_id() {
    let bounds = Bounds::for_events_of(1000);
    let input = alloc::format!("id: 4\nevent: x\ndata: head{}tail\nretry: 9\n\ndata: next\n\n", "x".repeat(2000));
    let (seen, ..) = decode(bounds, input.as_bytes().chunks(100));
    assert_eq!((seen.len(), &seen[0].id[..], seen[0].retry), (2, "4", Some(Duration::from_millis(9))));
    let Err(Some(oversized)) = &seen[0].frame else { panic!("too large") };
    assert_eq!((oversized.length, oversized.head.len(), oversized.tail.len()), (2008, 256, 256));
    assert!(oversized.head.starts_with(b"headxx") && oversized.tail.ends_with(b"xxtail"));
    assert_eq!(seen[1].frame, Ok((None, b"next".to_vec())));
}

#[test]
fn a_decoder_goes_on_with_the_stream_that_resumes() {
    let mut decoder = EventDecoder::new(Bounds::default());
    let first = b"id: 1\nretry: 3\ndata: a\n\ndata: cut\nda";
    let (consumed, _) = decoder.next(first);
    assert!(decoder.next(&first[consumed..]).1.is_none());
    assert!(!decoder.finish());
    assert_eq!((decoder.last_event_id(), decoder.retry()), ("1", Some(Duration::from_millis(3))));
    let second = b"\xEF\xBB\xBFdata: b\n\n";
    let Some(Frame::Event(event)) = decoder.next(second).1 else { panic!("an event") };
    assert_eq!(event.data.bytes(second), b"b");
    assert!(decoder.finish());
}

#[test]
fn events_are_written_a_field_a_line() {
    let mut out = Vec::new();
    write_event(&mut out, Some("endpoint"), Some(""), b"/a\r\nb\rc\n").unwrap();
    write_retry(&mut out, Duration::from_secs(2));
    write_comment(&mut out, "");
    write_comment(&mut out, "two\nlines");
    let expected =
        "event: endpoint\nid: \ndata: /a\ndata: b\ndata: c\ndata: \n\nretry: 2000\n\n: \n\n: two\n: lines\n\n";
    assert_eq!(String::from_utf8_lossy(&out), expected);
    for bad in ["a\nb", "a\rb", "\0"] {
        let before = out.clone();
        assert_eq!(write_event(&mut out, Some(bad), None, b""), Err(Unsendable::Name));
        assert_eq!(write_event(&mut out, None, Some(bad), b""), Err(Unsendable::Id));
        assert_eq!(write_priming_event(&mut out, bad, Some(Duration::ZERO)), Err(Unsendable::Id));
        assert_eq!(out, before);
    }
}

/// `input` in pieces.
fn cut<'a>(input: &'a [u8], cuts: &[usize]) -> Vec<&'a [u8]> {
    let mut pieces = Vec::new();
    let mut rest = input;
    for cut in cuts {
        let (piece, after) = rest.split_at(cut % (rest.len() + 1));
        pieces.push(piece);
        rest = after;
    }
    pieces.push(rest);
    pieces
}

/// Pieces of the grammar, whole and broken.
const FRAGMENTS: [&[u8]; 24] = [
    b"data: a message\n",
    b"data: x\n\n",
    b"data:",
    b"data",
    b"event: name\n",
    b"event:",
    b"id: 17\n",
    b"id:",
    b"retry: 50\r\n",
    b"retry:",
    b": comment\r",
    b":",
    b" ",
    b"\n",
    b"\n\n",
    b"\r",
    b"\r\n",
    b"\r\n\r\n",
    b"\0",
    b"\xEF\xBB\xBF",
    b"\xff",
    b"something rather long",
    b"123456",
    b"x",
];

/// The line ends of `text` as they come back.
fn normalized(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n")
}

quickcheck! {
    fn chunking_changes_nothing(picks: Vec<u8>, noise: Vec<u8>, cuts: Vec<usize>, tight: bool) -> bool {
        let tight_bounds = Bounds { line_bytes: 20, event_bytes: 17, name_bytes: 4, skipped_bytes: 60 };
        let bounds = if tight { tight_bounds } else { Bounds::default() };
        let sown = picks.iter().flat_map(|pick| FRAGMENTS[usize::from(*pick) % FRAGMENTS.len()]).copied().collect();
        [sown, noise].iter().all(|input: &Vec<u8>| {
            let whole = decode(bounds, [&input[..]]);
            whole == decode(bounds, input.chunks(1)) && whole == decode(bounds, cut(input, &cuts))
        })
    }

    fn events_are_read_as_they_were_written(written: Vec<(Option<String>, Option<String>, String)>, cuts: Vec<usize>) -> bool {
        let mut out = Vec::new();
        let mut expected = Vec::new();
        let mut id = String::new();
        for (name, new_id, data) in &written {
            // Line ends are rare in random text, so some are sown.
            let data = data.replace('a', "\r\n").replace('b', "\n").replace('c', "\r");
            if write_event(&mut out, name.as_deref(), new_id.as_deref(), data.as_bytes()).is_err() {
                continue;
            }
            write_comment(&mut out, &data);
            id = new_id.clone().unwrap_or(id);
            let name = name.clone().filter(|name| !name.is_empty());
            let frame = Ok((name, normalized(&data).into_bytes()));
            expected.push(Seen { frame, id: id.clone(), retry: None });
        }
        let (seen, last, _, clean) = decode(Bounds::default(), [&out[..]]);
        let cut = decode(Bounds::default(), cut(&out, &cuts));
        seen == expected && last == id && clean && cut == (seen, last, None, true)
    }
}
