//! The Merkle tree of RFC 6962 §2.1, grown leaf by leaf.

mod nodes;
mod proof;

use gatehouse_envelope::digest::sha256;

pub use nodes::Nodes;
pub use proof::{consistency_proof, inclusion_proof, verify_consistency, verify_inclusion};

/// A node of the tree.
pub type Hash = [u8; 32];

/// `SHA-256(0x00 ‖ leaf)`.
pub fn leaf_hash(leaf: &[u8]) -> Hash {
    sha256(&[&[0], leaf])
}

/// `SHA-256(0x01 ‖ left ‖ right)`.
pub fn node_hash(left: &Hash, right: &Hash) -> Hash {
    sha256(&[&[1], left, right])
}

/// The root of the tree without leaves: the digest of nothing.
pub fn empty_root() -> Hash {
    sha256(&[])
}

/// A tree of which only the right edge is kept: enough to add leaves and to know the root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    size: u64,
    /// The roots of the perfect subtrees that `size` is made of, the largest first: one for each
    /// bit that is set in `size`.
    edge: Vec<Hash>,
}

impl Tree {
    /// The tree without leaves.
    pub fn new() -> Self {
        Self {
            size: 0,
            edge: Vec::new(),
        }
    }

    /// The tree of `size` leaves whose right edge is `edge`; none if the two do not fit.
    pub fn from_edge(size: u64, edge: Vec<Hash>) -> Option<Self> {
        (u64::try_from(edge.len()) == Ok(u64::from(size.count_ones())))
            .then_some(Self { size, edge })
    }

    /// Adds a leaf by its hash.
    pub fn push(&mut self, leaf: Hash) {
        let mut node = leaf;
        // Each set bit at the low end is a perfect subtree as large as the one at hand.
        for _ in 0..self.size.trailing_ones() {
            if let Some(left) = self.edge.pop() {
                node = node_hash(&left, &node);
            }
        }
        self.edge.push(node);
        self.size += 1;
    }

    /// The number of leaves.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The roots of the perfect subtrees, the largest first.
    pub fn edge(&self) -> &[Hash] {
        &self.edge
    }

    /// The root over all leaves.
    pub fn root(&self) -> Hash {
        let mut subtrees = self.edge.iter().rev();
        let Some(last) = subtrees.next() else {
            return empty_root();
        };
        subtrees.fold(*last, |right, left| node_hash(left, &right))
    }
}

impl Default for Tree {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use data_encoding::HEXLOWER;
    use proptest::prelude::*;

    use super::*;

    /// The definition of RFC 6962 §2.1, word for word.
    pub(super) fn naive_root(leaves: &[Hash]) -> Hash {
        match leaves {
            [] => sha256(&[]),
            [leaf] => *leaf,
            _ => {
                let half = leaves.len().next_power_of_two() / 2;
                node_hash(&naive_root(&leaves[..half]), &naive_root(&leaves[half..]))
            }
        }
    }

    pub(super) fn leaves(count: usize) -> Vec<Hash> {
        (0..count).map(|n| leaf_hash(&n.to_be_bytes())).collect()
    }

    #[test]
    fn known_roots() {
        // The test vectors that Certificate Transparency implementations share.
        let data: [&[u8]; 8] = [
            b"",
            b"\x00",
            b"\x10",
            b"\x20\x21",
            b"\x30\x31",
            b"\x40\x41\x42\x43",
            b"\x50\x51\x52\x53\x54\x55\x56\x57",
            b"\x60\x61\x62\x63\x64\x65\x66\x67\x68\x69\x6a\x6b\x6c\x6d\x6e\x6f",
        ];
        let mut tree = Tree::new();
        let root = |tree: &Tree| HEXLOWER.encode(&tree.root());
        assert!(root(&tree).starts_with("e3b0c44298fc1c149afbf4c8996fb924"));
        tree.push(leaf_hash(data[0]));
        assert!(root(&tree).starts_with("6e340b9cffb37a989ca544e6bb780a2c"));
        for leaf in &data[1..] {
            tree.push(leaf_hash(leaf));
        }
        assert!(root(&tree).starts_with("5dc9da79a70659a9ad559cb701ded9a2"));
    }

    #[test]
    fn an_edge_of_the_wrong_length_is_no_tree() {
        assert!(Tree::from_edge(3, leaves(2)).is_some());
        assert!(Tree::from_edge(3, leaves(1)).is_none());
        assert!(Tree::from_edge(0, leaves(1)).is_none());
    }

    proptest! {
        #[test]
        fn grows_as_defined(count in 0usize..300, again in 0usize..300) {
            let leaves = leaves(count);
            let mut tree = Tree::new();
            for (index, leaf) in leaves.iter().enumerate() {
                if index == again % (count + 1) {
                    tree = Tree::from_edge(tree.size(), tree.edge().to_vec()).unwrap();
                }
                tree.push(*leaf);
            }
            prop_assert_eq!(tree.root(), naive_root(&leaves));
            prop_assert_eq!(tree.size(), count as u64);
        }
    }
}
