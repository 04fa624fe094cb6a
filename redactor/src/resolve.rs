//! From overlapping hits to disjoint findings: the more certain one wins, then the longer one.

use crate::finding::Finding;

/// Sorted, disjoint findings. A hit that overlaps a better one is dropped.
pub(crate) fn resolve(mut hits: Vec<Finding>) -> Vec<Finding> {
    hits.sort_by_key(|hit| {
        (
            std::cmp::Reverse(hit.score),
            std::cmp::Reverse(hit.end - hit.start),
            hit.start,
        )
    });
    let mut kept: std::collections::BTreeMap<usize, Finding> = std::collections::BTreeMap::new();
    for hit in hits {
        let free_before = kept
            .range(..=hit.start)
            .next_back()
            .is_none_or(|(_, k)| k.end <= hit.start);
        let free_after = kept
            .range(hit.start..)
            .next()
            .is_none_or(|(start, _)| *start >= hit.end);
        if free_before && free_after && hit.start < hit.end {
            kept.insert(hit.start, hit);
        }
    }
    kept.into_values().collect()
}
