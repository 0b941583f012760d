//! What the targets for requests and for responses have in common.

use std::fmt::Debug;

use windlass::codec::http1::{
    Bounds, Frame, Framing, HttpFault, RequestDecoder, RequestHead, ResponseDecoder, ResponseHead,
};

type Found<Head> = Result<(usize, Option<Frame<Head>>), HttpFault>;

/// A decoder of either direction.
pub trait Decode {
    type Head: Clone + Debug + PartialEq;
    fn next(&mut self, unread: &[u8]) -> Found<Self::Head>;
    fn finish(&mut self) -> Result<Option<Frame<Self::Head>>, HttpFault>;
    fn keep_alive(&self) -> bool;
    fn is_upgraded(&self) -> bool;
    fn framing(head: &Self::Head) -> Framing;
    fn headers(head: &Self::Head) -> usize;
}

impl Decode for RequestDecoder {
    type Head = RequestHead;

    fn next(&mut self, unread: &[u8]) -> Found<RequestHead> {
        self.next(unread)
    }

    fn finish(&mut self) -> Result<Option<Frame<RequestHead>>, HttpFault> {
        self.finish()
    }

    fn keep_alive(&self) -> bool {
        self.keep_alive()
    }

    fn is_upgraded(&self) -> bool {
        false
    }

    fn framing(head: &RequestHead) -> Framing {
        head.framing
    }

    fn headers(head: &RequestHead) -> usize {
        head.headers.len()
    }
}

impl Decode for ResponseDecoder {
    type Head = ResponseHead;

    fn next(&mut self, unread: &[u8]) -> Found<ResponseHead> {
        self.next(unread)
    }

    fn finish(&mut self) -> Result<Option<Frame<ResponseHead>>, HttpFault> {
        self.finish()
    }

    fn keep_alive(&self) -> bool {
        self.keep_alive()
    }

    fn is_upgraded(&self) -> bool {
        self.is_upgraded()
    }

    fn framing(head: &ResponseHead) -> Framing {
        head.framing
    }

    fn headers(head: &ResponseHead) -> usize {
        head.headers.len()
    }
}

/// Frames with the pieces of a body joined, for where it is cut says nothing. A fault is the last.
#[derive(Clone, Debug, PartialEq)]
pub enum Seen<Head> {
    Head(Head),
    Body(Vec<u8>),
    End,
    Fault(HttpFault),
}

/// Bounds that a fuzzer's inputs reach, or those that are used.
pub fn bounds(tight: bool) -> Bounds {
    let mut bounds = Bounds::default();
    if tight {
        bounds.start_line_bytes = 40;
        bounds.head_bytes = 120;
        bounds.headers = 4;
        bounds.chunk_line_bytes = 6;
        bounds.trailer_bytes = 24;
        bounds.interim_responses = 1;
    }
    bounds
}

/// Feeds `pieces` one after the other, as a link does, then the end of the connection; whatever is known to hold of a
/// decoder has to hold meanwhile.
pub fn decode<D: Decode>(decoder: &mut D, pieces: &[&[u8]], bounds: &Bounds) -> Vec<Seen<D::Head>> {
    let mut seen = Vec::new();
    let mut unread = Vec::new();
    let mut announced = Announced::default();
    for piece in pieces {
        unread.extend_from_slice(piece);
        loop {
            let (consumed, frame) = match decoder.next(&unread) {
                Ok(found) => found,
                Err(fault) => {
                    assert_eq!(decoder.next(&unread), Err(fault), "a fault is final");
                    assert_eq!(decoder.finish(), Err(fault), "a fault is final");
                    assert!(!decoder.keep_alive(), "nothing follows a fault");
                    seen.push(Seen::Fault(fault));
                    return seen;
                }
            };
            assert!(consumed <= unread.len());
            let done = frame.is_none();
            if let Some(frame) = frame {
                announced.check::<D>(&frame, bounds);
                see(&mut seen, frame, &unread[..consumed]);
            }
            unread.drain(..consumed);
            if done {
                assert!(unread.len() <= bounds.head_bytes || decoder.is_upgraded(), "no more is kept than a head");
                break;
            }
        }
    }
    loop {
        match decoder.finish() {
            Ok(None) => return seen,
            Ok(Some(frame)) => {
                announced.check::<D>(&frame, bounds);
                see(&mut seen, frame, &[]);
            }
            Err(fault) => {
                seen.push(Seen::Fault(fault));
                return seen;
            }
        }
    }
}

fn see<Head>(seen: &mut Vec<Seen<Head>>, frame: Frame<Head>, bytes: &[u8]) {
    match frame {
        Frame::Head(head) => seen.push(Seen::Head(head)),
        Frame::End => seen.push(Seen::End),
        Frame::Body(range) => match seen.last_mut() {
            Some(Seen::Body(body)) => body.extend_from_slice(&bytes[range]),
            _ => seen.push(Seen::Body(bytes[range].to_vec())),
        },
    }
}

/// What the last head said of its body, and how much of it has come.
#[derive(Default)]
struct Announced {
    framing: Option<Framing>,
    came: u64,
}

impl Announced {
    fn check<D: Decode>(&mut self, frame: &Frame<D::Head>, bounds: &Bounds) {
        match frame {
            Frame::Head(head) => {
                assert!(self.framing.is_none(), "a head comes behind an end");
                assert!(D::headers(head) <= bounds.headers);
                *self = Self { framing: Some(D::framing(head)), came: 0 };
            }
            Frame::Body(range) => {
                assert!(!range.is_empty(), "a piece of a body is never empty");
                self.came += range.len() as u64;
                match self.framing.expect("a body comes behind a head") {
                    Framing::Empty => panic!("an empty body has no bytes"),
                    Framing::Length(length) => assert!(self.came <= length, "no more comes than was announced"),
                    Framing::Chunked | Framing::UntilClose => {}
                }
            }
            Frame::End => match self.framing.take().expect("an end comes behind a head") {
                Framing::Length(length) => assert_eq!(self.came, length, "what was announced has come"),
                Framing::Empty | Framing::Chunked | Framing::UntilClose => {}
            },
        }
    }
}
