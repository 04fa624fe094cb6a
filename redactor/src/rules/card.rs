//! Payment cards: an issuer's prefix at a length that issuer uses, and the Luhn sum.

use std::sync::LazyLock;

use crate::label::Label;
use crate::rule::{Candidate, Hit, Left, Rule, Tail};
use crate::validate::context::Cues;
use crate::validate::sums::luhn;

use super::checked;

pub(super) const WORDS: Cues = Cues::new(
    2,
    &[
        "card",
        "cards",
        "cc",
        "pan",
        "visa",
        "mastercard",
        "amex",
        "credit",
        "debit",
        "karte",
        "kreditkarte",
        "carte",
        "carta",
        "tarjeta",
        "karta",
        "karty",
        "kort",
        "cartão",
        "kaart",
        "maestro",
        "discover",
        "ccn",
        "карта",
    ],
);

/// Prefix from, prefix to (both of the same length), shortest and longest number. ISO/IEC 7812
/// ranges as the networks publish them.
const ISSUERS: &[(u32, u32, usize, usize)] = &[
    (4, 4, 16, 16),
    (4, 4, 19, 19),
    (51, 55, 16, 16),
    (2221, 2720, 16, 16),
    (34, 34, 15, 15),
    (37, 37, 15, 15),
    (300, 305, 14, 14),
    (3095, 3095, 14, 14),
    (36, 36, 14, 14),
    (38, 39, 14, 14),
    (6011, 6011, 16, 19),
    (644, 659, 16, 19),
    (3528, 3589, 16, 19),
    (62, 62, 16, 19),
    (81, 82, 16, 16),
    (508, 508, 16, 16),
    (60, 60, 16, 16),
    (2200, 2204, 16, 19),
    (9792, 9792, 16, 16),
    (5018, 5018, 12, 19),
    (5020, 5020, 12, 19),
    (5038, 5038, 12, 19),
    (5893, 5893, 12, 19),
    (6304, 6304, 12, 19),
    (6759, 6763, 12, 19),
    (5060, 5061, 16, 19),
];

pub(super) fn rules() -> Vec<Rule> {
    let head = r"[0-9](?:[ .-]?\n?[ .-]?[0-9]){11,18}";
    vec![checked(
        "card",
        Label::CREDIT_CARD,
        head,
        (Left::Word, Tail::None),
        card,
    )]
}

/// The most digits that the head takes.
const MOST: usize = 19;

/// The head takes as many digits as it can; an expiry date may be among them. So every group
/// border is tried as the end, the longest first.
fn card(candidate: &Candidate<'_>) -> Option<Hit> {
    let bytes = candidate.text.as_bytes().get(candidate.start..)?;
    let matched = candidate.matched().as_bytes();
    let labelled = candidate.context.names(&WORDS);
    let lengths = issued(matched);
    // Without the word beside it, only what an issuer numbers so is a card.
    if (lengths == 0 && !labelled) || is_part(candidate) {
        return None;
    }
    let glued = candidate.previous().is_some_and(|b| b"._".contains(&b));
    let (mut digits, mut count) = ([0; MOST], 0);
    let mut best = None;
    for (at, byte) in matched.iter().enumerate() {
        if !byte.is_ascii_digit() {
            continue;
        }
        *digits.get_mut(count)? = byte - b'0';
        count += 1;
        let next = bytes.get(at + 1);
        let issued = lengths >> count & 1 != 0;
        // In a name, `scan_4111….pdf`, the word beside it does not count.
        let named = glued || next == Some(&b'_');
        let possible = issued || (labelled && !named);
        if count < 12 || !possible || next.is_some_and(u8::is_ascii_alphanumeric) {
            continue;
        }
        let (digits, grouping) = (digits.get(..count)?, Grouping::of(bytes.get(..=at)?));
        let sum = luhn(digits);
        if named && !(sum && issued) {
            continue;
        }
        if let Some(score) = judge(digits, grouping, labelled, sum && issued) {
            best = best.max(Some((score, at + 1)));
        }
    }
    let (score, length) = best?;
    let whole = candidate.whole(Label::CREDIT_CARD, score)?;
    let hit = Hit {
        end: candidate.start + length,
        ..whole
    };
    if score >= 80 {
        Some(hit)
    } else {
        hit.by_context()
    }
}

