//! Time stamps on the last seals of days, by an authority of the tests' own.

#[path = "../../../envelope/tests/it/tsa.rs"]
mod tsa;

use std::{collections::BTreeMap, sync::LazyLock, time::Duration};

use gatehouse_envelope::stamp::{Authorities, Request, Stamp, StampError};
use gatehouse_ledger::{
    Mode,
    anchor::{AnchorError, Anchors},
    clock::{Clock as _, SystemClock, day},
    names,
    note::Key,
    seal::Sealer,
    store::Memory,
    trust::Trust,
    verify::{Doubt, Fault, Finding, Report, Verdict, Verifier},
};
use tsa::{Kind, RSA, Tsa};

use crate::log::Deployment;

pub(crate) type Objects = BTreeMap<String, Vec<u8>>;

const DAY_US: u64 = 86_400_000_000;
const MINUTE_US: u64 = 60_000_000;
/// The first second of 2020 and of 2100. The authority's clock is the machine's, somewhere between.
const PAST: u64 = 1_577_836_800_000_000;
const FUTURE: u64 = 4_102_444_800_000_000;

/// The last midnight: stamps made now on the seals of the two days before are in time.
fn midnight() -> u64 {
    let now = SystemClock::new().now().unix_us;
    now - now % DAY_US
}

/// A log of some days, all of which but the last have their stamps.
pub(crate) struct Log {
    pub(crate) objects: Objects,
    pub(crate) trust: Trust,
    /// Those whose stamps count, in PEM.
    pub(crate) authorities: String,
    /// The last seal that is stamped.
    seal: u64,
    midnight: u64,
}

/// Another authority, of the same name.
static OTHER: LazyLock<String> = LazyLock::new(|| Tsa::new(&RSA).certificates());

pub(crate) static LOG: LazyLock<Log> = LazyLock::new(|| made(&RSA, midnight()));

/// Seals shortly before the midnight before, shortly before `midnight`, and 40 hours behind it.
fn made(kind: &Kind, midnight: u64) -> Log {
    let (dir, authority) = (tempfile::tempdir().unwrap(), Tsa::new(kind));
    let first = midnight - DAY_US - 10 * MINUTE_US;
    let mut prod = Deployment::at(first - 2 * MINUTE_US);
    let (ledger, _) = prod.open(dir.path(), Mode::Local);
    prod.segment(&ledger, 5);
    prod.clock.advance(Duration::from_secs(60));
    ledger.close().unwrap();
    let keys = vec![Key::of(prod.signer.as_ref()).unwrap()];
    let anchors = Anchors::new(prod.store.clone(), &keys, "prod");
    let mut sealer = Sealer::open(prod.store.clone(), prod.signer.clone(), keys, "prod").unwrap();
    sealer.seal(first, true).unwrap();
    let mut stamped = sealer.last().unwrap();
    // On the day behind that midnight nothing ran.
    let last = midnight + 40 * 60 * MINUTE_US;
    for (start, seals) in [(midnight - 10 * MINUTE_US, 3), (last, 2)] {
        let before = sealer.last().unwrap();
        for minute in 0..seals {
            sealer.seal(start + minute * MINUTE_US, true).unwrap();
        }
        anchors.sealed(sealer.last().unwrap());
        let outlook = anchors.outlook().unwrap().unwrap();
        let due = outlook.due.expect("a day is over");
        let request = Request::new(due.imprint).unwrap();
        let reply = authority.reply(&request.bytes());
        let by = Authorities::parse(&authority.certificates()).unwrap();
        let stranger = Authorities::parse(&OTHER).unwrap();
        let refused = anchors.keep_stamp(&due, (&request, &reply), &stranger);
        assert!(matches!(
            refused,
            Err(AnchorError::Stamp(StampError::Untrusted))
        ));
        anchors.keep_stamp(&due, (&request, &reply), &by).unwrap();
        // Once is enough, and another one later changes nothing.
        assert_eq!(anchors.outlook().unwrap().unwrap().due, None);
        let again = Request::new(due.imprint).unwrap();
        let other = Request::new([7; 32]).unwrap();
        for (request, wanted) in [(&again, None), (&other, Some(StampError::Imprint))] {
            let reply = authority.reply(&request.bytes());
            let kept = anchors.keep_stamp(&due, (request, &reply), &by);
            match (kept, wanted) {
                (Ok(_), None) => {}
                (Err(AnchorError::Stamp(error)), Some(wanted)) => assert_eq!(error, wanted),
                (kept, _) => panic!("{kept:?}"),
            }
        }
        assert!(authority.holds(&reply, &data_encoding::HEXLOWER.encode(&due.imprint)));
        stamped = before;
    }
    Log {
        objects: prod.store.objects(),
        trust: prod.trust(),
        authorities: authority.certificates(),
        seal: stamped,
        midnight,
    }
}

