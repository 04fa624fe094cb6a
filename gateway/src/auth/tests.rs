use gatehouse_envelope::{keys::FileKeys, secret::Secret};
use http::HeaderValue;

use super::*;
use crate::{
    clock::TestClock,
    registry::{
        CachePolicy, Database, Durable, EmbeddedRegistry, Keyring, Put, Registry, RegistryError,
        Table,
    },
};

struct House {
    dir: tempfile::TempDir,
    keys: Arc<CallerKeys>,
    auth: Authenticator,
}

async fn open(dir: tempfile::TempDir) -> House {
    let database = Arc::new(Database::open(&dir.path().join("sessions.redb")).unwrap());
    let clock = Arc::new(TestClock::new(1_000_000));
    let registry: Arc<dyn Registry> = Arc::new(EmbeddedRegistry::new(database, clock.clone()));
    let provider = Arc::new(FileKeys::open_or_create(&dir.path().join("keys/root")).unwrap());
    let keyring = Keyring::new(
        provider,
        registry.clone(),
        clock.clone(),
        CachePolicy::default(),
    );
    let keys = Arc::new(CallerKeys::load(registry, &keyring, clock).await.unwrap());
    House {
        dir,
        auth: Authenticator::new(keys.clone()),
        keys,
    }
}

async fn house() -> House {
    open(tempfile::tempdir().unwrap()).await
}

fn new(name: &str) -> NewCaller {
    NewCaller {
        name: name.into(),
        tenant: "t".into(),
        agent: Some("support".into()),
    }
}

