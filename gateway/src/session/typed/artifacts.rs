//! Artifacts: documents in versions that one agent writes and others read, with who wrote them and
//! whether they passed.

use gatehouse_envelope::digest::{hex, sha256};

use super::Text;
use super::change::{By, Noted, Refusal};
use super::model::{Artifact, Evaluation, Typed};
use crate::audit::StateKind;

/// Names of a session.
pub(super) const NAMES: usize = 32;
/// Versions of a session, of all names.
pub(super) const VERSIONS: usize = 64;

/// A document as it is to be kept.
pub(super) struct New<'a> {
    pub(super) name: &'a str,
    pub(super) media: Option<String>,
    pub(super) author: Option<String>,
    pub(super) content: &'a Text,
}

impl Typed {
    /// Whether one more version fits.
    pub(super) fn room_for_artifact(&self, name: &str) -> Result<(), Refusal> {
        let is_new = !self.artifacts.contains_key(name);
        if self.versions() >= VERSIONS || is_new && self.artifacts.len() >= NAMES {
            return Err(Refusal::Full("artifacts"));
        }
        Ok(())
    }

    /// Notes that the content is in a part.
    pub(super) fn add_artifact(
        &mut self,
        new: New<'_>,
        part: String,
        by: By<'_>,
    ) -> Result<Noted, Refusal> {
        self.room_for_artifact(new.name)?;
        let versions = self.artifacts.entry(new.name.to_owned()).or_default();
        let n = versions.last().map_or(1, |last| last.n.saturating_add(1));
        versions.push(Artifact {
            n,
            at_us: by.at_us,
            step: by.step,
            bytes: new.content.len() as u64,
            sha256: hex(&sha256(&[new.content.as_str().as_bytes()])),
            media: new.media,
            agent: by.agent.map(str::to_owned),
            author: new.author,
            request: by.request.to_owned(),
            part,
            evaluation: None,
            other: Default::default(),
        });
        Ok(Noted {
            n: Some(n),
            content: Some(new.content.clone()),
            ..Noted::named(StateKind::Artifact, new.name)
        })
    }

    /// Marks a version. A later mark replaces an earlier one; both are in the log.
    pub(super) fn evaluate(
        &mut self,
        (name, n): (&str, u64),
        passed: bool,
        author: Option<String>,
        by: By<'_>,
    ) -> Result<Noted, Refusal> {
        let mut versions = self.artifacts.get_mut(name).into_iter().flatten();
        let version = versions.find(|version| version.n == n);
        let version = version.ok_or(Refusal::Missing("artifact"))?;
        version.evaluation = Some(Evaluation {
            passed,
            at_us: by.at_us,
            agent: by.agent.map(str::to_owned),
            author,
            request: by.request.to_owned(),
            other: Default::default(),
        });
        Ok(Noted {
            n: Some(n),
            passed: Some(passed),
            ..Noted::named(StateKind::Evaluation, name)
        })
    }
}
