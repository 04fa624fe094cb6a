//! Turns that are gone while something that they have asked for is on its way to the store: it arrives, and
//! keeps nobody waiting.

use super::{replicas::Replicas, *};
use crate::session::{
    queue::{Patience, Place},
    store::{Acquired, STANDS},
    turn::Location,
};

const LEASE: Duration = Duration::from_secs(60);

async fn replicas(on_busy: OnBusy) -> Replicas {
    Replicas::with(Limits {
        on_busy,
        wait: LEASE,
        ..limits()
    })
    .await
}

impl Replicas {
    async fn name(&self) -> String {
        let store = &self.one.sessions.shared.store;
        store.list("", None, 9).await.unwrap().names.remove(0)
    }

    /// Asks for something, and is gone when that is under way.
    async fn gone<T>(&self, asking: impl Future<Output = T>) {
        let faults = &self.one.faults;
        faults.slow(true);
        let mut asking = Box::pin(asking);
        while faults.under_way() == 0 {
            let early = tokio::time::timeout(Duration::from_millis(2), &mut asking).await;
            assert!(early.is_err(), "it was answered");
        }
        drop(asking);
        faults.slow(false);
    }

    /// Another process gets the lease soon, without a place in line.
    async fn is_free(&self) {
        let (store, name) = (&self.one.sessions.shared.store, self.name().await);
        let asked = tokio::time::Instant::now();
        loop {
            let acquired = store.acquire(&name, 77, LEASE).await.unwrap();
            if let Acquired::Held { fence, .. } = acquired {
                return store.free(&name, fence).await.unwrap();
            }
            assert!(asked.elapsed() < STANDS / 3, "somebody is in the way");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
}

#[tokio::test]
async fn a_place_that_was_asked_for_is_left_again() {
    let all = replicas(OnBusy::Queue).await;
    for house in [&all.one, &all.two] {
        // Behind a turn of its own process, or in front of its own and behind another's.
        let held = all.turn(&all.one).await;
        all.gone(all.try_turn(house)).await;
        held.release().await.unwrap();
        all.is_free().await;
    }
}

/// It stood there already, and its caller hangs up.
#[tokio::test]
async fn a_place_is_left_by_who_hangs_up() {
    let all = replicas(OnBusy::Queue).await;
    for house in [&all.one, &all.two] {
        let held = all.turn(&all.one).await;
        let waits = tokio::time::timeout(Duration::from_millis(50), all.try_turn(house));
        assert!(waits.await.is_err());
        held.release().await.unwrap();
        all.is_free().await;
    }
}

/// The store has not heard of it: it does so later.
#[tokio::test]
async fn a_place_is_left_once_the_store_is_there_again() {
    let all = replicas(OnBusy::Queue).await;
    let held = all.turn(&all.one).await;
    let waits = tokio::time::timeout(Duration::from_millis(50), all.try_turn(&all.two));
    assert!(waits.await.is_err());
    held.release().await.unwrap();
    all.is_free().await;

    let held = all.turn(&all.one).await;
    let mut waits = Box::pin(all.try_turn(&all.two));
    let early = tokio::time::timeout(Duration::from_millis(50), &mut waits).await;
    assert!(early.is_err());
    all.one.faults.break_leaving(2);
    drop(waits);
    held.release().await.unwrap();
    all.is_free().await;
}

#[tokio::test]
async fn a_lease_that_was_asked_for_is_given_back() {
    for on_busy in [OnBusy::Queue, OnBusy::Reject, OnBusy::Interrupt] {
        let all = replicas(on_busy).await;
        all.gone(all.try_turn(&all.one)).await;
        all.is_free().await;
        all.turn(&all.two).await.release().await.unwrap();
    }
}

#[tokio::test]
async fn a_lease_that_was_seized_is_given_back() {
    let all = replicas(OnBusy::Interrupt).await;
    let _interrupted = all.turn(&all.two).await;
    let location = Location::parse(&all.name().await).unwrap();
    let sessions = &all.one.sessions;
    let place: Place = sessions
        .enter(&location, Patience::Interrupts(LEASE))
        .await
        .unwrap();
    all.gone(sessions.seize(&location, &place)).await;
    drop(place);
    all.is_free().await;
}

/// The store has given a lease, and its answer was lost.
#[tokio::test]
async fn a_lease_whose_answer_was_lost_is_given_back() {
    for on_busy in [OnBusy::Queue, OnBusy::Reject, OnBusy::Interrupt] {
        let all = replicas(on_busy).await;
        all.turn(&all.one).await.release().await.unwrap();
        all.one.faults.lose_answers(1);
        let lost = all.try_turn(&all.one).await.map(drop);
        assert!(matches!(lost, Err(SessionError::Store(_))), "{lost:?}");
        all.is_free().await;
        all.turn(&all.two).await.release().await.unwrap();
    }
}

/// A turn of the same process comes before the lease was given back: it gets it.
#[tokio::test]
async fn a_lease_whose_answer_was_lost_is_the_next_turns() {
    let all = replicas(OnBusy::Reject).await;
    all.one.faults.lose_answers(1);
    assert!(all.try_turn(&all.one).await.is_err());
    let turn = all.turn(&all.one).await;
    tokio::time::sleep(Duration::from_millis(600)).await;
    assert!(matches!(
        all.try_turn(&all.two).await,
        Err(SessionError::Busy)
    ));
    turn.release().await.unwrap();
    all.is_free().await;
}

/// Its caller has hung up, and it waits no longer, in its own process's line or in that of all.
#[tokio::test]
async fn who_waits_for_a_caller_that_is_gone_leaves_at_once() {
    let all = replicas(OnBusy::Queue).await;
    for house in [&all.one, &all.two] {
        let held = all.turn(&all.one).await;
        let gone = CancellationToken::new();
        let sessions = house.sessions.until(gone.clone());
        let mut waits = Box::pin(sessions.turn(&all.ann, Some(all.opened.id.expose())));
        let early = tokio::time::timeout(Duration::from_millis(50), &mut waits).await;
        assert!(early.is_err());
        gone.cancel();
        let left = tokio::time::timeout(Duration::from_secs(5), waits).await;
        assert!(matches!(left.unwrap(), Err(SessionError::Busy)));
        held.release().await.unwrap();
        all.is_free().await;
    }
}

/// What a turn that is gone has asked for does not take the lease from the next one of its process.
#[tokio::test]
async fn who_comes_next_asks_after_who_is_gone() {
    for on_busy in [OnBusy::Queue, OnBusy::Reject, OnBusy::Interrupt] {
        let all = replicas(on_busy).await;
        all.turn(&all.one).await.release().await.unwrap();
        let faults = &all.one.faults;
        faults.slow(true);
        let mut asking = Box::pin(all.try_turn(&all.one));
        while faults.under_way() == 0 {
            let early = tokio::time::timeout(Duration::from_millis(2), &mut asking).await;
            assert!(early.is_err());
        }
        drop(asking);
        let mut next = Box::pin(async {
            // With `reject` it is turned away while the other's question is under way.
            loop {
                match all.try_turn(&all.one).await {
                    Err(SessionError::Busy) => tokio::time::sleep(Duration::from_millis(2)).await,
                    turn => return turn.unwrap(),
                }
            }
        });
        let early = tokio::time::timeout(Duration::from_millis(20), &mut next).await;
        assert!(early.is_err());
        assert_eq!(faults.under_way(), 1, "{on_busy:?}");
        faults.slow(false);
        next.await.release().await.unwrap();
    }
}

/// The end of the process waits until all is said.
#[tokio::test]
async fn what_is_still_to_be_said_is_waited_for() {
    let all = replicas(OnBusy::Queue).await;
    let held = all.turn(&all.one).await;
    let waits = tokio::time::timeout(Duration::from_millis(50), all.try_turn(&all.two));
    assert!(waits.await.is_err());
    held.release().await.unwrap();
    all.two.sessions.errands_done().await;
    let (store, name) = (&all.one.sessions.shared.store, all.name().await);
    let acquired = store.acquire(&name, 77, LEASE).await.unwrap();
    assert!(matches!(acquired, Acquired::Held { .. }));
}
