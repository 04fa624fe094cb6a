//! Whether the local model takes part, and how it is run.

use std::path::Path;

use gatehouse_redactor::{Action, Direction, Label, ModelUse, Policies};

use super::LocalModel;
use super::check::Check;
use super::raw::RawModel;

/// What the model finds.
const FOUND: [Label; 3] = [Label::ADDRESS, Label::LOCATION, Label::PERSON];

impl Check<'_> {
    pub(super) fn model(&mut self, raw: &RawModel, home: &Path) -> LocalModel {
        let or = LocalModel::default();
        LocalModel {
            home: home.to_owned(),
            workers: self.count("model.workers", raw.workers, or.workers, 256),
            deadline: self.duration("model.deadline", raw.deadline.as_deref(), or.deadline),
            text: self.size("model.text", raw.text.as_deref(), or.text),
        }
    }

    /// Whether the model takes part under this policy. A policy that asks for it in vain is a
    /// fault: what it promises would not be searched for.
    pub(super) fn takes_part(&mut self, policies: &Policies, refused: bool) -> bool {
        let built_in = cfg!(feature = "model");
        if policies.base().model == ModelUse::Required && (refused || !built_in) {
            let why = if refused {
                "it cannot be started with --no-model"
            } else {
                "this program was built without it"
            };
            self.faults.add(
                "redaction",
                format!("the policy requires the local model: {why}"),
            );
        }
        let held = policies.all().any(|policy| policy.reply_model);
        if held && policies.base().model == ModelUse::Off {
            let message = "reply_model holds replies for the local model, which model = \"off\" \
                           leaves out";
            self.faults.add("redaction", message);
        }
        built_in && !refused && needs(policies)
    }
}

/// Whether anything is done with what the model finds, for any tenant.
pub(crate) fn needs(policies: &Policies) -> bool {
    let acts = |direction, label| {
        let mut all = policies.all();
        all.any(|policy| policy.action(label, direction) != Action::Allow)
    };
    policies.base().model != ModelUse::Off
        && Direction::ALL
            .into_iter()
            .any(|direction| FOUND.into_iter().any(|label| acts(direction, label)))
}
