//! Reads the words of a name, and notes when the text ended too soon to say.

use super::forms::{known, slavic_surname};
use super::lists::Kind;

/// The longest word that is looked up.
const LONGEST: usize = 40;
/// Bytes before a name in which letters show the language.
const LANGUAGE: usize = 160;
/// What names of Hungarian end in where others have a small word before them.
const HUNGARIAN: &[&str] = &[
    "nak", "nek", "val", "vel", "tól", "től", "hoz", "hez", "ról", "ről",
];
/// Words of a name behind its first.
const MOST: usize = 5;
/// Words that are kept.
const KEPT: usize = 8;

#[derive(Clone, Copy)]
pub(super) struct Word<'t> {
    pub(super) text: &'t str,
    pub(super) end: usize,
    pub(super) kind: Kind,
}

/// Whether a word has more than so many letters: few are counted at most.
pub(super) fn is_longer(word: &str, letters: usize) -> bool {
    let first = |byte: &u8| !matches!(byte, 0x80..=0xBF);
    word.as_bytes()
        .iter()
        .filter(|byte| first(byte))
        .nth(letters)
        .is_some()
}

impl Word<'_> {
    /// `B`: one letter.
    pub(super) fn is_initial(self) -> bool {
        !is_longer(self.text, 1)
    }

    /// `GRACE`: more than one letter, all of them capitals.
    pub(super) fn shouts(self) -> bool {
        self.text.len() > 1 && !self.text.chars().any(char::is_lowercase)
    }

    /// `McDonald`, but not `iPhone` or `JavaScript`: few capitals inside.
    pub(super) fn well_cased(self) -> bool {
        let mut rest = self.text.bytes().skip(1);
        if rest.all(|b| b.is_ascii_lowercase()) {
            return true;
        }
        let rest = self.text.chars().skip(1);
        let inner = rest.filter(|c| c.is_uppercase()).count();
        if inner == 0 {
            return true;
        }
        let parts = self.text.matches(['-', '\'', '’']).count();
        let prefixed = ["Mc", "Mac", "De", "Di", "Le", "La", "Van", "O"]
            .iter()
            .any(|p| self.text.starts_with(p));
        inner <= parts + usize::from(prefixed)
    }
}

