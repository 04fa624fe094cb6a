mod rotation;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

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

/// A provider that counts, and can be told to fail, or not to answer yet.
struct Counting {
    inner: FileKeys,
    unwraps: AtomicUsize,
    down: AtomicBool,
    answers: tokio::sync::watch::Sender<bool>,
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
        let mut answers = self.answers.subscribe();
        answers.wait_for(|answers| *answers).await.unwrap();
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
    keyring: Arc<Keyring>,
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
        answers: tokio::sync::watch::channel(true).0,
    });
    let keyring = Keyring::new(provider.clone(), registry.clone(), clock.clone(), policy);
    let keyring = Arc::new(keyring);
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

    fn is_down(&self, down: bool) {
        self.provider.down.store(down, Ordering::SeqCst);
    }

    /// Another process over the same rows.
    fn another(&self, provider: Arc<dyn KeyProvider>, registry: Arc<dyn Registry>) -> Keyring {
        Keyring::new(
            provider,
            registry,
            self.clock.clone(),
            CachePolicy::default(),
        )
    }

    /// Lets so many ask for a key before the provider answers any of them.
    async fn together(&self, keyring: &Arc<Keyring>, many: usize) -> Vec<bool> {
        self.provider.answers.send_replace(false);
        let mut waiting = tokio::task::JoinSet::new();
        for _ in 0..many {
            let keyring = Arc::clone(keyring);
            waiting.spawn(async move { keyring.tenant("t").await.is_ok() });
        }
        // On this runtime's one thread, all of them run as far as they can.
        tokio::task::yield_now().await;
        self.provider.answers.send_replace(true);
        waiting.join_all().await
    }
}

#[tokio::test]
async fn one_unwrapping_however_many_wait() {
    let f = fixture(CachePolicy::default());
    f.keyring.tenant("t").await.unwrap();
    let again = Arc::new(f.another(f.provider.clone(), f.registry.clone()));
    let before = f.unwraps();
    assert_eq!(f.together(&again, 1000).await, [true; 1000]);
    assert_eq!(f.unwraps() - before, 1);
}

#[tokio::test]
async fn one_failure_for_all_who_wait_and_another_try_for_who_comes_later() {
    let f = fixture(CachePolicy::default());
    f.keyring.tenant("t").await.unwrap();
    f.clock.advance(CachePolicy::default().max_age);
    f.is_down(true);
    let before = f.unwraps();
    assert_eq!(f.together(&f.keyring, 1000).await, [false; 1000]);
    assert_eq!(f.unwraps() - before, 1, "one call, however many wait");
    assert!(f.keyring.tenant("t").await.is_err());
    assert_eq!(f.unwraps() - before, 2, "a failure is not kept");
    f.is_down(false);
    assert_eq!(f.together(&f.keyring, 1000).await, [true; 1000]);
    assert_eq!(f.unwraps() - before, 3);
}

#[tokio::test]
async fn who_fetches_and_goes_away_leaves_it_to_the_next() {
    let f = fixture(CachePolicy::default());
    f.keyring.tenant("t").await.unwrap();
    let again = Arc::new(f.another(f.provider.clone(), f.registry.clone()));
    let before = f.unwraps();
    f.provider.answers.send_replace(false);
    let (first, second) = (again.clone(), again.clone());
    let mut tasks = tokio::task::JoinSet::new();
    let goes_away = tasks.spawn(async move { first.tenant("t").await.is_ok() });
    tokio::task::yield_now().await;
    tasks.spawn(async move { second.tenant("t").await.is_ok() });
    tokio::task::yield_now().await;
    goes_away.abort();
    assert!(tasks.join_next().await.unwrap().is_err());
    f.provider.answers.send_replace(true);
    assert!(tasks.join_next().await.unwrap().unwrap());
    assert_eq!(f.unwraps() - before, 2);
}

#[tokio::test]
async fn a_new_session_needs_a_key_that_was_unwrapped_lately() {
    let f = fixture(CachePolicy::default());
    let policy = CachePolicy::default();
    f.keyring.tenant_for_new("t").await.unwrap();
    f.is_down(true);
    f.clock.advance(policy.max_age_new / 2);
    f.keyring.tenant_for_new("t").await.unwrap();
    f.clock.advance(policy.max_age_new / 2);
    assert!(f.keyring.tenant_for_new("t").await.is_err());
    // What is there goes on, and is not kept for longer by others asking in vain.
    f.keyring.tenant("t").await.unwrap();
    f.keyring.log_names("t").await.unwrap();
    f.clock.advance(policy.max_age - policy.max_age_new);
    assert!(f.keyring.tenant("t").await.is_err());
    assert!(
        f.keyring.log_names("t").await.is_err(),
        "nor what is under it"
    );
    f.is_down(false);
    f.keyring.tenant_for_new("t").await.unwrap();
    f.keyring.log_names("t").await.unwrap();
}

#[tokio::test]
async fn failures_are_not_kept() {
    let f = fixture(CachePolicy::default());
    f.is_down(true);
    let failed = f.keyring.tenant("t").await;
    assert!(matches!(
        failed,
        Err(KeyringError::Key(KeyError::Unreachable(_)))
    ));
    f.is_down(false);
    assert!(f.keyring.tenant("t").await.is_ok());
}

#[tokio::test]
async fn keys_die_of_age_and_of_use() {
    let f = fixture(CachePolicy {
        max_uses: 3,
        ..CachePolicy::default()
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
    f.is_down(true);
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
