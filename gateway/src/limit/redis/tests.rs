use std::time::Duration;

use parking_lot::Mutex;

use super::*;
use crate::{
    config::Redis,
    limit::{
        days,
        suite::{self, Backend},
    },
    registry::RedisRegistry,
    registry::redis_tests::{Kind, Nodes, Proxy, Server, Wire, time::now_us},
};

enum Servers {
    Cluster(Nodes),
    One(Server),
}

/// Servers that sync every write.
struct OnDisk {
    servers: Mutex<Servers>,
    meter: Arc<RedisMeter>,
}

impl OnDisk {
    async fn new(servers: Servers) -> Self {
        let settings = match &servers {
            Servers::Cluster(nodes) => nodes.settings(),
            Servers::One(server) => server.settings(),
        };
        Self {
            meter: open(&settings).await,
            servers: Mutex::new(servers),
        }
    }
}

async fn open(settings: &Redis) -> Arc<RedisMeter> {
    let link = Link::open(settings).await.unwrap();
    Arc::new(RedisMeter::new(Arc::new(link)))
}

#[async_trait]
impl Backend for OnDisk {
    fn meter(&self) -> Arc<dyn Meter> {
        self.meter.clone()
    }

    async fn after_crash(&self) -> Arc<dyn Meter> {
        match &mut *self.servers.lock() {
            Servers::Cluster(nodes) => nodes.crash(),
            Servers::One(server) => {
                server.kill();
                server.restart();
            }
        }
        self.meter()
    }

    async fn advance(&self, by: Duration) {
        match &*self.servers.lock() {
            Servers::Cluster(nodes) => nodes.advance(by),
            Servers::One(server) => server.advance(by),
        }
    }

