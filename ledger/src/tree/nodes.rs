//! A tree of which every perfect subtree is kept: proofs of any leaf, at any size, in a few steps.

use super::{Hash, empty_root, node_hash, proof::split};

/// The perfect subtrees of a growing tree, 64 bytes a leaf.
#[derive(Clone, Debug, Default)]
pub struct Nodes {
    /// By height: the roots of the perfect subtrees of that height, from the left.
    levels: Vec<Vec<Hash>>,
}

impl Nodes {
    /// Adds a leaf by its hash.
    pub fn push(&mut self, leaf: Hash) {
        let mut node = leaf;
        for height in 0.. {
            if self.levels.len() == height {
                self.levels.push(Vec::new());
            }
            let Some(level) = self.levels.get_mut(height) else {
                return;
            };
            level.push(node);
            match level.as_slice() {
                [.., left, right] if level.len().is_multiple_of(2) => {
                    node = node_hash(left, right);
                }
                _ => return,
            }
        }
    }

    /// The number of leaves.
    pub fn size(&self) -> u64 {
        self.levels.first().map_or(0, |leaves| leaves.len() as u64)
    }

    /// The root over the first `size` leaves; none if there are fewer.
    pub fn root(&self, size: u64) -> Option<Hash> {
        let size = self.within(size)?;
        match size {
            0 => Some(empty_root()),
            _ => self.subtree(0, size),
        }
    }

    /// The audit path of the leaf `index` in the tree over the first `size` leaves; none if there is
    /// no such leaf.
    pub fn inclusion(&self, index: u64, size: u64) -> Option<Vec<Hash>> {
        let (mut index, mut size) = (usize::try_from(index).ok()?, self.within(size)?);
        let (mut from, mut path) = (0, Vec::new());
        if index >= size {
            return None;
        }
        while size > 1 {
            let left = split(size);
            if index < left {
                path.push(self.subtree(from + left, size - left)?);
                size = left;
            } else {
                path.push(self.subtree(from, left)?);
                (from, index, size) = (from + left, index - left, size - left);
            }
        }
        path.reverse();
        Some(path)
    }

    /// The proof that the tree over the first `old` leaves is a prefix of that over the first `size`;
    /// none if there are fewer. It is empty for the sizes at which nothing has to be shown.
    pub fn consistency(&self, old: u64, size: u64) -> Option<Vec<Hash>> {
        let (mut old, mut size) = (usize::try_from(old).ok()?, self.within(size)?);
        let (mut from, mut path) = (0, Vec::new());
        if old > size {
            return None;
        }
        if old == 0 || old == size {
            return Some(path);
        }
        while old < size {
            let left = split(size);
            if old <= left {
                path.push(self.subtree(from + left, size - left)?);
                size = left;
            } else {
                path.push(self.subtree(from, left)?);
                (from, old, size) = (from + left, old - left, size - left);
            }
        }
        // The old tree's root is known where that tree is the leftmost subtree.
        if from > 0 {
            path.push(self.subtree(from, size)?);
        }
        path.reverse();
        Some(path)
    }

    fn within(&self, size: u64) -> Option<usize> {
        usize::try_from(size).ok().filter(|_| size <= self.size())
    }

    /// The root over `count` leaves, at least one, from `from`: a multiple of the power of two that
    /// `count` is, or fits into.
    fn subtree(&self, from: usize, count: usize) -> Option<Hash> {
        if count.is_power_of_two() {
            let height = usize::try_from(count.trailing_zeros()).ok()?;
            return self.levels.get(height)?.get(from >> height).copied();
        }
        let left = split(count);
        let right = self.subtree(from + left, count - left)?;
        Some(node_hash(&self.subtree(from, left)?, &right))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{consistency_proof, inclusion_proof, tests::leaves};
    use super::*;

    /// Every proof of every size up to 70 is that of the definition.
    #[test]
    fn proofs_are_those_of_the_definition() {
        let all = leaves(70);
        let mut nodes = Nodes::default();
        assert_eq!(nodes.root(0), Some(empty_root()));
        all.iter().for_each(|leaf| nodes.push(*leaf));
        for size in 0..=70_u64 {
            let some = &all[..usize::try_from(size).unwrap()];
            for index in 0..=size {
                assert_eq!(nodes.inclusion(index, size), inclusion_proof(some, index));
                assert_eq!(
                    nodes.consistency(index, size),
                    consistency_proof(some, index)
                );
            }
            assert_eq!(nodes.consistency(size + 1, size), None);
        }
        for beyond in [nodes.inclusion(0, 71), nodes.consistency(0, 71)] {
            assert_eq!(beyond, None);
        }
        assert_eq!(nodes.root(71), None);
    }

    #[test]
    fn roots_are_those_of_the_growing_tree() {
        let (mut nodes, mut tree) = (Nodes::default(), super::super::Tree::new());
        for leaf in leaves(300) {
            nodes.push(leaf);
            tree.push(leaf);
            assert_eq!(
                (nodes.size(), nodes.root(tree.size())),
                (tree.size(), Some(tree.root()))
            );
        }
        assert_eq!(nodes.root(129).map(|root| root == tree.root()), Some(false));
    }
}
