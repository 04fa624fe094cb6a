//! Replies on their way in: the session's tokens are put back where the policy says so, and what
//! else is found is masked. Streams and whole replies go through the same channels.

mod auto;
mod held;
mod json;
mod keys;
mod number;
mod open;
mod receipt;
mod span;
mod spelling;
mod string;
mod text;
mod tolerant;

use std::borrow::Cow;
use std::ops::Range;

use self::tolerant::tokens;
use crate::body::integer;
use crate::engine::Engine;
use crate::finder::Finder;
use crate::finding::Finding;
use crate::label::Label;
use crate::policy::{Action, Destination, Direction, Policy};
use crate::token;
use crate::vault::{Pseudonyms, Vault};

pub use self::keys::Keys;
pub use self::receipt::{ReplyReceipt, ReplyRefusal};

/// What a reply is searched with. The same for all channels of a turn.
#[derive(Clone, Copy)]
pub struct ReplyContext<'a> {
    /// Finds what the model made up or remembered.
    pub engine: &'a Engine,
    /// Says what is done with it, and what is put back where.
    pub policy: &'a Policy,
    /// The session's values.
    pub vault: &'a Vault,
    /// For the action `hash`.
    pub names: &'a dyn Pseudonyms,
    /// Who asks the local model as well, where the policy holds replies for it.
    pub model: Option<&'a dyn Finder>,
}

/// One text of a reply that comes in pieces: the text of a choice, the arguments of a tool call.
///
/// What comes out in the end does not depend on where the text was cut. Everything is released
/// that can no longer be part of a token or of a match; a match of more than 512 bytes is masked
/// from its start until it ends.
#[derive(Clone)]
pub struct Channel {
    machine: auto::Auto,
    destination: Destination,
    /// What waits for the model.
    waiting: held::Waiting,
    /// Text that came in and was not released.
    held: String,
    /// How much came before it.
    base: usize,
    receipt: ReplyReceipt,
    refused: Option<ReplyRefusal>,
}

impl Channel {
    /// For text that the caller reads. Text that is JSON from its first character on, as
    /// structured output is, is searched leaf by leaf, and what is put back into its strings is
    /// escaped; if it turns out later that it is none, what was released before stays so.
    #[must_use]
    pub fn text() -> Self {
        Self::new(auto::Auto::new(None, 0), Destination::ReplyText)
    }

    /// For the arguments of a call to a tool: the text of a JSON document.
    #[must_use]
    pub fn json_arguments(tool: &str) -> Self {
        Self::new(
            auto::Auto::json(),
            Destination::ToolArguments(tool.to_owned()),
        )
    }

    /// For a text that goes there.
    #[must_use]
    pub fn to(destination: &Destination) -> Self {
        Self::new(auto::Auto::new(None, 0), destination.clone())
    }

    /// For a key, a name, an id or a word of the protocol: only what shows by itself is found.
    #[must_use]
    pub fn name() -> Self {
        Self::new(
            auto::Auto::Text(text::Text::of_key()),
            Destination::ReplyText,
        )
    }

    fn new(machine: auto::Auto, destination: Destination) -> Self {
        let receipt = ReplyReceipt::default();
        Self {
            machine,
            destination,
            waiting: held::Waiting::default(),
            held: String::new(),
            base: 0,
            receipt,
            refused: None,
        }
    }

    /// The tool whose arguments these are, if they are any.
    #[must_use]
    pub fn tool(&self) -> Option<&str> {
        match &self.destination {
            Destination::ToolArguments(tool) => Some(tool),
            Destination::ReplyText => None,
        }
    }

    /// Takes the next piece and returns what may be released: never the start of something that
    /// the next piece could turn into a value.
    ///
    /// # Errors
    /// If the reply must not go on; then and ever after.
    pub fn push(&mut self, cx: &ReplyContext<'_>, delta: &str) -> Result<String, ReplyRefusal> {
        self.feed(cx, delta, false)
    }

    /// Takes the last piece and returns all that is left: what [`Channel::push`] and
    /// [`Channel::finish`] would return, searched once.
    ///
    /// # Errors
    /// As [`Channel::push`].
    pub fn end(&mut self, cx: &ReplyContext<'_>, delta: &str) -> Result<String, ReplyRefusal> {
        self.feed(cx, delta, true)
    }

    /// Says that there is no other piece and returns the rest.
    ///
    /// # Errors
    /// As [`Channel::push`].
    pub fn finish(&mut self, cx: &ReplyContext<'_>) -> Result<String, ReplyRefusal> {
        self.feed(cx, "", true)
    }

    /// What was done so far.
    #[must_use]
    pub fn receipt(&self) -> &ReplyReceipt {
        &self.receipt
    }

    /// Bytes that came in and are held back.
    #[must_use]
    pub fn held(&self) -> usize {
        self.held.len() + self.waiting.len()
    }

    fn feed(
        &mut self,
        cx: &ReplyContext<'_>,
        delta: &str,
        last: bool,
    ) -> Result<String, ReplyRefusal> {
        if let Some(refused) = self.refused {
            return Err(refused);
        }
        match self.decide(cx, delta, last) {
            Ok(decided) => Ok(self.release(decided)),
            Err(refused) => {
                self.refused = Some(refused);
                self.held.clear();
                Err(refused)
            }
        }
    }

