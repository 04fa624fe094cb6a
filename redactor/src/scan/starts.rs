//! Where a value may begin: at the first letter or digit of a word, at a change from lower to
//! upper case, or at another byte that some head begins with.

use crate::seek::{WORD, packed};

/// By its value, what a byte is and what it asks of the byte before: one of the kinds; [`OPENS`]
/// if a value may begin with it; and, four bits further up, the kinds behind which none does.
pub(super) struct Starts(Box<[u8; 256]>);

const LOWER: u8 = 1;
const UPPER: u8 = 2;
const DIGIT: u8 = 4;
const KINDS: u8 = LOWER | UPPER | DIGIT;
const OPENS: u8 = 0x80;
/// Bytes that are looked at together.
const BLOCK: usize = WORD;

impl Starts {
    /// For heads that begin with some of these bytes.
    pub(super) fn new(firsts: &[bool; 256]) -> Self {
        let mut marks = Box::new([0; 256]);
        for ((byte, slot), first) in (0..=u8::MAX).zip(marks.iter_mut()).zip(firsts) {
            let (kind, behind) = match byte {
                b'a'..=b'z' => (LOWER, KINDS),
                b'A'..=b'Z' => (UPPER, UPPER | DIGIT),
                b'0'..=b'9' => (DIGIT, KINDS),
                0xC0.. => (0, KINDS),
                _ => (0, 0),
            };
            // Continuation bytes begin no character.
            let opens = *first && !matches!(byte, 0x80..=0xBF);
            *slot = kind | behind << 4 | if opens { OPENS } else { 0 };
        }
        Self(marks)
    }

    /// The places of a text, a block at a time.
    pub(super) fn over<'t>(&'t self, text: &'t [u8]) -> Blocks<'t> {
        Blocks {
            starts: self,
            text,
            next: 0,
        }
    }

    /// Of a block, before whose bytes these stand.
    fn block(&self, bytes: &[u8; BLOCK], before: &[u8; BLOCK]) -> Block {
        let mut marks = [0; BLOCK + 1];
        let [first, own @ ..] = &mut marks;
        let [last, ..] = before;
        *first = self.mark(*last);
        for (slot, byte) in own.iter_mut().zip(bytes) {
            *slot = self.mark(*byte);
        }
        let mut opens = [0u8; BLOCK];
        let pairs = marks.iter().zip(marks.iter().skip(1));
        let both = before.iter().zip(bytes);
        for (slot, ((before, mark), (one, two))) in opens.iter_mut().zip(pairs.zip(both)) {
            let free = ((mark >> 4) & before & KINDS == 0) & ((one != two) | (*one >= 0x80));
            *slot = u8::from(free) & (mark >> 7);
        }
        let mut words = [0u8; BLOCK];
        for (slot, mark) in words.iter_mut().zip(marks.iter().skip(1)) {
            *slot = u8::from(mark & KINDS != 0);
        }
        Block {
            at: 0,
            opens: packed(&opens),
            words: packed(&words),
        }
    }

    #[inline]
    fn mark(&self, byte: u8) -> u8 {
        self.0.get(usize::from(byte)).copied().unwrap_or(OPENS)
    }
}

/// What stands where in a block, a bit for each of its bytes.
#[derive(Clone, Copy, Default)]
pub(super) struct Block {
    /// Where it begins.
    pub(super) at: usize,
    /// With which bytes a value may begin.
    pub(super) opens: u64,
    /// Which are ASCII letters and digits.
    words: u64,
}

impl Block {
    /// The next place where a value may begin, with how many letters and digits stand there, or
    /// [`BLOCK`] if more of them may stand behind the block.
    #[inline]
    pub(super) fn take(&mut self) -> Option<(usize, usize)> {
        if self.opens == 0 {
            return None;
        }
        let place = self.opens.trailing_zeros();
        self.opens &= self.opens - 1;
        let length = (!(self.words >> place)).trailing_zeros();
        let whole = place + length < BLOCK as u32;
        let length = if whole { length as usize } else { BLOCK };
        Some((self.at + place as usize, length))
    }
}

/// A text, block by block.
pub(super) struct Blocks<'t> {
    starts: &'t Starts,
    text: &'t [u8],
    /// Where the next block begins.
    next: usize,
}

