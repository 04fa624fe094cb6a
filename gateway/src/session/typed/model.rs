//! What the typed state is made of. Every struct keeps the fields that it does not know, so that a
//! release writes back what a later one of the same major schema added.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Text;

/// Fields that a later release added.
pub(super) type Other = Map<String, Value>;

/// The whole of it. Texts are the caller's; everything else is numbers, names and words of ours.
#[derive(Clone, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub(crate) struct Typed {
    /// The minor schema and the flags as they were read; see [`Typed::encode`].
    #[serde(skip)]
    pub(super) read: super::Prefix,
    /// Counts the changes.
    pub(super) version: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) phase: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) goal: Option<Text>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) entities: BTreeMap<String, Text>,
    /// In the order in which they were called.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) results: Vec<ToolResult>,
    /// The last ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) errors: Vec<Fault>,
    /// All that there were.
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) errors_total: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) checkpoints: Vec<Checkpoint>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) artifacts: BTreeMap<String, Vec<Artifact>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) pause: Option<Pause>,
    /// What was asked and answered before.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) answers: Vec<Pause>,
    /// Parts that were sealed under the session's key beside its versions.
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) parts: u64,
    /// And their bytes.
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) part_bytes: u64,
    #[serde(flatten)]
    pub(super) other: Other,
}

/// Where a tool's result stands. Only forward.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Life {
    /// The model has called the tool, and nobody has sent its result.
    Pending,
    /// The result was sent, and the model has not answered it.
    Active,
    /// The model has answered with the result before it.
    Consumed,
    /// Out of the context, kept aside.
    Archived,
}

impl Life {
    /// The station with this name.
    pub fn of(word: &str) -> Option<Self> {
        let all = [Self::Pending, Self::Active, Self::Consumed, Self::Archived];
        all.into_iter().find(|life| life.word() == word)
    }

    /// Its name, as it stands in the state and in records.
    pub fn word(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Active => "active",
            Self::Consumed => "consumed",
            Self::Archived => "archived",
        }
    }
}

/// A tool call and its result.
#[derive(Clone, Deserialize, PartialEq, Serialize)]
pub(crate) struct ToolResult {
    /// The call's id, as the provider made it.
    pub(super) call: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) tool: Option<String>,
    pub(super) life: Life,
    /// Whether the result says that the tool failed.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) failed: bool,
    /// Bytes of the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) bytes: Option<u64>,
    /// The turns that the session had had when this last changed.
    #[serde(default)]
    pub(super) step: u64,
    /// Where the text is, if it was given to keep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) part: Option<String>,
    /// What became of the change of phase that the call proposed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) proposal: Option<Proposal>,
    #[serde(flatten)]
    pub(super) other: Other,
}

/// A change of phase that the model proposed.
#[derive(Clone, Deserialize, PartialEq, Serialize)]
pub(crate) struct Proposal {
    /// The phase, if the policy allowed the change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) to: Option<String>,
    pub(super) accepted: bool,
    #[serde(flatten)]
    pub(super) other: Other,
}

/// Something that went wrong.
#[derive(Clone, Deserialize, PartialEq, Serialize)]
pub(crate) struct Fault {
    pub(super) at_us: i64,
    #[serde(default)]
    pub(super) step: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) call: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<Text>,
    #[serde(flatten)]
    pub(super) other: Other,
}

/// A state to go back to.
#[derive(Clone, Deserialize, PartialEq, Serialize)]
pub(crate) struct Checkpoint {
    pub(super) name: String,
    pub(super) at_us: i64,
    #[serde(default)]
    pub(super) step: u64,
    /// The version that it is a copy of.
    pub(super) version: u64,
    pub(super) part: String,
    #[serde(flatten)]
    pub(super) other: Other,
}

/// One version of an artifact.
#[derive(Clone, Deserialize, PartialEq, Serialize)]
pub(crate) struct Artifact {
    /// From 1.
    pub(super) n: u64,
    pub(super) at_us: i64,
    #[serde(default)]
    pub(super) step: u64,
    pub(super) bytes: u64,
    /// SHA-256 of the content, in hexadecimal. It stands in the sealed state only.
    pub(super) sha256: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) media: Option<String>,
    /// The agent profile of the key that wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) agent: Option<String>,
    /// What the writer calls itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) author: Option<String>,
    /// The request that wrote it.
    pub(super) request: String,
    pub(super) part: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) evaluation: Option<Evaluation>,
    #[serde(flatten)]
    pub(super) other: Other,
}

/// What somebody found of an artifact.
#[derive(Clone, Deserialize, PartialEq, Serialize)]
pub(crate) struct Evaluation {
    pub(super) passed: bool,
    pub(super) at_us: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) agent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) author: Option<String>,
    pub(super) request: String,
    #[serde(flatten)]
    pub(super) other: Other,
}

/// A question for the user.
#[derive(Clone, Deserialize, PartialEq, Serialize)]
pub(crate) struct Pause {
    pub(super) question: Text,
    pub(super) asked_us: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) answer: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) answered_us: Option<i64>,
    #[serde(flatten)]
    pub(super) other: Other,
}

/// What a checkpoint goes back to. Money, values, errors, answers, artifacts and the checkpoints
/// themselves are none of it: they are what has happened.
#[derive(Clone, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub(super) struct Snapshot {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) phase: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) goal: Option<Text>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) entities: BTreeMap<String, Text>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) results: Vec<ToolResult>,
    #[serde(flatten)]
    pub(super) other: Other,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

fn is_false(flag: &bool) -> bool {
    !flag
}
