//! Logs to test with, made by the real writer.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use gatehouse_envelope::sign::{MemorySigner, Signer};
use gatehouse_ledger::{
    Durability, Ledger, Mode, Options, Pace, SealLog,
    clock::{Clock, Stamp},
    event::Event,
    note::Key,
    store::{Fetcher, LedgerStore, Memory},
    trust::Trust,
    verify::{Report, Verifier},
};

/// 2026-11-29T14:05:00Z.
pub(crate) const START_US: u64 = 1_795_961_100_000_000;

/// A clock that stands still until it is moved.
pub(crate) struct TestClock {
    start_us: u64,
    passed_us: AtomicU64,
}

impl TestClock {
    pub(crate) fn new() -> Arc<Self> {
        Self::at(START_US)
    }

    pub(crate) fn at(start_us: u64) -> Arc<Self> {
        let passed_us = AtomicU64::new(0);
        Arc::new(Self {
            start_us,
            passed_us,
        })
    }

    pub(crate) fn advance(&self, by: Duration) {
        self.passed_us
            .fetch_add(by.as_micros() as u64, Ordering::SeqCst);
    }
}

impl Clock for TestClock {
    fn now(&self) -> Stamp {
        let mono_us = self.passed_us.load(Ordering::SeqCst);
        Stamp {
            unix_us: self.start_us + mono_us,
            mono_us,
        }
    }
}

/// A deployment: what several processes of it share.
pub(crate) struct Deployment {
    pub(crate) signer: Arc<MemorySigner>,
    pub(crate) store: Arc<Memory>,
    pub(crate) clock: Arc<TestClock>,
    pub(crate) sessions: Sessions,
}

impl Deployment {
    pub(crate) fn new() -> Self {
        Self {
            signer: Arc::new(MemorySigner::generate("prod").unwrap()),
            store: Arc::new(Memory::default()),
            clock: TestClock::new(),
            sessions: Sessions::default(),
        }
    }

    /// One whose clock begins elsewhere.
    pub(crate) fn at(start_us: u64) -> Self {
        Self {
            clock: TestClock::at(start_us),
            ..Self::new()
        }
    }

    pub(crate) fn trust(&self) -> Trust {
        Trust::one(Key::of(self.signer.as_ref()).unwrap())
    }

    pub(crate) fn open(&self, dir: &Path, mode: Mode) -> (Ledger, gatehouse_ledger::Recovery) {
        self.open_with(dir, mode, self.store.clone())
    }

    pub(crate) fn open_with(
        &self,
        dir: &Path,
        mode: Mode,
        store: Arc<dyn LedgerStore>,
    ) -> (Ledger, gatehouse_ledger::Recovery) {
        self.open_signed(dir, mode, store, self.signer.clone())
    }

    pub(crate) fn open_signed(
        &self,
        dir: &Path,
        mode: Mode,
        store: Arc<dyn LedgerStore>,
        signer: Arc<dyn Signer>,
    ) -> (Ledger, gatehouse_ledger::Recovery) {
        let options = Options {
            seals: SealLog::Shared,
            data_dir: dir.to_owned(),
            deployment: self.signer.name().to_owned(),
            mode,
            pace: Pace::default(),
        };
        Ledger::open(options, store, signer, self.clock.clone()).unwrap()
    }

    /// Appends `count` records of a few sessions, and has them stored as a segment.
    pub(crate) fn segment(&mut self, ledger: &Ledger, count: usize) {
        for _ in 0..count {
            let event = self.sessions.next();
            self.clock.advance(Duration::from_millis(1));
            ledger.append(event, Durability::Durable).wait().unwrap();
        }
        ledger.flush().wait().unwrap();
    }
}

pub(crate) fn verify(log: &dyn Fetcher, trust: &Trust) -> Report {
    Verifier::new(Some(trust)).verify(log, |_| {})
}

/// Waits for what another thread does.
pub(crate) fn wait(done: impl Fn() -> bool) {
    for _ in 0..5000 {
        if done() {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!("waited for five seconds");
}

/// Events of sessions, each in its chain.
#[derive(Default)]
pub(crate) struct Sessions {
    made: u64,
    last: BTreeMap<u64, (u64, [u8; 32])>,
}

impl Sessions {
    /// The next event. Every third is one of a session: sessions take turns, and their exchanges
    /// are admitted and settled.
    pub(crate) fn next(&mut self) -> Event {
        let (session, other) = (self.made / 3 % 3, !self.made.is_multiple_of(3));
        self.made += 1;
        if other {
            return Event::kind("clock.status").finish().unwrap();
        }
        let (sseq, sprev) = self.last.get(&session).copied().unwrap_or_default();
        let mut event = Event::kind(match sseq {
            0 => "session.open",
            odd if odd % 2 == 1 => "exchange.admitted",
            _ => "exchange.settled",
        });
        if sseq > 0 {
            event.text("rid", &format!("r_{session}_{}", sseq.div_ceil(2)));
        }
        event
            .text("sid", &format!("s_{session}"))
            .integer("sseq", sseq)
            .hex("sprev", &sprev);
        let event = event.finish().unwrap();
        self.last.insert(session, (sseq + 1, event.digest()));
        event
    }
}

/// Copies a directory, as a process that dies leaves it.
pub(crate) fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}
