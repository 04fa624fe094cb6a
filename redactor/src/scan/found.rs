//! The rarest literals that every match of a head holds.

use regex_syntax::hir::literal::Extractor;
use regex_syntax::hir::{Hir, HirKind};

use super::bytes::{Bytes, frequency};
use super::probe::common;
use super::require::Run;

/// Longer literals are cut, more of them are cut further: what is left is rare enough.
const LONGEST_LITERAL: usize = 6;
/// More literals than this are no quick test.
const MOST_LITERALS: usize = 64;
/// A literal that is in reach so seldom is worth a search of its own.
const SELDOM: f32 = 0.01;
/// Literals that few bytes lead are cut further, and may be more.
const SHORT_LITERAL: usize = 3;
const MOST_LED: usize = 1000;

/// Literals one of which every match holds.
pub(super) struct Found {
    pub(super) literals: Vec<Vec<u8>>,
    /// The last byte of the last one stands no further behind the start.
    pub(super) reach: usize,
    /// What stands before them.
    pub(super) run: Option<Run>,
    common: f32,
}

impl Found {
    /// What every match begins with; `led` if those that few bytes lead may be many.
    fn beginning(hir: &Hir, led: bool) -> Option<Found> {
        let longer = prefixes(hir, LONGEST_LITERAL, 500).and_then(Found::of_few);
        if !led {
            return longer;
        }
        let shorter = prefixes(hir, SHORT_LITERAL, MOST_LED).and_then(Found::of_led);
        match longer {
            Some(longer) => longer.rarer(shorter),
            None => shorter,
        }
    }

    fn new(literals: Vec<Vec<u8>>) -> Self {
        Found {
            reach: literals.iter().map(Vec::len).max().unwrap_or(0),
            run: None,
            common: literals.iter().map(|literal| frequency(literal)).sum(),
            literals,
        }
    }

    /// Few literals, of any kind.
    fn of_few(mut literals: Vec<Vec<u8>>) -> Option<Found> {
        for length in (1..LONGEST_LITERAL).rev() {
            if literals.len() <= MOST_LITERALS {
                break;
            }
            literals
                .iter_mut()
                .for_each(|literal| literal.truncate(length));
            literals = unique(literals);
        }
        // Many short ones stand everywhere.
        let telling = literals.len() <= 20 || literals.iter().all(|literal| literal.len() > 2);
        (literals.len() <= MOST_LITERALS && telling).then(|| Found::new(literals))
    }

    /// Many literals that few bytes lead: brackets, say.
    fn of_led(literals: Vec<Vec<u8>>) -> Option<Found> {
        let led = super::probe::leads(&literals).is_some();
        let long = literals.iter().all(|literal| literal.len() > 1);
        (led && long).then(|| Found::new(literals))
    }

    /// Whether they are one needle, and in reach so seldom that they cost nothing at the other
    /// starts. Digits are not: some texts are full of them.
    pub(super) fn is_seldom(&self) -> bool {
        let told = |literal: &Vec<u8>| literal.iter().any(|byte| !byte.is_ascii_digit());
        let one = self.literals.len() == 1 || common(&self.literals).is_some();
        one && self.cost() < SELDOM && self.literals.iter().all(told)
    }

    fn shortest(&self) -> usize {
        self.literals.iter().map(Vec::len).min().unwrap_or(0)
    }

    /// In how many starts of words one of the literals is in reach.
    pub(super) fn cost(&self) -> f32 {
        self.common * self.reach as f32
    }

    fn rarer(self, other: Option<Found>) -> Option<Found> {
        match other {
            Some(other) if other.cost() <= self.cost() => Some(other),
            _ => Some(self),
        }
    }
}

/// The rarest set of literals one of which every match holds.
pub(super) fn literal(hir: &Hir, led: bool) -> Option<Found> {
    let own = Found::beginning(hir, led);
    let inner = match hir.kind() {
        HirKind::Capture(capture) => literal(&capture.sub, led),
        HirKind::Repetition(repetition) if repetition.min > 0 => literal(&repetition.sub, led),
        HirKind::Concat(parts) => in_row(parts, led),
        HirKind::Alternation(branches) => in_each(branches),
        _ => None,
    };
    match own {
        Some(own) => own.rarer(inner),
        None => inner,
    }
}

/// The rarest that some part of a row holds, or the parts from one on begin with.
fn in_row(parts: &[Hir], led: bool) -> Option<Found> {
    let mut best: Option<Found> = None;
    let mut before = 0usize;
    for (at, part) in parts.iter().enumerate() {
        let rest = Hir::concat(parts.get(at..).unwrap_or_default().to_vec());
        let begins = (at > 0).then(|| Found::beginning(&rest, led)).flatten();
        for found in [begins, literal(part, led)].into_iter().flatten() {
            let reach = found.reach.saturating_add(before);
            let run = match parts.first() {
                Some(first) if at > 0 => {
                    let mut set = Bytes::default();
                    set.of(first);
                    let longest = first.properties().maximum_len()?;
                    Some(Run {
                        set,
                        least: first.properties().minimum_len().unwrap_or(0),
                        slack: reach.saturating_sub(longest + found.shortest()),
                    })
                }
                _ => found.run.clone(),
            };
            best = Found {
                reach,
                run,
                ..found
            }
            .rarer(best);
        }
        before = before.saturating_add(part.properties().maximum_len()?);
    }
    best
}

fn in_each(branches: &[Hir]) -> Option<Found> {
    let mut all = Found {
        literals: Vec::new(),
        reach: 0,
        run: None,
        common: 0.0,
    };
    for branch in branches {
        let found = literal(branch, false)?;
        all.literals.extend(found.literals);
        all.reach = all.reach.max(found.reach);
        all.common += found.common;
    }
    all.literals = unique(all.literals);
    (all.literals.len() <= MOST_LITERALS).then_some(all)
}

/// All literals that a match may begin with; nothing if they are too many.
pub(super) fn prefixes(hir: &Hir, longest: usize, most: usize) -> Option<Vec<Vec<u8>>> {
    let mut extractor = Extractor::new();
    extractor
        .limit_class(16)
        .limit_literal_len(longest)
        .limit_total(most);
    let sequence = extractor.extract(hir);
    let literals = sequence.literals()?;
    let literals = literals.iter().map(|literal| literal.as_bytes().to_vec());
    let literals = unique(literals.collect());
    literals
        .iter()
        .all(|literal| !literal.is_empty())
        .then_some(literals)
}

pub(super) fn unique(mut literals: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    literals.sort();
    literals.dedup();
    literals
}
