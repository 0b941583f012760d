//! Every way that we know of to write what must not be fetched.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use quickcheck::quickcheck;

use super::*;

fn verdict(host: &str) -> Result<Url, RefusalReason> {
    GuardPolicy::default().check(&format!("https://{host}/.well-known/x"), None).map_err(|refused| refused.reason)
}

/// Hosts that are addresses of this machine, of a private network, or reserved: by what they are in fact.
const NOT_PUBLIC: &[(&str, &str)] = &[
    (
        "this machine: 127.0.0.0/8",
        "127.0.0.1 127.0.0.1. 127.1 127.1. 127.0.1 127.255.255.254 127.127.127.127 2130706433 2130706433. 0x7f000001
         0X7F000001 0x7F.0x0.0x0.0x1 0x7f.1 0X7f.1. 0x7f.0.1 017700000001 00017700000001 0177.0.0.1 0177.0.0.01 0177.1
         00177.00.00.01 0177.0x0.1 127.0x1 127.0.0x0.1 127.00.00.01 127.0.01 0x0000000000007f.0.0.1 127.16777215
         127.65535 127.0.65535 0x7fffffff 2147483647 017777777777 0x7f.0xffffff",
    ),
    ("this network: 0.0.0.0/8", "0 0. 0.0.0.0 0x0 00 0.0 0x0.0x0 0.1.2.3 1 255 16777215"),
    ("private: 10.0.0.0/8", "10.0.0.1 10.1 10.255.255.255 012.0.0.1 0xa.1 0x0A000001 167772161 01200000001 10.0x1"),
    ("private: 172.16.0.0/12", "172.16.0.1 172.31.255.255 0xac.0x10.1 0254.020.0.1 2886729729 172.1048577"),
    ("private: 192.168.0.0/16", "192.168.0.1 192.168.1 192.168.257 0xc0a80001 0300.0250.1 3232235521 192.0xa80001"),
    (
        "link-local, where clouds tell their secrets: 169.254.0.0/16",
        "169.254.169.254 169.254.169.254. 169.254.43518 169.16689662 2852039166 0xa9fea9fe 0xA9.0xFE.0xA9.0xFE
         0251.0376.0251.0376 025177524776 169.254.0xa9fe 169.254.0.0 169.254.170.2",
    ),
    ("shared by customers: 100.64.0.0/10", "100.64.0.1 100.127.255.255 100.100.100.200 0x64.0x40.1 1681915905"),
    ("protocols: 192.0.0.0/24", "192.0.0.0 192.0.0.8 192.0.0.170 192.0.0.192 0xc00000c0"),
    ("documentation", "192.0.2.1 198.51.100.1 203.0.113.255 0xc0.0.0x201 3405803777"),
    ("benchmarks: 198.18.0.0/15", "198.18.0.1 198.19.255.255 0xc6.0x13.1"),
    ("relays of 6to4", "192.88.99.1"),
    ("multicast: 224.0.0.0/4", "224.0.0.1 239.255.255.250 0xe0.1 0340.0.0.01 3758096385"),
    ("reserved: 240.0.0.0/4", "240.0.0.1 255.255.255.255 4294967295 0xffffffff 037777777777 255.16777215"),
    (
        "IPv6: this machine, nothing, the link, the site, the network, everybody",
        "[::1] [0:0:0:0:0:0:0:1] [0000:0000:0000:0000:0000:0000:0000:0001] [::0.0.0.1] [0::1] [::] [0:0:0:0:0:0:0:0]
         [fe80::1] [FE80::1] [febf::1] [fe80::a9fe:a9fe] [fec0::1] [feff::1] [fc00::1] [fd00::1] [FD00:EC2::254]
         [fdff:ffff::1] [ff00::] [ff02::1] [ff0e::1]",
    ),
    (
        "IPv4 in IPv6: mapped, translated, compatible",
        "[::ffff:127.0.0.1] [::FFFF:127.0.0.1] [::ffff:7f00:1] [0:0:0:0:0:ffff:127.0.0.1] [::ffff:10.0.0.1]
         [::ffff:a9fe:a9fe] [::ffff:169.254.169.254] [::ffff:192.168.1.1] [::ffff:0:127.0.0.1] [::ffff:0.0.0.0]
         [::127.0.0.1] [::7f00:1] [::10.0.0.1] [::a9fe:a9fe]",
    ),
    (
        "IPv4 behind NAT64",
        "[64:ff9b::127.0.0.1] [64:ff9b::7f00:1] [0064:FF9B::10.0.0.1] [64:ff9b::a9fe:a9fe] [64:ff9b::192.168.0.1]
         [64:ff9b::0.0.0.0] [64:ff9b::224.0.0.1] [64:ff9b:1::127.0.0.1] [64:ff9b:1:7f00:0:100::]
         [64:ff9b:1:ffff::8.8.8.8] [64:ff9b::1:127.0.0.1]",
    ),
    (
        "IPv4 in tunnels: 6to4, Teredo, ISATAP",
        "[2002:7f00:1::] [2002:7f00:1::1] [2002:a00:1::1] [2002:a9fe:a9fe::] [2002:c0a8:101::1] [2001::80ff:fffe]
         [2001:0:7f00:1::] [2001:0:4136:e378:8000:63bf:f5ff:fffe] [2001:0000:0:0:0:0:5601:5601]
         [2606:4700::5efe:127.0.0.1] [2606:4700::200:5efe:10.0.0.1] [2606:4700::5efe:a9fe:a9fe]
         [fe80::5efe:192.168.0.1] [fe80::200:5efe:8.8.8.8]",
    ),
    (
        "IPv6: documentation, benchmarks, to be discarded, reserved",
        "[2001:db8::1] [2001:DB8:ffff::1] [3fff::1] [3fff:fff::1] [2001:2::1] [2001:10::1] [100::1] [100:0:0:1::1]
         [5f00::1] [200::1] [400::1] [1fff::1] [4000::1] [8000::1] [e000::1] [f000::1] [fbff::1] [fe00::1]",
    ),
    (
        "names that only this machine or a private network has",
        "localhost localhost. LOCALHOST LocalHost. a.localhost a.b.LOCALHOST. localhost.localdomain
         localhost6.localdomain6.localdomain ip6-localhost ip6-loopback broadcasthost router.local Router.LOCAL.
         metadata.google.internal METADATA.google.internal. instance-data.ec2.internal host.docker.internal
         gateway.containers.internal nas.home.arpa nas.HOME.ARPA. intranet metadata metadata. kubernetes xn--localhost
         x7f000001 local internal",
    ),
];

