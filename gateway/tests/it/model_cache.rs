//! What is remembered is what a search would find, with the real model in the path.

use std::sync::{Arc, LazyLock};

use gatehouse::model::{Load, Loaded, Verdicts};
use gatehouse_envelope::digest::MacKey;
use gatehouse_envelope::secret::Secret;
use gatehouse_redactor::{Asked, Direction, Engine, Field, Finder, Finding, Policies, Policy};
use proptest::prelude::*;

use crate::model::HOME;

static VERDICTS: LazyLock<Verdicts> = LazyLock::new(verdicts);

fn verdicts() -> Verdicts {
    let policy = Policy::default();
    let engine = Engine::new(&policy).unwrap();
    let loaded = Loaded::open(&HOME, Load::for_files()).unwrap();
    let policies = Arc::new(Policies::new(policy));
    Verdicts::new(Arc::new(engine), policies, Some(loaded))
}

/// Texts that the model alone, the rules alone, both and neither have something to say of; one of
/// several windows.
fn text() -> impl Strategy<Value = String> {
    let texts = [
        "Yesterday Priya Raghunathan spoke with Tomasz about the move.".to_owned(),
        "Send it to 12 Sandy Lane, Springfield 62704 by noon.".to_owned(),
        "jane.doe@example.com and Oluwaseun Adebayo, card 4111111111111111".to_owned(),
        "let total = items.iter().sum();".to_owned(),
        "priya raghunathan".to_owned(),
        String::new(),
        "I met Hendrik van der Berg in the hall and we spoke. ".repeat(20),
    ];
    prop_oneof![
        prop::sample::select(texts.to_vec()),
        "[A-Z][a-z]{2,6} [A-Z][a-z]{2,8} said [a-z ]{0,20}",
    ]
}

fn asked() -> impl Strategy<Value = Vec<(String, Option<&'static str>, Direction)>> {
    let key = prop::sample::select(vec![None, Some("customer"), Some("id"), Some("note")]);
    let direction = prop::sample::select(Direction::ALL.to_vec());
    prop::collection::vec((text(), key, direction), 1..5)
}

/// One by one, so that no batch has a part in it, and nothing is remembered.
fn searched(texts: &[Asked<'_>]) -> Vec<Vec<Finding>> {
    let one = |asked: &Asked<'_>| VERDICTS.search(&[*asked]).unwrap().remove(0);
    texts.iter().map(one).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn with_the_model_remembered_verdicts_are_those_of_a_search(
        texts in asked(),
        tenant in "[a-z]{8}",
    ) {
        let asked: Vec<Asked<'_>> = texts
            .iter()
            .map(|(text, key, direction)| Asked {
                text,
                field: Field { key: *key, direction: *direction },
            })
            .collect();
        let fresh = searched(&asked);
        for _ in 0..2 {
            prop_assert_eq!(&VERDICTS.finder(&tenant).find_all(&asked).unwrap(), &fresh);
        }
        // In the session alone, as in another process: no table knows these tenants.
        let key = MacKey::new(Secret::new([7; 32]));
        let first = VERDICTS.finder_in_session(&format!("{tenant}1"), &key, &[]);
        prop_assert_eq!(&first.find_all(&asked).unwrap(), &fresh);
        let kept = first.into_kept();
        let second = VERDICTS.finder_in_session(&format!("{tenant}2"), &key, &kept);
        prop_assert_eq!(&second.find_all(&asked).unwrap(), &fresh);
    }
}

/// Where the property above would hold of nothing: these verdicts are not those of the rules.
#[test]
fn the_model_is_in_the_path() {
    let text = "Send it to 12 Sandy Lane, Springfield 62704 by noon, says Oluwaseun Adebayo.";
    let field = Field {
        key: None,
        direction: Direction::Prompt,
    };
    let asked = [Asked { text, field }];
    let policy = Policy::default();
    let engine = Engine::new(&policy).unwrap();
    let rules = Verdicts::of_rules(Arc::new(engine), Arc::new(Policies::new(policy)));
    assert_ne!(searched(&asked), rules.search(&asked).unwrap());
}

/// Two processes that take turns in one conversation: what is searched is its new text, once,
/// however short its pieces are.
#[test]
fn a_conversation_costs_its_new_text_on_any_replica() {
    const TURNS: usize = 20;
    let texts: Vec<(String, Option<&'static str>)> = (0..TURNS)
        .flat_map(|turn| {
            [
                (
                    format!("Turn {turn}: Priya Raghunathan asks about order {turn}7 of her aunt."),
                    None,
                ),
                (format!("yes {turn}"), Some("answer")),
                (
                    format!("Order {turn}7 goes to 12 Sandy Lane, Springfield 62704."),
                    Some("note"),
                ),
            ]
        })
        .collect();
    let asked: Vec<Asked<'_>> = texts
        .iter()
        .map(|(text, key)| Asked {
            text,
            field: Field {
                key: *key,
                direction: Direction::Prompt,
            },
        })
        .collect();
    let (verdicts, key) = (verdicts(), MacKey::new(Secret::new([9; 32])));
    let mut kept = Vec::new();
    let mut answers = Vec::new();
    for turn in 1..=TURNS {
        // A tenant that no table knows: as in a process that has never seen the session.
        let finder = verdicts.finder_in_session(&format!("turn{turn}"), &key, &kept);
        answers = finder.find_all(&asked[..turn * 3]).unwrap();
        kept = finder.into_kept();
    }
    let new: usize = texts.iter().map(|(text, _)| text.len()).sum();
    assert_eq!(verdicts.counters().searched.get(), new as u64);
    assert_eq!(answers, searched(&asked));
}
