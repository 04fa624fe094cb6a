//! A store or a log that fails while the process goes on.

use super::*;
use crate::session::store::faulty::Fault;

const LOGGED: &str = "exchange.admitted";

/// Store and log fail together and the log comes back first: until the store knows of the gap,
/// nothing is logged behind it, and no failure in between makes it forgotten.
#[tokio::test]
async fn nothing_is_logged_behind_a_gap_that_the_store_does_not_know() {
    let (_dir, house, ann, opened) = scene().await;
    let id = opened.id.expose().as_str();
    let mut turn = house.sessions.turn(&ann, Some(id)).await.unwrap();
    let lost = event(&turn, LOGGED);
    house.faults.break_next(Fault::Fails);
    turn.record(&lost).await.unwrap_err();
    drop(turn);
    let logged = house.pages.of(&opened.reference).len();
    for _ in 0..2 {
        house.faults.break_next(Fault::Fails);
        assert!(house.sessions.turn(&ann, Some(id)).await.is_err());
        assert_eq!(house.pages.of(&opened.reference).len(), logged);
    }
    let turn = house.sessions.turn(&ann, Some(id)).await.unwrap();
    turn.release().await.unwrap();
    let records = house.pages.of(&opened.reference);
    let gaps: Vec<_> = records
        .iter()
        .filter(|r| r["kind"] == "audit.gap")
        .collect();
    assert_eq!(gaps.len(), 1);
    assert_eq!(
        (&gaps[0]["missing"], &gaps[0]["sseq"]),
        (&1.into(), &2.into())
    );
}

/// The fault table: whether a failed write was persisted or not, the turn ends, the next turn
/// works, the chain has no number twice, and the doubtful event is declared.
#[tokio::test]
async fn a_failed_write_ends_the_turn_and_is_declared() {
    for fault in [Fault::Fails, Fault::FailsButPersists] {
        let (_dir, house, ann, opened) = scene().await;
        let id = opened.id.expose().as_str();
        let mut turn = house.sessions.turn(&ann, Some(id)).await.unwrap();
        let event = event(&turn, LOGGED);
        house
            .pages
            .append(Event::from_bytes(event.clone()).unwrap())
            .await
            .unwrap();
        house.faults.break_next(fault);
        assert!(
            matches!(turn.record(&event).await, Err(SessionError::Store(_))),
            "{fault:?}"
        );
        assert!(
            matches!(turn.release().await, Err(SessionError::Conflict)),
            "{fault:?}"
        );

        let turn = house.sessions.turn(&ann, Some(id)).await.unwrap();
        finish(&house, turn, "exchange.settled").await;
        let kinds = house.pages.kinds(&opened.reference);
        assert_eq!(
            kinds,
            ["session.open", LOGGED, "audit.gap", "exchange.settled"],
            "{fault:?}"
        );
        chain_is_whole(&house, &opened.reference);
    }
}

#[tokio::test]
async fn a_failed_open_leaves_nothing_usable() {
    for fault in [Fault::Fails, Fault::FailsButPersists] {
        let dir = tempfile::tempdir().unwrap();
        let house = House::open(dir.path());
        house.faults.break_next(fault);
        let opened = house.sessions.open(&caller("ann", "t")).await;
        assert!(matches!(opened, Err(SessionError::Store(_))), "{fault:?}");
    }
}

#[tokio::test]
async fn a_session_that_is_there_is_not_opened_again() {
    let dir = tempfile::tempdir().unwrap();
    let house = House::open(dir.path());
    let ann = caller("ann", "t");
    house.faults.break_next(Fault::Collides);
    let opened = house.sessions.open(&ann).await.unwrap();
    let store = &house.sessions.shared.store;
    let page = store.list("", None, 9).await.unwrap();
    assert_eq!(page.names.len(), 2);
    for name in page.names {
        let row = store.read(&name).await.unwrap().unwrap();
        let untouched = row.sealed.as_bytes() == b"somebody's" && row.version == 1;
        assert!(untouched || name.starts_with(&opened.reference));
    }
    let turn = house
        .sessions
        .turn(&ann, Some(opened.id.expose()))
        .await
        .unwrap();
    turn.release().await.unwrap();
}

