//! FNV-1a for maps of short words: only for those that are fixed, or so small that nobody gains by
//! making words collide.

use std::hash::{BuildHasherDefault, Hasher};

/// What a map is made with.
pub(crate) type Build = BuildHasherDefault<Fnv>;

/// The state of one hash.
#[derive(Clone, Copy)]
pub(crate) struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xCBF2_9CE4_8422_2325)
    }
}

impl Hasher for Fnv {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
