//! What a name says about the value behind it, and what a value says about itself.

use crate::label::Label;
use crate::pair::SEALED;
use crate::pass::JUDGED;

use super::Worth;
use super::keyed::is_bare_key;

/// Names that end so hold no secret but say something about one.
const ABOUT: &[&str] = &[
    "age",
    "algorithm",
    "at",
    "audience",
    "balance",
    "bucket",
    "cache",
    "changed",
    "class",
    "column",
    "count",
    "counter",
    "counts",
    "created",
    "date",
    "dir",
    "duration",
    "enabled",
    "endpoint",
    "error",
    "expiration",
    "expires",
    "expiry",
    "exp",
    "factory",
    "field",
    "file",
    "filename",
    "format",
    "function",
    "handler",
    "header",
    "help",
    "hint",
    "id",
    "ids",
    "index",
    "input",
    "issuer",
    "kind",
    "label",
    "length",
    "len",
    "level",
    "lifetime",
    "limit",
    "limits",
    "list",
    "manager",
    "max",
    "message",
    "method",
    "min",
    "minutes",
    "mode",
    "model",
    "name",
    "names",
    "path",
    "pattern",
    "placeholder",
    "policy",
    "position",
    "prefix",
    "price",
    "provider",
    "ref",
    "regex",
    "reset",
    "rotation",
    "rules",
    "scope",
    "seconds",
    "service",
    "size",
    "source",
    "status",
    "store",
    "strength",
    "time",
    "timeout",
    "title",
    "ttl",
    "type",
    "types",
    "updated",
    "uri",
    "url",
    "usage",
    "used",
    "validator",
    "version",
    "budget",
    "s",
];

const PASSWORD_KEYS: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "passcode",
    "passwort",
    "securestring",
    "pass",
    "pw",
    "pswd",
    "psk",
    "psw",
    "pssword",
    "pasword",
    "kennwort",
    "contraseña",
    "contrasena",
    "senha",
    "motdepasse",
    "wachtwoord",
    "lösenord",
    "losenord",
    "adgangskode",
    "heslo",
    "jelszó",
    "jelszo",
    "hasło",
    "haslo",
    "пароль",
    "密码",
];
const TOKEN_KEYS: &[&str] = &[
    "token",
    "secret",
    "apikey",
    "accesskey",
    "privatekey",
    "secretkey",
    "authkey",
    "authorization",
];

/// Headers whose values open a session (RFC 6265).
const COOKIES: &[&str] = &["cookie"];
/// `STRIPE_KEY`: opens something if a generator wrote its value.
const BARE_KEYS: &[&str] = &["key"];

/// Whether a key says that its whole value is a secret, or may be one.
pub(crate) fn names_secret(key: &str) -> bool {
    key == SEALED
        || ends_with(key, PASSWORD_KEYS)
        || ends_with(key, TOKEN_KEYS)
        || ends_with(key, BARE_KEYS)
        || ends_with(key, COOKIES)
}

/// Whether a key could be the name of a secret in front of `=`, so that its value has to be read
/// behind it; takes too many rather than too few.
pub(crate) fn may_name_secret(key: &str) -> bool {
    const MARKS: &[&str] = &[
        "auth",
        "bearer",
        "clave",
        "code",
        "cookie",
        "credential",
        "cvc",
        "cvv",
        "dsn",
        "jwt",
        "key",
        "kod",
        "nonce",
        "otp",
        "pin",
        "secret",
        "session",
        "sid",
        "sig",
        "token",
    ];
    let letters = key.chars().filter(|c| !"-_ .".contains(*c));
    let plain: String = letters.flat_map(char::to_lowercase).collect();
    let any = |names: &[&str]| names.iter().any(|name| plain.contains(name));
    any(MARKS) || any(PASSWORD_KEYS)
}

/// What a text is that is the whole value of such a key, and with what confidence.
pub(crate) fn under_key(key: &str, value: &str) -> Option<(Label, u8)> {
    if key == SEALED {
        let judged = value
            .get(..value.floor_char_boundary(JUDGED))
            .unwrap_or(value);
        let held = value.len() >= 4 && Worth::of(judged) > Worth::Placeholder;
        return held.then_some((Label::PASSWORD, 90));
    }
    if says_about(key) {
        return None;
    }
    let worth = Worth::of(value);
    if ends_with(key, PASSWORD_KEYS) {
        let words = value.split(' ').count();
        let secret = worth >= Worth::Word && !echoes(value) && words <= 6;
        return secret.then_some((Label::PASSWORD, 88));
    }
    if ends_with(key, COOKIES) && value.contains('=') {
        return Some((Label::API_KEY, 88));
    }
    if !ends_with(key, TOKEN_KEYS) {
        return is_bare_key(value).then_some((Label::API_KEY, 82));
    }
    let held = worth == Worth::Random || (worth == Worth::Chosen && value.len() >= 8);
    (held && !value.contains(' ') && !looks_like_place(value)).then_some((Label::API_KEY, 88))
}

