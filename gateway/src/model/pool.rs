//! Threads that run batches, and the queue in front of them.
//!
//! The queue takes turns between those that wait, a batch each, so that one long text does not
//! hold up the short ones. It is bounded in pieces of text: past the bound nobody waits.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

/// What a piece of text is taken to cost a thread before anything was run.
const FIRST_COST: Duration = Duration::from_micros(300);

/// How much may wait, and how long.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Threads.
    pub(super) workers: usize,
    /// Pieces that one request may bring.
    pub(super) most: usize,
    /// Pieces that may wait in all.
    pub(super) waiting: usize,
    /// How long a request waits for its answers.
    pub(super) deadline: Duration,
}

/// Why there are no answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Trouble {
    /// A batch failed.
    #[error("a batch failed")]
    Failed,
    /// The time ran out.
    #[error("the time ran out")]
    Late,
    /// Too much is waiting already.
    #[error("too much is waiting")]
    Overloaded,
    /// More than one request may bring, or than the threads can do before its deadline.
    #[error("too long")]
    TooLong,
}

/// Something to run: what it costs, in pieces.
pub(super) trait Work: Send + Sync + 'static {
    /// The cost.
    fn pieces(&self) -> usize;
}

/// The threads. They end when it is dropped.
pub(super) struct Pool<W: Work, A: Send + 'static> {
    bounds: Bounds,
    shared: Arc<Shared<W, A>>,
    threads: Vec<JoinHandle<()>>,
}

struct Shared<W, A> {
    queue: Mutex<Queue<W, A>>,
    ready: Condvar,
}

struct Queue<W, A> {
    jobs: VecDeque<Job<W, A>>,
    /// Pieces that wait or are being run.
    pieces: usize,
    /// What a piece costs a thread on this machine, as it is: a moving average.
    cost: Duration,
    closed: bool,
}

impl<W, A> Queue<W, A> {
    /// Takes in what a batch took.
    fn learn(&mut self, pieces: usize, took: Duration) {
        let pieces = u32::try_from(pieces.max(1)).unwrap_or(u32::MAX);
        self.cost = (self.cost * 7 + took / pieces) / 8;
    }

    /// How long so many pieces take at least, with nothing else to do.
    fn at_least(&self, pieces: usize, workers: usize) -> Duration {
        let workers = u32::try_from(workers.max(1)).unwrap_or(u32::MAX);
        let pieces = u32::try_from(pieces).unwrap_or(u32::MAX);
        self.cost.saturating_mul(pieces) / workers
    }
}

struct Job<W, A> {
    todo: VecDeque<Arc<W>>,
    answers: mpsc::Sender<Option<A>>,
    until: Instant,
}

