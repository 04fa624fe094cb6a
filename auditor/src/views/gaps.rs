//! The view `checks`: what the verifier says of segments, streams and sessions, and the gaps: times
//! for which the log cannot say whether something happened.

use std::collections::{HashMap, HashSet};

use gatehouse_ledger::verify::{Doubt, Report, State, StreamReport};
use rusqlite::OptionalExtension;

use super::{Cell, Database, FOREVER, Row, Table, load::SegmentName};
use crate::cli::Failure;

/// Of streams, and of what stands behind such a place in them.
const HIDDEN: &str = "what is missing may be in a folder that could not be read";

/// A row of `checks`.
pub(super) struct Check {
    pub(super) name: &'static str,
    pub(super) place: String,
    pub(super) verdict: &'static str,
    pub(super) detail: String,
    pub(super) first_us: u64,
    pub(super) last_us: u64,
}

/// Integers of the log are below 2^53.
pub(super) fn integer(value: u64) -> Cell {
    Cell::Integer(i64::try_from(value).unwrap_or(i64::MAX))
}

pub(super) fn put(database: &mut Database, check: &Check) -> Result<(), Failure> {
    let row: Row = vec![
        ("name".into(), Cell::Text(check.name.into())),
        ("place".into(), Cell::Text(check.place.clone())),
        ("verdict".into(), Cell::Text(check.verdict.into())),
        ("detail".into(), Cell::Text(check.detail.clone())),
        ("first_us".into(), integer(check.first_us)),
        ("last_us".into(), integer(check.last_us)),
    ];
    database.put(Table::Checks, &row)
}

/// Writes the verifier's rows.
pub(super) fn write(
    database: &mut Database,
    report: &Report,
    segments: &[SegmentName],
    loaded: u64,
    horizon_us: u64,
) -> Result<(), Failure> {
    let mut writing = Writing {
        streams: report
            .streams
            .iter()
            .map(|stream| (stream.writer.as_str(), stream))
            .collect(),
        database,
    };
    for stream in &report.streams {
        writing.stream(stream)?;
    }
    writing.segments(report, segments)?;
    writing.faults(report, segments)?;
    writing.doubts(report)?;
    if loaded < report.records {
        writing.gap("", "the log changed while it was read", 0, FOREVER)?;
    }
    let past = "nothing is proved past the horizon";
    writing.gap("", past, horizon_us.saturating_add(1), FOREVER)
}

struct Writing<'w> {
    database: &'w mut Database,
    streams: HashMap<&'w str, &'w StreamReport>,
}

