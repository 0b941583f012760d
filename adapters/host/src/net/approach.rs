//! The way to a server: an open socket, and a tunnel if there is a proxy in between.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use windlass::Instant;

use super::Wake;
use super::connection::{Approach, Dialled, Readiness, Step};
use super::dial::{Address, DialOptions};
use super::dialing::{Allowed, Dialed, Dialing, NOT_PUBLIC, Preparation};
use super::proxy::Proxy;
use super::socket::Socket;
use super::transport_stream::TransportStream;
use super::tunnel::{Tunnel, TunnelState};
use crate::io::Pollable;

/// A connection of our own on its way.
struct DialledApproach {
    state: ApproachState,
    address: Address,
    options: Arc<DialOptions>,
    proxy: Option<Proxy>,
}

enum ApproachState {
    Dialing(Box<Dialing>),
    Tunnelling(Socket, Box<Tunnel>),
    /// The socket is somebody else's now, or there is none.
    Over,
}

/// Nothing is done before [`write`](Approach::write).
pub(super) fn begin(
    address: Address,
    options: &Arc<DialOptions>,
    now: Instant,
    wake: Wake,
) -> (Box<dyn Approach>, Dialled) {
    let timeout = options.connect_timeout;
    let dialled = Dialled { address: address.to_string(), deadline: now + timeout, timeout };
    let unix_socket = unix_socket(&address, options);
    let proxy = match unix_socket {
        None => options.proxy.for_address(&address),
        Some(_) => None,
    };
    let preparation = preparation(&address, options);
    let dialing = match (unix_socket, proxy) {
        (Some(path), _) => Dialing::unix(path.clone()),
        // A proxy would look it up itself.
        (None, _) if address.is_forbidden() => Dialing::hopeless(address.to_string(), NOT_PUBLIC.to_owned()),
        (None, Some(Err(why))) => Dialing::hopeless(address.to_string(), why.to_string()),
        (None, Some(Ok(proxy))) => {
            Dialing::host(&proxy.host, proxy.port, Allowed::All, options.resolver, preparation, wake)
        }
        (None, None) => {
            let allowed = if address.public_only { Allowed::Public } else { Allowed::All };
            Dialing::host(address.bare_host(), address.port, allowed, options.resolver, preparation, wake)
        }
    };
    let proxy = proxy.and_then(|proxy| proxy.as_ref().ok()).cloned();
    let state = ApproachState::Dialing(Box::new(dialing));
    (Box::new(DialledApproach { state, address, options: options.clone(), proxy }), dialled)
}

impl Approach for DialledApproach {
    fn is_dialing(&self) -> bool {
        matches!(self.state, ApproachState::Dialing(_))
    }

    fn pollable(&self) -> Option<&Pollable> {
        match &self.state {
            ApproachState::Dialing(dialing) => dialing.pollable(),
            ApproachState::Tunnelling(socket, _) => Some(socket.pollable()),
            ApproachState::Over => None,
        }
    }

    fn interest(&self) -> Readiness {
        match &self.state {
            ApproachState::Dialing(_) => Readiness { write: true, ..Readiness::default() },
            ApproachState::Tunnelling(_, tunnel) => {
                Readiness { read: !tunnel.wants_write(), write: tunnel.wants_write(), now: false }
            }
            ApproachState::Over => Readiness::default(),
        }
    }

    fn deadline(&self) -> Option<Instant> {
        if let ApproachState::Dialing(dialing) = &self.state { dialing.deadline() } else { None }
    }

    fn read(&mut self) -> io::Result<Step> {
        let ApproachState::Tunnelling(socket, tunnel) = &mut self.state else {
            return Err(io::ErrorKind::WouldBlock.into());
        };
        Ok(match tunnel.read(socket)? {
            Ok(TunnelState::Pending) => Step::OnTheWay,
            Ok(TunnelState::Established) => match std::mem::replace(&mut self.state, ApproachState::Over) {
                ApproachState::Tunnelling(socket, _) => self.reached(socket),
                _ => Step::OnTheWay,
            },
            Err(why) => Step::Failed(why),
        })
    }

    fn write(&mut self, now: Instant) -> io::Result<Step> {
        if let ApproachState::Dialing(dialing) = &mut self.state {
            match dialing.advance(now) {
                Dialed::Waiting => return Err(io::ErrorKind::WouldBlock.into()),
                Dialed::Moved => return Ok(Step::OnTheWay),
                Dialed::Connected(stream) => {
                    let socket = Socket::new(stream);
                    match self.proxy.as_ref().map(|proxy| Tunnel::new(proxy, &self.address)) {
                        None => return Ok(self.reached(socket)),
                        Some(Ok(tunnel)) => self.state = ApproachState::Tunnelling(socket, Box::new(tunnel)),
                        Some(Err(why)) => return Ok(Step::Failed(why)),
                    }
                }
                Dialed::Failed(why) => return Ok(Step::Failed(self.through_what(why))),
            }
        }
        if let ApproachState::Tunnelling(socket, tunnel) = &mut self.state {
            if let Err(why) = tunnel.write(socket)? {
                return Ok(Step::Failed(why));
            }
        }
        Ok(Step::OnTheWay)
    }

    fn progress(&self) -> String {
        match &self.state {
            ApproachState::Dialing(dialing) => dialing.progress().to_owned(),
            ApproachState::Tunnelling(_, tunnel) => tunnel.progress(),
            ApproachState::Over => String::new(),
        }
    }
}

impl DialledApproach {
    /// The server is at the other end of the socket.
    fn reached(&self, socket: Socket) -> Step {
        match TransportStream::dialled(socket, &self.address, &self.options) {
            Ok(stream) => Step::Reached(stream),
            Err(why) => Step::Failed(format!("{}: {why}", self.address)),
        }
    }

    /// Names the server in a message that names the proxy.
    fn through_what(&self, why: String) -> String {
        if self.proxy.is_some() {
            format!("{}: through the proxy {why}", self.address)
        } else if unix_socket(&self.address, &self.options).is_some() {
            format!("{}: through the Unix socket {why}", self.address)
        } else {
            why
        }
    }
}

/// The Unix socket by which the program reaches its server. What the server has named is somewhere else.
fn unix_socket<'a>(address: &Address, options: &'a DialOptions) -> Option<&'a PathBuf> {
    options.unix_socket.as_ref().filter(|_| !address.public_only)
}

/// What takes time before an address can be used: reading whom to trust.
#[cfg(feature = "tls")]
fn preparation(address: &Address, options: &Arc<DialOptions>) -> Option<Preparation> {
    if !address.tls || options.tls.is_loaded() {
        return None;
    }
    let tls = options.tls.clone();
    // What goes wrong is told when the connection is to be secured.
    Some(Box::new(move || drop(tls.client_config())))
}

#[cfg(not(feature = "tls"))]
fn preparation(_: &Address, _: &Arc<DialOptions>) -> Option<Preparation> {
    None
}
