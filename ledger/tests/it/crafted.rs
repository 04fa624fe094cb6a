//! What crafted logs say, and the exit code that each must get.

use std::{collections::BTreeMap, sync::LazyLock};

use gatehouse_envelope::{digest::hex, sign::MemorySigner};
use gatehouse_ledger::{event::event_digest, note::Key, trust::Trust};

use crate::{
    forge::{By, Forge},
    log::START_US,
};

type Objects = BTreeMap<String, Vec<u8>>;
type Crafted = (String, u8, Objects);

static DEPLOYMENT: LazyLock<MemorySigner> =
    LazyLock::new(|| MemorySigner::generate("prod").unwrap());

const OPEN: &str = r#"{"kind":"writer.open"}"#;
const PLAIN: &str = r#"{"kind":"x"}"#;
const CLOSE: &str = r#"{"kind":"writer.close","state":"closed"}"#;
const RECOVERED: &str = r#"{"kind":"writer.close","state":"recovered","cut":false}"#;
/// Microseconds from the start to the end of its day.
const DAY_LEFT: u64 = 35_700_000_000;

pub(crate) fn trust() -> Trust {
    Trust::one(Key::of(&*DEPLOYMENT).unwrap())
}

pub(crate) fn logs() -> Vec<Crafted> {
    let mut all = Vec::new();
    all.extend(events());
    all.extend(ends());
    all.extend(times());
    all.extend(sessions());
    all.extend(sizes());
    let mut newer = Forge::new(&DEPLOYMENT, '0');
    newer.version = 2;
    newer.segment(&[OPEN, CLOSE], By::Writer);
    all.push(("newer-certificate".into(), 2, newer.finish()));
    all
}

/// A closed stream of one segment.
fn closed(events: &[impl AsRef<[u8]>]) -> Objects {
    let middle = events.iter().map(|event| event.as_ref().to_vec());
    let all: Vec<_> = std::iter::once(OPEN.as_bytes().to_vec())
        .chain(middle)
        .chain([CLOSE.as_bytes().to_vec()])
        .collect();
    let mut forge = Forge::new(&DEPLOYMENT, '0');
    forge.segment(&all, By::Writer);
    forge.finish()
}

