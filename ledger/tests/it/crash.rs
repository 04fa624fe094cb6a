//! A process that is killed at any moment: everything it was told is written is there afterwards,
//! and the log verifies.

use std::{
    collections::BTreeSet,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Command, Stdio},
    sync::{Arc, Mutex},
    time::Duration,
};

use gatehouse_envelope::sign::FileSigner;
use gatehouse_ledger::{
    Durability, Ledger, Mode, Options, Pace, Recovery,
    clock::SystemClock,
    event::Event,
    read::records,
    store::Dir,
    trust::Trust,
    verify::{Verdict, Verifier},
};

/// How often a process is killed on one data directory.
const KILLS: u64 = 8;

fn open(dir: &Path) -> (Ledger, Recovery) {
    let options = Options {
        data_dir: dir.to_owned(),
        deployment: "prod".into(),
        mode: Mode::Local,
        pace: Pace {
            // Often, so that processes are also killed while they store segments.
            flush_after: Duration::from_millis(15),
            keep: Duration::from_millis(40),
            ..Pace::default()
        },
    };
    let signer = FileSigner::open_or_create(&dir.join("keys/signer"), "prod").unwrap();
    let store = Arc::new(Dir::new(dir.join("ledger")));
    Ledger::open(
        options,
        store,
        Arc::new(signer),
        Arc::new(SystemClock::new()),
    )
    .unwrap()
}

/// Not a test: what the test starts, in a process of its own. It reads from standard input where
/// to write, and says on standard output which records it was told are durable.
#[test]
#[ignore = "the process that the other test kills"]
fn child() {
    let mut dir = String::new();
    std::io::stdin().read_line(&mut dir).unwrap();
    let Some((dir, round)) = dir.trim_end().split_once(' ') else {
        return;
    };
    let (ledger, recovery) = open(Path::new(dir));
    recovery.complete().unwrap();
    let out = Mutex::new(std::io::stdout());
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (ledger, out) = (&ledger, &out);
            scope.spawn(move || {
                for number in 0..u64::MAX {
                    let name = format!("r_{round}_{thread}_{number}");
                    let mut event = Event::kind("exchange.refused");
                    event.text("rid", &name);
                    let event = event.finish().unwrap();
                    ledger.append(event, Durability::Durable).wait().unwrap();
                    let mut out = out.lock().unwrap();
                    writeln!(out, "told {name}").unwrap();
                    out.flush().unwrap();
                }
            });
        }
    });
}

/// Starts a child, kills it when it has run for `life`, and gives what it was told.
fn run_and_kill(dir: &Path, round: u64, life: Duration) -> Vec<String> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash::child", "--ignored", "--nocapture"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    writeln!(child.stdin.take().unwrap(), "{} {round}", dir.display()).unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut told = Vec::new();
    let mut kill = Some(child);
    let mut dead = None;
    for line in lines.map_while(Result::ok) {
        // A line that the kill cut in two has not the word in front, or not its whole name; the
        // latter is then a prefix of one that was told, and is not looked for.
        if let Some(name) = line.split("told ").nth(1) {
            told.push(name.to_owned());
        }
        if told.is_empty() {
            continue;
        }
        if let Some(mut child) = kill.take() {
            // From its first record on it lives for a while, and is then killed without warning.
            dead = Some(std::thread::spawn(move || {
                std::thread::sleep(life);
                child.kill().unwrap();
                child.wait().unwrap();
            }));
        }
    }
    dead.expect("it wrote something").join().unwrap();
    told.pop();
    told
}

#[test]
fn whatever_was_told_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let mut told = BTreeSet::new();
    for round in 0..KILLS {
        let life = Duration::from_micros(round * 43_337 + 500);
        told.extend(run_and_kill(dir.path(), round, life));
    }
    assert!(told.len() as u64 > KILLS, "{}", told.len());
    let (ledger, recovery) = open(dir.path());
    assert!(recovery.damaged.is_empty());
    recovery.complete().unwrap();
    ledger.close().unwrap();

    let log = Dir::new(dir.path().join("ledger"));
    let trust = std::fs::read_to_string(dir.path().join("trust.policy")).unwrap();
    let trust = Trust::parse(&trust).unwrap();
    let report = Verifier::new(Some(&trust)).verify(&log, |_| {});
    assert_eq!(
        report.verdict(),
        Verdict::Holds,
        "{:?} {:?}",
        report.faults,
        report.doubts
    );
    assert_eq!(report.streams.len() as u64, KILLS + 1);
    let mut there = BTreeSet::new();
    let unread = records(&log, |entry| {
        if let Some(request) = entry.request {
            assert!(there.insert(request.to_owned()), "{request} stands twice");
        }
    });
    assert!(unread.unwrap().is_empty());
    let lost: Vec<_> = told.difference(&there).collect();
    assert!(lost.is_empty(), "{lost:?}");
}
