//! `rescan`: opens the sealed payloads and searches them with today's detectors: what did we let through
//! before that rule existed? It says how often what was found and where, never what stands there.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    path::{Path, PathBuf},
    process::ExitCode,
};

use gatehouse_envelope::{
    payload::{Commitment, PayloadError, Place},
    small_file,
};
use gatehouse_ledger::{
    clock::{Clock, SystemClock},
    payload::{Body, Part},
    read::Entry,
    store::Fetcher,
    verify::{Verdict, Verifier},
};
use gatehouse_redactor::Policy;
use serde_json::{Value, json};

use super::{
    check::{State, fetch},
    keys::Keys,
    search::{Hit, Searcher},
    survey::Survey,
};
use crate::{
    apart::apart,
    cli::{Failure, note},
    export::{Export, Exported, Recording, digest_of},
    place::{Demanded, Places, open},
    progress::Bar,
    proved::Proved,
    scan::parse_time,
    verify::read_trust,
};

/// So many places of findings are told; all are counted.
const TOLD: usize = 100_000;
/// Of those so many as text.
const SHOWN: usize = 50;

/// What was typed.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    at: Places,
    #[command(flatten)]
    demanded: Demanded,
    /// The trust file. Without one the signer is unknown, and the exit code 2 at best.
    #[arg(long, value_name = "FILE")]
    trust: Option<PathBuf>,
    /// Where the sealed payloads are: a folder, or s3://BUCKET/PREFIX, reached as the log is.
    #[arg(long, value_name = "PLACE")]
    payloads: PathBuf,
    /// What opens them: the gateway's admin.sock, which records that it gives the keys out, or a file
    /// that `gatehouse session grant` wrote.
    #[arg(long, value_name = "SOCKET|FILE")]
    keys: PathBuf,
    /// Records from this time on, a day or a time in UTC.
    #[arg(long, value_name = "T", value_parser = parse_time)]
    from: Option<u64>,
    /// Records before this time.
    #[arg(long, value_name = "T", value_parser = parse_time)]
    to: Option<u64>,
    /// One session's payloads only.
    #[arg(long, value_name = "s_…")]
    session: Option<String>,
    /// The policy whose detectors and actions count, a redaction.toml; without it the built-in one.
    #[arg(long, value_name = "FILE")]
    redaction: Option<PathBuf>,
    /// One JSON object instead of text.
    #[arg(long)]
    json: bool,
    /// Write it to this new file instead of standard output.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    recording: Recording,
}

/// A finding and where it is.
struct Found {
    session: String,
    number: u64,
    part: Part,
    hit: Hit,
}

/// What came of a rescan.
#[derive(Default)]
struct Rescan {
    /// Payloads that were opened and searched, and their bytes.
    searched: u64,
    bytes: u64,
    /// Payloads that were not, by why.
    others: BTreeMap<&'static str, u64>,
    /// Some of them could not be, which could have been.
    doubt: bool,
    counts: BTreeMap<(&'static str, &'static str), u64>,
    found: Vec<Found>,
    more: u64,
}

/// Verifies the log, opens the payloads that it names, and searches them.
pub(crate) fn run(asked: &Arguments) -> Result<ExitCode, Failure> {
    let trust = asked.trust.as_deref().map(read_trust).transpose()?;
    let searcher = Searcher::new(policy(asked.redaction.as_deref())?).map_err(Failure::Usage)?;
    let written = || asked.out.clone().into_iter();
    asked.at.apart(written(), &asked.recording)?;
    let payloads = [asked.payloads.as_path()];
    apart(payloads, written().chain(asked.recording.folders()))?;
    let (log, place) = (asked.at.open()?, open(&asked.payloads, &asked.at.reach)?);
    let verifier = Verifier::new(trust.as_ref()).locks(asked.demanded.locks());
    let proved = Proved::read(log.as_ref(), verifier);
    let verdict = proved.report.verdict();
    if verdict == Verdict::Broken {
        return Err(Failure::Read("the log is broken: run verify".into()));
    }
    if verdict == Verdict::CouldNotTell {
        note("what the log proves cannot be told in full: run verify");
    }
    let survey = Survey::of(&proved)?;
    let mut walk = Walk {
        asked,
        place: place.as_ref(),
        keys: Keys::open(&asked.keys, &asked.recording)?,
        searcher: &searcher,
        now_us: SystemClock::new().now().unix_us,
        bar: Bar::new("payloads"),
        seen: 0,
        out: Rescan::default(),
        survey: &survey,
    };
    proved.records(|entry| walk.record(entry))?;
    let rescan = walk.out;
    let code = rescan.exit(verdict);
    let export = Export {
        trust: asked.trust.as_deref().map(digest_of).transpose()?,
        session: asked.session.clone(),
        from_us: asked.from,
        to_us: asked.to,
        payloads: Some(rescan.searched),
        ..Export::of(Exported::Rescan)
    };
    asked
        .recording
        .deliver(asked.out.as_deref(), export, |out| match asked.json {
            true => writeln!(out, "{:#}", rescan.to_json(code)),
            false => out.write_all(rescan.to_text().as_bytes()),
        })?;
    Ok(ExitCode::from(code))
}

fn policy(file: Option<&Path>) -> Result<Policy, Failure> {
    let Some(path) = file else {
        return Ok(Policy::default());
    };
    let wrong = |why: String| Failure::Usage(format!("{}: {why}", path.display()));
    let text = small_file::text(path).map_err(|error| wrong(error.to_string()))?;
    let policy: Policy =
        toml::from_str(&text).map_err(|error| wrong(error.message().to_owned()))?;
    match policy.faults().first() {
        Some(fault) => Err(wrong(format!("{}: {}", fault.path, fault.message))),
        None => Ok(policy),
    }
}

