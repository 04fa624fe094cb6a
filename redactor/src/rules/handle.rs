//! Names that people go by on social networks, where the way they are written shows that
//! somebody is addressed. A bare `@word` is a decorator, a rule of a style sheet or a package at
//! least as often.

use crate::label::Label;
use crate::rule::{Candidate, Hit, Left, Rule, Tail};

use super::checked;

/// A repeated post names whose it was; `cc` and the like, who is told.
const SHARED: &str = r"(?:RT|(?i:cc|via|h/t|ping|by)) {1,2}@ ?[A-Za-z0-9_]{3,30}";
/// With a space behind the mark, as collections of posts set words apart.
const APART: &str = r"@ [A-Za-z0-9_]{3,30}";
/// Bytes before a name in which the one addressed before it stands.
const ROW: usize = 40;

/// What a server writes of somebody who logs in (OpenSSH): `Accepted publickey for ana from …`.
const LOGGED_IN: &str = r"(?:(?:Accepted|Failed) [a-z/-]{3,32} for (?:invalid user )?|Invalid user |session opened for user )";
/// Bytes behind that in which the name and what follows it stand.
const LOGIN: usize = 48;

pub(super) fn rules() -> Vec<Rule> {
    let tail = (Left::Token, Tail::None);
    vec![
        checked(
            "logged-in",
            Label::USERNAME,
            LOGGED_IN,
            (Left::Token, Tail::Near(LOGIN)),
            logged_in,
        ),
        checked("handle-shared", Label::USERNAME, SHARED, tail, shared),
        checked(
            "handle-apart",
            Label::USERNAME,
            APART,
            (Left::Any, Tail::None),
            apart,
        ),
    ]
}

fn logged_in(candidate: &Candidate<'_>) -> Option<Hit> {
    let rest = candidate.text.get(candidate.head..candidate.end)?;
    let inside = |b: u8| b.is_ascii_alphanumeric() || b"._-".contains(&b);
    let length = rest.bytes().take_while(|b| inside(*b)).count();
    let (name, behind) = rest.split_at_checked(length)?;
    let known = [
        "root", "admin", "user", "test", "ubuntu", "git", "guest", "postgres",
    ];
    let follows = [" from ", "(uid=", " by "]
        .iter()
        .any(|next| behind.starts_with(next));
    (length > 2 && follows && !known.contains(&name)).then_some(Hit {
        start: candidate.head,
        end: candidate.head + length,
        label: Label::USERNAME,
        score: 86,
        certain: false,
    })
}

fn shared(candidate: &Candidate<'_>) -> Option<Hit> {
    // `by @ 5`: a price, a place.
    named(candidate)
}

fn apart(candidate: &Candidate<'_>) -> Option<Hit> {
    let from = candidate.start.saturating_sub(ROW);
    let head = candidate.text.as_bytes().get(from..candidate.start)?;
    let opens = match head {
        [] | [.., b'\n' | b'"' | b'('] | [.., b'.' | b':', b' '] => true,
        // `“`
        [.., 0xE2, 0x80, 0x9C] => true,
        [rest @ .., b' '] => {
            let name = rest.iter().rev().take_while(|b| is_inside(**b)).count();
            let before = rest.get(..rest.len() - name).unwrap_or_default();
            name > 0 && (before.ends_with(b"@ ") || before.ends_with(b"@"))
        }
        _ => false,
    };
    opens.then(|| named(candidate)).flatten()
}

/// The name behind the mark, without what may be a word of the sentence.
fn named(candidate: &Candidate<'_>) -> Option<Hit> {
    let matched = candidate.matched();
    let name = matched.rsplit(['@', ' ']).next()?;
    let host = matches!(candidate.next(), Some(b'.' | b'/' | b'(' | b'-'))
        && candidate
            .text
            .as_bytes()
            .get(candidate.end + 1)
            .is_some_and(u8::is_ascii_alphanumeric);
    let goes_on = candidate.next().is_some_and(is_inside);
    let letters = name.bytes().any(|b| b.is_ascii_alphabetic());
    (letters && !host && !goes_on).then_some(Hit {
        start: candidate.end - name.len(),
        end: candidate.end,
        label: Label::USERNAME,
        score: 72,
        certain: false,
    })
}

fn is_inside(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

#[cfg(test)]
mod tests {
    use crate::rules::testing::{found, nothing};

    #[test]
    fn who_logs_in() {
        for text in [
            "sshd[7]: Accepted publickey for ana7 from 10.0.0.7 port 22",
            "sshd[7]: Failed password for invalid user ana7 from 10.0.0.7",
        ] {
            found(text, "USERNAME", &["ana7"]);
        }
    }

    #[test]
    fn people_who_are_addressed() {
        found("RT @quiet_otter: rain again", "USERNAME", &["quiet_otter"]);
        found("RT @ quietotter : rain", "USERNAME", &["quietotter"]);
        found("nice shot, via @ottermum", "USERNAME", &["ottermum"]);
        found(
            "@ quietotter @ ottermum see you there",
            "USERNAME",
            &["quietotter", "ottermum"],
        );
    }

    #[test]
    fn other_marks() {
        for text in [
            "@property\ndef size(self):",
            "c = a @ matrix",
            "@media screen { }",
            "npm i @types/node",
            "sold by @ 500 a piece",
            "the shop @ corner",
            "by @scope/package",
        ] {
            nothing(text);
        }
    }
}
