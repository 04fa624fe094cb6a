//! Reading and changing the typed state of a caller's session. A change takes the session's turn, is
//! in the log and in the store when it returns, and has happened once or not at all.

use gatehouse_envelope::keys::SessionKeys;
use serde_json::Value;
use zeroize::Zeroizing;

use super::change::{By, Change, Noted, Refusal};
use super::parts::{self, Part};
use super::{LARGEST, Phases, render, view};
use crate::audit::{BuildError, Event, StateChange, Subject, Who};
use crate::auth::Caller;
use crate::session::{SessionError, Sessions, Turn, sections::TYPED, turn::Location};

/// On what terms a change is asked for.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    /// The request's id.
    pub request: &'a str,
    /// Its W3C trace id.
    pub trace: Option<[u8; 16]>,
    /// The versions that the state must have one of; `None` for any.
    pub expected: Option<&'a [u64]>,
}

/// A change that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// The state's version now.
    pub version: u64,
    /// Which version of an artifact, how many of the rest.
    pub n: Option<u64>,
}

/// The state as a caller is shown it.
pub struct StateView {
    /// Its version.
    pub version: u64,
    /// All of it but the parts.
    pub json: Value,
}

/// A text that was kept, and what is known of it.
pub struct Content {
    /// The state's version.
    pub version: u64,
    /// What is known of it.
    pub about: Value,
    /// The text, if one was kept.
    pub text: Option<Zeroizing<String>>,
}

/// Why the state was not changed, or not shown.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// The change itself.
    #[error("the state does not allow this change")]
    Refused(Refusal),
    /// The session.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The state has another version than the caller asked for.
    #[error("the state has another version")]
    Version,
}

impl From<Refusal> for ChangeError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<BuildError> for ChangeError {
    fn from(_: BuildError) -> Self {
        Self::Session(SessionError::Log)
    }
}

impl Sessions {
    /// Changes the state of one of the caller's sessions.
    ///
    /// # Errors
    /// [`ChangeError`]. The record of a change stands in the log before the caller is told of it; when
    /// the store fails meanwhile, the log may hold a change that the state does not: the next one
    /// has the same version then.
    pub async fn change(
        &self,
        caller: &Caller,
        reference: &str,
        asked: Asked<'_>,
        change: Change,
        phases: &dyn Phases,
    ) -> Result<Changed, ChangeError> {
        let (location, loaded) = self.find_own(caller, reference).await?;
        let mut turn = self.take_in_line(location, loaded).await?;
        let before = Zeroizing::new(turn.state.sections.get(TYPED).to_vec());
        let made = Box::pin(self.make(&mut turn, caller, asked, change, phases)).await;
        match made {
            Ok((changed, event, part)) => {
                turn.keep_changed(event, before, part.as_ref()).await?;
                Ok(changed)
            }
            Err(error) => {
                turn.give_back().await?;
                Err(error)
            }
        }
    }

    /// Makes a change in the turn's state, and the record of it, and puts the part that it needs.
    async fn make(
        &self,
        turn: &mut Turn,
        caller: &Caller,
        asked: Asked<'_>,
        change: Change,
        phases: &dyn Phases,
    ) -> Result<(Changed, Event, Option<Part>), ChangeError> {
        let mut typed = turn.state.typed()?;
        let expected = asked.expected;
        if expected.is_some_and(|versions| !versions.contains(&typed.version)) {
            return Err(ChangeError::Version);
        }
        let by = By {
            at_us: self.shared.clock.utc_us(),
            step: turn.state.steps,
            agent: caller.agent.as_deref(),
            request: asked.request,
        };
        let (noted, part) = turn.apply(&mut typed, change, by, phases).await?;
        typed.version = typed.version.saturating_add(1);
        if typed.encode().len() > LARGEST {
            return Err(Refusal::Full("state").into());
        }
        turn.state.set_typed(&typed);
        let event = self
            .recorded(turn, caller, asked, &noted, typed.version)
            .await?;
        let changed = Changed {
            version: typed.version,
            n: noted.n,
        };
        // Nothing refuses the change any more but the log or a store that fails.
        if let Some(part) = &part
            && let Err(error) = turn.put_part(part).await
        {
            turn.drop_part(part).await;
            return Err(error.into());
        }
        Ok((changed, event, part))
    }

