//! From a log to the views: verified first, then read again into the database, one record at a time.

use std::{collections::HashMap, path::Path};

use gatehouse_ledger::{
    names::Name,
    read::{Entry, records},
    store::Fetcher,
    verify::{Report, State, StreamReport, Verifier},
};

use super::{
    Cell, Database, Row, Table,
    flatten::{Flat, flatten},
    gaps::{self, Check},
    lint::Lint,
    twice::First,
};
use crate::{cli::Failure, progress::Bar};

/// Of so many records the lints' findings are kept; a log with more is broken anyway.
const MAX_LINTS: usize = 10_000;

/// A log in the views.
pub(crate) struct Loaded {
    pub(crate) database: Database,
    pub(crate) report: Report,
    /// The time of the first record; 0 if there is none.
    pub(crate) first_us: u64,
    /// The time past which the log proves nothing; 0 if there is no record.
    pub(crate) horizon_us: u64,
    pub(crate) records: u64,
}

/// Verifies `log` and fills the views with what was verified.
pub(crate) fn load(
    log: &dyn Fetcher,
    verifier: Verifier<'_>,
    file: Option<&Path>,
) -> Result<Loaded, Failure> {
    let mut database = Database::create(file)?;
    let first = First::new(log);
    let mut bar = Bar::new("segments");
    let report = verifier.verify(&first, |progress| {
        bar.show(progress.segments, progress.of);
    });
    drop(bar);
    let mut filling = Filling::new(&mut database, &report)?;
    let read = records(&first.second(), |entry| filling.record(entry));
    read.map_err(|error| Failure::Read(error.to_string()))?;
    let Filling {
        failure,
        loaded,
        first_us,
        checks,
        ..
    } = filling;
    if let Some(failure) = failure {
        return Err(failure);
    }
    database.index()?;
    let horizon_us = horizon(&report.streams);
    let segments = segments(log)?;
    for check in checks {
        gaps::put(&mut database, &check)?;
    }
    gaps::write(&mut database, &report, &segments, loaded, horizon_us)?;
    database.finish()?;
    Ok(Loaded {
        database,
        report,
        first_us,
        horizon_us,
        records: loaded,
    })
}

/// Until when every stream is there: an open one may go on behind what was seen of it.
fn horizon(streams: &[StreamReport]) -> u64 {
    let times = |open: bool| {
        let wanted = move |stream: &&StreamReport| {
            stream.records > 0 && (!open || stream.state == State::Open)
        };
        streams.iter().filter(wanted).map(|stream| stream.last_us)
    };
    times(true).min().or(times(false).max()).unwrap_or(0)
}

/// Writer, first number and name of every segment, in order.
pub(super) type SegmentName = (String, u64, String);

fn segments(log: &dyn Fetcher) -> Result<Vec<SegmentName>, Failure> {
    let listed = log.survey("log/");
    let listed = listed.map_err(|error| Failure::Read(error.to_string()))?;
    let mut found: Vec<SegmentName> = listed
        .objects
        .into_iter()
        .filter_map(|object| match Name::parse(&object.name) {
            Name::Segment {
                writer, first_seq, ..
            } => Some((writer, first_seq, object.name)),
            _ => None,
        })
        .collect();
    found.sort();
    Ok(found)
}

/// The database while records come in.
struct Filling<'d> {
    database: &'d mut Database,
    lint: Lint,
    bar: Bar,
    all: u64,
    /// How many records of each stream were verified.
    proved: HashMap<&'d str, u64>,
    loaded: u64,
    first_us: u64,
    checks: Vec<Check>,
    failure: Option<Failure>,
}

impl<'d> Filling<'d> {
    fn new(database: &'d mut Database, report: &'d Report) -> Result<Self, Failure> {
        let streams = report.streams.iter();
        Ok(Self {
            database,
            lint: Lint::new()?,
            bar: Bar::new("records"),
            all: report.records,
            proved: streams.map(|s| (s.writer.as_str(), s.records)).collect(),
            loaded: 0,
            first_us: 0,
            checks: Vec::new(),
            failure: None,
        })
    }

    fn record(&mut self, entry: &Entry<'_>) {
        let proved = self.proved.get(entry.writer).copied().unwrap_or(0);
        if self.failure.is_some() || entry.seq >= proved {
            return;
        }
        match self.add(entry) {
            Ok(()) => {
                self.loaded += 1;
                self.bar.show(self.loaded, self.all);
            }
            Err(failure) => self.failure = Some(failure),
        }
    }

    fn add(&mut self, entry: &Entry<'_>) -> Result<(), Failure> {
        let Some(flat) = flatten(entry.line) else {
            return Ok(());
        };
        if self.first_us == 0 || entry.unix_us < self.first_us {
            self.first_us = entry.unix_us;
        }
        self.database.put(Table::Records, &flat.row)?;
        for (place, label, count) in &flat.labels {
            let row: Row = vec![
                ("w".into(), Cell::Text(entry.writer.into())),
                ("seq".into(), gaps::integer(entry.seq)),
                ("place".into(), Cell::Text(place.clone())),
                ("label".into(), Cell::Text(label.clone())),
                ("n".into(), Cell::Integer(*count)),
            ];
            self.database.put(Table::Labels, &row)?;
        }
        self.lints(entry, &flat);
        Ok(())
    }

    fn lints(&mut self, entry: &Entry<'_>, flat: &Flat) {
        let mut found = self.lint.check(&flat.row);
        found.extend(self.lint.check(&flat.loose));
        if flat.clash {
            found.push("two fields have one name".into());
        }
        for detail in found {
            if self.checks.len() < MAX_LINTS {
                self.checks.push(Check {
                    name: "lint",
                    place: format!("{}/{}", entry.writer, entry.seq),
                    verdict: "broken",
                    detail,
                    first_us: entry.unix_us,
                    last_us: entry.unix_us,
                });
            }
        }
    }
}
