use std::sync::Arc;

use gatehouse_envelope::keys::FileKeys;

use super::*;
use crate::{
    clock::{Clock, TestClock},
    registry::{CachePolicy, Database, EmbeddedRegistry, GATEWAY, Registry},
};

const HOUR: Duration = Duration::from_secs(3600);
const LONGEST: Duration = Duration::from_secs(3 * 86_400);

struct Fixture {
    dir: tempfile::TempDir,
    registry: Arc<dyn Registry>,
    clock: Arc<TestClock>,
    keyring: Keyring,
}

fn fixture() -> Fixture {
    let dir = tempfile::tempdir().unwrap();
    let database = Arc::new(Database::open(&dir.path().join("sessions.redb")).unwrap());
    let clock = Arc::new(TestClock::new(1_795_961_100_000_000));
    let registry: Arc<dyn Registry> = Arc::new(EmbeddedRegistry::new(database, clock.clone()));
    let keyring = keyring(&dir, &registry, &clock);
    Fixture {
        dir,
        registry,
        clock,
        keyring,
    }
}

fn keyring(
    dir: &tempfile::TempDir,
    registry: &Arc<dyn Registry>,
    clock: &Arc<TestClock>,
) -> Keyring {
    let provider = FileKeys::open_or_create(&dir.path().join("root")).unwrap();
    let policy = CachePolicy::default();
    Keyring::new(Arc::new(provider), registry.clone(), clock.clone(), policy)
}

impl Fixture {
    fn another(&self) -> Keyring {
        keyring(&self.dir, &self.registry, &self.clock)
    }

    fn today(&self) -> i64 {
        self.clock.utc_us().div_euclid(DAY_US)
    }

    async fn outlived(&self, longest: Duration) -> Vec<Outlived> {
        self.keyring.outlived("t", longest).await.unwrap()
    }

    /// Looks every hour, as gateways do, for so long or until a key is due.
    async fn hours(&self, longest: Duration, most: u32) -> u32 {
        for hour in 0..most {
            if !self.outlived(longest).await.is_empty() {
                return hour;
            }
            self.clock.advance(HOUR);
        }
        most
    }

    async fn epochs(&self) -> Vec<String> {
        let rows = self.registry.list(Table::TenantKeys, "t").await.unwrap();
        rows.into_iter().map(|(name, _)| name).collect()
    }

    async fn names_account(&self, day: i64) -> u32 {
        let keys = self.keyring.tenant("t").await.unwrap();
        keys.of_day(day).epoch()
    }
}

#[test]
fn what_is_noted_comes_back() {
    for life in [
        Life::Lives { until_us: i64::MIN },
        Life::Lives { until_us: 7 },
        Life::Ends { last_day: 20_000 },
    ] {
        assert_eq!(Life::parse(&life.encode()).unwrap(), life);
    }
    for row in [
        &b""[..],
        b"\x01",
        b"\x01\0\0\0\0\0\0\0",
        b"\x00\0\0\0\0\0\0\0\0",
    ] {
        assert!(matches!(Life::parse(row), Err(RegistryError::Damaged)));
    }
    let newer = Life::parse(b"\x03\0\0\0\0\0\0\0\0");
    assert!(matches!(newer, Err(RegistryError::Newer)));
}

