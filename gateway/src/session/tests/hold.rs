//! Legal holds: what they keep, from what, and until when.

use gatehouse_ledger::AppendError;

use super::*;
use crate::registry::{Expected, Put, Table};

pub(super) const DAY: Duration = Duration::from_secs(86_400);

fn soon() -> tokio::time::Instant {
    tokio::time::Instant::now() + DAY
}

pub(super) const WHY: &str = "case:2026-17";

impl House {
    pub(super) async fn hold(&self, reference: &str) -> Result<(), SessionError> {
        self.sessions.hold(reference, WHY, BY).await
    }

    pub(super) async fn erase(&self, reference: &str) -> Result<(), SessionError> {
        self.sessions.erase(reference, BY).await
    }

    /// Whether what was sealed under its key can still be opened.
    pub(super) async fn opens(&self, reference: &str) -> bool {
        let grant = self.sessions.payload_grant(reference).await;
        grant.unwrap().is_some()
    }
}

pub(super) async fn house_that_keeps(
    keep: Option<Duration>,
) -> (tempfile::TempDir, House, String, Caller) {
    let dir = tempfile::tempdir().unwrap();
    let limits = Limits {
        keep_keys: keep,
        ..limits()
    };
    let house = House::open_with(dir.path(), limits, Arc::default(), NOW_US);
    let ann = caller("ann", "t");
    let reference = house.sessions.open(&ann).await.unwrap().reference;
    (dir, house, reference, ann)
}

/// The log says that it does not have it.
pub(super) fn refused() -> Unconfirmed {
    BookError::Append(AppendError::Refused).into()
}

pub(super) fn is_on_hold(refused: Result<(), SessionError>) -> bool {
    matches!(refused, Err(SessionError::OnHold(hold)) if hold.reason == WHY)
}

#[tokio::test]
async fn an_erasure_is_refused_and_that_is_recorded_until_the_hold_is_released() {
    let (_dir, house, reference, _) = house_that_keeps(None).await;
    house.hold(&reference).await.unwrap();
    house.clock.advance(DAY / 48);
    assert!(is_on_hold(house.erase(&reference).await));
    // It goes on as if nobody had asked, and operators see that it is on hold.
    let shown = house.sessions.inspect(&reference).await.unwrap();
    let hold = shown.hold.map(|hold| (hold.since_us, hold.reason));
    assert_eq!(hold, Some((NOW_US, WHY.to_owned())));
    assert_eq!(house.pages.kinds(&reference), ["session.open"]);
    for kind in ["session.hold", "session.erase.refused"] {
        let said = house.pages.outside(kind);
        assert_eq!(said.len(), 1, "{kind}");
        assert_eq!(said[0]["outside"]["session"], reference.as_str());
        assert_eq!(said[0]["tenant"], "t");
        let hold = &said[0]["hold"];
        assert_eq!((&hold["by"], &hold["reason"]), (&BY.into(), &WHY.into()));
        assert_eq!(hold["since_us"], NOW_US);
    }
    // A log that does not take the record does not make the erasure happen.
    house.pages.refuse(true);
    assert!(matches!(
        house.erase(&reference).await,
        Err(SessionError::Log)
    ));
    house.pages.refuse(false);
    house.pages.break_next(refused());
    assert!(matches!(
        house.sessions.release(&reference, BY).await,
        Err(SessionError::Log)
    ));
    assert!(house.opens(&reference).await);

    house.sessions.release(&reference, BY).await.unwrap();
    assert_eq!(house.pages.outside("session.release").len(), 1);
    assert!(house.sessions.holds().await.unwrap().is_empty());
    house.erase(&reference).await.unwrap();
    assert!(!house.opens(&reference).await);
    let again = house.sessions.release(&reference, BY).await;
    assert!(matches!(again, Err(SessionError::NotOnHold)));
}

#[tokio::test]
async fn a_key_on_hold_outlives_its_session_and_its_own_time() {
    for keep in [None, Some(DAY * 2)] {
        let (_dir, house, reference, ann) = house_that_keeps(keep).await;
        house.hold(&reference).await.unwrap();
        house.sessions.close(&ann, &reference).await.unwrap();
        house.clock.advance(DAY * 900);
        house.sessions.sweep().await.unwrap();
        assert!(house.opens(&reference).await, "{keep:?}");
        assert!(is_on_hold(house.erase(&reference).await));

        // Whatever was left of its time before is not known any more, so it has a month.
        house.sessions.release(&reference, BY).await.unwrap();
        house.clock.advance(DAY * 29);
        assert!(house.opens(&reference).await);
        house.clock.advance(DAY);
        assert!(!house.opens(&reference).await);
    }
}

#[tokio::test]
async fn a_session_that_has_ended_can_be_put_on_hold_while_its_key_is_there() {
    let (_dir, house, reference, ann) = house_that_keeps(Some(DAY)).await;
    house.sessions.close(&ann, &reference).await.unwrap();
    house.clock.advance(DAY / 2);
    house.hold(&reference).await.unwrap();
    house.clock.advance(DAY);
    assert!(house.opens(&reference).await);
    let other = house.sessions.open(&ann).await.unwrap().reference;
    house.sessions.close(&ann, &other).await.unwrap();
    house.clock.advance(DAY);
    let late = house.hold(&other).await;
    assert!(matches!(late, Err(SessionError::NotFound(_))));
    let holds = house.sessions.holds().await.unwrap();
    assert_eq!(holds.len(), 1);
    assert_eq!(
        (holds[0].session.as_str(), holds[0].tenant.as_str()),
        (reference.as_str(), "t")
    );
}

