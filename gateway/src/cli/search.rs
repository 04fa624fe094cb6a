//! With what commands on files search: the rules, and the model where it is installed.

use std::path::PathBuf;
use std::sync::Arc;

use super::{Failure, Output};
use crate::config::{Redaction, needs_model};
use crate::model::Verdicts;

/// Whether and where the model is.
#[derive(clap::Args)]
pub(super) struct Search {
    /// The data directory whose local model is used, if one is installed there.
    #[arg(long, value_name = "DIR", default_value = "gatehouse-data")]
    data: PathBuf,
    /// Search without the local model.
    #[arg(long)]
    no_model: bool,
}

impl Search {
    /// Rules alone.
    #[cfg(test)]
    pub(super) fn none() -> Search {
        Search {
            data: PathBuf::new(),
            no_model: true,
        }
    }

    /// The search. Says so if the model could take part and is not there.
    pub(super) fn verdicts(
        &self,
        redaction: &Redaction,
        output: &mut Output,
    ) -> Result<Verdicts, Failure> {
        use gatehouse_redactor::ModelUse;

        let Redaction { policies, engine } = redaction;
        let rules = || Verdicts::of_rules(Arc::clone(engine), Arc::clone(policies));
        let required = policies.base().model == ModelUse::Required;
        if !self.no_model && needs_model(policies) {
            if let Some(verdicts) = self.with_model(redaction)? {
                return Ok(verdicts);
            }
            if !required {
                output.note(
                    "gatehouse: the local model is not installed (`gatehouse model install`), so \
                     most names and addresses are not found",
                );
            }
        }
        if required {
            let message = "the policy requires the local model";
            return Err(Failure::Usage(message.to_owned()));
        }
        Ok(rules())
    }

    #[cfg(feature = "model")]
    fn with_model(&self, redaction: &Redaction) -> Result<Option<Verdicts>, Failure> {
        use crate::model::{Load, Loaded, is_installed};

        if !is_installed(&self.data) {
            return Ok(None);
        }
        // One that is there and cannot be used is a fault, never a reason to go without it.
        let model = Loaded::open(&self.data, Load::for_files())
            .map_err(|error| Failure::of("the local model", error))?;
        let engine = Arc::clone(&redaction.engine);
        let policies = Arc::clone(&redaction.policies);
        Ok(Some(Verdicts::new(engine, policies, Some(model))))
    }

    #[cfg(not(feature = "model"))]
    #[expect(
        clippy::unused_self,
        clippy::unnecessary_wraps,
        reason = "with the model it can fail, and its caller is the same"
    )]
    fn with_model(&self, _: &Redaction) -> Result<Option<Verdicts>, Failure> {
        Ok(None)
    }
}
