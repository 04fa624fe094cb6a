//! What a witness does with a request: the checks, the cosignature, and keeping it before it is
//! given away, as one step that no other request can come between.

use std::sync::{Arc, Mutex, PoisonError};

use gatehouse_envelope::{digest::sha256, sign::Signer};
use gatehouse_ledger::{
    clock::Clock,
    cosign::{WitnessKey, cosign},
    note::Note,
    trust::Trust,
    witness::{AddCheckpoint, Checkpoint, Refusal, State, judge},
};

use super::{
    book::{Book, Entry, shown},
    evidence::Evidence,
};

/// How far the clock may be behind the last cosignature: more says that it is wrong.
const CLOCK_BACK_S: u64 = 60;
/// A checkpoint that was cosigned so many seconds ago is not cosigned again: whoever has a signed
/// checkpoint can ask as often as they like.
const AGAIN_S: u64 = 5;

/// A witness.
pub(super) struct Witness {
    trust: Trust,
    signer: Box<dyn Signer>,
    key: WitnessKey,
    /// Locked from the comparison of the sizes until the new one is durable: the specification's race
    /// cannot happen.
    book: Mutex<Book>,
    evidence: Evidence,
    clock: Arc<dyn Clock>,
}

/// Why there is no cosignature.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refused {
    /// The witness cannot: its disk, its clock, its key.
    #[error("the witness cannot cosign now")]
    Failed,
    /// The request is not to be granted.
    #[error(transparent)]
    Judged(#[from] Refusal),
}

impl Witness {
    pub(super) fn new(
        trust: Trust,
        signer: Box<dyn Signer>,
        key: WitnessKey,
        book: Book,
        evidence: Evidence,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            trust,
            signer,
            key,
            book: Mutex::new(book),
            evidence,
            clock,
        }
    }

    /// Answers the body of an add-checkpoint request with a cosignature's line. Blocks on the disk.
    pub(super) fn add(&self, body: &[u8]) -> Result<String, Refused> {
        let asked = AddCheckpoint::parse(body).map_err(|_| Refusal::Malformed)?;
        let mut book = self.book.lock().unwrap_or_else(PoisonError::into_inner);
        let known = |origin: &str| book.get(origin).map_or_else(State::default, |it| it.state);
        match judge(&self.trust, &asked, known) {
            Ok((note, checkpoint)) => self.cosign(&mut book, &asked, &note, &checkpoint),
            Err(refusal) => {
                self.tell(&book, &asked, body, refusal);
                Err(refusal.into())
            }
        }
    }

    fn cosign(
        &self,
        book: &mut Book,
        asked: &AddCheckpoint<'_>,
        note: &Note<'_>,
        checkpoint: &Checkpoint<'_>,
    ) -> Result<String, Refused> {
        let Checkpoint { origin, size, root } = *checkpoint;
        let now = self.clock.now().unix_us / 1_000_000;
        let state = State { size, root };
        let last = book.last_time();
        if now.saturating_add(CLOCK_BACK_S) < last {
            tracing::error!(
                now,
                last,
                "the clock is behind the last cosignature: nothing is cosigned"
            );
            return Err(Refused::Failed);
        }
        if let Some(kept) = book.get(origin)
            && kept.state == state
            && now < kept.time.saturating_add(AGAIN_S)
        {
            return Ok(kept.line.clone());
        }
        let time = now.max(last);
        let line = cosign(note.text, self.signer.as_ref(), time).map_err(|error| {
            tracing::error!(%error, "no cosignature");
            Refused::Failed
        })?;
        let entry = Entry {
            state,
            time,
            note: asked.note.to_owned(),
            line: line.clone(),
        };
        book.put(origin, entry).map_err(|error| {
            tracing::error!(%error, origin, size, "not cosigned");
            Refused::Failed
        })?;
        tracing::info!(
            origin,
            size,
            old = asked.old,
            root = shown(&root),
            "cosigned"
        );
        Ok(line)
    }

    /// Says why not, and keeps what a log has signed against itself.
    fn tell(&self, book: &Book, asked: &AddCheckpoint<'_>, body: &[u8], refusal: Refusal) {
        let signed = matches!(
            refusal,
            Refusal::Fork(_) | Refusal::Proof | Refusal::Stale(_)
        );
        let note = Note::parse(asked.note).ok().filter(|_| signed);
        let Some((note, checkpoint)) = note
            .as_ref()
            .and_then(|note| Some((note, Checkpoint::of(note).ok()?)))
        else {
            // Nothing of it is to be believed, so nothing of it is told.
            tracing::warn!(status = refusal.status(), "refused: {refusal}");
            return;
        };
        let (origin, size, old) = (checkpoint.origin, checkpoint.size, asked.old);
        if let Refusal::Stale(known) = refusal {
            tracing::info!(origin, size, old, known, "refused: {refusal}");
            if size > known && self.key.cosigned(note).is_some() {
                tracing::error!(
                    origin,
                    size,
                    known,
                    "this witness has cosigned more than it knows"
                );
            }
            return;
        }
        tracing::error!(origin, size, old, "refused: {refusal}");
        let before = book.get(origin).map_or("", |entry| entry.note.as_str());
        if let Err(error) = self.evidence.keep(body, before) {
            tracing::error!(%error, "the request could not be kept");
        }
    }

    /// The last cosigned checkpoint of the log whose origin has that SHA-256, in hex.
    pub(super) fn last(&self, origin_digest: &str) -> Option<String> {
        let digest = data_encoding::HEXLOWER
            .decode(origin_digest.as_bytes())
            .ok()?;
        let book = self.book.lock().unwrap_or_else(PoisonError::into_inner);
        book.logs()
            .find(|(origin, _)| sha256(&[origin.as_bytes()]).as_slice() == digest)
            .map(|(_, entry)| entry.note.clone() + &entry.line)
    }

    /// Whether it can cosign, as far as it knows.
    pub(super) fn is_well(&self) -> bool {
        let book = self.book.lock().unwrap_or_else(PoisonError::into_inner);
        book.is_sound()
    }
}

#[cfg(test)]
mod tests;
