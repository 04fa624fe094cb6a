//! Turns of two processes that wait for one session in Redis.

use tokio::task::{AbortHandle, JoinSet};

use super::{redis::Process, *};
use crate::registry::redis_tests::{Kind, Proxy, Server, Wire};

const LONG: Duration = Duration::from_secs(60);

struct Line {
    server: Server,
    /// Between the first process and the server.
    wire: Proxy,
    _dir: tempfile::TempDir,
    processes: [Arc<Process>; 2],
    ann: Caller,
    opened: Opened,
    went: Arc<Mutex<Vec<usize>>>,
    turns: JoinSet<()>,
}

impl Line {
    async fn new(limits: Limits) -> Self {
        let (dir, server) = (tempfile::tempdir().unwrap(), Server::start(Kind::Plain));
        let wire = Proxy::to(server.port());
        let mut by_wire = server.settings();
        by_wire.nodes[0].port = wire.port();
        let process = async |settings, name| {
            let process = Process::with(settings, dir.path(), name, limits);
            Arc::new(process.await)
        };
        let processes = [
            process(&by_wire, "one").await,
            process(&server.settings(), "two").await,
        ];
        let ann = caller("ann", "t");
        let opened = processes[0].sessions.open(&ann).await.unwrap();
        Self {
            server,
            wire,
            _dir: dir,
            processes,
            ann,
            opened,
            went: Arc::default(),
            turns: JoinSet::new(),
        }
    }

    async fn turn(&self, process: usize) -> Result<Turn, SessionError> {
        let id = self.opened.id.expose();
        self.processes[process]
            .sessions
            .turn(&self.ann, Some(id))
            .await
    }

    /// How many turns stand in line, as the store has it.
    fn places(&self) -> usize {
        let mut admin = self.server.admin();
        let pattern = format!("*:session:{}/*", self.opened.reference);
        let keys: Vec<String> = ::redis::cmd("KEYS").arg(pattern).query(&mut admin).unwrap();
        let mut line = ::redis::cmd("HGET");
        line.arg(&keys[0]).arg("line");
        let line: Option<String> = line.query(&mut admin).unwrap();
        line.map_or(0, |line| line.split(' ').count())
    }

