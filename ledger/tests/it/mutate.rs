//! Every change to a log is noticed, and gets the verdict that the format gives it.

use gatehouse_ledger::{
    store::Memory,
    verify::{At, Fault, Verdict, Verifier},
};

use crate::changed::{LOG, lines, pack, unpack};

/// The bit that is flipped in a byte: another one from byte to byte, so that all are.
fn flip(bytes: &[u8], index: usize) -> Vec<u8> {
    let mut changed = bytes.to_vec();
    changed[index] ^= 1 << (index % 8);
    changed
}

/// Runs `check` for every number below `count`, on two threads.
fn each(count: usize, check: impl Fn(usize) + Sync) {
    std::thread::scope(|scope| {
        for start in 0..2 {
            let check = &check;
            scope.spawn(move || (start..count).step_by(2).for_each(check));
        }
    });
}

#[test]
fn the_log_itself_holds() {
    let report = Verifier::new(Some(&LOG.trust)).verify(&Memory::with(LOG.objects.clone()), |_| {});
    assert_eq!(
        report.verdict(),
        Verdict::Holds,
        "{:?} {:?}",
        report.faults,
        report.doubts
    );
    assert_eq!(report.streams.len(), 3);
    assert_eq!(
        report
            .streams
            .iter()
            .filter(|stream| stream.records > 90)
            .count(),
        2
    );
    assert!(report.records > 200);
    assert_eq!(LOG.segments().count(), 4 + 4 + 1);
}

#[test]
fn every_stored_byte() {
    for (name, stored) in LOG.segments() {
        each(stored.len(), |index| {
            let changed = flip(stored, index);
            let verdict = LOG.verdict(name, Some(&changed));
            // Also where it unpacks to the same lines: the next segment or a seal names the bytes.
            assert_eq!(verdict, Verdict::Broken, "{name} {index}");
        });
    }
}

#[test]
fn every_byte_of_every_line() {
    for (name, stored) in LOG.segments() {
        let lines = unpack(stored).unwrap();
        let version = b"{\"gatehouse\":".len();
        each(lines.len(), |index| {
            let changed = flip(&lines, index);
            let verdict = LOG.lines_verdict(name, &changed);
            // A header that says that it is newer cannot be judged.
            let newer = index == version && changed[version].is_ascii_digit();
            let wanted = if newer {
                Verdict::CouldNotTell
            } else {
                Verdict::Broken
            };
            assert_eq!(verdict, wanted, "{name} {index}");
        });
    }
}

/// The smallest segment that is the last of its stream, so that no other names its bytes.
fn last_segment() -> (&'static str, &'static [u8]) {
    let last = LOG.segments().filter(|(name, _)| LOG.is_last(name));
    last.min_by_key(|(_, stored)| stored.len()).unwrap()
}

#[test]
fn every_bit_of_a_header_a_footer_and_a_certificate() {
    let (name, stored) = last_segment();
    let lines = unpack(stored).unwrap();
    let header = lines.iter().position(|b| *b == b'\n').unwrap() + 1;
    let footer = lines[..lines.len() - 1]
        .iter()
        .rposition(|b| *b == b'\n')
        .unwrap()
        + 1;
    let places: Vec<usize> = (0..header).chain(footer..lines.len()).collect();
    each(places.len() * 8, |at| {
        let mut changed = lines.clone();
        changed[places[at / 8]] ^= 1 << (at % 8);
        let verdict = LOG.verdict(name, Some(&pack(&changed)));
        assert_ne!(verdict, Verdict::Holds, "{name} {at}");
    });
    let (name, bytes) = LOG.certificates().next().unwrap();
    each(bytes.len() * 8, |at| {
        let mut changed = bytes.to_vec();
        changed[at / 8] ^= 1 << (at % 8);
        assert_eq!(
            LOG.verdict(name, Some(&changed)),
            Verdict::Broken,
            "{name} {at}"
        );
    });
}

#[test]
fn every_byte_and_cut_of_every_certificate() {
    for (name, bytes) in LOG.certificates() {
        each(bytes.len(), |index| {
            let changed = flip(bytes, index);
            assert_eq!(
                LOG.verdict(name, Some(&changed)),
                Verdict::Broken,
                "{name} {index}"
            );
            let cut = &bytes[..index];
            assert_eq!(
                LOG.verdict(name, Some(cut)),
                Verdict::Broken,
                "{name} {index}"
            );
        });
    }
}