impl Log {
    /// The name of a stamp on the day that begins so many days behind the midnight.
    fn name(&self, days: i64) -> String {
        let us = self.midnight.checked_add_signed(days * DAY_US as i64);
        names::stamp("prod", &day(us.unwrap()))
    }

    pub(crate) fn stamps(&self) -> Vec<(&str, &[u8])> {
        let objects = self.objects.iter();
        let stamps = objects.filter(|(name, _)| name.starts_with("tsa/"));
        stamps
            .map(|(name, bytes)| (name.as_str(), bytes.as_slice()))
            .collect()
    }

    fn with(&self, changes: &[(&str, Option<Vec<u8>>)], authorities: Option<&str>) -> Report {
        let mut objects = self.objects.clone();
        for (name, bytes) in changes {
            match bytes {
                Some(bytes) => drop(objects.insert((*name).to_owned(), bytes.clone())),
                None => drop(objects.remove(*name)),
            }
        }
        let authorities = authorities.map(|pem| Authorities::parse(pem).unwrap());
        Verifier::new(Some(&self.trust))
            .authorities(authorities.as_ref())
            .verify(&Memory::with(objects), |_| {})
    }

    fn checked(&self, changes: &[(&str, Option<Vec<u8>>)]) -> Report {
        self.with(changes, Some(&self.authorities))
    }
}

fn doubts(report: &Report) -> Vec<Doubt> {
    report.doubts.iter().map(|at| at.what).collect()
}

#[test]
fn the_last_seals_of_days_are_stamped() {
    let names: Vec<_> = LOG.stamps().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, [LOG.name(-2), LOG.name(-1)]);
    let report = LOG.checked(&[]);
    assert_eq!(
        report.verdict(),
        Verdict::Holds,
        "{:?} {:?}",
        report.faults,
        report.doubts
    );
    let stamped = report.seals[0].stamped.unwrap();
    assert_eq!(stamped.seal, LOG.seal);
    assert!(stamped.stamped_us > stamped.unix_us);
    // Whose they are, nobody can tell without a file that says whose count.
    let report = LOG.with(&[], None);
    assert_eq!(
        (report.verdict(), report.seals[0].stamped),
        (Verdict::Holds, None)
    );
    assert!(report.findings.iter().any(|at| at.what == Finding::Stamps));
    let other = Tsa::new(&RSA).certificates();
    let report = LOG.with(&[], Some(&other));
    assert_eq!(report.verdict(), Verdict::CouldNotTell);
    assert_eq!(
        doubts(&report)[..],
        [[Doubt::StampUntrusted; 2].as_slice(), &[Doubt::StampBehind]].concat()
    );
}

/// Whatever byte of a stamp is changed (every bit of one: envelope/src/stamp/tests.rs): it does not hold, or
/// says the same to the microsecond.
#[test]
fn every_byte_and_cut_of_a_stamp() {
    let (name, bytes) = LOG.stamps()[1];
    let whole = Stamp::open(bytes).unwrap();
    let (imprint, us) = (*whole.imprint(), whole.unix_us());
    let (mut same, mut unknown) = (0, 0);
    for at in 0..bytes.len() {
        let mut changed = bytes.to_vec();
        changed[at] ^= 1 << (at % 8);
        let report = LOG.checked(&[(name, Some(changed.clone()))]);
        if report.verdict() == Verdict::Holds {
            let stamp = Stamp::open(&changed).unwrap();
            assert_eq!((*stamp.imprint(), stamp.unix_us()), (imprint, us), "{at}");
            same += 1;
        } else if report.verdict() == Verdict::CouldNotTell {
            // Another algorithm than those that are known here.
            assert!(doubts(&report).contains(&Doubt::NotChecked), "{at}");
            unknown += 1;
        } else {
            assert_eq!(report.faults[0].what, Fault::Stamp, "{at}");
        }
    }
    assert!(unknown < 30, "{unknown}");
    assert!(same < 80, "{same} bytes are nobody's");
    for cut in (0..bytes.len()).step_by(7) {
        let report = LOG.checked(&[(name, Some(bytes[..cut].to_vec()))]);
        assert_eq!(report.faults[0].what, Fault::Stamp, "{cut}");
    }
}