impl Iterator for Blocks<'_> {
    type Item = Block;

    #[inline]
    fn next(&mut self) -> Option<Block> {
        let at = self.next;
        let rest = self.text.get(at..).filter(|rest| !rest.is_empty())?;
        let before = at.checked_sub(1).and_then(|at| self.text.get(at..));
        let near = rest.get(..BLOCK).unwrap_or(rest);
        self.next += near.len();
        let chunks = (rest.first_chunk(), before.and_then(<[u8]>::first_chunk));
        let mut block = match chunks {
            (Some(bytes), Some(before)) => self.starts.block(bytes, before),
            _ => self.cut(near, before.and_then(<[u8]>::first)),
        };
        block.at = at;
        let behind = before.and_then(<[u8]>::first);
        if !near.is_ascii() || behind.is_some_and(|last| !last.is_ascii()) {
            block.opens = self.without_letters(block);
        }
        Some(block)
    }
}

impl Blocks<'_> {
    /// A block that is not whole, or before which nothing stands.
    fn cut(&self, near: &[u8], before: Option<&u8>) -> Block {
        let mut bytes = [0; BLOCK];
        for (slot, byte) in bytes.iter_mut().zip(near) {
            *slot = *byte;
        }
        // The beginning is like a byte of no kind that is another than the first.
        let [first, ..] = bytes;
        let mut shifted = [before.copied().unwrap_or(u8::from(first == 0)); BLOCK];
        for (slot, byte) in shifted.iter_mut().skip(1).zip(near) {
            *slot = *byte;
        }
        let mut block = self.starts.block(&bytes, &shifted);
        block.opens &= u64::MAX >> (BLOCK - near.len());
        // What touches the end of the text may go on behind it.
        block.words |= u64::MAX.checked_shl(near.len() as u32).unwrap_or(0);
        block
    }

    /// The places of a block that no letter beyond ASCII before them rules out.
    fn without_letters(&self, block: Block) -> u64 {
        let (mut left, mut opens) = (block.opens, block.opens);
        while left != 0 {
            let place = left.trailing_zeros();
            if !may_open(self.text, block.at + place as usize) {
                opens &= !(1 << place);
            }
            left &= left - 1;
        }
        opens
    }
}

/// Whether a value begins with a byte that the byte before does not rule out by its kind. No mark
/// begins one behind itself, no small letter or digit behind another letter.
fn may_open(text: &[u8], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|before| text.get(before));
    let (Some(before), Some(byte)) = (before, text.get(at)) else {
        return true;
    };
    if before.is_ascii() {
        return before != byte;
    }
    let letter = matches!(byte, b'a'..=b'z' | b'0'..=b'9' | 0x80..);
    !letter || !in_letter(text, at)
}

/// Whether the character before is a letter of two bytes: Latin, Greek, Cyrillic. Longer ones
/// belong to scripts that put no space between words, so that a value may follow one.
fn in_letter(text: &[u8], at: usize) -> bool {
    let lead = at.checked_sub(2).and_then(|lead| text.get(lead));
    lead.is_some_and(|lead| (0xC3..=0xD4).contains(lead))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// One byte after another.
    fn slowly(text: &[u8], firsts: &[bool; 256]) -> Vec<usize> {
        let opens = |at: &usize| {
            let (byte, before) = (text[*at], at.checked_sub(1).map(|before| text[before]));
            let word = before.is_some_and(|b| b.is_ascii_alphanumeric());
            let capital = before.is_some_and(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
            firsts[usize::from(byte)]
                && match byte {
                    b'A'..=b'Z' => !capital,
                    b'a'..=b'z' | b'0'..=b'9' | 0xC0.. => !word && !in_letter(text, *at),
                    0x80..=0xBF => false,
                    _ => before != Some(byte),
                }
        };
        (0..text.len()).filter(opens).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn blocks_are_as_good_as_bytes(text in "[a-zA-Z0-9 --żd東]{0,200}", skipped in any::<u8>()) {
            let mut firsts = [true; 256];
            firsts[usize::from(skipped)] = false;
            let starts = Starts::new(&firsts);
            let found: Vec<usize> = starts
                .over(text.as_bytes())
                .flat_map(|mut block| std::iter::from_fn(move || block.take()).map(|(at, _)| at))
                .collect();
            prop_assert_eq!(found, slowly(text.as_bytes(), &firsts));
        }
    }
}
