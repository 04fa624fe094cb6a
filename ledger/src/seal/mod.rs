//! Seals: once a minute, what every stream of the store has come to, signed by the deployment.
//!
//! A stream's own checkpoints show that nothing in it was changed; only a seal shows that a stream,
//! or the end of one, is missing. Seals are numbered from 0 and each is a leaf of a tree of its own
//! (RFC 6962), whose signed checkpoints witnesses can cosign. Nobody leads: whoever is first to put
//! the next number has made it, and all others take it over.

mod maker;
mod state;

use data_encoding::HEXLOWER;
use gatehouse_envelope::digest::sha256;
use serde::Deserialize;

pub use maker::{SealError, Sealer};
pub(crate) use state::checkpoint_of as read_checkpoint;

use crate::{
    clock::{day, rfc3339},
    event::{MAX_INTEGER, write_hex, write_integer, write_string},
    names,
    segment::write_digest,
    tree::{Hash, Tree, empty_root, leaf_hash},
    verify::segment::is_newer,
};

/// The most bytes of a seal.
pub const MAX_SEAL: usize = 1 << 20;
/// The most bytes of a signed checkpoint with its cosignatures.
pub const MAX_NOTE: usize = 1 << 16;
/// How many days a stream is listed that neither ends nor goes on: that of its name, and these more.
const LISTED_DAYS: u64 = 2;
const DAY_US: u64 = 86_400_000_000;

/// What a seal says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seal {
    /// The log of seals that it belongs to; also the origin line of its checkpoint.
    pub log: String,
    /// Its number, from 0: also its place in the tree.
    pub number: u64,
    /// When it was made, in microseconds since 1970; never before the seal before it.
    pub unix_us: u64,
    /// The SHA-256 of the seal before it.
    pub previous: Option<Hash>,
    /// The right edge of the tree before it: see [`Tree::edge`].
    pub edge: Vec<Hash>,
    /// The streams, by their writers' names.
    pub streams: Vec<Sealed>,
}

/// What a seal says of one stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sealed {
    /// The writer.
    pub writer: String,
    /// How many records the store holds of it.
    pub size: u64,
    /// The root of its tree over them.
    pub root: Hash,
    /// The SHA-256 of its last segment as stored; none without segments.
    pub segment: Option<Hash>,
    /// The time of its last record, in microseconds since 1970; 0 without records.
    pub last_us: u64,
    /// How it ends so far.
    pub state: SealedState,
}

/// How a stream ends, as a seal has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SealedState {
    /// With its writer's `writer.close`.
    Closed,
    /// It did not end and did not go on for two days after its own: its disk is gone.
    Lost,
    /// Not yet.
    Open,
    /// With its recovery.
    Recovered,
}

impl SealedState {
    fn word(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Lost => "lost",
            Self::Open => "open",
            Self::Recovered => "recovered",
        }
    }

    fn parse(word: &str) -> Option<Self> {
        let all = [Self::Closed, Self::Lost, Self::Open, Self::Recovered];
        all.into_iter().find(|state| state.word() == word)
    }
}

impl Sealed {
    /// A stream of which the store holds no record.
    pub(crate) fn nothing(writer: &str) -> Self {
        Self {
            writer: writer.to_owned(),
            size: 0,
            root: empty_root(),
            segment: None,
            last_us: 0,
            state: SealedState::Open,
        }
    }

    /// What the stream must be at this size, in one digest. A lost stream is one without an end.
    pub(crate) fn fingerprint(&self) -> Hash {
        let end = match self.state {
            SealedState::Closed => b'c',
            SealedState::Lost | SealedState::Open => b'o',
            SealedState::Recovered => b'r',
        };
        fingerprint(&self.root, self.segment.as_ref(), self.last_us, end)
    }

