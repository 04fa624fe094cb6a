//! `[sessions.phases]`: the phases that a session can be in, and which may follow which.

use std::collections::{BTreeMap, BTreeSet};

use super::check::Check;
use super::raw::RawPhases;

/// The most phases of a table.
const MOST: usize = 64;

/// The phases of sessions; none where the file has no table of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Phases {
    /// Where every session begins.
    pub initial: Option<String>,
    /// What may follow each.
    pub next: BTreeMap<String, BTreeSet<String>>,
    /// Those that the model may propose to go to.
    pub by_model: BTreeSet<String>,
}

impl Check<'_> {
    pub(super) fn phases(&mut self, raw: Option<&RawPhases>) -> Phases {
        let Some(raw) = raw else {
            return Phases::default();
        };
        let path = "sessions.phases";
        if raw.next.is_empty() || raw.next.len() > MOST {
            let message = format!("must list 1 to {MOST} phases");
            self.faults.add(format!("{path}.next"), message);
        }
        for (phase, next) in &raw.next {
            if !is_phase(phase) {
                let message = "must be 1 to 64 characters of A-Z, a-z, 0-9, _, . and -, \
                               and begin with a letter or digit";
                self.faults.add(format!("{path}.next.{phase}"), message);
            }
            let path = format!("{path}.next.{phase}");
            if next.contains(phase) {
                let message = "names itself: a session that stays where it is changes no phase";
                self.faults.add(&path, message);
            }
            self.known(&path, raw, next);
        }
        match &raw.initial {
            Some(initial) => {
                self.known(
                    &format!("{path}.initial"),
                    raw,
                    std::slice::from_ref(initial),
                );
            }
            None => self.faults.add(format!("{path}.initial"), "is missing"),
        }
        self.known(&format!("{path}.by_model"), raw, &raw.by_model);
        let next = raw.next.iter();
        Phases {
            initial: raw.initial.clone(),
            next: next
                .map(|(phase, next)| (phase.clone(), next.iter().cloned().collect()))
                .collect(),
            by_model: raw.by_model.iter().cloned().collect(),
        }
    }

    /// Every phase has its own line, so that a misspelt one is no phase that nothing leaves.
    fn known(&mut self, path: &str, raw: &RawPhases, named: &[String]) {
        for (at, phase) in named.iter().enumerate() {
            if named.iter().take(at).any(|earlier| earlier == phase) {
                self.faults.add(path, format!("names \"{phase}\" twice"));
                continue;
            }
            if !raw.next.contains_key(phase) {
                let message =
                    format!("names \"{phase}\", which sessions.phases.next does not list");
                self.faults.add(path, message);
            }
        }
    }
}

fn is_phase(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
    text.len() <= 64
        && text.starts_with(|first: char| first.is_ascii_alphanumeric())
        && text.bytes().all(plain)
}
