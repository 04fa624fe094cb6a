//! `diff`: what changed between the prompts of two requests of one session, by the digests that the log
//! has of their parts.

use std::{
    io::{self, Write},
    process::ExitCode,
};

use gatehouse_ledger::{read::records, store::Fetcher};
use serde_json::{Value, json};

use crate::cli::Failure;

/// What is compared besides messages: its name, and where it stands in `exchange.admitted`.
const PARTS: [(&str, &str); 9] = [
    ("system", "/prompt/system_h"),
    ("tools", "/prompt/tools_h"),
    ("parameters", "/prompt/rest_h"),
    ("protocol", "/up/api"),
    ("model", "/up/model"),
    ("provider", "/up/provider"),
    ("redaction policy", "/policy"),
    ("rules", "/red/rules"),
    ("local model", "/red/model"),
];

/// How a part of the second prompt stands to that of the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Added,
    Changed,
    Removed,
    Same,
}

impl Change {
    fn of(before: Option<&Value>, after: Option<&Value>) -> Self {
        match (before, after) {
            (None, Some(_)) => Self::Added,
            (Some(_), None) => Self::Removed,
            (before, after) if before == after => Self::Same,
            _ => Self::Changed,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Changed => "changed",
            Self::Removed => "removed",
            Self::Same => "same",
        }
    }
}

/// Messages that stand next to each other and changed alike: their first place, in the second prompt
/// unless they are removed, and how many.
#[derive(Debug, PartialEq, Eq)]
struct Run {
    change: Change,
    first: usize,
    count: usize,
}

/// The messages of a prompt, as far as the record has them.
struct Messages<'v> {
    /// The place of the first one that is known.
    first: usize,
    known: Vec<&'v str>,
}

impl<'v> Messages<'v> {
    fn of(event: &'v Value) -> Option<Self> {
        let total = event.pointer("/prompt/n")?.as_u64()?;
        let known: Vec<_> = event
            .pointer("/prompt/messages")?
            .as_array()?
            .iter()
            .collect();
        let known: Vec<_> = known.into_iter().filter_map(Value::as_str).collect();
        let first = usize::try_from(total).ok()?.checked_sub(known.len())?;
        Some(Self { first, known })
    }
}

/// Writes what changed; exit code 0 nothing, 1 something, 2 it cannot be told.
pub(crate) fn run(
    log: &dyn Fetcher,
    (before, after): (&str, &str),
    as_json: bool,
) -> Result<ExitCode, Failure> {
    let events = admitted(log, [before, after])?;
    let [Some(one), Some(other)] = &events else {
        return unknown("no such request was admitted, or its record cannot be read");
    };
    if one.get("sid") != other.get("sid") {
        // Digests are keyed by session, so that nobody can compare what sessions were about.
        return unknown("they are of different sessions, whose digests cannot be compared");
    }
    let (Some(from), Some(to)) = (Messages::of(one), Messages::of(other)) else {
        return unknown("the log has no digests of prompts: ledger.prompt_parts was off");
    };
    let parts =
        PARTS.map(|(name, path)| (name, Change::of(one.pointer(path), other.pointer(path))));
    let runs = compare(&from, &to);
    let text = match as_json {
        true => as_object(one, &parts, &runs).to_string(),
        false => as_text(&parts, &runs),
    };
    let mut out = io::stdout().lock();
    writeln!(out, "{}", text.trim_end())?;
    out.flush()?;
    let same = |change: &Change| *change == Change::Same;
    let nothing =
        parts.iter().all(|(_, change)| same(change)) && runs.iter().all(|run| same(&run.change));
    Ok(ExitCode::from(u8::from(!nothing)))
}

fn unknown(why: &str) -> Result<ExitCode, Failure> {
    writeln!(io::stderr().lock(), "gatehouse-auditor: {why}")?;
    Ok(ExitCode::from(2))
}

/// The records of two requests' admission.
fn admitted(log: &dyn Fetcher, requests: [&str; 2]) -> Result<[Option<Value>; 2], Failure> {
    let mut found = [None, None];
    let unread = records(log, |entry| {
        if entry.kind != "exchange.admitted" {
            return;
        }
        for (place, request) in found.iter_mut().zip(requests) {
            if entry.request == Some(request) {
                *place = serde_json::from_str(entry.event).ok();
            }
        }
    })
    .map_err(|error| Failure::Read(error.to_string()))?;
    for name in &unread {
        writeln!(
            io::stderr().lock(),
            "gatehouse-auditor: {name} could not be read; run verify"
        )?;
    }
    Ok(found)
}

/// The longest row of messages that both have is the same; between those, messages were changed, added,
/// or taken out, as where a history was summed up.
fn compare(from: &Messages<'_>, to: &Messages<'_>) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    let mut add = |change, first, count| match runs.last_mut() {
        _ if count == 0 => {}
        Some(last) if last.change == change && last.first + last.count == first => {
            last.count += count;
        }
        _ => runs.push(Run {
            change,
            first,
            count,
        }),
    };
    let (mut old, mut new) = (0, 0);
    let ends = (from.known.len(), to.known.len());
    let mut shared = shared(&from.known, &to.known);
    shared.push(ends);
    for (i, j) in shared {
        let (gone, come) = (i - old, j - new);
        let changed = gone.min(come);
        add(Change::Changed, to.first + new, changed);
        add(Change::Removed, from.first + old + changed, gone - changed);
        add(Change::Added, to.first + new + changed, come - changed);
        if (i, j) != ends {
            add(Change::Same, to.first + j, 1);
        }
        (old, new) = (i + 1, j + 1);
    }
    runs
}