impl<W: Work, A: Send + 'static> Pool<W, A> {
    /// Starts the threads; each runs with what `worker` makes for it.
    ///
    /// # Errors
    /// If the operating system gives no thread.
    pub(super) fn start<F>(bounds: Bounds, worker: impl Fn() -> F) -> std::io::Result<Self>
    where
        F: FnMut(&W) -> Option<A> + Send + 'static,
    {
        let queue = Queue {
            jobs: VecDeque::new(),
            pieces: 0,
            cost: FIRST_COST,
            closed: false,
        };
        let shared = Arc::new(Shared {
            queue: Mutex::new(queue),
            ready: Condvar::new(),
        });
        let mut pool = Self {
            bounds,
            shared,
            threads: Vec::new(),
        };
        for number in 0..bounds.workers.max(1) {
            let (shared, mut run) = (Arc::clone(&pool.shared), worker());
            let thread = std::thread::Builder::new()
                .name(format!("model-{number}"))
                .spawn(move || shared.work(&mut run))?;
            pool.threads.push(thread);
        }
        Ok(pool)
    }

    /// Runs all of the work and waits for it; the answers come in no order. Blocks the thread.
    ///
    /// # Errors
    /// [`Trouble`]; what was not begun is not run any more then.
    pub(super) fn run(&self, work: Vec<Arc<W>>) -> Result<Vec<A>, Trouble> {
        let pieces: usize = work.iter().map(|work| work.pieces()).sum();
        let count = work.len();
        if count == 0 {
            return Ok(Vec::new());
        }
        if pieces > self.bounds.most {
            return Err(Trouble::TooLong);
        }
        let until = Instant::now() + self.bounds.deadline;
        let (answers, answered) = mpsc::channel();
        {
            let mut queue = self.shared.queue.lock();
            // Better said now than after the whole deadline was spent on it.
            if queue.at_least(pieces, self.bounds.workers) > self.bounds.deadline {
                return Err(Trouble::TooLong);
            }
            // Whoever comes first is served however much it is.
            if queue.pieces > 0 && queue.pieces.saturating_add(pieces) > self.bounds.waiting {
                return Err(Trouble::Overloaded);
            }
            queue.pieces += pieces;
            queue.jobs.push_back(Job {
                todo: work.into(),
                answers,
                until,
            });
        }
        self.shared.ready.notify_all();
        let mut all = Vec::with_capacity(count);
        while all.len() < count {
            let left = until.saturating_duration_since(Instant::now());
            match answered.recv_timeout(left) {
                Ok(Some(answer)) => all.push(answer),
                Ok(None) => return Err(Trouble::Failed),
                Err(RecvTimeoutError::Timeout) => return Err(Trouble::Late),
                // Whether it was late or a thread died: not all was searched.
                Err(RecvTimeoutError::Disconnected) => return Err(Trouble::Failed),
            }
        }
        Ok(all)
    }
}

impl<W: Work, A> Shared<W, A> {
    fn work(&self, run: &mut impl FnMut(&W) -> Option<A>) {
        while let Some((work, answers)) = self.next() {
            let (pieces, began) = (work.pieces(), Instant::now());
            let answer = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(&work)));
            {
                let mut queue = self.queue.lock();
                queue.pieces -= pieces;
                queue.learn(pieces, began.elapsed());
            }
            // Who asked may have gone.
            let _ = answers.send(answer.ok().flatten());
        }
    }

    /// The next batch of whoever has waited longest for one. `None` when the pool ends.
    fn next(&self) -> Option<(Arc<W>, mpsc::Sender<Option<A>>)> {
        let mut queue = self.queue.lock();
        loop {
            if queue.closed {
                return None;
            }
            let Some(mut job) = queue.jobs.pop_front() else {
                self.ready.wait(&mut queue);
                continue;
            };
            if job.until <= Instant::now() {
                let dropped: usize = job.todo.iter().map(|work| work.pieces()).sum();
                queue.pieces -= dropped;
                continue;
            }
            let Some(work) = job.todo.pop_front() else {
                continue;
            };
            let answers = job.answers.clone();
            if !job.todo.is_empty() {
                queue.jobs.push_back(job);
            }
            return Some((work, answers));
        }
    }
}