fn events() -> Vec<Crafted> {
    let deep = |levels: usize| {
        let (open, close) = ("[".repeat(levels), "]".repeat(levels));
        format!(r#"{{"kind":"x","a":{open}1{close}}}"#)
    };
    let many: String = (0..40).map(|n| format!(r#","k{n}":{n}"#)).collect();
    let good = [
        PLAIN.to_owned(),
        r#"{"a":{"b":[true,false,null,[],{},0,"é\u00e9\/\n\"\\"]},"kind":"x"}"#.to_owned(),
        r#"{"kind":"x","a":9007199254740991}"#.to_owned(),
        r#"{"kind":"nobody.knows","state":7,"sseq":1,"rid":"r"}"#.to_owned(),
        "{\"kind\":\"x\",\"a\":\"\u{7f}\u{10ffff}\"}".to_owned(),
        format!(r#"{{"kind":"x"{many}}}"#),
        deep(31),
    ];
    let bad = [
        r#"{"kind":"x","kind":"x"}"#.to_owned(),
        r#"{"kind":"x","a":[{"b":1,"c":{"b":1},"b":2}]}"#.to_owned(),
        format!(r#"{{"kind":"x"{many},"k7":1}}"#),
        r#"{"kind":"x","a":1.5}"#.to_owned(),
        r#"{"kind":"x","a":1e5}"#.to_owned(),
        r#"{"kind":"x","a":-1}"#.to_owned(),
        r#"{"kind":"x","a":01}"#.to_owned(),
        r#"{"kind":"x","a":9007199254740992}"#.to_owned(),
        r#"{"kind":"x","a":10000000000000000}"#.to_owned(),
        format!(r#"{{"kind":"x","a":{}}}"#, "9".repeat(5000)),
        r#"{"kind":"x","a":"\ud83d\ude00"}"#.to_owned(),
        r#"{"kind":"x","a":"\x"}"#.to_owned(),
        r#"{"kind":"x","a":"\u12"}"#.to_owned(),
        "{\"kind\":\"x\",\"a\":\"\t\"}".to_owned(),
        r#"{"kind":"x","\u0061":1}"#.to_owned(),
        r#"{"kind": "x"}"#.to_owned(),
        r#"{"kind":"x",}"#.to_owned(),
        r#"{"kind":"x"}}"#.to_owned(),
        r#"{"kind":"x","a":[1,]}"#.to_owned(),
        r#"{"kind":"x","a":nul}"#.to_owned(),
        r#"{"kind":"x","a"}"#.to_owned(),
        r#"{"kind":"x\n"}"#.to_owned(),
        r#"{"kind":7}"#.to_owned(),
        r#"{"a":"x"}"#.to_owned(),
        r#"{}"#.to_owned(),
        r#"["kind","x"]"#.to_owned(),
        r#""kind""#.to_owned(),
        String::new(),
        r#"{"kind":"x","sid":"s_1"}"#.to_owned(),
        r#"{"kind":"x","sid":"","sseq":0,"sprev":""}"#.to_owned(),
        r#"{"kind":"x","sid":7,"sseq":0,"sprev":""}"#.to_owned(),
        r#"{"kind":"x","sid":"s_1","sseq":"0","sprev":""}"#.to_owned(),
        OPEN.to_owned(),
        r#"{"kind":"writer.close"}"#.to_owned(),
        r#"{"kind":"writer.close","state":null}"#.to_owned(),
        CLOSE.to_owned(),
        deep(32),
    ];
    let number = |exit: u8| {
        move |(n, event): (usize, String)| (format!("event-{exit}-{n}"), exit, closed(&[event]))
    };
    let mut all: Vec<Crafted> = good.into_iter().enumerate().map(number(0)).collect();
    all.extend(bad.into_iter().enumerate().map(number(1)));
    let invalid = [&b"{\"kind\":\"x\",\"a\":\"\xff\"}"[..]];
    all.push(("event-not-utf-8".into(), 1, closed(&invalid)));
    all
}

fn ends() -> Vec<Crafted> {
    use By::{Deployment, Nobody, Writer};
    type Segment = (&'static [&'static str], By);
    let cases: [(&str, u8, &[Segment]); 15] = [
        ("closed", 0, &[(&[OPEN, PLAIN], Writer), (&[CLOSE], Writer)]),
        ("open", 2, &[(&[OPEN, PLAIN], Writer)]),
        (
            "recovered",
            0,
            &[(&[OPEN], Writer), (&[PLAIN, RECOVERED], Deployment)],
        ),
        ("recovered-whole", 0, &[(&[OPEN, RECOVERED], Deployment)]),
        (
            "recovered-later",
            0,
            &[(&[OPEN], Deployment), (&[RECOVERED], Deployment)],
        ),
        ("recovered-open", 2, &[(&[OPEN, PLAIN], Deployment)]),
        (
            "closed-recovered",
            0,
            &[(&[OPEN, CLOSE], Deployment), (&[RECOVERED], Deployment)],
        ),
        ("recovered-by-writer", 1, &[(&[OPEN, RECOVERED], Writer)]),
        ("closed-by-deployment", 1, &[(&[OPEN, CLOSE], Deployment)]),
        (
            "writer-again",
            1,
            &[(&[OPEN], Deployment), (&[PLAIN, CLOSE], Writer)],
        ),
        (
            "closed-twice",
            1,
            &[(&[OPEN, CLOSE], Writer), (&[CLOSE], Writer)],
        ),
        (
            "recovered-twice",
            1,
            &[(&[OPEN, RECOVERED], Deployment), (&[RECOVERED], Deployment)],
        ),
        (
            "behind-the-end",
            1,
            &[(&[OPEN, CLOSE], Writer), (&[PLAIN], Writer)],
        ),
        ("no-opening", 1, &[(&[PLAIN, CLOSE], Writer)]),
        ("stranger", 1, &[(&[OPEN], Writer), (&[CLOSE], Nobody)]),
    ];
    let craft = |(name, exit, segments): (&str, u8, &[Segment])| {
        let mut forge = Forge::new(&DEPLOYMENT, '0');
        for (events, by) in segments {
            forge.segment(events, *by);
        }
        (format!("end-{name}"), exit, forge.finish())
    };
    let mut all: Vec<Crafted> = cases.into_iter().map(craft).collect();
    let mut empty = Forge::new(&DEPLOYMENT, '0');
    empty.segment(&[OPEN, CLOSE], Writer);
    empty.stamped(&[], Writer);
    all.push(("end-empty-segment".into(), 1, empty.finish()));
    all.push((
        "end-nothing".into(),
        2,
        Forge::new(&DEPLOYMENT, '0').finish(),
    ));
    all
}

fn times() -> Vec<Crafted> {
    let cases: [(&str, u8, [u64; 3]); 5] = [
        ("same", 0, [0, 0, 0]),
        ("back", 1, [0, 2, 1]),
        ("last-of-the-day", 0, [0, 1, DAY_LEFT - 1]),
        ("two-days", 1, [0, 1, DAY_LEFT]),
        ("late", 0, [1 << 51, 1 << 51, 1 << 51]),
    ];
    let craft = |(name, exit, times): (&str, u8, [u64; 3])| {
        let mut forge = Forge::new(&DEPLOYMENT, '0');
        let stamped: Vec<_> = [OPEN, PLAIN, CLOSE]
            .iter()
            .zip(times)
            .map(|(event, us)| (START_US + us, event.as_bytes().to_vec()))
            .collect();
        forge.stamped(&stamped, By::Writer);
        (format!("time-{name}"), exit, forge.finish())
    };
    let mut all: Vec<Crafted> = cases.into_iter().map(craft).collect();
    let mut days = Forge::new(&DEPLOYMENT, '0');
    days.segment(&[OPEN], By::Writer);
    days.us += DAY_LEFT;
    days.segment(&[CLOSE], By::Writer);
    all.push(("time-next-day".into(), 0, days.finish()));
    all
}

/// A session's events: kind, number, what `sprev` is of, more members.
fn chain(count: u64) -> Vec<String> {
    let mut events: Vec<String> = Vec::new();
    for sseq in 0..count {
        let kind = if sseq == 0 { "session.open" } else { "x" };
        events.push(event(kind, sseq, events.last().map(String::as_str), ""));
    }
    events
}

fn event(kind: &str, sseq: u64, before: Option<&str>, more: &str) -> String {
    let sprev = before.map_or([0; 32], |before| event_digest(before.as_bytes()));
    let sprev = hex(&sprev);
    format!(r#"{{"kind":"{kind}","sid":"s_1","sseq":{sseq},"sprev":"{sprev}"{more}}}"#)
}

fn sessions() -> Vec<Crafted> {
    let events = chain(6);
    let [a, b, c, d, e, f] = [0, 1, 2, 3, 4, 5].map(|n| events[n].as_str());
    let gap = |missing: u64| event("audit.gap", 4, Some(d), &format!(r#","missing":{missing}"#));
    let (gap_1, gap_2, fork) = (gap(1), gap(2), event("y", 2, Some(b), ""));
    let upper = b.replace(&hex(&event_digest(a.as_bytes())), &"A".repeat(64));
    let early = event("session.open", 1, Some(a), "");
    let (late, rooted) = (
        event("x", 0, None, ""),
        event("session.open", 0, Some(b), ""),
    );
    let cases: [(&str, u8, &[&str]); 17] = [
        ("whole", 0, &[a, b, c, d, e, f]),
        ("any-order", 0, &[f, b, a, e, d, c]),
        ("hole", 1, &[a, b, d]),
        ("no-start", 1, &[b, c]),
        ("tail", 0, &[a, b, c]),
        ("twice", 1, &[a, b, b]),
        ("fork", 1, &[a, b, c, &fork]),
        ("wrong-link", 1, &[a, b, &fork, d]),
        ("upper-case", 1, &[a, &upper]),
        ("second-start", 1, &[a, &early]),
        ("not-opened", 1, &[&late]),
        ("rooted", 1, &[&rooted]),
        ("declared", 2, &[a, b, d, &gap_2]),
        ("declared-and-there", 0, &[a, b, c, d, &gap_2]),
        ("declared-other", 1, &[a, b, d, &gap_1]),
        ("declared-one-of-two", 1, &[a, d, &gap_2]),
        ("declared-start", 1, &[b, c, d, &gap_1]),
    ];
    let mut all = Vec::new();
    for (name, exit, events) in cases {
        all.push((format!("session-{name}"), exit, closed(events)));
        // A second stream whose end is missing may hold what a session misses.
        let mut forge = Forge::new(&DEPLOYMENT, '1');
        forge.segment(&[OPEN], By::Writer);
        let mut open = closed(events);
        open.extend(forge.finish());
        let gap = [
            "hole",
            "no-start",
            "declared-other",
            "declared-one-of-two",
            "declared-start",
        ];
        let exit = if exit == 1 && !gap.contains(&name) {
            1
        } else {
            2
        };
        all.push((format!("session-{name}-beside-an-open-stream"), exit, open));
    }
    let mut streams = Forge::new(&DEPLOYMENT, '1');
    streams.segment(&[OPEN, b, d, f, CLOSE], By::Writer);
    let mut both = closed(&[a, c, e]);
    both.extend(streams.finish());
    all.push(("session-across-streams".into(), 0, both));
    all
}

/// The longest leaf, and one byte more.
fn sizes() -> Vec<Crafted> {
    let frame = r#"{"v":1,"w":"20261129-prod-00000000000000000000000000000000","seq":1,"#.len()
        + r#""ts":"2026-11-29T14:05:00.002000Z","ts_us":1795961100002000,"mono_us":0,"e":}"#.len();
    let most = 65_535 - frame - r#"{"kind":"x","a":""}"#.len();
    let craft = |(name, exit, more): (&str, u8, usize)| {
        let text = "z".repeat(most + more);
        let event = format!(r#"{{"kind":"x","a":"{text}"}}"#);
        (format!("leaf-{name}"), exit, closed(&[event]))
    };
    [("longest", 0, 0), ("too-long", 1, 1)].map(craft).into()
}
