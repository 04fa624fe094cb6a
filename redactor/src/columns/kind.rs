//! What a column holds, by its name, and whether a cell looks like that.

use crate::label::Label;
use crate::people;
use crate::rules::{self, Scheme};

/// What the cells of a column are.
pub(super) enum Kind {
    Card,
    /// A name, where other columns show that the rows are people.
    Contact,
    Iban,
    Person,
    Phone,
    Schemes(&'static [&'static Scheme]),
    Secret,
    Social,
    Street,
}

/// A column whose name says what is in it.
pub(crate) struct Column {
    name: String,
    kind: Kind,
}

/// A cell that is a value: how much of it, what it is, and with what confidence.
pub(crate) struct Value {
    pub(crate) length: usize,
    pub(crate) label: Label,
    pub(crate) score: u8,
}

/// Longer names are sentences.
const LONGEST_NAME: usize = 48;
/// Longer cells are notes.
const LONGEST: usize = 160;
/// A cell under the name of its value, as a field is.
const NAMED: u8 = 88;

/// Whether a cell may be the name of a column: a few words.
pub(super) fn may_name(cell: &str) -> bool {
    let inside = |c: char| c.is_alphanumeric() || " _-./()#'&?%".contains(c);
    let starts = cell.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '#');
    cell.len() <= LONGEST_NAME
        && (cell.is_empty() || starts)
        && cell.chars().all(inside)
        && cell.split_whitespace().count() <= 5
}

impl Column {
    /// What a column of this name holds, if that is anything of a person's or a secret.
    pub(crate) fn named(name: &str) -> Option<Column> {
        let kind = kind(name)?;
        Some(Column {
            name: name.to_owned(),
            kind,
        })
    }

    /// Whether a row with such a cell is about a person.
    pub(super) fn tells_person(&self) -> bool {
        match &self.kind {
            Kind::Contact | Kind::Secret | Kind::Street => false,
            Kind::Card | Kind::Iban | Kind::Person | Kind::Phone | Kind::Social => true,
            Kind::Schemes(schemes) => schemes.iter().any(|scheme| {
                [
                    Label::DATE_OF_BIRTH,
                    Label::DRIVER_LICENSE,
                    Label::MEDICAL_RECORD,
                    Label::NATIONAL_ID,
                    Label::PASSPORT,
                    Label::US_SSN,
                ]
                .contains(&scheme.label)
            }),
        }
    }

    /// Whether its cells need a row about a person.
    pub(crate) fn needs_person(&self) -> bool {
        matches!(self.kind, Kind::Contact)
    }

    /// What a cell is.
    pub(crate) fn judge(&self, cell: &str) -> Option<Value> {
        if cell.len() < 2 || cell.len() > LONGEST || stands_for_nothing(cell) {
            return None;
        }
        let whole = |label, score| Value {
            length: cell.len(),
            label,
            score,
        };
        let digits = cell.bytes().filter(u8::is_ascii_digit).count();
        let only = |others: &[u8]| {
            cell.bytes()
                .all(|b| b.is_ascii_digit() || others.contains(&b))
        };
        match &self.kind {
            Kind::Card => ((12..=19).contains(&digits) && only(b" -"))
                .then(|| whole(Label::CREDIT_CARD, NAMED)),
            Kind::Contact => people::is_name(cell).then(|| whole(Label::PERSON, NAMED)),
            Kind::Iban => is_iban(cell).then(|| whole(Label::IBAN, NAMED)),
            Kind::Person => people::may_be_name(cell).then(|| whole(Label::PERSON, NAMED)),
            Kind::Phone => is_phone(cell).then(|| whole(Label::PHONE, NAMED)),
            Kind::Schemes(schemes) => schemes
                .iter()
                .filter_map(|scheme| scheme.whole(&self.name, cell))
                .max_by_key(|(_, _, score)| *score)
                .map(|(length, label, score)| Value {
                    length,
                    label,
                    score,
                }),
            // `pass` also heads the outcome of a test.
            Kind::Secret if self.name.to_ascii_lowercase().ends_with("pass") && is_word(cell) => {
                None
            }
            Kind::Secret => {
                rules::under_key(&self.name, cell).map(|(label, score)| whole(label, score))
            }
            Kind::Social => (digits == 9 && only(b" -.")).then(|| whole(Label::US_SSN, NAMED)),
            Kind::Street => is_street(cell).then(|| whole(Label::ADDRESS, NAMED)),
        }
    }
}

