//! The words beside a value: the same line before it, and the key it stands under.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::sync::LazyLock;

use crate::seek::{WORD, marked_within};

/// How far back a label word may stand, in bytes of normalised text. A stream keeps at least
/// twice as many raw bytes, see [`crate::Engine::LEFT_CONTEXT`].
pub(crate) const REACH: usize = 48;

/// Words (in lower case) that say what stands behind them, and the bit that stands for them all.
pub(crate) struct Cues {
    bit: u32,
    words: &'static [&'static str],
}

impl Cues {
    /// The words with that number among all lists.
    pub(crate) const fn new(number: u32, words: &'static [&'static str]) -> Self {
        Self {
            bit: 1 << number,
            words,
        }
    }
}

/// The text before a value and the key of its field.
#[derive(Clone, Copy)]
pub(crate) struct Context<'t> {
    pub before: &'t [u8],
    start: usize,
    beside: &'t Beside<'t>,
}

/// The words that stand beside the values of one text.
pub(crate) struct Beside<'t> {
    text: &'t [u8],
    /// The lists that hold a word of the key.
    key: u32,
    /// The answer for the place that was asked about last: the rules that match there all ask.
    near: Cell<(usize, u32)>,
    recent: RefCell<Recent>,
}

impl<'t> Beside<'t> {
    /// For the values of a text that stands under a key with words of the lists `key`.
    pub(crate) fn new(text: &'t str, key: u32) -> Self {
        Self {
            text: text.as_bytes(),
            key,
            near: Cell::new((usize::MAX, 0)),
            recent: RefCell::default(),
        }
    }

    /// The lists that hold a word of the key or one that stands in reach before `start`.
    fn lists(&self, start: usize) -> u32 {
        let (known, lists) = self.near.get();
        if known == start {
            return lists;
        }
        let lists = self.key | self.recent.borrow_mut().lists(self.text, start);
        self.near.set((start, lists));
        lists
    }

    /// Whether a number that begins at `start` is worth a look by the rules that take one only
    /// beside its name.
    pub(crate) fn names_number(&self, start: usize) -> bool {
        let lists = crate::rules::NUMBER_CUES.iter();
        self.lists(start) & lists.fold(0, |bits, cues| bits | cues.bit) != 0
    }
}

/// The listed words before the place that was asked about last. Places are mostly asked about in
/// order, so that each word is looked up once.
#[derive(Default)]
struct Recent {
    start: usize,
    /// Up to here every word was looked up that does not begin before the reach of that place.
    read: usize,
    /// Where the listed ones of them begin, and their lists.
    words: VecDeque<(usize, u32)>,
}

impl Recent {
    /// As [`all_listed`] of what stands in reach before `start`.
    fn lists(&mut self, text: &[u8], start: usize) -> u32 {
        let from = start.saturating_sub(REACH);
        if start < self.start {
            *self = Self::default();
        }
        self.start = start;
        while self.words.front().is_some_and(|(begin, _)| *begin < from) {
            self.words.pop_front();
        }
        // A word that begins before counts as what of it is in reach.
        let cut = match text.get(from.saturating_sub(1)..start) {
            Some([before, rest @ ..]) if from > 0 && is_letter(*before) => letters(rest),
            _ => 0,
        };
        let mut bits = listed(text.get(from..from + cut).unwrap_or_default());
        self.read = self.read.max(from + cut);
        bits |= self.read_to(text, start);
        self.words
            .iter()
            .fold(bits, |bits, (_, lists)| bits | lists)
    }

    /// Looks up the words up to `start`. Returns the lists of one that `start` cuts.
    fn read_to(&mut self, text: &[u8], start: usize) -> u32 {
        let (whole, text) = (text, text.get(..start).unwrap_or_default());
        while let Some(rest) = text.get(self.read..)
            && !rest.is_empty()
        {
            let near = rest.get(..WORD).unwrap_or(rest);
            let range = self.read..self.read + near.len();
            let (mut left, mut at) = (marked_within(whole, range.clone(), is_letter), 0);
            let capitals = marked_within(whole, range, |b| b.wrapping_sub(b'A') < 26);
            while left != 0 {
                let begin = left.trailing_zeros() as usize;
                let mut length = (!(left >> begin)).trailing_zeros() as usize;
                at = begin + length;
                if at == near.len() && near.len() < rest.len() {
                    if begin > 0 {
                        // Read again when all of it is near.
                        at = begin;
                        break;
                    }
                    length = letters(rest);
                    at = length;
                }
                let run = rest.get(begin..at).unwrap_or_default();
                let plain =
                    length < WORD && capitals >> begin >> 1 & !(u64::MAX << (length - 1)) == 0;
                let lists = if plain { word(run) } else { listed(run) };
                if at == rest.len() {
                    self.read += begin;
                    return lists;
                }
                if lists != 0 {
                    self.words.push_back((self.read + begin, lists));
                }
                left &= u64::MAX.checked_shl(at as u32).unwrap_or(0);
            }
            self.read += if left == 0 { at.max(near.len()) } else { at };
        }
        0
    }
}

