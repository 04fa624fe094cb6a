//! Whatever fails, every exchange that the log has as admitted is settled, and the log verifies as what
//! it is.

mod budget;
mod house;

use std::sync::Arc;
use std::time::Duration;

use gatehouse_ledger::verify::Verdict;
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;

use self::house::{ADMITTED, House, SETTLED, Wrong, count, settled, verdict};
use crate::config::Config;
use crate::session::store::faulty::Fault;

#[tokio::test(flavor = "multi_thread")]
async fn the_store_fails_at_the_admission() {
    for (fault, status, code) in [
        (Fault::Fails, "503", "session_unavailable"),
        (Fault::FailsButPersists, "503", "session_unavailable"),
        (Fault::Overtaken, "409", "session_conflict"),
    ] {
        let house = House::open(|_| {}).await;
        let session = house.session().await;
        house.store.break_next(fault);
        house.ask(&session, false).await.is(status, code);
        // The session goes on as if nothing had been.
        for streamed in [false, true] {
            let next = house.ask(&session, streamed).await;
            assert!(next.head.starts_with("HTTP/1.1 200"), "{}", next.body);
        }
        let (verdict, records) = house.close().await;
        let settled = settled(&records);
        assert_eq!(settled.len(), 3);
        assert_eq!(settled[0]["attempts"], 0, "nothing was sent");
        assert_eq!(settled[0]["status"].to_string(), status);
        assert_eq!(settled[0]["ending"], "error");
        let outside = fault == Fault::Overtaken;
        assert_eq!(settled[0].get("outside").is_some(), outside);
        assert_eq!(settled[0].get("sid").is_none(), outside);
        assert_eq!(count(&records, "audit.gap"), 0);
        assert_eq!(verdict, Verdict::Holds, "{fault:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_fails_at_the_admission() {
    for (wrong, exchanges) in [
        (Wrong::Refusal, 1),
        (Wrong::LateRefusal, 1),
        (Wrong::Late, 2),
    ] {
        let house = House::open(|_| {}).await;
        let session = house.session().await;
        *house.log.next.lock() = Some((ADMITTED, wrong));
        house
            .ask(&session, false)
            .await
            .is("503", "audit_unavailable");
        let next = house.ask(&session, false).await;
        assert!(next.head.starts_with("HTTP/1.1 200"), "{}", next.body);
        let (verdict, records) = house.close().await;
        let settled = settled(&records);
        assert_eq!(settled.len(), exchanges);
        if exchanges == 2 {
            assert_eq!(settled[0]["attempts"], 0);
            assert_eq!(settled[0]["status"], 503);
        }
        assert_eq!(count(&records, "audit.gap"), 0);
        assert_eq!(verdict, Verdict::Holds);
    }
}

/// A refusal that has no session is in nobody's chain, and in the log all the same.
#[tokio::test(flavor = "multi_thread")]
async fn the_log_is_late_for_refusals() {
    let house = House::open(|config| config.ledger.append_timeout = Duration::ZERO).await;
    for _ in 0..3 {
        let body = json!({"model": "none", "session_id": "gs_unknown", "messages": []});
        house
            .post("/v1/chat/completions", &body)
            .await
            .is("404", "session_not_found");
    }
    let (verdict, records) = house.close().await;
    assert_eq!(count(&records, "exchange.refused"), 3);
    assert_eq!(verdict, Verdict::Holds);
}

/// The provider has answered, so the caller is not told that nothing was sent, nor to try again.
#[tokio::test(flavor = "multi_thread")]
async fn store_or_log_fails_at_the_settlement() {
    for streamed in [false, true] {
        for broken in 0..5 {
            let house = House::open(|_| {}).await;
            let session = house.session().await;
            match broken {
                0 => house.store.break_second(Fault::Fails),
                1 => house.store.break_second(Fault::FailsButPersists),
                2 => *house.log.next.lock() = Some((SETTLED, Wrong::Refusal)),
                3 => *house.log.next.lock() = Some((SETTLED, Wrong::LateRefusal)),
                _ => *house.log.next.lock() = Some((SETTLED, Wrong::Late)),
            }
            let answer = house.ask(&session, streamed).await;
            if streamed {
                answer.is("200", "reply_unrecorded");
                assert!(!answer.body.contains("[DONE]"), "{}", answer.body);
            } else {
                answer.is("503", "reply_unrecorded");
                assert!(
                    answer.head.contains("x-should-retry: false"),
                    "{}",
                    answer.head
                );
            }
            let next = house.ask(&session, streamed).await;
            assert!(next.head.starts_with("HTTP/1.1 200"), "{}", next.body);
            let (verdict, records) = house.close().await;
            let settled = settled(&records);
            assert_eq!(settled.len(), 2, "{broken}");
            assert_eq!(
                (&settled[0]["attempts"], &settled[0]["ending"]),
                (&1.into(), &"done".into())
            );
            assert_eq!(verdict, Verdict::Holds, "{broken}");
        }
    }
}

/// A provider that takes requests and says nothing.
async fn silent_provider() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    (listener, url)
}

fn to(config: &mut Config, url: &str) {
    for provider in &mut config.providers {
        *provider = Arc::new(crate::config::Provider {
            name: provider.name.clone(),
            protocol: crate::config::Protocol::OpenAi,
            models: provider.models.clone(),
            base_url: url.parse().ok(),
            api_key: None,
        });
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_breaks_off_leaves_its_exchange_settled() {
    for panics in [true, false] {
        let (provider, url) = silent_provider().await;
        let house = House::open(|config| {
            to(config, &url);
            config.sessions.lease = Duration::from_millis(30);
        })
        .await;
        let session = house.session().await;
        let gateway = Arc::clone(house.running.gateway());
        let breaking = async {
            let _asked = provider.accept().await.unwrap();
            if panics {
                house.store.break_next(Fault::Panics);
            } else {
                gateway.abandoned.cancel();
            }
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = breaking => {}
            answer = house.ask(&session, false) => answer.is("500", "internal"),
        }
        let (verdict, records) = house.close().await;
        let settled = settled(&records);
        assert_eq!(settled.len(), 1);
        assert_eq!(
            (&settled[0]["status"], &settled[0]["ending"]),
            (&500.into(), &"error".into())
        );
        assert!(settled[0]["outside"]["session"].is_string());
        assert_eq!(verdict, Verdict::Holds);
    }
}

/// Log and store end as a crash would leave them if the store is behind when the gateway stops, and
/// the next start brings them together.
#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_is_behind_at_the_end_is_brought_up_by_the_next_start() {
    let house = House::open(|_| {}).await;
    let session = house.session().await;
    house.store.break_next(Fault::Fails);
    house
        .ask(&session, false)
        .await
        .is("503", "session_unavailable");
    house.store.break_always();
    let House {
        running,
        token,
        store,
        log,
        data,
    } = house;
    running.stop().await;
    drop((store, log));
    // Its stream is left open, as its seals say too.
    assert_eq!(verdict(data.path()), Verdict::Holds);

    let again = House::open_in(data, Some(token), |_| {}).await;
    let next = again.ask(&session, false).await;
    assert!(next.head.starts_with("HTTP/1.1 200"), "{}", next.body);
    let (verdict, records) = again.close().await;
    assert_eq!(settled(&records).len(), 2);
    assert_eq!(count(&records, "audit.gap"), 0);
    assert_eq!(verdict, Verdict::Holds);
}

/// What a caller asked for in a session is ended though it hangs up: no turn is left behind.
#[tokio::test(flavor = "multi_thread")]
async fn a_caller_hangs_up_while_its_session_is_closed() {
    let house = House::open(|_| {}).await;
    let opened = house.post("/v1/sessions", &json!({})).await;
    let opened: serde_json::Value = serde_json::from_str(&opened.body).unwrap();
    let reference = opened["reference"].as_str().unwrap();
    house.store.slow(true);
    let (address, token) = (house.running.address(), &house.token);
    let request = format!(
        "DELETE /v1/sessions/{reference} HTTP/1.1\r\nhost: gate\r\nauthorization: Bearer {token}\r\n\r\n"
    );
    let mut caller = tokio::net::TcpStream::connect(address).await.unwrap();
    caller.write_all(request.as_bytes()).await.unwrap();
    while house.store.under_way() == 0 {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    caller.set_zero_linger().unwrap();
    drop(caller);
    tokio::time::sleep(Duration::from_millis(200)).await;
    house.store.slow(false);
    let (verdict, records) = house.close().await;
    assert_eq!(count(&records, "session.close"), 1);
    assert_eq!(verdict, Verdict::Holds);
}