    fn now_us(&self) -> i64 {
        now_us()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_server_does_what_every_meter_must() {
    for kind in [Kind::Plain, Kind::Tls] {
        suite::run(&OnDisk::new(Servers::One(Server::start(kind))).await).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_does_what_every_meter_must() {
    suite::run(&OnDisk::new(Servers::Cluster(Nodes::start())).await).await;
}

fn claims(amount: u64) -> [Claim; 1] {
    [Claim {
        account: Account {
            name: "m_fault".to_owned(),
            until_us: now_us() + 3_600_000_000,
        },
        amount,
        cap: Some(100),
        known: 0,
    }]
}

/// A server that is away, or whose answers are lost, and comes back: what may have been set aside
/// stands, nothing is counted twice, and nothing that was spent goes away.
#[tokio::test]
async fn a_fault_counts_too_much_at_most() {
    let server = Server::start(Kind::Plain);
    let proxy = Proxy::to(server.port());
    let mut settings = server.settings();
    let direct = open(&settings).await;
    settings.nodes[0].port = proxy.port();
    settings.timeout = Duration::from_millis(1500);
    let meter = open(&settings).await;
    let [claim] = claims(30);
    let accounts = [claim.account.clone()];
    let total = async || direct.total("m_fault").await.unwrap().all();
    // The server knows the scripts.
    let other = Claim {
        account: Account {
            name: "m_other".to_owned(),
            ..claim.account.clone()
        },
        ..claim.clone()
    };
    let others = [other.account.clone()];
    direct.reserve("r_0", &[other]).await.unwrap();
    direct.settle("r_0", 1, &others).await.unwrap();

    // It fails, and nothing has happened.
    proxy.set(Wire::Cut);
    let failed = meter.reserve("r_1", std::slice::from_ref(&claim)).await;
    assert!(matches!(failed, Err(MeterError::Unavailable(_))));
    assert_eq!(total().await, 0);

    // It fails, and it has happened: it is done once all the same, in the end.
    proxy.set(Wire::Good);
    back(&meter).await;
    proxy.set(Wire::Swallows);
    let failed = meter.reserve("r_1", std::slice::from_ref(&claim)).await;
    assert!(matches!(failed, Err(MeterError::Unavailable(_))));
    assert_eq!(total().await, 30);
    proxy.set(Wire::Good);
    back(&meter).await;
    let again = meter.reserve("r_1", std::slice::from_ref(&claim)).await;
    assert!(matches!(again, Ok(Reserved::Held(_))));
    assert_eq!(total().await, 30);

    proxy.set(Wire::Swallows);
    assert!(meter.settle("r_1", 12, &accounts).await.is_err());
    proxy.set(Wire::Good);
    back(&meter).await;
    meter.settle("r_1", 12, &accounts).await.unwrap();
    let settled = direct.total("m_fault").await.unwrap();
    assert_eq!((settled.spent, settled.reserved), (12, 0));
}

/// Waits until the meter answers again.
async fn back(meter: &RedisMeter) {
    for _ in 0..100 {
        if meter.total("m_other").await.is_ok() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("it does not come back")
}

/// The primary acknowledges what its replica never gets, and dies. What the process has seen spent
/// counts again.
#[tokio::test]
async fn what_a_fail_over_lost_counts_again() {
    let mut primary = Server::start(Kind::Plain);
    let replication = Proxy::to(primary.port());
    let port = replication.port().to_string();
    let replica = Server::start_with(Kind::Plain, &["--replicaof", "127.0.0.1", &port]);
    replica.follows();
    let address = Proxy::to(primary.port());
    let mut settings = primary.settings();
    settings.nodes[0].port = address.port();
    let meter = open(&settings).await;
    let [claim] = claims(20);
    let accounts = [claim.account.clone()];
    meter
        .reserve("r_1", std::slice::from_ref(&claim))
        .await
        .unwrap();
    meter.settle("r_1", 20, &accounts).await.unwrap();
    replica.has_all_of(&primary);
    replication.set(Wire::Cut);
    meter
        .reserve("r_2", std::slice::from_ref(&claim))
        .await
        .unwrap();
    let seen = meter.settle("r_2", 15, &accounts).await.unwrap()[0].spent;
    meter
        .reserve("r_3", std::slice::from_ref(&claim))
        .await
        .unwrap();
    primary.kill();
    let mut promote = ::redis::cmd("REPLICAOF");
    promote.arg("NO").arg("ONE");
    promote.exec(&mut replica.admin()).unwrap();
    address.lead_to(replica.port());

    assert_eq!(meter.total("m_fault").await.unwrap().spent, 20);
    let knowing = Claim {
        known: seen,
        ..claim
    };
    let Reserved::Held(standing) = meter.reserve("r_4", &[knowing]).await.unwrap() else {
        panic!("refused")
    };
    assert_eq!((standing[0].total.spent, standing[0].missing), (35, 15));
    // An exchange that was under way settles as if its reservation were still there.
    meter.settle("r_3", 9, &accounts).await.unwrap();
    let total = meter.total("m_fault").await.unwrap();
    assert_eq!((total.spent, total.reserved), (44, 20));
}

#[tokio::test]
async fn rows_that_no_version_wrote_are_refused() {
    let server = Server::start(Kind::Plain);
    let meter = open(&server.settings()).await;
    let key = meter.link.key("m_fault", "meter", "m_fault");
    for (format, newer) in [("2", true), ("0", false), ("x", false)] {
        let mut set = ::redis::cmd("HSET");
        set.arg(&key).arg("format").arg(format);
        set.exec(&mut server.admin()).unwrap();
        let [claim] = claims(1);
        let accounts = [claim.account.clone()];
        let errors = [
            meter.total("m_fault").await.err(),
            meter.reserve("r_1", &[claim]).await.err(),
            meter.settle("r_1", 1, &accounts).await.err(),
            meter.release("r_1", &accounts).await.err(),
        ];
        for error in errors {
            let error = error.unwrap();
            assert_eq!(matches!(error, MeterError::Newer), newer, "{format}");
            assert_eq!(matches!(error, MeterError::Damaged), !newer, "{format}");
        }
    }
}

#[tokio::test]
async fn replicas_whose_clocks_are_days_apart_share_the_servers_day() {
    let server = Server::start(Kind::Plain);
    let settings = server.settings();
    let replica = async |clock| {
        let link = Arc::new(Link::open(&settings).await.unwrap());
        days::Replica {
            clock,
            meter: Arc::new(RedisMeter::new(link.clone())),
            registry: Arc::new(RedisRegistry::new(link)),
        }
    };
    let [one, two] = days::clocks(now_us());
    days::one_day_for_all([replica(one).await, replica(two).await]).await;
}