    /// Whether a stream may have come from `before` to this.
    fn continues(&self, before: &Self) -> bool {
        let same = self.fingerprint() == before.fingerprint();
        match before.state {
            SealedState::Open if self.size == before.size => same,
            SealedState::Open => self.size > before.size && self.last_us >= before.last_us,
            _ => same && self.size == before.size,
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"w\":");
        write_string(out, &self.writer);
        out.extend_from_slice(b",\"size\":");
        write_integer(out, self.size);
        out.extend_from_slice(b",\"root\":");
        write_digest(out, &self.root);
        out.extend_from_slice(b",\"seg\":");
        write_optional(out, self.segment.as_ref());
        out.extend_from_slice(b",\"last_us\":");
        write_integer(out, self.last_us);
        out.extend_from_slice(b",\"state\":");
        write_string(out, self.state.word());
        out.push(b'}');
    }
}

/// See [`Sealed::fingerprint`].
pub(crate) fn fingerprint(root: &Hash, segment: Option<&Hash>, last_us: u64, end: u8) -> Hash {
    let segment = segment.copied().unwrap_or_default();
    sha256(&[root, &segment, &last_us.to_be_bytes(), &[end]])
}

impl Seal {
    /// The seal's bytes: what is stored, and the leaf of the tree.
    pub fn bytes(&self) -> Vec<u8> {
        let mut out = b"{\"gatehouse\":1,\"log\":".to_vec();
        write_string(&mut out, &self.log);
        out.extend_from_slice(b",\"seal\":");
        write_integer(&mut out, self.number);
        out.extend_from_slice(b",\"ts\":");
        write_string(&mut out, &rfc3339(self.unix_us));
        out.extend_from_slice(b",\"ts_us\":");
        write_integer(&mut out, self.unix_us);
        out.extend_from_slice(b",\"prev\":");
        write_optional(&mut out, self.previous.as_ref());
        out.extend_from_slice(b",\"edge\":[");
        for (index, node) in self.edge.iter().enumerate() {
            out.extend_from_slice(if index == 0 { b"\"" } else { b",\"" });
            write_hex(&mut out, node);
            out.push(b'"');
        }
        out.extend_from_slice(b"],\"streams\":[");
        for (index, stream) in self.streams.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            stream.write(&mut out);
        }
        out.extend_from_slice(b"]}");
        out
    }

    /// Reads a seal. There is one way to write what it says, and no other is read.
    ///
    /// # Errors
    /// It is no seal, or one of a newer version.
    pub fn parse(bytes: &[u8]) -> Result<Self, Unsealed> {
        // A newer version may have other members, so no more than its beginning is read.
        if is_newer(bytes) {
            return Err(Unsealed::Newer);
        }
        let body: Body<'_> = serde_json::from_slice(bytes).map_err(|_| Unsealed::Malformed)?;
        let seal = body.read().ok_or(Unsealed::Malformed)?;
        match seal.is_sound() && seal.bytes() == bytes {
            true => Ok(seal),
            false => Err(Unsealed::Malformed),
        }
    }

    /// Whether it is consistent in itself.
    fn is_sound(&self) -> bool {
        let in_order = |pair: &[Sealed]| matches!(pair, [a, b] if a.writer < b.writer);
        let sound = |stream: &Sealed| {
            let nothing = Sealed::nothing(&stream.writer);
            stream.size.max(stream.last_us) <= MAX_INTEGER
                && (stream.size == 0) == (stream.segment.is_none())
                && (stream.size > 0 || stream.fingerprint() == nothing.fingerprint())
        };
        let listed = day(self.unix_us.saturating_sub(LISTED_DAYS * DAY_US));
        let lost = |stream: &Sealed| {
            stream.state != SealedState::Lost
                || names::day_of(&stream.writer).is_some_and(|day| day < listed)
        };
        names::deployment_of_seals(&self.log).is_some()
            && self.number <= MAX_INTEGER
            && self.unix_us <= MAX_INTEGER
            && self.previous.is_some() == (self.number > 0)
            && self.streams.windows(2).all(in_order)
            && self.streams.iter().all(|stream| {
                names::deployment_of(&stream.writer).is_some() && sound(stream) && lost(stream)
            })
    }

    /// Whether this may be the seal behind `before`, of which `tree` is the tree.
    pub(crate) fn follows(&self, before: Option<(&Self, &Hash)>, tree: &Tree) -> bool {
        self.is_behind(before, tree) && self.keeps(before.map(|(before, _)| before))
    }

    /// Whether it stands behind `before`: it has its place in the tree, names what is before it, and
    /// its time does not go back.
    pub(crate) fn is_behind(&self, before: Option<(&Self, &Hash)>, tree: &Tree) -> bool {
        let named = before.is_none_or(|(before, digest)| {
            self.log == before.log
                && self.previous.as_ref() == Some(digest)
                && self.unix_us >= before.unix_us
        });
        named
            && self.number == tree.size()
            && self.edge == tree.edge()
            && self.previous.is_some() == before.is_some()
    }

    /// Whether it lists every stream that had not ended by the seal `before`, none of them shorter.
    pub(crate) fn keeps(&self, before: Option<&Self>) -> bool {
        before.is_none_or(|before| {
            before.streams.iter().all(|stream| {
                let ended = stream.state != SealedState::Open;
                self.stream(&stream.writer)
                    .map_or(ended, |now| now.continues(stream))
            })
        })
    }

    /// What it says of a writer's stream.
    pub fn stream(&self, writer: &str) -> Option<&Sealed> {
        let at = |stream: &Sealed| stream.writer.as_str().cmp(writer);
        let at = self.streams.binary_search_by(at).ok()?;
        self.streams.get(at)
    }
}

