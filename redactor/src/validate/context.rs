//! The words beside a value: the same line before it, and the key it stands under.

use std::cell::RefCell;

/// How far back a label word may stand, in bytes of normalised text. A stream keeps at least
/// twice as many raw bytes, see [`crate::Engine::LEFT_CONTEXT`].
pub(crate) const REACH: usize = 48;

/// The text before a value and the key of its field.
#[derive(Clone, Copy)]
pub(crate) struct Context<'t> {
    pub before: &'t [u8],
    start: usize,
    beside: &'t Beside<'t>,
}

/// The words that stand beside values of one text, taken apart when a rule first asks for them
/// and kept for the other rules that match at the same place.
pub(crate) struct Beside<'t> {
    key: Option<(&'t [u8], Words)>,
    before: RefCell<(Option<usize>, Words)>,
}

impl<'t> Beside<'t> {
    /// For the values of a text that stands under `key`.
    pub(crate) fn new(key: Option<&'t str>) -> Self {
        let key = key.map(|key| {
            let mut words = Words::default();
            words.take_apart(key.as_bytes());
            (key.as_bytes(), words)
        });
        Self {
            key,
            before: RefCell::default(),
        }
    }
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

    /// Whether one of the words (lower case) stands before the value or in its key. A word is not
    /// found inside a longer one; a change from lower to upper case is a boundary too:
    /// `phoneNumber`.
    pub(crate) fn names(&self, words: &[&str]) -> bool {
        let key = self.beside.key.as_ref();
        let mut known = self.beside.before.borrow_mut();
        let (at, before) = &mut *known;
        if *at != Some(self.start) {
            before.take_apart(self.before);
            *at = Some(self.start);
        }
        before.hold(self.before, words) || key.is_some_and(|(key, own)| own.hold(key, words))
    }

    /// Whether the word right before the value says that it is something else: `SLA 450-402-8865`.
    pub(crate) fn denies(&self) -> bool {
        let end = self
            .before
            .iter()
            .rposition(u8::is_ascii_alphabetic)
            .map_or(0, |at| at + 1);
        let between = self.before.get(end..).unwrap_or_default();
        let word = self.before.get(..end).unwrap_or_default();
        let start = word
            .iter()
            .rposition(|b| !b.is_ascii_alphabetic())
            .map_or(0, |at| at + 1);
        between.len() <= 5 && is_one_of(word.get(start..).unwrap_or_default(), OTHERS)
    }
}

/// What other numbers are called.
const OTHERS: &[&str] = &[
    "arxiv", "batch", "build", "cas", "case", "commit", "doi", "ean", "imei", "invoice", "isbn",
    "issn", "item", "lot", "model", "nip", "nrb", "order", "orders", "part", "pesel", "po",
    "regon", "release", "rev", "revision", "rfc", "serial", "sku", "sla", "ticket", "tracking",
    "upc", "ver", "version", "v",
];

/// Where the words of a short text stand.
#[derive(Default)]
struct Words {
    spans: Vec<(usize, usize)>,
    /// Which letters they begin with: a bit for each, those that share five bits together.
    firsts: u32,
}

impl Words {
    fn take_apart(&mut self, text: &[u8]) {
        self.spans.clear();
        self.firsts = 0;
        let inside = |byte: &u8| !byte.is_ascii() || byte.is_ascii_alphabetic();
        let mut from = 0;
        while let Some(gap) = text
            .get(from..)
            .and_then(|rest| rest.iter().position(inside))
        {
            let start = from + gap;
            let rest = text.get(start..).unwrap_or_default();
            let length = rest.iter().position(|byte| !inside(byte));
            let end = start + length.unwrap_or(rest.len());
            self.humps(text, start, end);
            from = end;
        }
    }

    /// The parts of a run of letters, and the run as a whole: `SSNs`, `iPhone`.
    fn humps(&mut self, text: &[u8], start: usize, end: usize) {
        let run = text.get(start..end).unwrap_or_default();
        let mut from = start;
        for (at, pair) in run.windows(2).enumerate() {
            if matches!(pair, [left, right] if left.is_ascii_lowercase() && right.is_ascii_uppercase())
            {
                self.add(text, from, start + at + 1);
                from = start + at + 1;
            }
        }
        self.add(text, from, end);
        if from > start {
            self.add(text, start, end);
        }
    }

    fn add(&mut self, text: &[u8], start: usize, end: usize) {
        self.firsts |= text.get(start).map_or(0, |byte| bit(*byte));
        self.spans.push((start, end));
    }

    fn hold(&self, text: &[u8], words: &[&str]) -> bool {
        words.iter().any(|word| {
            let first = word.as_bytes().first().map_or(0, |byte| bit(*byte));
            self.firsts & first != 0
                && self.spans.iter().any(|(start, end)| {
                    end - start == word.len()
                        && text
                            .get(*start..*end)
                            .is_some_and(|own| own.eq_ignore_ascii_case(word.as_bytes()))
                })
        })
    }
}

/// The same for a letter in either case.
fn bit(byte: u8) -> u32 {
    1 << (byte & 0x1F)
}

fn is_one_of(word: &[u8], words: &[&str]) -> bool {
    words
        .iter()
        .any(|known| known.len() == word.len() && known.as_bytes().eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_at_their_boundaries() {
        let holds_word = |text: &[u8], words: &[&str]| {
            let mut own = Words::default();
            own.take_apart(text);
            own.hold(text, words)
        };
        assert!(holds_word(b"my SSN: ", &["ssn"]));
        assert!(holds_word(b"userSsnNumber", &["ssn"]));
        assert!(holds_word(b"ssn_1=", &["ssn"]));
        assert!(holds_word(b"the SSNs", &["ssns"]));
        assert!(holds_word("тел. ".as_bytes(), &["тел"]));
        assert!(!holds_word(b"assn ", &["ssn"]));
        assert!(!holds_word(b"lessno", &["ssn"]));
    }
}
