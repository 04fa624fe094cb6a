//! An exchange that the log has as admitted is settled, whatever fails, and its session's chain stays
//! whole.

use gatehouse_ledger::AppendError;
use tokio::sync::oneshot;

use super::*;
use crate::session::store::faulty::Fault;

const ADMITTED: &str = "exchange.admitted";
const SETTLED: &str = "exchange.settled";
const YOUNG: Duration = Duration::from_secs(2);

struct Scene {
    house: House,
    _dir: tempfile::TempDir,
    caller: Caller,
    opened: Opened,
}

impl Scene {
    async fn set() -> Self {
        let (_dir, house, caller, opened) = scene().await;
        Self {
            house,
            _dir,
            caller,
            opened,
        }
    }

    async fn turn(&self) -> Result<Turn, SessionError> {
        let id = self.opened.id.expose();
        self.house.sessions.turn(&self.caller, Some(id)).await
    }

    /// A whole exchange without a fault.
    async fn exchange(&self) {
        let mut turn = self.turn().await.unwrap();
        assert!(turn.admit(made(&turn, ADMITTED), || ()).await.is_ok());
        let last = made(&turn, SETTLED);
        turn.settle(last).await.unwrap();
    }

    fn kinds(&self) -> Vec<String> {
        let kinds = self.house.pages.kinds(&self.opened.reference);
        kinds
            .into_iter()
            .map(|kind| kind.replace("exchange.", ""))
            .collect()
    }

    fn whole(&self) {
        chain_is_whole(&self.house, &self.opened.reference);
    }
}

fn made(turn: &Turn, kind: &str) -> Event {
    Event::from_bytes(event(turn, kind)).unwrap()
}

fn refused() -> Unconfirmed {
    BookError::Append(AppendError::Refused).into()
}

/// An event that is late, and the log's last word on it.
fn late() -> (oneshot::Sender<Result<(), BookError>>, Unconfirmed) {
    let (word, later) = oneshot::channel();
    let later: Later = Box::pin(async { later.await.unwrap() });
    let unconfirmed = Unconfirmed {
        error: BookError::Late,
        later: Some(later),
    };
    (word, unconfirmed)
}

#[tokio::test]
async fn the_store_fails_after_the_log_took_the_admission() {
    for fault in [Fault::Fails, Fault::FailsButPersists] {
        let scene = Scene::set().await;
        let mut turn = scene.turn().await.unwrap();
        scene.house.faults.break_next(fault);
        let mut logged = false;
        let unadmitted = turn.admit(made(&turn, ADMITTED), || logged = true).await;
        let Unadmitted { error, fate, .. } = unadmitted.err().unwrap();
        assert!(matches!(error, SessionError::Store(_)) && logged);
        assert!(turn.learn(fate).await);
        let last = made(&turn, SETTLED);
        assert_eq!(turn.place(), Some(turn.link()));
        assert!(turn.settle(last).await.is_err());
        assert_eq!(scene.kinds(), ["session.open", "admitted", "settled"]);
        assert_eq!(scene.house.sessions.behind(), 1);

        // Nothing is missing, so nothing is declared, and the store is brought up to the log.
        scene.exchange().await;
        scene.exchange().await;
        assert_eq!(scene.kinds()[3..], ["admitted", "settled"].repeat(2));
        scene.whole();
        assert_eq!(scene.house.sessions.behind(), 0);
    }
}

#[tokio::test]
async fn while_the_store_fails_nothing_more_is_admitted() {
    let scene = Scene::set().await;
    let mut turn = scene.turn().await.unwrap();
    scene.house.faults.break_next(Fault::Fails);
    assert!(turn.admit(made(&turn, ADMITTED), || ()).await.is_err());
    let last = made(&turn, SETTLED);
    assert!(turn.settle(last).await.is_err());
    for _ in 0..3 {
        scene.house.faults.break_next(Fault::Fails);
        assert!(matches!(scene.turn().await, Err(SessionError::Store(_))));
    }
    assert_eq!(scene.kinds(), ["session.open", "admitted", "settled"]);
    scene.exchange().await;
    scene.whole();
}

#[tokio::test(start_paused = true)]
async fn the_store_is_brought_up_to_the_log_without_a_turn() {
    let scene = Scene::set().await;
    let before = scene.house.sessions.inspect(&scene.opened.reference).await;
    let mut turn = scene.turn().await.unwrap();
    scene.house.faults.break_next(Fault::Fails);
    assert!(turn.admit(made(&turn, ADMITTED), || ()).await.is_err());
    let last = made(&turn, SETTLED);
    assert!(turn.settle(last).await.is_err());
    tokio::time::advance(Duration::from_secs(9)).await;
    scene.house.clock.advance(Duration::from_secs(9));
    scene.house.faults.break_next(Fault::Fails);
    scene.house.sessions.mend(YOUNG).await;
    assert_eq!(scene.house.sessions.behind(), 1, "the store still fails");
    scene.house.sessions.mend(YOUNG).await;
    assert_eq!(scene.house.sessions.behind(), 0);
    let after = scene.house.sessions.inspect(&scene.opened.reference).await;
    let (before, after) = (before.unwrap(), after.unwrap());
    assert_eq!((before.records, after.records), (1, 3));
    assert_eq!(before.expires_us, after.expires_us, "a fault is no use");
    scene.exchange().await;
    scene.whole();
}