/// Reads ahead and notes when the text ended too soon to say.
pub(super) struct Reader<'t> {
    pub(super) text: &'t str,
    pub(super) cut: bool,
    ascii: bool,
    /// The words that were read last, by where they begin, and whether the text cut them: the
    /// forms of a name ask for the same ones.
    read: [Option<(usize, Option<Word<'t>>, bool)>; KEPT],
}

impl<'t> Reader<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self {
            text,
            cut: false,
            ascii: text.is_ascii(),
            read: [None; KEPT],
        }
    }

    pub(super) fn byte(&mut self, at: usize) -> Option<u8> {
        let byte = self.text.as_bytes().get(at).copied();
        self.cut |= byte.is_none();
        byte
    }

    /// The word that begins here, with hyphens and apostrophes inside.
    pub(super) fn word(&mut self, start: usize) -> Option<Word<'t>> {
        if let Some(Some((known, word, cut))) = self.read.get(start % KEPT)
            && *known == start
        {
            self.cut |= cut;
            return *word;
        }
        let before = std::mem::replace(&mut self.cut, false);
        let word = self.read_word(start);
        if let Some(slot) = self.read.get_mut(start % KEPT) {
            *slot = Some((start, word, self.cut));
        }
        self.cut |= before;
        word
    }

    /// Where a search goes on behind a word that is no name, whatever it is; nothing if the text
    /// may bring more of it.
    pub(super) fn passed(&self, start: usize, growing: bool) -> Option<usize> {
        if growing && start + LONGEST + 3 > self.text.len() {
            return None;
        }
        let rest = self.text.get(start..)?;
        let length = extent(rest).map_or(0, |end| {
            without_s(rest.get(..end).unwrap_or_default()).len()
        });
        Some(start + length.max(1))
    }

    fn read_word(&mut self, start: usize) -> Option<Word<'t>> {
        let rest = self.text.get(start..)?;
        let end = extent(rest)?;
        self.cut |= start + end + 2 > self.text.len();
        let text = without_s(rest.get(..end)?);
        let end = start + text.len();
        (!text.is_empty()).then(|| Word {
            text,
            end,
            kind: known(text, || self.slavic(start, text)),
        })
    }

    /// Whether the text around speaks a language that inflects names: its letters show it.
    fn slavic(&self, start: usize, word: &str) -> bool {
        if self.ascii {
            return false;
        }
        let last = word.as_bytes().last();
        let possible = last.is_some_and(|last| matches!(last, b'k' | b'l' | b'z'));
        if possible && HUNGARIAN.iter().any(|ending| word.ends_with(ending)) {
            return true;
        }
        let from = start.saturating_sub(LANGUAGE);
        let before = self.text.as_bytes().get(from..start).unwrap_or_default();
        let telling = |b: &u8| matches!(b, 0xC4 | 0xC5 | 0xD0 | 0xD1);
        // Without a way out early this is done many bytes at a time.
        before.iter().fold(false, |any, b| any | telling(b)) || word.bytes().any(|b| telling(&b))
    }

    /// Initials that go on with others: `J.R.`, `J. R.`; other words as they are.
    pub(super) fn dotted(&mut self, first: Word<'t>) -> Word<'t> {
        if !first.is_initial() || self.byte(first.end) != Some(b'.') {
            return first;
        }
        let mut dotted = Word {
            end: first.end + 1,
            ..first
        };
        for _ in 0..2 {
            let at = dotted.end + usize::from(self.byte(dotted.end) == Some(b' '));
            match self.word(at) {
                Some(next) if next.is_initial() && self.byte(next.end) == Some(b'.') => {
                    dotted.end = next.end + 1;
                }
                _ => break,
            }
        }
        dotted
    }

    /// Goes on behind the first word: initials, particles, surnames. Returns the end, and
    /// whether the lists know one of the words.
    pub(super) fn tail(&mut self, first: Word<'t>, unknown: bool) -> (usize, bool) {
        let (mut end, mut known, mut surname) = (first.end, false, false);
        let mut lettered = false;
        let mut at = first.end;
        for _ in 0..MOST {
            let Some(word) = self.next_word(at) else {
                break;
            };
            let capital = word.text.starts_with(char::is_uppercase);
            let initial = capital && word.is_initial();
            if initial && !surname {
                lettered = true;
                at = word.end + usize::from(self.byte(word.end) == Some(b'.'));
                continue;
            }
            if word.kind.is(Kind::PARTICLE) && !surname && !(capital && word.kind.is(Kind::SURNAME))
            {
                at = word.end;
                continue;
            }
            let listed = word.kind.is(Kind::GIVEN) || word.kind.is(Kind::SURNAME);
            let broken = self
                .text
                .get(at..word.end)
                .is_some_and(|gap| gap.starts_with('\n'));
            let listed = listed || (broken && slavic_surname(word.text));
            if broken && !(listed && first.kind.is(Kind::GIVEN) && end == first.end) {
                break;
            }
            let alike = word.shouts() == first.shouts() || first.text.len() <= 2;
            // `Brad L Key`: behind an initial a word is a surname too.
            let stop = word.kind.is(Kind::STOP) && !(lettered && word.kind.is(Kind::SURNAME));
            let fits = capital && word.well_cased() && !stop && alike;
            let common = word.kind.is(Kind::WORD) || word.kind.is(Kind::COMMON);
            let plain = listed && (unknown || !common);
            if !fits || !(plain || (unknown && !surname && is_longer(word.text, 2))) {
                break;
            }
            known |= plain;
            surname |= !word.kind.is(Kind::GIVEN) || word.kind.is(Kind::SURNAME);
            (at, end) = (word.end, word.end);
        }
        (end, known)
    }

    /// The next word of the same name: behind one space, or one line break.
    pub(super) fn next_word(&mut self, at: usize) -> Option<Word<'t>> {
        match self.byte(at)? {
            b' ' | b'\n' => self.word(at + 1),
            _ => None,
        }
    }

    /// Whether what follows may follow a name; a dot or a bracket of code may not.
    pub(super) fn ends(&mut self, end: usize) -> bool {
        let Some(next) = self.byte(end) else {
            return true;
        };
        match next {
            b'.' | b':' | b'-' | b'/' => !self
                .byte(end + 1)
                .is_some_and(|b| b.is_ascii_alphanumeric() || b == next || b"_/".contains(&b)),
            b'_' | b'(' | b'[' | b'{' | b'=' | b'@' | b'$' | b'`' => false,
            b => !b.is_ascii_digit(),
        }
    }
}

/// The word without the `s` of a possessive.
fn without_s(whole: &str) -> &str {
    ["'s", "’s"]
        .iter()
        .find_map(|own| whole.strip_suffix(own))
        .unwrap_or(whole)
}

/// The length of the word at the start of a text; nothing if it is longer than any that is known.
fn extent(rest: &str) -> Option<usize> {
    let plain = rest
        .bytes()
        .take(LONGEST + 1)
        .take_while(u8::is_ascii_alphabetic)
        .count();
    match rest.as_bytes().get(plain) {
        Some(b) if b.is_ascii() && !matches!(b, b'-' | b'\'') => {
            return (plain <= LONGEST).then_some(plain);
        }
        _ => {}
    }
    let mut end = 0;
    let mut chars = rest.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let inner = matches!(c, '-' | '\'' | '’' | 'ʼ')
            && at > 0
            && chars.peek().is_some_and(|(_, next)| next.is_alphabetic());
        if !c.is_alphabetic() && !inner && !unicode_normalization::char::is_combining_mark(c) {
            break;
        }
        end = at + c.len_utf8();
        if end > LONGEST {
            return None;
        }
    }
    Some(end)
}
