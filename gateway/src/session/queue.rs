//! Waiting for a session's turn, first come, first served.

use std::{collections::HashMap, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

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
}

/// The right to be the one turn of a session in this process. Ends when dropped.
pub(super) struct Place {
    _turn: OwnedSemaphorePermit,
    /// Keeps the line in the table for as long as someone stands in it.
    _line: Arc<Line>,
}

impl Queue {
    /// Waits at most `patience` for the session's turn.
    pub(super) async fn wait(&self, session: &str, patience: Duration) -> Option<Place> {
        let line = self.line(session);
        if let Ok(turn) = Arc::clone(&line.turn).try_acquire_owned() {
            return Some(Place {
                _turn: turn,
                _line: line,
            });
        }
        // Room is held while waiting only.
        let _room = Arc::clone(&line.room).try_acquire_owned().ok()?;
        let turn = tokio::time::timeout(patience, Arc::clone(&line.turn).acquire_owned());
        let turn = turn.await.ok()?.ok()?;
        Some(Place {
            _turn: turn,
            _line: line,
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
            })
        });
        Arc::clone(line)
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
