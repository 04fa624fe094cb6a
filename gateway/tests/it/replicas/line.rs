//! Turns of one session that come one after the other, each to another replica: the provider sees them in
//! that order, also if one of the replicas dies while turns wait there.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::house::{House, Reply, Store};
use super::provider::Provider;
use super::{mail, request, text};
use crate::streams::Speaks;

/// What a turn and its replica are.
type Turn = (usize, usize);

struct Waiting {
    house: Arc<House>,
    provider: Provider,
    opened: Value,
    asked: JoinSet<(usize, Reply)>,
}

impl Waiting {
    async fn new() -> Self {
        let provider = Provider::start().await;
        let house = Arc::new(House::open(provider.address, Store::Redis).await);
        let opened = house.post(0, 0, "/v1/sessions", &json!({})).await;
        Self {
            house,
            provider,
            opened: opened.answer.unwrap().json(),
            asked: JoinSet::new(),
        }
    }

    fn ask(&mut self, (turn, replica): Turn, how: &str) {
        let mut body = request(&self.opened["session_id"], 0, turn);
        body["stream"] = json!(false);
        let content = format!("Turn {turn} of session-0: write to {} {how}", mail(0));
        body["messages"][0]["content"] = json!(content);
        let house = Arc::clone(&self.house);
        self.asked.spawn(async move {
            let reply = house.post(replica, 0, Speaks::OpenAi.path(), &body).await;
            (turn, reply)
        });
    }

    /// The first turn is under way and the others wait, in their order: each comes when Redis has a place
    /// for the one before.
    async fn stand(&mut self, first: Turn, others: &[Turn]) {
        self.ask(first, "when told");
        until(|| self.provider.turns("session-0").last() == Some(&first.0)).await;
        let reference = self.opened["reference"].as_str().unwrap().to_owned();
        assert_eq!(self.house.waiting(&reference), 0);
        for (place, turn) in others.iter().enumerate() {
            self.ask(*turn, "now");
            until(|| self.house.waiting(&reference) == place + 1).await;
        }
    }

    /// The turns that were answered, when all have ended.
    async fn answered(&mut self) -> Vec<usize> {
        let mut answered = Vec::new();
        while let Some(ended) = self.asked.join_next().await {
            let (turn, reply) = ended.unwrap();
            if text(&reply, false) == Some(format!("written to {}", mail(0))) {
                answered.push(turn);
            }
        }
        answered.sort_unstable();
        answered
    }
}

async fn until(is_so: impl Fn() -> bool) {
    let since = Instant::now();
    while !is_so() {
        assert!(
            since.elapsed() < Duration::from_secs(30),
            "it does not come"
        );
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn turns_go_in_the_order_in_which_they_came_to_whichever_replica() {
    let mut all = Waiting::new().await;
    all.stand((0, 0), &[(1, 1), (2, 0), (3, 2), (4, 2), (5, 1), (6, 0)])
        .await;
    all.provider.tell();
    assert_eq!(all.answered().await, [0, 1, 2, 3, 4, 5, 6]);
    assert_eq!(all.provider.turns("session-0"), [0, 1, 2, 3, 4, 5, 6]);

    // One dies: nobody waits for the turns that waited there.
    all.stand((10, 0), &[(11, 1), (12, 2), (13, 0), (14, 2), (15, 1)])
        .await;
    all.house.kill(2);
    all.provider.tell();
    assert_eq!(all.answered().await, [10, 11, 13, 15]);
    assert_eq!(all.provider.turns("session-0")[7..], [10, 11, 13, 15]);
    all.house.kill_and_restart(2).await;

    let Waiting {
        house,
        provider,
        asked,
        ..
    } = all;
    drop(asked);
    Arc::into_inner(house).unwrap().close().await.is_clean();
    provider.check(1);
}
