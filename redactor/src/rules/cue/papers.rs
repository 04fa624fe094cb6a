//! Passports, driving licences, medical records: documents that name one person.

use super::{Scheme, Value};
use crate::label::Label;
use crate::validate::sums::{luhn, numbers, weighted};

pub(super) const SCHEMES: &[Scheme] = &[
    // ICAO Doc 9303: up to nine letters and digits.
    Scheme {
        name: "passport",
        label: Label::PASSPORT,
        cues: &[
            "passport",
            "passports",
            "pass nr",
            "reisepass",
            "reisepassnummer",
            "passnummer",
            "passeport",
            "pasaporte",
            "passaporte",
            "passaporto",
            "paspoort",
            "paszport",
            "paszportu",
            "pas",
            "pasu",
            "cestovní pas",
            "pașaport",
            "pasaport",
            "pas nummer",
            "passi",
            "útlevél",
            "паспорт",
            "загранпаспорт",
            "загранпаспорта",
            "паспорт серия",
            "паспорта",
            "διαβατήριο",
            "putovnica",
            "putovnice",
            "potni list",
            "护照",
            "護照",
            "护照号",
            "護照號碼",
            "パスポート",
            "旅券番号",
            "여권",
            "여권번호",
            "جواز السفر",
            "דרכון",
            "pasaporte número",
            "no de passeport",
        ],
        value: Value::Code(6, 10, 5),
        bare: "",
        check: None,
    },
    Scheme {
        name: "driver-license",
        label: Label::DRIVER_LICENSE,
        cues: &[
            "driver'slicense",
            "driver's license",
            "drivers license",
            "driver license",
            "driver's licence",
            "drivers licence",
            "driver licence",
            "driving licence",
            "driving license",
            "license #",
            "license no",
            "license number",
            "licence number",
            "licence no",
            "dl no",
            "dl #",
            "dl number",
            "dln",
            "führerschein",
            "führerscheinnummer",
            "permis de conduire",
            "permiso de conducir",
            "licencia de conducir",
            "carta de condução",
            "carteira de motorista",
            "cnh",
            "patente di guida",
            "patente",
            "rijbewijs",
            "rijbewijsnummer",
            "prawo jazdy",
            "prawa jazdy",
            "prawem jazdy",
            "řidičský průkaz",
            "vodičský preukaz",
            "vozačka dozvola",
            "vozniško dovoljenje",
            "permis auto",
            "jogosítvány",
            "körkort",
            "kørekort",
            "førerkort",
            "ajokortti",
            "водительское удостоверение",
            "водительского удостоверения",
            "посвідчення водія",
            "δίπλωμα οδήγησης",
            "sürücü belgesi",
            "ehliyet",
            "运转免许证",
            "運転免許証",
            "驾驶证",
            "駕照",
            "운전면허",
        ],
        value: Value::Code(5, 18, 4),
        bare: "",
        check: None,
    },
    Scheme {
        name: "medical-record",
        label: Label::MEDICAL_RECORD,
        cues: &[
            "mrn",
            "medical record",
            "medical records",
            "patient id",
            "patient no",
            "patient number",
            "patientid",
            "chart no",
            "chart number",
            "hospital number",
            "hospital no",
            "health record",
            "patientennummer",
            "fallnummer",
            "numéro de patient",
            "nhc",
            "historia clínica",
            "cartella clinica",
            "número de paciente",
            "patiëntnummer",
            "potilasnumero",
            "member id",
            "insurance id",
            "policy holder id",
            "subscriber id",
            "medicaid",
            "mbi",
            "beneficiary id",
            "versichertennummer",
            "krankenversichertennummer",
            "kvnr",
        ],
        value: Value::Code(4, 14, 4),
        bare: "",
        check: None,
    },
    // NHS Data Dictionary: ten digits, weights 10 to 2, modulus 11.
    Scheme {
        name: "nhs-number",
        label: Label::MEDICAL_RECORD,
        cues: &["nhs", "nhs number", "chi number"],
        value: Value::Digits(10, 10),
        bare: "[0-9]{3}[ -][0-9]{3}[ -][0-9]{4}",
        check: Some(nhs),
    },
    // CMS: National Provider Identifier, Luhn over the digits behind 80840.
    Scheme {
        name: "npi",
        label: Label::MEDICAL_RECORD,
        cues: &[
            "npi",
            "provider identifier",
            "provider license",
            "provider licence",
        ],
        value: Value::Digits(10, 10),
        bare: "",
        check: Some(npi),
    },
    // DEA: two letters and seven digits; d1+d3+d5 + 2(d2+d4+d6) ends in d7.
    Scheme {
        name: "dea-number",
        label: Label::MEDICAL_RECORD,
        cues: &["dea", "dea number", "dea registration"],
        value: Value::Code(9, 9, 7),
        bare: "[ABCDEFGHJKLMPRSTUX][A-Z9][0-9]{7}",
        check: Some(dea),
    },
];

fn nhs(id: &[u8]) -> bool {
    let Some([body @ .., check]) = numbers::<10>(id) else {
        return false;
    };
    let rest = 11 - weighted(&body, &[10, 9, 8, 7, 6, 5, 4, 3, 2]) % 11;
    rest != 10 && rest % 11 == check
}

fn npi(id: &[u8]) -> bool {
    let digits: Vec<u8> = b"80840"
        .iter()
        .chain(id)
        .map(|b| b.wrapping_sub(b'0'))
        .collect();
    id.len() == 10 && id.first().is_some_and(|b| matches!(b, b'1' | b'2')) && luhn(&digits)
}

fn dea(id: &[u8]) -> bool {
    let Some([a, b, c, d, e, f, check]) = id.get(2..).and_then(numbers::<7>) else {
        return false;
    };
    (a + c + e + 2 * (b + d + f)) % 10 == check
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::{found, nothing};

    #[test]
    fn check_digits_of_published_examples() {
        assert!(nhs(b"9434765919") && !nhs(b"9434765918"));
        assert!(npi(b"1234567893") && !npi(b"1234567894"));
        assert!(dea(b"BB1388568") && !dea(b"BB1388567"));
    }

    #[test]
    fn papers_behind_their_name() {
        for (text, label, value) in [
            ("my passport no. is A07501764, and", "PASSPORT", "A07501764"),
            ("Reisepassnummer: C01X00T47", "PASSPORT", "C01X00T47"),
            (
                "\"passport_number\": \"340007237\"",
                "PASSPORT",
                "340007237",
            ),
            ("driver license D1869348.", "DRIVER_LICENSE", "D1869348"),
            (
                "My driver's license number is S172-7689-4783",
                "DRIVER_LICENSE",
                "S172-7689-4783",
            ),
            (
                "numer prawa jazdy: 04-8736394.",
                "DRIVER_LICENSE",
                "04-8736394",
            ),
            ("<mrn>MRN-604856</mrn>", "MEDICAL_RECORD", "MRN-604856"),
            ("(MRN 3262027) seen", "MEDICAL_RECORD", "3262027"),
            ("NHS number: 943 476 5919", "MEDICAL_RECORD", "943 476 5919"),
        ] {
            found(text, label, &[value]);
        }
    }

    #[test]
    fn documents_talked_about() {
        for text in [
            "passport.js 0.6.0 is a middleware",
            "the passport was issued in 2019",
            "driver license check required",
            "import passport from 'passport'; // 12345",
            "MRNA vaccines 2021",
        ] {
            nothing(text);
        }
    }
}
