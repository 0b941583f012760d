//! How long a body is, and where it ends.

use core::ops::Range;

use super::{Bounds, Headers, HttpFault, Repeated, Version, is_token_byte, is_value_byte};

/// How the end of a body is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// There is no body, and no header about it.
    Empty,
    /// `Content-Length`: this many bytes.
    Length(u64),
    /// `Transfer-Encoding: chunked`: the body says itself where it ends.
    Chunked,
    /// The body of a response ends with the connection.
    UntilClose,
}

impl Framing {
    pub(super) fn of_request(version: Version, headers: &Headers) -> Result<Self, HttpFault> {
        Ok(Self::declared(version, headers)?.unwrap_or(Self::Empty))
    }

    pub(super) fn of_response(version: Version, headers: &Headers) -> Result<Self, HttpFault> {
        Ok(Self::declared(version, headers)?.unwrap_or(Self::UntilClose))
    }

    /// What the headers say. Everything that two readers could understand in two ways is refused.
    fn declared(version: Version, headers: &Headers) -> Result<Option<Self>, HttpFault> {
        match (headers.contains("content-length"), headers.only("transfer-encoding")) {
            (false, Ok(None)) => Ok(None),
            (true, Ok(None)) => content_length(headers).map(|length| Some(Self::Length(length))),
            (true, _) => Err(HttpFault::ConflictingFraming),
            (false, _) if version == Version::Http10 => Err(HttpFault::TransferEncodingInHttp10),
            (false, Ok(Some(coding))) if coding.eq_ignore_ascii_case("chunked") => Ok(Some(Self::Chunked)),
            (false, Ok(Some(_)) | Err(Repeated)) => Err(HttpFault::UnsupportedTransferEncoding),
        }
    }
}

/// Plain digits only: `str::parse` would take a sign.
fn content_length(headers: &Headers) -> Result<u64, HttpFault> {
    let Ok(Some(digits)) = headers.only("content-length") else { return Err(HttpFault::InvalidContentLength) };
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(HttpFault::InvalidContentLength);
    }
    digits.parse().map_err(|_| HttpFault::InvalidContentLength)
}

/// Finds the body in the bytes behind a head, and its end. Every byte is consumed as soon as it is seen.
#[derive(Debug)]
pub(super) struct BodyDecoder {
    state: State,
    /// Bytes of the line before the chunk, or of the trailers, so far.
    counted: usize,
    /// Bytes that chunks had to say about themselves, beyond what they carried.
    surplus: usize,
}

/// What the line before a chunk is free to take: sizes up to 4 GiB.
const FREE_LINE_BYTES: usize = 8;

/// What [`BodyDecoder::next`] found.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// A part of the body, as a range of the bytes given.
    Bytes(Range<usize>),
    /// Nothing more.
    End,
}

/// Where in the body the next byte is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// In a body that ends with the connection.
    UntilClose,
    /// In a body of which so much is left.
    Length(u64),
    /// In a chunked body.
    Chunked(Chunked),
    /// Behind the body.
    End,
}

/// Where in the chunks the next byte is. All steps between these are in [`Chunked::step`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Chunked {
    /// At the first digit of a size.
    SizeStart,
    /// Behind a digit of a size.
    Size(u64),
    /// In what follows a size on its line.
    Extension(u64),
    /// Behind the CR of the line with the size.
    SizeLineFeed(u64),
    /// In a chunk of which so much is left, never nothing.
    Data(u64),
    /// Behind a chunk.
    DataReturn,
    /// Behind the CR behind a chunk.
    DataLineFeed,
    /// At the start of a line behind the last chunk.
    TrailerStart,
    /// In the name of a trailer.
    TrailerName,
    /// In the value of a trailer.
    TrailerValue,
    /// Behind the CR of a trailer.
    TrailerLineFeed,
    /// Behind the CR of the blank line that ends the body.
    LastLineFeed,
    /// Behind the body.
    End,
}

impl BodyDecoder {
    pub(super) fn new(framing: Framing) -> Self {
        let state = match framing {
            Framing::Empty => State::End,
            Framing::Length(length) => State::Length(length),
            Framing::Chunked => State::Chunked(Chunked::SizeStart),
            Framing::UntilClose => State::UntilClose,
        };
        Self { state, counted: 0, surplus: 0 }
    }

