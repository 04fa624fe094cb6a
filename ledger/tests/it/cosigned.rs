//! Cosignatures of witnesses, as the verifier sees them.

use std::{collections::BTreeMap, sync::LazyLock, time::Duration};

use gatehouse_envelope::sign::{MemorySigner, Signer as _};
use gatehouse_ledger::{
    Mode,
    anchor::Anchors,
    cosign::{WitnessKey, cosign},
    names,
    note::{Key, Note},
    store::Memory,
    trust::Trust,
    verify::{Doubt, Fault, Report, Verdict},
    witness::{AddCheckpoint, State, judge},
};

use crate::log::{Deployment, START_US, verify};

pub(crate) type Objects = BTreeMap<String, Vec<u8>>;

/// A log of seals, most of which two of three witnesses have cosigned.
pub(crate) struct Log {
    pub(crate) objects: Objects,
    pub(crate) trust: Trust,
    witnesses: Vec<MemorySigner>,
    seals: u64,
}

pub(crate) static LOG: LazyLock<Log> = LazyLock::new(|| {
    let dir = tempfile::tempdir().unwrap();
    let mut prod = Deployment::new();
    let (ledger, _) = prod.open(dir.path(), Mode::Local);
    let mut last = 0;
    for _ in 0..5 {
        prod.segment(&ledger, 4);
        last = ledger.seal().unwrap().unwrap();
        prod.clock.advance(Duration::from_secs(60));
    }
    ledger.close().unwrap();
    let witnesses: Vec<_> = ["w1.example", "w2.example", "w3.example"]
        .into_iter()
        .map(|name| MemorySigner::generate(name).unwrap())
        .collect();
    let seals = last + 2;
    let keys = [Key::of(prod.signer.as_ref()).unwrap()];
    let anchors = Anchors::new(prod.store.clone(), &keys, "prod");
    for (index, witness) in witnesses.iter().enumerate() {
        let mut known = State::default();
        // The third one is slow: it cosigns every third seal alone.
        for number in (0..seals).filter(|number| index < 2 || number % 3 == 0) {
            known = cosigned(&anchors, &prod.trust(), witness, known, number);
        }
    }
    let text = prod.trust().file().replace("quorum none\n", "");
    let lines: String = witnesses
        .iter()
        .enumerate()
        .map(|(index, it)| format!("witness w{} {}\n", index + 1, WitnessKey::of(it).unwrap()))
        .collect();
    let text = format!("{text}{lines}group most 2 w1 w2 w3\nquorum most\n");
    Log {
        objects: prod.store.objects(),
        trust: Trust::parse(&text).unwrap(),
        witnesses,
        seals,
    }
});

/// Has a witness cosign a seal, and keeps that.
fn cosigned(
    anchors: &Anchors,
    trust: &Trust,
    witness: &MemorySigner,
    known: State,
    number: u64,
) -> State {
    let body = anchors.request(number, known.size).unwrap();
    let asked = AddCheckpoint::parse(body.as_bytes()).unwrap();
    let granted = judge(trust, &[], &asked, |_| known).ok().unwrap();
    let checkpoint = granted.checkpoint;
    let line = cosign(granted.text, witness, START_US / 1_000_000 + number).unwrap();
    let key = WitnessKey::of(witness).unwrap();
    anchors.keep(number, &key, &line).unwrap();
    let (size, root) = (checkpoint.size, checkpoint.root);
    State { size, root }
}

impl Log {
    fn name(&self, witness: usize, number: u64) -> String {
        let key = WitnessKey::of(&self.witnesses[witness]).unwrap();
        names::cosignature("prod", number, key.id())
    }

    fn cosignatures(&self) -> Vec<(&String, &Vec<u8>)> {
        let objects = self.objects.iter();
        objects
            .filter(|(name, _)| name.starts_with("cosig/"))
            .collect()
    }

    fn with(&self, changes: &[(&str, Option<Vec<u8>>)]) -> Report {
        let mut objects = self.objects.clone();
        for (name, bytes) in changes {
            match bytes {
                Some(bytes) => drop(objects.insert((*name).to_owned(), bytes.clone())),
                None => drop(objects.remove(*name)),
            }
        }
        verify(&Memory::with(objects), &self.trust)
    }
}

fn witnessed(report: &Report) -> Option<u64> {
    report.seals[0].witnessed.map(|seen| seen.seal)
}

#[test]
fn a_quorum_is_the_horizon() {
    let report = LOG.with(&[]);
    assert_eq!(
        report.verdict(),
        Verdict::Holds,
        "{:?} {:?}",
        report.faults,
        report.doubts
    );
    assert_eq!(witnessed(&report), Some(LOG.seals - 1));
    let seen = report.seals[0].witnessed.unwrap();
    assert_eq!(seen.cosigned_s, START_US / 1_000_000 + LOG.seals - 1);
}

#[test]
fn every_byte_and_cut_of_a_cosignature() {
    // They are all alike; of each witness one, from all over the log.
    for (name, bytes) in LOG.cosignatures().into_iter().step_by(5) {
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << (at % 8);
            for changed in [changed, bytes[..at].to_vec()] {
                let report = LOG.with(&[(name, Some(changed))]);
                let found: Vec<_> = report.faults.iter().map(|at| at.what).collect();
                assert_eq!(found, [Fault::Cosignature], "{name} {at}");
            }
        }
        let longer = [bytes.as_slice(), b"\n"].concat();
        assert_eq!(LOG.with(&[(name, Some(longer))]).verdict(), Verdict::Broken);
    }
}