#[test]
fn what_is_not_public_is_refused_in_every_spelling() {
    let mut count = 0;
    for (what, hosts) in NOT_PUBLIC {
        for host in hosts.split_whitespace() {
            assert_eq!(verdict(host), Err(RefusalReason::NotPublic), "{host}, {what}");
            let with_port = format!("{host}:8443");
            assert_eq!(verdict(&with_port), Err(RefusalReason::NotPublic), "{with_port}, {what}");
            count += 1;
        }
    }
    assert!(count >= 150, "{count}");
}

#[test]
fn what_may_be_read_in_two_ways_is_refused() {
    for hosts in [
        // 8.8.8.8 to those who read octal numbers, and 10.8.8.8 to the others.
        "010.8.8.8 010.8.8.8. 8.8.8.010 8.8.08.8 0000010.8.8.8 001.1.1.1 1.1.1.01",
        // Numbers that are too large, or too many, wrap to some and are names to others.
        "4294967296 4294967297 8589934591 6425673729 256.1.1.1 1.1.1.256 383.0.0.1 1.2.65536 127.16777216 1.2.3.4.5
         127.0.0.1.1 0.0.0.0.0 0x100000000 0x17f000001 040000000000 99999999999999999999",
        // Digits that are none of their radix; radixes that not all know; numbers without digits.
        "08 0189.1 127.0.0.08 0x 0x.0x 127.0.0.0x 0b1111111.1 1.0b1 0o177.1 1e3 127.1e0 127.0.0.1a 7f000001.0x7g
         evil.1 a.b.0x7f example.7",
        // Parts that are missing.
        ". .. 127..1 .127.0.0.1 127.0.0.1.. 127.0.0..1 as..example .as.example as.example.. localhost.. ..localhost",
    ] {
        for host in hosts.split_whitespace() {
            let reason = verdict(host).unwrap_err();
            // Some are no public names either: they are refused by the first that is found.
            assert!(matches!(reason, RefusalReason::Unclear | RefusalReason::NotPublic), "{host}: {reason:?}");
            let lenient = GuardPolicy { allow_private: true, ..GuardPolicy::default() };
            let reason = lenient.check(&format!("https://{host}/"), None).unwrap_err().reason;
            assert_eq!(reason, RefusalReason::Unclear, "{host}, also where private addresses are allowed");
        }
    }
    assert_eq!(verdict("010.8.8.8"), Err(RefusalReason::Unclear));
}

