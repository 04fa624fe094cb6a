//! The place of sealed payloads, opened at the start: what cannot be kept later is refused now.

use std::sync::Arc;

use super::start::StartError;
use crate::clock::Clock;
use crate::config::Config;
use crate::payloads::Payloads;

/// Opens it, if the configuration names one.
pub(super) async fn payloads(
    config: &Config,
    clock: &Arc<dyn Clock>,
) -> Result<Option<Arc<Payloads>>, StartError> {
    let Some(settings) = config.ledger.payloads.clone() else {
        return Ok(None);
    };
    let clock = Arc::clone(clock);
    let opened = tokio::task::spawn_blocking(move || Payloads::open(&settings, clock)).await;
    let opened = opened.map_err(StartError::of("ledger.payloads"))?;
    let payloads = opened.map_err(StartError::of("ledger.payloads"))?;
    Ok(Some(Arc::new(payloads)))
}
