//! The nodes of the tree of seals, read from few of the seals: each has the right edge of the tree
//! before it (see [`Seal::edge`]), and every perfect subtree of the tree is made of ends of such
//! edges.

use std::collections::HashMap;

use super::AnchorError;
use crate::{
    names,
    seal::{MAX_SEAL, Seal},
    store::Fetcher,
    tree::{Hash, Tree, leaf_hash, node_hash},
};

/// What is needed of one seal.
struct Read {
    edge: Vec<Hash>,
    leaf: Hash,
}

/// The tree of the first seals of a log.
pub(super) struct Nodes<'s> {
    store: &'s dyn Fetcher,
    log: &'s str,
    tree: Tree,
    read: HashMap<u64, Read>,
}

impl<'s> Nodes<'s> {
    /// The tree with seal `number` as its last leaf.
    pub(super) fn up_to(
        store: &'s dyn Fetcher,
        log: &'s str,
        number: u64,
    ) -> Result<(Self, Seal), AnchorError> {
        let mut nodes = Self {
            store,
            log,
            tree: Tree::new(),
            read: HashMap::new(),
        };
        let (seal, leaf) = nodes.seal(number)?;
        let tree = Tree::from_edge(number, seal.edge.clone());
        nodes.tree = tree.ok_or(AnchorError::Seal(number))?;
        nodes.tree.push(leaf);
        Ok((nodes, seal))
    }

    pub(super) fn tree(&self) -> &Tree {
        &self.tree
    }

    /// The proof that the tree of `old` leaves is a prefix of this one (RFC 6962 §2.1.2).
    pub(super) fn consistency(&mut self, old: u64) -> Result<Vec<Hash>, AnchorError> {
        let ranges = consistency_ranges(old, self.tree.size());
        let roots = ranges.into_iter();
        roots.map(|(start, end)| self.root(start, end)).collect()
    }

    /// The root over the leaves from `start` to before `end`, a subtree of this tree.
    fn root(&mut self, start: u64, end: u64) -> Result<Hash, AnchorError> {
        let count = end - start;
        if count.is_power_of_two() {
            return self.perfect(start, count);
        }
        let half = count.next_power_of_two() / 2;
        let left = self.perfect(start, half)?;
        Ok(node_hash(&left, &self.root(start + half, end)?))
    }

    /// The root of a perfect subtree of `count` leaves.
    fn perfect(&mut self, start: u64, count: u64) -> Result<Hash, AnchorError> {
        if count == 1 {
            return Ok(self.read(start)?.leaf);
        }
        let end = start + count;
        if (start / count).is_multiple_of(2) {
            // A left one: with its last leaf it became the end of the edge.
            let edge = match end == self.tree.size() {
                true => self.tree.edge(),
                false => self.read(end)?.edge.as_slice(),
            };
            return edge.last().copied().ok_or(AnchorError::Seal(end));
        }
        let half = count / 2;
        let left = self.perfect(start, half)?;
        Ok(node_hash(&left, &self.perfect(start + half, half)?))
    }

    fn read(&mut self, number: u64) -> Result<&Read, AnchorError> {
        if !self.read.contains_key(&number) {
            self.seal(number)?;
        }
        self.read.get(&number).ok_or(AnchorError::Seal(number))
    }

    fn seal(&mut self, number: u64) -> Result<(Seal, Hash), AnchorError> {
        let (seal, leaf) = read_seal(self.store, self.log, number)?;
        let edge = seal.edge.clone();
        self.read.insert(number, Read { edge, leaf });
        Ok((seal, leaf))
    }
}

/// A seal, and its hash as a leaf.
pub(super) fn read_seal(
    store: &dyn Fetcher,
    log: &str,
    number: u64,
) -> Result<(Seal, Hash), AnchorError> {
    let name = names::seal(log, number);
    let bytes = store.get(&name, MAX_SEAL)?.unwrap_or_default();
    let seal = Seal::parse(&bytes).ok();
    let seal = seal.filter(|seal| seal.log == log && seal.number == number);
    Ok((seal.ok_or(AnchorError::Seal(number))?, leaf_hash(&bytes)))
}