#[test]
fn what_is_no_host_is_refused() {
    for host in [
        // Zones, with and without encoding.
        "[fe80::1%eth0]",
        "[fe80::1%25eth0]",
        "[::1%1]",
        "[::1%251]",
        // Encoded hosts.
        "%31%32%37.0.0.1",
        "127.0.0.1%2e",
        "127%2e0.0.1",
        "loc%61lhost",
        "%6c%6f%63%61%6c%68%6f%73%74",
        "as.example%00.evil.example",
        "as.example%2f.evil.example",
        "%5b::1%5d",
        // Letters and digits that look alike, and dots that are taken for dots.
        "ｌｏｃａｌｈｏｓｔ",
        "ⓛⓞⓒⓐⓛⓗⓞⓢⓣ",
        "loca\u{13c}host",
        "l\u{43e}calhost",
        "１２７.0.0.1",
        "127。0。0。1",
        "127．0．0．1",
        "127｡0｡0｡1",
        "①②⑦.⓪.⓪.①",
        "١٢٧.0.0.1",
        "𝟏𝟐𝟕.0.0.1",
        "0ｘ7f.1",
        "local\u{ad}host",
        "local\u{200b}host",
        "\u{feff}localhost",
        "ℓocalhost",
        "[：：1]",
        "as.example\u{2024}",
        "as.example\u{ff0f}.evil.example",
        // Blanks and what ends texts and lines.
        "127.0.0.1 ",
        "127.0.0.1\t",
        "local\nhost",
        "local\thost",
        "local\rhost",
        "localhost\0",
        "127.0.0.1\u{b}",
        "as.example .evil.example",
        // Brackets.
        "[]",
        "[127.0.0.1]",
        "[localhost]",
        "[::1",
        "::1",
        "[[::1]]",
        "[::1]x",
        "[::1].",
        "[::127.1]",
        "[::0x7f.0.0.1]",
        "[::ffff:127.1]",
        "[::0177.0.0.1]",
        "[::ffff:0127.0.0.1]",
        "[1::2::3]",
        "[::fffff]",
        "[1:2:3:4:5:6:7:8:9]",
        "[v1.x:y]",
        "[::1\u{ff3d}",
        // More than a host.
        "",
        ":443",
        "as.example@127.0.0.1",
        "127.0.0.1@as.example",
        "user:pw@as.example",
        "as.example\\@127.0.0.1",
        "as.example\\.evil.example",
        "as.example:80@127.0.0.1",
        "as.example:0",
        "as.example:65536",
        "as.example:443:80",
        "$(reboot).example",
        "`id`.example",
        "a;b.example",
        "a&b.example",
        "a|b.example",
        "'a'.example",
        "*.example",
        "!a.example",
        "+1.1.1.1",
        "1,1.example",
        "a=b.example",
        "<a>.example",
    ] {
        let reason = verdict(host).unwrap_err();
        assert!(matches!(reason, RefusalReason::Invalid(_)), "{host:?}: {reason:?}");
    }
}