/// The digest by which the next seal names one, and its hash as a leaf.
pub(crate) fn digests(bytes: &[u8]) -> (Hash, Hash) {
    (sha256(&[bytes]), leaf_hash(bytes))
}

/// Why bytes are no seal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsealed {
    /// Not a seal in the one form that there is.
    #[error("not a seal")]
    Malformed,
    /// Of a version that this program does not know.
    #[error("a seal of a newer version")]
    Newer,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body<'b> {
    #[serde(rename = "gatehouse")]
    _gatehouse: u64,
    log: &'b str,
    seal: u64,
    #[serde(rename = "ts")]
    _ts: &'b str,
    ts_us: u64,
    prev: Option<&'b str>,
    #[serde(borrow)]
    edge: Vec<&'b str>,
    #[serde(borrow)]
    streams: Vec<Listed<'b>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Listed<'b> {
    w: &'b str,
    size: u64,
    root: &'b str,
    seg: Option<&'b str>,
    last_us: u64,
    state: &'b str,
}

impl Body<'_> {
    fn read(&self) -> Option<Seal> {
        let edge: Option<Vec<Hash>> = self.edge.iter().map(|node| read_hex(node)).collect();
        let streams: Option<Vec<Sealed>> = self.streams.iter().map(Listed::read).collect();
        Some(Seal {
            log: self.log.to_owned(),
            number: self.seal,
            unix_us: self.ts_us,
            previous: read_optional(self.prev)?,
            edge: edge?,
            streams: streams?,
        })
    }
}

impl Listed<'_> {
    fn read(&self) -> Option<Sealed> {
        Some(Sealed {
            writer: self.w.to_owned(),
            size: self.size,
            root: read_digest(self.root)?,
            segment: read_optional(self.seg)?,
            last_us: self.last_us,
            state: SealedState::parse(self.state)?,
        })
    }
}

fn write_optional(out: &mut Vec<u8>, digest: Option<&Hash>) {
    match digest {
        Some(digest) => write_digest(out, digest),
        None => out.extend_from_slice(b"null"),
    }
}

fn read_optional(text: Option<&str>) -> Option<Option<Hash>> {
    text.map_or(Some(None), |text| read_digest(text).map(Some))
}

fn read_digest(text: &str) -> Option<Hash> {
    read_hex(text.strip_prefix("sha256:")?)
}

fn read_hex(text: &str) -> Option<Hash> {
    HEXLOWER.decode(text.as_bytes()).ok()?.try_into().ok()
}
