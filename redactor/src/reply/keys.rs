//! The keys of one object as they are shown. Keys that differ may be shown alike once values in them
//! are masked or put back; whoever reads the object would lose a member, so the later key is told
//! apart by a number.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::Decided;

/// The keys of one object so far. Only digests are kept: a key that has the digest of another is
/// told apart from it without need, and that is all.
#[derive(Clone, Default)]
pub struct Keys {
    seen: HashMap<u64, Seen>,
}

#[derive(Clone)]
struct Seen {
    /// Whether it is shown otherwise than the provider wrote it.
    changed: bool,
    /// The number that was given out last.
    number: u64,
}

impl Keys {
    /// Takes the next key as it is shown; `changed` says whether the provider wrote it otherwise.
    /// What must be appended to it so that it is no other's, if anything. Keys that the provider
    /// itself wrote twice stay.
    pub fn tell_apart(&mut self, shown: &str, changed: bool) -> Option<String> {
        let digest = digest(shown);
        let mut number = match self.seen.get(&digest) {
            Some(seen) if changed || seen.changed => seen.number,
            Some(_) => return None,
            None => {
                self.seen.insert(digest, Seen::new(changed));
                return None;
            }
        };
        loop {
            number += 1;
            let suffix = format!("_{number}");
            if let Entry::Vacant(free) = self.seen.entry(self::digest(&format!("{shown}{suffix}")))
            {
                free.insert(Seen::new(true));
                // The search goes on from there, so that many keys take linear time.
                self.seen
                    .entry(digest)
                    .and_modify(|seen| seen.number = number);
                return Some(suffix);
            }
        }
    }
}

impl Seen {
    fn new(changed: bool) -> Self {
        Self { changed, number: 1 }
    }
}

fn digest(key: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish()
}

/// A key that comes in pieces, as it is shown.
#[derive(Clone, Default)]
pub(super) struct ShownKey {
    text: String,
    changed: bool,
    /// Decoded text that is not decided yet, and where it begins.
    waiting: String,
    base: usize,
}

impl ShownKey {
    pub(super) fn push(&mut self, text: &str) {
        self.waiting.push_str(text);
    }

    /// Takes what was decided of it.
    pub(super) fn decide(&mut self, decided: &Decided) {
        let mut at = self.base;
        for edit in &decided.edits {
            self.keep(at, edit.range.start);
            self.text.push_str(&edit.text);
            self.changed = true;
            at = edit.range.end;
        }
        self.keep(at, decided.upto);
        let upto = decided.upto.max(at).max(self.base);
        self.waiting
            .drain(..(upto - self.base).min(self.waiting.len()));
        self.base = upto;
    }

    fn keep(&mut self, from: usize, to: usize) {
        let local = from.saturating_sub(self.base)..to.saturating_sub(self.base);
        self.text
            .push_str(self.waiting.get(local).unwrap_or_default());
    }

    /// See [`Keys::tell_apart`].
    pub(super) fn tell_apart(&self, keys: &mut Keys) -> Option<String> {
        keys.tell_apart(&self.text, self.changed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_became_alike_are_told_apart() {
        let mut keys = Keys::default();
        for (shown, changed, suffix) in [
            ("a", false, None),
            ("a", false, None),
            ("<EMAIL>_3", false, None),
            ("<EMAIL>", true, None),
            ("<EMAIL>", true, Some("_2")),
            ("<EMAIL>", true, Some("_4")),
            ("<EMAIL>", false, Some("_5")),
            ("<EMAIL>_2", false, Some("_2")),
            ("a", true, Some("_2")),
        ] {
            assert_eq!(
                keys.tell_apart(shown, changed).as_deref(),
                suffix,
                "{shown}"
            );
        }
    }
}
