//! Where a node stands: the steps from the root, so that a table can be matched against them.

use std::borrow::Cow;

use gatehouse_redactor::json::Node;

/// Places deeper than this are compared by their first steps only.
const DEPTH: usize = 16;

/// One step into an object or an array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step<'d> {
    /// Into an array.
    Item,
    /// Into an object, by this key.
    Key(Cow<'d, str>),
}

/// The steps from the root to a node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place<'d>(Vec<Step<'d>>);

impl<'d> Place<'d> {
    /// The place of a node, found by walking up.
    pub fn of(node: Node<'d>) -> Self {
        let mut steps = Vec::with_capacity(DEPTH);
        let mut here = Some(node);
        while let Some(node) = here {
            here = node.parent();
            if here.is_some() {
                steps.push(node.key().map_or(Step::Item, Step::Key));
            }
        }
        steps.reverse();
        Self(steps)
    }

    /// The place of a child of this place's node.
    pub fn child(&self, node: Node<'d>) -> Self {
        let mut steps = Vec::with_capacity(self.0.len() + 1);
        steps.extend_from_slice(&self.0);
        steps.push(node.key().map_or(Step::Item, Step::Key));
        Self(steps)
    }

    /// The steps as words, `[]` for an item, cut at a fixed depth so that hostile nesting costs
    /// nothing.
    pub fn words(&self) -> Vec<&str> {
        self.0.iter().take(DEPTH).map(Step::word).collect()
    }

    /// The last step's word.
    pub fn last(&self) -> &str {
        self.0.last().map_or("", Step::word)
    }
}

impl Step<'_> {
    fn word(&self) -> &str {
        match self {
            Self::Item => "[]",
            // Such a key must not look like an item. No table lists this word, so it is text.
            Self::Key(key) if key == "[]" => "[[]]",
            Self::Key(key) => key,
        }
    }
}

/// The nearest ancestor that is `steps` above `node`.
pub(super) fn above(node: Node<'_>, steps: usize) -> Option<Node<'_>> {
    (0..steps).try_fold(node, |node, _| node.parent())
}

/// The ancestor that stands `depth` steps below the root, `node` itself included.
pub(super) fn ancestor<'d>(node: Node<'d>, place: &Place<'d>, depth: usize) -> Option<Node<'d>> {
    above(node, place.0.len().checked_sub(depth)?)
}
