//! Which of 256 buckets a session's names are in, in stores that have to keep them in pieces.

/// Tags are spread over so many buckets; those of one tag lie in one.
const BUCKETS: u32 = 256;

/// All buckets, for what has to look into each.
pub(crate) fn buckets() -> std::ops::Range<u32> {
    0..BUCKETS
}

/// Which bucket a tag belongs to: FNV-1a. Part of the stores' formats: rows are found by it.
pub(crate) fn bucket(tag: &str) -> u32 {
    let hash = tag.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    (hash ^ (hash >> 16)) % BUCKETS
}

/// All keys of one session, and its wrapped key's row in the registry, share what its name begins with.
pub(crate) fn tag(id: &str) -> &str {
    id.split_once('/').map_or(id, |(tag, _)| tag)
}
