//! What is refused: everything that could be understood in two ways, and everything beyond a bound.

use super::*;

fn fault_of<Head>(seen: &[Seen<Head>]) -> Option<HttpFault> {
    match seen.last() {
        Some(Seen::Fault(fault)) => Some(*fault),
        _ => None,
    }
}

#[test]
fn requests_that_could_be_smuggled() {
    use HttpFault::*;
    let start = "POST / HTTP/1.1\r\nHost: h\r\n";
    for (rest, fault, status) in [
        ("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", ConflictingFraming, 400),
        ("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n", ConflictingFraming, 400),
        ("Transfer-Encoding: identity\r\nContent-Length: 5\r\n\r\n", ConflictingFraming, 400),
        ("Transfer-Encoding: a\r\nTransfer-Encoding: b\r\nContent-Length: 5\r\n\r\n", ConflictingFraming, 400),
        ("Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello", InvalidContentLength, 400),
        ("Content-Length: 5\r\ncontent-length: 6\r\n\r\nhello", InvalidContentLength, 400),
        ("Content-Length: 5, 5\r\n\r\nhello", InvalidContentLength, 400),
        ("Content-Length: 5 5\r\n\r\nhello", InvalidContentLength, 400),
        ("Content-Length: +5\r\n\r\nhello", InvalidContentLength, 400),
        ("Content-Length: -0\r\n\r\n", InvalidContentLength, 400),
        ("Content-Length:\r\n\r\n", InvalidContentLength, 400),
        ("Content-Length: 0x5\r\n\r\nhello", InvalidContentLength, 400),
        ("Content-Length: 5.0\r\n\r\nhello", InvalidContentLength, 400),
        ("Content-Length: \u{665}\r\n\r\nhello", InvalidContentLength, 400),
        ("Content-Length: 18446744073709551616\r\n\r\n", InvalidContentLength, 400),
        ("Transfer-Encoding: gzip\r\n\r\n", UnsupportedTransferEncoding, 501),
        ("Transfer-Encoding: gzip, chunked\r\n\r\n", UnsupportedTransferEncoding, 501),
        ("Transfer-Encoding: chunked, chunked\r\n\r\n", UnsupportedTransferEncoding, 501),
        ("Transfer-Encoding: chunked,\r\n\r\n", UnsupportedTransferEncoding, 501),
        ("Transfer-Encoding: \"chunked\"\r\n\r\n", UnsupportedTransferEncoding, 501),
        ("Transfer-Encoding: xchunked\r\n\r\n", UnsupportedTransferEncoding, 501),
        ("Transfer-Encoding: chunked;q=1\r\n\r\n", UnsupportedTransferEncoding, 501),
        ("Transfer-Encoding:\r\n\r\n", UnsupportedTransferEncoding, 501),
        ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", UnsupportedTransferEncoding, 501),
        ("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n", UnsupportedTransferEncoding, 501),
        ("Transfer-Encoding : chunked\r\n\r\n", MalformedHeader, 400),
        ("Transfer-Encoding\t: chunked\r\n\r\n", MalformedHeader, 400),
        ("Transfer-Encoding: \x0bchunked\r\n\r\n", MalformedHeader, 400),
        ("X: a\r\n b\r\n\r\n", FoldedHeader, 400),
        ("X: a\r\n\tb\r\n\r\n", FoldedHeader, 400),
        ("X: a\r\n \r\n\r\n", FoldedHeader, 400),
        ("X: a\nY: b\r\n\r\n", BareLineEnd, 400),
        ("X: a\rY: b\r\n\r\n", BareLineEnd, 400),
        ("X: a\r\r\n\r\n", BareLineEnd, 400),
        ("X: a\r\n\n", BareLineEnd, 400),
        ("\n", BareLineEnd, 400),
        ("X: a\0b\r\n\r\n", MalformedHeader, 400),
        ("X\0: a\r\n\r\n", MalformedHeader, 400),
        ("X: a\x7f\r\n\r\n", MalformedHeader, 400),
        ("X: a\x01\r\n\r\n", MalformedHeader, 400),
        ("X\u{e9}: a\r\n\r\n", MalformedHeader, 400),
        (": a\r\n\r\n", MalformedHeader, 400),
        ("X\r\n\r\n", MalformedHeader, 400),
        ("X a\r\n\r\n", MalformedHeader, 400),
        ("Host: h\r\n\r\n", InvalidHost, 400),
        ("HOST: other\r\n\r\n", InvalidHost, 400),
    ] {
        let found = fault_of(&requests(&alloc::format!("{start}{rest}")));
        assert_eq!(found.map(|fault| (fault, fault.status())), Some((fault, status)), "{rest:?}");
    }
}

