//! Strict JSON over the raw bytes: values with their spans, so that edits can be spliced in and
//! everything else goes out as it came.

mod error;
mod read;
mod splice;
mod text;

use std::borrow::Cow;
use std::ops::Range;

pub use self::error::{JsonError, JsonFault};
pub(crate) use self::read::well_formed;
pub use self::splice::Splice;
pub(crate) use self::text::{Decoded, Step, escape, escaped};

/// Stands for "no key" and "no parent" on the tape.
const NONE: u32 = u32::MAX;

/// How much a document may hold.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Nested arrays and objects, the root included.
    pub depth: usize,
    /// Strings, numbers, booleans and nulls; the same number of arrays and objects beside them.
    pub leaves: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            depth: 128,
            leaves: 200_000,
        }
    }
}

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `[…]`
    Array,
    /// `true` or `false`
    Bool,
    /// `null`
    Null,
    /// A number literal.
    Number,
    /// `{…}`
    Object,
    /// A string.
    String,
}

/// Bytes of the source.
#[derive(Clone, Copy)]
struct Span {
    start: u32,
    end: u32,
}

impl Span {
    fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// What stands between the quotes of a string.
    fn inner(self, source: &str) -> &str {
        source
            .get(self.start as usize + 1..(self.end as usize).saturating_sub(1))
            .unwrap_or("")
    }
}

/// A value on the tape; children follow their parent.
struct Entry {
    span: Span,
    key: u32,
    parent: u32,
    index: u32,
    next: u32,
    kind: Kind,
}

/// A document that was read whole.
pub struct Document<'a> {
    source: &'a str,
    entries: Vec<Entry>,
    keys: Vec<Span>,
    leaves: usize,
}

impl<'a> Document<'a> {
    /// Reads a document.
    ///
    /// # Errors
    /// If it is not JSON (RFC 8259), exceeds a limit, or could be read differently by two
    /// parsers: duplicate keys, invalid UTF-8, lone surrogates, a byte-order mark, numbers
    /// outside the doubles, anything behind the document.
    pub fn parse(bytes: &'a [u8], limits: &Limits) -> Result<Self, JsonError> {
        let (source, tape) = read::read(bytes, limits)?;
        Ok(Self {
            source,
            entries: tape.entries,
            keys: tape.keys,
            leaves: tape.leaves,
        })
    }

    /// The outermost value.
    #[must_use]
    pub fn root(&self) -> Node<'_> {
        Node { doc: self, at: 0 }
    }

    /// Every value, parents before their children, in document order.
    pub fn nodes(&self) -> impl Iterator<Item = Node<'_>> {
        (0..u32::try_from(self.entries.len()).unwrap_or(NONE)).map(|at| Node { doc: self, at })
    }

    /// Every string, number, boolean and null, in document order.
    pub fn leaves(&self) -> impl Iterator<Item = Node<'_>> {
        self.nodes().filter(|node| node.is_leaf())
    }

    /// How many [`Document::leaves`] there are, counted while reading.
    #[must_use]
    pub fn leaf_count(&self) -> usize {
        self.leaves
    }

    /// The document as it was given.
    #[must_use]
    pub fn source(&self) -> &'a str {
        self.source
    }
}

/// A value of a [`Document`].
#[derive(Clone, Copy)]
pub struct Node<'d> {
    doc: &'d Document<'d>,
    at: u32,
}

impl PartialEq for Node<'_> {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.doc, other.doc) && self.at == other.at
    }
}

impl<'d> Node<'d> {
    /// What it is.
    #[must_use]
    pub fn kind(self) -> Kind {
        self.entry().map_or(Kind::Null, |entry| entry.kind)
    }

    /// Whether it has no children by its kind.
    #[must_use]
    pub fn is_leaf(self) -> bool {
        !matches!(self.kind(), Kind::Array | Kind::Object)
    }

