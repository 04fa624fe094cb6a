//! Putting: once, whatever the server thinks of it, and with everything that keeps the object.

use std::sync::Arc;

use data_encoding::BASE64;
use gatehouse_envelope::digest::sha256;
use gatehouse_ledger::store::{Fetcher, Keeping, LedgerStore, StoreError};

use super::place::{Place, Server};
use crate::{
    aws::{Fate, Sent},
    stores,
};

fn is_put(sent: &Sent) -> bool {
    sent.head.starts_with("PUT ")
}

#[test]
fn it_is_a_store_like_any_other() {
    for server in Server::ALL {
        let place = Place::new(server);
        stores::suite(&place.writer());
        let store: Arc<dyn LedgerStore> = Arc::new(place.writer());
        stores::race(&store);
    }
}

#[test]
fn everything_that_keeps_an_object_is_sent_with_it() {
    let place = Place::new(Server::MiniStack);
    let mut keeping = place.keeping();
    keeping.retention_days = 400;
    place
        .try_writer(&keeping)
        .unwrap()
        .put_once("log/a", b"a")
        .unwrap();
    let [put] = &place
        .front
        .sent()
        .into_iter()
        .filter(is_put)
        .collect::<Vec<_>>()[..]
    else {
        panic!("one put")
    };
    let header = |name: &str| put.header(name);
    let line = put.head.lines().next().unwrap();
    let path = format!("PUT /{}/gatehouse/v1/log/a", place.bucket.name);
    assert!(line.starts_with(&path), "{line}");
    assert_eq!(header("if-none-match"), Some("*"));
    let digest = BASE64.encode(&sha256(&[b"a"]));
    assert_eq!(header("x-amz-checksum-sha256"), Some(digest.as_str()));
    assert_eq!(header("x-amz-object-lock-mode"), Some("COMPLIANCE"));
    let until = header("x-amz-object-lock-retain-until-date").unwrap();
    assert!(until.ends_with("T00:00:00Z"), "{until}");
    // Signed, so that nobody on the way can take any of it off.
    let signed = header("authorization").unwrap();
    for name in [
        "if-none-match",
        "x-amz-checksum-sha256",
        "x-amz-object-lock-mode",
        "x-amz-object-lock-retain-until-date",
    ] {
        assert!(signed.contains(name), "{name} in {signed}");
    }
    assert_eq!(put.body, b"a");
    assert_eq!(header("content-length"), Some("1"));
    assert_eq!(header("x-amz-server-side-encryption"), None);
    assert_eq!(header("x-amz-expected-bucket-owner"), None);
}

#[test]
fn encryption_and_owner_are_sent_where_they_are_set() {
    let mut place = Place::new(Server::MiniStack);
    place.bucket.expected_owner = Some("000000000000".into());
    let keeping = Keeping {
        retention_days: 1,
        kms_key_id: Some("arn:aws:kms:us-east-1:000000000000:key/k".into()),
    };
    place.front.rule(|sent| match is_put(sent) {
        true => Fate::Refused(500, "InternalError"),
        false => Fate::Passes,
    });
    let store = place.try_writer(&keeping).unwrap();
    assert!(store.put_once("log/a", b"a").is_err());
    let _ = store.get("log/a", 9);
    let sent = place.front.sent();
    for request in &sent {
        let owner = request.header("x-amz-expected-bucket-owner");
        assert_eq!(owner, Some("000000000000"), "{}", request.head);
    }
    let puts: Vec<_> = sent.into_iter().filter(is_put).collect();
    assert_eq!(puts.len(), 1, "no second try without a look");
    let header = |name: &str| puts[0].header(name).map(str::to_owned);
    assert_eq!(
        header("x-amz-server-side-encryption").as_deref(),
        Some("aws:kms")
    );
    let key = header("x-amz-server-side-encryption-aws-kms-key-id");
    assert_eq!(key, keeping.kms_key_id);
    let bucket_key = header("x-amz-server-side-encryption-bucket-key-enabled");
    assert_eq!(bucket_key.as_deref(), Some("true"));
}

/// The worst of failures: it failed, and yet it is there.
#[test]
fn a_put_whose_answer_is_lost_is_made_once() {
    for server in Server::ALL {
        let place = Place::new(server);
        let store = place.writer();
        for (fate, there) in [(Fate::Swallowed, true), (Fate::Cut, false)] {
            let name = format!("log/{there}");
            let wanted = fate.clone();
            place.front.rule(move |sent| match is_put(sent) {
                true => wanted.clone(),
                false => Fate::Passes,
            });
            assert!(store.put_once(&name, b"a").is_err());
            assert_eq!(place.versions(&name).0.len(), usize::from(there));
            place.front.set(Fate::Passes);
            let other = store.put_once(&name, b"b");
            assert_eq!(
                matches!(other, Err(StoreError::Conflict)),
                there,
                "{other:?}"
            );
            let kept = if there { b"a" } else { b"b" };
            store.put_once(&name, kept).unwrap();
            assert_eq!(store.get(&name, 9).unwrap().unwrap(), kept);
            assert_eq!(place.versions(&name).0.len(), 1, "{server:?} {fate:?}");
        }
    }
}

/// Somebody was there before, whom the server does not hold up.
#[test]
fn what_was_there_before_is_what_counts() {
    for server in Server::ALL {
        let place = Place::new(server);
        place.writer().put_once("log/a", b"theirs").unwrap();
        let ours = place.writer().put_once("log/a", b"ours");
        assert!(
            matches!(ours, Err(StoreError::Conflict)),
            "{server:?} {ours:?}"
        );
        place.writer().put_once("log/a", b"theirs").unwrap();
        assert_eq!(place.reader().get("log/a", 9).unwrap().unwrap(), b"theirs");
    }
}
