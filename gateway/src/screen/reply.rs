//! The reply's side. Whole replies and stream events go through the same walk, and a whole text is
//! a channel that gets one fragment, so what a caller sees cannot depend on how it was delivered.

mod calls;
mod events;
mod heads;
mod names;
mod pieces;
mod shown;
mod told;

use std::collections::{BTreeMap, HashSet};

use bytes::{Bytes, BytesMut};
use gatehouse_redactor::json::{Document, Kind, Limits, Node, Splice};
use gatehouse_redactor::reply::{Channel, ReplyContext, ReplyReceipt, ReplyRefusal};
use gatehouse_redactor::{Engine, Finder, Policy, Pseudonyms, Vault};

pub use self::events::Flow;
use self::pieces::Pieces;
use self::told::{Called, Told};
use super::finished;
use crate::protocol::{
    Called as Call, ChannelId, Closes, Facts, FieldId, Memory, Part, Place, Protocol, Spoken,
    Usage, called,
};
use crate::reject::{Code, Rejection, Shape};
use crate::session::typed::PHASE_TOOL;
use crate::wire::sse;

/// What a reply turned out to hold.
#[derive(Default)]
pub struct Findings {
    /// What was masked, restored and left standing.
    pub receipt: ReplyReceipt,
    /// Texts and channels searched.
    pub visited: u64,
    /// Texts that the provider signed or encrypted, to be recognised when they come back.
    pub signed: Vec<String>,
    /// Token counts, if the provider gave any.
    pub usage: Usage,
    /// What the model said, as the caller is shown it, if it was listened for and can be recognised.
    pub said: Option<[u8; 32]>,
    /// The tools that the model called.
    pub calls: Vec<Call>,
}

/// The search of one reply.
pub struct ReplySearch<'s> {
    protocol: &'s dyn Protocol,
    facts: &'s Facts,
    rules: (&'s Engine, &'s Policy),
    vault: &'s Vault,
    /// Who asks the local model as well.
    model: Option<Box<dyn Finder + Send + 's>>,
    limits: Limits,
    channels: BTreeMap<ChannelId, Channel>,
    signing: BTreeMap<ChannelId, String>,
    pieces: BTreeMap<String, Pieces>,
    /// An event that waits for the next one, which may go on with its texts.
    waiting: Option<Bytes>,
    /// Texts that the next event goes on with, by their places there.
    moving: Vec<(String, Pieces)>,
    /// Texts that were shown to their end, though others may go on with them.
    told: Vec<Told>,
    /// Names and ids in deltas, by their places.
    called: BTreeMap<String, Called>,
    /// Texts that events say again and again, by their places.
    said: BTreeMap<String, String>,
    memory: Memory,
    findings: Findings,
    /// Keys and words that hold nothing.
    plain: HashSet<String>,
    /// What the caller is shown of the model's words.
    spoken: Option<Spoken>,
    /// Arguments of the gateway's own tool.
    proposed: BTreeMap<ChannelId, String>,
}

/// What one walk over a document keeps in hand.
#[derive(Clone, Copy)]
struct Walk<'w> {
    table: Table,
    closes: &'w Closes,
    /// Where the next event goes on with texts of this one, by their places.
    goes_on: &'w BTreeMap<String, String>,
    names: &'w dyn Pseudonyms,
}

/// Nothing goes on.
static ENDS: BTreeMap<String, String> = BTreeMap::new();

/// Which of the protocol's tables a walk asks.
#[derive(Clone, Copy)]
enum Table {
    Event,
    Whole,
}

impl<'s> ReplySearch<'s> {
    /// A search with the session's own values.
    pub fn new(
        protocol: &'s dyn Protocol,
        facts: &'s Facts,
        rules: (&'s Engine, &'s Policy),
        vault: &'s Vault,
        limits: Limits,
    ) -> Self {
        Self {
            protocol,
            facts,
            rules,
            vault,
            model: None,
            limits,
            channels: BTreeMap::new(),
            signing: BTreeMap::new(),
            pieces: BTreeMap::new(),
            waiting: None,
            moving: Vec::new(),
            told: Vec::new(),
            called: BTreeMap::new(),
            said: BTreeMap::new(),
            memory: Memory::default(),
            findings: Findings::default(),
            plain: HashSet::new(),
            spoken: None,
            proposed: BTreeMap::new(),
        }
    }

    /// The same, and each text is held until the local model has read it too.
    #[must_use]
    pub fn with_model(self, finder: impl Finder + Send + 's) -> Self {
        let model: Box<dyn Finder + Send + 's> = Box::new(finder);
        Self {
            model: Some(model),
            ..self
        }
    }

