//! Names and words that the policy lists, found in any case, without regard to marks, and with
//! the endings that grammar gives them.
//!
//! A term is a row of words; it is found where words of the text match in that order. Terms in
//! scripts that put no space between words are found anywhere.

use std::collections::HashMap;

use aho_corasick::{AhoCorasick, MatchKind};

use crate::engine::EngineError;
use crate::label::Label;
use crate::normalise::plain_letters;
use crate::policy::{Dictionary, is_term};
use crate::rule::Hit;

/// Case endings of Slavic, Germanic, Baltic and Romance languages, without marks.
const ENDINGS: &[&str] = &[
    "", "a", "ach", "ami", "as", "e", "ego", "ei", "ej", "em", "emu", "en", "es", "i", "ia", "ie",
    "iego", "iej", "iem", "iemu", "im", "in", "iu", "n", "o", "om", "ou", "ov", "ova", "ove",
    "ovi", "ow", "owi", "owie", "s", "u", "y", "ym",
];
const LONGEST_ENDING: usize = 4;
/// Bytes that may stand between two words of a term: white space, a hyphen, a dot.
const WIDEST_GAP: usize = 4;
const SCORE: u8 = 94;

/// All dictionaries of a policy.
pub(crate) struct Lexicon {
    terms: Vec<Term>,
    /// The first word's stem → terms.
    first: HashMap<String, Vec<usize>>,
    /// Which pairs of leading letters any first word has: most words are passed by it.
    leads: Vec<bool>,
    /// Terms without word boundaries.
    dense: Option<Dense>,
}

struct Term {
    words: Vec<Word>,
    label: Label,
}

struct Word {
    whole: String,
    /// What every inflected form begins with, if it may be inflected.
    stem: Option<String>,
}

struct Dense {
    search: AhoCorasick,
    terms: Vec<(String, Label)>,
}

/// What a search came to.
pub(crate) struct Found {
    pub hits: Vec<Hit>,
    /// From here on more text could bring or change a hit.
    pub settled: usize,
}

impl Lexicon {
    /// Compiles the dictionaries; nothing if there is no term.
    pub(crate) fn new(dictionaries: &[Dictionary]) -> Result<Option<Lexicon>, EngineError> {
        let mut lexicon = Lexicon {
            terms: Vec::new(),
            first: HashMap::new(),
            leads: vec![false; 1 << 16],
            dense: None,
        };
        let mut dense = Vec::new();
        for (number, dictionary) in dictionaries.iter().enumerate() {
            for term in &dictionary.terms {
                if !is_term(term) {
                    return Err(EngineError::Term(number));
                }
                if term.chars().any(is_dense) {
                    dense.push((
                        crate::normalise::View::of(term).text.into_owned(),
                        dictionary.label,
                    ));
                } else {
                    lexicon.add(term, dictionary);
                }
            }
        }
        if !dense.is_empty() {
            let search = AhoCorasick::builder()
                .match_kind(MatchKind::LeftmostLongest)
                .build(dense.iter().map(|(term, _)| term))
                .map_err(|_| EngineError::Automaton)?;
            lexicon.dense = Some(Dense {
                search,
                terms: dense,
            });
        }
        let empty = lexicon.terms.is_empty() && lexicon.dense.is_none();
        Ok((!empty).then_some(lexicon))
    }

    fn add(&mut self, term: &str, dictionary: &Dictionary) {
        let plain = crate::normalise::View::of(term);
        let spans = words(&plain.text);
        let several = spans.len() > 1;
        let words: Vec<Word> = spans
            .iter()
            .filter_map(|(start, end)| plain.text.get(*start..*end))
            .map(|text| Word::new(&folded(text), dictionary.inflect, several))
            .collect();
        let Some(first) = words.first() else { return };
        let key = first.stem.as_ref().unwrap_or(&first.whole).clone();
        if let Some(lead) = self.leads.get_mut(lead(&key)) {
            *lead = true;
        }
        self.first.entry(key).or_default().push(self.terms.len());
        self.terms.push(Term {
            words,
            label: dictionary.label,
        });
    }

