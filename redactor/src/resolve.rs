//! From overlapping findings to disjoint ones: the more certain wins, then the longer.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::finding::Finding;

/// From this score on a secret wins over everything inside it.
const SURE: u8 = 80;

/// Sorted, disjoint findings. One that overlaps a better one is dropped.
pub(crate) fn resolve(mut findings: Vec<Finding>) -> Vec<Finding> {
    if findings.len() < 2 {
        findings.retain(|finding| finding.start < finding.end);
        return findings;
    }
    let findings = outside_secrets(findings);
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
            [one] => kept.extend(Some(*one).filter(|one| one.start < one.end)),
            several => kept.extend(best(several.to_vec())),
        }
        left = rest;
    }
    kept
}

/// Those of some findings that overlap no better one.
fn best(mut findings: Vec<Finding>) -> impl Iterator<Item = Finding> {
    findings.sort_by_key(|f| (Reverse(f.score), Reverse(f.end - f.start), f.start, f.rule));
    let mut kept: BTreeMap<usize, Finding> = BTreeMap::new();
    for finding in findings {
        let before = kept.range(..=finding.start).next_back();
        let after = kept.range(finding.start..).next();
        let free = before.is_none_or(|(_, known)| known.end <= finding.start)
            && after.is_none_or(|(start, _)| *start >= finding.end);
        if free && finding.start < finding.end {
            kept.insert(finding.start, finding);
        }
    }
    kept.into_values()
}

/// What does not lie inside a secret: a password that looks like a mail address with something
/// behind it is replaced as a whole, whatever its parts look like.
fn outside_secrets(mut findings: Vec<Finding>) -> Vec<Finding> {
    findings.sort_by_key(|f| (f.start, Reverse(f.end), Reverse(f.score)));
    let mut reached = 0;
    findings.retain(|finding| {
        let inside = finding.end <= reached;
        if finding.label.is_secret() && finding.score >= SURE {
            reached = reached.max(finding.end);
        }
        !inside
    });
    findings
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
            spans in proptest::collection::vec((0usize..60, 0usize..9, 0u8..4), 0..24),
        ) {
            let all: Vec<Finding> = spans
                .iter()
                .map(|(start, length, score)| finding(*start, start + length, *score))
                .collect();
            let whole: Vec<Finding> = best(outside_secrets(all.clone())).collect();
            proptest::prop_assert_eq!(resolve(all), whole);
        }
    }

    #[test]
    fn the_better_one_wins_and_the_rest_stays() {
        let found = resolve(vec![
            finding(0, 10, 70),
            finding(8, 20, 90),
            finding(20, 30, 60),
        ]);
        assert_eq!(found, [finding(8, 20, 90), finding(20, 30, 60)]);
    }

    #[test]
    fn a_chain_of_overlaps_is_open_from_its_start() {
        let chain = [finding(0, 10, 70), finding(8, 20, 80), finding(18, 30, 90)];
        assert_eq!(settled(&chain, 25), 0);
        assert_eq!(settled(&chain, 30), 30);
        assert_eq!(settled(&[finding(0, 10, 70)], 10), 10);
    }
}
