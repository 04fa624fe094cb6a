//! Addresses of hosts: IPv4, IPv6, MAC.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::label::Label;
use crate::rule::{Candidate, Hit, Left, Rule, Tail};
use crate::validate::context::Cues;

use super::checked;

pub(super) fn rules() -> Vec<Rule> {
    let v4 = r"[0-9]{1,3}(?:\.[0-9]{1,3}){3}";
    let v6 = r"[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7}(?:\.[0-9]{1,3}){0,3}";
    let mac = r"[0-9A-Fa-f]{2}(?:(?::[0-9A-Fa-f]{2}){5}|(?:-[0-9A-Fa-f]{2}){5})";
    let left = (Left::Number, Tail::None);
    vec![
        checked("ipv4", Label::IP_ADDRESS, v4, left, ipv4),
        checked("ipv6", Label::IP_ADDRESS, v6, (Left::Any, Tail::None), ipv6),
        checked("mac", Label::MAC_ADDRESS, mac, left, mac_address),
    ]
}

/// Addresses that name no host of anybody (loopback, masks) and version numbers are left.
fn ipv4(candidate: &Candidate<'_>) -> Option<Hit> {
    let address: Ipv4Addr = candidate.matched().parse().ok()?;
    let bytes = candidate.text.as_bytes();
    let goes_on = match candidate.next() {
        Some(b'.' | b'-') => bytes
            .get(candidate.end + 1)
            .is_some_and(u8::is_ascii_alphanumeric),
        Some(b) => b.is_ascii_alphanumeric() || b == b'_',
        None => false,
    };
    let nobody = address.is_loopback()
        || address.is_unspecified()
        || address.is_broadcast()
        || address.is_multicast()
        || matches!(address.octets(), [255, ..] | [0, ..] | [.., 0]);
    let doubtful = is_version(candidate)
        || is_numbering(candidate, address)
        || (is_example(address) && in_prose(candidate) && !candidate.context.names(&TRAFFIC));
    if goes_on || nobody || (doubtful && !candidate.context.names(&HOSTS)) {
        return None;
    }
    candidate.whole(Label::IP_ADDRESS, 85)
}

/// What hosts and their addresses are called.
pub(super) const HOSTS: Cues = Cues::new(
    5,
    &[
        "ip",
        "ipv4",
        "ipaddr",
        "addr",
        "address",
        "host",
        "hostname",
        "client",
        "peer",
        "server",
        "remote",
        "gateway",
        "src",
        "dst",
        "dns",
        "nameserver",
        "resolver",
        "ping",
        "via",
    ],
);

/// What numbers of four parts are called that are no addresses.
pub(super) const RELEASES: Cues = Cues::new(
    6,
    &[
        "version", "versions", "release", "ver", "build", "v", "section",
    ],
);

/// Words of logs and reports before the host that they tell of.
pub(super) const TRAFFIC: Cues = Cues::new(
    9,
    &[
        "from",
        "to",
        "by",
        "login",
        "logged",
        "user",
        "session",
        "connect",
        "connected",
        "connection",
        "request",
        "requests",
        "attack",
        "traffic",
        "banned",
        "blocked",
    ],
);

/// An address that is kept free for examples (RFC 5737).
fn is_example(address: Ipv4Addr) -> bool {
    matches!(
        address.octets(),
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _]
    )
}

/// Whether it is a word of a sentence: no mark sets it apart as a value.
fn in_prose(candidate: &Candidate<'_>) -> bool {
    let before = candidate.text.get(..candidate.start).unwrap_or_default();
    let word = before.strip_suffix(' ').unwrap_or_default();
    let behind = candidate.text.get(candidate.end..).unwrap_or_default();
    let goes_on = match behind.strip_prefix(' ') {
        Some(next) => next.starts_with(char::is_lowercase),
        None => behind.starts_with([',', ';', '.']),
    };
    word.ends_with(char::is_alphabetic) && goes_on
}

/// What devices and their addresses are called.
pub(super) const DEVICES: Cues = Cues::new(
    10,
    &[
        "mac",
        "hwaddr",
        "ether",
        "ethernet",
        "bssid",
        "lladdr",
        "device",
        "hardware",
        "wlan",
        "wifi",
        "bluetooth",
        "adapter",
        "interface",
        "physical",
        "address",
        "addr",
        "client",
        "host",
    ],
);

/// Small numbers that no port or mask follows are sections, releases and object identifiers:
/// `§4.2.1.13`, `Git 1.8.1.3`, `oid!(2.5.4.6)`.
fn is_numbering(candidate: &Candidate<'_>, address: Ipv4Addr) -> bool {
    let [first, rest @ ..] = address.octets();
    let bare = !matches!(candidate.next(), Some(b':' | b'/'));
    bare && first < 10 && rest.iter().all(|part| *part < 100)
}

