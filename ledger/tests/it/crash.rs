//! A process that is killed at any moment: everything it was told is written is there afterwards,
//! and the log verifies. Few kills by themselves; `GATEHOUSE_KILLS=200` makes it so many.

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
    Durability, Ledger, Mode, Options, Pace, Recovery, SealLog,
    clock::SystemClock,
    event::Event,
    read::records,
    store::{Dir, Fetcher, LedgerStore},
    trust::Trust,
    verify::{Locks, Verdict, Verifier},
};

/// How often a process is killed on one data directory.
fn kills() -> u64 {
    let text = std::env::var_os("GATEHOUSE_KILLS").and_then(|text| text.into_string().ok());
    text.map_or(8, |text| text.parse().expect("a number of kills"))
}

/// How long the process of a round lives: another time each round, with none twice in eight, and up to
/// eight steps.
fn life(round: u64, step_us: u64) -> Duration {
    let late = round / 8 * 997 % step_us;
    Duration::from_micros(round % 8 * step_us + late + 500)
}

fn open(dir: &Path, store: Arc<dyn LedgerStore>) -> (Ledger, Recovery) {
    let options = Options {
        seals: SealLog::Own,
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
    Ledger::open(
        options,
        store,
        Arc::new(signer),
        Arc::new(SystemClock::new()),
    )
    .unwrap()
}

/// What the environment or the directory says: a bucket, or a folder.
fn store(dir: &Path, bucket: &str) -> Arc<dyn LedgerStore> {
    #[cfg(feature = "aws")]
    if let Some((endpoint, name)) = bucket.split_once(' ') {
        use gatehouse_ledger::store::{Bucket, Keeping, S3};

        let mut place = Bucket::new(name, "gatehouse/v1");
        place.endpoint = Some(endpoint.to_owned());
        let keeping = Keeping {
            retention_days: 1,
            kms_key_id: None,
        };
        let clock = Arc::new(SystemClock::new());
        return Arc::new(S3::writer(place, keeping, clock).unwrap());
    }
    assert!(bucket.is_empty());
    Arc::new(Dir::new(dir.join("ledger")))
}

/// Not a test: what the test starts, in a process of its own. It reads from standard input where
/// to write, and says on standard output which records it was told are durable.
#[test]
#[ignore = "the process that the other test kills"]
fn child() {
    let mut dir = String::new();
    std::io::stdin().read_line(&mut dir).unwrap();
    let mut words = dir.trim_end_matches('\n').splitn(3, ' ');
    let (Some(dir), Some(round), Some(bucket)) = (words.next(), words.next(), words.next()) else {
        return;
    };
    let (ledger, recovery) = open(Path::new(dir), store(Path::new(dir), bucket));
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

/// Starts a child, kills it when it has run for `life`, and gives what it was told. At half of that
/// `midway` happens.
fn run_and_kill(
    dir: &Path,
    (round, bucket): (u64, &str),
    life: Duration,
    midway: impl Fn() + Send + Copy + 'static,
) -> Vec<String> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash::child", "--ignored", "--nocapture"])
        .env("AWS_ACCESS_KEY_ID", "test")
        .env("AWS_SECRET_ACCESS_KEY", "testsecret")
        .env("AWS_REGION", "us-east-1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    writeln!(stdin, "{} {round} {bucket}", dir.display()).unwrap();
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
                std::thread::sleep(life / 2);
                midway();
                std::thread::sleep(life / 2);
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
    for round in 0..kills() {
        let life = life(round, 43_337);
        told.extend(run_and_kill(dir.path(), (round, ""), life, || {}));
    }
    let store = store(dir.path(), "");
    check(
        dir.path(),
        &told,
        store.clone(),
        &Dir::new(dir.path().join("ledger")),
    );
}

/// The same in a bucket, whose wire breaks before the process is killed: with segments waiting, one
/// of them perhaps put without an answer.
#[cfg(feature = "aws")]
#[test]
fn whatever_was_told_is_in_the_bucket() {
    use crate::{
        aws::Fate,
        s3::{Place, Server},
    };

    let dir = tempfile::tempdir().unwrap();
    let place: &'static Place = Box::leak(Box::new(Place::new(Server::RadosGw)));
    let bucket = format!("{} {}", place.front.endpoint(), place.bucket.name);
    let mut told = BTreeSet::new();
    for round in 0..kills() {
        place.front.set(Fate::Passes);
        let life = life(round, 87_337);
        let broken = move || {
            place.front.set(match round % 3 {
                0 => Fate::Passes,
                1 => Fate::Cut,
                _ => Fate::Swallowed,
            });
        };
        told.extend(run_and_kill(dir.path(), (round, &bucket), life, broken));
    }
    place.front.set(Fate::Passes);
    check(dir.path(), &told, Arc::new(place.writer()), &place.reader());
}

/// Recovers, and looks for everything that was told in what is stored.
#[expect(clippy::print_stderr, reason = "a long run says what it was")]
fn check(dir: &Path, told: &BTreeSet<String>, store: Arc<dyn LedgerStore>, log: &dyn Fetcher) {
    assert!(told.len() as u64 > kills(), "{}", told.len());
    let (ledger, recovery) = open(dir, store);
    assert!(recovery.damaged.is_empty());
    recovery.complete().unwrap();
    ledger.close().unwrap();

    let trust = std::fs::read_to_string(dir.join("trust.policy")).unwrap();
    let trust = Trust::parse(&trust).unwrap();
    let locks = Locks {
        days: 1,
        now_us: None,
    };
    let verifier = Verifier::new(Some(&trust)).locks(locks);
    let report = verifier.verify(log, |_| {});
    assert_eq!(
        report.verdict(),
        Verdict::Holds,
        "{:?} {:?}",
        report.faults,
        report.doubts
    );
    assert_eq!(report.streams.len() as u64, kills() + 1);
    let mut there = BTreeSet::new();
    let unread = records(log, |entry| {
        if let Some(request) = entry.request {
            assert!(there.insert(request.to_owned()), "{request} stands twice");
        }
    });
    assert!(unread.unwrap().is_empty());
    let lost: Vec<_> = told.difference(&there).collect();
    assert!(lost.is_empty(), "{lost:?}");
    let (told, there) = (told.len(), there.len());
    eprintln!("{} kills, {told} records told, {there} there", kills());
}
