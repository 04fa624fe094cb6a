//! Metrics of the listener's TLS.

use std::time::{SystemTime, UNIX_EPOCH};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};

/// How a handshake ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handshake {
    /// The caller may speak HTTP.
    Done,
    /// One side refused the other.
    Failed,
    /// It took too long, or had to give way.
    Unfinished,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Ended {
    outcome: &'static str,
}

/// Handshakes, and the certificate behind them.
#[derive(Default)]
pub struct TlsMetrics {
    handshakes: Family<Ended, Counter>,
    reloads: Family<Ended, Counter>,
    stale: Gauge,
    expires: Gauge,
}

impl TlsMetrics {
    pub(super) fn register(&self, registry: &mut Registry) {
        let handshakes = self.handshakes.clone();
        registry.register("tls_handshakes", "TLS handshakes by outcome", handshakes);
        let reloads = self.reloads.clone();
        let help = "Changed certificate files by outcome: loaded or refused";
        registry.register("tls_reloads", help, reloads);
        let help = "1 while the certificate files cannot be used and an older pair is served";
        registry.register("tls_stale", help, self.stale.clone());
        registry.register_with_unit(
            "tls_certificate_expiry",
            "When the served certificate expires, since 1970; 0 without TLS",
            Unit::Seconds,
            self.expires.clone(),
        );
    }

    /// Counts the end of a handshake.
    pub fn handshake(&self, outcome: Handshake) {
        let outcome = match outcome {
            Handshake::Done => "done",
            Handshake::Failed => "failed",
            Handshake::Unfinished => "unfinished",
        };
        self.handshakes.get_or_create(&Ended { outcome }).inc();
    }

    /// Notes until when the served certificate is valid.
    pub fn serves(&self, not_after: SystemTime) {
        let since = not_after.duration_since(UNIX_EPOCH).unwrap_or_default();
        let seconds = i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
        self.expires.set(seconds);
    }

    /// Counts a change of the files that is served from now on.
    pub fn loaded(&self) {
        let outcome = "loaded";
        self.reloads.get_or_create(&Ended { outcome }).inc();
        self.stale.set(0);
    }

    /// Counts a change of the files that cannot be used.
    pub fn refused(&self) {
        let outcome = "refused";
        self.reloads.get_or_create(&Ended { outcome }).inc();
        self.stale.set(1);
    }
}
