//! What is found in a text: remembered, or by the rules and the model.

use std::collections::HashMap;
use std::sync::Arc;

use gatehouse_envelope::digest::{MacKey, sha256};
#[cfg(feature = "model")]
use gatehouse_redactor::{Action, Direction, Label};
use gatehouse_redactor::{Asked, Engine, Field, Finder, Finding, Policies, Policy, ScanError};
use prometheus_client::metrics::counter::Counter;

use super::cache::{Cache, Table};
use super::kept::Kept;
#[cfg(feature = "model")]
use super::loaded::Loaded;

/// Below this many bytes the rules are as fast as a look at what they said before.
const WORTH_IT: usize = 256;

/// The search of all requests of a gateway.
pub struct Verdicts {
    engine: Arc<Engine>,
    policies: Arc<Policies>,
    #[cfg(feature = "model")]
    model: Option<Loaded>,
    cache: Cache,
    /// Of the rules and the model.
    judged_by: [u8; 32],
    counters: VerdictCounters,
}

/// What the search had to do and what it was spared.
#[derive(Clone, Default)]
pub struct VerdictCounters {
    /// Texts whose verdict was remembered, or asked for twice at once.
    pub hits: Counter,
    /// Texts that were searched.
    pub misses: Counter,
    /// Bytes of those.
    pub searched: Counter,
}

impl Verdicts {
    /// The rules alone.
    pub fn of_rules(engine: Arc<Engine>, policies: Arc<Policies>) -> Self {
        let judged_by = sha256(&[engine.fingerprint().as_bytes()]);
        Self {
            engine,
            policies,
            #[cfg(feature = "model")]
            model: None,
            cache: Cache::default(),
            judged_by,
            counters: VerdictCounters::default(),
        }
    }

    /// The rules, and the model where there is one.
    #[cfg(feature = "model")]
    pub fn new(engine: Arc<Engine>, policies: Arc<Policies>, model: Option<Loaded>) -> Self {
        let mut verdicts = Self::of_rules(engine, policies);
        if let Some(model) = &model {
            verdicts.judged_by = sha256(&[&verdicts.judged_by, &model.digest()]);
        }
        Self { model, ..verdicts }
    }

    /// The digest of the model that takes part; `None` if none does.
    pub fn model(&self) -> Option<[u8; 32]> {
        #[cfg(feature = "model")]
        return self.model.as_ref().map(Loaded::digest);
        #[cfg(not(feature = "model"))]
        None
    }

    /// What was searched, and what was remembered.
    pub fn counters(&self) -> VerdictCounters {
        self.counters.clone()
    }

    /// Counts a question about so many texts, of which these are to be searched.
    fn count(&self, asked: usize, missed: &[Asked<'_>]) {
        let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
        let bytes = missed.iter().map(|asked| asked.text.len()).sum();
        let VerdictCounters {
            hits,
            misses,
            searched,
        } = &self.counters;
        hits.inc_by(count(asked - missed.len()));
        misses.inc_by(count(missed.len()));
        searched.inc_by(count(bytes));
    }

    /// The search for one tenant.
    pub fn finder(&self, tenant: &str) -> TenantFinder<'_> {
        TenantFinder {
            verdicts: self,
            policy: self.policies.of(tenant),
            table: self.cache.of(tenant),
            kept: None,
        }
    }