impl Writing<'_> {
    fn gap(&mut self, place: &str, why: &str, from_us: u64, to_us: u64) -> Result<(), Failure> {
        let check = Check {
            name: "gap",
            place: place.to_owned(),
            verdict: "could_not_tell",
            detail: why.to_owned(),
            first_us: from_us,
            last_us: to_us,
        };
        put(self.database, &check)
    }

    fn stream(&mut self, stream: &StreamReport) -> Result<(), Failure> {
        let (verdict, detail) = match stream.state {
            State::Broken => ("broken", "the stream cannot be followed to its end"),
            State::Closed => ("closed", "whole"),
            State::Open if stream.hidden => ("open", HIDDEN),
            State::Open => ("open", "whole so far"),
            State::Recovered => ("recovered", "whole; its process died"),
        };
        let sql = "SELECT min(ts_us) FROM records WHERE w = ?1";
        let first: Option<i64> =
            self.database
                .connection()
                .query_row(sql, [&stream.writer], |row| row.get(0))?;
        let broken = stream.state == State::Broken;
        let check = Check {
            name: "stream",
            place: stream.writer.clone(),
            verdict,
            detail: detail.to_owned(),
            first_us: first.unwrap_or(0).unsigned_abs(),
            last_us: if broken { FOREVER } else { stream.last_us },
        };
        put(self.database, &check)?;
        if broken {
            // What stands behind the fault is in no view.
            self.gap(&stream.writer, detail, stream.last_us, FOREVER)?;
        }
        Ok(())
    }

    fn segments(&mut self, report: &Report, segments: &[SegmentName]) -> Result<(), Failure> {
        let faults: HashMap<&str, String> = report
            .faults
            .iter()
            .map(|fault| (fault.place.as_str(), fault.what.to_string()))
            .collect();
        for (index, (writer, first, name)) in segments.iter().enumerate() {
            let next = segments
                .get(index + 1)
                .filter(|(other, _, _)| other == writer)
                .map_or(FOREVER, |(_, next, _)| *next);
            let Some(stream) = self.streams.get(writer.as_str()).copied() else {
                continue;
            };
            let (verdict, detail) = match faults.get(name.as_str()) {
                Some(fault) => ("broken", fault.clone()),
                None if *first < stream.records => ("holds", String::new()),
                None if stream.state == State::Broken => {
                    ("not_checked", "behind a fault".to_owned())
                }
                None if stream.hidden => ("not_checked", HIDDEN.to_owned()),
                // It came while the log was read.
                None => continue,
            };
            let (first_us, last_us) = match verdict {
                "holds" => self.times(writer, *first, next)?,
                _ => (stream.last_us, FOREVER),
            };
            let check = Check {
                name: "segment",
                place: name.clone(),
                verdict,
                detail,
                first_us,
                last_us,
            };
            put(self.database, &check)?;
        }
        Ok(())
    }

    /// When the records of a segment were written.
    fn times(&self, writer: &str, first: u64, next: u64) -> Result<(u64, u64), Failure> {
        let sql = "SELECT (SELECT ts_us FROM records WHERE w = ?1 AND seq = ?2),
            (SELECT ts_us FROM records WHERE w = ?1 AND seq < ?3 ORDER BY seq DESC LIMIT 1)";
        let bound = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        let mut statement = self.database.connection().prepare_cached(sql)?;
        let times: (Option<i64>, Option<i64>) = statement
            .query_row((writer, bound(first), bound(next)), |row| {
                Ok((row.get(0)?, row.get(1)?))
            })?;
        let unsigned = |time: Option<i64>| time.unwrap_or(0).unsigned_abs();
        Ok((unsigned(times.0), unsigned(times.1)))
    }

    /// Faults of sessions, and of objects that are no segment.
    fn faults(&mut self, report: &Report, segments: &[SegmentName]) -> Result<(), Failure> {
        let segments: HashSet<&str> = segments.iter().map(|(_, _, name)| name.as_str()).collect();
        for fault in &report.faults {
            if segments.contains(fault.place.as_str()) {
                continue;
            }
            let session = self.session(&fault.place)?;
            let (name, (first_us, last_us)) = match session {
                Some(times) => ("session", times),
                None => ("object", (0, FOREVER)),
            };
            let check = Check {
                name,
                place: fault.place.clone(),
                verdict: "broken",
                detail: fault.what.to_string(),
                first_us,
                last_us,
            };
            put(self.database, &check)?;
            self.gap(&fault.place, &check.detail, first_us, last_us)?;
        }
        Ok(())
    }

    fn doubts(&mut self, report: &Report) -> Result<(), Failure> {
        for doubt in &report.doubts {
            let why = doubt.what.to_string();
            let (first_us, last_us) = match doubt.what {
                // The horizon says the same, for all streams together.
                Doubt::OpenEnd => continue,
                Doubt::DeclaredGap | Doubt::SessionGap => {
                    self.session(&doubt.place)?.unwrap_or((0, FOREVER))
                }
                _ => (0, FOREVER),
            };
            self.gap(&doubt.place, &why, first_us, last_us)?;
        }
        Ok(())
    }

    /// When the session of this name was used; none if there is none.
    fn session(&self, name: &str) -> Result<Option<(u64, u64)>, Failure> {
        let sql = "SELECT min(ts_us), max(ts_us) FROM records WHERE sid = ?1 GROUP BY sid";
        let mut statement = self.database.connection().prepare_cached(sql)?;
        let times: Option<(i64, i64)> = statement
            .query_row([name], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        Ok(times.map(|(first, last)| (first.unsigned_abs(), last.unsigned_abs())))
    }
}

#[cfg(test)]
mod tests {
    use gatehouse_ledger::verify::Verifier;

    use super::*;
    use crate::{hiding::Hiding, views::load};

    #[test]
    fn a_stream_that_ends_at_a_hidden_folder_is_not_called_whole() {
        let said = |hide: &str| {
            let log = Hiding::log();
            log.hide(hide);
            let loaded = load(&log, Verifier::new(None), None).unwrap();
            let sql = "SELECT name, verdict, detail FROM checks
                WHERE name IN ('segment', 'stream') ORDER BY name DESC";
            let mut statement = loaded.database.connection().prepare(sql).unwrap();
            let rows = statement.query_map([], |row| {
                let text = |at| row.get::<_, String>(at);
                Ok([text(0)?, text(1)?, text(2)?])
            });
            let rows: Vec<[String; 3]> = rows.unwrap().map(Result::unwrap).collect();
            rows
        };
        let row =
            |name: &str, verdict: &str, detail: &str| [name, verdict, detail].map(String::from);
        let segments = said("").len() - 1;
        assert!(segments > 1);
        let with = |stream, segment: [String; 3]| {
            let mut rows = vec![stream];
            rows.resize(1 + segments, segment);
            rows
        };
        let whole = with(
            row("stream", "closed", "whole"),
            row("segment", "holds", ""),
        );
        assert_eq!(said("x"), whole);
        let hidden = with(
            row("stream", "open", HIDDEN),
            row("segment", "not_checked", HIDDEN),
        );
        assert_eq!(said("cert"), hidden);
    }
}