    fn decide(
        &mut self,
        cx: &ReplyContext<'_>,
        delta: &str,
        last: bool,
    ) -> Result<Decided, ReplyRefusal> {
        let mut sight = Sight {
            cx,
            destination: &self.destination,
            receipt: &mut self.receipt,
        };
        // A name or a key tells nothing to the model.
        let model = cx.model.filter(|_| !self.machine.is_certain_only());
        let read = match model {
            Some(finder) => Cow::Owned(self.waiting.push(&mut sight, finder, delta, last)?),
            None => Cow::Borrowed(delta),
        };
        self.held.push_str(&read);
        self.machine.push(&mut sight, &read, last)
    }

    fn release(&mut self, decided: Decided) -> String {
        let (mut out, mut at) = (String::new(), self.base);
        let upto = decided.upto.max(self.base);
        for edit in decided.edits {
            out.push_str(self.piece(at..edit.range.start));
            out.push_str(&edit.text);
            at = edit.range.end;
        }
        out.push_str(self.piece(at..upto));
        let upto = upto.max(at);
        self.held.drain(..(upto - self.base).min(self.held.len()));
        self.base = upto;
        out
    }

    fn piece(&self, range: Range<usize>) -> &str {
        let from = range.start.saturating_sub(self.base);
        self.held
            .get(from..range.end.saturating_sub(self.base))
            .unwrap_or_default()
    }
}

/// A whole text of a reply: what a channel would release for it in the end.
///
/// # Errors
/// If the policy blocks what was found, or the search did not come to its end.
pub fn reply_text(
    cx: &ReplyContext<'_>,
    destination: &Destination,
    text: &str,
    receipt: &mut ReplyReceipt,
) -> Result<String, ReplyRefusal> {
    whole(cx, Channel::to(destination), text, receipt)
}

/// Whole arguments of a call to a tool: the text of a JSON document.
///
/// # Errors
/// As [`reply_text`].
pub fn reply_arguments(
    cx: &ReplyContext<'_>,
    tool: &str,
    json: &str,
    receipt: &mut ReplyReceipt,
) -> Result<String, ReplyRefusal> {
    whole(cx, Channel::json_arguments(tool), json, receipt)
}

/// A key of a JSON object, or a name, an id or a word of the protocol: only what shows by itself
/// is found in it.
///
/// # Errors
/// As [`reply_text`].
pub fn reply_name(
    cx: &ReplyContext<'_>,
    name: &str,
    receipt: &mut ReplyReceipt,
) -> Result<String, ReplyRefusal> {
    if cx.engine.is_known_word(name) && tokens(name, None, cx.vault, true).found.is_empty() {
        return Ok(name.to_owned());
    }
    whole(cx, Channel::name(), name, receipt)
}

/// A number literal. One that shows by itself what it is becomes a string that holds this mask.
///
/// # Errors
/// As [`reply_text`].
pub fn reply_number(
    cx: &ReplyContext<'_>,
    literal: &str,
    receipt: &mut ReplyReceipt,
) -> Result<Option<String>, ReplyRefusal> {
    let mut sight = Sight {
        cx,
        destination: &Destination::ReplyText,
        receipt,
    };
    let disguised = integer(literal).filter(|digits| digits != literal);
    for text in [Some(literal), disguised.as_deref()].into_iter().flatten() {
        for Finding { label, rule, .. } in cx.engine.find_certain(text)? {
            if let Some(mask) = sight.masked(literal, label, rule)? {
                return Ok(Some(mask));
            }
        }
    }
    Ok(None)
}

fn whole(
    cx: &ReplyContext<'_>,
    mut channel: Channel,
    text: &str,
    receipt: &mut ReplyReceipt,
) -> Result<String, ReplyRefusal> {
    let out = channel.end(cx, text)?;
    receipt.add(channel.receipt());
    Ok(out)
}

/// A replacement in a text of a reply. Offsets count from the text's first byte.
#[derive(Clone)]
struct Edit {
    range: Range<usize>,
    text: String,
    /// Whether the text is a number literal that stood without quotes in JSON.
    number: bool,
}

/// What a piece of text settled: text before `upto` is released, with the edits in it.
#[derive(Default)]
struct Decided {
    edits: Vec<Edit>,
    upto: usize,
}

impl Decided {
    fn replace(&mut self, range: Range<usize>, text: String, number: bool) {
        self.edits.push(Edit {
            range,
            text,
            number,
        });
    }
}

/// What a channel's machines see.
struct Sight<'a> {
    cx: &'a ReplyContext<'a>,
    destination: &'a Destination,
    receipt: &'a mut ReplyReceipt,
}

impl Sight<'_> {
    /// What is put in the place of a value that was found, if it is not left as it is. The
    /// session's own values are not new: they stay where the policy would put them back.
    fn masked(
        &mut self,
        value: &str,
        label: Label,
        rule: &'static str,
    ) -> Result<Option<String>, ReplyRefusal> {
        let action = self.cx.policy.action(label, Direction::Reply);
        if action == Action::Allow {
            return Ok(None);
        }
        let own = self
            .cx
            .vault
            .text(value)
            .and_then(|index| self.cx.vault.entry(index));
        if own.is_some_and(|entry| self.cx.policy.restores(entry.label, self.destination)) {
            return Ok(None);
        }
        let text = match action {
            Action::Block => return Err(ReplyRefusal::Blocked { label, rule }),
            Action::Hash => token::hash(label, &self.cx.names.digest(label, value)),
            // A token could not be restored by anyone once the reply has gone.
            Action::Allow | Action::Mask | Action::Pseudonymize => token::mask(label),
        };
        self.receipt.mask(label);
        Ok(Some(text))
    }
}

#[cfg(test)]
mod tests;
