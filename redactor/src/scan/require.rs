//! What every match of a head holds, read off its regular expression: the literals that it begins
//! with or holds further on, or the digits that it takes.

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind};

use super::bytes::{Bytes, frequency};
use super::found::{Found, literal, prefixes, unique};
use super::probe::BRACKETS;
use super::shape::shape;
use crate::seek::Set;

/// What is as common as this at a place in the text is worth no test.
const COMMON: f32 = 0.9;
/// A row of sets that lets so much pass is worth a look.
const NARROW: f32 = 0.02;
/// A beginning that is as rare as this needs no second test.
pub(super) const RARE: f32 = 0.12;
/// A beginning that is as common as this is worth a literal, if that is so much rarer.
const SOME: f32 = 0.03;
const MUCH: f32 = 8.0;
/// More literals that brackets lead are looked for by those brackets.
const MANY: usize = 16;
/// Numbers with fewer digits stand everywhere.
pub(super) const FEW: usize = 6;
/// How common numbers of six digits and more are at the starts of words.
const NUMBER: f32 = 0.1;

/// What a place in the text must show before a head is tried there.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Need {
    /// The head's first bytes, and no more.
    Start,
    /// One of the literals, which ends no more than `reach` bytes behind the start.
    Literal {
        literals: Vec<Vec<u8>>,
        reach: usize,
        run: Option<Run>,
    },
    /// First bytes of these sets, one after another.
    Shape(Vec<Bytes>),
    /// So many digits with nothing but number marks between them.
    Digits(usize),
    /// The same, and a name of such numbers beside them, which is looked for elsewhere.
    Beside(usize),
}

/// What stands before a literal: at least so many bytes of the set, then no more than `slack`
/// others.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Run {
    pub(super) set: Bytes,
    pub(super) least: usize,
    pub(super) slack: usize,
}

impl Need {
    /// Whether one test serves both.
    pub(super) fn joins(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Start, Self::Start) => true,
            (Self::Shape(one), Self::Shape(two)) => one == two,
            (Self::Beside(_), Self::Beside(_)) => true,
            (Self::Digits(one), Self::Digits(two)) => (*one < FEW) == (*two < FEW),
            (
                Self::Literal {
                    literals: one,
                    run: before,
                    ..
                },
                Self::Literal {
                    literals: two,
                    run: other,
                    ..
                },
            ) => match (before, other) {
                (Some(run), Some(own)) if is_led(one) && is_led(two) => {
                    run.set == own.set && run.least == own.least
                }
                _ => one == two && before == other,
            },
            _ => false,
        }
    }

    /// Needs one of which is there where this one is: of many literals those that are looked for
    /// by the marks that lead them, and the others.
    pub(super) fn parts(self) -> Vec<Self> {
        let Self::Literal {
            literals,
            reach,
            run,
        } = self
        else {
            return vec![self];
        };
        let (led, others): (Vec<_>, Vec<_>) = literals
            .into_iter()
            .partition(|literal| literal.first().is_some_and(|byte| BRACKETS.contains(byte)));
        let parts = match led.len() > MANY && !others.is_empty() {
            true => vec![led, others],
            false => vec![[led, others].concat()],
        };
        let need = |literals| Self::Literal {
            literals,
            reach,
            run: run.clone(),
        };
        parts.into_iter().map(need).collect()
    }

    /// Makes this the need that either has.
    pub(super) fn widen(&mut self, other: Self) {
        match (self, other) {
            (Self::Digits(one), Self::Digits(two)) | (Self::Beside(one), Self::Beside(two)) => {
                *one = two.min(*one);
            }
            (
                Self::Literal {
                    literals: own,
                    reach: one,
                    run,
                },
                Self::Literal {
                    literals,
                    reach: two,
                    run: other,
                },
            ) => {
                *one = two.max(*one);
                if let (Some(run), Some(other)) = (run, other) {
                    run.slack = run.slack.max(other.slack);
                }
                *own = unique([std::mem::take(own), literals].concat());
            }
            _ => {}
        }
    }
}

/// Whether literals are so many that they are looked for by the brackets that lead them.
fn is_led(literals: &[Vec<u8>]) -> bool {
    literals.len() > MANY && super::probe::leads(literals).is_some()
}

/// Bytes that stand between the digits of one number.
pub(super) fn is_mark(byte: u8) -> bool {
    static MARKS: Set = Set::of(b" ./()\n+-");
    MARKS.holds(byte)
}

