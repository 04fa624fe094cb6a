use super::*;

#[tokio::test]
async fn a_session_keeps_its_state_and_its_chain() {
    let (_dir, house, ann, opened) = scene().await;
    assert!(random::is_credential("gs_", opened.id.expose().as_bytes()));
    assert!(is_reference(&opened.reference));
    assert_eq!(opened.expires_us, NOW_US + 24 * 3_600_000_000);

    let mut turn = house
        .sessions
        .turn(&ann, Some(opened.id.expose()))
        .await
        .unwrap();
    assert_eq!(
        (turn.reference(), turn.fresh(), turn.link().sseq),
        (&*opened.reference, false, 1)
    );
    let pseudonym = turn.keys().pseudonyms().mac("EMAIL", &[b"a@example.org"]);
    turn.state_mut().vault = Zeroizing::new(b"vault".to_vec());
    turn.state_mut().steps += 1;
    turn.remember_signed("thought");
    record(&house, &mut turn, "exchange.admitted")
        .await
        .unwrap();
    finish(&house, turn, "exchange.settled").await;

    let turn = house
        .sessions
        .turn(&ann, Some(opened.id.expose()))
        .await
        .unwrap();
    assert_eq!(
        (turn.vault(), turn.state().steps, turn.link().sseq),
        (&b"vault"[..], 1, 3)
    );
    assert!(turn.signed("thought") && !turn.signed("thoughts"));
    assert_eq!(
        turn.keys().pseudonyms().mac("EMAIL", &[b"a@example.org"]),
        pseudonym
    );
    turn.release().await.unwrap();
    chain_is_whole(&house, &opened.reference);

    let shown = house.sessions.show(&ann, &opened.reference).await.unwrap();
    assert_eq!(
        (shown.steps, shown.records, &*shown.principal),
        (1, 3, "key:k_ann")
    );
}

#[tokio::test]
async fn a_turn_without_an_id_opens_a_session() {
    let dir = tempfile::tempdir().unwrap();
    let house = House::open(dir.path());
    let ann = caller("ann", "t");
    let mut turn = house.sessions.turn(&ann, None).await.unwrap();
    let reference = turn.reference().to_owned();
    assert!(turn.fresh());
    // Nothing is stored before something is recorded.
    assert_eq!(
        absence(house.sessions.show(&ann, &reference).await),
        Absence::Unknown
    );
    record(&house, &mut turn, "exchange.admitted")
        .await
        .unwrap();
    finish(&house, turn, "exchange.settled").await;
    assert_eq!(
        house.sessions.show(&ann, &reference).await.unwrap().records,
        3
    );
    assert_eq!(
        house.pages.kinds(&reference),
        ["session.open", "exchange.admitted", "exchange.settled"]
    );
    chain_is_whole(&house, &reference);

    // A refusal alone is kept too.
    let turn = house.sessions.turn(&ann, None).await.unwrap();
    let refused = turn.reference().to_owned();
    finish(&house, turn, "exchange.refused").await;
    assert_eq!(
        house.sessions.show(&ann, &refused).await.unwrap().records,
        2
    );
}