#[test]
fn heads_that_are_none() {
    use HttpFault::*;
    for (input, fault, status) in [
        ("GET / HTTP/1.1\r\n\r\n", MissingHost, 400),
        ("GET / HTTP/1.1\r\nHost: a b\r\n\r\n", InvalidHost, 400),
        ("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", InvalidHost, 400),
        ("GET / HTTP/1.1\r\nHost: user@a\r\n\r\n", InvalidHost, 400),
        ("GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n", InvalidHost, 400),
        ("GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", TransferEncodingInHttp10, 400),
        ("GET / HTTP/1.1\r\n Host: h\r\n\r\n", FoldedHeader, 400),
        ("GET / HTTP/1.1\nHost: h\n\n", BareLineEnd, 400),
        ("GET / HTTP/1.1\rHost: h\r\n\r\n", BareLineEnd, 400),
        ("\nGET / HTTP/1.1\r\nHost: h\r\n\r\n", BareLineEnd, 400),
        ("\rGET / HTTP/1.1\r\nHost: h\r\n\r\n", BareLineEnd, 400),
        (" GET / HTTP/1.1\r\nHost: h\r\n\r\n", MalformedStartLine, 400),
        ("GET  / HTTP/1.1\r\nHost: h\r\n\r\n", MalformedStartLine, 400),
        ("GET /  HTTP/1.1\r\nHost: h\r\n\r\n", MalformedStartLine, 400),
        ("GET / HTTP/1.1 \r\nHost: h\r\n\r\n", MalformedStartLine, 400),
        ("GET\t/\tHTTP/1.1\r\nHost: h\r\n\r\n", MalformedStartLine, 400),
        ("GET /a b HTTP/1.1\r\nHost: h\r\n\r\n", MalformedStartLine, 400),
        ("GET /\x01 HTTP/1.1\r\nHost: h\r\n\r\n", MalformedStartLine, 400),
        ("GET /\0 HTTP/1.1\r\nHost: h\r\n\r\n", MalformedStartLine, 400),
        ("GET /\x7f HTTP/1.1\r\nHost: h\r\n\r\n", MalformedStartLine, 400),
        ("GET /\u{e9} HTTP/1.1\r\nHost: h\r\n\r\n", MalformedStartLine, 400),
        ("G(T / HTTP/1.1\r\nHost: h\r\n\r\n", MalformedStartLine, 400),
        ("GET /\r\nHost: h\r\n\r\n", MalformedStartLine, 400),
        ("GET / HTTP/1\r\nHost: h\r\n\r\n", MalformedStartLine, 400),
        ("GET / http/1.1\r\nHost: h\r\n\r\n", MalformedStartLine, 400),
        ("GET / HTTP/x.y\r\nHost: h\r\n\r\n", MalformedStartLine, 400),
        ("GET / HTTP/1.2\r\nHost: h\r\n\r\n", UnsupportedVersion, 505),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", UnsupportedVersion, 505),
        ("\x16\x03\x01\r\n\r\n", MalformedStartLine, 400),
        ("HTTP/1.1 200 OK\r\n\r\n", MalformedStartLine, 400),
    ] {
        let seen = requests(input);
        assert_eq!(seen.len(), 1, "nothing of it is seen: {input:?}");
        assert_eq!(fault_of(&seen).map(|fault| (fault, fault.status())), Some((fault, status)), "{input:?}");
    }
}

