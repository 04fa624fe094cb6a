//! What crashes and failures leave of what was begun about legal holds, and who goes on with it.

use super::hold::{DAY, WHY, house_that_keeps, is_on_hold, refused};
use super::replicas::Replicas;
use super::*;
use crate::{
    registry::Table,
    session::{
        listed::{Listed, Step},
        turn::Location,
    },
};

impl House {
    /// What a process leaves that dies when it has listed what it was about to do about a session's hold.
    async fn left(&self, reference: &str, step: Step) {
        let (location, _) = self.sessions.key_of(reference).await.unwrap().unwrap();
        let hold = self.sessions.hold_on(&location).await.unwrap();
        let hold = match step {
            Step::Hold => Hold {
                session: reference.to_owned(),
                tenant: "t".to_owned(),
                since_us: self.clock.utc_us(),
                reason: WHY.to_owned(),
            },
            Step::Release => hold.unwrap(),
        };
        let owing = self.sessions.owing(&hold, step, BY);
        self.sessions.list_hold(&location, &owing).await.unwrap();
    }

    /// What is listed.
    async fn all_listed(&self) -> Vec<(Location, Listed)> {
        let rows = self.sessions.shared.registry.list(Table::Holds, "");
        let rows = rows.await.unwrap().into_iter();
        let parse = |(name, row): (String, Vec<u8>)| {
            Location::parse(&name).zip(Listed::parse(&row)).unwrap()
        };
        rows.map(parse).collect()
    }

    /// Since when the sessions on hold are.
    async fn held_since(&self) -> Vec<i64> {
        let holds = self.sessions.holds().await.unwrap().into_iter();
        holds.map(|hold| hold.since_us).collect()
    }

    async fn conclude_a_day_later(&self) {
        self.clock.advance(DAY);
        self.sessions.conclude_holds().await.unwrap();
    }

    fn said(&self, kind: &str) -> usize {
        self.pages.outside(kind).len()
    }
}

/// What a process that died left: the hold is in the key's row, the log does not have it.
#[tokio::test]
async fn a_hold_that_the_log_does_not_have_is_said_after_a_crash() {
    let (dir, house, _, opened) = scene().await;
    let reference = opened.reference;
    house.pages.refuse(true);
    assert!(matches!(
        house.hold(&reference).await,
        Err(SessionError::Log)
    ));
    house.pages.refuse(false);
    // Its own process may be at it still.
    house.clock.advance(Duration::from_secs(599));
    house.sessions.conclude_holds().await.unwrap();
    assert!(house.pages.outside("session.hold").is_empty());

    let copy = house.crash(dir.path());
    let next = House::open_with(copy.path(), limits(), Arc::default(), NOW_US + 1);
    for _ in 0..2 {
        next.sessions.conclude_holds().await.unwrap();
        let said = next.pages.outside("session.hold");
        assert_eq!(said.len(), 1);
        assert_eq!(said[0]["outside"]["session"], reference.as_str());
        let hold = &said[0]["hold"];
        assert_eq!((&hold["by"], &hold["reason"]), (&BY.into(), &WHY.into()));
        assert_eq!(hold["since_us"], NOW_US);
    }
    assert!(is_on_hold(next.erase(&reference).await));
    // One that goes on does it as well, after a while.
    house.clock.advance(Duration::from_secs(1));
    house.sessions.conclude_holds().await.unwrap();
    assert_eq!(house.pages.outside("session.hold").len(), 1);
}

/// It is said to end, and the process died before it did; or before that was said.
#[tokio::test]
async fn a_release_that_was_begun_is_gone_on_with_after_a_crash() {
    let (dir, house, _, opened) = scene().await;
    let reference = opened.reference;
    house.hold(&reference).await.unwrap();
    house.left(&reference, Step::Release).await;
    let copy = house.crash(dir.path());
    let next = House::open_with(copy.path(), limits(), Arc::default(), NOW_US + 1);
    for _ in 0..2 {
        next.sessions.conclude_holds().await.unwrap();
        assert_eq!(next.pages.outside("session.release").len(), 1);
        assert!(next.sessions.holds().await.unwrap().is_empty());
    }
    assert!(next.all_listed().await.is_empty());
    next.erase(&reference).await.unwrap();
}

/// Who is told that it is still on hold finds it so later, and of what the log never had it has the begin as well as
/// the end.
#[tokio::test]
async fn a_release_that_was_refused_is_forgotten_and_none_stands_without_its_hold() {
    let (_dir, house, reference, _) = house_that_keeps(None).await;
    house.pages.refuse(true);
    assert!(house.hold(&reference).await.is_err());
    house.pages.refuse(false);
    house.sessions.release(&reference, BY).await.unwrap();
    for kind in ["session.hold", "session.release"] {
        assert_eq!(house.pages.outside(kind).len(), 1, "{kind}");
    }
    house.hold(&reference).await.unwrap();
    house.pages.break_next(refused());
    let released = house.sessions.release(&reference, BY).await;
    assert!(matches!(released, Err(SessionError::Log)));
    house.conclude_a_day_later().await;
    assert!(is_on_hold(house.erase(&reference).await));
}

