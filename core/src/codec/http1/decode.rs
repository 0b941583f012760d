//! From bytes to messages: which part of a message the next byte belongs to.
//!
//! All states of a connection's incoming side, and all steps between them, are in this file:
//!
//! ```text
//!            ┌──────────── the peer keeps the connection ───────────┐
//!            ▼                                                      │
//!          Head ──── Frame::Head ───▶ Body ──── Frame::End ─────────┤
//!            │ (a response: 101)       │                            ▼
//!            ├─────▶ Upgraded          │                      Over (the rest is dropped)
//!            └────────────┬────────────┘
//!                         ▼
//!                  Failed, for good
//! ```

use alloc::collections::VecDeque;
use core::ops::Range;

use super::body::{BodyDecoder, Piece};
use super::head::HeadScanner;
use super::response::Answers;
use super::{Bounds, HttpFault, RequestHead, ResponseHead};

/// Blank lines before a request that are overlooked: old clients end a body with one that nothing announced
/// (RFC 9112 section 2.2). One is usual, two generous.
const BLANK_LINES: usize = 2;

/// What a decoder found. Each message is a head, any number of pieces of its body, and an end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame<Head> {
    /// A message begins.
    Head(Head),
    /// A part of its body, as a range of the bytes given. Where the body is cut says nothing.
    Body(Range<usize>),
    /// The message is complete. Trailers were dropped.
    End,
}

#[derive(Debug)]
enum State {
    /// Between messages, or in a head that is not complete.
    Head(HeadScanner),
    Body(BodyDecoder),
    /// The last message of this connection is complete; what still comes is no message.
    Over,
    /// What still comes is of another protocol.
    Upgraded,
    Failed(HttpFault),
}

/// Reads requests, one behind the other, from what a client sends.
///
/// ```
/// use windlass::codec::http1::{Bounds, Frame, RequestDecoder};
///
/// let mut decoder = RequestDecoder::new(Bounds::default());
/// let mut unread = &b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}"[..];
///
/// let (consumed, frame) = decoder.next(unread)?;
/// let Some(Frame::Head(head)) = frame else { panic!("the head is there") };
/// assert_eq!((&head.method[..], &head.target[..], head.headers.get("host")), ("POST", "/mcp", Some("localhost")));
/// unread = &unread[consumed..];
///
/// let (consumed, frame) = decoder.next(unread)?;
/// let Some(Frame::Body(range)) = frame else { panic!("the body is there") };
/// assert_eq!(&unread[range], b"{}");
/// unread = &unread[consumed..];
///
/// assert_eq!(decoder.next(unread)?, (0, Some(Frame::End)));
/// assert!(decoder.keep_alive());
/// assert_eq!(decoder.finish()?, None);
/// # Ok::<(), windlass::codec::http1::HttpFault>(())
/// ```
#[derive(Debug)]
pub struct RequestDecoder {
    bounds: Bounds,
    state: State,
    blank_lines: usize,
    keep_alive: bool,
}

impl RequestDecoder {
    /// A decoder for a connection that begins.
    pub fn new(bounds: Bounds) -> Self {
        Self { bounds, state: State::Head(HeadScanner::default()), blank_lines: 0, keep_alive: true }
    }

    /// Looks for the next frame in `unread`: the bytes that were not consumed yet, with any new ones behind them.
    /// Returns how many bytes are done with, and the frame. Bytes that were consumed must not be given again.
    ///
    /// Call it until there is no frame, with no bytes too: the end of a message may need none. A fault is final; the
    /// same one is returned from then on.
    pub fn next(&mut self, unread: &[u8]) -> Result<(usize, Option<Frame<RequestHead>>), HttpFault> {
        let found = self.advance(unread);
        latch(found, &mut self.state, &mut self.keep_alive)
    }

    /// The client sends nothing more. Call it when [`next`](Self::next) has found no further frame. A fault if that is
    /// inside a request.
    pub fn finish(&mut self) -> Result<Option<Frame<RequestHead>>, HttpFault> {
        let finished = finish(&mut self.state, None);
        self.keep_alive = false;
        latch(finished, &mut self.state, &mut self.keep_alive)
    }

