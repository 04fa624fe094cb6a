//! Numbers that states give to their people, and tax offices to those who pay.
//!
//! Each scheme cites who publishes its form. A check digit alone makes few numbers certain: one
//! in ten or eleven others passes it. So a number without a cue is taken only where its form
//! (letters, a date of birth, a fixed grouping, two check digits) leaves little to chance.

mod africa;
mod baltic;
mod central;
mod east_asia;
mod latin_america;
mod middle_east;
mod nordic;
mod north_america;
mod north_west;
mod oceania;
mod romance;
mod south_asia;
mod south_east;

use super::Scheme;

/// All of them.
pub(super) fn schemes() -> impl Iterator<Item = &'static [Scheme]> {
    [
        central::SCHEMES,
        romance::SCHEMES,
        north_west::SCHEMES,
        nordic::SCHEMES,
        baltic::SCHEMES,
        south_east::SCHEMES,
        north_america::SCHEMES,
        latin_america::SCHEMES,
        oceania::SCHEMES,
        east_asia::SCHEMES,
        south_asia::SCHEMES,
        middle_east::SCHEMES,
        africa::SCHEMES,
    ]
    .into_iter()
}

#[cfg(test)]
mod tests;
