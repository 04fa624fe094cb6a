//! Refusals before anyone is known, counted rather than written one by one.
//!
//! Anyone can cause them, so a record each would let anyone fill storage that can't be emptied.

use std::{collections::BTreeMap, net::IpAddr, sync::Arc, time::Duration};

use async_trait::async_trait;
use parking_lot::Mutex;

use super::AuthError;
use crate::{
    audit::{AuthDeny, Book, Source},
    registry::{GATEWAY, Keyring},
};

/// How long refusals are counted into one record.
const WINDOW: Duration = Duration::from_secs(10);
/// Pairs of reason and source in one window. What comes from further sources is counted together,
/// without a source.
const SOURCES: usize = 1024;

/// Refusals with one reason, from one source, within one window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    /// Why they were refused.
    pub reason: &'static str,
    /// Where they came from; `None` for all that were too many to tell apart.
    pub source: Option<IpAddr>,
    /// How many there were.
    pub count: u64,
}

/// Takes the counted refusals; the log does.
#[async_trait]
pub trait DenialSink: Send + Sync {
    /// Writes one `auth.deny` record. A sink that can't says `false`: the count is then kept for the
    /// next window.
    async fn write(&self, denial: &Denial) -> bool;
}

/// Writes them into the log, with sources under their names there.
pub struct DenialLog {
    book: Book,
    keyring: Arc<Keyring>,
}

impl DenialLog {
    /// Writes into `book`.
    pub fn new(book: Book, keyring: Arc<Keyring>) -> Self {
        Self { book, keyring }
    }
}

#[async_trait]
impl DenialSink for DenialLog {
    async fn write(&self, denial: &Denial) -> bool {
        // Who was refused belongs to no tenant that we know of.
        let Ok(names) = self.keyring.log_names(GATEWAY).await else {
            return false;
        };
        let address = denial.source.map(|source| names.address(source));
        let event = AuthDeny {
            reason: denial.reason,
            source: Source {
                address: address.as_deref(),
                edge_ids: 0,
            },
            count: denial.count,
            window_us: u64::try_from(WINDOW.as_micros()).unwrap_or(u64::MAX),
        };
        match event.build() {
            Ok(event) => self.book.append(event).await.is_ok(),
            Err(_) => false,
        }
    }
}

/// Counts refusals.
pub struct Denials {
    counts: Mutex<BTreeMap<(AuthError, Option<IpAddr>), u64>>,
    sink: Arc<dyn DenialSink>,
}

impl Denials {
    /// Counts for `sink`.
    pub fn new(sink: Arc<dyn DenialSink>) -> Self {
        Self {
            counts: Mutex::default(),
            sink,
        }
    }

    /// Counts one refusal.
    pub fn note(&self, reason: AuthError, source: IpAddr) {
        self.add((reason, Some(source)), 1);
    }

    /// Writes what was counted, each window, until `stop` resolves; then once more.
    pub async fn run(&self, stop: impl Future<Output = ()> + Send) {
        let mut stop = std::pin::pin!(stop);
        loop {
            let stopped = tokio::select! {
                () = &mut stop => true,
                () = tokio::time::sleep(WINDOW) => false,
            };
            self.flush().await;
            if stopped {
                return;
            }
        }
    }

    /// Writes what was counted so far.
    pub async fn flush(&self) {
        let counts = std::mem::take(&mut *self.counts.lock());
        for (key, count) in counts {
            let denial = Denial {
                reason: key.0.reason(),
                source: key.1,
                count,
            };
            if !self.sink.write(&denial).await {
                self.add(key, count);
            }
        }
    }

    fn add(&self, key: (AuthError, Option<IpAddr>), count: u64) {
        let mut counts = self.counts.lock();
        let known = counts.contains_key(&key);
        let key = if known || counts.len() < SOURCES {
            key
        } else {
            (key.0, None)
        };
        *counts.entry(key).or_default() += count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Written {
        records: Mutex<Vec<Denial>>,
        broken: std::sync::atomic::AtomicBool,
    }

    #[async_trait]
    impl DenialSink for Written {
        async fn write(&self, denial: &Denial) -> bool {
            if self.broken.load(std::sync::atomic::Ordering::SeqCst) {
                return false;
            }
            self.records.lock().push(denial.clone());
            true
        }
    }

    fn from(last: u32) -> IpAddr {
        IpAddr::from(std::net::Ipv4Addr::from_bits(last))
    }

    #[tokio::test]
    async fn one_record_for_each_reason_and_source() {
        let written = Arc::new(Written::default());
        let denials = Denials::new(written.clone());
        for _ in 0..1000 {
            denials.note(AuthError::Unknown, from(1));
        }
        denials.note(AuthError::Missing, from(1));
        denials.note(AuthError::Unknown, from(2));
        denials.flush().await;
        denials.flush().await;
        let records = written.records.lock();
        assert_eq!(records.len(), 3);
        assert!(records.contains(&Denial {
            reason: "unknown",
            source: Some(from(1)),
            count: 1000
        }));
    }

    #[tokio::test]
    async fn a_flood_of_sources_stays_bounded_and_counted() {
        let written = Arc::new(Written::default());
        let denials = Denials::new(written.clone());
        for n in 0..5000 {
            denials.note(AuthError::Unknown, from(n));
        }
        denials.flush().await;
        let records = written.records.lock();
        assert_eq!(records.len(), SOURCES + 1);
        assert_eq!(records.iter().map(|record| record.count).sum::<u64>(), 5000);
    }

    #[tokio::test]
    async fn counts_that_could_not_be_written_are_kept() {
        let written = Arc::new(Written::default());
        let denials = Denials::new(written.clone());
        written
            .broken
            .store(true, std::sync::atomic::Ordering::SeqCst);
        denials.note(AuthError::Unknown, from(1));
        denials.flush().await;
        written
            .broken
            .store(false, std::sync::atomic::Ordering::SeqCst);
        denials.note(AuthError::Unknown, from(1));
        denials.run(async {}).await;
        assert_eq!(
            written.records.lock().as_slice(),
            [Denial {
                reason: "unknown",
                source: Some(from(1)),
                count: 2
            }]
        );
    }
}
