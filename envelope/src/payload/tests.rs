use proptest::prelude::*;

use super::*;

const HERE: Place<'_> = Place {
    part: "req",
    tenant: "t",
    session: "s_a",
    number: 3,
};

pub(super) fn key(byte: u8) -> PayloadKey {
    PayloadKey::derive(&format!("sk_{byte}"), &Secret::new([byte; 32]))
}

fn seal(key: &PayloadKey, text: &[u8]) -> SealedPayload {
    let mut sealing = key.seal(&HERE).unwrap();
    sealing.push(text).unwrap();
    sealing.finish().unwrap()
}

fn commitment<'a>(key: &'a PayloadKey, sealed: &'a SealedPayload) -> Commitment<'a> {
    Commitment {
        ct: &sealed.ct,
        len: sealed.len,
        kc: key.kc(),
        pm: &sealed.pm,
    }
}

/// As if the record had been made of whatever bytes the object has now.
fn open_as_recorded(
    key: &PayloadKey,
    place: Place<'_>,
    sealed: &SealedPayload,
    object: &[u8],
) -> Result<Vec<u8>, PayloadError> {
    let ct = sha256(&[object]);
    let recorded = Commitment {
        ct: &ct,
        ..commitment(key, sealed)
    };
    key.open(&place, &recorded, object)
        .map(|text| text.to_vec())
}

#[test]
fn opens_only_where_it_was_sealed() {
    let (key, text) = (key(1), vec![7; CHUNK + 5]);
    let sealed = seal(&key, &text);
    let open = |place| open_as_recorded(&key, place, &sealed, &sealed.object);
    assert_eq!(open(HERE).unwrap(), text);
    let places = [
        Place {
            part: "rep",
            ..HERE
        },
        Place {
            tenant: "u",
            ..HERE
        },
        Place {
            session: "s_b",
            ..HERE
        },
        Place { number: 4, ..HERE },
        // The same bytes, cut into fields at another place.
        Place {
            part: "reqt",
            tenant: "",
            ..HERE
        },
    ];
    for place in places {
        assert_eq!(open(place), Err(PayloadError::Damaged));
    }
}

#[test]
fn every_commitment_counts() {
    let (ours, other) = (key(1), key(2));
    let sealed = seal(&ours, b"text");
    let open = |key: &PayloadKey, recorded: Commitment<'_>| {
        key.open(&HERE, &recorded, &sealed.object).map(drop)
    };
    let right = commitment(&ours, &sealed);
    assert_eq!(open(&ours, right), Ok(()));
    assert_eq!(open(&other, right), Err(PayloadError::OtherKey));
    let ct = &[0; 32];
    let wrong = Commitment { ct, ..right };
    assert_eq!(open(&ours, wrong), Err(PayloadError::Altered));
    let pm = &[0; 32];
    let wrong = Commitment { pm, ..right };
    assert_eq!(open(&ours, wrong), Err(PayloadError::OtherText));
    let wrong = Commitment { len: 5, ..right };
    assert_eq!(open(&ours, wrong), Err(PayloadError::OtherText));
    let kc = other.kc();
    let wrong = Commitment { kc, ..right };
    assert_eq!(open(&other, wrong), Err(PayloadError::Damaged));
}

#[test]
fn a_grant_opens_payloads_and_says_nothing_else() {
    let key = key(9);
    let grant = key.grant();
    assert_eq!(grant.expose().len(), 86);
    let given = PayloadKey::from_grant(key.kid(), grant.expose()).unwrap();
    assert_eq!(given.kc(), key.kc());
    let sealed = seal(&key, b"text");
    let opened = given.open(&HERE, &commitment(&key, &sealed), &sealed.object);
    assert_eq!(opened.unwrap().as_slice(), b"text");
    // Under another name of the key it opens nothing.
    let given = PayloadKey::from_grant("sk_x", grant.expose()).unwrap();
    let opened = given.open(&HERE, &commitment(&key, &sealed), &sealed.object);
    assert_eq!(opened.map(drop), Err(PayloadError::Damaged));
    let longer = format!("{}AA", grant.expose());
    for text in ["", "AAAA", &longer] {
        assert!(PayloadKey::from_grant("sk_9", text).is_none());
    }
}

#[test]
fn chunks_cannot_be_left_out_repeated_or_moved() {
    let key = key(1);
    let sealed = seal(&key, &vec![7; 3 * CHUNK]);
    let chunk = |n: usize| {
        let at = HEAD + n * (CHUNK + TAG);
        sealed.object[at..at + CHUNK + TAG].to_vec()
    };
    let head = &sealed.object[..HEAD];
    let [a, b, c] = [chunk(0), chunk(1), chunk(2)];
    let whole = [head, &a, &b, &c].concat();
    assert_eq!(whole, sealed.object);
    for object in [
        [head, &a, &b].concat(),
        [head, &a, &c].concat(),
        [head, &b, &a, &c].concat(),
        [head, &a, &b, &b, &c].concat(),
        [head, &a, &b, &c, &c].concat(),
        whole[..whole.len() - 1].to_vec(),
        head.to_vec(),
        vec![FORMAT],
    ] {
        // Whatever the record says of its length.
        let text = key.chunks(&HERE, &object).map(|text| text.to_vec());
        let none = text.as_ref().is_ok_and(Vec::is_empty);
        assert!(none || text == Err(PayloadError::Damaged));
        assert!(open_as_recorded(&key, HERE, &sealed, &object).is_err());
    }
}

#[test]
fn newer_formats_are_told_apart_from_damage() {
    let key = key(1);
    let sealed = seal(&key, b"text");
    for (first, error) in [(2, PayloadError::Newer), (0, PayloadError::Damaged)] {
        let mut object = sealed.object.clone();
        object[0] = first;
        let opened = open_as_recorded(&key, HERE, &sealed, &object);
        assert_eq!(opened, Err(error));
    }
    let opened = open_as_recorded(&key, HERE, &sealed, &[]);
    assert_eq!(opened, Err(PayloadError::Damaged));
}

proptest! {
    #[test]
    fn any_text_comes_back_however_it_comes_and_any_change_is_found(
        len in prop_oneof![0usize..300, CHUNK - 2..CHUNK + 3, 2 * CHUNK - 1..2 * CHUNK + 2],
        seed in any::<u8>(),
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..6),
        at in any::<prop::sample::Index>(),
        bit in 0u8..8,
    ) {
        let text: Vec<u8> = (0..len).map(|n| (n as u8).wrapping_mul(31) ^ seed).collect();
        let key = key(9);
        let mut sealing = key.seal(&HERE).unwrap();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(len + 1)).collect();
        cuts.extend([0, len]);
        cuts.sort_unstable();
        for pair in cuts.windows(2) {
            sealing.push(&text[pair[0]..pair[1]]).unwrap();
        }
        prop_assert_eq!(sealing.len(), len as u64);
        let sealed = sealing.finish().unwrap();
        prop_assert_eq!(sealed.object.len() as u64, sealed_len(sealed.len));
        let recorded = commitment(&key, &sealed);
        let opened = key.open(&HERE, &recorded, &sealed.object).unwrap();
        prop_assert_eq!(opened.as_slice(), text.as_slice());

        let mut changed = sealed.object.clone();
        let at = at.index(changed.len());
        changed[at] ^= 1 << bit;
        prop_assert_eq!(key.open(&HERE, &recorded, &changed).map(drop), Err(PayloadError::Altered));
        prop_assert!(open_as_recorded(&key, HERE, &sealed, &changed).is_err());
        prop_assert!(open_as_recorded(&key, HERE, &sealed, &changed[..at]).is_err());
    }
}
