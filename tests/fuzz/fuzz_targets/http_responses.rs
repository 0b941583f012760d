//! What a server sends: the responses in it are the same however it is cut, and each can be written as it was read.
//!
//! The first byte says which bounds there are and where the rest is cut, the second one what was asked.

#![no_main]

use libfuzzer_sys::fuzz_target;
use windlass::codec::http1::{Bounds, Framing, ResponseDecoder, ResponseHead, Version, write_response};
use windlass_fuzz::canary;
use windlass_fuzz::cuts::deliveries;
use windlass_fuzz::http1::{Seen, bounds, decode};

fuzz_target!(|input: &[u8]| {
    let &[choice, asked, ref bytes @ ..] = input else { return };
    let bounds = bounds(choice & 1 == 1);
    let [whole, bytewise, cut] = deliveries(bytes, choice).map(|pieces| {
        let mut decoder = ResponseDecoder::new(bounds);
        methods(asked).for_each(|method| decoder.expect(method));
        let seen = decode(&mut decoder, &pieces, &bounds);
        if canary() && pieces.len() > 1 { damaged(seen) } else { seen }
    });
    assert_eq!(whole, bytewise, "whole and byte by byte");
    assert_eq!(whole, cut, "whole and cut");
    let answers = whole.iter().filter(|seen| matches!(seen, Seen::Head(_))).count();
    assert!(answers <= methods(asked).count(), "nothing is answered twice");
    for seen in &whole {
        if let Seen::Head(head) = seen {
            survives(head);
        }
    }
});

/// Up to three requests.
fn methods(asked: u8) -> impl Iterator<Item = &'static str> {
    const METHODS: [&str; 4] = ["POST", "GET", "HEAD", "CONNECT"];
    let count = usize::from(asked % 4);
    (0..count).map(move |at| METHODS[usize::from(asked >> (2 + 2 * at)) % 4])
}

/// Whoever passes a response on says the same.
fn survives(head: &ResponseHead) {
    assert!((100..1000).contains(&head.status));
    let ours = |name: &&str| ["content-length", "transfer-encoding"].iter().any(|ours| ours.eq_ignore_ascii_case(name));
    let headers: Vec<_> = head.headers.iter().filter(|(name, _)| !ours(name)).collect();
    let no_body = matches!(head.status, 100..200 | 204 | 304);
    let framing = match head.framing {
        // What has none because of the request is written as what it would have been.
        Framing::Empty if !no_body => Framing::Length(0),
        framing => framing,
    };
    let mut written = Vec::new();
    write_response(&mut written, head.status, headers.iter().copied(), framing)
        .unwrap_or_else(|why| panic!("{why}: {head:?}"));
    let mut roomy = Bounds::default();
    roomy.head_bytes = usize::MAX;
    let mut decoder = ResponseDecoder::new(roomy);
    decoder.expect("GET");
    if (100..200).contains(&head.status) && head.status != 101 {
        panic!("an interim response is not told: {head:?}");
    }
    let Seen::Head(again) = &decode(&mut decoder, &[&written], &roomy)[0] else { panic!("{head:?}") };
    assert_eq!((again.status, again.framing), (head.status, framing));
    assert!(again.headers.iter().filter(|(name, _)| !ours(name)).eq(headers), "{head:?}");
    if head.version == Version::Http11 && framing == head.framing {
        assert_eq!(again.keep_alive(), head.keep_alive());
    }
}

/// The planted bug: the second answer loses a byte of its body, if that is chunked and has more than two.
fn damaged(mut seen: Vec<Seen<ResponseHead>>) -> Vec<Seen<ResponseHead>> {
    let mut responses = 0;
    let mut chunked = false;
    for seen in &mut seen {
        match seen {
            Seen::Head(head) => {
                responses += 1;
                chunked = head.framing == Framing::Chunked;
            }
            Seen::Body(body) if responses == 2 && chunked && body.len() > 2 => drop(body.pop()),
            _ => {}
        }
    }
    seen
}
