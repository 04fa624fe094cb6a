//! A whole gateway over Redis: what a turn costs the server, and a meter that fails or loses something.

use redis::cmd;
use serde_json::Value;

use super::house::{ADMITTED, House, count, settled};
use crate::config::Store;
use crate::registry::redis_tests::{Kind, Server};

async fn house(server: &Server) -> House {
    let settings = server.settings();
    House::open(|config| config.store = Store::Redis(settings.into())).await
}

/// How often the server has run a command since [`forget`].
fn calls(server: &Server, name: &str) -> u64 {
    let stats: String = cmd("INFO")
        .arg("commandstats")
        .query(&mut server.admin())
        .unwrap();
    let line = stats.lines().find_map(|line| line.strip_prefix(name));
    let calls = line.and_then(|line| line.split(['=', ',']).nth(1));
    calls.map_or(0, |calls| calls.parse().unwrap())
}

fn forget(server: &Server) {
    cmd("CONFIG")
        .arg("RESETSTAT")
        .exec(&mut server.admin())
        .unwrap();
}

/// The key under which the session's tokens are counted.
fn account(server: &Server) -> String {
    let found: Vec<String> = cmd("KEYS")
        .arg("*:meter:s_*")
        .query(&mut server.admin())
        .unwrap();
    let [account] = <[String; 1]>::try_from(found).unwrap();
    account
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_costs_six_scripts_in_three_round_trips() {
    let server = Server::start(Kind::Plain);
    let house = house(&server).await;
    let session = house.session().await;
    // The first one tells the server the scripts, and this process whose the session is.
    for streamed in [false, true, false] {
        forget(&server);
        let answer = house.ask(&session, streamed).await;
        assert!(answer.head.starts_with("HTTP/1.1 200"), "{}", answer.body);
    }
    // The lease and the key, together; the admission and what it sets aside, together; the settlement
    // of both, together.
    let scripts = ["cmdstat_evalsha:", "cmdstat_eval:"].map(|name| calls(&server, name));
    assert_eq!(scripts, [6, 0]);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_meter_that_cannot_be_read_lets_nothing_through() {
    let server = Server::start(Kind::Plain);
    let house = house(&server).await;
    let session = house.session().await;
    house.ask(&session, false).await;
    let account = account(&server);
    let format = |format: &str| {
        let mut set = cmd("HSET");
        set.arg(&account).arg("format").arg(format);
        set.exec(&mut server.admin()).unwrap();
    };
    format("x");
    house
        .ask(&session, false)
        .await
        .is("503", "budget_unavailable");
    format("1");
    let next = house.ask(&session, true).await;
    assert!(next.head.starts_with("HTTP/1.1 200"), "{}", next.body);
    let (_, records) = house.close().await;
    // It was never admitted, and its number in the session is the refusal's.
    assert_eq!(count(&records, ADMITTED), 2);
    let of_session = records.iter().filter(|record| record["sid"].is_string());
    let numbers: Vec<_> = of_session
        .map(|record| record["sseq"].as_u64().unwrap())
        .collect();
    assert_eq!(numbers, (0..6).collect::<Vec<_>>());
    let refused = records
        .iter()
        .find(|record| record["kind"] == "exchange.refused");
    assert_eq!(refused.unwrap()["sseq"], 3);
}

/// Tokens that the meter has lost count again: the session's own state knows them.
#[tokio::test(flavor = "multi_thread")]
async fn what_the_meter_lost_counts_again_and_is_recorded() {
    let server = Server::start(Kind::Plain);
    let house = house(&server).await;
    let session = house.session().await;
    house.ask(&session, false).await;
    let account = account(&server);
    let spent = || -> u64 {
        let mut get = cmd("HGET");
        get.arg(&account)
            .arg("spent")
            .query(&mut server.admin())
            .unwrap()
    };
    let before = spent();
    assert!(before > 0);
    let mut set = cmd("HSET");
    set.arg(&account).arg("spent").arg(1);
    set.exec(&mut server.admin()).unwrap();
    house.ask(&session, false).await;
    assert!(spent() > before);
    let (_, records) = house.close().await;
    let budgets: Vec<Value> = settled(&records)
        .iter()
        .map(|it| it["budget"].clone())
        .collect();
    assert_eq!(budgets[0]["settled_tokens"], before);
    assert_eq!(budgets[0].get("missing_tokens"), None);
    assert_eq!(budgets[1]["missing_tokens"], before - 1);
}
