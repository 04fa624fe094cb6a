//! Private key blocks and JSON Web Tokens.

use crate::engine::Engine;
use crate::label::Label;
use crate::rule::{Candidate, Class, Hit, Left, Rule, Tail};

use super::checked;

pub(super) fn rules() -> Vec<Rule> {
    let begin = r"----[- ]BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-{4,5}";
    let putty = r"PuTTY-User-Key-File-[0-9]: ";
    vec![
        checked(
            "private-key",
            Label::PRIVATE_KEY,
            begin,
            (Left::Any, Tail::Block),
            block,
        ),
        checked(
            "putty-key",
            Label::PRIVATE_KEY,
            putty,
            (Left::Any, Tail::Block),
            block,
        ),
        checked(
            "jwt",
            Label::JWT,
            r"eyJ[A-Za-z0-9_-]{10}",
            (Left::Word, Tail::Run(Class::Dotted)),
            jwt,
        ),
    ]
}

/// A block without its end line is taken to the end of the text: what was cut off is still
/// half a key.
fn block(candidate: &Candidate<'_>) -> Option<Hit> {
    candidate.whole(Label::PRIVATE_KEY, 99)
}

/// Header, payload and signature (RFC 7519), or the five parts of an encrypted token (RFC 7516).
fn jwt(candidate: &Candidate<'_>) -> Option<Hit> {
    let matched = candidate.matched().trim_end_matches(['.', '-', '_']);
    let mut parts = matched.split('.');
    let (header, payload) = (parts.next()?, parts.next().unwrap_or_default());
    // The header alone tells it where payload and signature are as long as such parts are.
    let signature = matched.split('.').nth(2).unwrap_or_default();
    let sized = payload.len() >= 16 && signature.len() >= 16 && opens(header);
    let signed = sized || (payload.starts_with("eyJ") && payload.len() >= 10);
    let parts = if matched.split('.').count() >= 5 && !signed {
        5
    } else {
        3
    };
    // A run this long that begins as a header does is taken before all of its parts are there.
    let long = candidate.matched().len() >= Engine::LONGEST_UNDECIDED;
    if header.len() < 12 || !(signed || parts == 5 || long) {
        return None;
    }
    let length = matched
        .split('.')
        .take(parts)
        .map(|part| part.len() + 1)
        .sum::<usize>()
        .saturating_sub(1);
    let whole = candidate.whole(Label::JWT, 97)?;
    Some(Hit {
        end: candidate.start + length,
        ..whole
    })
}

/// Whether a header names an algorithm: `{"alg":…`, `{"typ":…`, `{"kid":…`, `{"cty":…` in base64.
fn opens(header: &str) -> bool {
    ["eyJhbGci", "eyJ0eXAi", "eyJraWQi", "eyJjdHki", "eyJlbmMi"]
        .iter()
        .any(|start| header.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::Engine;
    use crate::rules::testing::{found, nothing};

    /// No stream waits for more of a run that is so long, so it has to be one by then.
    #[test]
    fn a_run_as_long_as_is_held() {
        let run = |length: usize| format!("eyJzdWIiOkred{}", "x".repeat(length - 13));
        let text = run(Engine::LONGEST_UNDECIDED);
        found(&text, "JWT", &[&text]);
        nothing(&run(Engine::LONGEST_UNDECIDED - 1));
    }

    #[test]
    fn blocks_with_and_without_an_end() {
        let begin = ["-----BEGIN RSA PRIV", "ATE KEY-----"].concat();
        let end = ["-----END RSA PRIV", "ATE KEY-----"].concat();
        let whole = format!("{begin}\nMC4CAQAw\n{end}");
        found(&format!("a {whole} b"), "PRIVATE_KEY", &[&whole]);
        let cut = format!("{begin}\nMC4CAQAw and what follows");
        found(&format!("a {cut}"), "PRIVATE_KEY", &[&cut]);
        nothing("-----BEGIN CERTIFICATE-----\nMC4CAQAw\n-----END CERTIFICATE-----");
    }

    #[test]
    fn tokens_of_three_parts() {
        let token = [
            "eyJhbGciOiJIUzI1NiJ9",
            ".eyJzdWIiOiIxMjM0In0",
            ".c2lnbmF0dXJl",
        ]
        .concat();
        found(&format!("see {token}."), "JWT", &[&token]);
        let opaque = [
            "eyJhbGciOiJIUzI1NiJ9",
            ".q8Zx2Lm5Vn7Rt1Ks9Wd",
            ".p3Yh6Gf8Jc0Bq4Ne7Tz",
        ]
        .concat();
        found(&format!("see {opaque} here"), "JWT", &[&opaque]);
        nothing("eyJhbGciOiJIUzI1NiJ9.notapayload.c2lnbmF0dXJl");
        // One that begins inside another.
        let inside = format!("eyJraWQiOiJ4In0-{token}");
        found(&format!("see {inside}."), "JWT", &[&inside]);
    }
}
