//! More clients than the server has room for.

use std::time::Duration;

use windlass::link::http::HttpServerConfig;
use windlass_sim::{NetworkConditions, Random};

use crate::town::{ERAS, TOOLS, Town, address};

/// What a client may have beyond its limit, for messages that others wait for.
const RESERVE: usize = 8;

#[test]
fn neither_connections_nor_sessions_go_beyond_their_limits() {
    let (mut answers, mut errors, mut fullest) = (0, 0, [0; 3]);
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let mut http = HttpServerConfig::on_loopback();
        http.connections = 9;
        http.sessions = 3;
        let mut town = Town::new(seed, NetworkConditions::ideal(), http);
        let mut connections = Vec::new();
        for name in ["a", "b", "c", "d", "e", "f", "g", "h"] {
            let mut address = address();
            address.connections = random.between(1, 3) as usize;
            address.listen = false;
            connections.push(address.connections);
            town.settle_in(name, *random.choose(&ERAS), address);
        }
        for _ in 0..10 {
            for client in town.clients() {
                let _ = town.call(client, random.choose::<&str>(&TOOLS));
            }
            let until = town.now() + Duration::from_millis(random.between(0, 5000));
            let _ = town.run_until(|sim| {
                let counts = [sim.connections(), sim.server.sessions()];
                assert!(counts[0] <= 9 && counts[1] <= 3, "{counts:?}:\n{}", sim.transcript());
                for (client, limit) in sim.clients().zip(&connections) {
                    let count = sim.connections_of(client);
                    assert!(count <= limit + RESERVE, "{count} connections:\n{}", sim.transcript());
                    fullest[2] = fullest[2].max(count);
                }
                fullest = [fullest[0].max(counts[0]), fullest[1].max(counts[1]), fullest[2]];
                sim.now() >= until
            });
        }
        town.close();
        let [right, wrong] = town.count_outcomes();
        answers += right;
        errors += wrong;
    }
    assert_eq!([fullest[0], fullest[1]], [9, 3], "the limits were reached");
    assert!(fullest[2] >= 3, "{fullest:?}");
    assert!(answers > 100 && errors > 100, "{answers} answers, {errors} errors");
}
