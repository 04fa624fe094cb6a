//! The search of texts, made at the start: with the model, if it takes part.

use std::sync::Arc;

use super::start::StartError;
use crate::config::Config;
use crate::model::Verdicts;
use crate::telemetry::Metrics;

/// The gateway's metrics, with those of the verdicts.
pub(super) fn metrics(verdicts: &Verdicts) -> Metrics {
    let counters = verdicts.counters();
    Metrics::new(|registry| {
        let what = "Texts whose verdict was remembered";
        registry.register("verdict_hits", what, counters.hits);
        registry.register(
            "verdict_misses",
            "Texts that were searched",
            counters.misses,
        );
        let what = "Bytes of the texts that were searched";
        registry.register("verdict_searched_bytes", what, counters.searched);
    })
}

/// Loads the model, if it takes part, and tries it on its test sentence. It is then a part of the
/// gateway: nothing listens before, and nothing starts if it cannot be used.
pub(super) async fn verdicts(config: &Config) -> Result<Verdicts, StartError> {
    let redaction = &config.redaction;
    let engine = Arc::clone(&redaction.engine);
    let policies = Arc::clone(&redaction.policies);
    #[cfg(feature = "model")]
    if let Some(settings) = &config.model {
        use crate::model::{Load, Loaded};

        /// Bytes of text that are sure to hold no more than one piece.
        const BYTES_A_PIECE: usize = 2;
        let home = settings.home.clone();
        let load = Load {
            workers: settings.workers,
            deadline: settings.deadline,
            most: settings.text / BYTES_A_PIECE,
        };
        let opened = tokio::task::spawn_blocking(move || Loaded::open(&home, load)).await;
        let model = opened
            .map_err(StartError::of("model"))?
            .map_err(StartError::of("model"))?;
        return Ok(Verdicts::new(engine, policies, Some(model)));
    }
    Ok(Verdicts::of_rules(engine, policies))
}