/// A session that was never stored is forgotten in the end.
#[tokio::test(start_paused = true)]
async fn a_session_without_a_row_is_forgotten() {
    let scene = Scene::set().await;
    let mut turn = scene
        .house
        .sessions
        .turn(&scene.caller, None)
        .await
        .unwrap();
    scene.house.faults.break_next(Fault::Fails);
    assert!(turn.admit(made(&turn, ADMITTED), || ()).await.is_err());
    let (last, reference) = (made(&turn, SETTLED), turn.reference().to_owned());
    assert!(turn.settle(last).await.is_err());
    chain_is_whole(&scene.house, &reference);
    scene.house.sessions.mend(YOUNG).await;
    assert_eq!(scene.house.sessions.behind(), 1);
    tokio::time::advance(Duration::from_secs(300)).await;
    scene.house.sessions.mend(YOUNG).await;
    assert_eq!(scene.house.sessions.behind(), 0);
}

#[tokio::test]
async fn a_turn_that_was_overtaken_settles_outside_of_the_chain() {
    let scene = Scene::set().await;
    let mut turn = scene.turn().await.unwrap();
    assert!(turn.admit(made(&turn, ADMITTED), || ()).await.is_ok());
    scene.house.faults.break_next(Fault::Overtaken);
    assert!(matches!(turn.renew().await, Err(SessionError::Conflict)));
    assert_eq!(turn.place(), None);
    let outside = Event::from_bytes(br#"{"kind":"exchange.settled","rid":"r_1"}"#.to_vec());
    let settled = turn.settle(outside.unwrap()).await;
    assert!(matches!(settled, Err(SessionError::Conflict)));
    let last = scene.house.pages.events.lock().last().cloned().unwrap();
    assert!(last.contains("r_1"), "{last}");
    scene.exchange().await;
    scene.whole();
}

#[tokio::test]
async fn what_the_log_refuses_leaves_its_number_free() {
    let scene = Scene::set().await;
    for released in [true, false] {
        for _ in 0..3 {
            let mut turn = scene.turn().await.unwrap();
            scene.house.pages.break_next(refused());
            let unadmitted = turn.admit(made(&turn, ADMITTED), || ()).await.err();
            let Unadmitted { error, fate, .. } = unadmitted.unwrap();
            assert!(matches!(error, SessionError::Log));
            assert!(!turn.learn(fate).await);
            if released {
                turn.release().await.unwrap();
            }
        }
        let before = scene.kinds().len();
        scene.exchange().await;
        let kinds = scene.kinds()[before..].to_vec();
        if released {
            assert_eq!(kinds, ["admitted", "settled"]);
            scene.whole();
        } else {
            // A turn that ended without a word leaves a gap, which is declared.
            assert_eq!(kinds, ["audit.gap", "admitted", "settled"]);
        }
    }
}

#[tokio::test]
async fn a_late_admission_is_settled_if_the_log_took_it() {
    for taken in [true, false] {
        let scene = Scene::set().await;
        let mut turn = scene.turn().await.unwrap();
        let (word, unconfirmed) = late();
        scene.house.pages.break_next(unconfirmed);
        let admission = made(&turn, ADMITTED);
        let unadmitted = turn.admit(admission.clone(), || ()).await.err();
        let fate = unadmitted.unwrap().fate;
        // Until it is known, nobody else has the session.
        assert!(matches!(scene.turn().await, Err(SessionError::Busy)));
        if taken {
            scene.house.pages.append(admission).await.unwrap();
            word.send(Ok(())).unwrap();
        } else {
            let never = BookError::Append(AppendError::Refused);
            word.send(Err(never)).unwrap();
        }
        assert_eq!(turn.learn(fate).await, taken);
        if taken {
            let last = made(&turn, SETTLED);
            turn.settle(last).await.unwrap();
        } else {
            turn.release().await.unwrap();
        }
        scene.exchange().await;
        let count = if taken { 2 } else { 1 };
        assert_eq!(scene.kinds()[1..], ["admitted", "settled"].repeat(count));
        scene.whole();
    }
}

#[tokio::test]
async fn an_outcome_that_the_log_refuses_is_owed_and_fits_when_it_comes() {
    let scene = Scene::set().await;
    let mut turn = scene.turn().await.unwrap();
    assert!(turn.admit(made(&turn, ADMITTED), || ()).await.is_ok());
    let last = made(&turn, SETTLED);
    scene.house.pages.break_next(refused());
    assert!(matches!(turn.settle(last).await, Err(SessionError::Log)));
    // The next turn does not wait for it: it declares the gap.
    let turn = scene.turn().await.unwrap();
    scene.house.pages.pay();
    assert_eq!(scene.kinds()[1..], ["admitted", "audit.gap", "settled"]);
    let last = made(&turn, SETTLED);
    turn.settle(last).await.unwrap();
    // In the order of their numbers the records are one chain.
    let mut records = scene.house.pages.of(&scene.opened.reference);
    records.sort_by_key(|record| record["sseq"].as_u64());
    let numbers: Vec<_> = records
        .iter()
        .map(|record| record["sseq"].clone())
        .collect();
    assert_eq!(numbers, [0, 1, 2, 3, 4]);
    let mut events = scene.house.pages.events.lock();
    events.sort_by_key(|event| {
        serde_json::from_str::<serde_json::Value>(event).unwrap()["sseq"].as_u64()
    });
    drop(events);
    scene.whole();
}
