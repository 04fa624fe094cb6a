//! Passwords and tokens told in sentences: `the password for the server is …`.

use crate::label::Label;
use crate::rule::{Candidate, Hit, Left, Rule, Tail};

use super::keyed::is_bare_key;
use super::{Worth, checked};

const TOLD: &str = r"(?i)(?:password|passcode|passphrase|pass phrase|pin|pin code|passwort|kennwort|contrase(?:n|\xC3\xB1)a|has(?:l|\xC5\x82)o|mot de passe|senha|wachtwoord)(?: (?:[a-z0-9_.@'-]|[\xC3-\xD4][\x80-\xBF]){1,24}){0,5}(?: (?:is|was|are|to|ist|lautet|es|est|to jest|now)){1,2}[ :]{1,3}";
const TOKEN: &str = r"(?i)(?:token|secret|key|api key|access key)(?: [a-z0-9_.,@'-]{1,24}){0,7} (?:is|was)[ :]{1,3}";
const WITH: &str = r"(?i)(?:with|using|use|and|the|new|old|temporary|your)(?: the)? (?:password|passcode|passphrase|pin)[ :]{1,2}";

/// `PIN code: 4921`, `card pin = 4921`.
const PIN: &str = r"(?i)pin(?: ?code| ?number| ?no\.?)?(?: is)? ?[:= ] ?";
/// Bytes behind such a cue in which the figures and their border stand.
const FIGURES: usize = 8;

/// The three or four figures that a card shows beside its number (ISO/IEC 7813 calls them none; the
/// schemes CVV2, CVC2, CID), which nobody may keep (PCI DSS 4.0, 3.3.1).
const CARD_CODE: &str = r#"(?i)(?:(?:card )?(?:cvv|cvc|cvn|csc)2?(?: code)?|card[ _-](?:security|verification)[ _-](?:code|value|number))(?:\\?["'`])?(?: is|[ \t]{0,2}[:=])?[ \t]{0,2}(?:\\?["'`])?"#;

/// `the signing key 9fK2…`: the value right behind its name.
const KEY: &str = r"(?i)(?:signing|api|access|secret|encryption|private|master|auth|deploy|service|session|refresh|bot|admin) (?:key|token|secret) ";

/// `401 for key 9fK2…`: what a log says of it.
const OF_LOG: &str = r"(?i)(?:key|token|secret)[ :=]{1,2}";

/// The seed of one-time passwords (RFC 6238), in base32.
const SEED: &str = r"(?i)(?:totp|otp|2fa|mfa|authenticator)[ _-]?(?:secret|seed|key|code)(?: key)?(?: is)?[ :=]{1,3}";

pub(super) fn rules() -> Vec<Rule> {
    let told = (Left::Token, Tail::Value);
    vec![
        checked("password-told", Label::PASSWORD, TOLD, told, password),
        checked("key-behind", Label::API_KEY, KEY, told, key),
        checked("key-of-log", Label::API_KEY, OF_LOG, told, of_log),
        checked("otp-seed", Label::API_KEY, SEED, told, seed),
        checked("token-told", Label::API_KEY, TOKEN, told, token),
        checked(
            "pin",
            Label::PASSWORD,
            PIN,
            (Left::Token, Tail::Near(FIGURES)),
            pin,
        ),
        checked(
            "card-code",
            Label::PASSWORD,
            CARD_CODE,
            (Left::Token, Tail::Near(FIGURES)),
            card_code,
        ),
        checked("password-with", Label::PASSWORD, WITH, told, password),
    ]
}

/// In a sentence a plain word is most likely the next word of the sentence.
fn password(candidate: &Candidate<'_>) -> Option<Hit> {
    let worth = Worth::of(candidate.value);
    let number = candidate
        .text
        .get(candidate.start..candidate.head)
        .unwrap_or_default();
    let number = number
        .get(..3)
        .is_some_and(|name| name.eq_ignore_ascii_case("pin"));
    let quoted = candidate.quote.is_some() && !candidate.value.contains(' ') && !number;
    let pin = candidate.value.len() >= 4 && candidate.value.bytes().all(|b| b.is_ascii_digit());
    // `sign-in`, `don't`: a word with a mark inside is still a word.
    let told = worth >= Worth::Chosen
        && candidate
            .value
            .bytes()
            .any(|b| b.is_ascii_digit() || b"!@#$%^&*+=?~".contains(&b));
    (told || pin || (quoted && worth >= Worth::Word))
        .then(|| candidate.valued(Label::PASSWORD, 85))
        .flatten()
}

/// Only what a generator wrote, and long.
fn key(candidate: &Candidate<'_>) -> Option<Hit> {
    let value = candidate.value;
    let has = |of: fn(&u8) -> bool| value.bytes().filter(of).count() > 1;
    let kinds = [u8::is_ascii_digit, u8::is_ascii_lowercase];
    let mixed = kinds.into_iter().all(has);
    (value.len() >= 20 && mixed && Worth::of(value) == Worth::Random)
        .then(|| candidate.valued(Label::API_KEY, 84))
        .flatten()
}

