//! What verification says of a bucket.

use std::sync::Arc;

use aws_sdk_s3::{
    primitives::{ByteStream, DateTime},
    types::ObjectLockMode,
};
use gatehouse_envelope::sign::{MemorySigner, Signer};
use gatehouse_ledger::{
    Durability, Ledger, Mode, Options, Pace, SealLog,
    clock::{Clock, SystemClock},
    note::Key,
    store::{Dir, Fetcher, LedgerStore},
    trust::Trust,
    verify::{At, Class, Fault, Locks, Report, Verdict, Verifier},
};

use super::place::{Place, Server};
use crate::log::Sessions;

/// Writes a log of three segments, closed.
fn write(place: &Place) -> Trust {
    let dir = tempfile::tempdir().unwrap();
    let signer = Arc::new(MemorySigner::generate("prod").unwrap());
    let options = Options {
        data_dir: dir.path().to_owned(),
        deployment: signer.name().to_owned(),
        mode: Mode::Local,
        pace: Pace::default(),
        seals: SealLog::Shared,
    };
    let (store, clock) = (Arc::new(place.writer()), Arc::new(SystemClock::new()));
    let (ledger, _) = Ledger::open(options, store, signer.clone(), clock).unwrap();
    let mut sessions = Sessions::default();
    for count in [9, 18] {
        for _ in 0..count {
            let ticket = ledger.append(sessions.next(), Durability::Durable);
            ticket.wait().unwrap();
        }
        ledger.flush().wait().unwrap();
    }
    ledger.close().unwrap();
    Trust::one(Key::of(signer.as_ref()).unwrap())
}

fn verify(log: &dyn Fetcher, trust: &Trust, days: u32) -> Report {
    let now_us = Some(SystemClock::new().now().unix_us);
    let locks = Locks { days, now_us };
    Verifier::new(Some(trust)).locks(locks).verify(log, |_| {})
}

fn whats<T: Copy>(list: &[At<T>]) -> Vec<T> {
    list.iter().map(|at| at.what).collect()
}

fn segments(place: &Place) -> Vec<String> {
    let listed = place.reader().list("log/").unwrap();
    listed.into_iter().map(|object| object.name).collect()
}

fn put(place: &Place, name: &str, bytes: &[u8], lock: Option<ObjectLockMode>) {
    let key = format!("{}/{name}", place.bucket.prefix);
    let until = SystemClock::new().now().unix_us / 1_000_000 + 2 * 86_400;
    let until = DateTime::from_secs(i64::try_from(until).unwrap());
    place.ask(async |client, bucket| {
        let put = client.put_object().bucket(bucket).key(key);
        let put = put.body(ByteStream::from(bytes.to_vec()));
        let put = put.set_object_lock_retain_until_date(lock.as_ref().map(|_| until));
        put.set_object_lock_mode(lock).send().await.unwrap();
    });
}

#[test]
fn a_log_in_a_bucket_holds_and_so_does_its_copy() {
    for server in Server::ALL {
        let mut place = Place::new(server);
        let trust = write(&place);
        let report = verify(&place.reader(), &trust, 1);
        assert_eq!(
            report.verdict(),
            Verdict::Holds,
            "{:?} {:?}",
            report.faults,
            report.doubts
        );
        assert_eq!((report.records, report.streams.len()), (29, 1));
        assert!(report.findings.is_empty(), "{:?}", report.findings);
        let last_us = report.streams[0].last_us;
        assert_eq!(report.horizon_us(), Some(last_us));
        let until_us = report.locked_until_us.unwrap();
        assert!((last_us + 86_400_000_000..last_us + 3 * 86_400_000_000).contains(&until_us));

        place.bucket.page = Some(2);
        let reader = place.reader();
        let listed = reader.list("").unwrap();
        let seals = listed.iter().filter(|it| it.name.starts_with("seal/"));
        assert_eq!(listed.len() - seals.count(), 4, "{server:?} {listed:?}");
        assert!(
            listed
                .iter()
                .all(|it| (it.versions, it.deletions) == (1, 0))
        );
        let copy = tempfile::tempdir().unwrap();
        let folder = Dir::new(copy.path());
        for object in listed {
            let bytes = reader.get(&object.name, 1 << 20).unwrap().unwrap();
            folder.put_once(&object.name, &bytes).unwrap();
        }
        let report = verify(&folder, &trust, 400);
        assert_eq!(report.verdict(), Verdict::Holds);
        assert_eq!(report.locked_until_us, None);
    }
}

