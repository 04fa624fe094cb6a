//! Logs for another verifier, with the exit code that ours gives them: `ledger/tests/verify.py`
//! must give the same. They are left in cargo's folder for tests, `target/tmp/ledger-fixtures`.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use data_encoding::BASE64;
use gatehouse_envelope::{sign::MemorySigner, stamp::Authorities};
use gatehouse_ledger::{
    Mode,
    disclose::check,
    store::Memory,
    trust::Trust,
    verify::{Verdict, Verifier},
};
use serde_json::{Value, json};

use crate::{
    changed::{LOG, lines, pack, unpack},
    cosigned, crafted, disclose,
    log::Deployment,
    seal, stamped,
};

type Objects = BTreeMap<String, Vec<u8>>;

/// What the names of those begin with that are no logs, but one session of one.
const SHOWN: &str = "shown-";

/// What was written so far: a folder a log, and a line a case.
struct Fixtures {
    root: PathBuf,
    cases: Vec<Value>,
}

impl Fixtures {
    fn new() -> Self {
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ledger-fixtures");
        let _ = fs::remove_dir_all(&root);
        let cases = Vec::new();
        Self { root, cases }
    }

    /// Writes a log and its trust file, and the case of the log as it is.
    fn log(&mut self, name: &str, objects: &Objects, trust: &Trust) -> Verdict {
        for (object, bytes) in objects {
            let path = self.root.join(name).join("ledger").join(object);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        fs::write(self.root.join(name).join("trust.policy"), trust.file()).unwrap();
        self.case(name, "as it is", objects, &[], Some(trust))
    }

    /// Adds the case of a log of which some objects are changed, added or removed.
    fn case(
        &mut self,
        log: &str,
        what: &str,
        objects: &Objects,
        changes: &[(&str, Option<Vec<u8>>)],
        trust: Option<&Trust>,
    ) -> Verdict {
        self.case_by(log, what, objects, changes, (trust, None))
    }

    /// The same, with those whose time stamps count, in PEM.
    fn case_by(
        &mut self,
        log: &str,
        what: &str,
        objects: &Objects,
        changes: &[(&str, Option<Vec<u8>>)],
        (trust, tsa): (Option<&Trust>, Option<&str>),
    ) -> Verdict {
        let mut changed = objects.clone();
        let mut listed = serde_json::Map::new();
        for (name, bytes) in changes {
            let encoded = bytes.as_ref().map(|bytes| BASE64.encode(bytes));
            listed.insert((*name).to_owned(), encoded.into());
            match bytes {
                Some(bytes) => drop(changed.insert((*name).to_owned(), bytes.clone())),
                None => drop(changed.remove(*name)),
            }
        }
        let changed = Memory::with(changed);
        let authorities = tsa.map(|pem| Authorities::parse(pem).unwrap());
        let verifier = Verifier::new(trust).authorities(authorities.as_ref());
        let report = match (log.starts_with(SHOWN), trust) {
            (true, Some(trust)) => check(&changed, trust).report,
            _ => verifier.verify(&changed, |_| {}),
        };
        let verdict = report.verdict();
        self.cases.push(json!({
            "log": log, "case": what, "change": listed, "exit": verdict as u8,
            "trust": trust.map(Trust::file), "tsa": tsa,
        }));
        verdict
    }

    fn finish(self) {
        let text: String = self.cases.iter().map(|case| format!("{case}\n")).collect();
        fs::write(self.root.join("cases.jsonl"), text).unwrap();
        let count = |exit: u8| {
            self.cases
                .iter()
                .filter(|case| case["exit"] == exit)
                .count()
        };
        let counts = [count(0), count(1), count(2)];
        assert!(
            counts[0] > 20 && counts[1] > 600 && counts[2] > 20,
            "{counts:?}"
        );
    }
}

#[test]
fn logs_for_another_verifier() {
    let mut fixtures = Fixtures::new();
    let (clean, open) = clean_and_open();
    fixtures.log("clean", &clean.0, &clean.1);
    fixtures.log("open", &open.0, &open.1);
    let verdict = fixtures.log("recovered", &LOG.objects, &LOG.trust);
    assert_eq!(verdict, Verdict::Holds);
    trust_files(&mut fixtures);
    names_and_files(&mut fixtures);
    bytes_and_lines(&mut fixtures);
    for (name, log) in seal::logs() {
        fixtures.log(&format!("sealed-{name}"), &log, &seal::trust());
    }
    let (whole, cut, trust) = seal::outlived();
    assert_eq!(fixtures.log("running", &whole, &trust), Verdict::Holds);
    let verdict = fixtures.log("outlived", &cut, &trust);
    assert_eq!(verdict, Verdict::CouldNotTell);
    let witnessed = &*cosigned::LOG;
    let verdict = fixtures.log("witnessed", &witnessed.objects, &witnessed.trust);
    assert_eq!(verdict, Verdict::Holds);
    for (what, changes) in cosigned::changes() {
        let changes: Vec<_> = changes
            .iter()
            .map(|(name, bytes)| (name.as_str(), bytes.clone()))
            .collect();
        fixtures.case(
            "witnessed",
            &what,
            &witnessed.objects,
            &changes,
            Some(&witnessed.trust),
        );
    }
    time_stamps(&mut fixtures);
    for (name, exit, log) in crafted::logs() {
        let trust = crafted::trust();
        let verdict = fixtures.log(&format!("crafted-{name}"), &log, &trust);
        assert_eq!(verdict as u8, exit, "{name}");
    }
    shown(&mut fixtures);
    fixtures.finish();
}

/// A session shown alone; every file of it missing, exchanged with the next, and changed somewhere.
fn shown(fixtures: &mut Fixtures) {
    let (trust, witnessed) = disclose::trusts();
    for (name, trust) in [("plain", &trust), ("witnessed", &witnessed)] {
        let log = format!("{SHOWN}{name}");
        let objects = disclose::disclosed("s_1");
        assert_eq!(fixtures.log(&log, &objects, trust), Verdict::Holds);
        let names: Vec<&String> = objects.keys().collect();
        for (index, name) in names.iter().enumerate() {
            let (bytes, other) = (&objects[*name], names[(index + 1) % names.len()]);
            let without = [(name.as_str(), None)];
            fixtures.case(&log, "without", &objects, &without, Some(trust));
            let exchanged = [
                (name.as_str(), Some(objects[other].clone())),
                (other.as_str(), Some(bytes.clone())),
            ];
            fixtures.case(&log, "exchanged", &objects, &exchanged, Some(trust));
            for at in (index % 7..bytes.len()).step_by(bytes.len() / 5 + 1) {
                let changed = [(name.as_str(), Some(flip(bytes, at)))];
                fixtures.case(&log, "flipped", &objects, &changed, Some(trust));
            }
        }
        outside(fixtures, &log, &objects, trust);
        let seals = names.iter().filter(|name| name.starts_with("seal/"));
        let unsealed: Vec<_> = seals.map(|name| (name.as_str(), None)).collect();
        fixtures.case(&log, "unsealed", &objects, &unsealed, Some(trust));
        let nothing: Vec<_> = names.iter().map(|name| (name.as_str(), None)).collect();
        fixtures.case(&log, "nothing", &objects, &nothing, Some(trust));
    }
}

/// Records outside of the chain: others in their places, under another session, and alone.
fn outside(fixtures: &mut Fixtures, log: &str, objects: &Objects, trust: &Trust) {
    let under = |folder: &str| -> Vec<&str> {
        let names = objects.keys().map(String::as_str);
        names.filter(|name| name.starts_with(folder)).collect()
    };
    let (outside, chained) = (under("outside/"), under("session/"));
    for (to, from) in outside.iter().zip(&chained) {
        let moved = [(*to, Some(objects[*from].clone()))];
        fixtures.case(log, "of the chain", objects, &moved, Some(trust));
    }
    let mut without: Vec<_> = chained.iter().map(|name| (*name, None)).collect();
    fixtures.case(log, "alone", objects, &without, Some(trust));
    let another = disclose::disclosed("s_0");
    without.extend(another.iter().map(|(n, b)| (n.as_str(), Some(b.clone()))));
    let verdict = fixtures.case(log, "of another", objects, &without, Some(trust));
    assert_eq!(verdict, Verdict::Broken);
}

fn time_stamps(fixtures: &mut Fixtures) {
    let log = &*stamped::LOG;
    let verdict = fixtures.log("stamped", &log.objects, &log.trust);
    assert_eq!(verdict, Verdict::Holds);
    for (what, changes, tsa) in stamped::cases() {
        let changes: Vec<_> = changes
            .iter()
            .map(|(name, bytes)| (name.as_str(), bytes.clone()))
            .collect();
        let by = (Some(&log.trust), tsa.as_deref());
        fixtures.case_by("stamped", &what, &log.objects, &changes, by);
    }
    for (name, log) in stamped::others() {
        fixtures.log(name, &log.objects, &log.trust);
        let by = (Some(&log.trust), Some(log.authorities.as_str()));
        fixtures.case_by(name, "checked", &log.objects, &[], by);
    }
}

fn clean_and_open() -> ((Objects, Trust), (Objects, Trust)) {
    let (dir, mut prod) = (tempfile::tempdir().unwrap(), Deployment::new());
    let (ledger, _) = prod.open(dir.path(), Mode::Local);
    prod.segment(&ledger, 20);
    prod.segment(&ledger, 9);
    let open = (prod.store.objects(), prod.trust());
    ledger.close().unwrap();
    ((prod.store.objects(), prod.trust()), open)
}

fn trust_files(fixtures: &mut Fixtures) {
    let other = Deployment::new().trust();
    let mut both = other.clone();
    both.logs.extend(LOG.trust.logs.clone());
    let witness = MemorySigner::generate("w").unwrap();
    let key = gatehouse_ledger::note::Key::of(&witness).unwrap();
    let text = LOG.trust.file().replace("quorum none", "");
    let quorum = Trust::parse(&format!("{text}witness w {key}\nquorum w\n")).unwrap();
    for (what, trust, wanted) in [
        ("no trust file", None, Verdict::CouldNotTell),
        ("another deployment's", Some(&other), Verdict::Broken),
        ("two deployments'", Some(&both), Verdict::Holds),
    ] {
        let verdict = fixtures.case("recovered", what, &LOG.objects, &[], trust);
        assert_eq!(verdict, wanted, "{what}");
    }
    let verdict = fixtures.case("recovered", "a quorum", &LOG.objects, &[], Some(&quorum));
    assert_eq!(verdict, Verdict::CouldNotTell);
}

/// Objects that are removed, exchanged, added.
fn names_and_files(fixtures: &mut Fixtures) {
    let names: Vec<&String> = LOG.objects.keys().collect();
    let mut case = |what: String, changes: &[(&str, Option<Vec<u8>>)]| {
        fixtures.case("recovered", &what, &LOG.objects, changes, Some(&LOG.trust));
    };
    for (index, one) in names.iter().enumerate() {
        case(format!("{one} removed"), &[(one, None)]);
        for other in names.iter().skip(index + 1) {
            let (a, b) = (LOG.objects[*other].clone(), LOG.objects[*one].clone());
            let what = format!("{one} and {other} exchanged");
            case(what, &[(one, Some(a)), (other, Some(b))]);
        }
        for length in [0, 1, 3, 5, 17, 300] {
            let noise = (0..length).map(|n| (n * 31 + index * 7) as u8).collect();
            case(format!("{one} noise"), &[(one, Some(noise))]);
        }
    }
    for (name, _) in LOG.certificates() {
        let writer = name
            .trim_start_matches("cert/")
            .trim_end_matches(".dsse.json");
        let of = |name: &&&String| name.contains(writer);
        let stream: Vec<_> = names
            .iter()
            .filter(of)
            .map(|n| (n.as_str(), None))
            .collect();
        case(format!("stream {writer} removed"), &stream);
    }
    let all: Vec<_> = names.iter().map(|name| (name.as_str(), None)).collect();
    case("everything removed".into(), &all);
    let digits = "0".repeat(32);
    for added in [
        "seal/00000000000000001234.json".to_owned(),
        "policy/x.toml".to_owned(),
        "README".to_owned(),
        format!("cert/20261129-prod-{digits}.dsse.json"),
        format!("cert/20261129--prod-{digits}.dsse.json"),
        format!("cert/20261129-prod-{}A.dsse.json", &digits[1..]),
        format!(
            "log/p_day=2026-11-29/p_writer=20261129-prod-{digits}/{:020}.jsonl.zst",
            0
        ),
        format!("log/p_day=2026-11-29/p_writer=20261129-prod-{digits}/0.jsonl.zst"),
        format!(
            "log/p_day=2026-11-2x/p_writer=20261129-prod-{digits}/{:020}.jsonl.zst",
            0
        ),
        format!(
            "log/p_day=2026-11-29/p_writer=20261129-prod-{digits}/{}.jsonl.zst",
            "9".repeat(20)
        ),
    ] {
        case(format!("{added} added"), &[(&added, Some(b"x".to_vec()))]);
    }
}

/// A sample of bytes, lines and cuts of every object.
fn bytes_and_lines(fixtures: &mut Fixtures) {
    let mut case = |name: &str, what: String, bytes: Vec<u8>| {
        let changes = [(name, Some(bytes))];
        let what = format!("{name} {what}");
        fixtures.case("recovered", &what, &LOG.objects, &changes, Some(&LOG.trust));
    };
    let sample = |count: usize, of: usize| (0..of).map(move |n| n * count / of);
    for (name, bytes) in &LOG.objects {
        for at in sample(bytes.len(), 20) {
            case(name, format!("byte {at}"), flip(bytes, at));
        }
        // The frame's header, where decoders put up with most; of segments that no other names.
        let header = if name.starts_with("log/") && LOG.is_last(name) {
            9
        } else {
            0
        };
        for bit in 0..8 * header {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            case(name, format!("bit {bit}"), changed);
        }
        for at in sample(bytes.len(), 5) {
            case(name, format!("cut at {at}"), bytes[..at].to_vec());
        }
        case(
            name,
            "with a byte behind".into(),
            [bytes, &b"\n"[..]].concat(),
        );
    }
    for (name, stored) in LOG.segments() {
        let (all, each) = (unpack(stored).unwrap(), lines(stored));
        for at in sample(all.len(), 12).chain([13]) {
            case(name, format!("unpacked byte {at}"), pack(&flip(&all, at)));
            case(name, format!("unpacked cut at {at}"), pack(&all[..at]));
        }
        for at in [0, 1, each.len() / 2, each.len() - 1] {
            let mut dropped = each.clone();
            dropped.remove(at);
            let mut repeated = each.clone();
            repeated.insert(at, each[at].clone());
            let mut swapped = each.clone();
            swapped.swap(at, (at + 1) % each.len());
            for (what, changed) in [("drop", dropped), ("repeat", repeated), ("swap", swapped)] {
                case(name, format!("{what} line {at}"), pack(&changed.concat()));
            }
        }
        case(name, "packed again".into(), pack(&all));
        case(name, "newer".into(), newer(&all));
        let bare = zstd::bulk::compress(&all, 3).unwrap();
        case(name, "without a checksum".into(), bare);
        case(name, "two frames".into(), [stored, stored].concat());
    }
}

fn flip(bytes: &[u8], at: usize) -> Vec<u8> {
    let mut changed = bytes.to_vec();
    changed[at] ^= 1 << (at % 8);
    changed
}

fn newer(lines: &[u8]) -> Vec<u8> {
    let text = String::from_utf8(lines.to_vec()).unwrap();
    pack(
        text.replacen("{\"gatehouse\":1,", "{\"gatehouse\":12,", 1)
            .as_bytes(),
    )
}
