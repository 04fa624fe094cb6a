//! What the log costs: `cargo bench -p gatehouse-ledger`. Times are CPU time from the kernel, so that a
//! busy machine changes them little; for "on one core" run it under `taskset -c 0`. How many records may
//! follow: `-- 1000000`. Memory must not grow with them, so the log lies in a folder.
#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a program that is run by hand and says what it measured"
)]

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use gatehouse_envelope::sign::{MemorySigner, Signer};
use gatehouse_ledger::{
    Durability, Ledger, Mode, Options, Pace,
    clock::SystemClock,
    event::Event,
    note::Key,
    store::Dir,
    trust::Trust,
    verify::{Verdict, Verifier},
};
use rustix::time::{ClockId, clock_gettime};

/// Records of one run, if the command line says nothing.
const RECORDS: u64 = 512 * 400;
/// How many requests are under way at one time.
const UNDER_WAY: u64 = 512;
/// After how many batches memory is looked at for the first time.
const WARM: u64 = 100;

fn main() {
    let mut numbers = std::env::args().filter_map(|word| word.parse::<u64>().ok());
    let batches = numbers.next().unwrap_or(RECORDS).div_ceil(UNDER_WAY);
    let records = batches * UNDER_WAY;
    let dir = tempfile::tempdir().expect("a folder");
    let signer = Arc::new(MemorySigner::generate("bench").expect("a key"));
    let store = Arc::new(Dir::new(dir.path().join("ledger")));
    let options = Options {
        seals: gatehouse_ledger::SealLog::Own,
        data_dir: dir.path().to_owned(),
        deployment: signer.name().to_owned(),
        mode: Mode::Local,
        pace: Pace::default(),
    };
    let clock = Arc::new(SystemClock::new());
    let opened = Ledger::open(options, store.clone(), signer.clone(), clock);
    let (ledger, _) = opened.expect("a ledger");

    let (wall, whole) = (Instant::now(), process_cpu());
    let (mut waiting, mut on_path) = (Vec::new(), Duration::ZERO);
    let mut warm = String::new();
    for number in 0..batches {
        if number == WARM {
            warm = resident("VmHWM");
        }
        let before = thread_cpu();
        let first = number * UNDER_WAY;
        let next = (first..first + UNDER_WAY)
            .map(|number| ledger.append(event(number), Durability::Durable))
            .collect();
        on_path += thread_cpu() - before;
        // The batch before has been written and synced meanwhile.
        for ticket in std::mem::replace(&mut waiting, next) {
            ticket.wait().expect("taken");
        }
    }
    for ticket in waiting {
        ticket.wait().expect("taken");
    }
    let wall = wall.elapsed();
    let all = process_cpu() - whole;
    ledger.close().expect("closed");
    say(
        "CPU of a record on its request's path",
        per(on_path, records),
    );
    say("CPU of all threads for a record", per(all, records));
    let rate = records as f64 / wall.as_secs_f64();
    say("records a second, each synced", format!("{rate:.0}"));
    say("most memory, early", warm);
    say("most memory while it was written", resident("VmHWM"));
    // From here on the most since now.
    std::fs::write("/proc/self/clear_refs", "5").expect("Linux");

    let trust = Trust::one(Key::of(signer.as_ref()).expect("a key"));
    let cpu = thread_cpu();
    let report = Verifier::new(Some(&trust)).verify(store.as_ref(), |_| {});
    let cpu = thread_cpu() - cpu;
    assert_eq!(report.verdict(), Verdict::Holds);
    say("most memory while it was verified", resident("VmHWM"));
    let raw = report.bytes as f64 / 1e6;
    say("raw log verified", format!("{raw:.0} MB"));
    say(
        "verified in a second of one core",
        format!("{:.0} MB", raw / cpu.as_secs_f64()),
    );
}

/// Admissions and the ends of their exchanges, in turn.
fn event(number: u64) -> Event {
    let request = format!("r_{:026}", number / 2);
    match number % 2 {
        0 => admitted(&request),
        _ => settled(&request),
    }
}

/// An event of the size that the end of an exchange has.
fn settled(request: &str) -> Event {
    let mut event = Event::kind("exchange.settled");
    event.text("rid", request);
    event.object("outside", |outside| {
        outside.text("session", "s_k5c2x7d4k5c2x7d4k5c2x7d4");
    });
    event.integer("status", 200).integer("up_status", 200);
    event.text("ending", "done").integer("attempts", 1);
    event.object("use", |used| {
        used.integer("in_tokens", 812).integer("out_tokens", 214);
    });
    event.object("budget", |budget| {
        budget
            .integer("settled_tokens", 1026)
            .text("basis", "usage");
    });
    event.object("reply", |reply| {
        reply.integer("visited", 12).integer("unresolved", 0);
    });
    event
        .hex("up_h", &[7; 32])
        .integer("duration_us", 1_804_122);
    event.finish().expect("an event")
}

/// An event of the size that an admission has.
fn admitted(request: &str) -> Event {
    let mut event = Event::kind("exchange.admitted");
    event.text("rid", request);
    event
        .text("prin", "p_k5c2x7d4k5c2x7d4k5c2x7d4")
        .text("tenant", "t_1");
    for digest in ["policy", "build", "cfg"] {
        event.hex(digest, &[7; 32]);
    }
    event.object("red", |red| {
        red.text("status", "done").integer("visited", 214);
        red.integer("skipped", 12).integer("unvisited", 0);
        red.objects(
            "found",
            [("EMAIL", 2), ("PERSON", 1)],
            |item, (label, n)| {
                item.text("label", label).integer("n", n);
            },
        );
        red.hex("in_h", &[8; 32]).hex("out_h", &[9; 32]);
    });
    event.object("up", |up| {
        up.text("provider", "anthropic").text("api", "messages");
        up.text("model", "claude-haiku-4-5");
    });
    event.finish().expect("an event")
}

fn per(time: Duration, count: u64) -> String {
    format!("{:.2} us", time.as_secs_f64() * 1e6 / count as f64)
}

fn say(what: &str, value: String) {
    println!("{what:<42} {value:>12}");
}

/// Memory of this process as the kernel counts it, under one of its names for that.
fn resident(name: &str) -> String {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let of_name = |line: &str| {
        Some(
            line.strip_prefix(name)?
                .strip_prefix(':')?
                .trim()
                .to_owned(),
        )
    };
    status.lines().find_map(of_name).unwrap_or_default()
}

/// How long this thread has had a core.
fn thread_cpu() -> Duration {
    of_clock(ClockId::ThreadCPUTime)
}

/// How long all threads of this process have had one.
fn process_cpu() -> Duration {
    of_clock(ClockId::ProcessCPUTime)
}

fn of_clock(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
}
