//! Gives out what opens payloads, to auditors: the least that does, and never without a record.

use gatehouse_ledger::export::{Export, Exported};

use super::{Answer, Desk, GivenKey, desk::explain};

/// Sessions of which keys are given out at one time.
const AT_ONCE: usize = 500;

impl Desk {
    /// The keys of sessions' payloads. The record of it is durable before any of them leaves.
    pub(super) async fn payload_keys(
        &self,
        sessions: &[String],
        (name, purpose): (Option<String>, Option<String>),
        by: &str,
    ) -> Result<Answer, String> {
        if sessions.len() > AT_ONCE {
            return Err(format!("more than {AT_ONCE} sessions at one time"));
        }
        let mut keys = Vec::new();
        for session in sessions {
            let grant = self.sessions.payload_grant(session).await;
            if let Some(grant) = grant.map_err(explain)? {
                keys.push(GivenKey {
                    session: grant.session,
                    tenant: grant.tenant,
                    kid: grant.kid,
                    key: grant.key.expose().clone(),
                });
            }
        }
        let only = match sessions {
            [session] => Some(session.clone()),
            _ => None,
        };
        let export = Export {
            name,
            purpose,
            session: only,
            sessions: Some(keys.len() as u64),
            ..Export::of(Exported::PayloadKeys)
        };
        self.record_export(&export, by).await?;
        Ok(Answer::PayloadKeys(keys))
    }
}
