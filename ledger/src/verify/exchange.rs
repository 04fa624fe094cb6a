//! Exchanges: each that was admitted should be settled. One that is not is a crash, or still runs;
//! neither makes the log less sound, so it is a finding.

use std::collections::HashMap;

use super::{Finding, Report, segment::Record};

/// Exchanges of which one of the two records was seen; most are forgotten as soon as both were.
#[derive(Default)]
pub(super) struct Exchanges(HashMap<Box<str>, Half>);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Half {
    Admitted,
    Settled,
}

impl Exchanges {
    pub(super) fn add(&mut self, record: &Record<'_>) {
        let half = match record.kind {
            "exchange.admitted" => Half::Admitted,
            "exchange.settled" => Half::Settled,
            _ => return,
        };
        let Some(request) = record.request else {
            return;
        };
        match self.0.get(request) {
            Some(other) if *other != half => drop(self.0.remove(request)),
            Some(_) => {}
            None => drop(self.0.insert(request.into(), half)),
        }
    }

    pub(super) fn finish(self, report: &mut Report) {
        let mut halves: Vec<_> = self.0.into_iter().collect();
        halves.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        for (request, half) in halves {
            let finding = match half {
                Half::Admitted => Finding::NotSettled,
                Half::Settled => Finding::NotAdmitted,
            };
            report.finding(&request, finding);
        }
    }
}
