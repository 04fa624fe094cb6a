//! Two charts inside the page. Bars are SVG in percent of the room that the page gives them, so they
//! fit every width; words are HTML beside them, so they keep their size.

use std::fmt::Write as _;

use gatehouse_ledger::clock::rfc3339;

use super::{
    counts::{Counts, Label, Part},
    markup::escape,
};

/// So many types are shown; the rest is one bar.
const LABELS: usize = 14;
/// The colours of the keys in the page's style; here again, since not every reader of SVG knows it.
const ADMITTED: &str = "#2f6f9f";
const REFUSED: &str = "#d08a2e";
/// The bars' room, in units of a thousandth of a percent.
const WHOLE: u64 = 100_000;

/// Requests over the period, refused ones on top of admitted ones.
pub(super) fn requests(counts: &Counts) -> String {
    let parts = &counts.parts;
    let most = parts.iter().map(|p| p.admitted + p.refused).max();
    let most = most.unwrap_or(0);
    if most == 0 {
        return "<p>No request in the period.</p>".into();
    }
    let admitted: u64 = parts.iter().map(|part| part.admitted).sum();
    let refused: u64 = parts.iter().map(|part| part.refused).sum();
    let mut out = format!(
        "<figure class=\"requests\"><div class=\"plot\"><div class=\"scale\"><span>{most}</span>\
         <span>0</span></div><svg width=\"100%\" height=\"150\" role=\"img\" \
         aria-label=\"Requests over the period: {admitted} admitted, {refused} refused\">"
    );
    for (index, part) in (0u64..).zip(parts) {
        column(&mut out, index, parts.len() as u64, part, most);
    }
    let (from, to, each) = match (parts.first(), parts.last()) {
        (Some(first), Some(last)) => (first.from_us, last.to_us, first.to_us - first.from_us),
        _ => (0, 0, 0),
    };
    let _ = write!(
        out,
        "</svg></div><div class=\"axis\"><span>{}</span><span>{}</span></div>\
         <figcaption><span class=\"admitted\"></span> {admitted} admitted \
         <span class=\"refused\"></span> {refused} refused; {} bars of {} each; the highest is {most}. \
         <a href=\"charts/requests.csv\">As numbers</a></figcaption></figure>",
        rfc3339(from),
        rfc3339(to),
        parts.len(),
        length(each),
    );
    out
}

/// One part of the period.
fn column(out: &mut String, index: u64, of: u64, part: &Part, most: u64) {
    if part.admitted + part.refused == 0 {
        return;
    }
    let _ = write!(
        out,
        "<g><title>{}: {} admitted, {} refused</title>",
        rfc3339(part.from_us),
        part.admitted,
        part.refused
    );
    let step = WHOLE / of.max(1);
    let mut top = WHOLE;
    for (fill, count) in [(ADMITTED, part.admitted), (REFUSED, part.refused)] {
        let height = scale(count, WHOLE, most);
        top = top.saturating_sub(height);
        if height > 0 {
            let _ = write!(
                out,
                "<rect fill=\"{fill}\" class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
                if fill == ADMITTED {
                    "admitted"
                } else {
                    "refused"
                },
                percent(index * step),
                percent(top),
                percent(step * 17 / 20),
                percent(height)
            );
        }
    }
    out.push_str("</g>");
}

/// What was found in requests and masked in replies, by type.
pub(super) fn values(counts: &Counts) -> String {
    let labels = first(&counts.labels);
    if labels.is_empty() {
        return "<p>Nothing was found in the period.</p>".into();
    }
    let most = labels
        .iter()
        .map(|l| l.found.saturating_add(l.masked))
        .max();
    let most = most.unwrap_or(0).max(1);
    let mut out = String::from(
        "<figure><table class=\"values\"><thead><tr><th scope=\"col\">Type</th><td></td>\
         <th scope=\"col\">In requests</th><th scope=\"col\">In replies</th></tr></thead><tbody>",
    );
    for label in &labels {
        let (found, masked) = (
            scale(label.found, WHOLE, most),
            scale(label.masked, WHOLE, most),
        );
        let _ = write!(
            out,
            "<tr><th scope=\"row\">{}</th><td><svg width=\"100%\" height=\"14\" aria-hidden=\"true\">\
             <rect fill=\"{ADMITTED}\" class=\"admitted\" x=\"0%\" width=\"{}\" height=\"14\"/>\
             <rect fill=\"{REFUSED}\" class=\"refused\" x=\"{}\" width=\"{}\" height=\"14\"/></svg></td>\
             <td class=\"n\">{}</td><td class=\"n\">{}</td></tr>",
            escape(&label.name),
            percent(found),
            percent(found),
            percent(masked),
            label.found,
            label.masked,
        );
    }
    out.push_str(
        "</tbody></table><figcaption><span class=\"admitted\"></span> found in requests, counted each \
         time that one was sent <span class=\"refused\"></span> masked in replies. \
         <a href=\"charts/values.csv\">As numbers</a></figcaption></figure>",
    );
    out
}

