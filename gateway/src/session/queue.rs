//! Waiting for a session's turn, first come, first served.
//!
//! The turns of this process stand in a line of its own, and only the one in front asks the store. Where
//! other processes share the store, each turn that waits has a place in the store's line as well
//! ([`Ticket`]).

use std::{collections::HashMap, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use super::{
    in_line::{Desk, Outside, Ticket},
    store::PLACES as WAITING,
};

/// Sessions in the table before those that nobody waits for are taken out.
const SWEEP_AT: usize = 1024;

/// The turns of this process, in line for their sessions.
#[derive(Default)]
pub(super) struct Queue {
    sessions: Mutex<HashMap<String, Arc<Line>>>,
}

struct Line {
    turn: Arc<Semaphore>,
    room: Arc<Semaphore>,
    /// Of whoever came last, and does or did not wait for those before.
    newest: Mutex<Newest>,
    /// Its places in the store's line.
    desk: Desk,
}

#[derive(Default)]
struct Newest {
    /// Cancelled when a newer one comes.
    passed: CancellationToken,
    /// Interrupts the turn that is under way.
    interrupt: CancellationToken,
}

/// How a turn gets to the front of its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Patience {
    /// It interrupts the turn that is under way, and waits at most this long for it to end.
    Interrupts(Duration),
    /// It waits at most this long for those before it.
    Waits(Duration),
}

impl Patience {
    /// The longest that it may take.
    pub(super) fn longest(self) -> Duration {
        match self {
            Self::Interrupts(longest) | Self::Waits(longest) => longest,
        }
    }
}

/// Why a turn did not get to the front.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turned {
    /// It waited in vain, or there was no room to wait.
    Away,
    /// Another came meanwhile, which is to go on in its place.
    Aside,
}

/// The right to be the one turn of a session in this process. Ends when dropped.
pub(super) struct Place {
    turn: Arc<OwnedSemaphorePermit>,
    /// Keeps the line in the table for as long as someone stands in it.
    _line: Arc<Line>,
    interrupt: CancellationToken,
    /// Until it has the lease: its place in the store's line, or that it may have one.
    pub(super) ticket: Option<Ticket>,
}

impl Place {
    /// Cancelled when a newer turn of this process interrupts this one.
    pub(super) fn interruption(&self) -> &CancellationToken {
        &self.interrupt
    }

    /// As long as this is not dropped either, the place is nobody else's.
    pub(super) fn hold(&self) -> Arc<OwnedSemaphorePermit> {
        Arc::clone(&self.turn)
    }
}

impl Queue {
    /// Waits at most `patience` for the session's turn among those of this process.
    pub(super) async fn wait(&self, session: &str, patience: Duration) -> Option<Place> {
        let entered = self.enter(session, Patience::Waits(patience), None);
        entered.await.ok()
    }

    /// Gets the session's turn, in the way that `patience` says. `outside` is the line of all processes,
    /// in which a turn that may wait stands as well.
    pub(super) async fn enter(
        &self,
        session: &str,
        patience: Patience,
        outside: Option<Outside>,
    ) -> Result<Place, Turned> {
        let line = self.line(session);
        let ticket = outside.map(|outside| Ticket::new(outside, session, &line.desk));
        let arrive = || match patience {
            Patience::Interrupts(_) => Some(line.arrive()),
            Patience::Waits(_) => None,
        };
        let (turn, passed) = match Arc::clone(&line.turn).try_acquire_owned() {
            Ok(turn) => (turn, arrive()),
            Err(_) => {
                // Room is held while waiting only. Who finds none interrupts nobody: it would not go
                // on in the other's place.
                let room = Arc::clone(&line.room).try_acquire_owned();
                let _room = room.map_err(|_| Turned::Away)?;
                let passed = arrive();
                let turn = Arc::clone(&line.turn).acquire_owned();
                let turn = tokio::time::timeout(patience.longest(), turn);
                let turn = tokio::select! {
                    biased;
                    () = is_cancelled(passed.as_ref()) => return Err(Turned::Aside),
                    turn = turn => turn.ok().and_then(Result::ok),
                    () = stands_outside(ticket.as_ref()) => None,
                };
                let Some(turn) = turn else {
                    if let Some(ticket) = ticket {
                        ticket.leave().await;
                    }
                    return Err(Turned::Away);
                };
                (turn, passed)
            }
        };
        let mut newest = line.newest.lock();
        if passed.is_some_and(|passed| passed.is_cancelled()) {
            return Err(Turned::Aside);
        }
        let interrupt = CancellationToken::new();
        newest.interrupt = interrupt.clone();
        drop(newest);
        Ok(Place {
            turn: Arc::new(turn),
            _line: line,
            interrupt,
            ticket,
        })
    }

    fn line(&self, session: &str) -> Arc<Line> {
        let mut sessions = self.sessions.lock();
        if sessions.len() >= SWEEP_AT && sessions.len().is_power_of_two() {
            sessions.retain(|_, line| Arc::strong_count(line) > 1);
        }
        let line = sessions.entry(session.to_owned()).or_insert_with(|| {
            Arc::new(Line {
                turn: Arc::new(Semaphore::new(1)),
                room: Arc::new(Semaphore::new(WAITING)),
                newest: Mutex::default(),
                desk: Arc::default(),
            })
        });
        Arc::clone(line)
    }
}

impl Line {
    /// Notes the newest turn, interrupts the one under way, and has those leave that would have gone on
    /// in its place. What is returned is cancelled when a newer one comes.
    fn arrive(&self) -> CancellationToken {
        let mut newest = self.newest.lock();
        newest.interrupt.cancel();
        newest.passed.cancel();
        newest.passed = CancellationToken::new();
        newest.passed.clone()
    }
}

