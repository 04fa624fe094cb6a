use std::{
    os::unix::fs::PermissionsExt,
    sync::{
        Condvar,
        atomic::{AtomicUsize, Ordering},
    },
};

use redb::{ReadableTable, StorageBackend, TableDefinition, backends::InMemoryBackend};

use super::{writer::SETTLE, *};

const ROWS: TableDefinition<'_, u64, u64> = TableDefinition::new("rows");

/// Counts syncs, and fails or waits when told to.
#[derive(Debug, Default)]
struct Disk {
    memory: InMemoryBackend,
    syncs: AtomicUsize,
    broken: std::sync::atomic::AtomicBool,
    gate: (std::sync::Mutex<bool>, Condvar),
}

impl Disk {
    fn close_gate(&self, closed: bool) {
        *self.gate.0.lock().unwrap() = closed;
        self.gate.1.notify_all();
    }
}

#[derive(Debug)]
struct Shared(Arc<Disk>);

impl StorageBackend for Shared {
    fn len(&self) -> Result<u64, io::Error> {
        self.0.memory.len()
    }
    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), io::Error> {
        self.0.memory.read(offset, out)
    }
    fn set_len(&self, len: u64) -> Result<(), io::Error> {
        self.0.memory.set_len(len)
    }
    fn sync_data(&self) -> Result<(), io::Error> {
        let mut closed = self.0.gate.0.lock().unwrap();
        while *closed {
            closed = self.0.gate.1.wait(closed).unwrap();
        }
        self.0.syncs.fetch_add(1, Ordering::SeqCst);
        if self.0.broken.load(Ordering::SeqCst) {
            return Err(io::Error::other("no space left"));
        }
        self.0.memory.sync_data()
    }
    fn write(&self, offset: u64, data: &[u8]) -> Result<(), io::Error> {
        self.0.memory.write(offset, data)
    }
}

fn database() -> (Arc<Disk>, Database) {
    let disk = Arc::new(Disk::default());
    let redb = redb::Builder::new()
        .create_with_backend(Shared(disk.clone()))
        .unwrap();
    let again = disk.clone();
    let again = move || Ok(redb::Builder::new().create_with_backend(Shared(again.clone()))?);
    (disk, Database::start(redb, Box::new(again)).unwrap())
}

