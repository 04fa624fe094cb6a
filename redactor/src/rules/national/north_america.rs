//! United States, Canada, Mexico.

use super::super::cue::Value;
use super::Scheme;
use crate::label::Label;
use crate::validate::sums::{day_and_month, luhn, numbers};

pub(super) const SCHEMES: &[Scheme] = &[
    // IRS: two digits of a campus, seven digits.
    Scheme {
        name: "us-ein",
        label: Label::TAX_ID,
        cues: &[
            "ein",
            "fein",
            "employer identification",
            "employer id",
            "federal tax id",
        ],
        value: Value::Digits(9, 9),
        bare: "",
        check: None,
    },
    // IRS publication 1915: 9xx, a group from 50 up.
    Scheme {
        name: "us-itin",
        label: Label::TAX_ID,
        cues: &["itin", "individual taxpayer", "atin", "ptin"],
        value: Value::Code(9, 9, 8),
        bare: "",
        check: None,
    },
    // Employment and Social Development Canada: Luhn.
    Scheme {
        name: "ca-sin",
        label: Label::NATIONAL_ID,
        cues: &[
            "sin",
            "social insurance",
            "numéro d'assurance sociale",
            "assurance sociale",
        ],
        value: Value::Digits(9, 9),
        bare: "[1-79][0-9]{2}[ -][0-9]{3}[ -][0-9]{3}",
        check: Some(sin),
    },
    Scheme {
        name: "ca-business-number",
        label: Label::TAX_ID,
        cues: &["business number", "gst hst", "hst number", "gst number"],
        value: Value::Code(9, 15, 9),
        bare: "",
        check: None,
    },
    Scheme {
        name: "ca-health-card",
        label: Label::MEDICAL_RECORD,
        cues: &[
            "health card",
            "ohip",
            "ramq",
            "health insurance number",
            "carte soleil",
        ],
        value: Value::Code(9, 12, 8),
        bare: "",
        check: None,
    },
    // RENAPO: letters of the name, date, sex, state, and a check digit.
    Scheme {
        name: "mx-curp",
        label: Label::NATIONAL_ID,
        cues: &["curp"],
        value: Value::Code(18, 18, 6),
        bare: "[A-Z][AEIOUX][A-Z]{2}[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])[HMX][A-Z]{2}[B-DF-HJ-NP-TV-Z]{3}[A-Z0-9][0-9]",
        check: Some(curp),
    },
    // SAT: letters of the name, date, three characters.
    Scheme {
        name: "mx-rfc",
        label: Label::TAX_ID,
        cues: &["rfc"],
        value: Value::Code(12, 13, 6),
        bare: "[A-Z]{3,4}[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])[A-Z0-9]{2}[0-9A]",
        check: Some(rfc),
    },
    Scheme {
        name: "mx-nss",
        label: Label::NATIONAL_ID,
        cues: &["nss", "número de seguro social", "imss"],
        value: Value::Digits(11, 11),
        bare: "",
        check: Some(nss),
    },
];

fn digits(id: &[u8]) -> Vec<u8> {
    id.iter().map(|b| b.wrapping_sub(b'0')).collect()
}

fn sin(id: &[u8]) -> bool {
    numbers::<9>(id).is_some() && luhn(&digits(id))
}

fn nss(id: &[u8]) -> bool {
    numbers::<11>(id).is_some() && luhn(&digits(id))
}

/// Values 0 to 36 with Ñ between N and O, weights 18 to 2, ten less the remainder.
fn curp(id: &[u8]) -> bool {
    let value = |b: u8| match b {
        b'0'..=b'9' => u32::from(b - b'0'),
        b'A'..=b'N' => u32::from(b - b'A') + 10,
        _ => u32::from(b.wrapping_sub(b'A')) + 11,
    };
    let Some((check, body)) = id.split_last().filter(|_| id.len() == 18) else {
        return false;
    };
    let sum: u32 = body
        .iter()
        .zip((2..=18).rev())
        .map(|(b, weight)| value(*b) * weight)
        .sum();
    check.is_ascii_digit() && (10 - sum % 10) % 10 == u32::from(check - b'0')
}

/// The key in the last place differs with the names it was made of, so the date has to do.
fn rfc(id: &[u8]) -> bool {
    let letters = id.iter().take_while(|b| b.is_ascii_uppercase()).count();
    let date = id.get(letters..letters + 6).and_then(numbers::<6>);
    letters == 4
        && id.len() == 13
        && date.is_some_and(|[_, _, m1, m2, d1, d2]| day_and_month(d1 * 10 + d2, m1 * 10 + m2))
}
