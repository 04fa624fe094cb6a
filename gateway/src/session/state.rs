//! The state of a session: typed here, sealed in the store, never seen by a model.

use std::collections::VecDeque;

use gatehouse_envelope::{digest::sha256, secret};
use zeroize::{Zeroize, Zeroizing};

use super::{continuity::History, sections::Sections};
use crate::audit::Link;

/// The first byte of an encoded state with sections. A greater one is a later release's.
const FORMAT: u8 = 4;
/// The same without sections. States that have none are still written so: a replica of the release
/// before reads them.
const WITHOUT_SECTIONS: u8 = 3;
/// The version before, which had no history.
const WITHOUT_HISTORY: u8 = 2;
/// The one before that, which had no verdicts either.
const WITHOUT_VERDICTS: u8 = 1;
/// How many digests of signed blocks are kept. An older block is merely searched again when it
/// comes back, and refused if something is found in it.
const SIGNED: usize = 4096;

/// The link of the event that follows one whose exact bytes are given.
pub(super) fn after(link: Link, event: &[u8]) -> Link {
    Link {
        sseq: link.sseq.saturating_add(1),
        sprev: sha256(&[&[0x02], event]),
    }
}

/// Everything a session is. Wiped when dropped as far as it holds values of the caller.
pub struct SessionState {
    /// The keyed digest of the id, which whoever presents the id must match.
    pub(super) id_digest: [u8; 32],
    /// Who opened it and alone may use it.
    pub(super) principal: String,
    /// When it was opened, in microseconds since 1970 (UTC).
    pub(super) created_us: i64,
    /// When it ends whatever happens.
    pub(super) absolute_us: i64,
    /// Where its chain of records stands.
    pub(super) link: Link,
    /// Numbers of events that may be missing in the log or in the store; the next turn says so.
    pub(super) gaps: Vec<u64>,
    /// Turns that reached a provider.
    pub steps: u64,
    /// The vault of pseudonyms, as the redactor serialises it.
    pub vault: Zeroizing<Vec<u8>>,
    /// Blocks that the provider signed in this session.
    pub signed: SignedBlocks,
    /// What was found in the session's texts, as `model` writes it: places, never text.
    pub verdicts: Vec<u8>,
    /// What the conversation was, in digests.
    pub(super) history: History,
    /// What later releases added.
    pub(super) sections: Sections,
}

/// Digests of texts that the provider sent signed or encrypted, byte for byte.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct SignedBlocks(VecDeque<[u8; 32]>);

impl SignedBlocks {
    /// Whether exactly this text was sent by the provider in this session.
    pub fn contains(&self, text: &str) -> bool {
        let digest = sha256(&[text.as_bytes()]);
        self.0.iter().any(|known| secret::equal(known, &digest))
    }

    /// Notes a text that the provider sent.
    pub fn insert(&mut self, text: &str) {
        if self.contains(text) {
            return;
        }
        if self.0.len() >= SIGNED {
            self.0.pop_front();
        }
        self.0.push_back(sha256(&[text.as_bytes()]));
    }
}

/// Why bytes are no state that can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unreadable {
    /// They are no state of any version.
    Malformed,
    /// A later release wrote them.
    Newer,
}

impl SessionState {
    /// A session that has just been opened.
    pub(super) fn new(
        id_digest: [u8; 32],
        principal: String,
        created_us: i64,
        absolute_us: i64,
    ) -> Self {
        Self {
            id_digest,
            principal,
            created_us,
            absolute_us,
            link: Link::START,
            gaps: Vec::new(),
            steps: 0,
            vault: Zeroizing::default(),
            signed: SignedBlocks::default(),
            verdicts: Vec::new(),
            history: History::default(),
            sections: Sections::default(),
        }
    }