    /// Everything in a normalised text.
    pub(crate) fn find(&self, text: &str) -> Found {
        let mut found = Found {
            hits: Vec::new(),
            settled: text.len(),
        };
        if let Some(dense) = &self.dense {
            dense.find(text, &mut found);
        }
        if self.terms.is_empty() {
            return found;
        }
        let spans = words(text);
        // A word that touches the end of the text may go on.
        if let Some((start, _)) = spans.last().filter(|(_, end)| *end == text.len()) {
            found.settled = found.settled.min(*start);
        }
        let mut next = 0;
        while let Some((start, _)) = spans.get(next).copied() {
            let step = match self.longest(text, &spans, next, &mut found) {
                Some((label, count, last)) => {
                    found.hits.push(Hit {
                        start,
                        end: last,
                        label,
                        score: SCORE,
                        certain: false,
                    });
                    count
                }
                None => 1,
            };
            next += step;
        }
        found
    }

    /// The longest term that begins with this word: its label, how many words, and its end.
    fn longest(
        &self,
        text: &str,
        spans: &[(usize, usize)],
        at: usize,
        found: &mut Found,
    ) -> Option<(Label, usize, usize)> {
        let (start, end) = *spans.get(at)?;
        let first = folded(text.get(start..end)?);
        if !self.leads.get(lead(&first)).copied().unwrap_or(true) {
            return None;
        }
        let cuts = first
            .char_indices()
            .rev()
            .map(|(cut, _)| cut)
            .take(LONGEST_ENDING);
        let mut best: Option<(Label, usize, usize)> = None;
        for cut in std::iter::once(first.len()).chain(cuts) {
            let Some(stem) = first.get(..cut) else {
                continue;
            };
            for number in self.first.get(stem).into_iter().flatten() {
                let Some(term) = self.terms.get(*number) else {
                    continue;
                };
                match term.matches(text, spans, at) {
                    Matching::Whole(last) if best.is_none_or(|(.., end)| last > end) => {
                        best = Some((term.label, term.words.len(), last));
                    }
                    Matching::Cut => found.settled = found.settled.min(start),
                    _ => {}
                }
            }
        }
        best
    }
}

enum Matching {
    Whole(usize),
    /// The text ends before the term does.
    Cut,
    No,
}

impl Term {
    fn matches(&self, text: &str, spans: &[(usize, usize)], at: usize) -> Matching {
        let mut last = None;
        for (offset, word) in self.words.iter().enumerate() {
            let Some((start, end)) = spans.get(at + offset).copied() else {
                let short = last.is_some_and(|last| text.len() - last <= WIDEST_GAP);
                return if short { Matching::Cut } else { Matching::No };
            };
            let near = last.is_none_or(|last| start - last <= WIDEST_GAP);
            let here = text.get(start..end).unwrap_or_default();
            if near && end == text.len() && offset > 0 {
                return match word.fits(&folded(here)) && offset + 1 == self.words.len() {
                    true => Matching::Whole(end),
                    false => Matching::Cut,
                };
            }
            if !near || !word.fits(&folded(here)) {
                return Matching::No;
            }
            last = Some(end);
        }
        last.map_or(Matching::No, Matching::Whole)
    }
}

impl Word {
    /// A name's stem is the name without its last vowel, where enough remains to be told apart.
    fn new(whole: &str, inflect: bool, several: bool) -> Word {
        let letters = whole.chars().count();
        let enough = if several { 3 } else { 4 };
        let cut = whole.strip_suffix(['a', 'e', 'i', 'o', 'u', 'y']);
        let stem = match cut {
            Some(cut) if letters > enough => Some(cut),
            _ if letters >= enough => Some(whole),
            _ => None,
        };
        let stem = stem.filter(|_| inflect && whole.chars().all(char::is_alphabetic));
        Word {
            whole: whole.to_owned(),
            stem: stem.map(str::to_owned),
        }
    }

    fn fits(&self, word: &str) -> bool {
        word == self.whole
            || self
                .stem
                .as_ref()
                .and_then(|stem| word.strip_prefix(stem.as_str()))
                .is_some_and(|ending| ENDINGS.contains(&ending))
    }
}

