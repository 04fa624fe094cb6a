//! What a policy says in vain: it reads well, and would find, pass or restore something else than
//! its author thinks.

use std::collections::{BTreeMap, BTreeSet};

use super::{LabelPolicy, Media, Policy, Restore, Selection};
use crate::label::Label;
use crate::{body, engine, rules};

/// One thing wrong with a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyFault {
    /// Where it stands in the policy: a path such as `field[1].keys[0]`.
    pub path: String,
    /// What is wrong. Holds no term of a dictionary and no value of `ignore`.
    pub message: String,
}

/// What a dictionary's term has to be.
pub(crate) const TERM: &str = "a term is 1 to 200 bytes and holds a letter or digit";
const LONGEST_TERM: usize = 200;

/// Whether it is one.
pub(crate) fn is_term(text: &str) -> bool {
    (1..=LONGEST_TERM).contains(&text.len()) && text.chars().any(char::is_alphanumeric)
}

impl Policy {
    /// Everything in it that is unfit or has no effect, in the order of its tables. A policy with
    /// faults must not be put into use.
    #[must_use]
    pub fn faults(&self) -> Vec<PolicyFault> {
        let mut check = Check {
            made: self.made(),
            faults: Vec::new(),
        };
        check.labels("", &self.labels);
        check.dictionaries(self);
        check.rules(self);
        check.fields(self);
        check.ignored(&self.ignore);
        check.restore("", &self.restore);
        check.media("", &self.media);
        for (name, tenant) in &self.tenants {
            let tenants = format!("tenant.{name}.");
            check.labels(&tenants, &tenant.labels);
            if let Some(restore) = &tenant.restore {
                check.restore(&tenants, restore);
            }
            if let Some(media) = &tenant.media {
                check.media(&tenants, media);
            }
        }
        check.faults
    }

    /// Every label that a finding may have.
    fn made(&self) -> BTreeSet<Label> {
        let built_in = Label::BUILT_IN.iter().copied();
        let rules = self.rules.iter().map(|rule| rule.label);
        let dictionaries = self.dictionaries.iter().map(|list| list.label);
        let fields = self.fields.iter().filter_map(|field| field.label);
        built_in
            .chain(rules)
            .chain(dictionaries)
            .chain(fields)
            .collect()
    }
}

struct Check {
    made: BTreeSet<Label>,
    faults: Vec<PolicyFault>,
}

impl Check {
    fn add(&mut self, path: impl Into<String>, message: impl Into<String>) {
        self.faults.push(PolicyFault {
            path: path.into(),
            message: message.into(),
        });
    }

    fn labels(&mut self, under: &str, labels: &BTreeMap<Label, LabelPolicy>) {
        for label in labels.keys() {
            self.label(format!("{under}labels.{label}"), *label);
        }
    }

    fn label(&mut self, path: String, label: Label) {
        if !self.made.contains(&label) {
            let message = format!(
                "{label} is not built in, and no rule, dictionary or field of this policy makes it"
            );
            self.add(path, message);
        }
    }

    fn dictionaries(&mut self, policy: &Policy) {
        for (number, list) in policy.dictionaries.iter().enumerate() {
            let path = format!("dictionary[{number}].terms");
            if list.terms.is_empty() {
                self.add(&path, "is empty, so nothing is found by it");
            }
            for (at, term) in list.terms.iter().enumerate() {
                if !is_term(term) {
                    self.add(format!("{path}[{at}]"), TERM);
                }
            }
        }
    }

    fn rules(&mut self, policy: &Policy) {
        let mut names: BTreeMap<&str, String> = rules::built_in()
            .iter()
            .map(|rule| rule.name)
            .chain(engine::OTHER_SOURCES)
            .map(|name| (name, "a built-in rule".to_owned()))
            .collect();
        for (number, rule) in policy.rules.iter().enumerate() {
            let path = format!("rule[{number}]");
            if !rules::custom::is_name(&rule.name) {
                self.add(format!("{path}.name"), rules::custom::NAME);
            } else if let Some(other) = names.get(rule.name.as_str()) {
                let message = format!("is the name of {other} already");
                self.add(format!("{path}.name"), message);
            } else {
                names.insert(&rule.name, path.clone());
            }
            if let Err(unfit) = rules::custom::pattern(&rule.pattern) {
                self.add(format!("{path}.pattern"), unfit.reason());
            }
            if !(1..=100).contains(&rule.score) {
                self.add(format!("{path}.score"), "must be 1 to 100");
            }
        }
    }

    fn fields(&mut self, policy: &Policy) {
        let mut known: BTreeMap<String, String> = BTreeMap::new();
        for (number, field) in policy.fields.iter().enumerate() {
            let path = format!("field[{number}].keys");
            if field.keys.is_empty() {
                self.add(&path, "is empty, so it says nothing of any field");
            }
            for (at, key) in field.keys.iter().enumerate() {
                let path = format!("{path}[{at}]");
                let plain = engine::plain(key);
                if plain.is_empty() {
                    self.add(path, "holds nothing but separators, which do not count");
                } else if let Some(other) = known.get(&plain) {
                    let message =
                        format!("is the same key as {other}: case and separators do not count");
                    self.add(path, message);
                } else {
                    known.insert(plain, path);
                }
            }
        }
    }

    fn ignored(&mut self, values: &[String]) {
        for (at, value) in values.iter().enumerate() {
            if value.trim().is_empty() {
                self.add(format!("ignore[{at}]"), "is empty, which no value is");
            }
        }
    }

