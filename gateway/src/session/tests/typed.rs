//! The typed state of real sessions: what is recorded, what is bound, what survives whom.

use redb::ReadableTableMetadata;
use serde_json::Value;

use super::*;
use crate::session::{
    sections::TYPED,
    typed::{Asked, Change, ChangeError, Changed, Given, Life, Refusal, Text},
};

const ANY: Asked<'static> = Asked {
    request: "r_change",
    trace: None,
    expected: None,
};

fn goal(text: &str) -> Change {
    Change::Update {
        goal: Given::Value(Text::new(text)),
        entities: vec![("city".to_owned(), Some(Text::new("Bern")))],
    }
}

async fn changed(
    house: &House,
    caller: &Caller,
    opened: &Opened,
    change: Change,
) -> Result<Changed, ChangeError> {
    let sessions = &house.sessions;
    let made = sessions.change(caller, &opened.reference, ANY, change, &());
    Box::pin(made).await
}

async fn shown(house: &House, caller: &Caller, opened: &Opened) -> Value {
    let state = house.sessions.state(caller, &opened.reference, &()).await;
    state.unwrap().json
}

/// The sealed bytes of the typed state, changed by whoever has the session's turn.
async fn rewrite(house: &House, ann: &Caller, opened: &Opened, bytes: &[u8]) {
    let turn = house.sessions.turn(ann, Some(opened.id.expose())).await;
    let mut turn = turn.unwrap();
    let bytes = Zeroizing::new(bytes.to_vec());
    turn.state_mut().sections.set(TYPED, bytes);
    turn.release().await.unwrap();
}

#[tokio::test]
async fn a_change_is_kept_and_recorded_without_its_text() {
    let (_dir, house, ann, opened) = scene().await;
    let made = changed(&house, &ann, &opened, goal("Call Ann Miller")).await;
    assert_eq!(
        made.unwrap(),
        Changed {
            version: 1,
            n: Some(2)
        }
    );
    let state = shown(&house, &ann, &opened).await;
    assert_eq!(state["goal"], "Call Ann Miller");
    assert_eq!(state["entities"]["city"], "Bern");

    let events = house.pages.of(&opened.reference);
    let last = events.last().unwrap();
    assert_eq!(last["kind"], "session.update");
    assert_eq!(last["sseq"], 1);
    assert_eq!(last["change"]["version"], 1);
    assert_eq!(last["change"]["bytes"], 15);
    let text = last.to_string();
    assert!(!text.contains("Miller") && !text.contains("Bern") && !text.contains("city"));
    // The next turn's record follows it.
    let turn = house.sessions.turn(&ann, Some(opened.id.expose())).await;
    assert_eq!(turn.unwrap().link().sseq, 2);
}

#[tokio::test]
async fn a_change_that_is_refused_leaves_nothing() {
    let (_dir, house, ann, opened) = scene().await;
    changed(&house, &ann, &opened, goal("one")).await.unwrap();
    let sessions = &house.sessions;
    for expected in [&[][..], &[0], &[2, 3]] {
        let asked = Asked {
            expected: Some(expected),
            ..ANY
        };
        let made = sessions.change(&ann, &opened.reference, asked, goal("two"), &());
        assert!(matches!(Box::pin(made).await, Err(ChangeError::Version)));
    }
    let refused = changed(&house, &ann, &opened, Change::Resume).await;
    assert!(matches!(
        refused,
        Err(ChangeError::Refused(Refusal::NotPaused))
    ));
    let long = changed(&house, &ann, &opened, goal(&"x".repeat(40_000))).await;
    assert!(matches!(
        long,
        Err(ChangeError::Refused(Refusal::Full("state")))
    ));
    assert_eq!(shown(&house, &ann, &opened).await["version"], 1);
    assert_eq!(house.pages.kinds(&opened.reference).len(), 2);
    // The lease is free: the next one does not wait.
    let asked = Asked {
        expected: Some(&[1, 7]),
        ..ANY
    };
    let made = sessions.change(&ann, &opened.reference, asked, goal("two"), &());
    assert_eq!(Box::pin(made).await.unwrap().version, 2);
}