/// How many letters a text begins with.
fn letters(text: &[u8]) -> usize {
    text.iter().take_while(|b| is_letter(**b)).count()
}

impl<'t> Context<'t> {
    /// The context of what begins at `start`.
    pub(crate) fn at(text: &'t str, start: usize, beside: &'t Beside<'t>) -> Self {
        let from = start.saturating_sub(REACH);
        Self {
            before: text.as_bytes().get(from..start).unwrap_or_default(),
            start,
            beside,
        }
    }

    /// Whether one of the words stands before the value or in its key. A word is not found inside
    /// a longer one; a change from lower to upper case is a boundary too: `phoneNumber`.
    pub(crate) fn names(&self, cues: &Cues) -> bool {
        self.beside.lists(self.start) & cues.bit != 0
    }

    /// Whether the word right before the value says that it is something else: `SLA 450-402-8865`.
    pub(crate) fn denies(&self) -> bool {
        let gap = self.before.iter().rev().take(MOST_GAP + 1);
        let gap = gap.take_while(|b| !b.is_ascii_alphabetic()).count();
        if gap > MOST_GAP {
            return false;
        }
        let end = self.before.len() - gap;
        let word = self.before.get(..end).unwrap_or_default();
        let start = word
            .iter()
            .rposition(|b| !b.is_ascii_alphabetic())
            .map_or(0, |at| at + 1);
        is_one_of(word.get(start..).unwrap_or_default(), OTHERS)
    }
}

/// Bytes between a word and the value that it denies.
const MOST_GAP: usize = 5;

/// What other numbers are called.
const OTHERS: &[&str] = &[
    "arxiv", "batch", "build", "cas", "case", "commit", "doi", "ean", "imei", "invoice", "isbn",
    "issn", "item", "lot", "model", "nip", "nrb", "order", "orders", "part", "pesel", "po",
    "regon", "release", "rev", "revision", "rfc", "serial", "sku", "sla", "ticket", "tracking",
    "upc", "ver", "version", "v",
];

/// The lists that hold one of the words of a key.
pub(crate) fn listed_in(key: &str) -> u32 {
    all_listed(key.as_bytes())
}

/// The lists that hold one of the words of a short text.
fn all_listed(text: &[u8]) -> u32 {
    let (mut bits, mut end) = (0, None);
    for (at, byte) in text.iter().enumerate().rev() {
        if is_letter(*byte) {
            end.get_or_insert(at + 1);
        } else if let Some(end) = end.take() {
            bits |= listed(text.get(at + 1..end).unwrap_or_default());
        }
    }
    bits | end.map_or(0, |end| listed(text.get(..end).unwrap_or_default()))
}

fn is_letter(byte: u8) -> bool {
    ((byte | 0x20).wrapping_sub(b'a') < 26) | (byte >= 0x80)
}

/// The lists that hold a run of letters or a part of it between changes from lower to upper case:
/// `SSNs`, `iPhone`.
fn listed(run: &[u8]) -> u32 {
    let capital = |any, byte: &u8| any | byte.is_ascii_uppercase();
    let humps = run.get(1..).unwrap_or_default().iter().fold(false, capital);
    if !humps {
        return word(run);
    }
    let (mut bits, mut from, mut lower) = (0, 0, false);
    for (at, byte) in run.iter().enumerate() {
        if lower && byte.is_ascii_uppercase() {
            bits |= word(run.get(from..at).unwrap_or_default());
            from = at;
        }
        lower = byte.is_ascii_lowercase();
    }
    if from > 0 {
        bits |= word(run);
    }
    bits | word(run.get(from..).unwrap_or_default())
}

/// The lists that hold a word.
#[inline]
fn word(word: &[u8]) -> u32 {
    let lengths = LENGTHS.get(ends(word)).copied().unwrap_or(0);
    match word.is_empty() || word.len() > LONGEST || lengths >> (word.len() - 1) & 1 == 0 {
        true => 0,
        false => looked_up(word),
    }
}