#[test]
fn a_lock_that_is_too_short_or_none_is_a_fault() {
    let place = Place::new(Server::RadosGw);
    let trust = write(&place);
    let objects = place.reader().list("").unwrap().len();
    let report = verify(&place.reader(), &trust, 400);
    assert_eq!(whats(&report.faults), vec![Fault::LockShort; objects]);
    assert_eq!(Fault::LockShort.class(), Class::Lock);
    for lock in [None, Some(ObjectLockMode::Governance)] {
        let other = Place::new(Server::RadosGw);
        let reader = place.reader();
        for object in reader.list("").unwrap() {
            let bytes = reader.get(&object.name, 1 << 20).unwrap().unwrap();
            put(&other, &object.name, &bytes, lock.clone());
        }
        let report = verify(&other.reader(), &trust, 1);
        assert_eq!(whats(&report.faults), vec![Fault::Unlocked; objects]);
        let report = verify(&other.reader(), &trust, 0);
        assert_eq!(report.verdict(), Verdict::Holds, "no lock is demanded");
    }
}

/// Nothing that is done to a locked object hides what it held; that it was done shows.
#[test]
fn the_oldest_version_counts_and_others_are_faults() {
    for server in Server::ALL {
        let place = Place::new(server);
        let trust = write(&place);
        let segments = segments(&place);
        put(&place, &segments[0], b"other", None);
        let report = verify(&place.reader(), &trust, 1);
        assert_eq!(whats(&report.faults), [Fault::Rewritten], "{server:?}");
        assert_eq!(report.faults[0].place, segments[0]);
        assert_eq!(report.records, 29);

        let key = format!("{}/{}", place.bucket.prefix, segments[1]);
        place.ask(async |client, bucket| {
            let delete = client.delete_object().bucket(bucket).key(key);
            delete.send().await.unwrap();
        });
        let report = verify(&place.reader(), &trust, 1);
        assert_eq!(
            whats(&report.faults),
            [Fault::Rewritten, Fault::Deleted],
            "{server:?}"
        );
        assert_eq!(report.records, 29);
        assert_eq!(report.faults[1].what.class(), Class::Tampering);
    }
}

#[test]
fn what_stands_beside_the_log_does_not_hide_it() {
    let place = Place::new(Server::RadosGw);
    let trust = write(&place);
    let lock = Some(ObjectLockMode::Compliance);
    put(&place, "log/\u{1}<&>%+ \u{e4}", b"x", lock.clone());
    put(&place, "../v10/log/a", b"x", lock);
    let report = verify(&place.reader(), &trust, 1);
    assert_eq!(report.verdict(), Verdict::Holds, "{:?}", report.faults);
    let strangers: Vec<_> = report.findings.iter().map(|it| it.place.as_str()).collect();
    assert_eq!(strangers.len(), 2, "{strangers:?}");
    assert!(
        strangers.contains(&"log/\u{1}<&>%+ \u{e4}"),
        "{strangers:?}"
    );
}

#[test]
fn a_bucket_without_a_log_is_never_valid() {
    let place = Place::new(Server::RadosGw);
    let nobody = MemorySigner::generate("prod").unwrap();
    let trust = Trust::one(Key::of(&nobody).unwrap());
    let report = verify(&place.reader(), &trust, 1);
    assert_eq!(report.verdict(), Verdict::CouldNotTell);
    assert_eq!(report.doubts[0].what.class(), Class::Unproven);
    assert_eq!(report.horizon_us(), None);
}
