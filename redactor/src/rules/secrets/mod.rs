//! Secrets that their issuers gave a shape: a prefix, a length, an alphabet.
//!
//! The prefix is what makes them certain, so a token that is longer than the format says is
//! still one (formats grow) unless the format is nothing but letters and digits of fixed length.

mod table;

use self::table::{Ending, TABLE};
use crate::label::Label;
use crate::rule::{Candidate, Class, Hit, Judge, Left, Rule, Tail};

pub(super) fn rules() -> Vec<Rule> {
    TABLE
        .iter()
        .map(|(name, head, ending)| rule(name, head, *ending))
        .collect()
}

fn rule(name: &'static str, head: &'static str, ending: Ending) -> Rule {
    let (tail, judge) = match ending {
        Ending::Exact => (Tail::None, Judge::Check(exact)),
        Ending::Word => (Tail::Run(Class::Word), Judge::Check(open_ended)),
        Ending::Base64 => (Tail::Run(Class::Base64), Judge::Check(open_ended)),
    };
    Rule {
        name,
        label: Label::API_KEY,
        head: head.into(),
        left: Left::Token,
        tail,
        judge,
    }
}

fn exact(candidate: &Candidate<'_>) -> Option<Hit> {
    match candidate.next() {
        Some(b) if b.is_ascii_alphanumeric() || b == b'_' => None,
        _ => candidate.whole(Label::API_KEY, 98),
    }
}

fn open_ended(candidate: &Candidate<'_>) -> Option<Hit> {
    candidate.whole(Label::API_KEY, 98)
}