    /// Listens to what the model says, so that the conversation's next request is recognised.
    pub fn listen(&mut self) {
        self.spoken = Some(Spoken::new(self.protocol.shape() == Shape::OpenAi));
    }

    /// A whole reply, or a provider's error.
    ///
    /// # Errors
    /// A typed rejection if it is not strict JSON, or holds what policy blocks.
    pub fn whole(&mut self, body: &[u8], names: &dyn Pseudonyms) -> Result<Bytes, Rejection> {
        finished(|| self.search_whole(body, names)).unwrap_or_else(unfinished)
    }

    fn search_whole(&mut self, body: &[u8], names: &dyn Pseudonyms) -> Result<Bytes, Rejection> {
        let document = self.parse(body)?;
        let root = document.root();
        self.protocol.usage(root, &mut self.findings.usage);
        self.findings.calls = called(root, PHASE_TOOL);
        let mut splice = Splice::new(&document);
        let walk = Walk {
            table: Table::Whole,
            closes: &Closes::All,
            goes_on: &ENDS,
            names,
        };
        self.walk(root, &Place::default(), walk, &mut splice)?;
        let shown = splice.finish();
        if self.spoken.take().is_some() {
            let shown = self.parse(&shown)?;
            let message = self.protocol.reply_message(shown.root());
            self.findings.said = message.and_then(|message| Spoken::of(message).finish());
        }
        Ok(shown.into())
    }

    /// The end of the search.
    pub fn into_findings(mut self) -> Findings {
        let calls = self.streamed_calls();
        let channels = self.channels.values().map(Channel::receipt);
        let pieces = self.pieces.values().map(Pieces::receipt);
        let told = self.told.iter().map(Told::receipt);
        let called = self.called.values().map(Called::receipt);
        for receipt in channels.chain(pieces).chain(told).chain(called) {
            self.findings.receipt.add(receipt);
        }
        if let Some(mut spoken) = self.spoken {
            for (id, tool) in &self.memory.tools {
                spoken.name(*id, tool);
            }
            self.findings.said = spoken.finish();
        }
        self.findings.calls.extend(calls);
        self.findings
    }

    fn context<'c>(&'c self, names: &'c dyn Pseudonyms) -> ReplyContext<'c> {
        let (engine, policy) = self.rules;
        ReplyContext {
            engine,
            policy,
            vault: self.vault,
            names,
            model: self.model.as_deref().map(|finder| finder as &dyn Finder),
        }
    }

