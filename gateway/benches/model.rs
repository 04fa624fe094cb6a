//! What the local model costs: a KB of new text, and a conversation of twenty turns beside its new
//! text alone. `GATEHOUSE_TEST_MODEL` names a data directory that has the model.

use std::sync::Arc;
use std::time::{Duration, Instant};

use gatehouse::model::{Load, Loaded, Verdicts};
use gatehouse_envelope::digest::MacKey;
use gatehouse_envelope::secret::Secret;
use gatehouse_redactor::{Asked, Direction, Engine, Field, Finder, Policies, Policy};

const TURNS: usize = 20;

fn main() {
    let home = std::env::var_os("GATEHOUSE_TEST_MODEL").unwrap_or_else(|| "gatehouse-data".into());
    let load = Load {
        workers: 1,
        ..Load::for_files()
    };
    let model = match Loaded::open(home.as_ref(), load) {
        Ok(model) => model,
        Err(error) => {
            report(&format!("not run: {error}; set GATEHOUSE_TEST_MODEL"));
            return;
        }
    };
    let policy = Policy::default();
    let Ok(engine) = Engine::new(&policy) else {
        return;
    };
    let verdicts = Verdicts::new(
        Arc::new(engine),
        Arc::new(Policies::new(policy)),
        Some(model),
    );
    for (kind, text) in [("prose", prose(7)), ("code", code()), ("json", json())] {
        let spent = time(|| drop(verdicts.search(&[asked(&text)])));
        let kilobytes = text.len() as f64 / 1024.0;
        report(&format!(
            "{kind}: {:.1} ms a KB",
            spent.as_secs_f64() * 1e3 / kilobytes
        ));
    }
    let turns: Vec<String> = (0..TURNS).map(prose).collect();
    let alone: Duration = turns
        .iter()
        .map(|turn| time(|| drop(verdicts.search(&[asked(turn)]))))
        .sum();
    let whole: Duration = (1..=TURNS)
        .map(|upto| {
            let history: Vec<Asked<'_>> = turns.iter().take(upto).map(|t| asked(t)).collect();
            time(|| drop(verdicts.finder("bench").find_all(&history)))
        })
        .sum();
    report(&format!(
        "{TURNS} turns: {:.2} times their new text",
        whole.as_secs_f64() / alone.as_secs_f64()
    ));
    let (key, mut kept) = (MacKey::new(Secret::new([7; 32])), Vec::new());
    let moved: Duration = (1..=TURNS)
        .map(|upto| {
            let history: Vec<Asked<'_>> = turns.iter().take(upto).map(|t| asked(t)).collect();
            // A tenant that no table knows: a process that has not seen the session.
            let tenant = format!("bench-{upto}");
            time(|| {
                let finder = verdicts.finder_in_session(&tenant, &key, &kept);
                drop(finder.find_all(&history));
                kept = finder.into_kept();
            })
        })
        .sum();
    report(&format!(
        "{TURNS} turns, each on another replica: {:.2} times their new text",
        moved.as_secs_f64() / alone.as_secs_f64()
    ));
}

fn asked(text: &str) -> Asked<'_> {
    let direction = Direction::Prompt;
    Asked {
        text,
        field: Field {
            key: None,
            direction,
        },
    }
}

fn time(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

/// About a KB, not the same twice.
fn prose(turn: usize) -> String {
    let people = ["Anna Kowalska", "John Smith", "Maria Garcia", "Lena Fors"];
    (0..12)
        .map(|line| {
            let person = people.get((turn + line) % people.len()).unwrap_or(&"Ada");
            format!("{person} asked on day {turn} whether order {line} had been shipped to the new office.\n")
        })
        .collect()
}

fn code() -> String {
    (0..40)
        .map(|n| format!("    let value_{n} = parse_header(&input[{n}..])?.into_inner();\n"))
        .collect()
}

fn json() -> String {
    (0..20)
        .map(|n| format!("{{\"id\": {n}, \"status\": \"open\", \"path\": \"/a/b/{n}\", \"level\": \"warn\"}}\n"))
        .collect()
}

#[expect(clippy::print_stdout, reason = "a bench says what it measured")]
fn report(line: &str) {
    println!("{line}");
}