#[tokio::test]
async fn foreign_unknown_expired_and_ended_are_not_there() {
    let dir = tempfile::tempdir().unwrap();
    let house = House::open(dir.path());
    let (ann, bob, cat) = (caller("ann", "t"), caller("bob", "t"), caller("ann", "u"));
    let opened = house.sessions.open(&ann).await.unwrap();
    let (id, reference) = (opened.id.expose().as_str(), opened.reference.as_str());
    let before = house.pages.events.lock().len();

    let Absence::Foreign {
        reference: named,
        owner,
    } = absence(house.sessions.turn(&bob, Some(id)).await)
    else {
        panic!("not foreign")
    };
    let names = house.sessions.log_names("t").await.unwrap();
    assert_eq!((&*named, owner), (reference, names.principal("key:k_ann")));
    assert!(matches!(
        absence(house.sessions.show(&bob, reference).await),
        Absence::Foreign { .. }
    ));
    assert!(matches!(
        absence(house.sessions.close(&bob, reference).await),
        Absence::Foreign { .. }
    ));
    // Another tenant's keys do not even find it.
    assert_eq!(
        absence(house.sessions.turn(&cat, Some(id)).await),
        Absence::Unknown
    );
    assert_eq!(
        absence(house.sessions.show(&cat, reference).await),
        Absence::Unknown
    );

    let other = random::credential("gs_").unwrap();
    assert_eq!(
        absence(house.sessions.turn(&ann, Some(other.expose())).await),
        Absence::Unknown
    );
    for bad in [
        "",
        "gs_",
        reference,
        id.get(..40).unwrap(),
        "gk_AAAA",
        "../../etc",
    ] {
        assert_eq!(
            absence(house.sessions.turn(&ann, Some(bad)).await),
            Absence::Malformed
        );
    }
    for bad in [id, "s_", "s_../x", "x"] {
        assert_eq!(
            absence(house.sessions.show(&ann, bad).await),
            Absence::Malformed
        );
    }
    assert_eq!(
        house.pages.events.lock().len(),
        before,
        "nothing of the owner's was touched"
    );
    house
        .sessions
        .turn(&ann, Some(id))
        .await
        .unwrap()
        .release()
        .await
        .unwrap();

    house.sessions.close(&ann, reference).await.unwrap();
    assert_eq!(
        absence(house.sessions.turn(&ann, Some(id)).await),
        Absence::Closed
    );
    assert_eq!(
        absence(house.sessions.show(&ann, reference).await),
        Absence::Closed
    );
    assert_eq!(
        house.pages.kinds(reference),
        ["session.open", "session.close"]
    );
    chain_is_whole(&house, reference);
}

#[tokio::test]
async fn idle_and_absolute_ends() {
    let dir = tempfile::tempdir().unwrap();
    let house = House::open(dir.path());
    let ann = caller("ann", "t");
    let idle = house.sessions.open(&ann).await.unwrap();
    let busy = house.sessions.open(&ann).await.unwrap();
    let turn = |id: &Secret<String>| {
        let (sessions, ann, id) = (house.sessions.clone(), ann.clone(), id.expose().clone());
        async move { sessions.turn(&ann, Some(&id)).await }
    };
    for _ in 0..24 {
        house.clock.advance(Duration::from_secs(3599));
        turn(&busy.id).await.unwrap().release().await.unwrap();
    }
    assert_eq!(absence(turn(&idle.id).await), Absence::Expired);
    assert_eq!(
        absence(house.sessions.show(&ann, &idle.reference).await),
        Absence::Expired
    );
    house.clock.advance(Duration::from_secs(24));
    assert_eq!(absence(turn(&busy.id).await), Absence::Expired);

    assert_eq!(
        house.sessions.sweep().await.unwrap(),
        Swept {
            ended: 2,
            failed: 0
        }
    );
    assert_eq!(house.sessions.sweep().await.unwrap(), Swept::default());
    assert_eq!(absence(turn(&idle.id).await), Absence::Expired);
    assert_eq!(
        house.pages.kinds(&idle.reference),
        ["session.open", "session.expire"]
    );
    chain_is_whole(&house, &busy.reference);
    // How it ended is forgotten some day.
    house.clock.advance(Duration::from_secs(25 * 3600));
    house.sessions.sweep().await.unwrap();
    assert_eq!(absence(turn(&idle.id).await), Absence::Unknown);
}

