//! Several processes over one store: each with a log, a line and an outbox of its own.

use super::*;
use crate::{
    reject::Code,
    session::{
        store::faulty::Fault,
        typed::{Asked, Change, Text},
    },
};

pub(super) const ADMITTED: &str = "exchange.admitted";
pub(super) const SETTLED: &str = "exchange.settled";

/// Two processes over one store, and a caller with a session.
pub(super) struct Replicas {
    pub(super) dir: tempfile::TempDir,
    pub(super) one: House,
    pub(super) two: House,
    pub(super) ann: Caller,
    pub(super) opened: Opened,
}

impl Replicas {
    pub(super) async fn new() -> Self {
        Self::with(limits()).await
    }

    pub(super) async fn with(limits: Limits) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let one = House::open_with(dir.path(), limits, Arc::default(), NOW_US);
        one.faults.share();
        let one = one.restarted(dir.path(), Arc::default());
        let two = one.restarted(&dir.path().join("two"), Arc::default());
        let ann = caller("ann", "t");
        let opened = one.sessions.open(&ann).await.unwrap();
        Self {
            dir,
            one,
            two,
            ann,
            opened,
        }
    }

    pub(super) async fn turn(&self, house: &House) -> Turn {
        self.try_turn(house).await.unwrap()
    }

    pub(super) async fn try_turn(&self, house: &House) -> Result<Turn, SessionError> {
        let id = self.opened.id.expose();
        house.sessions.turn(&self.ann, Some(id)).await
    }

    /// All records of the session, over all logs: each number once, or declared missing.
    pub(super) fn numbers(&self, houses: &[&House]) -> (Vec<u64>, Vec<u64>) {
        let reference = &self.opened.reference;
        let records: Vec<_> = houses
            .iter()
            .flat_map(|house| house.pages.of(reference))
            .collect();
        let mut numbers: Vec<_> = records.iter().filter_map(|r| r["sseq"].as_u64()).collect();
        numbers.sort_unstable();
        let missing = records.iter().filter_map(|r| r["missing"].as_u64());
        (numbers, missing.collect())
    }

    /// The same, where nothing may be missing.
    pub(super) fn is_dense(&self, houses: &[&House], count: u64) {
        let (numbers, _) = self.numbers(houses);
        assert_eq!(numbers, (0..count).collect::<Vec<_>>());
    }
}

fn made(turn: &Turn, kind: &str) -> Event {
    Event::from_bytes(event(turn, kind)).unwrap()
}

