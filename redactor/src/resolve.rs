//! From overlapping findings to disjoint ones: the more certain wins, then the longer. What is left of
//! the other is kept if that is most of it.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::finding::Finding;

/// From this score on a secret wins over everything inside it.
const SURE: u8 = 80;

/// Sorted, disjoint findings. One that overlaps a better one by more than its edge is dropped.
pub(crate) fn resolve(mut findings: Vec<Finding>) -> Vec<Finding> {
    findings.retain(|finding| finding.start < finding.end);
    if findings.len() < 2 {
        return findings;
    }
    findings.sort_by_key(|f| (f.start, Reverse(f.end), Reverse(f.score)));
    let mut kept = Vec::with_capacity(findings.len());
    let mut left = findings.as_slice();
    while let Some(first) = left.first() {
        // Most overlap nothing. Only those that hang together are weighed against each other.
        let mut reached = first.end;
        let joined = left.iter().skip(1).take_while(|finding| {
            let joined = finding.start < reached;
            reached = reached.max(finding.end);
            joined
        });
        let (together, rest) = left.split_at(1 + joined.count());
        match together {
            [one] => kept.push(*one),
            several => kept.extend(best(several.to_vec())),
        }
        left = rest;
    }
    kept
}

/// Those of some findings, in the order of their starts, that better ones leave.
fn best(findings: Vec<Finding>) -> impl Iterator<Item = Finding> {
    let (mut inside, mut outside) = by_secrets(findings);
    let mut kept: BTreeMap<usize, Finding> = BTreeMap::new();
    // What lies inside a secret counts only if that has lost against something else.
    for some in [&mut outside, &mut inside] {
        some.sort_by_key(|f| (Reverse(f.score), Reverse(f.end - f.start), f.start, f.rule));
        for finding in some.iter() {
            if let Some(part) = beside(&kept, *finding) {
                kept.insert(part.start, part);
            }
        }
    }
    kept.into_values()
}

/// What is left of a finding beside better ones, if that is most of it: two may share no more than a
/// character that reads as several, or a word at the edge of both.
fn beside(kept: &BTreeMap<usize, Finding>, finding: Finding) -> Option<Finding> {
    let before = kept.range(..=finding.start).next_back();
    let after = kept.range(finding.start + 1..).next();
    let start = before.map_or(finding.start, |(_, known)| known.end.max(finding.start));
    let end = after.map_or(finding.end, |(start, _)| finding.end.min(*start));
    let around = after.is_some_and(|(_, known)| known.end < finding.end);
    let most = 4 * end.saturating_sub(start) >= 3 * (finding.end - finding.start);
    (most && !around).then_some(Finding {
        start,
        end,
        ..finding
    })
}

/// What lies inside a secret, and what does not: a password that looks like a mail address with
/// something behind it is replaced as a whole, whatever its parts look like.
fn by_secrets(findings: Vec<Finding>) -> (Vec<Finding>, Vec<Finding>) {
    let mut reached = 0;
    findings.into_iter().partition(|finding| {
        let inside = finding.end <= reached;
        if finding.label.is_secret() && finding.score >= SURE {
            reached = reached.max(finding.end);
        }
        inside
    })
}

/// How much is settled, given what the rules alone leave open: a finding that reaches into the
/// open part may yet lose against a better one, and with it what it overlaps.
pub(crate) fn settled(findings: &[Finding], open: usize) -> usize {
    let mut spans: Vec<(usize, usize)> = findings.iter().map(|f| (f.start, f.end)).collect();
    spans.sort_by_key(|(_, end)| Reverse(*end));
    spans.into_iter().fold(open, |settled, (start, end)| {
        if end > settled {
            settled.min(start)
        } else {
            settled
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::label::Label;

    fn finding(start: usize, end: usize, score: u8) -> Finding {
        Finding {
            start,
            end,
            label: Label::EMAIL,
            score,
            rule: "t",
            certain: true,
        }
    }

    proptest::proptest! {
        /// To weigh those that hang together is to weigh all.
        #[test]
        fn parts_are_resolved_like_the_whole(
            spans in proptest::collection::vec((0usize..60, 0usize..9, 0u8..4, 0u8..3), 0..24),
        ) {
            let secret = |found: Finding, kind: u8| Finding {
                label: if kind == 0 { found.label } else { Label::PASSWORD },
                score: found.score + if kind == 2 { SURE } else { 0 },
                ..found
            };
            let all: Vec<Finding> = spans
                .iter()
                .map(|(start, length, score, kind)| {
                    secret(finding(*start, start + length * (1 + usize::from(*kind)), *score), *kind)
                })
                .collect();
            let mut sorted = all.clone();
            sorted.retain(|f| f.start < f.end);
            sorted.sort_by_key(|f| (f.start, Reverse(f.end), Reverse(f.score)));
            let whole: Vec<Finding> = best(sorted).collect();
            let parts = resolve(all.clone());
            // Whatever was found is covered, or overlaps what is better or longer.
            for found in all.iter().filter(|f| f.start < f.end) {
                let touches = |kept: &Finding| kept.start < found.end && found.start < kept.end;
                proptest::prop_assert!(parts.iter().any(touches));
            }
            proptest::prop_assert_eq!(parts, whole);
        }
    }

    #[test]
    fn the_better_one_wins_and_the_rest_stays() {
        let found = resolve(vec![
            finding(0, 10, 70),
            finding(6, 20, 90),
            finding(20, 30, 60),
        ]);
        assert_eq!(found, [finding(6, 20, 90), finding(20, 30, 60)]);
    }

    #[test]
    fn an_edge_is_shared() {
        let (one, two) = (finding(0, 20, 95), finding(18, 38, 95));
        assert_eq!(resolve(vec![one, two]), [one, finding(20, 38, 95)]);
        let (better, other) = (finding(18, 40, 99), finding(0, 20, 90));
        assert_eq!(resolve(vec![other, better]), [finding(0, 18, 90), better]);
        // What lies around a better one is not cut in two.
        let around = finding(0, 40, 80);
        assert_eq!(
            resolve(vec![around, finding(2, 4, 90)]),
            [finding(2, 4, 90)]
        );
    }

    #[test]
    fn what_lies_in_a_secret_is_dropped_with_it_only_if_that_stands() {
        let secret = |start, end, score| Finding {
            label: Label::PASSWORD,
            ..finding(start, end, score)
        };
        let (mail, key) = (finding(5, 15, 85), secret(15, 60, 99));
        assert_eq!(resolve(vec![mail, secret(0, 20, 90)]), [secret(0, 20, 90)]);
        // The longer one would have covered both; the better one covers only itself.
        assert_eq!(resolve(vec![secret(0, 25, 90), mail, key]), [mail, key]);
        assert_eq!(
            resolve(vec![secret(0, 25, 90), mail, key, finding(22, 24, 10)]),
            [mail, key]
        );
    }

    #[test]
    fn a_chain_of_overlaps_is_open_from_its_start() {
        let chain = [finding(0, 10, 70), finding(8, 20, 80), finding(18, 30, 90)];
        assert_eq!(settled(&chain, 25), 0);
        assert_eq!(settled(&chain, 30), 30);
        assert_eq!(settled(&[finding(0, 10, 70)], 10), 10);
    }
}
