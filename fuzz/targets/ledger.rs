//! The verifier: no input makes it panic, and a log of which one object was changed holds only if
//! its records are the same; so does one session shown alone. The first byte of the input says what
//! the rest replaces.
#![no_main]

use std::{collections::BTreeMap, path::Path, sync::LazyLock};

use gatehouse_envelope::{
    digest::sha256,
    keys::SessionKeys,
    payload::{Commitment, Place},
    secret::Secret,
};
use gatehouse_ledger::{
    cert::Certificate,
    cosign::WitnessKey,
    disclose::{self, Proof, disclose},
    event::Event,
    names::{self, Name},
    note::Note,
    payload::{Body, Location},
    read::records,
    seal::Seal,
    store::{Dir, Fetcher, Memory},
    trust::{Quorum, Trust},
    verify::{Verdict, Verifier},
};
use libfuzzer_sys::fuzz_target;

struct Log {
    trust: Trust,
    objects: BTreeMap<String, Vec<u8>>,
}

impl Log {
    /// Whether a note of the log has this text: only then can a note with it be the log's own.
    fn signs(&self, text: &str) -> bool {
        let notes = self.objects.values();
        let mut notes = notes.filter_map(|bytes| std::str::from_utf8(bytes).ok());
        notes.any(|own| Note::parse(own).is_ok_and(|own| own.text == text))
    }
}

/// A log of one closed stream and its seals.
static LOG: LazyLock<Log> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("log");
    let store = Dir::new(folder.join("ledger"));
    let names = store.list("").expect("the log is there");
    let get = |name: &str| store.get(name, 1 << 20).ok().flatten().unwrap_or_default();
    let objects = names
        .iter()
        .map(|object| (object.name.clone(), get(&object.name)));
    let trust = std::fs::read_to_string(folder.join("trust.policy")).expect("its trust file");
    Log {
        trust: Trust::parse(&trust).expect("its trust file"),
        objects: objects.collect(),
    }
});

/// One session of it, shown alone.
static SHOWN: LazyLock<BTreeMap<String, Vec<u8>>> = LazyLock::new(|| {
    let (mut shown, log) = (BTreeMap::new(), Memory::with(LOG.objects.clone()));
    disclose(&log, &LOG.trust, "s_1", &mut |name, bytes| {
        shown.insert(name.to_owned(), bytes.to_vec());
        Ok(())
    })
    .expect("the session is there");
    shown
});

fuzz_target!(|input: &[u8]| {
    let Some((what, bytes)) = input.split_first() else {
        return;
    };
    let names: Vec<&String> = LOG.objects.keys().collect();
    match usize::from(*what) {
        0 => other_readers(bytes),
        255 => show(bytes),
        n if n <= names.len() => check(names[n - 1], bytes.to_vec()),
        n => check(names[n % names.len()], pack(bytes)),
    }
});

/// Verifies the log with `bytes` in the place of one object.
fn check(name: &str, bytes: Vec<u8>) {
    let mut objects = LOG.objects.clone();
    let before = objects.insert(name.to_owned(), bytes.clone());
    let changed = Memory::with(objects);
    let report = Verifier::new(Some(&LOG.trust)).verify(&changed, |_| {});
    let before = before.unwrap_or_default();
    if report.verdict() == Verdict::Holds {
        assert!(
            bytes == before || unpack(&bytes) == unpack(&before),
            "{name} was changed unseen"
        );
    } else {
        assert!(bytes != before, "the log holds");
    }
    let _ = records(&changed, |entry| assert!(entry.line.contains(entry.event)));
}

/// Checks the session with an object replaced: the first byte says which.
fn show(bytes: &[u8]) {
    let Some((which, bytes)) = bytes.split_first() else {
        return;
    };
    let names: Vec<&String> = SHOWN.keys().collect();
    let name = names[usize::from(*which) % names.len()];
    let mut changed = SHOWN.clone();
    let before = changed
        .insert(name.clone(), bytes.to_vec())
        .unwrap_or_default();
    let checked = disclose::check(&Memory::with(changed), &LOG.trust);
    // What proves the same may be written differently: with extra data, or with signatures of others.
    if checked.report.verdict() == Verdict::Holds && !name.ends_with("-proof") {
        assert!(bytes == before, "{name} was changed unseen");
    }
}

/// Everything that reads a part alone.
fn other_readers(bytes: &[u8]) {
    sealed_payload(bytes);
    let _ = Certificate::open(bytes);
    if Event::from_bytes(bytes.to_vec()).is_ok() {
        assert!(serde_json::from_slice::<serde_json::Value>(bytes).is_ok());
    }
    let text = String::from_utf8_lossy(bytes);
    if let Ok(note) = Note::parse(&text) {
        let signed = LOG.trust.logs.iter().any(|key| note.is_signed_by(key));
        assert!(!signed || LOG.signs(note.text), "a signature was made up");
    }
    if let Some(proof) = Proof::parse(&text) {
        let (again, extra) = (proof.text(), text.contains("\nextra "));
        assert!(extra || again == text, "a proof has one form");
        assert_eq!(Proof::parse(&again), Some(proof));
    }
    if let Ok(trust) = Trust::parse(&text) {
        assert!(!trust.logs.is_empty());
        assert!(trust.quorum == Quorum::None || !trust.is_quorum(|_| false));
        assert_eq!(Trust::parse(&trust.file()), Ok(trust));
    }
    if let Ok(Some(key)) = WitnessKey::parse(&text) {
        assert_eq!(key.to_string(), text);
    }
    if let Ok(seal) = Seal::parse(bytes) {
        assert_eq!(seal.bytes(), bytes, "a seal has one form");
    }
    let seal = match Name::parse(&text) {
        Name::Cosignature { log, number, id } => Some(names::cosignature(&log, number, id)),
        Name::Seal { log, number } => Some(names::seal(&log, number)),
        Name::SealNote { log, number } => Some(names::seal_note(&log, number)),
        _ => None,
    };
    assert!(seal.is_none_or(|name| name == text), "a name has one form");
    if let Name::Segment {
        day,
        writer,
        first_seq,
    } = Name::parse(&text)
    {
        assert_eq!(
            gatehouse_ledger::names::segment(&day, &writer, first_seq),
            text
        );
    }
}

fn pack(lines: &[u8]) -> Vec<u8> {
    let mut packer = zstd::bulk::Compressor::new(-7).expect("a compressor");
    packer.include_checksum(true).expect("a checksum");
    packer.compress(lines).unwrap_or_default()
}

fn unpack(stored: &[u8]) -> Option<Vec<u8>> {
    zstd::bulk::decompress(stored, 1 << 20).ok()
}

/// What a record says of a payload has one form; bytes that nobody sealed open nowhere.
fn sealed_payload(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Some(location) = Location::parse(&text) {
        assert_eq!(location.name(), text);
    }
    for body in Body::read(&text).unwrap_or_default() {
        let mut event = Event::kind("exchange.admitted");
        event.text("sid", &body.location.session);
        body.write(&mut event);
        let event = event.finish().expect("what was read can be written");
        let again = std::str::from_utf8(event.bytes()).expect("JSON");
        assert_eq!(Body::read(again), Ok(vec![body]));
    }
    let keys = SessionKeys::new(&Secret::new([7; 32]));
    let place = Place {
        part: "req",
        tenant: "t",
        session: "s_a",
        number: 1,
    };
    let commitment = Commitment {
        ct: &sha256(&[bytes]),
        len: (bytes.len() as u64).saturating_sub(33),
        kc: keys.kc(),
        pm: &[0; 32],
    };
    assert!(keys.payload().open(&place, &commitment, bytes).is_err());
}
