//! Mail addresses (RFC 5321 in the forms people use).

use crate::label::Label;
use crate::rule::{Candidate, Hit, Judge, Left, Rule, Tail};

pub(super) fn rules() -> Vec<Rule> {
    vec![Rule {
        name: "mail",
        label: Label::EMAIL,
        head: r"[A-Za-z0-9_.+%-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z][A-Za-z0-9-]{1,23}"
            .into(),
        left: Left::Token,
        tail: Tail::None,
        judge: Judge::Check(check),
    }]
}

fn check(candidate: &Candidate<'_>) -> Option<Hit> {
    candidate.whole(Label::EMAIL, 95)
}
