//! What was done to a reply, or why it was refused.

use std::collections::BTreeMap;

use crate::finding::ScanError;
use crate::label::Label;
use crate::policy::Destination;

/// What was put back into a reply and what was masked. The numbers go into the audit record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplyReceipt {
    /// Values put back: by destination (`text`, or `tool:` and the tool's name) and type.
    pub restored: BTreeMap<String, BTreeMap<Label, u32>>,
    /// Tokens of the session left as they are, because the policy does not restore their type
    /// there.
    pub withheld: BTreeMap<Label, u32>,
    /// Values that were not the session's own and were replaced.
    pub masked: BTreeMap<Label, u32>,
    /// Spellings of a token that the session does not know; left as they are.
    pub unresolved: u32,
}

impl ReplyReceipt {
    /// Adds what another part of the same reply counted.
    pub fn add(&mut self, other: &ReplyReceipt) {
        for (destination, labels) in &other.restored {
            sum(
                self.restored.entry(destination.clone()).or_default(),
                labels,
            );
        }
        sum(&mut self.withheld, &other.withheld);
        sum(&mut self.masked, &other.masked);
        self.unresolved += other.unresolved;
    }

    pub(super) fn restore(&mut self, label: Label, destination: &Destination) {
        let name = match destination {
            Destination::ReplyText => "text".to_owned(),
            Destination::ToolArguments(tool) => format!("tool:{tool}"),
        };
        *self
            .restored
            .entry(name)
            .or_default()
            .entry(label)
            .or_default() += 1;
    }

    pub(super) fn withhold(&mut self, label: Label) {
        *self.withheld.entry(label).or_default() += 1;
    }

    pub(super) fn mask(&mut self, label: Label) {
        *self.masked.entry(label).or_default() += 1;
    }
}

fn sum(into: &mut BTreeMap<Label, u32>, from: &BTreeMap<Label, u32>) {
    for (label, n) in from {
        *into.entry(*label).or_default() += n;
    }
}

/// Why a reply must not go on. What was released before stays released; a channel that refused
/// once refuses for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplyRefusal {
    /// The policy blocks values of this type in replies.
    #[error("the reply holds a {label}, which the policy blocks")]
    Blocked {
        /// What.
        label: Label,
        /// Found by this rule.
        rule: &'static str,
    },
    /// The search did not come to its end.
    #[error(transparent)]
    Scan(#[from] ScanError),
}

impl ReplyRefusal {
    /// The type of the value that was found, if one was.
    #[must_use]
    pub fn label(&self) -> Option<Label> {
        match self {
            Self::Blocked { label, .. } => Some(*label),
            Self::Scan(_) => None,
        }
    }
}

/// Counts spellings of tokens that the vault does not hold, in text that comes in pieces.
#[derive(Clone, Default)]
pub(super) struct LookAlikes {
    begun: String,
}

impl LookAlikes {
    /// Takes the next piece of released text and says how many look-alikes ended in it.
    pub(super) fn count(&mut self, text: &str, known: impl Fn(&str) -> bool) -> u32 {
        let mut count = 0;
        if self.begun.is_empty() && !text.contains('<') {
            return count;
        }
        for c in text.chars() {
            if c == '<' {
                self.begun.clear();
            } else if self.begun.is_empty() {
                continue;
            }
            self.begun.push(c);
            if c == '>' {
                let alike = crate::token::is_token(&self.begun) && !known(&self.begun);
                count += u32::from(alike);
            }
            let goes_on = c == '<' || c.is_ascii_alphanumeric() || c == '_';
            if !goes_on || self.begun.len() > crate::token::LONGEST {
                self.begun.clear();
            }
        }
        count
    }
}
