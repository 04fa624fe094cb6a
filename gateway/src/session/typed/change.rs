//! The changes that a caller can ask for, one function each: what they need, what they do, what the
//! record says of them. None of them touches anything but the typed state.

use super::model::{Fault, Life, Pause, ToolResult, Typed};
use super::{LARGEST, Phases, Text};
use crate::audit::StateKind;

/// The most of each, and the most bytes of their texts.
pub(super) const ENTITIES: usize = 64;
pub(super) const ERRORS: usize = 32;
pub(super) const ANSWERS: usize = 8;

/// A change of a session's typed state.
pub enum Change {
    /// Sets or clears the goal, and entities by name.
    Update {
        /// The goal.
        goal: Given<Text>,
        /// Entities; `None` takes one out.
        entities: Vec<(String, Option<Text>)>,
    },
    /// Changes the phase.
    Phase {
        /// The new one.
        to: String,
    },
    /// Notes that something went wrong.
    Error {
        /// What.
        text: Option<Text>,
        /// The tool call that it came of.
        call: Option<String>,
    },
    /// Sets a tool's result, or moves it on in its life.
    Result {
        /// The call's id.
        call: String,
        /// The tool's name.
        tool: Option<String>,
        /// Where it stands now; without it a result that nobody has sent becomes active.
        life: Option<Life>,
        /// Whether the tool failed.
        failed: Option<bool>,
        /// The result's text, to be kept.
        text: Option<Text>,
    },
    /// Keeps the state under a name.
    Checkpoint {
        /// The name.
        name: String,
    },
    /// Goes back to a checkpoint.
    Restore {
        /// Its name.
        name: String,
    },
    /// Forgets a checkpoint.
    Forget {
        /// Its name.
        name: String,
    },
    /// Adds a version of an artifact.
    Artifact {
        /// The artifact's name.
        name: String,
        /// Its media type.
        media: Option<String>,
        /// What its writer calls itself.
        author: Option<String>,
        /// The document.
        content: Text,
    },
    /// Marks a version of an artifact as passed or failed.
    Evaluate {
        /// The artifact's name.
        name: String,
        /// The version.
        n: u64,
        /// Whether it passed.
        passed: bool,
        /// What its judge calls itself.
        author: Option<String>,
    },
    /// Stops the session until its user has answered.
    Pause {
        /// The question.
        question: Text,
    },
    /// Answers the question.
    Answer {
        /// The answer.
        answer: Text,
    },
    /// Lets the session go on.
    Resume,
}

/// A member that may be left out, or say that there is nothing.
#[derive(Clone, Default)]
pub enum Given<T> {
    /// Left out: stays as it is.
    #[default]
    Absent,
    /// Cleared.
    Null,
    /// Set.
    Value(T),
}

