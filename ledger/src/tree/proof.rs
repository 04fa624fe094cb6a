//! Inclusion and consistency proofs (RFC 6962 §2.1.1 and §2.1.2; verification as in RFC 9162).

use super::{Hash, Tree, node_hash};

/// The audit path of the leaf `index` in the tree over `leaves`; none if there is no such leaf.
pub fn inclusion_proof(leaves: &[Hash], index: u64) -> Option<Vec<Hash>> {
    let mut index = usize::try_from(index).ok()?;
    let mut rest = leaves;
    let mut path = Vec::new();
    if index >= rest.len() {
        return None;
    }
    while rest.len() > 1 {
        let (left, right) = rest.split_at(split(rest.len()));
        if index < left.len() {
            path.push(root(right));
            rest = left;
        } else {
            path.push(root(left));
            index -= left.len();
            rest = right;
        }
    }
    path.reverse();
    Some(path)
}

/// The proof that the tree over the first `old` of `leaves` is a prefix of the tree over all of
/// them; none if there are fewer leaves. It is empty for the sizes at which nothing has to be shown.
pub fn consistency_proof(leaves: &[Hash], old: u64) -> Option<Vec<Hash>> {
    let mut old = usize::try_from(old).ok()?;
    let mut rest = leaves;
    let mut path = Vec::new();
    if old > rest.len() {
        return None;
    }
    if old == 0 || old == rest.len() {
        return Some(path);
    }
    // True as long as the old tree is the leftmost subtree at hand: its root is then known.
    let mut whole = true;
    while old < rest.len() {
        let (left, right) = rest.split_at(split(rest.len()));
        if old <= left.len() {
            path.push(root(right));
            rest = left;
        } else {
            path.push(root(left));
            old -= left.len();
            rest = right;
            whole = false;
        }
    }
    if !whole {
        path.push(root(rest));
    }
    path.reverse();
    Some(path)
}

/// Whether `path` proves that `leaf` is leaf `index` of the tree of `size` leaves under `root`.
pub fn verify_inclusion(leaf: &Hash, index: u64, size: u64, path: &[Hash], root: &Hash) -> bool {
    if index >= size {
        return false;
    }
    let (mut node, mut last) = (index, size - 1);
    let mut hash = *leaf;
    for step in path {
        if last == 0 {
            return false;
        }
        if node & 1 == 1 || node == last {
            hash = node_hash(step, &hash);
            // A right edge skips the levels at which it has no left sibling.
            while node & 1 == 0 && node != 0 {
                node >>= 1;
                last >>= 1;
            }
        } else {
            hash = node_hash(&hash, step);
        }
        node >>= 1;
        last >>= 1;
    }
    last == 0 && hash == *root
}

/// Whether `path` proves that the tree of `old` leaves under `old_root` is a prefix of the tree of
/// `new` leaves under `new_root`.
pub fn verify_consistency(
    old: u64,
    new: u64,
    old_root: &Hash,
    new_root: &Hash,
    path: &[Hash],
) -> bool {
    if old > new {
        return false;
    }
    if old == new {
        return path.is_empty() && old_root == new_root;
    }
    if old == 0 {
        return path.is_empty() && *old_root == super::empty_root();
    }
    // A perfect old tree is a node of the new one, so the proof leaves it out.
    let start = if old.is_power_of_two() {
        Some((old_root, path))
    } else {
        path.split_first()
    };
    let Some((first, path)) = start else {
        return false;
    };
    let (mut node, mut last) = (old - 1, new - 1);
    let odd = node.trailing_ones();
    node = node.checked_shr(odd).unwrap_or(0);
    last = last.checked_shr(odd).unwrap_or(0);
    let (mut old_hash, mut new_hash) = (*first, *first);
    for step in path {
        if last == 0 {
            return false;
        }
        if node & 1 == 1 || node == last {
            old_hash = node_hash(step, &old_hash);
            new_hash = node_hash(step, &new_hash);
            while node & 1 == 0 && node != 0 {
                node >>= 1;
                last >>= 1;
            }
        } else {
            new_hash = node_hash(&new_hash, step);
        }
        node >>= 1;
        last >>= 1;
    }
    last == 0 && old_hash == *old_root && new_hash == *new_root
}

