//! Names in scripts that have capitals: Latin, Greek, Cyrillic, Armenian.

use super::Found;
use super::lists::{Kind, kind};

/// Bytes before a name in which the word that leads to it ends.
const MARKS: usize = 6;
/// The longest word that is looked up.
const LONGEST: usize = 40;
/// Words of a name behind its first.
const MOST: usize = 5;

/// Finds names in the whole text.
pub(super) fn find(text: &str, found: &mut Found) {
    let mut at = 0;
    while let Some(start) = next_capital(text, at) {
        let mut reader = Reader { text, cut: false };
        let outcome = reader.name(start);
        if reader.cut {
            found.settled = found.settled.min(start);
        }
        at = match outcome {
            Some(name) => {
                found.person(start, name.end, name.score);
                name.end.max(start + 1)
            }
            None => reader.word(start).map_or(start + 1, |word| word.end),
        };
    }
}

/// Where the next word with a capital begins.
fn next_capital(text: &str, from: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut before = from
        .checked_sub(1)
        .and_then(|at| bytes.get(at))
        .copied()
        .unwrap_or(b' ');
    for (offset, byte) in bytes.get(from..)?.iter().enumerate() {
        let at = from + offset;
        let joined = before.is_ascii_alphanumeric()
            || before == b'_'
            || (before >= 0x80 && in_word(text, at));
        let capital = match byte {
            b'A'..=b'Z' => true,
            0xC3..=0xD5 => text
                .get(at..)
                .and_then(|rest| rest.chars().next())
                .is_some_and(char::is_uppercase),
            _ => false,
        };
        if capital && !joined {
            return Some(at);
        }
        before = *byte;
    }
    None
}

fn in_word(text: &str, at: usize) -> bool {
    text.get(..at)
        .and_then(|head| head.chars().next_back())
        .is_some_and(char::is_alphanumeric)
}

struct Name {
    end: usize,
    score: u8,
}

#[derive(Clone, Copy)]
struct Word<'t> {
    text: &'t str,
    end: usize,
    kind: Kind,
}

impl Word<'_> {
    /// `GRACE`: more than one letter, all of them capitals.
    fn shouts(self) -> bool {
        self.text.len() > 1 && !self.text.chars().any(char::is_lowercase)
    }

    /// `McDonald`, but not `iPhone` or `JavaScript`: few capitals inside.
    fn well_cased(self) -> bool {
        let inner = self
            .text
            .chars()
            .skip(1)
            .filter(|c| c.is_uppercase())
            .count();
        let parts = self.text.matches(['-', '\'', '’']).count();
        let prefixed = ["Mc", "Mac", "De", "Di", "Le", "La", "Van", "O"]
            .iter()
            .any(|p| self.text.starts_with(p));
        inner <= parts + usize::from(prefixed)
    }
}

/// Reads ahead and notes when the text ended too soon to say.
struct Reader<'t> {
    text: &'t str,
    cut: bool,
}

impl<'t> Reader<'t> {
    fn byte(&mut self, at: usize) -> Option<u8> {
        let byte = self.text.as_bytes().get(at).copied();
        self.cut |= byte.is_none();
        byte
    }

