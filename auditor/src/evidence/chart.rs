//! Two charts as SVG inside the page: requests over the period, and what was found by type.

use std::fmt::Write as _;

use gatehouse_ledger::clock::rfc3339;

use super::markup::escape;
use crate::{cli::Failure, scan::Period, views::Database};

/// Into so many parts a period is cut.
const PARTS: usize = 30;
/// So many types are shown; the rest is one bar.
const LABELS: usize = 14;
/// The colours of the keys in the page's style; here again, since not every reader of SVG knows it.
const ADMITTED: &str = "#2f6f9f";
const REFUSED: &str = "#d08a2e";
/// In the units of the view box, which the page scales.
const WIDTH: u64 = 720;
const HEIGHT: u64 = 150;
const BAR: u64 = 20;
/// Where bars begin that have words before them.
const MARGIN: u64 = 190;

/// Requests over the period, refused ones on top of admitted ones.
pub(super) fn requests(database: &Database, period: Period) -> Result<String, Failure> {
    let parts = parts(database, period)?;
    let most = parts.iter().map(|(a, r)| a + r).max().unwrap_or(0).max(1);
    let (admitted, refused) = parts
        .iter()
        .fold((0, 0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
    let mut out = open(HEIGHT + 26, "Requests over the period");
    let step = WIDTH / PARTS as u64;
    for (index, (admitted, refused)) in (0u64..).zip(parts) {
        let scaled = |count| scale(count, HEIGHT, most);
        let (low, high) = (scaled(admitted), scaled(refused));
        for (fill, height, below) in [(ADMITTED, low, 0), (REFUSED, high, low)] {
            if height > 0 {
                let (x, y) = (index * step, HEIGHT - below - height);
                let width = step - 3;
                let _ = write!(
                    out,
                    "<rect fill=\"{fill}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"/>"
                );
            }
        }
    }
    let (y, end) = (HEIGHT + 18, WIDTH);
    let _ = write!(
        out,
        "<path stroke=\"#5b6570\" d=\"M0 {HEIGHT}H{WIDTH}\"/>\
         <text x=\"0\" y=\"{y}\">{}</text><text x=\"{end}\" y=\"{y}\" text-anchor=\"end\">{}</text></svg>\
         <p class=\"key\"><span class=\"admitted\"></span> {admitted} admitted \
         <span class=\"refused\"></span> {refused} refused; the highest bar is {most}</p>",
        rfc3339(period.from_us),
        rfc3339(period.to_us),
    );
    Ok(out)
}

/// How many requests were admitted and refused in each part of the period.
fn parts(database: &Database, period: Period) -> Result<Vec<(u64, u64)>, Failure> {
    let sql = "SELECT (ts_us - ?1) * ?3 / (?2 - ?1), kind, count(*) FROM records
        WHERE kind IN ('exchange.admitted', 'exchange.refused') AND ts_us >= ?1 AND ts_us < ?2
        GROUP BY 1, 2";
    let mut parts = vec![(0, 0); PARTS];
    let mut statement = database.connection().prepare(sql)?;
    let mut rows = statement.query((bound(period.from_us), bound(period.to_us), PARTS as i64))?;
    while let Some(row) = rows.next()? {
        let (index, count): (i64, i64) = (row.get(0)?, row.get(2)?);
        let index = usize::try_from(index).unwrap_or(usize::MAX);
        let Some(part) = parts.get_mut(index) else {
            continue;
        };
        match row.get::<_, String>(1)?.as_str() {
            "exchange.admitted" => part.0 += count.unsigned_abs(),
            _ => part.1 += count.unsigned_abs(),
        }
    }
    Ok(parts)
}

/// What was found in requests and masked in replies, by type.
pub(super) fn redactions(database: &Database, period: Period) -> Result<String, Failure> {
    let labels = labels(database, period)?;
    if labels.is_empty() {
        return Ok("<p>Nothing was found in the period.</p>".into());
    }
    let most = labels
        .iter()
        .map(|l| l.1.saturating_add(l.2))
        .max()
        .unwrap_or(0)
        .max(1);
    let mut out = open(labels.len() as u64 * BAR, "Values found, by type");
    for (index, (label, found, masked)) in (0u64..).zip(&labels) {
        let (y, text) = (index * BAR, index * BAR + 14);
        let room = WIDTH - MARGIN - 60;
        let (left, right) = (scale(*found, room, most), scale(*masked, room, most));
        let (next, after) = (MARGIN + left, MARGIN + left + right + 6);
        let _ = write!(
            out,
            "<text x=\"{}\" y=\"{text}\" text-anchor=\"end\">{}</text>\
             <rect fill=\"{ADMITTED}\" x=\"{MARGIN}\" y=\"{}\" width=\"{left}\" height=\"{}\"/>\
             <rect fill=\"{REFUSED}\" x=\"{next}\" y=\"{}\" width=\"{right}\" height=\"{}\"/>\
             <text x=\"{after}\" y=\"{text}\">{}</text>",
            MARGIN - 8,
            escape(label),
            y + 3,
            BAR - 6,
            y + 3,
            BAR - 6,
            found.saturating_add(*masked),
        );
    }
    out.push_str(
        "</svg><p class=\"key\"><span class=\"admitted\"></span> found in requests, once for each \
         time that one was sent <span class=\"refused\"></span> masked in replies</p>",
    );
    Ok(out)
}

/// Label, found in requests, masked in replies: the most frequent first.
fn labels(database: &Database, period: Period) -> Result<Vec<(String, u64, u64)>, Failure> {
    let sql = "SELECT l.label, sum(CASE WHEN l.place = 'red_found' THEN l.n ELSE 0 END),
          sum(CASE WHEN l.place = 'reply_masked' THEN l.n ELSE 0 END)
        FROM labels l JOIN records r ON r.w = l.w AND r.seq = l.seq
        WHERE l.place IN ('red_found', 'reply_masked') AND r.ts_us >= ?1 AND r.ts_us < ?2
        GROUP BY l.label ORDER BY 2 DESC, 1";
    let mut found: Vec<(String, u64, u64)> = Vec::new();
    let mut statement = database.connection().prepare(sql)?;
    let mut rows = statement.query((bound(period.from_us), bound(period.to_us)))?;
    while let Some(row) = rows.next()? {
        let (count, masked): (i64, i64) = (row.get(1)?, row.get(2)?);
        let one = (row.get(0)?, count.unsigned_abs(), masked.unsigned_abs());
        if found.len() < LABELS {
            found.push(one);
        } else if let Some(last) = found.last_mut() {
            *last = (
                "others".into(),
                last.1.saturating_add(one.1),
                last.2.saturating_add(one.2),
            );
        }
    }
    Ok(found)
}

/// A bar's length: `most` fills the `room`.
fn scale(count: u64, room: u64, most: u64) -> u64 {
    let length = u128::from(count) * u128::from(room) / u128::from(most.max(1));
    u64::try_from(length).unwrap_or(room)
}

fn bound(us: u64) -> i64 {
    i64::try_from(us).unwrap_or(i64::MAX)
}

fn open(height: u64, title: &str) -> String {
    format!(
        "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{title}\">\
         <title>{title}</title>"
    )
}
