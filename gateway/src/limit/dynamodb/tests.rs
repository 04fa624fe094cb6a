use super::*;
use crate::{
    limit::{
        days,
        suite::{self, Backend},
    },
    registry::{
        DynamoRegistry, FORMAT,
        dynamodb_tests::{
            aws::{Fate, Kind},
            table::{self, Table},
        },
        number,
    },
};

struct OneTable {
    table: Table,
    meter: Arc<DynamoMeter>,
}

impl OneTable {
    async fn new(kind: Kind) -> Self {
        let table = Table::new(kind).await;
        let meter = Arc::new(DynamoMeter::new(table.link().await));
        Self { table, meter }
    }
}

#[async_trait]
impl Backend for OneTable {
    fn meter(&self) -> Arc<dyn Meter> {
        self.meter.clone()
    }

    /// An emulator keeps nothing over a crash of its own; this is one of a gateway.
    async fn after_crash(&self) -> Arc<dyn Meter> {
        Arc::new(DynamoMeter::new(self.table.link().await))
    }

    async fn advance(&self, by: Duration) {
        self.table.advance(by).await;
    }

    fn now_us(&self) -> i64 {
        table::now_us()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_does_what_every_meter_must() {
    suite::run(&OneTable::new(Kind::MiniStack).await).await;
}

fn claim(name: &str, cap: u64) -> Claim {
    Claim {
        account: Account {
            name: name.to_owned(),
            until_us: table::now_us() + 3_600_000_000,
        },
        amount: 10,
        cap: Some(cap),
        known: 0,
    }
}

/// Failed, but persisted: nothing is counted twice, and nothing is forgotten.
#[tokio::test]
async fn a_lost_answer_counts_once() {
    let table = Table::new(Kind::MiniStack).await;
    let (front, settings) = table.front();
    let meter = DynamoMeter::new(table.link_by(&settings).await);
    let claims = [claim("m_lost", 100)];
    let accounts = claims.clone().map(|claim| claim.account);
    for fate in [Fate::Swallowed, Fate::Refused(500, "InternalServerError")] {
        let request = format!("r_{}", fate == Fate::Swallowed);
        let before = meter.total("m_lost").await.unwrap();
        // The second call is the one that writes, where the account is there.
        front.rule(table::once_for("UpdateItem", fate.clone()));
        let held = meter.reserve(&request, &claims).await.unwrap();
        assert!(matches!(held, Reserved::Held(_)));
        let open = meter.total("m_lost").await.unwrap();
        assert_eq!(open.reserved, before.reserved + 10);
        front.rule(table::once_for("UpdateItem", fate));
        let totals = meter.settle(&request, 4, &accounts).await.unwrap();
        assert_eq!(totals[0].all(), before.all() + 4);
        assert_eq!(meter.total("m_lost").await.unwrap(), totals[0]);
    }
}

#[tokio::test]
async fn a_meter_that_is_away_says_so_and_refuses_nobody_by_itself() {
    let table = Table::new(Kind::MiniStack).await;
    let (front, mut settings) = table.front();
    settings.timeout = Duration::from_millis(1500);
    let meter = DynamoMeter::new(table.link_by(&settings).await);
    let claims = [claim("m_away", 100)];
    let accounts = claims.clone().map(|claim| claim.account);
    let faults = [
        Fate::Cut,
        Fate::Silent,
        Fate::Refused(400, "ThrottlingException"),
    ];
    for fate in faults {
        front.set(fate);
        let held = meter.reserve("r_1", &claims).await;
        assert!(matches!(held, Err(MeterError::Unavailable(_))));
        let settled = meter.settle("r_1", 1, &accounts).await;
        assert!(matches!(settled, Err(MeterError::Unavailable(_))));
        front.set(Fate::Passes);
    }
    let held = meter.reserve("r_1", &claims).await.unwrap();
    assert!(matches!(held, Reserved::Held(_)));
}

#[tokio::test]
async fn rows_that_no_version_wrote_are_not_counted_on() {
    let table = Table::new(Kind::MiniStack).await;
    let meter = DynamoMeter::new(table.link().await);
    let client = table.client().await;
    let claims = [claim("m_row", 100)];
    meter.reserve("r_1", &claims).await.unwrap();
    for (attribute, value, newer) in [
        (FORMAT, 2, true),
        (FORMAT, 0, false),
        ("spent_n", -1, false),
    ] {
        let mut item = table.items().await.remove(0);
        item.insert(FORMAT.to_owned(), number(1));
        item.insert(attribute.to_owned(), number(value));
        let put = client.put_item().table_name(&table.settings().table);
        put.set_item(Some(item)).send().await.unwrap();
        for refused in [
            meter.reserve("r_2", &claims).await.map(drop),
            meter.total("m_row").await.map(drop),
        ] {
            match refused {
                Err(MeterError::Newer) => assert!(newer),
                Err(MeterError::Damaged) => assert!(!newer),
                _ => panic!("{attribute} {value} was used"),
            }
        }
    }
}

/// Every write pays for the whole item, and an item has an end.
#[tokio::test]
async fn an_account_remembers_a_bounded_number_of_requests() {
    let table = Table::new(Kind::MiniStack).await;
    let meter = DynamoMeter::new(table.link().await);
    let accounts = [claim("m_busy", 1).account];
    for n in 0..80 {
        meter.settle(&format!("r_{n}"), 1, &accounts).await.unwrap();
    }
    let item = table.items().await.remove(0);
    let known = item.keys().filter(|name| name.starts_with("d_")).count();
    assert_eq!(known, 65, "64, and the one that was written last");
    assert_eq!(meter.total("m_busy").await.unwrap().spent, 80);
    meter.settle("r_79", 1, &accounts).await.unwrap();
    assert_eq!(meter.total("m_busy").await.unwrap().spent, 80);
}

#[tokio::test]
async fn replicas_whose_clocks_are_days_apart_share_the_tables_day() {
    let table = Table::new(Kind::MiniStack).await;
    let replica = async |clock: Arc<crate::clock::TestClock>| {
        let link = table.link_at(clock.clone()).await;
        days::Replica {
            clock,
            meter: Arc::new(DynamoMeter::new(link.clone())),
            registry: Arc::new(DynamoRegistry::new(link)),
        }
    };
    let [one, two] = days::clocks(table::now_us());
    days::one_day_for_all([replica(one).await, replica(two).await]).await;
}