#[test]
fn what_is_no_url_of_a_public_server_is_refused() {
    use RefusalReason::{Invalid, NotHttps};
    for (url, reason) in [
        ("", Invalid(UrlError::Scheme)),
        ("as.example", Invalid(UrlError::Scheme)),
        ("//as.example/", Invalid(UrlError::Scheme)),
        ("file:///etc/passwd", Invalid(UrlError::Scheme)),
        ("file://as.example/etc/passwd", Invalid(UrlError::Scheme)),
        ("javascript:alert(1)", Invalid(UrlError::Scheme)),
        ("javascript://as.example/%0aalert(1)", Invalid(UrlError::Scheme)),
        ("data:text/html,x", Invalid(UrlError::Scheme)),
        ("ftp://as.example/", Invalid(UrlError::Scheme)),
        ("gopher://as.example/", Invalid(UrlError::Scheme)),
        ("ms-settings://as.example/", Invalid(UrlError::Scheme)),
        ("$(reboot)", Invalid(UrlError::Scheme)),
        ("$(reboot)https://as.example/", Invalid(UrlError::Scheme)),
        ("--x", Invalid(UrlError::Scheme)),
        ("--proxy-server=https://as.example/", Invalid(UrlError::Scheme)),
        ("-https://as.example/", Invalid(UrlError::Scheme)),
        ("https:as.example", Invalid(UrlError::Scheme)),
        ("https:/as.example", Invalid(UrlError::Scheme)),
        ("https:\\\\as.example", Invalid(UrlError::Scheme)),
        ("https:////as.example", Invalid(UrlError::Host)),
        ("ht\ttps://as.example/", Invalid(UrlError::Scheme)),
        ("https ://as.example/", Invalid(UrlError::Scheme)),
        ("https://as.example/a b", Invalid(UrlError::Path)),
        ("https://as.example/\r\nHost: evil.example", Invalid(UrlError::Path)),
        ("https://as.example/`id`", Invalid(UrlError::Path)),
        ("https://as.example/?a|b", Invalid(UrlError::Path)),
        ("https://as.example/\"&calc&\"", Invalid(UrlError::Path)),
        ("https://as.example/a^b", Invalid(UrlError::Path)),
        ("https://as.example/{tenant}", Invalid(UrlError::Path)),
        ("https://as.example/<script>", Invalid(UrlError::Path)),
        ("https://as.example/a\\b", Invalid(UrlError::Path)),
        ("https://as.example/ü", Invalid(UrlError::Path)),
        ("http://as.example/", NotHttps),
        ("HTTP://as.example/", NotHttps),
        ("http://127.0.0.1/", NotHttps),
    ] {
        let refused = GuardPolicy::default().check(url, None).unwrap_err();
        assert_eq!(refused.reason, reason, "{url}");
    }
}

