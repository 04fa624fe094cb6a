//! Every seal is cosigned, whatever the witness, or another replica, does first.

use super::*;

#[tokio::test]
async fn every_seal_is_cosigned_once() {
    let log = Log::new();
    let house = House::start(&log).await;
    let follower = house.follower(&log);
    follower.attempt().await;
    assert_eq!(
        followed(&follower),
        (0, String::new()),
        "there is nothing yet"
    );
    log.grow(3);
    assert_eq!(followed(&follower).0, 3);
    for _ in 0..2 {
        follower.attempt().await;
        assert_eq!(followed(&follower), (0, String::new()));
    }
    log.grow(2);
    follower.attempt().await;
    assert_eq!((house.olds(), log.cosignatures()), (vec![0, 3], 2));
    // A process that starts anew asks nothing while the store knows the answer, and learns the size
    // from the witness.
    let again = house.follower(&log);
    again.attempt().await;
    assert_eq!(house.olds().len(), 2);
    let other = house.follower(&log);
    log.grow(4);
    other.attempt().await;
    assert_eq!((house.olds(), log.cosignatures()), (vec![0, 3, 0, 5], 3));
    // And the first one, which went by the size of before, finds it done.
    follower.attempt().await;
    assert_eq!((house.olds().len(), followed(&follower).0), (4, 0));
    log.grow(1);
    follower.attempt().await;
    assert_eq!(house.olds().last(), Some(&9));
}

#[tokio::test]
async fn refusals_are_told_and_nothing_is_stored() {
    let log = Log::new();
    let house = House::start(&log).await;
    let follower = house.follower(&log);
    log.grow(2);
    follower.attempt().await;
    log.grow(1);
    let stranger = MemorySigner::generate("w1").unwrap();
    let elsewhere = cosign("prod\n3\nAAAA\n", house.signer.as_ref(), 7).unwrap();
    let foreign = cosign("prod\n3\nAAAA\n", &stranger, 7).unwrap();
    for (reply, why) in [
        (
            (403, "text/plain", String::new()),
            "does not trust the deployment's key",
        ),
        (
            (404, "text/plain", String::new()),
            "does not witness this log",
        ),
        (
            (422, "text/plain", String::new()),
            "does not continue what it has cosigned",
        ),
        (
            (409, "text/plain", "2\n".to_owned()),
            "does not say which size",
        ),
        (
            (409, SIZE_TYPE, "two\n".to_owned()),
            "does not say which size",
        ),
        ((409, SIZE_TYPE, "2\n".to_owned()), "another history"),
        ((500, "text/plain", String::new()), "HTTP status 500"),
        ((302, "text/plain", String::new()), "HTTP status 302"),
        ((200, "text/plain", "nonsense".to_owned()), "no cosignature"),
        ((200, "text/plain", elsewhere), "no cosignature"),
        ((200, "text/plain", foreign), "no cosignature"),
        ((200, "text/plain", "x".repeat(1 << 17)), "too large"),
        ((0, "", String::new()), "broke off"),
    ] {
        let status = reply.0;
        *house.script.lock() = Some(reply);
        follower.attempt().await;
        let (behind, trouble) = followed(&follower);
        assert!(trouble.contains(why), "{status}: {trouble}");
        assert_eq!((behind, log.cosignatures()), (1, 1), "{status}");
    }
    *house.script.lock() = None;
    follower.attempt().await;
    assert_eq!(
        (followed(&follower), log.cosignatures()),
        ((0, String::new()), 2)
    );
}

#[tokio::test]
async fn another_history_is_refused_by_the_witness() {
    let log = Log::new();
    let house = House::start(&log).await;
    log.grow(3);
    house.follower(&log).attempt().await;
    // The same deployment, its store gone and begun anew.
    let (store, keys) = (
        Arc::new(Broken::default()),
        [Key::of(log.signer.as_ref()).unwrap()],
    );
    let sealer = Sealer::open(store.clone(), log.signer.clone(), keys.to_vec(), "prod").unwrap();
    let fork = Log {
        signer: log.signer.clone(),
        anchors: Anchors::new(store.clone(), &keys, "prod"),
        store,
        sealer: Mutex::new(sealer),
        time: log.time.clone(),
        clocks: log.clocks.clone(),
    };
    fork.sealer.lock().seal(START_US + 1, true).unwrap();
    let follower = house.follower(&fork);
    for (grown, why) in [
        (1, "fewer seals than the witness"),
        (1, "another history: its seal 2"),
        (1, "does not continue"),
    ] {
        fork.grow(grown);
        follower.attempt().await;
        let (_, trouble) = followed(&follower);
        assert!(trouble.contains(why), "{trouble}");
    }
    assert_eq!(fork.cosignatures(), 0);
    assert_eq!(house.state.lock().size, 3);
}