#[test]
fn chunks_that_could_be_smuggled() {
    use HttpFault::*;
    for (body, fault) in [
        ("\r\n", MalformedChunk),
        (";x\r\n", MalformedChunk),
        ("+5\r\nhello\r\n", MalformedChunk),
        ("-5\r\nhello\r\n", MalformedChunk),
        ("0x5\r\nhello\r\n", MalformedChunk),
        (" 5\r\nhello\r\n", MalformedChunk),
        ("5 \r\nhello\r\n", MalformedChunk),
        ("5 ;x\r\nhello\r\n", MalformedChunk),
        ("5h\r\nhello\r\n", MalformedChunk),
        ("5_0\r\n", MalformedChunk),
        ("10000000000000000\r\n", MalformedChunk),
        ("5\nhello\r\n", BareLineEnd),
        ("5;x\nhello\r\n", BareLineEnd),
        ("5\rhello\r\n", BareLineEnd),
        ("5;x\r\r\nhello\r\n", BareLineEnd),
        ("5;\0\r\nhello\r\n", MalformedChunk),
        ("4\r\nhello\r\n", MalformedChunk),
        ("6\r\nhello\r\n0\r\n\r\n", BareLineEnd),
        ("5\r\nhello\n0\r\n\r\n", BareLineEnd),
        ("5\r\nhello\rx", BareLineEnd),
        ("0\r\n\n", BareLineEnd),
        ("0\r\n\rx", BareLineEnd),
        ("0\r\nA: b\n\r\n", BareLineEnd),
        ("0\r\nA: b\r\r\n", BareLineEnd),
        ("0\r\n A: b\r\n\r\n", FoldedHeader),
        ("0\r\nA : b\r\n\r\n", MalformedTrailer),
        ("0\r\nGET / HTTP/1.1\r\n\r\n", MalformedTrailer),
        ("0\r\nA\r\n\r\n", MalformedTrailer),
        ("0\r\n: b\r\n\r\n", MalformedTrailer),
        ("0\r\nA: \0\r\n\r\n", MalformedTrailer),
    ] {
        let input = alloc::format!("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n{body}");
        let seen = requests(&input);
        assert_eq!(fault_of(&seen), Some(fault), "{body:?}");
        assert_eq!(fault.status(), 400);
        assert!(!seen.contains(&Seen::End));
    }
}

#[test]
fn responses_that_could_be_split() {
    use HttpFault::*;
    for (input, fault) in [
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", ConflictingFraming),
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n", InvalidContentLength),
        ("HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\n", InvalidContentLength),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", UnsupportedTransferEncoding),
        ("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", TransferEncodingInHttp10),
        ("HTTP/1.1 204 No Content\r\nContent-Length: x\r\n\r\n", InvalidContentLength),
        ("HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\r\n", FoldedHeader),
        ("HTTP/1.1 200 OK\r\n X: a\r\n\r\n", FoldedHeader),
        ("HTTP/1.1 200 OK\r\nX : a\r\n\r\n", MalformedHeader),
        ("HTTP/1.1 200 OK\r\nX: \0\r\n\r\n", MalformedHeader),
        ("HTTP/1.1 200 OK\r\nX\r\n\r\n", MalformedHeader),
        ("HTTP/1.1 200 OK\nX: a\n\n", BareLineEnd),
        ("HTTP/1.1 200 O\rK\r\n\r\n", BareLineEnd),
        ("HTTP/1.1 200 O\0K\r\n\r\n", MalformedStartLine),
        ("\r\nHTTP/1.1 200 OK\r\n\r\n", MalformedStartLine),
        ("HTTP/1.1  200 OK\r\n\r\n", MalformedStartLine),
        ("HTTP/1.1 20 OK\r\n\r\n", MalformedStartLine),
        ("HTTP/1.1 2000 OK\r\n\r\n", MalformedStartLine),
        ("HTTP/1.1 099 OK\r\n\r\n", MalformedStartLine),
        ("HTTP/1.1\r\n\r\n", MalformedStartLine),
        ("HTTP/2.0 200 OK\r\n\r\n", UnsupportedVersion),
        ("ICY 200 OK\r\n\r\n", MalformedStartLine),
        ("<html>\r\n\r\n", MalformedStartLine),
    ] {
        let seen = responses(&["GET"], input);
        assert_eq!((seen.len(), fault_of(&seen)), (1, Some(fault)), "{input:?}");
    }
}

/// The fault of `input` within `bounds`, if any.
fn refusal(bounds: Bounds, input: &str) -> Option<HttpFault> {
    fault_of(&requests_within(bounds, input.as_bytes()))
}

#[test]
fn heads_at_and_beyond_their_bounds() {
    let input = "GET /abc HTTP/1.1\r\nHost: h\r\nA: b\r\n\r\n";
    let line = input.find('\n').unwrap() + 1;
    let generous = Bounds::default();
    for (bounds, expected) in [
        (Bounds { start_line_bytes: line, ..generous }, None),
        (Bounds { start_line_bytes: line - 1, ..generous }, Some((HttpFault::StartLineTooLong, 414))),
        (Bounds { head_bytes: line - 1, ..generous }, Some((HttpFault::StartLineTooLong, 414))),
        (Bounds { head_bytes: input.len(), ..generous }, None),
        (Bounds { head_bytes: input.len() - 1, ..generous }, Some((HttpFault::HeadTooLarge, 431))),
        (Bounds { head_bytes: line, ..generous }, Some((HttpFault::HeadTooLarge, 431))),
        (Bounds { headers: 2, ..generous }, None),
        (Bounds { headers: 1, ..generous }, Some((HttpFault::TooManyHeaders, 431))),
    ] {
        let found = refusal(bounds, input).map(|fault| (fault, fault.status()));
        assert_eq!(found, expected, "{bounds:?}");
    }
}

