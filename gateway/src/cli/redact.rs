//! `gatehouse redact`: standard input to standard output, with pseudonyms for what was found.
//!
//! Works in blocks of whole lines, so that a log of any length needs a few megabytes. Nothing is
//! written of a block that could not be searched.

use std::io::{self, Read, Write};
use std::path::PathBuf;

use gatehouse_envelope::digest::MacKey;
use gatehouse_envelope::random;
use gatehouse_redactor::body::{Means, redact_text};
use gatehouse_redactor::{Direction, Engine, Field, Finding, Label, Pseudonyms, Vault};

use super::search::Search;
use super::{Failure, Output, redaction};
use crate::config::Redaction;
use crate::model::Verdicts;

/// A block is cut once this many bytes are at hand.
const BLOCK: usize = 256 << 10;
/// A text that cannot be cut anywhere in this many bytes is refused.
const LONGEST: usize = 16 << 20;
/// How far behind a cut the search could still see what stands before it.
const REACH: usize = 2 * Engine::LONGEST_UNDECIDED;
/// How many line ends are tried for a cut, before more input is awaited.
const TRIES: usize = 64;

const FIELD: Field<'static> = Field {
    key: None,
    direction: Direction::Prompt,
};

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// A configuration whose redaction policy is used, instead of the built-in one.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    model: Search,
}

pub(super) fn run(arguments: &Arguments, output: &mut Output) -> Result<(), Failure> {
    let redaction = redaction(arguments.config.as_deref())?;
    let names = Names::random()?;
    let verdicts = arguments.model.verdicts(&redaction, output)?;
    let out = output.stream();
    redact(io::stdin().lock(), out, &redaction, &verdicts, &names)?;
    out.flush()?;
    Ok(())
}

/// Pseudonyms that hold for one run: the same value gets the same token, and nobody can turn one
/// back.
struct Names(MacKey);

impl Names {
    fn random() -> Result<Names, Failure> {
        let key = random::secret::<32>().map_err(|error| Failure::of("random key", error))?;
        Ok(Names(MacKey::new(key)))
    }
}

impl Pseudonyms for Names {
    fn digest(&self, label: Label, text: &str) -> [u8; 32] {
        self.0
            .mac("redact", &[label.as_str().as_bytes(), text.as_bytes()])
    }
}

fn redact(
    mut input: impl Read,
    out: &mut impl Write,
    redaction: &Redaction,
    verdicts: &Verdicts,
    names: &Names,
) -> Result<(), Failure> {
    let mut bytes = Vec::with_capacity(2 * BLOCK);
    loop {
        let wanted = u64::try_from(BLOCK).unwrap_or(u64::MAX);
        let ended = (&mut input).take(wanted).read_to_end(&mut bytes)? == 0;
        let cut = {
            let text = whole_characters(&bytes, ended)?;
            let cut = if ended {
                text.len()
            } else {
                cut(&redaction.engine, text)?
            };
            let block = text.get(..cut).unwrap_or_default();
            out.write_all(block_without_values(block, redaction, verdicts, names)?.as_bytes())?;
            cut
        };
        bytes.drain(..cut);
        if ended {
            return Ok(());
        }
        if bytes.len() > LONGEST {
            let message = format!("a text of more than {LONGEST} bytes cannot be cut anywhere");
            return Err(Failure::Failed(message));
        }
    }
}

fn block_without_values(
    block: &str,
    redaction: &Redaction,
    verdicts: &Verdicts,
    names: &Names,
) -> Result<String, Failure> {
    // A vault of its own for each block keeps the memory bounded; the key makes equal tokens.
    let mut vault = Vault::new();
    let Redaction { policy, engine } = redaction;
    let means = Means {
        engine,
        finder: &verdicts.finder(""),
        policy,
        names,
    };
    let redacted = redact_text(block, FIELD, means, &mut vault);
    redacted
        .map(|(text, _)| text)
        .map_err(|refusal| Failure::Failed(refusal.to_string()))
}

