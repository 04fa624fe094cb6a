use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use gatehouse_envelope::{
    keys::{FileKeys, GeneratedKey},
    secret::Secret,
};

use super::*;
use crate::{
    clock::TestClock,
    registry::{Database, EmbeddedRegistry},
};

/// A provider that counts, is slow, and can be told to fail.
struct Counting {
    inner: FileKeys,
    unwraps: AtomicUsize,
    down: std::sync::atomic::AtomicBool,
}

#[async_trait]
impl KeyProvider for Counting {
    fn id(&self) -> &str {
        self.inner.id()
    }

    async fn generate(&self, context: &KeyContext<'_>) -> Result<GeneratedKey, KeyError> {
        self.inner.generate(context).await
    }

    async fn unwrap(
        &self,
        context: &KeyContext<'_>,
        wrapped: &[u8],
    ) -> Result<Secret<[u8; 32]>, KeyError> {
        self.unwraps.fetch_add(1, Ordering::SeqCst);
        tokio::time::sleep(Duration::from_millis(5)).await;
        if self.down.load(Ordering::SeqCst) {
            return Err(KeyError::Unreachable("switched off".to_owned()));
        }
        self.inner.unwrap(context, wrapped).await
    }

    async fn rewrap(
        &self,
        context: &KeyContext<'_>,
        wrapped: &[u8],
    ) -> Result<Option<Vec<u8>>, KeyError> {
        self.inner.rewrap(context, wrapped).await
    }
}

struct Fixture {
    _dir: tempfile::TempDir,
    registry: Arc<dyn Registry>,
    provider: Arc<Counting>,
    clock: Arc<TestClock>,
    keyring: Keyring,
}

fn fixture(policy: CachePolicy) -> Fixture {
    let dir = tempfile::tempdir().unwrap();
    let database = Arc::new(Database::open(&dir.path().join("sessions.redb")).unwrap());
    let clock = Arc::new(TestClock::new(1_795_961_100_000_000));
    let registry: Arc<dyn Registry> = Arc::new(EmbeddedRegistry::new(database, clock.clone()));
    let provider = Arc::new(Counting {
        inner: FileKeys::open_or_create(&dir.path().join("root")).unwrap(),
        unwraps: AtomicUsize::new(0),
        down: false.into(),
    });
    let keyring = Keyring::new(provider.clone(), registry.clone(), clock.clone(), policy);
    Fixture {
        _dir: dir,
        registry,
        provider,
        clock,
        keyring,
    }
}

impl Fixture {
    fn unwraps(&self) -> usize {
        self.provider.unwraps.load(Ordering::SeqCst)
    }
}

#[tokio::test]
async fn one_unwrapping_however_many_wait() {
    let f = fixture(CachePolicy::default());
    f.keyring.tenant("t").await.unwrap();
    let again = Keyring::new(
        f.provider.clone(),
        f.registry.clone(),
        f.clock.clone(),
        CachePolicy::default(),
    );
    let again = Arc::new(again);
    let before = f.unwraps();
    let mut waiting = tokio::task::JoinSet::new();
    for _ in 0..32 {
        let keyring = Arc::clone(&again);
        waiting.spawn(async move { keyring.tenant("t").await.unwrap().current().epoch() });
    }
    while let Some(epoch) = waiting.join_next().await {
        assert_eq!(epoch.unwrap(), 1);
    }
    assert_eq!(f.unwraps() - before, 1);
}

#[tokio::test]
async fn failures_are_not_kept() {
    let f = fixture(CachePolicy::default());
    f.provider.down.store(true, Ordering::SeqCst);
    let failed = f.keyring.tenant("t").await;
    assert!(matches!(
        failed,
        Err(KeyringError::Key(KeyError::Unreachable(_)))
    ));
    f.provider.down.store(false, Ordering::SeqCst);
    assert!(f.keyring.tenant("t").await.is_ok());
}

#[tokio::test]
async fn keys_die_of_age_and_of_use() {
    let f = fixture(CachePolicy {
        max_age: Duration::from_secs(300),
        max_uses: 3,
    });
    let digest = f
        .keyring
        .tenant("t")
        .await
        .unwrap()
        .current()
        .lookup()
        .mac("p", &[]);
    assert_eq!(f.unwraps(), 1);
    for _ in 0..2 {
        f.keyring.tenant("t").await.unwrap();
    }
    assert_eq!(f.unwraps(), 1);
    let same = f
        .keyring
        .tenant("t")
        .await
        .unwrap()
        .current()
        .lookup()
        .mac("p", &[]);
    assert_eq!(
        (f.unwraps(), same),
        (2, digest),
        "used up, unwrapped again, the same key"
    );

    f.clock.advance(Duration::from_secs(300));
    f.provider.down.store(true, Ordering::SeqCst);
    assert!(
        f.keyring.tenant("t").await.is_err(),
        "a switched-off root key stops at the age"
    );
}

#[tokio::test]
async fn tenants_and_years_have_their_own_keys() {
    let f = fixture(CachePolicy::default());
    let digest = async |tenant: &str| {
        f.keyring
            .tenant(tenant)
            .await
            .unwrap()
            .current()
            .lookup()
            .mac("p", &[b"x"])
    };
    assert_ne!(digest("t").await, digest("u").await);
    let name = async |tenant: &str| {
        f.keyring
            .log_names(tenant)
            .await
            .unwrap()
            .principal("key:k_1")
    };
    let (this_year, other) = (name("t").await, name("u").await);
    assert_ne!(this_year, other);
    assert_eq!(this_year, name("t").await);
    f.clock.advance(Duration::from_secs(366 * 24 * 3600));
    assert_ne!(name("t").await, this_year);

    // Once the year's key is destroyed and no longer kept, the names mean nobody.
    let next_year = name("t").await;
    let rows = f.registry.list(Table::LogKeys, "t").await.unwrap();
    assert_eq!(rows.len(), 2);
    f.registry
        .delete(Table::LogKeys, &rows[1].0, Durable::Now)
        .await
        .unwrap();
    f.clock.advance(Duration::from_secs(300));
    assert_ne!(name("t").await, next_year);
}

#[tokio::test]
async fn a_key_of_another_tenant_is_refused() {
    let f = fixture(CachePolicy::default());
    f.keyring.tenant("t").await.unwrap();
    let rows = f.registry.list(Table::TenantKeys, "t").await.unwrap();
    let name = rows[0].0.replace("t/", "u/");
    let moved = rows[0].1.clone();
    let put = Put::new(Expected::Absent, moved, Durable::Now);
    f.registry
        .put_if(Table::TenantKeys, &name, put)
        .await
        .unwrap();
    let refused = f.keyring.tenant("u").await;
    assert!(matches!(refused, Err(KeyringError::Key(KeyError::Damaged))));
}
