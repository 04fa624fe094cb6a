use super::*;
use crate::{
    registry::dynamodb_tests::{
        aws::{Fate, Front, Kind},
        table::{self, Table, s3_builder},
    },
    session::blobs::suite,
};

/// Parts in a bucket of their own, reached as the settings say.
pub(crate) async fn parts(settings: &DynamoDb) -> S3Blobs {
    let blobs = S3Blobs::with(s3_builder(settings).await, settings);
    let made = blobs.client.create_bucket().bucket(&blobs.bucket);
    // It may be there.
    let _made = made.send().await;
    blobs
}

/// How many objects there are.
async fn count(blobs: &S3Blobs) -> usize {
    blobs.first("").await.unwrap().len()
}

#[tokio::test]
async fn it_keeps_the_contract_also_for_who_comes_anew() {
    let table = Table::new(Kind::MiniStack).await;
    let blobs = parts(&table.settings()).await;
    blobs.check().await.unwrap();
    suite::run(&blobs).await;
    suite::is_still_there(&parts(&table.settings()).await).await;
}

#[tokio::test]
async fn a_part_is_put_once_however_often_it_is_sent() {
    let table = Table::new(Kind::MiniStack).await;
    let mut settings = table.settings();
    let direct = parts(&settings).await;
    let front = Front::to(table.port());
    settings.parts_endpoint = Some(front.endpoint());
    let blobs = parts(&settings).await;
    let part = || Sealed::from_store(b"part".to_vec());
    for fate in [Fate::Cut, Fate::Swallowed, Fate::Refused(503, "SlowDown")] {
        front.rule(table::once(fate.clone()));
        let name = format!("s_a/t/1/{fate:?}");
        blobs.put(&name, part(), 0).await.unwrap();
        let there = direct.get(&name).await.unwrap().unwrap();
        assert_eq!(there.as_bytes(), b"part");
    }
    let sent = front.sent();
    let mut puts = sent
        .iter()
        .filter(|it| it.head.starts_with("PUT /sessions"));
    assert!(puts.all(|put| put.header("if-none-match") == Some("*") || put.body.is_empty()));
    // Away, and back.
    front.set(Fate::Cut);
    let away = blobs.get("s_a/t/1/x").await;
    assert!(matches!(away, Err(StoreError::Unavailable(_))));
    front.set(Fate::Passes);
    assert!(blobs.get("s_a/t/1/x").await.unwrap().is_none());
    blobs.remove("s_a/").await.unwrap();
    assert_eq!(count(&direct).await, 0);
}

#[tokio::test]
async fn a_bucket_that_is_not_there_is_told_at_the_start() {
    let table = Table::new(Kind::MiniStack).await;
    let settings = table.settings();
    let none = S3Blobs::with(s3_builder(&settings).await, &settings);
    let why = none.check().await.unwrap_err().to_string();
    assert!(why.contains("NoSuchBucket"), "{why}");
}

#[test]
fn parts_that_no_version_wrote_are_refused() {
    assert_eq!(decode(b"1part").unwrap().as_bytes(), b"part");
    for damaged in [&b""[..], b"\x01part", b"0part"] {
        assert!(matches!(decode(damaged), Err(StoreError::Damaged)));
    }
    assert!(matches!(decode(b"2part"), Err(StoreError::Newer)));
}

impl S3Blobs {
    /// The names of all objects.
    pub(crate) async fn names(&self) -> Vec<String> {
        let objects = self.client.list_objects_v2().bucket(&self.bucket);
        let listed = objects.send().await.unwrap().contents.unwrap_or_default();
        listed.into_iter().filter_map(|object| object.key).collect()
    }
}
