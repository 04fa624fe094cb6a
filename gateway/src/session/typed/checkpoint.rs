//! Checkpoints: copies of the state to go back to. Going back changes what the session is about, never
//! what has happened: money, values, errors, answers and artifacts stay as they are.

use zeroize::Zeroizing;

use super::change::{By, Noted, Refusal};
use super::model::{Checkpoint, Snapshot, Typed};
use super::{Phases, SessionError};
use crate::audit::StateKind;

pub(super) const CHECKPOINTS: usize = 16;

impl Typed {
    /// What a checkpoint made now goes back to.
    pub(super) fn snapshot(&self) -> Snapshot {
        Snapshot {
            phase: self.phase.clone(),
            goal: self.goal.clone(),
            entities: self.entities.clone(),
            results: self.results.clone(),
            other: Default::default(),
        }
    }

    /// Notes that the snapshot is in a part. One of the same name is replaced.
    pub(super) fn add_checkpoint(
        &mut self,
        name: &str,
        part: String,
        by: By<'_>,
    ) -> Result<Noted, Refusal> {
        self.checkpoints.retain(|other| other.name != name);
        if self.checkpoints.len() >= CHECKPOINTS {
            return Err(Refusal::Full("checkpoints"));
        }
        self.checkpoints.push(Checkpoint {
            name: name.to_owned(),
            at_us: by.at_us,
            step: by.step,
            version: self.version,
            part,
            other: Default::default(),
        });
        Ok(Noted {
            n: Some(self.version),
            ..Noted::named(StateKind::Checkpoint, name)
        })
    }

    pub(super) fn checkpoint(&self, name: &str) -> Result<&Checkpoint, Refusal> {
        let mut all = self.checkpoints.iter();
        all.find(|checkpoint| checkpoint.name == name)
            .ok_or(Refusal::Missing("checkpoint"))
    }

    /// Goes back. The phase must be one that the policy lets the session go to from where it is: a
    /// checkpoint is no way around the table.
    pub(super) fn restore(
        &mut self,
        name: &str,
        snapshot: Snapshot,
        phases: &dyn Phases,
    ) -> Result<Noted, Refusal> {
        let n = self.checkpoint(name)?.version;
        let from = self.phase(phases).map(str::to_owned);
        let to = snapshot.phase.as_deref().or(phases.initial());
        let to = to.map(str::to_owned);
        if from != to {
            let allowed = match (&from, &to) {
                (Some(from), Some(to)) => phases.allows(from, to, false),
                _ => false,
            };
            if !allowed {
                return Err(Refusal::Transition("phase"));
            }
        }
        let Snapshot {
            phase,
            goal,
            entities,
            results,
            other,
        } = snapshot;
        (self.phase, self.goal) = (phase, goal);
        (self.entities, self.results) = (entities, results);
        // A later release put them into the snapshot to have them put back.
        self.other.extend(other);
        Ok(Noted {
            n: Some(n),
            from,
            to,
            ..Noted::named(StateKind::Restore, name)
        })
    }

    pub(super) fn forget(&mut self, name: &str) -> Result<Noted, Refusal> {
        self.checkpoint(name)?;
        self.checkpoints.retain(|other| other.name != name);
        Ok(Noted::named(StateKind::Forget, name))
    }
}

impl Snapshot {
    pub(super) fn encode(&self) -> Zeroizing<Vec<u8>> {
        let mut out = Zeroizing::new(Vec::with_capacity(4 << 10));
        // As for the state itself: what would not be read again is refused then.
        let _written = serde_json::to_writer(&mut *out, self);
        out
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self, SessionError> {
        serde_json::from_slice(bytes).map_err(|_| SessionError::Damaged)
    }
}
