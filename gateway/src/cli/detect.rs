//! `gatehouse detect --jsonl`: what the search finds in each line's text, for measuring it.

use std::io::{self, BufRead, Read, Write};
use std::path::PathBuf;

use gatehouse_redactor::{Direction, Engine, Field, Finding};
use serde::Deserialize;
use serde_json::Value;

use super::{Failure, Output, redaction};

/// The longest line that is read; one document never needs more.
const LONGEST_LINE: u64 = 256 << 20;

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// JSON lines on standard input and output; the only form there is.
    #[arg(long, required = true)]
    jsonl: bool,
    /// A configuration whose redaction policy is used, instead of the built-in one.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Document {
    id: Value,
    text: String,
}

pub(super) fn run(arguments: &Arguments, output: &mut Output) -> Result<(), Failure> {
    let engine = redaction(arguments.config.as_deref())?.engine;
    let mut input = io::stdin().lock();
    let mut line = Vec::new();
    for number in 1_u64.. {
        line.clear();
        if (&mut input)
            .take(LONGEST_LINE)
            .read_until(b'\n', &mut line)?
            == 0
        {
            break;
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        let found = document(&engine, &line)
            .map_err(|message| Failure::Failed(format!("line {number}: {message}")))?;
        writeln!(output.stream(), "{found}")?;
    }
    output.stream().flush()?;
    Ok(())
}

/// The line out for the line in.
fn document(engine: &Engine, line: &[u8]) -> Result<String, String> {
    // serde_json's message could quote the line.
    let document: Document = serde_json::from_slice(line)
        .map_err(|_| "is not a JSON object with \"id\" and \"text\"".to_owned())?;
    let field = Field {
        key: None,
        direction: Direction::Prompt,
    };
    let findings = engine
        .find(&document.text, field)
        .map_err(|error| error.to_string())?;
    Ok(written(&document, &findings))
}

fn written(document: &Document, findings: &[Finding]) -> String {
    let mut places = CodePoints::of(&document.text);
    let spans: Vec<Value> = findings
        .iter()
        .map(|finding| {
            serde_json::json!({
                "start": places.at(finding.start),
                "end": places.at(finding.end),
                "label": finding.label.as_str(),
                "score": f64::from(finding.score) / 100.0,
            })
        })
        .collect();
    serde_json::json!({ "id": document.id, "spans": spans }).to_string()
}

/// Turns rising byte offsets into code points in one walk over the text.
struct CodePoints<'t> {
    rest: &'t str,
    bytes: usize,
    characters: usize,
}

impl CodePoints<'_> {
    fn of(text: &str) -> CodePoints<'_> {
        CodePoints {
            rest: text,
            bytes: 0,
            characters: 0,
        }
    }

    /// The number of code points before the byte `offset`, which must not be before the last one
    /// that was asked for.
    fn at(&mut self, offset: usize) -> usize {
        let step = offset.saturating_sub(self.bytes);
        let (passed, rest) = self.rest.split_at_checked(step).unwrap_or((self.rest, ""));
        self.characters += passed.chars().count();
        self.bytes += passed.len();
        self.rest = rest;
        self.characters
    }
}

#[cfg(test)]
mod tests {
    use gatehouse_redactor::{Label, Policy};

    use super::*;

    #[test]
    fn offsets_count_code_points() {
        let mut places = CodePoints::of("aé😀b");
        assert_eq!(
            [0, 1, 3, 7, 8].map(|offset| places.at(offset)),
            [0, 1, 2, 3, 4]
        );
    }

    #[test]
    fn the_id_comes_back_as_it_was_and_spans_point_into_the_text() {
        let document = Document {
            id: serde_json::json!({"n": 1}),
            text: "é jane@example.com".to_owned(),
        };
        let finding = Finding {
            start: 3,
            end: 19,
            label: Label::EMAIL,
            score: 95,
            rule: "mail",
            certain: true,
        };
        assert_eq!(
            written(&document, &[finding]),
            r#"{"id":{"n":1},"spans":[{"end":18,"label":"EMAIL","score":0.95,"start":2}]}"#
        );
    }

    #[test]
    fn a_mail_address_is_found_end_to_end() {
        let engine = Engine::new(&Policy::default()).expect("built-in rules");
        let out = document(
            &engine,
            br#"{"id":7,"text":"write to jane.doe@example.com now"}"#,
        );
        let out: Value = serde_json::from_str(&out.expect("a line")).expect("JSON");
        assert_eq!(out["id"], 7);
        assert_eq!(out["spans"][0]["label"], "EMAIL");
        assert_eq!(out["spans"][0]["start"], 9);
        assert_eq!(out["spans"][0]["end"], 29);
    }

    #[test]
    fn a_bad_line_is_refused_without_being_quoted() {
        let engine = Engine::new(&Policy::default()).expect("built-in rules");
        for bad in ["jane@example.com", "{\"id\":1}", "{\"text\":\"x\"}", "[]"] {
            let message = document(&engine, bad.as_bytes()).expect_err("refused");
            assert!(!message.contains("jane"), "{message}");
        }
    }
}