impl Dense {
    fn find(&self, text: &str, found: &mut Found) {
        for hit in self.search.find_iter(text) {
            let Some((_, label)) = self.terms.get(hit.pattern().as_usize()) else {
                continue;
            };
            let (start, end) = (hit.start(), hit.end());
            found.hits.push(Hit {
                start,
                end,
                label: *label,
                score: SCORE,
                certain: false,
            });
        }
        let longest = self
            .terms
            .iter()
            .map(|(term, _)| term.len())
            .max()
            .unwrap_or(0);
        let from = text.len().saturating_sub(longest);
        let cut = (from..text.len()).find(|at| {
            text.get(*at..)
                .is_some_and(|tail| self.terms.iter().any(|(term, _)| term.starts_with(tail)))
        });
        found.settled = found.settled.min(cut.unwrap_or(text.len()));
    }
}

/// The words of a text: runs of letters, digits and the marks on them.
fn words(text: &str) -> Vec<(usize, usize)> {
    let mut spans = Vec::new();
    let mut start = None;
    for (at, c) in text.char_indices() {
        let inside = c.is_alphanumeric() || (!c.is_ascii() && is_mark(c));
        match (inside, start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                spans.push((from, at));
                start = None;
            }
            _ => {}
        }
    }
    spans.extend(start.map(|from| (from, text.len())));
    spans
}

fn is_mark(c: char) -> bool {
    unicode_normalization::char::is_combining_mark(c)
}

fn folded(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.chars().flat_map(plain_letters).collect()
}

/// A number for the first two bytes of a word.
fn lead(word: &str) -> usize {
    let mut bytes = word.bytes().map(usize::from);
    let (first, second) = (bytes.next().unwrap_or(0), bytes.next().unwrap_or(0));
    first << 8 | second
}

/// Scripts that put no space between words.
fn is_dense(c: char) -> bool {
    matches!(c, '\u{E00}'..='\u{EFF}' | '\u{1000}'..='\u{109F}' | '\u{1780}'..='\u{17FF}'
        | '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{9FFF}' | '\u{20000}'..='\u{3FFFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lexicon(terms: &[&str]) -> Lexicon {
        let terms = terms.iter().map(|t| (*t).to_owned()).collect();
        let dictionary = Dictionary {
            label: Label::PERSON,
            terms,
            inflect: true,
        };
        Lexicon::new(&[dictionary]).unwrap().unwrap()
    }

    fn found<'t>(lexicon: &Lexicon, text: &'t str) -> Vec<&'t str> {
        lexicon
            .find(text)
            .hits
            .iter()
            .map(|hit| &text[hit.start..hit.end])
            .collect()
    }

    #[test]
    fn any_case_marks_and_endings() {
        let lexicon = lexicon(&[
            "Anna Kowalska",
            "Tobias Lindqvist",
            "Zoë Müller",
            "田中太郎",
        ]);
        assert_eq!(
            found(&lexicon, "ANNA KOWALSKA i Annie Kowalskiej"),
            ["ANNA KOWALSKA", "Annie Kowalskiej"]
        );
        assert_eq!(
            found(&lexicon, "tobias.lindqvist's, zoe muller"),
            ["tobias.lindqvist", "zoe muller"]
        );
        assert_eq!(found(&lexicon, "これは田中太郎です"), ["田中太郎"]);
        assert!(found(&lexicon, "Anna, the Kowalska; annal kowalska").is_empty());
    }

    #[test]
    fn what_may_still_become_a_term_is_not_settled() {
        let lexicon = lexicon(&["Tobias Lindqvist"]);
        assert_eq!(lexicon.find("ask Tobias").settled, 4);
        assert_eq!(lexicon.find("ask Tobias ").settled, 4);
        assert_eq!(lexicon.find("ask Tobias Lin").settled, 4);
        assert_eq!(lexicon.find("ask him ").settled, 8);
    }

    #[test]
    fn unfit_terms_are_refused() {
        let terms = vec!["--".to_owned()];
        let dictionary = Dictionary {
            label: Label::PERSON,
            terms,
            inflect: true,
        };
        assert!(Lexicon::new(&[dictionary]).is_err());
    }
}
