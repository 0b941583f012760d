//! What a host is: an address, in whatever spelling, or a name; and which addresses anybody can have.
//!
//! Whoever judges a host and whoever connects to it have to read it alike, or what was judged is not what is reached. Both
//! read it here.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The address that a host is, if it is one and no name: an IPv6 address without brackets, or an IPv4 address in any
/// spelling that resolvers take for one (as `inet_aton` does): one to four numbers, each decimal, octal or hexadecimal,
/// with or without the dot of the root behind them.
///
/// ```
/// use windlass::link::http::numeric_address;
///
/// for host in ["127.0.0.1", "127.1", "2130706433", "0x7f.0.0.1", "0177.0.0.01", "127.0.0.1."] {
///     assert_eq!(numeric_address(host), Some([127, 0, 0, 1].into()));
/// }
/// assert_eq!(numeric_address("::1"), Some([0, 0, 0, 0, 0, 0, 0, 1u16].into()));
/// assert_eq!(numeric_address("1.example"), None);
/// ```
pub fn numeric_address(host: &str) -> Option<IpAddr> {
    if let Ok(address) = host.parse::<Ipv6Addr>() {
        return Some(address.into());
    }
    let mut parts = without_root(host).split('.').map(number);
    let last = parts.next_back()??;
    // The last number stands for all bytes that are left.
    let (mut address, mut left) = (0, 4);
    for part in parts {
        let byte = part.filter(|byte| *byte <= 0xff)?;
        left = Some(left - 1).filter(|left| *left > 0)?;
        address |= byte << (8 * left);
    }
    let fits = left == 4 || last < 1 << (8 * left);
    fits.then(|| Ipv4Addr::from_bits(address | last).into())
}

/// A number as C writes it.
fn number(text: &str) -> Option<u32> {
    let (digits, radix) = match text.as_bytes() {
        [b'0', b'x' | b'X', ..] => (&text[2..], 16),
        [b'0', _, ..] => (&text[1..], 8),
        _ => (text, 10),
    };
    // A sign is no digit, though the standard library reads one.
    let valid = digits.chars().all(|digit| digit.is_digit(radix));
    u32::from_str_radix(digits, radix).ok().filter(|_| valid)
}

/// Whether a host is a name of this machine's (RFC 6761): `localhost`, and all names below it.
pub fn is_localhost(host: &str) -> bool {
    is_below(without_root(host), "localhost")
}

/// Whether a host is a domain, or a name below it.
pub(crate) fn is_below(host: &str, domain: &str) -> bool {
    let Some(at) = host.len().checked_sub(domain.len()) else { return false };
    let (before, end) = host.as_bytes().split_at(at);
    end.eq_ignore_ascii_case(domain.as_bytes()) && before.last().is_none_or(|byte| *byte == b'.')
}

/// A host without the dot of the root, which says nothing.
pub(crate) fn without_root(host: &str) -> &str {
    host.strip_suffix('.').unwrap_or(host)
}

/// Whether an address can be anybody's on the Internet: not this machine's, nor a private network's, nor one that is
/// reserved, nor one by which such an IPv4 address is reached.
///
/// Public is what the registries of IANA call globally reachable. What they say nothing definite of, as the relays and
/// tunnels of the past (6to4, Teredo), is not.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => {
            let blocks = V6.iter().map(|(start, length, public)| (Ipv6Addr::from(*start).to_bits(), *length, *public));
            longest_block(address.to_bits(), blocks).unwrap_or(false) && embedded(address).is_none_or(is_public_v4)
        }
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let high = |address: Ipv4Addr| u128::from(address.to_bits()) << 96;
    let blocks = V4.iter().map(|(start, length, public)| (high(Ipv4Addr::from(*start)), *length, *public));
    longest_block(high(address), blocks).unwrap_or(true)
}

/// What is said of the longest block that an address is in.
fn longest_block(address: u128, blocks: impl Iterator<Item = (u128, u32, bool)>) -> Option<bool> {
    let covering = blocks.filter(|(start, length, _)| (address ^ start).leading_zeros() >= *length);
    covering.max_by_key(|(_, length, _)| *length).map(|(_, _, public)| public)
}

