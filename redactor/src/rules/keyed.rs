//! Keys that a bare `key` names, that are named behind themselves, or that one product has.

use crate::label::Label;
use crate::rule::{Candidate, Hit, Left, Rule, Tail};
use crate::validate::context::Cues;

use super::assigned::assigned;
use super::names::looks_like_place;
use super::{Worth, checked};

const BARE_KEY: &str = assigned!("key");
const NAMED_BEHIND: &str = r#"(?i)(?:using|use|used|with|set|have|is|got) ["'`]?"#;
/// Bytes behind such a word in which the value and its name stand.
const LONG: usize = 256;
const SIDEKIQ: &str = r#"BUNDLE_(?:ENTERPRISE|GEMS)__CONTRIBSYS__COM["']?[ \t]{0,4}[:=][ \t]{0,4}"#;

/// `VK7JG-…`: five groups of five, as programs that are sold take them.
const PRODUCT: &str = r"[A-Z0-9]{5}(?:-[A-Z0-9]{5}){4}";

/// What keys that open something are called.
pub(super) const KEYS: Cues = Cues::new(
    11,
    &[
        "key",
        "license",
        "licence",
        "serial",
        "activation",
        "product",
        "cd",
        "windows",
        "office",
    ],
);

pub(super) fn rules() -> Vec<Rule> {
    vec![
        checked(
            "product-key",
            Label::API_KEY,
            PRODUCT,
            (Left::Token, Tail::None),
            product,
        ),
        checked(
            "key-assigned",
            Label::API_KEY,
            BARE_KEY,
            (Left::Any, Tail::Value),
            bare_key,
        ),
        checked(
            "named-behind",
            Label::API_KEY,
            NAMED_BEHIND,
            (Left::Token, Tail::Near(LONG)),
            named_behind,
        ),
        checked(
            "sidekiq",
            Label::API_KEY,
            SIDEKIQ,
            (Left::Token, Tail::Value),
            sidekiq,
        ),
    ]
}

/// What the words before call a key, or what no words in capitals look like.
fn product(candidate: &Candidate<'_>) -> Option<Hit> {
    let goes_on = candidate
        .next()
        .is_some_and(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    let called = candidate.context.names(&KEYS);
    let bytes = candidate.matched().as_bytes();
    let letters = bytes.iter().any(u8::is_ascii_uppercase);
    let digits = bytes.iter().filter(|b| b.is_ascii_digit()).count();
    (!goes_on && letters && (called || digits >= 4))
        .then(|| candidate.whole(Label::API_KEY, 88)?.by_context())
        .flatten()
}

fn bare_key(candidate: &Candidate<'_>) -> Option<Hit> {
    is_bare_key(candidate.value)
        .then(|| candidate.valued(Label::API_KEY, 82))
        .flatten()
}

/// A bare `key` names many things; only what a generator wrote and no digest looks like is one
/// that opens something.
pub(super) fn is_bare_key(value: &str) -> bool {
    if !(16..=128).contains(&value.len()) {
        return false;
    }
    let hex = value.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
    let cased = value.bytes().any(|b| b.is_ascii_uppercase())
        && value.bytes().any(|b| b.is_ascii_lowercase());
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let plain = value
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || b"+/=_".contains(&b));
    // `PKCS12PrivateKeyTypes`: words in a row, as names of code have them.
    let word = value
        .split(|c: char| !c.is_ascii_lowercase())
        .any(|run| run.len() >= 6);
    let fits = !word && !hex && cased && digits >= 2 && plain;
    fits && Worth::of(value) == Worth::Random && !looks_like_place(value)
}

/// `I am using VALUE as the deploy token`: the name stands behind.
fn named_behind(candidate: &Candidate<'_>) -> Option<Hit> {
    let rest = candidate.text.get(candidate.head..candidate.end)?;
    // The value is one word.
    let end = rest.bytes().position(|b| matches!(b, b' ' | b'\n'))?;
    let behind = rest.get(end..)?.strip_prefix(" as ")?;
    let value = rest.get(..end)?;
    let value = value.trim_matches(['"', '\'', '`']);
    let name: String = behind.chars().take(48).collect();
    let name = name
        .split([',', '.', ';', '\n', '?', '!'])
        .next()
        .unwrap_or_default();
    let called = [
        "key",
        "token",
        "secret",
        "password",
        "credential",
        "passphrase",
    ];
    let named = name.split([' ', '_', '-']).take(8).any(|word| {
        called
            .iter()
            .any(|called| word.trim_end_matches('s').eq_ignore_ascii_case(called))
    });
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    // `user_id2`, `sha256`: words of code with a number behind them.
    let told = digits >= 2 || value.bytes().any(|b| b"!@#$%^&*".contains(&b));
    let name = value.trim_end_matches(|c: char| c.is_ascii_digit());
    let word = name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
    let fits = named && value.len() >= 8 && told && !word;
    if !fits || Worth::of(value) < Worth::Chosen || looks_like_place(value) {
        return None;
    }
    let start = candidate.head + rest.find(value)?;
    Some(Hit {
        start,
        end: start + value.len(),
        label: Label::API_KEY,
        score: 86,
        certain: false,
    })
}

/// Two hex numbers that open the servers of Sidekiq's paid editions.
fn sidekiq(candidate: &Candidate<'_>) -> Option<Hit> {
    let (user, password) = candidate.value.split_once(':')?;
    let hex = |part: &str| part.len() == 8 && part.bytes().all(|b| b.is_ascii_hexdigit());
    (hex(user) && hex(password))
        .then(|| candidate.valued(Label::API_KEY, 96))
        .flatten()
}

#[cfg(test)]
mod tests {
    use crate::rules::testing::{found, nothing};

    #[test]
    fn keys_with_other_names() {
        let key = ["gmUGWxjPO1HZTeze0xFM", "IDQU8SyMtumvHl"].concat();
        found(&format!("$key = '{key}'"), "API_KEY", &[&key]);
        let own = ["ylix3owjgozjds6w1jkq", "bbelsfby4pby"].concat();
        found(
            &format!("I am using {own} as the fastly_api_key, can"),
            "API_KEY",
            &[&own],
        );
        found(
            "BUNDLE_GEMS__CONTRIBSYS__COM: \"aaed1bba:abf2eced\"",
            "API_KEY",
            &["aaed1bba:abf2eced"],
        );
        let sold = ["QWRTZ-PLKMN-", "BVCXY-ASDFG-HJKLP"].concat();
        found(&format!("Activation key : {sold}"), "API_KEY", &[&sold]);
    }

    #[test]
    fn other_keys() {
        for text in [
            "key: 3f786850e387550fdab836ed7e6dc881de23001b",
            "key: PKCS12PrivateKeyTypes | None",
            "using sha256 as the hash of the key",
            "with user_id2 as the primary key",
            "cache key = users:42:profile",
            "HELLO-WORLD-THERE-WHERE-NIGHT is a title",
        ] {
            nothing(text);
        }
    }
}
