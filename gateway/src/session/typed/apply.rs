//! A change in a session's turn: the state that it makes, the part that it needs, and the two writes
//! that keep it.

use std::time::Duration;

use zeroize::Zeroizing;

use super::artifacts::New;
use super::change::{By, Change, Noted};
use super::model::{Snapshot, ToolResult, Typed};
use super::parts::{self, Part};
use super::{ChangeError, Phases, Text};
use crate::audit::Event;
use crate::session::store::{Durable, Lease};
use crate::session::{Fate, SessionError, Turn, sections::TYPED};

/// How long a caller waits for the log to say whether it has a change.
const PATIENCE: Duration = Duration::from_secs(5);

impl Turn {
    /// Makes a change in a copy of the state. The part that this needs is not put yet: what is refused
    /// leaves nothing behind.
    pub(super) async fn apply(
        &self,
        typed: &mut Typed,
        change: Change,
        by: By<'_>,
        phases: &dyn Phases,
    ) -> Result<(Noted, Option<Part>), ChangeError> {
        let mut needed = None;
        let noted = match change {
            Change::Update { goal, entities } => typed.update(goal, entities)?,
            Change::Phase { to } => typed.change_phase(&to, phases, false)?,
            Change::Error { text, call } => typed.note_error(text, call, by),
            Change::Result {
                call,
                tool,
                life,
                failed,
                text,
            } => {
                let mut given = ToolResult::given(call, tool, by);
                given.keep(text.as_ref(), typed, &mut needed)?;
                typed.set_result(given, life, failed)?.with(text)
            }
            Change::Checkpoint { name } => {
                let snapshot = typed.snapshot().encode();
                let part = typed.new_part(&snapshot, &mut needed)?;
                typed.add_checkpoint(&name, part, by)?
            }
            Change::Restore { name } => {
                let snapshot = self.snapshot(&typed.checkpoint(&name)?.part).await?;
                typed.restore(&name, snapshot, phases)?
            }
            Change::Forget { name } => typed.forget(&name)?,
            Change::Artifact {
                name,
                media,
                author,
                content,
            } => {
                let new = New {
                    name: &name,
                    media,
                    author,
                    content: &content,
                };
                let part = typed.new_part(content.as_str().as_bytes(), &mut needed)?;
                typed.add_artifact(new, part, by)?
            }
            Change::Evaluate {
                name,
                n,
                passed,
                author,
            } => typed.evaluate((&name, n), passed, author, by)?,
            Change::Pause { question } => typed.ask(question, by)?,
            Change::Answer { answer } => typed.answer(answer, by)?,
            Change::Resume => typed.resume()?,
        };
        Ok((noted, needed))
    }

    async fn snapshot(&self, part: &str) -> Result<Snapshot, SessionError> {
        let bytes = parts::open(&self.shared, &self.location, &self.keys, part).await?;
        Snapshot::decode(&bytes)
    }

    /// Writes a change and its record, and ends the turn. Both have it, durably, when this returns. A
    /// change that was not made leaves no `part`.
    pub(super) async fn keep_changed(
        mut self,
        event: Event,
        before: Zeroizing<Vec<u8>>,
        part: Option<&Part>,
    ) -> Result<(), SessionError> {
        match self.admit(event, || ()).await {
            Ok(()) => {
                // It has happened; a lease that is not given back runs out.
                let _freed = self.release().await;
                Ok(())
            }
            Err(unadmitted) => {
                // Dropped on the way, the turn leaves a doubt that the next one declares.
                let learning = tokio::time::timeout(PATIENCE, self.learned(unadmitted.fate));
                let fate = learning.await.map_err(|_| SessionError::Log)?;
                // What the log may have stands; of the rest of the state, the chain's digests above
                // all, nothing is taken back.
                let is_absent = matches!(fate, Fate::Absent);
                if is_absent {
                    self.state.sections.set(TYPED, before);
                }
                let was_refused = self.overtaken;
                let kept = self.commit(None, Lease::Free, Durable::Soon).await;
                // A store that did not answer may have the state that names the part.
                if let Some(part) = part.filter(|_| is_absent && (was_refused || kept.is_ok())) {
                    self.drop_part(part).await;
                }
                Err(unadmitted.error)
            }
        }
    }

    /// Gives the session back as it was found.
    pub(super) async fn give_back(self) -> Result<(), SessionError> {
        if let Some(head) = self.head {
            let store = &self.shared.store;
            store.free(&self.location.name, head.fence).await?;
        }
        Ok(())
    }
}

impl ToolResult {
    /// Notes that the text is in a part, if there is one to keep.
    fn keep(
        &mut self,
        text: Option<&Text>,
        typed: &mut Typed,
        needed: &mut Option<Part>,
    ) -> Result<(), ChangeError> {
        if let Some(text) = text {
            self.bytes = Some(text.len() as u64);
            self.part = Some(typed.new_part(text.as_str().as_bytes(), needed)?);
        }
        Ok(())
    }
}