/// The most frequent types; what is left of them as one.
fn first(labels: &[Label]) -> Vec<Label> {
    let mut shown: Vec<Label> = Vec::new();
    for label in labels {
        if shown.len() < LABELS {
            shown.push(Label {
                name: label.name.clone(),
                ..*label
            });
        } else if let Some(last) = shown.last_mut() {
            "others".clone_into(&mut last.name);
            last.found = last.found.saturating_add(label.found);
            last.masked = last.masked.saturating_add(label.masked);
        }
    }
    shown
}

/// A bar's length: `most` fills the `room`.
fn scale(count: u64, room: u64, most: u64) -> u64 {
    let length = u128::from(count) * u128::from(room) / u128::from(most.max(1));
    u64::try_from(length).unwrap_or(room)
}

fn percent(thousandths: u64) -> String {
    format!("{}.{:03}%", thousandths / 1000, thousandths % 1000)
}

/// A length of time in the largest unit of which there is one.
fn length(us: u64) -> String {
    let units = [
        (86_400_000_000, "d"),
        (3_600_000_000, "h"),
        (60_000_000, "min"),
        (1_000_000, "s"),
        (1_000, "ms"),
    ];
    for (unit, name) in units {
        if us >= unit {
            let tenths = us / (unit / 10);
            return match tenths % 10 {
                0 => format!("{} {name}", tenths / 10),
                rest => format!("{}.{rest} {name}", tenths / 10),
            };
        }
    }
    format!("{us} µs")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_for_readers() {
        for (us, wanted) in [
            (0, "0 µs"),
            (999, "999 µs"),
            (8_451, "8.4 ms"),
            (90_000_000, "1.5 min"),
            (86_400_000_000, "1 d"),
            (95_040_000_000, "1.1 d"),
        ] {
            assert_eq!(length(us), wanted);
        }
    }

    #[test]
    fn bars_are_shares_of_the_highest() {
        let part = |from_us, admitted, refused| Part {
            from_us,
            to_us: from_us + 10,
            admitted,
            refused,
        };
        let counts = Counts {
            parts: vec![
                part(0, 4, 0),
                part(10, 0, 0),
                part(20, 1, 2),
                part(30, 0, 1),
            ],
            labels: Vec::new(),
        };
        let svg = requests(&counts);
        for wanted in [
            "class=\"admitted\" x=\"0.000%\" y=\"0.000%\" width=\"21.250%\" height=\"100.000%\"",
            "class=\"admitted\" x=\"50.000%\" y=\"75.000%\" width=\"21.250%\" height=\"25.000%\"",
            "class=\"refused\" x=\"50.000%\" y=\"25.000%\" width=\"21.250%\" height=\"50.000%\"",
            "class=\"refused\" x=\"75.000%\" y=\"75.000%\" width=\"21.250%\" height=\"25.000%\"",
            "5 admitted",
            "3 refused; 4 bars of 10 µs each; the highest is 4",
        ] {
            assert!(svg.contains(wanted), "{wanted} in {svg}");
        }
        assert_eq!(svg.matches("<rect").count(), 4, "no bar for nothing");
        assert!(values(&counts).contains("Nothing was found"));
    }

    #[test]
    fn many_types_end_in_one() {
        let labels: Vec<Label> = (0..20)
            .map(|index| Label {
                name: format!("<{index}>"),
                found: 20 - index,
                masked: 1,
            })
            .collect();
        let shown = first(&labels);
        assert_eq!(shown.len(), LABELS);
        let sum = |labels: &[Label]| labels.iter().map(|l| l.found + l.masked).sum::<u64>();
        assert_eq!(sum(&shown), sum(&labels));
        let html = values(&Counts {
            parts: Vec::new(),
            labels,
        });
        assert!(html.contains("&lt;0&gt;") && html.contains(">others<"));
    }
}
