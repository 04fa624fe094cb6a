//! Poland, Germany, Austria, Switzerland, Czechia, Slovakia, Hungary.

use super::super::cue::Value;
use super::Scheme;
use crate::label::Label;
use crate::validate::sums::{day_and_month, decimal, mod_11_10, numbers, weighted};

pub(super) const SCHEMES: &[Scheme] = &[
    // Act on population registration, art. 15: date, serial, weights 1 3 7 9.
    Scheme {
        name: "pl-pesel",
        label: Label::NATIONAL_ID,
        cues: &[
            "pesel",
            "peselu",
            "peselem",
            "numer pesel",
            "pesel o numerze",
        ],
        value: Value::Digits(11, 11),
        bare: "[0-9]{11}",
        check: Some(pesel),
    },
    // Act on identification of taxpayers: weights 6 5 7 2 3 4 5 6 7, modulus 11.
    Scheme {
        name: "pl-nip",
        label: Label::TAX_ID,
        cues: &["nip", "nipu", "nip ue", "nip pl"],
        value: Value::Digits(10, 10),
        bare: "",
        check: Some(nip),
    },
    Scheme {
        name: "pl-dowod",
        label: Label::NATIONAL_ID,
        cues: &[
            "dowód osobisty",
            "dowodu osobistego",
            "dowodem osobistym",
            "nr dowodu",
            "seria i numer dowodu",
            "seria i numer",
            "legitymujący się dowodem osobistym",
            "legitymująca się dowodem osobistym",
            "dowód",
        ],
        value: Value::Code(9, 9, 6),
        bare: "",
        check: Some(identity_card),
    },
    // Abgabenordnung §139b: ISO 7064 mod 11,10 and one digit that occurs twice or thrice.
    Scheme {
        name: "de-steuer-id",
        label: Label::TAX_ID,
        cues: &[
            "steuer id",
            "steueridentifikationsnummer",
            "steuerid",
            "idnr",
            "identifikationsnummer",
            "steuerliche identifikationsnummer",
            "tin",
        ],
        value: Value::Digits(11, 11),
        bare: "[0-9]{2} [0-9]{3} [0-9]{3} [0-9]{3}",
        check: Some(steuer_id),
    },
    Scheme {
        name: "de-steuernummer",
        label: Label::TAX_ID,
        cues: &["steuernummer", "steuer nr", "st nr", "st. nr."],
        value: Value::Digits(10, 13),
        bare: "",
        check: None,
    },
    Scheme {
        name: "vat-number",
        label: Label::TAX_ID,
        cues: &[
            "vat",
            "vat no",
            "vat id",
            "vat reg",
            "ust id",
            "ust idnr",
            "ustidnr",
            "umsatzsteuer id",
            "umsatzsteuer identifikationsnummer",
            "uid",
            "uid nr",
            "tva",
            "n° tva",
            "tva intracommunautaire",
            "btw",
            "btw nummer",
            "partita iva",
            "p.iva",
            "piva",
            "p. iva",
            "cif",
            "nif iva",
            "dič",
            "ič dph",
            "moms",
            "momsnr",
            "alv",
            "pvn",
            "pvm",
            "kmkr",
            "áfa",
            "adószám",
            "αφμ",
            "а.ф.м.",
        ],
        value: Value::Code(8, 14, 7),
        bare: "",
        check: None,
    },
    // Deutsche Rentenversicherung, VKVV §2.
    Scheme {
        name: "de-sozialversicherung",
        label: Label::NATIONAL_ID,
        cues: &[
            "sozialversicherungsnummer",
            "rentenversicherungsnummer",
            "sv nummer",
            "versicherungsnummer",
            "rvnr",
            "sv nr",
            "svnr",
            "sozialversicherung",
            "ahv",
            "ahv nr",
            "avs",
            "personalausweis",
            "personalausweisnummer",
            "ausweisnummer",
            "personalausweis nr",
        ],
        value: Value::Code(9, 13, 6),
        bare: "",
        check: Some(social_security),
    },
    // Swiss AHV: 756, EAN-13 check digit (RS 831.10).
    Scheme {
        name: "ch-ahv",
        label: Label::NATIONAL_ID,
        cues: &["ahv nummer", "numéro avs", "numero avs", "ahvn13", "navs13"],
        value: Value::Digits(13, 13),
        bare: r"756\.[0-9]{4}\.[0-9]{4}\.[0-9]{2}",
        check: Some(ahv),
    },
    // Act 133/2000 Sb. (CZ), 301/1995 Z. z. (SK): the ten digits are divisible by 11.
    Scheme {
        name: "cz-rodne-cislo",
        label: Label::NATIONAL_ID,
        cues: &[
            "rodné číslo",
            "rodného čísla",
            "rodným číslem",
            "rodne cislo",
            "r. č.",
            "rč",
            "r.č.",
        ],
        value: Value::Digits(9, 10),
        bare: "[0-9]{6}/[0-9]{4}",
        check: Some(rodne_cislo),
    },
    // Act XX of 1996: 8, weights 1 to 9, modulus 11.
    Scheme {
        name: "hu-adoazonosito",
        label: Label::TAX_ID,
        cues: &[
            "adóazonosító",
            "adóazonosító jel",
            "adoazonosito",
            "adóazonosító jele",
        ],
        value: Value::Digits(10, 10),
        bare: "",
        check: Some(adoazonosito),
    },
    Scheme {
        name: "hu-taj",
        label: Label::NATIONAL_ID,
        cues: &[
            "taj",
            "taj szám",
            "tajszám",
            "személyi szám",
            "személyi azonosító",
            "személyi igazolvány",
            "személyi igazolvány szám",
        ],
        value: Value::Code(8, 11, 6),
        bare: "",
        check: Some(taj),
    },
];

