//! The report: one page without scripts or anything from elsewhere, to be read, printed, kept.

use std::fmt::Write as _;

use gatehouse_ledger::{clock::rfc3339, verify::Verdict};

use super::{Facts, chart, counts::Counts, markup::escape};
use crate::{
    scan::{Outcome, Period, Tested},
    views::{Cell, Loaded},
};

/// The report's file.
pub(super) const NAME: &str = "report.html";
const STYLE: &str = include_str!("report.css");
/// Exceptions shown of each control; the CSV has all.
const SHOWN: usize = 25;

/// What nothing in here says. Not a matter of the results, so it stands in every report.
const NOT_COVERED: [&str; 6] = [
    "Whether an organisation complies with anything. The tests support controls of its own; whether \
     those are suitable, complete and in operation is for its auditor to judge.",
    "Governance, risk management, hiring, physical access, and the disposal of hardware.",
    "Traffic that went to a provider around the gateway. Compare with the providers' usage exports, \
     load balancers' logs and the cloud's own trail.",
    "Anything past the horizon, and streams of the log that were taken away whole before a witness \
     outside the operator's control had seen them.",
    "Personal data that the gateway's search did not find: receipts show that it looked, not what it \
     missed.",
    "What the providers did with what they were sent.",
];

/// The whole page.
pub(super) fn page(
    tested: &[Tested<'_>],
    loaded: &Loaded,
    facts: &Facts,
    counts: &Counts,
) -> String {
    let mut out = String::with_capacity(1 << 16);
    let (period, told) = period(facts.period);
    let _ = write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta name=\"color-scheme\" content=\"light dark\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\
         <title>Gatehouse evidence, {period}</title><style>{STYLE}\
         @page {{ @bottom-left {{ content: \"Gatehouse evidence, {period}\"; }} }}\n</style></head><body>\n\
         <header><h1>Evidence from the audit log of Gatehouse</h1>\
         <p>{told}</p>",
    );
    tiles(&mut out, tested);
    out.push_str("</header>\n<main>\n");
    head(&mut out, loaded, facts);
    summary(&mut out, tested);
    let _ = write!(
        out,
        "<section><h2>Requests</h2>{}</section>\n<section><h2>Values found, by type</h2>{}</section>\n",
        chart::requests(counts),
        chart::values(counts)
    );
    out.push_str("<section><h2>What this does not cover</h2><ul>");
    for text in NOT_COVERED {
        let _ = write!(out, "<li>{}</li>", escape(text));
    }
    out.push_str("</ul></section>\n");
    for one in tested {
        control(&mut out, one);
    }
    out.push_str("</main></body></html>\n");
    out
}

/// The period in a title, and in a sentence.
fn period(period: Period) -> (String, String) {
    let Period { from_us, to_us } = period;
    // Nobody asked for one, and the log has none.
    if to_us <= 1 {
        let none = "no record that verifies";
        return (none.to_owned(), format!("Period: none, {none}"));
    }
    let period = format!("{} to {}", rfc3339(from_us), rfc3339(to_us));
    let told = format!("Period: {period}, the end excluded");
    (period, told)
}

/// How many tests ended how, the worst first.
fn tiles(out: &mut String, tested: &[Tested<'_>]) {
    out.push_str("<ul class=\"tiles\">");
    for outcome in [
        Outcome::Fail,
        Outcome::Inconclusive,
        Outcome::NotTested,
        Outcome::Pass,
    ] {
        let count = tested.iter().filter(|one| one.outcome == outcome).count();
        let class = if count == 0 { "none" } else { outcome.word() };
        let _ = write!(
            out,
            "<li class=\"{class}\"><b>{count}</b> {}</li>",
            word(outcome)
        );
    }
    out.push_str("</ul>");
}

/// When, by what, over what.
fn head(out: &mut String, loaded: &Loaded, facts: &Facts) {
    let report = &loaded.report;
    let verdict = match report.verdict() {
        Verdict::Broken => "broken: see AL-01 and AL-02",
        Verdict::CouldNotTell => "sound as far as can be told; see what the log cannot show",
        Verdict::Holds => "holds",
    };
    let trust = match &facts.trust {
        Some(digest) => digest.as_str(),
        None => "none: the signer is unknown, and no test can pass",
    };
    let (size, horizon) = extent(loaded);
    let tool = format!(
        "gatehouse-auditor {}, {}",
        env!("CARGO_PKG_VERSION"),
        facts.tool
    );
    let key = match &facts.key {
        Some(key) => format!("Ed25519 {key}"),
        None => "none: the manifest is not signed".to_owned(),
    };
    out.push_str("<section><h2>What was read</h2><table class=\"facts\">");
    for (name, value) in [
        ("Made", facts.made.as_str()),
        ("Log", &facts.place),
        ("What the log holds", &size),
        ("Verification", verdict),
        ("Horizon", &horizon),
        ("Trust file", trust),
        ("Command", &facts.command),
        ("Program", &tool),
        ("Signing key", &key),
    ] {
        let _ = write!(
            out,
            "<tr><th scope=\"row\">{name}</th><td>{}</td></tr>",
            escape(value)
        );
    }
    out.push_str("</table>\n<p>All times are UTC.</p></section>\n");
}

/// What the log holds, and until when it proves anything.
fn extent(loaded: &Loaded) -> (String, String) {
    let size = format!(
        "{}, {}, {}",
        counted(loaded.records, "record"),
        counted(loaded.report.streams.len() as u64, "stream"),
        counted(loaded.report.sessions, "session"),
    );
    if loaded.records == 0 {
        return (size, "none: the log proves nothing".to_owned());
    }
    (
        format!("{size}; the first record at {}", rfc3339(loaded.first_us)),
        format!(
            "{}; past it the log proves nothing",
            rfc3339(loaded.horizon_us)
        ),
    )
}

fn counted(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Fail => "with exceptions",
        Outcome::Inconclusive => "inconclusive",
        Outcome::NotTested => "not tested",
        Outcome::Pass => "no exception",
    }
}

