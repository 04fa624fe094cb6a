//! The redaction policy: read, checked and compiled.

use std::sync::Arc;

use gatehouse_envelope::digest::sha256;
use gatehouse_redactor::{Engine, Label, Policies, Policy};

use super::check::Check;
use super::{Redaction, tree, valid_tenant};

impl Redaction {
    /// Digest of the policy's canonical form, as records have it.
    pub fn digest(&self) -> [u8; 32] {
        sha256(&[self.policies.base().canonical().as_bytes()])
    }
}

impl Check<'_> {
    pub(super) fn redaction(&mut self, path: Option<&str>) -> Option<Redaction> {
        let before = self.faults.len();
        let policy = match path {
            None => Policy::default(),
            Some(path) => match self.environment.file(path) {
                Ok(text) => tree::read(&text, path, &mut self.faults)?,
                Err(message) => {
                    self.faults.add("redaction", message);
                    return None;
                }
            },
        };
        let file = path.unwrap_or("redaction");
        for name in policy.tenants.keys().filter(|name| !valid_tenant(name)) {
            let message = "a tenant has 1 to 64 of a-z 0-9 _ - and begins with a letter or a digit";
            self.faults.add(format!("{file}: tenant.{name}"), message);
        }
        // Of a policy that lacks what was faulty, what is left may look wrong and stands elsewhere.
        if self.faults.len() > before {
            return None;
        }
        let faults = policy.faults();
        if !faults.is_empty() {
            for fault in faults {
                let place = format!("{file}: {}", fault.path);
                self.faults.add(place, fault.message);
            }
            return None;
        }
        let shown = shows(&policy);
        if let Err(message) = shown {
            self.faults.add(file, message);
            return None;
        }
        if let Ok(Some(label)) = shown {
            let message = format!(
                "names something by what looks like a {label}; all of it but terms, patterns and ignored values \
                 stands in the log"
            );
            self.faults.add(file, message);
            return None;
        }
        match Engine::new(&policy) {
            Ok(engine) => Some(Redaction {
                policies: Arc::new(Policies::new(policy)),
                engine: Arc::new(engine),
            }),
            Err(error) => {
                self.faults.add(file, error.to_string());
                None
            }
        }
    }
}

/// What shows by itself in what the log tells of a policy: no record may hold such a value. An error where
/// nobody can say.
fn shows(policy: &Policy) -> Result<Option<Label>, String> {
    let text = toml::to_string(&policy.withheld()).map_err(|error| error.to_string())?;
    let engine = Engine::new(&Policy::default()).map_err(|error| error.to_string())?;
    let found = engine
        .find_certain(&text)
        .map_err(|error| error.to_string())?;
    Ok(found.first().map(|found| found.label))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_names_nothing_by_a_value() {
        let shown = |text: &str| shows(&toml::from_str(text).unwrap()).unwrap();
        assert_eq!(shown("[[field]]\nkeys = ['employee no.']"), None);
        let card = "[[rule]]\nname = 'card-4111-1111-1111-1111'\nlabel = 'X'\npattern = 'x'";
        assert_eq!(shown(card), Some(Label::CREDIT_CARD));
        let mail = "[[field]]\nkeys = ['jane.doe@corp.example.net']";
        assert_eq!(shown(mail), Some(Label::EMAIL));
        assert_eq!(shown("ignore = ['jane.doe@corp.example.net']"), None);
    }
}
