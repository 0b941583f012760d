//! A tunnel through an HTTP proxy: `CONNECT`, its answer, and from then on the bytes of another.

use std::io;

use windlass::codec::http1::{Bounds, Frame, Framing, ResponseDecoder, write_request};

use super::dial::Address;
use super::proxy::Proxy;
use super::socket::Socket;

/// Bytes of a proxy's answer. Proxies say little; some set a cookie or explain themselves.
const ANSWER_BYTES: usize = 16 * 1024;

/// A tunnel that is being asked for.
pub(super) struct Tunnel {
    /// For messages.
    proxy: String,
    target: String,
    unsent: Vec<u8>,
    decoder: ResponseDecoder,
    answer: Vec<u8>,
}

/// How far it is.
pub(super) enum TunnelState {
    /// The proxy has to be heard.
    Pending,
    /// What is read next is the target's.
    Established,
}

impl Tunnel {
    /// Asks `proxy` for a tunnel to `target`.
    pub(super) fn new(proxy: &Proxy, target: &Address) -> Result<Self, String> {
        let authority = target.to_string();
        let mut headers = vec![("Host", authority.as_str())];
        if let Some(authorization) = &proxy.authorization {
            headers.push(("Proxy-Authorization", authorization));
        }
        let mut unsent = Vec::new();
        write_request(&mut unsent, "CONNECT", &authority, headers, Framing::Empty)
            .map_err(|why| format!("{authority}: a proxy cannot be asked for it: {why}"))?;
        let mut bounds = Bounds::default();
        bounds.head_bytes = ANSWER_BYTES;
        let mut decoder = ResponseDecoder::new(bounds);
        decoder.expect("CONNECT");
        Ok(Self { proxy: proxy.to_string(), target: authority, unsent, decoder, answer: Vec::new() })
    }

    /// Whether the proxy has not been asked in full.
    pub(super) fn wants_write(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// Writes the rest of the request. `WouldBlock` if that is not all.
    pub(super) fn write(&mut self, socket: &Socket) -> io::Result<Result<(), String>> {
        while !self.unsent.is_empty() {
            match socket.send(&self.unsent) {
                Ok(count) => drop(self.unsent.drain(..count)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Err(error),
                Err(error) => return Ok(Err(self.failed(&error.to_string()))),
            }
        }
        Ok(Ok(()))
    }

    /// Reads once. `WouldBlock` if there is nothing.
    pub(super) fn read(&mut self, socket: &mut Socket) -> io::Result<Result<TunnelState, String>> {
        let mut buffer = [0; 4 * 1024];
        let count = match socket.receive(&mut buffer) {
            Ok(0) => return Ok(Err(self.failed("it closed the connection without an answer"))),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Err(error),
            Err(error) => return Ok(Err(self.failed(&error.to_string()))),
        };
        self.answer.extend_from_slice(&buffer[..count]);
        Ok(self.judge(socket))
    }

    fn judge(&mut self, socket: &mut Socket) -> Result<TunnelState, String> {
        let (consumed, frame) = match self.decoder.next(&self.answer) {
            Ok(found) => found,
            Err(fault) => return Err(self.failed(&format!("its answer is not understood: {fault}"))),
        };
        self.answer.drain(..consumed);
        let Some(Frame::Head(head)) = frame else { return Ok(TunnelState::Pending) };
        match head.status {
            200..300 => {
                // A server that speaks first may be faster than we are.
                socket.put_back(&self.answer);
                Ok(TunnelState::Established)
            }
            407 => Err(self.failed("it wants other credentials, or any (407 Proxy Authentication Required)")),
            status => Err(self.failed(format!("it refused: {status} {}", head.reason).trim_end())),
        }
    }

    fn failed(&self, detail: &str) -> String {
        format!("{}: through the proxy {}: {detail}", self.target, self.proxy)
    }

    /// What is under way, for a message about why it took too long.
    pub(super) fn progress(&self) -> String {
        format!("the proxy {} did not answer", self.proxy)
    }
}