#[test]
fn stamps_dropped_exchanged_and_put_elsewhere() {
    let stamps = LOG.stamps();
    for (one, bytes) in &stamps {
        for (other, others) in stamps.iter().filter(|(other, _)| other != one) {
            let changes = [
                (*one, Some(others.to_vec())),
                (*other, Some(bytes.to_vec())),
            ];
            assert_eq!(LOG.checked(&changes).faults.len(), 2, "{one} {other}");
            assert_eq!(
                LOG.checked(&[(*one, Some(others.to_vec()))]).verdict(),
                Verdict::Broken
            );
        }
        // Under the name of a day that has no seal, and of one that is not over.
        for (day, fault) in [(0, Fault::SealMissing), (1, Fault::Stamp)] {
            let report = LOG.checked(&[(&LOG.name(day), Some(bytes.to_vec()))]);
            assert_eq!(report.faults[0].what, fault, "{day}");
        }
    }
    // Later ones cover those before, but not for long.
    let report = LOG.checked(&[(stamps[0].0, None)]);
    assert_eq!(report.verdict(), Verdict::Holds);
    let report = LOG.checked(&[(stamps[1].0, None)]);
    assert_eq!(doubts(&report), [Doubt::StampBehind]);
    let none: Vec<_> = stamps.iter().map(|(name, _)| (*name, None)).collect();
    assert_eq!(doubts(&LOG.checked(&none)), [Doubt::StampBehind]);
    assert_eq!(LOG.with(&none, None).verdict(), Verdict::Holds);
    // The last seals are taken away, and the stamp that says that they were there is not.
    let last = LOG.objects.keys().filter(|name| name.starts_with("seal/"));
    let last: Vec<_> = last
        .rev()
        .take(6)
        .map(|name| (name.as_str(), None))
        .collect();
    let found: Vec<_> = LOG.checked(&last).faults.iter().map(|at| at.what).collect();
    assert_eq!(found, [Fault::Stamp]);
}

#[test]
fn a_stamp_from_before_its_seal_says_that_a_clock_is_wrong() {
    let log = made(&RSA, FUTURE);
    let report = log.checked(&[]);
    assert_eq!(report.faults.len(), 0);
    assert_eq!(doubts(&report), [Doubt::Clock; 2]);
}

/// One that was made long after shows nothing of when the seal was.
#[test]
fn a_stamp_from_long_after_its_seal_cannot_be_told() {
    let log = made(&RSA, PAST);
    let report = log.checked(&[]);
    assert_eq!(report.faults.len(), 0);
    assert_eq!(doubts(&report), [Doubt::Late; 2]);
}

/// Cases for another verifier: what, which objects, and whose stamps count.
pub(crate) type Case = (String, Vec<(String, Option<Vec<u8>>)>, Option<String>);

pub(crate) fn cases() -> Vec<Case> {
    let (stamps, own) = (LOG.stamps(), Some(LOG.authorities.clone()));
    let mut cases: Vec<Case> = vec![
        ("checked".into(), vec![], own.clone()),
        (
            "another authority".into(),
            vec![],
            Some(Tsa::new(&RSA).certificates()),
        ),
    ];
    let usage = Tsa::new(&Kind {
        usage: "critical,serverAuth",
        ..RSA
    });
    cases.push((
        "an authority for something else".into(),
        vec![],
        Some(usage.certificates()),
    ));
    for (index, (name, bytes)) in stamps.iter().enumerate() {
        cases.push((
            format!("{name} dropped"),
            vec![((*name).into(), None)],
            own.clone(),
        ));
        for at in (index..bytes.len()).step_by(11) {
            let mut flipped = bytes.to_vec();
            flipped[at] ^= 1 << (at % 8);
            cases.push((
                format!("{name} byte {at}"),
                vec![((*name).into(), Some(flipped))],
                own.clone(),
            ));
        }
        for at in [0, 9, bytes.len() / 2, bytes.len() - 1] {
            let cut = vec![((*name).into(), Some(bytes[..at].to_vec()))];
            cases.push((format!("{name} cut at {at}"), cut.clone(), own.clone()));
            cases.push((format!("{name} cut at {at}, unchecked"), cut, None));
        }
        let (other, others) = stamps[(index + 1) % stamps.len()];
        let exchanged = vec![
            ((*name).into(), Some(others.to_vec())),
            (other.into(), Some(bytes.to_vec())),
        ];
        cases.push((
            format!("{name} and {other} exchanged"),
            exchanged,
            own.clone(),
        ));
        for day in [0, 1] {
            let moved = vec![(LOG.name(day), Some(bytes.to_vec()))];
            cases.push((format!("{name} as that of {day}"), moved, own.clone()));
        }
    }
    cases
}

/// Logs whose authorities have other keys and ways to name them.
pub(crate) fn others() -> Vec<(&'static str, Log)> {
    let p256 = &["ec", "-pkeyopt", "ec_paramgen_curve:P-256"];
    vec![
        ("stamped-p256", made(&Kind { key: p256, ..RSA }, midnight())),
        (
            "stamped-sha1-name",
            made(
                &Kind {
                    names: "sha1",
                    digest: "sha512",
                    ..RSA
                },
                midnight(),
            ),
        ),
        ("stamped-late", made(&RSA, PAST)),
        ("stamped-tomorrow", made(&RSA, FUTURE)),
    ]
}