#[tokio::test]
async fn a_change_breaks_off_no_turn() {
    let dir = tempfile::tempdir().unwrap();
    let limits = Limits {
        on_busy: OnBusy::Interrupt,
        ..limits()
    };
    let house = House::open_with(dir.path(), limits, Arc::new(Pages::default()), NOW_US);
    let ann = caller("ann", "t");
    let opened = house.sessions.open(&ann).await.unwrap();
    let turn = house.sessions.turn(&ann, Some(opened.id.expose())).await;
    let mut turn = turn.unwrap();
    let late = changed(&house, &ann, &opened, goal("now")).await;
    assert!(matches!(
        late,
        Err(ChangeError::Session(SessionError::Busy))
    ));
    assert!(turn.renew().await.is_ok() && turn.release().await.is_ok());
    assert!(changed(&house, &ann, &opened, goal("now")).await.is_ok());
}

#[tokio::test]
async fn errors_never_fill_the_state() {
    let (_dir, house, ann, opened) = scene().await;
    for n in 0..40_u32 {
        let error = Change::Error {
            text: Some(Text::new(format!("{n:04000}"))),
            call: None,
        };
        changed(&house, &ann, &opened, error).await.unwrap();
    }
    let state = shown(&house, &ann, &opened).await;
    assert_eq!(state["errors_total"], 40);
    let last = state["errors"].as_array().unwrap().last().cloned().unwrap();
    assert!(
        last["text"]
            .as_str()
            .is_some_and(|text| text.ends_with("39"))
    );
}

#[tokio::test]
async fn what_the_log_does_not_take_is_not_kept() {
    let (_dir, house, ann, opened) = scene().await;
    changed(&house, &ann, &opened, goal("one")).await.unwrap();
    let refused = BookError::from(gatehouse_ledger::AppendError::Refused);
    assert_eq!(refused.written(), Some(false));
    house.pages.break_next(refused.into());
    let failed = changed(&house, &ann, &opened, goal("two")).await;
    assert!(matches!(
        failed,
        Err(ChangeError::Session(SessionError::Log))
    ));
    assert_eq!(shown(&house, &ann, &opened).await["goal"], "one");
    let again = changed(&house, &ann, &opened, goal("three")).await;
    assert_eq!(again.unwrap().version, 2);
    let sseq: Vec<_> = house
        .pages
        .of(&opened.reference)
        .iter()
        .map(|it| it["sseq"].as_u64())
        .collect();
    assert_eq!(sseq, [Some(0), Some(1), Some(2)]);
}

#[tokio::test]
async fn nobody_else_sees_or_changes_it() {
    let (_dir, house, ann, opened) = scene().await;
    changed(&house, &ann, &opened, goal("one")).await.unwrap();
    for other in [caller("bob", "t"), caller("ann", "other")] {
        let made = changed(&house, &other, &opened, goal("two")).await;
        assert!(matches!(
            made,
            Err(ChangeError::Session(SessionError::NotFound(_)))
        ));
        let sessions = &house.sessions;
        let reference = opened.reference.as_str();
        assert!(sessions.state(&other, reference, &()).await.is_err());
        assert!(sessions.context(&other, reference, &()).await.is_err());
        assert!(
            sessions
                .artifact(&other, reference, "doc", None)
                .await
                .is_err()
        );
        assert!(sessions.tool_result(&other, reference, "c").await.is_err());
    }
    assert_eq!(shown(&house, &ann, &opened).await["goal"], "one");
}

