//! The search: normaliser, automaton, checks and resolver in the order in which a text meets
//! them.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;
use std::sync::{Arc, LazyLock};

use crate::dictionary::Lexicon;
use crate::finding::{Field, Finding, Look, Open, ScanError};
use crate::join::join;
use crate::label::Label;
use crate::mention;
use crate::normalise::{self, View};
use crate::pass::Pass;
use crate::policy::{self, Direction, Policy};
use crate::resolve::{self, resolve};
use crate::rule::Rule;
use crate::rules::custom::Unfit;
use crate::rules::{self, custom};
use crate::scan::Automaton;
use crate::validate::context::REACH;
use crate::vocabulary;

/// A policy that cannot be searched with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EngineError {
    /// The rules together are too large for one automaton.
    #[error("the rules are too large for one automaton")]
    Automaton,
    /// A custom rule's name is misspelled.
    #[error("rule {0}: {reason}", reason = custom::NAME)]
    RuleName(usize),
    /// A custom rule's pattern does not parse, or uses what linear-time search cannot do.
    #[error("rule {0}: the pattern {reason}", reason = Unfit::Pattern.reason())]
    Pattern(usize),
    /// A custom rule's pattern could match without end.
    #[error("rule {0}: the pattern {reason}", reason = Unfit::Unbounded.reason())]
    Unbounded(usize),
    /// A dictionary's term is empty or too long.
    #[error("dictionary {0}: {reason}", reason = policy::TERM)]
    Term(usize),
}

/// The automaton of the built-in rules, for all policies that add none: to compile it takes longer
/// than many a search, and what it learns of texts serves all.
static BUILT_IN: LazyLock<Result<Arc<Automaton>, EngineError>> =
    LazyLock::new(|| Automaton::new(&rules::built_in()).map(Arc::new));

/// What finds besides rules of the automaton.
pub(crate) const OTHER_SOURCES: [&str; 9] = [
    "address",
    crate::columns::RULE,
    "dictionary",
    "field",
    crate::manifest::RULE,
    "model",
    "name",
    "policy-field",
    crate::records::RULE,
];

/// All rules of a policy, compiled once and shared by all threads.
pub struct Engine {
    pub(crate) rules: Vec<Rule>,
    pub(crate) automaton: Arc<Automaton>,
    pub(crate) lexicon: Option<Lexicon>,
    ignore: BTreeSet<String>,
    fields: HashMap<String, Option<Label>>,
    /// Words in which nothing shows by itself.
    known: HashSet<&'static str>,
    fingerprint: String,
}

impl Engine {
    /// Bytes of text that a stream keeps in front of what is not settled, so that the words
    /// beside a value are seen.
    pub const LEFT_CONTEXT: usize = 512;
    /// The longest undecided text that a stream holds back, in bytes.
    pub const LONGEST_UNDECIDED: usize = 512;

    /// Compiles a policy.
    ///
    /// # Errors
    /// If a custom rule or a dictionary is unfit.
    pub fn new(policy: &Policy) -> Result<Engine, EngineError> {
        let mut rules = rules::built_in();
        for (number, rule) in policy.rules.iter().enumerate() {
            rules.push(custom::rule(number, rule)?);
        }
        let automaton = if policy.rules.is_empty() {
            BUILT_IN.clone()?
        } else {
            Arc::new(Automaton::new(&rules)?)
        };
        let lexicon = Lexicon::new(&policy.dictionaries)?;
        let ignore = policy
            .ignore
            .iter()
            .map(|value| value.to_lowercase())
            .collect();
        let fields = policy
            .fields
            .iter()
            .flat_map(|rule| rule.keys.iter().map(|key| (plain(key), rule.label)))
            .collect();
        crate::records::ready()?;
        let fingerprint = fingerprint(&rules, policy);
        let mut engine = Engine {
            rules,
            automaton,
            lexicon,
            ignore,
            fields,
            known: HashSet::new(),
            fingerprint,
        };
        engine.known = vocabulary::without_findings(&engine);
        Ok(engine)
    }

