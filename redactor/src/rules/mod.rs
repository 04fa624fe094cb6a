//! The built-in rules.

mod mail;
mod number;

use crate::rule::Rule;

/// All of them, in an order that is part of the fingerprint.
pub(crate) fn built_in() -> Vec<Rule> {
    let mut rules = mail::rules();
    rules.extend(number::rules());
    rules
}
