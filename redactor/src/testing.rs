//! What the tests of this crate share.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::label::Label;
use crate::vault::Pseudonyms;

/// A digest that is good enough to tell values of a test apart.
pub(crate) struct Names;

impl Pseudonyms for Names {
    fn digest(&self, label: Label, text: &str) -> [u8; 32] {
        let mut digest = [0; 32];
        for (part, out) in digest.chunks_mut(8).enumerate() {
            let mut hasher = DefaultHasher::new();
            (part, label, text).hash(&mut hasher);
            out.copy_from_slice(&hasher.finish().to_be_bytes());
        }
        digest
    }
}