/// The places of a longest common subsequence. A record has a few hundred messages at most.
fn shared(from: &[&str], to: &[&str]) -> Vec<(usize, usize)> {
    let width = to.len() + 1;
    let mut lengths = vec![0_usize; (from.len() + 1) * width];
    let at = |lengths: &[usize], i: usize, j: usize| lengths.get(i * width + j).copied();
    let at = |lengths: &[usize], i, j| at(lengths, i, j).unwrap_or(0);
    for (i, one) in from.iter().enumerate().rev() {
        for (j, other) in to.iter().enumerate().rev() {
            let length = match one == other {
                true => at(&lengths, i + 1, j + 1) + 1,
                false => at(&lengths, i + 1, j).max(at(&lengths, i, j + 1)),
            };
            if let Some(place) = lengths.get_mut(i * width + j) {
                *place = length;
            }
        }
    }
    let (mut i, mut j, mut shared) = (0, 0, Vec::new());
    while let (Some(one), Some(other)) = (from.get(i), to.get(j)) {
        if one == other {
            shared.push((i, j));
            (i, j) = (i + 1, j + 1);
        } else if at(&lengths, i + 1, j) >= at(&lengths, i, j + 1) {
            i += 1;
        } else {
            j += 1;
        }
    }
    shared
}

fn as_text(parts: &[(&str, Change)], runs: &[Run]) -> String {
    let mut text = String::new();
    for (name, change) in parts.iter().filter(|(_, change)| *change != Change::Same) {
        text.push_str(&format!("{name}: {}\n", change.word()));
        if *name == "protocol" {
            // A system prompt that is text alone has the same digest in all of them.
            text.push_str("(protocols write tools, parameters and messages down differently)\n");
        }
    }
    for run in runs {
        let last = run.first + run.count - 1;
        let place = match run.count {
            1 => format!("messages[{}]", run.first),
            _ => format!("messages[{}] to [{last}]", run.first),
        };
        text.push_str(&format!("{place}: {}\n", run.change.word()));
    }
    text
}

fn as_object(event: &Value, parts: &[(&str, Change)], runs: &[Run]) -> Value {
    let parts: serde_json::Map<_, _> = parts
        .iter()
        .map(|(name, change)| (name.replace(' ', "_"), change.word().into()))
        .collect();
    let runs: Vec<_> = runs
        .iter()
        .map(|run| json!({"change": run.change.word(), "first": run.first, "count": run.count}))
        .collect();
    json!({"session": event.get("sid"), "parts": parts, "messages": runs})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(first: usize, from: &str, to_first: usize, to: &str) -> String {
        let messages = |first, text: &'static str| Messages {
            first,
            known: text.split(' ').filter(|it| !it.is_empty()).collect(),
        };
        let (from, to) = (from.to_owned().leak(), to.to_owned().leak());
        as_text(
            &[],
            &compare(&messages(first, from), &messages(to_first, to)),
        )
    }

    #[test]
    fn histories_grow_change_slide_and_are_summed_up() {
        assert_eq!(runs(0, "a b", 0, "a b"), "messages[0] to [1]: same\n");
        assert_eq!(
            runs(0, "a b", 0, "a b c d"),
            "messages[0] to [1]: same\nmessages[2] to [3]: added\n"
        );
        assert_eq!(
            runs(0, "a b c", 0, "a x c"),
            "messages[0]: same\nmessages[1]: changed\nmessages[2]: same\n"
        );
        assert_eq!(
            runs(0, "a b c d", 0, "c d"),
            "messages[0] to [1]: removed\nmessages[0] to [1]: same\n"
        );
        assert_eq!(
            runs(0, "a b c d e", 0, "s d e f"),
            "messages[0]: changed\nmessages[1] to [2]: removed\nmessages[1] to [2]: same\n\
             messages[3]: added\n"
        );
        assert_eq!(runs(0, "", 0, "a"), "messages[0]: added\n");
        // Only the last ones are known, of both or of one.
        assert_eq!(
            runs(5, "a b", 5, "a b c"),
            "messages[5] to [6]: same\nmessages[7]: added\n"
        );
        assert_eq!(
            runs(5, "a b c", 6, "b c d"),
            "messages[5]: removed\nmessages[6] to [7]: same\nmessages[8]: added\n"
        );
    }

    #[test]
    fn another_protocol_is_said_to_write_differently() {
        let text = as_text(
            &[("system", Change::Same), ("protocol", Change::Changed)],
            &[],
        );
        assert!(
            text.starts_with("protocol: changed\n(protocols write "),
            "{text}"
        );
        assert!(!as_text(&[("model", Change::Changed)], &[]).contains("protocols"));
    }

    #[test]
    fn parts_are_told_apart() {
        let (one, other) = (json!("a"), json!("b"));
        assert_eq!(Change::of(Some(&one), Some(&one)), Change::Same);
        assert_eq!(Change::of(None, None), Change::Same);
        assert_eq!(Change::of(Some(&one), Some(&other)), Change::Changed);
        assert_eq!(Change::of(Some(&one), None), Change::Removed);
        assert_eq!(Change::of(None, Some(&one)), Change::Added);
    }
}
