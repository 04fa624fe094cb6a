//! A new key for a tenant, and earlier keys wrapped anew.

use super::*;

/// Rows that other processes change as well; after so many writes it fails.
struct Shared {
    inner: Arc<dyn Registry>,
    writes_left: AtomicUsize,
}

impl Shared {
    fn over(inner: &Arc<dyn Registry>, writes_left: usize) -> Arc<Self> {
        Arc::new(Self {
            inner: Arc::clone(inner),
            writes_left: writes_left.into(),
        })
    }
}

#[async_trait]
impl Registry for Shared {
    async fn get(&self, table: Table, name: &str) -> Result<Option<Vec<u8>>, RegistryError> {
        self.inner.get(table, name).await
    }

    async fn put_if(&self, table: Table, name: &str, put: Put) -> Result<bool, RegistryError> {
        let less = |left: usize| left.checked_sub(1);
        let left = &self.writes_left;
        let left = left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less);
        left.map_err(|_| RegistryError::Unavailable("it is over".into()))?;
        self.inner.put_if(table, name, put).await
    }

    async fn list(
        &self,
        table: Table,
        group: &str,
    ) -> Result<Vec<(String, Vec<u8>)>, RegistryError> {
        self.inner.list(table, group).await
    }

    async fn delete(&self, table: Table, name: &str, sync: Durable) -> Result<bool, RegistryError> {
        self.inner.delete(table, name, sync).await
    }

    async fn sweep(&self) -> Result<(), RegistryError> {
        self.inner.sweep().await
    }
}

async fn digest(keyring: &Keyring, tenant: &str, epoch: u32) -> [u8; 32] {
    let keys = keyring.tenant(tenant).await.unwrap();
    keys.epoch(epoch).unwrap().lookup().mac("p", &[])
}

async fn current(keyring: &Keyring) -> u32 {
    keyring.tenant("t").await.unwrap().current().epoch()
}

#[tokio::test]
async fn a_new_key_is_for_what_is_new_and_the_old_one_stays() {
    let f = fixture(CachePolicy::default());
    let first = digest(&f.keyring, "t", 1).await;
    let name = f.keyring.log_names("t").await.unwrap().principal("key:k");
    let rotated = f.keyring.rotate("t").await.unwrap();
    let now_us = f.clock.utc_us();
    assert_eq!((rotated.epoch, rotated.from_us), (2, now_us));
    assert!(rotated.made && rotated.id.starts_with("tk_"));
    assert_eq!(current(&f.keyring).await, 2);
    assert_eq!(digest(&f.keyring, "t", 1).await, first);
    assert_ne!(digest(&f.keyring, "t", 2).await, first);
    // Names in the log are the same for the year, whichever key their own is under.
    assert_eq!(f.keyring.rewrap("t").await.unwrap().log_keys, 1);
    assert_eq!(f.keyring.rewrap("t").await.unwrap(), Rewrapped::default());
    let again = f.another(f.provider.clone(), f.registry.clone());
    let names = again.log_names("t").await.unwrap();
    assert_eq!(names.principal("key:k"), name);
    let unknown = f.keyring.rotate("nobody").await;
    assert!(matches!(unknown, Err(KeyringError::Key(KeyError::Missing))));
}

#[tokio::test]
async fn a_new_key_is_used_only_once_every_process_knows_it() {
    let f = fixture(CachePolicy::default());
    let shared = Shared::over(&f.registry, usize::MAX);
    let one = f.another(f.provider.clone(), shared.clone());
    let two = f.another(f.provider.clone(), shared.clone());
    assert_eq!((current(&one).await, current(&two).await), (1, 1));
    let rotated = one.rotate("t").await.unwrap();
    assert_eq!((rotated.epoch, rotated.made), (2, true));
    // Both at once make one.
    let also = two.rotate("t").await.unwrap();
    assert_eq!((also.epoch, also.made), (2, false));
    assert_eq!((also.id, also.from_us), (rotated.id, rotated.from_us));

    let policy = CachePolicy::default();
    f.clock.advance(policy.max_age);
    // Both know it, and neither uses it.
    for keyring in [&one, &two] {
        let keys = keyring.tenant("t").await.unwrap();
        assert_eq!((keys.all().count(), keys.current().epoch()), (2, 1));
    }
    assert!(f.clock.utc_us() < rotated.from_us);
    f.clock.advance(policy.max_age);
    assert!(f.clock.utc_us() >= rotated.from_us);
    assert_eq!((current(&one).await, current(&two).await), (2, 2));
    assert_eq!(one.rotate("t").await.unwrap().epoch, 3);
}

/// A provider with a new root key that still opens what is under the old one.
fn after(f: &Fixture) -> Arc<dyn KeyProvider> {
    let open = |name: &str| FileKeys::open_or_create(&f._dir.path().join(name)).unwrap();
    Arc::new(open("new").after(open("root")))
}

fn alone(f: &Fixture) -> Arc<dyn KeyProvider> {
    Arc::new(FileKeys::open(&f._dir.path().join("new")).unwrap())
}

#[tokio::test]
async fn wherever_wrapping_anew_ends_everything_opens() {
    let f = fixture(CachePolicy::default());
    f.keyring.log_names("t").await.unwrap();
    f.keyring.rotate("t").await.unwrap();
    f.clock.advance(CachePolicy::default().max_age);
    f.keyring.rotate("t").await.unwrap();
    let rows = f.registry.list(Table::TenantKeys, "t").await.unwrap();
    assert_eq!(rows.len(), 3);
    let mut digests = Vec::new();
    for epoch in 1..=3 {
        digests.push(digest(&f.keyring, "t", epoch).await);
    }
    let names = f.keyring.log_names("t").await.unwrap();
    let name = names.principal("key:k");
    let mut done = Rewrapped::default();
    // One write more each time: three rows of the tenant, then one of the log.
    for writes in [0, 1, 1, 1, 1, 1] {
        let dying = f.another(after(&f), Shared::over(&f.registry, writes));
        // It counts what it did only if it lives to say so.
        if let Ok(rest) = dying.rewrap("t").await {
            done = rest;
        }
        let again = f.another(after(&f), f.registry.clone());
        for (epoch, digest) in (1..).zip(&digests) {
            assert_eq!(digest, &self::digest(&again, "t", epoch).await);
        }
        let names = again.log_names("t").await.unwrap();
        assert_eq!(names.principal("key:k"), name);
    }
    assert_eq!(done, Rewrapped::default(), "nothing was left to do");
    // The old root key is not needed any more.
    let rest = f.another(alone(&f), f.registry.clone());
    assert_eq!(current(&rest).await, 3);
    assert!(
        f.another(f.provider.clone(), f.registry.clone())
            .tenant("t")
            .await
            .is_err()
    );
}

#[tokio::test]
async fn two_processes_may_wrap_anew_at_once() {
    let f = fixture(CachePolicy::default());
    let before = digest(&f.keyring, "t", 1).await;
    let (one, two) = (
        f.another(after(&f), Shared::over(&f.registry, usize::MAX)),
        f.another(after(&f), Shared::over(&f.registry, usize::MAX)),
    );
    let (one, two) = tokio::join!(one.rewrap("t"), two.rewrap("t"));
    let done = one.unwrap().tenant_keys + two.unwrap().tenant_keys;
    assert_eq!(done, 1, "one of them");
    let rest = f.another(alone(&f), f.registry.clone());
    assert_eq!(digest(&rest, "t", 1).await, before);
}