/// Why a change was not made. Nothing has changed then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// There is no room for more of this.
    Full(&'static str),
    /// There is none of this by that name.
    Missing(&'static str),
    /// The session waits for no answer.
    NotPaused,
    /// The session waits for an answer.
    Paused,
    /// The policy, or the life of a result, does not allow this change.
    Transition(&'static str),
}

/// When and by whom.
#[derive(Clone, Copy)]
pub(super) struct By<'a> {
    pub(super) at_us: i64,
    /// Turns that the session has had.
    pub(super) step: u64,
    pub(super) agent: Option<&'a str>,
    pub(super) request: &'a str,
}

/// What the record says of a change.
pub(super) struct Noted {
    pub(super) kind: StateKind,
    /// The name of what was changed. The record has a keyed digest of it.
    pub(super) name: Option<String>,
    /// What it was changed to, the same.
    pub(super) content: Option<Text>,
    /// How many, or which version.
    pub(super) n: Option<u64>,
    /// Phases of the policy, or stations of a life.
    pub(super) from: Option<String>,
    pub(super) to: Option<String>,
    pub(super) passed: Option<bool>,
}

impl Noted {
    pub(super) fn of(kind: StateKind) -> Self {
        Self {
            kind,
            name: None,
            content: None,
            n: None,
            from: None,
            to: None,
            passed: None,
        }
    }

    pub(super) fn with(self, content: Option<Text>) -> Self {
        Self { content, ..self }
    }

    pub(super) fn named(kind: StateKind, name: &str) -> Self {
        Self {
            name: Some(name.to_owned()),
            ..Self::of(kind)
        }
    }
}

impl Typed {
    pub(super) fn update(
        &mut self,
        goal: Given<Text>,
        entities: Vec<(String, Option<Text>)>,
    ) -> Result<Noted, Refusal> {
        let mut changed = entities.len() as u64;
        let mut noted = Noted::of(StateKind::Update);
        for (name, value) in entities {
            match value {
                Some(value) => drop(self.entities.insert(name, value)),
                None => drop(self.entities.remove(&name)),
            }
        }
        if self.entities.len() > ENTITIES {
            return Err(Refusal::Full("entities"));
        }
        match goal {
            Given::Absent => {}
            Given::Null => self.goal = None,
            Given::Value(goal) => {
                noted.content = Some(goal.clone());
                self.goal = Some(goal);
                changed += 1;
            }
        }
        noted.n = Some(changed);
        Ok(noted)
    }

    pub(super) fn change_phase(
        &mut self,
        to: &str,
        phases: &dyn Phases,
        by_model: bool,
    ) -> Result<Noted, Refusal> {
        let from = self.phase(phases).map(str::to_owned);
        let allowed = |from: &str| phases.allows(from, to, by_model);
        if !from.as_deref().is_some_and(allowed) {
            return Err(Refusal::Transition("phase"));
        }
        self.phase = Some(to.to_owned());
        Ok(Noted {
            from,
            to: Some(to.to_owned()),
            ..Noted::of(StateKind::Phase)
        })
    }

    pub(super) fn note_error(
        &mut self,
        text: Option<Text>,
        call: Option<String>,
        by: By<'_>,
    ) -> Noted {
        let noted = Noted {
            name: call.clone(),
            content: text.clone(),
            ..Noted::of(StateKind::Error)
        };
        self.add_error(Fault {
            at_us: by.at_us,
            step: by.step,
            call,
            text,
            other: Default::default(),
        });
        // Long ones leave room for fewer.
        while self.errors.len() > 1 && self.encode().len() > LARGEST {
            self.errors.remove(0);
        }
        Noted {
            n: Some(self.errors_total),
            ..noted
        }
    }

    pub(super) fn add_error(&mut self, fault: Fault) {
        if self.errors.len() >= ERRORS {
            self.errors.remove(0);
        }
        self.errors.push(fault);
        self.errors_total = self.errors_total.saturating_add(1);
    }

    /// Sets what is known of a result. `part` is where its text was put, with its length.
    pub(super) fn set_result(
        &mut self,
        given: ToolResult,
        life: Option<Life>,
        failed: Option<bool>,
    ) -> Result<Noted, Refusal> {
        let mut noted = Noted::named(StateKind::Result, &given.call);
        let index = match self.results.iter().position(|it| it.call == given.call) {
            Some(index) => index,
            None => {
                self.make_room()?;
                self.results.push(ToolResult {
                    life: Life::Pending,
                    ..given.clone()
                });
                self.results.len() - 1
            }
        };
        let Some(result) = self.results.get_mut(index) else {
            return Err(Refusal::Missing("tool_result"));
        };
        let to = life.unwrap_or(result.life.max(Life::Active));
        if to < result.life {
            return Err(Refusal::Transition("state"));
        }
        noted.from = Some(result.life.word().to_owned());
        noted.to = Some(to.word().to_owned());
        result.life = to;
        result.step = given.step;
        result.failed = failed.unwrap_or(result.failed);
        if given.tool.is_some() {
            result.tool = given.tool;
        }
        if given.part.is_some() {
            (result.part, result.bytes) = (given.part, given.bytes);
        }
        Ok(noted)
    }

    pub(super) fn ask(&mut self, question: Text, by: By<'_>) -> Result<Noted, Refusal> {
        if self.pause.is_some() {
            return Err(Refusal::Paused);
        }
        self.pause = Some(Pause {
            question: question.clone(),
            asked_us: by.at_us,
            answer: None,
            answered_us: None,
            other: Default::default(),
        });
        Ok(Noted {
            content: Some(question),
            ..Noted::of(StateKind::Pause)
        })
    }

    /// A later answer replaces one that the session has not gone on with.
    pub(super) fn answer(&mut self, answer: Text, by: By<'_>) -> Result<Noted, Refusal> {
        let pause = self.pause.as_mut().ok_or(Refusal::NotPaused)?;
        pause.answer = Some(answer.clone());
        pause.answered_us = Some(by.at_us);
        Ok(Noted {
            content: Some(answer),
            ..Noted::of(StateKind::Answer)
        })
    }

    /// Goes on, answered or not. What was answered is kept.
    pub(super) fn resume(&mut self) -> Result<Noted, Refusal> {
        let pause = self.pause.take().ok_or(Refusal::NotPaused)?;
        let answered = pause.answer.is_some();
        if answered {
            if self.answers.len() >= ANSWERS {
                self.answers.remove(0);
            }
            self.answers.push(pause);
        }
        Ok(Noted {
            n: Some(answered.into()),
            ..Noted::of(StateKind::Resume)
        })
    }
}