fn looked_up(word: &[u8]) -> u32 {
    let mut slot = slot(word);
    while let Some((known, lists)) = TABLE.get(slot).filter(|(known, _)| !known.is_empty()) {
        if known.as_bytes().eq_ignore_ascii_case(word) {
            return *lists;
        }
        slot = (slot + 1) % SLOTS;
    }
    0
}

/// By the five low bits of a word's first and last byte, the same in either case: the lengths of
/// the listed words with them, a bit each.
static LENGTHS: LazyLock<Box<[u32; 1 << 10]>> = LazyLock::new(|| {
    let mut lengths = Box::new([0; 1 << 10]);
    for known in crate::rules::CUES.iter().flat_map(|cues| cues.words) {
        if let Some(slot) = lengths.get_mut(ends(known.as_bytes())) {
            *slot |= 1 << (known.len() - 1);
        }
    }
    lengths
});

fn ends(word: &[u8]) -> usize {
    let five = |byte: Option<&u8>| byte.map_or(0, |byte| usize::from(byte & 0x1F));
    five(word.first()) << 5 | five(word.last())
}

/// Slots of the table of words: a power of two, more than twice as many as there are words.
const SLOTS: usize = 1 << 10;
/// No word is longer.
const LONGEST: usize = 32;

/// All words of all lists, by their hash.
static TABLE: LazyLock<Vec<(&'static str, u32)>> = LazyLock::new(|| {
    let mut table = vec![("", 0); SLOTS];
    for cues in crate::rules::CUES {
        for word in cues.words {
            let mut slot = slot(word.as_bytes());
            while let Some((known, lists)) = table.get_mut(slot) {
                if known.is_empty() || known == word {
                    *known = word;
                    *lists |= cues.bit;
                    break;
                }
                slot = (slot + 1) % SLOTS;
            }
        }
    }
    table
});

/// FNV-1a without regard to the case of ASCII letters.
fn slot(word: &[u8]) -> usize {
    let hash = word.iter().fold(0x811C_9DC5u32, |hash, byte| {
        (hash ^ u32::from(byte.to_ascii_lowercase())).wrapping_mul(0x0100_0193)
    });
    usize::try_from(hash ^ hash >> 15).unwrap_or(0) % SLOTS
}

fn is_one_of(word: &[u8], words: &[&str]) -> bool {
    words
        .iter()
        .any(|known| known.len() == word.len() && known.as_bytes().eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first list with the word.
    fn cues(word: &str) -> &'static Cues {
        let mut lists = crate::rules::CUES.iter();
        lists.find(|cues| cues.words.contains(&word)).unwrap()
    }

    #[test]
    fn words_are_found_at_their_boundaries() {
        let named = |text: &str, cues: &Cues| {
            let beside = Beside::new(text, 0);
            let before = Context::at(text, text.len(), &beside).names(cues);
            assert_eq!(
                before,
                Context::at("", 0, &Beside::new("", listed_in(text))).names(cues)
            );
            before
        };
        let (phone, ssn) = (cues("phone"), cues("ssn"));
        assert!(named("my SSN: ", ssn));
        assert!(named("userSsnNumber", ssn));
        assert!(named("ssn_1=", ssn));
        assert!(named("the SSNs", ssn));
        assert!(named("тел. ", phone));
        assert!(!named("assn ", ssn));
        assert!(!named("lessno", ssn));
    }

    proptest::proptest! {
        #[test]
        fn words_are_looked_up_once_as_they_are_each_time(
            words in proptest::collection::vec("phone|ssn|SSNs|myPhone|xy|é| |, |[0-9]{1,3}|-", 0..60),
            mut places in proptest::collection::vec(0usize..200, 1..20),
            sorted: bool,
        ) {
            let text = words.concat();
            if sorted {
                places.sort_unstable();
            }
            let beside = Beside::new(&text, 0);
            for place in places {
                let start = place.min(text.len());
                let window = &text.as_bytes()[start.saturating_sub(REACH)..start];
                proptest::prop_assert_eq!(beside.lists(start), all_listed(window), "{} {}", text, start);
            }
        }
    }

    #[test]
    fn lists_have_bits_of_their_own_and_words_that_fit() {
        let bits = crate::rules::CUES.iter().fold(0, |bits, cues| {
            assert_eq!(bits & cues.bit, 0);
            assert!(
                cues.words
                    .iter()
                    .all(|word| (1..=LONGEST).contains(&word.len()))
            );
            bits | cues.bit
        });
        assert_ne!(bits, 0);
        let used = TABLE.iter().filter(|(word, _)| !word.is_empty()).count();
        assert!(used * 2 < SLOTS);
    }
}
