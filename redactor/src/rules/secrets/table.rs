//! The formats of `formats.txt`, a line each.

/// What may follow the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// More of both base64 alphabets, with padding, belongs to it.
    Base64,
    /// As [`Ending::Word`], with dots between parts.
    Dotted,
    /// No letter, digit or underscore: the length is fixed.
    Exact,
    /// As [`Ending::Exact`], and digits and letters must both occur.
    Mixed,
    /// More letters, digits, `_` and `-` belong to it.
    Word,
}

/// How the secrets of an issuer look.
#[derive(Clone, Copy)]
pub(super) struct Format {
    /// Names it in records.
    pub(super) name: &'static str,
    pub(super) ending: Ending,
    /// Whether the head tells by itself what it is: the others begin like words of other names
    /// (`cache-key-9f86…`), so they do not begin behind `_` or `-`.
    pub(super) own: bool,
    /// Who says so: a page or a file of the issuer's, a public rule set and its name for it, or
    /// that nobody who does was found.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "read by people, and held by a test")
    )]
    pub(super) source: &'static str,
    /// A bounded regular expression over bytes.
    pub(super) head: &'static str,
}

pub(super) const TABLE: &str = include_str!("formats.txt");

/// Every format. Lines that are none do not pass the tests.
pub(super) fn formats() -> impl Iterator<Item = Format> {
    TABLE.lines().filter_map(format)
}

fn format(line: &'static str) -> Option<Format> {
    if line.starts_with('#') {
        return None;
    }
    let mut columns = line.split_whitespace();
    let format = Format {
        name: columns.next()?,
        ending: ending(columns.next()?)?,
        own: own(columns.next()?)?,
        source: columns.next()?,
        head: columns.next()?,
    };
    columns.next().is_none().then_some(format)
}

fn ending(name: &str) -> Option<Ending> {
    Some(match name {
        "base64" => Ending::Base64,
        "dotted" => Ending::Dotted,
        "exact" => Ending::Exact,
        "mixed" => Ending::Mixed,
        "word" => Ending::Word,
        _ => return None,
    })
}

fn own(start: &str) -> Option<bool> {
    match start {
        "token" => Some(false),
        "word" => Some(true),
        _ => None,
    }
}
