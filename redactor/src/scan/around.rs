//! Literals that all have one rare byte: it is looked for, and they around it.

use super::bytes::{Bytes, share};

/// What is as rare as this is worth a search of its own.
const RARE: f32 = 0.0035;

/// Some literals with one byte that is first or second in each.
pub(super) struct Around {
    byte: u8,
    /// What stands next to it in one of them.
    beside: Bytes,
    literals: Vec<Vec<u8>>,
}

impl Around {
    /// Nothing if the literals have no such byte.
    pub(super) fn new(literals: &[Vec<u8>]) -> Option<Self> {
        let one = literals.first().filter(|_| literals.len() > 1)?;
        let mut rare = one.iter().filter(|byte| share(**byte) < RARE);
        rare.find_map(|byte| {
            let mut beside = Bytes::default();
            for literal in literals {
                match literal.as_slice() {
                    [first, other, ..] if first == byte => beside.add(*other),
                    [other, second, ..] if second == byte => beside.add(*other),
                    _ => return None,
                }
            }
            Some(Self {
                byte: *byte,
                beside,
                literals: literals.to_vec(),
            })
        })
    }

    /// The first place at which one of them stands.
    pub(super) fn find(&self, text: &[u8]) -> Option<usize> {
        memchr::memchr_iter(self.byte, text).find_map(|at| {
            let before = at.checked_sub(1);
            let beside = |place: usize| text.get(place).is_some_and(|b| self.beside.holds(*b));
            if !beside(at + 1) && !before.is_some_and(beside) {
                return None;
            }
            let mut places = before.into_iter().chain(Some(at));
            places.find(|place| {
                let rest = text.get(*place..).unwrap_or_default();
                self.literals.iter().any(|own| rest.starts_with(own))
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_first_one_is_found(text in "[@\r\nab]{0,40}") {
            let literals = ["\n@", "@\n", "@\r\n", "@@a"].map(|own| own.as_bytes().to_vec());
            let around = Around::new(&literals).unwrap();
            let text = text.as_bytes();
            let stands = |at: &usize| literals.iter().any(|own| text[*at..].starts_with(own));
            prop_assert_eq!(around.find(text), (0..text.len()).find(stands));
        }
    }

    #[test]
    fn a_byte_alone_is_no_literal() {
        let literals = ["@", "\n@"].map(|own| own.as_bytes().to_vec());
        assert!(Around::new(&literals).is_none());
    }
}
