//! What the caller was told to its end although others may go on with it: texts of events that are
//! sent once, and names and ids, which clients use as soon as they are there. If a later event does
//! go on with one, both are one text to the search.

use gatehouse_redactor::Pseudonyms;
use gatehouse_redactor::json::{Node, Splice};
use gatehouse_redactor::reply::{Channel, ReplyContext, ReplyReceipt};

use super::heads::says_again;
use super::pieces::{MOST, Pieces, Spot, too_much};
use super::shown::Shown;
use super::{ReplySearch, closed};
use crate::protocol::Closes;
use crate::reject::Rejection;

/// Longer texts are not compared with what comes later.
const LONGEST_COMPARED: usize = 4096;
/// Equal names of this length are one that is said again, not fragments that are alike.
const SURELY_AGAIN: usize = 8;
/// More names and ids in one reply are refused.
const MOST_NAMES: usize = 8192;

/// A text of an event that is sent once.
pub(super) struct Told {
    spot: Spot,
    owner: Option<u64>,
    /// As the provider sent it; empty if it is too long to be compared.
    text: String,
    pieces: Pieces,
    /// What was done if nothing follows.
    receipt: ReplyReceipt,
}

impl Told {
    pub(super) fn receipt(&self) -> &ReplyReceipt {
        &self.receipt
    }

    /// Whether a text that stands there would go on with this one.
    fn goes_on(&self, spot: &Spot, owner: Option<u64>, text: &str) -> bool {
        let akin = owner.is_some() || self.spot.stem() == spot.stem();
        let alike = self.owner == owner && akin && self.spot.name() == spot.name();
        alike && (self.text.is_empty() || !says_again(&self.text, text))
    }
}

/// A name or an id, as far as it was sent.
pub(super) struct Called {
    last: String,
    last_shown: String,
    whole: Shown,
    receipt: ReplyReceipt,
}

impl Called {
    pub(super) fn receipt(&self) -> &ReplyReceipt {
        &self.receipt
    }
}

impl ReplySearch<'_> {
    /// Shows a text to its end. Others may go on with it all the same.
    pub(super) fn tell(
        &mut self,
        spot: Spot,
        mut pieces: Pieces,
        text: &str,
        names: &dyn Pseudonyms,
    ) -> Result<String, Rejection> {
        let (shown, receipt) = pieces.shown.push_whole(&self.context(names), text)?;
        self.told.retain(|told| told.spot.place != spot.place);
        if self.told.len() >= MOST {
            return Err(too_much());
        }
        let text = Some(text).filter(|text| text.len() <= LONGEST_COMPARED);
        self.told.push(Told {
            spot,
            owner: pieces.owner,
            text: text.unwrap_or_default().to_owned(),
            pieces,
            receipt,
        });
        Ok(shown)
    }

    /// What was told of a text that goes on now: at the same place, else in the same field, else the
    /// last that could be meant.
    pub(super) fn resume(&mut self, spot: &Spot, owner: Option<u64>, text: &str) -> Option<Pieces> {
        let nearness = |told: &Told| {
            let place = told.spot.place == spot.place;
            (place, told.spot.field() == spot.field())
        };
        let told = self.told.iter().enumerate();
        let (at, _) = told
            .filter(|(_, told)| told.goes_on(spot, owner, text))
            .max_by_key(|(_, told)| nearness(told))?;
        Some(self.told.remove(at).pieces)
    }

    /// Nothing goes on with what ends.
    pub(super) fn end_told(&mut self, closes: &Closes) {
        let receipt = &mut self.findings.receipt;
        self.told.retain(|told| {
            let ends = closed(closes, told.owner);
            if ends {
                receipt.add(&told.receipt);
            }
            !ends
        });
    }

    /// A name or an id in a delta.
    pub(super) fn called(
        &mut self,
        node: Node<'_>,
        certain: bool,
        names: &dyn Pseudonyms,
        splice: &mut Splice<'_>,
    ) -> Result<(), Rejection> {
        let text = node.text().unwrap_or_default();
        if text.is_empty() {
            return Ok(());
        }
        let place = Spot::of(node).place;
        let shown = match self.called.remove(&place) {
            Some(called) if is_again(&called.last, &text) => {
                let shown = called.last_shown.clone();
                self.called.insert(place, called);
                shown
            }
            before => {
                let mut whole = before.map_or_else(|| self.begin_name(certain), |name| name.whole);
                // Names and ids are searched by rules alone.
                let context = ReplyContext {
                    model: None,
                    ..self.context(names)
                };
                let (shown, receipt) = whole.push_whole(&context, &text)?;
                if self.called.len() >= MOST_NAMES {
                    return Err(too_much());
                }
                let called = Called {
                    last: text.clone().into_owned(),
                    last_shown: shown.clone(),
                    whole,
                    receipt,
                };
                self.called.insert(place, called);
                shown
            }
        };
        if shown != text {
            splice.set_text(node, &shown);
        }
        Ok(())
    }

    fn begin_name(&mut self, certain: bool) -> Shown {
        if certain {
            return Shown::new(Channel::name());
        }
        self.findings.visited += 1;
        Shown::new(Channel::text())
    }
}

/// Whether an event says the same name again, as some providers do in every chunk.
fn is_again(last: &str, text: &str) -> bool {
    last == text && (text.len() >= SURELY_AGAIN || says_again(last, text))
}