    /// The version byte, then each field in the order of the declaration: numbers in 64 bits
    /// big-endian, everything of variable length preceded by its length or count in 32 bits.
    pub(super) fn encode(&self) -> Zeroizing<Vec<u8>> {
        let digests = 32 * self.signed.0.len() + 16 * self.history.recent.len();
        let lists = self.vault.len() + self.verdicts.len() + digests;
        let size = 256 + self.principal.len() + lists + self.sections.size();
        // Large enough from the start, so that growing leaves no copy behind.
        let mut out = Writer(Zeroizing::new(Vec::with_capacity(
            size + 8 * self.gaps.len(),
        )));
        out.raw(&[match self.sections.is_empty() {
            true => WITHOUT_SECTIONS,
            false => FORMAT,
        }]);
        out.raw(&self.id_digest);
        out.bytes(self.principal.as_bytes());
        out.raw(&self.created_us.to_be_bytes());
        out.raw(&self.absolute_us.to_be_bytes());
        out.raw(&self.link.sseq.to_be_bytes());
        out.raw(&self.link.sprev);
        out.count(self.gaps.len());
        for gap in &self.gaps {
            out.raw(&gap.to_be_bytes());
        }
        out.raw(&self.steps.to_be_bytes());
        out.bytes(&self.vault);
        out.count(self.signed.0.len());
        for digest in &self.signed.0 {
            out.raw(digest);
        }
        out.bytes(&self.verdicts);
        out.raw(&self.history.whole);
        out.raw(&self.history.system);
        out.count(self.history.recent.len());
        for message in &self.history.recent {
            out.raw(message);
        }
        if !self.sections.is_empty() {
            self.sections.write(&mut out);
        }
        out.0
    }

    /// Reads what [`SessionState::encode`] wrote, all of it and nothing more.
    pub(super) fn decode(bytes: &[u8]) -> Result<Self, Unreadable> {
        let mut from = Reader(bytes);
        let [format] = from.array::<1>()?;
        match format {
            FORMAT | WITHOUT_SECTIONS | WITHOUT_HISTORY | WITHOUT_VERDICTS => {}
            0 => return Err(Unreadable::Malformed),
            _ => return Err(Unreadable::Newer),
        }
        let state = Self {
            id_digest: from.array()?,
            principal: String::from_utf8(from.bytes()?.to_vec())
                .map_err(|_| Unreadable::Malformed)?,
            created_us: i64::from_be_bytes(from.array()?),
            absolute_us: i64::from_be_bytes(from.array()?),
            link: Link {
                sseq: from.number()?,
                sprev: from.array()?,
            },
            gaps: from.list(Reader::number)?,
            steps: from.number()?,
            vault: Zeroizing::new(from.bytes()?.to_vec()),
            signed: SignedBlocks(from.list(Reader::array)?.into()),
            verdicts: match format {
                WITHOUT_VERDICTS => Vec::new(),
                _ => from.bytes()?.to_vec(),
            },
            history: match format {
                WITHOUT_SECTIONS | FORMAT => History {
                    whole: from.array()?,
                    system: from.array()?,
                    recent: from.list(Reader::array)?.into(),
                },
                _ => History::default(),
            },
            sections: match format {
                FORMAT => Sections::read(&mut from)?,
                _ => Sections::default(),
            },
        };
        if from.0.is_empty() {
            Ok(state)
        } else {
            Err(Unreadable::Malformed)
        }
    }
}

impl Drop for SessionState {
    fn drop(&mut self) {
        // The vault wipes itself.
        self.principal.zeroize();
        self.id_digest.zeroize();
    }
}

pub(super) struct Writer(pub(super) Zeroizing<Vec<u8>>);

impl Writer {
    pub(super) fn raw(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    pub(super) fn count(&mut self, count: usize) {
        // Nothing here comes near 2^32; if it did, the state would not decode, which is safe.
        self.raw(&u32::try_from(count).unwrap_or(u32::MAX).to_be_bytes());
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.count(bytes.len());
        self.raw(bytes);
    }
}

pub(super) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], Unreadable> {
        let (array, rest) = self.0.split_first_chunk().ok_or(Unreadable::Malformed)?;
        self.0 = rest;
        Ok(*array)
    }

    fn number(&mut self) -> Result<u64, Unreadable> {
        Ok(u64::from_be_bytes(self.array()?))
    }

    fn count(&mut self) -> Result<usize, Unreadable> {
        usize::try_from(u32::from_be_bytes(self.array()?)).map_err(|_| Unreadable::Malformed)
    }

    pub(super) fn bytes(&mut self) -> Result<&'a [u8], Unreadable> {
        let count = self.count()?;
        let (bytes, rest) = self
            .0
            .split_at_checked(count)
            .ok_or(Unreadable::Malformed)?;
        self.0 = rest;
        Ok(bytes)
    }

    /// The list grows as it is read, so that a false count can't reserve memory.
    pub(super) fn list<T>(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Result<T, Unreadable>,
    ) -> Result<Vec<T>, Unreadable> {
        let count = self.count()?;
        let mut list = Vec::new();
        for _ in 0..count {
            list.push(item(self)?);
        }
        Ok(list)
    }
}

#[cfg(test)]
pub(super) mod tests;
