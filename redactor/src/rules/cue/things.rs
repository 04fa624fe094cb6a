//! Vehicles, devices and wallets that belong to one person.

use super::{Scheme, Value};
use crate::label::Label;
use crate::validate::{coins, sums::luhn};

pub(super) const SCHEMES: &[Scheme] = &[
    // ISO 3779, and 49 CFR 565 for the check digit in the ninth place.
    Scheme {
        name: "vin",
        label: Label::VEHICLE_ID,
        cues: &[
            "vin",
            "vehicle identification",
            "chassis",
            "chassis number",
            "fahrgestellnummer",
            "fin",
            "numer vin",
            "vin pojazdu",
            "numéro de châssis",
            "numero di telaio",
            "bastidor",
            "chassi",
        ],
        value: Value::Code(17, 17, 1),
        bare: "[A-HJ-NPR-Z0-9]{17}",
        check: Some(vin),
    },
    Scheme {
        name: "plate",
        label: Label::VEHICLE_ID,
        cues: &[
            "plate",
            "license plate",
            "licence plate",
            "plate number",
            "number plate",
            "registration plate",
            "vehicle registration",
            "kennzeichen",
            "nr rej",
            "nr rej.",
            "numer rejestracyjny",
            "numer rejestracyjny pojazdu",
            "numeru rejestracyjnego",
            "tablica rejestracyjna",
            "immatriculation",
            "plaque d'immatriculation",
            "matrícula",
            "matricula",
            "placa",
            "targa",
            "kenteken",
            "spz",
            "rendszám",
            "registreringsnummer",
            "rekisterinumero",
            "госномер",
            "номерной знак",
            "registarska oznaka",
            "plaka",
            "车牌",
            "車牌",
        ],
        value: Value::Code(5, 9, 2),
        bare: "",
        check: None,
    },
    // 3GPP TS 23.003: fourteen digits and a Luhn digit.
    Scheme {
        name: "imei",
        label: Label::DEVICE_ID,
        cues: &["imei", "imeisv", "meid"],
        value: Value::Digits(14, 17),
        bare: "",
        check: Some(imei),
    },
    Scheme {
        name: "device-serial",
        label: Label::DEVICE_ID,
        cues: &[
            "serial number",
            "serial no",
            "device serial",
            "serialnumber",
            "seriennummer",
            "numéro de série",
            "número de serie",
            "numer seryjny",
            "device id",
            "udid",
            "iccid",
            "imsi",
            "idfa",
            "gaid",
            "android id",
            "advertising id",
        ],
        value: Value::Word(6),
        bare: "",
        check: None,
    },
    // Base58Check: version, 20 bytes, and four bytes of a double SHA-256.
    Scheme {
        name: "wallet-base58",
        label: Label::CRYPTO,
        cues: &[],
        value: Value::Word(26),
        bare: "[123DLMXrt][1-9A-HJ-NP-Za-km-z]{25,34}",
        check: Some(coins::base58),
    },
    // BIP 173 and BIP 350, and the chains that took them over.
    Scheme {
        name: "wallet-bech32",
        label: Label::CRYPTO,
        cues: &[],
        value: Value::Word(26),
        bare: "(?:bc1|BC1|tb1|ltc1|addr1|cosmos1|osmo1)[02-9a-zA-Z]{11,98}",
        check: Some(coins::bech32),
    },
    // Ethereum and others, whose addresses look like any hash of 20 bytes.
    Scheme {
        name: "wallet",
        label: Label::CRYPTO,
        cues: &[
            "wallet",
            "wallet address",
            "eth",
            "eth address",
            "ethereum",
            "ethereum address",
            "btc",
            "btc address",
            "bitcoin",
            "bitcoin address",
            "deposit address",
            "payout address",
            "withdrawal address",
            "usdt",
            "usdc",
            "monero",
            "solana",
            "xrp",
            "trx",
            "tron",
            "litecoin",
            "dogecoin",
            "crypto address",
            "walletaddress",
            "bitcoin wallet",
            "crypto wallet",
        ],
        value: Value::Code(26, 62, 3),
        bare: "",
        check: None,
    },
];

fn vin(id: &[u8]) -> bool {
    const WEIGHTS: [u32; 17] = [8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2];
    let value = |b: u8| match b {
        b'0'..=b'9' => Some(u32::from(b - b'0')),
        b'A'..=b'H' => Some(u32::from(b - b'A') + 1),
        b'J'..=b'N' => Some(u32::from(b - b'J') + 1),
        b'P' => Some(7),
        b'R' => Some(9),
        b'S'..=b'Z' => Some(u32::from(b - b'S') + 2),
        _ => None,
    };
    let sum = id
        .iter()
        .zip(WEIGHTS)
        .try_fold(0, |sum, (b, weight)| Some(sum + value(*b)? * weight));
    let letters = id.iter().filter(|b| b.is_ascii_alphabetic()).count();
    let Some(sum) = sum.filter(|_| id.len() == 17 && (3..15).contains(&letters)) else {
        return false;
    };
    let check = if sum % 11 == 10 {
        b'X'
    } else {
        b'0' + u8::try_from(sum % 11).unwrap_or(0)
    };
    id.get(8) == Some(&check)
}

fn imei(id: &[u8]) -> bool {
    let digits: Vec<u8> = id.iter().map(|b| b.wrapping_sub(b'0')).collect();
    id.len() == 15 && luhn(&digits)
}
