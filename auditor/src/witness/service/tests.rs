use std::sync::atomic::{AtomicU64, Ordering};

use gatehouse_envelope::sign::MemorySigner;
use gatehouse_ledger::{
    clock::Stamp,
    note::{Key, checkpoint, sign},
    tree::{Hash, Tree, consistency_proof, leaf_hash},
};

use super::*;
use crate::witness::book::write_mark;

/// A clock that stands still until it is set, in seconds.
struct Set(AtomicU64);

impl Clock for Set {
    fn now(&self) -> Stamp {
        let unix_us = self.0.load(Ordering::SeqCst) * 1_000_000;
        Stamp {
            unix_us,
            mono_us: 0,
        }
    }
}

struct House {
    dir: tempfile::TempDir,
    log: MemorySigner,
    leaves: Vec<Hash>,
    clock: Arc<Set>,
    witness: Witness,
}

const NOW: u64 = 1_795_961_100;

impl House {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let log = MemorySigner::generate("prod").unwrap();
        let signer = MemorySigner::generate("w").unwrap();
        let key = WitnessKey::of(&signer).unwrap();
        let clock = Arc::new(Set(AtomicU64::new(NOW)));
        let mark = dir.path().join("mark");
        let evidence = Evidence::new(&dir.path().join("state"));
        let trust = Trust::one(Key::of(&log).unwrap());
        let timer: Arc<dyn Clock> = clock.clone();
        write_mark(&mark, 0).unwrap();
        let book = Book::open(&dir.path().join("state"), &mark, &key.to_string()).unwrap();
        let logs = Logs {
            trust,
            also: Vec::new(),
        };
        let witness = Witness::new(logs, Box::new(signer), key, book, evidence, timer);
        let leaves = (0..200_u64).map(|n| leaf_hash(&n.to_be_bytes())).collect();
        Self {
            dir,
            log,
            leaves,
            clock,
            witness,
        }
    }

    fn note(&self, leaves: &[Hash]) -> String {
        let mut tree = Tree::new();
        leaves.iter().for_each(|leaf| tree.push(*leaf));
        let text = checkpoint("prod", tree.size(), &tree.root());
        sign(&text, &self.log).unwrap()
    }

    fn request(&self, old: u64, size: u64) -> String {
        let leaves = &self.leaves[..size as usize];
        let proof = consistency_proof(leaves, old).unwrap();
        let note = &self.note(leaves);
        AddCheckpoint { old, proof, note }.body()
    }

    fn add(&self, old: u64, size: u64) -> Result<u64, Option<Refusal>> {
        let line = match self.witness.add(self.request(old, size).as_bytes()) {
            Ok(line) => line,
            Err(Refused::Judged(refusal)) => return Err(Some(refusal)),
            Err(Refused::Failed) => return Err(None),
        };
        let cosigned = self.note(&self.leaves[..size as usize]) + &line;
        let time = self.witness.key.cosigned(&Note::parse(&cosigned).unwrap());
        Ok(time.expect("a cosignature that holds"))
    }

    fn known(&self) -> u64 {
        let book = self.witness.book.lock().unwrap();
        book.get("prod").map_or(0, |entry| entry.state.size)
    }

    fn evidence(&self) -> usize {
        let folder = self.dir.path().join("state/evidence");
        std::fs::read_dir(folder).map_or(0, Iterator::count)
    }
}

#[test]
fn a_log_is_followed_and_never_back() {
    let house = House::new();
    assert_eq!(house.add(0, 5), Ok(NOW));
    assert_eq!(house.add(5, 9), Ok(NOW));
    assert_eq!(house.add(5, 12), Err(Some(Refusal::Stale(9))));
    assert_eq!(house.add(0, 3), Err(Some(Refusal::Stale(9))));
    assert_eq!(house.add(9, 9), Ok(NOW));
    assert_eq!((house.known(), house.evidence()), (9, 0));
    let digest = HEXLOWER.encode(&sha256(&[b"prod"]));
    let last = house.witness.last(&digest).unwrap();
    assert!(last.starts_with(&house.note(&house.leaves[..9])));
    assert_eq!(
        house.witness.key.cosigned(&Note::parse(&last).unwrap()),
        Some(NOW)
    );
    assert_eq!(house.witness.last(&digest.replace('a', "b")), None);
}

#[test]
fn another_history_is_refused_and_kept() {
    let mut house = House::new();
    assert_eq!(house.add(0, 7), Ok(NOW));
    house.leaves[5] = [1; 32];
    assert_eq!(house.add(7, 7), Err(Some(Refusal::Fork(7))));
    assert_eq!(house.add(7, 20), Err(Some(Refusal::Proof)));
    assert_eq!((house.known(), house.evidence()), (7, 2));
    // What nobody trusted has signed is no evidence of anything.
    house.log = MemorySigner::generate("prod").unwrap();
    assert_eq!(house.add(7, 7), Err(Some(Refusal::Unsigned)));
    assert_eq!(house.evidence(), 2);
}

