//! What a running gateway puts away from time to time: sessions past their end, what was spent on days
//! gone by, earlier keys, erasures that are final, records of legal holds that a crash left unwritten.

use std::sync::Arc;
use std::time::Duration;

use super::Running;
use crate::admin::Desk;

/// How often earlier keys of tenants are looked for under which nothing can live any more, erasures that
/// no backup can undo any more, and what a process has left undone of these and of legal holds.
const KEYS: Duration = Duration::from_secs(3600);
/// How often sessions that have ended are looked for.
const SWEEP: Duration = Duration::from_secs(60);

impl Running {
    /// Begins with all of it; it goes on until the end.
    pub(super) fn keep_house(&self, desk: &Arc<Desk>) {
        self.end_keys(Arc::clone(desk));
        self.sweep_sessions();
    }

    fn end_keys(&self, desk: Arc<Desk>) {
        let (sessions, end) = (self.gateway.sessions.clone(), self.end.clone());
        self.background.spawn(async move {
            loop {
                end.run_until_cancelled(desk.end_outlived_keys()).await;
                let concluded = end.run_until_cancelled(sessions.conclude_erasures());
                if let Some(Err(error)) = concluded.await {
                    tracing::warn!(%error, "it is not known which erasures are final");
                }
                let concluded = end.run_until_cancelled(sessions.conclude_holds());
                if let Some(Err(error)) = concluded.await {
                    tracing::warn!(%error, "it is not known which legal holds the log does not have");
                }
                if tokio::time::timeout(KEYS, end.cancelled()).await.is_ok() {
                    return;
                }
            }
        });
    }

    fn sweep_sessions(&self) {
        let (sessions, end) = (self.gateway.sessions.clone(), self.end.clone());
        let budget = self.gateway.budget.clone();
        self.background.spawn(async move {
            while tokio::time::timeout(SWEEP, end.cancelled()).await.is_err() {
                match sessions.sweep().await {
                    Ok(swept) if swept.failed > 0 => {
                        let failed = swept.failed;
                        tracing::warn!(failed, "sessions past their end are still there");
                    }
                    Ok(_) => {}
                    Err(error) => tracing::warn!(%error, "ended sessions were not swept"),
                }
                if let Err(error) = budget.sweep().await {
                    tracing::warn!(%error, "what was spent on days gone by is not forgotten");
                }
            }
        });
    }
}
