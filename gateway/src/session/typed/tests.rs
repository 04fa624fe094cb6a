//! The typed state by itself: the schema, and random changes held against what must stay true.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::artifacts::{NAMES, New, VERSIONS};
use super::change::{ANSWERS, By, ENTITIES, ERRORS};
use super::checkpoint::CHECKPOINTS;
use super::model::{Snapshot, ToolResult};
use super::traffic::RESULTS;
use super::*;

/// in → work → done, and back from work; the model may only go to work.
pub(crate) struct Table;

impl Phases for Table {
    fn initial(&self) -> Option<&str> {
        Some("in")
    }

    fn allows(&self, from: &str, to: &str, by_model: bool) -> bool {
        let listed = [("in", "work"), ("work", "in"), ("work", "done")];
        listed.contains(&(from, to)) && (!by_model || to == "work")
    }
}

fn by(step: u64) -> By<'static> {
    By {
        at_us: 1_000_000,
        step,
        agent: Some("writer"),
        request: "r_1",
    }
}

fn section(minor: u8, flags: u8, json: &Value) -> Vec<u8> {
    let mut bytes = vec![MAJOR, minor, flags];
    bytes.extend_from_slice(json.to_string().as_bytes());
    bytes
}

fn decode(bytes: &[u8]) -> Typed {
    Typed::decode(bytes).ok().unwrap()
}

/// A state of a later minor schema, with something new everywhere.
fn later() -> Value {
    json!({
        "version": 3, "phase": "work", "goal": "g", "spirit": {"level": 2},
        "entities": {"a": "b"},
        "results": [{"call": "c", "life": "active", "step": 1, "cost": 4,
                     "proposal": {"accepted": false, "why": "x"}}],
        "errors": [{"at_us": 1, "step": 1, "grade": "bad"}], "errors_total": 9,
        "checkpoints": [{"name": "n", "at_us": 1, "step": 1, "version": 1, "part": "p", "of": 1}],
        "artifacts": {"d": [{"n": 1, "at_us": 1, "step": 1, "bytes": 1, "sha256": "00",
            "request": "r", "part": "p", "licence": "x",
            "evaluation": {"passed": true, "at_us": 1, "request": "r", "score": 18446744073709551615u64}}]},
        "pause": {"question": "q", "asked_us": 1, "urgent": true},
        "answers": [{"question": "q", "asked_us": 1, "answer": "a", "answered_us": 2, "x": null}],
    })
}

#[test]
fn what_a_later_minor_schema_added_is_written_back() {
    let bytes = section(7, 0x81, &later());
    let mut typed = decode(&bytes);
    assert_eq!(typed.encode()[..3], [MAJOR, 7, 0x81]);
    let same: Value = serde_json::from_slice(&typed.encode()[3..]).unwrap();
    assert_eq!(same, later());

    typed.answer(Text::new("yes"), by(2)).ok().unwrap();
    typed.resume().ok().unwrap();
    assert!(typed.change_phase("done", &Table, false).is_ok());
    let again = typed.encode();
    assert_eq!(again[..3], [MAJOR, 7, 0x80], "not paused any more");
    let again: Value = serde_json::from_slice(&again[3..]).unwrap();
    assert_eq!(again["spirit"], later()["spirit"]);
    assert_eq!(again["results"], later()["results"]);
    assert_eq!(again["artifacts"], later()["artifacts"]);
    assert_eq!(again["answers"][1]["urgent"], true);
    assert_eq!(again["phase"], "done");
}

#[test]
fn what_a_later_minor_schema_put_into_a_checkpoint_is_put_back() {
    let mut typed = decode(&section(7, 0, &later()));
    let point = |typed: &mut Typed| typed.add_checkpoint("p", "sp_1".to_owned(), by(1));
    assert!(point(&mut typed).is_ok());
    let kept = br#"{"goal":"back","spirit":[3],"plan":{"depth":2}}"#;
    let snapshot = Snapshot::decode(kept).ok().unwrap();
    typed.phase = None;
    assert!(typed.restore("p", snapshot, &()).is_ok());
    let json: Value = serde_json::from_slice(&typed.encode()[3..]).unwrap();
    assert_eq!(
        (&json["goal"], &json["plan"]["depth"]),
        (&json!("back"), &json!(2))
    );
    assert_eq!(json["spirit"], json!([3]));
    // One that this release made says nothing of what it does not know.
    let own = typed.snapshot();
    assert!(typed.restore("p", own, &()).is_ok());
    let again: Value = serde_json::from_slice(&typed.encode()[3..]).unwrap();
    assert_eq!(again, json);
}

