//! What a witness answers: the checks of the specification, in its order.

use super::{AddCheckpoint, Checkpoint};
use crate::{
    names,
    note::{Key, Note},
    tree::{Hash, empty_root, verify_consistency},
    trust::Trust,
};

/// The last checkpoint of a log that a witness has cosigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// Its size; 0 for a log of which none was.
    pub size: u64,
    /// Its root.
    pub root: Hash,
}

impl Default for State {
    fn default() -> Self {
        Self {
            size: 0,
            root: empty_root(),
        }
    }
}

/// Why a witness does not cosign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The same size with another root: two histories, both signed by the log.
    #[error("another tree of the size that was cosigned before")]
    Fork(u64),
    /// Not a request of the protocol, or one that contradicts itself.
    #[error("not an add-checkpoint request")]
    Malformed,
    /// The proof does not show that what was cosigned before is a prefix.
    #[error("the consistency proof does not hold")]
    Proof,
    /// The request goes on from another size than the one cosigned last, which is given.
    #[error("the proof does not begin at the size that was cosigned last")]
    Stale(u64),
    /// No log of that origin is witnessed here.
    #[error("no log of that origin is witnessed here")]
    Unknown,
    /// No key that is trusted for the origin has signed.
    #[error("no key that is trusted for the origin has signed")]
    Unsigned,
}

impl Refusal {
    /// The HTTP status that the specification gives it.
    #[must_use]
    pub fn status(self) -> u16 {
        match self {
            Self::Malformed => 400,
            Self::Unsigned => 403,
            Self::Unknown => 404,
            Self::Fork(_) | Self::Stale(_) => 409,
            Self::Proof => 422,
        }
    }

    /// The size cosigned last, where the answer says it.
    #[must_use]
    pub fn known(self) -> Option<u64> {
        match self {
            Self::Fork(size) | Self::Stale(size) => Some(size),
            _ => None,
        }
    }
}

/// The most bytes of a checkpoint's text: origin, size, root, and a few lines of the log's own.
const MAX_TEXT: usize = 4096;

/// What is to be cosigned.
pub struct Granted<'b> {
    /// The checkpoint.
    pub checkpoint: Checkpoint<'b>,
    /// Its text, which a cosignature is over.
    pub text: &'b str,
    /// It with the signature of the key that is trusted, and no other.
    pub signed: String,
}

/// Whether a witness may cosign. It trusts the keys of `trust`, each for the log that is called as the
/// key is, and for those logs of seals of its deployment that `also` names. `known` gives the last
/// checkpoint that it cosigned of an origin; what is between that and the change that follows must not
/// be parted.
///
/// # Errors
/// Why not.
pub fn judge<'b>(
    trust: &Trust,
    also: &[String],
    asked: &AddCheckpoint<'b>,
    known: impl FnOnce(&str) -> State,
) -> Result<Granted<'b>, Refusal> {
    let note = Note::parse(asked.note).map_err(|_| Refusal::Malformed)?;
    let checkpoint = Checkpoint::of(&note).map_err(|_| Refusal::Malformed)?;
    if note.text.len() > MAX_TEXT {
        return Err(Refusal::Malformed);
    }
    let mut keys = trust
        .logs
        .iter()
        .filter(|key| is_of(key, also, checkpoint.origin))
        .peekable();
    if keys.peek().is_none() {
        return Err(Refusal::Unknown);
    }
    let signed = keys.find_map(|key| note.signed_by(key));
    let signed = signed.ok_or(Refusal::Unsigned)?;
    if asked.old > checkpoint.size {
        return Err(Refusal::Malformed);
    }
    let known = known(checkpoint.origin);
    if asked.old != known.size {
        return Err(Refusal::Stale(known.size));
    }
    if checkpoint.size == known.size && checkpoint.root != known.root {
        return Err(Refusal::Fork(known.size));
    }
    let (old, new) = (&known.root, &checkpoint.root);
    let consistent = match known.size {
        // Everything follows from nothing.
        0 => asked.proof.is_empty(),
        size => verify_consistency(size, checkpoint.size, old, new, &asked.proof),
    };
    match consistent {
        true => Ok(Granted {
            checkpoint,
            text: note.text,
            signed,
        }),
        false => Err(Refusal::Proof),
    }
}

/// Whether a log key may sign checkpoints of `origin`.
fn is_of(key: &Key, also: &[String], origin: &str) -> bool {
    let of_deployment = || names::deployment_of_seals(origin) == Some(key.name());
    key.name() == origin || also.iter().any(|name| name == origin) && of_deployment()
}

#[cfg(test)]
mod tests {
    use gatehouse_envelope::sign::MemorySigner;

