//! An erasure is final when no backup can bring the key back.

use super::*;
use crate::registry::{Expected, Put, Table};

const DAY: Duration = Duration::from_secs(86_400);

async fn erased(house: &House) -> String {
    let ann = caller("ann", "t");
    let reference = house.sessions.open(&ann).await.unwrap().reference;
    let ended = house.sessions.erase(&reference, BY);
    ended.await.unwrap();
    reference
}

#[tokio::test]
async fn it_is_said_once_when_the_window_is_over() {
    let dir = tempfile::tempdir().unwrap();
    let house = House::open(dir.path());
    let reference = erased(&house).await;
    house.clock.advance(DAY * 35 - Duration::from_micros(1));
    house.sessions.conclude_erasures().await.unwrap();
    assert!(house.pages.outside("session.erase.final").is_empty());

    house.clock.advance(Duration::from_micros(1));
    // A log that takes nothing is told later.
    house.pages.refuse(true);
    house.sessions.conclude_erasures().await.unwrap();
    house.pages.refuse(false);
    house.clock.advance(Duration::from_secs(599));
    house.sessions.conclude_erasures().await.unwrap();
    assert!(house.pages.outside("session.erase.final").is_empty());
    house.clock.advance(Duration::from_secs(1));
    for _ in 0..2 {
        house.sessions.conclude_erasures().await.unwrap();
        let said = house.pages.outside("session.erase.final");
        assert_eq!(said.len(), 1);
        assert_eq!(said[0]["outside"]["session"], reference.as_str());
        assert_eq!(said[0]["tenant"], "t");
        assert_eq!(said[0]["since_us"], NOW_US);
        assert_eq!(said[0]["recovery_us"], 35 * 86_400_000_000_i64);
    }
}

#[tokio::test]
async fn without_backups_the_next_sweep_says_it() {
    let dir = tempfile::tempdir().unwrap();
    let limits = Limits {
        recovery: Duration::ZERO,
        ..limits()
    };
    let house = House::open_with(dir.path(), limits, Arc::default(), NOW_US);
    erased(&house).await;
    house.sessions.conclude_erasures().await.unwrap();
    assert_eq!(house.pages.outside("session.erase.final").len(), 1);
}

/// Between what is remembered and the destruction of the key a process may die.
#[tokio::test]
async fn what_a_crash_left_undone_a_sweep_does() {
    let dir = tempfile::tempdir().unwrap();
    let house = House::open(dir.path());
    let registry = house.sessions.shared.registry.clone();
    let keys = async |reference: &str| {
        let rows = registry.list(Table::SessionKeys, reference).await;
        rows.unwrap()
    };
    let ann = caller("ann", "t");
    let reference = house.sessions.open(&ann).await.unwrap().reference;
    let [(name, key)] = <[_; 1]>::try_from(keys(&reference).await).unwrap();
    let ended = house.sessions.erase(&reference, BY);
    ended.await.unwrap();
    let put = Put::new(Expected::Absent, key, Durable::Now);
    assert!(
        registry
            .put_if(Table::SessionKeys, &name, put)
            .await
            .unwrap()
    );

    house.clock.advance(DAY * 40);
    house.sessions.conclude_erasures().await.unwrap();
    assert!(keys(&reference).await.is_empty());
    // It could have been copied meanwhile.
    assert!(house.pages.outside("session.erase.final").is_empty());
    house.clock.advance(DAY * 35);
    house.sessions.conclude_erasures().await.unwrap();
    let said = house.pages.outside("session.erase.final");
    let since_us = NOW_US + 40 * 86_400_000_000;
    assert_eq!(
        (said.len(), said[0]["since_us"].as_i64()),
        (1, Some(since_us))
    );
}

/// An erasure that was asked for is gone on with, wherever its process died: before the log had it, or before
/// the key was destroyed.
#[tokio::test]
async fn what_was_asked_for_and_not_done_is_done() {
    for ended in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let limits = Limits {
            keep_keys: Some(DAY * 400),
            ..limits()
        };
        let house = House::open_with(dir.path(), limits, Arc::default(), NOW_US);
        let ann = caller("ann", "t");
        let reference = house.sessions.open(&ann).await.unwrap().reference;
        if ended {
            house.sessions.close(&ann, &reference).await.unwrap();
        }
        house.pages.refuse(true);
        let asked = house.sessions.erase(&reference, BY);
        assert!(matches!(asked.await, Err(SessionError::Log)));
        house.pages.refuse(false);
        let kept = async || house.sessions.key_of(&reference).await.unwrap();
        house.clock.advance(Duration::from_secs(599));
        house.sessions.conclude_erasures().await.unwrap();
        assert!(kept().await.is_some());
        house.clock.advance(Duration::from_secs(1));
        house.sessions.conclude_erasures().await.unwrap();
        assert!(kept().await.is_none());
        let in_chain = house.pages.kinds(&reference);
        let outside = house.pages.outside("session.erase.request");
        assert_eq!(outside.len(), usize::from(ended));
        assert_eq!(
            in_chain.contains(&"session.erase.request".to_owned()),
            !ended
        );
        house.clock.advance(DAY * 35);
        house.sessions.conclude_erasures().await.unwrap();
        assert_eq!(house.pages.outside("session.erase.final").len(), 1);
    }
}

/// Who was told to try again is not surprised later, nor who was at the same time.
#[tokio::test]
async fn an_erasure_that_came_to_nothing_is_forgotten() {
    let (_dir, house, ann, opened) = scene().await;
    let turn = house.sessions.turn(&ann, Some(opened.id.expose())).await;
    let busy = house.sessions.erase(&opened.reference, BY);
    let again = house.sessions.erase(&opened.reference, BY);
    let (busy, again) = tokio::join!(busy, again);
    for busy in [busy, again] {
        assert!(matches!(busy, Err(SessionError::Busy)));
    }
    drop(turn);
    let registry = &house.sessions.shared.registry;
    let noted = registry.list(Table::Erasures, "").await.unwrap();
    assert!(noted.is_empty());
}

/// A process alone with its store goes on with what the one before it left at once.
#[tokio::test]
async fn the_next_start_does_what_was_left_undone() {
    let (dir, house, _, opened) = scene().await;
    house.pages.refuse(true);
    let asked = house.sessions.erase(&opened.reference, BY).await;
    assert!(matches!(asked, Err(SessionError::Log)));
    let copy = house.crash(dir.path());
    let next = House::open_with(copy.path(), limits(), Arc::default(), NOW_US + 1);
    next.sessions.conclude_erasures().await.unwrap();
    let left = next.sessions.key_of(&opened.reference).await.unwrap();
    assert!(left.is_none());
    let kinds = next.pages.kinds(&opened.reference);
    assert_eq!(kinds, ["session.erase.request"]);
}