#[tokio::test]
async fn a_witness_that_is_away_is_tried_again() {
    let log = Log::new();
    log.grow(1);
    let house = House::start(&log).await;
    let follower = house.follower(&log);
    // Nobody listens where the other one was told to be.
    let (gone, key) = (TcpListener::bind("127.0.0.1:0").await.unwrap(), house.key());
    let url = format!("http://{}/add-checkpoint", gone.local_addr().unwrap());
    drop(gone);
    let witness = config::Witness {
        url: url.parse().unwrap(),
        key,
        ca: None,
        timeout: Duration::from_secs(30),
    };
    let away = Follower::new(
        Arc::new(witness),
        log.anchors.clone(),
        Post::new(None).unwrap(),
        log.clocks.clone(),
    );
    away.attempt().await;
    assert_eq!(followed(&away), (1, "not reached".to_owned()));
    follower.attempt().await;
    // Its cosignature is there, whoever has asked for it.
    away.attempt().await;
    assert_eq!(followed(&away), (0, String::new()));
}

/// How far it had come shows in the store, though it is away.
#[tokio::test]
async fn a_process_that_starts_anew_counts_from_what_the_store_shows() {
    let log = Log::new();
    let house = House::start(&log).await;
    log.grow(3);
    house.follower(&log).attempt().await;
    log.grow(2);
    *house.script.lock() = Some((500, "text/plain", String::new()));
    let again = house.follower(&log);
    again.attempt().await;
    let (behind, trouble) = followed(&again);
    assert!(behind == 2 && trouble.contains("500"), "{behind} {trouble}");
    log.grow(1);
    again.attempt().await;
    assert_eq!(followed(&again).0, 3);
}

/// How far it had come is only shown.
#[tokio::test]
async fn a_witness_is_asked_though_the_store_does_not_list_what_it_had_cosigned() {
    let log = Log::new();
    let house = House::start(&log).await;
    log.grow(3);
    house.follower(&log).attempt().await;
    log.grow(2);
    log.store.is_unlisted.store(true, Ordering::SeqCst);
    let again = house.follower(&log);
    *house.script.lock() = Some((500, "text/plain", String::new()));
    again.attempt().await;
    assert_eq!(followed(&again).0, 5, "nobody knows");
    *house.script.lock() = None;
    let other = house.follower(&log);
    other.attempt().await;
    assert_eq!(followed(&other), (0, String::new()));
    assert_eq!(log.cosignatures(), 2);
    // It is looked for again, but not where more is known by now.
    log.grow(1);
    log.store.is_unlisted.store(false, Ordering::SeqCst);
    *house.script.lock() = Some((500, "text/plain", String::new()));
    for follower in [&again, &other] {
        follower.attempt().await;
        assert_eq!(followed(follower).0, 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_witness_that_does_not_answer_is_not_waited_for() {
    let log = Log::new();
    log.grow(1);
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let witness = config::Witness {
        url: format!("http://{}/add-checkpoint", silent.local_addr().unwrap())
            .parse()
            .unwrap(),
        key: WitnessKey::of(&MemorySigner::generate("w").unwrap()).unwrap(),
        ca: None,
        timeout: Duration::from_secs(3),
    };
    let follower = Follower::new(
        Arc::new(witness),
        log.anchors.clone(),
        Post::new(None).unwrap(),
        log.clocks.clone(),
    );
    follower.attempt().await;
    assert_eq!(followed(&follower), (1, "no answer in time".to_owned()));
}

#[test]
fn witnesses_are_told_in_a_line() {
    let one = |name: &str, behind, trouble: Option<&str>| Followed {
        name: name.to_owned(),
        behind,
        trouble: trouble.map(str::to_owned),
    };
    assert_eq!(lines(&[], None), "");
    assert_eq!(
        lines(
            &[one("w1", 0, None), one("w2", 7, Some("not reached"))],
            Some("no answer in time")
        ),
        "witnesses: w1 is 0 seals behind; w2 is 7 seals behind: not reached\n\
         time stamp: no answer in time\n"
    );
}
