//! One pass over a text: what is found, and from where on more text could change that.
//!
//! The search of a whole text and the question how much of a stream is settled are the same
//! pass, so that they cannot disagree.

mod field;
mod forms;
mod hidden;
mod memo;
#[cfg(test)]
mod tests;

use std::rc::Rc;

use self::memo::{Memo, Reading};
use crate::engine::Engine;
use crate::finding::{Finding, Open, ScanError};
use crate::key::Key;
use crate::label::Label;
use crate::normalise::{View, is_format};
use crate::people;
use crate::rule::{Candidate, Hit, Judge, Left, Rule, Tail};
use crate::rules;
use crate::scan::{Run, Session};
use crate::tail::Extent;
use crate::validate::context::{Beside, Context};

/// Bytes behind a match that checks look at: a separator and what follows it.
const LOOK_AHEAD: usize = 2;
/// Numbers that count only beside their name are shorter, with what their checks look at.
const BESIDE: usize = 128;
/// Values are judged by their first bytes, so that a verdict stands however long they grow.
pub(crate) const JUDGED: usize = 400;
/// A tail that is open and longer than this either is a finding already or never will be.
const HELD: usize = Engine::LONGEST_UNDECIDED;

/// The outcome, in offsets of the text.
pub(crate) struct Pass {
    /// Raw findings; they may overlap.
    pub findings: Vec<Finding>,
    /// From here on, more text could bring, change or take away a finding. Says nothing of a text
    /// that was searched as a whole.
    pub settled: usize,
    /// The first match that is open at the end. As `settled`.
    pub open: Option<Open>,
    /// Bytes that automaton and tails stepped over: what the work of the search is measured by.
    pub steps: usize,
}

impl Pass {
    /// Searches a text that stands under a key and may still grow.
    pub(crate) fn over(engine: &Engine, text: &str, key: Option<&str>) -> Result<Pass, ScanError> {
        Self::search(engine, text, key, true)
    }

    /// Searches a text that stands under a key and is all there.
    pub(crate) fn whole(engine: &Engine, text: &str, key: Option<&str>) -> Result<Pass, ScanError> {
        Self::search(engine, text, key, false)
    }

    fn search(
        engine: &Engine,
        text: &str,
        key: Option<&str>,
        growing: bool,
    ) -> Result<Pass, ScanError> {
        let mut session = engine.automaton.session();
        Search {
            engine,
            session: &mut session,
            key,
            says: key.map(Key::of),
            depth: 0,
            growing,
        }
        .text(text)
    }
}

struct Search<'e, 's> {
    engine: &'e Engine,
    session: &'s mut Session<'e>,
    key: Option<&'s str>,
    /// What the key says.
    says: Option<Rc<Key>>,
    depth: u8,
    /// Whether more text may follow.
    growing: bool,
}

impl Search<'_, '_> {
    fn text(&mut self, source: &str) -> Result<Pass, ScanError> {
        let view = View::of(source);
        let text = view.text.as_ref();
        let mut sink = Sink::new(text.len());
        self.heads(text, &mut sink)?;
        self.mailboxes(text, &mut sink);
        self.words(text, &mut sink);
        self.people(text, &mut sink);
        self.columns(text, &mut sink);
        self.manifests(text, &mut sink);
        self.records(text, &mut sink);
        self.field(text, &mut sink);
        self.keyed(text, &mut sink)?;
        self.cell(text, &mut sink);
        let mut pass = sink.map_back(source, &view);
        self.hidden(source, &mut pass)?;
        Ok(pass)
    }

    /// The automaton from every start, and the tail and check of every rule that matches.
    fn heads(&mut self, text: &str, sink: &mut Sink) -> Result<(), ScanError> {
        let bytes = text.as_bytes();
        let mut run = Run::default();
        let mut memo = Memo::default();
        let beside = Beside::new(text, self.says.as_ref().map_or(0, |key| key.lists));
        for (at, mut worth) in self.engine.automaton.starts(bytes, self.growing) {
            if worth.beside {
                let near_end = self.growing && at + BESIDE > bytes.len();
                worth.beside = near_end
                    || (rules::may_be_named(bytes, at) && beside.names_number(at))
                    || rules::may_be_named_behind(bytes, at, self.growing);
            }
            self.session.run(bytes, at, worth, &mut run)?;
            if run.alive {
                sink.settled = sink.settled.min(at);
            }
            for head in &run.heads {
                if let Some(rule) = self.engine.rules.get(head.rule) {
                    self.consider(
                        Place {
                            rule,
                            text,
                            start: at,
                            head: head.end,
                        },
                        &beside,
                        &mut memo,
                        sink,
                    );
                }
            }
        }
        sink.steps += run.steps;
        Ok(())
    }

    fn consider(&self, place: Place<'_>, beside: &Beside<'_>, memo: &mut Memo, sink: &mut Sink) {
        let Place {
            rule,
            text,
            start,
            head,
        } = place;
        if !may_follow(
            rule.left,
            start.checked_sub(1).and_then(|b| text.as_bytes().get(b)),
        ) {
            return;
        }
        let run = matches!(rule.tail, Tail::Run(_));
        if run && memo.in_run(rule.name, text, start) {
            return;
        }
        let reading = memo.read(rule.tail, text, head, &mut sink.steps);
        let (extent, hit) = match reading {
            Reading::Covered => return,
            Reading::Whole(extent) => (extent, place.judge(extent, beside)),
            Reading::Part(part) => {
                if place.judge(part, beside).is_none() {
                    return;
                }
                let extent = memo.rest(rule.tail, text, head, &mut sink.steps);
                (extent, place.judge(extent, beside))
            }
        };
        let long = extent.end.saturating_sub(start) >= HELD;
        let undecided = extent.open || extent.end + LOOK_AHEAD > text.len();
        if undecided && (hit.is_some() || !long) {
            sink.settled = sink.settled.min(start);
        }
        if let Some(hit) = hit {
            if run {
                memo.found_run(rule.name, start, extent.end);
            }
            // A value that is only looked for nearby has an end: it is held, never masked blindly.
            if extent.open && !matches!(rule.tail, Tail::Near(_)) {
                let (label, name) = (hit.label, rule.name);
                let (tail, quote) = (rule.tail, extent.quote);
                sink.opens(Open {
                    start: hit.start,
                    label,
                    rule: name,
                    tail,
                    quote,
                });
            }
            sink.hits.push((hit, rule.name));
        }
    }