fn head(lines: &[(&str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in lines {
        let name = http::HeaderName::from_bytes(name.as_bytes()).unwrap();
        headers.append(name, HeaderValue::from_str(value).unwrap());
    }
    headers
}

fn bearer(token: &Secret<String>) -> String {
    format!("Bearer {}", token.expose())
}

#[tokio::test]
async fn a_key_is_its_caller_by_either_header() {
    let house = house().await;
    let (token, record) = house.keys.create(new("one")).await.unwrap();
    let caller = |lines: &[(&str, &str)]| {
        house
            .auth
            .authenticate(&head(lines))
            .map(|c| c.key_id.clone())
    };
    let expected = Ok(record.caller.key_id.clone());
    assert_eq!(caller(&[("authorization", &bearer(&token))]), expected);
    assert_eq!(
        caller(&[("authorization", &format!("bearer {}", token.expose()))]),
        expected
    );
    assert_eq!(caller(&[("x-api-key", token.expose())]), expected);
    let both = [
        ("x-api-key", token.expose().as_str()),
        ("authorization", &bearer(&token)),
    ];
    assert_eq!(caller(&both), expected);
    assert_eq!(
        (&*record.caller.tenant, record.caller.agent.as_deref()),
        ("t", Some("support"))
    );
}

#[tokio::test]
async fn everything_else_is_refused() {
    let house = house().await;
    let (token, _) = house.keys.create(new("one")).await.unwrap();
    let (other, _) = house.keys.create(new("two")).await.unwrap();
    let (good, t) = (bearer(&token), token.expose().as_str());
    let refused = |lines: &[(&str, &str)]| match house.auth.authenticate(&head(lines)) {
        Err(error) => error,
        Ok(_) => panic!("let in"),
    };
    assert_eq!(refused(&[]), AuthError::Missing);
    for bad in [
        "",
        "Bearer",
        "Bearer ",
        "abc",
        "Basic eDp5",
        t,
        &format!("Bearer  {t}"),
        &format!("{good}.x"),
        &format!("{good} "),
        &format!("{good}, {good}"),
        good.get(..40).unwrap(),
        &good.replace("gk_", "GK_"),
        &good.replace("gk_", ""),
        "Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0.",
        "Bearer gw_live_typo_EXAMPLE_0123456789",
    ] {
        assert_eq!(
            refused(&[("authorization", bad)]),
            AuthError::Malformed,
            "{bad}"
        );
    }
    let unknown = gatehouse_envelope::random::credential("gk_").unwrap();
    assert_eq!(
        refused(&[("authorization", &bearer(&unknown))]),
        AuthError::Unknown
    );
    let two = bearer(&other);
    assert_eq!(
        refused(&[("authorization", &good), ("x-api-key", other.expose())]),
        AuthError::Conflicting
    );
    assert_eq!(
        refused(&[("authorization", &good), ("authorization", &two)]),
        AuthError::Conflicting
    );
    assert_eq!(
        refused(&[("x-api-key", t), ("x-api-key", t)]),
        AuthError::Conflicting
    );
    assert_eq!(
        refused(&[("authorization", "Basic x"), ("x-api-key", t)]),
        AuthError::Malformed
    );
}

#[tokio::test]
async fn revoked_at_once_and_for_good() {
    let house = house().await;
    let (token, record) = house.keys.create(new("one")).await.unwrap();
    let headers = head(&[("authorization", &bearer(&token))]);
    assert!(house.auth.still_lets_in(&record.caller));
    let revoked = house.keys.revoke("one").await.unwrap();
    assert!(!house.auth.still_lets_in(&record.caller));
    assert_eq!(revoked.revoked_us, Some(1_000_000));
    assert_eq!(
        house.auth.authenticate(&headers).err(),
        Some(AuthError::Revoked)
    );
    // By its id it is found though it is revoked; by its name it is not.
    assert!(house.keys.revoke(&record.caller.key_id).await.is_ok());
    assert!(matches!(
        house.keys.revoke("one").await,
        Err(CallerKeysError::Unknown)
    ));

    let House { dir, keys, auth } = house;
    drop((keys, auth));
    let again = open(dir).await;
    assert_eq!(
        again.auth.authenticate(&headers).err(),
        Some(AuthError::Revoked)
    );
    assert_eq!(again.keys.list().len(), 1);
}

#[tokio::test]
async fn names_that_fit_two_keys_revoke_neither() {
    let house = house().await;
    house.keys.create(new("same")).await.unwrap();
    let (_, second) = house.keys.create(new("same")).await.unwrap();
    assert!(matches!(
        house.keys.revoke("same").await,
        Err(CallerKeysError::Ambiguous)
    ));
    house.keys.revoke(&second.caller.key_id).await.unwrap();
    house.keys.revoke("same").await.unwrap();
    assert!(
        house
            .keys
            .list()
            .iter()
            .all(|record| record.revoked_us.is_some())
    );
}

#[tokio::test]
async fn only_the_first_start_makes_a_key() {
    let house = house().await;
    let (_, record) = house
        .keys
        .create_first(new("first"))
        .await
        .unwrap()
        .unwrap();
    assert!(
        house
            .keys
            .create_first(new("first"))
            .await
            .unwrap()
            .is_none()
    );
    house.keys.revoke(&record.caller.key_id).await.unwrap();
    assert!(
        house
            .keys
            .create_first(new("first"))
            .await
            .unwrap()
            .is_none()
    );
}

#[tokio::test]
async fn names_are_checked() {
    let house = house().await;
    for (name, tenant, agent) in [
        ("", "t", None),
        ("a\nb", "t", None),
        ("a", "", None),
        ("a", "_gateway", None),
        ("a", "T", None),
        ("a", "t/u", None),
        ("a", "t", Some("")),
        ("a", "t", Some("two words")),
    ] {
        let new = NewCaller {
            name: name.into(),
            tenant: tenant.into(),
            agent: agent.map(str::to_owned),
        };
        assert!(matches!(
            house.keys.create(new).await,
            Err(CallerKeysError::Invalid(_))
        ));
    }
    assert!(house.keys.list().is_empty());
}

#[tokio::test]
async fn no_file_holds_a_token() {
    let house = house().await;
    let (token, _) = house.keys.create(new("one")).await.unwrap();
    let kept = std::fs::read(house.dir.path().join("sessions.redb")).unwrap();
    let raw = data_encoding::BASE64URL_NOPAD
        .decode(&token.expose().as_bytes()[3..])
        .unwrap();
    for spelling in [
        token.expose().as_bytes()[3..].to_vec(),
        raw.clone(),
        data_encoding::HEXLOWER.encode(&raw).into_bytes(),
    ] {
        assert!(memchr::memmem::find(&kept, &spelling).is_none());
    }
}

/// The registry of several processes, which can be out of reach.
struct Shared {
    inner: EmbeddedRegistry,
    down: std::sync::atomic::AtomicBool,
}

#[async_trait::async_trait]
impl Registry for Shared {
    async fn get(&self, table: Table, name: &str) -> Result<Option<Vec<u8>>, RegistryError> {
        self.inner.get(table, name).await
    }

    async fn put_if(&self, table: Table, name: &str, put: Put) -> Result<bool, RegistryError> {
        self.inner.put_if(table, name, put).await
    }

    async fn list(
        &self,
        table: Table,
        group: &str,
    ) -> Result<Vec<(String, Vec<u8>)>, RegistryError> {
        if self.down.load(std::sync::atomic::Ordering::SeqCst) {
            return Err(RegistryError::Unavailable("injected".into()));
        }
        self.inner.list(table, group).await
    }

    async fn delete(&self, table: Table, name: &str, sync: Durable) -> Result<bool, RegistryError> {
        self.inner.delete(table, name, sync).await
    }

    async fn sweep(&self) -> Result<(), RegistryError> {
        self.inner.sweep().await
    }
}

/// What one replica makes and revokes is so on the others once they have read the keys again; if they
/// cannot for a minute, they let nobody in.
#[tokio::test]
async fn replicas_learn_of_keys_and_never_trust_old_ones_for_long() {
    let dir = tempfile::tempdir().unwrap();
    let database = Arc::new(Database::open(&dir.path().join("sessions.redb")).unwrap());
    let clock = Arc::new(TestClock::new(1_000_000));
    let registry = Arc::new(Shared {
        inner: EmbeddedRegistry::new(database, clock.clone()),
        down: false.into(),
    });
    let provider = Arc::new(FileKeys::open_or_create(&dir.path().join("keys/root")).unwrap());
    let policy = CachePolicy::default();
    let keyring = Keyring::new(provider, registry.clone(), clock.clone(), policy);
    let load = async || {
        let keys = CallerKeys::load(registry.clone(), &keyring, clock.clone()).await;
        Arc::new(keys.unwrap())
    };
    let (one, two) = (load().await, load().await);
    let auth = Authenticator::new(two.clone());
    let (token, record) = one.create(new("a")).await.unwrap();
    let asks = || auth.authenticate(&head(&[("authorization", &bearer(&token))]));
    assert_eq!(asks().err(), Some(AuthError::Unknown));
    two.refresh().await.unwrap();
    assert!(asks().is_ok());
    one.revoke(&record.caller.key_id).await.unwrap();
    two.refresh().await.unwrap();
    assert_eq!(asks().err(), Some(AuthError::Revoked));

    let (token, _) = two.create(new("b")).await.unwrap();
    let asks = || auth.authenticate(&head(&[("authorization", &bearer(&token))]));
    registry
        .down
        .store(true, std::sync::atomic::Ordering::SeqCst);
    clock.advance(std::time::Duration::from_secs(59));
    assert!(two.refresh().await.is_err() && asks().is_ok());
    clock.advance(std::time::Duration::from_secs(2));
    assert!(two.refresh().await.is_err());
    assert_eq!(asks().err(), Some(AuthError::Unavailable));
    registry
        .down
        .store(false, std::sync::atomic::Ordering::SeqCst);
    two.refresh().await.unwrap();
    assert!(asks().is_ok());
}
