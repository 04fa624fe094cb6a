use super::*;
use crate::config::{Config, Environment, Overrides};

fn parse(ledger: &str) -> Result<Ledger, String> {
    let text = format!(
        "config_version = 1\n[[provider]]\nname = 'e'\nprotocol = 'echo'\n[ledger]\n{ledger}"
    );
    let surroundings = Environment::new(|_| None, "");
    Config::parse(&text, &Overrides::default(), &surroundings)
        .map(|config| config.ledger)
        .map_err(|faults| faults.to_string())
}

#[cfg(feature = "aws")]
fn bucket(ledger: &str) -> LogBucket {
    match parse(&format!("store = 's3'\n{ledger}")).unwrap().store {
        LogStore::S3(bucket) => (*bucket).clone(),
        LogStore::Dir => panic!("a bucket"),
    }
}

#[cfg(feature = "aws")]
#[test]
fn a_bucket_with_its_defaults_and_with_everything() {
    let usual = bucket("bucket = 'acme-log'");
    assert_eq!(usual.prefix, "gatehouse/v1");
    assert_eq!(usual.retention_days, 400);
    assert_eq!((usual.region, usual.endpoint), (None, None));
    let all = bucket(
        "bucket = 'acme-log'\nprefix = ''\nregion = 'eu-central-1'\nretention_days = 2557\n\
         endpoint = 'https://bucket.vpce-1.s3.eu-central-1.vpce.amazonaws.com'\n\
         kms_key_id = 'arn:aws:kms:eu-central-1:111122223333:key/1234-ab'\n\
         expected_owner = '111122223333'\nconnect_timeout = '1s'\ntimeout = '9s'",
    );
    assert_eq!((all.prefix.as_str(), all.retention_days), ("", 2557));
    assert_eq!(all.expected_owner.as_deref(), Some("111122223333"));
    assert_eq!(all.timeout, Duration::from_secs(9));
}

#[cfg(feature = "aws")]
#[test]
fn faults_of_a_bucket_have_their_places() {
    let faults = parse(
        "store = 's3'\nbucket = 'A'\nprefix = '/x'\nregion = 'eu central'\n\
         endpoint = 'http://s3.example.org'\nretention_days = 0\nkms_key_id = ''\n\
         expected_owner = '1'\ntimeout = '0s'\nspool = '8MiB'",
    );
    let faults = faults.unwrap_err();
    for place in [
        "bucket",
        "prefix",
        "region",
        "endpoint",
        "retention_days",
        "kms_key_id",
        "expected_owner",
        "timeout",
        "spool",
    ] {
        assert!(
            faults.contains(&format!("ledger.{place}: ")),
            "{place} in {faults}"
        );
    }
    let missing = parse("store = 's3'").unwrap_err();
    assert!(missing.contains("ledger.bucket: is missing"), "{missing}");
}

#[test]
fn what_has_no_meaning_is_a_fault() {
    let vain = parse("bucket = 'acme-log'\nretention_days = 9").unwrap_err();
    for place in ["bucket", "retention_days"] {
        assert!(
            vain.contains(&format!("ledger.{place}: has a meaning only")),
            "{vain}"
        );
    }
    assert!(
        parse("store = 'tape'")
            .unwrap_err()
            .contains("ledger.store: ")
    );
}

#[cfg(feature = "aws")]
#[test]
fn who_waits_for_a_bucket_has_more_time() {
    let strict = "store = 's3'\nbucket = 'acme-log'\nmode = 'strict'";
    let timeout = |ledger: &str| parse(ledger).unwrap().append_timeout;
    assert_eq!(timeout(strict), Duration::from_secs(2));
    assert_eq!(timeout("mode = 'strict'"), Duration::from_millis(250));
    let said = format!("{strict}\nappend_timeout = '300ms'");
    assert_eq!(timeout(&said), Duration::from_millis(300));
}

#[test]
fn endpoints() {
    for good in [
        "https://s3.example.org",
        "https://s3.example.org:9000/",
        "http://127.0.0.1:7480",
        "http://[::1]:7480",
        "http://localhost",
    ] {
        assert_eq!(endpoint_fits(good, false), Ok(()), "{good}");
    }
    for bad in [
        "",
        "s3.example.org",
        "ftp://s3",
        "http://s3.example.org",
        "https://u:p@s3.example.org",
        "https://s3.example.org/bucket",
        "https://s3.example.org?x",
    ] {
        assert!(endpoint_fits(bad, false).is_err(), "{bad}");
    }
    assert_eq!(endpoint_fits("http://s3.example.org", true), Ok(()));
}