#[test]
fn a_later_major_schema_is_refused() {
    let of = |major: u8| {
        let mut bytes = section(0, 0, &json!({"version": 1}));
        bytes[0] = major;
        bytes
    };
    assert!(Typed::decode(&of(MAJOR)).is_ok());
    let newer = Typed::decode(&of(MAJOR + 1));
    assert!(matches!(newer, Err(SessionError::Newer)));
    for damaged in [
        of(0),
        vec![MAJOR],
        vec![MAJOR, 0],
        section(0, 0, &json!([])),
    ] {
        let read = Typed::decode(&damaged);
        assert!(matches!(read, Err(SessionError::Damaged)));
    }
}

#[test]
fn nothing_is_written_for_nothing() {
    assert!(Typed::default().encode().is_empty());
    assert!(decode(&[]) == Typed::default());
}

#[test]
fn a_call_is_pending_then_active_then_consumed() {
    let mut typed = Typed::default();
    let life = |typed: &Typed| typed.result("c").map(|it| it.life);
    let called = Seen {
        calls: vec![CallSeen {
            call: "c".to_owned(),
            tool: "look up".to_owned(),
            arguments: None,
        }],
        whole: true,
        ..Seen::default()
    };
    assert!(typed.saw(&called, &Table, by(1)).0);
    assert_eq!(life(&typed), Some(Life::Pending));
    assert!(
        typed.result("c").is_some_and(|it| it.tool.is_none()),
        "no name of ours"
    );
    assert!(!typed.saw(&called, &Table, by(1)).0, "the same reply again");

    let brought = Seen {
        results: vec![ResultSeen {
            call: "c".to_owned(),
            failed: true,
            bytes: 5,
        }],
        whole: true,
        ..Seen::default()
    };
    assert!(typed.saw_result(&brought.results[0], by(2)));
    assert_eq!(life(&typed), Some(Life::Active));
    assert!(!typed.saw_result(&brought.results[0], by(2)), "tried again");
    assert_eq!((typed.errors_total, typed.errors.len()), (1, 1));
    assert!(typed.saw(&brought, &Table, by(2)).0);
    assert_eq!(life(&typed), Some(Life::Consumed));
    assert!(
        !typed.saw(&brought, &Table, by(3)).0,
        "history that comes back"
    );
    assert_eq!(typed.errors_total, 1);
}