    /// Everything that is found in the text: sorted, disjoint.
    ///
    /// # Errors
    /// If the search did not come to its end; nothing may be sent then.
    pub fn find(&self, text: &str, field: Field<'_>) -> Result<Vec<Finding>, ScanError> {
        let pass = Pass::whole(self, text, field.key)?;
        let mut found = resolve(pass.findings);
        if field.direction != Direction::Reply {
            mention::repeat(text, &mut found);
        }
        let found = self.without_ignored(text, found);
        Ok(self.by_field(text, field, found))
    }

    /// Whether the policy itself says what the values of this field are, so that nobody else has
    /// to be asked.
    #[must_use]
    pub fn decides(&self, field: Field<'_>) -> bool {
        let known = |key| self.fields.contains_key(&plain(key));
        let asked = !self.fields.is_empty() && field.direction != Direction::Reply;
        asked && field.key.is_some_and(known)
    }

    /// What the policy says of the field that a text stands in. Replies are the model's own
    /// words, whatever their keys say.
    fn by_field(&self, text: &str, field: Field<'_>, mut found: Vec<Finding>) -> Vec<Finding> {
        let key = field.key.filter(|_| !self.fields.is_empty());
        let rule = key.and_then(|key| self.fields.get(&plain(key)));
        let Some(rule) = rule.filter(|_| field.direction != Direction::Reply) else {
            return found;
        };
        let value = text.trim();
        let Some(label) = rule.filter(|_| !value.is_empty()) else {
            found.retain(|finding| finding.label.is_secret());
            return found;
        };
        let start = text.len() - text.trim_start().len();
        vec![Finding {
            start,
            end: start + value.len(),
            label,
            score: 100,
            rule: "policy-field",
            certain: false,
        }]
    }

    /// What is found without regard to the words beside it: for JSON keys, names and ids.
    ///
    /// # Errors
    /// As [`Engine::find`].
    pub fn find_certain(&self, text: &str) -> Result<Vec<Finding>, ScanError> {
        if self.is_known_word(text) {
            return Ok(Vec::new());
        }
        let mut pass = Pass::whole(self, text, None)?;
        pass.findings.retain(|finding| finding.certain);
        Ok(self.without_ignored(text, resolve(pass.findings)))
    }

    /// Whether this is one of the usual words of the trade in which nothing shows by itself.
    pub(crate) fn is_known_word(&self, word: &str) -> bool {
        self.known.contains(word)
    }

    /// The rules' findings in a text and the model's, as one: sorted, disjoint.
    #[must_use]
    pub fn join(&self, text: &str, rules: Vec<Finding>, model: Vec<Finding>) -> Vec<Finding> {
        let modelled = !model.is_empty();
        let mut found = join(text, rules, model);
        if modelled {
            mention::repeat(text, &mut found);
        }
        self.without_ignored(text, found)
    }

    /// The byte before which `text` is settled: whatever is appended, the findings that start
    /// before it are those of [`Engine::find`] on `text`, and none of them reaches past it. On a
    /// character boundary. 0 if the search gave up; then [`Engine::find`] says so.
    #[must_use]
    pub fn undecided(&self, text: &str, field: Field<'_>) -> usize {
        self.look(text, field).map_or(0, |look| look.settled)
    }

    /// The match that is open at the end of `text` and has surely begun: the first, if several.
    #[must_use]
    pub fn open(&self, text: &str, field: Field<'_>) -> Option<Open> {
        self.look(text, field).ok()?.open
    }