/// The text of the bytes, without a last character of which only a part has come.
fn whole_characters(bytes: &[u8], ended: bool) -> Result<&str, Failure> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text),
        Err(error) if !ended && error.error_len().is_none() => {
            let whole = bytes.get(..error.valid_up_to()).unwrap_or_default();
            std::str::from_utf8(whole).map_err(|error| Failure::of("input", error))
        }
        Err(_) => Err(Failure::Failed("the input is not UTF-8".to_owned())),
    }
}

/// Where a block may end: behind a line that nothing found after it depends on. 0 if more input
/// is needed to tell.
fn cut(engine: &Engine, text: &str) -> Result<usize, Failure> {
    if text.len() < BLOCK {
        return Ok(0);
    }
    let all = engine
        .find(text, FIELD)
        .map_err(|error| Failure::of("search", error))?;
    let decided = text
        .get(..engine.undecided(text, FIELD))
        .unwrap_or_default();
    for (at, _) in decided.rmatch_indices('\n').take(TRIES) {
        let cut = at + 1;
        let inside = all
            .iter()
            .any(|finding| finding.start < cut && cut < finding.end);
        if !inside && stands_alone(engine, text, cut, &all)? {
            return Ok(cut);
        }
    }
    Ok(0)
}

/// Whether what follows the cut is found alike without what stands before it.
fn stands_alone(engine: &Engine, text: &str, cut: usize, all: &[Finding]) -> Result<bool, Failure> {
    let end = text.ceil_char_boundary(cut.saturating_add(2 * REACH));
    let tail = text.get(cut..end).unwrap_or_default();
    let alone = engine
        .find(tail, FIELD)
        .map_err(|error| Failure::of("search", error))?;
    let near = |start: usize| start < REACH;
    let alone = alone
        .iter()
        .map(|f| (f.start, f.label))
        .filter(|f| near(f.0));
    let together = all
        .iter()
        .filter(|finding| finding.start >= cut)
        .map(|finding| (finding.start - cut, finding.label))
        .filter(|finding| near(finding.0));
    Ok(alone.eq(together))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redacted(input: &[u8]) -> Result<String, Failure> {
        let mut out = Vec::new();
        let names = Names::random()?;
        let redaction = redaction(None)?;
        let (engine, policy) = (redaction.engine.clone(), redaction.policy.clone());
        let verdicts = Verdicts::of_rules(engine, policy);
        redact(input, &mut out, &redaction, &verdicts, &names)?;
        Ok(String::from_utf8(out).expect("UTF-8"))
    }

    #[test]
    fn a_value_gets_one_token_wherever_it_stands() {
        let filler = "nothing to see in this line\n".repeat(20_000);
        let text = format!("a jane.doe@example.com b\n{filler}c jane.doe@example.com d");
        let out = redacted(text.as_bytes()).expect("redacted");
        assert!(!out.contains("jane"));
        let tokens: Vec<&str> = out
            .split_whitespace()
            .filter(|word| word.starts_with("<EMAIL_"))
            .collect();
        assert_eq!(tokens.len(), 2);
        assert_eq!(tokens[0], tokens[1]);
        assert_eq!(out.replace(tokens[0], "jane.doe@example.com"), text);
    }

    #[test]
    fn what_is_harmless_passes_unchanged() {
        for text in ["", "\n", "no newline at the end", "é\r\n\u{0}\n\n"] {
            assert_eq!(redacted(text.as_bytes()).expect("redacted"), text);
        }
    }

    #[test]
    fn a_value_across_the_border_of_two_blocks_is_found() {
        for shift in 0..40 {
            let filler = "x".repeat(BLOCK - 20 - shift);
            let text = format!("{filler} jane.doe@example.com\nmore\n");
            let out = redacted(text.as_bytes()).expect("redacted");
            assert!(!out.contains("jane"), "{shift}");
        }
    }

    #[test]
    fn input_that_is_not_utf8_is_refused() {
        assert!(redacted(b"jane.doe@example.com \xff").is_err());
        assert!(redacted(b"cut \xc3").is_err());
    }
}
