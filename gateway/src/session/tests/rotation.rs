//! Keys that change under sessions that go on.

use tokio::time::Instant;

use super::*;
use crate::{
    registry::Table,
    session::{RewrappedSessions, key_row::KeyRow, turn::Location},
};

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(600)
}

async fn rotate(house: &House) {
    let keyring = &house.sessions.shared.keyring;
    assert!(keyring.rotate("t").await.unwrap().made);
}

async fn name(house: &House, reference: &str) -> String {
    let store = &house.sessions.shared.store;
    let page = store.list(reference, None, 1).await.unwrap();
    page.names[0].clone()
}

async fn row(house: &House, name: &str) -> Vec<u8> {
    let registry = &house.sessions.shared.registry;
    let row = registry.get(Table::SessionKeys, name).await.unwrap();
    row.unwrap()
}

async fn exchange(house: &House, caller: &Caller, id: &str) -> Result<(), SessionError> {
    let mut turn = house.sessions.turn(caller, Some(id)).await?;
    record(house, &mut turn, "exchange.admitted").await?;
    finish(house, turn, "exchange.settled").await;
    Ok(())
}

/// Looks after a tenant's keys every hour, for so many days.
async fn days(house: &House, days: u32) {
    for _ in 0..24 * days {
        house.clock.advance(Duration::from_secs(3600));
        house.sessions.end_outlived_keys("t").await.unwrap();
    }
}

async fn epochs(house: &House) -> Vec<String> {
    let registry = &house.sessions.shared.registry;
    let rows = registry.list(Table::TenantKeys, "t").await.unwrap();
    rows.into_iter().map(|(name, _)| name).collect()
}

fn destroyed(house: &House) -> Vec<serde_json::Value> {
    let events = house.pages.events.lock();
    let events = events.iter().map(|it| serde_json::from_str(it).unwrap());
    let is_one = |it: &serde_json::Value| it["kind"] == "keys.destroyed";
    events.filter(is_one).collect()
}

/// Not while a session is found by it, though that has ended long ago and nobody swept.
#[tokio::test]
async fn an_earlier_key_is_destroyed_once_no_session_needs_it() {
    let (_dir, house, ann, opened) = scene().await;
    days(&house, 1).await;
    rotate(&house).await;
    days(&house, 9).await;
    assert_eq!(epochs(&house).await.len(), 2);
    assert!(destroyed(&house).is_empty());
    let reference = opened.reference.as_str();
    house.sessions.sweep().await.unwrap();
    assert_eq!(
        house.pages.kinds(reference),
        ["session.open", "session.expire"]
    );
    // A log that takes no records keeps the key.
    days(&house, 1).await;
    house.pages.refuse(true);
    for _ in 0..96 {
        house.clock.advance(Duration::from_secs(3600));
        let _refused = house.sessions.end_outlived_keys("t").await;
    }
    assert!(house.sessions.end_outlived_keys("t").await.is_err());
    assert_eq!(epochs(&house).await.len(), 2);
    house.pages.refuse(false);
    house.sessions.end_outlived_keys("t").await.unwrap();
    assert_eq!(epochs(&house).await, ["t/0000000002"]);
    let told = destroyed(&house);
    assert_eq!(told.len(), 1);
    assert_eq!(
        (&told[0]["tenant"], &told[0]["epoch"]),
        (&"t".into(), &1.into())
    );
    days(&house, 5).await;
    assert_eq!(destroyed(&house).len(), 1);
    // What comes now does not need it.
    let next = house.sessions.open(&ann).await.unwrap();
    exchange(&house, &ann, next.id.expose()).await.unwrap();
    let gone = house.sessions.turn(&ann, Some(opened.id.expose())).await;
    assert_eq!(absence(gone), Absence::Unknown);
}

/// A key that is kept for payloads, behind its session's end, is one of the current key from then on.
#[tokio::test]
async fn a_kept_key_outlives_the_key_that_it_was_made_with() {
    let dir = tempfile::tempdir().unwrap();
    let keep = Duration::from_secs(400 * 86_400);
    let limits = Limits {
        keep_keys: Some(keep),
        ..limits()
    };
    let house = House::open_with(dir.path(), limits, Arc::default(), NOW_US);
    let ann = caller("ann", "t");
    let before = house.sessions.open(&ann).await.unwrap();
    house.sessions.close(&ann, &before.reference).await.unwrap();
    let opened = house.sessions.open(&ann).await.unwrap();
    days(&house, 1).await;
    rotate(&house).await;
    let name = name(&house, &opened.reference).await;
    house.sessions.sweep().await.unwrap();
    assert_eq!(KeyRow::parse(&row(&house, &name).await).epoch, Some(2));
    // The one that was kept already holds the earlier key for as long as it is kept itself.
    days(&house, 398).await;
    let grant = house.sessions.payload_grant(&before.reference).await;
    assert!(grant.unwrap().is_some());
    days(&house, 12).await;
    assert_eq!(epochs(&house).await, ["t/0000000002"]);
    assert_eq!(destroyed(&house).len(), 1);
}