    /// The word that begins here, with hyphens and apostrophes inside.
    fn word(&mut self, start: usize) -> Option<Word<'t>> {
        let rest = self.text.get(start..)?;
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
        self.cut |= start + end + 2 > self.text.len();
        let whole = rest.get(..end)?;
        let text = ["'s", "’s"]
            .iter()
            .find_map(|own| whole.strip_suffix(own))
            .unwrap_or(whole);
        let end = start + text.len();
        (!text.is_empty()).then(|| Word {
            text,
            end,
            kind: known(text),
        })
    }

    /// The name that begins at a capital.
    fn name(&mut self, start: usize) -> Option<Name> {
        let first = self.word(start)?;
        let lead = Lead::before(self.text, start);
        if lead == Lead::Code || !first.well_cased() {
            return None;
        }
        let initial = first.text.chars().count() == 1;
        if first.kind.is(Kind::STOP) && !initial {
            return None;
        }
        if matches!(lead, Lead::Title | Lead::Field) {
            return self.led(first, lead);
        }
        if initial {
            return self.behind_initial(start, first);
        }
        if first.kind.is(Kind::GIVEN)
            && let Some(name) = self.from_given(first)
        {
            return Some(name);
        }
        if let Some(name) = self.reversed(first) {
            return Some(name);
        }
        if matches!(lead, Lead::Label | Lead::Word) {
            return self.maybe_led(first, lead);
        }
        self.lone(first)
    }

    /// What stands behind a title or in a field for names: any words with capitals.
    fn led(&mut self, first: Word<'t>, lead: Lead) -> Option<Name> {
        if lead == Lead::Field
            && let Some(name) = self.reversed(first)
        {
            return Some(name);
        }
        let (end, _) = self.tail(first, true);
        self.ends(end).then_some(Name { end, score: 86 })
    }

    /// A word that a name often follows: the lists have to know a part of it.
    fn maybe_led(&mut self, first: Word<'t>, lead: Lead) -> Option<Name> {
        let (end, known) = self.tail(first, lead == Lead::Label);
        let name = first.kind.is(Kind::GIVEN) || first.kind.is(Kind::SURNAME) || known;
        (name && self.ends(end) && !first.shouts()).then_some(Name { end, score: 78 })
    }

    /// `Given Surname`, `Given I. de la Surname`.
    fn from_given(&mut self, first: Word<'t>) -> Option<Name> {
        let word = first.kind.is(Kind::WORD);
        let (end, known) = self.tail(first, !word && !first.shouts());
        if end == first.end || !self.ends(end) || (first.shouts() || word) && !known {
            return None;
        }
        Some(Name {
            end,
            score: if known { 82 } else { 75 },
        })
    }

    /// `B. Smith`, `W. van der Berg`.
    fn behind_initial(&mut self, start: usize, first: Word<'t>) -> Option<Name> {
        if self.byte(first.end) != Some(b'.') {
            return None;
        }
        let mut dotted = Word {
            end: first.end + 1,
            ..first
        };
        // `J.R. Smith`, `J. R. Smith`
        for _ in 0..2 {
            let at = dotted.end + usize::from(self.byte(dotted.end) == Some(b' '));
            match self.word(at) {
                Some(next)
                    if next.text.chars().count() == 1 && self.byte(next.end) == Some(b'.') =>
                {
                    dotted.end = next.end + 1;
                }
                _ => break,
            }
        }
        let (end, known) = self.tail(dotted, false);
        let sentence = start > 1
            && self
                .text
                .get(..start)
                .is_some_and(|head| head.ends_with(". "));
        (known && end > dotted.end && !sentence && self.ends(end))
            .then_some(Name { end, score: 74 })
    }

    /// `Surname, Given I.`
    fn reversed(&mut self, first: Word<'t>) -> Option<Name> {
        let mut last = first;
        let particle = first.kind.is(Kind::PARTICLE);
        if particle {
            last = self
                .next_word(first.end)
                .filter(|word| word.kind.is(Kind::SURNAME))?;
        }
        let surname = last.kind.is(Kind::SURNAME) && (!last.kind.is(Kind::WORD) || particle);
        if !surname || self.byte(last.end) != Some(b',') || self.byte(last.end + 1) != Some(b' ') {
            return None;
        }
        let given = self.word(last.end + 2)?;
        let capital = given.text.starts_with(char::is_uppercase);
        let lone_word = given.kind.is(Kind::WORD) && last.kind.is(Kind::GIVEN);
        if !capital
            || !given.kind.is(Kind::GIVEN)
            || lone_word
            || given.kind.is(Kind::STOP) && !given.kind.is(Kind::WORD)
        {
            return None;
        }
        let mut end = given.end;
        if self.byte(end) == Some(b' ')
            && let Some(initial) = self.word(end + 1)
            && initial.text.chars().count() == 1
            && self.byte(initial.end) == Some(b'.')
        {
            end = initial.end + 1;
        }
        // `Angelo, Melissa, Brian`: given names in a row, each a name of its own.
        let row = self.byte(end) == Some(b',') && last.kind.is(Kind::GIVEN);
        (!row && self.ends(end)).then_some(Name { end, score: 79 })
    }

    /// A given name alone, in a sentence.
    fn lone(&mut self, first: Word<'t>) -> Option<Name> {
        let sure = first.kind.is(Kind::GIVEN) && !first.kind.is(Kind::WORD);
        if !sure || first.text.chars().count() < 4 || first.shouts() || !self.ends(first.end) {
            return None;
        }
        // Part of another name: of a street, a firm, a product.
        let bigger = self.byte(first.end) == Some(b' ')
            && self
                .word(first.end + 1)
                .is_some_and(|next| next.text.starts_with(char::is_uppercase));
        (!bigger).then_some(Name {
            end: first.end,
            score: 62,
        })
    }

    /// Goes on behind the first word: initials, particles, surnames. Returns the end, and
    /// whether the lists know one of the words.
    fn tail(&mut self, first: Word<'t>, unknown: bool) -> (usize, bool) {
        let (mut end, mut known, mut surname) = (first.end, false, false);
        let mut at = first.end;
        for _ in 0..MOST {
            let Some(word) = self.next_word(at) else {
                break;
            };
            let capital = word.text.starts_with(char::is_uppercase);
            let initial = capital && word.text.chars().count() == 1;
            if initial && !surname {
                at = word.end + usize::from(self.byte(word.end) == Some(b'.'));
                continue;
            }
            if word.kind.is(Kind::PARTICLE) && !surname && !(capital && word.kind.is(Kind::SURNAME))
            {
                at = word.end;
                continue;
            }
            let listed = word.kind.is(Kind::GIVEN) || word.kind.is(Kind::SURNAME);
            let alike = word.shouts() == first.shouts() || first.text.len() <= 2;
            let fits = capital && word.well_cased() && !word.kind.is(Kind::STOP) && alike;
            let plain = listed && !(word.kind.is(Kind::WORD) && !unknown);
            if !fits || !(plain || (unknown && !surname && word.text.chars().count() > 2)) {
                break;
            }
            known |= plain;
            surname |= !word.kind.is(Kind::GIVEN) || word.kind.is(Kind::SURNAME);
            (at, end) = (word.end, word.end);
        }
        (end, known)
    }

    /// The next word of the same name: behind one space.
    fn next_word(&mut self, at: usize) -> Option<Word<'t>> {
        match self.byte(at)? {
            b' ' => self.word(at + 1),
            _ => None,
        }
    }

    /// Whether what follows may follow a name; a dot or a bracket of code may not.
    fn ends(&mut self, end: usize) -> bool {
        let Some(next) = self.byte(end) else {
            return true;
        };
        match next {
            b'.' | b':' | b'-' | b'/' => !self
                .byte(end + 1)
                .is_some_and(|b| b.is_ascii_alphanumeric() || b == next || b"_/\\".contains(&b)),
            b'_' | b'(' | b'[' | b'{' | b'=' | b'@' | b'$' | b'`' => false,
            b => !b.is_ascii_digit(),
        }
    }
}

