//! Leaves: the lines of the log, as they are hashed and stored.

use crate::{
    clock::{Stamp, write_rfc3339},
    event::write_integer,
    json::parse_integer,
};

/// The most bytes of a leaf; tlog-tiles prefixes entries with 16-bit lengths.
pub const MAX_LEAF: usize = 65_535;

/// What precedes the time in the leaf `seq` of `writer`.
fn write_head(out: &mut Vec<u8>, writer: &str, seq: u64) {
    out.extend_from_slice(b"{\"v\":1,\"w\":\"");
    out.extend_from_slice(writer.as_bytes());
    out.extend_from_slice(b"\",\"seq\":");
    write_integer(out, seq);
    out.extend_from_slice(b",\"ts\":\"");
}

/// What follows the RFC 3339 time up to the monotonic time's digits.
fn write_time(out: &mut Vec<u8>, unix_us: u64) {
    write_rfc3339(out, unix_us);
    out.extend_from_slice(BEFORE_US);
    write_integer(out, unix_us);
    out.extend_from_slice(BEFORE_MONO);
}

/// The length of an RFC 3339 time as it stands in leaves.
const RFC3339_LENGTH: usize = 27;
/// What stands between the time and its microseconds.
const BEFORE_US: &[u8] = b"\",\"ts_us\":";
/// What stands between the two clocks.
const BEFORE_MONO: &[u8] = b",\"mono_us\":";
/// What stands between the monotonic time and the event; a closing brace follows the event.
const BEFORE_EVENT: &[u8] = b",\"e\":";

/// Appends a whole leaf, without a newline. `writer` needs no escaping: see [`crate::names`].
pub(crate) fn write_leaf(out: &mut Vec<u8>, writer: &str, seq: u64, stamp: Stamp, event: &[u8]) {
    write_head(out, writer, seq);
    write_time(out, stamp.unix_us);
    write_integer(out, stamp.mono_us);
    out.extend_from_slice(BEFORE_EVENT);
    out.extend_from_slice(event);
    out.push(b'}');
}

/// A leaf taken apart.
pub(crate) struct Leaf<'l> {
    pub(crate) stamp: Stamp,
    /// The exact bytes of the event; not yet known to be JSON.
    pub(crate) event: &'l [u8],
}

/// Reads leaves. Only the one form that [`write_leaf`] writes is one.
#[derive(Default)]
pub(crate) struct LeafReader(Vec<u8>);

impl LeafReader {
    /// The leaf in `line`, which must be number `seq` of `writer`.
    pub(crate) fn read<'l>(&mut self, line: &'l [u8], writer: &str, seq: u64) -> Option<Leaf<'l>> {
        self.0.clear();
        write_head(&mut self.0, writer, seq);
        let rest = line.strip_prefix(self.0.as_slice())?;
        let (unix_us, behind) = number(rest.get(RFC3339_LENGTH..)?.strip_prefix(BEFORE_US)?)?;
        self.0.clear();
        write_time(&mut self.0, unix_us);
        rest.starts_with(&self.0).then_some(())?;
        let (mono_us, behind) = number(behind.strip_prefix(BEFORE_MONO)?)?;
        let event = behind.strip_prefix(BEFORE_EVENT)?.strip_suffix(b"}")?;
        Some(Leaf {
            stamp: Stamp { unix_us, mono_us },
            event,
        })
    }
}

/// The digits at the start of `bytes` as a number, and what follows them.
fn number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let digits = bytes.iter().take_while(|b| b.is_ascii_digit()).count();
    let (digits, rest) = bytes.split_at_checked(digits)?;
    Some((parse_integer(digits)?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaves_come_back_and_nothing_else_does() {
        let writer = "20261129-a-0";
        let stamp = Stamp {
            unix_us: 1_795_961_100_000_001,
            mono_us: 0,
        };
        let mut line = Vec::new();
        write_leaf(&mut line, writer, 7, stamp, b"{}");
        let mut reader = LeafReader::default();
        let leaf = reader.read(&line, writer, 7).unwrap();
        assert_eq!((leaf.stamp, leaf.event), (stamp, &b"{}"[..]));
        assert!(reader.read(&line, writer, 8).is_none());
        assert!(reader.read(&line, "20261129-b-0", 7).is_none());
        let event = line.len() - 3;
        for index in (0..event).chain([line.len() - 1]) {
            let mut changed = line.clone();
            changed[index] ^= 1;
            // The monotonic time is the one free number in front of the event.
            let free = String::from_utf8(changed.clone())
                .unwrap()
                .contains("\"mono_us\":1,");
            assert_eq!(reader.read(&changed, writer, 7).is_some(), free, "{index}");
        }
    }

    #[test]
    fn the_form_of_a_leaf() {
        let mut out = Vec::new();
        let stamp = Stamp {
            unix_us: 1_795_961_100_123_456,
            mono_us: 88_123_456,
        };
        write_leaf(&mut out, "20261129-prod-9f", 812, stamp, br#"{"kind":"x"}"#);
        assert_eq!(
            String::from_utf8(out).unwrap(),
            concat!(
                r#"{"v":1,"w":"20261129-prod-9f","seq":812,"ts":"2026-11-29T14:05:00.123456Z","#,
                r#""ts_us":1795961100123456,"mono_us":88123456,"e":{"kind":"x"}}"#
            )
        );
    }
}