#[tokio::test]
async fn sessions_go_on_under_a_new_key_of_their_tenant() {
    let (_dir, house, ann, opened) = scene().await;
    let (id, reference) = (opened.id.expose(), opened.reference.as_str());
    exchange(&house, &ann, id).await.unwrap();
    let name = name(&house, reference).await;
    let before = row(&house, &name).await;

    // In the middle of a turn.
    let mut turn = house.sessions.turn(&ann, Some(id)).await.unwrap();
    record(&house, &mut turn, "exchange.admitted")
        .await
        .unwrap();
    rotate(&house).await;
    let newer = house.sessions.open(&ann).await.unwrap();
    let done = house.sessions.rewrap(None, soon()).await.unwrap();
    assert_eq!((done.done, done.failed), (1, 0));
    assert_eq!(done.next, None);
    finish(&house, turn, "exchange.settled").await;

    let after = row(&house, &name).await;
    assert_ne!(before, after);
    let parsed = KeyRow::parse(&after);
    assert_eq!((parsed.aside, parsed.epoch), (false, Some(2)));
    exchange(&house, &ann, id).await.unwrap();
    exchange(&house, &ann, newer.id.expose()).await.unwrap();
    chain_is_whole(&house, reference);
    chain_is_whole(&house, &newer.reference);
    // By reference, by list, and nobody else's.
    assert_eq!(house.sessions.list(Some("t")).await.unwrap().len(), 2);
    house.sessions.show(&ann, reference).await.unwrap();
    let bob = caller("bob", "t");
    let foreign = house.sessions.turn(&bob, Some(id)).await;
    assert!(matches!(absence(foreign), Absence::Foreign { .. }));
    let nothing_left = house.sessions.rewrap(None, soon()).await.unwrap();
    assert_eq!(nothing_left, RewrappedSessions::default());
}

#[tokio::test]
async fn a_key_that_is_wrapped_anew_is_destroyed_like_any_other() {
    let (_dir, house, ann, opened) = scene().await;
    let (id, reference) = (opened.id.expose(), opened.reference.as_str());
    exchange(&house, &ann, id).await.unwrap();
    let name = name(&house, reference).await;
    rotate(&house).await;
    house.sessions.rewrap(None, soon()).await.unwrap();
    house.sessions.erase(reference, BY).await.unwrap();
    let registry = &house.sessions.shared.registry;
    let gone = registry.get(Table::SessionKeys, &name).await.unwrap();
    assert!(gone.is_none());
    // Wrapping anew brings nothing back, and what a session was is known under any key.
    house.sessions.rewrap(None, soon()).await.unwrap();
    let gone = registry.get(Table::SessionKeys, &name).await.unwrap();
    assert!(gone.is_none());
    let turn = house.sessions.turn(&ann, Some(id)).await;
    assert_eq!(absence(turn), Absence::Erased);
    let shown = house.sessions.show(&ann, reference).await;
    assert_eq!(absence(shown), Absence::Erased);
    chain_is_whole(&house, reference);
}

#[tokio::test]
async fn a_session_that_is_set_aside_stays_so() {
    let (_dir, house, ann, opened) = scene().await;
    let (id, reference) = (opened.id.expose(), opened.reference.as_str());
    exchange(&house, &ann, id).await.unwrap();
    let name = name(&house, reference).await;
    let location = Location::parse(&name).unwrap();
    house
        .sessions
        .set_aside(&location, None, None)
        .await
        .unwrap();
    rotate(&house).await;
    let done = house.sessions.rewrap(None, soon()).await.unwrap();
    assert_eq!((done.done, done.failed), (1, 0));
    let stored = row(&house, &name).await;
    let parsed = KeyRow::parse(&stored);
    assert_eq!((parsed.aside, parsed.epoch), (true, Some(2)));
    let refused = house.sessions.turn(&ann, Some(id)).await.map(|_| ());
    assert!(matches!(refused, Err(SessionError::RolledBack(_))));
}

#[tokio::test]
async fn many_sessions_are_done_in_several_steps() {
    let (_dir, house, ann, _) = scene().await;
    for _ in 0..300 {
        house.sessions.open(&ann).await.unwrap();
    }
    rotate(&house).await;
    let late = Instant::now();
    let some = house.sessions.rewrap(None, late).await.unwrap();
    assert!(some.done > 0 && some.done < 301 && some.next.is_some());
    let rest = house
        .sessions
        .rewrap(some.next.clone(), soon())
        .await
        .unwrap();
    assert_eq!((some.done + rest.done, rest.next), (301, None));
}