/// What stands before a name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lead {
    Nothing,
    /// A mark of code, an address, a path.
    Code,
    Title,
    Field,
    Label,
    Word,
}

impl Lead {
    fn before(text: &str, start: usize) -> Lead {
        let head = text.get(..start).unwrap_or_default();
        let bytes = head.as_bytes();
        match bytes.last() {
            None => return Lead::Nothing,
            Some(
                b'.' | b'/' | b'\\' | b'@' | b'#' | b'$' | b'-' | b'&' | b'<' | b'{' | b'_' | b'~'
                | b'%' | b'`',
            ) => return Lead::Code,
            Some(b':') if bytes.len() > 1 && bytes.get(bytes.len() - 2) == Some(&b':') => {
                return Lead::Code;
            }
            _ => {}
        }
        let from = head.len().saturating_sub(crate::validate::context::REACH);
        let near = head
            .get(head.ceil_char_boundary(from)..)
            .unwrap_or_default();
        let kept = near.trim_end_matches(|c: char| {
            matches!(
                c,
                ' ' | '\t'
                    | '"'
                    | '\''
                    | '>'
                    | ':'
                    | '='
                    | '|'
                    | '*'
                    | '('
                    | '.'
                    | ','
                    | '\n'
                    | '„'
                    | '“'
                    | '«'
                    | '['
                    | '\\'
            )
        });
        let marks = near.get(kept.len()..).unwrap_or_default();
        if marks.len() > MARKS {
            return Lead::Nothing;
        }
        let begin = kept
            .char_indices()
            .rev()
            .find(|(_, c)| !c.is_alphabetic() && !matches!(c, '_' | '-'))
            .map_or(0, |(at, c)| at + c.len_utf8());
        let word = kept.get(begin..).unwrap_or_default();
        if word.is_empty() || word.len() > LONGEST {
            return Lead::Nothing;
        }
        let plain: String = word.chars().filter(|c| !matches!(c, '_' | '-')).collect();
        let (kinds, marked) = (kind(&plain), marks.contains([':', '=', '"', '>', '|']));
        let broken = marks.contains('\n');
        match kinds {
            _ if kinds.is(Kind::TITLE) && !broken && !marked && !marks.contains(',') => Lead::Title,
            _ if kinds.is(Kind::FIELD) && marked => Lead::Field,
            _ if kinds.is(Kind::LABEL) && marked => Lead::Label,
            _ if kinds.is(Kind::LEADS) => Lead::Word,
            _ => Lead::Nothing,
        }
    }
}

