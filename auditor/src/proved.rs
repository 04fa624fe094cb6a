//! A log that is verified and then read again: what was not proved the first time, or changed since, is
//! not there the second time.

use std::collections::HashMap;

use gatehouse_ledger::{
    read::{Entry, records},
    store::Fetcher,
    verify::{Report, Verifier},
};

use crate::{cli::Failure, progress::Bar, views::First};

/// A log and what it proves.
pub(crate) struct Proved<'l> {
    first: First<'l>,
    pub(crate) report: Report,
}

impl<'l> Proved<'l> {
    /// Verifies a log.
    pub(crate) fn read(log: &'l dyn Fetcher, verifier: Verifier<'_>) -> Self {
        let first = First::new(log);
        let mut bar = Bar::new("segments");
        let report = verifier.verify(&first, |progress| {
            bar.show(progress.segments, progress.of);
        });
        Self { first, report }
    }

    /// Visits the records that are proved, stream by stream.
    ///
    /// # Errors
    /// The log could not be read, or the visitor's own.
    pub(crate) fn records(
        &self,
        mut visit: impl FnMut(&Entry<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let streams = self.report.streams.iter();
        let proved: HashMap<&str, u64> = streams.map(|s| (s.writer.as_str(), s.records)).collect();
        let mut failure = None;
        let read = records(&self.first.second(), |entry| {
            let known = proved.get(entry.writer).copied().unwrap_or(0);
            if failure.is_none() && entry.seq < known {
                failure = visit(entry).err();
            }
        });
        read.map_err(|error| Failure::Read(error.to_string()))?;
        failure.map_or(Ok(()), Err)
    }
}