    /// Has a turn of a process wait behind those that do.
    async fn wait(&mut self, number: usize, process: usize) -> AbortHandle {
        let (before, went) = (self.places(), Arc::clone(&self.went));
        let process = Arc::clone(&self.processes[process]);
        let (ann, id) = (self.ann.clone(), self.opened.id.expose().to_owned());
        let waits = self.turns.spawn(async move {
            let turn = process.sessions.turn(&ann, Some(&id)).await.unwrap();
            went.lock().push(number);
            turn.release().await.unwrap();
        });
        let asked = tokio::time::Instant::now();
        while self.places() == before {
            assert!(asked.elapsed() < LONG / 2, "it gets no place");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        assert_eq!(self.places(), before + 1);
        waits
    }

    /// Waits until so many turns stand in line: soon, and long before their places are nobody's.
    async fn come_to(&self, places: usize) {
        let asked = tokio::time::Instant::now();
        while self.places() != places {
            assert!(asked.elapsed() < store::STANDS / 3, "{}", self.places());
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    async fn all_have_gone(&mut self) -> Vec<usize> {
        while let Some(turn) = self.turns.join_next().await {
            // Some hang up.
            assert!(turn.map_or_else(|error| error.is_cancelled(), |()| true));
        }
        std::mem::take(&mut *self.went.lock())
    }
}

fn patient() -> Limits {
    Limits {
        wait: LONG,
        ..limits()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn turns_of_all_processes_go_in_the_order_in_which_they_came() {
    let mut line = Line::new(patient()).await;
    // Whether a process knows the session already or has to look whose it is first.
    for known in [false, true] {
        let held = line.turn(0).await.unwrap();
        for (number, process) in [1, 0, 1, 1, 0, 0, 1].into_iter().enumerate() {
            line.wait(number, process).await;
        }
        held.release().await.unwrap();
        let went = line.all_have_gone().await;
        assert_eq!(went, [0, 1, 2, 3, 4, 5, 6], "known: {known}");
        assert_eq!(line.places(), 0);
    }
}

/// Closing a session waits its turn like everything else.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_is_closed_behind_those_that_came_before() {
    let mut line = Line::new(patient()).await;
    let held = line.turn(0).await.unwrap();
    line.wait(0, 1).await;
    line.wait(1, 0).await;
    let process = Arc::clone(&line.processes[1]);
    let (ann, reference) = (line.ann.clone(), line.opened.reference.clone());
    let went = Arc::clone(&line.went);
    line.turns.spawn(async move {
        process.sessions.close(&ann, &reference).await.unwrap();
        went.lock().push(2);
    });
    while line.places() < 3 {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    held.release().await.unwrap();
    assert_eq!(line.all_have_gone().await, [0, 1, 2]);
    assert_eq!(
        absence(line.turn(0).await),
        Absence::Closed,
        "nothing is left of it"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_waits_in_vain_leaves_the_line() {
    let mut line = Line::new(limits()).await;
    let held = line.turn(0).await.unwrap();
    // In front of its process, and behind a turn of its own.
    for process in [1, 0] {
        assert!(matches!(line.turn(process).await, Err(SessionError::Busy)));
        assert_eq!(line.places(), 0);
    }
    held.release().await.unwrap();
    for process in [0, 1] {
        line.turn(process).await.unwrap().release().await.unwrap();
    }
    assert!(line.all_have_gone().await.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_line_has_room_for_so_many_of_all_processes() {
    let mut line = Line::new(patient()).await;
    let held = line.turn(0).await.unwrap();
    for number in 0..store::PLACES {
        line.wait(number, number % 2).await;
    }
    // At once, and long before their patience ends.
    for process in [0, 1] {
        let refused = tokio::time::timeout(LONG / 2, line.turn(process)).await;
        assert!(matches!(refused, Ok(Err(SessionError::Busy))));
    }
    assert_eq!(line.places(), store::PLACES);
    held.release().await.unwrap();
    let all: Vec<_> = (0..store::PLACES).collect();
    assert_eq!(line.all_have_gone().await, all);
}

/// Those that came before it keep their places, and those behind it move up, whatever process they are of.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_hangs_up_leaves_its_own_place() {
    let mut line = Line::new(patient()).await;
    let held = line.turn(1).await.unwrap();
    let mut waiting = Vec::new();
    for (number, process) in [0, 1, 0, 1, 1, 0].into_iter().enumerate() {
        waiting.push(line.wait(number, process).await);
    }
    // In front of its process, and behind another of its own.
    for (left, gone) in [(5, 0), (4, 3)] {
        waiting[gone].abort();
        line.come_to(left).await;
    }
    held.release().await.unwrap();
    assert_eq!(line.all_have_gone().await, [1, 2, 4, 5]);
    assert_eq!(line.places(), 0);
}

/// The place that it asked for is given by the server all the same, and left again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_hangs_up_while_it_asks_leaves_the_line() {
    let mut line = Line::new(patient()).await;
    for process in [0, 1] {
        // Behind a turn of its own process, or of the other.
        let held = line.turn(process).await.unwrap();
        // The first one tells the server the scripts.
        line.wait(0, 0).await.abort();
        line.come_to(0).await;
        let errands = line.processes[0].sessions.shared.errands.clone();
        while !errands.is_empty() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        line.wire.set(Wire::Silent);
        let asks = line.wait(0, 0).await;
        asks.abort();
        line.wire.set(Wire::Good);
        line.come_to(0).await;
        held.release().await.unwrap();
        assert!(line.all_have_gone().await.is_empty());
    }
    // The lease as well.
    line.wire.set(Wire::Silent);
    let early = tokio::time::timeout(Duration::from_millis(100), line.turn(0));
    assert!(early.await.is_err());
    line.wire.set(Wire::Good);
    let next = tokio::time::timeout(Duration::from_secs(2), line.turn(1));
    next.await.unwrap().unwrap().release().await.unwrap();
}
