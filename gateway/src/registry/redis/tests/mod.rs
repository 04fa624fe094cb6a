//! The registry on real servers, and the servers for the other suites.

mod proxy;
mod server;
pub(crate) mod time;

pub(crate) use proxy::{Proxy, Wire};
pub(crate) use server::{Kind, Nodes, Server};

use super::*;
use crate::registry::suite;

async fn keeps_the_contract(
    settings: &crate::config::Redis,
    advance: impl Fn(std::time::Duration) + Sync,
) {
    let link = Arc::new(Link::open(settings).await.unwrap());
    suite::run(&RedisRegistry::new(link), &advance).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_server_does_what_every_registry_must() {
    for kind in [Kind::Plain, Kind::Tls] {
        let server = Server::start(kind);
        keeps_the_contract(&server.settings(), |by| server.advance(by)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_does_what_every_registry_must() {
    let nodes = Nodes::start();
    keeps_the_contract(&nodes.settings(), |by| nodes.advance(by)).await;
}

#[tokio::test]
async fn a_server_that_evicts_or_follows_is_not_taken() {
    let server = Server::start_with(Kind::Plain, &["--maxmemory-policy", "allkeys-lru"]);
    let settings = server.settings();
    let link = Link::open(&settings).await.unwrap();
    let refused = link.check(&settings).await.unwrap_err().to_string();
    assert!(refused.contains("allkeys-lru"), "{refused}");
    let port = server.port().to_string();
    let replica = Server::start_with(Kind::Plain, &["--replicaof", "127.0.0.1", &port]);
    let settings = replica.settings();
    let link = Link::open(&settings).await.unwrap();
    let refused = link.check(&settings).await.unwrap_err().to_string();
    assert!(refused.contains("replica"), "{refused}");
}

#[tokio::test]
async fn the_user_of_the_documentation_may_not_do_more() {
    let server = Server::start(Kind::Tls);
    let settings = server.settings();
    let link = Link::open(&settings).await.unwrap();
    link.check(&settings).await.unwrap();
    let refused = async |command: &mut redis::Cmd| match link.command(command, None).await {
        Err(LinkError::Refused(code)) => code,
        other => format!("{other:?}"),
    };
    assert_eq!(refused(redis::cmd("FLUSHALL").arg("SYNC")).await, "NOPERM");
    assert_eq!(refused(redis::cmd("KEYS").arg("*")).await, "NOPERM");
    let mut elsewhere = redis::cmd("HGET");
    assert_eq!(refused(elsewhere.arg("other:x").arg("y")).await, "NOPERM");
    // And nobody gets in without the password, or is believed without the right certificate.
    let mut wrong = server.settings();
    wrong.password = Some(gatehouse_envelope::secret::Secret::new("no".to_owned()));
    let Err(refused) = Link::open(&wrong).await else {
        panic!("let in")
    };
    assert!(refused.to_string().contains("WRONGPASS"), "{refused}");
    let mut unknown = server.settings();
    unknown.ca = None;
    let Err(LinkError::Lost(why)) = Link::open(&unknown).await else {
        panic!("believed")
    };
    assert!(why.contains("certificate"), "{why}");
}
