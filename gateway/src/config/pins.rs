//! `[[pin]]`: parameters that requests for some models get whatever the caller says, so that the same
//! prompt is answered alike. Newer models answer 400 to some of them, so each is for the models that
//! take it.

use super::check::Check;
use super::raw::{RawNumber, RawPin};
use super::value::Glob;

/// Parameters for some models.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pin {
    /// The models.
    pub models: Vec<Glob>,
    /// The members of the request, and their values as JSON.
    pub members: Vec<(&'static str, String)>,
}

/// The members that the first entry for a model pins.
#[must_use]
pub fn pinned<'p>(pins: &'p [Pin], model: &str) -> &'p [(&'static str, String)] {
    let fits = |pin: &&Pin| pin.models.iter().any(|glob| glob.matches(model));
    pins.iter().find(fits).map_or(&[], |pin| &pin.members)
}

impl Check<'_> {
    pub(super) fn pins(&mut self, raw: &[RawPin]) -> Vec<Pin> {
        let entries = raw.iter().enumerate();
        let pins: Vec<Pin> = entries.map(|(at, entry)| self.pin(at, entry)).collect();
        for (at, pin) in pins.iter().enumerate() {
            let earlier = || pins.iter().take(at).flat_map(|pin| &pin.models);
            let is_reached = |glob: &Glob| !earlier().any(|other| other.covers(glob));
            if !pin.models.is_empty() && !pin.models.iter().any(is_reached) {
                let message = "is never reached: earlier entries take all of its models";
                self.faults.add(format!("pin[{at}].models"), message);
            }
        }
        pins
    }

    fn pin(&mut self, at: usize, raw: &RawPin) -> Pin {
        let path = format!("pin[{at}]");
        if raw.models.is_empty() {
            let message = "names none; write globs such as \"gpt-4*\"";
            self.faults.add(format!("{path}.models"), message);
        }
        let mut members = Vec::new();
        if let Some(temperature) = &raw.temperature {
            let (fits, number) = match *temperature {
                RawNumber::Integer(number) => ((0..=2).contains(&number), number.to_string()),
                RawNumber::Float(number) => ((0.0..=2.0).contains(&number), number.to_string()),
            };
            if !fits {
                let message = "must be a number from 0 to 2";
                self.faults.add(format!("{path}.temperature"), message);
            }
            members.push(("temperature", number));
        }
        if let Some(seed) = raw.seed {
            members.push(("seed", seed.to_string()));
        }
        if members.is_empty() {
            let message = "pins nothing; write temperature or seed";
            self.faults.add(&path, message);
        }
        Pin {
            models: self.globs(&path, &raw.models),
            members,
        }
    }
}
