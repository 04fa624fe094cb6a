use std::time::Duration;

use super::*;
use crate::{
    registry::dynamodb_tests::{
        aws::{Fate, Kind},
        table::{self, Table},
    },
    session::index::suite::{self, Time},
};

impl Time for Table {
    fn now_us(&self) -> i64 {
        table::now_us()
    }

    fn advance(&self, by: Duration) {
        tokio::task::block_in_place(|| self.advance_now(by));
    }
}

fn named(reference: &str) -> Named {
    Named {
        name: "n".to_owned(),
        reference: reference.to_owned(),
        expires_us: table::now_us() + 60_000_000,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_keeps_the_contract() {
    for kind in [Kind::MiniStack, Kind::Moto] {
        let table = Table::new(kind).await;
        suite::run(&DynamoIndex::new(table.link().await), &table).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_who_write_one_name_at_once_none_is_lost() {
    let table = Table::new(Kind::MiniStack).await;
    let index = Arc::new(DynamoIndex::new(table.link().await));
    let mut writers = tokio::task::JoinSet::new();
    for n in 0..8 {
        let index = Arc::clone(&index);
        writers.spawn(async move { index.add(named(&format!("s_{n}"))).await });
    }
    while let Some(done) = writers.join_next().await {
        done.unwrap().unwrap();
    }
    let found = index.find("n").await.unwrap();
    assert_eq!((found.references.len(), found.crowded), (8, false));
}

#[tokio::test]
async fn a_lost_answer_is_no_second_entry_and_what_cannot_be_read_may_be_anybodys() {
    let table = Table::new(Kind::MiniStack).await;
    let (front, settings) = table.front();
    let index = DynamoIndex::new(table.link_by(&settings).await);
    front.rule(table::once(Fate::Swallowed));
    index.add(named("s_a")).await.unwrap();
    assert_eq!(front.count("PutItem"), 2);
    assert_eq!(index.find("n").await.unwrap().references, ["s_a"]);
    let client = table.client().await;
    for (attribute, value) in [(FORMAT, number(2)), (REFERENCES, number(1))] {
        let mut item = table.items().await.remove(0);
        item.insert(attribute.to_owned(), value);
        let put = client.put_item().table_name(&settings.table);
        put.set_item(Some(item.clone())).send().await.unwrap();
        index.add(named("s_b")).await.unwrap();
        let found = index.find("n").await.unwrap();
        assert!(found.crowded && found.references.is_empty());
        assert_eq!(table.items().await, [item], "left as it is");
    }
}