/// Of which ranges of leaves the roots make the consistency proof, in its order; none at the sizes
/// at which nothing has to be shown.
fn consistency_ranges(old: u64, size: u64) -> Vec<(u64, u64)> {
    let (mut start, mut end) = (0, size);
    let mut ranges = Vec::new();
    if old == 0 || old >= size {
        return ranges;
    }
    while old < end {
        let half = (end - start).next_power_of_two() / 2;
        let middle = start + half;
        if old <= middle {
            ranges.push((middle, end));
            end = middle;
        } else {
            ranges.push((start, middle));
            start = middle;
        }
    }
    // The old tree itself is known; a part of it that is no whole subtree is not.
    if start > 0 {
        ranges.push((start, end));
    }
    ranges.reverse();
    ranges
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{
        store::{LedgerStore, Memory},
        tree::consistency_proof,
    };

    /// A log of seals that list nothing: only their places matter here.
    fn seals(count: u64) -> (Memory, Vec<Hash>) {
        let (store, mut tree, mut leaves) = (Memory::default(), Tree::new(), Vec::new());
        for number in 0..count {
            let seal = Seal {
                log: "prod".into(),
                number,
                unix_us: number,
                previous: (number > 0).then_some([1; 32]),
                edge: tree.edge().to_vec(),
                streams: Vec::new(),
            };
            let bytes = seal.bytes();
            store
                .put_once(&names::seal("prod", number), &bytes)
                .unwrap();
            leaves.push(leaf_hash(&bytes));
            tree.push(leaf_hash(&bytes));
        }
        (store, leaves)
    }

    #[test]
    fn proofs_of_all_small_logs() {
        let (store, leaves) = seals(70);
        for size in 1..=70_u64 {
            for old in 0..=size {
                let (mut nodes, seal) = Nodes::up_to(&store, "prod", size - 1).unwrap();
                assert_eq!((seal.number, nodes.tree().size()), (size - 1, size));
                let wanted = consistency_proof(&leaves[..size as usize], old).unwrap();
                assert_eq!(nodes.consistency(old).unwrap(), wanted, "{old} {size}");
            }
        }
    }

    #[test]
    fn few_seals_are_read() {
        let (store, leaves) = seals(3000);
        for (old, size) in [
            (1, 3000),
            (1023, 3000),
            (1025, 2047),
            (2047, 2999),
            (2999, 3000),
        ] {
            let (mut nodes, _) = Nodes::up_to(&store, "prod", size - 1).unwrap();
            let wanted = consistency_proof(&leaves[..size as usize], old).unwrap();
            assert_eq!(nodes.consistency(old).unwrap(), wanted, "{old} {size}");
            assert!(nodes.read.len() <= 80, "{old} {size}: {}", nodes.read.len());
        }
    }

    #[test]
    fn a_seal_that_is_missing_or_another_is_an_error() {
        let (store, _) = seals(9);
        let mut objects = store.objects();
        let moved = objects.remove(&names::seal("prod", 4)).unwrap();
        let (mut nodes, _) = Nodes::up_to(&store, "prod", 8).unwrap();
        assert!(nodes.consistency(4).is_ok());
        let without = Memory::with(objects.clone());
        assert!(Nodes::up_to(&without, "prod", 4).is_err());
        objects.insert(names::seal("prod", 5), moved);
        assert!(matches!(
            Nodes::up_to(&Memory::with(objects), "prod", 5),
            Err(AnchorError::Seal(5))
        ));
    }

    proptest! {
        #[test]
        fn ranges_are_dense(old in 1u64..5000, more in 1u64..5000) {
            let size = old + more;
            let mut ranges = consistency_ranges(old, size);
            ranges.sort_unstable();
            let from = if old.is_power_of_two() { old } else { 0 };
            let mut at = from;
            for (start, end) in ranges {
                prop_assert!(start == at && end > start);
                at = end;
            }
            prop_assert_eq!(at, size);
        }
    }
}
