//! What a head begins with, byte by byte.

use regex_syntax::hir::{Class, Hir, HirKind};

use super::bytes::Bytes;

/// More bytes than this are not looked at.
pub(super) const LONGEST_SHAPE: usize = 16;
/// Which bytes a match begins with, place by place as far as every match has them, and whether
/// that is all of it.
pub(super) fn shape(hir: &Hir) -> (Vec<Bytes>, bool) {
    let one = || {
        let mut set = Bytes::default();
        set.of(hir);
        (vec![set], true)
    };
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => (Vec::new(), true),
        HirKind::Class(Class::Bytes(_)) => one(),
        HirKind::Class(Class::Unicode(_)) => (Vec::new(), false),
        HirKind::Literal(literal) => {
            let bytes = literal.0.iter().take(LONGEST_SHAPE);
            (
                bytes.map(|byte| Bytes::from(*byte)).collect(),
                literal.0.len() <= LONGEST_SHAPE,
            )
        }
        HirKind::Repetition(repetition) => {
            let (sub, whole) = shape(&repetition.sub);
            let times = if whole {
                repetition.min
            } else {
                repetition.min.min(1)
            };
            let places = times as usize * sub.len();
            let fixed = whole && repetition.max == Some(repetition.min);
            let row = sub.iter().cycle().take(places.min(LONGEST_SHAPE)).cloned();
            (row.collect(), fixed && places <= LONGEST_SHAPE)
        }
        HirKind::Capture(capture) => shape(&capture.sub),
        HirKind::Concat(parts) => {
            let mut row = Vec::new();
            for part in parts {
                let (more, whole) = shape(part);
                row.extend(more);
                if !whole || row.len() > LONGEST_SHAPE {
                    row.truncate(LONGEST_SHAPE);
                    return (row, false);
                }
            }
            (row, true)
        }
        HirKind::Alternation(branches) => either(branches),
    }
}

/// What all branches have, as far as the shortest goes.
fn either(branches: &[Hir]) -> (Vec<Bytes>, bool) {
    let mut rows = branches.iter().map(shape);
    let Some((mut row, mut whole)) = rows.next() else {
        return (Vec::new(), false);
    };
    for (other, fixed) in rows {
        whole &= fixed && other.len() == row.len();
        row.truncate(other.len());
        row.iter_mut()
            .zip(&other)
            .for_each(|(set, more)| set.join(more));
    }
    (row, whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_go_as_far_as_every_match_does() {
        let shape = |head: &str| {
            shape(
                &regex_syntax::ParserBuilder::new()
                    .utf8(false)
                    .unicode(false)
                    .build()
                    .parse(head)
                    .unwrap(),
            )
        };
        let (row, whole) = shape("[A-HJ-NPR-Z0-9]{17}");
        assert_eq!((row.len(), whole), (LONGEST_SHAPE, false));
        assert!(row.iter().all(|set| set.holds(b'A') && !set.holds(b'I')));
        let (row, whole) = shape("[ab]{2}(?:x|y[0-9])");
        assert_eq!((row.len(), whole), (3, false));
        assert!(row[2].holds(b'x') && row[2].holds(b'y'));
        assert_eq!(shape("[ab]{1,2}c").0.len(), 1);
        assert!(shape("a?b").0.is_empty());
    }
}
