//! Waiting for a session's turn, first come, first served.

use std::{collections::HashMap, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

/// Turns that may wait for one session. More of them is a client that retries too eagerly.
const WAITING: usize = 32;
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
}

#[derive(Default)]
struct Newest {
    arrival: u64,
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
    _turn: OwnedSemaphorePermit,
    /// Keeps the line in the table for as long as someone stands in it.
    _line: Arc<Line>,
    interrupt: CancellationToken,
}

impl Place {
    /// Cancelled when a newer turn of this process interrupts this one.
    pub(super) fn interruption(&self) -> &CancellationToken {
        &self.interrupt
    }
}

impl Queue {
    /// Waits at most `patience` for the session's turn.
    pub(super) async fn wait(&self, session: &str, patience: Duration) -> Option<Place> {
        self.enter(session, Patience::Waits(patience)).await.ok()
    }

    /// Gets the session's turn, in the way that `patience` says.
    pub(super) async fn enter(&self, session: &str, patience: Patience) -> Result<Place, Turned> {
        let line = self.line(session);
        let arrival = match patience {
            Patience::Interrupts(_) => Some(line.arrive()),
            Patience::Waits(_) => None,
        };
        let turn = match Arc::clone(&line.turn).try_acquire_owned() {
            Ok(turn) => turn,
            Err(_) => {
                // Room is held while waiting only.
                let room = Arc::clone(&line.room).try_acquire_owned();
                let _room = room.map_err(|_| Turned::Away)?;
                let turn = Arc::clone(&line.turn).acquire_owned();
                let turn = tokio::time::timeout(patience.longest(), turn).await;
                turn.ok().and_then(Result::ok).ok_or(Turned::Away)?
            }
        };
        let mut newest = line.newest.lock();
        if arrival.is_some_and(|arrival| arrival != newest.arrival) {
            return Err(Turned::Aside);
        }
        let interrupt = CancellationToken::new();
        newest.interrupt = interrupt.clone();
        drop(newest);
        Ok(Place {
            _turn: turn,
            _line: line,
            interrupt,
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
            })
        });
        Arc::clone(line)
    }
}

impl Line {
    /// Notes the newest turn, and interrupts the one under way.
    fn arrive(&self) -> u64 {
        let mut newest = self.newest.lock();
        newest.arrival += 1;
        newest.interrupt.cancel();
        newest.arrival
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
        let first = queue.enter("s", Patience::Waits(LONG)).await.unwrap();
        let mut turns = tokio::task::JoinSet::new();
        for n in 0..4 {
            let queue = Arc::clone(&queue);
            turns.spawn(async move {
                let place = queue.enter("s", Patience::Interrupts(LONG)).await;
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
        let last = queue.enter("s", Patience::Interrupts(LONG)).await.unwrap();
        assert!(!last.interruption().is_cancelled());
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
