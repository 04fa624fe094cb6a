//! Changes of a session's typed state by its caller: which, and how much; never what. Names and texts
//! stand in them as digests under the session's commitment key.

use gatehouse_ledger::event::Event;

use super::parts::{BuildError, Draft, Link, Subject, Who};

/// A change of a session's typed state, outside of any exchange.
pub struct StateChange<'a> {
    /// What was changed.
    pub kind: StateKind,
    /// The request that changed it, `r_…`.
    pub request: &'a str,
    /// The session.
    pub subject: Subject<'a>,
    /// The caller.
    pub who: Who<'a>,
    /// The version that the change made.
    pub version: u64,
    /// Keyed digest of the name of what was changed.
    pub name: Option<[u8; 32]>,
    /// Keyed digest of the text that was given.
    pub content: Option<[u8; 32]>,
    /// How many bytes that text has.
    pub bytes: Option<u64>,
    /// How many, or which version.
    pub n: Option<u64>,
    /// The phase or station before: words of the policy, or of ours.
    pub from: Option<&'a str>,
    /// The phase or station after.
    pub to: Option<&'a str>,
    /// What an artifact was found to be.
    pub passed: Option<bool>,
}

/// The kinds of changes, and of their records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateKind {
    /// `session.answer`: the question was answered.
    Answer,
    /// `session.artifact`: a version of an artifact was added.
    Artifact,
    /// `session.checkpoint`: the state was kept to go back to.
    Checkpoint,
    /// `session.error`: the caller noted that something went wrong.
    Error,
    /// `session.evaluation`: an artifact was marked.
    Evaluation,
    /// `session.forget`: a checkpoint was taken out.
    Forget,
    /// `session.pause`: the session waits for an answer.
    Pause,
    /// `phase.change`.
    Phase,
    /// `session.restore`: the state went back to a checkpoint.
    Restore,
    /// `tool_result.state`: a tool's result was set or moved on.
    Result,
    /// `session.resume`: the session goes on.
    Resume,
    /// `session.update`: goal and entities.
    Update,
}

impl StateKind {
    fn word(self) -> &'static str {
        match self {
            Self::Answer => "session.answer",
            Self::Artifact => "session.artifact",
            Self::Checkpoint => "session.checkpoint",
            Self::Error => "session.error",
            Self::Evaluation => "session.evaluation",
            Self::Forget => "session.forget",
            Self::Pause => "session.pause",
            Self::Phase => "phase.change",
            Self::Restore => "session.restore",
            Self::Result => "tool_result.state",
            Self::Resume => "session.resume",
            Self::Update => "session.update",
        }
    }
}

/// The change of phase that the model proposed in an exchange.
#[derive(Clone, Copy)]
pub struct Proposed<'a> {
    /// The phase before.
    pub from: &'a str,
    /// The phase now; `None` if the policy did not allow the change.
    pub to: Option<&'a str>,
}

impl Proposed<'_> {
    pub(super) fn write(self, draft: &mut Draft) {
        let from = Some(self.from).filter(|from| !from.is_empty());
        draft.object("phase", [("from", from), ("to", self.to)], |_| {});
    }
}

impl StateChange<'_> {
    /// The event at `link` of its session.
    ///
    /// # Errors
    /// A value that no record may hold.
    pub fn build(&self, link: Link) -> Result<Event, BuildError> {
        let mut draft = Draft::new(self.kind.word());
        draft.word("rid", self.request);
        draft.subject(self.subject, link);
        draft.who(self.who);
        let mark = self
            .passed
            .map(|passed| if passed { "passed" } else { "failed" });
        let words = [("from", self.from), ("to", self.to), ("mark", mark)];
        draft.object("change", words, |change| {
            change.integer("version", self.version);
            change.some_integer("n", self.n);
            change.some_integer("bytes", self.bytes);
            for (key, digest) in [("name_h", &self.name), ("text_h", &self.content)] {
                if let Some(digest) = digest {
                    change.hex(key, digest);
                }
            }
        });
        draft.finish()
    }
}
