use crate::config::{Config, Environment, Overrides, Store};

const REST: &str = "config_version = 1\n[[provider]]\nname = 'e'\nprotocol = 'echo'\n[sessions]\n";

fn parse(sessions: &str) -> Result<Config, Vec<String>> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let surroundings = Environment::new(|name| (name == "PW").then(|| "s3cret".into()), folder);
    let text = format!("{REST}{sessions}");
    let parsed = Config::parse(&text, &Overrides::default(), &surroundings);
    parsed.map_err(|faults| faults.iter().map(ToString::to_string).collect())
}

fn redis(sessions: &str) -> std::sync::Arc<super::Redis> {
    let config = parse(&format!("store = 'redis'\n{sessions}"));
    match config.unwrap_or_else(|faults| panic!("{faults:?}")).store {
        Store::Redis(redis) => redis,
        Store::DynamoDb(_) | Store::Embedded => panic!("another store"),
    }
}

#[test]
fn an_address_says_where_who_and_how() {
    let one = redis("url = 'rediss://gw@redis.example.org'\npassword = 'env:PW'");
    let node = &one.nodes[0];
    assert_eq!((node.host.as_str(), node.port), ("redis.example.org", 6379));
    assert!(node.tls && !one.cluster);
    assert_eq!(one.user.as_deref(), Some("gw"));
    assert_eq!(one.password.as_ref().unwrap().expose(), "s3cret");
    assert_eq!((one.prefix.as_str(), one.wait_replicas), ("gatehouse:", 0));
    assert!(!format!("{one:?}").contains("s3cret"));

    let local = redis("url = 'redis://[::1]:6390/'\nwait_replicas = 2\nprefix = 'a.b:'");
    assert_eq!(
        (local.nodes[0].host.as_str(), local.nodes[0].port),
        ("::1", 6390)
    );
    assert_eq!((local.wait_replicas, local.prefix.as_str()), (2, "a.b:"));

    let nodes = "url = ['rediss://10.0.0.1:7000', 'rediss://10.0.0.2:7000']";
    assert!(redis(nodes).cluster && redis(nodes).nodes.len() == 2);
    assert!(redis("url = 'rediss://10.0.0.1'\ncluster = true").cluster);
    let plain = redis("url = 'redis://10.0.0.1'\nallow_plain_redis = true");
    assert!(!plain.tls());
}

#[test]
fn every_fault_is_told_with_its_path() {
    for (sessions, expected) in [
        ("", "sessions.url: is missing"),
        ("url = []", "sessions.url: is missing"),
        (
            "url = 'http://h'",
            "sessions.url: must begin with rediss://",
        ),
        ("url = 'h:6379'", "sessions.url: is not an address"),
        ("url = 'rediss://'", "sessions.url: is not an address"),
        ("url = 'rediss://h:0'", "sessions.url: is not an address"),
        (
            "url = 'rediss://h:99999'",
            "sessions.url: is not an address",
        ),
        (
            "url = 'rediss://h/1'",
            "sessions.url: must end with the port",
        ),
        ("url = 'rediss://u:pw@h'", "sessions.url: holds a password"),
        ("url = 'rediss://@h'", "sessions.url: has a user"),
        ("url = 'rediss://u@h'", "sessions.password: is missing"),
        ("url = 'redis://10.0.0.1'", "sessions.url: is not encrypted"),
        (
            "url = 'rediss://h'\npassword = 'pw'",
            "sessions.password: must be a reference",
        ),
        (
            "url = 'rediss://h'\npassword = 'env:NO'",
            "sessions.password: the variable NO",
        ),
        (
            "url = 'rediss://h'\nca = 'none.pem'",
            "sessions.ca: cannot read",
        ),
        (
            "url = 'rediss://h'\nca = 'Cargo.toml'",
            "sessions.ca: Cargo.toml must hold",
        ),
        (
            "url = 'redis://[::1]'\nca = 'none.pem'",
            "sessions.ca: has a meaning only with rediss",
        ),
        (
            "url = 'rediss://h'\nprefix = 'a{b}'",
            "sessions.prefix: must be",
        ),
        (
            "url = 'rediss://h'\nprefix = ''",
            "sessions.prefix: must be",
        ),
        (
            "url = 'rediss://h'\nwait_replicas = -1",
            "sessions.wait_replicas: must be",
        ),
        ("url = 'rediss://h'\ntimeout = '2'", "sessions.timeout: "),
        (
            "url = 'rediss://h'\nconnect_timeout = 'x'",
            "sessions.connect_timeout: ",
        ),
        (
            "url = ['rediss://h', 'rediss://i']\ncluster = false",
            "sessions.cluster: is false",
        ),
        (
            "url = ['rediss://h', 'redis://[::1]']",
            "sessions.url: has nodes with TLS and without",
        ),
        (
            "url = ['rediss://a@h', 'rediss://b@h']\npassword = 'env:PW'",
            "sessions.url: has nodes with different users",
        ),
        (
            "url = ['rediss://h', 'x']",
            "sessions.url[1]: is not an address",
        ),
    ] {
        let Err(faults) = parse(&format!("store = 'redis'\n{sessions}")) else {
            panic!("{sessions} was taken")
        };
        let found = faults.iter().any(|fault| fault.starts_with(expected));
        assert!(found, "{sessions}: {faults:?}");
        assert!(!faults.concat().contains("pw"), "{faults:?}");
    }
}

