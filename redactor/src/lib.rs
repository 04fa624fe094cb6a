//! The search of Gatehouse: find and replace personal data and secrets. Does no I/O.

#![cfg_attr(
    test,
    allow(clippy::string_slice, reason = "tests slice texts that they wrote")
)]

pub mod body;
mod columns;
mod dictionary;
mod encoded;
mod engine;
mod finder;
mod finding;
mod fnv;
mod join;
pub mod json;
mod key;
mod known;
mod label;
mod manifest;
mod mention;
#[cfg(feature = "model")]
pub mod model;
mod normalise;
mod pair;
mod pass;
mod people;
mod policy;
mod records;
pub mod reply;
mod resolve;
mod rule;
mod rules;
mod scan;
mod seek;
mod slot;
mod spans;
mod tail;
#[cfg(test)]
mod testing;
mod token;
mod validate;
mod vault;
mod vocabulary;

pub use engine::{Engine, EngineError};
pub use finder::{Asked, Finder};
pub use finding::{Field, Finding, Look, Open, ScanError};
pub use label::{Label, LabelError};
pub use policy::{
    Action, CustomRule, Destination, Dictionary, Direction, FieldRule, LabelPolicy, Media,
    ModelUse, Policies, Policy, PolicyFault, Profile, Restore, Selection, TenantPolicy,
};
pub use vault::{Pseudonyms, Vault, VaultError};
