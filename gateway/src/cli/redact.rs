//! `gatehouse redact`: texts with pseudonyms for what was found in them: standard input to
//! standard output, or files and folders.
//!
//! Works in blocks, so that a log of any length needs a few megabytes. Nothing is written of a
//! block that could not be searched.

use std::fs::File;
use std::io::{self, Read, Write};
use std::iter;
use std::path::{Path, PathBuf};

use gatehouse_envelope::digest::MacKey;
use gatehouse_envelope::random;
use gatehouse_redactor::body::{Means, redact_text};
use gatehouse_redactor::{Label, Pseudonyms, Vault};

use super::blocks::{self, Block, FIELD, Flow};
use super::headed::Headed;
use super::search::Search;
use super::sources::{self, Bar, Sources};
use super::{Failure, Output, explain, redaction, targets};
use crate::config::Redaction;
use crate::model::Verdicts;

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// A configuration whose redaction policy is used, instead of the built-in one.
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// Instead of the text, a JSON line for each value: its place, label, rule, score, and
    /// whether the value itself, its key or the words beside it show what it is. Never the value;
    /// names of files are told as they are.
    #[arg(long)]
    pub(super) explain: bool,
    /// Write each file under its name into this folder, instead of all to standard output. The
    /// names stay as they are. No file that is there is replaced.
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,
    /// Under the policy as this tenant has it.
    #[arg(
        long,
        value_name = "NAME",
        default_value = "",
        hide_default_value = true
    )]
    pub(super) tenant: String,
    #[command(flatten)]
    pub(super) model: Search,
    /// Files, and folders with all that is in them but links; standard input if there is none, or
    /// for `-`.
    #[arg(value_name = "PATH")]
    pub(super) paths: Vec<PathBuf>,
}

pub(super) fn run(arguments: &Arguments, output: &mut Output) -> Result<(), Failure> {
    let redaction = redaction(arguments.config.as_deref())?;
    let work = Work {
        verdicts: arguments.model.verdicts(&redaction, output)?,
        redaction,
        names: Names::random()?,
        explain: arguments.explain,
        tenant: arguments.tenant.clone(),
    };
    if is_standard_input(&arguments.paths) {
        if arguments.out.is_some() {
            return Err(Failure::Usage("--out needs a PATH".to_owned()));
        }
        let out = output.stream();
        work.text(io::stdin().lock(), Flow::Pipe, "-", out)?;
        return Ok(out.flush()?);
    }
    let Sources {
        files: sources,
        skipped,
    } = sources::under(&arguments.paths)?;
    if sources.len() > 1 && arguments.out.is_none() && !arguments.explain {
        let message = "several files need --out DIR, which is where they are written";
        return Err(Failure::Usage(message.to_owned()));
    }
    let targets = match &arguments.out {
        Some(folder) => targets::of(&sources, folder)?,
        None => Vec::new(),
    };
    let mut bar = Bar::new(sources.iter().map(|source| source.bytes).sum());
    let mut failed = Vec::new();
    let targets = targets.iter().map(Some).chain(iter::repeat(None));
    for (source, target) in sources.iter().zip(targets) {
        let done = match target {
            Some(target) => work.file_into(&source.path, target, &mut bar),
            None => work.file(&source.path, output.stream(), &mut bar),
        };
        if output.is_unread() {
            return done;
        }
        if let Err(Failure::Failed(message) | Failure::Usage(message)) = done {
            failed.push(format!("{}: {message}", source.path.display()));
        }
    }
    output.stream().flush()?;
    tell_skipped(&skipped, output);
    match failed.is_empty() {
        true => Ok(()),
        false => Err(Failure::Failed(failed.join("\n"))),
    }
}

/// Without a path, or as the one path `-`. A file of that name is `./-`.
fn is_standard_input(paths: &[PathBuf]) -> bool {
    match paths {
        [] => true,
        [path] => path.as_os_str() == "-",
        _ => false,
    }
}

fn tell_skipped(skipped: &[PathBuf], output: &mut Output) {
    for path in skipped {
        output.complain(&format!("skipped {}", path.display()));
    }
    if !skipped.is_empty() {
        let count = skipped.len();
        output.complain(&format!(
            "{count} skipped: links, or neither file nor folder"
        ));
    }
}

