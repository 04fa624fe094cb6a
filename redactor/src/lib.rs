//! The search of Gatehouse: find and replace personal data and secrets. Does no I/O.

mod engine;
mod finding;
mod label;
mod policy;
mod resolve;
mod rule;
mod rules;
mod scan;
mod tail;
mod validate;

pub use engine::{Engine, EngineError};
pub use finding::{Field, Finding, Open, ScanError};
pub use label::{Label, LabelError};
pub use policy::{
    Action, CustomRule, Destination, Dictionary, Direction, LabelPolicy, Media, Policy, Profile,
    Restore, Selection,
};