    /// Names of people. Not in what an encoded run holds: chance makes names of any bytes.
    fn people(&self, text: &str, sink: &mut Sink) {
        if self.depth > 0 {
            return;
        }
        let found = people::find(text, self.growing);
        sink.settled = sink.settled.min(found.settled);
        sink.hits.extend(found.hits.into_iter().map(|hit| {
            let rule = if hit.label == Label::PERSON {
                "name"
            } else {
                "address"
            };
            (hit, rule)
        }));
    }

    fn words(&self, text: &str, sink: &mut Sink) {
        let Some(lexicon) = &self.engine.lexicon else {
            return;
        };
        let found = lexicon.find(text);
        sink.settled = sink.settled.min(found.settled);
        sink.hits
            .extend(found.hits.into_iter().map(|hit| (hit, "dictionary")));
    }
}

/// A head that matched.
#[derive(Clone, Copy)]
struct Place<'t> {
    rule: &'t Rule,
    text: &'t str,
    start: usize,
    head: usize,
}

impl Place<'_> {
    /// What the rule says, given how far the tail goes.
    fn judge(&self, extent: Extent, beside: &Beside<'_>) -> Option<Hit> {
        let Place {
            rule,
            text,
            start,
            head,
        } = *self;
        let (value_at, value_end) = extent.value;
        let judged = text.floor_char_boundary(value_end.min(value_at.saturating_add(JUDGED)));
        let candidate = Candidate {
            text,
            start,
            head,
            end: extent.end,
            value: text.get(value_at..judged).unwrap_or_default(),
            value_at,
            value_end,
            quote: extent.quote,
            context: Context::at(text, start, beside),
        };
        match rule.judge {
            Judge::Always(score) => candidate.whole(rule.label, score),
            Judge::Check(check) => check(&candidate),
            Judge::Scheme(scheme, anchor) => scheme.judge(&candidate, anchor),
        }
    }
}

fn may_follow(left: Left, before: Option<&u8>) -> bool {
    match (left, before) {
        (Left::Any, _) | (_, None) => true,
        (Left::Number, Some(b)) => !b.is_ascii_alphanumeric() && !b"._".contains(b),
        (Left::Word, Some(b)) => !b.is_ascii_alphanumeric(),
        (Left::Token, Some(b)) => !b.is_ascii_alphanumeric() && !b"_-".contains(b),
    }
}

/// The outcome in offsets of the view.
struct Sink {
    hits: Vec<(Hit, &'static str)>,
    settled: usize,
    open: Option<Open>,
    steps: usize,
}

impl Sink {
    fn new(settled: usize) -> Self {
        Self {
            hits: Vec::new(),
            settled,
            open: None,
            steps: 0,
        }
    }

    fn opens(&mut self, open: Open) {
        if self
            .open
            .as_ref()
            .is_none_or(|known| open.start < known.start)
        {
            self.open = Some(open);
        }
    }

    fn map_back(self, source: &str, view: &View<'_>) -> Pass {
        let findings = self.hits.into_iter().map(|(hit, rule)| {
            let Hit {
                label,
                score,
                certain,
                ..
            } = hit;
            let start = before_format(source, view.start(hit.start));
            let end = after_format(source, view.end(hit.end));
            Finding {
                start,
                end,
                label,
                score,
                rule,
                certain,
            }
        });
        let findings = findings.collect();
        let at = |offset| before_format(source, view.start(offset));
        let settled = if self.settled == view.text.len() {
            source.len()
        } else {
            at(self.settled)
        };
        let settled = before_format(source, settled);
        let open = self.open.map(|open| Open {
            start: at(open.start),
            ..open
        });
        Pass {
            findings,
            settled,
            open,
            steps: self.steps,
        }
    }
}

impl Pass {
    fn opens(&mut self, open: Open) {
        if self
            .open
            .as_ref()
            .is_none_or(|known| open.start < known.start)
        {
            self.open = Some(open);
        }
    }
}

/// Format characters that touch a finding go with it, so that no half of a bidirectional pair is
/// left behind. Joiners of pictures stay with their picture.
fn before_format(source: &str, start: usize) -> usize {
    let before = source.get(..start).unwrap_or_default();
    start
        - before
            .chars()
            .rev()
            .take_while(|c| goes_along(*c))
            .map(char::len_utf8)
            .sum::<usize>()
}

fn after_format(source: &str, end: usize) -> usize {
    let after = source.get(end..).unwrap_or_default();
    end + after
        .chars()
        .take_while(|c| goes_along(*c))
        .map(char::len_utf8)
        .sum::<usize>()
}

fn goes_along(c: char) -> bool {
    is_format(c) && !matches!(c, '\u{200D}' | '\u{FE00}'..='\u{FE0F}' | '\u{E0020}'..='\u{E007F}')
}
