//! India, Pakistan, Singapore, Malaysia, Thailand, Indonesia, Vietnam, the Philippines.

use super::super::cue::Value;
use super::Scheme;
use crate::label::Label;
use crate::validate::sums::{day_and_month, numbers, verhoeff, weighted};

pub(super) const SCHEMES: &[Scheme] = &[
    // UIDAI: twelve digits, the first 2 to 9, Verhoeff.
    Scheme {
        name: "in-aadhaar",
        label: Label::NATIONAL_ID,
        cues: &["aadhaar", "aadhar", "adhaar", "uidai", "आधार", "आधार संख्या"],
        value: Value::Digits(12, 12),
        bare: "[2-9][0-9]{3} [0-9]{4} [0-9]{4}",
        check: Some(aadhaar),
    },
    // Income Tax Department: the fourth letter is the kind of holder.
    Scheme {
        name: "in-pan",
        label: Label::TAX_ID,
        cues: &["pan", "pan card", "permanent account number", "pan no"],
        value: Value::Code(10, 10, 4),
        bare: "[A-Z]{3}[ABCFGHJLPT][A-Z][0-9]{4}[A-Z]",
        check: Some(pan),
    },
    // GSTN: state, PAN, entity, Z, and a check character of modulus 36.
    Scheme {
        name: "in-gstin",
        label: Label::TAX_ID,
        cues: &["gstin", "gst no", "gst number", "gst"],
        value: Value::Code(15, 15, 7),
        bare: "[0-3][0-9][A-Z]{5}[0-9]{4}[A-Z][1-9A-Z]Z[0-9A-Z]",
        check: Some(gstin),
    },
    Scheme {
        name: "in-voter-id",
        label: Label::NATIONAL_ID,
        cues: &["voter id", "epic no", "voterid", "electoral photo identity"],
        value: Value::Code(10, 10, 7),
        bare: "",
        check: None,
    },
    Scheme {
        name: "pk-cnic",
        label: Label::NATIONAL_ID,
        cues: &["cnic", "nicop", "شناختی کارڈ"],
        value: Value::Digits(13, 13),
        bare: "[1-7][0-9]{4}-[0-9]{7}-[0-9]",
        check: Some(cnic),
    },
    // ICA: weights 2 7 6 5 4 3 2, modulus 11.
    Scheme {
        name: "sg-nric",
        label: Label::NATIONAL_ID,
        cues: &["nric", "nric no", "fin no", "singapore id", "nric/fin"],
        value: Value::Code(9, 9, 7),
        bare: "[STFGMstfgm][0-9]{7}[A-Za-z]",
        check: Some(nric),
    },
    // JPN: date, place of birth, serial.
    Scheme {
        name: "my-mykad",
        label: Label::NATIONAL_ID,
        cues: &[
            "mykad",
            "ic no",
            "ic number",
            "no kad pengenalan",
            "kad pengenalan",
            "nric malaysia",
        ],
        value: Value::Digits(12, 12),
        bare: "[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])-[0-9]{2}-[0-9]{4}",
        check: Some(mykad),
    },
    // Department of Provincial Administration: weights 13 to 2, modulus 11.
    Scheme {
        name: "th-id",
        label: Label::NATIONAL_ID,
        cues: &[
            "บัตรประชาชน",
            "เลขประจำตัวประชาชน",
            "เลขบัตรประชาชน",
            "thai id",
        ],
        value: Value::Digits(13, 13),
        bare: "[1-8]-[0-9]{4}-[0-9]{5}-[0-9]{2}-[0-9]",
        check: Some(thai),
    },
    // Law 24/2013: region, date (women's days plus 40), serial.
    Scheme {
        name: "id-nik",
        label: Label::NATIONAL_ID,
        cues: &["nik", "ktp", "no ktp", "nomor induk kependudukan"],
        value: Value::Digits(16, 16),
        bare: "",
        check: Some(nik),
    },
    Scheme {
        name: "id-npwp",
        label: Label::TAX_ID,
        cues: &["npwp"],
        value: Value::Digits(15, 16),
        bare: "",
        check: None,
    },
    Scheme {
        name: "vn-cccd",
        label: Label::NATIONAL_ID,
        cues: &[
            "cccd",
            "cmnd",
            "căn cước",
            "căn cước công dân",
            "số cccd",
            "chứng minh nhân dân",
        ],
        value: Value::Digits(9, 12),
        bare: "",
        check: None,
    },
    Scheme {
        name: "ph-ids",
        label: Label::NATIONAL_ID,
        cues: &[
            "philsys",
            "sss no",
            "sss number",
            "umid",
            "crn",
            "philhealth",
            "pag ibig",
        ],
        value: Value::Digits(10, 16),
        bare: "",
        check: None,
    },
];