fn is_version(candidate: &Candidate<'_>) -> bool {
    let glued = candidate
        .previous()
        .is_some_and(|b| b"-/@=<>~^".contains(&b));
    let small = candidate.matched().split('.').all(|part| part.len() <= 2);
    candidate.context.names(&RELEASES) || (glued && small)
}

fn ipv6(candidate: &Candidate<'_>) -> Option<Hit> {
    let before = candidate.previous();
    if before.is_some_and(|b| b.is_ascii_alphanumeric() || b == b':' || b == b'.') {
        return None;
    }
    let matched = candidate.matched();
    let matched = if matched.ends_with("::") {
        matched
    } else {
        matched.trim_end_matches(':')
    };
    let end = candidate.start + matched.len();
    let next = candidate.text.as_bytes().get(end);
    // Groups that go on are a fingerprint's.
    let goes_on = candidate
        .text
        .as_bytes()
        .get(end..end + 2)
        .is_some_and(|rest| matches!(rest, [b':', b] if b.is_ascii_hexdigit()));
    if goes_on || next.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_') {
        return None;
    }
    let address: Ipv6Addr = matched.parse().ok()?;
    let groups = matched.split(':').filter(|group| !group.is_empty()).count();
    // `a::b` is how many languages write a path, so a short form needs digits and length.
    let telling = groups >= 3 && matched.bytes().any(|b| b.is_ascii_digit());
    if address.is_loopback() || address.is_unspecified() || !telling {
        return None;
    }
    let whole = candidate.whole(Label::IP_ADDRESS, 90)?;
    Some(Hit { end, ..whole })
}

fn mac_address(candidate: &Candidate<'_>) -> Option<Hit> {
    let digits: Vec<u8> = candidate
        .matched()
        .bytes()
        .filter(u8::is_ascii_alphanumeric)
        .collect();
    let same = digits.windows(2).all(|pair| pair.first() == pair.last());
    let goes_on = candidate
        .next()
        .is_some_and(|b| b.is_ascii_alphanumeric() || b == b':' || b == b'-');
    let continued = candidate.previous().is_some_and(|b| b == b':' || b == b'-');
    // One that an administrator made up names no device unless something says so.
    let own = candidate
        .matched()
        .as_bytes()
        .get(1)
        .is_some_and(|b| b"2367abefABEF".contains(b));
    let unnamed = own && in_prose(candidate) && !candidate.context.names(&DEVICES);
    if goes_on || continued || same || unnamed {
        return None;
    }
    candidate.whole(Label::MAC_ADDRESS, 88)
}

#[cfg(test)]
mod tests {
    use crate::rules::testing::{found, nothing};

    #[test]
    fn hosts() {
        found("from 203.0.113.9, ok", "IP_ADDRESS", &["203.0.113.9"]);
        found("the client 203.0.113.9 is", "IP_ADDRESS", &["203.0.113.9"]);
        found("seen from 85.214.9.3 today", "IP_ADDRESS", &["85.214.9.3"]);
        found(
            "known as 9c:b6:d0:e9:c1:fb here",
            "MAC_ADDRESS",
            &["9c:b6:d0:e9:c1:fb"],
        );
        found("203.0.113.9:8080", "IP_ADDRESS", &["203.0.113.9"]);
        found("client 5.9.12.7 said", "IP_ADDRESS", &["5.9.12.7"]);
        found("5.9.12.7:443", "IP_ADDRESS", &["5.9.12.7"]);
        found(
            "[2001:db8::8a2e:370:7334]:443",
            "IP_ADDRESS",
            &["2001:db8::8a2e:370:7334"],
        );
        found(
            "mac=9e:b0:34:e9:c1:fb",
            "MAC_ADDRESS",
            &["9e:b0:34:e9:c1:fb"],
        );
    }

    #[test]
    fn what_only_looks_like_hosts() {
        for text in [
            "127.0.0.1 0.0.0.0 255.255.255.0",
            "version 4.18.2.1",
            "pkg-1.2.3.4.tar.gz",
            "1.2.3.4.5",
            "300.1.2.3",
            "std::fs::read dead::beef ::1 12:30:45",
            "SHA1 Fingerprint=17:9f:bc:14:8a:3d:d0:0f:d2:4e:a1:33:12:00:bc:ff:01:02:03:04",
            "RFC 5280 §4.2.1.13, oid!(2.5.4.6)",
            "Git 1.8.1.3 Release Notes",
            "the manual writes 192.0.2.17 for any such number",
            "a container gets 02:42:ac:11:00:02 by itself",
        ] {
            nothing(text);
        }
    }
}