/// A hold that was begun, and never came into the key's row, is not said.
#[tokio::test]
async fn of_a_hold_that_was_only_begun_nothing_is_said() {
    let (_dir, house, reference, _) = house_that_keeps(None).await;
    house.left(&reference, Step::Hold).await;
    house.conclude_a_day_later().await;
    assert_eq!(house.said("session.hold"), 0);
    assert!(house.all_listed().await.is_empty());
}

/// Nothing but its row in the list says so, and the tenant's earlier key is needed for it.
#[tokio::test]
async fn a_hold_that_another_could_not_replace_is_still_found() {
    let limits = Limits {
        keep_keys: Some(DAY),
        ..limits()
    };
    for is_crash in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let house = House::open_with(dir.path(), limits, Arc::default(), NOW_US);
        let ann = caller("ann", "t");
        let reference = house.sessions.open(&ann).await.unwrap().reference;
        house.hold(&reference).await.unwrap();
        house.clock.advance(Duration::from_secs(1));
        match is_crash {
            // Put anew, and it died before that was in the key's row.
            true => house.left(&reference, Step::Hold).await,
            false => {
                let other = house.sessions.hold(&reference, "case:2", BY).await;
                assert!(is_on_hold(other));
            }
        }
        house.sessions.close(&ann, &reference).await.unwrap();
        for _ in 0..2 {
            house.conclude_a_day_later().await;
            assert_eq!(house.held_since().await, [NOW_US], "{is_crash}");
        }
        // The log may not have the one that is on.
        assert_eq!(house.said("session.hold"), if is_crash { 2 } else { 1 });
        let keyring = &house.sessions.shared.keyring;
        assert!(keyring.rotate("t").await.unwrap().made);
        for _ in 0..24 * 30 {
            house.clock.advance(Duration::from_secs(3600));
            house.sessions.end_outlived_keys("t").await.unwrap();
        }
        assert!(house.opens(&reference).await, "{is_crash}");
        house.sessions.release(&reference, BY).await.unwrap();
        assert!(house.all_listed().await.is_empty());
    }
}

/// The hold that it was on took the end of its key; the one that was begun next came to nothing.
#[tokio::test]
async fn a_key_whose_hold_a_crash_ended_has_an_end_again() {
    let (_dir, house, reference, ann) = house_that_keeps(Some(DAY)).await;
    house.hold(&reference).await.unwrap();
    house.sessions.close(&ann, &reference).await.unwrap();
    let (location, stored) = house.sessions.key_of(&reference).await.unwrap().unwrap();
    let row = key_row::KeyRow {
        hold: None,
        ..key_row::KeyRow::parse(&stored)
    };
    let swapped = house.sessions.swap_key(&location, &stored, row.encode());
    assert!(swapped.await.unwrap());
    house.left(&reference, Step::Hold).await;
    house.conclude_a_day_later().await;
    house.clock.advance(DAY * 29);
    assert!(house.opens(&reference).await);
    house.clock.advance(DAY);
    assert!(!house.opens(&reference).await);
}

/// The log may have had it before the crash, and does not take it now.
#[tokio::test]
async fn a_release_is_gone_on_with_until_the_log_takes_it() {
    let (_dir, house, reference, _) = house_that_keeps(None).await;
    house.hold(&reference).await.unwrap();
    house.left(&reference, Step::Release).await;
    house.pages.refuse(true);
    house.conclude_a_day_later().await;
    house.pages.refuse(false);
    assert_eq!(house.held_since().await, [NOW_US]);
    // Nor does one that asks for it as well, and is told that it is still on hold, undo what was begun before.
    house.pages.break_next(refused());
    let released = house.sessions.release(&reference, BY).await;
    assert!(matches!(released, Err(SessionError::Log)));
    house.conclude_a_day_later().await;
    assert!(house.held_since().await.is_empty());
    assert_eq!(house.said("session.release"), 1);
    assert!(house.all_listed().await.is_empty());
}

/// Who asked was told that nobody knows.
#[tokio::test]
async fn a_release_that_the_log_may_have_is_gone_on_with() {
    let (_dir, house, reference, _) = house_that_keeps(None).await;
    house.hold(&reference).await.unwrap();
    house.pages.break_next(BookError::Late.into());
    let released = house.sessions.release(&reference, BY).await;
    assert!(matches!(released, Err(SessionError::Unconfirmed)));
    assert_eq!(house.held_since().await, [NOW_US]);
    house.conclude_a_day_later().await;
    assert!(house.held_since().await.is_empty());
    assert_eq!(house.said("session.release"), 1);
}

#[tokio::test]
async fn of_replicas_that_find_the_same_left_one_goes_on_with_it() {
    for (step, kind) in [
        (Step::Hold, "session.hold"),
        (Step::Release, "session.release"),
    ] {
        let all = Replicas::new().await;
        let reference = &all.opened.reference;
        // Nobody was told that the log has it.
        all.one.pages.break_next(BookError::Late.into());
        assert!(all.one.hold(reference).await.is_err());
        if step == Step::Release {
            all.one.left(reference, step).await;
        }
        all.one.clock.advance(DAY);
        let found = [all.one.all_listed().await, all.two.all_listed().await];
        for (house, mut found) in [&all.one, &all.two].into_iter().zip(found) {
            let (location, listed) = found.pop().unwrap();
            let concluded = house.sessions.conclude_hold(&location, &listed);
            concluded.await.unwrap();
        }
        assert_eq!((all.one.said(kind), all.two.said(kind)), (1, 0), "{kind}");
    }
}