impl<W: Work, A: Send + 'static> Drop for Pool<W, A> {
    fn drop(&mut self) {
        self.shared.queue.lock().closed = true;
        self.shared.ready.notify_all();
        for thread in self.threads.drain(..) {
            // A thread that panicked has nothing left to say.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Work for usize {
        fn pieces(&self) -> usize {
            *self
        }
    }

    const BOUNDS: Bounds = Bounds {
        workers: 1,
        most: 100,
        waiting: 100,
        deadline: Duration::from_secs(20),
    };

    fn work(costs: &[usize]) -> Vec<Arc<usize>> {
        costs.iter().map(|cost| Arc::new(*cost)).collect()
    }

    type Held = (Pool<usize, usize>, mpsc::Sender<()>, Arc<Mutex<Vec<usize>>>);

    /// A worker that waits for a permit before each batch and notes which it ran.
    fn held(bounds: Bounds) -> Held {
        let (permit, permits) = mpsc::channel();
        let permits = Arc::new(Mutex::new(permits));
        let ran = Arc::new(Mutex::new(Vec::new()));
        let pool = Pool::start(bounds, || {
            let (permits, ran) = (Arc::clone(&permits), Arc::clone(&ran));
            move |cost: &usize| {
                permits.lock().recv().ok()?;
                ran.lock().push(*cost);
                Some(*cost)
            }
        });
        (pool.unwrap(), permit, ran)
    }

    #[test]
    fn everything_is_answered() {
        let pool = Pool::start(
            Bounds {
                workers: 3,
                ..BOUNDS
            },
            || |cost: &usize| Some(cost * 2),
        );
        let mut answers = pool.unwrap().run(work(&[1, 2, 3])).unwrap();
        answers.sort_unstable();
        assert_eq!(answers, [2, 4, 6]);
    }

    #[test]
    fn a_failure_a_panic_and_too_much_are_told_apart() {
        let failing = Pool::<usize, usize>::start(BOUNDS, || |_: &usize| None).unwrap();
        assert_eq!(failing.run(work(&[1])), Err(Trouble::Failed));
        let panicking = Pool::<usize, usize>::start(BOUNDS, || |_: &usize| panic!("x")).unwrap();
        assert_eq!(panicking.run(work(&[1])), Err(Trouble::Failed));
        assert_eq!(
            panicking.run(work(&[1])),
            Err(Trouble::Failed),
            "the thread lives on"
        );
        assert_eq!(failing.run(work(&[60, 60])), Err(Trouble::TooLong));
        assert_eq!(failing.run(Vec::new()), Ok(Vec::new()));
    }

    #[test]
    fn what_cannot_be_done_before_the_deadline_is_refused_at_once() {
        let bounds = Bounds {
            deadline: FIRST_COST * 10,
            ..BOUNDS
        };
        let pool = Pool::start(bounds, || |cost: &usize| Some(*cost)).unwrap();
        assert_eq!(pool.run(work(&[6, 5])), Err(Trouble::TooLong));
        let mut queue = pool.shared.queue.lock();
        assert_eq!(queue.at_least(10, 2), FIRST_COST * 5);
        for _ in 0..80 {
            queue.learn(100, FIRST_COST * 200);
        }
        let learnt = queue.at_least(1, 1);
        assert!(learnt > FIRST_COST * 19 / 10 && learnt <= FIRST_COST * 2);
    }

    #[test]
    fn past_the_bound_nobody_waits_and_each_gets_a_turn() {
        let (pool, permit, ran) = held(BOUNDS);
        let pool = Arc::new(pool);
        let ask = |costs: &'static [usize]| {
            let pool = Arc::clone(&pool);
            std::thread::spawn(move || pool.run(work(costs)))
        };
        let pieces = || pool.shared.queue.lock().pieces;
        let first = ask(&[10, 11, 12]);
        while pieces() != 33 {
            std::thread::yield_now();
        }
        let second = ask(&[20]);
        while pieces() != 53 {
            std::thread::yield_now();
        }
        assert_eq!(pool.run(work(&[48])), Err(Trouble::Overloaded));
        for _ in 0..4 {
            permit.send(()).unwrap();
        }
        assert_eq!(first.join().unwrap().unwrap().len(), 3);
        assert_eq!(second.join().unwrap().unwrap(), [20]);
        let order = ran.lock().clone();
        let turn = order.iter().position(|cost| *cost == 20).unwrap();
        assert!(
            turn < 3,
            "the short one did not wait for the whole long one: {order:?}"
        );
        assert_eq!(pieces(), 0);
    }

    #[test]
    fn who_waits_too_long_is_told_and_its_work_is_dropped() {
        let bounds = Bounds {
            deadline: Duration::from_millis(50),
            ..BOUNDS
        };
        let (pool, permit, ran) = held(bounds);
        assert_eq!(pool.run(work(&[1, 2])), Err(Trouble::Late));
        permit.send(()).unwrap();
        while pool.shared.queue.lock().pieces > 0 {
            std::thread::yield_now();
        }
        assert_eq!(*ran.lock(), [1], "only what had begun was run");
    }
}
