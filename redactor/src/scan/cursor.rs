//! Where a search stands among the literals that heads need, and what a start is worth.

use super::gate::{Gates, Mask};
use super::groups::MOST_GROUPS;
use super::probe::Test;

/// Out of reach from everywhere.
const NOWHERE: usize = usize::MAX / 2;
/// Not looked for yet.
const UNKNOWN: usize = usize::MAX;
/// In texts of no more bytes, literals are looked for only if their bytes are there.
const SHORT: usize = 256;

/// Where a literal stands that is not in a text: behind its end, perhaps, or nowhere.
fn nowhere(text: &[u8], growing: bool) -> usize {
    if growing { text.len() } else { NOWHERE }
}

/// Which heads a start is worth a run of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Worth {
    /// Those that need no more than their beginning.
    pub(super) plain: bool,
    /// The others.
    pub(super) other: bool,
    /// Numbers that count only beside their name.
    pub(crate) beside: bool,
}

impl Worth {
    pub(super) const ALL: Self = Self {
        plain: true,
        other: true,
        beside: true,
    };
    pub(super) const NOTHING: Self = Self {
        plain: false,
        other: false,
        beside: false,
    };
}

/// Where a search stands.
pub(super) struct Cursor {
    /// Whether the text may go on behind its end.
    pub(super) growing: bool,
    /// The groups whose literal is in reach, and those that need none.
    pub(super) live: Mask,
    /// Up to here `live` stays as it is.
    pub(super) until: usize,
    /// The groups whose literal may stand further on, for all that is known.
    sought: Mask,
    /// For each group, where the literal that it needs stands next, and up to where that keeps its
    /// bit in `live` as it is.
    pub(super) next: [(usize, usize); MOST_GROUPS],
}

impl Cursor {
    pub(super) fn new(gates: &Gates, text: &[u8], growing: bool) -> Self {
        // One look at a short text shows which literals cannot be in it. Where it may grow, they
        // may be, behind its end.
        let sought = match text.len() <= SHORT && !growing {
            true => gates.literals & gates.keys.in_text(text),
            false => gates.literals,
        };
        Self {
            growing,
            live: 0,
            until: 0,
            sought,
            next: [(UNKNOWN, 0); MOST_GROUPS],
        }
    }
}

impl Gates {
    /// Looks where literals stand next, for the groups of which that was known only up to here.
    pub(super) fn look_ahead(&self, text: &[u8], at: usize, cursor: &mut Cursor) {
        cursor.live |= !self.literals;
        cursor.until = usize::MAX;
        let none = nowhere(text, cursor.growing);
        let mut left = cursor.sought;
        while left != 0 {
            let bit = left & left.wrapping_neg();
            left &= left - 1;
            // The first group needs nothing, so that the others are numbered from one on.
            let group = bit.trailing_zeros() as usize - 1;
            let Some((next, until)) = cursor.next.get_mut(group) else {
                continue;
            };
            if *until <= at
                && let Some(Test::Literal(wanted)) = self.tests.get(group)
            {
                if *next < at || *next == UNKNOWN {
                    let rest = text.get(at..).unwrap_or_default();
                    let found = wanted.literals.find(rest);
                    *next = found.map_or(none, |found| at + found);
                }
                let from = wanted.begin(text, at, *next);
                if from <= at {
                    cursor.live |= bit;
                    *until = *next + 1;
                } else {
                    cursor.live &= !bit;
                    *until = from;
                }
                if *next == NOWHERE {
                    cursor.sought &= !bit;
                }
            }
            cursor.until = cursor.until.min(*until);
        }
    }
}
