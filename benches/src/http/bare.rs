//! Bytes over sockets, and nothing else: what two processes cannot do without.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use rustix::buffer::spare_capacity;
use rustix::event::epoll;

use super::Plan;
use super::start::Started;
use crate::calls::measured::{Measured, PerCall, Phase};
use crate::calls::{IN_FLIGHT, phases};
use crate::in_process::engine::{Carried, Pair};

/// How long the head of a request of ours is, and that of an answer, more or less.
const HEADS: Carried = Carried { to_server: 300, to_client: 150 };

/// More than any message here.
const READ_BYTES: usize = 16 * 1024;

/// Of a request and of an answer, heads included.
fn lengths(plan: &Plan) -> Carried {
    let messages = Pair::wire_lengths(plan.era, plan.payload);
    Carried { to_server: HEADS.to_server + messages.to_server, to_client: HEADS.to_client + messages.to_client }
}

/// One message: as many bytes, of which the last is the end.
fn message(length: usize) -> Vec<u8> {
    let mut message = vec![b'x'; length];
    message[length - 1] = b'\n';
    message
}

/// Reads a message; false if there is none any more.
fn read_message(socket: &mut TcpStream, buffer: &mut [u8]) -> bool {
    loop {
        match socket.read(buffer) {
            Ok(0) | Err(_) => return false,
            Ok(count) if buffer[count - 1] == b'\n' => return true,
            Ok(_) => {}
        }
    }
}

pub(super) fn answer(plan: &Plan) {
    let response = message(lengths(plan).to_client);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    println!("{}", listener.local_addr().expect("it is bound"));
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).expect("the system can wait");
    let watch = |socket: &dyn rustix::fd::AsFd, number: usize| {
        let data = epoll::EventData::new_u64(number as u64);
        epoll::add(&epoll, socket.as_fd(), data, epoll::EventFlags::IN).expect("a socket can be waited for");
    };
    watch(&listener, 0);
    let mut sockets = Vec::new();
    let mut buffer = vec![0; READ_BYTES];
    let mut events = Vec::with_capacity(IN_FLIGHT);
    loop {
        events.clear();
        epoll::wait(&epoll, spare_capacity(&mut events), None).expect("waiting is possible");
        for event in &events {
            match event.data.u64() as usize {
                0 => {
                    let (socket, _) = listener.accept().expect("a client connects");
                    socket.set_nodelay(true).expect("it is a socket");
                    sockets.push(socket);
                    watch(&sockets[sockets.len() - 1], sockets.len());
                }
                number => {
                    let socket: &mut TcpStream = &mut sockets[number - 1];
                    if !read_message(socket, &mut buffer) || socket.write_all(&response).is_err() {
                        return;
                    }
                }
            }
        }
    }
}

pub(super) fn call(server: &Started, plan: &Plan) -> Measured {
    let request = message(lengths(plan).to_server);
    let mut buffer = vec![0; READ_BYTES];
    let connect = || {
        let socket = TcpStream::connect(&server.url).expect("the server listens");
        socket.set_nodelay(true).expect("it is a socket");
        socket
    };
    let mut sockets: Vec<TcpStream> = (0..IN_FLIGHT).map(|_| connect()).collect();
    let round_trip = || {
        sockets[0].write_all(&request).expect("the server lives");
        assert!(read_message(&mut sockets[0], &mut buffer), "the server lives");
    };
    let (latencies, sequential) = phases::one_after_the_other(server.process(), plan.phase, round_trip);
    let phase = Phase::begin(server.process(), plan.phase);
    let in_flight = many_at_once(phase, &mut sockets, &request, &mut buffer);
    Measured::new(latencies, sequential, in_flight)
}

/// Keeps a message under way on every socket.
fn many_at_once(phase: Phase, sockets: &mut [TcpStream], request: &[u8], buffer: &mut [u8]) -> (f64, PerCall) {
    let mut calls = 0;
    for socket in &mut *sockets {
        socket.write_all(request).expect("the server lives");
    }
    while phase.goes_on() {
        for socket in &mut *sockets {
            assert!(read_message(socket, buffer), "the server lives");
            socket.write_all(request).expect("the server lives");
            calls += 1;
        }
    }
    phase.end(calls)
}
