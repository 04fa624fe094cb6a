//! Accounts and the banks that keep them.

use super::{Scheme, Value};
use crate::label::Label;
use crate::validate::sums::{numbers, weighted};

pub(super) const SCHEMES: &[Scheme] = &[
    Scheme {
        name: "bank-account",
        label: Label::BANK_ACCOUNT,
        cues: &[
            "account",
            "acct",
            "a/c",
            "acc no",
            "bank account",
            "account number",
            "checking account",
            "savings account",
            "kontonummer",
            "konto nr",
            "kto",
            "bankkonto",
            "rachunek",
            "rachunku",
            "nr konta",
            "numer konta",
            "konta",
            "numéro de compte",
            "compte bancaire",
            "compte n",
            "cuenta",
            "cuenta bancaria",
            "numero de cuenta",
            "número de cuenta",
            "conta bancária",
            "conta corrente",
            "conto corrente",
            "numero di conto",
            "rekeningnummer",
            "rekening",
            "číslo účtu",
            "účet",
            "účtu",
            "broj računa",
            "račun",
            "cont bancar",
            "számlaszám",
            "bankszámla",
            "kontonr",
            "tilinumero",
            "расчетный счет",
            "р/с",
            "номер счета",
            "λογαριασμός",
            "hesap no",
            "银行账号",
            "银行卡号",
            "口座番号",
            "계좌번호",
            "clabe",
            "bsb",
            "nuban",
        ],
        value: Value::Digits(6, 18),
        bare: "",
        check: None,
    },
    // American Bankers Association: 3(d1+d4+d7) + 7(d2+d5+d8) + (d3+d6+d9) ends in 0.
    Scheme {
        name: "aba-routing",
        label: Label::ROUTING_NUMBER,
        cues: &[
            "routing",
            "routing number",
            "aba",
            "aba number",
            "rtn",
            "routing transit number",
            "transit routing",
        ],
        value: Value::Digits(9, 9),
        bare: "",
        check: Some(aba),
    },
    Scheme {
        name: "sort-code",
        label: Label::ROUTING_NUMBER,
        cues: &["sort code", "sortcode"],
        value: Value::Digits(6, 6),
        bare: "",
        check: None,
    },
    Scheme {
        name: "national-bank-code",
        label: Label::ROUTING_NUMBER,
        cues: &[
            "bankleitzahl",
            "blz",
            "bsb",
            "transit number",
            "ifsc",
            "ifsc code",
            "institution number",
            "clearingnummer",
        ],
        value: Value::Code(5, 11, 5),
        bare: "",
        check: None,
    },
    // ISO 9362: four letters of the bank, two of the country, two and maybe three of place.
    Scheme {
        name: "bic",
        label: Label::ROUTING_NUMBER,
        cues: &[
            "bic",
            "swift",
            "swift code",
            "bic/swift",
            "swift/bic",
            "swift bic",
        ],
        value: Value::Code(8, 11, 0),
        bare: "",
        check: None,
    },
];

fn aba(id: &[u8]) -> bool {
    numbers::<9>(id)
        .is_some_and(|digits| weighted(&digits, &[3, 7, 1, 3, 7, 1, 3, 7, 1]).is_multiple_of(10))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::{found, nothing};

    #[test]
    fn check_digits_of_published_examples() {
        assert!(aba(b"111000025") && aba(b"021000021") && !aba(b"111000026"));
    }

    #[test]
    fn accounts_behind_their_name() {
        for (text, label, value) in [
            (
                "or account 04130360, routing 042477680. Our",
                "BANK_ACCOUNT",
                "04130360",
            ),
            (
                "or account 04130360, routing 042477680. Our",
                "ROUTING_NUMBER",
                "042477680",
            ),
            (
                "Insurance acct 957466645789.",
                "BANK_ACCOUNT",
                "957466645789",
            ),
            (
                "\"account_number\":\"000123456789\"",
                "BANK_ACCOUNT",
                "000123456789",
            ),
            ("Sort code: 12-34-56", "ROUTING_NUMBER", "12-34-56"),
        ] {
            found(text, label, &[value]);
        }
    }

    #[test]
    fn other_accounts() {
        for text in [
            "routing table 10 entries",
            "account created 2024-01-15",
            "account balance 1200",
            "swift build --release",
            "service account 3 of 12",
        ] {
            nothing(text);
        }
    }
}
