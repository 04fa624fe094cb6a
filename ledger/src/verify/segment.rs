//! One segment, checked against the stream so far.

use crate::{
    cert::Certificate,
    clock::{day, day_number},
    event::write_string,
    json::Scanner,
    leaf::{LeafReader, MAX_LEAF},
    names,
    note::{Note, checkpoint},
    segment::{Foot, Head, stored_digest, unpack},
    tree::{Hash, Tree, leaf_hash},
};

use super::Fault;

/// A stream as far as it was checked.
pub(crate) struct Position<'s> {
    pub(crate) writer: &'s str,
    pub(crate) tree: Tree,
    /// The digest of the last segment's stored bytes.
    pub(crate) previous: Option<Hash>,
    pub(crate) last_us: u64,
    pub(crate) end: End,
    /// The number of the day of the segment at hand, once it was compared with where it is filed.
    pub(crate) day: Option<u64>,
    /// The last segment was signed by the deployment.
    pub(crate) by_deployment: bool,
    /// Memory that is used again for every line.
    pub(crate) memory: Memory,
}

/// How a stream ends so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Closed,
    None,
    Recovered { cut: bool },
}

#[derive(Default)]
pub(crate) struct Memory {
    reader: LeafReader,
    scanner: Scanner,
    line: Vec<u8>,
}

/// What of a record the rest of verification looks at.
#[derive(Clone, Copy, Default)]
pub(crate) struct Record<'r> {
    pub(crate) event: &'r [u8],
    pub(crate) kind: &'r str,
    pub(crate) state: Option<&'r str>,
    pub(crate) cut: bool,
    pub(crate) session: Option<&'r str>,
    pub(crate) sseq: Option<u64>,
    pub(crate) sprev: Option<&'r str>,
    pub(crate) request: Option<&'r str>,
    pub(crate) missing: Option<u64>,
    /// Of `writer.open`: the log of seals that the writer's store has.
    pub(crate) seals: Option<&'r str>,
}

/// A fault, and the number of the record where it is.
pub(super) type Faulty = (Option<u64>, Problem);

/// Why the check of a segment ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Problem {
    Fault(Fault),
    /// Its first line says that it is of a newer version.
    Newer,
}

