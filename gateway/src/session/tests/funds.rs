//! An exchange whose funds are set aside beside its admission, or are not.

use super::{
    replicas::{ADMITTED, Replicas, SETTLED, offer, unchained},
    *,
};
use crate::session::store::faulty::Fault;

fn funds(first: bool, granted: bool) -> Funds<std::future::Ready<Result<(), SessionError>>> {
    let set_aside = std::future::ready(match granted {
        true => Ok(()),
        false => Err(SessionError::Unfunded),
    });
    Funds { first, set_aside }
}

/// On a store that others share the event is taken back: its number goes to the refusal, and any replica
/// goes on behind that.
#[tokio::test]
async fn without_funds_the_number_goes_to_the_refusal() {
    for fault in [None, Some(Fault::Fails), Some(Fault::FailsButPersists)] {
        let all = Replicas::new().await;
        let mut turn = all.turn(&all.one).await;
        let (admission, none) = (offer(&turn, ADMITTED), funds(true, false));
        let refused = turn.admit_with(admission, none, || panic!("logged")).await;
        let refused = refused.err().unwrap();
        assert!(matches!(refused.error, SessionError::Unfunded));
        assert!(matches!(refused.fate, Fate::Absent) && !refused.noted);
        if let Some(fault) = fault {
            all.one.faults.break_next(fault);
        }
        let refusal = offer(&turn, "exchange.refused");
        let settled = turn.settle(refusal).await;
        assert_eq!(settled.is_ok(), fault.is_none());
        for house in [&all.one, &all.two, &all.one] {
            let mut turn = all.turn(house).await;
            let admission = offer(&turn, ADMITTED);
            let done = turn.admit_with(admission, funds(false, true), || ()).await;
            assert!(done.is_ok());
            let last = offer(&turn, SETTLED);
            turn.settle(last).await.unwrap();
        }
        // What the store did not take stands outside of the chain, and the number that only the store
        // has is declared.
        let is_lost = fault == Some(Fault::Fails);
        let (numbers, missing) = all.numbers(&[&all.one, &all.two]);
        let dense: Vec<_> = (0..8 + u64::from(is_lost)).collect();
        let logged = dense.into_iter().filter(|number| !is_lost || *number != 1);
        assert_eq!(numbers, logged.collect::<Vec<_>>(), "{fault:?}");
        assert_eq!(missing, if is_lost { vec![1] } else { vec![] });
        let outside: &[&str] = if is_lost { &["exchange.refused"] } else { &[] };
        assert_eq!(unchained(&all.one), outside);
    }
}

/// The store fails while funds are set aside: that is what is told, and what is to be done about it.
#[tokio::test]
async fn a_store_that_fails_counts_before_funds_that_are_not_there() {
    for granted in [true, false] {
        let all = Replicas::new().await;
        let mut turn = all.turn(&all.one).await;
        all.one.faults.break_next(Fault::FailsButPersists);
        let (admission, funds) = (offer(&turn, ADMITTED), funds(true, granted));
        let refused = turn.admit_with(admission, funds, || panic!("logged")).await;
        assert!(matches!(
            refused.err().unwrap().error,
            SessionError::Store(_)
        ));
        let _broken = turn.release().await;
        // The same process brings it to its end.
        all.turn(&all.one).await.release().await.unwrap();
        assert_eq!(unchained(&all.one), ["closing"]);
        all.is_dense(&[&all.one], 2);
    }
}

/// Funds are set aside beside the store's write: neither waits for the other.
#[tokio::test]
async fn funds_cost_no_round_trip_of_their_own() {
    let all = Replicas::new().await;
    let store = all.one.sessions.shared.store.clone();
    let name = store.list("", None, 9).await.unwrap().names.remove(0);
    let before = store.read(&name).await.unwrap().unwrap().version;
    let mut turn = all.turn(&all.one).await;
    let admission = offer(&turn, ADMITTED);
    let funds = Funds {
        first: true,
        // Granted only once the store has the event.
        set_aside: async {
            while store.read(&name).await.unwrap().unwrap().version == before {
                tokio::task::yield_now().await;
            }
            Ok(())
        },
    };
    assert!(turn.admit_with(admission, funds, || ()).await.is_ok());
    let last = offer(&turn, SETTLED);
    turn.settle(last).await.unwrap();

    // And they are asked for though the store does not take the event.
    let mut turn = all.turn(&all.one).await;
    all.one.faults.break_next(Fault::Fails);
    let (admission, asked) = (offer(&turn, ADMITTED), AtomicBool::new(false));
    let funds = Funds {
        first: true,
        set_aside: async {
            asked.store(true, Ordering::SeqCst);
            Ok(())
        },
    };
    let refused = turn.admit_with(admission, funds, || panic!("logged")).await;
    assert!(matches!(
        refused.err().unwrap().error,
        SessionError::Store(_)
    ));
    assert!(asked.load(Ordering::SeqCst));
}

/// On a store of this process's own, funds that may be refused come first, and others with the rest.
#[tokio::test]
async fn an_embedded_store_asks_for_funds_first_where_they_may_be_refused() {
    for first in [true, false] {
        let (_dir, house, ann, opened) = scene().await;
        let id = opened.id.expose();
        let mut turn = house.sessions.turn(&ann, Some(id)).await.unwrap();
        let admitted = Event::from_bytes(event(&turn, ADMITTED)).unwrap();
        let refused = turn.admit_with(admitted, funds(first, false), || ()).await;
        let refused = refused.err().unwrap();
        assert!(matches!(refused.error, SessionError::Unfunded));
        // The log has it, if it could not wait: then it has to be settled.
        assert_eq!(matches!(refused.fate, Fate::Absent), first);
        assert_eq!(matches!(refused.fate, Fate::Logged), !first);
        assert_eq!(refused.noted, !first);
        finish(
            &house,
            turn,
            if first { "exchange.refused" } else { SETTLED },
        )
        .await;
        chain_is_whole(&house, &opened.reference);
        let count = if first { 2 } else { 3 };
        assert_eq!(house.pages.of(&opened.reference).len(), count);
    }
}