#[tokio::test]
async fn going_back_gives_back_no_turn_no_value_and_no_artifact() {
    let (_dir, house, ann, opened) = scene().await;
    changed(&house, &ann, &opened, goal("one")).await.unwrap();
    let name = || "start".to_owned();
    changed(&house, &ann, &opened, Change::Checkpoint { name: name() })
        .await
        .unwrap();
    let turn = house.sessions.turn(&ann, Some(opened.id.expose())).await;
    let mut turn = turn.unwrap();
    turn.state_mut().steps += 3;
    turn.state_mut().vault = Zeroizing::new(b"values".to_vec());
    turn.release().await.unwrap();
    changed(&house, &ann, &opened, goal("two")).await.unwrap();
    let artifact = Change::Artifact {
        name: "doc".to_owned(),
        media: None,
        author: Some("writer".to_owned()),
        content: Text::new("# Draft"),
    };
    changed(&house, &ann, &opened, artifact).await.unwrap();

    let restored = changed(&house, &ann, &opened, Change::Restore { name: name() }).await;
    assert_eq!(
        restored.unwrap(),
        Changed {
            version: 5,
            n: Some(1)
        }
    );
    let state = shown(&house, &ann, &opened).await;
    assert_eq!(
        (&state["goal"], &state["steps"]),
        (&"one".into(), &3.into())
    );
    assert_eq!(state["artifacts"][0]["author"], "writer");
    let turn = house.sessions.turn(&ann, Some(opened.id.expose())).await;
    assert_eq!(turn.unwrap().vault(), b"values");
}

#[tokio::test]
async fn parts_are_sealed_and_go_with_their_session() {
    let (dir, house, ann, opened) = scene().await;
    let content = "Ann Miller's documents, all of them";
    let artifact = Change::Artifact {
        name: "doc".to_owned(),
        media: Some("text/markdown".to_owned()),
        author: None,
        content: Text::new(content),
    };
    changed(&house, &ann, &opened, artifact).await.unwrap();
    let sessions = &house.sessions;
    let read = sessions
        .artifact(&ann, &opened.reference, "doc", Some(1))
        .await
        .unwrap();
    assert_eq!(read.text.unwrap().as_str(), content);
    assert_eq!(read.about["bytes"], content.len());
    house.database.sync().await.unwrap();
    let file = std::fs::read(dir.path().join("sessions.redb")).unwrap();
    let within = |needle: &[u8]| file.windows(needle.len()).any(|part| part == needle);
    assert!(!within(b"Miller") && within(b"/sp_"));

    sessions.close(&ann, &opened.reference).await.unwrap();
    assert_eq!(parts(&house), 0);
}

/// How many parts the store has, of all sessions.
fn parts(house: &House) -> u64 {
    let transaction = house.database.read().unwrap();
    let parts: redb::TableDefinition<'_, &str, &[u8]> = redb::TableDefinition::new("session_parts");
    transaction
        .open_table(parts)
        .map_or(0, |parts| parts.len().unwrap())
}

#[tokio::test]
async fn what_is_refused_leaves_no_part() {
    let (_dir, house, ann, opened) = scene().await;
    let result = |call: &str, life: Option<Life>, text: String| Change::Result {
        call: call.to_owned(),
        tool: None,
        life,
        failed: None,
        text: Some(Text::new(text)),
    };
    let point = |n: usize| Change::Checkpoint {
        name: format!("p{n}"),
    };
    let kept = result("x", Some(Life::Archived), "kept".to_owned());
    changed(&house, &ann, &opened, kept).await.unwrap();
    for n in 0..16 {
        changed(&house, &ann, &opened, point(n)).await.unwrap();
    }
    assert_eq!(parts(&house), 17);

    let back = || result("x", Some(Life::Pending), "x".repeat(1 << 20));
    let refused = changed(&house, &ann, &opened, back()).await;
    let transition = Refusal::Transition("state");
    assert!(matches!(refused, Err(ChangeError::Refused(why)) if why == transition));
    let refused = changed(&house, &ann, &opened, point(16)).await;
    let full = Refusal::Full("checkpoints");
    assert!(matches!(refused, Err(ChangeError::Refused(why)) if why == full));
    assert_eq!(parts(&house), 17);

    // No room for one more result.
    let long = Change::Update {
        goal: Given::Value(Text::new("x".repeat(28_000))),
        entities: Vec::new(),
    };
    changed(&house, &ann, &opened, long).await.unwrap();
    let mut full = None;
    for n in 0..31 {
        let before = parts(&house);
        let call = format!("{n:0100}");
        let made = changed(&house, &ann, &opened, result(&call, None, "y".to_owned())).await;
        if made.is_err() {
            full = Some((made, before));
            break;
        }
    }
    let (refused, before) = full.unwrap();
    let state = Refusal::Full("state");
    assert!(matches!(refused, Err(ChangeError::Refused(why)) if why == state));
    assert_eq!(parts(&house), before);

    let refused = BookError::from(gatehouse_ledger::AppendError::Refused);
    house.pages.break_next(refused.into());
    let failed = changed(&house, &ann, &opened, result("x", None, "z".to_owned())).await;
    assert!(matches!(
        failed,
        Err(ChangeError::Session(SessionError::Log))
    ));
    assert_eq!(parts(&house), before);
}

