//! One pass over a text: what is found, and from where on more text could change that.
//!
//! The search of a whole text and the question how much of a stream is settled are the same
//! pass, so that they cannot disagree.

use crate::encoded;
use crate::engine::Engine;
use crate::finding::{Finding, Open, ScanError};
use crate::label::Label;
use crate::normalise::{View, is_format};
use crate::rule::{Candidate, Class, Hit, Judge, Left, Rule, Tail};
use crate::rules;
use crate::scan::{Run, Session};
use crate::tail::{self, Extent};
use crate::validate::context::Context;

/// Bytes behind a match that checks look at: a separator and what follows it.
const LOOK_AHEAD: usize = 2;
/// Values are judged by their first bytes, so that a verdict stands however long they grow.
pub(crate) const JUDGED: usize = 400;
/// A tail that is open and longer than this either is a finding already or never will be.
const HELD: usize = Engine::LONGEST_UNDECIDED;
/// Texts hidden in texts hidden in texts are opened so often.
const DEPTH: u8 = 3;

/// The outcome, in offsets of the text.
pub(crate) struct Pass {
    /// Raw findings; they may overlap.
    pub findings: Vec<Finding>,
    /// From here on, more text could bring, change or take away a finding.
    pub settled: usize,
    /// The first match that is open at the end.
    pub open: Option<Open>,
    /// Bytes that automaton and tails stepped over: what the work of the search is measured by.
    pub steps: usize,
}

impl Pass {
    /// Searches a text that stands under a key.
    pub(crate) fn over(engine: &Engine, text: &str, key: Option<&str>) -> Result<Pass, ScanError> {
        let mut session = engine.automaton.session();
        Search {
            engine,
            session: &mut session,
            key,
            depth: 0,
        }
        .text(text)
    }
}

struct Search<'e, 's> {
    engine: &'e Engine,
    session: &'s mut Session<'e>,
    key: Option<&'s str>,
    depth: u8,
}

impl Search<'_, '_> {
    fn text(&mut self, source: &str) -> Result<Pass, ScanError> {
        let view = View::of(source);
        let text = view.text.as_ref();
        let mut sink = Sink {
            hits: Vec::new(),
            settled: text.len(),
            open: None,
            steps: 0,
        };
        self.heads(text, &mut sink)?;
        self.words(text, &mut sink);
        self.field(text, &mut sink);
        let mut pass = sink.map_back(source, &view);
        self.encoded(source, &mut pass)?;
        if let Some(cut) = view.cut_escape {
            pass.settled = pass.settled.min(cut);
        }
        Ok(pass)
    }

    /// The automaton from every start, and the tail and check of every rule that matches.
    fn heads(&mut self, text: &str, sink: &mut Sink) -> Result<(), ScanError> {
        let bytes = text.as_bytes();
        let mut run = Run::default();
        let mut memo = Memo::default();
        let mut start = 0;
        while let Some(at) = self.engine.automaton.next_start(bytes, start) {
            self.session.run(bytes, at, &mut run)?;
            if run.alive {
                sink.settled = sink.settled.min(at);
            }
            for (index, head) in &run.heads {
                let Some(rule) = self.engine.rules.get(*index) else {
                    continue;
                };
                let extent = memo.extent(rule.tail, text, *head, &mut sink.steps);
                self.consider(rule, text, at, *head, extent, sink);
            }
            start = at + 1;
        }
        sink.steps += run.steps;
        Ok(())
    }