fn pesel(id: &[u8]) -> bool {
    let Some(digits) = numbers::<11>(id) else {
        return false;
    };
    let [.., m1, m2, d1, d2, _, _, _, _, _] = digits;
    let sum = weighted(&digits, &[1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1]);
    sum.is_multiple_of(10) && day_and_month(d1 * 10 + d2, (m1 * 10 + m2) % 20)
}

fn nip(id: &[u8]) -> bool {
    let Some([body @ .., check]) = numbers::<10>(id) else {
        return false;
    };
    weighted(&body, &[6, 5, 7, 2, 3, 4, 5, 6, 7]) % 11 == check
}

/// Three letters, a check digit, five digits: weights 7 3 1 9 7 3 1 7 3, modulus 10.
fn identity_card(id: &[u8]) -> bool {
    let value = |b: &u8| match b {
        b'A'..=b'Z' => u32::from(b - b'A') + 10,
        _ => u32::from(b.wrapping_sub(b'0')),
    };
    let values: Vec<u32> = id.iter().map(value).collect();
    let letters = id.iter().take(3).all(u8::is_ascii_uppercase);
    id.len() == 9 && letters && weighted(&values, &[7, 3, 1, 9, 7, 3, 1, 7, 3]).is_multiple_of(10)
}

fn steuer_id(id: &[u8]) -> bool {
    let Some(digits) = numbers::<11>(id) else {
        return false;
    };
    let [body @ .., _] = digits;
    let most = (0..10)
        .map(|d| body.iter().filter(|x| **x == d).count())
        .max();
    body.first() != Some(&0) && matches!(most, Some(2 | 3)) && mod_11_10(&digits)
}

/// Germany: area, date of birth, initial, serial, and a check digit with weights 2 1 2 5 7 1 2 1
/// 2 1 2 1 over the digits, the initial as two of them, cross sums added. Austria: serial, check
/// digit, date; weights 3 7 9 5 8 4 2 1 6, modulus 11.
fn social_security(id: &[u8]) -> bool {
    if let Some([s1, s2, s3, check, date @ ..]) = numbers::<10>(id) {
        let sum = weighted(&[s1, s2, s3], &[3, 7, 9]) + weighted(&date, &[5, 8, 4, 2, 1, 6]);
        return sum % 11 == check;
    }
    let (Some(letter), Some(head), Some(tail)) = (id.get(8), id.get(..8), id.get(9..)) else {
        return false;
    };
    let initial = u32::from(letter.wrapping_sub(b'A')) + 1;
    let (Some(head), Some([s1, s2, check])) = (numbers::<8>(head), numbers::<3>(tail)) else {
        return false;
    };
    let digits: Vec<u32> = head
        .into_iter()
        .chain([initial / 10, initial % 10, s1, s2])
        .collect();
    let sum: u32 = digits
        .iter()
        .zip([2, 1, 2, 5, 7, 1, 2, 1, 2, 1, 2, 1])
        .map(|(digit, weight)| digit * weight / 10 + digit * weight % 10)
        .sum();
    letter.is_ascii_uppercase() && sum % 10 == check
}

fn ahv(id: &[u8]) -> bool {
    numbers::<13>(id).is_some_and(|digits| {
        digits.starts_with(&[7, 5, 6])
            && weighted(&digits, &[1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1]).is_multiple_of(10)
    })
}

fn rodne_cislo(id: &[u8]) -> bool {
    let Some(digits) = numbers::<10>(id) else {
        return false;
    };
    let [_, _, m1, m2, d1, d2, ..] = digits;
    let [body @ .., check] = digits;
    let month = (m1 * 10 + m2) % 50;
    let month = if month > 20 { month - 20 } else { month };
    // Until 1985 a remainder of 10 was written as 0.
    let sum = decimal(&body) % 11 % 10 == u64::from(check);
    sum && day_and_month(d1 * 10 + d2, month)
}

fn adoazonosito(id: &[u8]) -> bool {
    let Some([body @ .., check]) = numbers::<10>(id) else {
        return false;
    };
    body.first() == Some(&8) && weighted(&body, &[1, 2, 3, 4, 5, 6, 7, 8, 9]) % 11 == check
}

fn taj(id: &[u8]) -> bool {
    let Some([body @ .., check]) = numbers::<9>(id) else {
        return false;
    };
    weighted(&body, &[3, 7, 3, 7, 3, 7, 3, 7]) % 10 == check
}