    /// The search for a session of a tenant, with what the session knows of its texts. Rules alone
    /// are so fast that nothing travels with the session for them.
    pub fn finder_in_session<'v>(
        &'v self,
        tenant: &str,
        key: &'v MacKey,
        kept: &[u8],
    ) -> TenantFinder<'v> {
        let travels = self.model().is_some();
        TenantFinder {
            kept: travels.then(|| Kept::read(key, kept, &self.engine)),
            ..self.finder(tenant)
        }
    }

    /// What rules and model find for those without a policy of their own, without a look at what
    /// was found before.
    ///
    /// # Errors
    /// If a search did not come to its end.
    pub fn search(&self, texts: &[Asked<'_>]) -> Result<Vec<Vec<Finding>>, ScanError> {
        self.search_under(self.policies.base(), texts)
    }

    fn search_under(
        &self,
        policy: &Policy,
        texts: &[Asked<'_>],
    ) -> Result<Vec<Vec<Finding>>, ScanError> {
        let rules = self.engine.find_all(texts)?;
        let model = self.names(policy, texts)?;
        let both = rules.into_iter().zip(model).zip(texts);
        Ok(both
            .map(|((rules, model), asked)| self.engine.join(asked.text, rules, model))
            .collect())
    }

    #[cfg(feature = "model")]
    fn names(&self, policy: &Policy, texts: &[Asked<'_>]) -> Result<Vec<Vec<Finding>>, ScanError> {
        use gatehouse_redactor::model::Item;

        let none = || vec![Vec::new(); texts.len()];
        let Some(model) = &self.model else {
            return Ok(none());
        };
        let wanted: Vec<usize> = (0..texts.len())
            .filter(|at| {
                texts.get(*at).is_some_and(|asked| {
                    acts(policy, asked.field.direction) && !self.engine.decides(asked.field)
                })
            })
            .collect();
        let items: Vec<Item<'_>> = wanted
            .iter()
            .filter_map(|at| texts.get(*at))
            .map(|asked| Item {
                text: asked.text,
                key: asked.field.key,
            })
            .collect();
        let places = does_anything(policy, Label::LOCATION);
        let mut all = none();
        for (at, found) in wanted.into_iter().zip(model.find(&items, places)?) {
            if let Some(slot) = all.get_mut(at) {
                *slot = found;
            }
        }
        Ok(all)
    }

    #[cfg(not(feature = "model"))]
    #[expect(
        clippy::unnecessary_wraps,
        reason = "with the model it can fail, and its caller is the same"
    )]
    fn names(&self, _: &Policy, texts: &[Asked<'_>]) -> Result<Vec<Vec<Finding>>, ScanError> {
        Ok(vec![Vec::new(); texts.len()])
    }
}

/// Whether the policy does anything with what the model finds.
#[cfg(feature = "model")]
fn acts(policy: &Policy, direction: Direction) -> bool {
    [Label::PERSON, Label::ADDRESS, Label::LOCATION]
        .into_iter()
        .any(|label| policy.action(label, direction) != Action::Allow)
}

#[cfg(feature = "model")]
fn does_anything(policy: &Policy, label: Label) -> bool {
    Direction::ALL
        .into_iter()
        .any(|direction| policy.action(label, direction) != Action::Allow)
}

/// The search for one tenant.
pub struct TenantFinder<'v> {
    verdicts: &'v Verdicts,
    policy: &'v Policy,
    table: Option<Arc<Table>>,
    kept: Option<Kept<'v>>,
}

impl TenantFinder<'_> {
    /// What the session is to know of its texts from now on; nothing if it need not.
    pub fn into_kept(self) -> Vec<u8> {
        self.kept.map(Kept::into_bytes).unwrap_or_default()
    }

    /// What the rules find in a text on its own.
    fn find_by_rules(&self, asked: &Asked<'_>) -> Result<Vec<Finding>, ScanError> {
        let table = self.table.as_ref();
        let table = table.filter(|_| asked.text.len() >= WORTH_IT);
        let name = table.map(|table| table.name(asked, &self.verdicts.judged_by));
        if let Some(found) = self.remembered(asked, name) {
            self.verdicts.count(1, &[]);
            return Ok(found);
        }
        self.verdicts.count(1, std::slice::from_ref(asked));
        let found = self.verdicts.engine.find(asked.text, asked.field)?;
        self.remember(name, &found);
        Ok(found)
    }

    /// The verdict on a text that was searched before: in this process, or in this session.
    fn remembered(&self, asked: &Asked<'_>, name: Option<[u8; 32]>) -> Option<Vec<Finding>> {
        let here = self.table.as_ref().zip(name);
        if let Some(found) = here.and_then(|(table, name)| table.get(&name)) {
            return Some(found.to_vec());
        }
        let found = self.kept.as_ref()?.get(asked, &self.verdicts.judged_by)?;
        self.remember(name, &found);
        Some(found)
    }

    fn remember(&self, name: Option<[u8; 32]>, found: &[Finding]) {
        if let Some((table, name)) = self.table.as_ref().zip(name) {
            table.insert(name, found.into());
        }
    }
}