/// The race of the specification, and all others like it: whoever comes with whatever sizes, the
/// witness's size never goes back, and each of its steps is one that somebody was given.
#[test]
fn requests_that_race_never_roll_back() {
    let house = House::new();
    let granted = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for thread in 0..8_u64 {
            let (house, granted) = (&house, &granted);
            scope.spawn(move || {
                for step in 0..20 {
                    let known = house.known();
                    let size = (known + 1 + (thread * 7 + step) % 5).min(200);
                    if house.add(known, size).is_ok() {
                        granted.lock().unwrap().push((known, size));
                    }
                    assert!(house.known() >= known);
                }
            });
        }
    });
    let mut granted = granted.into_inner().unwrap();
    granted.sort_unstable();
    let mut at = 0;
    for (old, size) in granted.into_iter().filter(|(old, size)| old < size) {
        assert_eq!(old, at, "each goes on from the one before");
        at = size;
    }
    assert_eq!(at, house.known());
    assert!(at > 20);
}

#[test]
fn times_never_go_back() {
    let house = House::new();
    let set = |seconds| house.clock.0.store(seconds, Ordering::SeqCst);
    assert_eq!(house.add(0, 1), Ok(NOW));
    set(NOW - 30);
    assert_eq!(
        house.add(1, 2),
        Ok(NOW),
        "a little behind is that of before"
    );
    set(NOW - 61);
    assert_eq!(house.add(2, 3), Err(None));
    assert_eq!(house.known(), 2);
    set(NOW + 4);
    assert_eq!(house.add(2, 2), Ok(NOW), "just cosigned");
    set(NOW + 5);
    assert_eq!(house.add(2, 2), Ok(NOW + 5));
}

#[test]
fn what_cannot_be_kept_is_not_given_away() {
    let house = House::new();
    assert_eq!(house.add(0, 1), Ok(NOW));
    let taken = house.dir.path().join("state/witness.json.new");
    std::fs::create_dir(&taken).unwrap();
    assert_eq!(house.add(1, 2), Err(None));
    assert_eq!(house.known(), 1);
    assert!(!house.witness.is_well());
    std::fs::remove_dir(&taken).unwrap();
    assert_eq!(house.add(1, 2), Ok(NOW));
    assert!(house.witness.is_well());

    // The mark cannot be replaced by a file any more: it is not known what a restart would find.
    let digest = HEXLOWER.encode(&sha256(&[b"prod"]));
    let before = house.witness.last(&digest);
    let mark = house.dir.path().join("mark");
    std::fs::remove_file(&mark).unwrap();
    std::fs::create_dir_all(mark.join("x")).unwrap();
    assert_eq!(house.add(2, 3), Err(None));
    std::fs::remove_dir_all(&mark).unwrap();
    // Neither the same again nor whoever only looks gets what was not kept.
    for (old, size) in [(2, 3), (3, 3), (2, 2)] {
        assert_eq!(house.add(old, size), Err(None));
    }
    assert_eq!((house.witness.last(&digest), house.known()), (before, 2));
    assert!(!house.witness.is_well());
}

/// What strangers have put beside the log's signature is neither kept nor shown.
#[test]
fn only_what_was_verified_is_kept() {
    let house = House::new();
    let stranger = MemorySigner::generate("stranger").unwrap();
    let note = house.note(&house.leaves[..3]);
    let text = Note::parse(&note).unwrap().text.to_owned();
    let line = sign(&text, &stranger)
        .unwrap()
        .lines()
        .last()
        .unwrap()
        .to_owned();
    let (old, proof, crowded) = (0, vec![], note.clone() + &format!("{line}\n").repeat(9));
    let body = AddCheckpoint {
        old,
        proof,
        note: &crowded,
    }
    .body();
    let cosigned = house.witness.add(body.as_bytes()).unwrap();
    let last = house.witness.last(&HEXLOWER.encode(&sha256(&[b"prod"])));
    assert_eq!(last, Some(note + &cosigned));
    let long = format!("prod\n4\n{}=\n{}\n", "A".repeat(43), "x".repeat(5000));
    let note = &sign(&long, &house.log).unwrap();
    let body = AddCheckpoint {
        old: 3,
        proof: vec![],
        note,
    }
    .body();
    let refused = house.witness.add(body.as_bytes());
    assert!(matches!(refused, Err(Refused::Judged(Refusal::Malformed))));
}