#[test]
fn what_only_redis_has_is_a_fault_without_it() {
    let faults = parse("url = 'rediss://h'\npassword = 'env:PW'\nprefix = 'x:'")
        .err()
        .unwrap();
    assert_eq!(faults.len(), 3, "{faults:?}");
    let faults = parse("store = 'memcached'").err().unwrap();
    assert!(faults[0].starts_with("sessions.store: "), "{faults:?}");
}

fn dynamodb(sessions: &str) -> Result<std::sync::Arc<super::DynamoDb>, Vec<String>> {
    match parse(&format!("store = 'dynamodb'\n{sessions}"))?.store {
        Store::DynamoDb(settings) => Ok(settings),
        Store::Embedded | Store::Redis(_) => panic!("another store"),
    }
}

const TABLE: &str = "table = 'gatehouse.sessions'\nparts_bucket = 'acme-parts'\n";

#[test]
#[cfg(feature = "aws")]
fn a_table_and_a_bucket_are_enough() {
    let settings = dynamodb(TABLE).unwrap();
    assert_eq!(settings.table, "gatehouse.sessions");
    assert_eq!(settings.parts_bucket, "acme-parts");
    assert!(settings.region.is_none() && settings.endpoint.is_none());
    let second = std::time::Duration::from_secs(1);
    assert_eq!(
        (settings.connect_timeout, settings.timeout),
        (second, 2 * second)
    );
    let all = "region = 'eu-central-1'\nendpoint = 'https://vpce-1.dynamodb.example.org'\n\
               parts_endpoint = 'http://[::1]:4566'\ntimeout = '5s'";
    let settings = dynamodb(&format!("{TABLE}{all}")).unwrap();
    assert_eq!(settings.region.as_deref(), Some("eu-central-1"));
    assert_eq!(
        settings.parts_endpoint.as_deref(),
        Some("http://[::1]:4566")
    );
    assert_eq!(settings.timeout, 5 * second);
}

#[test]
fn every_fault_of_a_table_is_told_with_its_path() {
    for (sessions, expected) in [
        ("", "sessions.table: is missing"),
        ("table = 'abc'", "sessions.parts_bucket: is missing"),
        ("table = 'a/b'", "sessions.table: must be"),
        ("parts_bucket = 'Acme'", "sessions.parts_bucket: must be"),
        ("parts_bucket = 'acme-'", "sessions.parts_bucket: must be"),
        ("region = 'Frankfurt'", "sessions.region: is not a region"),
        (
            "endpoint = 'http://10.0.0.1'",
            "sessions.endpoint: is not encrypted",
        ),
        (
            "endpoint = 'dynamodb'",
            "sessions.endpoint: is not an address",
        ),
        (
            "parts_endpoint = ''",
            "sessions.parts_endpoint: is not an address",
        ),
        (
            "parts_endpoint = 'https://h/?x'",
            "sessions.parts_endpoint: is not an address",
        ),
        (
            "url = 'rediss://h'",
            "sessions.url: has a meaning only with store = \"redis\"",
        ),
        ("timeout = '2'", "sessions.timeout: "),
    ] {
        let Err(faults) = dynamodb(sessions) else {
            panic!("{sessions} was taken")
        };
        let found = faults.iter().any(|fault| fault.starts_with(expected));
        assert!(found, "{sessions}: {faults:?}");
    }
    let redis = parse("store = 'redis'\nurl = 'rediss://h'\ntable = 'abc'");
    let faults = redis.err().unwrap();
    assert!(
        faults[0].starts_with("sessions.table: has a meaning only"),
        "{faults:?}"
    );
}

#[test]
#[cfg(not(feature = "aws"))]
fn a_program_without_aws_says_so() {
    let faults = dynamodb(TABLE).err().unwrap();
    assert!(faults[0].contains("without the feature aws"), "{faults:?}");
}
