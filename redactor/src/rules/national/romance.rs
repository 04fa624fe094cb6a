//! France, Italy, Spain, Portugal, Romania.

use super::super::cue::Value;
use super::Scheme;
use crate::label::Label;
use crate::validate::sums::{day_and_month, decimal, luhn, numbers, weighted};

pub(super) const SCHEMES: &[Scheme] = &[
    // INSEE: sex, year, month, place, serial; 97 less the remainder by 97.
    Scheme {
        name: "fr-nir",
        label: Label::NATIONAL_ID,
        cues: &[
            "nir",
            "numéro de sécurité sociale",
            "sécurité sociale",
            "n° de sécurité sociale",
            "n° sécu",
            "numéro de sécu",
            "insee",
            "numéro insee",
            "cni",
            "carte d'identité",
            "carte nationale d'identité",
            "numéro de carte d'identité",
        ],
        value: Value::Code(12, 15, 10),
        bare: "[12] ?[0-9]{2} ?(?:0[1-9]|1[0-2]) ?(?:[0-9]{2}|2[AB]) ?[0-9]{3} ?[0-9]{3} ?[0-9]{2}",
        check: Some(nir),
    },
    // DGFiP: thirteen digits, the last three are the remainder by 511.
    Scheme {
        name: "fr-spi",
        label: Label::TAX_ID,
        cues: &[
            "numéro fiscal",
            "n° fiscal",
            "numéro spi",
            "spi",
            "référence fiscale",
        ],
        value: Value::Digits(13, 13),
        bare: "",
        check: Some(spi),
    },
    Scheme {
        name: "fr-siret",
        label: Label::TAX_ID,
        cues: &["siren", "siret", "numéro siren", "numéro siret"],
        value: Value::Digits(9, 14),
        bare: "",
        check: None,
    },
    // DM 23/12/1976: letters of the name, date, place, and a check letter.
    Scheme {
        name: "it-codice-fiscale",
        label: Label::NATIONAL_ID,
        cues: &[
            "codice fiscale",
            "cod. fisc.",
            "cod fiscale",
            "c.f.",
            "cf",
            "codicefiscale",
        ],
        value: Value::Code(11, 16, 1),
        bare: "[A-Za-z]{6}[0-9LMNPQRSTUV]{2}[ABCDEHLMPRSTabcdehlmprst][0-9LMNPQRSTUV]{2}[A-Za-z][0-9LMNPQRSTUV]{3}[A-Za-z]",
        check: Some(codice_fiscale),
    },
    Scheme {
        name: "it-partita-iva",
        label: Label::TAX_ID,
        cues: &["partita iva", "p. iva", "p.iva", "piva"],
        value: Value::Digits(11, 11),
        bare: "",
        check: Some(partita_iva),
    },
    Scheme {
        name: "it-carta-identita",
        label: Label::NATIONAL_ID,
        cues: &[
            "carta d'identità",
            "carta di identità",
            "numero carta d'identità",
        ],
        value: Value::Code(7, 9, 5),
        bare: "",
        check: None,
    },
    // RD 1553/2005 (DNI), RD 557/2011 (NIE): the letter is the remainder by 23.
    Scheme {
        name: "es-dni",
        label: Label::NATIONAL_ID,
        cues: &[
            "dni",
            "nie",
            "nif",
            "d.n.i.",
            "n.i.f.",
            "n.i.e.",
            "documento nacional de identidad",
            "número de identidad",
            "documento de identidad",
            "cédula de identidad",
            "cédula",
            "cedula",
            "número de cédula",
            "cédula de ciudadanía",
        ],
        value: Value::Code(7, 11, 6),
        bare: "(?:[0-9]{8}|[XYZ][0-9]{7})-?[TRWAGMYFPDXBNJZSQVHLCKE]",
        check: Some(dni),
    },
    Scheme {
        name: "es-seguridad-social",
        label: Label::NATIONAL_ID,
        cues: &[
            "seguridad social",
            "número de la seguridad social",
            "nuss",
            "naf",
        ],
        value: Value::Digits(11, 12),
        bare: "",
        check: Some(naf),
    },
    // DL 14/2013: weights 9 to 2, modulus 11.
    Scheme {
        name: "pt-nif",
        label: Label::TAX_ID,
        cues: &[
            "nif",
            "contribuinte",
            "n° contribuinte",
            "número de contribuinte",
            "número de identificação fiscal",
            "nipc",
        ],
        value: Value::Digits(9, 9),
        bare: "",
        check: Some(nif),
    },
    Scheme {
        name: "pt-cartao-cidadao",
        label: Label::NATIONAL_ID,
        cues: &[
            "cartão de cidadão",
            "cartão do cidadão",
            "bilhete de identidade",
            "n° cc",
            "niss",
            "número de utente",
            "segurança social",
        ],
        value: Value::Code(8, 12, 7),
        bare: "",
        check: None,
    },
    // Law 105/1996: sex, date, county, serial; weights 2 7 9 1 4 6 3 5 8 2 7 9, modulus 11.
    Scheme {
        name: "ro-cnp",
        label: Label::NATIONAL_ID,
        cues: &[
            "cnp",
            "cnp ul",
            "cod numeric personal",
            "codul numeric personal",
        ],
        value: Value::Digits(13, 13),
        bare: "[1-8][0-9]{12}",
        check: Some(cnp),
    },
    Scheme {
        name: "ro-carte-identitate",
        label: Label::NATIONAL_ID,
        cues: &[
            "carte de identitate",
            "buletin",
            "seria ci",
            "c.i. seria",
            "ci seria",
        ],
        value: Value::Code(8, 8, 6),
        bare: "",
        check: None,
    },
];

