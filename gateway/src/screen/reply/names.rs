//! What of a reply is no text: keys, names, ids, words of the protocol and numbers. Only what shows
//! by itself is looked for in them.

use gatehouse_redactor::Pseudonyms;
use gatehouse_redactor::json::{Node, Splice};
use gatehouse_redactor::reply::{Keys, ReplyReceipt, reply_name, reply_number};

use super::{ReplySearch, blocked};
use crate::reject::Rejection;

/// How many words that hold nothing are remembered, and how long they may be.
const MOST_PLAIN: usize = 256;
const LONGEST_PLAIN: usize = 64;

impl ReplySearch<'_> {
    /// The keys of an object's members. Those that would be shown alike are told apart.
    pub(super) fn keys(
        &mut self,
        object: Node<'_>,
        names: &dyn Pseudonyms,
        splice: &mut Splice<'_>,
    ) -> Result<(), Rejection> {
        let mut changed = Vec::new();
        for member in object.children() {
            let shown = member.key().map(|key| self.shown(&key, names));
            changed.push(shown.transpose()?.flatten());
        }
        // Most objects end here: nothing is kept of keys that stay as they are.
        if changed.iter().all(Option::is_none) {
            return Ok(());
        }
        let mut keys = Keys::default();
        for (member, shown) in object.children().zip(changed) {
            let key = member.key().unwrap_or_default();
            let is_changed = shown.is_some();
            let shown = shown.unwrap_or_else(|| key.into_owned());
            let suffix = keys.tell_apart(&shown, is_changed);
            if is_changed || suffix.is_some() {
                splice.set_key(member, &(shown + &suffix.unwrap_or_default()));
            }
        }
        Ok(())
    }

    /// A name, an id or a word of the protocol.
    pub(super) fn name(
        &mut self,
        node: Node<'_>,
        names: &dyn Pseudonyms,
        splice: &mut Splice<'_>,
    ) -> Result<(), Rejection> {
        let text = node.text().unwrap_or_default();
        if let Some(shown) = self.shown(&text, names)? {
            splice.set_text(node, &shown);
        }
        Ok(())
    }

    /// A number that may be anything.
    pub(super) fn number(
        &mut self,
        node: Node<'_>,
        names: &dyn Pseudonyms,
        splice: &mut Splice<'_>,
    ) -> Result<(), Rejection> {
        let literal = node.number().unwrap_or_default();
        let mut receipt = ReplyReceipt::default();
        let mask = reply_number(&self.context(names), literal, &mut receipt).map_err(blocked)?;
        self.findings.receipt.add(&receipt);
        if let Some(mask) = mask {
            splice.set_text(node, &mask);
        }
        Ok(())
    }

    /// What a word is shown as, if not as it is. Every event of a stream has the same words, so
    /// those that hold nothing are searched once.
    fn shown(&mut self, word: &str, names: &dyn Pseudonyms) -> Result<Option<String>, Rejection> {
        if self.plain.contains(word) {
            return Ok(None);
        }
        let mut receipt = ReplyReceipt::default();
        let shown = reply_name(&self.context(names), word, &mut receipt).map_err(blocked)?;
        self.findings.receipt.add(&receipt);
        if shown != word {
            return Ok(Some(shown));
        }
        if word.len() <= LONGEST_PLAIN && self.plain.len() < MOST_PLAIN {
            self.plain.insert(word.to_owned());
        }
        Ok(None)
    }
}
