//! What a key says of the texts that stand under it. The objects of a list have the same keys, so
//! it is worked out once for those that come again.

use std::cell::RefCell;
use std::collections::HashMap;
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
    static KEPT: RefCell<HashMap<Box<str>, Rc<Key>, fnv::Build>> = RefCell::default();
}

impl Key {
    /// What this key says. Only names of fields are kept: other keys may be personal.
    pub(crate) fn of(key: &str) -> Rc<Self> {
        if let Some(known) = KEPT.with_borrow(|kept| kept.get(key).cloned()) {
            return known;
        }
        let read = Rc::new(Self::read(key));
        if is_field_name(key) {
            KEPT.with_borrow_mut(|kept| {
                if kept.len() >= MOST {
                    kept.clear();
                }
                kept.insert(key.into(), Rc::clone(&read));
            });
        }
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
