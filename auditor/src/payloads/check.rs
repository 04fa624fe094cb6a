//! Whether the payloads are there and are those that the log names. Needs no key.

use std::collections::{BTreeMap, HashSet};

use gatehouse_envelope::digest::sha256;
use gatehouse_ledger::{
    payload::{Body, Location, PREFIX},
    store::{Fetcher, StoreError, Survey},
    verify::Verdict,
};
use serde_json::{Value, json};

use super::{LARGEST, survey::Survey as Said};
use crate::{cli::Failure, progress::Bar, proved::Proved};

/// Of each kind so many places are shown.
const SHOWN: usize = 1000;

/// What became of a payload that a record names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum State {
    /// There are other bytes, or more than a sealed text.
    Altered,
    /// What the record says of it is malformed.
    Malformed,
    /// It is not there, its time is not over, and nobody erased it.
    Missing,
    /// The place did not give it.
    Unread,
    /// Its session was erased: its key is destroyed. Its bytes may still lie there.
    Erased,
    /// It is not there any more, and its time is over.
    Expired,
    /// It is there, byte for byte.
    Whole,
}

impl State {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Altered => "altered",
            Self::Erased => "erased",
            Self::Expired => "expired",
            Self::Malformed => "malformed",
            Self::Missing => "missing",
            Self::Unread => "unread",
            Self::Whole => "whole",
        }
    }

    /// What it means for the whole.
    pub(crate) fn verdict(self) -> Verdict {
        match self {
            Self::Altered | Self::Malformed => Verdict::Broken,
            Self::Missing | Self::Unread => Verdict::CouldNotTell,
            Self::Erased | Self::Expired | Self::Whole => Verdict::Holds,
        }
    }
}

/// What was found of the payloads.
#[derive(Default)]
pub(crate) struct Checked {
    counts: BTreeMap<State, u64>,
    /// State, place, and what proves it.
    places: Vec<(State, String, String)>,
    /// Objects in the payloads' place that are none: nothing else belongs there, least of all keys.
    foreign: Vec<String>,
    /// Folders of the payloads' place that could not be read, and why. Empty: the place.
    unread: Vec<(String, String)>,
    /// Payloads that no record names: of attempts that came to nothing, or of records that are missing.
    strays: u64,
    /// Payloads in the log's own place, where nothing can be erased.
    misplaced: u64,
}

/// Compares the payloads at `place` with what the log says of them.
pub(crate) fn check(
    log: &Proved<'_>,
    own: &dyn Fetcher,
    place: &dyn Fetcher,
    now_us: u64,
) -> Result<Checked, Failure> {
    let said = Said::of(log)?;
    let mut checked = Checked::default();
    let (mut bar, mut named) = (Bar::new("payloads"), HashSet::new());
    let mut done = 0;
    log.records(|entry| {
        let at = format!("{}/{}", entry.writer, entry.seq);
        let Ok(bodies) = Body::read(entry.event) else {
            checked.add(State::Malformed, at, String::new());
            return Ok(());
        };
        for body in bodies {
            let name = body.location.name();
            named.insert(mark(&name));
            let (state, why) = state(&said, place, &body, now_us);
            checked.add(state, name, why);
            done += 1;
            bar.show(done, said.named);
        }
        Ok(())
    })?;
    drop(bar);
    for name in checked.seen(place.survey("")) {
        match Location::parse(&name) {
            None => checked.foreign.push(name),
            Some(_) if named.contains(&mark(&name)) => {}
            Some(_) => checked.strays += 1,
        }
    }
    // What cannot be read of the log's own place, its verification says.
    let own = own.survey(PREFIX).unwrap_or_default();
    checked.misplaced = own.objects.len() as u64;
    Ok(checked)
}

/// What became of one payload, and what proves that.
fn state(said: &Said, place: &dyn Fetcher, body: &Body, now_us: u64) -> (State, String) {
    if let Some(record) = said.erased(&body.location.session) {
        return (State::Erased, format!("proved by record {record}"));
    }
    match fetch(place, body) {
        Err(error) => (State::Unread, error),
        Ok(None) if now_us > body.until_us => (State::Expired, String::new()),
        Ok(None) => (State::Missing, String::new()),
        Ok(Some(object)) if sha256(&[&object]) != body.ct => (State::Altered, String::new()),
        Ok(Some(object)) if object.len() as u64 != body.object_len() => {
            (State::Altered, "more or less than a sealed text".into())
        }
        Ok(Some(_)) => (State::Whole, String::new()),
    }
}