#[test]
fn cosignatures_exchanged_repeated_and_renamed() {
    let all = LOG.cosignatures();
    for (one, bytes) in &all {
        for (other, others) in all.iter().filter(|(other, _)| other != one) {
            let changes = [
                (one.as_str(), Some((*others).clone())),
                (other.as_str(), Some((*bytes).clone())),
            ];
            assert_eq!(
                LOG.with(&changes).verdict(),
                Verdict::Broken,
                "{one} {other}"
            );
            let repeated = [(other.as_str(), Some((*bytes).clone()))];
            assert_eq!(
                LOG.with(&repeated).verdict(),
                Verdict::Broken,
                "{one} {other}"
            );
        }
        // One more line, and one of the deployment's alone.
        let text = String::from_utf8((*bytes).clone()).unwrap();
        let line = text.lines().last().unwrap();
        let twice = format!("{text}{line}\n").into_bytes();
        let alone = text
            .trim_end_matches(&format!("{line}\n"))
            .as_bytes()
            .to_vec();
        for changed in [twice, alone] {
            assert_eq!(
                LOG.with(&[(one, Some(changed))]).verdict(),
                Verdict::Broken,
                "{one}"
            );
        }
        // By a witness that nobody knows: it says nothing, and takes nothing away.
        let number = one.split('/').nth(2).unwrap().parse().unwrap();
        let unknown = names::cosignature("prod", number, [0xab; 4]);
        let report = LOG.with(&[(&unknown, Some((*bytes).clone()))]);
        assert_eq!(report.verdict(), Verdict::Holds, "{one}");
    }
}

#[test]
fn dropped_cosignatures_move_the_horizon() {
    let last = LOG.seals - 1;
    for number in 0..LOG.seals {
        let (one, two, three) = (
            LOG.name(0, number),
            LOG.name(1, number),
            LOG.name(2, number),
        );
        let third = LOG.objects.contains_key(&three);
        // Two of three are enough, whichever.
        let report = LOG.with(&[(&one, None)]);
        assert_eq!(report.verdict(), Verdict::Holds, "{number}");
        let missing = number == last && !third;
        let wanted = if missing { last - 1 } else { last };
        assert_eq!(witnessed(&report), Some(wanted), "{number}");
        let report = LOG.with(&[(&one, None), (&two, None), (&three, None)]);
        let wanted = if number == last { last - 1 } else { last };
        assert_eq!(
            (report.verdict(), witnessed(&report)),
            (Verdict::Holds, Some(wanted))
        );
    }
    let none: Vec<_> = LOG
        .cosignatures()
        .into_iter()
        .map(|(name, _)| (name.as_str(), None))
        .collect();
    let report = LOG.with(&none);
    assert_eq!(report.verdict(), Verdict::CouldNotTell);
    assert_eq!(report.doubts[0].what, Doubt::Quorum);
    // The last seals are taken away with all that says that they were there, but for one cosignature.
    let kept = LOG.name(0, last);
    let rolled = LOG
        .objects
        .keys()
        .filter(|name| name.contains(&format!("{last:020}")) && **name != kept);
    let rolled: Vec<_> = rolled.map(|name| (name.as_str(), None)).collect();
    let found = LOG.with(&rolled);
    assert!(
        found.faults.iter().any(|at| at.what == Fault::SealMissing),
        "{:?}",
        found.faults
    );
}

/// Whoever has the deployment's key but no witness's can make none.
#[test]
fn cosignatures_by_others_do_not_count() {
    let stranger = MemorySigner::generate("w1.example").unwrap();
    for number in 0..LOG.seals {
        let note = &LOG.objects[&names::seal_note("prod", number)];
        let note = String::from_utf8(note.clone()).unwrap();
        let parsed = Note::parse(&note).unwrap();
        let line = cosign(parsed.text, &stranger, 1).unwrap();
        let forged = (note.clone() + &line).into_bytes();
        let report = LOG.with(&[(&LOG.name(0, number), Some(forged))]);
        assert_eq!(report.faults[0].what, Fault::Cosignature, "{number}");
    }
    assert_ne!(stranger.public(), LOG.witnesses[0].public());
}

/// A change for another verifier: what, and which objects.
pub(crate) type Change = (String, Vec<(String, Option<Vec<u8>>)>);

pub(crate) fn changes() -> Vec<Change> {
    let mut changes = Vec::new();
    let all = LOG.cosignatures();
    for (index, (name, bytes)) in all.iter().enumerate() {
        let name = (*name).clone();
        changes.push((format!("{name} dropped"), vec![(name.clone(), None)]));
        for at in (index % 7..bytes.len()).step_by(29) {
            let mut flipped = (*bytes).clone();
            flipped[at] ^= 1 << (at % 8);
            changes.push((
                format!("{name} byte {at}"),
                vec![(name.clone(), Some(flipped))],
            ));
        }
        let cut = bytes[..bytes.len() - 5].to_vec();
        changes.push((format!("{name} cut"), vec![(name.clone(), Some(cut))]));
        let (other, others) = all[(index + 1) % all.len()];
        let swapped = vec![
            (name.clone(), Some(others.clone())),
            (other.clone(), Some((*bytes).clone())),
        ];
        changes.push((format!("{name} and {other} exchanged"), swapped));
        let number = name.split('/').nth(2).unwrap().parse().unwrap();
        let unknown = names::cosignature("prod", number, [0xab; 4]);
        changes.push((
            format!("{name} by an unknown witness"),
            vec![(unknown, Some((*bytes).clone()))],
        ));
    }
    let gone = |keep: usize| {
        all.iter()
            .skip(keep)
            .map(|(name, _)| ((*name).clone(), None))
            .collect()
    };
    changes.push(("no cosignatures".into(), gone(0)));
    changes.push(("one cosignature".into(), gone(1)));
    changes.push(("two seals cosigned".into(), gone(5)));
    changes
}
