//! Denmark, Sweden, Norway, Finland, Iceland.

use super::super::cue::Value;
use super::Scheme;
use crate::label::Label;
use crate::validate::sums::{day_and_month, decimal, luhn, numbers, weighted};

pub(super) const SCHEMES: &[Scheme] = &[
    // CPR: date and serial; the check of modulus 11 was given up in 2007.
    Scheme {
        name: "dk-cpr",
        label: Label::NATIONAL_ID,
        cues: &["cpr", "cpr nr", "cpr nummer", "personnummer"],
        value: Value::Digits(10, 10),
        bare: "(?:0[1-9]|[12][0-9]|3[01])(?:0[1-9]|1[0-2])[0-9]{2}-[0-9]{4}",
        check: Some(cpr),
    },
    // Folkbokföringslag (1991:481) §18: date, serial, Luhn.
    Scheme {
        name: "se-personnummer",
        label: Label::NATIONAL_ID,
        cues: &[
            "personnummer",
            "personnr",
            "pnr",
            "samordningsnummer",
            "persnr",
        ],
        value: Value::Digits(10, 12),
        bare: "(?:19|20)?[0-9]{2}(?:0[1-9]|1[0-2])(?:[0-2][0-9]|3[01]|[6-8][0-9]|9[01])[+-][0-9]{4}",
        check: Some(personnummer),
    },
    // Skatteetaten: date, serial, two check digits.
    Scheme {
        name: "no-fodselsnummer",
        label: Label::NATIONAL_ID,
        cues: &[
            "fødselsnummer",
            "fodselsnummer",
            "personnummer",
            "fnr",
            "d nummer",
        ],
        value: Value::Digits(11, 11),
        bare: "[0-7][0-9][0145][0-9]{3} ?[0-9]{5}",
        check: Some(fodselsnummer),
    },
    // Digital and Population Data Services Agency: the remainder by 31 is a character.
    Scheme {
        name: "fi-hetu",
        label: Label::NATIONAL_ID,
        cues: &[
            "hetu",
            "henkilötunnus",
            "henkilötunnuksen",
            "personbeteckning",
        ],
        value: Value::Code(10, 11, 9),
        bare: "[0-3][0-9][01][0-9]{3}[-+A-FYXWVU][0-9]{3}[0-9A-FHJ-NPR-Y]",
        check: Some(hetu),
    },
    // Registers Iceland: weights 3 2 7 6 5 4 3 2, modulus 11.
    Scheme {
        name: "is-kennitala",
        label: Label::NATIONAL_ID,
        cues: &["kennitala", "kt"],
        value: Value::Digits(10, 10),
        bare: "",
        check: Some(kennitala),
    },
];

fn cpr(id: &[u8]) -> bool {
    numbers::<10>(id).is_some_and(|[d1, d2, m1, m2, ..]| day_and_month(d1 * 10 + d2, m1 * 10 + m2))
}

fn personnummer(id: &[u8]) -> bool {
    let short = id.get(id.len().saturating_sub(10)..).unwrap_or_default();
    let Some([_, _, m1, m2, d1, d2, ..]) = numbers::<10>(short) else {
        return false;
    };
    let digits: Vec<u8> = short.iter().map(|b| b - b'0').collect();
    matches!(id.len(), 10 | 12) && day_and_month((d1 * 10 + d2) % 60, m1 * 10 + m2) && luhn(&digits)
}

fn fodselsnummer(id: &[u8]) -> bool {
    let Some(digits) = numbers::<11>(id) else {
        return false;
    };
    let [d1, d2, m1, m2, ..] = digits;
    let first = weighted(&digits, &[3, 7, 6, 1, 8, 9, 4, 5, 2, 1]);
    let second = weighted(&digits, &[5, 4, 3, 2, 7, 6, 5, 4, 3, 2, 1]);
    first.is_multiple_of(11)
        && second.is_multiple_of(11)
        && day_and_month((d1 * 10 + d2) % 40, (m1 * 10 + m2) % 40)
}

/// The mark of the century is dropped with other separators, if it is no letter.
fn hetu(id: &[u8]) -> bool {
    const CONTROL: &[u8] = b"0123456789ABCDEFHJKLMNPRSTUVWXY";
    let without: Vec<u8> = match id.len() {
        11 => id
            .iter()
            .take(6)
            .chain(id.iter().skip(7))
            .copied()
            .collect(),
        _ => id.to_vec(),
    };
    let Some((control, body)) = without.split_last() else {
        return false;
    };
    let Some(digits) = numbers::<9>(body) else {
        return false;
    };
    let [d1, d2, m1, m2, ..] = digits;
    let rest = usize::try_from(decimal(&digits) % 31).unwrap_or(0);
    day_and_month(d1 * 10 + d2, m1 * 10 + m2) && CONTROL.get(rest) == Some(control)
}

fn kennitala(id: &[u8]) -> bool {
    let Some([body @ .., check, _]) = numbers::<10>(id) else {
        return false;
    };
    (weighted(&body, &[3, 2, 7, 6, 5, 4, 3, 2]) + check).is_multiple_of(11)
}
