//! Seals over streams that come and go.

use std::{path::Path, time::Duration};

use gatehouse_envelope::sign::MemorySigner;

use super::*;
use crate::{
    Ledger, Mode, Options, Pace, SealLog,
    clock::{Clock, SystemClock},
    store::{Fetcher, Memory},
    trust::Trust,
    verify::{Verdict, Verifier},
};

fn writer(dir: &Path, store: &Arc<Memory>, signer: &Arc<MemorySigner>) -> Ledger {
    let options = Options {
        data_dir: dir.to_owned(),
        deployment: "prod".to_owned(),
        mode: Mode::Local,
        pace: Pace {
            keep: Duration::ZERO,
            ..Pace::default()
        },
        seals: SealLog::Own,
    };
    let clock = Arc::new(SystemClock::new());
    Ledger::open(options, store.clone(), signer.clone(), clock)
        .unwrap()
        .0
}

/// However many streams come and go, the next seal can be made, and none of them goes unsealed.
#[test]
fn more_streams_than_are_listed_when_they_have_ended() {
    let dir = tempfile::tempdir().unwrap();
    let store = Arc::new(Memory::default());
    let signer = Arc::new(MemorySigner::generate("prod").unwrap());
    let keys = vec![Key::of(signer.as_ref()).unwrap()];
    let open = |log: &str| {
        let signer: Arc<dyn Signer> = signer.clone();
        let mut sealer = Sealer::open(store.clone(), signer, keys.clone(), log).unwrap();
        sealer.max_ended = 4;
        sealer
    };
    let now = || SystemClock::new().now().unix_us;
    let running = writer(&dir.path().join("running"), &store, &signer);
    running.flush().wait().unwrap();
    let mut sealer = open("prod");
    let mut sealed = HashSet::new();
    for round in 0..3 {
        // Some end between two seals, and one while a seal has it as open.
        let late = writer(&dir.path().join(format!("{round}-late")), &store, &signer);
        late.flush().wait().unwrap();
        for number in 0..4 {
            let own = dir.path().join(format!("{round}-{number}"));
            writer(&own, &store, &signer).close().unwrap();
        }
        for wish in 0..4 {
            sealer.seal(now(), true).unwrap();
            let (seal, _) = sealer.last.as_ref().unwrap();
            let ended = seal.streams.iter();
            let ended = ended.filter(|it| it.state == SealedState::Closed && it.size > 0);
            sealed.extend(ended.map(|it| it.writer.clone()));
            if wish == 0 {
                late.close().unwrap();
            }
        }
        let (seal, _) = sealer.last.as_ref().unwrap();
        assert!(seal.streams.len() <= 4, "{round}: {}", seal.streams.len());
        // Whoever begins here goes on as well.
        open("prod").seal(now(), true).unwrap();
    }
    assert_eq!(sealed.len(), 3 * 5);
    running.close().unwrap();
    sealer.seal(now(), true).unwrap();
    let trust = Trust::one(keys[0].clone());
    let report = Verifier::new(Some(&trust)).verify(store.as_ref() as &dyn Fetcher, |_| {});
    assert_eq!(
        report.verdict(),
        Verdict::Holds,
        "{:?} {:?}",
        report.faults,
        report.doubts
    );
}
