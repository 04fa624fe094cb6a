//! Numbers that are spelled out, a word for each digit: `four one five, five five five …`.

use crate::label::Label;
use crate::rule::{Candidate, Hit, Left, Rule, Tail};
use crate::validate::sums::luhn;

use super::checked;

/// What such numbers are called: the words for digits alone begin too many sentences.
const CALLED: &str = r"(?i)(?:phone|tel|telephone|call|mobile|cell|dial|ssn|security|card|number)(?: number| no\.?)?(?: me| us)?(?: is| at| on)?[ :=]{1,3}";
/// Bytes behind that in which the digits stand.
const NEAR: usize = 160;
const WORDS: &[&str] = &[
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine",
];
/// Fewer digits are no number of anybody's.
const FEWEST: usize = 7;

pub(super) fn rules() -> Vec<Rule> {
    vec![checked(
        "spelled",
        Label::PHONE,
        CALLED,
        (Left::Token, Tail::Near(NEAR)),
        spelled,
    )]
}

fn spelled(candidate: &Candidate<'_>) -> Option<Hit> {
    let rest = candidate.text.get(candidate.head..candidate.end)?;
    let (digits, length) = figures(rest);
    // Who counts names no number.
    let counted = digits
        .iter()
        .zip(digits.iter().skip(1))
        .filter(|(a, b)| a.abs_diff(**b) == 1)
        .count();
    if digits.len() < FEWEST || counted * 2 > digits.len() {
        return None;
    }
    let called = candidate.text.get(candidate.start..candidate.head)?;
    let called = called.to_ascii_lowercase();
    let label = if digits.len() >= 13 && (luhn(&digits) || called.starts_with("card")) {
        Label::CREDIT_CARD
    } else if digits.len() == 9 && (called.starts_with("ssn") || called.starts_with("security")) {
        Label::US_SSN
    } else {
        Label::PHONE
    };
    Some(Hit {
        start: candidate.head,
        end: candidate.head + length,
        label,
        score: 82,
        certain: false,
    })
}

/// The digits that a text begins with, and how long their words are.
fn figures(text: &str) -> (Vec<u8>, usize) {
    let (mut digits, mut length, mut at) = (Vec::new(), 0, 0);
    for word in text.split_inclusive([' ', ',', '-', '.', '\n']) {
        let name = word.trim_end_matches([' ', ',', '-', '.', '\n']);
        let known = WORDS
            .iter()
            .position(|known| known.eq_ignore_ascii_case(name));
        let zero = name.eq_ignore_ascii_case("oh").then_some(0);
        match known.or(zero).and_then(|digit| u8::try_from(digit).ok()) {
            Some(digit) => {
                digits.push(digit);
                length = at + name.len();
            }
            None if name.is_empty() => {}
            None => break,
        }
        at += word.len();
    }
    (digits, length)
}

#[cfg(test)]
mod tests {
    use crate::rules::testing::{found, nothing};

    #[test]
    fn numbers_that_are_spelled() {
        let phone = "four one five, five five five, oh one nine two";
        found(&format!("call {phone} now"), "PHONE", &[phone]);
        let social = "seven eight one-two three-nine oh six two";
        found(&format!("my SSN is {social}."), "US_SSN", &[social]);
        let card = "four one one one one one one one one one one one one one one one";
        found(&format!("the card: {card}"), "CREDIT_CARD", &[card]);
        nothing("call one two three four five six seven eight nine, ten");
        nothing("the number one or two, three of four");
    }
}
