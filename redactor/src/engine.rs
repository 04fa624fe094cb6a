//! The search: automaton, checks and resolver in the order in which a text meets them.

use crate::finding::{Field, Finding, Open, ScanError};
use crate::policy::Policy;
use crate::resolve::resolve;
use crate::rule::{Candidate, Hit, Judge, Left, Rule};
use crate::rules;
use crate::scan::{Automaton, Run, may_start};
use crate::validate::context::{Context, REACH};

/// A policy that cannot be searched with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EngineError {
    /// The rules together are too large for one automaton.
    #[error("the rules are too large for one automaton")]
    Automaton,
    /// A custom rule's name is misspelled.
    #[error("rule {0}: a name is 1 to 60 of a-z, 0-9 and -")]
    RuleName(usize),
    /// A custom rule's pattern is not a regular expression this search can run in linear time.
    #[error("rule {0}: the pattern does not parse, or is larger than allowed")]
    Pattern(usize),
    /// A dictionary's term is empty or too long.
    #[error("dictionary {0}: terms are 1 to 200 bytes and hold a letter or digit")]
    Term(usize),
}

/// All rules of a policy, compiled once and shared by all threads.
pub struct Engine {
    rules: Vec<Rule>,
    automaton: Automaton,
}

impl Engine {
    /// Bytes of text that a stream keeps in front of what is not settled, so that the words
    /// beside a value are seen.
    pub const LEFT_CONTEXT: usize = 128;
    /// The longest undecided text that a stream holds back, in bytes.
    pub const LONGEST_UNDECIDED: usize = 512;

    /// Compiles a policy.
    ///
    /// # Errors
    /// If a custom rule or a dictionary is unfit.
    pub fn new(_policy: &Policy) -> Result<Engine, EngineError> {
        let rules = rules::built_in();
        let automaton = Automaton::new(&rules)?;
        Ok(Engine { rules, automaton })
    }

    /// Everything that is found in the text: sorted, disjoint.
    ///
    /// # Errors
    /// If the search did not come to its end; nothing may be sent then.
    pub fn find(&self, text: &str, field: Field<'_>) -> Result<Vec<Finding>, ScanError> {
        let mut hits = Vec::new();
        self.search(text, field.key, &mut hits)?;
        Ok(resolve(hits))
    }

    /// What is found without regard to the words beside it: for JSON keys, names and ids.
    ///
    /// # Errors
    /// As [`Engine::find`].
    pub fn find_certain(&self, text: &str) -> Result<Vec<Finding>, ScanError> {
        let mut hits = Vec::new();
        self.search(text, None, &mut hits)?;
        hits.retain(|hit| hit.certain);
        Ok(resolve(hits))
    }

    /// The byte before which `text` is settled: whatever is appended, the findings that start
    /// before it are those of [`Engine::find`] on `text`, and none of them reaches past it. On a
    /// character boundary. 0 if the search gave up; then [`Engine::find`] says so.
    #[must_use]
    pub fn undecided(&self, text: &str, _field: Field<'_>) -> usize {
        self.settled(text).unwrap_or(0)
    }

    /// The match that is open at the end of `text`, if one has surely begun.
    #[must_use]
    pub fn open(&self, _text: &str, _field: Field<'_>) -> Option<Open> {
        None
    }

    /// The rules as text that is the same for the same rules, for their digest.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        let mut out = String::from("gatehouse rules 1\n");
        for rule in &self.rules {
            for part in [rule.name, rule.label.as_str(), &rule.head] {
                out.push_str(&format!("{}:{part} ", part.len()));
            }
            out.push_str(&format!("{:?} {:?}\n", rule.left, rule.tail));
        }
        out
    }

    fn settled(&self, text: &str) -> Result<usize, ScanError> {
        let mut session = self.automaton.session();
        let mut run = Run::default();
        for start in 0..text.len() {
            if may_start(text.as_bytes(), start) {
                session.run(text.as_bytes(), start, &mut run)?;
                if run.alive {
                    return Ok(start);
                }
            }
        }
        Ok(text.len())
    }

    fn search(
        &self,
        text: &str,
        key: Option<&str>,
        hits: &mut Vec<Finding>,
    ) -> Result<(), ScanError> {
        let bytes = text.as_bytes();
        let mut session = self.automaton.session();
        let mut run = Run::default();
        for start in 0..bytes.len() {
            if !may_start(bytes, start) {
                continue;
            }
            session.run(bytes, start, &mut run)?;
            for (index, head) in &run.heads {
                let Some(rule) = self.rules.get(*index) else {
                    continue;
                };
                let context = Context::at(text, start, key);
                let candidate = Candidate {
                    text,
                    start,
                    head: *head,
                    end: *head,
                    context,
                };
                if let Some(hit) = judge(rule, &candidate) {
                    hits.push(finding(rule, hit));
                }
            }
        }
        Ok(())
    }
}

fn judge(rule: &Rule, candidate: &Candidate<'_>) -> Option<Hit> {
    let clear = match (rule.left, candidate.previous()) {
        (Left::Any, _) | (_, None) => true,
        (Left::Number, Some(b)) => !b.is_ascii_alphanumeric() && b != b'.' && b != b'_',
        (Left::Token, Some(b)) => !b.is_ascii_alphanumeric() && b != b'_' && b != b'-',
    };
    match rule.judge {
        _ if !clear => None,
        Judge::Always(score) => candidate.whole(rule.label, score),
        Judge::Check(check) => check(candidate),
    }
}

fn finding(rule: &Rule, hit: Hit) -> Finding {
    let Hit {
        start,
        end,
        label,
        score,
        certain,
    } = hit;
    Finding {
        start,
        end,
        label,
        score,
        rule: rule.name,
        certain,
    }
}

const _: () = assert!(Engine::LEFT_CONTEXT >= 2 * REACH);
