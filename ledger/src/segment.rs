//! Segments: what is stored, a zstd frame around a header line, leaf lines and a footer line.
//!
//! Header and footer are written from values that a verifier computes itself, so it compares bytes
//! instead of believing fields; only the signed checkpoint in the footer is read.

use gatehouse_envelope::digest::sha256;

use crate::{
    clock::rfc3339,
    event::{write_hex, write_integer, write_string},
    tree::Hash,
};

/// The most bytes of lines that a writer puts into a segment.
pub const SEGMENT_BYTES: u64 = 8 << 20;
/// The most bytes that a segment may unpack to; more is refused unread.
pub const MAX_UNPACKED: usize = 16 << 20;
/// The most bytes of a stored segment: what does not compress grows a little.
pub const MAX_STORED: usize = MAX_UNPACKED + (1 << 16);

/// zstd's own default: fast, and the writer's thread has other work.
const LEVEL: i32 = 3;
/// The length of the frame's checksum, its last bytes.
const FRAME_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// What a header line says.
#[derive(Clone, Copy)]
pub(crate) struct Head<'a> {
    pub(crate) writer: &'a str,
    /// Also the number of leaves before this segment: numbers are dense from 0.
    pub(crate) first_seq: u64,
    /// The digest of the stored bytes of the segment before; none for the first.
    pub(crate) previous: Option<Hash>,
    pub(crate) root_before: Hash,
}

impl Head<'_> {
    /// Appends the line with its newline.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"gatehouse\":1,\"w\":");
        write_string(out, self.writer);
        out.extend_from_slice(b",\"first_seq\":");
        write_integer(out, self.first_seq);
        out.extend_from_slice(b",\"prev_seg\":");
        match &self.previous {
            Some(digest) => write_digest(out, digest),
            None => out.extend_from_slice(b"null"),
        }
        out.extend_from_slice(b",\"size_before\":");
        write_integer(out, self.first_seq);
        out.extend_from_slice(b",\"root_before\":");
        write_digest(out, &self.root_before);
        out.extend_from_slice(b"}\n");
    }
}

/// What a footer line says.
#[derive(Clone, Copy)]
pub(crate) struct Foot<'a> {
    /// The number of leaves of the stream up to and with this segment.
    pub(crate) size: u64,
    pub(crate) root: Hash,
    pub(crate) first_us: u64,
    pub(crate) last_us: u64,
    /// The signed checkpoint.
    pub(crate) note: &'a str,
}

impl Foot<'_> {
    /// Appends the line with its newline.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        self.write_before_note(out);
        write_string(out, self.note);
        out.extend_from_slice(b"}\n");
    }

    /// Appends everything before the note.
    pub(crate) fn write_before_note(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"last_seq\":");
        write_integer(out, self.size.saturating_sub(1));
        out.extend_from_slice(b",\"size\":");
        write_integer(out, self.size);
        out.extend_from_slice(b",\"root\":");
        write_digest(out, &self.root);
        for (key, us) in [
            (",\"first_ts\":", self.first_us),
            (",\"last_ts\":", self.last_us),
        ] {
            out.extend_from_slice(key.as_bytes());
            write_string(out, &rfc3339(us));
        }
        out.extend_from_slice(b",\"note\":");
    }
}

/// The digest by which the next segment names this one.
pub fn stored_digest(stored: &[u8]) -> Hash {
    sha256(&[stored])
}

/// Packs lines into the stored form. The same lines give the same bytes for as long as the zstd
/// library stays the same; nothing rests on that but the ease of putting a segment twice.
pub(crate) fn pack(lines: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut packer = zstd::bulk::Compressor::new(LEVEL)?;
    packer.include_checksum(true)?;
    packer.include_contentsize(true)?;
    packer.compress(lines)
}

/// Unpacks the stored form. It must be a single frame from the first byte to the last, with its
/// size and checksum: whatever else decoders put up with has no place in a log.
pub(crate) fn unpack(stored: &[u8]) -> Result<Vec<u8>, Unpackable> {
    let size = frame_content(stored).ok_or(Unpackable)?;
    let lines = zstd::bulk::decompress(stored, size).map_err(|_| Unpackable)?;
    if lines.len() == size {
        Ok(lines)
    } else {
        Err(Unpackable)
    }
}