#[test]
fn the_default_bounds_are_kept() {
    let with_headers = |count: usize| {
        let mut head = String::from("GET / HTTP/1.1\r\nHost: h\r\n");
        (1..count).for_each(|_| head.push_str("X: y\r\n"));
        refusal(Bounds::default(), &(head + "\r\n"))
    };
    assert_eq!((with_headers(128), with_headers(129)), (None, Some(HttpFault::TooManyHeaders)));
    // No end in sight: what has to be kept is never more than a byte beyond the bound.
    let endless = alloc::vec![b'x'; 64 * 1024 + 1];
    let mut decoder = RequestDecoder::new(Bounds::default());
    assert_eq!(decoder.next(&endless[..8 * 1024]), Ok((0, None)));
    assert_eq!(decoder.next(&endless[..8 * 1024 + 1]), Err(HttpFault::StartLineTooLong));
    let mut decoder = RequestDecoder::new(Bounds::default());
    let endless = ["GET / HTTP/1.1\r\nX: ".as_bytes(), &endless].concat();
    assert_eq!(decoder.next(&endless[..64 * 1024]), Ok((0, None)));
    assert_eq!(decoder.next(&endless[..64 * 1024 + 1]), Err(HttpFault::HeadTooLarge));
}

#[test]
fn chunk_lines_and_trailers_at_and_beyond_their_bounds() {
    let bounds = Bounds { chunk_line_bytes: 8, trailer_bytes: 10, ..Bounds::default() };
    for (body, expected) in [
        ("00000000\r\n\r\n", None),
        ("000000000\r\n\r\n", Some(HttpFault::ChunkLineTooLong)),
        ("1;345678\r\na\r\n0;234567\r\n\r\n", None),
        ("1;3456789\r\na\r\n0\r\n\r\n", Some(HttpFault::ChunkLineTooLong)),
        ("1\r\na\r\n0;2345678\r\n\r\n", Some(HttpFault::ChunkLineTooLong)),
        ("1\r\na\r\n1\r\nb\r\n1\r\nc\r\n1\r\nd\r\n0\r\n\r\n", None),
        ("0\r\nA: 567\r\n\r\n", None),
        ("0\r\nA: 5678\r\n\r\n", Some(HttpFault::TrailersTooLarge)),
        ("0\r\nA:\r\nB:\r\n\r\n", None),
        ("0\r\nA:\r\nB: \r\n\r\n", Some(HttpFault::TrailersTooLarge)),
    ] {
        let input = alloc::format!("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n{body}");
        assert_eq!(refusal(bounds, &input), expected, "{body:?}");
    }
    assert_eq!((HttpFault::TrailersTooLarge.status(), HttpFault::ChunkLineTooLong.status()), (431, 400));
    let sizes = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nab";
    assert_eq!(refusal(Bounds::default(), sizes), Some(HttpFault::Truncated));
}

#[test]
fn chunks_that_say_more_than_they_carry() {
    let bounds = Bounds { chunk_surplus_bytes: 4, ..Bounds::default() };
    let refused = |chunks: &str| {
        let body = alloc::format!("{chunks}0\r\n\r\n");
        refusal(bounds, &alloc::format!("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n{body}"))
    };
    let fault = Some(HttpFault::ChunkLinesTooLong);
    assert_eq!(refused("1;3456789012\r\na\r\n"), None, "as much as there may be");
    assert_eq!(refused("1;34567890123\r\na\r\n"), fault);
    assert_eq!(
        refused("1;345678901\r\na\r\n1;3456789\r\na\r\n1;34567890\r\na\r\n"),
        None,
        "what they carry is taken off"
    );
    assert_eq!(refused("1;345678901\r\na\r\n1;34567890\r\na\r\n1;34567890\r\na\r\n1;34567890\r\na\r\n"), fault);
    assert_eq!(refused(&"8;345678\r\nabcdefgh\r\n".repeat(1000)), None, "short lines are free");
}