#[test]
fn what_anybody_can_have_is_allowed() {
    for hosts in [
        "as.example AS.Example as.example. as.example:8443 a.b.c.d.example xn--mller-kva.example a_b.example 1.example
         127.0.0.1.example 10.example 0x7f.example localhost.example local.example notlocalhost.example
         internal.example mylocal.example as.notlocal as.xinternal home.arpa.example",
        // What names like these lead to is judged when they are looked up.
        "127.0.0.1.nip.io localtest.me",
        "8.8.8.8 8.8.8.8. 1.1.1.1 0x08080808 134744072 8.8.2056 0x8.0x8.0x8.0x8 9.255.255.255 11.0.0.0 100.63.255.255
         100.128.0.0 172.15.255.255 172.32.0.0 192.167.255.255 192.169.0.0 223.255.255.255 192.0.0.9 192.0.1.0
         [2606:4700:4700::1111] [2606:4700:4700:0:0:0:0:1111] [2A00:1450:4001::1]:8443 [64:ff9b::8.8.8.8]
         [2606:4700::5efe:8.8.8.8] [2001:200::1] [2003::1]",
    ] {
        for host in hosts.split_whitespace() {
            let url = verdict(host).unwrap_or_else(|reason| panic!("{host}: {reason:?}"));
            assert_eq!(url.authority(), host.to_ascii_lowercase());
        }
    }
    for url in [
        "https://as.example",
        "HTTPS://as.example/a?b=c&d=%20",
        " https://as.example/ ",
        "https://as.example/$(reboot)",
        "https://as.example/--x;a='b'!*,~@:+",
        "https://as.example/[x]",
    ] {
        GuardPolicy::default().check(url, None).unwrap();
    }
}

#[test]
fn local_development_is_allowed_by_what_it_needs() {
    let policy = |allow_http, allow_private| GuardPolicy { allow_http, allow_private, ..GuardPolicy::default() };
    for (url, http, private) in [
        ("https://as.example/", false, false),
        ("http://as.example/", true, false),
        ("https://127.0.0.1/", false, true),
        ("https://localhost:8443/", false, true),
        ("https://[::1]/", false, true),
        ("https://intranet/", false, true),
        ("https://sso.internal/", false, true),
        ("http://localhost:8080/", true, true),
        ("http://0x7f.1/", true, true),
        ("http://[fd00::1]/", true, true),
    ] {
        for (allow_http, allow_private) in [(false, false), (false, true), (true, false), (true, true)] {
            let allowed = policy(allow_http, allow_private).check(url, None).is_ok();
            assert_eq!(
                allowed,
                (!http || allow_http) && (!private || allow_private),
                "{url} {allow_http} {allow_private}"
            );
        }
    }
    // What is allowed is no less read with care.
    let refused = policy(true, true).check("file:///etc/passwd", None).unwrap_err();
    assert_eq!(refused.reason, RefusalReason::Invalid(UrlError::Scheme));
}

#[test]
fn a_host_is_the_expected_one_or_allowed_by_name() {
    let guard = GuardPolicy {
        allowed_hosts: vec!["Keys.Example.".to_owned(), "[2606:4700::1]".to_owned(), String::new()],
        ..GuardPolicy::default()
    };
    for (host, expected, same) in [
        ("as.example", "as.example", true),
        ("AS.Example.", "as.example", true),
        ("as.example", "As.Example.", true),
        ("as.example:8443", "as.example", true),
        ("keys.example", "as.example", true),
        ("KEYS.example.", "as.example", true),
        ("[2606:4700::1]", "as.example", true),
        ("[2606:4700::2]", "2606:4700::2", true),
        ("[2606:4700::2]", "[2606:4700::2]", true),
        ("[2606:4700::2]", "as.example", false),
        ("evil.example", "as.example", false),
        ("as.example.evil.example", "as.example", false),
        ("evil-as.example", "as.example", false),
        ("sub.as.example", "as.example", false),
        ("example.com", "as.example", false),
        ("sub.keys.example", "as.example", false),
        ("as.example", "as.example..", false),
        ("as.example", "", false),
    ] {
        let url = format!("https://{host}/");
        let refused = guard.check(&url, Some(expected)).map_err(|refused| refused.reason).err();
        let wanted = (!same).then(|| RefusalReason::OtherHost { expected: expected.to_string() });
        assert_eq!(refused, wanted, "{host} for {expected}");
        assert!(guard.check(&url, None).is_ok());
    }
    // The name that is expected is no excuse for where it leads.
    let private = guard.check("https://127.0.0.1/", Some("127.0.0.1")).unwrap_err();
    assert_eq!(private.reason, RefusalReason::NotPublic);
    let guard = GuardPolicy { allowed_hosts: vec!["localhost".to_owned()], ..GuardPolicy::default() };
    assert_eq!(guard.check("https://localhost/", Some("a.example")).unwrap_err().reason, RefusalReason::NotPublic);
}

