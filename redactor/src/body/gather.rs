//! The texts of a body, asked about together and answered in the order in which passes come to
//! them.

use std::collections::HashSet;

use crate::engine::Engine;
use crate::finder::{Asked, Finder};
use crate::finding::{Field, Finding, ScanError};
use crate::policy::Direction;

/// A text of the body, kept from the pass that gathers to those that edit.
struct Text {
    text: String,
    key: Option<String>,
    direction: Direction,
}

/// What is known of the texts that the passes search.
#[derive(Default)]
pub(super) struct Answers {
    /// Findings by text, in the order of the first pass.
    findings: Vec<Vec<Finding>>,
    next: usize,
    /// The texts that were asked about, if they were gathered first.
    gathered: Vec<Text>,
    gathering: bool,
    /// Keys and ids in which nothing shows by itself: objects of a list have the same ones.
    harmless: HashSet<String>,
}

/// Longer keys, and more of them, are searched each time.
pub(super) const LONGEST_KEY: usize = 64;
const MOST_KEYS: usize = 1024;

impl Answers {
    /// For the pass that gathers.
    pub(super) fn gathering() -> Self {
        Self {
            gathering: true,
            ..Self::default()
        }
    }

    /// Asks about everything that was gathered.
    pub(super) fn ask(self, finder: &dyn Finder) -> Result<Self, ScanError> {
        let asked: Vec<Asked<'_>> = self.gathered.iter().map(Text::asked).collect();
        let findings = finder.find_all(&asked)?;
        if findings.len() != asked.len() {
            return Err(ScanError::Unanswered);
        }
        Ok(Self {
            findings,
            gathering: false,
            ..self
        })
    }

    /// For the next pass over the same texts.
    pub(super) fn again(self) -> Self {
        Self { next: 0, ..self }
    }

    /// What shows by itself in a key or an id.
    pub(super) fn certain(
        &mut self,
        engine: &Engine,
        text: &str,
    ) -> Result<Vec<Finding>, ScanError> {
        if self.harmless.contains(text) {
            return Ok(Vec::new());
        }
        let found = engine.find_certain(text)?;
        let kept = text.len() <= LONGEST_KEY && self.harmless.len() < MOST_KEYS;
        if found.is_empty() && kept {
            self.harmless.insert(text.to_owned());
        }
        Ok(found)
    }

    /// What is found in the next text.
    pub(super) fn next(
        &mut self,
        finder: &dyn Finder,
        text: &str,
        field: Field<'_>,
    ) -> Result<Vec<Finding>, ScanError> {
        if self.gathering {
            self.gathered.push(Text {
                text: text.to_owned(),
                key: field.key.map(str::to_owned),
                direction: field.direction,
            });
            return Ok(Vec::new());
        }
        let at = self.next;
        self.next += 1;
        if let Some(asked) = self.gathered.get(at)
            && (asked.text != text || asked.key.as_deref() != field.key)
        {
            // Passes that differ would take one text's findings for another's.
            return Err(ScanError::Unanswered);
        }
        if at == self.findings.len() {
            self.findings.push(finder.find_one(Asked { text, field })?);
        }
        self.findings.get(at).cloned().ok_or(ScanError::Unanswered)
    }
}

impl Text {
    fn asked(&self) -> Asked<'_> {
        Asked {
            text: &self.text,
            field: Field {
                key: self.key.as_deref(),
                direction: self.direction,
            },
        }
    }
}
