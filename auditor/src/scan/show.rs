//! The results of a scan as text, JSON and SARIF.

use std::fmt::Write as _;

use gatehouse_ledger::clock::rfc3339;
use serde_json::{Map, Value, json};

use super::{Outcome, Period, Tested, exit_code};
use crate::views::{Cell, Loaded};

/// Exceptions shown of each control as text.
const SHOWN: usize = 5;

/// For people.
pub(super) fn text(tested: &[Tested<'_>], loaded: &Loaded, period: Period) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{} records in {} streams; period {} to {}; nothing is proved past {}\n",
        loaded.records,
        loaded.report.streams.len(),
        rfc3339(period.from_us),
        rfc3339(period.to_us),
        rfc3339(loaded.horizon_us),
    );
    for one in tested {
        let _ = writeln!(
            out,
            "{:<13} {:<6} {}: population {}, exceptions {}",
            one.outcome.word(),
            one.control.id,
            one.control.title,
            one.population,
            one.exceptions.count
        );
        for exception in one.exceptions.first.iter().take(SHOWN) {
            let _ = writeln!(out, "              {}", line(exception));
        }
        let more = one.exceptions.count.saturating_sub(SHOWN as u64);
        if more > 0 {
            let _ = writeln!(out, "              and {more} more");
        }
        if one.outcome == Outcome::Inconclusive {
            for gap in one.gaps.iter().take(SHOWN) {
                let _ = writeln!(out, "              {}", gap.escape_debug());
            }
        }
    }
    let _ = writeln!(out, "\n{}", tally(tested));
    out
}

/// How many controls said what.
pub(crate) fn tally(tested: &[Tested<'_>]) -> String {
    let of = |outcome| tested.iter().filter(|one| one.outcome == outcome).count();
    format!(
        "{} controls: {} pass, {} fail, {} not tested, {} inconclusive",
        tested.len(),
        of(Outcome::Pass),
        of(Outcome::Fail),
        of(Outcome::NotTested),
        of(Outcome::Inconclusive)
    )
}

/// One exception in a line, safe to show on a terminal.
pub(crate) fn line(cells: &[(String, Cell)]) -> String {
    let shown = cells.iter().map(|(name, cell)| match cell {
        Cell::Integer(number) => format!("{name}={number}"),
        Cell::Text(text) => format!("{name}={}", text.escape_debug()),
    });
    shown.collect::<Vec<_>>().join(" ")
}

/// For programs, and in evidence.
pub(crate) fn results(tested: &[Tested<'_>], loaded: &Loaded, period: Period) -> Value {
    let controls: Vec<Value> = tested.iter().map(result).collect();
    json!({
        "gatehouse_results": 1,
        "exit": exit_code(tested),
        "period": { "from": rfc3339(period.from_us), "to": rfc3339(period.to_us) },
        "first_record": rfc3339(loaded.first_us),
        "horizon": rfc3339(loaded.horizon_us),
        "records": loaded.records,
        "streams": loaded.report.streams.len(),
        "controls": controls,
    })
}

fn result(one: &Tested<'_>) -> Value {
    let control = one.control;
    let exceptions = one.exceptions.first.iter().map(|cells| {
        let fields = cells.iter().map(|(name, cell)| (name.clone(), value(cell)));
        Value::Object(fields.collect::<Map<_, _>>())
    });
    json!({
        "id": control.id,
        "title": control.title,
        "tsc": control.tsc,
        "iso27001": control.iso,
        "severity": control.severity,
        "result": one.outcome.word(),
        "population": one.population,
        "exceptions": one.exceptions.count,
        "first_exceptions": exceptions.collect::<Vec<_>>(),
        "gaps": one.gaps,
        "supports": control.supports,
        "optional": control.optional,
        "remediation": control.remediation,
    })
}

fn value(cell: &Cell) -> Value {
    match cell {
        Cell::Integer(number) => json!(number),
        Cell::Text(text) => json!(text),
    }
}

/// SARIF 2.1.0: a rule a control, a result an exception.
pub(super) fn sarif(tested: &[Tested<'_>]) -> Value {
    let rules = tested.iter().map(|one| {
        json!({
            "id": one.control.id,
            "shortDescription": { "text": format!("{}.", one.control.title) },
            "fullDescription": { "text": one.control.supports },
            "help": { "text": one.control.remediation },
            "defaultConfiguration": { "level": level(one) },
            "properties": { "tags": [one.control.tsc, one.control.iso] },
        })
    });
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "gatehouse-auditor",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules.collect::<Vec<_>>(),
            } },
            "results": tested.iter().flat_map(sarif_results).collect::<Vec<_>>(),
        }],
    })
}

fn level(one: &Tested<'_>) -> &'static str {
    match one.control.severity {
        1 => "error",
        2 => "warning",
        _ => "note",
    }
}

fn sarif_results(one: &Tested<'_>) -> Vec<Value> {
    let open = |kind: &str, text: String| {
        json!({
            "ruleId": one.control.id, "kind": kind, "level": "none", "message": { "text": text },
        })
    };
    match one.outcome {
        Outcome::Pass => vec![open("pass", format!("No exception in {}.", one.population))],
        Outcome::NotTested => vec![open("notApplicable", "The population is empty.".into())],
        Outcome::Inconclusive => vec![open("open", one.gaps.join("; "))],
        Outcome::Fail => {
            let exceptions = one.exceptions.first.iter();
            exceptions.map(|cells| exception(one, cells)).collect()
        }
    }
}

fn exception(one: &Tested<'_>, cells: &[(String, Cell)]) -> Value {
    let text = |wanted: &str| {
        let found = cells.iter().find(|(name, _)| name == wanted)?;
        match &found.1 {
            Cell::Integer(number) => Some(number.to_string()),
            Cell::Text(text) => Some(text.clone()),
        }
    };
    let record = text("w")
        .zip(text("seq"))
        .map(|(w, seq)| format!("{w}/{seq}"));
    let place = record
        .or_else(|| text("place"))
        .or_else(|| text("sid"))
        .or_else(|| text("rid"))
        .unwrap_or_default();
    json!({
        "ruleId": one.control.id,
        "kind": "fail",
        "level": level(one),
        "message": { "text": format!("{}: {}", one.control.title, line(cells)) },
        "locations": [{ "logicalLocations": [{ "fullyQualifiedName": place }] }],
    })
}