/// What is done to each text.
struct Work {
    redaction: Redaction,
    verdicts: Verdicts,
    names: Names,
    explain: bool,
    tenant: String,
}

impl Work {
    fn file_into(&self, from: &Path, to: &Path, bar: &mut Bar) -> Result<(), Failure> {
        targets::write(to, &File::open(from)?, |out| self.file(from, out, bar))
    }

    fn file(&self, path: &Path, out: &mut impl Write, bar: &mut Bar) -> Result<(), Failure> {
        let file = File::open(path)?;
        let flow = match file.metadata()?.is_file() {
            true => Flow::File,
            false => Flow::Pipe,
        };
        let input = bar.reading(file);
        self.text(input, flow, &path.to_string_lossy(), out)
    }

    fn text(
        &self,
        input: impl Read,
        flow: Flow,
        name: &str,
        out: &mut impl Write,
    ) -> Result<(), Failure> {
        let Redaction { policies, engine } = &self.redaction;
        blocks::each(input, flow, engine, |block| {
            if self.explain {
                let policy = policies.of(&self.tenant);
                let finder = self.verdicts.finder(&self.tenant);
                explain::block(block, name, policy, &finder, out)?;
            } else {
                out.write_all(self.without_values(block)?.as_bytes())?;
            }
            match flow {
                Flow::File => Ok(()),
                Flow::Pipe => Ok(out.flush()?),
            }
        })
    }

    fn without_values(&self, block: Block<'_>) -> Result<String, Failure> {
        // A vault of its own for each block keeps the memory bounded; the key makes equal tokens.
        let mut vault = Vault::new();
        let Redaction { policies, engine } = &self.redaction;
        let finder = &self.verdicts.finder(&self.tenant);
        let means = Means {
            engine,
            finder: &Headed {
                finder,
                head: block.head,
            },
            policy: policies.of(&self.tenant),
            names: &self.names,
        };
        let redacted = redact_text(block.text, FIELD, means, &mut vault);
        redacted
            .map(|(text, _)| text)
            .map_err(|refusal| Failure::Failed(refusal.to_string()))
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn work(explain: bool) -> Work {
        let redaction = redaction(None).expect("rules");
        let (engine, policies) = (redaction.engine.clone(), redaction.policies.clone());
        Work {
            verdicts: Verdicts::of_rules(engine, policies),
            redaction,
            names: Names::random().expect("a key"),
            explain,
            tenant: String::new(),
        }
    }

    fn redacted(input: &[u8]) -> Result<String, Failure> {
        let mut out = Vec::new();
        work(false).text(input, Flow::File, "-", &mut out)?;
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
        for text in ["", "\n", "no newline at the end", "é\r\n\n"] {
            assert_eq!(redacted(text.as_bytes()).expect("redacted"), text);
        }
    }

    #[test]
    fn a_value_across_the_border_of_two_blocks_is_found() {
        for shift in 0..40 {
            let filler = "x".repeat((256 << 10) - 20 - shift);
            let text = format!("{filler} jane.doe@example.com\nmore\n");
            let out = redacted(text.as_bytes()).expect("redacted");
            assert!(!out.contains("jane"), "{shift}");
        }
    }

    #[test]
    fn input_that_is_not_utf8_is_refused() {
        assert!(redacted(b"jane.doe@example.com \xff").is_err());
        assert!(redacted(b"cut \xc3").is_err());
        assert!(redacted(b"PK\x03\x04\x00\x00 jane.doe@example.com").is_err());
    }

    #[test]
    fn values_under_keys_of_json_lines_are_found() {
        let out = redacted(b"{\"db_password\":\"horse battery\"}\n{\"n\":1}\n").expect("redacted");
        assert!(!out.contains("horse"), "{out}");
        assert!(out.ends_with("\n{\"n\":1}\n"));
    }

    /// So many bytes at a time.
    struct Bits<'t>(&'t [u8], usize);

