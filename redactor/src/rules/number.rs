//! Cards and social security numbers.

use crate::label::Label;
use crate::rule::{Candidate, Hit, Judge, Left, Rule, Tail};
use crate::validate::sums::{digits, luhn};

pub(super) fn rules() -> Vec<Rule> {
    vec![
        Rule {
            name: "card",
            label: Label::CREDIT_CARD,
            head: r"[0-9](?:[ -]?[0-9]){12,18}".into(),
            left: Left::Number,
            tail: Tail::None,
            judge: Judge::Check(card),
        },
        Rule {
            name: "us-ssn",
            label: Label::US_SSN,
            head: r"[0-9]{3}(?:-[0-9]{2}-| [0-9]{2} )[0-9]{4}".into(),
            left: Left::Number,
            tail: Tail::None,
            judge: Judge::Always(80),
        },
    ]
}

fn card(candidate: &Candidate<'_>) -> Option<Hit> {
    luhn(&digits(candidate.matched()))
        .then(|| candidate.whole(Label::CREDIT_CARD, 90))
        .flatten()
}