#[tokio::test]
async fn a_session_that_waits_for_its_user_is_not_idle() {
    let (_dir, house, ann, opened) = scene().await;
    let question = Change::Pause {
        question: Text::new("Which Ann?"),
    };
    changed(&house, &ann, &opened, question).await.unwrap();
    house.clock.advance(Limits::default().idle * 3);
    let turn = house
        .sessions
        .turn(&ann, Some(opened.id.expose()))
        .await
        .unwrap();
    assert!(turn.state().is_paused().is_ok_and(|paused| paused));
    turn.release().await.unwrap();
    house.clock.advance(Limits::default().idle * 3);
    let answer = Change::Answer {
        answer: Text::new("Miller"),
    };
    changed(&house, &ann, &opened, answer).await.unwrap();
    changed(&house, &ann, &opened, Change::Resume)
        .await
        .unwrap();
    let state = shown(&house, &ann, &opened).await;
    assert!(state["pause"].is_null());
    assert_eq!(state["answers"][0]["answer"], "Miller");
    house.clock.advance(Limits::default().idle * 2);
    assert!(
        house
            .sessions
            .state(&ann, &opened.reference, &())
            .await
            .is_err(),
        "idle again"
    );
    let kinds = house.pages.kinds(&opened.reference);
    assert_eq!(
        kinds[1..],
        ["session.pause", "session.answer", "session.resume"]
    );
}

#[tokio::test]
async fn two_releases_work_on_the_same_session() {
    let (_dir, house, ann, opened) = scene().await;
    // A later release of the same major schema.
    let later = br#"{"version":4,"goal":"later","dream":{"depth":[1,2]}}"#;
    let bytes = |major: u8| [&[major, 9, 0][..], later].concat();
    rewrite(&house, &ann, &opened, &bytes(1)).await;
    let made = changed(&house, &ann, &opened, goal("now")).await;
    assert_eq!(made.unwrap().version, 5);
    let turn = house
        .sessions
        .turn(&ann, Some(opened.id.expose()))
        .await
        .unwrap();
    let written = turn.state().sections.get(TYPED).to_vec();
    assert_eq!(written[..3], [1, 9, 0]);
    let json: Value = serde_json::from_slice(&written[3..]).unwrap();
    assert_eq!(json["dream"]["depth"][1], 2);
    assert_eq!(json["goal"], "now");
    turn.release().await.unwrap();

    // A later major one.
    rewrite(&house, &ann, &opened, &bytes(2)).await;
    let made = changed(&house, &ann, &opened, goal("now")).await;
    assert!(matches!(
        made,
        Err(ChangeError::Session(SessionError::Newer))
    ));
    let turn = house
        .sessions
        .turn(&ann, Some(opened.id.expose()))
        .await
        .unwrap();
    assert!(matches!(turn.state().is_paused(), Err(SessionError::Newer)));
    assert_eq!(
        turn.state().sections.get(TYPED),
        bytes(2),
        "and left as it is"
    );
    turn.release().await.unwrap();
}
