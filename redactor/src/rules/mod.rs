//! The built-in rules, one file a family.

mod assigned;
mod bank;
mod block;
#[cfg(test)]
mod borders;
mod card;
mod cue;
pub(crate) mod custom;
mod dates;
mod digits;
mod flat;
mod handle;
mod keyed;
mod logins;
mod mail;
mod names;
mod national;
mod network;
mod paired;
mod phone;
mod rows;
mod secrets;
mod social;
mod spoken;
mod url;
mod worth;

use crate::label::Label;
use crate::rule::{Check, Judge, Left, Rule, Tail};
use crate::validate::context::Cues;

pub(crate) use cue::{Anchor, CHECKED, GLUE, Scheme, named, names_value, words};
pub(crate) use names::{may_name_secret, names_secret, says_about, under_key};
pub(crate) use phone::{may_be_named, may_be_named_behind};
use worth::Worth;

/// All lists of words that stand beside values.
pub(crate) const CUES: &[&Cues] = &[
    &phone::WORDS,
    &phone::CLEAR_WORDS,
    &card::WORDS,
    &social::WORDS,
    &bank::WORDS,
    &network::HOSTS,
    &network::RELEASES,
    &network::TRAFFIC,
    &network::DEVICES,
    &assigned::CALLERS,
    &assigned::CLIENTS,
    &keyed::KEYS,
];

/// Those without which rules that are `beside` take no number.
pub(crate) const NUMBER_CUES: &[&Cues] = &[&phone::WORDS, &phone::CLEAR_WORDS, &social::WORDS];

/// All of them, in an order that is part of the fingerprint.
pub(crate) fn built_in() -> Vec<Rule> {
    [
        mail::rules(),
        card::rules(),
        social::rules(),
        bank::rules(),
        phone::rules(),
        network::rules(),
        url::rules(),
        block::rules(),
        secrets::rules(),
        assigned::rules(),
        keyed::rules(),
        logins::rules(),
        paired::rules(),
        spoken::rules(),
        rows::rules(),
        handle::rules(),
        digits::rules(),
        flat::rules(),
        cue::rules(),
    ]
    .concat()
}

/// A rule whose matches a function judges.
fn checked(
    name: &'static str,
    label: Label,
    head: &'static str,
    (left, tail): (Left, Tail),
    check: Check,
) -> Rule {
    Rule {
        name,
        label,
        head: head.into(),
        left,
        tail,
        judge: Judge::Check(check),
        beside: false,
    }
}

/// A rule for numbers that its check takes only beside their name: behind one of
/// [`NUMBER_CUES`], or before a word that [`phone::named_behind`] knows.
fn beside(rule: Rule) -> Rule {
    Rule {
        beside: true,
        ..rule
    }
}

#[cfg(test)]
pub(crate) mod testing {
    //! Asks a default engine and compares with what should have been found.

    use std::sync::LazyLock;

    use crate::{Direction, Engine, Field, Policy};

    pub(crate) const FIELD: Field<'static> = Field {
        key: None,
        direction: Direction::Prompt,
    };
    pub(crate) static ENGINE: LazyLock<Engine> =
        LazyLock::new(|| Engine::new(&Policy::default()).unwrap());

    /// The texts found under the label are exactly these.
    pub(crate) fn found(text: &str, label: &str, expected: &[&str]) {
        let findings = ENGINE.find(text, FIELD).unwrap();
        let texts: Vec<&str> = findings
            .iter()
            .filter(|f| f.label.as_str() == label)
            .map(|f| &text[f.start..f.end])
            .collect();
        assert_eq!(texts, expected, "in {text:?}: {findings:?}");
    }

    pub(crate) fn nothing(text: &str) {
        let findings = ENGINE.find(text, FIELD).unwrap();
        assert!(findings.is_empty(), "in {text:?}: {findings:?}");
    }
}