/// Ends once the token is cancelled; never without one.
async fn is_cancelled(token: Option<&CancellationToken>) {
    match token {
        Some(token) => token.cancelled().await,
        None => std::future::pending().await,
    }
}

/// Stands in the line of all processes; ends when there is no room in it.
async fn stands_outside(ticket: Option<&Ticket>) {
    match ticket {
        Some(ticket) => ticket.stand().await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn one_at_a_time_in_the_order_of_arrival() {
        let queue = Arc::new(Queue::default());
        let order = Arc::new(Mutex::new(Vec::new()));
        let first = queue.wait("s", LONG).await.unwrap();
        let mut turns = tokio::task::JoinSet::new();
        for n in 0..8 {
            let (queue, order) = (Arc::clone(&queue), Arc::clone(&order));
            turns.spawn(async move {
                let _place = queue.wait("s", LONG).await.unwrap();
                order.lock().push(n);
            });
            tokio::task::yield_now().await;
        }
        assert!(order.lock().is_empty());
        assert!(queue.wait("other", Duration::ZERO).await.is_some());
        drop(first);
        while turns.join_next().await.is_some() {}
        assert_eq!(*order.lock(), (0..8).collect::<Vec<_>>());
    }

    #[tokio::test(start_paused = true)]
    async fn patience_ends_and_the_line_is_bounded() {
        let queue = Arc::new(Queue::default());
        let _first = queue.wait("s", LONG).await.unwrap();
        assert!(queue.wait("s", Duration::from_millis(5)).await.is_none());

        let mut turns = tokio::task::JoinSet::new();
        for _ in 0..WAITING {
            let queue = Arc::clone(&queue);
            turns.spawn(async move { queue.wait("s", LONG).await.is_some() });
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
        let asked = tokio::time::Instant::now();
        assert!(queue.wait("s", LONG).await.is_none());
        assert_eq!(asked.elapsed(), Duration::ZERO, "no room: refused at once");
    }

    /// The newest of those that interrupt goes on; who waits in line for its turn is not passed by.
    #[tokio::test]
    async fn the_newest_goes_on() {
        let queue = Arc::new(Queue::default());
        let first = queue.enter("s", Patience::Waits(LONG), None).await.unwrap();
        let mut turns = tokio::task::JoinSet::new();
        for n in 0..4 {
            let queue = Arc::clone(&queue);
            turns.spawn(async move {
                let place = queue.enter("s", Patience::Interrupts(LONG), None).await;
                (n, place.map(drop))
            });
            tokio::task::yield_now().await;
            assert!(first.interruption().is_cancelled());
        }
        drop(first);
        let mut ended = turns.join_all().await;
        ended.sort_unstable_by_key(|(n, _)| *n);
        let aside = Err(Turned::Aside);
        assert_eq!(ended, [(0, aside), (1, aside), (2, aside), (3, Ok(()))]);
        let last = queue
            .enter("s", Patience::Interrupts(LONG), None)
            .await
            .unwrap();
        assert!(!last.interruption().is_cancelled());
    }

    /// Who came before the newest leaves at once, with its room; who finds none interrupts nobody.
    #[tokio::test]
    async fn somebody_always_goes_on() {
        let queue = Arc::new(Queue::default());
        let first = queue.enter("s", Patience::Waits(LONG), None).await.unwrap();
        let enter = |patience| {
            let queue = Arc::clone(&queue);
            let mut alone = tokio::task::JoinSet::new();
            alone.spawn(async move { queue.enter("s", patience, None).await.map(drop) });
            alone
        };
        let ended = async |mut alone: tokio::task::JoinSet<_>| {
            let ended = alone.join_next().await;
            ended.unwrap().unwrap()
        };
        let mut waiting = Vec::new();
        for _ in 0..WAITING - 1 {
            waiting.push(enter(Patience::Waits(LONG)));
        }
        tokio::task::yield_now().await;
        let mut newest = enter(Patience::Interrupts(LONG));
        tokio::task::yield_now().await;
        assert!(first.interruption().is_cancelled());
        drop(first);
        assert_eq!(ended(newest).await, Ok(()));

        let first = queue.enter("s", Patience::Waits(LONG), None).await.unwrap();
        let full: Vec<_> = (0..WAITING).map(|_| enter(Patience::Waits(LONG))).collect();
        tokio::task::yield_now().await;
        let away = queue.enter("s", Patience::Interrupts(LONG), None).await;
        assert_eq!(away.map(drop), Err(Turned::Away));
        assert!(!first.interruption().is_cancelled());
        for mut waiting in full {
            waiting.shutdown().await;
        }

        newest = enter(Patience::Interrupts(LONG));
        for _ in 0..2 * WAITING {
            tokio::task::yield_now().await;
            let newer = enter(Patience::Interrupts(LONG));
            tokio::task::yield_now().await;
            assert_eq!(ended(newest).await, Err(Turned::Aside));
            newest = newer;
        }
        drop(first);
        assert_eq!(ended(newest).await, Ok(()));
    }

    #[tokio::test]
    async fn lines_that_nobody_stands_in_are_forgotten() {
        let queue = Queue::default();
        let held = queue.wait("held", LONG).await;
        for n in 0..3 * SWEEP_AT {
            queue.wait(&n.to_string(), LONG).await.unwrap();
        }
        assert!(queue.sessions.lock().len() <= 2 * SWEEP_AT);
        assert!(queue.wait("held", Duration::ZERO).await.is_none());
        drop(held);
    }
}