/// Whether a key ends with one of the names, without regard to case and separators.
fn ends_with(key: &str, names: &[&str]) -> bool {
    let letters = key.bytes().rev().filter(|b| !b"-_ .".contains(b));
    let letters = letters.map(|b| b.to_ascii_lowercase());
    names
        .iter()
        .any(|name| name.bytes().rev().eq(letters.clone().take(name.len())))
}

/// The name at the start of a head: what stands before its quote or separator.
pub(super) fn name_of(head: &str) -> &str {
    head.split(['"', '\'', '`', '\\', ']', '=', ':', '>', '\t'])
        .next()
        .unwrap_or(head)
        .trim_end()
}

/// Whether the last part of a name (`token_count`, `passwordField`) says that what follows is
/// about a secret rather than one.
pub(crate) fn says_about(name: &str) -> bool {
    let cut = name.rfind(['_', '-', '.', ' ']).map_or(0, |at| at + 1);
    let last = name.get(cut..).unwrap_or_default();
    // A capital behind a small letter begins a word; in `PASS` none does.
    let humps = last.as_bytes().windows(2).rposition(
        |pair| matches!(pair, [a, b] if a.is_ascii_lowercase() && b.is_ascii_uppercase()),
    );
    let camel = humps.map_or(0, |at| at + 1);
    let part = last.get(camel..).unwrap_or_default();
    ABOUT
        .iter()
        .any(|about| part.eq_ignore_ascii_case(about) || last.eq_ignore_ascii_case(about))
        || last.eq_ignore_ascii_case("tokenizer")
}

/// Whether a name that holds `pass` or `pw` means a password, rather than `passed_by_value`.
pub(super) fn is_password_name(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let goes_on = |short: &str, longer: &[&str]| {
        lower
            .find(short)
            .and_then(|at| lower.get(at + short.len()..))
            .is_none_or(|rest| {
                rest.bytes().next().is_none_or(|b| !b.is_ascii_alphabetic())
                    || longer.iter().any(|word| rest.starts_with(word))
            })
    };
    let french = lower.contains("de passe") || lower.contains("de_passe");
    let whole = ["word", "wd", "wort", "phrase", "code", "key", "w"];
    (french || goes_on("pass", &whole)) && goes_on("pw", &["d"])
}

/// A word that repeats what the value is called: `"password": "Password"`.
pub(super) fn echoes(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    [
        "password", "passwd", "passwort", "token", "secret", "username", "login", "field", "input",
    ]
    .iter()
    .any(|word| lower.contains(word))
        || value.len() < 4
}

pub(super) fn is_uuid(value: &str) -> bool {
    value.len() == 36 && value.split('-').map(str::len).eq([8, 4, 4, 4, 12])
}

pub(super) fn is_number(value: &str) -> bool {
    value
        .bytes()
        .all(|b| b.is_ascii_digit() || b == b'.' || b == b':')
}

/// A path or an address rather than a secret.
/// `src/token`: what is generated has digits or capitals.
fn is_path_of_words(value: &str) -> bool {
    let word = |b: u8| b.is_ascii_lowercase() || matches!(b, b'/' | b'-' | b'_' | b'.' | b'*');
    value.contains('/') && value.bytes().all(word)
}

/// The name of something in AWS, `arn:partition:service:region:account:resource`: whoever knows it can
/// open nothing with it.
pub(super) fn is_arn(value: &str) -> bool {
    value.starts_with("arn:") && value.matches(':').count() >= 5
}

pub(super) fn looks_like_place(value: &str) -> bool {
    value.starts_with(['/', '.', '~', '@', ':'])
        || value.contains("://")
        || is_arn(value)
        || is_path_of_words(value)
        // Slashes in a row are zeros in base64.
        || value.split('/').filter(|part| !part.is_empty()).count() > 5
        || value.rsplit('.').next().is_some_and(|ending| {
            value.contains('.')
                && [
                    "json", "yaml", "yml", "pem", "key", "txt", "py", "rs", "com", "io", "pk8",
                    "der", "crt", "cer", "p12", "pfx", "jks", "pub", "csr", "toml", "md", "js",
                    "ts", "go",
                ]
                .contains(&ending)
        })
}
