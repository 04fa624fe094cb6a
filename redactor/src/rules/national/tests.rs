//! Every check against numbers that issuers or registers of algorithms publish, and against
//! changed digits.

use proptest::prelude::*;

use super::*;
use crate::rules::testing::{found, nothing};

/// Scheme, and numbers that are valid by it.
const VALID: &[(&str, &[&str])] = &[
    ("pl-pesel", &["44051401359", "02070803628"]),
    ("pl-nip", &["8567346215", "1060000062"]),
    ("pl-dowod", &["ABA300000"]),
    ("de-steuer-id", &["36574261809", "86095742719"]),
    ("de-sozialversicherung", &["15070649C103", "1237010180"]),
    ("ch-ahv", &["7569217076985"]),
    ("cz-rodne-cislo", &["7103192745"]),
    ("hu-adoazonosito", &["8071592153"]),
    ("fr-nir", &["295109912611193", "253072B07300470"]),
    ("fr-spi", &["3023217600053"]),
    (
        "it-codice-fiscale",
        &["RCCMNL83S18D969H", "MRTMTT91D08F205J"],
    ),
    ("it-partita-iva", &["00743110157"]),
    ("es-dni", &["54362315K", "X2482300W"]),
    ("pt-nif", &["501964843"]),
    ("ro-cnp", &["1630615123457"]),
    ("uk-utr", &["1955839661"]),
    ("ie-pps", &["6433435F", "6433435IH"]),
    ("nl-bsn", &["111222333"]),
    ("be-rijksregister", &["85073003328"]),
    ("lu-matricule", &["1893120105732"]),
    ("dk-cpr", &["2110625629"]),
    ("se-personnummer", &["8803200016"]),
    ("no-fodselsnummer", &["15108695088"]),
    ("fi-hetu", &["131052308T"]),
    ("is-kennitala", &["4504013150"]),
    ("ee-lt-personal-code", &["36805280109", "33309240064"]),
    ("lv-personas-kods", &["16117519997"]),
    ("ua-rnokpp", &["1759013776"]),
    ("ru-inn", &["1234567894", "123456789047"]),
    ("ru-snils", &["11223344595"]),
    ("bg-egn", &["7523169263"]),
    ("gr-amka", &["01013099997"]),
    ("gr-afm", &["094259216"]),
    ("hr-oib", &["33392005961"]),
    ("emso-jmbg", &["0101006500006"]),
    ("si-davcna", &["50223054"]),
    ("tr-kimlik", &["17291716060"]),
    ("ca-sin", &["123456782", "046454286"]),
    ("mx-curp", &["BOXW310820HNERXN09"]),
    ("br-cpf", &["39053344705"]),
    ("br-cnpj", &["16727230000197"]),
    ("ar-cuit", &["20055361682"]),
    ("cl-rut", &["76086428-5", "125319092"]),
    ("co-nit", &["2131234321"]),
    ("pe-ruc", &["20512333797"]),
    ("ec-cedula", &["1714307103"]),
    ("uy-ci", &["11111111"]),
    ("au-tfn", &["123456782"]),
    ("au-abn", &["51824753556"]),
    ("nz-ird", &["49091850", "136410132"]),
    (
        "cn-resident-id",
        &["360426199101010071", "11010519491231002X"],
    ),
    ("hk-hkid", &["G123456A", "AB9876543"]),
    ("tw-id", &["A123456789"]),
    ("jp-my-number", &["123456789018"]),
    ("kr-business", &["1168200276"]),
    ("in-aadhaar", &["234123412346"]),
    ("in-gstin", &["27AAPFU0939F1ZV"]),
    ("sg-nric", &["S1234567D", "F1234567N"]),
    ("th-id", &["1101700230708"]),
    ("il-teudat-zehut", &["39337423"]),
    ("ae-emirates-id", &["784197912345671"]),
    ("ir-kode-melli", &["0499370899"]),
    ("za-id", &["7503305044089", "8001015009087"]),
];

fn scheme(name: &str) -> &'static Scheme {
    schemes()
        .flatten()
        .find(|scheme| scheme.name == name)
        .unwrap()
}

fn compact(number: &str) -> Vec<u8> {
    number.bytes().filter(u8::is_ascii_alphanumeric).collect()
}

