//! `scan`: runs the controls over a log.

mod period;
mod query;
mod show;

use std::{path::PathBuf, process::ExitCode};

pub(crate) use period::{Period, parse as parse_time};
pub(crate) use query::{Exceptions, Part, rows};
pub(crate) use show::{results, tally};

use gatehouse_ledger::verify::Verifier;

use crate::{
    cli::Failure,
    controls::{self, Control},
    export::{Export, Exported, Recording, digest_of},
    place::{Demanded, Places},
    verify::read_trust,
    views::{Database, Loaded, load},
};

/// What a control says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// There are exceptions.
    Fail,
    /// There may be exceptions that the log cannot show.
    Inconclusive,
    /// There was nothing to test; never a pass.
    NotTested,
    /// Something was tested, all of it, and there is no exception.
    Pass,
}

impl Outcome {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Fail => "fail",
            Self::Inconclusive => "inconclusive",
            Self::NotTested => "not_tested",
            Self::Pass => "pass",
        }
    }
}

/// A control and what it said.
pub(crate) struct Tested<'c> {
    pub(crate) control: &'c Control,
    pub(crate) population: u64,
    pub(crate) exceptions: Exceptions,
    /// Why it could not tell, if it could not.
    pub(crate) gaps: Vec<String>,
    pub(crate) outcome: Outcome,
}

/// Runs one control. An exception stays one whatever else is missing; without one, a gap makes that
/// nothing can be said.
pub(crate) fn test<'c>(
    database: &Database,
    control: &'c Control,
    period: Period,
) -> Result<Tested<'c>, Failure> {
    let population = query::count(database, control, Part::Population, period)?;
    let exceptions = query::exceptions(database, control, period)?;
    let gaps = query::gaps(database, period)?;
    let outcome = if exceptions.count > 0 {
        Outcome::Fail
    } else if !gaps.is_empty() {
        Outcome::Inconclusive
    } else if population == 0 {
        Outcome::NotTested
    } else {
        Outcome::Pass
    };
    Ok(Tested {
        control,
        population,
        exceptions,
        gaps,
        outcome,
    })
}

/// 1 if a control fails, 2 if one could not tell or had nothing to test though it must have, else 0.
pub(crate) fn exit_code(tested: &[Tested<'_>]) -> u8 {
    let any = |wanted: Outcome| tested.iter().any(|one| one.outcome == wanted);
    let is_untested =
        |one: &Tested<'_>| one.outcome == Outcome::NotTested && one.control.optional.is_none();
    if any(Outcome::Fail) {
        1
    } else if any(Outcome::Inconclusive) || tested.iter().any(is_untested) {
        2
    } else {
        0
    }
}

/// What to scan, and with what.
#[derive(clap::Args)]
pub(crate) struct Source {
    #[command(flatten)]
    pub(crate) at: Places,
    #[command(flatten)]
    pub(crate) demanded: Demanded,
    /// The trust file. Without one the signer is unknown, and no control can pass.
    #[arg(long, value_name = "FILE")]
    pub(crate) trust: Option<PathBuf>,
    /// A folder of controls instead of those built in.
    #[arg(long, value_name = "DIR")]
    pub(crate) controls: Option<PathBuf>,
    /// Keep the database of the views in this new file, for any SQLite to open.
    #[arg(long, value_name = "FILE")]
    pub(crate) db: Option<PathBuf>,
}

impl Source {
    /// Reads controls and log.
    pub(crate) fn load(&self) -> Result<(Vec<Control>, Loaded), Failure> {
        let controls = controls::load(self.controls.as_deref())?;
        let trust = self.trust.as_deref().map(read_trust).transpose()?;
        let log = self.at.open()?;
        let verifier = Verifier::new(trust.as_ref()).locks(self.demanded.locks());
        let loaded = load(log.as_ref(), verifier, self.db.as_deref())?;
        Ok((controls, loaded))
    }
}

/// What was typed.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    source: Source,
    /// The period's begin, a day or a time in UTC: 2026-11-01 or 2026-11-01T00:00:00Z. Without it,
    /// the log's first record.
    #[arg(long, value_name = "T", value_parser = parse_time)]
    from: Option<u64>,
    /// The period's end, which is no part of it. Without it, the log's horizon.
    #[arg(long, value_name = "T", value_parser = parse_time)]
    to: Option<u64>,
    /// How to say it.
    #[arg(long, default_value = "text")]
    format: Format,
    /// The same as `--format json`.
    #[arg(long)]
    json: bool,
    /// Write it to this new file instead of standard output.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    recording: Recording,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    Json,
    Sarif,
    Text,
}

/// Scans and writes to standard output.
pub(crate) fn run(asked: &Arguments) -> Result<ExitCode, Failure> {
    let Source { at, db, .. } = &asked.source;
    at.apart(asked.out.iter().chain(db).cloned(), &asked.recording)?;
    let (controls, mut loaded) = asked.source.load()?;
    let period = Period::new(
        asked.from.unwrap_or(loaded.first_us),
        asked.to.unwrap_or(loaded.horizon_us.saturating_add(1)),
    )?;
    let mut tested = Vec::new();
    for control in &controls {
        tested.push(test(&loaded.database, control, period)?);
    }
    let format = if asked.json {
        Format::Json
    } else {
        asked.format
    };
    let trust = asked.source.trust.as_deref().map(digest_of).transpose()?;
    let export = Export {
        trust,
        from_us: Some(period.from_us),
        to_us: Some(period.to_us),
        records: Some(loaded.records),
        ..Export::of(Exported::Scan)
    };
    let out = asked.out.as_deref();
    asked.recording.deliver(out, export, |out| match format {
        Format::Json => writeln!(out, "{:#}", results(&tested, &loaded, period)),
        Format::Sarif => writeln!(out, "{:#}", show::sarif(&tested)),
        Format::Text => out.write_all(show::text(&tested, &loaded, period).as_bytes()),
    })?;
    loaded.database.keep()?;
    Ok(ExitCode::from(exit_code(&tested)))
}
