//! What may leave, and what happens to the rest: the types of `policies/redaction.toml`.
//!
//! Only types and look-ups live here; whoever reads the file parses it. Every table refuses keys
//! it does not know, because a misspelled key would silently weaken a policy.

mod check;
mod defaults;
mod tenants;
mod withheld;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::label::Label;

pub use self::check::PolicyFault;
pub(crate) use self::check::{TERM, is_term};
pub use self::tenants::{Policies, TenantPolicy};

/// Which way a text travels, and as what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// From the model to the caller.
    Reply,
    /// User and assistant messages on their way to the model.
    Prompt,
    /// System and developer text.
    System,
    /// Arguments of a tool call in the history.
    ToolArguments,
    /// What a tool answered.
    ToolOutput,
    /// Descriptions and schemas of offered tools.
    ToolSchema,
}

impl Direction {
    /// All of them.
    pub const ALL: [Direction; 6] = [
        Direction::Reply,
        Direction::Prompt,
        Direction::System,
        Direction::ToolArguments,
        Direction::ToolOutput,
        Direction::ToolSchema,
    ];
}

/// Whether the local model takes part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ModelUse {
    /// It does, unless whoever starts the gateway says that it shall not.
    #[default]
    On,
    /// It does not.
    Off,
    /// Nothing starts without it.
    Required,
}

/// What is done with a found value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Left as it is.
    Allow,
    /// The whole request is refused.
    Block,
    /// Replaced by a token that cannot be restored but is the same for the same value.
    Hash,
    /// Replaced by the label alone.
    Mask,
    /// Replaced by a token that replies restore.
    Pseudonymize,
}

/// Where a restored value would go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// Text that the caller reads.
    ReplyText,
    /// Arguments of a call to the named tool.
    ToolArguments(String),
}

/// A set of defaults that the rest of the policy refines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// Direct identifiers and secrets.
    #[default]
    Balanced,
    /// Secrets, and nothing that names a person.
    SecretsOnly,
    /// Everything that is found, in both directions.
    Strict,
}

/// Actions for one label. `default` holds for directions that are not named.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct LabelPolicy {
    /// For every direction without an entry of its own.
    pub default: Option<Action>,
    /// See [`Direction::Reply`].
    pub reply: Option<Action>,
    /// See [`Direction::Prompt`].
    pub prompt: Option<Action>,
    /// See [`Direction::System`].
    pub system: Option<Action>,
    /// See [`Direction::ToolArguments`].
    pub tool_arguments: Option<Action>,
    /// See [`Direction::ToolOutput`].
    pub tool_output: Option<Action>,
    /// See [`Direction::ToolSchema`].
    pub tool_schema: Option<Action>,
}

/// Words and names that are always found, at word boundaries, in any case.
#[derive(Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Dictionary {
    /// What the terms are.
    pub label: Label,
    /// The terms: 1 to 200 bytes each, in any case and normal form.
    pub terms: Vec<String>,
    /// Whether grammatical endings of a word are found too. Default: yes.
    #[serde(default = "yes")]
    pub inflect: bool,
}

/// A pattern of the operator's own.
#[derive(Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CustomRule {
    /// Names the rule in records: 1 to 60 of `a-z`, `0-9` and `-`.
    pub name: String,
    /// What a match is.
    pub label: Label,
    /// A regular expression without look-around and back references; at most 1000 bytes. It is
    /// applied at the start of words and takes the longest match.
    pub pattern: String,
    /// Confidence in percent, 1 to 100.
    #[serde(default = "ninety")]
    pub score: u8,
}

/// What the values of fields are, by the key under which they stand in requests.
#[derive(Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct FieldRule {
    /// The keys, compared without case and without `_`, `-`, `.` and spaces.
    pub keys: Vec<String>,
    /// What the whole value of such a field is. Without one, nothing in it is a finding but
    /// secrets.
    pub label: Option<Label>,
}

/// Which labels a destination gets back.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Selection {
    /// Every label.
    All,
    /// Every label but secrets.
    NoSecrets,
    /// No label.
    Nothing,
    /// Exactly these.
    Only(BTreeSet<Label>),
}

