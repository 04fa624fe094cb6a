//! United Kingdom, Ireland, the Netherlands, Belgium, Luxembourg.

use super::super::cue::Value;
use super::Scheme;
use crate::label::Label;
use crate::validate::sums::{decimal, luhn, numbers, verhoeff, weighted};

pub(super) const SCHEMES: &[Scheme] = &[
    // HMRC NIM39110: two letters (not D F I Q U V, O second), six digits, A to D.
    Scheme {
        name: "uk-nino",
        label: Label::NATIONAL_ID,
        cues: &[
            "nino",
            "national insurance",
            "ni number",
            "ni no",
            "national insurance no",
        ],
        value: Value::Code(8, 9, 6),
        bare: "[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?[0-9]{2} ?[0-9]{2} ?[0-9]{2} ?[A-D]",
        check: Some(nino),
    },
    // HMRC: the first digit checks the other nine, weights 6 7 8 9 10 5 4 3 2, modulus 11.
    Scheme {
        name: "uk-utr",
        label: Label::TAX_ID,
        cues: &["utr", "unique taxpayer reference", "taxpayer reference"],
        value: Value::Digits(10, 10),
        bare: "",
        check: Some(utr),
    },
    // What documents call any of them, whatever the country.
    Scheme {
        name: "national-id",
        label: Label::NATIONAL_ID,
        cues: &[
            "national id",
            "national identity",
            "national identity card",
            "national identification",
            "identity card",
            "id card",
            "identity no",
            "identity number",
            "citizen id",
            "government id",
            "nationalid",
            "id kaart",
        ],
        value: Value::Code(6, 18, 5),
        bare: "",
        check: None,
    },
    Scheme {
        name: "tax-id",
        label: Label::TAX_ID,
        cues: &[
            "tax id",
            "taxpayer id",
            "tax identification",
            "tax number",
            "tax no",
            "tin",
            "taxid",
            "tax reference",
            "tax file",
        ],
        value: Value::Code(8, 15, 7),
        bare: "",
        check: None,
    },
    // Revenue: seven digits, a check letter, and since 2013 maybe a second letter.
    Scheme {
        name: "ie-pps",
        label: Label::NATIONAL_ID,
        cues: &["pps", "ppsn", "pps no", "pps number"],
        value: Value::Code(8, 9, 7),
        bare: "[0-9]{7}[A-W][A-IW]?",
        check: Some(pps),
    },
    // Wet algemene bepalingen burgerservicenummer: weights 9 to 2 and -1, modulus 11.
    Scheme {
        name: "nl-bsn",
        label: Label::NATIONAL_ID,
        cues: &[
            "bsn",
            "burgerservicenummer",
            "sofinummer",
            "sofi nummer",
            "bsn nummer",
            "rsin",
        ],
        value: Value::Digits(8, 9),
        bare: "",
        check: Some(bsn),
    },
    // RD 3 april 1984: date, serial, 97 less the remainder by 97; from 2000 on with a 2 before.
    Scheme {
        name: "be-rijksregister",
        label: Label::NATIONAL_ID,
        cues: &[
            "rijksregisternummer",
            "rijksregister",
            "numéro national",
            "numéro de registre national",
            "registre national",
            "niss",
            "insz",
            "rrn",
            "nationaal nummer",
            "nationalregisternummer",
        ],
        value: Value::Digits(11, 11),
        bare: r"[0-9]{2}\.[0-9]{2}\.[0-9]{2}-[0-9]{3}\.[0-9]{2}",
        check: Some(rijksregister),
    },
    // CCSS: date, serial, a Luhn digit and a Verhoeff digit.
    Scheme {
        name: "lu-matricule",
        label: Label::NATIONAL_ID,
        cues: &["matricule", "numéro de matricule", "matricule national"],
        value: Value::Digits(13, 13),
        bare: "(?:19|20)[0-9]{11}",
        check: Some(matricule),
    },
];

fn nino(id: &[u8]) -> bool {
    let excluded = [b"BG", b"GB", b"KN", b"NK", b"NT", b"TN", b"ZZ"];
    let prefix = id.get(..2).unwrap_or_default();
    let digits = id.get(2..8).and_then(numbers::<6>);
    let last = id.get(8).is_none_or(|b| (b'A'..=b'D').contains(b));
    // All figures alike are what forms show as an example.
    digits.is_some_and(|d| d.iter().any(|x| Some(x) != d.first()))
        && last
        && !excluded.iter().any(|no| no.as_slice() == prefix)
}

fn utr(id: &[u8]) -> bool {
    const CHECKS: [u32; 11] = [2, 1, 9, 8, 7, 6, 5, 4, 3, 2, 1];
    let Some([check, body @ ..]) = numbers::<10>(id) else {
        return false;
    };
    let rest = weighted(&body, &[6, 7, 8, 9, 10, 5, 4, 3, 2]) % 11;
    usize::try_from(rest).ok().and_then(|at| CHECKS.get(at)) == Some(&check)
}

fn pps(id: &[u8]) -> bool {
    let Some(digits) = id.get(..7).and_then(numbers::<7>) else {
        return false;
    };
    let second = match id.get(8) {
        Some(b'W') | None => 0,
        Some(b) => u32::from(b.wrapping_sub(b'A')) + 1,
    };
    let rest = (weighted(&digits, &[8, 7, 6, 5, 4, 3, 2]) + second * 9) % 23;
    let check = if rest == 0 {
        b'W'
    } else {
        b'A' - 1 + u8::try_from(rest).unwrap_or(0)
    };
    id.get(7) == Some(&check)
}

fn bsn(id: &[u8]) -> bool {
    let Some([body @ .., check]) = numbers::<9>(id) else {
        return false;
    };
    let sum = weighted(&body, &[9, 8, 7, 6, 5, 4, 3, 2]);
    sum > 0 && sum % 11 == check
}

fn rijksregister(id: &[u8]) -> bool {
    numbers::<11>(id).is_some_and(|digits| {
        let (body, check) = digits.split_at(9);
        let (number, check) = (decimal(body), decimal(check));
        97 - number % 97 == check || 97 - (number + 2_000_000_000) % 97 == check
    })
}

fn matricule(id: &[u8]) -> bool {
    let Some(digits) = numbers::<13>(id) else {
        return false;
    };
    let [body @ .., _, last] = digits;
    let luhn_part: Vec<u8> = id.iter().take(12).map(|b| b.wrapping_sub(b'0')).collect();
    let other: Vec<u32> = body.iter().copied().chain([last]).collect();
    luhn(&luhn_part) && verhoeff(&other)
}
