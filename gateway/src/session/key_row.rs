//! The row of a session's wrapped key: the key as a tenant's key wrapped it, which of the tenant's keys
//! that is, whether the session is set aside, and whether the key must not be destroyed.
//!
//! `[ff] [fe] (wrapped | 02 ‖ epoch (32 bits, big-endian) ‖ wrapped)`: `ff` if the session is set aside; `fe`
//! if a legal hold is on it; the epoch only where it is not the one in the session's name. A wrapped key
//! begins with 1, the version of its form.

/// Stands in front of everything else of a session that is set aside.
const ASIDE: u8 = 0xff;
/// Stands in front of the key of a session that a legal hold is on.
const ON_HOLD: u8 = 0xfe;
/// Stands in front of the epoch of the tenant's key.
const EPOCH: u8 = 2;

/// One row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KeyRow<'r> {
    /// Whether the session is set aside.
    pub(super) aside: bool,
    /// Whether a legal hold is on it: it is not to be destroyed.
    pub(super) on_hold: bool,
    /// Which of the tenant's keys wraps it; `None`: the one that names the session.
    pub(super) epoch: Option<u32>,
    /// The wrapped key.
    pub(super) wrapped: &'r [u8],
}

impl<'r> KeyRow<'r> {
    /// Reads a row. What is not in any form of ours shows when the key is opened.
    pub(super) fn parse(row: &'r [u8]) -> Self {
        let (aside, rest) = marked(row, ASIDE);
        let (on_hold, rest) = marked(rest, ON_HOLD);
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
            on_hold,
            epoch,
            wrapped,
        }
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut row = Vec::with_capacity(self.wrapped.len() + 7);
        if self.aside {
            row.push(ASIDE);
        }
        if self.on_hold {
            row.push(ON_HOLD);
        }
        if let Some(epoch) = self.epoch {
            row.push(EPOCH);
            row.extend_from_slice(&epoch.to_be_bytes());
        }
        row.extend_from_slice(self.wrapped);
        row
    }
}

/// Whether a mark stands in front of a row, and the row behind it.
fn marked(row: &[u8], mark: u8) -> (bool, &[u8]) {
    match row.split_first() {
        Some((first, rest)) if *first == mark => (true, rest),
        _ => (false, row),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back_as_they_were() {
        for (aside, on_hold) in [(false, false), (false, true), (true, false), (true, true)] {
            for epoch in [None, Some(1), Some(u32::MAX)] {
                let row = KeyRow {
                    aside,
                    on_hold,
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
