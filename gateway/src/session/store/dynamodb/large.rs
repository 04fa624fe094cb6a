//! States that are larger than a session's head should be: in a part, which the row names.
//!
//! The part is put before the row names it, and the one before it removed after that, so a row always
//! names a part that is there. One that a crash leaves behind goes when its session does, since its
//! name begins as those of the session's other parts do.

use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    sync::Arc,
};

use gatehouse_envelope::{random, seal::Sealed};
use parking_lot::Mutex;

use super::{super::StoreError, row::State};
use crate::session::blobs::Blobs;

/// The largest state in an item, in bytes. Each KB of an item is paid with every write, the lease's
/// too.
const HEAD: usize = 64 << 10;
/// What a part's name begins with behind the session's.
const PART: &str = "sh_";
/// Turns under way with large states that are remembered.
const REMEMBERED: usize = 32 * 1024;
/// How often a row is read anew whose part has gone.
pub(super) const AGAIN: u32 = 8;

/// Keeps large states in parts.
pub(super) struct Large {
    blobs: Arc<dyn Blobs>,
    key: RandomState,
    /// The parts that rows name which this process has the lease of.
    named: Mutex<HashMap<u64, String>>,
}

impl Large {
    pub(super) fn new(blobs: Arc<dyn Blobs>) -> Self {
        Self {
            blobs,
            key: RandomState::new(),
            named: Mutex::default(),
        }
    }

    /// Finds a place for a state: in the row if it is small, else in a part of its own, which is there
    /// when this returns.
    pub(super) async fn place(
        &self,
        id: &str,
        sealed: Sealed,
        until_us: i64,
    ) -> Result<State, StoreError> {
        if sealed.as_bytes().len() <= HEAD {
            return Ok(State::Here(sealed.into_bytes()));
        }
        let name = format!("{id}/{}", random::name(PART)?);
        self.blobs.put(&name, sealed, until_us).await?;
        Ok(State::There(name))
    }

    /// Brings the parts into line with what became of the write of a row that was to name `state`.
    pub(super) async fn settle(&self, id: &str, state: State, done: &Result<(), StoreError>) {
        let new = match state {
            State::Here(_) => None,
            State::There(name) => Some(name),
        };
        let needless = match done {
            Ok(()) => self.name(id, new),
            // The row may name the new one or the one before.
            Err(StoreError::Unavailable(_)) => None,
            Err(_) => new,
        };
        if let Some(name) = needless
            && let Err(error) = self.blobs.remove(&name).await
        {
            tracing::warn!(%error, "a part that no session names is left behind until its session ends");
        }
    }

    /// A state that a row names under this process's lease.
    pub(super) async fn under_lease(&self, id: &str, state: &State) -> Result<Vec<u8>, StoreError> {
        match state {
            State::Here(sealed) => {
                self.forget(id);
                Ok(sealed.clone())
            }
            State::There(name) => {
                self.name(id, Some(name.clone()));
                let part = self.blobs.get(name).await?;
                Ok(part.ok_or(StoreError::Damaged)?.into_bytes())
            }
        }
    }

    /// A state that a row named when it was read; `None` if it has another by now.
    pub(super) async fn read(&self, state: &State) -> Result<Option<Vec<u8>>, StoreError> {
        match state {
            State::Here(sealed) => Ok(Some(sealed.clone())),
            State::There(name) => Ok(self.blobs.get(name).await?.map(Sealed::into_bytes)),
        }
    }

    /// Forgets what a row names: its lease is given back.
    pub(super) fn forget(&self, id: &str) {
        self.name(id, None);
    }

    /// Notes what a row names, and gives back what it named before.
    fn name(&self, id: &str, name: Option<String>) -> Option<String> {
        let id = self.key.hash_one(id);
        let mut named = self.named.lock();
        match name {
            Some(name) => {
                if named.len() >= REMEMBERED {
                    named.clear();
                }
                named.insert(id, name)
            }
            None => named.remove(&id),
        }
    }
}