/// What no digest and no name of a cached thing looks like.
fn of_log(candidate: &Candidate<'_>) -> Option<Hit> {
    is_bare_key(candidate.value)
        .then(|| candidate.valued(Label::API_KEY, 82))
        .flatten()
}

fn seed(candidate: &Candidate<'_>) -> Option<Hit> {
    let value = candidate.value.as_bytes();
    let letter = |b: &u8| b.is_ascii_uppercase() || matches!(b, b'2'..=b'7');
    let mixed = value.iter().any(u8::is_ascii_digit) && value.iter().any(u8::is_ascii_uppercase);
    (value.len() >= 16 && mixed && value.iter().all(letter))
        .then(|| candidate.valued(Label::API_KEY, 88))
        .flatten()
}

/// Four figures; more may be a postal code, fewer a foot of a chip.
fn pin(candidate: &Candidate<'_>) -> Option<Hit> {
    let rest = candidate.text.get(candidate.head..candidate.end)?;
    let figures = rest.bytes().take_while(u8::is_ascii_digit).count();
    let next = rest.as_bytes().get(figures);
    let ends = next.is_none_or(|b| !b.is_ascii_alphanumeric() && *b != b'_' && *b != b'.')
        || rest
            .get(figures..)
            .is_some_and(|rest| rest == "." || rest.starts_with(". "));
    let cue = candidate.text.get(candidate.start..candidate.head)?;
    let told = cue.contains([':', '=']) || cue.len() > 4;
    (figures == 4 && ends && told).then_some(Hit {
        start: candidate.head,
        end: candidate.head + figures,
        label: Label::PASSWORD,
        score: 80,
        certain: false,
    })
}

fn card_code(candidate: &Candidate<'_>) -> Option<Hit> {
    let rest = candidate.text.get(candidate.head..candidate.end)?;
    let figures = rest.bytes().take_while(u8::is_ascii_digit).count();
    let next = rest.as_bytes().get(figures);
    let ends = next.is_none_or(|b| !b.is_ascii_alphanumeric() && !b"_-".contains(b));
    // `cvv 2.1` is a release.
    let decimal = rest.get(figures..).is_some_and(|rest| {
        let mut bytes = rest.bytes();
        bytes.next() == Some(b'.') && bytes.next().is_some_and(|b| b.is_ascii_digit())
    });
    ((3..=4).contains(&figures) && ends && !decimal).then_some(Hit {
        start: candidate.head,
        end: candidate.head + figures,
        label: Label::PASSWORD,
        score: 84,
        certain: false,
    })
}

fn token(candidate: &Candidate<'_>) -> Option<Hit> {
    let random = Worth::of(candidate.value) == Worth::Random;
    random
        .then(|| candidate.valued(Label::API_KEY, 85))
        .flatten()
}

#[cfg(test)]
mod tests {
    use crate::rules::testing::{found, nothing};

    #[test]
    fn keys_in_logs_and_seeds() {
        let key = ["gmUGWxjPO1HZTeze0xFM", "IDQU8SyMtumvHl"].concat();
        found(&format!("401 for key {key} (retry)"), "API_KEY", &[&key]);
        found(
            &format!("I made a token today, the new one is {key}"),
            "API_KEY",
            &[&key],
        );
        let seed = ["JBSWY3DPEHPK", "3PXPGEZD"].concat();
        found(&format!("totp secret {seed} issuer X"), "API_KEY", &[&seed]);
        nothing("miss for key 3f786850e387550fdab836ed7e6dc881de23001b");
        nothing("with key users:42:profile and the token Next");
        nothing("the otp code AUTHENTICATIONREQUIRED");
    }

    #[test]
    fn codes_of_cards() {
        for text in [
            "cvv: 123",
            "CVC2 is 123, exp",
            "{\"cvv\":\"123\"}",
            "card_security_code=123",
            "the card verification value 123.",
        ] {
            found(text, "PASSWORD", &["123"]);
        }
        nothing("cvv 12345 and cvv: 12 and cvc 123.4 and cvv_123");
    }

    #[test]
    fn told_in_a_sentence() {
        found("The password is hunter2x.", "PASSWORD", &["hunter2x"]);
        found(
            "my password for the db server is: hunter2x!",
            "PASSWORD",
            &["hunter2x!"],
        );
        found(
            "Log in with the password hunter2x, then",
            "PASSWORD",
            &["hunter2x"],
        );
        found("PIN is 4821", "PASSWORD", &["4821"]);
    }

    #[test]
    fn talked_about() {
        nothing("The password is required for this step.");
        nothing("A password is never stored.");
        nothing("the password field was well-known");
    }
}
