//! What witnesses and logs read of each other, and what authorities reply: no input makes it panic, what
//! is read is written again as it was, and only checkpoints that the log signed are cosigned. The first
//! byte says which reader gets the rest.
#![no_main]

use std::{path::Path, sync::LazyLock};

use gatehouse_envelope::stamp::{Authorities, Stamp};
use gatehouse_ledger::{
    names,
    note::Note,
    store::{Dir, Fetcher},
    trust::Trust,
    witness::{AddCheckpoint, Checkpoint, State, judge, known_size},
};
use libfuzzer_sys::fuzz_target;

struct Log {
    trust: Trust,
    /// The checkpoints that it has signed.
    notes: Vec<String>,
}

static LOG: LazyLock<Log> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("log");
    let trust = std::fs::read_to_string(folder.join("trust.policy")).expect("its trust file");
    let store = Dir::new(folder.join("ledger"));
    let note = |number| {
        let name = names::seal_note("prod", number);
        let note = store.get(&name, 1 << 16).ok().flatten();
        String::from_utf8(note.expect("a checkpoint")).expect("text")
    };
    Log {
        trust: Trust::parse(&trust).expect("its trust file"),
        notes: vec![note(0), note(1)],
    }
});

fuzz_target!(|input: &[u8]| {
    let Some((what, bytes)) = input.split_first() else {
        return;
    };
    match what {
        0 => request(bytes, State::default()),
        1 => request(bytes, first()),
        2 => {
            // Nothing that is made up here has a signature that holds.
            let known = include_bytes!("../seeds/witness/stamp");
            let stamp = Stamp::open(bytes);
            if let (Ok(stamp), Ok(own)) = (stamp, Stamp::open(&known[1..])) {
                assert_eq!(stamp.imprint(), own.imprint());
                assert_eq!(stamp.unix_us(), own.unix_us());
            }
        }
        3 => {
            let _ = Authorities::parse(&String::from_utf8_lossy(bytes));
        }
        _ => {
            if let Some(size) = known_size(bytes) {
                assert_eq!(bytes, format!("{size}\n").as_bytes());
            }
        }
    }
});

/// What a witness knows that has cosigned the first seal.
fn first() -> State {
    let note = Note::parse(&LOG.notes[0]).expect("a note");
    let Checkpoint { size, root, .. } = Checkpoint::of(&note).expect("a checkpoint");
    State { size, root }
}

fn request(body: &[u8], known: State) {
    let Ok(asked) = AddCheckpoint::parse(body) else {
        return;
    };
    assert_eq!(asked.body().as_bytes(), body);
    if let Ok(granted) = judge(&LOG.trust, &[], &asked, |_| known) {
        let checkpoint = granted.checkpoint;
        let texts = LOG
            .notes
            .iter()
            .map(|own| Note::parse(own).expect("a note"));
        assert!(
            texts
                .map(|own| own.text.to_owned())
                .any(|own| own == granted.text)
        );
        assert!(checkpoint.size >= known.size && asked.old == known.size);
    }
}
