//! Bulgaria, Greece, Cyprus, Malta, Croatia, Slovenia and the other heirs of Yugoslavia, Turkey.

use super::super::cue::Value;
use super::Scheme;
use crate::label::Label;
use crate::validate::sums::{day_and_month, luhn, mod_11_10, numbers, weighted};

pub(super) const SCHEMES: &[Scheme] = &[
    // GRAO: date, serial; weights 2 4 8 5 10 9 7 3 6, modulus 11.
    Scheme {
        name: "bg-egn",
        label: Label::NATIONAL_ID,
        cues: &["егн", "egn", "единен граждански номер", "лнч", "lnch"],
        value: Value::Digits(10, 10),
        bare: "",
        check: Some(egn),
    },
    // IDIKA: date, serial, Luhn.
    Scheme {
        name: "gr-amka",
        label: Label::NATIONAL_ID,
        cues: &["αμκα", "α.μ.κ.α.", "amka"],
        value: Value::Digits(11, 11),
        bare: "(?:0[1-9]|[12][0-9]|3[01])(?:0[1-9]|1[0-2])[0-9]{7}",
        check: Some(amka),
    },
    // AADE: powers of two, modulus 11.
    Scheme {
        name: "gr-afm",
        label: Label::TAX_ID,
        cues: &["αφμ", "α.φ.μ.", "afm"],
        value: Value::Digits(9, 9),
        bare: "",
        check: Some(afm),
    },
    Scheme {
        name: "gr-identity-card",
        label: Label::NATIONAL_ID,
        cues: &[
            "α.δ.τ.",
            "αδτ",
            "αριθμός ταυτότητας",
            "δελτίο ταυτότητας",
            "ταυτότητα",
            "adt",
        ],
        value: Value::Code(7, 9, 6),
        bare: "",
        check: None,
    },
    Scheme {
        name: "mt-identity-card",
        label: Label::NATIONAL_ID,
        cues: &["karta tal identità", "numru tal karta", "maltese id"],
        value: Value::Code(5, 8, 4),
        bare: "",
        check: None,
    },
    // Act on the personal identification number: ISO 7064 mod 11,10.
    Scheme {
        name: "hr-oib",
        label: Label::NATIONAL_ID,
        cues: &[
            "oib",
            "oib a",
            "osobni identifikacijski broj",
            "osobna iskaznica",
            "osobne iskaznice",
        ],
        value: Value::Digits(9, 11),
        bare: "",
        check: Some(oib),
    },
    // Date, region, serial; weights 7 6 5 4 3 2 twice, modulus 11.
    Scheme {
        name: "emso-jmbg",
        label: Label::NATIONAL_ID,
        cues: &["emšo", "emso", "jmbg", "јмбг", "ембг", "matični broj"],
        value: Value::Digits(13, 13),
        bare: "(?:0[1-9]|[12][0-9]|3[01])(?:0[1-9]|1[0-2])[09][0-9]{8}",
        check: Some(emso),
    },
    Scheme {
        name: "si-davcna",
        label: Label::TAX_ID,
        cues: &[
            "davčna številka",
            "davčna",
            "davčne številke",
            "davcna stevilka",
        ],
        value: Value::Digits(8, 8),
        bare: "",
        check: Some(davcna),
    },
    // General Directorate of Population: two check digits.
    Scheme {
        name: "tr-kimlik",
        label: Label::NATIONAL_ID,
        cues: &[
            "tckn",
            "tc kimlik",
            "t.c. kimlik",
            "kimlik no",
            "kimlik numarası",
            "tc kimlik no",
            "tc no",
        ],
        value: Value::Digits(11, 11),
        bare: "[1-9][0-9]{10}",
        check: Some(kimlik),
    },
    Scheme {
        name: "tr-vergi",
        label: Label::TAX_ID,
        cues: &["vergi no", "vergi numarası", "vergi kimlik", "vkn"],
        value: Value::Digits(10, 10),
        bare: "",
        check: None,
    },
];

fn egn(id: &[u8]) -> bool {
    let Some(digits) = numbers::<10>(id) else {
        return false;
    };
    let [_, _, m1, m2, d1, d2, ..] = digits;
    let [body @ .., check] = digits;
    let sum = weighted(&body, &[2, 4, 8, 5, 10, 9, 7, 3, 6]) % 11 % 10;
    sum == check && day_and_month(d1 * 10 + d2, (m1 * 10 + m2) % 20)
}

fn amka(id: &[u8]) -> bool {
    let Some([d1, d2, m1, m2, ..]) = numbers::<11>(id) else {
        return false;
    };
    let digits: Vec<u8> = id.iter().map(|b| b - b'0').collect();
    day_and_month(d1 * 10 + d2, m1 * 10 + m2) && luhn(&digits)
}

fn afm(id: &[u8]) -> bool {
    let Some([body @ .., check]) = numbers::<9>(id) else {
        return false;
    };
    let sum = weighted(&body, &[256, 128, 64, 32, 16, 8, 4, 2]);
    sum > 0 && sum % 11 % 10 == check
}

fn oib(id: &[u8]) -> bool {
    numbers::<11>(id).is_some_and(|digits| mod_11_10(&digits))
}

fn emso(id: &[u8]) -> bool {
    let Some(digits) = numbers::<13>(id) else {
        return false;
    };
    let [d1, d2, m1, m2, ..] = digits;
    let [body @ .., check] = digits;
    let rest = weighted(&body, &[7, 6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2]) % 11;
    let expected = if rest == 0 { 0 } else { 11 - rest };
    expected == check && day_and_month(d1 * 10 + d2, m1 * 10 + m2)
}

fn davcna(id: &[u8]) -> bool {
    let Some([body @ .., check]) = numbers::<8>(id) else {
        return false;
    };
    let rest = 11 - weighted(&body, &[8, 7, 6, 5, 4, 3, 2]) % 11;
    rest % 10 == check && rest != 11
}

fn kimlik(id: &[u8]) -> bool {
    let Some(digits) = numbers::<11>(id) else {
        return false;
    };
    let [d1, d2, d3, d4, d5, d6, d7, d8, d9, d10, d11] = digits;
    let odd = d1 + d3 + d5 + d7 + d9;
    let even = d2 + d4 + d6 + d8;
    d1 != 0 && (odd * 7 + 100 - even) % 10 == d10 && (odd + even + d10) % 10 == d11
}
