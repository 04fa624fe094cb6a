//! What the charts show, as numbers: requests over the period, and what was found by type. The same
//! numbers go into the package as CSV, so that a chart can be checked without measuring bars.

use std::io::Write;

use gatehouse_ledger::clock::rfc3339;

use super::csv;
use crate::{cli::Failure, scan::Period, views::Database};

/// Into so many parts a period is cut.
const PARTS: u64 = 30;

/// One part of the period, `from_us` being in it and `to_us` not.
pub(super) struct Part {
    pub(super) from_us: u64,
    pub(super) to_us: u64,
    pub(super) admitted: u64,
    pub(super) refused: u64,
}

/// One type of value.
pub(super) struct Label {
    pub(super) name: String,
    /// In requests, once for each time that a value was sent.
    pub(super) found: u64,
    /// Made up or remembered by a model, and masked in its reply.
    pub(super) masked: u64,
}

/// The numbers of one package.
pub(super) struct Counts {
    pub(super) parts: Vec<Part>,
    /// The most frequent first.
    pub(super) labels: Vec<Label>,
}

impl Counts {
    /// Asks the views.
    pub(super) fn read(database: &Database, period: Period) -> Result<Self, Failure> {
        Ok(Self {
            parts: parts(database, period)?,
            labels: labels(database, period)?,
        })
    }

    /// `charts/requests.csv`.
    pub(super) fn requests_csv(&self, out: &mut dyn Write) -> Result<(), Failure> {
        csv::plain(
            out,
            ["from", "to", "from_us", "to_us", "admitted", "refused"],
        )?;
        for part in &self.parts {
            let numbers = [part.from_us, part.to_us, part.admitted, part.refused];
            let times = [rfc3339(part.from_us), rfc3339(part.to_us)];
            let numbers = numbers.iter().map(u64::to_string);
            csv::plain(out, times.into_iter().chain(numbers))?;
        }
        Ok(())
    }

    /// `charts/values.csv`.
    pub(super) fn values_csv(&self, out: &mut dyn Write) -> Result<(), Failure> {
        csv::plain(out, ["type", "found_in_requests", "masked_in_replies"])?;
        for label in &self.labels {
            let numbers = [label.found.to_string(), label.masked.to_string()];
            csv::plain(out, [label.name.clone()].into_iter().chain(numbers))?;
        }
        Ok(())
    }
}

/// A part begins at the first microsecond whose share of the period reaches it.
fn begin(period: Period, index: u64) -> u64 {
    let length = u128::from(period.to_us.saturating_sub(period.from_us));
    let offset = (u128::from(index) * length).div_ceil(u128::from(PARTS));
    let offset = u64::try_from(offset).unwrap_or(u64::MAX);
    period.from_us.saturating_add(offset)
}

/// How many requests were admitted and refused in each part of the period.
fn parts(database: &Database, period: Period) -> Result<Vec<Part>, Failure> {
    let mut parts: Vec<Part> = (0..PARTS)
        .map(|index| Part {
            from_us: begin(period, index),
            to_us: begin(period, index + 1),
            admitted: 0,
            refused: 0,
        })
        .collect();
    let sql = "SELECT kind, count(*) FROM records
        WHERE kind IN ('exchange.admitted', 'exchange.refused') AND ts_us >= ?1 AND ts_us < ?2
        GROUP BY kind";
    let mut statement = database.connection().prepare(sql)?;
    for part in &mut parts {
        let mut rows = statement.query((bound(part.from_us), bound(part.to_us)))?;
        while let Some(row) = rows.next()? {
            let count = row.get::<_, i64>(1)?.unsigned_abs();
            match row.get::<_, String>(0)?.as_str() {
                "exchange.admitted" => part.admitted = count,
                _ => part.refused = count,
            }
        }
    }
    Ok(parts)
}

/// What was found in requests and masked in replies, by type.
fn labels(database: &Database, period: Period) -> Result<Vec<Label>, Failure> {
    let sql = "SELECT l.label, sum(CASE WHEN l.place = 'red_found' THEN l.n ELSE 0 END),
          sum(CASE WHEN l.place = 'reply_masked' THEN l.n ELSE 0 END)
        FROM labels l JOIN records r ON r.w = l.w AND r.seq = l.seq
        WHERE l.place IN ('red_found', 'reply_masked') AND r.ts_us >= ?1 AND r.ts_us < ?2
        GROUP BY l.label ORDER BY 2 DESC, 3 DESC, 1";
    let mut found = Vec::new();
    let mut statement = database.connection().prepare(sql)?;
    let mut rows = statement.query((bound(period.from_us), bound(period.to_us)))?;
    while let Some(row) = rows.next()? {
        let (count, masked): (i64, i64) = (row.get(1)?, row.get(2)?);
        found.push(Label {
            name: row.get(0)?,
            found: count.unsigned_abs(),
            masked: masked.unsigned_abs(),
        });
    }
    Ok(found)
}

fn bound(us: u64) -> i64 {
    i64::try_from(us).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_cover_the_period_and_do_not_overlap() {
        for (from_us, to_us) in [(0, 30), (7, 8), (100, 1_000_003), (5, 5 + 31)] {
            let period = Period { from_us, to_us };
            assert_eq!(begin(period, 0), from_us);
            assert_eq!(begin(period, PARTS), to_us);
            for index in 0..PARTS {
                let (this, next) = (begin(period, index), begin(period, index + 1));
                assert!(this <= next && next - this <= (to_us - from_us).div_ceil(PARTS));
            }
        }
    }
}
