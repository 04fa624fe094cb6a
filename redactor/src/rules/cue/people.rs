//! Logins and ages.

use super::{Scheme, Value};
use crate::label::Label;

/// Streets in a field that is called so: alone the word is a part of a street.
pub(super) const STREET_FIELD: &str = "street-field";

pub(super) const SCHEMES: &[Scheme] = &[
    Scheme {
        name: "username",
        label: Label::USERNAME,
        cues: &[
            "user",
            "username",
            "user name",
            "userid",
            "user id",
            "uname",
            "login",
            "login name",
            "loginname",
            "logon",
            "assignee",
            "reporter",
            "account name",
            "samaccountname",
            "screen name",
            "nickname",
            "benutzername",
            "benutzer",
            "utilisateur",
            "usuario",
            "utente",
            "gebruikersnaam",
            "użytkownik",
            "nazwa użytkownika",
            "логин",
            "created by",
            "updated by",
            "modified by",
            "author login",
            "acting user",
            "ruser",
            "suser",
            "remote user",
        ],
        value: Value::Login,
        bare: "",
        check: None,
    },
    Scheme {
        name: "street",
        label: Label::ADDRESS,
        cues: &[
            "address",
            "street address",
            "address line",
            "lives at",
            "live at",
            "living at",
            "resides at",
            "residing at",
            "anschrift",
            "wohnt in der",
            "adresse",
            "adres",
            "adresa",
            "dirección",
            "direccion",
            "domicilio",
            "indirizzo",
            "endereço",
            "адрес",
            "lakcím",
            "osoite",
            "διεύθυνση",
            "wohnhaft",
            "wohnhaft in",
            "woonachtig",
            "demeurant",
            "domicilié",
            "domiciliée",
            "residente in",
            "residente en",
            "residente na",
            "bytem",
            "bytom",
            "zamieszkały",
            "zamieszkała",
            "bosatt",
            "bopæl",
        ],
        value: Value::Street,
        bare: "",
        check: None,
    },
    Scheme {
        name: STREET_FIELD,
        label: Label::ADDRESS,
        cues: &[
            "street",
            "street name",
            "addr",
            "straße",
            "strasse",
            "ulica",
            "calle",
            "gatuadress",
        ],
        value: Value::Street,
        bare: "",
        check: None,
    },
    Scheme {
        name: "postal-code",
        label: Label::ADDRESS,
        cues: &[
            "zip",
            "zip code",
            "zipcode",
            "postcode",
            "postal code",
            "postalcode",
            "plz",
            "postleitzahl",
            "code postal",
            "código postal",
            "codigo postal",
            "cep",
            "kod pocztowy",
            "psč",
            "irányítószám",
            "postnummer",
            "postinumero",
            "poštanski broj",
            "posta kodu",
            "почтовый индекс",
            "邮编",
            "郵便番号",
            "우편번호",
        ],
        value: Value::Code(3, 8, 3),
        bare: "",
        check: None,
    },
    Scheme {
        name: "age",
        label: Label::AGE,
        cues: &[
            "age",
            "aged",
            "turned",
            "years old",
            "alter",
            "âge",
            "edad",
            "età",
            "wiek",
            "idade",
            "leeftijd",
        ],
        value: Value::Age,
        bare: "",
        check: None,
    },
];

#[cfg(test)]
mod tests {
    use crate::rules::testing::{found, nothing};

    #[test]
    fn logins_that_begin_like_a_word_between_are_found() {
        for login in ["tokafor", "isabella.w", "onwosu", "ashby7", "jdoe42"] {
            for text in [format!("user: {login}\n"), format!("login={login} ok")] {
                found(&text, "USERNAME", &[login]);
            }
        }
        nothing("the user is to\nuser: the\n");
    }

    #[test]
    fn what_reports_and_what_runs_is_nobody() {
        for text in [
            "reporter: ['html', { open: 'never' }],",
            "reporter: [[\"junit\"], ['list']]",
            "serviceAccountName: web-runner7\n",
            "service_account_name = \"web-runner7\"",
        ] {
            nothing(text);
        }
        found("reporter: tokafor7\n", "USERNAME", &["tokafor7"]);
        found("accountName: tokafor7\n", "USERNAME", &["tokafor7"]);
    }
}
