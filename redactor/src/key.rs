//! What a key says of the texts that stand under it. The objects of a list have the same keys, so
//! it is worked out once for those that come again.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::rc::Rc;

use crate::columns::Column;
use crate::fnv;
use crate::json::is_field_name;
use crate::people;
use crate::rules;
use crate::validate::context;

/// Keys that a thread keeps.
const MOST: usize = 256;

/// A key, as far as it says anything.
pub(crate) struct Key {
    /// Whether its whole value is a secret.
    pub(crate) secret: bool,
    /// Whether its value has to be read as one that stands behind the key and `=`.
    pub(crate) may_be_secret: bool,
    /// Whether its whole value is a person's name.
    pub(crate) person: bool,
    /// Whether it ends with what stands before values in prose.
    pub(crate) cue: bool,
    /// What it would head as the name of a column.
    pub(crate) column: Option<Column>,
    /// The lists of words beside values that hold one of its words.
    pub(crate) lists: u32,
}

thread_local! {
    static KEPT: RefCell<Kept> = RefCell::default();
}

/// What a thread keeps of the keys that it has seen. A key that looks like the name of a field may be
/// a person's all the same, and the next text may be another tenant's: so no key is kept, but 128 bits
/// of it under random keys of this process, from which nobody can tell it.
#[derive(Default)]
struct Kept {
    /// The two halves, of different keys.
    hashes: (RandomState, RandomState),
    /// By both halves, which are random enough for any hash of them.
    keys: HashMap<(u64, u64), Rc<Key>, fnv::Build>,
}

impl Kept {
    fn mark(&self, key: &str) -> (u64, u64) {
        (self.hashes.0.hash_one(key), self.hashes.1.hash_one(key))
    }

    fn get(&self, key: &str) -> Option<Rc<Key>> {
        self.keys.get(&self.mark(key)).cloned()
    }

    fn keep(&mut self, key: &str, read: &Rc<Key>) {
        if self.keys.len() >= MOST {
            self.keys.clear();
        }
        self.keys.insert(self.mark(key), Rc::clone(read));
    }
}

impl Key {
    /// What this key says. Only names of fields are kept: other keys seldom come again.
    pub(crate) fn of(key: &str) -> Rc<Self> {
        if !is_field_name(key) {
            return Rc::new(Self::read(key));
        }
        if let Some(known) = KEPT.with_borrow(|kept| kept.get(key)) {
            return known;
        }
        let read = Rc::new(Self::read(key));
        KEPT.with_borrow_mut(|kept| kept.keep(key, &read));
        read
    }

    fn read(key: &str) -> Self {
        Self {
            secret: rules::names_secret(key),
            may_be_secret: rules::may_name_secret(key),
            person: people::names_person(key),
            cue: rules::names_value(key),
            column: Column::named(key).filter(|it| !it.needs_person()),
            lists: context::listed_in(key),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_found_again_and_is_no_text() {
        let first = Key::of("alice_johnson");
        assert!(Rc::ptr_eq(&first, &Key::of("alice_johnson")));
        assert!(!Rc::ptr_eq(&first, &Key::of("alice_johnsen")));
        let spaced = Key::of("alice johnson");
        assert!(!Rc::ptr_eq(&spaced, &Key::of("alice johnson")), "no field");
        // The type says that there is no room for a key.
        let marks = |kept: &Kept| kept.keys.keys().copied().collect::<Vec<(u64, u64)>>();
        let marks = KEPT.with_borrow(marks);
        assert_eq!(marks.len(), 2);
        // Nor can the marks be worked out elsewhere.
        let other = Kept::default();
        assert!(!marks.contains(&other.mark("alice_johnson")));
        let (one, two) = other.mark("alice_johnson");
        assert_ne!(one, two);
    }

    #[test]
    fn no_more_are_kept_than_allowed() {
        for n in 0..1000 {
            let key = format!("field_{n}");
            assert_eq!(Key::of(&key).secret, Key::read(&key).secret);
            assert!(KEPT.with_borrow(|kept| kept.keys.len()) <= MOST);
        }
    }
}
