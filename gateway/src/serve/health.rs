//! What a running gateway says of itself to those who watch it.

use std::sync::Arc;

use super::Running;
use crate::admin::Health;
use crate::telemetry::log_line;

impl Running {
    pub(super) fn health(&self) -> Health {
        let metrics = Arc::clone(&self.gateway.metrics);
        let (book, stop) = (self.gateway.book.clone(), self.stop.clone());
        let (store, anchoring) = (self.store.clone(), self.files.anchoring().clone());
        let (log, spool, failed) = (book.clone(), book.clone(), store.clone());
        let shown = anchoring.clone();
        let payloads = self.gateway.payloads.clone();
        let (kept, failing) = (payloads.clone(), payloads.clone());
        Health {
            metrics: Arc::new(move || {
                metrics.log.set(log.ledger().condition(), log.is_degraded());
                for one in anchoring.followed() {
                    let failed = one.trouble.is_some();
                    metrics.log.set_witness(&one.name, one.behind, failed);
                }
                metrics.log.set_unstamped(anchoring.unstamped().is_some());
                metrics.store_failed.set(failed.failed().into());
                let unkept = failing.as_ref().is_some_and(|it| it.trouble().is_some());
                metrics.payloads_failed.set(unkept.into());
                metrics.render()
            }),
            ready: Arc::new(move || {
                let log = book.ledger().condition();
                let takes = !log.failed && !log.disk_full && !log.spool_full;
                let keeps = !payloads.as_ref().is_some_and(|it| it.is_away());
                takes && keeps && !store.failed() && !stop.is_cancelled()
            }),
            log: Arc::new(move || {
                let ledger = spool.ledger();
                let log = log_line(ledger.condition(), ledger.trouble().as_deref());
                let unkept = kept.as_ref().and_then(|payloads| payloads.trouble());
                let payloads =
                    unkept.map(|why| format!("payloads: the last one was not kept: {why}\n"));
                log + &shown.lines() + &payloads.unwrap_or_default()
            }),
        }
    }
}