/// One walk over the records.
struct Walk<'w> {
    asked: &'w Arguments,
    place: &'w dyn Fetcher,
    keys: Keys<'w>,
    searcher: &'w Searcher,
    survey: &'w Survey,
    now_us: u64,
    bar: Bar,
    seen: u64,
    out: Rescan,
}

impl Walk<'_> {
    fn record(&mut self, entry: &Entry<'_>) -> Result<(), Failure> {
        let Ok(bodies) = Body::read(entry.event) else {
            self.out.other(State::Malformed.word(), true);
            return Ok(());
        };
        for body in bodies {
            self.seen += 1;
            self.bar.show(self.seen, self.survey.named);
            let at = entry.unix_us;
            let early = self.asked.from.is_some_and(|from| at < from);
            let late = self.asked.to.is_some_and(|to| at >= to);
            let session = self.asked.session.as_deref();
            let other = session.is_some_and(|session| session != body.location.session);
            if !(early || late || other) {
                self.payload(&body)?;
            }
        }
        Ok(())
    }

    fn payload(&mut self, body: &Body) -> Result<(), Failure> {
        let at = &body.location;
        if self.survey.erased(&at.session).is_some() {
            self.out.other(State::Erased.word(), false);
            return Ok(());
        }
        let object = match fetch(self.place, body) {
            Ok(Some(object)) => object,
            Ok(None) => {
                let over = self.now_us > body.until_us;
                let state = if over { State::Expired } else { State::Missing };
                self.out.other(state.word(), !over);
                return Ok(());
            }
            Err(_) => {
                self.out.other(State::Unread.word(), true);
                return Ok(());
            }
        };
        let Some(key) = self.keys.of(&at.session, self.survey)? else {
            self.out.other("without a key", true);
            return Ok(());
        };
        let place = Place {
            part: at.part.word(),
            tenant: &key.tenant,
            session: &at.session,
            number: at.number,
        };
        let commitment = Commitment {
            ct: &body.ct,
            len: body.len,
            kc: &body.kc,
            pm: &body.pm,
        };
        let text = match key.key.open(&place, &commitment, &object) {
            Ok(text) => text,
            Err(error) => {
                self.out.other(unopened(error), true);
                return Ok(());
            }
        };
        match self.searcher.search(at.part, &text) {
            Ok(hits) => self.out.add(body, hits),
            Err(_) => self.out.other("not searched", true),
        }
        Ok(())
    }
}

fn unopened(error: PayloadError) -> &'static str {
    match error {
        PayloadError::Altered => State::Altered.word(),
        PayloadError::Damaged => "not opened here",
        PayloadError::Newer => "of a newer version",
        PayloadError::OtherKey => "with another key",
        PayloadError::OtherText => "with another text",
    }
}

impl Rescan {
    fn other(&mut self, why: &'static str, doubt: bool) {
        *self.others.entry(why).or_default() += 1;
        self.doubt |= doubt;
    }

    fn add(&mut self, body: &Body, hits: Vec<Hit>) {
        self.searched += 1;
        self.bytes = self.bytes.saturating_add(body.len);
        let at = &body.location;
        for hit in hits {
            let count = self.counts.entry((at.part.word(), hit.label)).or_default();
            *count += 1;
            if self.found.len() >= TOLD {
                self.more += 1;
                continue;
            }
            self.found.push(Found {
                session: at.session.clone(),
                number: at.number,
                part: at.part,
                hit,
            });
        }
    }

    /// 1 if something was found, 2 if not everything could be searched or there was nothing, else 0.
    fn exit(&self, verdict: Verdict) -> u8 {
        if !self.counts.is_empty() {
            1
        } else if self.doubt || self.searched == 0 || verdict != Verdict::Holds {
            2
        } else {
            0
        }
    }

    fn to_text(&self) -> String {
        let all: u64 = self.counts.values().sum();
        let (searched, bytes) = (self.searched, self.bytes);
        let mut out = format!("{searched} payloads searched, {bytes} bytes: {all} findings\n");
        for (why, count) in &self.others {
            let _ = writeln!(out, "not searched: {count} {why}");
        }
        for ((part, label), count) in &self.counts {
            let _ = writeln!(out, "{part}  {label:<18} {count}");
        }
        for found in self.found.iter().take(SHOWN) {
            let Found {
                session,
                number,
                part,
                hit,
            } = found;
            let (part, at) = (part.word(), &hit.at);
            let _ = writeln!(
                out,
                "  {session} {number} {part} bytes {}..{}: {} ({})",
                at.start, at.end, hit.label, hit.rule
            );
        }
        if let Some(rest) = all.checked_sub(SHOWN as u64).filter(|rest| *rest > 0) {
            let _ = writeln!(out, "  and {rest} more");
        }
        out
    }

    fn to_json(&self, code: u8) -> Value {
        let counts = self
            .counts
            .iter()
            .map(|((part, label), count)| json!({"part": part, "label": label, "n": count}));
        let found = self.found.iter().map(|it| {
            json!({
                "session": it.session, "sseq": it.number, "part": it.part.word(),
                "start": it.hit.at.start, "end": it.hit.at.end,
                "label": it.hit.label, "rule": it.hit.rule,
            })
        });
        json!({
            "gatehouse_rescan": 1,
            "exit": code,
            "searched": self.searched,
            "bytes": self.bytes,
            "not_searched": self.others,
            "counts": counts.collect::<Vec<_>>(),
            "found": found.collect::<Vec<_>>(),
            "more": self.more,
        })
    }
}
