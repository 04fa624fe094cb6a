//! Rules by what their heads need.

use super::require::{self, Need};
use crate::rule::Rule;

/// Groups of rules that need the same, besides that which needs nothing; more than these join it.
pub(super) const MOST_GROUPS: usize = 63;

/// The rules, by their numbers, by what their heads need; those that need nothing more come first.
/// A rule that may need either of two things is in two groups.
pub(super) fn grouped(rules: &[Rule]) -> Vec<(Need, Vec<usize>)> {
    let mut groups: Vec<(Need, Vec<usize>)> = vec![(Need::Start, Vec::new())];
    for (number, rule) in rules.iter().enumerate() {
        let (need, _) = require::of(&rule.head);
        let needs = match need {
            Need::Digits(count) if rule.beside => vec![Need::Beside(count)],
            need => need.parts(),
        };
        // Where all groups are taken, the first admits what it begins like.
        if groups.len() + needs.len() > MOST_GROUPS + 1
            && !needs
                .iter()
                .all(|need| groups.iter().any(|(known, _)| known.joins(need)))
        {
            join(&mut groups, Need::Start, number);
            continue;
        }
        needs
            .into_iter()
            .for_each(|need| join(&mut groups, need, number));
    }
    groups
}

fn join(groups: &mut Vec<(Need, Vec<usize>)>, need: Need, number: usize) {
    match groups.iter_mut().find(|(known, _)| known.joins(&need)) {
        Some((known, members)) => {
            known.widen(need);
            members.push(number);
        }
        None => groups.push((need, vec![number])),
    }
}
