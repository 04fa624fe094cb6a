//! Estonia, Latvia, Lithuania, Ukraine, Russia, Kazakhstan.

use super::super::cue::Value;
use super::Scheme;
use crate::label::Label;
use crate::validate::sums::{day_and_month, numbers, weighted};

pub(super) const SCHEMES: &[Scheme] = &[
    // EVS 585 (Estonia), law I-2237 (Lithuania): century, date, serial, two rounds of modulus 11.
    Scheme {
        name: "ee-lt-personal-code",
        label: Label::NATIONAL_ID,
        cues: &[
            "isikukood",
            "isikukoodi",
            "asmens kodas",
            "asmens kodo",
            "asmens kodą",
        ],
        value: Value::Digits(11, 11),
        bare: "[1-6][0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])[0-9]{4}",
        check: Some(personal_code),
    },
    // Cabinet regulation on personal codes: 1101 less the weighted sum, modulus 11.
    Scheme {
        name: "lv-personas-kods",
        label: Label::NATIONAL_ID,
        cues: &["personas kods", "personas koda", "personas kodu", "pk"],
        value: Value::Digits(11, 11),
        bare: "(?:0[1-9]|[12][0-9]|3[01])(?:0[1-9]|1[0-2])[0-9]{2}-[0-9]{5}",
        check: Some(personas_kods),
    },
    // State register of taxpayers: weights -1 5 7 9 4 6 10 5 7, modulus 11.
    Scheme {
        name: "ua-rnokpp",
        label: Label::TAX_ID,
        cues: &[
            "рнокпп",
            "іпн",
            "ідентифікаційний код",
            "податковий номер",
            "rnokpp",
            "реєстраційний номер облікової картки",
        ],
        value: Value::Digits(10, 10),
        bare: "",
        check: Some(rnokpp),
    },
    Scheme {
        name: "ua-unzr",
        label: Label::NATIONAL_ID,
        cues: &["унзр", "номер запису", "unzr"],
        value: Value::Digits(13, 13),
        bare: "",
        check: None,
    },
    // Federal Tax Service MM-3-6/435: ten digits for firms, twelve for people.
    Scheme {
        name: "ru-inn",
        label: Label::TAX_ID,
        cues: &["инн", "inn"],
        value: Value::Digits(10, 12),
        bare: "",
        check: Some(inn),
    },
    // Pension Fund: weights 9 to 1, modulus 101.
    Scheme {
        name: "ru-snils",
        label: Label::NATIONAL_ID,
        cues: &["снилс", "snils"],
        value: Value::Digits(11, 11),
        bare: "[0-9]{3}-[0-9]{3}-[0-9]{3} [0-9]{2}",
        check: Some(snils),
    },
    Scheme {
        name: "ru-passport",
        label: Label::PASSPORT,
        cues: &[
            "паспорт серия",
            "паспорт",
            "паспорта",
            "серия и номер",
            "серия",
        ],
        value: Value::Digits(10, 10),
        bare: "",
        check: None,
    },
    // Law 223-III: date, century, serial, two rounds of modulus 11.
    Scheme {
        name: "kz-iin",
        label: Label::NATIONAL_ID,
        cues: &["иин", "жсн", "iin"],
        value: Value::Digits(12, 12),
        bare: "",
        check: Some(iin),
    },
];

fn personal_code(id: &[u8]) -> bool {
    let Some(digits) = numbers::<11>(id) else {
        return false;
    };
    let [_, _, _, m1, m2, d1, d2, ..] = digits;
    let [body @ .., check] = digits;
    let first = weighted(&body, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 1]) % 11;
    let second = weighted(&body, &[3, 4, 5, 6, 7, 8, 9, 1, 2, 3]) % 11;
    let rest = if first < 10 { first } else { second % 10 };
    day_and_month(d1 * 10 + d2, m1 * 10 + m2) && rest == check
}

fn personas_kods(id: &[u8]) -> bool {
    let Some([body @ .., check]) = numbers::<11>(id) else {
        return false;
    };
    // Codes given out since 2017 begin with 32 and hold no date.
    (1101 - weighted(&body, &[1, 6, 3, 7, 9, 10, 5, 8, 4, 2])) % 11 % 10 == check
}

fn rnokpp(id: &[u8]) -> bool {
    let Some([first, body @ .., check]) = numbers::<10>(id) else {
        return false;
    };
    // Minus one times the first digit, kept above zero.
    let sum = weighted(&body, &[5, 7, 9, 4, 6, 10, 5, 7]) + 10 * first;
    sum % 11 % 10 == check
}

fn inn(id: &[u8]) -> bool {
    let digit = |body: &[u32], weights: &[u32]| weighted(body, weights) % 11 % 10;
    if let Some([body @ .., check]) = numbers::<10>(id) {
        return digit(&body, &[2, 4, 10, 3, 5, 9, 4, 6, 8]) == check;
    }
    let Some(digits) = numbers::<12>(id) else {
        return false;
    };
    let [.., first, second] = digits;
    digit(
        digits.get(..10).unwrap_or_default(),
        &[7, 2, 4, 10, 3, 5, 9, 4, 6, 8],
    ) == first
        && digit(
            digits.get(..11).unwrap_or_default(),
            &[3, 7, 2, 4, 10, 3, 5, 9, 4, 6, 8],
        ) == second
}

fn snils(id: &[u8]) -> bool {
    let Some([body @ .., c1, c2]) = numbers::<11>(id) else {
        return false;
    };
    let sum = weighted(&body, &[9, 8, 7, 6, 5, 4, 3, 2, 1]) % 101 % 100;
    sum == c1 * 10 + c2
}

fn iin(id: &[u8]) -> bool {
    let Some(digits) = numbers::<12>(id) else {
        return false;
    };
    let [_, _, m1, m2, d1, d2, ..] = digits;
    let [body @ .., check] = digits;
    let first = weighted(&body, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]) % 11;
    let second = weighted(&body, &[3, 4, 5, 6, 7, 8, 9, 10, 11, 1, 2]) % 11;
    let rest = if first < 10 { first } else { second };
    day_and_month(d1 * 10 + d2, m1 * 10 + m2) && rest == check
}