/// Where the session's own values are put back.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Restore {
    /// Into text for the caller.
    pub text: Selection,
    /// Into the arguments of tools that are not named below.
    pub arguments: Selection,
    /// Into the arguments of named tools.
    pub tools: BTreeMap<String, Selection>,
}

impl Default for Restore {
    fn default() -> Self {
        Self {
            text: Selection::All,
            arguments: Selection::NoSecrets,
            tools: BTreeMap::new(),
        }
    }
}

/// Media that may pass although it cannot be read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Media {
    /// Types such as `image/png`, or `image/*`.
    pub allow: Vec<String>,
}

/// A redaction policy. The default is the `balanced` profile without additions.
#[derive(Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Policy {
    /// The defaults that everything below refines.
    pub profile: Profile,
    /// Whether the local model searches for names and addresses.
    pub model: ModelUse,
    /// Whether replies are held until the local model has read them too.
    pub reply_model: bool,
    /// Actions per label.
    pub labels: BTreeMap<Label, LabelPolicy>,
    /// Lists of known names and words.
    #[serde(rename = "dictionary")]
    pub dictionaries: Vec<Dictionary>,
    /// The operator's own patterns.
    #[serde(rename = "rule")]
    pub rules: Vec<CustomRule>,
    /// Fields whose values are known, or known to be harmless.
    #[serde(rename = "field")]
    pub fields: Vec<FieldRule>,
    /// Values that are never findings, such as the operator's own public addresses. Compared
    /// with the whole finding, in any case.
    pub ignore: Vec<String>,
    /// Where values are put back.
    pub restore: Restore,
    /// What may pass unread.
    pub media: Media,
    /// What single tenants have otherwise, by name.
    #[serde(rename = "tenant")]
    pub tenants: BTreeMap<String, TenantPolicy>,
}

impl Policy {
    /// What to do with a value of this label that travels in this direction.
    #[must_use]
    pub fn action(&self, label: Label, direction: Direction) -> Action {
        self.labels
            .get(&label)
            .and_then(|own| own.chosen(direction))
            .unwrap_or_else(|| self.profile.action(label, direction))
    }

    /// Whether the session's own value of this label is put back there.
    #[must_use]
    pub fn restores(&self, label: Label, destination: &Destination) -> bool {
        let selection = match destination {
            Destination::ReplyText => &self.restore.text,
            Destination::ToolArguments(tool) => self
                .restore
                .tools
                .get(tool)
                .unwrap_or(&self.restore.arguments),
        };
        selection.holds(label)
    }

    /// Whether media of this type may pass unread. Parameters (`; charset=…`) do not count.
    #[must_use]
    pub fn media_allowed(&self, mime: &str) -> bool {
        let mime = mime.split(';').next().unwrap_or_default().trim();
        self.media.allows(&mime.to_ascii_lowercase())
    }

    /// The policy as text that is the same for the same policy, for its digest. Holds the
    /// dictionaries, so it is not for logs.
    #[must_use]
    pub fn canonical(&self) -> String {
        defaults::canonical(self)
    }
}

impl Media {
    /// Whether a type, in lower case and without parameters, stands in the list.
    fn allows(&self, mime: &str) -> bool {
        let kind = mime.split('/').next().unwrap_or_default();
        let mut allowed = self.allow.iter().map(|it| it.to_ascii_lowercase());
        allowed.any(|it| it == mime || it.strip_suffix("/*").is_some_and(|it| it == kind))
    }
}

impl LabelPolicy {
    fn chosen(&self, direction: Direction) -> Option<Action> {
        let own = match direction {
            Direction::Reply => self.reply,
            Direction::Prompt => self.prompt,
            Direction::System => self.system,
            Direction::ToolArguments => self.tool_arguments,
            Direction::ToolOutput => self.tool_output,
            Direction::ToolSchema => self.tool_schema,
        };
        own.or(self.default)
    }
}

impl Selection {
    fn holds(&self, label: Label) -> bool {
        match self {
            Selection::All => true,
            Selection::NoSecrets => !label.is_secret(),
            Selection::Nothing => false,
            Selection::Only(labels) => labels.contains(&label),
        }
    }
}

fn yes() -> bool {
    true
}

fn ninety() -> u8 {
    90
}

#[cfg(test)]
mod tests;
