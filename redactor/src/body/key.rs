//! The key that says what a leaf of a document is.

use std::borrow::Cow;

use super::edit::Search;
use super::form::{self, Form};
use crate::finding::Field;
use crate::json::{Kind, Node};
use crate::pair;
use crate::policy::Direction;

/// Fields of an object among which the name of a value is looked for.
pub(super) const MOST_BESIDE: usize = 16;

impl Search<'_> {
    /// The key that tells what a leaf is: the one under which it stands, or the name beside it.
    pub(crate) fn key<'d>(&self, node: Node<'d>) -> Option<Cow<'d, str>> {
        if let Some(name) = self.listed(node) {
            return Some(Cow::Owned(name));
        }
        let keyed = keyed(node)?;
        let own = keyed.key()?;
        match form::of(keyed, &own) {
            Some(Form::Named(name)) => return Some(Cow::Borrowed(name)),
            Some(Form::Commands) => return None,
            None => {}
        }
        let named = || {
            let marked = || marked(keyed).then(|| pair::SECRET.to_owned());
            self.named(keyed).or_else(marked).or_else(|| around(keyed))
        };
        let named = pair::holds_value(&own).then(named);
        let kept = || form::is_in_cookies(keyed).then(|| pair::TOKEN.to_owned());
        Some(named.flatten().or_else(kept).map_or(own, Cow::Owned))
    }

    /// The name of a value that stands in another field of the same object.
    fn named(&self, value: Node<'_>) -> Option<String> {
        let mut beside = value.parent()?.children().take(MOST_BESIDE);
        beside.find_map(|node| {
            if node.kind() != Kind::String || !pair::holds_name(&node.key()?) {
                return None;
            }
            self.says(&node.text()?)
        })
    }

    /// The name that a text is, if the policy knows it or it says anything of a value.
    pub(super) fn says(&self, text: &str) -> Option<String> {
        match self.decides(text) {
            true => Some(text.to_owned()),
            false => pair::name(text).map(str::to_owned),
        }
    }

    /// Whether the policy says what stands under a key.
    pub(super) fn decides(&self, key: &str) -> bool {
        self.means.engine.decides(Field {
            key: Some(key),
            direction: Direction::Prompt,
        })
    }
}

/// Whether a field beside a value says that it is secret: `"sensitive": true`.
fn marked(value: Node<'_>) -> bool {
    let beside = value.parent().into_iter().flat_map(Node::children);
    beside.take(MOST_BESIDE).any(|node| {
        let says = || node.key().is_some_and(|key| pair::marks_secret(&key));
        node.kind() == Kind::Bool && node.raw() == b"true" && says()
    })
}

/// The name that the object around a value stands under: `"db_password": {"value": …}`.
fn around(value: Node<'_>) -> Option<String> {
    let key = value.parent()?.key()?;
    pair::name(&key).map(str::to_owned)
}

/// The value that has a key: this one, or the array around it.
fn keyed(node: Node<'_>) -> Option<Node<'_>> {
    let mut here = Some(node);
    while let Some(node) = here {
        if node.key_span().is_some() {
            return Some(node);
        }
        here = node.parent();
    }
    None
}
