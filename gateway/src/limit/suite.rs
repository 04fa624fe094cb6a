//! What every meter must do, run on each backend.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use async_trait::async_trait;
use proptest::{prelude::*, strategy::ValueTree, test_runner::TestRunner};
use tokio::task::JoinSet;

use super::{Account, Claim, Meter, Reserved, Total};

/// A backend that can crash, and the time that it goes by.
#[async_trait]
pub(crate) trait Backend: Sync {
    fn meter(&self) -> Arc<dyn Meter>;
    /// What is there once it has crashed and is back.
    async fn after_crash(&self) -> Arc<dyn Meter>;
    async fn advance(&self, by: Duration);
    fn now_us(&self) -> i64;
}

const HOUR_US: i64 = 3_600_000_000;
const DAY: Duration = Duration::from_secs(24 * 3600);

/// Runs everything on a backend that holds nothing.
pub(crate) async fn run(backend: &dyn Backend) {
    let until_us = backend.now_us() + HOUR_US;
    shows_the_time_of_its_store(backend);
    sets_aside_and_settles(&*backend.meter(), until_us).await;
    takes_all_or_nothing(&*backend.meter(), until_us).await;
    does_everything_once(&*backend.meter(), until_us).await;
    what_is_known_to_be_spent_counts(&*backend.meter(), until_us).await;
    a_race_gives_exactly_the_cap(backend.meter(), until_us).await;
    races_over_many_names_end(backend.meter(), until_us).await;
    whatever_is_done_it_counts_as_a_sum_would(&*backend.meter(), until_us).await;
    a_crash_gives_nothing_back(backend, until_us).await;
    forgets_after_the_window(backend, until_us).await;
}

fn account(name: &str, until_us: i64) -> Account {
    Account {
        name: name.to_owned(),
        until_us,
    }
}

fn claim(name: &str, amount: u64, cap: impl Into<Option<u64>>, until_us: i64) -> Claim {
    Claim {
        account: account(name, until_us),
        amount,
        cap: cap.into(),
        known: 0,
    }
}

async fn total(meter: &dyn Meter, name: &str) -> (u64, u64) {
    let total = meter.total(name).await.unwrap();
    (total.spent, total.reserved)
}

fn is_held(reserved: &Reserved) -> bool {
    matches!(reserved, Reserved::Held(_))
}

/// To within what an answer that tells it may take, where the store is another machine's.
fn shows_the_time_of_its_store(backend: &dyn Backend) {
    let apart_us = backend.meter().now_us() - backend.now_us();
    assert!(apart_us.abs() < 60_000_000, "{apart_us}");
}

async fn sets_aside_and_settles(meter: &dyn Meter, until_us: i64) {
    assert_eq!(total(meter, "m_none").await, (0, 0));
    let claims = [
        claim("m_one", 100, 1000, until_us),
        claim("m_two", 100, None, until_us),
    ];
    let Reserved::Held(standing) = meter.reserve("r_1", &claims).await.unwrap() else {
        panic!("refused")
    };
    let totals: Vec<_> = standing
        .iter()
        .map(|it| (it.total.all(), it.missing))
        .collect();
    assert_eq!(totals, [(100, 0), (100, 0)]);
    let accounts = claims.clone().map(|claim| claim.account);
    let totals = meter.settle("r_1", 30, &accounts).await.unwrap();
    let settled = Total {
        spent: 30,
        reserved: 0,
    };
    assert_eq!(totals, [settled, settled]);
    // More than was set aside, and nothing at all.
    assert!(is_held(&meter.reserve("r_2", &claims).await.unwrap()));
    meter.settle("r_2", 500, &accounts).await.unwrap();
    assert!(is_held(&meter.reserve("r_3", &claims).await.unwrap()));
    assert_eq!(total(meter, "m_one").await, (530, 100));
    meter.release("r_3", &accounts).await.unwrap();
    assert_eq!(total(meter, "m_one").await, (530, 0));
    assert_eq!(total(meter, "m_two").await, (530, 0));
}

async fn takes_all_or_nothing(meter: &dyn Meter, until_us: i64) {
    let names = ["m_all_a", "m_all_b", "m_all_c"];
    for (at, _) in names.iter().enumerate() {
        let claims: Vec<_> = names
            .iter()
            .enumerate()
            .map(|(n, name)| claim(name, 10, if n == at { 9 } else { 1000 }, until_us))
            .collect();
        let request = format!("r_all_{at}");
        let refused = meter.reserve(&request, &claims).await.unwrap();
        let total = Total::default();
        assert_eq!(refused, Reserved::Refused { at, total });
    }
    for name in names {
        assert_eq!(total(meter, name).await, (0, 0), "{name}");
    }
    // Exactly the cap is allowed.
    let all = names.map(|name| claim(name, 10, 10, until_us));
    assert!(is_held(&meter.reserve("r_all", &all).await.unwrap()));
    assert!(!is_held(&meter.reserve("r_more", &all).await.unwrap()));
    for name in names {
        assert_eq!(total(meter, name).await, (0, 10), "{name}");
    }
}

