//! Texts that no table names, in events that more of the kind may follow: a delta that a provider
//! adds tomorrow, an event nobody knows. What two such events hold is one text to a client that
//! joins them, so it is one text to the search: events of one type are told apart by the place of
//! the text, and by the indexes on the way to it.

use bytes::BytesMut;
use gatehouse_redactor::Pseudonyms;
use gatehouse_redactor::json::{Kind, Node, Splice};
use gatehouse_redactor::reply::{Channel, ReplyReceipt, reply_name};

use super::shown::Shown;
use super::{ReplySearch, Walk, blocked, closed};
use crate::reject::{Code, Rejection};
use crate::wire::sse;

/// More such texts in one reply are refused: each may hold something back.
pub(super) const MOST: usize = 1024;
/// How many bytes may stand around what is held back.
const WIDEST: usize = 8192;

/// Digits of a time in seconds.
const LONGEST_TIME: usize = 12;

/// One text, in as many events as there are.
pub(super) struct Pieces {
    pub(super) shown: Shown,
    pub(super) owner: Option<u64>,
    /// The last event that left something held back, without its other texts.
    frame: Option<Frame>,
}

/// An event in two halves, between which a text belongs.
#[derive(Default)]
struct Frame {
    name: Option<String>,
    before: String,
    after: String,
}

impl Pieces {
    pub(super) fn new(owner: Option<u64>) -> Self {
        Self {
            shown: Shown::new(Channel::text()),
            owner,
            frame: None,
        }
    }

    pub(super) fn receipt(&self) -> &ReplyReceipt {
        self.shown.receipt()
    }
}