    /// Whether the client may send another request behind the one whose head was the last to be seen. If not, the
    /// connection is to be closed when that one has been answered; what the client still sends is dropped.
    pub fn keep_alive(&self) -> bool {
        self.keep_alive
    }

    fn advance(&mut self, unread: &[u8]) -> Result<(usize, Option<Frame<RequestHead>>), HttpFault> {
        match &mut self.state {
            State::Head(scanner) => {
                let skipped = skip_blank_lines(scanner, &mut self.blank_lines, unread);
                let unread = &unread[skipped..];
                // Half a blank line is not the start of a head yet.
                if scanner.is_fresh() && unread == b"\r" && self.blank_lines < BLANK_LINES {
                    return Ok((skipped, None));
                }
                let Some(extent) = scanner.find_end(unread, &self.bounds)? else { return Ok((skipped, None)) };
                let head = RequestHead::parse(&unread[..extent.length], &extent)?;
                self.blank_lines = 0;
                self.keep_alive = head.keep_alive();
                self.state = State::Body(BodyDecoder::new(head.framing));
                Ok((skipped + extent.length, Some(Frame::Head(head))))
            }
            State::Body(_) => advance_body(&mut self.state, unread, self.keep_alive, &self.bounds),
            State::Over => Ok((unread.len(), None)),
            State::Upgraded => Ok((0, None)),
            State::Failed(fault) => Err(*fault),
        }
    }
}

/// Reads responses from what a server sends. It has to be told of each request, for its method decides whether the
/// response has a body.
///
/// ```
/// use windlass::codec::http1::{Bounds, Frame, ResponseDecoder};
///
/// let mut decoder = ResponseDecoder::new(Bounds::default());
/// decoder.expect("POST");
/// let unread = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n";
/// let (consumed, frame) = decoder.next(unread)?;
/// let Some(Frame::Head(head)) = frame else { panic!("the head is there") };
/// assert_eq!(head.status, 202);
/// assert_eq!(decoder.next(&unread[consumed..])?, (0, Some(Frame::End)));
/// assert!(decoder.keep_alive());
/// # Ok::<(), windlass::codec::http1::HttpFault>(())
/// ```
#[derive(Debug)]
pub struct ResponseDecoder {
    bounds: Bounds,
    state: State,
    /// The requests that were sent and have no response yet.
    expected: VecDeque<Answers>,
    interim_responses: usize,
    keep_alive: bool,
}

impl ResponseDecoder {
    /// A decoder for a connection that begins.
    pub fn new(bounds: Bounds) -> Self {
        let state = State::Head(HeadScanner::default());
        Self { bounds, state, expected: VecDeque::new(), interim_responses: 0, keep_alive: true }
    }

    /// A request is sent. Without it, whatever the server sends is a fault: an answer to nothing is a forgery, or a
    /// connection that lost its place.
    pub fn expect(&mut self, method: &str) {
        self.expected.push_back(Answers::to_method(method));
    }

    /// Looks for the next frame in `unread`, as [`RequestDecoder::next`] does. Interim responses are read over.
    pub fn next(&mut self, unread: &[u8]) -> Result<(usize, Option<Frame<ResponseHead>>), HttpFault> {
        let found = self.advance(unread);
        if matches!(found, Ok((_, Some(Frame::End)))) {
            self.interim_responses = 0;
        }
        latch(found, &mut self.state, &mut self.keep_alive)
    }

    /// The server sends nothing more. Call it when [`next`](Self::next) has found no further frame, until there is none
    /// here either: for a body that ends with the connection this is where [`Frame::End`] comes from. A fault if a
    /// response is missing, wholly or in part.
    pub fn finish(&mut self) -> Result<Option<Frame<ResponseHead>>, HttpFault> {
        // Behind an interim response the request was certainly read.
        let missing = if self.interim_responses > 0 { HttpFault::Truncated } else { HttpFault::Unanswered };
        let finished = finish(&mut self.state, (!self.expected.is_empty()).then_some(missing));
        self.keep_alive = false;
        latch(finished, &mut self.state, &mut self.keep_alive)
    }

    /// Whether another request may be sent behind the one whose response was the last to begin.
    pub fn keep_alive(&self) -> bool {
        self.keep_alive
    }

