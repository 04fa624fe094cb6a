//! China, Hong Kong, Taiwan, Japan, Korea.

use super::super::cue::Value;
use super::Scheme;
use crate::label::Label;
use crate::validate::sums::{day_and_month, numbers, weighted};

pub(super) const SCHEMES: &[Scheme] = &[
    // GB 11643-1999: region, date, serial, ISO 7064 mod 11-2.
    Scheme {
        name: "cn-resident-id",
        label: Label::NATIONAL_ID,
        cues: &[
            "身份证",
            "身份证号",
            "身份证号码",
            "居民身份证",
            "公民身份号码",
            "证件号",
            "证件号码",
            "身份證",
            "身分證",
        ],
        value: Value::Code(15, 18, 14),
        bare: "[1-9][0-9]{5}(?:19|20)[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])[0-9]{3}[0-9Xx]",
        check: Some(resident),
    },
    // Immigration Department: letters and six digits, weights 8 to 2, modulus 11.
    Scheme {
        name: "hk-hkid",
        label: Label::NATIONAL_ID,
        cues: &["hkid", "hong kong id", "香港身份證", "香港身份证"],
        value: Value::Code(8, 9, 6),
        bare: r"[A-Z]{1,2}[0-9]{6}\([0-9A]\)",
        check: Some(hkid),
    },
    // Ministry of the Interior: a letter as two digits, weights 1 9 8 7 6 5 4 3 2 1 1.
    Scheme {
        name: "tw-id",
        label: Label::NATIONAL_ID,
        cues: &[
            "身分證字號",
            "身份證字號",
            "國民身分證",
            "統一編號",
            "居留證",
        ],
        value: Value::Code(10, 10, 8),
        bare: "[A-Z][1289][0-9]{8}",
        check: Some(taiwan),
    },
    // Ministerial ordinance on My Number: weights 2 to 7 from the right, modulus 11.
    Scheme {
        name: "jp-my-number",
        label: Label::NATIONAL_ID,
        cues: &["マイナンバー", "個人番号", "my number", "mynumber"],
        value: Value::Digits(12, 12),
        bare: "",
        check: Some(my_number),
    },
    // Resident Registration Act: date, century and sex; random digits since 2020.
    Scheme {
        name: "kr-rrn",
        label: Label::NATIONAL_ID,
        cues: &[
            "주민등록번호",
            "주민번호",
            "외국인등록번호",
            "resident registration",
        ],
        value: Value::Digits(13, 13),
        bare: "[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])-[1-8][0-9]{6}",
        check: Some(korea),
    },
    Scheme {
        name: "kr-business",
        label: Label::TAX_ID,
        cues: &["사업자등록번호", "사업자번호"],
        value: Value::Digits(10, 10),
        bare: "",
        check: Some(business),
    },
];

fn resident(id: &[u8]) -> bool {
    let Some((check, body)) = id.split_last() else {
        return false;
    };
    let Some(digits) = numbers::<17>(body) else {
        return false;
    };
    let sum = weighted(
        &digits,
        &[7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2],
    );
    let expected = usize::try_from(sum % 11)
        .ok()
        .and_then(|at| b"10X98765432".get(at));
    expected == Some(check)
}

/// Letters count 10 to 35, a missing first letter 36.
fn hkid(id: &[u8]) -> bool {
    let letters = id.iter().take_while(|b| b.is_ascii_uppercase()).count();
    let Some((check, body)) = id
        .split_last()
        .filter(|_| matches!(letters, 1 | 2) && id.len() == letters + 7)
    else {
        return false;
    };
    let value = |b: &u8| match b {
        b'A'..=b'Z' => u32::from(b - b'A') + 10,
        _ => u32::from(b.wrapping_sub(b'0')),
    };
    let values: Vec<u32> = std::iter::repeat_n(36, 2 - letters)
        .chain(body.iter().map(value))
        .collect();
    (weighted(&values, &[9, 8, 7, 6, 5, 4, 3, 2]) + value(check)).is_multiple_of(11)
}

fn taiwan(id: &[u8]) -> bool {
    /// The letters in the order of their numbers from 10 on.
    const LETTERS: &[u8] = b"ABCDEFGHJKLMNPQRSTUVXYWZIO";
    let Some((letter, rest)) = id.split_first() else {
        return false;
    };
    let Some(number) = LETTERS.iter().position(|known| known == letter) else {
        return false;
    };
    let number = u32::try_from(number).unwrap_or(0) + 10;
    let Some(digits) = numbers::<9>(rest) else {
        return false;
    };
    let sum = number / 10 + number % 10 * 9 + weighted(&digits, &[8, 7, 6, 5, 4, 3, 2, 1, 1]);
    sum.is_multiple_of(10)
}

fn my_number(id: &[u8]) -> bool {
    let Some([body @ .., check]) = numbers::<12>(id) else {
        return false;
    };
    let rest = weighted(&body, &[6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2]) % 11;
    check == if rest < 2 { 0 } else { 11 - rest }
}

fn korea(id: &[u8]) -> bool {
    numbers::<13>(id)
        .is_some_and(|[_, _, m1, m2, d1, d2, ..]| day_and_month(d1 * 10 + d2, m1 * 10 + m2))
}

/// National Tax Service: weights 1 3 7 1 3 7 1 3 5, the tens of the last product added.
fn business(id: &[u8]) -> bool {
    let Some([body @ .., check]) = numbers::<10>(id) else {
        return false;
    };
    let last = body.last().copied().unwrap_or(0) * 5 / 10;
    (10 - (weighted(&body, &[1, 3, 7, 1, 3, 7, 1, 3, 5]) + last) % 10) % 10 == check
}
