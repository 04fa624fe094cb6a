//! What a witness does with a request: the checks, the cosignature, and keeping it before it is
//! given away, as one step that no other request can come between.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use data_encoding::HEXLOWER;
use gatehouse_envelope::{digest::sha256, sign::Signer};
use gatehouse_ledger::{
    clock::Clock,
    cosign::{WitnessKey, cosign},
    note::Note,
    trust::Trust,
    witness::{AddCheckpoint, Checkpoint, Granted, Refusal, State, judge},
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
/// So long after a cosignature could not be kept the next one is in doubt. Logs ask once a minute.
const UNWELL: Duration = Duration::from_secs(90);

/// What is witnessed.
pub(super) struct Logs {
    /// Whose keys count.
    pub(super) trust: Trust,
    /// Logs of seals of single data directories.
    pub(super) also: Vec<String>,
}

/// A witness.
pub(super) struct Witness {
    logs: Logs,
    signer: Box<dyn Signer>,
    key: WitnessKey,
    /// Locked from the comparison of the sizes until the new one is durable: the specification's race
    /// cannot happen.
    book: Mutex<Book>,
    /// What the book holds, for those who only look: nobody waits for the disk here.
    shown: Mutex<Shown>,
    evidence: Evidence,
    clock: Arc<dyn Clock>,
}

#[derive(Default)]
struct Shown {
    /// The cosigned checkpoints, by the SHA-256 of their logs' names in hex.
    notes: BTreeMap<String, String>,
    is_sound: bool,
    /// When a cosignature was not kept, if the last one was not.
    failed: Option<Instant>,
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
        logs: Logs,
        signer: Box<dyn Signer>,
        key: WitnessKey,
        book: Book,
        evidence: Evidence,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let witness = Self {
            logs,
            signer,
            key,
            shown: Mutex::default(),
            book: Mutex::new(book),
            evidence,
            clock,
        };
        witness.show(&lock(&witness.book));
        witness
    }

    /// Answers the body of an add-checkpoint request with a cosignature's line. Blocks on the disk.
    pub(super) fn add(&self, body: &[u8]) -> Result<String, Refused> {
        let asked = AddCheckpoint::parse(body).map_err(|_| Refusal::Malformed)?;
        let mut book = lock(&self.book);
        if !book.is_sound() {
            return Err(Refused::Failed);
        }
        let known = |origin: &str| book.get(origin).map_or_else(State::default, |it| it.state);
        let answer = match judge(&self.logs.trust, &self.logs.also, &asked, known) {
            Ok(granted) => self.cosign(&mut book, asked.old, granted),
            Err(refusal) => {
                self.tell(&book, &asked, body, refusal);
                return Err(refusal.into());
            }
        };
        self.show(&book);
        answer
    }

    fn cosign(&self, book: &mut Book, old: u64, granted: Granted<'_>) -> Result<String, Refused> {
        let Checkpoint { origin, size, root } = granted.checkpoint;
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
        let line = cosign(granted.text, self.signer.as_ref(), time).map_err(|error| {
            tracing::error!(%error, "no cosignature");
            Refused::Failed
        })?;
        let entry = Entry {
            state,
            time,
            note: granted.signed,
            line: line.clone(),
        };
        book.put(origin, entry).map_err(|error| {
            tracing::error!(%error, origin, size, "not cosigned");
            Refused::Failed
        })?;
        tracing::info!(origin, size, old, root = shown(&root), "cosigned");
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
            tracing::info!(status = refusal.status(), "refused: {refusal}");
            return;
        };
        let (origin, size, old) = (checkpoint.origin, checkpoint.size, asked.old);
        if let Refusal::Stale(known) = refusal
            && size > known
            && self.key.cosigned(note).is_some()
        {
            tracing::error!(
                origin,
                size,
                known,
                "this witness has cosigned more than it knows"
            );
        }
        let before = book.get(origin);
        let same =
            before.is_some_and(|it| (it.state.size, it.state.root) == (size, checkpoint.root));
        if matches!(refusal, Refusal::Stale(_)) || same {
            tracing::info!(origin, size, old, "refused: {refusal}");
            return;
        }
        tracing::error!(origin, size, old, "refused: {refusal}");
        let before = before.map_or("", |entry| entry.note.as_str());
        let fork = matches!(refusal, Refusal::Fork(_)).then_some(origin);
        if let Err(error) = self.evidence.keep(body, before, fork) {
            tracing::error!(%error, "the request could not be kept");
        }
    }

    /// Shows what the book holds.
    fn show(&self, book: &Book) {
        let notes = book.logs().map(|(origin, entry)| {
            let digest = HEXLOWER.encode(&sha256(&[origin.as_bytes()]));
            (digest, entry.note.clone() + &entry.line)
        });
        let shown = Shown {
            notes: notes.collect(),
            is_sound: book.is_sound(),
            failed: book.failed(),
        };
        *lock(&self.shown) = shown;
    }

    /// The last cosigned checkpoint of the log whose origin has that SHA-256, in hex.
    pub(super) fn last(&self, origin_digest: &str) -> Option<String> {
        lock(&self.shown).notes.get(origin_digest).cloned()
    }

    /// Whether it can cosign, as far as it knows. A while after it could not the next request has to show.
    pub(super) fn is_well(&self) -> bool {
        let shown = lock(&self.shown);
        let is_late = |failed: Instant| failed.elapsed() >= UNWELL;
        shown.is_sound && shown.failed.is_none_or(is_late)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