fn kind(name: &str) -> Option<Kind> {
    if name.is_empty() {
        return None;
    }
    if rules::names_secret(name) {
        return Some(Kind::Secret);
    }
    let words = rules::words(name);
    let plain = words.concat();
    // Services and models have them as well.
    if ["candidate", "displayname"].contains(&plain.as_str()) {
        return Some(Kind::Contact);
    }
    if people::names_person(name) {
        return Some(Kind::Person);
    }
    let about = rules::says_about(name);
    let ends = |names: &[&str]| names.iter().any(|known| plain.ends_with(known));
    let holds = |names: &[&str]| words.iter().any(|word| names.contains(&word.as_str()));
    if !about && (holds(&["ssn", "ssns"]) || ends(SOCIAL)) {
        return Some(Kind::Social);
    }
    if !about && (ends(CARDS) || ["card", "cc", "pan"].contains(&plain.as_str())) {
        return Some(Kind::Card);
    }
    if holds(&["iban", "ibans"]) {
        return Some(Kind::Iban);
    }
    if !about && holds(PHONES) {
        return Some(Kind::Phone);
    }
    if STREETS.contains(&plain.as_str()) {
        return Some(Kind::Street);
    }
    let schemes = rules::named(name);
    if !schemes.is_empty() {
        return Some(Kind::Schemes(schemes));
    }
    people::labels_person(name).then_some(Kind::Contact)
}

const SOCIAL: &[&str] = &[
    "socialsecurity",
    "socialsecurityno",
    "socialsecuritynumber",
    "socialsecuritynum",
];
const CARDS: &[&str] = &[
    "cardno",
    "cardnum",
    "cardnumber",
    "ccn",
    "ccno",
    "ccnum",
    "ccnumber",
    "creditcard",
    "debitcard",
    "kartennummer",
    "kreditkarte",
    "numerkarty",
    "numerodecarte",
    "numerodetarjeta",
    "tarjeta",
];
const PHONES: &[&str] = &[
    "cell",
    "cellphone",
    "fax",
    "handy",
    "handynummer",
    "mobile",
    "mobilephone",
    "msisdn",
    "phone",
    "phonenumber",
    "phones",
    "tel",
    "telefon",
    "telefone",
    "telefonnummer",
    "telefono",
    "telefonu",
    "telephone",
    "teléfono",
    "téléphone",
    "whatsapp",
];
const STREETS: &[&str] = &[
    "address",
    "address1",
    "address2",
    "addressline",
    "addressline1",
    "addressline2",
    "adres",
    "adresa",
    "adresse",
    "anschrift",
    "billingaddress",
    "billingstreet",
    "direccion",
    "dirección",
    "endereco",
    "endereço",
    "homeaddress",
    "indirizzo",
    "mailingaddress",
    "mailingstreet",
    "postaladdress",
    "residence",
    "residentialaddress",
    "shippingaddress",
    "shippingstreet",
    "street",
    "street1",
    "street2",
    "streetaddress",
    "strasse",
    "straße",
    "ulica",
];

/// What tables write where there is no value.
fn stands_for_nothing(cell: &str) -> bool {
    const NOTHING: &[&str] = &[
        "false", "n/a", "na", "nan", "nil", "no", "none", "null", "tbd", "true", "unknown", "yes",
        "\\n",
    ];
    NOTHING.iter().any(|word| cell.eq_ignore_ascii_case(word))
        || !cell.chars().any(char::is_alphanumeric)
}

/// The form of an account number of ISO 13616, whatever its sum.
fn is_iban(cell: &str) -> bool {
    let plain: Vec<u8> = cell.bytes().filter(|b| *b != b' ').collect();
    matches!(plain.as_slice(), [a, b, c, d, rest @ ..]
        if a.is_ascii_alphabetic() && b.is_ascii_alphabetic()
            && c.is_ascii_digit() && d.is_ascii_digit()
            && (11..=30).contains(&rest.len())
            && rest.iter().all(u8::is_ascii_alphanumeric))
}

fn is_word(cell: &str) -> bool {
    cell.chars().all(char::is_alphabetic)
}

/// Digits alone may count calls; a number that can be dialled without more has nine.
fn is_phone(cell: &str) -> bool {
    let digits = cell.bytes().filter(u8::is_ascii_digit).count();
    let inside = |b: u8| b.is_ascii_digit() || b" +-./()x".contains(&b);
    let fewest = if digits == cell.len() { 9 } else { 7 };
    (fewest..=15).contains(&digits) && cell.bytes().all(inside) && !dated(cell)
}

/// Year, month and day with marks between.
fn dated(cell: &str) -> bool {
    let sizes = cell.split(['-', '/', '.']).map(str::len);
    let sizes: Vec<usize> = sizes.collect();
    matches!(sizes.as_slice(), [4, 1..=2, 1..=2] | [1..=2, 1..=2, 4])
}

/// A house's number and a word: what networks and memory call an address has no space.
fn is_street(cell: &str) -> bool {
    let mut words = cell.split(|c: char| !c.is_alphanumeric());
    let word = words.any(|word| word.chars().count() >= 3 && is_word(word));
    let number = cell.bytes().any(|b| b.is_ascii_digit());
    word && number
        && cell.contains(' ')
        && cell.len() >= 6
        && !cell.contains(['@', '{', '<', '=', '\\'])
        && !cell.contains("://")
}
