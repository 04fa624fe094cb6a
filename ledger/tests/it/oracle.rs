//! Notes, checkpoints, cosignatures, roots and proofs against another implementation of the same
//! specifications (Cloudflare's `signed_note` and `tlog_tiles`): what ours makes holds there, and
//! what theirs makes holds here.

use data_encoding::BASE64;
use gatehouse_envelope::{
    secret::Secret,
    sign::{MemorySigner, Signer as _},
};
use gatehouse_ledger::{
    cosign::{WitnessKey, cosign},
    note::{Key, Note, checkpoint, sign},
    tree::{
        Hash, Tree, consistency_proof, inclusion_proof, leaf_hash, verify_consistency,
        verify_inclusion,
    },
};
use proptest::prelude::*;
use signed_note::{Signer as _, StandardSigner, StandardVerifier, Verifier, VerifierList};

/// One key in both implementations.
fn both(name: &str, seed: [u8; 32]) -> (MemorySigner, StandardSigner) {
    let ours = MemorySigner::from_seed(name, &Secret::new(seed)).unwrap();
    let key = BASE64.encode(&[&[1][..], &seed].concat());
    let reference = Key::of(&ours).unwrap().reference();
    let theirs = StandardSigner::new(&format!("PRIVATE+KEY+{reference}+{key}")).unwrap();
    (ours, theirs)
}

fn verifier(signer: &MemorySigner) -> StandardVerifier {
    StandardVerifier::new(&Key::of(signer).unwrap().to_string()).unwrap()
}

/// `cosignature/v1` as a verifier of their notes, from the specification and their Ed25519.
struct Witness {
    name: String,
    id: u32,
    ed25519: StandardVerifier,
}

impl Witness {
    fn of(signer: &MemorySigner) -> Self {
        let key = [&[4][..], &signer.public()].concat();
        Self {
            name: signer.name().to_owned(),
            id: signed_note::key_id(signer.name(), &key),
            ed25519: verifier(signer),
        }
    }
}

impl Verifier for Witness {
    fn name(&self) -> &str {
        &self.name
    }

    fn key_id(&self) -> u32 {
        self.id
    }

    fn verify(&self, text: &[u8], signature: &[u8]) -> bool {
        let Some((time, signature)) = signature.split_at_checked(8) else {
            return false;
        };
        let time = u64::from_be_bytes(time.try_into().unwrap());
        let head = format!("cosignature/v1\ntime {time}\n");
        self.ed25519
            .verify(&[head.as_bytes(), text].concat(), signature)
    }
}

/// Their tree: every hash that they store, in their order.
struct Stored(Vec<tlog_tiles::Hash>);

impl Stored {
    fn of(leaves: &[Vec<u8>]) -> Self {
        let mut stored = Self(Vec::new());
        for (index, leaf) in leaves.iter().enumerate() {
            let more = tlog_tiles::stored_hashes(index as u64, leaf, &stored).unwrap();
            stored.0.extend(more);
        }
        stored
    }

    fn root(&self, size: u64) -> tlog_tiles::Hash {
        tlog_tiles::tree_hash(size, self).unwrap()
    }
}

impl tlog_tiles::HashReader for Stored {
    fn read_hashes(&self, indexes: &[u64]) -> Result<Vec<tlog_tiles::Hash>, tlog_tiles::Error> {
        Ok(indexes.iter().map(|at| self.0[*at as usize]).collect())
    }
}

fn leaves(count: u64) -> Vec<Vec<u8>> {
    (0..count).map(|n| n.to_string().into_bytes()).collect()
}

fn root(hashes: &[Hash]) -> Hash {
    let mut tree = Tree::new();
    hashes.iter().for_each(|hash| tree.push(*hash));
    tree.root()
}

fn ours(path: &[tlog_tiles::Hash]) -> Vec<Hash> {
    path.iter().map(|hash| hash.0).collect()
}

fn theirs(path: &[Hash]) -> Vec<tlog_tiles::Hash> {
    path.iter().map(|hash| tlog_tiles::Hash(*hash)).collect()
}

