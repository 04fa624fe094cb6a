//! United States social security numbers and taxpayer numbers of the same form.

use crate::label::Label;
use crate::rule::{Candidate, Hit, Left, Rule, Tail};
use crate::validate::context::Cues;
use crate::validate::sums::digits;

use super::{beside, checked};

pub(super) const WORDS: Cues = Cues::new(
    3,
    &["ssn", "social", "socialsecurity", "sss", "itin", "ssns"],
);

pub(super) fn rules() -> Vec<Rule> {
    let grouped = r"[0-9]{3}(?:-[0-9]{2}-| [0-9]{2} |\.[0-9]{2}\.)[0-9]{4}";
    let left = (Left::Number, Tail::None);
    vec![
        checked(
            "us-ssn",
            Label::US_SSN,
            grouped,
            (Left::Word, Tail::None),
            with_separators,
        ),
        beside(checked(
            "us-ssn-bare",
            Label::US_SSN,
            r"[0-9]{9}",
            left,
            bare,
        )),
        beside(checked(
            "us-ssn-spread",
            Label::US_SSN,
            r"[0-9](?:[ .\n-]{0,3}[0-9]){8}",
            left,
            bare,
        )),
    ]
}

fn with_separators(candidate: &Candidate<'_>) -> Option<Hit> {
    // In a name, `scan_512-48-3071.pdf`, the dashes tell.
    let glued = candidate.previous().is_some_and(|b| b"._".contains(&b));
    if touches_number(candidate) || (glued && !candidate.matched().contains('-')) {
        return None;
    }
    let labelled = candidate.context.names(&WORDS);
    let dotted = candidate.matched().contains('.');
    match kind(candidate.matched()) {
        _ if labelled => candidate.whole(Label::US_SSN, 97),
        _ if dotted || candidate.context.denies() => None,
        Kind::Issued if candidate.matched().contains('-') => candidate.whole(Label::US_SSN, 88),
        Kind::Issued => candidate.whole(Label::US_SSN, 70),
        Kind::Taxpayer if candidate.matched().contains('-') => candidate.whole(Label::TAX_ID, 80),
        _ => None,
    }
}

fn bare(candidate: &Candidate<'_>) -> Option<Hit> {
    let labelled = candidate.context.names(&WORDS) && !touches_number(candidate);
    labelled
        .then(|| candidate.whole(Label::US_SSN, 90))
        .flatten()?
        .by_context()
}

/// Whether the digits go on to either side in a larger grouped number.
fn touches_number(candidate: &Candidate<'_>) -> bool {
    let bytes = candidate.text.as_bytes();
    let digit = |at: Option<usize>| {
        at.and_then(|at| bytes.get(at))
            .is_some_and(u8::is_ascii_digit)
    };
    let before = candidate.previous().is_some_and(|b| b"-._".contains(&b))
        && digit(candidate.start.checked_sub(2));
    let after = match candidate.next() {
        Some(b'_') if !candidate.matched().contains('-') => true,
        Some(b'-' | b'.' | b'_') => digit(Some(candidate.end + 1)),
        Some(b) => b.is_ascii_alphanumeric(),
        None => false,
    };
    before || after
}

enum Kind {
    Issued,
    Taxpayer,
    Never,
}

/// The Social Security Administration never issued area 000, 666 or 9xx, group 00, serial 0000;
/// area 9xx with a group from 50 up is a taxpayer number.
fn kind(text: &str) -> Kind {
    let digits = digits(text);
    let number = |from: usize, to: usize| {
        digits
            .get(from..to)
            .unwrap_or_default()
            .iter()
            .fold(0u32, |n, d| n * 10 + u32::from(*d))
    };
    match (number(0, 3), number(3, 5), number(5, 9)) {
        (0 | 666, ..) | (_, 0, _) | (.., 0) => Kind::Never,
        (900.., 50.., _) => Kind::Taxpayer,
        (900.., ..) => Kind::Never,
        _ => Kind::Issued,
    }
}

#[cfg(test)]
mod tests {
    use crate::rules::testing::{found, nothing};

    #[test]
    fn numbers_with_and_without_a_label() {
        found("is 512-48-3071 ok", "US_SSN", &["512-48-3071"]);
        found("SSN 000-12-3456", "US_SSN", &["000-12-3456"]);
        found("\"ssn\": \"512483071\"", "US_SSN", &["512483071"]);
        found(
            "social security number is 512 48 3071.",
            "US_SSN",
            &["512 48 3071"],
        );
    }

    #[test]
    fn other_numbers_of_that_form() {
        nothing("000-12-3456");
        nothing("part 1512-48-3071-2");
        nothing("512-48-30711");
        nothing("512.48.3071");
        nothing("ticket 512483071");
    }
}