    impl Read for Bits<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let read = (&self.0[..self.1.min(self.0.len())]).read(into)?;
            self.0 = &self.0[read..];
            Ok(read)
        }
    }

    #[test]
    fn a_pipe_is_redacted_like_a_file_however_it_comes() {
        let key = [
            "-----BEGIN PRIV",
            "ATE KEY-----\nMC4CAQAw\n-----END PRIV",
            "ATE KEY-----\n",
        ];
        let text = format!(
            "Dear Dr. Okafor,\nwrite to\njane.doe@example.com or 12 Elm Street,\nSpringfield, IL 62704.\n\
             card: 4111 1111\n1111 1111\n{}{{\"password\":\"horse battery\"}}\n\
             id,last_name,ssn\n1,okafor,512483071\n2,mensah,512483072\n{}\nSSN\n512483073\n",
            key.concat(),
            "nothing to see here\n".repeat(80),
        );
        let work = work(false);
        let through = |flow, piece| {
            let mut out = Vec::new();
            let bits = Bits(text.as_bytes(), piece);
            work.text(bits, flow, "-", &mut out).expect("redacted");
            String::from_utf8(out).expect("UTF-8")
        };
        let whole = through(Flow::File, 1 << 20);
        for value in [
            "jane", "4111", "MC4", "horse", "okafor", "mensah", "51248307", "Elm",
        ] {
            assert!(!whole.contains(value), "{value}: {whole}");
        }
        for piece in [1, 7, 64, 1000] {
            assert_eq!(through(Flow::Pipe, piece), whole, "{piece}");
        }
    }

    #[test]
    fn rows_are_read_by_the_names_above_them_however_far() {
        let row = "7,okafor,512483071,nothing to see in this cell\n";
        let rows = (600 << 10) / row.len();
        let text = format!("id,last_name,ssn,note\n{}", row.repeat(rows));
        let out = redacted(text.as_bytes()).expect("redacted");
        assert!(!out.contains("okafor") && !out.contains("512483071"));
        assert_eq!(out.matches("<US_SSN_").count(), rows);
        let list = "(7, '512483071', 'nothing to see in this cell'),\n";
        let lists = (600 << 10) / list.len();
        let text = format!(
            "INSERT INTO t (id, ssn, note) VALUES\n{}",
            list.repeat(lists)
        );
        let out = redacted(text.as_bytes()).expect("redacted");
        assert!(!out.contains("512483071"));
        let bare = redacted(format!("\n{}", row.repeat(rows)).as_bytes()).expect("redacted");
        assert!(bare.contains("512483071"));
    }

    #[test]
    fn an_explanation_names_places_and_rules_and_no_text() {
        let work = work(true);
        let mut out = Vec::new();
        let text = "a\nmail jane.doe@example.com\n{\"password\":\"hunter2x\"}\n";
        work.text(text.as_bytes(), Flow::File, "f", &mut out)
            .expect("explained");
        let lines: Vec<serde_json::Value> = String::from_utf8(out)
            .expect("UTF-8")
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect();
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert_eq!(
            (&lines[0]["line"], &lines[0]["label"]),
            (&2.into(), &"EMAIL".into())
        );
        assert_eq!(
            (&lines[0]["start"], &lines[0]["by"]),
            (&7.into(), &"itself".into())
        );
        assert_eq!(
            (&lines[1]["start"], &lines[1]["by"]),
            (&41.into(), &"key".into())
        );
        assert!(!format!("{lines:?}").contains("jane") && !format!("{lines:?}").contains("hunter"));
    }

    #[test]
    fn folders_are_mirrored_and_what_is_binary_is_told() {
        let from = tempfile::tempdir().expect("a folder");
        let to = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(from.path().join("sub")).expect("a folder");
        std::fs::write(from.path().join("sub/a.txt"), "jane.doe@example.com").expect("written");
        std::fs::write(from.path().join("b.bin"), b"\x00\xff").expect("written");
        let arguments = Arguments {
            config: None,
            explain: false,
            tenant: String::new(),
            model: Search::none(),
            out: Some(to.path().to_owned()),
            paths: vec![from.path().to_owned()],
        };
        let error = run(&arguments, &mut Output::of_process()).expect_err("one file is binary");
        assert!(format!("{error:?}").contains("b.bin"));
        let out = std::fs::read_to_string(to.path().join("sub/a.txt")).expect("written");
        assert!(out.starts_with("<EMAIL_"), "{out}");
        assert!(!to.path().join("b.bin").exists());
    }
}
