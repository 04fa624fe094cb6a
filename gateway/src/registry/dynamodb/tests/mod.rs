//! Tests on emulators, and what tests of other modules need of them.

#[path = "../../../../../envelope/tests/it/aws/mod.rs"]
pub(crate) mod aws;
pub(crate) mod table;
mod time;

use std::time::Duration;

use self::{
    aws::{Emulator, Fate, Kind},
    table::{Table, make_table},
};
use super::*;
use crate::registry::suite;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_registry_does_what_every_registry_must() {
    for kind in [Kind::MiniStack, Kind::Moto] {
        let table = Table::new(kind).await;
        let registry = DynamoRegistry::new(table.link().await);
        let advance = |by| tokio::task::block_in_place(|| table.advance_now(by));
        suite::run(&registry, &advance).await;
    }
}

/// What was done although its answer was lost is known again, whoever asks.
#[tokio::test]
async fn a_lost_answer_is_found_out() {
    let table = Table::new(Kind::MiniStack).await;
    let (front, settings) = table.front();
    let registry = DynamoRegistry::new(table.link_by(&settings).await);
    let put = |expected, value: &[u8]| Put::new(expected, value.to_vec(), Durable::Now);
    let kind = crate::registry::Table::SessionKeys;
    front.rule(table::once(Fate::Swallowed));
    let first = registry.put_if(kind, "s_a/t/1", put(Expected::Absent, b"one"));
    assert!(first.await.unwrap());
    assert_eq!(front.count("PutItem"), 2);
    // The very same bytes of somebody else are not his own.
    let same = registry.put_if(kind, "s_a/t/1", put(Expected::Absent, b"one"));
    assert!(!same.await.unwrap());
    front.rule(table::once(Fate::Swallowed));
    let next = put(Expected::Value(b"one".to_vec()), b"two");
    assert!(registry.put_if(kind, "s_a/t/1", next).await.unwrap());
    // To delete is not sent again: the second attempt would say that there was nothing.
    front.rule(table::once(Fate::Swallowed));
    let deleted = registry.delete(kind, "s_a/t/1", Durable::Now).await;
    assert!(matches!(deleted, Err(RegistryError::Unavailable(_))));
    assert!(registry.get(kind, "s_a/t/1").await.unwrap().is_none());
    assert_eq!(front.count("DeleteItem"), 1);
}

#[tokio::test]
async fn a_table_is_looked_at_before_it_is_used() {
    let table = Table::new(Kind::MiniStack).await;
    table.link().await.check().await.unwrap();
    table.link().await.ping().await.unwrap();
    let why = async |name: &str| {
        let mut settings = table.settings();
        settings.table = name.to_owned();
        let link = table.link_by(&settings).await;
        link.check().await.unwrap_err().to_string()
    };
    let missing = why("no-such-table").await;
    assert!(missing.contains("no such table"), "{missing}");
    let client = table.client().await;
    let other = table.name("other-keys");
    make_table(&client, &other, ["id", "sk"], "let_go_s").await;
    let keys = why(&other).await;
    assert!(
        keys.contains("its keys must be pk (S) and sk (S)"),
        "{keys}"
    );
    let ends = table.name("other-ttl");
    make_table(&client, &ends, ["pk", "sk"], "ends_us").await;
    let ttl = why(&ends).await;
    assert!(ttl.contains("goes by ends_us, not by let_go_s"), "{ttl}");
    // Nobody there.
    let (front, settings) = table.front();
    front.set(Fate::Cut);
    let away = table.link_by(&settings).await.check().await;
    let away = away.unwrap_err().to_string();
    assert!(away.starts_with("dynamodb could not be reached"), "{away}");
}

/// The role that terraform makes may do what the gateway does, and nothing else.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_role_of_the_terraform_module_is_enough() {
    let table = Table::new(Kind::MiniStack).await;
    let policy = table.policy();
    let user = Emulator::shared(Kind::MiniStack).user(&table.name("gateway"), &policy);
    let link = table.link_as(&user).await;
    link.check().await.unwrap();
    let registry = DynamoRegistry::new(link);
    let advance = |by| tokio::task::block_in_place(|| table.advance_now(by));
    suite::run(&registry, &advance).await;
    let client = table.client_as(&user).await;
    let delete = client.delete_table().table_name(&table.settings().table);
    assert!(delete.send().await.is_err(), "it may not delete the table");
    let scan = client.scan().table_name(&table.settings().table);
    assert!(scan.send().await.is_err(), "it never scans");
}

/// Ends go by DynamoDB's clock, not by a gateway's that is wrong.
#[tokio::test]
async fn a_gateway_with_a_wrong_clock_takes_nothing_for_ended() {
    let table = Table::new(Kind::MiniStack).await;
    let hour = Duration::from_secs(3600);
    for wrong_us in [0, later(table::now_us(), 999 * hour)] {
        let clock = Arc::new(crate::clock::TestClock::new(wrong_us));
        let link = table.link_at(clock).await;
        link.ping().await.unwrap();
        let apart_us = link.now_us() - table::now_us();
        assert!(apart_us.abs() < 60_000_000, "{apart_us} us");
    }
}

#[tokio::test]
async fn what_is_over_is_given_to_dynamodb_to_remove_and_not_before() {
    let table = Table::new(Kind::MiniStack).await;
    let registry = DynamoRegistry::new(table.link().await);
    let kind = crate::registry::Table::Ended;
    let lasting = Put {
        lifetime: Some(Duration::from_secs(3600)),
        ..Put::new(Expected::Absent, b"x".to_vec(), Durable::Soon)
    };
    assert!(registry.put_if(kind, "s_a/t/1", lasting).await.unwrap());
    let stays = Put::new(Expected::Absent, b"x".to_vec(), Durable::Now);
    let keys = crate::registry::Table::SessionKeys;
    assert!(registry.put_if(keys, "s_a/t/1", stays).await.unwrap());
    for item in table.items().await {
        match (
            number_of::<i64>(&item, OVER),
            number_of::<i64>(&item, LET_GO),
        ) {
            (Some(over_us), Some(let_go_s)) => assert!(let_go_s > over_us / 1_000_000),
            (None, None) => assert_eq!(text_of(&item, "pk").unwrap(), "session_keys#s_a"),
            _ => panic!("one without the other"),
        }
    }
}
