//! Where the next byte of a kind stands, many bytes at a time.

/// Bytes that are looked at together.
const BLOCK: usize = 32;
/// Bytes of a block in which one is wanted that are looked at together.
const PART: usize = 8;

/// The first byte that is wanted, where few are. The closure has to be free of branches: then a
/// block takes a few instructions.
#[inline]
pub(crate) fn seek(bytes: &[u8], wanted: impl Fn(u8) -> bool) -> Option<usize> {
    let none = |block: &[u8]| !block.iter().fold(false, |any, byte| any | wanted(*byte));
    let mut at = 0;
    for block in bytes.chunks_exact(BLOCK) {
        if !none(block) {
            break;
        }
        at += BLOCK;
    }
    for part in bytes.get(at..)?.chunks_exact(PART) {
        if !none(part) {
            break;
        }
        at += PART;
    }
    let rest = bytes.get(at..)?;
    let gap = rest.iter().position(|byte| wanted(*byte))?;
    Some(at + gap)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_one_is_found_at_every_place() {
        for length in 0..100 {
            assert_eq!(seek(&vec![b'a'; length], |b| b == b'b'), None);
            for at in 0..length {
                let mut bytes = vec![b'a'; length];
                bytes[at] = b'b';
                bytes[length - 1] = b'b';
                assert_eq!(seek(&bytes, |b| b == b'b'), Some(at));
            }
        }
    }
}
