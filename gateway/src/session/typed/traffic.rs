//! What a session's own exchanges say of its tools: results in requests, calls in replies, and the
//! changes of phase that the model proposes by calling a reserved tool.

use zeroize::Zeroizing;

use super::change::{By, Noted, Refusal};
use super::model::{Fault, Life, Proposal, ToolResult, Typed};
use super::{LARGEST, Phases, SessionError};
use crate::session::{Turn, sections::TYPED};

/// The tool by which a model proposes a change of phase. Whoever offers it to the model describes
/// it there; its one argument is `to`.
pub const PHASE_TOOL: &str = "gatehouse_change_phase";
/// The most bytes of a call's id, and of a tool's name.
const CALL_ID: usize = 128;
/// Results that are remembered.
pub(super) const RESULTS: usize = 32;

/// A tool's result in a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultSeen {
    /// The call's id.
    pub call: String,
    /// Whether it says that the tool failed.
    pub failed: bool,
    /// Bytes of its text.
    pub bytes: u64,
}

/// A tool call in a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallSeen {
    /// Its id.
    pub call: String,
    /// The tool's name.
    pub tool: String,
    /// The arguments of a call of [`PHASE_TOOL`].
    pub arguments: Option<String>,
}

/// What one exchange showed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Results that the request brought.
    pub results: Vec<ResultSeen>,
    /// Calls that the reply made.
    pub calls: Vec<CallSeen>,
    /// Whether the reply was whole.
    pub whole: bool,
}

/// What became of a change of phase that the model proposed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhaseSeen {
    /// The phase before.
    pub from: String,
    /// The phase now, if the policy allowed the change.
    pub to: Option<String>,
}

impl Turn {
    /// Notes what an exchange showed, at its end: results are active, and consumed once a whole reply
    /// has answered them; calls count if the reply was whole. Says what the model proposed, the last
    /// of it. An exchange without tools costs nothing here.
    ///
    /// # Errors
    /// The state is damaged, or a later release's.
    pub fn saw(
        &mut self,
        seen: &Seen,
        phases: &dyn Phases,
    ) -> Result<Option<PhaseSeen>, SessionError> {
        if seen.results.is_empty() && seen.calls.is_empty() {
            return Ok(None);
        }
        let mut typed = self.state.typed()?;
        let by = self.seen_by();
        let (changed, proposed) = typed.saw(seen, phases, by);
        if changed {
            typed.version = typed.version.saturating_add(1);
            self.state.sections.set(TYPED, typed.fit());
        }
        Ok(proposed)
    }

    fn seen_by(&self) -> By<'static> {
        By {
            at_us: self.shared.clock.utc_us(),
            step: self.state.steps,
            agent: None,
            request: "",
        }
    }
}

impl Typed {
    /// Says whether it changed anything: a request that is sent again does not.
    pub(super) fn saw_result(&mut self, seen: &ResultSeen, by: By<'_>) -> bool {
        let known = self.results.iter().position(|it| it.call == seen.call);
        if known.is_none() {
            // The call was made before the session, or out of its sight.
            if self.make_room().is_err() {
                return false;
            }
            self.results.push(called(&seen.call, by));
        }
        let at = known.unwrap_or(self.results.len().saturating_sub(1));
        match self.results.get_mut(at) {
            Some(result) if result.life == Life::Pending => {
                result.life = Life::Active;
                (result.failed, result.step) = (seen.failed, by.step);
                // A text that was given to keep may be longer than what the model is shown.
                result.bytes = result.bytes.or(Some(seen.bytes));
            }
            _ => return false,
        }
        if seen.failed {
            self.add_error(Fault {
                at_us: by.at_us,
                step: by.step,
                call: Some(seen.call.clone()),
                text: None,
                other: Default::default(),
            });
        }
        true
    }

    pub(super) fn saw(
        &mut self,
        seen: &Seen,
        phases: &dyn Phases,
        by: By<'_>,
    ) -> (bool, Option<PhaseSeen>) {
        let mut changed = false;
        for result in &seen.results {
            changed |= self.saw_result(result, by);
            if !seen.whole {
                continue;
            }
            let known = self.results.iter_mut().find(|it| it.call == result.call);
            if let Some(known) = known.filter(|known| known.life == Life::Active) {
                (known.life, known.step) = (Life::Consumed, by.step);
                changed = true;
            }
        }
        let mut proposed = None;
        for call in seen.calls.iter().filter(|_| seen.whole) {
            // A reply that is delivered again says nothing new.
            if self.result(&call.call).is_some() || self.make_room().is_err() {
                continue;
            }
            let proposal = call
                .arguments
                .as_deref()
                .filter(|_| call.tool == PHASE_TOOL);
            let proposal = proposal.map(|arguments| {
                let seen = self.propose(arguments, phases);
                let proposal = Proposal {
                    to: seen.to.clone(),
                    accepted: seen.to.is_some(),
                    other: Default::default(),
                };
                proposed = Some(seen);
                proposal
            });
            self.results.push(ToolResult {
                tool: is_call_id(&call.tool).then(|| call.tool.clone()),
                proposal,
                ..called(&call.call, by)
            });
            changed = true;
        }
        (changed, proposed)
    }

    /// The model proposes, the table decides.
    fn propose(&mut self, arguments: &str, phases: &dyn Phases) -> PhaseSeen {
        #[derive(serde::Deserialize)]
        struct Proposed {
            to: String,
        }
        let from = self.phase(phases).unwrap_or_default().to_owned();
        let to = serde_json::from_str::<Proposed>(arguments).map(|it| it.to);
        let changed = to.map(|to| self.change_phase(&to, phases, true));
        let to = match changed {
            Ok(Ok(Noted { to, .. })) => to,
            _ => None,
        };
        PhaseSeen { from, to }
    }

    /// Makes room for one more result: the oldest that is archived goes, else the oldest that nobody
    /// needs any more, else the oldest call that never got a result.
    pub(super) fn make_room(&mut self) -> Result<(), Refusal> {
        while self.results.len() >= RESULTS {
            if !self.drop_result() {
                return Err(Refusal::Full("tool_results"));
            }
        }
        Ok(())
    }

    fn drop_result(&mut self) -> bool {
        for life in [Life::Archived, Life::Consumed, Life::Pending] {
            if let Some(at) = self.results.iter().position(|it| it.life == life) {
                self.results.remove(at);
                return true;
            }
        }
        false
    }

    /// The state's bytes, after results were dropped until they are as few as they must be. Nothing
    /// else grows by traffic, but for errors, which are few.
    pub(super) fn fit(&mut self) -> Zeroizing<Vec<u8>> {
        loop {
            let bytes = self.encode();
            let larger = bytes.len() > LARGEST;
            if !larger
                || !self.drop_result()
                    && self.results.pop().is_none()
                    && self.errors.pop().is_none()
            {
                return bytes;
            }
        }
    }
}

fn called(call: &str, by: By<'_>) -> ToolResult {
    ToolResult::given(call.to_owned(), None, by)
}

impl ToolResult {
    /// A call, as far as it is known.
    pub(super) fn given(call: String, tool: Option<String>, by: By<'_>) -> Self {
        Self {
            call,
            tool,
            life: Life::Pending,
            failed: false,
            bytes: None,
            step: by.step,
            part: None,
            proposal: None,
            other: Default::default(),
        }
    }
}

/// Whether a text is an id of a tool call, or a tool's name, as providers and SDKs make them.
pub fn is_call_id(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.:-".contains(&byte);
    !text.is_empty() && text.len() <= CALL_ID && text.bytes().all(plain)
}