fn summary(out: &mut String, tested: &[Tested<'_>]) {
    out.push_str(
        "<section><h2>Results</h2><table class=\"results\"><thead><tr><th scope=\"col\">Test</th>\
         <th scope=\"col\">What was tested, and which criteria it supports</th>\
         <th scope=\"col\">Population</th><th scope=\"col\">Exceptions</th>\
         <th scope=\"col\">Result</th></tr></thead><tbody>",
    );
    for one in tested {
        let control = one.control;
        let _ = write!(
            out,
            "<tr><td><a href=\"#{id}\">{id}</a></td><td>{}<small>TSC {}; ISO 27001 {}</small></td>\
             <td class=\"n\" data-name=\"Population\">{}</td>\
             <td class=\"n\" data-name=\"Exceptions\">{}</td><td class=\"{}\">{}</td></tr>",
            escape(&control.title),
            escape(&control.tsc),
            escape(&control.iso),
            one.population,
            one.exceptions.count,
            one.outcome.word(),
            word(one.outcome),
            id = escape(&control.id),
        );
    }
    out.push_str(
        "</tbody></table><p>An empty population is <em>not tested</em>, never a pass. \
         <em>Inconclusive</em>: no exception was seen, but the log cannot show the whole period.</p>\
         </section>\n",
    );
}

/// One test: what it is for, what it found, and the queries.
fn control(out: &mut String, one: &Tested<'_>) {
    let control = one.control;
    let _ = write!(
        out,
        "<section class=\"control\" id=\"{id}\"><h2>{id} {}</h2>\
         <p class=\"{}\">{}: population {}, exceptions {}</p>",
        escape(&control.title),
        one.outcome.word(),
        word(one.outcome),
        one.population,
        one.exceptions.count,
        id = escape(&control.id),
    );
    for (name, text) in [
        ("Supports", &control.supports),
        ("If there are exceptions", &control.remediation),
    ] {
        let _ = write!(out, "<p><b>{name}:</b> {}</p>", escape(text));
    }
    let _ = write!(
        out,
        "<p>Severity {severity}. SOC 2 TSC {tsc}; ISO 27001:2022 Annex A {iso}. All rows: \
         <a href=\"population/{id}.csv\">population</a>, \
         <a href=\"exceptions/{id}.csv\">exceptions</a>.</p>",
        severity = control.severity,
        tsc = escape(&control.tsc),
        iso = escape(&control.iso),
        id = escape(&control.id),
    );
    if !one.gaps.is_empty() {
        out.push_str("<p><b>What the log cannot show:</b></p><ul>");
        for gap in &one.gaps {
            let _ = write!(out, "<li>{}</li>", escape(gap));
        }
        out.push_str("</ul>");
    }
    exceptions(out, one);
    for (name, sql) in [
        ("Population", &control.population),
        ("Exceptions", &control.exceptions),
    ] {
        let _ = write!(out, "<p><b>{name} query:</b></p><pre>{}</pre>", lines(sql));
    }
    out.push_str("</section>\n");
}

/// A query with its lines kept.
fn lines(sql: &str) -> String {
    let lines: Vec<String> = sql.lines().map(escape).collect();
    lines.join("\n")
}

fn exceptions(out: &mut String, one: &Tested<'_>) {
    let shown = one.exceptions.first.len().min(SHOWN);
    if shown == 0 {
        return;
    }
    let _ = write!(
        out,
        "<p><b>Exceptions</b> ({shown} of {}):</p><ol>",
        one.exceptions.count
    );
    for cells in one.exceptions.first.iter().take(SHOWN) {
        out.push_str("<li>");
        for (name, cell) in cells {
            let value = match cell {
                Cell::Integer(number) => number.to_string(),
                Cell::Text(text) => escape(text),
            };
            let _ = write!(out, "<span><i>{}</i> {value}</span> ", escape(name));
        }
        out.push_str("</li>");
    }
    out.push_str("</ol>");
}
