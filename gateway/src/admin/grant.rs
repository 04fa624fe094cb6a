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
        let export = Export {
            name,
            purpose,
            ..Export::of(Exported::PayloadKeys)
        };
        self.record_grants(&export, sessions, &keys, by).await?;
        Ok(Answer::PayloadKeys(keys))
    }

    /// A record for each session whose key is given out, so that what one of them is shown of its own story names
    /// no other; one without a session if there is none to give of several.
    async fn record_grants(
        &self,
        export: &Export,
        asked: &[String],
        keys: &[GivenKey],
        by: &str,
    ) -> Result<(), String> {
        let of = |session: Option<String>| Export {
            session,
            sessions: Some(keys.len().min(1) as u64),
            ..export.clone()
        };
        let mut grants = keys.iter().map(|it| of(Some(it.session.clone())));
        let first = grants.next().unwrap_or_else(|| {
            let only = <&[String; 1]>::try_from(asked).ok();
            of(only.map(|[session]| session.clone()))
        });
        let others: Vec<Export> = grants.collect();
        self.record_exports(&first, &others, by).await
    }
}