#[test]
fn a_refusal_says_what_and_why_and_no_secret() {
    let told = |url: &str, host| GuardPolicy::default().check(url, host).unwrap_err().to_string();
    let url = "https://me:hidden@as.example/token?key=hidden";
    let text = told(url, None);
    assert!(
        text.starts_with("https://…@as.example/token?key=… is not fetched: ") && !text.contains("hidden"),
        "{text}"
    );
    for (url, host, why) in [
        ("http://as.example/", None, "it is not https; for local development allow http"),
        ("https://10.0.0.1/", None, "its host is no public address; for local development allow private addresses"),
        ("https://010.8.8.8/", None, "its host is neither a name nor an address that all read alike"),
        ("https://b.example/", Some("a.example"), "its host is not a.example; if that is right, allow it by name"),
        ("--x", None, "the URL does not begin with http:// or https://"),
    ] {
        assert_eq!(told(url, host), format!("{url} is not fetched: {why}"));
    }
    // Whoever reads it in a terminal or a log is not misled.
    let text = told("https://a\u{1b}[2Jb\r\nAll is well\u{9b}", None);
    assert!(!text.chars().any(char::is_control), "{text:?}");
    assert!(told(&format!("https://10.0.0.1/{}", "x".repeat(100_000)), None).len() < 1000);
}

/// All ways to write an IPv4 address as a host.
fn spelled(address: u32, way: u8) -> String {
    let [a, b, c, d] = address.to_be_bytes();
    match way % 12 {
        0 => format!("{a}.{b}.{c}.{d}"),
        1 => format!("{address}"),
        2 => format!("{address:#x}"),
        3 => format!("0{address:o}"),
        4 => format!("0X{a:X}.{}", address & 0xff_ffff),
        5 => format!("{a}.0{b:o}.{:#x}", address & 0xffff),
        6 => format!("00{a:o}.0x00{b:X}.{c}.{d}."),
        7 => format!("[::{:x}:{:x}]", address >> 16, address & 0xffff),
        8 => format!("[::ffff:{a}.{b}.{c}.{d}]"),
        9 => format!("[64:FF9B::{a}.{b}.{c}.{d}]"),
        10 => format!("[2606:4700::5efe:{a}.{b}.{c}.{d}]"),
        _ => format!("[2002:{:x}:{:x}::1]", address >> 16, address & 0xffff),
    }
}

quickcheck! {
    /// Twice as often from the blocks that matter.
    fn a_forbidden_address_is_refused_however_it_is_written(address: u32, way: u8, block: u8) -> bool {
        let blocks = [(10, 8), (127, 8), (172 << 8 | 16, 12), (192 << 8 | 168, 16), (169 << 8 | 254, 16), (100 << 8 | 64, 10)];
        let address = match blocks.get(usize::from(block % 12)) {
            Some((start, 8)) => start << 24 | address >> 8,
            Some((start, length)) => (start << 16) | (address >> length),
            None => address,
        };
        is_public(Ipv4Addr::from(address).into()) || verdict(&spelled(address, way)).is_err()
    }

    fn an_address_of_ipv6_is_allowed_if_it_is_public(address: u128, near: u8) -> bool {
        let starts = [0x2000_u128 << 112, 0x2001 << 112, 0x2001_0db8 << 96, 0xfe80 << 112, 0xfd00 << 112, 0xff02 << 112, 0x64_ff9b << 96, 0];
        let address = match starts.get(usize::from(near % 16)) {
            Some(start) => start | address >> 32,
            None => address,
        };
        let address = Ipv6Addr::from(address);
        verdict(&format!("[{address}]")).is_ok() == is_public(IpAddr::from(address))
    }
}
