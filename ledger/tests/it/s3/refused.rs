//! What a store refuses, and how it says so.

use aws_sdk_s3::{
    error::ProvideErrorMetadata,
    primitives::DateTime,
    types::{ObjectLockMode, ObjectLockRetention, ObjectLockRetentionMode},
};
use gatehouse_ledger::{
    clock::{Clock, SystemClock},
    store::{Fetcher, LedgerStore, Operation, S3, S3Error, StoreError},
};

use super::place::{Place, Server};
use crate::aws::{Emulator, Fate, Kind};

fn s3_error<T>(outcome: Result<T, StoreError>) -> S3Error {
    match outcome {
        Err(StoreError::S3(error)) => error,
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("it was done"),
    }
}

#[test]
fn a_bucket_that_can_hold_no_log() {
    for server in Server::ALL {
        let place = Place::with(server, false);
        let open = || s3_error(place.try_writer(&place.keeping()));
        assert_eq!(open(), S3Error::NoVersions, "{server:?}");
        place.keep_versions();
        assert_eq!(open(), S3Error::NoLock, "{server:?}");
        let mut nowhere = Place::with(server, false);
        nowhere.bucket.name = "not-there".into();
        let refused = s3_error(nowhere.try_writer(&nowhere.keeping()));
        assert_eq!(refused, S3Error::NoBucket, "{server:?}");
        let refused = s3_error(nowhere.reader().list(""));
        assert_eq!(refused, S3Error::NoBucket, "{server:?}");
    }
}

#[test]
fn who_may_not_and_who_is_not_there() {
    let place = Place::new(Server::RadosGw);
    let sdk = place.sdk_with(("test", "wrong"));
    let denied = s3_error(
        S3::reader_with(&sdk, place.bucket.clone())
            .unwrap()
            .list(""),
    );
    let code = "SignatureDoesNotMatch".to_owned();
    let operation = Operation::ListVersions;
    assert_eq!(denied, S3Error::Denied { operation, code });
    place.front.set(Fate::Cut);
    let gone = s3_error(place.reader().list(""));
    assert!(matches!(gone, S3Error::Unreachable { .. }), "{gone:?}");
    place.front.set(Fate::Refused(503, "SlowDown"));
    let busy = s3_error(place.reader().list(""));
    assert!(
        matches!(busy, S3Error::NotReady { status: 503, .. }),
        "{busy:?}"
    );
}

/// MiniStack checks the rights of users that its IAM made.
#[test]
fn a_writer_without_the_right_to_list_versions_is_refused_at_the_start() {
    let place = Place::new(Server::MiniStack);
    let allowed = |actions: &str| {
        let policy = format!(
            r#"{{"Version":"2012-10-17","Statement":[{{"Effect":"Allow","Action":{actions},"Resource":"*"}}]}}"#
        );
        let name = format!("u{}", actions.len());
        let user = Emulator::shared(Kind::MiniStack).user(&name, &policy);
        let sdk = place.sdk_with((&user.access_key, &user.secret_key));
        let clock = std::sync::Arc::new(SystemClock::new());
        let store = S3::writer_with(&sdk, place.bucket.clone(), place.keeping(), clock)?;
        store.put_once("log/a", b"a")
    };
    let all = r#""s3:GetBucketVersioning","s3:GetBucketObjectLockConfiguration","s3:PutObject","s3:PutObjectRetention","s3:GetObject","s3:GetObjectVersion","s3:GetObjectRetention""#;
    let refused = s3_error(allowed(&format!("[{all}]")));
    let denied = matches!(&refused, S3Error::Denied { operation, .. } if *operation == Operation::ListVersions);
    assert!(denied, "{refused:?}");
    allowed(&format!(r#"[{all},"s3:ListBucketVersions"]"#)).unwrap();
}

/// The lock that the store asks for is one that this server really holds up.
#[test]
fn nobody_removes_what_was_stored() {
    let place = Place::new(Server::RadosGw);
    place.writer().put_once("log/a", b"a").unwrap();
    let (versions, _) = place.versions("log/a");
    let key = "gatehouse/v1/log/a";
    place.ask(async |client, bucket| {
        let delete = client.delete_object().bucket(bucket).key(key);
        let delete = delete.version_id(&versions[0]);
        for bypass in [false, true] {
            let refused = delete
                .clone()
                .bypass_governance_retention(bypass)
                .send()
                .await;
            assert_eq!(refused.unwrap_err().code(), Some("AccessDenied"));
        }
        for (mode, seconds) in [
            (ObjectLockRetentionMode::Compliance, 60),
            (ObjectLockRetentionMode::Governance, 9 * 86_400),
        ] {
            let now = SystemClock::new().now().unix_us / 1_000_000;
            let until = DateTime::from_secs(i64::try_from(now).unwrap() + seconds);
            let other = ObjectLockRetention::builder().mode(mode);
            let other = other.retain_until_date(until).build();
            let put = client.put_object_retention().bucket(bucket).key(key);
            let put = put.version_id(&versions[0]).retention(other);
            let put = put.bypass_governance_retention(true);
            assert!(put.send().await.is_err());
        }
        let head = client.head_object().bucket(bucket).key(key).send().await;
        let mode = head.unwrap().object_lock_mode().cloned();
        assert_eq!(mode, Some(ObjectLockMode::Compliance));
    });
}

/// A server that takes an object and leaves its lock away is found out by the first put.
#[test]
fn a_lock_that_was_not_taken() {
    let place = Place::new(Server::RadosGw);
    place
        .front
        .rule(|sent| match sent.head.starts_with("HEAD ") {
            true => Fate::Refused(200, ""),
            false => Fate::Passes,
        });
    assert_eq!(
        s3_error(place.writer().put_once("log/a", b"a")),
        S3Error::NotLocked
    );
}

#[test]
fn a_reader_puts_nothing() {
    let place = Place::new(Server::RadosGw);
    let refused = place.reader().put_once("log/a", b"a");
    assert!(matches!(refused, Err(StoreError::ReadOnly)));
    assert!(place.front.sent().is_empty());
}