#[tokio::test]
async fn what_the_log_did_not_take_is_declared() {
    let (_dir, house, ann, opened) = scene().await;
    let id = opened.id.expose().as_str();
    let mut turn = house.sessions.turn(&ann, Some(id)).await.unwrap();
    house.pages.refuse(true);
    let refused = Event::from_bytes(event(&turn, LOGGED)).unwrap();
    let unadmitted = turn.admit(refused, || ()).await.err().unwrap();
    assert!(matches!(unadmitted.error, SessionError::Log));
    turn.release().await.unwrap();
    // While the log refuses, no turn begins, and nothing is forgotten.
    assert!(matches!(
        house.sessions.turn(&ann, Some(id)).await,
        Err(SessionError::Log)
    ));
    assert!(matches!(
        house.sessions.open(&ann).await,
        Err(SessionError::Log)
    ));
    assert!(matches!(
        house.sessions.turn(&ann, None).await,
        Err(SessionError::Log)
    ));
    house.pages.refuse(false);
    house
        .sessions
        .turn(&ann, Some(id))
        .await
        .unwrap()
        .release()
        .await
        .unwrap();
    let missing: Vec<_> = house
        .pages
        .of(&opened.reference)
        .iter()
        .skip(1)
        .map(|e| e["missing"].clone())
        .collect();
    assert!(missing.contains(&1.into()), "{missing:?}");
    let numbers: Vec<u64> = house
        .pages
        .of(&opened.reference)
        .iter()
        .map(|e| e["sseq"].as_u64().unwrap())
        .collect();
    assert!(
        numbers.windows(2).all(|pair| pair[0] < pair[1]),
        "{numbers:?}"
    );
    // Every number is a record or declared missing.
    let last = *numbers.last().unwrap();
    for number in 0..last {
        assert!(
            numbers.contains(&number) || missing.contains(&number.into()),
            "{number}"
        );
    }
}

#[tokio::test]
async fn both_or_a_declared_gap() {
    let (_dir, house, ann, opened) = scene().await;
    let id = opened.id.expose().as_str();
    let made = |turn: &Turn, kind: &str| Event::from_bytes(event(turn, kind)).unwrap();
    let mut turn = house.sessions.turn(&ann, Some(id)).await.unwrap();
    assert!(turn.admit(made(&turn, LOGGED), || ()).await.is_ok());
    let last = made(&turn, "exchange.settled");
    turn.settle(last).await.unwrap();
    chain_is_whole(&house, &opened.reference);

    // The outcome reached the store and not the log.
    let turn = house.sessions.turn(&ann, Some(id)).await.unwrap();
    let lost = made(&turn, "exchange.refused");
    house.pages.refuse(true);
    assert!(matches!(turn.settle(lost).await, Err(SessionError::Log)));
    house.pages.refuse(false);
    house
        .sessions
        .turn(&ann, Some(id))
        .await
        .unwrap()
        .release()
        .await
        .unwrap();
    let gap = house.pages.of(&opened.reference).pop().unwrap();
    assert_eq!(
        (&gap["kind"], &gap["missing"], &gap["sseq"]),
        (&"audit.gap".into(), &3.into(), &4.into())
    );

    // A turn that is dropped after its store took an event does not say whether the log did.
    let mut turn = house.sessions.turn(&ann, Some(id)).await.unwrap();
    let bytes = event(&turn, LOGGED);
    turn.record(&bytes).await.unwrap();
    drop(turn);
    house
        .sessions
        .turn(&ann, Some(id))
        .await
        .unwrap()
        .release()
        .await
        .unwrap();
    let gap = house.pages.of(&opened.reference).pop().unwrap();
    assert_eq!((&gap["missing"], &gap["sseq"]), (&5.into(), &6.into()));
    // One that went on does.
    let mut turn = house.sessions.turn(&ann, Some(id)).await.unwrap();
    record(&house, &mut turn, LOGGED).await.unwrap();
    finish(&house, turn, "exchange.settled").await;
    let turn = house.sessions.turn(&ann, Some(id)).await.unwrap();
    assert_eq!(turn.link().sseq, 9);
}

