//! Where a value may begin: at the first letter or digit of a word, at a change from lower to
//! upper case, or at another byte that some head begins with.

/// By its value, what a byte is and what it asks of the byte before: one of the kinds; [`OPENS`]
/// if a value may begin with it; and, four bits further up, the kinds behind which none does.
pub(super) struct Starts(Box<[u8; 256]>);

const LOWER: u8 = 1;
const UPPER: u8 = 2;
const DIGIT: u8 = 4;
const KINDS: u8 = LOWER | UPPER | DIGIT;
const OPENS: u8 = 0x80;
/// Bytes that are looked at together.
const BLOCK: usize = 64;

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

    /// Every such place, in order, block by block.
    pub(super) fn over<'t>(&'t self, text: &'t [u8]) -> Blocks<'t> {
        Blocks {
            starts: self,
            text,
            next: 0,
        }
    }

    /// The bytes of a block with which a value may begin, a bit each. No mark begins one behind
    /// itself.
    fn opening(&self, before: Option<u8>, block: &[u8]) -> u64 {
        let mut bytes = [0; BLOCK + 1];
        let [first, own @ ..] = &mut bytes;
        // At the beginning of a text, some byte that rules out none.
        *first = before.unwrap_or(u8::from(block.first() == Some(&0)));
        own.iter_mut()
            .zip(block)
            .for_each(|(slot, byte)| *slot = *byte);
        let mut marks = [0; BLOCK + 1];
        for (slot, byte) in marks.iter_mut().zip(&bytes) {
            *slot = self.0.get(usize::from(*byte)).copied().unwrap_or(OPENS);
        }
        let mut opens = [0u8; BLOCK];
        let pairs = marks.iter().zip(marks.iter().skip(1));
        for (slot, (before, mark)) in opens.iter_mut().zip(pairs) {
            let free = (mark >> 4) & before & KINDS == 0;
            *slot = u8::from(free) & (mark >> 7);
        }
        let pairs = bytes.iter().zip(bytes.iter().skip(1));
        for (slot, (before, byte)) in opens.iter_mut().zip(pairs) {
            *slot &= u8::from(before != byte);
        }
        // Eight bytes of 0 or 1 become eight bits: each is moved to its place in the highest byte.
        let eights = opens.chunks_exact(8).filter_map(<[u8]>::first_chunk);
        eights.enumerate().fold(0, |bits, (number, eight)| {
            let packed = u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56;
            bits | packed << (8 * number)
        })
    }
}

/// The places of a text where a value may begin, block by block.
pub(super) struct Blocks<'t> {
    starts: &'t Starts,
    text: &'t [u8],
    /// Where the next one begins.
    next: usize,
}

/// Where values may begin in a few bytes.
pub(super) struct Block {
    from: usize,
    /// A bit a byte.
    opening: u64,
    /// Whether bytes beyond ASCII stand before some of them.
    wide: bool,
}

impl Iterator for Blocks<'_> {
    type Item = Block;

    fn next(&mut self) -> Option<Block> {
        let rest = self.text.get(self.next..).filter(|rest| !rest.is_empty())?;
        let bytes = rest.get(..BLOCK).unwrap_or(rest);
        let from = self.next;
        self.next += bytes.len();
        let before = from.checked_sub(1).and_then(|at| self.text.get(at));
        let mut opening = self.starts.opening(before.copied(), bytes);
        // What is behind the end of the text opens nothing.
        opening &= u64::MAX >> (BLOCK - bytes.len());
        let wide = !bytes.is_ascii() || before.is_some_and(|byte| !byte.is_ascii());
        Some(Block {
            from,
            opening,
            wide,
        })
    }
}

impl Block {
    /// The places of the block, which is one of this text.
    #[inline]
    pub(super) fn places(&self, text: &[u8]) -> impl Iterator<Item = usize> {
        let mut left = self.opening;
        std::iter::from_fn(move || {
            let bit = (left != 0).then(|| left.trailing_zeros() as usize)?;
            left &= left - 1;
            Some(self.from + bit)
        })
        .filter(|at| !self.wide || !goes_on(text, *at))
    }
}

/// Whether a small letter, a digit or a letter beyond ASCII stands behind another of those: Latin,
/// Greek, Cyrillic, of two bytes. Longer ones belong to scripts that put no space between words, so
/// that a value may follow one.
fn goes_on(text: &[u8], at: usize) -> bool {
    let inside = |byte: &u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | 0x80..);
    text.get(at).is_some_and(inside) && in_letter(text, at)
}

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
            let blocks = starts.over(text.as_bytes());
            let found: Vec<usize> = blocks
                .flat_map(|block| block.places(text.as_bytes()).collect::<Vec<_>>())
                .collect();
            prop_assert_eq!(found, slowly(text.as_bytes(), &firsts));
        }
    }
}
