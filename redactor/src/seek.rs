//! Where bytes of a kind stand, many bytes at a time.

use std::ops::Range;

/// A set of bytes, one look each.
pub(crate) struct Set([bool; 256]);

impl Set {
    pub(crate) const fn of(mut bytes: &[u8]) -> Self {
        let mut set = [false; 256];
        while let [byte, rest @ ..] = bytes {
            let (mut left, mut number) = (set.as_mut_slice(), 0);
            while let [slot, others @ ..] = left {
                *slot |= number == *byte as usize;
                (left, number) = (others, number + 1);
            }
            bytes = rest;
        }
        Self(set)
    }

    #[inline]
    pub(crate) fn holds(&self, byte: u8) -> bool {
        self.0.get(usize::from(byte)).copied().unwrap_or(false)
    }
}

/// Bytes whose marks stand in one word.
pub(crate) const WORD: usize = 64;

/// Eight bytes of 0 or 1 become eight bits, the first the lowest; and so for all eights.
#[inline(always)]
pub(crate) fn packed(marks: &[u8; WORD]) -> u64 {
    // Each is moved to its place in the highest byte.
    let eights = marks.chunks_exact(8).filter_map(<[u8]>::first_chunk);
    eights.enumerate().fold(0, |bits, (number, eight)| {
        let packed = u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        bits | packed << (8 * number)
    })
}

/// Which of the first bytes, up to [`WORD`] of them, are wanted: a bit each. As in [`seek`], the
/// closure has to be free of branches.
#[inline(always)]
pub(crate) fn marked(bytes: &[u8], wanted: impl Fn(u8) -> bool) -> u64 {
    let mut marks = [0; WORD];
    if let Some(block) = bytes.first_chunk::<WORD>() {
        for (slot, byte) in marks.iter_mut().zip(block) {
            *slot = u8::from(wanted(*byte));
        }
        // Where few are wanted, most blocks hold none.
        let none = marks.iter().fold(0, |any, mark| any | mark) == 0;
        return if none { 0 } else { packed(&marks) };
    }
    for (slot, byte) in marks.iter_mut().zip(bytes) {
        *slot = u8::from(wanted(*byte));
    }
    packed(&marks)
}

/// The same of the bytes of a range, up to [`WORD`] of them. What stands behind it is looked at and
/// left out: a whole block is the quickest.
#[inline(always)]
pub(crate) fn marked_within(bytes: &[u8], range: Range<usize>, wanted: impl Fn(u8) -> bool) -> u64 {
    let marks = marked(bytes.get(range.start..).unwrap_or_default(), wanted);
    let length = range.len().min(WORD) as u32;
    marks & !u64::MAX.checked_shl(length).unwrap_or(0)
}

/// Whether a byte of a range is wanted. As in [`seek`], the closure has to be free of branches.
#[inline]
pub(crate) fn stands_within(
    bytes: &[u8],
    range: Range<usize>,
    wanted: impl Fn(u8) -> bool,
) -> bool {
    let blocks = range.clone().step_by(WORD);
    let mut marks = blocks.map(|at| marked_within(bytes, at..range.end, &wanted));
    marks.any(|marks| marks != 0)
}

/// The first byte that is wanted, where few are. The closure has to be free of branches: then a
/// block takes a few instructions.
#[inline]
pub(crate) fn seek(bytes: &[u8], wanted: impl Fn(u8) -> bool) -> Option<usize> {
    let mut at = 0;
    while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
        let marks = marked(rest, &wanted);
        if marks != 0 {
            return Some(at + marks.trailing_zeros() as usize);
        }
        at += WORD;
    }
    None
}

/// All bytes that are wanted, by where they stand, in order: for many of them quicker than to
/// [`seek`] each.
#[derive(Clone)]
pub(crate) struct Places<'t, W> {
    bytes: &'t [u8],
    wanted: W,
    /// Where the block begins that was looked at last, and what is left of it.
    block: usize,
    left: u64,
    /// Where the next one begins.
    next: usize,
}

impl<'t, W: Fn(u8) -> bool> Places<'t, W> {
    pub(crate) fn of(bytes: &'t [u8], wanted: W) -> Self {
        Self {
            bytes,
            wanted,
            block: 0,
            left: 0,
            next: 0,
        }
    }

    /// The first place at or behind `from` that was not given yet.
    #[inline]
    pub(crate) fn from(&mut self, from: usize) -> Option<usize> {
        if from >= self.next {
            (self.block, self.left, self.next) = (from, 0, from);
        } else if from > self.block {
            self.left &= u64::MAX << (from - self.block);
        }
        self.next()
    }
}

impl<W: Fn(u8) -> bool> Iterator for Places<'_, W> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        while self.left == 0 {
            let rest = self
                .bytes
                .get(self.next..)
                .filter(|rest| !rest.is_empty())?;
            self.block = self.next;
            self.left = marked(rest, &self.wanted);
            self.next += rest.len().min(WORD);
        }
        let at = self.block + self.left.trailing_zeros() as usize;
        self.left &= self.left - 1;
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn places_are_those_of_the_wanted_bytes(
            bytes in proptest::collection::vec(0u8..8, 0..300),
            steps in proptest::collection::vec(0usize..40, 0..40),
        ) {
            let wanted = |b: u8| b < 2;
            let expected = |from: usize| (from..bytes.len()).find(|at| wanted(bytes[*at]));
            let all: Vec<usize> = Places::of(&bytes, wanted).collect();
            let slowly = (0..bytes.len()).filter(|at| wanted(bytes[*at]));
            proptest::prop_assert_eq!(all, slowly.collect::<Vec<_>>());
            let (mut places, mut from) = (Places::of(&bytes, wanted), 0);
            for step in steps {
                from += step;
                let found = places.from(from);
                proptest::prop_assert_eq!(found, expected(from));
                from = found.map_or(from, |at| at + 1);
            }
        }
    }

    proptest::proptest! {
        #[test]
        fn what_stands_outside_of_a_range_does_not_count(
            bytes in proptest::collection::vec(0u8..60, 0..300),
            from in 0usize..300,
            length in 0usize..200,
        ) {
            let (from, wanted) = (from.min(bytes.len()), |b: u8| b < 2);
            let range = from..bytes.len().min(from + length);
            let own = bytes[range.clone()].iter().copied().any(wanted);
            proptest::prop_assert_eq!(stands_within(&bytes, range, wanted), own);
        }
    }

    #[test]
    fn the_first_one_is_found_at_every_place() {
        for length in 0..100 {
            assert_eq!(seek(&vec![b'a'; length], |b| b == b'b'), None);
            for at in 0..length {
                let mut bytes = vec![b'a'; length];
                bytes[at] = b'b';
                bytes[length - 1] = b'b';
                assert_eq!(seek(&bytes, |b| b == b'b'), Some(at));
            }
        }
    }
}