/// The largest power of two below `count`, for counts above 1.
pub(super) fn split(count: usize) -> usize {
    count.next_power_of_two() / 2
}

fn root(leaves: &[Hash]) -> Hash {
    let mut tree = Tree::new();
    for leaf in leaves {
        tree.push(*leaf);
    }
    tree.root()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tests::{leaves, naive_root};
    use super::*;

    /// PATH(m, D[n]) of RFC 6962 §2.1.1.
    fn naive_path(index: usize, leaves: &[Hash]) -> Vec<Hash> {
        if leaves.len() == 1 {
            return Vec::new();
        }
        let (left, right) = leaves.split_at(split(leaves.len()));
        let (mut path, other) = if index < left.len() {
            (naive_path(index, left), naive_root(right))
        } else {
            (naive_path(index - left.len(), right), naive_root(left))
        };
        path.push(other);
        path
    }

    /// SUBPROOF(m, D[n], b) of RFC 6962 §2.1.2.
    fn naive_subproof(old: usize, leaves: &[Hash], whole: bool) -> Vec<Hash> {
        if old == leaves.len() {
            return if whole {
                Vec::new()
            } else {
                vec![naive_root(leaves)]
            };
        }
        let (left, right) = leaves.split_at(split(leaves.len()));
        let (mut proof, other) = if old <= left.len() {
            (naive_subproof(old, left, whole), naive_root(right))
        } else {
            (
                naive_subproof(old - left.len(), right, false),
                naive_root(left),
            )
        };
        proof.push(other);
        proof
    }

    #[test]
    fn all_small_trees() {
        for new in 1..40usize {
            let leaves = leaves(new);
            let root = naive_root(&leaves);
            for index in 0..new {
                let path = inclusion_proof(&leaves, index as u64).unwrap();
                assert_eq!(path, naive_path(index, &leaves));
                for claimed in 0..new + 2 {
                    let holds =
                        verify_inclusion(&leaves[index], claimed as u64, new as u64, &path, &root);
                    assert_eq!(holds, claimed == index, "{claimed} {index} of {new}");
                }
            }
            for old in 0..=new {
                let proof = consistency_proof(&leaves, old as u64).unwrap();
                if old > 0 {
                    assert_eq!(proof, naive_subproof(old, &leaves, true));
                }
                let old_root = naive_root(&leaves[..old]);
                assert!(verify_consistency(
                    old as u64, new as u64, &old_root, &root, &proof
                ));
            }
            assert!(inclusion_proof(&leaves, new as u64).is_none());
            assert!(consistency_proof(&leaves, new as u64 + 1).is_none());
        }
    }

    proptest! {
        #[test]
        fn a_changed_proof_proves_nothing(
            new in 2usize..200, at in any::<prop::sample::Index>(), bit in 0u8..8, what in 0usize..3,
        ) {
            let leaves = leaves(new);
            let root = naive_root(&leaves);
            let index = at.index(new);
            let mut path = inclusion_proof(&leaves, index as u64).unwrap();
            let mut proof = consistency_proof(&leaves, index as u64 + 1).unwrap();
            let old_root = naive_root(&leaves[..=index]);
            for list in [&mut path, &mut proof] {
                match what {
                    0 if !list.is_empty() => {
                        let target = at.index(list.len());
                        list[target][usize::from(bit)] ^= 1 << bit;
                    }
                    1 if !list.is_empty() => drop(list.pop()),
                    _ => list.push([bit; 32]),
                }
            }
            let (old, size) = (index as u64 + 1, new as u64);
            prop_assert!(!verify_inclusion(&leaves[index], index as u64, size, &path, &root));
            // Between equal sizes nothing is proved by a path; an empty one was only popped above.
            if !(proof.is_empty() && old == size) {
                prop_assert!(!verify_consistency(old, size, &old_root, &root, &proof));
            }
            let other = [bit; 32];
            let good = consistency_proof(&leaves, old).unwrap();
            prop_assert!(!verify_consistency(old, size, &other, &root, &good));
            prop_assert!(!verify_consistency(old, size, &old_root, &other, &good));
        }
    }
}