/// A stored segment that is not one whole zstd frame of a permitted size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not one whole zstd frame of a permitted size")]
pub(crate) struct Unpackable;

/// The size that the one frame in `stored` claims to unpack to.
fn frame_content(stored: &[u8]) -> Option<usize> {
    let descriptor = stored.strip_prefix(&FRAME_MAGIC)?.first()?;
    // RFC 8878 §3.1.1.1.1: checksum flag set; the unused bit, the reserved bit and the dictionary
    // id are not. The unused bit would be a way to change bytes unseen.
    let plain = descriptor & 0b0000_0100 != 0 && descriptor & 0b0001_1011 == 0;
    let whole = zstd::zstd_safe::find_frame_compressed_size(stored).ok()? == stored.len();
    let size = zstd::zstd_safe::get_frame_content_size(stored).ok()??;
    let size = usize::try_from(size).ok()?;
    (plain && whole && size <= MAX_UNPACKED && stored.len() <= MAX_STORED).then_some(size)
}

/// Appends a digest as a JSON string.
pub(crate) fn write_digest(out: &mut Vec<u8>, digest: &Hash) {
    out.extend_from_slice(b"\"sha256:");
    write_hex(out, digest);
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_back() {
        for lines in [&b""[..], b"{}\n", &b"{\"a\":1}\n".repeat(10_000)] {
            assert_eq!(unpack(&pack(lines).unwrap()).unwrap(), lines);
        }
    }

    #[test]
    fn only_one_whole_frame_is_unpacked() {
        let good = pack(&b"{\"a\":1}\n".repeat(50)).unwrap();
        let skippable = [&[0x50, 0x2a, 0x4d, 0x18, 1, 0, 0, 0, 7][..], &good].concat();
        let behind = [&good[..], &[0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0]].concat();
        let twice = [&good[..], &good].concat();
        let no_checksum = zstd::bulk::compress(&b"{\"a\":1}\n".repeat(50), 3).unwrap();
        for bad in [
            &skippable,
            &behind,
            &twice,
            &no_checksum,
            &good[..good.len() - 1].to_vec(),
        ] {
            assert_eq!(unpack(bad), Err(Unpackable));
        }
        assert_eq!(unpack(b""), Err(Unpackable));
    }

    #[test]
    fn a_bomb_is_refused_before_it_is_unpacked() {
        assert_eq!(
            unpack(&pack(&vec![b'x'; MAX_UNPACKED + 1]).unwrap()),
            Err(Unpackable)
        );
    }

    #[test]
    fn header_and_footer() {
        let mut out = Vec::new();
        let head = Head {
            writer: "w",
            first_seq: 3,
            previous: Some([1; 32]),
            root_before: [2; 32],
        };
        head.write(&mut out);
        Head {
            previous: None,
            ..head
        }
        .write(&mut out);
        let note = "o\n4\nr\n\n\u{2014} o x\n";
        let (first_us, last_us) = (0, 1_795_961_100_123_456);
        Foot {
            size: 4,
            root: [3; 32],
            first_us,
            last_us,
            note,
        }
        .write(&mut out);
        let (one, two, three) = ("01".repeat(32), "02".repeat(32), "03".repeat(32));
        let header = |previous: &str| {
            format!(
                "{{\"gatehouse\":1,\"w\":\"w\",\"first_seq\":3,\"prev_seg\":{previous},\
                 \"size_before\":3,\"root_before\":\"sha256:{two}\"}}\n"
            )
        };
        let want = format!(
            "{}{}{{\"last_seq\":3,\"size\":4,\"root\":\"sha256:{three}\",\
             \"first_ts\":\"1970-01-01T00:00:00.000000Z\",\
             \"last_ts\":\"2026-11-29T14:05:00.123456Z\",\
             \"note\":\"o\\u000a4\\u000ar\\u000a\\u000a\u{2014} o x\\u000a\"}}\n",
            header(&format!("\"sha256:{one}\"")),
            header("null")
        );
        assert_eq!(String::from_utf8(out).unwrap(), want);
    }
}
