//! The typed state of a session: phase, goal, entities, tool results, errors, checkpoints, artifacts,
//! and the question that the session waits with. Code owns it; a model can only propose.
//!
//! It is a section of the sealed state: three bytes (major schema, minor schema, flags), then JSON. A
//! session that uses none of it has no such section. Fields that a later minor schema adds are kept
//! and written back; a later major schema is refused. A new word in an enumeration, or a new meaning
//! of a field, is a new major schema; floating-point numbers are never written.

mod api;
mod apply;
mod artifacts;
mod change;
mod checkpoint;
mod model;
pub(super) mod parts;
mod render;
mod text;
mod traffic;
mod view;

#[cfg(test)]
mod tests;

use zeroize::Zeroizing;

pub use api::{Asked, ChangeError, Changed, Content, StateView};
pub use change::{Change, Given, Refusal};
pub use model::Life;
pub use text::Text;
pub use traffic::{CallSeen, PHASE_TOOL, PhaseSeen, ResultSeen, Seen, is_call_id};

use self::model::{Artifact, ToolResult, Typed};
use super::{SessionError, SessionState, sections::TYPED};

/// The schema that this release writes.
const MAJOR: u8 = 1;
const MINOR: u8 = 0;
/// The flag of a session that waits for an answer. It stands outside of the JSON so that a turn can
/// tell without reading that.
const PAUSED: u8 = 1;

/// The most bytes of the typed state. With the rest of an ordinary session it stays within 64 KiB.
const LARGEST: usize = 32 << 10;

/// What stands before the JSON, as far as it is not made anew.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Prefix {
    minor: u8,
    flags: u8,
}

/// The phases that a policy knows, and which may follow which.
pub trait Phases: Send + Sync {
    /// The phase of a session that nobody has changed; `None` if the policy knows none.
    fn initial(&self) -> Option<&str>;

    /// Whether a session may go from one phase to another, and the model may propose it.
    fn allows(&self, from: &str, to: &str, by_model: bool) -> bool;
}

impl Typed {
    fn decode(bytes: &[u8]) -> Result<Self, SessionError> {
        let (major, minor, flags, json) = match bytes {
            [] => return Ok(Self::default()),
            [major, minor, flags, json @ ..] => (*major, *minor, *flags, json),
            _ => return Err(SessionError::Damaged),
        };
        match major {
            0 => return Err(SessionError::Damaged),
            MAJOR => {}
            _ => return Err(SessionError::Newer),
        }
        let mut typed: Self = serde_json::from_slice(json).map_err(|_| SessionError::Damaged)?;
        // Whether it waits, the JSON says too.
        let flags = flags & !PAUSED;
        typed.read = Prefix { minor, flags };
        Ok(typed)
    }

    /// The section's bytes; none for a state that says nothing.
    #[expect(
        clippy::unnecessary_min_or_max,
        reason = "of 0, but not of the minor schemas to come"
    )]
    fn encode(&self) -> Zeroizing<Vec<u8>> {
        if *self == Self::default() {
            return Zeroizing::default();
        }
        let Prefix { minor, flags } = self.read;
        let paused = match self.pause {
            Some(_) => PAUSED,
            None => 0,
        };
        // Large enough from the start in the common case, so that growing leaves few copies behind.
        let mut out = Zeroizing::new(Vec::with_capacity(4 << 10));
        out.extend_from_slice(&[MAJOR, minor.max(MINOR), flags | paused]);
        // Strings, integers and lists of them do not fail; if they did, the state would not be read
        // again, which is safe.
        let _written = serde_json::to_writer(&mut *out, self);
        out
    }

    /// The phase that the session is in.
    fn phase<'s>(&'s self, phases: &'s dyn Phases) -> Option<&'s str> {
        self.phase.as_deref().or(phases.initial())
    }

    fn result(&self, call: &str) -> Option<&ToolResult> {
        self.results.iter().find(|result| result.call == call)
    }

    fn versions(&self) -> usize {
        self.artifacts.values().map(Vec::len).sum()
    }

    fn artifact(&self, name: &str, n: Option<u64>) -> Option<&Artifact> {
        let versions = self.artifacts.get(name)?;
        match n {
            Some(n) => versions.iter().find(|version| version.n == n),
            None => versions.last(),
        }
    }
}

impl SessionState {
    /// The typed state.
    fn typed(&self) -> Result<Typed, SessionError> {
        Typed::decode(self.sections.get(TYPED))
    }

    fn set_typed(&mut self, typed: &Typed) {
        self.sections.set(TYPED, typed.encode());
    }

    /// Whether the session waits for its user's answer.
    ///
    /// # Errors
    /// [`SessionError::Newer`]: a later release wrote it, and it may mean more by it.
    pub fn is_paused(&self) -> Result<bool, SessionError> {
        match self.sections.get(TYPED) {
            [] => Ok(false),
            [MAJOR, _, flags, ..] => Ok(flags & PAUSED != 0),
            [0, ..] | [_] | [_, _] => Err(SessionError::Damaged),
            _ => Err(SessionError::Newer),
        }
    }
}

/// Whether a text is a name that callers may give: letters, digits, `_`, `.` and `-`, at most 64, the
/// first a letter or digit.
pub fn is_name(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
    text.len() <= 64
        && text.starts_with(|first: char| first.is_ascii_alphanumeric())
        && text.bytes().all(plain)
}

impl Phases for crate::config::Phases {
    fn initial(&self) -> Option<&str> {
        self.initial.as_deref()
    }

    fn allows(&self, from: &str, to: &str, by_model: bool) -> bool {
        let next = self.next.get(from);
        next.is_some_and(|next| next.contains(to)) && (!by_model || self.by_model.contains(to))
    }
}

/// No phases at all.
impl Phases for () {
    fn initial(&self) -> Option<&str> {
        None
    }

    fn allows(&self, _: &str, _: &str, _: bool) -> bool {
        false
    }
}