/// The IPv4 address to which packets for an IPv6 address go in the end, where the IPv6 address itself is one that may be
/// reached: by NAT64 (RFC 6052), or by ISATAP (RFC 5214), which any network may have.
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let low = Ipv4Addr::from_bits(address.to_bits() as u32);
    match address.segments() {
        [0x64, 0xff9b, 0, 0, 0, 0, ..] | [_, _, _, _, 0 | 0x200, 0x5efe, ..] => Some(low),
        _ => None,
    }
}

/// Blocks of addresses, how many bits of them count, and whether they are public. The longest block decides; IPv4
/// addresses in none are public.
///
/// <https://www.iana.org/assignments/iana-ipv4-special-registry>, and multicast, which has a registry to itself.
const V4: [([u8; 4], u32, bool); 20] = [
    ([0, 0, 0, 0], 8, false),       // this network
    ([10, 0, 0, 0], 8, false),      // private
    ([100, 64, 0, 0], 10, false),   // shared by the customers of a provider
    ([127, 0, 0, 0], 8, false),     // this machine
    ([169, 254, 0, 0], 16, false),  // link-local; clouds tell their secrets there
    ([172, 16, 0, 0], 12, false),   // private
    ([192, 0, 0, 0], 24, false),    // protocols of the IETF
    ([192, 0, 0, 9], 32, true),     // anycast: port control
    ([192, 0, 0, 10], 32, true),    // anycast: TURN
    ([192, 0, 2, 0], 24, false),    // documentation
    ([192, 31, 196, 0], 24, true),  // AS112
    ([192, 52, 193, 0], 24, true),  // AMT
    ([192, 88, 99, 0], 24, false),  // relays of 6to4, withdrawn
    ([192, 168, 0, 0], 16, false),  // private
    ([192, 175, 48, 0], 24, true),  // AS112
    ([198, 18, 0, 0], 15, false),   // benchmarks
    ([198, 51, 100, 0], 24, false), // documentation
    ([203, 0, 113, 0], 24, false),  // documentation
    ([224, 0, 0, 0], 4, false),     // multicast
    ([240, 0, 0, 0], 4, false),     // reserved, broadcast
];