#[test]
fn every_line_dropped_swapped_repeated() {
    for (name, stored) in LOG.segments() {
        let lines = lines(stored);
        each(lines.len(), |index| {
            let mut dropped = lines.clone();
            dropped.remove(index);
            let mut repeated = lines.clone();
            repeated.insert(index, lines[index].clone());
            let mut swapped = lines.clone();
            swapped.swap(index, (index + 1) % lines.len());
            let mut emptied = lines.clone();
            emptied[index] = b"\n".to_vec();
            for changed in [dropped, repeated, swapped, emptied] {
                let verdict = LOG.lines_verdict(name, &changed.concat());
                assert_eq!(verdict, Verdict::Broken, "{name} {index}");
            }
        });
    }
}

#[test]
fn every_cut() {
    for (name, stored) in LOG.segments() {
        each(stored.len(), |end| {
            assert_eq!(
                LOG.verdict(name, Some(&stored[..end])),
                Verdict::Broken,
                "{name} {end}"
            );
        });
        // Packed again, so that the frame is whole: at, before and behind the end of each line, and
        // in its middle.
        let lines = unpack(stored).unwrap();
        let mut ends = vec![0, 1];
        for (end, _) in lines.iter().enumerate().filter(|(_, b)| **b == b'\n') {
            let begin = ends[ends.len() - 1];
            ends.extend([(begin + end) / 2, end - 1, end, end + 1]);
        }
        ends.retain(|end| *end < lines.len());
        each(ends.len(), |at| {
            let end = ends[at];
            assert_eq!(
                LOG.lines_verdict(name, &lines[..end]),
                Verdict::Broken,
                "{name} {end}"
            );
            if end > 0 {
                let verdict = LOG.lines_verdict(name, &lines[end..]);
                assert_eq!(verdict, Verdict::Broken, "{name} from {end}");
            }
        });
    }
}

#[test]
fn every_file_removed() {
    let last = LOG.objects.keys().rfind(|name| name.ends_with(".note"));
    for name in LOG.objects.keys() {
        // The last checkpoint may never have been signed; anything else was taken away.
        let wanted = if Some(name) == last {
            Verdict::Holds
        } else {
            Verdict::Broken
        };
        assert_eq!(LOG.verdict(name, None), wanted, "{name}");
    }
}

#[test]
fn whole_streams_removed() {
    for (name, _) in LOG.certificates() {
        let writer = name
            .trim_start_matches("cert/")
            .trim_end_matches(".dsse.json");
        let mut objects = LOG.objects.clone();
        objects.retain(|name, _| !name.contains(writer));
        let report = Verifier::new(Some(&LOG.trust)).verify(&Memory::with(objects), |_| {});
        let missing = |fault: &At<Fault>| fault.what == Fault::StreamMissing;
        assert_eq!(report.faults.iter().filter(|at| missing(at)).count(), 1);
        // The sessions that had records in it miss them as well; that of the third process had none.
        let sessions = LOG
            .segments()
            .filter(|(name, _)| name.contains(writer))
            .count()
            > 1;
        let gap = |fault: &At<Fault>| fault.what == Fault::SessionGap;
        assert_eq!(report.faults.iter().any(gap), sessions);
    }
}

#[test]
fn files_exchanged() {
    let names: Vec<&String> = LOG.objects.keys().collect();
    for one in &names {
        for other in names.iter().filter(|other| other > &one) {
            let mut objects = LOG.objects.clone();
            objects.insert((*one).clone(), LOG.objects[*other].clone());
            objects.insert((*other).clone(), LOG.objects[*one].clone());
            let report = Verifier::new(Some(&LOG.trust)).verify(&Memory::with(objects), |_| {});
            assert_eq!(report.verdict(), Verdict::Broken, "{one} {other}");
        }
    }
}

#[test]
fn noise_is_no_log() {
    for (index, name) in LOG.objects.keys().enumerate() {
        for length in [0, 1, 3, 4, 5, 17, 1000] {
            let noise: Vec<u8> = (0..length).map(|n| (n * 31 + index * 7) as u8).collect();
            let wanted = Verdict::Broken;
            assert_eq!(LOG.verdict(name, Some(&noise)), wanted, "{name}");
            if name.starts_with("log/") {
                assert_eq!(LOG.lines_verdict(name, &noise), wanted, "{name}");
            }
        }
    }
}