    /// Looks for the next piece in `unread`. Returns how many bytes are done with, and the piece.
    pub(super) fn next(&mut self, unread: &[u8], bounds: &Bounds) -> Result<(usize, Option<Piece>), HttpFault> {
        let mut consumed = 0;
        loop {
            let rest = &unread[consumed..];
            match &mut self.state {
                State::End | State::Length(0) | State::Chunked(Chunked::End) => {
                    self.state = State::End;
                    return Ok((consumed, Some(Piece::End)));
                }
                _ if rest.is_empty() => return Ok((consumed, None)),
                State::UntilClose => return Ok((unread.len(), Some(Piece::Bytes(consumed..unread.len())))),
                State::Length(left) | State::Chunked(Chunked::Data(left)) => {
                    let count = usize::try_from(*left).map_or(rest.len(), |left| left.min(rest.len()));
                    *left -= count as u64;
                    self.surplus = self.surplus.saturating_sub(count);
                    if self.state == State::Chunked(Chunked::Data(0)) {
                        self.state = State::Chunked(Chunked::DataReturn);
                    }
                    return Ok((consumed + count, Some(Piece::Bytes(consumed..consumed + count))));
                }
                State::Chunked(chunked) => {
                    let line = self.counted;
                    *chunked = chunked.step(rest[0], &mut self.counted, bounds)?;
                    consumed += 1;
                    if matches!(chunked, Chunked::Data(_)) {
                        self.surplus += line.saturating_sub(FREE_LINE_BYTES);
                        if self.surplus > bounds.chunk_surplus_bytes {
                            return Err(HttpFault::ChunkLinesTooLong);
                        }
                    }
                }
            }
        }
    }

    /// Whether the end of the connection is the end of the body.
    pub(super) fn may_end_here(&self) -> bool {
        matches!(self.state, State::UntilClose | State::End | State::Length(0) | State::Chunked(Chunked::End))
    }
}

impl Chunked {
    /// What comes behind `byte`.
    fn step(self, byte: u8, counted: &mut usize, bounds: &Bounds) -> Result<Self, HttpFault> {
        match self {
            Self::SizeStart | Self::Size(_) | Self::Extension(_) if byte != b'\r' => {
                count(counted, bounds.chunk_line_bytes, HttpFault::ChunkLineTooLong)?;
            }
            Self::TrailerStart
            | Self::TrailerName
            | Self::TrailerValue
            | Self::TrailerLineFeed
            | Self::LastLineFeed => count(counted, bounds.trailer_bytes, HttpFault::TrailersTooLarge)?,
            _ => {}
        }
        Ok(match (self, byte) {
            (Self::SizeStart, _) => Self::Size(hex_digit(byte)?),
            (Self::Size(size) | Self::Extension(size), b'\r') => Self::SizeLineFeed(size),
            (Self::Size(size), b';') => Self::Extension(size),
            (Self::Size(_) | Self::Extension(_), b'\n') => return Err(HttpFault::BareLineEnd),
            (Self::Size(size), _) => {
                let digit = hex_digit(byte)?;
                let shifted = size.checked_mul(16).ok_or(HttpFault::MalformedChunk)?;
                Self::Size(shifted | digit)
            }
            (Self::Extension(size), _) if is_value_byte(byte) => Self::Extension(size),
            (Self::Extension(_), _) => return Err(HttpFault::MalformedChunk),

            (Self::SizeLineFeed(size), b'\n') => {
                *counted = 0;
                if size == 0 { Self::TrailerStart } else { Self::Data(size) }
            }
            (Self::SizeLineFeed(_), _) => return Err(HttpFault::BareLineEnd),

            // Behind the bytes that were promised there is something else than a line end: the size was a lie.
            (Self::DataReturn, b'\r') => Self::DataLineFeed,
            (Self::DataReturn, b'\n') => return Err(HttpFault::BareLineEnd),
            (Self::DataReturn, _) => return Err(HttpFault::MalformedChunk),
            (Self::DataLineFeed, b'\n') => Self::SizeStart,
            (Self::DataLineFeed, _) => return Err(HttpFault::BareLineEnd),

            (Self::TrailerStart, b'\r') => Self::LastLineFeed,
            (Self::TrailerName, b':') => Self::TrailerValue,
            (Self::TrailerStart | Self::TrailerName, _) if is_token_byte(byte) => Self::TrailerName,
            (Self::TrailerValue, b'\r') => Self::TrailerLineFeed,
            (Self::TrailerValue, _) if is_value_byte(byte) => Self::TrailerValue,
            (Self::TrailerStart | Self::TrailerValue, b'\n') => return Err(HttpFault::BareLineEnd),
            (Self::TrailerStart, b' ' | b'\t') => return Err(HttpFault::FoldedHeader),
            (Self::TrailerStart | Self::TrailerName | Self::TrailerValue, _) => {
                return Err(HttpFault::MalformedTrailer);
            }
            (Self::TrailerLineFeed, b'\n') => Self::TrailerStart,
            (Self::LastLineFeed, b'\n') => Self::End,
            (Self::TrailerLineFeed | Self::LastLineFeed, _) => return Err(HttpFault::BareLineEnd),

            // Not reached: the bytes of a chunk are taken at once, and behind the end there is nothing.
            (Self::Data(_) | Self::End, _) => return Err(HttpFault::MalformedChunk),
        })
    }
}

fn count(counted: &mut usize, bound: usize, fault: HttpFault) -> Result<(), HttpFault> {
    if *counted >= bound {
        return Err(fault);
    }
    *counted += 1;
    Ok(())
}

fn hex_digit(byte: u8) -> Result<u64, HttpFault> {
    char::from(byte).to_digit(16).map(u64::from).ok_or(HttpFault::MalformedChunk)
}
