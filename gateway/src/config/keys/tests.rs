use std::time::Duration;

use crate::config::{Config, Environment, Keys, Kms, Overrides, RootKey};

const REST: &str = "config_version = 1\n[[provider]]\nname = 'e'\nprotocol = 'echo'\n[keys]\n";

fn parse(keys: &str) -> Result<Keys, Vec<String>> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let surroundings = Environment::new(|_| None, folder);
    let text = format!("{REST}{keys}");
    let parsed = Config::parse(&text, &Overrides::default(), &surroundings);
    let parsed = parsed.map(|config| config.keys);
    parsed.map_err(|faults| faults.iter().map(ToString::to_string).collect())
}

fn kms(keys: &str) -> std::sync::Arc<Kms> {
    match parse(&format!("provider = 'aws-kms'\n{keys}"))
        .unwrap()
        .root
    {
        RootKey::AwsKms(kms) => kms,
        RootKey::File { .. } => panic!("a file"),
    }
}

#[test]
fn a_key_in_kms_needs_its_id_and_no_more() {
    let least = kms("key_id = 'alias/gatehouse'");
    assert_eq!(least.key_id, "alias/gatehouse");
    assert!(least.previous.is_empty() && least.signing_key_id.is_none());
    assert!(least.region.is_none() && least.endpoint.is_none());
    assert_eq!((least.timeout, least.attempts), (Duration::from_secs(3), 3));
    let arn = "arn:aws:kms:eu-central-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab";
    let all = kms(&format!(
        "key_id = '{arn}'\nprevious_key_ids = ['alias/old', 'mrk-1']\nsigning_key_id = 'alias/log'\n\
         region = 'eu-central-1'\nendpoint = 'https://vpce-1.kms.eu-central-1.vpce.amazonaws.com'\n\
         connect_timeout = '500ms'\ntimeout = '2s'\nattempts = 2"
    ));
    assert_eq!(all.key_id, arn);
    assert_eq!(all.previous, ["alias/old", "mrk-1"]);
    assert_eq!(all.signing_key_id.as_deref(), Some("alias/log"));
    assert!(all.previous_files.is_empty());
    let moved = kms("key_id = 'k'\nprevious_files = ['keys/root']");
    assert!(moved.previous_files[0].ends_with("keys/root"));
    let local = kms("key_id = 'k'\nendpoint = 'http://[::1]:4566'");
    assert_eq!(local.endpoint.as_deref(), Some("http://[::1]:4566"));
}

#[test]
fn the_cache_is_for_both_providers() {
    let keys = parse("cache_age = '10m'\ncache_age_new = '2m'\ncache_uses = 5").unwrap();
    let ages = (keys.cache_age.as_secs(), keys.cache_age_new.as_secs());
    assert_eq!((ages, keys.cache_uses), ((600, 120), 5));
    let keys = parse("cache_age = '10s'\nprevious_files = ['old']").unwrap();
    assert_eq!(keys.cache_age_new, Duration::from_secs(10));
    let RootKey::File { previous } = keys.root else {
        panic!("not a file")
    };
    assert!(previous[0].ends_with("old"));
}

#[test]
fn every_fault_is_told_with_its_path() {
    let cases = [
        ("provider = 'vault'", "keys.provider: must be"),
        ("key_id = 'k'", "keys.key_id: has a meaning only with"),
        ("region = 'x'\nattempts = 1", "keys.attempts: has a meaning"),
        (
            "cache_age = '1s'\ncache_age_new = '2s'",
            "keys.cache_age_new: is longer",
        ),
        ("cache_uses = 0", "keys.cache_uses: must be"),
        ("provider = 'aws-kms'", "keys.key_id: is missing"),
        ("provider = 'aws-kms'\nkey_id = ''", "keys.key_id: is not"),
        (
            "provider = 'aws-kms'\nkey_id = 'a b'",
            "keys.key_id: is not",
        ),
        (
            "provider = 'aws-kms'\nkey_id = 'k'\nprevious_key_ids = ['a', 'k']",
            "keys.previous_key_ids[1]: is keys.key_id",
        ),
        (
            "provider = 'aws-kms'\nkey_id = 'k'\nsigning_key_id = '?'",
            "keys.signing_key_id: is not",
        ),
        (
            "provider = 'aws-kms'\nkey_id = 'k'\nregion = 'EU 1'",
            "keys.region: is not",
        ),
        (
            "provider = 'aws-kms'\nkey_id = 'k'\nendpoint = 'http://kms.example'",
            "keys.endpoint: is not encrypted",
        ),
        (
            "provider = 'aws-kms'\nkey_id = 'k'\nendpoint = 'https://u@kms.example/x'",
            "keys.endpoint: is not an address",
        ),
        (
            "provider = 'aws-kms'\nkey_id = 'k'\nattempts = 11",
            "keys.attempts: must be",
        ),
    ];
    for (keys, expected) in cases {
        let found = parse(keys).unwrap_err();
        let is_told = found.iter().any(|fault| fault.starts_with(expected));
        assert!(is_told, "{expected} in {found:?}");
    }
}