/// Neither before nothing can live any more, nor before every process knows that it will be; and the meter's
/// accounts keep their names within a day.
// All of it in one year: the names in the log are others in the next.
#[tokio::test]
async fn a_key_ends_when_nothing_is_left_that_needs_it() {
    let it = fixture();
    it.keyring.tenant("t").await.unwrap();
    assert_eq!(
        it.hours(LONGEST, 24 * 9).await,
        24 * 9,
        "it is the only one"
    );
    it.keyring.rotate("t").await.unwrap();
    let name = async || {
        let names = it.keyring.log_names("t").await.unwrap();
        names.principal("ann")
    };
    let ann = name().await;
    let hours = it.hours(LONGEST, 24 * 30).await;
    assert!((72..=24 * 5 + 1).contains(&hours), "{hours}");
    let due = Outlived {
        epoch: 1,
        is_over: false,
    };
    assert_eq!(it.outlived(LONGEST).await, [due]);
    assert!(
        it.keyring.destroy("t", 1).await.is_err(),
        "it has no last day"
    );
    let today = it.today();
    assert_eq!(it.names_account(today + 9).await, 1);
    assert!(it.keyring.announce_end("t", 1).await.unwrap());
    assert!(!it.another().announce_end("t", 1).await.unwrap());
    assert_eq!(it.names_account(today + 1).await, 1);
    assert_eq!(it.names_account(today + 2).await, 2);
    assert!(it.keyring.destroy("t", 1).await.is_err(), "not over");

    assert!(it.hours(LONGEST, 72).await > 24);
    assert_eq!(it.today(), today + 2);
    assert_eq!(
        it.outlived(LONGEST).await,
        [Outlived {
            is_over: true,
            ..due
        }]
    );
    assert!(
        it.keyring.destroy("t", 2).await.is_err(),
        "it is the newest"
    );
    let id = it.keyring.take_over_from("t", 1).await.unwrap();
    assert!(id.starts_with("tk_"));
    // Died here, or was not alone.
    assert_eq!(it.another().take_over_from("t", 1).await.unwrap(), id);
    it.keyring.destroy("t", 1).await.unwrap();
    assert_eq!(it.epochs().await, ["t/0000000002"]);
    for keyring in [&it.keyring, &it.another()] {
        let keys = keyring.tenant("t").await.unwrap();
        assert_eq!(keys.all().map(|key| key.epoch()).collect::<Vec<_>>(), [2]);
        assert_eq!(keys.of_day(today + 2).epoch(), 2);
        assert_eq!(keyring.log_names("t").await.unwrap().principal("ann"), ann);
    }
    assert!(it.outlived(LONGEST).await.is_empty());
    // The next one's number is a new one.
    assert_eq!(it.keyring.rotate("t").await.unwrap().epoch, 3);
}

/// What was made while things lived longer does so still.
#[tokio::test]
async fn a_shorter_life_is_one_of_what_is_made_later() {
    let it = fixture();
    it.keyring.tenant("t").await.unwrap();
    let long = LONGEST * 10;
    it.outlived(long).await;
    it.clock.advance(HOUR);
    it.keyring.rotate("t").await.unwrap();
    let hours = it.hours(LONGEST, 24 * 60).await;
    assert!((24 * 30..=24 * 32).contains(&hours), "{hours}");
    // And one that is made longer counts at once.
    let it = fixture();
    it.keyring.tenant("t").await.unwrap();
    it.keyring.rotate("t").await.unwrap();
    it.outlived(LONGEST).await;
    assert_eq!(it.hours(long, 24 * 29).await, 24 * 29);
}

/// Whoever destroyed it died before it had forgotten all of it.
#[tokio::test]
async fn what_a_dead_process_left_is_tidied_up() {
    let it = fixture();
    it.keyring.tenant("t").await.unwrap();
    it.keyring.rotate("t").await.unwrap();
    it.hours(LONGEST, 24 * 9).await;
    it.keyring.announce_end("t", 1).await.unwrap();
    it.hours(LONGEST, 24 * 9).await;
    let (table, name) = (Table::TenantKeys, "t/0000000001");
    it.registry.delete(table, name, Durable::Now).await.unwrap();
    assert!(it.outlived(LONGEST).await.is_empty());
    let lives = it.keyring.lives("t").await.unwrap();
    assert_eq!(lives.keys().copied().collect::<Vec<_>>(), [2]);
    assert!(it.keyring.take_over_from("t", 1).await.is_err());
    // Nobody's keys are no fault.
    assert!(
        it.keyring
            .outlived(GATEWAY, LONGEST)
            .await
            .unwrap()
            .is_empty()
    );
}