proptest! {
    #[test]
    fn notes_and_checkpoints(seed: [u8; 32], size in 0..u64::MAX, hash: [u8; 32], other: [u8; 32]) {
        prop_assume!(seed != other);
        let (our, their) = both("prod/w-1", seed);
        let text = checkpoint("prod/w-1", size, &hash);
        let read = tlog_tiles::Checkpoint::from_bytes(text.as_bytes()).unwrap();
        prop_assert_eq!((read.origin(), read.size(), read.hash().0), ("prod/w-1", size, hash));
        prop_assert_eq!(read.to_bytes(), text.as_bytes());

        let known = VerifierList::new(vec![Box::new(verifier(&our))]);
        let note = sign(&text, &our).unwrap();
        let read = signed_note::Note::from_bytes(note.as_bytes()).unwrap();
        prop_assert_eq!(read.verify(&known).unwrap().0.len(), 1);
        let mut made = signed_note::Note::new(text.as_bytes(), &[]).unwrap();
        made.add_sigs(&[&their]).unwrap();
        // Ed25519 has one signature for a key and a message.
        prop_assert_eq!(made.to_bytes(), note.as_bytes());
        let made = String::from_utf8(made.to_bytes()).unwrap();
        prop_assert!(Note::parse(&made).unwrap().is_signed_by(&Key::of(&our).unwrap()));

        let (stranger, _) = both("prod/w-1", other);
        prop_assert!(!Note::parse(&made).unwrap().is_signed_by(&Key::of(&stranger).unwrap()));
        let known = VerifierList::new(vec![Box::new(verifier(&stranger))]);
        prop_assert!(read.verify(&known).is_err());
    }

    #[test]
    fn cosignatures(seed: [u8; 32], time in 0..=i64::MAX as u64, size: u64, flip in 0usize..72) {
        let (log, _) = both("prod", [7; 32]);
        let (our, their) = both("witness.example/w1", seed);
        let text = checkpoint("prod", size, &[3; 32]);
        let note = sign(&text, &log).unwrap();

        let cosigned = format!("{note}{}", cosign(&text, &our, time).unwrap());
        let read = signed_note::Note::from_bytes(cosigned.as_bytes()).unwrap();
        let known = VerifierList::new(vec![Box::new(verifier(&log)), Box::new(Witness::of(&our))]);
        prop_assert_eq!(read.verify(&known).unwrap().0.len(), 2);

        let message = format!("cosignature/v1\ntime {time}\n{text}");
        let mut bytes = time.to_be_bytes().to_vec();
        bytes.extend(their.sign(message.as_bytes()).unwrap());
        let id = Witness::of(&our).id;
        let line = |bytes: &[u8]| {
            let name = our.name().to_owned();
            let line = signed_note::Signature::new(name, id, bytes.to_vec()).unwrap();
            format!("{note}{}", String::from_utf8(line.to_bytes()).unwrap())
        };
        let key = WitnessKey::of(&our).unwrap();
        prop_assert_eq!(key.cosigned(&Note::parse(&line(&bytes)).unwrap()), Some(time));
        bytes[flip] ^= 1 << (flip % 8);
        let changed = line(&bytes);
        prop_assert_eq!(key.cosigned(&Note::parse(&changed).unwrap()), None);
        let changed = signed_note::Note::from_bytes(changed.as_bytes()).unwrap();
        prop_assert!(changed.verify(&known).is_err());
    }

    #[test]
    fn roots_and_proofs(size in 1u64..400, old in any::<prop::sample::Index>(), at in any::<prop::sample::Index>()) {
        let leaves = leaves(size);
        let stored = Stored::of(&leaves);
        let hashes: Vec<Hash> = leaves.iter().map(|leaf| leaf_hash(leaf)).collect();
        let (index, old) = (at.index(size as usize) as u64, old.index(size as usize) as u64 + 1);
        let old_root = root(&hashes[..old as usize]);
        let new_root = root(&hashes);
        prop_assert_eq!(stored.root(size).0, new_root);
        prop_assert_eq!(stored.root(old).0, old_root);

        let leaf = hashes[index as usize];
        let path = inclusion_proof(&hashes, index).unwrap();
        let their_path = tlog_tiles::prove_record(size, index, &stored).unwrap();
        prop_assert_eq!(&path, &ours(&their_path));
        prop_assert!(verify_inclusion(&leaf, index, size, &ours(&their_path), &new_root));
        let at_root = tlog_tiles::Hash(new_root);
        let held = tlog_tiles::check_record(&theirs(&path), size, at_root, index, tlog_tiles::Hash(leaf));
        prop_assert!(held.is_ok());

        let proof = consistency_proof(&hashes, old).unwrap();
        let their_proof = tlog_tiles::prove_tree(size, old, &stored).unwrap();
        prop_assert_eq!(&proof, &ours(&their_proof));
        prop_assert!(verify_consistency(old, size, &old_root, &new_root, &ours(&their_proof)));
        let held = tlog_tiles::check_tree(&theirs(&proof), size, at_root, old, tlog_tiles::Hash(old_root));
        prop_assert!(held.is_ok());
    }

    /// Where one of them refuses a changed proof, so does the other.
    #[test]
    fn refusals_agree(
        size in 2u64..200, old in any::<prop::sample::Index>(), cut in 0usize..4, flip in any::<prop::sample::Index>(), more: bool,
    ) {
        let leaves = leaves(size);
        let hashes: Vec<Hash> = leaves.iter().map(|leaf| leaf_hash(leaf)).collect();
        let old = old.index(size as usize) as u64 + 1;
        let (old_root, new_root) = (root(&hashes[..old as usize]), root(&hashes));
        let mut proof = consistency_proof(&hashes, old).unwrap();
        proof.truncate(proof.len().saturating_sub(cut));
        if !proof.is_empty() && cut == 0 {
            let at = flip.index(proof.len());
            proof[at][0] ^= 1;
        }
        if more {
            proof.push([9; 32]);
        }
        let here = verify_consistency(old, size, &old_root, &new_root, &proof);
        let there = tlog_tiles::check_tree(
            &theirs(&proof), size, tlog_tiles::Hash(new_root), old, tlog_tiles::Hash(old_root),
        );
        prop_assert_eq!(here, there.is_ok());
    }
}
