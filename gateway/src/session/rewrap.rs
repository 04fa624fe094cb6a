//! Sessions' keys under the newest key of their tenant, while the sessions go on.

use tokio::time::Instant;

use super::{SessionError, Sessions, key_row::KeyRow, turn::Location};
use crate::registry::TenantKeys;

/// Rows looked at in one step.
const PAGE: usize = 256;

/// What became of the sessions that were looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RewrappedSessions {
    /// Sessions whose key was under an earlier key of their tenant and is now under the current one.
    pub done: u64,
    /// Sessions whose key could not be wrapped anew. The operator's log says why.
    pub failed: u64,
    /// Where to go on; `None`: all have been looked at.
    pub next: Option<String>,
}

impl Sessions {
    /// Wraps the keys of sessions anew, from a place in the order of the store on, until all are done
    /// or it is late. A session's state and its name stay as they are, and so do turns under way.
    ///
    /// Each row is swapped for one that says the same: it does not matter how many processes do this, nor
    /// where one of them dies.
    ///
    /// # Errors
    /// The store failed.
    pub async fn rewrap(
        &self,
        from: Option<String>,
        deadline: Instant,
    ) -> Result<RewrappedSessions, SessionError> {
        let mut rewrapped = RewrappedSessions {
            next: from,
            ..RewrappedSessions::default()
        };
        if rewrapped.next.is_none() {
            // They may have ended long ago.
            for location in self.on_hold().await? {
                self.count_rewrapped(&location, &mut rewrapped).await;
            }
        }
        loop {
            let from = rewrapped.next.take();
            let page = self.shared.store.list("", from.as_deref(), PAGE).await?;
            for name in page.names {
                let Some(location) = Location::parse(&name) else {
                    continue;
                };
                self.count_rewrapped(&location, &mut rewrapped).await;
            }
            rewrapped.next = page.next;
            if rewrapped.next.is_none() || Instant::now() >= deadline {
                return Ok(rewrapped);
            }
        }
    }

    async fn count_rewrapped(&self, location: &Location, rewrapped: &mut RewrappedSessions) {
        match self.rewrap_one(location).await {
            Ok(true) => rewrapped.done += 1,
            Ok(false) => {}
            Err(error) => {
                let session = location.reference.as_str();
                tracing::warn!(session, %error, "a session's key is not wrapped anew");
                rewrapped.failed += 1;
            }
        }
    }

    /// Whether it had to be done, and was.
    pub(super) async fn rewrap_one(&self, location: &Location) -> Result<bool, SessionError> {
        let keys = self.shared.keyring.tenant(&location.tenant).await?;
        loop {
            let Some(stored) = self.wrapped(location).await? else {
                return Ok(false);
            };
            let Some(row) = adopted(&keys, location, &stored)? else {
                return Ok(false);
            };
            // Otherwise it was set aside, ended, or wrapped anew by another meanwhile.
            if self.swap_key(location, &stored, row).await? {
                return Ok(true);
            }
        }
    }
}

/// The row of a session's key under the tenant's current key; `None`: it is already.
pub(super) fn adopted(
    keys: &TenantKeys,
    location: &Location,
    stored: &[u8],
) -> Result<Option<Vec<u8>>, SessionError> {
    let (current, row) = (keys.current(), KeyRow::parse(stored));
    let epoch = row.epoch.unwrap_or(location.epoch);
    if epoch == current.epoch() {
        return Ok(None);
    }
    let old = keys.epoch(epoch).ok_or(SessionError::Damaged)?;
    let wrapped = current.adopt_session(old, &location.reference, row.wrapped)?;
    let row = KeyRow {
        epoch: Some(current.epoch()),
        wrapped: &wrapped,
        ..row
    };
    Ok(Some(row.encode()))
}
