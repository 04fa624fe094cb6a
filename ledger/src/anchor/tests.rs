use gatehouse_envelope::sign::MemorySigner;

use super::*;
use crate::{
    cosign::cosign,
    seal::Sealer,
    store::{Fetcher, Memory},
    trust::Trust,
    witness::{State, judge},
};

/// 2026-11-29T14:05:00Z.
const START_US: u64 = 1_795_961_100_000_000;

struct House {
    store: Arc<Memory>,
    log: Arc<MemorySigner>,
    anchors: Anchors,
}

impl House {
    /// A log of `count` seals.
    fn new(count: u64) -> Self {
        let (store, log) = (
            Arc::new(Memory::default()),
            Arc::new(MemorySigner::generate("prod").unwrap()),
        );
        let keys = vec![Key::of(log.as_ref()).unwrap()];
        let anchors = Anchors::new(store.clone(), &keys, "prod");
        let mut sealer = Sealer::open(store.clone(), log.clone(), keys, "prod").unwrap();
        for minute in 0..count {
            sealer.seal(START_US + minute * 60_000_000, false).unwrap();
        }
        Self {
            store,
            log,
            anchors,
        }
    }

    /// What a witness that trusts the log answers.
    fn ask(
        &self,
        body: &str,
        known: State,
        witness: &MemorySigner,
        unix_s: u64,
    ) -> (State, String) {
        let trust = Trust::one(Key::of(self.log.as_ref()).unwrap());
        let asked = AddCheckpoint::parse(body.as_bytes()).unwrap();
        let granted = judge(&trust, &[], &asked, |_| known).ok().unwrap();
        let (size, root) = (granted.checkpoint.size, granted.checkpoint.root);
        let line = cosign(granted.text, witness, unix_s).unwrap();
        (State { size, root }, line)
    }
}

#[test]
fn a_witness_follows_from_any_size_to_any_other() {
    let house = House::new(20);
    let witness = MemorySigner::generate("w").unwrap();
    let key = WitnessKey::of(&witness).unwrap();
    for (first, second) in [(0, 19), (3, 4), (6, 18), (7, 8), (12, 12)] {
        let body = house.anchors.request(first, 0).unwrap();
        let (known, _) = house.ask(&body, State::default(), &witness, 1);
        let body = house.anchors.request(second, known.size).unwrap();
        let (known, line) = house.ask(&body, known, &witness, 9);
        assert_eq!(known.size, second + 1);
        assert_eq!(house.anchors.cosigned(second, &key).unwrap(), None);
        assert_eq!(house.anchors.keep(second, &key, &line).unwrap(), 9);
        assert_eq!(house.anchors.cosigned(second, &key).unwrap(), Some(9));
        // Another replica comes later: the first one's stands.
        let (_, line) = house.ask(&body, known_before(&house, &body), &witness, 11);
        assert_eq!(house.anchors.keep(second, &key, &line).unwrap(), 11);
        assert_eq!(house.anchors.cosigned(second, &key).unwrap(), Some(9));
    }
    assert!(matches!(
        house.anchors.request(5, 7),
        Err(AnchorError::Short)
    ));
    assert!(matches!(
        house.anchors.request(20, 0),
        Err(AnchorError::Seal(20))
    ));
}

/// What the request goes on from.
fn known_before(house: &House, body: &str) -> State {
    let asked = AddCheckpoint::parse(body.as_bytes()).unwrap();
    match asked.old.checked_sub(1) {
        None => State::default(),
        Some(last) => {
            let (nodes, _) = Nodes::up_to(house.store.as_ref(), "prod", last).unwrap();
            State {
                size: asked.old,
                root: nodes.tree().root(),
            }
        }
    }
}

#[test]
fn nothing_is_stored_that_does_not_hold() {
    let house = House::new(3);
    let (witness, other) = (
        MemorySigner::generate("w").unwrap(),
        MemorySigner::generate("w").unwrap(),
    );
    let key = WitnessKey::of(&witness).unwrap();
    let body = house.anchors.request(2, 0).unwrap();
    let (_, good) = house.ask(&body, State::default(), &witness, 7);
    let (_, foreign) = house.ask(&body, State::default(), &other, 7);
    let earlier = house.anchors.request(1, 0).unwrap();
    let (_, of_another) = house.ask(&earlier, State::default(), &witness, 7);
    for bad in [
        String::new(),
        "\n".into(),
        foreign.clone(),
        of_another,
        good.trim_end().into(),
        good.replace("w ", "v "),
        good.replacen('A', "B", 1),
    ] {
        let kept = house.anchors.keep(2, &key, &bad);
        assert!(matches!(kept, Err(AnchorError::Cosignature)), "{bad}");
    }
    assert!(house.store.list("cosig/").unwrap().is_empty());
    // Lines by keys that are none of ours say nothing.
    let both = format!("{foreign}{good}");
    assert_eq!(house.anchors.keep(2, &key, &both).unwrap(), 7);
    let [object] = house.store.list("cosig/").unwrap().try_into().unwrap();
    let stored = house.store.get(&object.name, MAX_NOTE).unwrap().unwrap();
    let note = String::from_utf8(stored).unwrap();
    assert_eq!(Note::parse(&note).unwrap().signatures(), 2);
}

#[test]
fn a_stored_object_that_is_none_is_told() {
    let house = House::new(2);
    let key = WitnessKey::of(&MemorySigner::generate("w").unwrap()).unwrap();
    let name = names::cosignature("prod", 1, key.id());
    house.store.put_once(&name, b"nonsense").unwrap();
    assert!(matches!(
        house.anchors.cosigned(1, &key),
        Err(AnchorError::Cosignature)
    ));
}

#[test]
fn a_process_finds_how_far_a_witness_had_come() {
    let house = House::new(20);
    let witness = MemorySigner::generate("w").unwrap();
    let key = WitnessKey::of(&witness).unwrap();
    let other = WitnessKey::of(&MemorySigner::generate("w").unwrap()).unwrap();
    assert_eq!(house.anchors.last_cosigned(19, &key).unwrap(), None);
    let mut known = State::default();
    for (number, at) in [(3, 7), (11, 8)] {
        let body = house.anchors.request(number, known.size).unwrap();
        let (grown, line) = house.ask(&body, known, &witness, at);
        house.anchors.keep(number, &key, &line).unwrap();
        known = grown;
    }
    let last = |of: u64, key: &WitnessKey| house.anchors.last_cosigned(of, key).unwrap();
    assert_eq!((last(19, &key), last(11, &key)), (Some(11), Some(11)));
    assert_eq!((last(10, &key), last(2, &key)), (Some(3), None));
    assert_eq!(last(19, &other), None);
    // What only bears the name of one is none.
    let name = names::cosignature("prod", 15, key.id());
    house.store.put_once(&name, b"noise").unwrap();
    let name = names::cosignature("prod", 16, key.id());
    let noise = vec![b'x'; MAX_NOTE + 1];
    house.store.put_once(&name, &noise).unwrap();
    assert_eq!(last(19, &key), Some(11));
    // Nobody reads through years, and a seal that is not there does not pass for one without a cosignature.
    let (near, far) = (REACH[1] + 11, REACH[1] + 12);
    assert_eq!((last(near, &key), last(far, &key)), (Some(11), None));
    let name = names::cosignature("prod", 20, key.id());
    house.store.put_once(&name, b"noise").unwrap();
    let missing = house.anchors.last_cosigned(20, &key);
    assert!(matches!(missing, Err(AnchorError::Seal(20))));
}
