use std::path::PathBuf;

use parking_lot::Mutex;

use super::*;
use crate::{
    clock::TestClock,
    limit::suite::{self, Backend},
};

/// A database in a folder, that is opened anew from its file alone.
struct OnDisk {
    path: PathBuf,
    clock: Arc<TestClock>,
    meter: Mutex<Option<Arc<EmbeddedMeter>>>,
}

impl OnDisk {
    fn open(&self) {
        let database = Arc::new(Database::open(&self.path).unwrap());
        let meter = EmbeddedMeter::new(database, self.clock.clone());
        *self.meter.lock() = Some(Arc::new(meter));
    }
}

#[async_trait]
impl Backend for OnDisk {
    fn meter(&self) -> Arc<dyn Meter> {
        self.meter.lock().clone().unwrap()
    }

    /// What was set aside is on the disk with the next write that is synced, the admission.
    async fn after_crash(&self) -> Arc<dyn Meter> {
        let meter = self.meter.lock().take().unwrap();
        meter.database.sync().await.unwrap();
        let copy = self.path.with_extension("copy");
        std::fs::copy(&self.path, &copy).unwrap();
        drop(meter);
        std::fs::rename(&copy, &self.path).unwrap();
        self.open();
        self.meter()
    }

    async fn advance(&self, by: Duration) {
        self.clock.advance(by);
    }

    fn now_us(&self) -> i64 {
        self.clock.utc_us()
    }
}

#[tokio::test]
async fn the_embedded_meter_does_what_every_meter_must() {
    let folder = tempfile::tempdir().unwrap();
    let disk = OnDisk {
        path: folder.path().join("sessions.redb"),
        clock: Arc::new(TestClock::new(1_795_961_100_000_000)),
        meter: Mutex::default(),
    };
    disk.open();
    suite::run(&disk).await;
    // A settled request is not remembered for ever.
    let meter = disk.meter.lock().clone().unwrap();
    let left = meter.database.read().unwrap().open_table(REQUESTS).unwrap();
    let open = |row: &[u8]| Request::decode(row).is_ok_and(|it| !it.is_settled);
    for row in left.iter().unwrap() {
        let (name, row) = row.unwrap();
        assert!(open(row.value()), "{}", name.value());
    }
}

#[test]
fn rows_are_read_as_they_were_written_and_not_otherwise() {
    let row = Row {
        until_us: -5,
        total: Total {
            spent: 7,
            reserved: u64::MAX,
        },
    };
    let bytes = row.encode();
    let again = Row::decode(&bytes).ok().unwrap();
    assert_eq!((again.until_us, again.total), (row.until_us, row.total));
    let request = Request {
        is_settled: false,
        since_us: 3,
        until_us: 9,
        held: vec![("m_a".to_owned(), 5), ("s_b".to_owned(), 6)],
    };
    let long = request.encode();
    assert_eq!(Request::decode(&long).ok().unwrap(), request);
    for cut in 0..bytes.len() {
        assert!(Row::decode(&bytes[..cut]).is_err());
    }
    // The ends of its parts are ends of shorter rows.
    for cut in 0..long.len() {
        let whole = [18, 18 + 12, 18 + 24].contains(&cut);
        assert_eq!(Request::decode(&long[..cut]).is_ok(), whole, "{cut}");
    }
    assert!(matches!(Row::decode(&[2]), Err(Unreadable::Newer)));
    assert!(matches!(Request::decode(&[0]), Err(Unreadable::Damaged)));
}
