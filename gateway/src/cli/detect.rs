//! `gatehouse detect`: where values stand in files, folders and pipes; with `--jsonl`, what the search
//! finds in each line's text, for measuring it.

use std::io::{self, BufRead, Read, Write};
use std::path::PathBuf;

use gatehouse_redactor::{Asked, Direction, Field, Finding};
use serde::Deserialize;
use serde_json::Value;

use super::search::Search;
use super::{Failure, Output, redact, redaction};
use crate::model::Verdicts;

/// The longest line that is read; one document never needs more.
const LONGEST_LINE: u64 = 256 << 20;
/// So many documents, or bytes of them, are searched together.
const TOGETHER: usize = 256;
const BLOCK: usize = 1 << 20;

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Documents as JSON lines, `{"id","text"}`, on standard input, and a line with the spans of
    /// each on standard output.
    #[arg(long, conflicts_with = "paths")]
    jsonl: bool,
    /// A configuration whose redaction policy is used, instead of the built-in one.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Under the policy as this tenant has it.
    #[arg(long, value_name = "NAME", conflicts_with = "jsonl")]
    tenant: Option<String>,
    #[command(flatten)]
    model: Search,
    /// Files, and folders with all that is in them but links; standard input if there is none, or
    /// for `-`. A JSON line for each value, as `redact --explain` tells it.
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
}

#[derive(Deserialize)]
struct Document {
    id: Value,
    text: String,
}

pub(super) fn run(arguments: Arguments, output: &mut Output) -> Result<(), Failure> {
    if arguments.jsonl {
        return documents(&arguments, output);
    }
    let told = redact::Arguments {
        config: arguments.config,
        explain: true,
        out: None,
        tenant: arguments.tenant.unwrap_or_default(),
        model: arguments.model,
        paths: arguments.paths,
    };
    redact::run(&told, output)
}

fn documents(arguments: &Arguments, output: &mut Output) -> Result<(), Failure> {
    let redaction = redaction(arguments.config.as_deref())?;
    let verdicts = arguments.model.verdicts(&redaction, output)?;
    let mut input = io::stdin().lock();
    let mut number = 0;
    loop {
        let mut block = Vec::new();
        let read = read(&mut input, &mut number, &mut block);
        let ended = block.is_empty();
        // What stands before a line that cannot be read is answered first.
        for line in found(&verdicts, &block)? {
            writeln!(output.stream(), "{line}")?;
        }
        if ended || read.is_err() {
            output.stream().flush()?;
            return read;
        }
    }
}

/// Reads documents that are searched together, so that the model runs full batches; none at the
/// end.
///
/// # Errors
/// Names the line that cannot be read; the block holds those before it.
fn read(
    input: &mut impl BufRead,
    number: &mut u64,
    block: &mut Vec<Document>,
) -> Result<(), Failure> {
    let mut size = 0;
    let mut line = Vec::new();
    while block.len() < TOGETHER && size < BLOCK {
        line.clear();
        let read = input.take(LONGEST_LINE).read_until(b'\n', &mut line)?;
        if read == 0 {
            break;
        }
        *number += 1;
        if line.trim_ascii().is_empty() {
            continue;
        }
        // serde_json's message could quote the line.
        let document = serde_json::from_slice(&line).map_err(|_| {
            let what = "is not a JSON object with \"id\" and \"text\"";
            Failure::Failed(format!("line {number}: {what}"))
        })?;
        size += read;
        block.push(document);
    }
    Ok(())
}

/// The line out for each line in.
fn found(verdicts: &Verdicts, block: &[Document]) -> Result<Vec<String>, Failure> {
    let direction = Direction::Prompt;
    let asked: Vec<Asked<'_>> = block
        .iter()
        .map(|document| Asked {
            text: &document.text,
            field: Field {
                key: None,
                direction,
            },
        })
        .collect();
    let found = verdicts
        .search(&asked)
        .map_err(|error| Failure::of("search", error))?;
    let lines = block.iter().zip(found);
    Ok(lines
        .map(|(document, findings)| written(document, &findings))
        .collect())
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
    use std::sync::Arc;

    use gatehouse_redactor::{Engine, Label, Policies, Policy};

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

    fn verdicts() -> Verdicts {
        let policy = Policy::default();
        let engine = Engine::new(&policy).expect("built-in rules");
        Verdicts::of_rules(Arc::new(engine), Arc::new(Policies::new(policy)))
    }

    #[test]
    fn a_mail_address_is_found_end_to_end() {
        let mut input = &b"\n{\"id\":7,\"text\":\"write to jane.doe@example.com now\"}\n"[..];
        let mut block = Vec::new();
        read(&mut input, &mut 0, &mut block).expect("a block");
        let out = found(&verdicts(), &block).expect("a line");
        let out: Value = serde_json::from_str(&out[0]).expect("JSON");
        assert_eq!(out["id"], 7);
        assert_eq!(out["spans"][0]["label"], "EMAIL");
        assert_eq!(out["spans"][0]["start"], 9);
        assert_eq!(out["spans"][0]["end"], 29);
    }

    #[test]
    fn documents_are_answered_in_their_order_over_the_borders_of_blocks() {
        let lines: String = (0..TOGETHER + 3)
            .map(|id| format!("{{\"id\":{id},\"text\":\"x\"}}\n"))
            .collect();
        let (mut input, mut number) = (lines.as_bytes(), 0);
        let mut ids = Vec::new();
        loop {
            let mut block = Vec::new();
            read(&mut input, &mut number, &mut block).expect("a block");
            if block.is_empty() {
                break;
            }
            for line in found(&verdicts(), &block).expect("lines") {
                let line: Value = serde_json::from_str(&line).expect("JSON");
                ids.push(line["id"].as_u64().expect("a number"));
            }
        }
        assert!(ids.iter().copied().eq(0..TOGETHER as u64 + 3));
    }

    #[test]
    fn a_bad_line_is_refused_without_being_quoted() {
        for bad in ["jane@example.com", "{\"id\":1}", "{\"text\":\"x\"}", "[]"] {
            let refused = read(&mut bad.as_bytes(), &mut 0, &mut Vec::new()).expect_err("refused");
            let message = refused.message();
            assert!(
                !message.contains("jane") && message.starts_with("line 1:"),
                "{message}"
            );
        }
    }
}