fn nir(id: &[u8]) -> bool {
    // Corsica: 2A counts as 19, 2B as 18.
    let (body, place) = match id.get(5..7) {
        Some(b"2A") => (replaced(id, b"19"), true),
        Some(b"2B") => (replaced(id, b"18"), true),
        _ => (id.to_vec(), false),
    };
    let Some(digits) = numbers::<15>(&body) else {
        return false;
    };
    let [.., c1, c2] = digits;
    let number = digits.get(..13).map_or(0, decimal);
    let month = digits.get(3..5).map_or(0, decimal);
    let known = place || (1..=12).contains(&month) || (20..=42).contains(&month) || month >= 50;
    known && 97 - number % 97 == u64::from(c1 * 10 + c2)
}

fn replaced(id: &[u8], place: &[u8]) -> Vec<u8> {
    let (head, tail) = (
        id.get(..5).unwrap_or_default(),
        id.get(7..).unwrap_or_default(),
    );
    [head, place, tail].concat()
}

fn spi(id: &[u8]) -> bool {
    numbers::<13>(id).is_some_and(|digits| {
        let (body, check) = digits.split_at(10);
        decimal(body) % 511 == decimal(check)
    })
}

/// In odd places characters have the values of this table, in even places their own.
fn codice_fiscale(id: &[u8]) -> bool {
    const ODD: [u32; 26] = [
        1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24,
        23,
    ];
    let own = |b: u8| match b {
        b'0'..=b'9' => u32::from(b - b'0'),
        _ => u32::from(b.wrapping_sub(b'A')),
    };
    let Some((check, body)) = id.split_last().filter(|_| id.len() == 16) else {
        return false;
    };
    let sum: u32 = body
        .iter()
        .enumerate()
        .map(|(place, b)| match place % 2 {
            0 => usize::try_from(own(*b))
                .ok()
                .and_then(|at| ODD.get(at))
                .copied()
                .unwrap_or(0),
            _ => own(*b),
        })
        .sum();
    sum % 26 == own(*check) && check.is_ascii_uppercase()
}

fn partita_iva(id: &[u8]) -> bool {
    let digits: Vec<u8> = id.iter().map(|b| b.wrapping_sub(b'0')).collect();
    id.len() == 11 && digits.iter().all(|d| *d < 10) && luhn(&digits)
}

fn dni(id: &[u8]) -> bool {
    const LETTERS: &[u8] = b"TRWAGMYFPDXBNJZSQVHLCKE";
    let Some((letter, body)) = id.split_last().filter(|_| id.len() == 9) else {
        return false;
    };
    let first = match body.first() {
        Some(b'X') => b'0',
        Some(b'Y') => b'1',
        Some(b'Z') => b'2',
        Some(b) => *b,
        None => return false,
    };
    let body: Vec<u8> = std::iter::once(first)
        .chain(body.iter().skip(1).copied())
        .collect();
    let Some(digits) = numbers::<8>(&body) else {
        return false;
    };
    let rest = usize::try_from(decimal(&digits) % 23).unwrap_or(0);
    LETTERS.get(rest) == Some(letter)
}

/// Province, serial, and two digits: the remainder by 97.
fn naf(id: &[u8]) -> bool {
    let digits: Option<Vec<u32>> = id
        .iter()
        .map(|b| b.is_ascii_digit().then(|| u32::from(b - b'0')))
        .collect();
    let Some(digits) = digits.filter(|digits| (11..=12).contains(&digits.len())) else {
        return false;
    };
    let (body, check) = digits.split_at(digits.len() - 2);
    let serial = body.get(2..).map_or(0, decimal);
    let province = body.get(..2).map_or(0, decimal);
    let number = if serial < 10_000_000 {
        serial + province * 10_000_000
    } else {
        decimal(body)
    };
    number % 97 == decimal(check)
}

fn nif(id: &[u8]) -> bool {
    let Some([body @ .., check]) = numbers::<9>(id) else {
        return false;
    };
    let rest = weighted(&body, &[9, 8, 7, 6, 5, 4, 3, 2]) % 11;
    check == if rest < 2 { 0 } else { 11 - rest }
}

fn cnp(id: &[u8]) -> bool {
    let Some(digits) = numbers::<13>(id) else {
        return false;
    };
    let [_, _, _, m1, m2, d1, d2, ..] = digits;
    let [body @ .., check] = digits;
    let rest = weighted(&body, &[2, 7, 9, 1, 4, 6, 3, 5, 8, 2, 7, 9]) % 11;
    day_and_month(d1 * 10 + d2, m1 * 10 + m2) && check == if rest == 10 { 1 } else { rest }
}
