//! The operator's own patterns, checked before they join the automaton.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use regex_syntax::ParserBuilder;

use crate::engine::EngineError;
use crate::policy::CustomRule;
use crate::rule::{Judge, Left, Rule, Tail};

const LONGEST_PATTERN: usize = 1000;
const LONGEST_MATCH: usize = 512;
const LONGEST_NAME: usize = 60;

/// What a rule's name has to be.
pub(crate) const NAME: &str = "a name is 1 to 60 of a-z, 0-9 and -";

/// Why a pattern cannot be searched for.
#[derive(Clone, Copy)]
pub(crate) enum Unfit {
    /// It does not parse, is too long or matches nothing.
    Pattern,
    /// Its longest match has no bound, or too far a one.
    Unbounded,
}

/// The names of custom rules, kept for the life of the process as findings refer to them. A
/// policy is reloaded with mostly the same names; past the cap they share one.
static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
const MOST_NAMES: usize = 4096;

/// The rule of the policy with that number, counted from 0.
pub(crate) fn rule(number: usize, custom: &CustomRule) -> Result<Rule, EngineError> {
    if !is_name(&custom.name) {
        return Err(EngineError::RuleName(number));
    }
    pattern(&custom.pattern).map_err(|unfit| match unfit {
        Unfit::Pattern => EngineError::Pattern(number),
        Unfit::Unbounded => EngineError::Unbounded(number),
    })?;
    Ok(Rule {
        name: kept(&custom.name),
        label: custom.label,
        // The built-in heads are byte patterns; this one reads characters.
        head: format!("(?u:{})", custom.pattern).into(),
        left: Left::Any,
        tail: Tail::None,
        judge: Judge::Always(custom.score.clamp(1, 100)),
        beside: false,
    })
}

pub(crate) fn is_name(name: &str) -> bool {
    let spelled = |b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-');
    (1..=LONGEST_NAME).contains(&name.len()) && name.bytes().all(spelled)
}

/// Whether a pattern can be searched for, and if not, why.
pub(crate) fn pattern(pattern: &str) -> Result<(), Unfit> {
    let parsed = ParserBuilder::new()
        .utf8(false)
        .nest_limit(50)
        .build()
        .parse(pattern);
    let parsed = parsed.map_err(|_| Unfit::Pattern)?;
    let properties = parsed.properties();
    let empty = properties.minimum_len().unwrap_or(0) == 0;
    // Unicode word boundaries and the like need a slower automaton.
    let look = properties.look_set().contains_word_unicode();
    if pattern.len() > LONGEST_PATTERN || empty || look {
        return Err(Unfit::Pattern);
    }
    let longest = properties.maximum_len();
    match longest.is_none_or(|longest| longest > LONGEST_MATCH) {
        true => Err(Unfit::Unbounded),
        false => Ok(()),
    }
}

impl Unfit {
    /// What is said of the pattern.
    pub(crate) const fn reason(self) -> &'static str {
        match self {
            Self::Pattern => "does not parse, is longer than 1000 bytes, or matches nothing",
            Self::Unbounded => "has no longest match of 512 bytes or less; write {1,64} for + or *",
        }
    }
}

fn kept(name: &str) -> &'static str {
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name) {
        return known;
    }
    if names.len() >= MOST_NAMES {
        return "custom";
    }
    let kept: &'static str = Box::leak(name.to_owned().into_boxed_str());
    names.insert(kept);
    kept
}
