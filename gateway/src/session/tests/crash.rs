//! What a process finds that starts after another died.

use super::*;

const LOGGED: &str = "exchange.admitted";

/// Where a session's log ends, as the log's recovery would say.
fn last_logged(house: &House, reference: &str) -> Logged {
    let events = house.pages.events.lock();
    let last = events
        .iter()
        .rfind(|event| event.contains(reference))
        .unwrap();
    let read: serde_json::Value = serde_json::from_str(last).unwrap();
    let digest = state::after(Link::START, last.as_bytes()).sprev;
    Logged {
        sid: reference.to_owned(),
        sseq: read["sseq"].as_u64().unwrap(),
        digest,
    }
}

#[tokio::test]
async fn the_log_was_ahead_and_the_chain_goes_on_behind_it() {
    let (dir, house, ann, opened) = scene().await;
    let id = opened.id.expose().as_str();
    let mut turn = house.sessions.turn(&ann, Some(id)).await.unwrap();
    record(&house, &mut turn, LOGGED).await.unwrap();
    let copy = house.crash(dir.path());
    // The log took the outcome; the store did not sync it.
    finish(&house, turn, "exchange.settled").await;

    let next = House::open_with(copy.path(), limits(), house.pages.clone(), NOW_US);
    let logged = [last_logged(&house, &opened.reference)];
    assert_eq!(next.sessions.replay(&logged).await.unwrap(), 0);
    let turn = next.sessions.turn(&ann, Some(id)).await.unwrap();
    assert_eq!(turn.link().sseq, 3);
    finish(&next, turn, LOGGED).await;
    chain_is_whole(&next, &opened.reference);
    assert!(
        !next
            .pages
            .kinds(&opened.reference)
            .contains(&"audit.gap".to_owned())
    );
}

#[tokio::test]
async fn the_store_was_ahead_and_the_gap_is_declared() {
    let (dir, house, ann, opened) = scene().await;
    let id = opened.id.expose().as_str();
    let logged = [last_logged(&house, &opened.reference)];
    let mut turn = house.sessions.turn(&ann, Some(id)).await.unwrap();
    let lost = event(&turn, LOGGED);
    turn.record(&lost).await.unwrap();
    let copy = house.crash(dir.path());

    for replayed in [true, false] {
        let again = House::crash(&house, copy.path());
        let next = House::open_with(again.path(), limits(), Arc::default(), NOW_US);
        if replayed {
            assert_eq!(next.sessions.replay(&logged).await.unwrap(), 0);
        }
        // Without the log's word, the turn that was cut short is doubt enough.
        let turn = next.sessions.turn(&ann, Some(id)).await.unwrap();
        assert_eq!(turn.link().sseq, 3);
        turn.release().await.unwrap();
        let gap = &next.pages.of(&opened.reference)[0];
        assert_eq!(
            (&gap["kind"], &gap["missing"], &gap["sseq"]),
            (&"audit.gap".into(), &1.into(), &2.into())
        );
        let digest = state::after(Link::START, &lost).sprev;
        assert_eq!(gap["sprev"], gatehouse_envelope::digest::hex(&digest));
        // Declared once.
        next.sessions
            .turn(&ann, Some(id))
            .await
            .unwrap()
            .release()
            .await
            .unwrap();
        assert_eq!(next.pages.of(&opened.reference).len(), 1);
    }
}

#[tokio::test]
async fn a_clean_stop_leaves_no_doubt() {
    let dir = tempfile::tempdir().unwrap();
    let ann = caller("ann", "t");
    let (id, reference, pages) = {
        let house = House::open(dir.path());
        let opened = house.sessions.open(&ann).await.unwrap();
        let mut turn = house
            .sessions
            .turn(&ann, Some(opened.id.expose()))
            .await
            .unwrap();
        record(&house, &mut turn, LOGGED).await.unwrap();
        finish(&house, turn, "exchange.settled").await;
        (opened.id, opened.reference, house.pages.clone())
    };
    let next = House::open_with(dir.path(), limits(), pages, NOW_US);
    let turn = next.sessions.turn(&ann, Some(id.expose())).await.unwrap();
    finish(&next, turn, LOGGED).await;
    chain_is_whole(&next, &reference);
    assert_eq!(next.pages.kinds(&reference).len(), 4);
}
