//! Text hidden in runs of base64, hex and tag characters: opened, searched, found as a whole run.

use super::{LOOK_AHEAD, Pass, Search};
use crate::encoded;
use crate::finding::{Finding, Open, ScanError};
use crate::label::Label;
use crate::rule::{Class, Tail};

/// Texts hidden in texts hidden in texts are opened so often.
const DEPTH: u8 = 3;
/// What a run that hides a value is worth at least: it must not lose against what its characters
/// look like by chance.
const SCORE: u8 = 96;

impl Search<'_, '_> {
    /// Searches what runs of the source hide; a finding covers its whole run.
    pub(super) fn hidden(&mut self, source: &str, pass: &mut Pass) -> Result<(), ScanError> {
        for run in encoded::runs(source) {
            if !self.run(source, run, pass)? {
                for part in encoded::parts(source, run) {
                    self.run(source, part, pass)?;
                }
            }
        }
        if self.growing {
            pass.settled = pass.settled.min(encoded::begun(source));
        }
        self.tags(source, pass)
    }

    /// Searches what runs of Unicode tag characters stand for; nobody sees them, models read them.
    fn tags(&mut self, source: &str, pass: &mut Pass) -> Result<(), ScanError> {
        for (run, inner) in encoded::tag_runs(source) {
            if run.end == source.len() {
                pass.settled = pass.settled.min(run.start);
            }
            if self.depth < DEPTH && inner.len() >= encoded::SHORTEST_TAGS {
                let found = self.inner(&inner)?;
                take(found, run, pass);
            }
        }
        Ok(())
    }

    fn inner(&mut self, text: &str) -> Result<Pass, ScanError> {
        self.depth += 1;
        // Only what is found counts.
        let growing = std::mem::replace(&mut self.growing, false);
        let found = self.text(text);
        self.growing = growing;
        self.depth -= 1;
        found
    }

    /// Whether the run hides a value.
    fn run(&mut self, source: &str, run: encoded::Run, pass: &mut Pass) -> Result<bool, ScanError> {
        let Some(text) = source.get(run.start..run.end) else {
            return Ok(false);
        };
        let growing = run.end + LOOK_AHEAD > source.len();
        let promising = growing && encoded::promising(text);
        if growing && (promising || text.len() < encoded::CLEAR) {
            pass.settled = pass.settled.min(run.start);
        }
        if promising && text.len() >= encoded::CLEAR {
            let (label, tail) = (Label::ENCODED, Tail::Run(Class::Base64));
            pass.opens(Open {
                start: run.start,
                label,
                rule: "encoded",
                tail,
                quote: None,
            });
        }
        if self.depth >= DEPTH {
            return Ok(false);
        }
        let Some(inner) = encoded::decode(text) else {
            return Ok(false);
        };
        let found = self.inner(&inner)?;
        Ok(take(found, run, pass))
    }
}

/// Takes what was found in a run as one finding over all of it. Returns whether there was any.
fn take(found: Pass, run: encoded::Run, pass: &mut Pass) -> bool {
    pass.steps += found.steps;
    let best = found
        .findings
        .into_iter()
        .max_by_key(|finding| finding.score);
    if let Some(best) = best {
        pass.findings.push(Finding {
            start: run.start,
            end: run.end,
            score: best.score.max(SCORE),
            ..best
        });
    }
    best.is_some()
}