/// The object of a payload. One that is longer than a sealed text is another, whatever stands in it: of
/// that nothing is given back.
pub(super) fn fetch(place: &dyn Fetcher, body: &Body) -> Result<Option<Vec<u8>>, String> {
    let most = usize::try_from(body.object_len()).unwrap_or(usize::MAX);
    if most > LARGEST {
        return Err("larger than this version reads".into());
    }
    match place.get(&body.location.name(), most) {
        Err(StoreError::TooLarge) => Ok(Some(Vec::new())),
        read => read.map_err(|error| error.to_string()),
    }
}

/// Enough of a name to know it again.
fn mark(name: &str) -> [u8; 16] {
    let digest = sha256(&[name.as_bytes()]);
    digest.first_chunk().copied().unwrap_or_default()
}

impl Checked {
    fn add(&mut self, state: State, place: String, why: String) {
        *self.counts.entry(state).or_default() += 1;
        if state != State::Whole && self.places.len() < SHOWN {
            self.places.push((state, place, why));
        }
    }

    /// The names of the objects that can be seen; what cannot is noted. A link to a folder is among both: it is
    /// one that cannot be read, and not an object that does not belong there.
    fn seen(&mut self, listed: Result<Survey, StoreError>) -> Vec<String> {
        let Survey { objects, unread } = match listed {
            Ok(seen) => seen,
            Err(error) => {
                self.unread.push((String::new(), error.to_string()));
                return Vec::new();
            }
        };
        let links: HashSet<String> = unread.iter().map(|(name, _)| name.clone()).collect();
        let unread = unread.into_iter();
        self.unread
            .extend(unread.map(|(name, error)| (name, error.to_string())));
        let names = objects.into_iter().map(|object| object.name);
        names.filter(|name| !links.contains(name)).collect()
    }

    /// What all of it means.
    pub(crate) fn verdict(&self) -> Verdict {
        let of = |verdict| self.counts.keys().any(|state| state.verdict() == verdict);
        if of(Verdict::Broken) || self.misplaced > 0 || !self.foreign.is_empty() {
            Verdict::Broken
        } else if of(Verdict::CouldNotTell) || !self.unread.is_empty() {
            Verdict::CouldNotTell
        } else {
            Verdict::Holds
        }
    }

    /// For people.
    pub(crate) fn to_text(&self) -> String {
        let all: u64 = self.counts.values().sum();
        let counts = self.counts.iter();
        let counts: Vec<String> = counts
            .map(|(state, count)| format!("{count} {}", state.word()))
            .collect();
        let mut out = format!("payloads: {all} named in the log");
        if !counts.is_empty() {
            out += &format!(": {}", counts.join(", "));
        }
        out.push('\n');
        for (state, place, why) in &self.places {
            let why = match why.is_empty() {
                true => String::new(),
                false => format!(" ({why})"),
            };
            out += &format!("  {}{why}: {place}\n", state.word());
        }
        for name in self.foreign.iter().take(SHOWN) {
            out += &format!("  no payload, and so nothing that belongs there: {name}\n");
        }
        for (name, why) in self.unread.iter().take(SHOWN) {
            let name = if name.is_empty() { "the place" } else { name };
            out += &format!("  could not be read: {name}: {why}\n");
        }
        if self.strays > 0 {
            let strays = self.strays;
            out += &format!(
                "  {strays} named by no record: of attempts that came to nothing, or more\n"
            );
        }
        if self.misplaced > 0 {
            let misplaced = self.misplaced;
            out += &format!("  {misplaced} in the log's own place, where nothing can be erased\n");
        }
        out
    }

    pub(crate) fn to_json(&self) -> Value {
        let counts = self.counts.iter();
        let counts: serde_json::Map<String, Value> = counts
            .map(|(state, count)| (state.word().to_owned(), json!(count)))
            .collect();
        let places = self
            .places
            .iter()
            .map(|(state, place, why)| json!({"state": state.word(), "place": place, "why": why}));
        let unread = self.unread.iter().take(SHOWN);
        let unread = unread.map(|(name, why)| json!({"place": name, "why": why}));
        json!({
            "counts": counts,
            "places": places.collect::<Vec<_>>(),
            "foreign": self.foreign.iter().take(SHOWN).collect::<Vec<_>>(),
            "unread": unread.collect::<Vec<_>>(),
            "strays": self.strays,
            "misplaced": self.misplaced,
        })
    }
}
