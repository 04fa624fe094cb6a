//! Events that are never sent again in the same form: the start of a message or block, the last word
//! on a message, a chunk with members that no table names. What of their texts is undecided cannot
//! be sent later in an event like them, so they wait for the event behind them. If that goes on
//! with a text, the undecided rest moves into it; else the text is shown to its end.

use std::collections::BTreeMap;

use bytes::BytesMut;
use gatehouse_redactor::Pseudonyms;
use gatehouse_redactor::json::{Document, Kind, Node, Splice};
use gatehouse_redactor::reply::Channel;

use super::pieces::{MOST, Pieces, Spot};
use super::{ReplySearch, Walk};
use crate::protocol::{Part, Place, Role};
use crate::reject::Rejection;

/// Words shorter than this may be fragments that happen to be alike.
const SHORTEST_WORD: usize = 3;
/// Texts shorter than this may be fragments of which one happens to begin as the other.
const SHORTEST_START: usize = 8;

/// How many texts that are said again are remembered, and how long they may be.
const MOST_SAID: usize = 64;
const LONGEST_SAID: usize = 256;

/// A text of an event that others may go on with.
struct Open {
    spot: Spot,
    owner: Option<u64>,
    text: String,
    is_head: bool,
}

impl ReplySearch<'_> {
    /// Whether an event waits for the next one.
    pub(super) fn is_head(&self, document: &Document<'_>) -> bool {
        let root = document.root();
        self.protocol.may_be_head(root)
            && self.protocol.role(root) == Role::Middle
            && self
                .open_texts(document)
                .iter()
                .any(|open| open.is_head && self.said.get(&open.spot.place) != Some(&open.text))
    }

    /// What the event that waits became, now that the next one is there or there is none.
    pub(super) fn go_on(
        &mut self,
        next: Option<&Document<'_>>,
        names: &dyn Pseudonyms,
    ) -> Result<BytesMut, Rejection> {
        let mut frames = BytesMut::new();
        let Some(data) = self.waiting.take() else {
            return Ok(frames);
        };
        let document = self.parse(&data)?;
        let goes_on = next.map_or_else(BTreeMap::new, |next| self.links(&document, next));
        if let Some(next) = next {
            self.notice(&document, next);
        }
        // What stood there before belongs to something that ended without saying so.
        let begins = |place: &str| {
            let mut links = goes_on.iter();
            links.any(|(own, next)| own != next && next == place)
        };
        self.end_pieces(&|place, _| begins(place), names, &mut frames)?;
        let flow = self.search_event(&document, &goes_on, names)?;
        frames.extend_from_slice(&flow.frames);
        self.pieces.extend(std::mem::take(&mut self.moving));
        Ok(frames)
    }

    /// A text of an event that is sent once.
    pub(super) fn head(
        &mut self,
        node: Node<'_>,
        owner: Option<u64>,
        walk: Walk<'_>,
        splice: &mut Splice<'_>,
    ) -> Result<(), Rejection> {
        let spot = Spot::of(node);
        let text = node.text().unwrap_or_default();
        let before = self.pieces.remove(&spot.place);
        let next = walk.goes_on.get(&spot.place);
        let is_said = self.said.get(&spot.place).is_some_and(|said| *said == text);
        if before.is_none() && next.is_none() && (is_said || text.is_empty()) {
            return self.text(node, Channel::text(), walk.names, splice);
        }
        let mut pieces = match before.or_else(|| self.resume(&spot, owner, &text)) {
            Some(pieces) => pieces,
            None => {
                self.findings.visited += 1;
                Pieces::new(owner)
            }
        };
        let shown = if let Some(next) = next {
            let shown = pieces.shown.push(&self.context(walk.names), &text)?;
            self.moving.push((next.clone(), pieces));
            shown
        } else {
            self.tell(spot, pieces, &text, walk.names)?
        };
        if shown != text {
            splice.set_text(node, &shown);
        }
        Ok(())
    }

    /// Where `next` goes on with texts of the event that waits, by their places in it.
    fn links(&self, waiting: &Document<'_>, next: &Document<'_>) -> BTreeMap<String, String> {
        let mut heads = self.open_texts(waiting);
        heads.retain(|open| open.is_head);
        let behind = self.open_texts(next);
        let links = heads.iter().filter_map(|head| {
            let fits = |other: &&Open| {
                let akin = head.owner.is_some() || head.spot.stem() == other.spot.stem();
                head.owner == other.owner && akin
            };
            let named = |field: &Open| field.spot.name() == head.spot.name();
            let same = |other: &&Open| other.spot.field() == head.spot.field();
            let alone = || {
                let mut others = behind.iter().filter(fits).filter(|other| named(other));
                let one = others.next().filter(|_| others.next().is_none())?;
                (heads.iter().filter(|other| named(other)).count() == 1).then_some(one)
            };
            let next = behind.iter().filter(fits).find(same).or_else(alone)?;
            let again = next.spot.place == head.spot.place && says_again(&head.text, &next.text);
            (!again).then(|| (head.spot.place.clone(), next.spot.place.clone()))
        });
        links.collect()
    }

    /// Remembers texts that are said again and again, such as the name of who serves a model: events
    /// do not wait for those.
    fn notice(&mut self, waiting: &Document<'_>, next: &Document<'_>) {
        let behind = self.open_texts(next);
        for open in self
            .open_texts(waiting)
            .into_iter()
            .filter(|open| open.is_head)
        {
            let again = |other: &Open| {
                other.spot.place == open.spot.place && says_again(&open.text, &other.text)
            };
            let room = self.said.len() < MOST_SAID && open.text.len() <= LONGEST_SAID;
            if room && behind.iter().any(again) {
                self.said.insert(open.spot.place, open.text);
            }
        }
    }

    fn open_texts(&self, document: &Document<'_>) -> Vec<Open> {
        let mut texts = Vec::new();
        self.gather(document.root(), &Place::default(), &mut texts);
        texts
    }

    /// Past a number that the walk refuses, none are gathered.
    fn gather(&self, node: Node<'_>, place: &Place<'_>, texts: &mut Vec<Open>) {
        if texts.len() > MOST {
            return;
        }
        let (owner, is_head) = match self.protocol.event_part(node, place, self.facts) {
            Part::Arguments { .. } | Part::Drop => return,
            Part::Head { owner } => (owner, true),
            Part::Piece { owner } => (owner, false),
            _ => {
                for child in node.children() {
                    self.gather(child, &place.child(child), texts);
                }
                return;
            }
        };
        let text = node.text().unwrap_or_default();
        if node.kind() == Kind::String && !(is_head && text.is_empty()) {
            texts.push(Open {
                spot: Spot::of(node),
                owner,
                text: text.into_owned(),
                is_head,
            });
        }
    }
}

/// Whether the next event says the same text again, or all of it and more, instead of going on with
/// it. Only words count: digits may be fragments of a number that are alike.
pub(super) fn says_again(text: &str, next: &str) -> bool {
    let again = (text.len() >= SHORTEST_WORD && next == text)
        || (text.len() >= SHORTEST_START && next.starts_with(text));
    again && text.contains(char::is_alphabetic)
}