/// An event that stands in no chain.
pub(super) fn outside(kind: &str) -> Event {
    Event::from_bytes(format!(r#"{{"kind":"{kind}","outside":true}}"#).into_bytes()).unwrap()
}

pub(super) fn offer(turn: &Turn, kind: &str) -> Offer {
    Offer {
        event: made(turn, kind),
        otherwise: Some(outside("exchange.refused")),
        closing: (kind == ADMITTED).then(|| outside("closing")),
    }
}

pub(super) fn unchained(house: &House) -> Vec<String> {
    let events = house.pages.events.lock();
    let events = events.iter().filter(|event| event.contains("outside"));
    let kind = |event: &String| {
        let event: serde_json::Value = serde_json::from_str(event).unwrap();
        event["kind"].as_str().unwrap().to_owned()
    };
    events.map(kind).collect()
}

#[tokio::test]
async fn a_turn_whose_replica_died_is_not_under_way_for_ever() {
    let all = Replicas::new().await;
    let doing = async |house: &House| {
        let reference = &all.opened.reference;
        let progress = house.sessions.progress(&all.ann, reference).await;
        progress.unwrap().doing
    };
    let mut turn = all.turn(&all.one).await;
    let admitted = event(&turn, ADMITTED);
    turn.record(&admitted).await.unwrap();
    assert_eq!(doing(&all.two).await, Doing::Running);
    // It says nothing more.
    all.one.clock.advance(limits().lease);
    assert_eq!(doing(&all.two).await, Doing::Idle);
}

#[tokio::test]
async fn any_replica_serves_any_turn() {
    let all = Replicas::new().await;
    for n in 0..6u64 {
        let house = if n.is_multiple_of(2) {
            &all.one
        } else {
            &all.two
        };
        let mut turn = all.turn(house).await;
        assert_eq!(turn.link().sseq, 1 + 2 * n);
        let vault = format!("vault {n}").into_bytes();
        turn.state_mut().vault = Zeroizing::new(vault);
        let admission = offer(&turn, ADMITTED);
        assert!(turn.admit(admission, || ()).await.is_ok());
        let last = offer(&turn, SETTLED);
        turn.settle(last).await.unwrap();
    }
    all.is_dense(&[&all.one, &all.two], 13);
    assert!(all.numbers(&[&all.one, &all.two]).1.is_empty());
    assert!(unchained(&all.one).is_empty() && unchained(&all.two).is_empty());
    let turn = all.turn(&all.one).await;
    assert_eq!(turn.vault(), b"vault 5");
}

/// What one replica writes into the state, documents and questions too, another goes on with.
#[tokio::test]
async fn any_replica_changes_the_state() {
    let all = Replicas::new().await;
    let asked = Asked {
        request: "r_change",
        trace: None,
        expected: None,
    };
    let reference = all.opened.reference.as_str();
    let change = async |house: &House, change| {
        let made = house
            .sessions
            .change(&all.ann, reference, asked, change, &());
        Box::pin(made).await.unwrap().version
    };
    let plan = Change::Artifact {
        name: "plan".to_owned(),
        media: None,
        author: None,
        content: Text::new("# Plan"),
    };
    assert_eq!(change(&all.one, plan).await, 1);
    let read = all
        .two
        .sessions
        .artifact(&all.ann, reference, "plan", None)
        .await;
    assert_eq!(read.unwrap().text.unwrap().as_str(), "# Plan");
    let question = Text::new("Which one?");
    assert_eq!(change(&all.two, Change::Pause { question }).await, 2);
    let turn = all.turn(&all.one).await;
    assert!(turn.state().is_paused().is_ok_and(|paused| paused));
    turn.release().await.unwrap();
    let answer = Text::new("The blue one.");
    assert_eq!(change(&all.one, Change::Answer { answer }).await, 3);
    assert_eq!(change(&all.two, Change::Resume).await, 4);
    let state = all
        .one
        .sessions
        .state(&all.ann, reference, &())
        .await
        .unwrap();
    assert_eq!(state.json["answers"][0]["answer"], "The blue one.");
    all.is_dense(&[&all.one, &all.two], 5);
    assert!(all.numbers(&[&all.one, &all.two]).1.is_empty());
}

/// A process that stood still past its lease, at every point of a turn: what it says afterwards is in
/// nobody's place, and it cannot write the session any more.
#[tokio::test]
async fn a_replica_that_stood_still_forks_nothing() {
    for admitted in [false, true] {
        let all = Replicas::new().await;
        let mut late = all.turn(&all.one).await;
        if admitted {
            let admission = offer(&late, ADMITTED);
            assert!(late.admit(admission, || ()).await.is_ok());
        }
        assert!(matches!(
            all.try_turn(&all.two).await,
            Err(SessionError::Busy)
        ));
        all.one.clock.advance(Duration::from_secs(61));
        let mut newer = all.turn(&all.two).await;
        newer.state_mut().vault = Zeroizing::new(b"newer".to_vec());
        let admission = offer(&newer, ADMITTED);
        assert!(newer.admit(admission, || ()).await.is_ok());

        late.state_mut().vault = Zeroizing::new(b"late".to_vec());
        if admitted {
            let last = offer(&late, SETTLED);
            let settled = late.settle(last).await;
            assert!(matches!(settled, Err(SessionError::Conflict)));
            assert_eq!(unchained(&all.one), ["exchange.refused"]);
        } else {
            let admission = offer(&late, ADMITTED);
            let refused = late
                .admit(admission, || panic!("logged"))
                .await
                .err()
                .unwrap();
            assert!(matches!(refused.error, SessionError::Conflict));
            assert!(!refused.noted);
            drop(late);
        }
        let last = offer(&newer, SETTLED);
        newer.settle(last).await.unwrap();
        let (numbers, missing) = all.numbers(&[&all.one, &all.two]);
        let count = if admitted { 5 } else { 3 };
        assert_eq!(numbers, (0..count).collect::<Vec<_>>());
        // The one that was cut short may not have been logged, for all that the other could know.
        assert_eq!(missing, if admitted { vec![1] } else { vec![] });
        let turn = all.turn(&all.one).await;
        assert_eq!(turn.vault(), b"newer");
    }
}

/// A newer turn takes the session from a replica that is at it; that one notices when it asks, and
/// nothing more of it is kept.
#[tokio::test]
async fn a_turn_is_interrupted_by_another_replica() {
    let all = Replicas::with(Limits {
        on_busy: OnBusy::Interrupt,
        ..limits()
    })
    .await;
    let mut first = all.turn(&all.one).await;
    let admission = offer(&first, ADMITTED);
    assert!(first.admit(admission, || ()).await.is_ok());
    assert_eq!(first.lost().await, None);
    let mut second = all.turn(&all.two).await;
    assert_eq!(first.lost().await, Some(Code::SessionInterrupted));
    assert!(first.place().is_none());
    let last = first.settle(outside(SETTLED)).await;
    assert!(matches!(last, Err(SessionError::Conflict)));
    let admission = offer(&second, ADMITTED);
    assert!(second.admit(admission, || ()).await.is_ok());
    let last = offer(&second, SETTLED);
    second.settle(last).await.unwrap();
    assert_eq!(unchained(&all.one), [SETTLED]);
    all.is_dense(&[&all.one, &all.two], 5);
}

/// The store does not answer an admission or a settlement; whether it has the write shows later, and
/// the event is logged in its place, or what stands for it outside of the chain.
#[tokio::test]
async fn what_the_store_did_not_answer_for_is_found_out() {
    for (fault, stored) in [(Fault::Fails, false), (Fault::FailsButPersists, true)] {
        let all = Replicas::new().await;
        let mut turn = all.turn(&all.one).await;
        all.one.faults.break_next(fault);
        let admission = offer(&turn, ADMITTED);
        let refused = turn
            .admit(admission, || panic!("logged"))
            .await
            .err()
            .unwrap();
        assert!(matches!(refused.error, SessionError::Store(_)));
        let _broken = turn.release().await;
        all.is_dense(&[&all.one], 1);

        let mut turn = all.turn(&all.one).await;
        let said: &[&str] = if stored {
            &["closing"]
        } else {
            &["exchange.refused"]
        };
        assert_eq!(unchained(&all.one), said);
        let admission = offer(&turn, ADMITTED);
        assert!(turn.admit(admission, || ()).await.is_ok());
        all.one.faults.break_next(fault);
        let last = offer(&turn, SETTLED);
        assert!(matches!(
            turn.settle(last).await,
            Err(SessionError::Store(_))
        ));
        let before = 2 + u64::from(stored);
        all.is_dense(&[&all.one], before);

        // Without a turn, too.
        all.one.sessions.mend(Duration::ZERO).await;
        all.is_dense(&[&all.one], before + u64::from(stored));
        assert_eq!(unchained(&all.one).len(), if stored { 1 } else { 2 });
        all.turn(&all.two).await.release().await.unwrap();
        assert!(all.numbers(&[&all.one, &all.two]).1.is_empty());
    }
}

/// A process dies between the store's answer and the log, and others go on: its next start logs what
/// it had told the store, in its place.
#[tokio::test]
async fn what_a_dead_process_had_told_the_store_is_logged_by_its_next_start() {
    for last in [false, true] {
        for goes_on in [false, true] {
            let all = Replicas::new().await;
            let mut turn = all.turn(&all.one).await;
            let mut logged = 0;
            if last {
                let admission = offer(&turn, ADMITTED);
                assert!(turn.admit(admission, || ()).await.is_ok());
                logged = 1;
            }
            // What `admit` and `settle` do before they ask the log.
            let entry = offer(&turn, if last { SETTLED } else { ADMITTED });
            let bytes = entry.event.bytes().to_vec();
            let begun = turn
                .shared
                .outbox
                .begin(&turn.location.name, turn.link().sseq, entry);
            begun.unwrap();
            if last {
                turn.finish(&bytes).await.unwrap();
            } else {
                turn.record(&bytes).await.unwrap();
            }
            drop(turn);
            if goes_on {
                all.one.clock.advance(Duration::from_secs(61));
                for _ in 0..3 {
                    let mut turn = all.turn(&all.two).await;
                    let admission = offer(&turn, ADMITTED);
                    assert!(turn.admit(admission, || ()).await.is_ok());
                    let last = offer(&turn, SETTLED);
                    turn.settle(last).await.unwrap();
                }
            }
            let again = all.one.restarted(all.dir.path(), all.one.pages.clone());
            let known = [Logged {
                sid: all.opened.reference.clone(),
                sseq: logged,
                digest: digest_of(&all.one, &all.opened.reference, logged),
            }];
            for _ in 0..2 {
                assert_eq!(again.sessions.replay(&known).await.unwrap(), 0);
            }
            let (numbers, missing) = all.numbers(&[&again, &all.two]);
            let declared = u64::from(goes_on && !last);
            let count = 2 + logged + declared + if goes_on { 6 } else { 0 };
            assert_eq!(numbers, (0..count).collect::<Vec<_>>(), "{last} {goes_on}");
            assert_eq!(missing.len() as u64, declared);
            // An admission that nobody will settle any more says so, once.
            let closing: &[&str] = if last { &[] } else { &["closing"] };
            assert_eq!(unchained(&again), closing, "{last} {goes_on}");
        }
    }
}

pub(super) fn digest_of(house: &House, reference: &str, sseq: u64) -> [u8; 32] {
    let events = house.pages.events.lock();
    let found = events.iter().find(|event| {
        let read: serde_json::Value = serde_json::from_str(event).unwrap();
        read["sid"] == reference && read["sseq"] == sseq
    });
    state::after(Link::START, found.unwrap().as_bytes()).sprev
}

/// Closing waits for a turn that another replica is at, as it does for one of its own, and no longer.
#[tokio::test]
async fn closing_waits_for_a_turn_of_another_replica() {
    let all = Replicas::with(Limits {
        wait: Duration::from_secs(60),
        ..limits()
    })
    .await;
    let mut turn = all.turn(&all.two).await;
    let admission = offer(&turn, ADMITTED);
    assert!(turn.admit(admission, || ()).await.is_ok());
    let reference = all.opened.reference.as_str();
    let mut closing = Box::pin(all.one.sessions.close(&all.ann, reference));
    let early = tokio::time::timeout(Duration::from_millis(50), &mut closing).await;
    assert!(early.is_err(), "it did not wait");
    let last = offer(&turn, SETTLED);
    turn.settle(last).await.unwrap();
    closing.await.unwrap();
    all.is_dense(&[&all.one, &all.two], 4);
    assert_eq!(absence(all.try_turn(&all.two).await), Absence::Closed);

    let impatient = Replicas::new().await;
    let _turn = impatient.turn(&impatient.two).await;
    let reference = impatient.opened.reference.as_str();
    let closed = impatient
        .one
        .sessions
        .close(&impatient.ann, reference)
        .await;
    assert!(matches!(closed, Err(SessionError::Busy)));
}

#[tokio::test]
async fn a_session_that_two_replicas_would_end_ends_once() {
    let all = Replicas::new().await;
    all.one.clock.advance(Duration::from_secs(2 * 3600));
    let (one, two) = tokio::join!(all.one.sessions.sweep(), all.two.sessions.sweep());
    let (one, two) = (one.unwrap(), two.unwrap());
    assert_eq!((one.ended + two.ended, one.failed + two.failed), (1, 0));
    all.is_dense(&[&all.one, &all.two], 2);
}
