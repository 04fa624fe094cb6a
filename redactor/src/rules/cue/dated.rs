//! Dates of birth: a date is one only where the words before it say so.

use super::{Scheme, Value};
use crate::label::Label;

pub(super) const SCHEMES: &[Scheme] = &[Scheme {
    name: "date-of-birth",
    label: Label::DATE_OF_BIRTH,
    cues: &[
        "dob",
        "bday",
        "fec nac",
        "f. nac",
        "d.o.b.",
        "d.o.b",
        "date of birth",
        "birth date",
        "birthdate",
        "birthday",
        "born",
        "born in",
        "geboren",
        "geb.",
        "geburtsdatum",
        "geburtstag",
        "né le",
        "née le",
        "né",
        "née",
        "date de naissance",
        "nacido",
        "nacida",
        "fecha de nacimiento",
        "nascimento",
        "data de nascimento",
        "nascido em",
        "nascida em",
        "nato il",
        "nata il",
        "data di nascita",
        "geboortedatum",
        "geboren op",
        "data urodzenia",
        "daty urodzenia",
        "datą urodzenia",
        "urodzony",
        "urodzona",
        "ur.",
        "urodzonego",
        "urodzonej",
        "datum narození",
        "narozen",
        "narozena",
        "narozený",
        "dátum narodenia",
        "narodený",
        "narodená",
        "datum rođenja",
        "rođen",
        "rođena",
        "datum rojstva",
        "rojen",
        "rojena",
        "data nașterii",
        "născut",
        "născută",
        "születési dátum",
        "született",
        "szül.",
        "födelsedatum",
        "född",
        "fødselsdato",
        "født",
        "syntymäaika",
        "syntynyt",
        "дата рождения",
        "родился",
        "родилась",
        "дата народження",
        "народився",
        "народилася",
        "дата на раждане",
        "роден",
        "родена",
        "ημερομηνία γέννησης",
        "γεννήθηκε",
        "γεννημένος",
        "doğum tarihi",
        "出生日期",
        "出生于",
        "生日",
        "生年月日",
        "생년월일",
        "تاريخ الميلاد",
        "תאריך לידה",
    ],
    value: Value::Date,
    bare: "",
    check: None,
}];

#[cfg(test)]
mod tests {
    use crate::rules::testing::{ENGINE, found, nothing};
    use crate::{Direction, Field};

    #[test]
    fn dates_that_are_said_to_be_of_a_birth() {
        for (text, date) in [
            ("DOB: 1981-05-21", "1981-05-21"),
            ("Name: Jukka  DOB January 28, 1958\nx", "January 28, 1958"),
            ("<dob>04/26/1958</dob>", "04/26/1958"),
            ("Data urodzenia: 8 marca 1979", "8 marca 1979"),
            ("geboren am 3. März 1966 in", "3. März 1966"),
            ("\"birthDate\":\"1972-01-21\"", "1972-01-21"),
            ("She was born on 8/5/1989. Her", "8/5/1989"),
            ("生年月日：1990年1月2日", "1990年1月2日"),
        ] {
            found(text, "DATE_OF_BIRTH", &[date]);
        }
    }

    #[test]
    fn other_dates() {
        nothing("created 1981-05-21, updated 04/26/1958");
        nothing("born to run, released 1975-08-25 in the US");
        nothing("the dob column: varchar");
    }

    #[test]
    fn the_key_of_a_field_is_a_cue() {
        let find = |key, text: &str| -> Vec<(&str, String)> {
            let field = Field {
                key: Some(key),
                direction: Direction::ToolOutput,
            };
            let found = ENGINE.find(text, field).unwrap();
            found
                .iter()
                .map(|f| (f.label.as_str(), text[f.start..f.end].to_owned()))
                .collect()
        };
        for (key, text, label) in [
            ("customer_dob", "1990-01-02", "DATE_OF_BIRTH"),
            ("passportNumber", "A07501764", "PASSPORT"),
            ("pesel", "78042261005", "NATIONAL_ID"),
            ("last_name", "zorblax", "PERSON"),
            ("patientName", "Zorblax Quix", "PERSON"),
            ("account_number", "000123456789", "BANK_ACCOUNT"),
            ("login", "jdoe7", "USERNAME"),
        ] {
            assert_eq!(find(key, text), [(label, text.to_owned())], "{key}");
        }
        for (key, text) in [
            ("created", "1990-01-02"),
            ("account_id", "123456789012"),
            ("patient_id", "123456"),
            ("last_name", "null"),
            ("product_name", "Wireless Mouse"),
            ("passport_required", "yes"),
        ] {
            assert!(find(key, text).is_empty(), "{key}: {:?}", find(key, text));
        }
    }
}
