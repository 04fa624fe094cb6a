//! Text hidden in runs of base64 and hex: opened, searched, found as a whole run.

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
        pass.settled = pass.settled.min(encoded::begun(source));
        Ok(())
    }

    /// Whether the run hides a value.
    fn run(&mut self, source: &str, run: encoded::Run, pass: &mut Pass) -> Result<bool, ScanError> {
        let Some(text) = source.get(run.start..run.end) else {
            return Ok(false);
        };
        let promising = encoded::promising(text);
        let growing = run.end + LOOK_AHEAD > source.len();
        if growing && (promising || text.len() < encoded::CLEAR) {
            pass.settled = pass.settled.min(run.start);
        }
        if growing && promising && text.len() >= encoded::CLEAR {
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
        self.depth += 1;
        let found = self.text(&inner);
        self.depth -= 1;
        let found = found?;
        pass.steps += found.steps;
        let best = found
            .findings
            .into_iter()
            .max_by_key(|finding| finding.score);
        if let Some(best) = best {
            let score = best.score.max(SCORE);
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