fn aadhaar(id: &[u8]) -> bool {
    numbers::<12>(id).is_some_and(|digits| digits.first() > Some(&1) && verhoeff(&digits))
}

fn pan(id: &[u8]) -> bool {
    let letters = id
        .iter()
        .take(5)
        .chain(id.get(9))
        .all(u8::is_ascii_uppercase);
    let kind = id.get(3).is_some_and(|b| b"ABCFGHJLPT".contains(b));
    id.len() == 10 && letters && kind && id.get(5..9).and_then(numbers::<4>).is_some()
}

fn gstin(id: &[u8]) -> bool {
    let value = |b: &u8| match b {
        b'0'..=b'9' => u32::from(b - b'0'),
        _ => u32::from(b.wrapping_sub(b'A')) + 10,
    };
    let Some((check, body)) = id.split_last().filter(|_| id.len() == 15) else {
        return false;
    };
    let sum: u32 = body
        .iter()
        .zip([1, 2].into_iter().cycle())
        .map(|(b, factor)| value(b) * factor / 36 + value(b) * factor % 36)
        .sum();
    (36 - sum % 36) % 36 == value(check)
}

fn cnic(id: &[u8]) -> bool {
    numbers::<13>(id).is_some()
}

fn nric(id: &[u8]) -> bool {
    let (Some(series), Some(letter)) = (id.first(), id.get(8)) else {
        return false;
    };
    let Some(digits) = id
        .get(1..8)
        .and_then(numbers::<7>)
        .filter(|_| id.len() == 9)
    else {
        return false;
    };
    let (offset, letters): (u32, &[u8]) = match series {
        b'S' => (0, b"JZIHGFEDCBA"),
        b'T' => (4, b"JZIHGFEDCBA"),
        b'F' => (0, b"XWUTRQPNMLK"),
        b'G' => (4, b"XWUTRQPNMLK"),
        b'M' => (3, b"XWUTRQPNJLK"),
        _ => return false,
    };
    let rest = (weighted(&digits, &[2, 7, 6, 5, 4, 3, 2]) + offset) % 11;
    usize::try_from(rest).ok().and_then(|at| letters.get(at)) == Some(letter)
}

fn mykad(id: &[u8]) -> bool {
    numbers::<12>(id).is_some_and(|[_, _, m1, m2, d1, d2, p1, p2, ..]| {
        let place = p1 * 10 + p2;
        day_and_month(d1 * 10 + d2, m1 * 10 + m2)
            && place > 0
            && !matches!(place, 17..=20 | 69..=70 | 73 | 80 | 81 | 94..=97)
    })
}

fn thai(id: &[u8]) -> bool {
    let Some([body @ .., check]) = numbers::<13>(id) else {
        return false;
    };
    (11 - weighted(&body, &[13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2]) % 11) % 10 == check
}

fn nik(id: &[u8]) -> bool {
    numbers::<16>(id).is_some_and(|[_, _, _, _, _, _, d1, d2, m1, m2, ..]| {
        day_and_month((d1 * 10 + d2) % 40, m1 * 10 + m2)
    })
}
