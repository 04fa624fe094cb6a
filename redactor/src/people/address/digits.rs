//! Where digits stand: no address is without one.

use crate::seek::seek;

/// Where the digits of a text stand, asked for rising places.
#[derive(Default)]
pub(in super::super) struct Digits {
    next: usize,
}

impl Digits {
    /// Whether one stands in this range.
    pub(super) fn within(&mut self, bytes: &[u8], from: usize, to: usize) -> bool {
        if self.next < from || !bytes.get(self.next).is_some_and(u8::is_ascii_digit) {
            let from = self.next.max(from);
            let rest = bytes.get(from..).unwrap_or_default();
            let digit = seek(rest, |b| b.wrapping_sub(b'0') < 10);
            self.next = digit.map_or(bytes.len(), |gap| from + gap);
        }
        self.next < to
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_found_in_their_range() {
        let text = b"ab1cdefgh23";
        let mut digits = Digits::default();
        let found = |digits: &mut Digits, from, to| digits.within(text, from, to);
        assert!(found(&mut digits, 0, 3));
        assert!(!found(&mut digits, 0, 2));
        assert!(!found(&mut digits, 3, 9));
        assert!(found(&mut digits, 3, 10));
        assert!(found(&mut digits, 10, 11));
        assert!(!found(&mut digits, 11, 11));
    }
}
