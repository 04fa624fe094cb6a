//! `evidence`: a folder that an auditor can take away: populations and exceptions, a report to read
//! and print, and a signed manifest of every file.

mod chart;
mod counts;
mod csv;
mod manifest;
mod markup;
mod package;
mod policies;
mod report;

use std::{
    ffi::OsStr,
    io::{self, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

use gatehouse_envelope::{
    digest::{Sha256, hex, sha256},
    sign::FileSigner,
};
use gatehouse_ledger::{
    DEFAULT_RETENTION_DAYS,
    clock::{Clock, SystemClock, rfc3339},
};

use crate::{
    cli::Failure,
    export::{Export, Exported, Recording},
    place::is_bucket,
    scan::{self, Part, Period, Source, Tested, exit_code, results, tally, test},
    views::Loaded,
};
use counts::Counts;
use package::Package;

/// What was typed.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    source: Source,
    /// The period's begin, a day or a time in UTC. Without it, the log's first record.
    #[arg(long, value_name = "T", value_parser = scan::parse_time)]
    from: Option<u64>,
    /// The period's end, which is no part of it, not past the log's horizon. Without it, the horizon.
    #[arg(long, value_name = "T", value_parser = scan::parse_time)]
    to: Option<u64>,
    /// The package's folder: new, or empty.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// The auditor's own signing key; made, readable by its owner only, if there is none yet.
    /// Without it the manifest is not signed.
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    #[command(flatten)]
    recording: Recording,
}

/// What a report says of itself.
pub(crate) struct Facts {
    pub(crate) made: String,
    pub(crate) command: String,
    /// The command that makes the package again, elsewhere.
    pub(crate) again: String,
    pub(crate) tool: String,
    pub(crate) place: String,
    /// Digest of the trust file; none if there was none.
    pub(crate) trust: Option<String>,
    /// The auditor's public key; none if the manifest is not signed.
    pub(crate) key: Option<String>,
    pub(crate) period: Period,
}

/// Makes the package; says where the report is, and ends as `scan` does.
pub(crate) fn run(asked: &Arguments) -> Result<ExitCode, Failure> {
    let Source { at, db, .. } = &asked.source;
    let targets = [&asked.out].into_iter().chain(db).chain(&asked.key);
    at.apart(targets.cloned(), &asked.recording)?;
    let (controls, mut loaded) = asked.source.load()?;
    let period = period(asked, &loaded)?;
    let signer = asked.key.as_deref().map(signer).transpose()?;
    let facts = facts(asked, period, signer.as_ref())?;
    let mut tested = Vec::new();
    for control in &controls {
        tested.push(test(&loaded.database, control, period)?);
    }
    let mut package = Package::create(&asked.out)?;
    write(&mut package, &tested, &loaded, &facts)?;
    manifest::write(&mut package, &tested, &loaded, &facts, signer.as_ref())?;
    asked.recording.record(&export(&package, &loaded, &facts))?;
    package.finish()?;
    loaded.database.keep()?;
    let mut out = io::stdout().lock();
    writeln!(out, "{}", tally(&tested))?;
    match &facts.key {
        Some(key) => writeln!(out, "signed by {key}")?,
        None => writeln!(out, "not signed: give --key")?,
    }
    writeln!(out, "{}", asked.out.join(report::NAME).display())?;
    Ok(ExitCode::from(exit_code(&tested)))
}

/// What the record says of the package. Its digest is that of the manifest, which has all others.
fn export(package: &Package, loaded: &Loaded, facts: &Facts) -> Export {
    let manifest = package.files().last();
    Export {
        trust: facts.trust.clone(),
        from_us: Some(facts.period.from_us),
        to_us: Some(facts.period.to_us),
        records: Some(loaded.records),
        digest: manifest.map(|(_, digest)| format!("sha256:{digest}")),
        ..Export::of(Exported::Evidence)
    }
}

/// The period asked for. Evidence of a time that the log does not prove would be none.
fn period(asked: &Arguments, loaded: &Loaded) -> Result<Period, Failure> {
    let end = loaded.horizon_us.saturating_add(1);
    let period = Period::new(
        asked.from.unwrap_or(loaded.first_us),
        asked.to.unwrap_or(end),
    )?;
    if period.to_us > end {
        return Err(Failure::Read(format!(
            "the log proves nothing past {}; let the period end there or before",
            rfc3339(loaded.horizon_us)
        )));
    }
    Ok(period)
}

fn signer(path: &Path) -> Result<FileSigner, Failure> {
    let signer = FileSigner::open_or_create(path, "gatehouse-auditor");
    signer.map_err(|error| {
        let why = std::error::Error::source(&error).map(|source| format!(": {source}"));
        let why = why.unwrap_or_default();
        Failure::Usage(format!("{}: {error}{why}", path.display()))
    })
}

fn facts(asked: &Arguments, period: Period, signer: Option<&FileSigner>) -> Result<Facts, Failure> {
    let trust = match &asked.source.trust {
        None => None,
        Some(path) => Some(digest_of(path)?),
    };
    let words: Vec<String> = std::env::args_os().skip(1).map(|w| quoted(&w)).collect();
    let tool = std::env::current_exe()?;
    Ok(Facts {
        made: rfc3339(SystemClock::new().now().unix_us),
        command: format!("gatehouse-auditor {}", words.join(" ")),
        again: again(asked, period),
        tool: digest_of(&tool)?,
        place: places(asked).join(" "),
        trust,
        key: signer.map(manifest::public_key),
        period,
    })
}

/// Where the log is, as it was typed.
fn places(asked: &Arguments) -> Vec<String> {
    let places = asked.source.at.places.iter();
    places.map(|place| place.display().to_string()).collect()
}

fn again(asked: &Arguments, period: Period) -> String {
    let mut words = vec!["gatehouse-auditor evidence".to_owned()];
    let whole = |path: &Path| {
        let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        quoted(absolute.as_os_str())
    };
    for place in &asked.source.at.places {
        words.push(match is_bucket(place) {
            true => quoted(place.as_os_str()),
            false => whole(place),
        });
    }
    for (option, value) in asked.source.at.reach.options() {
        words.push(format!("{option} {}", quoted(value.as_ref())));
    }
    let days = asked.source.demanded.retention_days;
    if days != DEFAULT_RETENTION_DAYS {
        words.push(format!("--retention-days {days}"));
    }
    for (option, path) in [
        ("--trust", &asked.source.trust),
        ("--controls", &asked.source.controls),
    ] {
        if let Some(path) = path {
            words.push(format!("{option} {}", whole(path)));
        }
    }
    words.push(format!("--from {}", rfc3339(period.from_us)));
    words.push(format!("--to {}", rfc3339(period.to_us)));
    words.push("--out again".to_owned());
    words.join(" ")
}

/// A word as a shell takes it.
fn quoted(word: &OsStr) -> String {
    let word = word.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.into_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

fn digest_of(path: &Path) -> Result<String, Failure> {
    let wrong = |error: io::Error| Failure::Read(format!("{}: {error}", path.display()));
    let mut file = std::fs::File::open(path).map_err(wrong)?;
    let mut digest = Digest(Sha256::new());
    io::copy(&mut file, &mut digest).map_err(wrong)?;
    Ok(format!("sha256:{}", hex(&digest.0.finish())))
}

/// Hashes what is written to it.
struct Digest(Sha256);

impl Write for Digest {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Everything but the manifest.
fn write(
    package: &mut Package,
    tested: &[Tested<'_>],
    loaded: &Loaded,
    facts: &Facts,
) -> Result<(), Failure> {
    for one in tested {
        let control = one.control;
        for (part, folder) in [
            (Part::Population, "population"),
            (Part::Exceptions, "exceptions"),
        ] {
            let name = format!("{folder}/{}.csv", control.id);
            package.file(&name, |out| {
                csv::write(out, &loaded.database, control, part, facts.period)
            })?;
        }
        let sql = format!("controls/{}.sql", control.id);
        package.text(&sql, &control.text)?;
    }
    policies::write(package, &loaded.database, facts.period)?;
    let counts = Counts::read(&loaded.database, facts.period)?;
    package.file("charts/requests.csv", |out| counts.requests_csv(out))?;
    package.file("charts/values.csv", |out| counts.values_csv(out))?;
    let json = format!("{:#}\n", results(tested, loaded, facts.period));
    package.text("results.json", &json)?;
    package.text(report::NAME, &report::page(tested, loaded, facts, &counts))?;
    package.text("RUNME.txt", &runme(facts, &json))
}

fn runme(facts: &Facts, results: &str) -> String {
    let digest = hex(&sha256(&[results.as_bytes()]));
    let key = facts.key.as_deref().unwrap_or("none: it is not signed");
    format!(
        "To make this package again, in a folder of your own, from the same log or a copy of it:\n\n\
         {}\n\n\
         The files under charts/, controls/, exceptions/, policies/ and population/ come out byte for byte the same; so does\n\
         results.json (sha256 {digest}) unless the log has grown since.\n\
         report.html, RUNME.txt and the manifest name the time and the command, and differ.\n\n\
         Program: {}\n\
         Key of the manifest's signature (Ed25519, base64): {key}\n\
         manifest.dsse.json is a DSSE envelope around an in-toto statement of every other file's SHA-256.\n",
        facts.again, facts.tool
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_a_shell() {
        for (word, wanted) in [
            ("--to", "--to"),
            ("a/b.c", "a/b.c"),
            ("", "''"),
            ("a b", "'a b'"),
            ("$(x)'", "'$(x)'\\'''"),
        ] {
            assert_eq!(quoted(OsStr::new(word)), wanted);
        }
    }
}
