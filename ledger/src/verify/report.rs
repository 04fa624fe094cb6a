//! The result of a verification.

use std::fmt;

use super::{Doubt, Fault, Finding, hidden::Hidden};
use crate::store::StoreError;

/// Of each kind of entry so many are kept; the rest is counted.
const MAX_KEPT: usize = 1000;

/// What verification says in one word. The numbers are exit codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Everything that was claimed was checked and holds.
    Holds = 0,
    /// Something does not fit.
    Broken = 1,
    /// Nothing contradicts itself, but not everything could be told.
    CouldNotTell = 2,
}

/// What verification found.
#[derive(Default)]
pub struct Report {
    /// What is broken; the first fault of each stream, and all faults of sessions.
    pub faults: Vec<At<Fault>>,
    /// What could not be told.
    pub doubts: Vec<At<Doubt>>,
    /// What is worth knowing.
    pub findings: Vec<At<Finding>>,
    /// Entries beyond those kept in the three lists.
    pub more: u64,
    /// The streams, by name and so by day.
    pub streams: Vec<StreamReport>,
    /// The logs of seals, by name.
    pub seals: Vec<SealReport>,
    /// Records read.
    pub records: u64,
    /// Bytes of lines read.
    pub bytes: u64,
    /// Sessions named in records.
    pub sessions: u64,
    /// Until when the lock of every object that was read holds, in microseconds since 1970; none
    /// where the store has no locks or none were demanded.
    pub locked_until_us: Option<u64>,
    /// What the store said when it first could not be read, for people.
    pub reason: Option<String>,
    pub(super) hidden: Hidden,
    /// Faults, also those that had no room.
    broken: u64,
}

/// An entry and where it stands: an object, a session or a request; empty for the whole log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct At<T> {
    /// The object's name, the session's reference or the request's id.
    pub place: String,
    /// The number of the record in its stream, or of a session's record in its session.
    pub seq: Option<u64>,
    /// What is there.
    pub what: T,
}

impl<T: fmt::Display> fmt::Display for At<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.place.as_str(), self.seq) {
            ("", _) => write!(f, "{}", self.what),
            (place, None) => write!(f, "{place}: {}", self.what),
            (place, Some(seq)) => write!(f, "{place}, record {seq}: {}", self.what),
        }
    }
}

/// One stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamReport {
    /// Its writer.
    pub writer: String,
    /// How it ends.
    pub state: State,
    /// It ends, for the time being, at something that may be in a folder that could not be read: what
    /// stands behind that was not checked.
    pub hidden: bool,
    /// Records that were checked: what is proved ends there.
    pub records: u64,
    /// The time of the last of them, in microseconds since 1970.
    pub last_us: u64,
    /// How many of them seals list: those cannot be cut off without a trace.
    pub sealed: Option<u64>,
}

/// One log of seals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealReport {
    /// Its name: one store's.
    pub log: String,
    /// Seals that were checked.
    pub seals: u64,
    /// When the last of them was made, in microseconds since 1970.
    pub last_us: u64,
    /// The longest time between two of them, in microseconds.
    pub longest_gap_us: u64,
    /// The last seal that a quorum of witnesses has cosigned, if the trust file names one.
    pub witnessed: Option<Witnessed>,
    /// The last seal that an authority has stamped, if any were named.
    pub stamped: Option<Stamped>,
    /// It ends at a fault.
    pub broken: bool,
}

/// A seal that a quorum of witnesses has cosigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Witnessed {
    /// Its number.
    pub seal: u64,
    /// When it was made, by the deployment's clock, in microseconds since 1970.
    pub unix_us: u64,
    /// When the witnesses that had cosigned it became a quorum, by their clocks, in seconds since 1970.
    pub cosigned_s: u64,
}

/// A seal on which there is a time stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamped {
    /// Its number.
    pub seal: u64,
    /// When it was made, by the deployment's clock, in microseconds since 1970.
    pub unix_us: u64,
    /// When an authority has stamped it, by its clock, in microseconds since 1970.
    pub stamped_us: u64,
}

/// How a stream ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// At a fault.
    Broken,
    /// With its writer's last record.
    Closed,
    /// Not at all, as far as can be seen: the writer runs, died, or the end was taken away.
    Open,
    /// With its recovery.
    Recovered,
}

impl State {
    /// Whether the stream is there from its first record to its last.
    pub(super) fn is_complete(self) -> bool {
        matches!(self, Self::Closed | Self::Recovered)
    }
}

impl Report {
    /// The verdict.
    pub fn verdict(&self) -> Verdict {
        if !self.faults.is_empty() {
            Verdict::Broken
        } else if !self.doubts.is_empty() {
            Verdict::CouldNotTell
        } else {
            Verdict::Holds
        }
    }

    /// The horizon, in microseconds since 1970: past it nothing is proved. Of streams that do not end
    /// it is the first one's last record, of a log whose streams all end the last one's; none if
    /// there is no record.
    pub fn horizon_us(&self) -> Option<u64> {
        let times = |of: fn(State) -> bool| {
            let streams = self.streams.iter();
            let with_records = streams.filter(move |stream| of(stream.state) && stream.records > 0);
            with_records.map(|stream| stream.last_us)
        };
        let whole = || times(State::is_complete).max();
        times(|state| !state.is_complete()).min().or_else(whole)
    }

    /// Something could not be read.
    pub(crate) fn unread(&mut self, place: &str, error: &StoreError) {
        self.reason.get_or_insert_with(|| error.to_string());
        self.doubt(place, Doubt::Unreadable);
    }

    pub(crate) fn fault(&mut self, place: &str, what: Fault) {
        self.fault_at(place, None, what);
    }

    /// A folder could not be read: what is missing may be in it.
    pub(super) fn hide(&mut self, folder: &str, error: &StoreError) {
        if self.hidden.add(folder) {
            self.unread(folder, error);
        }
    }

    /// Whether objects whose names begin with `folder` are missing since it could not be read.
    pub fn is_hidden(&self, folder: &str) -> bool {
        self.hidden.has(folder)
    }

    /// How many faults there are.
    pub(super) fn broken(&self) -> u64 {
        self.broken
    }

    pub(super) fn fault_at(&mut self, place: &str, seq: Option<u64>, what: Fault) {
        if self.hidden.may_have(place, what) {
            return self.doubt_at(place, seq, Doubt::Hidden);
        }
        self.broken += 1;
        self.more += keep(&mut self.faults, place, seq, what);
    }

    pub(crate) fn doubt(&mut self, place: &str, what: Doubt) {
        self.doubt_at(place, None, what);
    }

    pub(super) fn doubt_at(&mut self, place: &str, seq: Option<u64>, what: Doubt) {
        self.more += keep(&mut self.doubts, place, seq, what);
    }

    pub(crate) fn finding(&mut self, place: &str, what: Finding) {
        self.finding_at(place, None, what);
    }

    pub(super) fn finding_at(&mut self, place: &str, seq: Option<u64>, what: Finding) {
        self.more += keep(&mut self.findings, place, seq, what);
    }
}

/// Adds an entry if there is room; gives the number of entries that were not.
fn keep<T>(list: &mut Vec<At<T>>, place: &str, seq: Option<u64>, what: T) -> u64 {
    if list.len() >= MAX_KEPT {
        return 1;
    }
    list.push(At {
        place: place.to_owned(),
        seq,
        what,
    });
    0
}
