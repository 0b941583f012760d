//! The same sessions over HTTP, of two clients with one server.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use windlass::link::http::{HttpClientConfig, HttpServerConfig};
use windlass::model::ProtocolVersion;
use windlass_sim::{HttpSim, NetworkConditions, Random, Side, SimServer};
use windlass_tests::wires::Direction;
use windlass_tests::wires::http::{TRANSPORT, line};

use super::{Act, STEPS, act, answers, client, offers, server};

/// What came of a session.
pub struct Recorded {
    /// The recording of its connections, without a head.
    pub connections: String,
    /// Its transcript.
    pub transcript: String,
}

/// Records a session that the seed decides.
pub fn record(seed: u64, conditions: NetworkConditions, version: ProtocolVersion) -> Result<Recorded, String> {
    let mut random = Random::new(seed);
    let mut http = HttpServerConfig::on_loopback();
    http.json_answers = random.one_in(2);
    let server = SimServer::over_http(server(version), http, offers::registry(), random.next());
    let mut sim = HttpSim::new(seed, conditions, server);
    let recording = Rc::new(RefCell::new(format!("{TRANSPORT}\n")));
    let tap = recording.clone();
    sim.tap(move |connection, side, bytes| {
        let direction = if side == Side::Client { Direction::ToServer } else { Direction::ToClient };
        tap.borrow_mut().push_str(&line(connection, direction, bytes));
    });
    let address = HttpClientConfig::new("http://localhost/mcp").map_err(|error| error.to_string())?;
    let clients = ["ada", "bob"].map(|name| sim.add_client(name, client(version), address.clone()));
    for client in clients {
        let mut answers = random.fork();
        sim[client].on_input(move |request| answers::answer(request, version, &mut answers));
        if !sim.run_until(|sim| sim[client].peer().is_some()) {
            return Err(format!("the session does not begin:\n{}", sim.transcript()));
        }
    }
    for step in 0..STEPS {
        let client = *random.choose(&clients);
        match act(&mut sim[client], &mut random) {
            Ok(Act::Call) => {}
            Ok(Act::Change) => offers::change(sim.server.machine(), step),
            Err(error) => return Err(format!("{error}:\n{}", sim.transcript())),
        }
        sim.run_for(Duration::from_millis(random.between(0, 3000)));
    }
    for client in clients {
        sim[client].close();
    }
    sim.run_until_idle();
    let connections = recording.take();
    Ok(Recorded { connections, transcript: sim.transcript().to_owned() })
}
