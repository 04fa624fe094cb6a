//! Sessions in DynamoDB: what a turn costs, what a table that was put back leaves, and what is left of a
//! session that has ended.

use super::{
    redis::{Process, Stores},
    *,
};
use crate::{
    config::DynamoDb,
    registry::{
        DynamoRegistry,
        dynamodb_tests::{
            aws::Kind,
            table::{self, Table},
        },
    },
    session::{blobs::s3_tests, index::DynamoIndex, store::DynamoStore},
};

async fn process(table: &Table, settings: &DynamoDb, dir: &std::path::Path) -> Process {
    let link = table.link_by(settings).await;
    let blobs = Arc::new(s3_tests::parts(settings).await);
    let stores = Stores {
        store: Arc::new(DynamoStore::new(link.clone(), blobs.clone())),
        registry: Arc::new(DynamoRegistry::new(link.clone())),
        blobs,
        index: Arc::new(DynamoIndex::new(link)),
    };
    let name = random::name("outbox_").unwrap();
    Process::over(stores, table::now_us(), dir, &name)
}

#[tokio::test]
async fn a_turn_costs_four_calls_in_three_round_trips() {
    let (dir, table) = (
        tempfile::tempdir().unwrap(),
        Table::new(Kind::MiniStack).await,
    );
    let (front, settings) = table.front();
    let one = process(&table, &settings, dir.path()).await;
    let ann = caller("ann", "t");
    let opened = one.sessions.open(&ann).await.unwrap();
    let id = opened.id.expose();
    // The first one tells this process whose the session is.
    one.exchange(&ann, id).await.unwrap();
    let before = front.sent().len();
    one.exchange(&ann, id).await.unwrap();
    let calls = front.sent().split_off(before);
    let mut calls: Vec<_> = calls
        .iter()
        .map(|call| call.operation().to_owned())
        .collect();
    // The lease and the key, sent together; the admission; the settlement.
    calls[..2].sort();
    assert_eq!(calls, ["GetItem", "UpdateItem", "UpdateItem", "UpdateItem"]);
}

#[tokio::test]
async fn to_find_a_session_costs_the_same_whosever_it_is_and_if_there_is_none() {
    let (dir, table) = (
        tempfile::tempdir().unwrap(),
        Table::new(Kind::MiniStack).await,
    );
    let (front, settings) = table.front();
    let one = process(&table, &settings, dir.path()).await;
    let (ann, bob) = (caller("ann", "t"), caller("bob", "t"));
    let opened = one.sessions.open(&ann).await.unwrap().reference;
    let closed = one.sessions.open(&ann).await.unwrap().reference;
    one.sessions.close(&ann, &closed).await.unwrap();
    let mut none = opened.clone();
    none.replace_range(2..10, "aaaaaaaa");
    let mut costs = Vec::new();
    for (caller, reference) in [
        (&ann, &opened),
        (&bob, &opened),
        (&ann, &closed),
        (&ann, &none),
    ] {
        let before = front.sent().len();
        let found = one.sessions.state(caller, reference, &()).await;
        assert_eq!(found.is_ok(), costs.is_empty(), "only the first");
        costs.push(front.sent().len() - before);
    }
    assert!(costs.iter().all(|cost| *cost == costs[0]), "{costs:?}");
}

/// As after a restore from a backup: what was written since is gone.
#[tokio::test]
async fn a_table_that_was_put_back_is_noticed_and_its_sessions_not_gone_on_with() {
    let (dir, table) = (
        tempfile::tempdir().unwrap(),
        Table::new(Kind::MiniStack).await,
    );
    let settings = table.settings();
    let one = process(&table, &settings, dir.path()).await;
    let two = process(&table, &settings, dir.path()).await;
    let ann = caller("ann", "t");
    let [lost, kept] = [
        one.sessions.open(&ann).await.unwrap(),
        one.sessions.open(&ann).await.unwrap(),
    ];
    one.exchange(&ann, lost.id.expose()).await.unwrap();
    one.exchange(&ann, kept.id.expose()).await.unwrap();
    let backup = table.items().await;
    one.exchange(&ann, lost.id.expose()).await.unwrap();
    let client = table.client().await;
    for item in backup {
        let put = client.put_item().table_name(&settings.table);
        put.set_item(Some(item)).send().await.unwrap();
    }
    for process in [&one, &two, &one] {
        let refused = process.exchange(&ann, lost.id.expose()).await;
        assert!(matches!(refused, Err(SessionError::RolledBack(_))));
    }
    two.exchange(&ann, kept.id.expose()).await.unwrap();
}

#[tokio::test]
async fn of_a_session_that_has_ended_nothing_is_left_but_how_it_ended() {
    let (dir, table) = (
        tempfile::tempdir().unwrap(),
        Table::new(Kind::MiniStack).await,
    );
    let settings = table.settings();
    let one = process(&table, &settings, dir.path()).await;
    let ann = caller("ann", "t");
    let opened = one.sessions.open(&ann).await.unwrap();
    one.exchange(&ann, opened.id.expose()).await.unwrap();
    let kinds = async || {
        let items = table.items().await;
        let partitions = items.iter().map(|item| item["pk"].as_s().unwrap().clone());
        let mut kinds: Vec<_> = partitions
            .filter_map(|partition| Some(partition.split_once('#')?.0.to_owned()))
            .filter(|kind| kind != "tenant_keys" && kind != "log_keys")
            .collect();
        kinds.sort();
        kinds
    };
    assert_eq!(kinds().await, ["session", "session_keys"]);
    one.sessions.close(&ann, &opened.reference).await.unwrap();
    assert_eq!(kinds().await, ["ended"]);
    assert!(s3_tests::parts(&settings).await.names().await.is_empty());
}
