//! The encoding of states, of this release and of others.

use proptest::prelude::*;

use super::*;
use crate::session::sections::TYPED;

pub(crate) fn state(
    principal: &str,
    vault: &[u8],
    gaps: Vec<u64>,
    texts: &[String],
) -> SessionState {
    let mut signed = SignedBlocks::default();
    texts.iter().for_each(|text| signed.insert(text));
    SessionState {
        id_digest: [7; 32],
        principal: principal.to_owned(),
        created_us: -1,
        absolute_us: i64::MAX,
        link: Link {
            sseq: 3,
            sprev: [9; 32],
        },
        gaps,
        steps: 5,
        vault: Zeroizing::new(vault.to_vec()),
        signed,
        verdicts: vault.iter().rev().copied().collect(),
        history: History {
            whole: [3; 32],
            system: [4; 32],
            recent: vault.iter().map(|byte| [*byte; 16]).collect(),
        },
        sections: Sections::default(),
    }
}

fn sections(of: &[(u8, Vec<u8>)]) -> Sections {
    let mut sections = Sections::default();
    for (tag, bytes) in of {
        sections.set(*tag, Zeroizing::new(bytes.clone()));
    }
    sections
}

#[test]
fn a_state_without_sections_is_what_the_release_before_wrote() {
    let mut state = state("p", b"vault", vec![4], &["signed".to_owned()]);
    let before = state.encode();
    assert_eq!(before.first(), Some(&WITHOUT_SECTIONS));
    state.sections = sections(&[(TYPED, b"typed".to_vec())]);
    let after = state.encode();
    assert_eq!(after[1..before.len()], before[1..]);
    assert_eq!(after[before.len()..], *b"\0\0\0\x01\x01\0\0\0\x05typed");
    state.sections.set(TYPED, Zeroizing::default());
    assert!(state.encode() == before);
}

#[test]
fn a_later_release_is_told_from_damage() {
    let mut bytes = state("p", b"", Vec::new(), &[]).encode();
    for format in [FORMAT + 1, u8::MAX] {
        bytes[0] = format;
        let read = SessionState::decode(&bytes).err();
        assert_eq!(read, Some(Unreadable::Newer));
    }
    bytes[0] = 0;
    let read = SessionState::decode(&bytes).err();
    assert_eq!(read, Some(Unreadable::Malformed));
}

#[test]
fn sections_are_in_order_and_say_something() {
    let mut state = state("p", b"", Vec::new(), &[]);
    let of = [(9, b"nine".to_vec()), (TYPED, b"one".to_vec())];
    state.sections = sections(&of);
    let bytes = state.encode();
    let again = SessionState::decode(&bytes).unwrap();
    assert_eq!(again.sections.get(9), b"nine", "of a tag nobody knows");
    let at = bytes.len() - 17;
    for (tag, reads) in [(8, true), (9, false), (10, false)] {
        let mut other = bytes.to_vec();
        assert_eq!(other[at], TYPED);
        other[at] = tag;
        assert_eq!(SessionState::decode(&other).is_ok(), reads, "{tag}");
    }
}

#[test]
fn states_of_the_versions_before_are_read() {
    let mut state = state("p", b"vault", Vec::new(), &[]);
    state.history = History::default();
    let mut bytes = state.encode().to_vec();
    bytes.truncate(bytes.len() - 68);
    bytes[0] = WITHOUT_HISTORY;
    let again = SessionState::decode(&bytes).unwrap();
    assert_eq!(again.verdicts, state.verdicts);
    assert_eq!(again.history, History::default());
    bytes.truncate(bytes.len() - 4 - state.verdicts.len());
    bytes[0] = WITHOUT_VERDICTS;
    let again = SessionState::decode(&bytes).unwrap();
    assert_eq!(again.vault.as_slice(), b"vault");
    assert!(again.verdicts.is_empty());
}

#[test]
fn the_chain_is_the_logs() {
    let event = crate::audit::Event::from_bytes(br#"{"kind":"x"}"#.to_vec()).unwrap();
    assert_eq!(after(Link::START, event.bytes()), Link::START.after(&event));
}

#[test]
fn signed_blocks_are_known_to_the_byte_and_bounded() {
    let mut signed = SignedBlocks::default();
    signed.insert("thinking");
    assert!(signed.contains("thinking") && !signed.contains("thinking "));
    for n in 0..SIGNED {
        signed.insert(&n.to_string());
    }
    assert_eq!(signed.0.len(), SIGNED);
    assert!(!signed.contains("thinking") && signed.contains("0"));
}

proptest! {
    #[test]
    fn any_state_comes_back(
        principal in ".{0,40}",
        vault in proptest::collection::vec(any::<u8>(), 0..200),
        gaps in proptest::collection::vec(any::<u64>(), 0..4),
        texts in proptest::collection::vec(".{0,10}", 0..4),
        later in proptest::collection::vec((any::<u8>(), proptest::collection::vec(any::<u8>(), 0..9)), 0..4),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut state = state(&principal, &vault, gaps, &texts);
        state.sections = sections(&later);
        let bytes = state.encode();
        let again = SessionState::decode(&bytes).unwrap();
        prop_assert!(again.encode().as_slice() == bytes.as_slice());
        prop_assert_eq!(&again.principal, &state.principal);
        prop_assert_eq!(again.vault.as_slice(), state.vault.as_slice());
        prop_assert!(again.signed == state.signed && again.gaps == state.gaps);
        prop_assert_eq!(&again.verdicts, &state.verdicts);
        prop_assert_eq!(&again.history, &state.history);
        for (tag, _) in &later {
            prop_assert_eq!(again.sections.get(*tag), state.sections.get(*tag));
        }
        prop_assert!(SessionState::decode(&bytes[..cut.index(bytes.len())]).is_err());
        let mut longer = bytes.to_vec();
        longer.push(0);
        prop_assert!(SessionState::decode(&longer).is_err());
        longer[0] = FORMAT + 1;
        prop_assert!(SessionState::decode(&longer).is_err());
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _either = SessionState::decode(&bytes);
    }
}
