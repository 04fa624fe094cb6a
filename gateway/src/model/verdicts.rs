//! What is found in a text: remembered, or by the rules and the model.

use std::sync::Arc;

use gatehouse_envelope::digest::sha256;
use gatehouse_redactor::{
    Action, Asked, Direction, Engine, Finder, Finding, Label, Policy, ScanError,
};
use prometheus_client::metrics::counter::Counter;

use super::cache::{Cache, Table};
#[cfg(feature = "model")]
use super::loaded::Loaded;

/// Below this many bytes the rules are as fast as a look at what they said before.
const WORTH_IT: usize = 256;

/// The search of all requests of a gateway.
pub struct Verdicts {
    engine: Arc<Engine>,
    policy: Arc<Policy>,
    #[cfg(feature = "model")]
    model: Option<Loaded>,
    cache: Cache,
    /// Of the rules and the model.
    judged_by: [u8; 32],
    hits: Counter,
    misses: Counter,
}

impl Verdicts {
    /// The rules alone.
    pub fn of_rules(engine: Arc<Engine>, policy: Arc<Policy>) -> Self {
        let judged_by = sha256(&[engine.fingerprint().as_bytes()]);
        Self {
            engine,
            policy,
            #[cfg(feature = "model")]
            model: None,
            cache: Cache::default(),
            judged_by,
            hits: Counter::default(),
            misses: Counter::default(),
        }
    }

    /// The rules, and the model where there is one.
    #[cfg(feature = "model")]
    pub fn new(engine: Arc<Engine>, policy: Arc<Policy>, model: Option<Loaded>) -> Self {
        let mut verdicts = Self::of_rules(engine, policy);
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

    /// Texts whose verdict was remembered, and texts that were searched.
    pub fn counters(&self) -> (Counter, Counter) {
        (self.hits.clone(), self.misses.clone())
    }

    /// The search for one tenant.
    pub fn finder(&self, tenant: &str) -> TenantFinder<'_> {
        TenantFinder {
            verdicts: self,
            table: self.cache.of(tenant),
        }
    }

    /// What rules and model find, without a look at what was found before.
    ///
    /// # Errors
    /// If a search did not come to its end.
    pub fn search(&self, texts: &[Asked<'_>]) -> Result<Vec<Vec<Finding>>, ScanError> {
        let rules = self.engine.find_all(texts)?;
        let model = self.names(texts)?;
        let both = rules.into_iter().zip(model).zip(texts);
        Ok(both
            .map(|((rules, model), asked)| self.engine.join(asked.text, rules, model))
            .collect())
    }

    #[cfg(feature = "model")]
    fn names(&self, texts: &[Asked<'_>]) -> Result<Vec<Vec<Finding>>, ScanError> {
        use gatehouse_redactor::model::Item;

        let none = || vec![Vec::new(); texts.len()];
        let Some(model) = &self.model else {
            return Ok(none());
        };
        let wanted: Vec<usize> = (0..texts.len())
            .filter(|at| {
                texts
                    .get(*at)
                    .is_some_and(|asked| self.acts(asked.field.direction))
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
        let places = self.does_anything(Label::LOCATION);
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
    fn names(&self, texts: &[Asked<'_>]) -> Result<Vec<Vec<Finding>>, ScanError> {
        Ok(vec![Vec::new(); texts.len()])
    }

    /// Whether the policy does anything with what the model finds.
    #[cfg(feature = "model")]
    fn acts(&self, direction: Direction) -> bool {
        [Label::PERSON, Label::ADDRESS, Label::LOCATION]
            .into_iter()
            .any(|label| self.policy.action(label, direction) != Action::Allow)
    }

    #[cfg(feature = "model")]
    fn does_anything(&self, label: Label) -> bool {
        Direction::ALL
            .into_iter()
            .any(|direction| self.policy.action(label, direction) != Action::Allow)
    }
}

/// The search for one tenant.
pub struct TenantFinder<'v> {
    verdicts: &'v Verdicts,
    table: Option<Arc<Table>>,
}

impl Finder for TenantFinder<'_> {
    fn gathers(&self) -> bool {
        self.verdicts.model().is_some()
    }

    fn find_all(&self, texts: &[Asked<'_>]) -> Result<Vec<Vec<Finding>>, ScanError> {
        let Some(table) = &self.table else {
            return self.verdicts.search(texts);
        };
        let gathers = self.gathers();
        let mut all: Vec<Option<Vec<Finding>>> = Vec::with_capacity(texts.len());
        let (mut missed, mut names) = (Vec::new(), Vec::new());
        for asked in texts {
            let remembered = gathers || asked.text.len() >= WORTH_IT;
            let name = remembered.then(|| table.name(asked, &self.verdicts.judged_by));
            let known = name.and_then(|name| table.get(&name));
            match known {
                Some(found) => {
                    self.verdicts.hits.inc();
                    all.push(Some(found.to_vec()));
                }
                None => {
                    self.verdicts.misses.inc();
                    missed.push(*asked);
                    names.push(name);
                    all.push(None);
                }
            }
        }
        let mut searched = self.verdicts.search(&missed)?.into_iter().zip(names);
        all.into_iter()
            .map(|known| match known {
                Some(found) => Ok(found),
                None => {
                    let (found, name) = searched.next().ok_or(ScanError::Unanswered)?;
                    if let Some(name) = name {
                        table.insert(name, found.as_slice().into());
                    }
                    Ok(found)
                }
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use gatehouse_redactor::Field;
    use proptest::prelude::*;

    use super::*;

    fn verdicts() -> Verdicts {
        let policy = Policy::default();
        let engine = Engine::new(&policy).unwrap();
        Verdicts::of_rules(Arc::new(engine), Arc::new(policy))
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
        let (hits, misses) = verdicts.counters();
        assert_eq!((hits.get(), misses.get()), (2, 1));
    }
}