    /// Its bytes, quotes and escapes included.
    #[must_use]
    pub fn raw(self) -> &'d [u8] {
        self.doc
            .source
            .as_bytes()
            .get(self.span())
            .unwrap_or_default()
    }

    /// Where its bytes stand in the document.
    #[must_use]
    pub fn span(self) -> Range<usize> {
        self.entry().map_or(0..0, |entry| entry.span.range())
    }

    /// A string's text with escapes decoded; `None` for other kinds.
    #[must_use]
    pub fn text(self) -> Option<Cow<'d, str>> {
        (self.kind() == Kind::String).then(|| self.decoded().text)
    }

    /// A number's literal, as written.
    #[must_use]
    pub fn number(self) -> Option<&'d str> {
        (self.kind() == Kind::Number).then(|| self.doc.source.get(self.span()).unwrap_or(""))
    }

    /// The name under which it stands in its object, decoded.
    #[must_use]
    pub fn key(self) -> Option<Cow<'d, str>> {
        self.key_decoded().map(|key| key.text)
    }

    /// Its place among its parent's values, from 0.
    #[must_use]
    pub fn index(self) -> usize {
        self.entry().map_or(0, |entry| entry.index as usize)
    }

    /// The array or object that holds it.
    #[must_use]
    pub fn parent(self) -> Option<Node<'d>> {
        let parent = self.entry()?.parent;
        (parent != NONE).then_some(Node {
            doc: self.doc,
            at: parent,
        })
    }

    /// The value before this one in the same array or object, if that has none of its own in it.
    pub(crate) fn leaf_before(self) -> Option<Node<'d>> {
        let before = Node {
            doc: self.doc,
            at: self.at.checked_sub(1)?,
        };
        let same = before.entry()?.parent == self.entry()?.parent;
        (same && self.entry()?.parent != NONE).then_some(before)
    }

    /// The member of that name, if this is an object that has one.
    #[must_use]
    pub fn get(self, key: &str) -> Option<Node<'d>> {
        if self.kind() != Kind::Object {
            return None;
        }
        self.children()
            .find(|child| child.key().as_deref() == Some(key))
    }

    /// The values that it holds, in order.
    pub fn children(self) -> impl Iterator<Item = Node<'d>> {
        let end = if self.is_leaf() {
            self.at
        } else {
            self.entry().map_or(0, |entry| entry.next)
        };
        let mut next = self.at + 1;
        std::iter::from_fn(move || {
            let child = Node {
                doc: self.doc,
                at: next,
            };
            let entry = (next < end).then(|| child.entry()).flatten()?;
            next = entry.next;
            Some(child)
        })
    }

    /// Where it stands, as in `messages[0].content`. Keys that do not look like field names are
    /// written as `*`, because a path goes into errors and records and a key may be personal.
    #[must_use]
    pub fn path(self) -> String {
        path_of(self.doc.source, &self.doc.entries, &self.doc.keys, self.at)
    }

    /// Where a part of a string's text, in bytes of [`Node::text`], stands in the document.
    #[must_use]
    pub fn place_of(self, part: Range<usize>) -> Range<usize> {
        let (decoded, start) = (self.decoded(), self.span().start + 1);
        start + decoded.raw(part.start)..start + decoded.raw(part.end)
    }

    pub(crate) fn decoded(self) -> Decoded<'d> {
        Decoded::new(
            self.entry()
                .map_or("", |entry| entry.span.inner(self.doc.source)),
        )
    }

    /// The raw bytes of the key, quotes included.
    pub(crate) fn key_span(self) -> Option<Range<usize>> {
        Some(self.key_entry()?.range())
    }

    pub(crate) fn key_decoded(self) -> Option<Decoded<'d>> {
        Some(Decoded::new(self.key_entry()?.inner(self.doc.source)))
    }

    fn key_entry(self) -> Option<Span> {
        self.doc.keys.get(self.entry()?.key as usize).copied()
    }

    fn entry(self) -> Option<&'d Entry> {
        self.doc.entries.get(self.at as usize)
    }
}

fn path_of(source: &str, entries: &[Entry], keys: &[Span], at: u32) -> String {
    let mut steps = Vec::new();
    let mut here = entries.get(at as usize);
    while let Some(entry) = here {
        match keys.get(entry.key as usize) {
            Some(key) => {
                let key = Decoded::new(key.inner(source)).text;
                steps.push(if is_field_name(&key) {
                    format!(".{key}")
                } else {
                    ".*".to_owned()
                });
            }
            None if entry.parent != NONE => steps.push(format!("[{}]", entry.index)),
            None => {}
        }
        here = entries.get(entry.parent as usize);
    }
    steps.reverse();
    let path = steps.concat();
    path.strip_prefix('.').map(str::to_owned).unwrap_or(path)
}

/// Whether a key is shaped like a name in a program: such names may appear in errors.
pub(crate) fn is_field_name(key: &str) -> bool {
    key.len() <= 40
        && key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && key
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
        && key.bytes().filter(u8::is_ascii_digit).count() < 6
}

#[cfg(test)]
mod tests;