async fn does_everything_once(meter: &dyn Meter, until_us: i64) {
    let claims = [
        claim("m_once_a", 50, 80, until_us),
        claim("m_once_b", 50, 80, until_us),
    ];
    let accounts = claims.clone().map(|claim| claim.account);
    for _ in 0..3 {
        assert!(is_held(&meter.reserve("r_once", &claims).await.unwrap()));
        assert_eq!(total(meter, "m_once_a").await, (0, 50));
    }
    for _ in 0..3 {
        meter.settle("r_once", 20, &accounts).await.unwrap();
        assert_eq!(total(meter, "m_once_b").await, (20, 0));
    }
    // It has been paid for, whatever is asked of it now.
    assert!(is_held(&meter.reserve("r_once", &claims).await.unwrap()));
    meter.release("r_once", &accounts).await.unwrap();
    meter.settle("r_once", 70, &accounts).await.unwrap();
    assert_eq!(total(meter, "m_once_a").await, (20, 0));
    for _ in 0..2 {
        assert!(is_held(&meter.reserve("r_back", &claims).await.unwrap()));
        for _ in 0..2 {
            meter.release("r_back", &accounts).await.unwrap();
            assert_eq!(total(meter, "m_once_b").await, (20, 0));
        }
    }
    // One whose reservation was lost is counted all the same, and once.
    for _ in 0..2 {
        meter.settle("r_lost", 7, &accounts).await.unwrap();
        assert_eq!(total(meter, "m_once_a").await, (27, 0));
    }
}

async fn what_is_known_to_be_spent_counts(meter: &dyn Meter, until_us: i64) {
    let known = |known, amount| Claim {
        known,
        ..claim("m_known", amount, 100, until_us)
    };
    let standing = |reserved: Reserved| match reserved {
        Reserved::Held(standing) => (standing[0].total.spent, standing[0].missing),
        Reserved::Refused { total, .. } => panic!("{total:?}"),
    };
    let first = meter.reserve("r_known_1", &[known(40, 10)]).await.unwrap();
    assert_eq!(standing(first), (40, 40));
    assert_eq!(total(meter, "m_known").await, (40, 10));
    let more = meter.reserve("r_known_2", &[known(30, 10)]).await.unwrap();
    assert_eq!(standing(more), (40, 0), "it never becomes less");
    let refused = meter.reserve("r_known_3", &[known(80, 10)]).await.unwrap();
    assert!(matches!(
        refused,
        Reserved::Refused { at: 0, total } if total.spent == 80 && total.reserved == 20
    ));
    // Also where the request has its reservation already.
    let again = meter.reserve("r_known_1", &[known(45, 10)]).await.unwrap();
    assert_eq!(standing(again), (45, 5));
    assert_eq!(total(meter, "m_known").await, (45, 20));
}

async fn a_race_gives_exactly_the_cap(meter: Arc<dyn Meter>, until_us: i64) {
    let mut writers = JoinSet::new();
    for n in 0..20 {
        let meter = Arc::clone(&meter);
        writers.spawn(async move {
            let claims = [claim("m_race", 5, 50, until_us)];
            let request = format!("r_race_{n}");
            is_held(&meter.reserve(&request, &claims).await.unwrap())
        });
    }
    let held = writers.join_all().await.into_iter().filter(|held| *held);
    assert_eq!(held.count(), 10);
    assert_eq!(total(&*meter, "m_race").await, (0, 50));
}

/// Writers that want several names, and a cap on each: at no time more than the caps, nothing is left
/// behind by those that were refused, and what was refused can be had later.
async fn races_over_many_names_end(meter: Arc<dyn Meter>, until_us: i64) {
    let names = ["m_many_a", "m_many_b", "m_many_c"];
    let mut writers = JoinSet::new();
    for n in 0..20_u64 {
        let meter = Arc::clone(&meter);
        writers.spawn(async move {
            let claims = names.map(|name| claim(name, 5, 50, until_us));
            let accounts = claims.clone().map(|claim| claim.account);
            let request = format!("r_many_{n}");
            let held = is_held(&meter.reserve(&request, &claims).await.unwrap());
            for name in names {
                assert!(meter.total(name).await.unwrap().all() <= 50);
            }
            if held {
                meter.settle(&request, 2, &accounts).await.unwrap();
            }
            u64::from(held)
        });
    }
    let held: u64 = writers.join_all().await.into_iter().sum();
    assert!(held > 0);
    for name in names {
        assert_eq!(total(&*meter, name).await, (2 * held, 0), "{name}");
    }
}