/// What a head needs, and how common that is: in about so many of the starts of words.
pub(super) fn of(head: &str) -> (Need, f32) {
    let parsed = ParserBuilder::new()
        .unicode(false)
        .utf8(false)
        .build()
        .parse(head);
    let Ok(hir) = parsed else {
        return (Need::Start, 1.0);
    };
    let begins = beginning(&hir);
    let digits = digits(&hir).0;
    if digits >= FEW {
        return (Need::Digits(digits), NUMBER);
    }
    let inside = literal(&hir, true);
    let best = inside.as_ref().map_or(1.0, Found::cost);
    // What begins with one mark begins often; a literal that hardly ever comes says more.
    let sooner = SOME < begins && best * MUCH < begins;
    if begins <= RARE && !(sooner && inside.as_ref().is_some_and(Found::is_seldom)) {
        return (Need::Start, begins);
    }
    let shape = shape(&hir).0;
    let narrow = shape.iter().map(Bytes::share).product::<f32>();
    // A literal that is rare by itself is looked for once, and not at every start.
    let seldom = inside.as_ref().is_some_and(Found::is_seldom);
    if narrow < NARROW && narrow < best && !seldom {
        return (Need::Shape(shape), narrow);
    }
    // A second test has to be worth its own search.
    if begins < 1.0 && begins <= best * 4.0 {
        return (Need::Start, begins);
    }
    match inside {
        Some(found) if best < COMMON => {
            let Found {
                literals,
                reach,
                run,
                ..
            } = found;
            (
                Need::Literal {
                    literals,
                    reach,
                    run,
                },
                best,
            )
        }
        _ => (Need::Start, begins),
    }
}

/// How common the head's first three bytes are at the starts of words.
fn beginning(hir: &Hir) -> f32 {
    let Some(literals) = prefixes(hir, 3, 500) else {
        return 1.0;
    };
    // As the gates tell bytes apart: the first by its case.
    let folded = literals.into_iter().map(|mut literal| {
        let rest = literal.iter_mut().skip(1);
        rest.for_each(|byte| byte.make_ascii_lowercase());
        literal
    });
    let literals = unique(folded.collect());
    let share = |literal: &Vec<u8>| match literal.as_slice() {
        b"the" | b"and" | b"to " | b"in " | b"is " | b"of " | b"a " | b"for" | b"you" => 0.1,
        other => frequency(other) * 4.0,
    };
    literals.iter().map(share).sum()
}

/// How many digits a match has before any byte that is neither digit nor mark, and whether the
/// whole of it is made of those.
fn digits(hir: &Hir) -> (usize, bool) {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => (0, true),
        HirKind::Literal(literal) => {
            let number = |byte: &u8| byte.is_ascii_digit() || is_mark(*byte);
            let whole = literal.0.iter().all(number);
            let taken = literal.0.iter().take_while(|byte| number(byte));
            (taken.filter(|byte| byte.is_ascii_digit()).count(), whole)
        }
        HirKind::Class(class) => class_digits(class),
        HirKind::Repetition(repetition) => {
            let (count, whole) = digits(&repetition.sub);
            let times = if whole {
                repetition.min
            } else {
                repetition.min.min(1)
            };
            (
                count.saturating_mul(times as usize),
                whole || repetition.max == Some(0),
            )
        }
        HirKind::Capture(capture) => digits(&capture.sub),
        HirKind::Concat(parts) => {
            let mut sum = 0;
            for part in parts {
                let (count, whole) = digits(part);
                sum += count;
                if !whole {
                    return (sum, false);
                }
            }
            (sum, true)
        }
        HirKind::Alternation(branches) => branches
            .iter()
            .map(digits)
            .fold((usize::MAX, true), |(least, all), (count, whole)| {
                (least.min(count), all && whole)
            }),
    }
}

fn class_digits(class: &Class) -> (usize, bool) {
    let bytes = |test: fn(u8) -> bool| match class {
        Class::Bytes(ranges) => ranges
            .iter()
            .all(|range| (range.start()..=range.end()).all(test)),
        Class::Unicode(ranges) => ranges.iter().all(|range| {
            range.end().is_ascii() && (range.start()..=range.end()).all(|c| test(c as u8))
        }),
    };
    let digit = bytes(|byte| byte.is_ascii_digit());
    let whole = bytes(|byte| byte.is_ascii_digit() || is_mark(byte));
    (usize::from(digit), whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn literals(head: &str) -> (Vec<String>, usize) {
        match of(head).0 {
            Need::Literal {
                literals, reach, ..
            } => {
                let text = literals.into_iter().map(|l| String::from_utf8(l).unwrap());
                (text.collect(), reach)
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_prefix_needs_nothing_more() {
        assert_eq!(of("ghp_[A-Za-z0-9]{36}").0, Need::Start);
        assert_eq!(of("(?i)passw(?:ord|d)").0, Need::Start);
    }

    #[test]
    fn rare_literals_are_found_inside() {
        let at = |reach| (vec!["@".to_owned()], reach);
        assert_eq!(literals(r"[a-z0-9.]{1,64}@[a-z]{2,9}\.[a-z]{2,9}"), at(65));
        assert_eq!(literals(r"(?:[a-z]{1,9}@){1,3}x"), at(10));
        let (either, reach) = literals(r"[a-z]{1,20}(?:://[a-z]|-US[0-9])");
        assert_eq!(reach, 23 + 1);
        assert!(
            either
                .iter()
                .all(|l| l.starts_with("://") || l.starts_with("-US"))
        );
    }

    #[test]
    fn numbers_need_their_digits() {
        assert_eq!(of(r"[0-9](?:[ .-]?[0-9]){11,18}").0, Need::Digits(12));
        assert_eq!(
            of(r"(?:\+1 ?)?[2-9][0-9]{2}[ -][0-9]{3}-[0-9]{4}(?: x[0-9])?").0,
            Need::Digits(10)
        );
        assert_eq!(of(r"[0-9]{8}[a-z]{2}[0-9]{4}").0, Need::Digits(8));
    }
}
