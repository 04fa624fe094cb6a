//! The row of a session's wrapped key: the key as a tenant's key wrapped it, which of the tenant's keys
//! that is, whether the session is set aside, and the legal hold that is on it.
//!
//! `[ff] [fe ‖ since (64 bits) ‖ length ‖ reason] [fd] (wrapped | 02 ‖ epoch (32 bits) ‖ wrapped)`: `ff` if the session
//! is set aside; `fe` if it is on hold, since when in microseconds since 1970, and why, at most 255 bytes; `fd`
//! if it is being erased, so that no hold comes between the record of that and the key's destruction; the
//! epoch only where it is not the one in the session's name. Numbers are big-endian. A wrapped key begins
//! with 1, the version of its form.

/// Stands in front of everything else of a session that is set aside.
const ASIDE: u8 = 0xff;
/// Stands in front of a hold.
const ON_HOLD: u8 = 0xfe;
/// Stands in front of a key that is about to be destroyed.
const DOOMED: u8 = 0xfd;
/// Stands in front of the epoch of the tenant's key.
const EPOCH: u8 = 2;

/// One row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KeyRow<'r> {
    /// Whether the session is set aside.
    pub(super) aside: bool,
    /// The hold that is on it: the key is not to be destroyed.
    pub(super) hold: Option<Held<'r>>,
    /// Whether its erasure was asked for and is gone on with.
    pub(super) doomed: bool,
    /// Which of the tenant's keys wraps it; `None`: the one that names the session.
    pub(super) epoch: Option<u32>,
    /// The wrapped key.
    pub(super) wrapped: &'r [u8],
}

/// A hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Held<'r> {
    /// Since when, in microseconds since 1970 (UTC).
    pub(super) since_us: i64,
    /// Why: at most 255 bytes.
    pub(super) reason: &'r str,
}

impl<'r> KeyRow<'r> {
    /// Reads a row. What is not in any form of ours shows when the key is opened.
    pub(super) fn parse(row: &'r [u8]) -> Self {
        let (aside, rest) = match row.split_first() {
            Some((&ASIDE, rest)) => (true, rest),
            _ => (false, row),
        };
        let (hold, rest) = match held(rest) {
            Some((hold, rest)) => (Some(hold), rest),
            None => (None, rest),
        };
        let (doomed, rest) = match rest.split_first() {
            Some((&DOOMED, rest)) => (true, rest),
            _ => (false, rest),
        };
        let with_epoch = match rest.split_first() {
            Some((&EPOCH, rest)) => rest.split_first_chunk(),
            _ => None,
        };
        let (epoch, wrapped) = match with_epoch {
            Some((epoch, wrapped)) => (Some(u32::from_be_bytes(*epoch)), wrapped),
            None => (None, rest),
        };
        Self {
            aside,
            hold,
            doomed,
            epoch,
            wrapped,
        }
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut row = Vec::with_capacity(self.wrapped.len() + 6);
        if self.aside {
            row.push(ASIDE);
        }
        if let Some(Held { since_us, reason }) = self.hold {
            row.push(ON_HOLD);
            row.extend_from_slice(&since_us.to_be_bytes());
            row.push(u8::try_from(reason.len()).unwrap_or(u8::MAX));
            row.extend(reason.bytes().take(usize::from(u8::MAX)));
        }
        if self.doomed {
            row.push(DOOMED);
        }
        if let Some(epoch) = self.epoch {
            row.push(EPOCH);
            row.extend_from_slice(&epoch.to_be_bytes());
        }
        row.extend_from_slice(self.wrapped);
        row
    }
}

/// The hold that a row begins with, and what stands behind it.
fn held(row: &[u8]) -> Option<(Held<'_>, &[u8])> {
    let (_, rest) = row.split_first().filter(|(first, _)| **first == ON_HOLD)?;
    let (since, rest) = rest.split_first_chunk()?;
    let (length, rest) = rest.split_first()?;
    let (reason, rest) = rest.split_at_checked(usize::from(*length))?;
    let hold = Held {
        since_us: i64::from_be_bytes(*since),
        reason: std::str::from_utf8(reason).ok()?,
    };
    Some((hold, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back_as_they_were() {
        let held = Held {
            since_us: -7,
            reason: "case:1",
        };
        for (aside, hold, doomed) in [
            (false, None, false),
            (false, Some(held), false),
            (true, None, true),
            (true, Some(held), true),
        ] {
            for epoch in [None, Some(1), Some(u32::MAX)] {
                let row = KeyRow {
                    aside,
                    hold,
                    doomed,
                    epoch,
                    wrapped: &[1, 2, 3],
                };
                assert_eq!(KeyRow::parse(&row.encode()), row);
            }
        }
        for row in [&[][..], &[2], &[2, 0, 0, 0], &[3, 1]] {
            let read = KeyRow::parse(row);
            assert_eq!((read.aside, read.epoch, read.wrapped), (false, None, row));
        }
    }
}
