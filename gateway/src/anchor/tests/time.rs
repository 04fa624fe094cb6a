//! What a witness's answers say of the time.

use super::*;

#[tokio::test]
async fn what_time_a_witness_says_is_told() {
    let log = Log::new();
    let house = House::start(&log).await;
    log.grow(1);
    *house.now_s.lock() = START_S + 7;
    house.follower(&log).attempt().await;
    let [told] = <[_; 1]>::try_from(log.told()).unwrap();
    let id = gatehouse_envelope::digest::hex(&house.key().id());
    let clock = serde_json::json!({
        "source": "witness", "id": id, "ahead_us": 0, "behind_us": 8_000_000, "off_us": 7_000_000, "n": 1
    });
    assert_eq!(
        (&told["kind"], &told["reason"], &told["clock"]),
        (&"clock.status".into(), &"first".into(), &clock)
    );
    log.grow(1);
    house.follower(&log).attempt().await;
    assert!(log.told().is_empty(), "it is as it was");
}

/// Others have it cosigned first each time, and this process has to know what time it is all the same.
#[tokio::test]
async fn a_replica_that_is_never_first_asks_for_the_time_alone() {
    let (log, mut other) = (Log::new(), Log::new());
    let house = House::start(&log).await;
    log.grow(1);
    house.follower(&log).attempt().await;
    (other.anchors, other.store) = (log.anchors.clone(), log.store.clone());
    let (first, second) = (house.follower(&log), house.follower(&other));
    // What it answers in the second in which it had cosigned may be of then.
    for (later_s, asked, told) in [(0, 2, 0), (1, 2, 1), (29 * 60, 0, 0), (60, 2, 1)] {
        log.grow(1);
        first.attempt().await;
        let before = house.asked.lock().len();
        other.time.advance(Duration::from_secs(later_s));
        *house.now_s.lock() += later_s;
        second.attempt().await;
        // It learns the size first.
        assert_eq!(house.asked.lock().len() - before, asked, "{later_s}");
        assert_eq!(other.told().len(), told, "{later_s}");
    }
    assert_eq!((log.cosignatures(), followed(&second).0), (5, 0));
}

/// The store did not take what it answered, and it gives the same line again.
#[tokio::test]
async fn a_cosignature_of_before_is_not_taken_for_the_time_now() {
    let log = Log::new();
    let house = House::start(&log).await;
    log.grow(1);
    log.store.is_full.store(true, Ordering::SeqCst);
    let follower = house.follower(&log);
    follower.attempt().await;
    assert!(followed(&follower).1.contains("no space"));
    log.store.is_full.store(false, Ordering::SeqCst);
    log.time.advance(Duration::from_secs(3));
    follower.attempt().await;
    assert_eq!((house.olds(), log.cosignatures()), (vec![0, 0, 1], 1));
    assert!(log.told().is_empty(), "{:?}", log.told());
    // The next one is made when it is asked for.
    *house.now_s.lock() += 3;
    log.grow(1);
    follower.attempt().await;
    let [told] = <[_; 1]>::try_from(log.told()).unwrap();
    assert_eq!(told["clock"]["off_us"], 0);
}

/// A third replica asked four seconds ago, and the witness gives that line again.
#[tokio::test]
async fn a_cosignature_that_another_replica_has_asked_for_may_be_seconds_old() {
    let log = Log::new();
    let house = House::start(&log).await;
    log.grow(1);
    house.follower(&log).attempt().await;
    let mut other = Log::new();
    (other.anchors, other.store) = (log.anchors.clone(), log.store.clone());
    *house.now_s.lock() += 60;
    other.time.advance(Duration::from_secs(64));
    house.follower(&other).attempt().await;
    let [told] = <[_; 1]>::try_from(other.told()).unwrap();
    let clock = serde_json::json!({
        "source": "witness", "id": told["clock"]["id"], "ahead_us": 4_000_000, "behind_us": 2_000_000, "off_us": 0, "n": 1
    });
    assert_eq!(told["clock"], clock);
}
