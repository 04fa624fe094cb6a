//! Secrets that their issuers gave a shape: a prefix, a length, an alphabet.
//!
//! The prefix is what makes them certain, so a token that is longer than the format says is
//! still one (formats grow) unless the format is nothing but letters and digits of fixed length.

mod published;
mod table;
#[cfg(test)]
mod tests;

use self::published::is_published;
use self::table::{Ending, Format, formats};
use crate::label::Label;
use crate::rule::{Candidate, Class, Hit, Judge, Left, Rule, Tail};

use super::worth::counts_up;

pub(super) fn rules() -> Vec<Rule> {
    formats().map(rule).collect()
}

fn rule(format: Format) -> Rule {
    let Format {
        name,
        ending,
        own,
        head,
        ..
    } = format;
    let (tail, judge) = match ending {
        Ending::Exact if own => (Tail::None, Judge::Check(own_prefix)),
        Ending::Exact => (Tail::None, Judge::Check(exact)),
        Ending::Mixed => (Tail::None, Judge::Check(mixed)),
        Ending::Word => (Tail::Run(Class::Word), Judge::Check(open_ended)),
        Ending::Base64 => (Tail::Run(Class::Base64), Judge::Check(open_ended)),
        Ending::Dotted => (Tail::Run(Class::Dotted), Judge::Check(dotted)),
    };
    Rule {
        name,
        label: Label::API_KEY,
        head: head.into(),
        left: if own { Left::Word } else { Left::Token },
        tail,
        judge,
        beside: false,
    }
}

/// The prefix tells that it is a token, and an underscore that it ends: `AKIA…_old.txt`.
fn own_prefix(candidate: &Candidate<'_>) -> Option<Hit> {
    match candidate.next() {
        Some(b) if b.is_ascii_alphanumeric() => None,
        _ => open_ended(candidate),
    }
}

fn exact(candidate: &Candidate<'_>) -> Option<Hit> {
    match candidate.next() {
        Some(b) if b.is_ascii_alphanumeric() || b == b'_' => None,
        _ => open_ended(candidate),
    }
}

/// What a page shows in place of a secret (`ghp_xxxxxxxx…`) is none. As with values, the first
/// bytes decide, so that a verdict stands however much of the tail a stream brings.
fn open_ended(candidate: &Candidate<'_>) -> Option<Hit> {
    let judged = candidate.start.saturating_add(crate::pass::JUDGED);
    let text = candidate.text.get(
        candidate.start
            ..candidate
                .text
                .floor_char_boundary(candidate.end.min(judged)),
    )?;
    (!is_filled(text.as_bytes()) && !counts_up(text) && !is_published(text))
        .then(|| candidate.whole(Label::API_KEY, 98))
        .flatten()
}

/// The full stop behind a token belongs to the sentence.
fn dotted(candidate: &Candidate<'_>) -> Option<Hit> {
    let length = candidate.matched().trim_end_matches('.').len();
    open_ended(candidate).map(|hit| Hit {
        end: candidate.start + length,
        ..hit
    })
}

/// Formats with a short prefix look like words of code, unless all kinds of characters occur.
fn mixed(candidate: &Candidate<'_>) -> Option<Hit> {
    let head = candidate.text.get(candidate.start + 2..candidate.head)?;
    let kinds = [u8::is_ascii_digit, u8::is_ascii_lowercase];
    let all = kinds.iter().all(|kind| head.as_bytes().iter().any(kind));
    let dotted = candidate.previous() == Some(b'.');
    (all && !dotted).then(|| exact(candidate)).flatten()
}

/// Whether it is filled up as pages fill what shows a shape: with eight `x`, with a word in
/// capitals or a row of figures three times over, with `here` at its end.
///
/// Beside these, values that count up and keys that their issuer published, no known prefix is
/// doubted: other examples and test keys are taken out, since nobody can tell them from live ones
/// by their look.
fn is_filled(text: &[u8]) -> bool {
    let crossed = text
        .windows(8)
        .any(|run| run.iter().all(|b| b.eq_ignore_ascii_case(&b'x')));
    let here = text.len() > 4
        && text
            .get(text.len() - 4..)
            .is_some_and(|end| end.eq_ignore_ascii_case(b"here"));
    crossed || here || (3..=8).any(|length| repeats(text, length))
}

/// Whether a word in capitals or a number of that length stands at least three times in a row.
/// One letter over and over is what base64 writes for zeros.
fn repeats(text: &[u8], length: usize) -> bool {
    let wanted = (2 * length).max(12);
    let (mut run, mut first) = (0, None);
    let mut varied = false;
    for (byte, before) in text.iter().skip(length).zip(text) {
        let filler = byte.is_ascii_uppercase() || byte.is_ascii_digit();
        // A piece of letters and digits may be one of a token that was made up for a test.
        let alike = first.is_none_or(|first: u8| first.is_ascii_digit() == byte.is_ascii_digit());
        if byte == before && filler && alike {
            varied |= *first.get_or_insert(*byte) != *byte;
            run += 1;
            if run >= wanted && varied {
                return true;
            }
        } else {
            (run, first, varied) = (0, None, false);
        }
    }
    false
}
