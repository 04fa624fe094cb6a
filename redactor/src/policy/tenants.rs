//! What single tenants have otherwise: their actions, what they get back, what media they may pass.
//!
//! What is searched for is the same for all; only what becomes of it differs.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{LabelPolicy, Media, Policy, Profile, Restore};
use crate::label::Label;

/// One tenant's part of a policy. What it does not say is as the policy above it says.
#[derive(Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct TenantPolicy {
    /// The defaults of this tenant, below all tables of labels, the policy's own among them.
    pub profile: Option<Profile>,
    /// Whether replies are held until the local model has read them.
    pub reply_model: Option<bool>,
    /// Actions per label; directions that are not named are as the policy says.
    pub labels: BTreeMap<Label, LabelPolicy>,
    /// Where values are put back, instead of the policy's whole table.
    pub restore: Option<Restore>,
    /// What may pass unread, instead of the policy's list.
    pub media: Option<Media>,
}

/// A policy, and what each of its tenants has of it.
pub struct Policies {
    base: Arc<Policy>,
    tenants: BTreeMap<String, Arc<Policy>>,
}

impl Policies {
    /// Works out the policies of all tenants, once.
    #[must_use]
    pub fn new(policy: Policy) -> Self {
        let each = policy.tenants.iter();
        let tenants = each
            .map(|(name, own)| (name.clone(), Arc::new(refined(&policy, own))))
            .collect();
        Self {
            base: Arc::new(policy),
            tenants,
        }
    }

    /// The policy of those who have none of their own.
    #[must_use]
    pub fn base(&self) -> &Arc<Policy> {
        &self.base
    }

    /// The policy of a tenant.
    #[must_use]
    pub fn of(&self, tenant: &str) -> &Arc<Policy> {
        self.tenants.get(tenant).unwrap_or(&self.base)
    }

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = &Policy> {
        let tenants = self.tenants.values();
        std::iter::once(&self.base)
            .chain(tenants)
            .map(AsRef::as_ref)
    }
}

fn refined(policy: &Policy, own: &TenantPolicy) -> Policy {
    let mut refined = Policy {
        tenants: BTreeMap::new(),
        ..policy.clone()
    };
    if let Some(profile) = own.profile {
        refined.profile = profile;
    }
    if let Some(held) = own.reply_model {
        refined.reply_model = held;
    }
    for (label, table) in &own.labels {
        let above = refined.labels.entry(*label).or_default();
        *above = table.over(*above);
    }
    if let Some(restore) = &own.restore {
        refined.restore = restore.clone();
    }
    if let Some(media) = &own.media {
        refined.media = media.clone();
    }
    refined
}

impl LabelPolicy {
    /// This table, and where it says nothing, the one below. Its own `default` holds for every
    /// direction that it does not name.
    fn over(self, below: LabelPolicy) -> LabelPolicy {
        if self.default.is_some() {
            return self;
        }
        LabelPolicy {
            default: below.default,
            reply: self.reply.or(below.reply),
            prompt: self.prompt.or(below.prompt),
            system: self.system.or(below.system),
            tool_arguments: self.tool_arguments.or(below.tool_arguments),
            tool_output: self.tool_output.or(below.tool_output),
            tool_schema: self.tool_schema.or(below.tool_schema),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{Action, Destination, Direction};

    fn policies(text: &str) -> Policies {
        Policies::new(toml::from_str(text).unwrap())
    }

    #[test]
    fn a_tenant_has_what_it_names_and_the_rest_from_above() {
        let policies = policies(
            "[labels.IP_ADDRESS]\ntool_output = 'allow'\n[labels.EMAIL]\nreply = 'allow'\n\
             [tenant.clinic]\nprofile = 'strict'\n\
             [tenant.clinic.labels.EMAIL]\nprompt = 'block'\n\
             [tenant.shop.labels.EMAIL]\ndefault = 'hash'\n",
        );
        let of = |tenant, label, direction| policies.of(tenant).action(label, direction);
        use Direction::{Prompt, Reply, ToolOutput};
        assert_eq!(of("other", Label::EMAIL, Prompt), Action::Pseudonymize);
        assert_eq!(of("other", Label::AGE, Prompt), Action::Allow);
        assert_eq!(of("clinic", Label::AGE, Prompt), Action::Pseudonymize);
        assert_eq!(of("clinic", Label::AGE, Reply), Action::Mask);
        assert_eq!(of("clinic", Label::EMAIL, Prompt), Action::Block);
        assert_eq!(of("clinic", Label::EMAIL, Reply), Action::Allow);
        assert_eq!(of("clinic", Label::IP_ADDRESS, ToolOutput), Action::Allow);
        assert_eq!(of("shop", Label::EMAIL, Prompt), Action::Hash);
        assert_eq!(of("shop", Label::EMAIL, Reply), Action::Hash);
        assert_eq!(of("shop", Label::AGE, Prompt), Action::Allow);
        assert_eq!(policies.all().count(), 3);
    }

    #[test]
    fn restoring_and_media_are_a_tenants_own_as_a_whole() {
        let policies = policies(
            "[media]\nallow = ['image/png']\n[restore]\ntext = 'nothing'\n\
             [tenant.a.media]\nallow = []\n[tenant.b.restore]\narguments = 'nothing'\n",
        );
        assert!(policies.base().media_allowed("image/png"));
        assert!(!policies.of("a").media_allowed("image/png"));
        assert!(policies.of("b").media_allowed("image/png"));
        let text = Destination::ReplyText;
        assert!(!policies.of("a").restores(Label::EMAIL, &text));
        assert!(policies.of("b").restores(Label::EMAIL, &text));
    }

    #[test]
    fn what_a_tenant_has_is_part_of_the_digest() {
        let text = |text: &str| policies(text).base().canonical();
        let (with, without) = ("[tenant.a]\nprofile = 'strict'", "");
        assert_ne!(text(with), text(without));
        assert_ne!(text("[tenant.a.media]\nallow = []"), text("[tenant.a]"));
        assert!(toml::from_str::<Policy>("[tenant.a]\nrules = []").is_err());
    }
}
