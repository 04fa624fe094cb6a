//! The search of plain text: tokens put back, values found, spans replaced.

use std::iter;
use std::ops::Range;

use super::check::integer;
use super::edit::{Edit, Place, Search, VAULT_RULE};
use super::receipt::Refusal;
use crate::finding::{Field, Finding};
use crate::label::Label;
use crate::policy::{Action, Direction};
use crate::slot::{self, End};
use crate::spans::{Candidate, Expanded, is_sealed, united};
use crate::token;
use crate::vault::Shape;

/// Which search a text gets.
#[derive(Clone, Copy)]
pub(super) enum How<'a> {
    /// Only what shows by itself: keys.
    Certain(Direction),
    Full(Field<'a>),
}

impl How<'_> {
    fn direction(self) -> Direction {
        match self {
            Self::Certain(direction) => direction,
            Self::Full(field) => field.direction,
        }
    }
}

impl Search<'_> {
    /// What a number literal is, if it must not leave as it stands.
    pub(crate) fn number(
        &mut self,
        literal: &str,
        field: Field<'_>,
    ) -> Result<Option<Candidate>, Refusal> {
        let disguised = integer(literal).filter(|digits| digits != literal);
        let mut found = Vec::new();
        for text in iter::once(literal).chain(disguised.as_deref()) {
            let findings = self.findings(text, How::Full(field))?;
            found.extend(
                findings
                    .iter()
                    .filter_map(|finding| self.candidate(finding, field.direction)),
            );
            found.extend(self.known_in(text, How::Full(field)));
        }
        let strictest = found
            .into_iter()
            .max_by_key(|candidate| candidate.range.len());
        Ok(strictest)
    }

    pub(super) fn plain(
        &mut self,
        text: &str,
        how: How<'_>,
        place: &Place<'_>,
    ) -> Result<Vec<Edit>, Refusal> {
        if text.is_empty() {
            return Ok(Vec::new());
        }
        let expanded = Expanded::new(text, self.vault, self.expandable);
        let findings = self.findings(&expanded.text, how)?;
        let known = self.known_in(&expanded.text, how);
        if findings.is_empty() && known.is_empty() && expanded.placed.is_empty() {
            return Ok(Vec::new());
        }
        let direction = how.direction();
        let mut candidates: Vec<Candidate> = findings
            .iter()
            .filter(|finding| !is_sealed(&expanded.text, &(finding.start..finding.end)))
            .filter_map(|finding| self.candidate(finding, direction))
            .collect();
        self.learn(&expanded.text, &candidates);
        candidates.extend(known);
        candidates.extend(expanded.placed.iter().filter_map(|placed| {
            let entry = self.vault.entry(placed.entry)?;
            let action = Action::Pseudonymize;
            Some(candidate(
                placed.value.clone(),
                entry.label,
                action,
                entry.certain,
            ))
        }));
        let mut edits = Vec::new();
        let mut done = 0;
        for span in united(candidates) {
            if span.range.start < done {
                continue;
            }
            if matches!(how, How::Full(_))
                && let Some((range, text)) = self.number_in_text(&span, &expanded, place)?
            {
                done = range.end;
                let range = expanded.original(range.start)..expanded.original(range.end);
                edits.push(Edit { range, text });
                continue;
            }
            if let Some(text) = self.replacement(&span, &expanded, place)? {
                let range = expanded.original(span.range.start)..expanded.original(span.range.end);
                edits.push(Edit { range, text });
            }
        }
        Ok(edits)
    }

    /// Whether a key holds nothing, whatever is done with what keys hold.
    pub(super) fn is_bare(&mut self, key: &str) -> Result<bool, Refusal> {
        let found = self.findings(key, How::Certain(Direction::Prompt))?;
        Ok(found.is_empty() && !key.contains('<') && self.known.find(key).is_empty())
    }

    /// Every finding that will become a token is a value of the session from now on, also if a
    /// longer one covers it here.
    fn learn(&mut self, text: &str, candidates: &[Candidate]) {
        for found in candidates
            .iter()
            .filter(|found| found.action == Action::Pseudonymize)
        {
            let value = text.get(found.range.clone()).unwrap_or_default();
            self.vault.insert(
                value,
                found.label,
                Shape::Text,
                found.certain,
                self.means.names,
            );
        }
    }

    /// What is put in the place of a span; nothing if the session's token stands there already.
    fn replacement(
        &mut self,
        span: &Candidate,
        expanded: &Expanded<'_>,
        place: &Place<'_>,
    ) -> Result<Option<String>, Refusal> {
        let value = expanded.text.get(span.range.clone()).unwrap_or_default();
        let standing = expanded.entry_at(&span.range);
        if span.action == Action::Block {
            return Err(blocked(span, place));
        }
        self.receipt.count(span.label, span.action);
        if standing.is_some() {
            return Ok(None);
        }
        if span.action != Action::Pseudonymize {
            return Ok(Some(self.sealed(span, value)));
        }
        let names = self.means.names;
        let entry = self
            .vault
            .insert(value, span.label, Shape::Text, span.certain, names);
        Ok(self.vault.entry(entry).map(|entry| entry.token.clone()))
    }

    /// What is put in the place of a number of JSON that stands in the text: a string, so that it
    /// stays JSON. Nothing if the span is none.
    fn number_in_text(
        &mut self,
        span: &Candidate,
        expanded: &Expanded<'_>,
        place: &Place<'_>,
    ) -> Result<Option<(Range<usize>, String)>, Refusal> {
        let text = expanded.text.as_ref();
        let range = slot::extent(text, &span.range);
        if !slot::is_number(text.get(range.clone())) || expanded.holds(&range) {
            return Ok(None);
        }
        let before = text.get(..range.start).and_then(slot::opens);
        let after = text.get(range.end..).unwrap_or_default();
        let Some(slashes) = before.filter(|slashes| slot::closes(after, *slashes) == End::Closed)
        else {
            return Ok(None);
        };
        let value = text.get(range.clone()).unwrap_or_default();
        let string = self.string_for_number(span, value, place)?;
        let quote = slot::quote(slashes);
        Ok(Some((range, format!("{quote}{string}{quote}"))))
    }

    /// What the string says that stands in the place of a number.
    pub(super) fn string_for_number(
        &mut self,
        found: &Candidate,
        literal: &str,
        place: &Place<'_>,
    ) -> Result<String, Refusal> {
        let text = match found.action {
            Action::Block => return Err(blocked(found, place)),
            Action::Pseudonymize => {
                let names = self.means.names;
                let entry =
                    self.vault
                        .insert(literal, found.label, Shape::Number, found.certain, names);
                self.vault
                    .entry(entry)
                    .map(|entry| entry.token.clone())
                    .unwrap_or_default()
            }
            _ => self.sealed(found, literal),
        };
        self.receipt.count(found.label, found.action);
        Ok(text)
    }

    /// What cannot be restored: a hash if the action asks for one, else a mask.
    fn sealed(&self, span: &Candidate, value: &str) -> String {
        match span.action {
            Action::Hash => token::hash(span.label, &self.means.names.digest(span.label, value)),
            _ => token::mask(span.label),
        }
    }

    /// What is found in a text.
    pub(super) fn findings(&mut self, text: &str, how: How<'_>) -> Result<Vec<Finding>, Refusal> {
        let found = match how {
            How::Full(field) => self.answers.next(self.means.finder, text, field)?,
            How::Certain(_) => self.answers.certain(self.means.engine, text)?,
        };
        Ok(found)
    }

    fn candidate(&self, finding: &Finding, direction: Direction) -> Option<Candidate> {
        let Finding {
            label,
            rule,
            certain,
            ..
        } = *finding;
        let action = self.means.policy.action(label, direction);
        let range = finding.start..finding.end;
        (action != Action::Allow && !range.is_empty()).then_some(Candidate {
            range,
            label,
            action,
            rule,
            certain,
        })
    }

    /// The session's values that stand in a text. In keys only those that show by themselves.
    fn known_in(&self, text: &str, how: How<'_>) -> Vec<Candidate> {
        let certain_only = matches!(how, How::Certain(_));
        let found = self.known.find(text).into_iter().filter_map(|range| {
            let value = text.get(range.clone())?;
            let entry = self
                .vault
                .text(value)
                .and_then(|index| self.vault.entry(index))?;
            let action = self.means.policy.action(entry.label, how.direction());
            let wanted = action != Action::Allow && (entry.certain || !certain_only);
            wanted.then(|| candidate(range, entry.label, action, entry.certain))
        });
        found.collect()
    }
}

fn candidate(range: Range<usize>, label: Label, action: Action, certain: bool) -> Candidate {
    Candidate {
        range,
        label,
        action,
        rule: VAULT_RULE,
        certain,
    }
}

pub(super) fn blocked(span: &Candidate, place: &Place<'_>) -> Refusal {
    Refusal::Blocked {
        path: place.path(),
        label: span.label,
        rule: span.rule,
    }
}