#[derive(Clone, Debug)]
enum Step {
    Reserve {
        request: usize,
        amount: u64,
        known: u64,
    },
    Settle {
        request: usize,
        spent: u64,
    },
    Release {
        request: usize,
    },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let request = 0..6_usize;
    let step = prop_oneof![
        (request.clone(), 1..60_u64, prop_oneof![Just(0), 0..150_u64]).prop_map(
            |(request, amount, known)| Step::Reserve {
                request,
                amount,
                known
            }
        ),
        (request.clone(), 0..80_u64).prop_map(|(request, spent)| Step::Settle { request, spent }),
        request.prop_map(|request| Step::Release { request }),
    ];
    proptest::collection::vec(step, 1..40)
}

/// What the meter must say, in the plainest words.
#[derive(Default)]
struct Sum {
    spent: u64,
    open: BTreeMap<usize, u64>,
    done: Vec<usize>,
}

impl Sum {
    const CAP: u64 = 200;

    fn reserved(&self) -> u64 {
        self.open.values().sum()
    }

    /// Whether it is held.
    fn reserve(&mut self, request: usize, amount: u64, known: u64) -> bool {
        let is_new = !self.open.contains_key(&request) && !self.done.contains(&request);
        let spent = self.spent.max(known);
        if is_new && spent + self.reserved() + amount > Self::CAP {
            return false;
        }
        self.spent = spent;
        if is_new {
            self.open.insert(request, amount);
        }
        true
    }

    fn settle(&mut self, request: usize, spent: u64) {
        self.open.remove(&request);
        if !self.done.contains(&request) {
            self.done.push(request);
            self.spent += spent;
        }
    }
}

/// Random orders of everything that can be asked, against a plain sum.
async fn whatever_is_done_it_counts_as_a_sum_would(meter: &dyn Meter, until_us: i64) {
    let mut runner = TestRunner::deterministic();
    for round in 0..40 {
        let steps = steps().new_tree(&mut runner).unwrap().current();
        let names = ["a", "b"].map(|name| format!("m_sum_{round}_{name}"));
        let accounts = names.clone().map(|name| account(&name, until_us));
        let id = |request: usize| format!("r_sum_{round}_{request}");
        let (mut sum, mut before) = (Sum::default(), 0);
        for step in &steps {
            match *step {
                Step::Reserve {
                    request,
                    amount,
                    known,
                } => {
                    let claims = names.clone().map(|name| Claim {
                        known,
                        ..claim(&name, amount, Sum::CAP, until_us)
                    });
                    let held = meter.reserve(&id(request), &claims).await.unwrap();
                    let expected = sum.reserve(request, amount, known);
                    assert_eq!(is_held(&held), expected, "{steps:?}");
                }
                Step::Settle { request, spent } => {
                    meter.settle(&id(request), spent, &accounts).await.unwrap();
                    sum.settle(request, spent);
                }
                Step::Release { request } => {
                    meter.release(&id(request), &accounts).await.unwrap();
                    sum.open.remove(&request);
                }
            }
            for name in &names {
                let now = total(meter, name).await;
                assert_eq!(now, (sum.spent, sum.reserved()), "{step:?} of {steps:?}");
                assert!(now.0 >= before, "what was spent became less");
            }
            before = sum.spent;
        }
    }
}

async fn a_crash_gives_nothing_back(backend: &dyn Backend, until_us: i64) {
    let meter = backend.meter();
    let claims = [claim("m_crash", 60, 100, until_us)];
    let accounts = claims.clone().map(|claim| claim.account);
    assert!(is_held(&meter.reserve("r_crash_1", &claims).await.unwrap()));
    meter.settle("r_crash_1", 25, &accounts).await.unwrap();
    assert!(is_held(&meter.reserve("r_crash_2", &claims).await.unwrap()));
    drop(meter);
    let meter = backend.after_crash().await;
    // Whoever had it is gone. It stands, and can still be settled, once.
    assert_eq!(total(&*meter, "m_crash").await, (25, 60));
    assert!(!is_held(
        &meter.reserve("r_crash_3", &claims).await.unwrap()
    ));
    for _ in 0..2 {
        meter.settle("r_crash_2", 10, &accounts).await.unwrap();
        meter.settle("r_crash_1", 99, &accounts).await.unwrap();
    }
    assert_eq!(total(&*meter, "m_crash").await, (35, 0));
}

/// Names are forgotten some time after their window, and not before: what stands there stands.
async fn forgets_after_the_window(backend: &dyn Backend, until_us: i64) {
    let meter = backend.meter();
    let short = [claim("m_short", 5, None, until_us)];
    let long = [claim("m_long", 5, None, until_us + 30 * 24 * HOUR_US)];
    assert!(is_held(&meter.reserve("r_short", &short).await.unwrap()));
    assert!(is_held(&meter.reserve("r_long", &long).await.unwrap()));
    backend.advance(Duration::from_secs(3000)).await;
    meter.sweep().await.unwrap();
    assert_eq!(total(&*meter, "m_short").await, (0, 5));
    backend.advance(DAY + Duration::from_secs(3600)).await;
    meter.sweep().await.unwrap();
    assert_eq!(total(&*meter, "m_short").await, (0, 0));
    assert_eq!(total(&*meter, "m_long").await, (0, 5));
}