    async fn recorded(
        &self,
        turn: &Turn,
        caller: &Caller,
        asked: Asked<'_>,
        noted: &Noted,
        version: u64,
    ) -> Result<Event, ChangeError> {
        let names = self.log_names(&caller.tenant).await?;
        let key = turn.keys.commit();
        let digest = |text: &str| key.mac("gatehouse state", &[text.as_bytes()]);
        let event = StateChange {
            kind: noted.kind,
            request: asked.request,
            subject: Subject {
                session: turn.reference(),
                run: None,
                trace: asked.trace,
            },
            who: Who {
                principal: &names.principal(&caller.principal()),
                credential: Some(&names.credential(&caller.token_digest)),
                tenant: &caller.tenant,
                agent: caller.agent.as_deref(),
            },
            version,
            name: noted.name.as_deref().map(digest),
            content: noted.content.as_ref().map(|text| digest(text.as_str())),
            bytes: noted.content.as_ref().map(|text| text.len() as u64),
            n: noted.n,
            from: noted.from.as_deref(),
            to: noted.to.as_deref(),
            passed: noted.passed,
        };
        Ok(event.build(turn.link())?)
    }

    /// Shows a caller the state of one of its sessions, without its parts.
    ///
    /// # Errors
    /// The session cannot be used, or is not the caller's.
    pub async fn state(
        &self,
        caller: &Caller,
        reference: &str,
        phases: &dyn Phases,
    ) -> Result<StateView, SessionError> {
        let (_, loaded) = self.find_own(caller, reference).await?;
        let typed = loaded.state.typed()?;
        let counts = (loaded.state.steps, loaded.state.spend()?);
        Ok(StateView {
            version: typed.version,
            json: view::whole(&typed, reference, counts, phases),
        })
    }

    /// Shows a version of an artifact, the last one without `n`.
    ///
    /// # Errors
    /// There is none, or the session cannot be used.
    pub async fn artifact(
        &self,
        caller: &Caller,
        reference: &str,
        name: &str,
        n: Option<u64>,
    ) -> Result<Content, ChangeError> {
        let (location, loaded) = self.find_own(caller, reference).await?;
        let typed = loaded.state.typed()?;
        let artifact = typed.artifact(name, n);
        let artifact = artifact.ok_or(Refusal::Missing("artifact"))?;
        let text = self
            .text(&location, &loaded.keys, Some(&artifact.part))
            .await?;
        Ok(Content {
            version: typed.version,
            about: view::artifact(name, artifact),
            text,
        })
    }

    /// Shows a tool's result, with its text if that was given to keep.
    ///
    /// # Errors
    /// There is none, or the session cannot be used.
    pub async fn tool_result(
        &self,
        caller: &Caller,
        reference: &str,
        call: &str,
    ) -> Result<Content, ChangeError> {
        let (location, loaded) = self.find_own(caller, reference).await?;
        let typed = loaded.state.typed()?;
        let result = typed.result(call).ok_or(Refusal::Missing("tool_result"))?;
        let text = self
            .text(&location, &loaded.keys, result.part.as_deref())
            .await?;
        Ok(Content {
            version: typed.version,
            about: view::result(result),
            text,
        })
    }

    /// The state as a block of text for a prompt, and its version.
    ///
    /// # Errors
    /// The session cannot be used, or is not the caller's.
    pub async fn context(
        &self,
        caller: &Caller,
        reference: &str,
        phases: &dyn Phases,
    ) -> Result<(u64, String), SessionError> {
        let (location, loaded) = self.find_own(caller, reference).await?;
        let typed = loaded.state.typed()?;
        let mut texts = Vec::new();
        for result in typed.shown_results() {
            let part = result.part.as_deref();
            texts.push(self.text(&location, &loaded.keys, part).await?);
        }
        let texts = texts.iter().map(|it| it.as_deref().map(String::as_str));
        let texts: Vec<_> = texts.collect();
        Ok((typed.version, render::block(&typed, &texts, phases)))
    }

    async fn text(
        &self,
        location: &Location,
        keys: &SessionKeys,
        part: Option<&str>,
    ) -> Result<Option<Zeroizing<String>>, SessionError> {
        let Some(part) = part else { return Ok(None) };
        let bytes = parts::open(&self.shared, location, keys, part).await?;
        let text = std::str::from_utf8(&bytes).map_err(|_| SessionError::Damaged)?;
        Ok(Some(Zeroizing::new(text.to_owned())))
    }
}