#[test]
fn the_model_proposes_and_the_table_decides() {
    let mut typed = Typed::default();
    let mut propose = |call: &str, arguments: &str| {
        let seen = Seen {
            calls: vec![CallSeen {
                call: call.to_owned(),
                tool: PHASE_TOOL.to_owned(),
                arguments: Some(arguments.to_owned()),
            }],
            whole: true,
            ..Seen::default()
        };
        let (_, proposed) = typed.saw(&seen, &Table, by(1));
        let kept = typed
            .result(call)
            .and_then(|it| it.proposal.clone())
            .unwrap();
        let seen = proposed.unwrap();
        assert_eq!((&kept.to, kept.accepted), (&seen.to, seen.to.is_some()));
        (seen.from, seen.to)
    };
    let no = |from: &str| (from.to_owned(), None);
    assert_eq!(propose("a", r#"{"to":"done"}"#), no("in"));
    assert_eq!(propose("b", "work"), no("in"), "not the arguments");
    assert_eq!(propose("c", r#"{"to":"work"}"#).1.as_deref(), Some("work"));
    assert_eq!(
        propose("d", r#"{"to":"done"}"#),
        no("work"),
        "for others than the model"
    );
    assert!(typed.change_phase("done", &Table, false).is_ok());
    assert_eq!(typed.phase(&Table), Some("done"));
    let none = typed.change_phase("in", &(), false).err();
    assert_eq!(none, Some(Refusal::Transition("phase")));
}

#[test]
fn traffic_never_makes_the_state_too_large() {
    let mut typed = Typed::default();
    for n in 0..400_u32 {
        let call = format!("{n:0128}");
        let calls = vec![CallSeen {
            call: call.clone(),
            tool: "t".repeat(128),
            arguments: None,
        }];
        let seen = Seen {
            calls,
            whole: true,
            ..Seen::default()
        };
        let _seen = typed.saw(&seen, &Table, by(n.into()));
        assert!(typed.results.len() <= RESULTS && typed.fit().len() <= LARGEST);
        assert!(typed.result(&call).is_some(), "the newest stays");
    }
}

/// A change, by what it is and a few small numbers.
#[derive(Clone, Debug)]
enum Op {
    Answer,
    Artifact(u8),
    Call(u8, bool),
    Checkpoint(u8),
    Entity(u8, bool),
    Error(u8),
    Evaluate(u8, u8, bool),
    Forget(u8),
    Goal(String),
    Pause,
    Phase(u8),
    Restore(u8),
    Result(u8, u8),
    Resume,
    Seen(u8, bool, bool),
}

fn op() -> impl Strategy<Value = Op> {
    let small = || 0..6_u8;
    prop_oneof![
        Just(Op::Answer),
        small().prop_map(Op::Artifact),
        (any::<u8>(), any::<bool>()).prop_map(|(n, propose)| Op::Call(n, propose)),
        small().prop_map(Op::Checkpoint),
        (any::<u8>(), any::<bool>()).prop_map(|(n, set)| Op::Entity(n, set)),
        any::<u8>().prop_map(Op::Error),
        (small(), small(), any::<bool>()).prop_map(|(a, n, mark)| Op::Evaluate(a, n, mark)),
        small().prop_map(Op::Forget),
        ".{0,20}".prop_map(Op::Goal),
        Just(Op::Pause),
        small().prop_map(Op::Phase),
        small().prop_map(Op::Restore),
        (any::<u8>(), 0..4_u8).prop_map(|(n, life)| Op::Result(n, life)),
        Just(Op::Resume),
        (any::<u8>(), any::<bool>(), any::<bool>())
            .prop_map(|(n, failed, whole)| Op::Seen(n, failed, whole)),
    ]
}

const PHASES: [&str; 4] = ["in", "work", "done", "nowhere"];
const LIVES: [Life; 4] = [Life::Pending, Life::Active, Life::Consumed, Life::Archived];

/// Makes one change, as the API and the traffic do. `parts` stands for the blobs.
fn apply(typed: &mut Typed, op: &Op, parts: &mut BTreeMap<String, Vec<u8>>) -> Result<(), Refusal> {
    let by = by(4);
    let call = |n: &u8| format!("call_{n}");
    let noted = match op {
        Op::Answer => typed.answer(Text::new("a"), by)?,
        Op::Artifact(n) => {
            let content = Text::new(format!("content {n}"));
            let (name, part) = (format!("doc{n}"), format!("sp_{}", parts.len()));
            let new = New {
                name: &name,
                media: None,
                author: None,
                content: &content,
            };
            typed.add_artifact(new, part, by)?
        }
        Op::Call(n, propose) => {
            let tool = if *propose { PHASE_TOOL } else { "tool" };
            let arguments = propose.then(|| json!({"to": PHASES[usize::from(n % 4)]}).to_string());
            let calls = vec![CallSeen {
                call: call(n),
                tool: tool.to_owned(),
                arguments,
            }];
            typed.saw(
                &Seen {
                    calls,
                    whole: true,
                    ..Seen::default()
                },
                &Table,
                by,
            );
            return Ok(());
        }
        Op::Checkpoint(n) => {
            let part = format!("sp_{}", parts.len());
            parts.insert(part.clone(), typed.snapshot().encode().to_vec());
            typed.add_checkpoint(&format!("c{n}"), part, by)?
        }
        Op::Entity(n, set) => {
            let value = set.then(|| Text::new("v"));
            typed.update(Given::Absent, vec![(format!("e{n}"), value)])?
        }
        Op::Error(n) => typed.note_error(Some(Text::new("e")), Some(call(n)), by),
        Op::Evaluate(name, n, passed) => {
            typed.evaluate((&format!("doc{name}"), (*n).into()), *passed, None, by)?
        }
        Op::Forget(n) => typed.forget(&format!("c{n}"))?,
        Op::Goal(goal) => typed.update(Given::Value(Text::new(goal.clone())), Vec::new())?,
        Op::Pause => typed.ask(Text::new("q"), by)?,
        Op::Phase(n) => typed.change_phase(PHASES[usize::from(n % 4)], &Table, false)?,
        Op::Restore(n) => {
            let name = format!("c{n}");
            let snapshot = &parts[&typed.checkpoint(&name)?.part];
            let snapshot = Snapshot::decode(snapshot).ok().unwrap();
            typed.restore(&name, snapshot, &Table)?
        }
        Op::Result(n, life) => {
            let given = ToolResult::given(call(n), None, by);
            typed.set_result(given, Some(LIVES[usize::from(*life)]), None)?
        }
        Op::Resume => typed.resume()?,
        Op::Seen(n, failed, whole) => {
            let result = ResultSeen {
                call: call(n),
                failed: *failed,
                bytes: 1,
            };
            match whole {
                true => {
                    let results = vec![result];
                    typed.saw(
                        &Seen {
                            results,
                            whole: true,
                            ..Seen::default()
                        },
                        &Table,
                        by,
                    );
                }
                false => drop(typed.saw_result(&result, by)),
            }
            return Ok(());
        }
    };
    drop(noted);
    Ok(())
}

/// What holds between a state and the one after a change.
fn check(before: &Typed, after: &Typed, op: &Op) {
    assert!(decode(&after.encode()) == *after || *after == Typed::default());
    assert!(after.results.len() <= RESULTS && after.entities.len() <= ENTITIES);
    assert!(after.errors.len() <= ERRORS && after.answers.len() <= ANSWERS);
    assert!(after.checkpoints.len() <= CHECKPOINTS && after.artifacts.len() <= NAMES);
    assert!(after.versions() <= VERSIONS && after.errors_total >= before.errors_total);
    let (from, to) = (before.phase(&Table).unwrap(), after.phase(&Table).unwrap());
    assert!(
        from == to || Table.allows(from, to, false),
        "{from} to {to}"
    );
    // What was written stays, but for its mark.
    for (name, versions) in &before.artifacts {
        for version in versions {
            let kept = after.artifact(name, Some(version.n)).unwrap();
            assert!(kept.part == version.part && kept.sha256 == version.sha256);
        }
    }
    if matches!(op, Op::Restore(_)) {
        assert!(before.artifacts == after.artifacts && before.errors == after.errors);
        assert!(before.pause == after.pause && before.answers == after.answers);
        assert!(before.checkpoints == after.checkpoints && before.parts == after.parts);
    } else {
        for result in &before.results {
            let now = after.result(&result.call).map(|it| it.life);
            assert!(now.is_none_or(|now| now >= result.life), "{op:?}");
        }
    }
}

proptest! {
    #[test]
    fn whatever_is_done_what_must_hold_holds(ops in proptest::collection::vec(op(), 0..300)) {
        let mut parts = BTreeMap::new();
        let mut typed = Typed::default();
        for op in &ops {
            let mut next = typed.clone();
            if apply(&mut next, op, &mut parts).is_ok() {
                check(&typed, &next, op);
                typed = next;
            }
        }
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
        let _either = Typed::decode(&bytes);
        let mut bytes = bytes;
        bytes.splice(0..0, *b"\x01\0\0{");
        let _either = Typed::decode(&bytes);
    }
}
