//! Manifests of Kubernetes: what a `Secret` holds under `data` and `stringData` is secret, whatever
//! its keys are called. In documents of JSON the walk over them sees the object.

use std::ops::Range;

use data_encoding::BASE64;

use crate::label::Label;
use crate::pair::SEALED;
use crate::rule::{Class, Hit};
use crate::rules::under_key;

/// The rule that names these findings in records.
pub(crate) const RULE: &str = "manifest";
/// What is known of a value that stands in a secret.
const SCORE: u8 = 90;
/// Longer values need not be whole base64: what prints them may have cut them off.
const LONG: usize = 24;
/// A stream waits for so many bytes behind the first value for the line that says what it stands in.
const HELD: usize = crate::Engine::LONGEST_UNDECIDED;

/// What a search came to.
pub(crate) struct Found {
    pub(crate) hits: Vec<Hit>,
    /// From here on more text could bring a hit.
    pub(crate) settled: usize,
}

/// Every value of every manifest of a secret.
pub(crate) fn find(text: &str, growing: bool) -> Found {
    let mut found = Found {
        hits: Vec::new(),
        settled: text.len(),
    };
    let bytes = text.as_bytes();
    for at in memchr::memmem::find_iter(bytes, b"kind: Secret") {
        if let Some(level) = level_of_kind(text, at) {
            // What stands further before was let go, if the text came in pieces.
            let end = at + "kind: Secret".len();
            let from = if growing { end.saturating_sub(HELD) } else { 0 };
            manifest(text, &document(text, at), (level, from), &mut found);
        }
    }
    if growing {
        found.settled = found.settled.min(unknown(text));
    }
    found
}

/// How far in the line stands that says `kind: Secret` and nothing else.
fn level_of_kind(text: &str, at: usize) -> Option<usize> {
    let line = text.get(..at)?.rfind('\n').map_or(0, |end| end + 1);
    let before = text.get(line..at)?;
    let behind = text.get(at + "kind: Secret".len()..)?;
    let ends = behind.trim_start_matches([' ', '\r']);
    let whole = ends.is_empty() || ends.starts_with(['\n', '#']);
    let list = before.trim_start_matches(' ');
    (whole && matches!(list, "" | "- ")).then_some(before.len())
}

/// The document of a stream of YAML that holds the place.
fn document(text: &str, at: usize) -> Range<usize> {
    let before = text.get(..at).and_then(|before| before.rfind("\n---"));
    let behind = text.get(at..).and_then(|behind| behind.find("\n---"));
    before.map_or(0, |start| start + 1)..behind.map_or(text.len(), |end| at + end)
}

/// The values of the object whose fields stand at that level, from a place on.
fn manifest(text: &str, within: &Range<usize>, (level, from): (usize, usize), found: &mut Found) {
    let mut held: Option<(bool, Option<usize>)> = None;
    for line in lines(text, within.clone()) {
        let row = text.get(line.clone()).unwrap_or_default();
        let own = indent(row);
        if row.trim().is_empty() {
            continue;
        }
        if own <= level {
            let name = row.get(own..).unwrap_or_default().trim_end();
            held = match name {
                _ if line.start + own < from => None,
                "data:" if own == level => Some((true, None)),
                "stringData:" if own == level => Some((false, None)),
                _ => None,
            };
            continue;
        }
        let Some((coded, rows)) = &mut held else {
            continue;
        };
        let rows = *rows.get_or_insert(own);
        let value = match own == rows {
            true => value(row),
            // A value on lines of its own.
            false if *coded => Some(own..row.trim_end().len()),
            false => None,
        };
        let value = value.map(|value| line.start + value.start..line.start + value.end);
        if let Some(value) = value
            && is_secret(text, &value, *coded)
        {
            found.hits.push(Hit {
                start: value.start,
                end: value.end,
                label: Label::PASSWORD,
                score: SCORE,
                certain: false,
            });
        }
        // More of the line may come.
        if line.end == text.len() && !row.ends_with('\n') {
            found.settled = found.settled.min(line.start);
        }
    }
}

fn lines(text: &str, within: Range<usize>) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut at = within.start;
    let part = text.get(within).unwrap_or_default();
    part.split_inclusive('\n').map(move |line| {
        let start = at;
        at += line.len();
        start..at
    })
}

/// How far in a line stands; the dash of a list counts as space.
fn indent(row: &str) -> usize {
    let spaces = row.len() - row.trim_start_matches(' ').len();
    match row.get(spaces..) {
        Some(rest) if rest.starts_with("- ") => spaces + 2,
        _ => spaces,
    }
}

