//! The profiles, and the canonical text of a policy.

use std::fmt::Write as _;

use super::{Action, Direction, Media, Policy, Profile, Restore, Selection};
use crate::label::Label;

impl Profile {
    /// What this profile does where the policy says nothing else.
    #[must_use]
    pub fn action(self, label: Label, direction: Direction) -> Action {
        let reply = direction == Direction::Reply;
        match self {
            Profile::Strict if reply => Action::Mask,
            Profile::Strict => Action::Pseudonymize,
            Profile::SecretsOnly if !label.is_secret() => Action::Allow,
            Profile::Balanced if label.is_quasi() => Action::Allow,
            Profile::Balanced if reply && !masked_in_replies(label) => Action::Allow,
            Profile::Balanced | Profile::SecretsOnly if reply => Action::Mask,
            Profile::Balanced | Profile::SecretsOnly => Action::Pseudonymize,
        }
    }
}

/// What a model has no business telling unless the session gave it: the rest (a name, an address
/// of a company) is too often part of an honest answer.
fn masked_in_replies(label: Label) -> bool {
    label.is_secret()
        || [
            Label::BANK_ACCOUNT,
            Label::CREDIT_CARD,
            Label::DRIVER_LICENSE,
            Label::EMAIL,
            Label::ENCODED,
            Label::IBAN,
            Label::NATIONAL_ID,
            Label::PASSPORT,
            Label::PHONE,
            Label::ROUTING_NUMBER,
            Label::TAX_ID,
            Label::US_SSN,
        ]
        .contains(&label)
}

/// One line a fact, each string preceded by its length, so that no two policies share a text.
pub(super) fn canonical(policy: &Policy) -> String {
    let mut out = String::from("gatehouse redaction policy 1\n");
    line(&mut out, "profile", &format!("{:?}", policy.profile));
    line(&mut out, "model", &format!("{:?}", policy.model));
    line(&mut out, "reply model", &policy.reply_model.to_string());
    for (label, own) in &policy.labels {
        line(&mut out, "label", &format!("{label} {own:?}"));
    }
    for dictionary in &policy.dictionaries {
        line(
            &mut out,
            "dictionary",
            &format!("{} {}", dictionary.label, dictionary.inflect),
        );
        dictionary
            .terms
            .iter()
            .for_each(|term| line(&mut out, "term", term));
    }
    for rule in &policy.rules {
        line(
            &mut out,
            "rule",
            &format!("{} {} {}", rule.name, rule.label, rule.score),
        );
        line(&mut out, "pattern", &rule.pattern);
    }
    for field in &policy.fields {
        let label = field.label.map_or("none", Label::as_str);
        line(&mut out, "field", label);
        field.keys.iter().for_each(|key| line(&mut out, "key", key));
    }
    policy
        .ignore
        .iter()
        .for_each(|value| line(&mut out, "ignore", value));
    restore(&mut out, &policy.restore);
    media(&mut out, &policy.media);
    for (name, tenant) in &policy.tenants {
        line(&mut out, "tenant", name);
        line(&mut out, "tenant profile", &format!("{:?}", tenant.profile));
        let held = format!("{:?}", tenant.reply_model);
        line(&mut out, "tenant reply model", &held);
        for (label, own) in &tenant.labels {
            line(&mut out, "tenant label", &format!("{label} {own:?}"));
        }
        if let Some(own) = &tenant.restore {
            line(&mut out, "tenant restores", "");
            restore(&mut out, own);
        }
        if let Some(own) = &tenant.media {
            line(&mut out, "tenant passes", "");
            media(&mut out, own);
        }
    }
    out
}

fn restore(out: &mut String, restore: &Restore) {
    line(out, "restore text", &selection(&restore.text));
    line(out, "restore arguments", &selection(&restore.arguments));
    for (tool, chosen) in &restore.tools {
        line(out, "restore tool", tool);
        line(out, "gets", &selection(chosen));
    }
}

fn media(out: &mut String, media: &Media) {
    media.allow.iter().for_each(|mime| line(out, "media", mime));
}

fn line(out: &mut String, what: &str, value: &str) {
    // Writing to a String cannot fail.
    let _ = writeln!(out, "{what} {}:{value}", value.len());
}

fn selection(chosen: &Selection) -> String {
    format!("{chosen:?}")
}
