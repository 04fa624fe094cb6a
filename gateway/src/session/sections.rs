//! Parts of a session's state that came with later releases: tagged, and kept by a release that does
//! not know the tag.

use zeroize::Zeroizing;

use super::state::{Reader, Unreadable, Writer};

/// The typed state, as `typed` writes it.
pub(super) const TYPED: u8 = 1;
/// Digests of the chain's last events, as `tail` writes them.
pub(super) const TAIL: u8 = 2;
/// What was spent, as `spend` writes it.
pub(super) const SPEND: u8 = 3;

/// Tagged bytes, in ascending order of their tags. A session without any costs nothing.
#[derive(Clone, Default)]
pub(super) struct Sections(Vec<(u8, Zeroizing<Vec<u8>>)>);

impl Sections {
    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The bytes under a tag; empty if there are none.
    pub(super) fn get(&self, tag: u8) -> &[u8] {
        let found = self.0.iter().find(|(other, _)| *other == tag);
        found.map_or(&[], |(_, bytes)| bytes)
    }

    /// Puts bytes under a tag in place of those before; empty ones take it out.
    pub(super) fn set(&mut self, tag: u8, bytes: Zeroizing<Vec<u8>>) {
        self.0.retain(|(other, _)| *other != tag);
        if !bytes.is_empty() {
            let at = self.0.partition_point(|(other, _)| *other < tag);
            self.0.insert(at, (tag, bytes));
        }
    }

    /// How many bytes they are, encoded.
    pub(super) fn size(&self) -> usize {
        self.0.iter().map(|(_, bytes)| bytes.len() + 5).sum()
    }

    pub(super) fn write(&self, out: &mut Writer) {
        out.count(self.0.len());
        for (tag, bytes) in &self.0 {
            out.raw(&[*tag]);
            out.bytes(bytes);
        }
    }

    pub(super) fn read(from: &mut Reader<'_>) -> Result<Self, Unreadable> {
        let sections = from.list(|from| {
            let [tag] = from.array()?;
            Ok((tag, Zeroizing::new(from.bytes()?.to_vec())))
        })?;
        // Nobody writes them otherwise, so that the same state is the same bytes.
        let ascending = sections.is_sorted_by(|(one, _), (other, _)| one < other);
        let said = sections.iter().all(|(_, bytes)| !bytes.is_empty());
        match ascending && said {
            true => Ok(Self(sections)),
            false => Err(Unreadable::Malformed),
        }
    }
}