impl ReplySearch<'_> {
    /// One piece: what of its text is decided goes out in its place.
    pub(super) fn piece(
        &mut self,
        node: Node<'_>,
        owner: Option<u64>,
        walk: Walk<'_>,
        splice: &mut Splice<'_>,
    ) -> Result<(), Rejection> {
        let text = node.text().unwrap_or_default();
        let spot = Spot::of(node);
        let mut pieces = match self.pieces.remove(&spot.place) {
            Some(pieces) => pieces,
            None if text.is_empty() => return Ok(()),
            None if self.pieces.len() >= MOST => return Err(too_much()),
            None => match self.resume(&spot, owner, &text) {
                Some(pieces) => pieces,
                None => {
                    self.findings.visited += 1;
                    Pieces::new(owner)
                }
            },
        };
        let context = self.context(walk.names);
        let mut shown = pieces.shown.push(&context, &text)?;
        if closed(walk.closes, owner) {
            shown.push_str(&pieces.shown.finish(&context)?);
            self.findings.receipt.add(pieces.receipt());
        } else {
            if pieces.shown.held() > 0 {
                pieces.frame = Some(self.frame(node, walk.names)?);
            }
            self.pieces.insert(spot.place, pieces);
        }
        if shown != text {
            splice.set_text(node, &shown);
        }
        Ok(())
    }

    /// What the texts that end still hold, each in an event like the last one that carried it.
    /// `ends` is asked for their places and owners.
    pub(super) fn end_pieces(
        &mut self,
        ends: &dyn Fn(&str, Option<u64>) -> bool,
        names: &dyn Pseudonyms,
        frames: &mut BytesMut,
    ) -> Result<(), Rejection> {
        let ended = self.pieces.iter();
        let ended = ended.filter(|(place, pieces)| ends(place, pieces.owner));
        let ended: Vec<_> = ended.map(|(place, _)| place.clone()).collect();
        for mut pieces in ended
            .iter()
            .filter_map(|place| self.pieces.remove(place))
            .collect::<Vec<_>>()
        {
            let held = pieces.shown.finish(&self.context(names))?;
            self.findings.receipt.add(pieces.receipt());
            if let Some(Frame {
                name,
                before,
                after,
            }) = pieces.frame.filter(|_| !held.is_empty())
            {
                let data = format!("{before}{}{after}", json(&held));
                let name = name.as_deref().map(str::as_bytes);
                frames.extend_from_slice(&sse::write(name, data.as_bytes()));
            }
        }
        Ok(())
    }

    /// What identifies the provider's chunks stands in those that we make ourselves as it was shown
    /// in the provider's: words, and numbers that count the time.
    pub(super) fn mask_identity(&mut self, names: &dyn Pseudonyms) -> Result<(), Rejection> {
        let mut identity = Vec::new();
        for (key, raw) in std::mem::take(&mut self.memory.identity) {
            if let Ok(word) = serde_json::from_str::<String>(&raw) {
                identity.push((key, self.word(&word, names)?));
            } else if raw.len() <= LONGEST_TIME && raw.parse::<u64>().is_ok() {
                identity.push((key, raw));
            }
        }
        self.memory.identity = identity;
        Ok(())
    }

    /// The event around a text: what says which event it is and where in it the text stands.
    fn frame(&self, node: Node<'_>, names: &dyn Pseudonyms) -> Result<Frame, Rejection> {
        let mut frame = Frame::default();
        let mut here = node;
        while let Some(holder) = here.parent() {
            let mut before = String::from("[");
            if let Some(key) = here.key() {
                before = String::from("{");
                if holder.parent().is_none() {
                    for (key, json) in &self.memory.identity {
                        before.push_str(&format!("\"{key}\":{json},"));
                    }
                }
                self.signs(holder, &key, names, &mut before)?;
                before.push_str(&format!("{}:", self.word(&key, names)?));
                frame.after.push('}');
            } else {
                frame.after.push(']');
            }
            frame.before.insert_str(0, &before);
            if frame.before.len() > WIDEST {
                return Err(too_much());
            }
            here = holder;
        }
        frame.name = self.protocol.event_name(here);
        Ok(frame)
    }

    /// The members of `holder` that tell it from others of its kind.
    fn signs(
        &self,
        holder: Node<'_>,
        but: &str,
        names: &dyn Pseudonyms,
        before: &mut String,
    ) -> Result<(), Rejection> {
        for key in ["type", "object", "index"] {
            let Some(member) = holder.get(key).filter(|_| key != but) else {
                continue;
            };
            let value = match (key, member.kind()) {
                ("index", Kind::Number) => index(holder).map(|index| index.to_string()),
                ("type" | "object", Kind::String) => {
                    Some(self.word(&member.text().unwrap_or_default(), names)?)
                }
                _ => None,
            };
            if let Some(value) = value {
                before.push_str(&format!("\"{key}\":{value},"));
            }
        }
        self.fill(holder, but, before);
        Ok(())
    }

    /// Empty members without which clients cannot read an event.
    fn fill(&self, holder: Node<'_>, but: &str, before: &mut String) {
        let kind = holder.get("type").and_then(Node::text).unwrap_or_default();
        let has = |key| holder.get(key).is_some();
        for (needed, key, empty) in [
            (has("choices"), "choices", "[]"),
            (has("finish_reason") && has("delta"), "delta", "{}"),
            (has("finish_reason"), "finish_reason", "null"),
            (
                kind == "content_block_delta",
                "delta",
                r#"{"type":"text_delta","text":""}"#,
            ),
            (kind == "text_delta", "text", r#""""#),
            (kind == "input_json_delta", "partial_json", r#""""#),
            (kind == "thinking_delta", "thinking", r#""""#),
        ] {
            if needed && key != but {
                before.push_str(&format!("\"{key}\":{empty},"));
            }
        }
    }

    /// A key or a word as it was shown where it stood, and counted there.
    fn word(&self, word: &str, names: &dyn Pseudonyms) -> Result<String, Rejection> {
        if self.plain.contains(word) {
            return Ok(json(word));
        }
        let uncounted = &mut ReplyReceipt::default();
        let shown = reply_name(&self.context(names), word, uncounted).map_err(blocked)?;
        Ok(json(&shown))
    }
}

/// Where a text stands in an event.
pub(super) struct Spot {
    /// The event's type and the steps to the text, spelled so that no two places are spelled alike.
    pub(super) place: String,
    kind: String,
    steps: Vec<String>,
}

impl Spot {
    pub(super) fn of(node: Node<'_>) -> Self {
        let mut steps = Vec::new();
        let mut here = node;
        while let Some(holder) = here.parent() {
            steps.push(match (here.key(), index(here)) {
                (Some(key), None) => json(&key),
                (Some(key), Some(index)) => format!("{}#{index}", json(&key)),
                // An index says more than the position: each event may carry one item of many.
                (None, Some(index)) => format!("#{index}"),
                (None, None) => format!("[{}]", here.index()),
            });
            here = holder;
        }
        steps.reverse();
        let kind = here.get("type").and_then(Node::text).unwrap_or_default();
        let index = index(here).map_or_else(String::new, |index| index.to_string());
        Self {
            place: format!("{}#{index}/{}", json(&kind), steps.join("/")),
            kind: kind.into_owned(),
            steps,
        }
    }

    /// The steps without the one into what wraps an event's content, whatever that is called.
    pub(super) fn field(&self) -> &[String] {
        match self.steps.as_slice() {
            [_, rest @ ..] if !rest.is_empty() => rest,
            steps => steps,
        }
    }

    /// The last step.
    pub(super) fn name(&self) -> Option<&String> {
        self.steps.last()
    }

    /// What the types of events that belong together have in common.
    pub(super) fn stem(&self) -> &str {
        self.kind
            .rsplit_once(['_', '.'])
            .map_or(&self.kind, |(stem, _)| stem)
    }
}

fn index(node: Node<'_>) -> Option<u64> {
    std::str::from_utf8(node.get("index")?.raw())
        .ok()?
        .parse()
        .ok()
}

fn json(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

pub(super) fn too_much() -> Rejection {
    Rejection::new(Code::ProviderTooLarge).detail("too many texts of unknown kinds")
}
