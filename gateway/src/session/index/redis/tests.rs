use std::time::Duration;

use super::*;
use crate::registry::redis_tests::{Kind, Nodes, Server, time::now_us};
use crate::session::index::suite::{self, Time};

impl Time for Server {
    fn now_us(&self) -> i64 {
        now_us()
    }

    fn advance(&self, by: Duration) {
        Server::advance(self, by);
    }
}

impl Time for Nodes {
    fn now_us(&self) -> i64 {
        now_us()
    }

    fn advance(&self, by: Duration) {
        Nodes::advance(self, by);
    }
}

#[tokio::test]
async fn one_server_keeps_the_contract() {
    for kind in [Kind::Plain, Kind::Tls] {
        let server = Server::start(kind);
        let link = Link::open(&server.settings()).await.unwrap();
        suite::run(&RedisIndex::new(Arc::new(link)), &server).await;
    }
}

#[tokio::test]
async fn a_cluster_keeps_the_contract() {
    let nodes = Nodes::start();
    let link = Link::open(&nodes.settings()).await.unwrap();
    suite::run(&RedisIndex::new(Arc::new(link)), &nodes).await;
}
