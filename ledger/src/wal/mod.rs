//! The write-ahead log: files of checksummed frames on the local disk.
//!
//! A file holds the lines of one segment to come. It begins with the format's version byte, then
//! frames follow: length (4 bytes, little-endian), CRC-32C (4 bytes, little-endian) over length and
//! payload, payload. The first frame says where in its stream the file stands, all others are
//! leaves. What follows the first frame that does not check is the torn end of a crash.

mod file;
mod header;

pub(crate) use file::{AppendFault, Contents, WalFile, read, sync_dir};
pub(crate) use header::Header;

/// The first byte of every file.
const VERSION: u8 = 1;
/// Length and checksum.
const FRAME_HEAD: usize = 8;
/// The most bytes of a payload; larger lengths are damage. A header frame holds a certificate.
const MAX_PAYLOAD: usize = 1 << 17;

/// Why a write-ahead log cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum WalError {
    /// The file's first frame checks but is not understood.
    #[error("a write-ahead log file has a damaged header")]
    Header,
    /// The file system refused.
    #[error("the write-ahead log: {0}")]
    Io(#[from] std::io::Error),
    /// Written by a newer version of this program.
    #[error("a write-ahead log file of a newer version")]
    Newer,
}

/// Appends a frame whose payload is written by `fill`.
pub(crate) fn push_frame(out: &mut Vec<u8>, fill: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0; FRAME_HEAD]);
    fill(out);
    let Some((head, payload)) = out.get_mut(start..).and_then(|f| f.split_at_mut_checked(8)) else {
        return;
    };
    // Payloads are leaves and headers, far below 4 GiB.
    let length = u32::try_from(payload.len())
        .unwrap_or(u32::MAX)
        .to_le_bytes();
    let checksum = checksum(&length, payload).to_le_bytes();
    for (to, from) in head.iter_mut().zip(length.into_iter().chain(checksum)) {
        *to = from;
    }
}

/// The payload of the frame at the start of `bytes`, and what follows it; none if it is torn.
fn split_frame(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let (stored, rest) = rest.split_first_chunk::<4>()?;
    let size = usize::try_from(u32::from_le_bytes(*length)).ok()?;
    if size > MAX_PAYLOAD {
        return None;
    }
    let (payload, rest) = rest.split_at_checked(size)?;
    (checksum(length, payload) == u32::from_le_bytes(*stored)).then_some((payload, rest))
}

fn checksum(length: &[u8; 4], payload: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(length), payload)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn frames(mut bytes: &[u8]) -> Vec<Vec<u8>> {
        let mut out = Vec::new();
        while let Some((payload, rest)) = split_frame(bytes) {
            out.push(payload.to_vec());
            bytes = rest;
        }
        out
    }

    #[test]
    fn zeros_are_not_a_frame() {
        assert!(split_frame(&[0; 64]).is_none());
    }

    proptest! {
        #[test]
        fn a_cut_or_a_flip_ends_the_frames_there(
            payloads in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 1..8),
            at in any::<prop::sample::Index>(), bit in 0u8..8,
        ) {
            let mut bytes = Vec::new();
            let mut ends = Vec::new();
            for payload in &payloads {
                push_frame(&mut bytes, |out| out.extend_from_slice(payload));
                ends.push(bytes.len());
            }
            prop_assert_eq!(&frames(&bytes), &payloads);
            let place = at.index(bytes.len());
            let whole = ends.iter().take_while(|end| **end <= place).count();
            prop_assert_eq!(&frames(&bytes[..place]), &payloads[..whole]);
            bytes[place] ^= 1 << bit;
            prop_assert_eq!(&frames(&bytes), &payloads[..whole]);
        }
    }
}