    fn parse<'b>(&self, body: &'b [u8]) -> Result<Document<'b>, Rejection> {
        Document::parse(body, &self.limits).map_err(|error| {
            Rejection::new(Code::ProviderMalformed).detail(error.fault.to_string())
        })
    }

    fn walk(
        &mut self,
        node: Node<'_>,
        place: &Place<'_>,
        walk: Walk<'_>,
        splice: &mut Splice<'_>,
    ) -> Result<(), Rejection> {
        let part = match walk.table {
            Table::Event => self.protocol.event_part(node, place, self.facts),
            Table::Whole => self.protocol.reply_part(node, place, self.facts),
        };
        match (part, node.kind()) {
            (Part::Drop, _) => splice.remove_member(node),
            (part, Kind::Object | Kind::Array) if !matches!(part, Part::Arguments { .. }) => {
                self.keys(node, walk.names, splice)?;
                for child in node.children() {
                    self.walk(child, &place.child(child), walk, splice)?;
                }
            }
            (_, Kind::Bool | Kind::Null) | (Part::Keep, Kind::Number) | (Part::Opaque, _) => {}
            (Part::Arguments { tool }, _) => {
                self.text(node, Channel::json_arguments(&tool), walk.names, splice)?;
            }
            (_, Kind::Number) => self.number(node, walk.names, splice)?,
            (Part::Keep, _) => self.name(node, walk.names, splice)?,
            (Part::Called { certain }, _) => self.called(node, certain, walk.names, splice)?,
            (Part::Signed, _) => self
                .findings
                .signed
                .extend(node.text().map(|text| text.into_owned())),
            (Part::SignedDelta(channel), _) => {
                let text = node.text().unwrap_or_default();
                self.signing.entry(channel).or_default().push_str(&text);
            }
            (Part::Delta(channel), _) => self.delta(node, channel, walk, splice)?,
            (Part::Piece { owner }, _) => self.piece(node, owner, walk, splice)?,
            (Part::Head { owner }, _) => self.head(node, owner, walk, splice)?,
            (Part::Descend | Part::Whole, _) => {
                self.text(node, Channel::text(), walk.names, splice)?;
            }
        }
        Ok(())
    }

    /// A whole text, or a whole JSON value that is a tool's arguments.
    fn text(
        &mut self,
        node: Node<'_>,
        mut channel: Channel,
        names: &dyn Pseudonyms,
        splice: &mut Splice<'_>,
    ) -> Result<(), Rejection> {
        self.findings.visited += 1;
        let is_string = node.kind() == Kind::String;
        let text = match node.text() {
            Some(text) => text,
            None => String::from_utf8_lossy(node.raw()),
        };
        let context = self.context(names);
        let shown = channel.end(&context, &text).map_err(blocked)?;
        self.findings.receipt.add(channel.receipt());
        if shown == text {
            return Ok(());
        }
        if is_string {
            splice.set_text(node, &shown);
        } else {
            splice.replace(node.span(), shown.into_bytes());
        }
        Ok(())
    }

    /// A fragment: what of its channel is decided goes out in its place.
    fn delta(
        &mut self,
        node: Node<'_>,
        id: ChannelId,
        walk: Walk<'_>,
        splice: &mut Splice<'_>,
    ) -> Result<(), Rejection> {
        let text = node.text().unwrap_or_default();
        let mut channel = match self.channels.remove(&id) {
            Some(channel) if self.is_renamed(id, &channel) => return Err(renamed()),
            Some(channel) => channel,
            None if text.is_empty() => return Ok(()),
            None => {
                self.findings.visited += 1;
                open(id, &self.memory.tools)
            }
        };
        let context = self.context(walk.names);
        let mut shown = channel.push(&context, &text).map_err(blocked)?;
        if closed(walk.closes, Some(id.owner)) {
            shown.push_str(&channel.finish(&context).map_err(blocked)?);
            self.findings.receipt.add(channel.receipt());
        } else {
            self.channels.insert(id, channel);
        }
        self.hear(id, &shown);
        if shown != text {
            splice.set_text(node, &shown);
        }
        Ok(())
    }

    /// Whether the tool whose arguments these are got another name since they began.
    fn is_renamed(&self, id: ChannelId, channel: &Channel) -> bool {
        let known = self.memory.tools.get(&id).map(String::as_str);
        channel
            .tool()
            .is_some_and(|tool| known.is_some_and(|known| known != tool))
    }

    /// What the closed channels still hold, as events in the protocol's own form.
    fn flush(&mut self, closes: &Closes, names: &dyn Pseudonyms) -> Result<BytesMut, Rejection> {
        let mut frames = BytesMut::new();
        let ended: Vec<_> = self
            .channels
            .keys()
            .copied()
            .filter(|id| closed(closes, Some(id.owner)))
            .collect();
        for id in ended {
            let Some(mut channel) = self.channels.remove(&id) else {
                continue;
            };
            let held = channel.finish(&self.context(names)).map_err(blocked)?;
            self.findings.receipt.add(channel.receipt());
            if !held.is_empty() {
                self.hear(id, &held);
                let (name, data) = self.protocol.delta(id, &held, &self.memory);
                frames.extend_from_slice(&sse::write(name.map(str::as_bytes), &data));
            }
        }
        let ends = |_: &str, owner| closed(closes, owner);
        self.end_pieces(&ends, names, &mut frames)?;
        self.end_told(closes);
        let signed: Vec<_> = self
            .signing
            .keys()
            .copied()
            .filter(|id| closed(closes, Some(id.owner)))
            .collect();
        for id in signed {
            self.findings.signed.extend(self.signing.remove(&id));
        }
        Ok(frames)
    }
}

/// Where a tool's arguments may be put back depends on its name.
fn renamed() -> Rejection {
    Rejection::new(Code::ProviderMalformed).detail("a tool's name goes on behind its arguments")
}

fn closed(closes: &Closes, owner: Option<u64>) -> bool {
    match closes {
        Closes::All => true,
        Closes::Nothing => false,
        Closes::Owners(owners) => owner.is_some_and(|owner| owners.contains(&owner)),
    }
}

fn open(id: ChannelId, tools: &BTreeMap<ChannelId, String>) -> Channel {
    match id.field {
        FieldId::FunctionCall | FieldId::Input | FieldId::Tool(_) => {
            Channel::json_arguments(tools.get(&id).map_or("", String::as_str))
        }
        _ => Channel::text(),
    }
}

fn unfinished<T>() -> Result<T, Rejection> {
    Err(Code::ScanFailed.into())
}

fn blocked(refusal: ReplyRefusal) -> Rejection {
    match refusal {
        ReplyRefusal::Blocked { label, .. } => {
            Rejection::new(Code::ReplyBlocked).detail(label.as_str())
        }
        ReplyRefusal::Scan(_) => Rejection::new(Code::ScanFailed),
    }
}

#[cfg(test)]
mod tests;