#[tokio::test]
async fn a_hold_can_be_said_again_but_not_for_another_reason() {
    let (_dir, house, reference, _) = house_that_keeps(None).await;
    house.pages.refuse(true);
    assert!(matches!(
        house.hold(&reference).await,
        Err(SessionError::Log)
    ));
    house.pages.refuse(false);
    // It holds all the same.
    assert!(is_on_hold(house.erase(&reference).await));
    house.clock.advance(DAY / 48);
    house.hold(&reference).await.unwrap();
    let anew = NOW_US + 1_800_000_000;
    assert_eq!(
        house.pages.outside("session.hold")[0]["hold"]["since_us"],
        anew
    );
    let other = house.sessions.hold(&reference, "case:9", BY).await;
    assert!(is_on_hold(other));
}

/// A process died before it put the hold: the session is listed as one that may be on hold, and is not.
#[tokio::test]
async fn a_hold_that_was_only_begun_is_none() {
    let (_dir, house, reference, ann) = house_that_keeps(Some(DAY)).await;
    let (location, _) = house.sessions.key_of(&reference).await.unwrap().unwrap();
    let registry = &house.sessions.shared.registry;
    let put = Put::new(Expected::Absent, vec![0; 8], Durable::Now);
    let listed = registry.put_if(Table::Holds, &location.name, put);
    assert!(listed.await.unwrap());
    house.sessions.close(&ann, &reference).await.unwrap();
    assert!(house.sessions.holds().await.unwrap().is_empty());
    house.sessions.rewrap(None, soon()).await.unwrap();
    assert!(matches!(
        house.sessions.release(&reference, BY).await,
        Err(SessionError::NotOnHold)
    ));
    house.clock.advance(DAY);
    assert!(!house.opens(&reference).await);
}

/// An erasure that the log may have comes before a hold.
#[tokio::test]
async fn what_is_being_erased_is_not_put_on_hold() {
    for ended in [false, true] {
        let (_dir, house, reference, ann) = house_that_keeps(Some(DAY * 400)).await;
        if ended {
            house.sessions.close(&ann, &reference).await.unwrap();
        }
        house.pages.refuse(true);
        assert!(matches!(
            house.erase(&reference).await,
            Err(SessionError::Log)
        ));
        house.pages.refuse(false);
        assert!(!house.opens(&reference).await);
        let held = house.hold(&reference).await;
        assert!(matches!(held, Err(SessionError::Erasing)), "{ended}");
        house.clock.advance(Duration::from_secs(600));
        house.sessions.conclude_erasures().await.unwrap();
        let held = house.hold(&reference).await;
        assert!(matches!(held, Err(SessionError::NotFound(_))));
        assert!(house.sessions.holds().await.unwrap().is_empty());
        assert!(house.pages.outside("session.hold").is_empty());
    }
}

/// It was put anew while the release was on its way into the log.
#[tokio::test]
async fn a_release_ends_no_hold_but_the_one_that_it_read() {
    let (_dir, house, reference, _) = house_that_keeps(None).await;
    house.hold(&reference).await.unwrap();
    house.clock.advance(DAY / 48);
    let (again, released) = tokio::join!(
        biased;
        house.hold(&reference),
        house.sessions.release(&reference, BY)
    );
    again.unwrap();
    assert!(released.is_ok() || is_on_hold(house.erase(&reference).await));
}

/// The tenant's key under which it is wrapped would be destroyed before it.
#[tokio::test]
async fn a_key_on_hold_moves_to_the_key_that_follows() {
    let (_dir, house, reference, ann) = house_that_keeps(Some(DAY)).await;
    house.hold(&reference).await.unwrap();
    house.sessions.close(&ann, &reference).await.unwrap();
    house.sessions.end_outlived_keys("t").await.unwrap();
    let keyring = &house.sessions.shared.keyring;
    assert!(keyring.rotate("t").await.unwrap().made);
    for _ in 0..24 * 30 {
        house.clock.advance(Duration::from_secs(3600));
        house.sessions.end_outlived_keys("t").await.unwrap();
    }
    let rows = house.sessions.shared.registry.list(Table::TenantKeys, "t");
    let rows = rows.await.unwrap();
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].0, "t/0000000002");
    assert!(house.opens(&reference).await);
}

/// While it is being erased it is put on hold: whatever comes of it, nobody is told what is not so.
#[tokio::test]
async fn of_a_hold_and_an_erasure_at_the_same_time_one_wins() {
    for _ in 0..20 {
        let (_dir, house, reference, _) = house_that_keeps(Some(DAY)).await;
        let (held, erased) = tokio::join!(house.hold(&reference), house.erase(&reference));
        assert_eq!(held.is_ok(), house.opens(&reference).await);
        assert_eq!(erased.is_ok(), held.is_err());
    }
}
