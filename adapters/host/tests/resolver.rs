//! Hosts that are numbers, as the platform's own resolver reads them, and as the guard on URLs does: whatever the one takes
//! for an address that is not public the other refuses.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, ToSocketAddrs};

use quickcheck::quickcheck;
use windlass::auth::{GuardPolicy, is_public};
use windlass::link::http::numeric_address;

/// How the platform reads a host. Nothing is asked over the network: these are all numbers.
fn resolved(host: &str) -> Vec<IpAddr> {
    let found = (host, 443).to_socket_addrs();
    found.map(|addresses| addresses.map(|address| address.ip()).collect()).unwrap_or_default()
}

fn is_refused(host: &str) -> bool {
    let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
    GuardPolicy::default().check(&format!("https://{host}/"), None).is_err()
}

/// Whether the guard refuses what the platform would reach and must not, and whether dialling reaches what the platform
/// would.
fn agrees(host: &str) -> bool {
    let addresses = resolved(host);
    assert!(!addresses.is_empty(), "{host} is taken for a name");
    let forbidden = addresses.iter().any(|address| !is_public(*address));
    // Not every system reads octal numbers; the guard knows of both readings.
    let same = !cfg!(target_os = "linux") || addresses.iter().all(|address| numeric_address(host) == Some(*address));
    (!forbidden || is_refused(host)) && same
}

/// A number in one of the ways to write it.
fn number(value: u32, way: u8) -> String {
    let zeros = "0".repeat(usize::from(way / 64));
    match way % 4 {
        0 => format!("{value}"),
        1 => format!("0{zeros}{value:o}"),
        2 => format!("0x{zeros}{value:x}"),
        _ => format!("0X{zeros}{value:X}"),
    }
}

/// An address in one of the ways to write it, with one number to four.
fn spelled(address: u32, ways: [u8; 4], parts: u8) -> String {
    let bytes = address.to_be_bytes();
    let before = usize::from(parts % 4);
    let mut numbers: Vec<String> = (0..before).map(|at| number(bytes[at].into(), ways[at])).collect();
    let rest = if before == 0 { address } else { address & (u32::MAX >> (8 * before)) };
    numbers.push(number(rest, ways[before]));
    numbers.join(".")
}

/// The first addresses of what is forbidden; others are reached by their last bits.
const BLOCKS: [u32; 10] = [
    0x7f00_0000,
    0x0a00_0000,
    0xa9fe_0000,
    0xac10_0000,
    0xc0a8_0000,
    0x6440_0000,
    0,
    0xe000_0000,
    0xc612_0000,
    0xcb00_7100,
];

quickcheck! {
    fn addresses_of_ipv4(address: u32, ways: (u8, u8, u8, u8), parts: u8, near: u8) -> bool {
        let address = match BLOCKS.get(usize::from(near % 20)) {
            Some(block) => block | (address >> 16),
            None => address,
        };
        agrees(&spelled(address, [ways.0, ways.1, ways.2, ways.3], parts))
    }

    fn addresses_of_ipv6(high: u64, low: u64, near: u8, embedded: u32, dotted: bool) -> bool {
        let starts = [0, 0xfe80, 0xfec0, 0xfd00, 0xff02, 0x2001, 0x2002, 0x2606, 0x64, 0x3fff];
        let Some(start) = starts.get(usize::from(near % 20)) else {
            return agrees(&Ipv6Addr::from((u128::from(high) << 64) | u128::from(low)).to_string());
        };
        let tail = Ipv4Addr::from(embedded);
        let middle = [0, 0xff9b, 0xffff, (high & 0xffff) as u16][usize::from(near / 20) % 4];
        let host = match dotted {
            true => format!("{start:x}:{middle:X}::{tail}"),
            false => format!("{start:04x}:{middle:x}:0:0::{:x}", low & 0xffff),
        };
        agrees(&host)
    }

    fn addresses_of_ipv4_in_ipv6(address: u32, way: u8) -> bool {
        let tail = Ipv4Addr::from(address);
        let host = match way % 6 {
            0 => format!("::ffff:{tail}"),
            1 => format!("::{tail}"),
            2 => format!("64:ff9b::{tail}"),
            3 => format!("64:ff9b:1::{tail}"),
            4 => format!("2606:4700::5efe:{tail}"),
            _ => format!("2002:{:x}:{:x}::1", address >> 16, address & 0xffff),
        };
        agrees(&host)
    }
}

#[test]
fn addresses_that_are_known_to_be_tried() {
    for host in ["0x7f.1", "0177.1", "2130706433", "127.1", "0", "0xa9fea9fe", "169.254.43518", "::1", "::ffff:7f00:1"]
    {
        assert!(resolved(host).iter().any(|address| !is_public(*address)), "{host}");
        assert!(is_refused(host) && agrees(host), "{host}");
    }
    assert!(!is_refused("8.8.8.8") && agrees("8.8.8.8"));
}
