//! Sessions of which a shared store has lost a part: at a fail-over to a replica that had not
//! everything, or because somebody put back an older copy. Such a session is not gone on with, on any
//! replica: the mark is in front of its wrapped key, which every use of the session reads.

use super::{SessionError, Sessions, begin::subject, key_row::KeyRow, turn::Location};
use crate::audit::RolledBack;

impl Sessions {
    /// Sets a session aside for all replicas. `found` is the number that its next record would have
    /// had by what the store says, `known` the one by what the log says. Whoever is first says so in
    /// the log, outside of the session's chain, which cannot go on.
    pub(super) async fn set_aside(
        &self,
        location: &Location,
        found: impl Into<Option<u64>>,
        known: Option<u64>,
    ) -> Result<(), SessionError> {
        // Its key may be wrapped anew meanwhile; what is left then is another mark, or no row.
        loop {
            let Some(stored) = self.wrapped(location).await? else {
                return Ok(());
            };
            let row = KeyRow::parse(&stored);
            if row.aside {
                return Ok(());
            }
            let marked = KeyRow { aside: true, ..row }.encode();
            if self.swap_key(location, &stored, marked).await? {
                break;
            }
        }
        tracing::error!(
            session = location.reference,
            "the store has lost a part of a session, which is set aside"
        );
        let event = RolledBack {
            subject: subject(&location.reference),
            tenant: &location.tenant,
            found: found.into(),
            known,
        };
        let event = event.build().map_err(|_| SessionError::Log)?;
        if let Err(unconfirmed) = self.shared.journal.append(event.clone()).await {
            self.shared.journal.owe(event, unconfirmed.later);
            return Err(SessionError::Log);
        }
        Ok(())
    }
}