    /// Whether there were interim responses before the one that was the last to begin.
    #[cfg(feature = "client")]
    pub(crate) fn had_interim_responses(&self) -> bool {
        self.interim_responses > 0
    }

    /// Whether the server has switched to another protocol (`101`, or a success of `CONNECT`). Nothing more is consumed.
    pub fn is_upgraded(&self) -> bool {
        matches!(self.state, State::Upgraded)
    }

    fn advance(&mut self, unread: &[u8]) -> Result<(usize, Option<Frame<ResponseHead>>), HttpFault> {
        match &mut self.state {
            State::Head(_) => self.advance_head(unread),
            State::Body(_) => advance_body(&mut self.state, unread, self.keep_alive, &self.bounds),
            State::Over => Ok((unread.len(), None)),
            State::Upgraded => Ok((0, None)),
            State::Failed(fault) => Err(*fault),
        }
    }

    fn advance_head(&mut self, unread: &[u8]) -> Result<(usize, Option<Frame<ResponseHead>>), HttpFault> {
        let mut consumed = 0;
        while let State::Head(scanner) = &mut self.state {
            let rest = &unread[consumed..];
            if rest.is_empty() {
                break;
            }
            let answers = *self.expected.front().ok_or(HttpFault::Unsolicited)?;
            let Some(extent) = scanner.find_end(rest, &self.bounds)? else { break };
            let head = ResponseHead::parse(&rest[..extent.length], &extent, answers)?;
            consumed += extent.length;
            *scanner = HeadScanner::default();
            if head.is_interim() {
                self.interim_responses += 1;
                if self.interim_responses > self.bounds.interim_responses {
                    return Err(HttpFault::TooManyInterimResponses);
                }
                continue;
            }
            self.expected.pop_front();
            let upgraded = head.ends_http(answers);
            self.keep_alive = head.keep_alive() && !upgraded;
            self.state = if upgraded { State::Upgraded } else { State::Body(BodyDecoder::new(head.framing)) };
            return Ok((consumed, Some(Frame::Head(head))));
        }
        Ok((consumed, None))
    }
}

/// A fault is kept, and nothing may follow it.
fn latch<T>(found: Result<T, HttpFault>, state: &mut State, keep_alive: &mut bool) -> Result<T, HttpFault> {
    if let Err(fault) = &found {
        *state = State::Failed(*fault);
        *keep_alive = false;
    }
    found
}

fn advance_body<Head>(
    state: &mut State,
    unread: &[u8],
    keep_alive: bool,
    bounds: &Bounds,
) -> Result<(usize, Option<Frame<Head>>), HttpFault> {
    let State::Body(body) = state else { return Ok((0, None)) };
    let (consumed, piece) = body.next(unread, bounds)?;
    let frame = piece.map(|piece| match piece {
        Piece::Bytes(range) => Frame::Body(range),
        Piece::End => {
            *state = if keep_alive { State::Head(HeadScanner::default()) } else { State::Over };
            Frame::End
        }
    });
    Ok((consumed, frame))
}

/// The connection has ended. `missing` is the fault of ending between messages, if it is one.
fn finish<Head>(state: &mut State, missing: Option<HttpFault>) -> Result<Option<Frame<Head>>, HttpFault> {
    match core::mem::replace(state, State::Over) {
        State::Head(scanner) if !scanner.is_fresh() => Err(HttpFault::Truncated),
        State::Head(_) | State::Over => missing.map_or(Ok(None), Err),
        State::Body(body) if body.may_end_here() => Ok(Some(Frame::End)),
        State::Body(_) => Err(HttpFault::Truncated),
        State::Upgraded => Ok(None),
        State::Failed(fault) => Err(fault),
    }
}

/// Skips the blank lines before a request that are put up with. Returns how many bytes these are.
fn skip_blank_lines(scanner: &HeadScanner, skipped_lines: &mut usize, unread: &[u8]) -> usize {
    let mut skipped = 0;
    while scanner.is_fresh() && *skipped_lines < BLANK_LINES && unread[skipped..].starts_with(b"\r\n") {
        *skipped_lines += 1;
        skipped += 2;
    }
    skipped
}
