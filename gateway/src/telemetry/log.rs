//! Metrics of the audit log's way to its store.

use gatehouse_ledger::Condition;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};

/// What waits on the local disk for the log's store.
#[derive(Default)]
pub struct LogMetrics {
    segments: Gauge,
    bytes: Gauge,
    limit: Gauge,
    stalled: Gauge,
    unsealed: Gauge,
    refusing: Gauge,
    degraded: Gauge,
    unstamped: Gauge,
    unwitnessed: Family<Witness, Gauge>,
    behind: Family<Witness, Gauge>,
}

/// One of the witnesses of the configuration, by its name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Witness {
    witness: String,
}

impl LogMetrics {
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register(
            "log_segments_waiting",
            "Segments of the log that are not in its store yet",
            self.segments.clone(),
        );
        registry.register_with_unit(
            "log_spool",
            "What they take of the local disk",
            Unit::Bytes,
            self.bytes.clone(),
        );
        registry.register_with_unit(
            "log_spool_limit",
            "What they may take before requests are refused",
            Unit::Bytes,
            self.limit.clone(),
        );
        registry.register(
            "log_store_stalled",
            "1 while the log's store takes nothing",
            self.stalled.clone(),
        );
        registry.register(
            "log_unsealed",
            "1 while seals cannot be made over all that the log's store holds",
            self.unsealed.clone(),
        );
        registry.register(
            "log_refusing",
            "1 while requests are refused because the log cannot take their records",
            self.refusing.clone(),
        );
        registry.register(
            "log_degraded",
            "1 while requests go on although the log does not take their records",
            self.degraded.clone(),
        );
        registry.register(
            "log_unstamped",
            "1 while the last seal of a day that is over lacks its time stamp",
            self.unstamped.clone(),
        );
        registry.register(
            "log_unwitnessed",
            "1 while the witness does not cosign the log's seals",
            self.unwitnessed.clone(),
        );
        registry.register(
            "log_seals_behind",
            "Seals that the witness has not cosigned, from the last on",
            self.behind.clone(),
        );
    }

    /// Takes over whether the last try to get a time stamp failed.
    pub fn set_unstamped(&self, failed: bool) {
        self.unstamped.set(failed.into());
    }

    /// Takes over how far a witness has followed the log, and whether its last try failed.
    pub fn set_witness(&self, name: &str, behind: u64, failed: bool) {
        let witness = Witness {
            witness: name.to_owned(),
        };
        self.unwitnessed.get_or_create(&witness).set(failed.into());
        let behind = behind.try_into().unwrap_or(i64::MAX);
        self.behind.get_or_create(&witness).set(behind);
    }

    /// Takes over how the log is now, and whether requests go on without it.
    pub fn set(&self, log: Condition, degraded: bool) {
        self.degraded.set(degraded.into());
        let number = |value: u64| value.try_into().unwrap_or(i64::MAX);
        self.segments.set(number(log.waiting));
        self.bytes.set(number(log.spooled));
        self.limit.set(number(log.spool_bytes));
        self.stalled.set(log.stalled.into());
        self.unsealed.set(log.unsealed.into());
        let refusing = log.failed || log.disk_full || log.spool_full;
        self.refusing.set(refusing.into());
    }
}

/// What waits for the log's store, for whoever looks at `/readyz`.
#[must_use]
pub fn log_line(log: Condition, trouble: Option<&str>) -> String {
    let Condition {
        waiting,
        spooled,
        spool_bytes,
        ..
    } = log;
    let state = match trouble {
        None => "the store takes them".to_owned(),
        Some(why) => format!("the store takes nothing: {why}"),
    };
    format!("log: {waiting} segments, {spooled} of {spool_bytes} bytes wait; {state}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_is_said_in_a_line() {
        let log = Condition {
            failed: false,
            disk_full: false,
            waiting: 3,
            spooled: 900,
            spool_bytes: 1000,
            spool_full: false,
            stalled: true,
            unsealed: false,
        };
        assert_eq!(
            log_line(log, Some("away")),
            "log: 3 segments, 900 of 1000 bytes wait; the store takes nothing: away\n"
        );
        assert!(log_line(log, None).ends_with("the store takes them\n"));
    }
}
