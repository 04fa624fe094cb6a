//! What others say of the seals. The deployment's key alone proves nothing against whoever has it;
//! witnesses that saw the log grow do, and so do authorities that say when they saw it.
//!
//! Nothing here talks to anybody: it makes what they are to be asked, checks what they answered, and
//! stores it beside the seals.

mod nodes;
mod stamp;

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use gatehouse_envelope::stamp::StampError;

pub use stamp::{Due, Outlook};

use crate::{
    cosign::WitnessKey,
    names::{self, Name},
    note::{Key, Note, checkpoint},
    seal::MAX_NOTE,
    store::{LedgerStore, Object, StoreError},
    witness::AddCheckpoint,
};
use nodes::Nodes;

/// How many seals are looked through for one that is cosigned, first and then at most: with one a minute, days.
const REACH: [u64; 2] = [256, 4096];

/// Why there is nothing to ask with, or nothing to store.
#[derive(Debug, thiserror::Error)]
pub enum AnchorError {
    /// The answer, or what is stored as one, is not what it should be.
    #[error("no cosignature by the witness's key on this seal")]
    Cosignature,
    /// A seal or its checkpoint is missing, or is not what it should be.
    #[error("seal {0} is missing or does not fit the seals before it")]
    Seal(u64),
    /// The witness is said to know more seals than there are.
    #[error("the store holds fewer seals than the witness has cosigned")]
    Short,
    /// The reply, or what is stored as one, is not what it should be.
    #[error(transparent)]
    Stamp(#[from] StampError),
    /// The store did not answer, or refused.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A log of seals, as others are shown it. Its calls block on the store.
#[derive(Clone)]
pub struct Anchors {
    store: Arc<dyn LedgerStore>,
    /// Keys whose signatures on checkpoints count.
    keys: Arc<[Key]>,
    log: String,
    /// How many seals there are, as far as is known here.
    sealed: Arc<AtomicU64>,
}

impl Anchors {
    /// The log of seals called `log` in `store`, its checkpoints signed by any of `keys`.
    pub fn new(store: Arc<dyn LedgerStore>, keys: &[Key], log: &str) -> Self {
        Self {
            store,
            keys: keys.into(),
            log: log.to_owned(),
            sealed: Arc::default(),
        }
    }

    /// The number of the last seal, as far as it is known here; none before the first look.
    pub fn last(&self) -> Option<u64> {
        self.sealed.load(Ordering::Relaxed).checked_sub(1)
    }

    /// Takes note of the last seal: whoever makes or finds one says so.
    pub fn sealed(&self, last: u64) {
        self.sealed
            .fetch_max(last.saturating_add(1), Ordering::Relaxed);
    }

    /// The log's name: the origin line of its checkpoints.
    pub fn log(&self) -> &str {
        &self.log
    }

    /// What a witness that knows the first `old` seals is to be sent to cosign seal `number`: the
    /// body of an add-checkpoint request.
    ///
    /// # Errors
    /// See [`AnchorError`].
    pub fn request(&self, number: u64, old: u64) -> Result<String, AnchorError> {
        let (mut nodes, note) = self.checkpoint(number)?;
        if old > nodes.tree().size() {
            return Err(AnchorError::Short);
        }
        let proof = nodes.consistency(old)?;
        let note = &note;
        Ok(AddCheckpoint { old, proof, note }.body())
    }

    /// When the witness has cosigned seal `number`, in seconds since 1970, if the store knows it.
    ///
    /// # Errors
    /// See [`AnchorError`]; what is stored may be no cosignature.
    pub fn cosigned(&self, number: u64, key: &WitnessKey) -> Result<Option<u64>, AnchorError> {
        let name = names::cosignature(&self.log, number, key.id());
        let Some(stored) = self.store.get(&name, MAX_NOTE)? else {
            return Ok(None);
        };
        let note = self.checkpoint(number)?.1;
        let stored = String::from_utf8(stored).map_err(|_| AnchorError::Cosignature)?;
        let line = stored.strip_prefix(&note).ok_or(AnchorError::Cosignature)?;
        match cosignature(&note, line, key) {
            Some((_, time)) => Ok(Some(time)),
            None => Err(AnchorError::Cosignature),
        }
    }

    /// The last seal up to `last` of which the store has a cosignature by the witness that holds: what was
    /// known before this process came to be. What lies thousands of seals back is not looked for.
    ///
    /// # Errors
    /// The store did not answer, or a seal that bears a cosignature's name is missing.
    pub fn last_cosigned(&self, last: u64, key: &WitnessKey) -> Result<Option<u64>, AnchorError> {
        let mut before = last.saturating_add(1);
        for reach in REACH {
            // Most often it is one of the last.
            let from = last.saturating_sub(reach);
            for number in self.filed(from, last, key)? {
                if number < before && self.is_cosigned(number, key)? {
                    return Ok(Some(number));
                }
            }
            before = from;
        }
        Ok(None)
    }

    /// Whether the store has a cosignature that holds; what only bears the name of one is none.
    fn is_cosigned(&self, number: u64, key: &WitnessKey) -> Result<bool, AnchorError> {
        match self.cosigned(number, key) {
            Err(AnchorError::Cosignature | AnchorError::Store(StoreError::TooLarge)) => Ok(false),
            cosigned => Ok(cosigned?.is_some()),
        }
    }

    /// Under which of these seals the store has a cosignature by this name, the last first.
    fn filed(&self, from: u64, last: u64, key: &WitnessKey) -> Result<Vec<u64>, StoreError> {
        let (prefix, before) = names::cosignatures(&self.log, from);
        let listed = self.store.list_after(&prefix, &before)?;
        let number = |object: Object| match Name::parse(&object.name) {
            Name::Cosignature { number, id, .. } if id == key.id() => Some(number),
            _ => None,
        };
        let mut numbers: Vec<u64> = listed.into_iter().filter_map(number).collect();
        numbers.retain(|number| (from..=last).contains(number));
        numbers.sort_unstable_by(|a, b| b.cmp(a));
        Ok(numbers)
    }

    /// Checks what the witness answered to the request for seal `number`, and stores its cosignature,
    /// unless there is one already. Gives the answer's time, in seconds since 1970.
    ///
    /// # Errors
    /// See [`AnchorError`]; nothing is stored that does not hold.
    pub fn keep(&self, number: u64, key: &WitnessKey, answer: &str) -> Result<u64, AnchorError> {
        let note = self.checkpoint(number)?.1;
        // A witness may sign with keys that are none of ours; those lines say nothing here.
        let mut lines = answer.split_inclusive('\n');
        let found = lines.find_map(|line| cosignature(&note, line, key));
        let (cosigned, time) = found.ok_or(AnchorError::Cosignature)?;
        let name = names::cosignature(&self.log, number, key.id());
        match self.store.put_once(&name, cosigned.as_bytes()) {
            // Another replica was first. Its cosignature has another time, and is as good.
            Err(StoreError::Conflict) => {
                let stored = self.cosigned(number, key)?;
                stored.map(|_| time).ok_or(AnchorError::Cosignature)
            }
            other => Ok(other.map(|()| time)?),
        }
    }

    /// The tree up to seal `number`, and its signed checkpoint.
    fn checkpoint(&self, number: u64) -> Result<(Nodes<'_>, String), AnchorError> {
        let missing = AnchorError::Seal(number);
        let (nodes, _) = Nodes::up_to(self.store.as_ref(), &self.log, number)?;
        let name = names::seal_note(&self.log, number);
        let stored = self.store.get(&name, MAX_NOTE)?.unwrap_or_default();
        let tree = nodes.tree();
        let text = checkpoint(&self.log, tree.size(), &tree.root());
        let signed = |note: &Note<'_>| {
            note.text == text && self.keys.iter().any(|key| note.is_signed_by(key))
        };
        match String::from_utf8(stored) {
            Ok(note) if Note::parse(&note).is_ok_and(|note| signed(&note)) => Ok((nodes, note)),
            _ => Err(missing),
        }
    }
}

/// The note with this one line of the witness's behind it, and its time, if the line is that.
fn cosignature(note: &str, line: &str, key: &WitnessKey) -> Option<(String, u64)> {
    let cosigned = format!("{note}{line}");
    let time = {
        let [before, after] = [note, cosigned.as_str()].map(Note::parse);
        let one_more = after.as_ref().ok()?.signatures() == before.ok()?.signatures() + 1;
        one_more
            .then(|| key.cosigned(after.as_ref().ok()?))
            .flatten()?
    };
    Some((cosigned, time))
}

#[cfg(test)]
mod tests;
