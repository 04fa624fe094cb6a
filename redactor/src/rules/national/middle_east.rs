//! Israel, the United Arab Emirates, Saudi Arabia, Iran.

use super::super::cue::Value;
use super::Scheme;
use crate::label::Label;
use crate::validate::sums::{luhn, numbers, weighted};

pub(super) const SCHEMES: &[Scheme] = &[
    // Population Registry: nine digits, Luhn, leading zeros often left out.
    Scheme {
        name: "il-teudat-zehut",
        label: Label::NATIONAL_ID,
        cues: &[
            "תעודת זהות",
            "ת.ז.",
            "ת\"ז",
            "ת״ז",
            "מספר זהות",
            "teudat zehut",
            "israeli id",
        ],
        value: Value::Digits(8, 9),
        bare: "",
        check: Some(teudat_zehut),
    },
    // ICP: 784, year of birth, serial, Luhn.
    Scheme {
        name: "ae-emirates-id",
        label: Label::NATIONAL_ID,
        cues: &[
            "emirates id",
            "الهوية الإماراتية",
            "رقم الهوية",
            "بطاقة الهوية",
        ],
        value: Value::Digits(10, 15),
        bare: "784-[0-9]{4}-[0-9]{7}-[0-9]",
        check: Some(emirates),
    },
    // Absher: ten digits, 1 for citizens, 2 for residents, Luhn.
    Scheme {
        name: "sa-national-id",
        label: Label::NATIONAL_ID,
        cues: &["iqama", "saudi id", "رقم الهوية الوطنية", "رقم الإقامة"],
        value: Value::Digits(10, 10),
        bare: "",
        check: Some(saudi),
    },
    // Civil Registration: weights 10 to 2, modulus 11.
    Scheme {
        name: "ir-kode-melli",
        label: Label::NATIONAL_ID,
        cues: &["کد ملی", "شماره ملی", "kode melli"],
        value: Value::Digits(10, 10),
        bare: "",
        check: Some(kode_melli),
    },
];

fn digits(id: &[u8]) -> Vec<u8> {
    id.iter().map(|b| b.wrapping_sub(b'0')).collect()
}

fn teudat_zehut(id: &[u8]) -> bool {
    id.len() <= 9 && id.iter().all(u8::is_ascii_digit) && luhn(&digits(id))
}

fn emirates(id: &[u8]) -> bool {
    numbers::<15>(id).is_some() && id.starts_with(b"784") && luhn(&digits(id))
}

fn saudi(id: &[u8]) -> bool {
    numbers::<10>(id).is_some()
        && id.first().is_some_and(|b| b"12".contains(b))
        && luhn(&digits(id))
}

fn kode_melli(id: &[u8]) -> bool {
    let Some([body @ .., check]) = numbers::<10>(id) else {
        return false;
    };
    let rest = weighted(&body, &[10, 9, 8, 7, 6, 5, 4, 3, 2]) % 11;
    check == if rest < 2 { rest } else { 11 - rest }
}
