//! A store that has lost something is found out by whoever remembers it; what the log refused is nothing
//! lost.

use gatehouse_ledger::AppendError;

use super::{
    replicas::{ADMITTED, Replicas, SETTLED, digest_of, offer, unchained},
    *,
};
use crate::session::store::faulty::Fault;

/// A store that lost what it had acknowledged: whoever remembers more, or finds more in its log,
/// sets the session aside, and no replica goes on with it.
#[tokio::test]
async fn a_store_that_lost_something_is_found_out() {
    for by_log in [false, true] {
        let all = Replicas::new().await;
        let store = all.one.sessions.shared.store.clone();
        let name = store.list("", None, 9).await.unwrap().names.remove(0);
        let old = store.read(&name).await.unwrap().unwrap();
        let mut turn = all.turn(&all.one).await;
        let admission = offer(&turn, ADMITTED);
        assert!(turn.admit(admission, || ()).await.is_ok());
        let last = offer(&turn, SETTLED);
        turn.settle(last).await.unwrap();
        all.one.put_back(&name, old).await;
        if by_log {
            let known = [Logged {
                sid: all.opened.reference.clone(),
                sseq: 2,
                digest: digest_of(&all.one, &all.opened.reference, 2),
            }];
            let again = all.one.restarted(all.dir.path(), all.one.pages.clone());
            assert_eq!(again.sessions.replay(&known).await.unwrap(), 0);
        } else {
            let refused = all.try_turn(&all.one).await;
            assert!(matches!(refused, Err(SessionError::RolledBack(_))));
        }
        // Also by one that could not know.
        for house in [&all.two, &all.one] {
            let refused = all.try_turn(house).await;
            assert!(matches!(refused, Err(SessionError::RolledBack(_))));
        }
        let bob = caller("bob", "t");
        let id = all.opened.id.expose();
        assert!(matches!(
            absence(all.two.sessions.turn(&bob, Some(id)).await),
            Absence::Foreign { .. }
        ));
        assert_eq!(unchained(&all.one), ["session.rolled_back"]);
        assert!(unchained(&all.two).is_empty());
        // It can still be ended, and nothing is said of that in a chain that cannot go on.
        let reference = &all.opened.reference;
        all.two.sessions.erase(reference, BY).await.unwrap();
        all.is_dense(&[&all.one, &all.two], 3);
        assert_eq!(absence(all.try_turn(&all.one).await), Absence::Erased);
    }
}

/// The same, noticed only once others have written as many versions as were lost, or more: the chain
/// they go on with is not the one that was seen.
#[tokio::test]
async fn a_store_that_lost_something_is_found_out_later_too() {
    for (turns, by_turn) in [(1, true), (1, false), (2, true), (9, false), (9, true)] {
        let all = Replicas::new().await;
        let store = all.one.sessions.shared.store.clone();
        let name = store.list("", None, 9).await.unwrap().names.remove(0);
        let old = store.read(&name).await.unwrap().unwrap();
        exchange(&all, &all.one).await;
        let seen = store.read(&name).await.unwrap().unwrap().version;
        all.one.put_back(&name, old).await;
        // This one has never seen anything of it.
        for _ in 0..turns {
            exchange(&all, &all.two).await;
        }
        let now = store.read(&name).await.unwrap().unwrap().version;
        assert!(now >= seen, "{now} {seen}");
        if by_turn {
            let refused = all.try_turn(&all.one).await;
            assert!(matches!(refused, Err(SessionError::RolledBack(_))));
        } else {
            let reference = all.opened.reference.as_str();
            let refused = all.one.sessions.state(&all.ann, reference, &()).await;
            assert!(matches!(refused, Err(SessionError::RolledBack(_))));
        }
        let refused = all.try_turn(&all.two).await;
        assert!(matches!(refused, Err(SessionError::RolledBack(_))));
        assert_eq!(unchained(&all.one), ["session.rolled_back"]);
    }
}

/// An exchange whose events no other has.
async fn exchange(all: &Replicas, house: &House) {
    let own = |turn: &Turn, kind: &str| {
        let event = event(turn, kind);
        let mut event: serde_json::Map<_, _> = serde_json::from_slice(&event).unwrap();
        let rid = gatehouse_envelope::random::name("r_").unwrap();
        event.insert("rid".to_owned(), rid.into());
        let event = serde_json::to_vec(&event).unwrap();
        Offer::from(Event::from_bytes(event).unwrap())
    };
    let mut turn = all.turn(house).await;
    let admission = own(&turn, ADMITTED);
    assert!(turn.admit(admission, || ()).await.is_ok());
    let last = own(&turn, SETTLED);
    turn.settle(last).await.unwrap();
}

/// An event that the store was told of and the log refused is taken back, and its number goes to
/// another: nothing was lost, whatever the store answered, and whoever has looked meanwhile.
#[tokio::test]
async fn what_the_log_refused_is_nothing_lost() {
    for fault in [None, Some(Fault::Fails), Some(Fault::FailsButPersists)] {
        let all = Replicas::new().await;
        exchange(&all, &all.two).await;
        let mut turn = all.turn(&all.one).await;
        all.one.pages.break_next(Unconfirmed {
            error: BookError::Append(AppendError::Refused),
            later: None,
        });
        let admission = offer(&turn, ADMITTED);
        let refused = turn.admit(admission, || ()).await.err().unwrap();
        assert!(matches!(refused.fate, Fate::Absent));
        if let Some(fault) = fault {
            all.one.faults.break_next(fault);
        }
        assert_eq!(turn.release().await.is_ok(), fault.is_none());
        let reference = all.opened.reference.as_str();
        for house in [&all.one, &all.two, &all.one] {
            let read = house.sessions.state(&all.ann, reference, &()).await;
            assert!(read.is_ok(), "{fault:?}");
            exchange(&all, house).await;
        }
        assert!(
            unchained(&all.one)
                .iter()
                .all(|kind| kind != "session.rolled_back")
        );
    }
}