    fn consider(
        &self,
        rule: &Rule,
        text: &str,
        start: usize,
        head: usize,
        extent: Extent,
        sink: &mut Sink,
    ) {
        let (value_at, value_end) = extent.value;
        let judged = floor(text, value_end.min(value_at.saturating_add(JUDGED)));
        let candidate = Candidate {
            text,
            start,
            head,
            end: extent.end,
            value: text.get(value_at..judged).unwrap_or_default(),
            value_at,
            value_end,
            quote: extent.quote,
            context: Context::at(text, start, self.key),
        };
        if !may_follow(rule.left, candidate.previous()) {
            return;
        }
        let hit = match rule.judge {
            Judge::Always(score) => candidate.whole(rule.label, score),
            Judge::Check(check) => check(&candidate),
        };
        let long = extent.end.saturating_sub(start) > HELD;
        let undecided = extent.open || extent.end + LOOK_AHEAD > text.len();
        if undecided && (hit.is_some() || !long) {
            sink.settled = sink.settled.min(start);
        }
        if let Some(hit) = hit {
            if extent.open && long {
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

    fn words(&self, text: &str, sink: &mut Sink) {
        let Some(lexicon) = &self.engine.lexicon else {
            return;
        };
        let found = lexicon.find(text);
        sink.settled = sink.settled.min(found.settled);
        sink.hits
            .extend(found.hits.into_iter().map(|hit| (hit, "dictionary")));
    }

    /// A text that is the whole value of a key such as `password`.
    fn field(&self, text: &str, sink: &mut Sink) {
        let Some(key) = self.key.filter(|_| self.depth == 0) else {
            return;
        };
        if text.len() > JUDGED || !rules::names_secret(key) {
            return;
        }
        sink.settled = 0;
        let value = text.trim();
        if let Some((label, score)) = rules::under_key(key, value) {
            let start = text.len() - text.trim_start().len();
            let hit = Hit {
                start,
                end: start + value.len(),
                label,
                score,
                certain: false,
            };
            sink.hits.push((hit, "field"));
        }
    }

    /// Opens base64 and hex runs and searches what they hide; the finding covers the run.
    fn encoded(&mut self, source: &str, pass: &mut Pass) -> Result<(), ScanError> {
        let mut last = source.len();
        for run in encoded::runs(source) {
            last = run.end;
            if !self.encoded_run(source, run, pass)? {
                for part in encoded::parts(source, run) {
                    self.encoded_run(source, part, pass)?;
                }
            }
        }
        // A run that is still too short to be one.
        let tail = source
            .get(source.len().saturating_sub(24)..)
            .map_or(source.len(), |_| source.len());
        let short = source
            .as_bytes()
            .iter()
            .rev()
            .take(24)
            .take_while(|b| Class::Base64.holds(**b))
            .count();
        if last != source.len() || short > 0 {
            let start = tail - short;
            let begun = short < 24;
            if begun {
                pass.settled = pass.settled.min(start);
            }
        }
        Ok(())
    }

    fn encoded_run(
        &mut self,
        source: &str,
        run: encoded::Run,
        pass: &mut Pass,
    ) -> Result<bool, ScanError> {
        let Some(text) = source.get(run.start..run.end) else {
            return Ok(false);
        };
        let touches = run.end + LOOK_AHEAD > source.len();
        if touches && (text.len() < encoded::CLEAR || encoded::promising(text)) {
            pass.settled = pass.settled.min(run.start);
            if text.len() > HELD && encoded::promising(text) {
                let tail = Tail::Run(Class::Base64);
                let open = Open {
                    start: run.start,
                    label: Label::ENCODED,
                    rule: "encoded",
                    tail,
                    quote: None,
                };
                pass.opens(open);
            }
        }
        let Some(hidden) = encoded::decode(text).filter(|_| self.depth < DEPTH) else {
            return Ok(false);
        };
        self.depth += 1;
        let inner = self.text(&hidden);
        self.depth -= 1;
        let best = inner?
            .findings
            .into_iter()
            .max_by_key(|finding| finding.score);
        if let Some(best) = best {
            let score = best.score.max(96);
            pass.findings.push(Finding {
                start: run.start,
                end: run.end,
                score,
                ..best
            });
        }
        Ok(best.is_some())
    }
}

/// Tails that were read already: starts inside one run of a class share its end, which keeps the
/// work linear.
#[derive(Default)]
struct Memo {
    known: Vec<(Tail, usize, Extent)>,
}

impl Memo {
    fn extent(&mut self, tail: Tail, text: &str, head: usize, steps: &mut usize) -> Extent {
        if tail == Tail::Value || tail == Tail::None {
            let extent = tail::read(tail, text, head);
            *steps += extent.end - head;
            return extent;
        }
        let reusable = |(known, from, extent): &&(Tail, usize, Extent)| {
            *known == tail && *from <= head && head <= extent.end
        };
        if let Some((.., extent)) = self.known.iter().find(reusable) {
            return Extent {
                value: (head, extent.end),
                ..*extent
            };
        }
        let extent = tail::read(tail, text, head);
        *steps += extent.end - head;
        self.known.retain(|(known, ..)| *known != tail);
        self.known.push((tail, head, extent));
        extent
    }
}

fn may_follow(left: Left, before: Option<u8>) -> bool {
    match (left, before) {
        (Left::Any, _) | (_, None) => true,
        (Left::Number, Some(b)) => !b.is_ascii_alphanumeric() && b != b'.' && b != b'_',
        (Left::Token, Some(b)) => !b.is_ascii_alphanumeric() && b != b'_' && b != b'-',
    }
}

fn floor(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// The outcome in offsets of the view.
struct Sink {
    hits: Vec<(Hit, &'static str)>,
    settled: usize,
    open: Option<Open>,
    steps: usize,
}

impl Sink {
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
