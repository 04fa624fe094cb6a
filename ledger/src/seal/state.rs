//! What the store holds of a stream, as a seal has to say it: read from its last segment.
//!
//! A seal is no verification of the segments before. But what it takes from a segment is what the
//! stream's own signature covers, so that no stray object gets into a seal.

use super::{Sealed, SealedState};
use crate::{
    cert::Certificate,
    json::Scanner,
    leaf::LeafReader,
    names::{self, Name},
    note::{Note, checkpoint},
    segment::{MAX_STORED, stored_digest, unpack},
    store::{Fetcher, StoreError},
    tree::Hash,
    verify::segment::{End, end_of, read_event},
};

/// So many objects that are no segments are passed over on the way to the last one that is.
const MOST_STRAYS: usize = 8;
/// The most bytes of a certificate.
const MAX_CERTIFICATE: usize = 1 << 16;

/// Why a stream is not taken further than it was.
#[derive(Debug)]
pub(super) enum Unread {
    /// Something that is stored of it is not what it should be.
    Damaged,
    /// The store did not answer.
    Store(StoreError),
}

impl From<StoreError> for Unread {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::TooLarge | StoreError::Name => Self::Damaged,
            other => Self::Store(other),
        }
    }
}

/// The certificate of a writer, if any of `keys` issued it.
pub(super) fn certificate(
    store: &dyn Fetcher,
    writer: &str,
    trusted: impl Fn(&Certificate) -> bool,
) -> Result<Certificate, Unread> {
    let stored = store.get(&names::certificate(writer), MAX_CERTIFICATE)?;
    let certificate = stored.and_then(|bytes| Certificate::open(&bytes).ok());
    certificate
        .filter(|certificate| certificate.writer == writer && trusted(certificate))
        .ok_or(Unread::Damaged)
}

/// What has become of a stream since `before`, and whether all that is stored of it is as it should
/// be. A stray object behind its last segment must not keep what is before it out of the seals.
pub(super) fn advance(
    store: &dyn Fetcher,
    before: &Sealed,
    certificate: &Certificate,
) -> Result<(Sealed, bool), Unread> {
    let folder = names::segments_of(&before.writer).ok_or(Unread::Damaged)?;
    let from = names::segments_from(&before.writer, before.size).ok_or(Unread::Damaged)?;
    let mut new = Vec::new();
    for object in store.list_after(&folder, &from)? {
        if let Name::Segment { first_seq, .. } = Name::parse(&object.name)
            && first_seq >= before.size
        {
            new.push((first_seq, object.name));
        }
    }
    new.sort_unstable();
    for (strays, (first_seq, name)) in new.iter().rev().take(MOST_STRAYS + 1).enumerate() {
        match next(store, before, certificate, (*first_seq, name)) {
            Ok(sealed) => return Ok((sealed, strays == 0)),
            Err(Unread::Damaged) => {}
            Err(other) => return Err(other),
        }
    }
    Ok((before.clone(), new.is_empty()))
}

/// The stream up to a segment, if that is one and goes on behind `before`.
fn next(
    store: &dyn Fetcher,
    before: &Sealed,
    certificate: &Certificate,
    (first_seq, name): (u64, &str),
) -> Result<Sealed, Unread> {
    let stored = store.get(name, MAX_STORED)?.ok_or(Unread::Damaged)?;
    read(&stored, first_seq, certificate)
        .filter(|sealed| sealed.continues(before))
        .ok_or(Unread::Damaged)
}

/// What a segment's footer and last record say, if the footer is signed as it must be.
fn read(stored: &[u8], first_seq: u64, certificate: &Certificate) -> Option<Sealed> {
    let lines = unpack(stored).ok()?;
    let mut lines = lines.strip_suffix(b"\n")?.rsplit(|b| *b == b'\n');
    let (footer, leaf) = (lines.next()?, lines.next()?);
    let footer: serde_json::Value = serde_json::from_slice(footer).ok()?;
    let note = Note::parse(footer.get("note")?.as_str()?).ok()?;
    let (size, root) = checkpoint_of(&note, certificate.key.name())?;
    let signed = note.is_signed_by(&certificate.key) || note.is_signed_by(&certificate.issuer);
    if !signed || size <= first_seq {
        return None;
    }
    let writer = certificate.writer.as_str();
    let leaf = LeafReader::default().read(leaf, writer, size.checked_sub(1)?)?;
    let record = read_event(&mut Scanner::default(), leaf.event).ok()?;
    let state = match end_of(&record).ok()? {
        End::Closed => SealedState::Closed,
        End::None => SealedState::Open,
        End::Recovered { .. } => SealedState::Recovered,
    };
    Some(Sealed {
        writer: writer.to_owned(),
        size,
        root,
        segment: Some(stored_digest(stored)),
        last_us: leaf.stamp.unix_us,
        state,
    })
}

/// Size and root in a note, if its text is a checkpoint of `origin` and nothing more.
pub(crate) fn checkpoint_of(note: &Note<'_>, origin: &str) -> Option<(u64, Hash)> {
    let mut lines = note.text.split('\n');
    let (_, size, root) = (lines.next()?, lines.next()?, lines.next()?);
    let size = size.parse().ok()?;
    let root = data_encoding::BASE64.decode(root.as_bytes()).ok()?;
    let root = root.try_into().ok()?;
    (checkpoint(origin, size, &root) == note.text).then_some((size, root))
}
