//! What stands between a cue and its value, read behind the end of the cue.
//!
//! It is the same behind all cues, so it is no part of their heads: there each rule would have a
//! copy of its own in the automaton.

use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::{Anchored, Input};

use crate::finding::ScanError;
use crate::rule::Rule;

/// The automaton of what stands behind cues.
#[derive(Clone)]
pub(super) struct Glue {
    dfa: DFA,
    /// By head: whether it is a cue.
    cues: Vec<bool>,
}

/// How far it goes behind one place.
pub(super) struct Glued {
    pub(super) end: usize,
    /// Whether more text could lengthen it.
    pub(super) alive: bool,
    /// Bytes stepped over.
    pub(super) steps: usize,
}

impl Glue {
    /// For the heads of these rules.
    pub(super) fn new<'r>(dfa: DFA, rules: impl Iterator<Item = &'r Rule>) -> Self {
        Self {
            dfa,
            cues: rules.map(Rule::is_cue).collect(),
        }
    }

    pub(super) fn cache(&self) -> Cache {
        self.dfa.create_cache()
    }

    /// Whether the head with this number is a cue.
    pub(super) fn follows(&self, head: usize) -> bool {
        self.cues.get(head).copied().unwrap_or(false)
    }

    /// As much as there is of it at `at`, which may be nothing.
    pub(super) fn read(
        &self,
        cache: &mut Cache,
        text: &[u8],
        at: usize,
    ) -> Result<Glued, ScanError> {
        let gave_up = |_| ScanError::Automaton;
        let input = Input::new(text)
            .span(at..text.len())
            .anchored(Anchored::Yes);
        let mut state = self
            .dfa
            .start_state_forward(cache, &input)
            .map_err(|_| ScanError::Automaton)?;
        let mut end = at;
        for (offset, byte) in text.get(at..).unwrap_or_default().iter().enumerate() {
            state = self.dfa.next_state(cache, state, *byte).map_err(gave_up)?;
            if state.is_match() {
                // Match states come one byte late.
                end = at + offset;
            } else if state.is_dead() {
                return Ok(Glued {
                    end,
                    alive: false,
                    steps: offset + 1,
                });
            } else if state.is_quit() {
                return Err(ScanError::Automaton);
            }
        }
        state = self.dfa.next_eoi_state(cache, state).map_err(gave_up)?;
        Ok(Glued {
            end: if state.is_match() { text.len() } else { end },
            alive: true,
            steps: text.len().saturating_sub(at),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Automaton, Run, Worth, built};
    use super::*;
    use crate::rules::{self, GLUE};

    /// What the automaton says of a cue is what one expression of cue and glue says.
    #[test]
    fn a_cue_and_its_glue_are_one_head() {
        let texts = [
            "passport nos: 123",
            "Passport number is A1",
            "passport no. (A0750176)",
            "dob = '1990-01-02'",
            "Steuer-ID lautet 12 345",
            "nr PESEL to: 44051401458",
            "{\"passportNumber\": \"A0750176\"}",
            "IMEI numéro => 4",
            "iban id of my",
            "vin",
            "date of birth  is  on the 2",
            "account number n",
            "num\u{e9}ro fiscal n\u{b0} 1",
            "mrn#: 00",
            "driver license no is was are",
            "tax id\tno\t\t\t\t\t\t1",
        ];
        let rules: Vec<Rule> = rules::built_in();
        let automaton = Automaton::new(&rules).unwrap();
        let mut session = automaton.session();
        let mut run = Run::default();
        let mut glued = 0;
        for (number, rule) in rules.iter().enumerate().filter(|(_, rule)| rule.is_cue()) {
            let whole = built(&[&format!("{}{GLUE}", rule.head)]).unwrap();
            let mut cache = whole.create_cache();
            for text in texts {
                for at in 0..text.len() {
                    let input = Input::new(text.as_bytes())
                        .span(at..text.len())
                        .anchored(Anchored::Yes);
                    let expected = whole.try_search_fwd(&mut cache, &input).unwrap();
                    let expected = expected.map(|half| half.offset());
                    session
                        .run(text.as_bytes(), at, Worth::ALL, &mut run)
                        .unwrap();
                    let own = run.heads.iter().find(|head| head.rule == number);
                    assert_eq!(
                        own.map(|head| head.end),
                        expected,
                        "{}: {text} at {at}",
                        rule.name
                    );
                    glued += usize::from(expected.is_some());
                }
            }
        }
        assert!(glued > 10, "{glued}");
    }

    #[test]
    fn it_may_be_nothing_and_may_go_on() {
        let glue = Glue::new(built(&[GLUE]).unwrap(), std::iter::empty());
        let mut cache = glue.cache();
        for (text, at, end, alive) in [
            ("xy", 0, 0, false),
            ("id no. = '12", 2, 10, false),
            ("id is", 2, 5, true),
            ("id", 2, 2, true),
            ("id is on ", 2, 9, true),
        ] {
            let read = glue.read(&mut cache, text.as_bytes(), at).unwrap();
            assert_eq!((read.end, read.alive), (end, alive), "{text}");
        }
    }
}
