//! What a redaction says about itself: the receipt, or why it refused.

use std::collections::BTreeMap;

use crate::finding::ScanError;
use crate::label::Label;
use crate::policy::Action;

/// What was looked at and what was found. The numbers go into the audit record.
///
/// `visited + checked + skipped + unvisited` is the number of strings, numbers, booleans and
/// nulls of the document that is sent, as an independent parser counts them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Receipt {
    /// Leaves that were searched and, where needed, rewritten.
    pub visited: u32,
    /// Leaves that matched a fixed grammar and held nothing.
    pub checked: u32,
    /// Leaves that were safe by what they are.
    pub skipped: u32,
    /// Leaves that were not reached. Always 0 in a receipt that is handed out: anything else is
    /// a [`Refusal::Unvisited`].
    pub unvisited: u32,
    /// Why leaves were skipped, and how many for each reason; adds up to `skipped`.
    pub skipped_why: BTreeMap<&'static str, u32>,
    /// Keys that were searched, those of JSON in strings included. Not among the leaves.
    pub keys: u32,
    /// Leaves of JSON in strings. Not among the leaves: the string that holds them is one.
    pub nested: u32,
    /// How often values of each type were found, tokens of the session included.
    pub found: BTreeMap<Label, u32>,
    /// What was done with them.
    pub actions: BTreeMap<Action, u32>,
}

impl Receipt {
    pub(crate) fn count(&mut self, label: Label, action: Action) {
        *self.found.entry(label).or_default() += 1;
        *self.actions.entry(action).or_default() += 1;
    }

    pub(crate) fn skip(&mut self, why: &'static str) {
        self.skipped += 1;
        *self.skipped_why.entry(why).or_default() += 1;
    }
}

/// What is wrong with a part that cannot be read as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MediaFault {
    /// The policy does not let this type pass unread.
    #[error("this type of media may not pass")]
    NotAllowed,
    /// It is not base64 as RFC 4648 section 4 writes it.
    #[error("not strict base64")]
    NotBase64,
    /// Its bytes do not start as the declared type does, or the type is one that cannot be told.
    #[error("the bytes are not of the declared type")]
    OtherType,
}

/// Why a body must not be sent. Paths are those of [`crate::json::Node::path`]; a colon leads
/// into JSON that a string holds. Never carries text of the body.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The policy blocks values of this type.
    #[error("{path} holds a {label}, which the policy blocks")]
    Blocked {
        /// Where.
        path: String,
        /// What.
        label: Label,
        /// Found by this rule.
        rule: &'static str,
    },
    /// A name, id or word of the protocol holds a value that must not leave.
    #[error("{path} holds a {label}")]
    CheckFailed {
        /// Where.
        path: String,
        /// What.
        label: Label,
        /// Found by this rule.
        rule: &'static str,
    },
    /// A name, id or word of the protocol is not spelled as such.
    #[error("{path} is not spelled as the protocol asks for")]
    Grammar {
        /// Where.
        path: String,
    },
    /// Replacing values in keys would give an object two members of one name.
    #[error("two keys of {path} become the same")]
    KeyCollision {
        /// Where.
        path: String,
    },
    /// Media that may not pass unread.
    #[error("{path}: {fault} ({mime})")]
    Media {
        /// Where.
        path: String,
        /// Its declared type; `*` if that is not spelled as a type.
        mime: String,
        /// What is wrong.
        fault: MediaFault,
    },
    /// A number is a value that must not leave; a number cannot hold a token.
    #[error("the number at {path} is a {label}")]
    NumberLiteral {
        /// Where.
        path: String,
        /// What.
        label: Label,
        /// Found by this rule.
        rule: &'static str,
    },
    /// The search did not come to its end.
    #[error(transparent)]
    Scan(#[from] ScanError),
    /// Signed text is not what the provider sent and holds a value.
    #[error("{path} was changed since the provider sent it, and holds a {label}")]
    SignedChanged {
        /// Where.
        path: String,
        /// What.
        label: Label,
        /// Found by this rule.
        rule: &'static str,
    },
    /// The session would hold more values than can be searched for in every text.
    #[error("more values to replace than a session may hold")]
    TooManyValues,
    /// Values overlap in so many ways that no end of the search was in sight.
    #[error("values overlap in too many ways")]
    Unsettled,
    /// The walk missed leaves: a fault of this program.
    #[error("{0} values were not looked at")]
    Unvisited(u32),
}

impl Refusal {
    /// The type of the value that was found, if one was.
    #[must_use]
    pub fn label(&self) -> Option<Label> {
        match self {
            Self::Blocked { label, .. }
            | Self::CheckFailed { label, .. }
            | Self::NumberLiteral { label, .. }
            | Self::SignedChanged { label, .. } => Some(*label),
            _ => None,
        }
    }

    /// Where it stands, if anywhere.
    #[must_use]
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::Blocked { path, .. }
            | Self::CheckFailed { path, .. }
            | Self::Grammar { path }
            | Self::KeyCollision { path }
            | Self::Media { path, .. }
            | Self::NumberLiteral { path, .. }
            | Self::SignedChanged { path, .. } => Some(path),
            Self::Scan(_) | Self::TooManyValues | Self::Unsettled | Self::Unvisited(_) => None,
        }
    }
}
