//! Names of people and their postal addresses: in scripts with capitals by lists and the words
//! around them, in others by lists, honorifics and fields.
//!
//! A word with a capital that begins no known name and follows no word that leads to one costs
//! one look into a table. Nothing here looks further back than label words reach and further
//! ahead than a name is long, so that streams settle.

mod address;
mod brands;
mod capital;
mod foreign;
mod forms;
mod han;
mod han_address;
mod lead;
mod lists;
mod loud;
pub(crate) mod mailbox;
mod plain;
mod reader;
mod small;
mod told;
mod turned;
mod uncased;
mod verbs;
mod words;

use self::lists::{Kind, kind};
use crate::label::Label;
use crate::rule::Hit;

/// What a search came to.
pub(crate) struct Found {
    pub(crate) hits: Vec<Hit>,
    /// From here on more text could bring or change a hit. Says nothing of a text that is all
    /// there.
    pub(crate) settled: usize,
    /// Whether more text may follow.
    growing: bool,
}

/// Every name in a normalised text.
pub(crate) fn find(text: &str, growing: bool) -> Found {
    let mut found = Found {
        hits: Vec::new(),
        settled: text.len(),
        growing,
    };
    plain::find(text, &mut found);
    if !text.is_ascii() {
        uncased::find(text, &mut found);
    }
    found
}

/// Whether a key says that its whole value is a person's name: `patient_name`, `lastName`,
/// `customer_last_name`.
pub(crate) fn names_person(key: &str) -> bool {
    let plain: String = key.chars().filter(|c| c.is_alphanumeric()).collect();
    if kind(&plain).is(Kind::FIELD) {
        return true;
    }
    if !plain.to_ascii_lowercase().ends_with("name") {
        return false;
    }
    // Whose name it is may stand before it.
    let mut before = ' ';
    let begins = key.char_indices().filter(|(_, c)| {
        let begins = !before.is_alphanumeric() || (before.is_lowercase() && c.is_uppercase());
        before = *c;
        begins && c.is_alphanumeric()
    });
    let mut parts = begins.filter_map(|(at, _)| key.get(at..));
    parts.any(|part| {
        let plain: String = part.chars().filter(|c| c.is_alphanumeric()).collect();
        kind(&plain).is(Kind::FIELD)
    })
}

/// Whether the value of such a field may be a name in whatever case: a few words of letters.
pub(crate) fn may_be_name(value: &str) -> bool {
    let inside = |c: char| c.is_alphabetic() || matches!(c, ' ' | '-' | '\'' | '’' | '.' | ',');
    let words = value.split_whitespace();
    let stop = words.clone().any(|word| {
        let kind = kind(word);
        kind.is(Kind::STOP)
            && !kind.is(Kind::GIVEN)
            && !kind.is(Kind::SURNAME)
            && !kind.is(Kind::TITLE)
    });
    (2..=60).contains(&value.len())
        && value.chars().all(inside)
        && value.chars().filter(|c| c.is_alphabetic()).count() >= 2
        && (1..=5).contains(&words.count())
        && !stop
}

/// Whether a key may say that its value is a person's name: `name`, `owner`, `assigned_to`.
pub(crate) fn labels_person(key: &str) -> bool {
    let plain: String = key.chars().filter(|c| c.is_alphanumeric()).collect();
    kind(&plain).is(Kind::LABEL)
}

/// Whether the value of such a field is one: words with capitals, some of them known names.
pub(crate) fn is_name(value: &str) -> bool {
    let words = || {
        value
            .split([' ', ',', '-', '.'])
            .filter(|word| !word.is_empty())
    };
    let capital =
        |word: &str| !word.starts_with(char::is_lowercase) || kind(word).is(Kind::PARTICLE);
    let known = |word: &str| {
        let kind = kind(word);
        kind.is(Kind::SURNAME) || kind.is(Kind::GIVEN)
    };
    may_be_name(value) && words().count() >= 2 && words().all(capital) && words().any(known)
}

/// Whether a word of a name names the same person where it stands alone. `Page` and `Mark` stand
/// for other things at least as often.
pub(crate) fn repeats(word: &str) -> bool {
    let kind = kind(word);
    let other = [
        Kind::STOP,
        Kind::PLACE,
        Kind::TITLE,
        Kind::FIELD,
        Kind::LABEL,
        Kind::LEADS,
        Kind::WORD,
        Kind::COMMON,
        Kind::STREET,
        Kind::COUNTRY,
        Kind::PARTICLE,
    ];
    !other.into_iter().any(|other| kind.is(other))
}

impl Found {
    fn person(&mut self, start: usize, end: usize, score: u8) {
        self.push(Label::PERSON, start, end, score);
    }

    fn push(&mut self, label: Label, start: usize, end: usize, score: u8) {
        self.hits.push(Hit {
            start,
            end,
            label,
            score,
            certain: false,
        });
    }
}

#[cfg(test)]
mod tests;
