//! Passwords and tokens told in sentences: `the password for the server is …`.

use crate::label::Label;
use crate::rule::{Candidate, Hit, Left, Rule, Tail};

use super::{Worth, checked};

const TOLD: &str = r"(?i)(?:password|passcode|passphrase|pass phrase|pin|pin code|passwort|kennwort|contrase(?:n|\xC3\xB1)a|has(?:l|\xC5\x82)o|mot de passe|senha|wachtwoord)(?: (?:[a-z0-9_.@'-]|[\xC3-\xD4][\x80-\xBF]){1,24}){0,5}(?: (?:is|was|are|to|ist|lautet|es|est|to jest|now)){1,2}[ :]{1,3}";
const TOKEN: &str =
    r"(?i)(?:token|secret|key|api key|access key)(?: [a-z0-9_.@'-]{1,24}){0,4} (?:is|was)[ :]{1,3}";
const WITH: &str = r"(?i)(?:with|using|use|and|the|new|old|temporary|your)(?: the)? (?:password|passcode|passphrase|pin)[ :]{1,2}";

pub(super) fn rules() -> Vec<Rule> {
    let told = (Left::Token, Tail::Value);
    vec![
        checked("password-told", Label::PASSWORD, TOLD, told, password),
        checked("token-told", Label::API_KEY, TOKEN, told, token),
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
