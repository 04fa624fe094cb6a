//! South Africa, Egypt, Nigeria, Kenya.

use super::super::cue::Value;
use super::Scheme;
use crate::label::Label;
use crate::validate::sums::{day_and_month, luhn, numbers};

pub(super) const SCHEMES: &[Scheme] = &[
    // Identification Act 68 of 1997: date, sex, citizenship, Luhn.
    Scheme {
        name: "za-id",
        label: Label::NATIONAL_ID,
        cues: &[
            "id number",
            "rsa id",
            "south african id",
            "sa id",
            "identiteitsnommer",
            "said number",
        ],
        value: Value::Digits(13, 13),
        bare: "[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])[0-9]{4}[01][89][0-9]",
        check: Some(south_africa),
    },
    Scheme {
        name: "eg-national-id",
        label: Label::NATIONAL_ID,
        cues: &["الرقم القومي", "egyptian id"],
        value: Value::Digits(14, 14),
        bare: "",
        check: Some(egypt),
    },
    Scheme {
        name: "ng-nin",
        label: Label::NATIONAL_ID,
        cues: &["nin", "bvn", "national identification number"],
        value: Value::Digits(11, 11),
        bare: "",
        check: None,
    },
    Scheme {
        name: "ke-id",
        label: Label::TAX_ID,
        cues: &["kra pin"],
        value: Value::Code(11, 11, 9),
        bare: "",
        check: None,
    },
];

fn south_africa(id: &[u8]) -> bool {
    let Some([_, _, m1, m2, d1, d2, ..]) = numbers::<13>(id) else {
        return false;
    };
    let digits: Vec<u8> = id.iter().map(|b| b - b'0').collect();
    day_and_month(d1 * 10 + d2, m1 * 10 + m2) && luhn(&digits)
}

/// Century, date, governorate, serial, a check digit whose rule is not published.
fn egypt(id: &[u8]) -> bool {
    numbers::<14>(id).is_some_and(|[century, _, _, m1, m2, d1, d2, ..]| {
        matches!(century, 2 | 3) && day_and_month(d1 * 10 + d2, m1 * 10 + m2)
    })
}
