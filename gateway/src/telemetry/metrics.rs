//! Prometheus metrics. Labels come from closed sets: codes, outcomes, protocol names, entity types.

use std::fmt::Write as _;
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use super::log::LogMetrics;
use super::tls::TlsMetrics;

/// How an exchange ended, as records and metrics spell it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The caller hung up.
    CallerGone,
    /// A whole reply was delivered.
    Done,
    /// The provider answered with an error, or the reply was refused.
    Error,
    /// Another turn of the session interrupted it.
    Interrupted,
    /// Refused before a provider saw anything.
    Refused,
    /// A time limit was reached.
    Timeout,
    /// The provider's reply broke off.
    UpstreamCut,
}

impl Outcome {
    /// The word used in metrics and records.
    pub fn word(self) -> &'static str {
        match self {
            Self::CallerGone => "caller_gone",
            Self::Done => "done",
            Self::Error => "error",
            Self::Interrupted => "interrupted",
            Self::Refused => "refused",
            Self::Timeout => "timeout",
            Self::UpstreamCut => "upstream_cut",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Ended {
    api: &'static str,
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Refused {
    code: &'static str,
    blame: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labelled {
    label: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Api {
    api: &'static str,
}

/// The counters of one gateway.
pub struct Metrics {
    registry: Registry,
    ended: Family<Ended, Counter>,
    refused: Family<Refused, Counter>,
    seconds: Family<Api, Histogram>,
    first_byte: Family<Api, Histogram>,
    redactions: Family<Labelled, Counter>,
    restorations: Family<Labelled, Counter>,
    unresolved: Counter,
    /// Exchanges under way.
    pub exchanges: Gauge,
    /// Open connections of callers.
    pub connections: Gauge,
    /// The log's spool.
    pub log: LogMetrics,
    /// 1 while the session store takes nothing.
    pub store_failed: Gauge,
    /// 1 while the last payload that should be kept was not.
    pub payloads_failed: Gauge,
    /// The listener's TLS.
    pub tls: TlsMetrics,
}

/// Adds one to a gauge for as long as it lives, panics included.
pub struct Counted(Gauge);

impl Counted {
    /// One more.
    pub fn in_gauge(gauge: &Gauge) -> Self {
        gauge.inc();
        Self(gauge.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.dec();
    }
}

fn duration_buckets() -> Histogram {
    Histogram::new([
        0.001, 0.005, 0.02, 0.1, 0.5, 1.0, 2.0, 5.0, 15.0, 60.0, 300.0, 600.0,
    ])
}

impl Metrics {
    /// All metrics at zero. `extra` may register more, such as those of the ledger.
    pub fn new(extra: impl FnOnce(&mut Registry)) -> Self {
        let mut registry = Registry::with_prefix("gatehouse");
        extra(&mut registry);
        let mut metrics = Self {
            registry,
            ended: Family::default(),
            refused: Family::default(),
            seconds: Family::new_with_constructor(duration_buckets),
            first_byte: Family::new_with_constructor(duration_buckets),
            redactions: Family::default(),
            restorations: Family::default(),
            unresolved: Counter::default(),
            exchanges: Gauge::default(),
            connections: Gauge::default(),
            log: LogMetrics::default(),
            store_failed: Gauge::default(),
            payloads_failed: Gauge::default(),
            tls: TlsMetrics::default(),
        };
        metrics.register();
        metrics
    }

    fn register(&mut self) {
        let metrics = self;
        let registry = &mut metrics.registry;
        registry.register(
            "exchanges",
            "Exchanges by API and outcome",
            metrics.ended.clone(),
        );
        registry.register("refusals", "Rejections by code", metrics.refused.clone());
        registry.register_with_unit(
            "exchange",
            "From the request's head to the end of the reply",
            Unit::Seconds,
            metrics.seconds.clone(),
        );
        registry.register_with_unit(
            "provider_first_byte",
            "From sending to the head of the provider's reply",
            Unit::Seconds,
            metrics.first_byte.clone(),
        );
        registry.register(
            "redactions",
            "Values replaced by entity type",
            metrics.redactions.clone(),
        );
        registry.register(
            "restorations",
            "Tokens turned back into values by entity type",
            metrics.restorations.clone(),
        );
        registry.register(
            "unresolved_tokens",
            "Tokens in replies that the session's vault does not hold",
            metrics.unresolved.clone(),
        );
        registry.register(
            "exchanges_active",
            "Exchanges under way",
            metrics.exchanges.clone(),
        );
        registry.register(
            "connections",
            "Open connections of callers",
            metrics.connections.clone(),
        );
        metrics.log.register(registry);
        registry.register(
            "session_store_failed",
            "1 while the session store takes nothing",
            metrics.store_failed.clone(),
        );
        registry.register(
            "payloads_failed",
            "1 while the last payload that should be kept was not",
            metrics.payloads_failed.clone(),
        );
        metrics.tls.register(registry);
    }

    /// Counts the end of an exchange.
    pub fn ended(&self, api: &'static str, outcome: Outcome, took: Duration) {
        self.ended
            .get_or_create(&Ended {
                api,
                outcome: outcome.word(),
            })
            .inc();
        self.seconds
            .get_or_create(&Api { api })
            .observe(took.as_secs_f64());
    }

    /// Counts a rejection.
    pub fn refused(&self, code: crate::reject::Code) {
        let labels = Refused {
            code: code.word(),
            blame: code.blame().word(),
        };
        self.refused.get_or_create(&labels).inc();
    }

    /// Counts the time until the provider's head was there.
    pub fn first_byte(&self, api: &'static str, took: Duration) {
        self.first_byte
            .get_or_create(&Api { api })
            .observe(took.as_secs_f64());
    }

    /// Counts replaced values.
    pub fn redacted(&self, label: &str, count: u64) {
        self.redactions
            .get_or_create(&Labelled {
                label: label.to_owned(),
            })
            .inc_by(count);
    }

    /// Counts restored tokens.
    pub fn restored(&self, label: &str, count: u64) {
        self.restorations
            .get_or_create(&Labelled {
                label: label.to_owned(),
            })
            .inc_by(count);
    }

    /// Counts tokens that no vault resolves.
    pub fn unresolved(&self, count: u64) {
        self.unresolved.inc_by(count);
    }

    /// The exposition in OpenMetrics text.
    pub fn render(&self) -> String {
        let mut text = String::new();
        if encode(&mut text, &self.registry).is_err() {
            text.clear();
            // Writing to a string cannot fail; an empty page says that something is wrong.
            let _ = text.write_str("# EOF\n");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_shows_what_was_counted() {
        let metrics = Metrics::new(|_| {});
        metrics.ended("chat", Outcome::Done, Duration::from_millis(3));
        metrics.refused(crate::reject::Code::RouteUnknown);
        metrics.redacted("EMAIL", 2);
        let page = metrics.render();
        assert!(page.contains("gatehouse_exchanges_total{api=\"chat\",outcome=\"done\"} 1"));
        assert!(
            page.contains("gatehouse_refusals_total{code=\"route_unknown\",blame=\"caller\"} 1")
        );
        assert!(page.contains("gatehouse_redactions_total{label=\"EMAIL\"} 2"));
        assert!(page.ends_with("# EOF\n"));
    }
}