impl Finder for TenantFinder<'_> {
    fn gathers(&self) -> bool {
        self.verdicts.model().is_some()
    }

    fn find_all(&self, texts: &[Asked<'_>]) -> Result<Vec<Vec<Finding>>, ScanError> {
        if let ([asked], false) = (texts, self.gathers()) {
            return Ok(vec![self.find_by_rules(asked)?]);
        }
        let judged_by = &self.verdicts.judged_by;
        let name = |asked: &Asked<'_>| {
            let table = self.table.as_ref();
            table.map(|table| table.name(asked, judged_by))
        };
        let names: Vec<Option<[u8; 32]>> = texts.iter().map(name).collect();
        let known: Vec<Option<Vec<Finding>>> = texts
            .iter()
            .zip(&names)
            .map(|(asked, name)| self.remembered(asked, *name))
            .collect();
        let (missed, answer) = distinct(texts, &known);
        self.verdicts.count(texts.len(), &missed);
        let searched = self.verdicts.search_under(self.policy, &missed)?;
        let mut all = Vec::with_capacity(texts.len());
        for (at, (asked, known)) in texts.iter().zip(known).enumerate() {
            let found = match known {
                Some(found) => found,
                None => {
                    let answer = answer.get(&at).and_then(|answer| searched.get(*answer));
                    let found = answer.ok_or(ScanError::Unanswered)?.clone();
                    self.remember(names.get(at).copied().flatten(), &found);
                    found
                }
            };
            if let Some(kept) = &self.kept {
                kept.note(asked, judged_by, &found);
            }
            all.push(found);
        }
        Ok(all)
    }
}

/// The texts without a verdict, each once however often it stands there; and, by the places of all
/// of those, which of them it is.
fn distinct<'t>(
    texts: &[Asked<'t>],
    known: &[Option<Vec<Finding>>],
) -> (Vec<Asked<'t>>, HashMap<usize, usize>) {
    let (mut missed, mut places) = (Vec::new(), HashMap::new());
    let mut seen = HashMap::new();
    for (at, (asked, _)) in texts
        .iter()
        .zip(known)
        .enumerate()
        .filter(|(_, (_, known))| known.is_none())
    {
        let Field { key, direction } = asked.field;
        let number = *seen.entry((asked.text, key, direction)).or_insert_with(|| {
            missed.push(*asked);
            missed.len() - 1
        });
        places.insert(at, number);
    }
    (missed, places)
}

#[cfg(test)]
mod tests {
    use gatehouse_redactor::Direction;
    use proptest::prelude::*;

    use super::*;

    fn verdicts() -> Verdicts {
        let policy = Policy::default();
        let engine = Engine::new(&policy).unwrap();
        Verdicts::of_rules(Arc::new(engine), Arc::new(Policies::new(policy)))
    }

    /// Texts long enough to be remembered, with and without values, some of them twice.
    fn texts() -> impl Strategy<Value = Vec<(String, Option<String>, bool)>> {
        let word = prop_oneof![
            "[a-z ]{0,400}",
            Just("jane.doe@example.com ".repeat(13)),
            Just(format!("{:300} card 4111111111111111", "x")),
        ];
        let key = prop::option::of(prop_oneof![
            Just("password".to_owned()),
            Just("a".to_owned())
        ]);
        prop::collection::vec((word, key, any::<bool>()), 0..12)
    }

    proptest! {
        /// What is remembered is what would be found.
        #[test]
        fn remembered_verdicts_are_those_of_a_search(texts in texts()) {
            let verdicts = verdicts();
            let asked: Vec<Asked<'_>> = texts
                .iter()
                .map(|(text, key, system)| {
                    let direction = if *system { Direction::System } else { Direction::Prompt };
                    Asked { text, field: Field { key: key.as_deref(), direction } }
                })
                .collect();
            let fresh = verdicts.search(&asked).unwrap();
            for _ in 0..2 {
                prop_assert_eq!(&verdicts.finder("t").find_all(&asked).unwrap(), &fresh);
            }
            prop_assert_eq!(&verdicts.finder("other").find_all(&asked).unwrap(), &fresh);
        }
    }

    #[test]
    fn hits_are_counted() {
        let verdicts = verdicts();
        let text = "jane.doe@example.com ".repeat(20);
        let direction = Direction::Prompt;
        let field = Field {
            key: None,
            direction,
        };
        let asked = [Asked { text: &text, field }];
        for _ in 0..3 {
            verdicts.finder("t").find_all(&asked).unwrap();
        }
        // Twice at once is once.
        let again = format!("again {text}");
        let twice = [Asked {
            text: &again,
            field,
        }; 2];
        let both = verdicts.finder("t").find_all(&twice).unwrap();
        assert_eq!(both[0], both[1]);
        let counters = verdicts.counters();
        assert_eq!((counters.hits.get(), counters.misses.get()), (3, 2));
        let bytes = text.len() + again.len();
        assert_eq!(counters.searched.get(), bytes as u64);
    }
}