/// Whether the digits are what follows a decimal point, or a reference that was made up after
/// the name of a number: `KARTA-4167 6152 …`.
fn is_part(candidate: &Candidate<'_>) -> bool {
    let bytes = candidate.text.as_bytes();
    let second = candidate.start.checked_sub(2).and_then(|at| bytes.get(at));
    match candidate.previous() {
        Some(b'.') => second.is_some_and(u8::is_ascii_digit),
        Some(b'-') => {
            second.is_some_and(u8::is_ascii_alphabetic) && candidate.matched().contains(' ')
        }
        _ => false,
    }
}

/// How the digits of a number are set apart.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Grouping {
    None,
    /// In groups as printed on a card: 4-4-4-4, 4-6-5, 4-4-4-4-3 and the like.
    Card,
    /// Every digit alone, as when read out.
    Single,
    Other,
}

impl Grouping {
    fn of(number: &[u8]) -> Self {
        let groups = || number.split(|b| !b.is_ascii_digit()).map(<[u8]>::len);
        let count = groups().count();
        if count == 1 {
            Grouping::None
        } else if groups().all(|length| length == 1) {
            Grouping::Single
        } else if groups().next() == Some(4)
            && groups()
                .take(count - 1)
                .all(|length| (4..=7).contains(&length))
        {
            Grouping::Card
        } else {
            Grouping::Other
        }
    }
}

fn judge(digits: &[u8], grouping: Grouping, labelled: bool, issued: bool) -> Option<u8> {
    match (grouping, labelled) {
        (Grouping::Other, false) => None,
        (_, true) if issued => Some(96),
        (_, false) if issued => Some(90),
        (_, true) if luhn(digits) => Some(80),
        // No sum, but the word beside it: a typing error does not make it harmless.
        (Grouping::Card | Grouping::None, true) if digits.len() >= 13 => Some(75),
        _ => None,
    }
}

/// The lengths that issuers give to numbers which begin so, a bit each.
fn issued(number: &[u8]) -> u32 {
    let digits = number.iter().filter(|b| b.is_ascii_digit());
    let start = digits
        .take(4)
        .fold(0, |sum, b| sum * 10 + usize::from(b - b'0'));
    LENGTHS.get(start).copied().unwrap_or(0)
}

/// By the first four digits: those lengths.
static LENGTHS: LazyLock<Box<[u32]>> = LazyLock::new(|| (0..10_000).map(lengths).collect());

fn lengths(start: u32) -> u32 {
    let fits = |(from, to, ..): &&(u32, u32, usize, usize)| {
        let cut = start / 10u32.pow(3 - from.ilog10());
        (*from..=*to).contains(&cut)
    };
    let issuers = ISSUERS.iter().filter(fits);
    issuers.fold(0, |lengths, (_, _, shortest, longest)| {
        (*shortest..=*longest).fold(lengths, |lengths, length| lengths | 1 << length)
    })
}

#[cfg(test)]
mod tests {
    use crate::rules::testing::{found, nothing};

    #[test]
    fn cards_of_every_network_and_grouping() {
        found(
            "card 4111 1111 1111 1111",
            "CREDIT_CARD",
            &["4111 1111 1111 1111"],
        );
        found(
            "4111 1111 1111 1111",
            "CREDIT_CARD",
            &["4111 1111 1111 1111"],
        );
        found(
            "pay 2223003122003222 or 6205 5000 0000 0000 004 or 3782-822463-10005",
            "CREDIT_CARD",
            &[
                "2223003122003222",
                "6205 5000 0000 0000 004",
                "3782-822463-10005",
            ],
        );
        found(
            "4111 1111 1111 1111 12/28",
            "CREDIT_CARD",
            &["4111 1111 1111 1111"],
        );
        found(
            "card no. 4111 1111 1111 1112",
            "CREDIT_CARD",
            &["4111 1111 1111 1112"],
        );
    }

    #[test]
    fn numbers_that_only_pass_the_sum() {
        nothing(r#"{"ts":1748500000123,"next":1748500048973} took 12ms"#);
        nothing("4111 1111 1111 1112");
        nothing("id a4111111111111111 or 0.4111111111111111");
        nothing("41111111111111111111");
    }
}