/// As above; IPv6 addresses in none are not public.
///
/// <https://www.iana.org/assignments/iana-ipv6-special-registry>, and the one block of
/// <https://www.iana.org/assignments/ipv6-address-space> that is global: all others are reserved, among them what is
/// private (`fc00::/7`), link-local (`fe80::/10`), site-local (`fec0::/10`), multicast (`ff00::/8`), this machine's (`::1`),
/// IPv4 in IPv6 (`::/96`, `::ffff:0:0/96`), translated by a network (`64:ff9b:1::/48`), to be discarded (`100::/64`) and for segments of routes (`5f00::/16`).
const V6: [([u16; 8], u32, bool); 14] = [
    ([0x2000, 0, 0, 0, 0, 0, 0, 0], 3, true),          // global unicast
    ([0x64, 0xff9b, 0, 0, 0, 0, 0, 0], 96, true),      // NAT64
    ([0x2001, 0, 0, 0, 0, 0, 0, 0], 23, false),        // protocols of the IETF, Teredo and benchmarks among them
    ([0x2001, 1, 0, 0, 0, 0, 0, 1], 128, true),        // anycast: port control
    ([0x2001, 1, 0, 0, 0, 0, 0, 2], 128, true),        // anycast: TURN
    ([0x2001, 1, 0, 0, 0, 0, 0, 3], 128, true),        // anycast: registration of services
    ([0x2001, 3, 0, 0, 0, 0, 0, 0], 32, true),         // AMT
    ([0x2001, 4, 0x112, 0, 0, 0, 0, 0], 48, true),     // AS112
    ([0x2001, 0x20, 0, 0, 0, 0, 0, 0], 28, true),      // ORCHIDv2
    ([0x2001, 0x30, 0, 0, 0, 0, 0, 0], 28, true),      // identities of drones
    ([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32, false),    // documentation
    ([0x2002, 0, 0, 0, 0, 0, 0, 0], 16, false),        // 6to4
    ([0x2620, 0x4f, 0x8000, 0, 0, 0, 0, 0], 48, true), // AS112
    ([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20, false),        // documentation
];

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::String;

    use quickcheck::quickcheck;

    use super::*;

    fn public(address: &str) -> bool {
        is_public(address.parse().unwrap())
    }

    /// The first and the last address of what the registries list, with their neighbours outside.
    #[test]
    fn blocks_begin_and_end_where_the_registries_say() {
        for (before, first, last, after) in [
            ("", "0.0.0.0", "0.255.255.255", "1.0.0.0"),
            ("9.255.255.255", "10.0.0.0", "10.255.255.255", "11.0.0.0"),
            ("100.63.255.255", "100.64.0.0", "100.127.255.255", "100.128.0.0"),
            ("126.255.255.255", "127.0.0.0", "127.255.255.255", "128.0.0.0"),
            ("169.253.255.255", "169.254.0.0", "169.254.255.255", "169.255.0.0"),
            ("172.15.255.255", "172.16.0.0", "172.31.255.255", "172.32.0.0"),
            ("191.255.255.255", "192.0.0.0", "192.0.0.8", "192.0.0.9"),
            ("192.0.0.10", "192.0.0.11", "192.0.0.255", "192.0.1.0"),
            ("192.0.1.255", "192.0.2.0", "192.0.2.255", "192.0.3.0"),
            ("192.88.98.255", "192.88.99.0", "192.88.99.255", "192.88.100.0"),
            ("192.167.255.255", "192.168.0.0", "192.168.255.255", "192.169.0.0"),
            ("198.17.255.255", "198.18.0.0", "198.19.255.255", "198.20.0.0"),
            ("198.51.99.255", "198.51.100.0", "198.51.100.255", "198.51.101.0"),
            ("203.0.112.255", "203.0.113.0", "203.0.113.255", "203.0.114.0"),
            ("223.255.255.255", "224.0.0.0", "255.255.255.255", ""),
            ("", "::", "64:ff9a:ffff:ffff:ffff:ffff:ffff:ffff", "64:ff9b::100:0"),
            ("64:ff9b::dfff:ffff", "64:ff9b::e000:0", "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2000::"),
            ("2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2001::", "2001:1::", "2001:1::1"),
            ("2001:1::3", "2001:1::4", "2001:2:ffff:ffff:ffff:ffff:ffff:ffff", "2001:3::"),
            ("2001:3:ffff:ffff:ffff:ffff:ffff:ffff", "2001:4::", "2001:4:111:ffff:ffff:ffff:ffff:ffff", "2001:4:112::"),
            (
                "2001:4:112:ffff:ffff:ffff:ffff:ffff",
                "2001:4:113::",
                "2001:1f:ffff:ffff:ffff:ffff:ffff:ffff",
                "2001:20::",
            ),
            (
                "2001:3f:ffff:ffff:ffff:ffff:ffff:ffff",
                "2001:40::",
                "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff",
                "2001:200::",
            ),
            (
                "2001:db7:ffff:ffff:ffff:ffff:ffff:ffff",
                "2001:db8::",
                "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff",
                "2001:db9::",
            ),
            ("2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2002::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2003::"),
            (
                "3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
                "3fff::",
                "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff",
                "3fff:1000::",
            ),
            ("3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "4000::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", ""),
        ] {
            for inside in [first, last] {
                assert!(!public(inside), "{inside}");
            }
            for outside in [before, after].into_iter().filter(|outside| !outside.is_empty()) {
                assert!(public(outside), "{outside}");
            }
        }
    }

    #[test]
    fn what_the_registries_call_global_is_public() {
        for address in [
            "192.0.0.9",
            "192.0.0.10",
            "192.31.196.1",
            "192.52.193.1",
            "192.175.48.1",
            "8.8.8.8",
            "1.1.1.1",
            "2001:1::1",
            "2001:1::2",
            "2001:1::3",
            "2001:3::1",
            "2001:4:112::1",
            "2001:20::1",
            "2001:30::1",
            "2620:4f:8000::1",
            "2606:4700:4700::1111",
            "2a00:1450:4001::1",
        ] {
            assert!(public(address), "{address}");
        }
    }

    #[test]
    fn addresses_that_lead_to_an_address_of_ipv4_are_judged_by_it() {
        for (address, is) in [
            ("64:ff9b::8.8.8.8", true),
            ("64:ff9b::127.0.0.1", false),
            ("64:ff9b::10.0.0.1", false),
            ("2606:4700::5efe:8.8.8.8", true),
            ("2606:4700::5efe:192.168.0.1", false),
            ("2606:4700::200:5efe:10.0.0.1", false),
            ("2606:4700::201:5efe:10.0.0.1", true),
            // These are not for the Internet, whatever they lead to.
            ("64:ff9b:1::8.8.8.8", false),
            ("::ffff:8.8.8.8", false),
            ("::8.8.8.8", false),
            ("2002:808:808::1", false),
            ("2001:0:808:808::1", false),
        ] {
            assert_eq!(public(address), is, "{address}");
        }
    }

    #[test]
    fn numbers_that_are_no_address() {
        for host in [
            "",
            ".",
            "..",
            "a",
            "1.example",
            "256.0.0.1",
            "1.256.0.1",
            "1.2.3.256",
            "1.2.65536",
            "1.16777216",
            "4294967296",
            "99999999999999999999",
            "1.2.3.4.5",
            "1.2.3.4.0",
            "1..2",
            ".1",
            "1.2.3.4..",
            "08.0.0.1",
            "0x",
            "0x.1",
            "1.0x",
            "0xg",
            "+1",
            "-1",
            "0x+1",
            "0+1",
            "1 ",
            " 1",
            "1e3",
            "7f000001",
            "[::1]",
            "::1%1",
            "::1.",
            "1:2",
            "::127.1",
            "::0x7f.0.0.1",
            "１",
            "127。0。0。1",
            "0b1",
        ] {
            assert_eq!(numeric_address(host), None, "{host}");
        }
    }

    #[test]
    fn names_of_this_machine() {
        for (name, is) in [
            ("localhost", true),
            ("LocalHost.", true),
            ("a.b.LOCALHOST", true),
            (".localhost", true),
            ("localhost..", false),
            ("notlocalhost", false),
            ("localhost.example", false),
            ("ocalhost", false),
            ("", false),
        ] {
            assert_eq!(is_localhost(name), is, "{name}");
        }
    }

    /// A number in one of the ways to write it.
    pub(crate) fn spelled(value: u32, way: u8) -> String {
        let zeros = "0".repeat(usize::from(way / 8));
        match way % 4 {
            0 => format!("{value}"),
            1 => format!("0{zeros}{value:o}"),
            2 => format!("0x{zeros}{value:x}"),
            _ => format!("0X{zeros}{value:X}"),
        }
    }

    quickcheck! {
        fn every_spelling_of_an_address_is_read(address: u32, ways: (u8, u8, u8, u8), parts: u8, root: bool) -> bool {
            let [a, b, c, d] = address.to_be_bytes().map(u32::from);
            let (wa, wb, wc, wd) = ways;
            let written = match parts % 4 {
                0 => spelled(address, wa),
                1 => format!("{}.{}", spelled(a, wa), spelled(address & 0xff_ffff, wb)),
                2 => format!("{}.{}.{}", spelled(a, wa), spelled(b, wb), spelled(address & 0xffff, wc)),
                _ => format!("{}.{}.{}.{}", spelled(a, wa), spelled(b, wb), spelled(c, wc), spelled(d, wd)),
            };
            let host = if root { format!("{written}.") } else { written };
            numeric_address(&host) == Some(Ipv4Addr::from(address).into())
        }

        fn what_the_standard_library_reads_is_read_alike(v4: u32, v6: u128) -> bool {
            let addresses = [IpAddr::from(Ipv4Addr::from(v4)), Ipv6Addr::from(v6).into()];
            addresses.iter().all(|address| numeric_address(&format!("{address}")) == Some(*address))
        }
    }
}