#[test]
fn published_numbers_are_valid() {
    let wrong: Vec<_> = VALID
        .iter()
        .flat_map(|(name, numbers)| numbers.iter().map(move |number| (name, number)))
        .filter(|(name, number)| !scheme(name).check.unwrap()(&compact(number)))
        .collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

/// Schemes whose check finds every wrong digit; the others guarantee it for most places only.
const FINDS_EVERY_DIGIT: &[&str] = &[
    "pl-pesel",
    "de-steuer-id",
    "hr-oib",
    "in-aadhaar",
    "ca-sin",
    "ch-ahv",
    "es-dni",
    "nl-bsn",
    "cn-resident-id",
    "fr-nir",
    "be-rijksregister",
    "it-partita-iva",
    "za-id",
    "se-personnummer",
];

proptest! {
    #[test]
    fn a_changed_digit_is_found(which in 0..FINDS_EVERY_DIGIT.len(), place in 0..20usize, by in 1..10u8) {
        let name = FINDS_EVERY_DIGIT[which];
        let (_, numbers) = VALID.iter().find(|(known, _)| *known == name).unwrap();
        for number in *numbers {
            let mut changed = compact(number);
            let place = place % changed.len();
            prop_assume!(changed[place].is_ascii_digit());
            changed[place] = b'0' + (changed[place] - b'0' + by) % 10;
            prop_assert!(!scheme(name).check.unwrap()(&changed), "{name} {number} at {place}");
        }
    }

    /// A serial number gets the one check digit that makes it valid, if there is one.
    #[test]
    fn one_check_digit_of_ten_fits(serial in "[1-9][0-9]{8}") {
        for name in ["ca-sin", "nl-bsn", "pt-nif", "gr-afm", "au-tfn"] {
            let fitting = (0..10)
                .filter(|digit| scheme(name).check.unwrap()(format!("{}{digit}", &serial[..8]).as_bytes()))
                .count();
            prop_assert!(fitting <= 2, "{name} {serial}");
        }
    }
}

#[test]
fn beside_its_name_any_number_is_taken() {
    for (text, label, value) in [
        ("PESEL 78042261005, oraz", "NATIONAL_ID", "78042261005"),
        ("numer PESEL: 781003-04694.", "NATIONAL_ID", "781003-04694"),
        ("PESEL 7804226l004,", "NATIONAL_ID", "7804226l004"),
        ("NIP 7 4 8 3 7 2 1 5 9 9).", "TAX_ID", "7 4 8 3 7 2 1 5 9 9"),
        (
            "NIP: 6.4.8.3.7.2.1.5.9.3\nREGON",
            "TAX_ID",
            "6.4.8.3.7.2.1.5.9.3",
        ),
        ("Our EIN is 32-3810337.\n", "TAX_ID", "32-3810337"),
        (
            "Il codice fiscale K6CIXZHPKZK8NE7Z è",
            "NATIONAL_ID",
            "K6CIXZHPKZK8NE7Z",
        ),
        (
            "CNP-ul 5266753452022 a fost",
            "NATIONAL_ID",
            "5266753452022",
        ),
        ("ЕГН 3090863872 е потвърдено", "NATIONAL_ID", "3090863872"),
        ("Die Steuer-ID 05280186674 wurde", "TAX_ID", "05280186674"),
        ("National ID 00934235919 was", "NATIONAL_ID", "00934235919"),
        (
            "身份证号：11010519491231002X。",
            "NATIONAL_ID",
            "11010519491231002X",
        ),
        (
            "\"aadhaar\":\"2341 2341 2346\"",
            "NATIONAL_ID",
            "2341 2341 2346",
        ),
    ] {
        found(text, label, &[value]);
    }
}

#[test]
fn without_a_name_only_what_its_form_makes_sure() {
    for (text, label, value) in [
        (
            "for RCCMNL83S18D969H, please",
            "NATIONAL_ID",
            "RCCMNL83S18D969H",
        ),
        (
            "paid by 390.533.447-05 yesterday",
            "NATIONAL_ID",
            "390.533.447-05",
        ),
        ("his 131052-308T is", "NATIONAL_ID", "131052-308T"),
        ("from 85.07.30-033.28 to", "NATIONAL_ID", "85.07.30-033.28"),
        ("S1234567D came", "NATIONAL_ID", "S1234567D"),
    ] {
        found(text, label, &[value]);
    }
    for text in [
        "RCCMNL83S18D969A",
        "order 44051401358",
        "S1234567A",
        "131052-308A",
        "390.533.447-06",
        "id=123456782",
        "build 1759013776",
    ] {
        nothing(text);
    }
}
