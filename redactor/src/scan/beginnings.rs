//! Which groups of heads may begin with which three bytes.

use std::collections::HashMap;
use std::ops::Range;

use super::gate::Mask;
use super::walk::{CLASSES, FIRSTS};

/// The groups by the classes of three bytes. The same few masks stand in all places, so each is kept
/// once: this is the largest table that starting needs.
pub(super) struct Beginnings {
    /// By the classes of three bytes: the number of their mask.
    places: Vec<u16>,
    masks: Vec<Mask>,
    numbers: HashMap<Mask, u16>,
}

impl Beginnings {
    /// Nothing begins.
    pub(super) fn new() -> Self {
        Self {
            places: vec![0; FIRSTS * CLASSES * CLASSES],
            masks: vec![0],
            numbers: HashMap::from([(0, 0)]),
        }
    }

    /// Adds a group in some places.
    pub(super) fn mark(&mut self, range: Range<usize>, bit: Mask) {
        let Self {
            places,
            masks,
            numbers,
        } = self;
        for place in places.get_mut(range).unwrap_or_default() {
            let mask = masks.get(usize::from(*place)).copied();
            let mask = mask.unwrap_or(Mask::MAX) | bit;
            *place = *numbers.entry(mask).or_insert_with(|| {
                // Without a number left, all groups may begin there.
                let number = u16::try_from(masks.len()).unwrap_or(u16::MAX);
                if number < u16::MAX {
                    masks.push(mask);
                }
                number
            });
        }
    }

    /// The masks, place by place.
    pub(super) fn masks(&self) -> impl Iterator<Item = Mask> {
        let mask = |place: &u16| self.masks.get(usize::from(*place)).copied();
        let places = self.places.iter();
        places.map(move |place| mask(place).unwrap_or(Mask::MAX))
    }
}