#[test]
fn blank_lines_and_interim_responses_at_and_beyond_their_bounds() {
    let request = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
    let blank = |count: usize| refusal(Bounds::default(), &("\r\n".repeat(count) + request));
    assert_eq!((blank(2), blank(3)), (None, Some(HttpFault::MalformedStartLine)));
    let twice = alloc::format!("\r\n\r\n{request}\r\n\r\n{request}");
    assert_eq!(refusal(Bounds::default(), &twice), None, "each request has its own");

    let interim = |count: usize| {
        let input = "HTTP/1.1 100 Continue\r\n\r\n".repeat(count) + "HTTP/1.1 204 No Content\r\n\r\n";
        fault_of(&responses(&["GET"], &input))
    };
    assert_eq!((interim(8), interim(9)), (None, Some(HttpFault::TooManyInterimResponses)));
}

#[test]
fn nothing_can_be_injected() {
    use Unsendable::{FramingHeader, HeaderName, HeaderValue, Host, Method, Status, Target};
    let host = ("Host", "h");
    for (method, target, headers, framing, error) in [
        ("", "/", alloc::vec![host], Framing::Empty, Method),
        ("GET /", "/", alloc::vec![host], Framing::Empty, Method),
        ("GET\r\n", "/", alloc::vec![host], Framing::Empty, Method),
        ("GET", "", alloc::vec![host], Framing::Empty, Target),
        ("GET", "/ HTTP/1.1\r\nX:", alloc::vec![host], Framing::Empty, Target),
        ("GET", "/a b", alloc::vec![host], Framing::Empty, Target),
        ("GET", "/\u{e9}", alloc::vec![host], Framing::Empty, Target),
        ("GET", "/", alloc::vec![host], Framing::UntilClose, Unsendable::Framing),
        ("GET", "/", alloc::vec![], Framing::Empty, Host),
        ("GET", "/", alloc::vec![host, ("host", "h")], Framing::Empty, Host),
        ("GET", "/", alloc::vec![("Host", "a b")], Framing::Empty, Host),
        ("GET", "/", alloc::vec![host, ("", "x")], Framing::Empty, HeaderName),
        ("GET", "/", alloc::vec![host, ("A:", "x")], Framing::Empty, HeaderName),
        ("GET", "/", alloc::vec![host, ("A ", "x")], Framing::Empty, HeaderName),
        ("GET", "/", alloc::vec![host, ("A\r\nB", "x")], Framing::Empty, HeaderName),
        ("GET", "/", alloc::vec![host, ("A", "x\r\nB: y")], Framing::Empty, HeaderValue),
        ("GET", "/", alloc::vec![host, ("A", "x\ny")], Framing::Empty, HeaderValue),
        ("GET", "/", alloc::vec![host, ("A", "x\ry")], Framing::Empty, HeaderValue),
        ("GET", "/", alloc::vec![host, ("A", "x\0")], Framing::Empty, HeaderValue),
        ("GET", "/", alloc::vec![host, ("A", " x")], Framing::Empty, HeaderValue),
        ("GET", "/", alloc::vec![host, ("A", "x\t")], Framing::Empty, HeaderValue),
        ("GET", "/", alloc::vec![host, ("A", "\x7f")], Framing::Empty, HeaderValue),
        ("GET", "/", alloc::vec![host, ("content-LENGTH", "5")], Framing::Empty, FramingHeader),
        ("GET", "/", alloc::vec![host, ("Transfer-Encoding", "chunked")], Framing::Empty, FramingHeader),
    ] {
        let mut out = b"before".to_vec();
        assert_eq!(write_request(&mut out, method, target, headers.clone(), framing), Err(error), "{headers:?}");
        assert_eq!(out, b"before");
    }
    for (status, headers, framing, error) in [
        (99, [("A", "x")], Framing::Length(0), Status),
        (1000, [("A", "x")], Framing::Length(0), Status),
        (200, [("A", "x\r\n")], Framing::Length(0), HeaderValue),
        (200, [("A", "x")], Framing::Empty, Unsendable::Framing),
        (204, [("A", "x")], Framing::Length(0), Unsendable::Framing),
        (304, [("A", "x")], Framing::Chunked, Unsendable::Framing),
        (100, [("A", "x")], Framing::UntilClose, Unsendable::Framing),
    ] {
        let mut out = b"before".to_vec();
        assert_eq!(write_response(&mut out, status, headers, framing), Err(error), "{status} {headers:?}");
        assert_eq!(out, b"before");
    }
}