/// What the lists say of a word, of its parts if it is joined, or of what it is a form of.
fn known(word: &str) -> Kind {
    let own = kind(word);
    if own != Kind::default() {
        return own;
    }
    if let Some((first, rest)) = word.split_once(['-', '\'', '’']) {
        let (first, rest) = (kind(first), kind(rest));
        return if first.is(Kind::STOP) || rest.is(Kind::STOP) {
            Kind::STOP
        } else if rest == Kind::default() {
            first
        } else {
            rest
        };
    }
    inflected(word)
}

/// Endings of Slavic cases with the letters that the plain form ends in instead.
const FORMS: &[(&str, &[&str])] = &[
    ("owie", &[""]),
    ("owi", &["", "o"]),
    ("ovi", &["", "a"]),
    ("iego", &["i"]),
    ("iemu", &["i"]),
    ("iej", &["a"]),
    ("ego", &["i", "y"]),
    ("emu", &["i", "y"]),
    ("iem", &["", "o"]),
    ("em", &["", "o"]),
    ("om", &["", "a"]),
    ("ie", &["a", ""]),
    ("ka", &["ek"]),
    ("kiem", &["ek"]),
    ("kowi", &["ek"]),
    ("ą", &["a"]),
    ("ę", &["a"]),
    ("ej", &["a"]),
    ("ou", &["a"]),
    ("ow", &[""]),
    ("y", &["a"]),
    ("i", &["a"]),
    ("e", &["a", ""]),
    ("u", &["a", "", "o"]),
    ("o", &["a"]),
    ("a", &[""]),
    ("ом", &["", "а"]),
    ("ой", &["а"]),
    ("ого", &["ий"]),
    ("ому", &["ий"]),
    ("ым", &[""]),
    ("ы", &["а"]),
    ("у", &["", "а"]),
    ("е", &["", "а"]),
    ("а", &[""]),
    ("и", &["я", "а"]),
    ("ю", &["я"]),
];

fn inflected(word: &str) -> Kind {
    if word.chars().count() < 5 {
        return Kind::default();
    }
    for (ending, plain) in FORMS {
        let Some(stem) = word.strip_suffix(ending) else {
            continue;
        };
        for last in *plain {
            let found = kind(&format!("{stem}{last}"));
            if found.is(Kind::SURNAME) || found.is(Kind::GIVEN) && !found.is(Kind::WORD) {
                return found;
            }
        }
    }
    Kind::default()
}
