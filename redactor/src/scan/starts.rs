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

    /// Every such place, in order.
    pub(super) fn over<'t>(&'t self, text: &'t [u8]) -> Places<'t> {
        Places {
            starts: self,
            text,
            block: 0,
            left: 0,
            before: 0,
            next: 0,
        }
    }

    /// The bytes of a block with which a value may begin, a bit each.
    fn opening(&self, block: &[u8], before: &mut u8) -> u64 {
        let mut marks = [0; BLOCK + 1];
        let [first, own @ ..] = &mut marks;
        *first = *before;
        for (slot, byte) in own.iter_mut().zip(block) {
            *slot = self.0.get(usize::from(*byte)).copied().unwrap_or(OPENS);
        }
        *before = block
            .len()
            .checked_sub(1)
            .and_then(|last| own.get(last))
            .copied()
            .unwrap_or(0);
        let mut opens = [0u8; BLOCK];
        let pairs = marks.iter().zip(marks.iter().skip(1));
        for (slot, (before, mark)) in opens.iter_mut().zip(pairs) {
            let free = (mark >> 4) & before & KINDS == 0;
            *slot = u8::from(free) & (mark >> 7);
        }
        // Eight bytes of 0 or 1 become eight bits: each is moved to its place in the highest byte.
        let eights = opens.chunks_exact(8).filter_map(<[u8]>::first_chunk);
        eights.enumerate().fold(0, |bits, (number, eight)| {
            let packed = u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56;
            bits | packed << (8 * number)
        })
    }
}

/// The places of a text where a value may begin.
pub(super) struct Places<'t> {
    starts: &'t Starts,
    text: &'t [u8],
    /// Where the block begins that was looked at last, and what is left of it, a bit a byte.
    block: usize,
    left: u64,
    /// What its last byte is.
    before: u8,
    /// Where the next one begins.
    next: usize,
}

impl Iterator for Places<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        loop {
            while self.left != 0 {
                let at = self.block + self.left.trailing_zeros() as usize;
                self.left &= self.left - 1;
                if may_open(self.text, at) {
                    return Some(at);
                }
            }
            let rest = self.text.get(self.next..)?;
            if rest.is_empty() {
                return None;
            }
            let bytes = rest.get(..BLOCK).unwrap_or(rest);
            self.block = self.next;
            self.left = self.starts.opening(bytes, &mut self.before);
            self.next += bytes.len();
        }
    }
}

/// Whether a value begins with a byte that the byte before does not rule out by its kind. No mark
/// begins one behind itself, no small letter or digit behind another letter.
#[inline]
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
            let found: Vec<usize> = starts.over(text.as_bytes()).collect();
            prop_assert_eq!(found, slowly(text.as_bytes(), &firsts));
        }
    }
}