#[tokio::test]
async fn a_second_turn_waits_and_then_gives_up() {
    let (_dir, house, ann, opened) = scene().await;
    let id = opened.id.expose().as_str();
    let first = house.sessions.turn(&ann, Some(id)).await.unwrap();
    assert!(matches!(
        house.sessions.turn(&ann, Some(id)).await,
        Err(SessionError::Busy)
    ));

    let (second, released) = tokio::join!(house.sessions.turn(&ann, Some(id)), async {
        tokio::time::sleep(Duration::from_millis(5)).await;
        first.release().await
    });
    released.unwrap();
    // A turn that is only dropped frees the session for the next one here.
    drop(second.unwrap());
    house
        .sessions
        .turn(&ann, Some(id))
        .await
        .unwrap()
        .release()
        .await
        .unwrap();
}

#[tokio::test]
async fn operators_see_all_and_end_any() {
    let dir = tempfile::tempdir().unwrap();
    let house = House::open(dir.path());
    let (ann, bob) = (caller("ann", "t"), caller("bob", "u"));
    let one = house.sessions.open(&ann).await.unwrap();
    let two = house.sessions.open(&bob).await.unwrap();
    let three = house.sessions.open(&bob).await.unwrap();
    assert_eq!(house.sessions.list(None).await.unwrap().len(), 3);
    let listed = house.sessions.list(Some("t")).await.unwrap();
    assert_eq!(
        listed.iter().map(|v| &*v.reference).collect::<Vec<_>>(),
        [&*one.reference]
    );
    assert_eq!(
        house
            .sessions
            .inspect(&two.reference)
            .await
            .unwrap()
            .principal,
        "key:k_bob"
    );

    house.sessions.revoke(&one.reference).await.unwrap();
    house.sessions.erase(&two.reference, BY).await.unwrap();
    let turn = async |who: &Caller, id: &Secret<String>| {
        absence(house.sessions.turn(who, Some(id.expose())).await)
    };
    assert_eq!(turn(&ann, &one.id).await, Absence::Revoked);
    assert_eq!(turn(&bob, &two.id).await, Absence::Erased);
    assert_eq!(
        house.pages.kinds(&one.reference).last().unwrap(),
        "session.revoke"
    );
    assert_eq!(
        house.pages.kinds(&two.reference).last().unwrap(),
        "session.erase.request"
    );
    assert_eq!(
        house.sessions.list(None).await.unwrap()[0].reference,
        three.reference
    );
    let again = house.sessions.erase(&two.reference, BY).await;
    assert_eq!(absence(again), Absence::Erased);
}

#[tokio::test]
async fn a_key_past_its_limit_seals_no_more() {
    let dir = tempfile::tempdir().unwrap();
    let limits = Limits {
        seals: 4,
        ..limits()
    };
    let house = House::open_with(dir.path(), limits, Arc::default(), NOW_US);
    let ann = caller("ann", "t");
    let opened = house.sessions.open(&ann).await.unwrap();
    let id = opened.id.expose().as_str();
    for _ in 0..3 {
        house
            .sessions
            .turn(&ann, Some(id))
            .await
            .unwrap()
            .release()
            .await
            .unwrap();
    }
    let refused = house
        .sessions
        .turn(&ann, Some(id))
        .await
        .unwrap()
        .release()
        .await;
    assert!(
        matches!(refused, Err(SessionError::Keys(_))),
        "also by a key that was loaded anew"
    );
    // What was sealed before still opens.
    assert_eq!(
        house
            .sessions
            .show(&ann, &opened.reference)
            .await
            .unwrap()
            .records,
        1
    );
}

#[tokio::test]
async fn a_principal_has_so_many_streams_of_progress_and_no_more() {
    let (_dir, house, ann, _) = scene().await;
    let watch = |caller: &Caller| house.sessions.watch(caller);
    let mut all: Vec<_> = (0..STREAMS).map(|_| watch(&ann).unwrap()).collect();
    assert!(watch(&ann).is_none());
    assert!(watch(&caller("bob", "t")).is_some(), "each for itself");
    all.pop();
    let again = watch(&ann);
    assert!(again.is_some() && watch(&ann).is_none());
}