    /// A growing text in one pass: what is found in it, how much is settled, what is open.
    ///
    /// # Errors
    /// As [`Engine::find`].
    pub fn look(&self, text: &str, field: Field<'_>) -> Result<Look, ScanError> {
        // An escape that is cut off may read as anything: the text ends before it.
        let whole = text.get(..normalise::cut_off(text)).unwrap_or_default();
        let pass = Pass::over(self, whole, field.key)?;
        let settled = resolve::settled(&pass.findings, pass.settled);
        let findings = self.without_ignored(text, resolve(pass.findings));
        Ok(Look {
            findings,
            settled,
            open: pass.open,
        })
    }

    /// Where the names of the columns stand under which a row at the end of `text` would stand,
    /// with all that makes them a table: what has to be put before the next rows of a text that is
    /// searched in parts.
    #[must_use]
    pub fn table_head(&self, text: &str) -> Option<Range<usize>> {
        crate::columns::head(text)
    }

    /// The name under which findings of that rule stand in records, if there is such a rule.
    #[must_use]
    pub fn rule_name(&self, name: &str) -> Option<&'static str> {
        let rules = self.rules.iter().map(|rule| rule.name);
        rules.chain(OTHER_SOURCES).find(|known| *known == name)
    }

    /// The rules as text that is the same for the same rules, for their digest.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        self.fingerprint.clone()
    }

    fn without_ignored(&self, text: &str, mut findings: Vec<Finding>) -> Vec<Finding> {
        if !self.ignore.is_empty() {
            findings.retain(|finding| {
                let value = text.get(finding.start..finding.end).unwrap_or_default();
                !self.ignore.contains(&View::of(value).text.to_lowercase())
            });
        }
        findings
    }
}

/// A key without case and separators.
pub(crate) fn plain(key: &str) -> String {
    key.chars()
        .filter(|c| !matches!(c, '_' | '-' | '.' | ' '))
        .flat_map(char::to_lowercase)
        .collect()
}

fn fingerprint(rules: &[Rule], policy: &Policy) -> String {
    use std::fmt::Write as _;

    let mut out = String::from("gatehouse rules 1\n");
    for rule in rules {
        for part in [rule.name, rule.label.as_str(), &rule.head] {
            let _ = write!(out, "{}:{part} ", part.len());
        }
        let glue = if rule.is_cue() { rules::GLUE } else { "" };
        let _ = writeln!(out, "{glue} {:?} {:?}", rule.left, rule.tail);
    }
    out.push_str(&policy.canonical());
    out
}

// Escapes of up to eight bytes a character are read over within the reach of a label word.
const _: () = assert!(Engine::LEFT_CONTEXT >= 8 * REACH);

#[cfg(test)]
mod tests {
    use super::*;

    fn find(policy: &str, key: &str, direction: Direction, text: &str) -> Vec<(Label, String)> {
        let policy: Policy = toml::from_str(policy).unwrap();
        let field = Field {
            key: Some(key),
            direction,
        };
        let found = Engine::new(&policy).unwrap().find(text, field).unwrap();
        found
            .iter()
            .map(|f| (f.label, text[f.start..f.end].to_owned()))
            .collect()
    }

    #[test]
    fn the_policy_says_what_a_field_holds() {
        let policy = "[[field]]\nkeys = ['employee_no']\nlabel = 'EMPLOYEE_ID'";
        let label = Label::custom("EMPLOYEE_ID").unwrap();
        let found = find(policy, "EmployeeNo", Direction::ToolOutput, " X-17 ");
        assert_eq!(found, [(label, "X-17".to_owned())]);
        for (key, direction) in [
            ("employee", Direction::ToolOutput),
            ("employee_no", Direction::Reply),
        ] {
            assert!(find(policy, key, direction, "X-17").is_empty(), "{key}");
        }
    }

    #[test]
    fn a_field_that_is_left_still_loses_its_secrets() {
        let policy = "[[field]]\nkeys = ['support-contact']";
        let key = ["ghp", "_aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1eF3hJ5"].concat();
        let text = format!("help@example.org {key}");
        let found = find(policy, "supportContact", Direction::Prompt, &text);
        assert_eq!(found, [(Label::API_KEY, key)]);
    }
}