#[tokio::test]
async fn a_write_that_was_abandoned_is_declared_and_its_number_not_used_again() {
    let (_dir, house, ann, opened) = scene().await;
    let id = opened.id.expose().as_str();
    let mut turn = house.sessions.turn(&ann, Some(id)).await.unwrap();
    let bytes = event(&turn, LOGGED);
    house
        .pages
        .append(Event::from_bytes(bytes.clone()).unwrap())
        .await
        .unwrap();
    {
        let mut recording = Box::pin(turn.record(&bytes));
        let once = std::future::poll_fn(|cx| {
            std::task::Poll::Ready(recording.as_mut().poll(cx).is_pending())
        });
        assert!(once.await, "the write is on its way");
    }
    drop(turn);
    // The abandoned write may still land; then this turn is told so and the next one works.
    let mut turns = 0;
    loop {
        turns += 1;
        assert!(turns < 9);
        let Ok(turn) = house.sessions.turn(&ann, Some(id)).await else {
            continue;
        };
        let last = Event::from_bytes(event(&turn, "exchange.settled")).unwrap();
        if turn.settle(last).await.is_ok() {
            break;
        }
    }
    chain_is_whole(&house, &opened.reference);
    assert!(
        house
            .pages
            .kinds(&opened.reference)
            .contains(&"audit.gap".to_owned())
    );
}

#[tokio::test]
async fn a_late_holder_changes_nothing() {
    let (_dir, house, ann, opened) = scene().await;
    let id = opened.id.expose().as_str();
    let mut late = house.sessions.turn(&ann, Some(id)).await.unwrap();
    // Two processes on one store: the second view has its own line and its own holder.
    let other = House {
        sessions: Sessions {
            shared: Arc::new(Shared {
                store: house.sessions.shared.store.clone(),
                blobs: house.sessions.shared.blobs.clone(),
                index: house.sessions.shared.index.clone(),
                registry: house.sessions.shared.registry.clone(),
                keyring: house.sessions.shared.keyring.clone(),
                journal: house.pages.clone(),
                clock: house.clock.clone(),
                limits: limits(),
                holder: house.sessions.shared.holder ^ 1,
                board: progress::Board::default(),
                chains: Chains::default(),
                queue: Queue::default(),
                owners: Owners::default(),
                outbox: Outbox::default(),
                errands: TaskTracker::new(),
                doubted: Mutex::default(),
                opened_us: NOW_US,
                left: Mutex::default(),
            }),
            gone: CancellationToken::new(),
        },
        database: house.database.clone(),
        faults: house.faults.clone(),
        pages: house.pages.clone(),
        clock: house.clock.clone(),
    };
    assert!(matches!(
        other.sessions.turn(&ann, Some(id)).await,
        Err(SessionError::Busy)
    ));
    house.clock.advance(Duration::from_secs(59));
    late.renew().await.unwrap();
    house.clock.advance(Duration::from_secs(59));
    assert!(matches!(
        other.sessions.turn(&ann, Some(id)).await,
        Err(SessionError::Busy)
    ));
    house.clock.advance(Duration::from_secs(2));
    let mut newer = other.sessions.turn(&ann, Some(id)).await.unwrap();
    newer.state_mut().vault = Zeroizing::new(b"newer".to_vec());
    record(&other, &mut newer, LOGGED).await.unwrap();

    late.state_mut().vault = Zeroizing::new(b"late".to_vec());
    assert!(matches!(late.renew().await, Err(SessionError::Conflict)));
    let event = event(&late, "exchange.settled");
    assert!(matches!(
        late.finish(&event).await,
        Err(SessionError::Conflict)
    ));
    newer.release().await.unwrap();
    let turn = other.sessions.turn(&ann, Some(id)).await.unwrap();
    assert_eq!(turn.vault(), b"newer");
}
