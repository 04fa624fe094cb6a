use std::path::{Path, PathBuf};

use gatehouse_envelope::seal::Sealed;

use super::{row::FORMAT, *};
use crate::{
    clock::TestClock,
    session::store::suite::{self, Backend},
};

struct Embedded {
    dir: tempfile::TempDir,
    clock: Arc<TestClock>,
    store: Arc<EmbeddedStore>,
}

impl Embedded {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let clock = Arc::new(TestClock::new(1_795_961_100_000_000));
        let store = open(&dir.path().join("sessions.redb"), &clock);
        Self { dir, clock, store }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("sessions.redb")
    }
}

fn open(path: &Path, clock: &Arc<TestClock>) -> Arc<EmbeddedStore> {
    let database = Arc::new(Database::open(path).unwrap());
    Arc::new(EmbeddedStore::new(database, clock.clone()))
}

#[async_trait]
impl Backend for Embedded {
    fn store(&self) -> Arc<dyn SessionStore> {
        self.store.clone()
    }

    /// No other process can have the file open.
    async fn other(&self) -> Arc<dyn SessionStore> {
        self.store()
    }

    /// A copy of the file as it is on the disk, while the process still has it open.
    async fn after_crash(&self) -> Arc<dyn SessionStore> {
        let copy = tempfile::NamedTempFile::new_in(&self.dir)
            .unwrap()
            .into_temp_path()
            .keep()
            .unwrap();
        std::fs::copy(self.path(), &copy).unwrap();
        open(&copy, &self.clock)
    }

    async fn advance(&self, by: Duration) {
        self.clock.advance(by);
    }

    fn now_us(&self) -> i64 {
        self.clock.utc_us()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn does_what_every_store_must() {
    suite::run(&Embedded::new()).await;
}

fn some(content: &[u8]) -> Write {
    Write {
        sealed: Sealed::from_store(content.to_vec()),
        expires_us: i64::MAX,
        lease: Lease::Free,
        sync: Durable::Now,
    }
}

#[tokio::test]
async fn a_row_put_back_alone_is_damage() {
    let backend = Embedded::new();
    let store = &backend.store;
    store.create("s", 1, some(b"old")).await.unwrap();
    let old = encode(
        1,
        Held {
            fence: 1,
            holder: 0,
            until_us: 0,
        },
        &some(b"old"),
    );
    let Acquired::Held { fence, .. } = store.acquire("s", 1, Duration::from_secs(9)).await.unwrap()
    else {
        panic!("not held")
    };
    store.commit("s", fence, 1, some(b"new")).await.unwrap();
    let put_back = move |transaction: &WriteTransaction| {
        transaction
            .open_table(SESSIONS)?
            .insert("s", old.as_slice())?;
        Ok(())
    };
    store.database.write(Durable::Now, put_back).await.unwrap();
    assert!(matches!(store.read("s").await, Err(StoreError::Damaged)));
    let acquired = store.acquire("s", 1, Duration::from_secs(9)).await;
    assert!(matches!(acquired, Err(StoreError::Damaged)));
}

#[test]
fn rows_of_other_versions_are_told_apart_from_damage() {
    let good = encode(
        7,
        Held {
            fence: 3,
            holder: 9,
            until_us: 0,
        },
        &Write {
            lease: Lease::Keep(Duration::from_secs(1)),
            expires_us: -5,
            ..some(b"sealed")
        },
    );
    let row = decode(&good, -5).unwrap();
    assert_eq!(
        (row.version, row.fence, row.holder, row.expires_us),
        (7, 3, 9, -5)
    );
    assert_eq!(row.sealed.as_bytes(), b"sealed");
    assert!(row.expired() && !decode(&good, -6).unwrap().expired());
    let mut newer = good.clone();
    newer[0] = FORMAT + 1;
    assert!(matches!(decode(&newer, 0), Err(StoreError::Newer)));
    assert!(matches!(decode(&good[..20], 0), Err(StoreError::Damaged)));
    assert!(matches!(decode(&[], 0), Err(StoreError::Damaged)));
}