    fn restore(&mut self, under: &str, restore: &Restore) {
        let named = restore.tools.iter();
        let named = named.map(|(tool, chosen)| (format!("tools.{tool}"), chosen));
        let all = [
            ("text".to_owned(), &restore.text),
            ("arguments".to_owned(), &restore.arguments),
        ];
        for (place, chosen) in all.into_iter().chain(named) {
            let Selection::Only(labels) = chosen else {
                continue;
            };
            for label in labels {
                self.label(format!("{under}restore.{place}.only"), *label);
            }
        }
    }

    fn media(&mut self, under: &str, media: &Media) {
        for (at, allowed) in media.allow.iter().enumerate() {
            let one = Media {
                allow: vec![allowed.clone()],
            };
            if !body::media_types().any(|mime| one.allows(mime)) {
                let types = body::media_types().collect::<Vec<_>>().join(", ");
                let message = format!(
                    "lets nothing pass: write audio/*, image/* or one of {types}, which are the \
                     types whose first bytes are known"
                );
                self.add(format!("{under}media.allow[{at}]"), message);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The paths of the faults of a policy.
    fn paths(text: &str) -> Vec<String> {
        let policy: Policy = toml::from_str(text).unwrap();
        policy.faults().into_iter().map(|it| it.path).collect()
    }

    #[test]
    fn one_mistake_is_one_fault_with_its_place() {
        let rule = |name: &str, pattern: &str, score: u8| {
            format!(
                "[[rule]]\nname = '{name}'\nlabel = 'T'\npattern = '{pattern}'\nscore = {score}\n"
            )
        };
        let cases = [
            ("[labels.EMIAL]\nreply = 'allow'".to_owned(), "labels.EMIAL"),
            ("[tenant.a.labels.FOO]".to_owned(), "tenant.a.labels.FOO"),
            (
                "[restore]\ntext = { only = ['EMAIL', 'EMIAL'] }".to_owned(),
                "restore.text.only",
            ),
            (
                "[restore]\narguments = { only = ['FOO'] }".to_owned(),
                "restore.arguments.only",
            ),
            (
                "[restore.tools]\nmail = { only = ['FOO'] }".to_owned(),
                "restore.tools.mail.only",
            ),
            (
                "[tenant.a.restore.tools]\nmail = { only = ['FOO'] }".to_owned(),
                "tenant.a.restore.tools.mail.only",
            ),
            (
                "[media]\nallow = ['image/png', 'image']".to_owned(),
                "media.allow[1]",
            ),
            ("[media]\nallow = ['*/*']".to_owned(), "media.allow[0]"),
            (
                "[media]\nallow = ['image/png; q=1']".to_owned(),
                "media.allow[0]",
            ),
            (
                "[media]\nallow = ['video/mp4']".to_owned(),
                "media.allow[0]",
            ),
            (
                "[tenant.a.media]\nallow = ['']".to_owned(),
                "tenant.a.media.allow[0]",
            ),
            ("[[field]]\nkeys = []".to_owned(), "field[0].keys"),
            ("[[field]]\nkeys = ['']".to_owned(), "field[0].keys[0]"),
            (
                "[[field]]\nkeys = ['a', '_-_']".to_owned(),
                "field[0].keys[1]",
            ),
            (
                "[[field]]\nkeys = ['a.b', 'A B']".to_owned(),
                "field[0].keys[1]",
            ),
            (
                "[[field]]\nkeys = ['emp_no']\nlabel = 'A1'\n[[field]]\nkeys = ['EmpNo']"
                    .to_owned(),
                "field[1].keys[0]",
            ),
            (
                "[[dictionary]]\nlabel = 'D'\nterms = []".to_owned(),
                "dictionary[0].terms",
            ),
            (
                "[[dictionary]]\nlabel = 'D'\nterms = ['a', '-']".to_owned(),
                "dictionary[0].terms[1]",
            ),
            ("ignore = ['a', '']".to_owned(), "ignore[1]"),
            (rule("a", "x[0-9]{3}", 0), "rule[0].score"),
            (rule("a", "x[0-9]{3}", 101), "rule[0].score"),
            (rule("a", "x[0-9]+", 90), "rule[0].pattern"),
            (rule("a", "(", 90), "rule[0].pattern"),
            (rule("A", "x[0-9]{3}", 90), "rule[0].name"),
            (rule("us-ssn-bare", "x[0-9]{3}", 90), "rule[0].name"),
            (rule("model", "x[0-9]{3}", 90), "rule[0].name"),
            (rule("a", "x", 90) + &rule("a", "y", 90), "rule[1].name"),
        ];
        for (text, path) in cases {
            assert_eq!(paths(&text), [path], "{text}");
        }
    }

    #[test]
    fn what_has_an_effect_is_no_fault() {
        for text in [
            "",
            "[labels.EMAIL]\n[labels.A]\n[labels.B]\n[labels.C]\n\
             [restore]\ntext = { only = ['A', 'B', 'C', 'PERSON'] }\n\
             [tenant.a.labels.A]\nprompt = 'mask'\n\
             [[rule]]\nname = 'a'\nlabel = 'A'\npattern = 'x[0-9]{3}'\nscore = 100\n\
             [[dictionary]]\nlabel = 'B'\nterms = ['b']\n\
             [[field]]\nkeys = ['c', 'd']\nlabel = 'C'\n[[field]]\nkeys = ['e']\n",
            "ignore = ['10.0.0.1']\n[media]\nallow = ['image/*', 'Application/PDF', 'audio/wav']\n",
        ] {
            assert_eq!(paths(text), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn several_mistakes_are_all_told() {
        let text = "ignore = ['']\n[labels.EMIAL]\n\
                    [[rule]]\nname = 'A'\nlabel = 'T'\npattern = '('\nscore = 0\n";
        let places = [
            "labels.EMIAL",
            "rule[0].name",
            "rule[0].pattern",
            "rule[0].score",
            "ignore[0]",
        ];
        assert_eq!(paths(text), places);
    }
}
