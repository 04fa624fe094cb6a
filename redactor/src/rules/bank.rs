//! International bank account numbers, ISO 13616.

use crate::label::Label;
use crate::rule::{Candidate, Hit, Left, Rule, Tail};
use crate::validate::context::Cues;
use crate::validate::sums::iban;

use super::checked;

/// Country and length, from the registry of SWIFT.
const LENGTHS: &[(&str, usize)] = &[
    ("AD", 24),
    ("AE", 23),
    ("AL", 28),
    ("AT", 20),
    ("AZ", 28),
    ("BA", 20),
    ("BE", 16),
    ("BG", 22),
    ("BH", 22),
    ("BI", 27),
    ("BR", 29),
    ("BY", 28),
    ("CH", 21),
    ("CR", 22),
    ("CY", 28),
    ("CZ", 24),
    ("DE", 22),
    ("DJ", 27),
    ("DK", 18),
    ("DO", 28),
    ("EE", 20),
    ("EG", 29),
    ("ES", 24),
    ("FI", 18),
    ("FK", 18),
    ("FO", 18),
    ("FR", 27),
    ("GB", 22),
    ("GE", 22),
    ("GI", 23),
    ("GL", 18),
    ("GR", 27),
    ("GT", 28),
    ("HN", 28),
    ("HR", 21),
    ("HU", 28),
    ("IE", 22),
    ("IL", 23),
    ("IQ", 23),
    ("IS", 26),
    ("IT", 27),
    ("JO", 30),
    ("KW", 30),
    ("KZ", 20),
    ("LB", 28),
    ("LC", 32),
    ("LI", 21),
    ("LT", 20),
    ("LU", 20),
    ("LV", 21),
    ("LY", 25),
    ("MC", 27),
    ("MD", 24),
    ("ME", 22),
    ("MK", 19),
    ("MN", 20),
    ("MR", 27),
    ("MT", 31),
    ("MU", 30),
    ("NI", 28),
    ("NL", 18),
    ("NO", 15),
    ("OM", 23),
    ("PK", 24),
    ("PL", 28),
    ("PS", 29),
    ("PT", 25),
    ("QA", 29),
    ("RO", 24),
    ("RS", 22),
    ("RU", 33),
    ("SA", 24),
    ("SC", 31),
    ("SD", 18),
    ("SE", 24),
    ("SI", 19),
    ("SK", 24),
    ("SM", 27),
    ("SO", 23),
    ("ST", 25),
    ("SV", 28),
    ("TL", 23),
    ("TN", 24),
    ("TR", 26),
    ("UA", 29),
    ("VA", 22),
    ("VG", 24),
    ("XK", 20),
    ("YE", 30),
];

pub(super) const WORDS: Cues = Cues::new(
    4,
    &[
        "iban", "ibans", "konto", "konta", "rachunku", "account", "compte",
    ],
);

pub(super) fn rules() -> Vec<Rule> {
    let head = r"[A-Za-z]{2}[ .-]?[0-9][ .-]?[0-9](?:[ \n.-]{0,2}[A-Za-z0-9]){11,30}";
    vec![checked(
        "iban",
        Label::IBAN,
        head,
        (Left::Word, Tail::None),
        check,
    )]
}

/// Takes exactly as many letters and digits as the country's numbers have, so that words behind
/// the number are left where they are.
fn check(candidate: &Candidate<'_>) -> Option<Hit> {
    let bytes = candidate
        .text
        .as_bytes()
        .get(candidate.start..candidate.end)?;
    let country = bytes.get(..2)?.to_ascii_uppercase();
    let (_, length) = LENGTHS
        .iter()
        .find(|(code, _)| code.as_bytes() == country)?;
    let mut compact = Vec::with_capacity(*length);
    let mut upper = true;
    for (at, byte) in bytes.iter().enumerate() {
        if !byte.is_ascii_alphanumeric() {
            continue;
        }
        upper &= !byte.is_ascii_lowercase();
        compact.push(byte.to_ascii_uppercase());
        if compact.len() == *length {
            let end = candidate.start + at + 1;
            let next = candidate.text.as_bytes().get(end);
            if next.is_some_and(u8::is_ascii_alphanumeric) {
                return None;
            }
            // In a name, `scan_GB82….pdf`, only the whole number without dashes of its own is one.
            let glued = candidate.previous().is_some_and(|b| b"_-".contains(&b));
            let named = glued || next == Some(&b'_');
            let dashed = bytes.get(..at)?.contains(&b'-');
            let labelled = candidate.context.names(&WORDS);
            let score = match (iban(&compact), upper, labelled) {
                (true, true, _) if !(glued && dashed) => 97,
                _ if named => return None,
                (true, false, true) => 92,
                // The sum is wrong, but the label stands beside it.
                (false, true, true) => 80,
                _ => return None,
            };
            let whole = candidate.whole(Label::IBAN, score)?;
            let hit = Hit { end, ..whole };
            return if score > 95 {
                Some(hit)
            } else {
                hit.by_context()
            };
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use crate::rules::testing::{found, nothing};

    #[test]
    fn the_number_and_nothing_around_it() {
        found(
            "TRANSFER TO GB82 WEST 1234 5698 7654 32 FAILED TWICE",
            "IBAN",
            &["GB82 WEST 1234 5698 7654 32"],
        );
        found(
            "iban de89 3704 0044 0532 0130 00",
            "IBAN",
            &["de89 3704 0044 0532 0130 00"],
        );
        found(
            "DE89370400440532013000",
            "IBAN",
            &["DE89370400440532013000"],
        );
        found(
            "IBAN: GB00 WEST 1234 5698 7654 32",
            "IBAN",
            &["GB00 WEST 1234 5698 7654 32"],
        );
    }

    #[test]
    fn wrong_sums_lengths_and_countries() {
        nothing("GB83 WEST 1234 5698 7654 32");
        nothing("DE8937040044053201300");
        nothing("ZZ89370400440532013000");
        nothing("be68539007547034ab");
    }
}
