use super::*;
use crate::config::{Config, Environment, Overrides};

fn parse(base: &Path, ledger: &str, payloads: &str) -> Result<Option<Arc<Payloads>>, String> {
    let text = format!(
        "config_version = 1\ndata_dir = 'data'\n[[provider]]\nname = 'e'\nprotocol = 'echo'\n\
         [ledger]\n{ledger}\n{payloads}"
    );
    let surroundings = Environment::new(|_| None, base);
    Config::parse(&text, &Overrides::default(), &surroundings)
        .map(|config| config.ledger.payloads)
        .map_err(|faults| faults.to_string())
}

#[test]
fn off_unless_asked_for_and_with_defaults() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(parse(dir.path(), "", "").unwrap(), None);
    let asked = "[ledger.payloads]\nplace = 'data/payloads'";
    let payloads = parse(dir.path(), "", asked).unwrap().unwrap();
    let folder = dir.path().join("data/payloads");
    assert_eq!(payloads.place, PayloadPlace::Dir(folder));
    assert_eq!(payloads.retention_days, 30);
    assert_eq!(payloads.reply, KeptReply::Received);
}

#[test]
fn a_folder_apart_from_the_logs() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join("data/ledger/x")).unwrap();
    std::os::unix::fs::symlink(dir.path().join("data/ledger/x"), dir.path().join("link")).unwrap();
    for place in [
        "data/ledger",
        "data/ledger/payloads",
        "data/../data/ledger/p",
        "data",
        ".",
        "link",
        "link/p",
        "",
    ] {
        let asked = format!("[ledger.payloads]\nplace = '{place}'");
        let faults = parse(dir.path(), "", &asked).unwrap_err();
        assert!(
            faults.contains("ledger.payloads.place"),
            "{place}: {faults}"
        );
    }
    for place in ["data/ledgers", "payloads", "data/payloads"] {
        let asked = format!("[ledger.payloads]\nplace = '{place}'");
        assert!(parse(dir.path(), "", &asked).is_ok(), "{place}");
    }
}

#[cfg(feature = "aws")]
#[test]
fn a_bucket_or_prefix_apart_from_the_logs() {
    let dir = tempfile::tempdir().unwrap();
    let log = "store = 's3'\nbucket = 'acme-log'\nprefix = 'gatehouse/v1'\nretention_days = 90";
    let with = |place: &str, more: &str| {
        let asked = format!("[ledger.payloads]\nplace = '{place}'\n{more}");
        parse(dir.path(), log, &asked)
    };
    for place in [
        "s3://acme-log/gatehouse/v1",
        "s3://acme-log/gatehouse/v1/",
        "s3://acme-log/gatehouse/v1/payloads",
        "s3://acme-log/gatehouse",
        "s3://acme-log",
        "s3://A/x",
    ] {
        let faults = with(place, "").unwrap_err();
        assert!(faults.contains("ledger.payloads"), "{place}: {faults}");
    }
    for place in [
        "s3://acme-payloads",
        "s3://acme-payloads/gatehouse/v1",
        "s3://acme-log/gatehouse/v10",
        "payloads",
    ] {
        with(place, "").unwrap();
    }
    let faults = with("s3://acme-payloads", "retention_days = 90").unwrap_err();
    assert!(faults.contains("shorter"), "{faults}");
    let payloads = with(
        "s3://acme-payloads/a/b",
        "retention_days = 7\nreply = 'restored'\nregion = 'eu-central-1'\ntimeout = '3s'",
    );
    let payloads = payloads.unwrap().unwrap();
    let PayloadPlace::S3(bucket) = &payloads.place else {
        panic!("a bucket")
    };
    assert_eq!(
        (bucket.bucket.as_str(), bucket.prefix.as_str()),
        ("acme-payloads", "a/b")
    );
    assert_eq!((bucket.retention_days, payloads.retention_days), (7, 7));
    assert_eq!(bucket.timeout, Duration::from_secs(3));
    assert_eq!(payloads.reply, KeptReply::Restored);
}

#[test]
fn faults_have_their_places() {
    let dir = tempfile::tempdir().unwrap();
    for (asked, place) in [
        ("retention_days = 0", "ledger.payloads.retention_days"),
        ("timeout = '0s'", "ledger.payloads.timeout"),
        ("timeout = '60s'", "shorter than a lease"),
        ("region = 'eu-central-1'", "ledger.payloads.region"),
        ("reply = 'both'", "reply"),
        ("keep = 1", "keep"),
    ] {
        let asked = format!("[ledger.payloads]\nplace = 'p'\n{asked}");
        let faults = parse(dir.path(), "", &asked).unwrap_err();
        assert!(faults.contains(place), "{asked}: {faults}");
    }
}
