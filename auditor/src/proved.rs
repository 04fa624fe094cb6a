//! A log that is verified and then read again: what was not proved the first time, or changed since, is
//! not there the second time.

use std::collections::HashMap;

use gatehouse_ledger::{
    names::Name,
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
    /// The log could not be read, or not all of what could be the first time; or the visitor's own.
    pub(crate) fn records(
        &self,
        mut visit: impl FnMut(&Entry<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let streams = self.report.streams.iter();
        let proved: HashMap<&str, u64> = streams.map(|s| (s.writer.as_str(), s.records)).collect();
        let (mut failure, mut visited) = (None, 0u64);
        let read = records(&self.first.second(), |entry| {
            let known = proved.get(entry.writer).copied().unwrap_or(0);
            if failure.is_none() && entry.seq < known {
                failure = visit(entry).err();
                visited += 1;
            }
        });
        let unread = read.map_err(|error| Failure::Read(error.to_string()))?;
        if let Some(failure) = failure {
            return Err(failure);
        }
        // Of segments that cannot be read the records are missed; what of folders is new is in no report.
        let is_folder = |name: &str| !matches!(Name::parse(name), Name::Segment { .. });
        let is_new = |name: &&String| is_folder(name) && !self.report.is_hidden(name);
        if let Some(folder) = unread.iter().find(is_new) {
            return Err(Failure::Read(format!("{folder}: could not be read again")));
        }
        if visited < self.report.records {
            let why = format!(
                "the log changed while it was read: {visited} of {} records were there again",
                self.report.records
            );
            return Err(Failure::Read(why));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hiding::Hiding;

    #[test]
    fn what_cannot_be_read_again_is_told() {
        let folders = |log: &Hiding| -> Vec<String> { log.folders("log/").into_iter().collect() };
        let records = |log: &Hiding, hide: &str| {
            let proved = Proved::read(log, Verifier::new(None));
            let (mut visited, whole) = (0, proved.report.records);
            log.hide(hide);
            let read = proved.records(|_| {
                visited += 1;
                Ok(())
            });
            (read, visited, whole)
        };
        let (read, visited, whole) = records(&Hiding::log(), "");
        assert!(read.is_ok() && visited == whole && whole > 0);
        // All of it, a day, a stream.
        for place in 0..3 {
            let log = Hiding::log();
            let folder = &folders(&log)[place];
            let (read, visited, whole) = records(&log, folder);
            assert!(visited < whole, "{folder}");
            let Err(Failure::Read(why)) = read else {
                panic!("{folder} is passed over");
            };
            assert!(why.starts_with(folder), "{why}");
        }
        // What was known from the start is in the report, and no other matter now.
        let log = Hiding::log();
        let folder = &folders(&log)[2];
        log.hide(folder);
        assert!(records(&log, folder).0.is_ok());
        // A segment that is another one now.
        let log = Hiding::log();
        let proved = Proved::read(&log, Verifier::new(None));
        log.damage();
        let read = proved.records(|_| Ok(()));
        assert!(matches!(read, Err(Failure::Read(why)) if why.contains("changed while")));
    }
}