impl From<Fault> for Problem {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl Position<'_> {
    /// Checks a stored segment that is filed under `day`, and moves on behind it. Gives the number
    /// of bytes that it unpacks to.
    pub(super) fn advance(
        &mut self,
        stored: &[u8],
        filed: &str,
        certificate: &Certificate,
        event: &mut dyn FnMut(&Record<'_>),
    ) -> Result<u64, Faulty> {
        let lines = unpack(stored).map_err(|_| (None, Fault::Frame.into()))?;
        let rest = self.header(&lines)?;
        self.day = None;
        // The footer is the last line; what stands between is leaves.
        let body = rest
            .strip_suffix(b"\n")
            .ok_or((None, Fault::Footer.into()))?;
        let split = body
            .iter()
            .rposition(|b| *b == b'\n')
            .ok_or((None, Fault::Footer.into()))?;
        let (leaves, footer) = rest.split_at_checked(split + 1).unwrap_or_default();
        let mut first_us = None;
        for line in leaves.split_inclusive(|b| *b == b'\n') {
            let seq = self.tree.size();
            let line = line.strip_suffix(b"\n").unwrap_or(line);
            let us = self
                .leaf(line, filed, event)
                .map_err(|fault| (Some(seq), fault.into()))?;
            first_us.get_or_insert(us);
        }
        let first_us = first_us.ok_or((None, Fault::Footer.into()))?;
        self.footer(footer, first_us, certificate)
            .map_err(|fault| (None, fault.into()))?;
        self.previous = Some(stored_digest(stored));
        Ok(lines.len() as u64)
    }

    /// Checks the header line and gives what follows it.
    fn header<'l>(&mut self, lines: &'l [u8]) -> Result<&'l [u8], Faulty> {
        let head = Head {
            writer: self.writer,
            first_seq: self.tree.size(),
            previous: self.previous,
            root_before: self.tree.root(),
        };
        self.memory.line.clear();
        head.write(&mut self.memory.line);
        match lines.strip_prefix(self.memory.line.as_slice()) {
            Some(rest) => Ok(rest),
            None if is_newer(lines) => Err((None, Problem::Newer)),
            None => Err((None, Fault::Header.into())),
        }
    }

    /// Checks a leaf and gives its time. What recovery is about to sign must pass here too.
    pub(crate) fn leaf(
        &mut self,
        line: &[u8],
        filed: &str,
        event: &mut dyn FnMut(&Record<'_>),
    ) -> Result<u64, Fault> {
        let seq = self.tree.size();
        if line.len() > MAX_LEAF {
            return Err(Fault::Leaf);
        }
        let leaf = self
            .memory
            .reader
            .read(line, self.writer, seq)
            .ok_or(Fault::Leaf)?;
        let us = leaf.stamp.unix_us;
        if us < self.last_us {
            return Err(Fault::Time);
        }
        let number = day_number(us);
        if self.day != Some(number) {
            if self.day.is_some() || day(us) != filed {
                return Err(Fault::Time);
            }
            self.day = Some(number);
        }
        let record = read_event(&mut self.memory.scanner, leaf.event)?;
        self.succession(seq, &record)?;
        event(&record);
        self.last_us = us;
        self.tree.push(leaf_hash(line));
        Ok(us)
    }

    /// A stream begins with its opening and ends with its closing. Recovery may follow a closing
    /// that the writer wrote and could not store.
    fn succession(&mut self, seq: u64, record: &Record<'_>) -> Result<(), Fault> {
        let opens = record.kind == "writer.open";
        if opens != (seq == 0) {
            return Err(Fault::Start);
        }
        let end = end_of(record)?;
        match (self.end, end) {
            (End::None, _) | (End::Closed, End::Recovered { .. }) => self.end = end,
            _ => return Err(Fault::AfterEnd),
        }
        Ok(())
    }

    fn footer(&mut self, line: &[u8], first_us: u64, by: &Certificate) -> Result<(), Fault> {
        let (size, root, last_us) = (self.tree.size(), self.tree.root(), self.last_us);
        let foot = Foot {
            size,
            root,
            first_us,
            last_us,
            note: "",
        };
        self.memory.line.clear();
        foot.write_before_note(&mut self.memory.line);
        let text = line
            .strip_prefix(self.memory.line.as_slice())
            .ok_or(Fault::Footer)?;
        let text = text.strip_suffix(b"}\n").ok_or(Fault::Footer)?;
        let note: String = serde_json::from_slice(text).map_err(|_| Fault::Checkpoint)?;
        self.memory.line.clear();
        write_string(&mut self.memory.line, &note);
        let note = Note::parse(&note).map_err(|_| Fault::Checkpoint)?;
        let origin = names::deployment_of(self.writer).map(|d| names::origin(d, self.writer));
        let wanted = origin.map(|origin| checkpoint(&origin, size, &root));
        // One form of the note, one text, one signature: nothing in a footer is free.
        let exact = self.memory.line == text && note.signatures() == 1;
        if !exact || Some(note.text) != wanted.as_deref() {
            return Err(Fault::Checkpoint);
        }
        self.signature(&note, by)
    }

    /// The writer signs its segments, the deployment those of a dead writer: never the other way
    /// round, and never the writer again after the deployment.
    fn signature(&mut self, note: &Note<'_>, by: &Certificate) -> Result<(), Fault> {
        if note.names(&by.issuer) {
            if !note.is_signed_by(&by.issuer) {
                return Err(Fault::Signature);
            }
            self.by_deployment = true;
            return Ok(());
        }
        if !note.is_signed_by(&by.key) {
            return Err(Fault::Signature);
        }
        match (self.by_deployment, self.end) {
            (true, _) | (_, End::Recovered { .. }) => Err(Fault::Succession),
            _ => Ok(()),
        }
    }
}

/// Whether a record ends its stream, and how.
pub(crate) fn end_of(record: &Record<'_>) -> Result<End, Fault> {
    match (record.kind, record.state) {
        ("writer.close", Some("recovered")) => Ok(End::Recovered { cut: record.cut }),
        ("writer.close", Some(_)) => Ok(End::Closed),
        ("writer.close", None) => Err(Fault::Kind),
        _ => Ok(End::None),
    }
}

/// Reads what verification needs of an event.
pub(crate) fn read_event<'e>(scanner: &mut Scanner, event: &'e [u8]) -> Result<Record<'e>, Fault> {
    let mut record = Record {
        event,
        ..Record::default()
    };
    let mut kind = None;
    let scanned = scanner.object(event, |key, value| match key {
        "kind" => kind = value.text(),
        "state" => record.state = value.text(),
        "cut" => record.cut = value.bytes() == b"true",
        "sid" => record.session = Some(value.text().unwrap_or_default()),
        "sseq" => record.sseq = value.integer(),
        "sprev" => record.sprev = value.text(),
        "rid" => record.request = value.text(),
        "missing" => record.missing = value.integer(),
        "seals" => record.seals = value.text(),
        _ => {}
    });
    scanned.map_err(|_| Fault::Json)?;
    record.kind = kind.ok_or(Fault::Kind)?;
    // Whoever names a session has a place in its chain.
    let placed = record.sseq.is_some() && record.sprev.is_some();
    match record.session {
        Some(session) if session.is_empty() || !placed => Err(Fault::Kind),
        _ => Ok(record),
    }
}

/// Whether a header line, or a seal, is one of another version.
pub(crate) fn is_newer(lines: &[u8]) -> bool {
    let version = lines.strip_prefix(b"{\"gatehouse\":").unwrap_or_default();
    let digits = version.iter().take_while(|b| b.is_ascii_digit()).count();
    let (number, rest) = version.split_at_checked(digits).unwrap_or_default();
    !number.is_empty() && number != b"1" && number.first() != Some(&b'0') && rest.starts_with(b",")
}
