//! What a client sends: the requests in it are the same however it is cut, and each can be written as it was read.
//!
//! The first byte says which bounds there are and where the rest is cut.

#![no_main]

use libfuzzer_sys::fuzz_target;
use windlass::codec::http1::{Bounds, Framing, RequestDecoder, RequestHead, Version, write_request};
use windlass_fuzz::canary;
use windlass_fuzz::cuts::deliveries;
use windlass_fuzz::http1::{Seen, bounds, decode};

fuzz_target!(|input: &[u8]| {
    let Some((&choice, bytes)) = input.split_first() else { return };
    let bounds = bounds(choice & 1 == 1);
    let [whole, bytewise, cut] = deliveries(bytes, choice).map(|pieces| {
        let seen = decode(&mut RequestDecoder::new(bounds), &pieces, &bounds);
        if canary() && pieces.len() > 1 { damaged(seen) } else { seen }
    });
    assert_eq!(whole, bytewise, "whole and byte by byte");
    assert_eq!(whole, cut, "whole and cut");
    for seen in &whole {
        if let Seen::Head(head) = seen {
            survives(head);
        }
    }
});

/// Whoever passes a request on says the same.
fn survives(head: &RequestHead) {
    assert_ne!(head.framing, Framing::UntilClose);
    if head.version == Version::Http10 {
        // What we write is HTTP/1.1, and has to name a host.
        return;
    }
    let ours = |name: &&str| ["content-length", "transfer-encoding"].iter().any(|ours| ours.eq_ignore_ascii_case(name));
    let headers: Vec<_> = head.headers.iter().filter(|(name, _)| !ours(name)).collect();
    let mut written = Vec::new();
    write_request(&mut written, &head.method, &head.target, headers.iter().copied(), head.framing)
        .unwrap_or_else(|why| panic!("{why}: {head:?}"));
    let mut roomy = Bounds::default();
    roomy.head_bytes = usize::MAX;
    let mut decoder = RequestDecoder::new(roomy);
    let Seen::Head(again) = &decode(&mut decoder, &[&written], &roomy)[0] else { panic!("{head:?}") };
    assert_eq!((&again.method, &again.target, again.framing), (&head.method, &head.target, head.framing));
    assert!(again.headers.iter().filter(|(name, _)| !ours(name)).eq(headers), "{head:?}");
    assert_eq!((again.keep_alive(), again.expects_continue()), (head.keep_alive(), head.expects_continue()));
}

/// The planted bug: the second request on a connection loses a byte of its body, if that is chunked and has an `x` in it.
fn damaged(mut seen: Vec<Seen<RequestHead>>) -> Vec<Seen<RequestHead>> {
    let mut requests = 0;
    let mut chunked = false;
    for seen in &mut seen {
        match seen {
            Seen::Head(head) => {
                requests += 1;
                chunked = head.framing == Framing::Chunked;
            }
            Seen::Body(body) if requests == 2 && chunked && body.contains(&b'x') => drop(body.pop()),
            _ => {}
        }
    }
    seen
}