    use super::*;
    use crate::{
        note::{checkpoint, sign},
        tree::{Tree, consistency_proof, leaf_hash},
        trust::Trust,
    };

    /// Sixteen leaves, and another history of them that parts at the sixth.
    fn leaves(fork: bool) -> Vec<Hash> {
        let leaf = |n: u8| leaf_hash(&[n, u8::from(fork && n > 5)]);
        (0..16).map(leaf).collect()
    }

    fn state(leaves: &[Hash], size: u64) -> State {
        let mut tree = Tree::new();
        leaves[..size as usize]
            .iter()
            .for_each(|leaf| tree.push(*leaf));
        let root = tree.root();
        State { size, root }
    }

    const OWN: &str = "prod.0123456789abcdef";

    struct House {
        log: MemorySigner,
        trust: Trust,
    }

    impl House {
        fn new() -> Self {
            let log = MemorySigner::generate("prod").unwrap();
            let trust = Trust::one(Key::of(&log).unwrap());
            Self { log, trust }
        }

        fn note(&self, origin: &str, of: State) -> String {
            sign(&checkpoint(origin, of.size, &of.root), &self.log).unwrap()
        }

        fn ask(
            &self,
            note: &str,
            old: u64,
            proof: Vec<Hash>,
            known: State,
        ) -> Result<u64, Refusal> {
            let asked = AddCheckpoint { old, proof, note };
            let own = OWN.to_owned();
            judge(&self.trust, &[own], &asked, |_| known).map(|granted| granted.checkpoint.size)
        }
    }

    #[test]
    fn what_continues_is_cosigned_and_nothing_else() {
        let (house, leaves, fork) = (House::new(), leaves(false), leaves(true));
        for known in 0..=16 {
            for size in 0..=16 {
                let (at, to) = (state(&leaves, known), state(&leaves, size));
                let note = house.note("prod", to);
                let proof = |of: &[Hash]| {
                    consistency_proof(&of[..size as usize], known).unwrap_or_default()
                };
                let wanted = match size >= known {
                    true => Ok(size),
                    false => Err(Refusal::Malformed),
                };
                assert_eq!(
                    house.ask(&note, known, proof(&leaves), at),
                    wanted,
                    "{known} {size}"
                );
                if size > 6 && known > 6 && size >= known {
                    let note = house.note("prod", state(&fork, size));
                    let wanted = match size == known {
                        true => Refusal::Fork(known),
                        false => Refusal::Proof,
                    };
                    assert_eq!(house.ask(&note, known, proof(&fork), at), Err(wanted));
                }
            }
        }
    }

    #[test]
    fn every_refusal_has_its_status() {
        let (house, leaves) = (House::new(), leaves(false));
        let (at, to) = (state(&leaves, 3), state(&leaves, 7));
        let proof = consistency_proof(&leaves[..7], 3).unwrap();
        let status = |note: &str, old, proof: &[Hash], known| {
            let refused = house.ask(note, old, proof.to_vec(), known).unwrap_err();
            (refused.status(), refused.known())
        };
        let note = house.note("prod", to);
        assert_eq!(status("nonsense", 3, &proof, at), (400, None));
        assert_eq!(status(&note, 8, &proof, at), (400, None));
        assert_eq!(status(&note, 3, &[], at), (422, None));
        assert_eq!(status(&note, 3, &proof[1..], at), (422, None));
        assert_eq!(status(&note, 0, &proof, State::default()), (422, None));
        assert_eq!(status(&note, 3, &proof, to), (409, Some(7)));
        assert_eq!(status(&note, 0, &[], at), (409, Some(3)));
        assert_eq!(status(&house.note("other", to), 3, &proof, at), (404, None));
        let foreign = House::new().note("prod", to);
        assert_eq!(status(&foreign, 3, &proof, at), (403, None));
        let empty = State {
            size: 0,
            root: [1; 32],
        };
        assert_eq!(
            status(&house.note("prod", empty), 0, &[], State::default()),
            (409, Some(0))
        );
    }

    #[test]
    fn a_deployments_key_signs_for_the_seals_of_its_directories() {
        let (house, to) = (House::new(), state(&leaves(false), 7));
        let own = OWN;
        assert_eq!(
            house.ask(&house.note(own, to), 0, vec![], State::default()),
            Ok(7)
        );
        for other in [
            "prod.0123456789abcdee",
            "prod.0123",
            "prod.0123456789ABCDEF",
            "prod-2",
            "prod/x",
        ] {
            let asked = house.ask(&house.note(other, to), 0, vec![], State::default());
            assert_eq!(asked, Err(Refusal::Unknown), "{other}");
        }
    }
}
