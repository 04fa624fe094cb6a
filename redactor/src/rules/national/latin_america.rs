//! Brazil, Argentina, Chile, Colombia, Peru, Ecuador, Uruguay.

use super::super::cue::Value;
use super::Scheme;
use crate::label::Label;
use crate::validate::sums::{luhn, numbers, weighted};

pub(super) const SCHEMES: &[Scheme] = &[
    // Receita Federal: two check digits of modulus 11.
    Scheme {
        name: "br-cpf",
        label: Label::NATIONAL_ID,
        cues: &["cpf", "cpf/mf"],
        value: Value::Digits(11, 11),
        bare: r"[0-9]{3}\.[0-9]{3}\.[0-9]{3}-[0-9]{2}",
        check: Some(cpf),
    },
    Scheme {
        name: "br-cnpj",
        label: Label::TAX_ID,
        cues: &["cnpj", "cnpj/mf"],
        value: Value::Digits(14, 14),
        bare: r"[0-9]{2}\.[0-9]{3}\.[0-9]{3}/[0-9]{4}-[0-9]{2}",
        check: Some(cnpj),
    },
    Scheme {
        name: "br-rg",
        label: Label::NATIONAL_ID,
        cues: &[
            "rg",
            "registro geral",
            "pis",
            "pasep",
            "pis/pasep",
            "nis",
            "título de eleitor",
            "titulo de eleitor",
            "cartão sus",
            "cns",
        ],
        value: Value::Code(8, 15, 7),
        bare: "",
        check: None,
    },
    // ARCA: weights 5 4 3 2 7 6 5 4 3 2, modulus 11.
    Scheme {
        name: "ar-cuit",
        label: Label::TAX_ID,
        cues: &["cuit", "cuil", "cuit/cuil"],
        value: Value::Digits(11, 11),
        bare: "(?:2[03-7]|3[034])-[0-9]{8}-[0-9]",
        check: Some(cuit),
    },
    // Registro Civil: weights 2 to 7 from the right, modulus 11, K for 10.
    Scheme {
        name: "cl-rut",
        label: Label::NATIONAL_ID,
        cues: &["rut", "run", "r.u.t.", "rol único tributario"],
        value: Value::Code(8, 9, 7),
        bare: r"[0-9]{1,2}\.[0-9]{3}\.[0-9]{3}-[0-9Kk]",
        check: Some(rut),
    },
    // DIAN: weights 3 7 13 17 19 23 29 37 41 43 from the right, modulus 11.
    Scheme {
        name: "co-nit",
        label: Label::TAX_ID,
        cues: &["nit", "n.i.t."],
        value: Value::Digits(9, 11),
        bare: "",
        check: Some(nit),
    },
    // SUNAT: weights 5 4 3 2 7 6 5 4 3 2, modulus 11.
    Scheme {
        name: "pe-ruc",
        label: Label::TAX_ID,
        cues: &["ruc", "r.u.c."],
        value: Value::Digits(11, 13),
        bare: "",
        check: Some(ruc),
    },
    // Registro Civil: province, Luhn.
    Scheme {
        name: "ec-cedula",
        label: Label::NATIONAL_ID,
        cues: &["cédula ecuatoriana", "cedula ecuatoriana", "cédula ec"],
        value: Value::Digits(10, 10),
        bare: "",
        check: Some(cedula),
    },
    // DNIC: weights 2 9 8 7 6 3 4, modulus 10.
    Scheme {
        name: "uy-ci",
        label: Label::NATIONAL_ID,
        cues: &["c.i.", "ci uruguay"],
        value: Value::Digits(7, 8),
        bare: r"[0-9]\.[0-9]{3}\.[0-9]{3}-[0-9]",
        check: Some(ci),
    },
];

/// The digit for a body: eleven less the remainder, zero from ten on.
fn eleven(body: &[u32], weights: &[u32]) -> u32 {
    let rest = weighted(body, weights) % 11;
    if rest < 2 { 0 } else { 11 - rest }
}

fn cpf(id: &[u8]) -> bool {
    let Some(digits) = numbers::<11>(id) else {
        return false;
    };
    let [.., first, second] = digits;
    let alike = digits.iter().all(|d| Some(d) == digits.first());
    !alike
        && eleven(
            digits.get(..9).unwrap_or_default(),
            &[10, 9, 8, 7, 6, 5, 4, 3, 2],
        ) == first
        && eleven(
            digits.get(..10).unwrap_or_default(),
            &[11, 10, 9, 8, 7, 6, 5, 4, 3, 2],
        ) == second
}

fn cnpj(id: &[u8]) -> bool {
    const WEIGHTS: &[u32] = &[6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2];
    let Some(digits) = numbers::<14>(id) else {
        return false;
    };
    let [.., first, second] = digits;
    let alike = digits.iter().all(|d| Some(d) == digits.first());
    let tail = WEIGHTS.get(1..).unwrap_or_default();
    !alike
        && eleven(digits.get(..12).unwrap_or_default(), tail) == first
        && eleven(digits.get(..13).unwrap_or_default(), WEIGHTS) == second
}

fn cuit(id: &[u8]) -> bool {
    let Some([body @ .., check]) = numbers::<11>(id) else {
        return false;
    };
    let rest = 11 - weighted(&body, &[5, 4, 3, 2, 7, 6, 5, 4, 3, 2]) % 11;
    check
        == match rest {
            11 => 0,
            10 => 9,
            rest => rest,
        }
}

fn rut(id: &[u8]) -> bool {
    let Some((check, body)) = id.split_last() else {
        return false;
    };
    let sum: u32 = body
        .iter()
        .rev()
        .zip([2, 3, 4, 5, 6, 7].into_iter().cycle())
        .map(|(b, weight)| u32::from(b.wrapping_sub(b'0')) * weight)
        .sum();
    let expected = match 11 - sum % 11 {
        11 => b'0',
        10 => b'K',
        rest => b'0' + u8::try_from(rest).unwrap_or(0),
    };
    body.iter().all(u8::is_ascii_digit) && expected == *check
}

fn nit(id: &[u8]) -> bool {
    let Some((check, body)) = id
        .split_last()
        .filter(|_| id.iter().all(u8::is_ascii_digit))
    else {
        return false;
    };
    let sum: u32 = body
        .iter()
        .rev()
        .zip([3, 7, 13, 17, 19, 23, 29, 37, 41, 43])
        .map(|(b, weight)| u32::from(b - b'0') * weight)
        .sum();
    let rest = sum % 11;
    u32::from(check - b'0') == if rest < 2 { rest } else { 11 - rest }
}

fn ruc(id: &[u8]) -> bool {
    let Some([body @ .., check]) = numbers::<11>(id) else {
        return false;
    };
    (11 - weighted(&body, &[5, 4, 3, 2, 7, 6, 5, 4, 3, 2]) % 11) % 10 == check
}

fn cedula(id: &[u8]) -> bool {
    let Some([p1, p2, third, ..]) = numbers::<10>(id) else {
        return false;
    };
    let digits: Vec<u8> = id.iter().map(|b| b - b'0').collect();
    let province = p1 * 10 + p2;
    ((1..=24).contains(&province) || province == 30) && third < 6 && luhn(&digits)
}

fn ci(id: &[u8]) -> bool {
    let Some([body @ .., check]) = numbers::<8>(id) else {
        return false;
    };
    (10 - weighted(&body, &[2, 9, 8, 7, 6, 3, 4]) % 10) % 10 == check
}
