//! Australia, New Zealand.

use super::super::cue::Value;
use super::Scheme;
use crate::label::Label;
use crate::validate::sums::{numbers, weighted};

pub(super) const SCHEMES: &[Scheme] = &[
    // Australian Taxation Office: weights 1 4 3 7 5 8 6 9 10, modulus 11.
    Scheme {
        name: "au-tfn",
        label: Label::TAX_ID,
        cues: &["tfn", "tax file number", "tax file no"],
        value: Value::Digits(8, 9),
        bare: "",
        check: Some(tfn),
    },
    // Australian Business Register: the first digit less one, modulus 89.
    Scheme {
        name: "au-abn",
        label: Label::TAX_ID,
        cues: &["abn", "australian business number"],
        value: Value::Digits(11, 11),
        bare: "",
        check: Some(abn),
    },
    // Services Australia: weights 1 3 7 9, modulus 10; the first digit is 2 to 6.
    Scheme {
        name: "au-medicare",
        label: Label::MEDICAL_RECORD,
        cues: &["medicare", "medicare card", "medicare no"],
        value: Value::Code(10, 11, 7),
        bare: "[2-6][0-9]{3} [0-9]{5} [0-9]",
        check: Some(medicare),
    },
    // Inland Revenue: weights 3 2 7 6 5 4 3 2, else 7 4 3 2 5 2 7 6, modulus 11.
    Scheme {
        name: "nz-ird",
        label: Label::TAX_ID,
        cues: &["ird", "ird number", "ird no"],
        value: Value::Digits(8, 9),
        bare: "",
        check: Some(ird),
    },
    // Ministry of Health HISO 10046: three letters and four digits.
    Scheme {
        name: "nz-nhi",
        label: Label::MEDICAL_RECORD,
        cues: &["nhi", "nhi number"],
        value: Value::Code(7, 7, 2),
        bare: "",
        check: None,
    },
];

fn tfn(id: &[u8]) -> bool {
    numbers::<9>(id)
        .is_some_and(|digits| weighted(&digits, &[1, 4, 3, 7, 5, 8, 6, 9, 10]).is_multiple_of(11))
}

fn abn(id: &[u8]) -> bool {
    numbers::<11>(id).is_some_and(|digits| {
        let sum = weighted(&digits, &[10, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19]);
        // One less in the first place is ten less in the sum.
        sum >= 10 && (sum - 10).is_multiple_of(89)
    })
}

fn medicare(id: &[u8]) -> bool {
    let Some([body @ .., check, _]) = id.get(..10).and_then(numbers::<10>) else {
        return false;
    };
    body.first().is_some_and(|d| (2..=6).contains(d))
        && weighted(&body, &[1, 3, 7, 9, 1, 3, 7, 9]) % 10 == check
}

fn ird(id: &[u8]) -> bool {
    let padded = if id.len() == 8 {
        [b"0", id].concat()
    } else {
        id.to_vec()
    };
    let Some([body @ .., check]) = numbers::<9>(&padded) else {
        return false;
    };
    let digit = |weights: &[u32]| (11 - weighted(&body, weights) % 11) % 11;
    match digit(&[3, 2, 7, 6, 5, 4, 3, 2]) {
        10 => digit(&[7, 4, 3, 2, 5, 2, 7, 6]) == check,
        first => first == check,
    }
}