/// Waits until the database is as it should be.
async fn until_failed(condition: &Condition, failed: bool) {
    for _ in 0..2000 {
        if condition.failed() == failed {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("failed is still {}", !failed);
}

fn add(
    database: &Database,
    row: u64,
    sync: Durable,
) -> impl Future<Output = Result<(), DatabaseError>> {
    database.write(sync, move |transaction| {
        transaction.open_table(ROWS)?.insert(row, row)?;
        Ok(())
    })
}

fn count(database: &Database) -> usize {
    database
        .read()
        .unwrap()
        .open_table(ROWS)
        .unwrap()
        .iter()
        .unwrap()
        .count()
}

#[tokio::test]
async fn writes_that_wait_share_a_sync() {
    let (disk, database) = database();
    add(&database, 0, Durable::Now).await.unwrap();
    let one = disk.syncs.load(Ordering::SeqCst);
    add(&database, 1, Durable::Now).await.unwrap();
    let per_commit = disk.syncs.load(Ordering::SeqCst) - one;

    disk.close_gate(true);
    let database = Arc::new(database);
    let mut writers = tokio::task::JoinSet::new();
    for row in 2..202 {
        let database = Arc::clone(&database);
        writers.spawn(async move { add(&database, row, Durable::Now).await });
    }
    // Each task of this one thread runs up to its wait, which is after its write is in the queue.
    for _ in 0..3 {
        tokio::task::yield_now().await;
    }
    disk.close_gate(false);
    while let Some(written) = writers.join_next().await {
        written.unwrap().unwrap();
    }
    let syncs = disk.syncs.load(Ordering::SeqCst) - one - per_commit;
    assert!(syncs <= 4 * per_commit, "200 writes took {syncs} syncs");
    assert_eq!(count(&database), 202);
}

#[tokio::test]
async fn a_later_write_is_visible_unsynced_and_soon_synced() {
    let (disk, database) = database();
    add(&database, 0, Durable::Now).await.unwrap();
    let before = disk.syncs.load(Ordering::SeqCst);
    let asked = std::time::Instant::now();
    add(&database, 1, Durable::Soon).await.unwrap();
    assert_eq!(count(&database), 2);
    let syncs = disk.syncs.load(Ordering::SeqCst);
    // On a machine so slow that it has settled already, there is nothing to see.
    assert!(syncs == before || asked.elapsed() >= SETTLE);
    tokio::time::sleep(3 * SETTLE).await;
    let settled = disk.syncs.load(Ordering::SeqCst);
    assert!(settled > before);
    tokio::time::sleep(3 * SETTLE).await;
    assert_eq!(disk.syncs.load(Ordering::SeqCst), settled, "once");
}

#[tokio::test]
async fn a_failing_disk_fails_the_write_until_it_is_well_again() {
    let (disk, database) = database();
    let condition = database.condition();
    add(&database, 0, Durable::Now).await.unwrap();
    assert!(!condition.failed());
    for round in [1, 2] {
        disk.broken.store(true, Ordering::SeqCst);
        assert!(add(&database, 9, Durable::Now).await.is_err());
        until_failed(&condition, true).await;
        assert!(add(&database, 9, Durable::Now).await.is_err());
        tokio::time::sleep(2 * SETTLE).await;
        assert!(condition.failed(), "the disk still fails");
        disk.broken.store(false, Ordering::SeqCst);
        until_failed(&condition, false).await;
        add(&database, round, Durable::Now).await.unwrap();
    }
    let rows = database.read().unwrap().open_table(ROWS).unwrap();
    for row in 0..3 {
        assert!(rows.get(row).unwrap().is_some(), "{row}");
    }
}

/// A compare-and-swap, as all writes of rows are.
fn step(database: &Database) -> impl Future<Output = Result<bool, DatabaseError>> {
    database.write(Durable::Soon, |transaction| {
        let mut rows = transaction.open_table(ROWS)?;
        let before = rows.get(7)?.map_or(0, |row| row.value());
        if before == 0 {
            rows.insert(7, 1)?;
        }
        Ok(before == 0)
    })
}

/// What callers were told of and was not on the disk yet is there again, once.
#[tokio::test]
async fn unsynced_writes_outlive_a_failure_of_the_disk() {
    let (disk, database) = database();
    let condition = database.condition();
    add(&database, 0, Durable::Now).await.unwrap();
    disk.broken.store(true, Ordering::SeqCst);
    assert!(step(&database).await.unwrap(), "nobody syncs yet");
    assert!(add(&database, 1, Durable::Now).await.is_err());
    until_failed(&condition, true).await;
    disk.broken.store(false, Ordering::SeqCst);
    until_failed(&condition, false).await;
    let rows = database.read().unwrap().open_table(ROWS).unwrap();
    assert_eq!(rows.get(7).unwrap().unwrap().value(), 1);
    drop(rows);
    assert!(!step(&database).await.unwrap());
}

/// A write that is at fault itself is no reason to open the file anew.
#[tokio::test]
async fn a_write_that_fails_by_itself_breaks_nothing() {
    let (_disk, database) = database();
    let condition = database.condition();
    let failed = database.write(Durable::Now, |_| -> Result<(), redb::Error> {
        Err(redb::Error::TableDoesNotExist("rows".to_owned()))
    });
    assert!(failed.await.is_err());
    add(&database, 0, Durable::Now).await.unwrap();
    assert!(!condition.failed());
}

#[tokio::test]
async fn another_file_in_its_place_is_not_opened() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("sessions.redb");
    let file = private(&path, Presence::Either).unwrap();
    let before = identity(&file).unwrap();
    std::fs::rename(&path, dir.path().join("moved")).unwrap();
    assert!(private(&path, Presence::There).is_err(), "nor made anew");
    let other = private(&path, Presence::Either).unwrap();
    assert_ne!(identity(&other).unwrap(), before);
}

#[tokio::test]
async fn one_process_at_a_time_and_nobody_else_may_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("data/sessions.redb");
    let database = Database::open(&path).unwrap();
    assert!(matches!(Database::open(&path), Err(DatabaseError::InUse)));
    assert_eq!(
        std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o600
    );
    add(&database, 0, Durable::Soon).await.unwrap();
    drop(database);
    assert_eq!(
        count(&Database::open(&path).unwrap()),
        1,
        "synced when closed"
    );

    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert!(matches!(Database::open(&path), Err(DatabaseError::File(_))));
}