/// Where the value of `key: value` stands in its line, without quotes.
fn value(row: &str) -> Option<Range<usize>> {
    let colon = row.find(": ")?;
    let behind = row.get(colon + 1..)?;
    let start = colon + 1 + (behind.len() - behind.trim_start().len());
    let value = row.get(start..)?.trim_end();
    let bare = value
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
        .or_else(|| value.strip_prefix('\'')?.strip_suffix('\''));
    let quoted = usize::from(bare.is_some());
    let value = bare.unwrap_or(value);
    // What stands in the lines below.
    let block = quoted == 0 && value.starts_with(['|', '>']);
    (!value.is_empty() && !block).then_some(start + quoted..start + quoted + value.len())
}

fn is_secret(text: &str, value: &Range<usize>, coded: bool) -> bool {
    let value = text.get(value.clone()).unwrap_or_default();
    if !coded {
        // Words are told by their keys, as in JSON.
        let word = value.bytes().all(|b| b.is_ascii_lowercase());
        return !word && under_key(SEALED, value).is_some();
    }
    let long = value.len() >= LONG && value.bytes().all(|b| Class::Base64.holds(b));
    let whole = long || (value.len() >= 4 && BASE64.decode(value.as_bytes()).is_ok());
    // Certificates are shown to everybody.
    whole && !value.starts_with("LS0tLS1CRUdJTiBDRVJU")
}

/// Where values stand of which a later line may say what they are; the text's length if there are
/// none.
fn unknown(text: &str) -> usize {
    let from = text.ceil_char_boundary(text.len().saturating_sub(HELD));
    let near = text.get(from..).unwrap_or_default();
    let last = near.rfind("\n---").map_or(0, |at| at + 1);
    let part = near.get(last..).unwrap_or_default();
    let names = ["data:", "stringData:"].iter().filter_map(|name| {
        let mut places = part.match_indices(name).map(|(at, _)| at);
        places.find(|at| {
            let before = part.get(..*at).unwrap_or_default();
            let line = before.rsplit('\n').next().unwrap_or_default();
            matches!(line.trim_start_matches(' '), "" | "- ")
        })
    });
    // The first may be the end of one.
    let whole = last > 0 || from == 0 || text.get(..from).is_some_and(|head| head.ends_with('\n'));
    let mut lines = part.split_inclusive('\n').skip(usize::from(!whole));
    // Another kind may be that of another object.
    let known = lines.any(|line| line.ends_with('\n') && line.trim_end() == "kind: Secret");
    match names.min() {
        Some(at) if !known => from + last + at,
        _ => text.len(),
    }
}

#[cfg(test)]
mod tests {
    use crate::rules::testing::{found, nothing};

    #[test]
    fn what_a_secret_holds_is_secret_whatever_it_is_called() {
        let head = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: db-7\n";
        let rows = "data:\n  host: ZGItNy5sb2NhbA==\n  \"x\": \"aHVudGVyMg==\"\n";
        let plain = "stringData:\n  a: hunter2\n  b: 'blue sky'\n  c: ${C}\ntype: Opaque\n";
        let values = ["ZGItNy5sb2NhbA==", "aHVudGVyMg==", "hunter2", "blue sky"];
        found(&[head, rows, plain].concat(), "PASSWORD", &values);
        // As the API server sorts its fields.
        let text = ["apiVersion: v1\n", rows, "kind: Secret\n"].concat();
        found(&text, "PASSWORD", &values[..2]);
        let list = "items:\n- apiVersion: v1\n  data:\n    k: aHVudGVyMg==\n  kind: Secret\n";
        found(list, "PASSWORD", &["aHVudGVyMg=="]);
        let folded = "kind: Secret\ndata:\n  k: |\n    aHVudGVyMmh1\n    bnRlcjI=\n";
        found(folded, "PASSWORD", &["aHVudGVyMmh1", "bnRlcjI="]);
    }

    /// In a text that grows, nothing is settled that a later line may say is secret.
    #[test]
    fn what_is_settled_stays() {
        let note = "metadata: \"a note of some length\"\n";
        for between in [0, 3, 9, 14, 15, 16, 20] {
            let text = format!(
                "x: \"adata:\nkind: Other\ndata:\n  a: aHVudGVyMg==\n  b: aHVudGVyMw==\n{}kind: Secret\n",
                note.repeat(between)
            );
            let whole = super::find(&text, true).hits;
            for cut in 0..=text.len() {
                let super::Found { hits, settled } = super::find(&text[..cut], true);
                for hit in whole.iter().filter(|hit| hit.start < settled) {
                    assert!(hits.contains(hit), "{between} {cut} {settled} {hit:?}");
                }
            }
        }
    }

    #[test]
    fn other_manifests_and_what_is_no_value() {
        nothing("kind: ConfigMap\ndata:\n  motd: V2VsY29tZQ==\n");
        nothing("kind: SecretStore\ndata:\n  motd: V2VsY29tZQ==\n");
        nothing("kind: ConfigMap\ndata:\n  m: V2VsY29tZQ==\n---\nkind: Secret\ndata: {}\n");
        nothing("kind: Secret\ndata:\n  ca.crt: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t\n");
        nothing("kind: Secret\nmetadata:\n  name: aHVudGVyMg==\n");
    }
}
