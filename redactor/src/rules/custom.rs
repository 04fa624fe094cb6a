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

/// The names of custom rules, kept for the life of the process as findings refer to them. A
/// policy is reloaded with mostly the same names; past the cap they share one.
static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
const MOST_NAMES: usize = 4096;

/// The rule of the policy with that number, counted from 0.
pub(crate) fn rule(number: usize, custom: &CustomRule) -> Result<Rule, EngineError> {
    let spelled = custom
        .name
        .bytes()
        .all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-'));
    if !spelled || !(1..=LONGEST_NAME).contains(&custom.name.len()) {
        return Err(EngineError::RuleName(number));
    }
    let parsed = ParserBuilder::new()
        .utf8(false)
        .nest_limit(50)
        .build()
        .parse(&custom.pattern);
    let parsed = parsed.map_err(|_| EngineError::Pattern(number))?;
    let properties = parsed.properties();
    let empty = properties.minimum_len().unwrap_or(0) == 0;
    // Unicode word boundaries and the like need a slower automaton.
    let look = properties.look_set().contains_word_unicode();
    if custom.pattern.len() > LONGEST_PATTERN || empty || look {
        return Err(EngineError::Pattern(number));
    }
    if properties
        .maximum_len()
        .is_none_or(|longest| longest > LONGEST_MATCH)
    {
        return Err(EngineError::Unbounded(number));
    }
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
