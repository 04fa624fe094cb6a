//! The vault: which token stands for which value in one session.
//!
//! It is part of the session's sealed state. Nothing here has `Debug`: entries are the values
//! that must not leave.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::label::Label;
use crate::token;

/// First byte of a serialised vault.
const FORMAT: u8 = 1;

/// A keyed digest of a typed value, with a key that only the session has.
pub trait Pseudonyms {
    /// The digest of `text`, exactly as it stands, as a value of that type.
    fn digest(&self, label: Label, text: &str) -> [u8; 32];
}

/// How a value stood where it was found, which decides how it is put back into JSON.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Shape {
    /// A number literal in JSON that a string held.
    Number,
    /// Text.
    Text,
}

/// One value and the token that stands for it.
pub(crate) struct Entry {
    pub(crate) token: String,
    pub(crate) label: Label,
    pub(crate) value: String,
    pub(crate) shape: Shape,
    /// Whether the value alone shows what it is; only such values are replaced in JSON keys.
    pub(crate) certain: bool,
}

/// The values of one session and their tokens. Entries are only ever added.
#[derive(Default)]
pub struct Vault {
    entries: Vec<Entry>,
    /// By their value: those found in text, and those found as numbers.
    texts: HashMap<String, usize>,
    numbers: HashMap<String, usize>,
    /// By lower-case spelling, without the angle brackets.
    by_token: BTreeMap<String, usize>,
}

/// A serialised vault that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VaultError {
    /// Written by a newer version of this program.
    #[error("the vault has an unknown format")]
    Format,
    /// Not what was written.
    #[error("the vault is damaged")]
    Damaged,
}

impl Vault {
    /// A vault without entries.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// How many values it holds.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether it holds nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The value that a token, exactly as spelled, stands for, and its type.
    #[must_use]
    pub fn lookup(&self, token: &str) -> Option<(Label, &str)> {
        let entry = self.entry(self.exact(token)?)?;
        Some((entry.label, &entry.value))
    }

    /// The token of a value that was found in text.
    #[must_use]
    pub fn token(&self, value: &str) -> Option<&str> {
        let entry = self.entry(self.text(value)?)?;
        Some(&entry.token)
    }

    /// The values, in the order in which they were found.
    pub fn values(&self) -> impl Iterator<Item = (Label, &str)> {
        self.entries
            .iter()
            .map(|entry| (entry.label, entry.value.as_str()))
    }

    pub(crate) fn entry(&self, index: usize) -> Option<&Entry> {
        self.entries.get(index)
    }

    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The entry whose token is exactly `token`.
    pub(crate) fn exact(&self, token: &str) -> Option<usize> {
        let index = self.spelled(
            &token
                .strip_prefix('<')?
                .strip_suffix('>')?
                .to_ascii_lowercase(),
        )?;
        (self.entry(index)?.token == token).then_some(index)
    }

    /// The entry whose token reads so in lower case, without brackets.
    pub(crate) fn spelled(&self, normal: &str) -> Option<usize> {
        self.by_token.get(normal).copied()
    }

    /// Whether some token begins so in lower case, without its bracket.
    pub(crate) fn begins(&self, normal: &str) -> bool {
        let from = self.by_token.range::<str, _>((
            std::ops::Bound::Included(normal),
            std::ops::Bound::Unbounded,
        ));
        from.take(1).any(|(token, _)| token.starts_with(normal))
    }

    /// The entry that stands for a value in text: one found in text, else one found as a number.
    pub(crate) fn text(&self, value: &str) -> Option<usize> {
        self.shaped(Shape::Text, value)
            .or_else(|| self.shaped(Shape::Number, value))
    }

    /// The entry that stands for a number literal.
    pub(crate) fn number(&self, literal: &str) -> Option<usize> {
        self.shaped(Shape::Number, literal)
    }

    /// Whether any value stood as a number.
    pub(crate) fn has_numbers(&self) -> bool {
        !self.numbers.is_empty()
    }

    fn shaped(&self, shape: Shape, value: &str) -> Option<usize> {
        match shape {
            Shape::Number => self.numbers.get(value).copied(),
            Shape::Text => self.texts.get(value).copied(),
        }
    }

    /// The entry of a value; it is added, under a fresh token, if there is none. A value keeps
    /// the type under which it was found first, so that it has one token in the session.
    pub(crate) fn insert(
        &mut self,
        value: &str,
        label: Label,
        shape: Shape,
        certain: bool,
        names: &dyn Pseudonyms,
    ) -> usize {
        let known = match shape {
            Shape::Text => self.text(value),
            Shape::Number => self.number(value),
        };
        if let Some(index) = known {
            return index;
        }
        // A number is put back without quotes, so it cannot share the token of the same digits
        // found as text.
        let digest = match shape {
            Shape::Text => names.digest(label, value),
            Shape::Number => names.digest(label, &format!("\0number\0{value}")),
        };
        let token = self.fresh(label, &token::digits(&digest));
        self.add(Entry {
            token,
            label,
            value: value.to_owned(),
            shape,
            certain,
        })
    }

    /// The shortest token that no other value has. All digits of a 256-bit digest are taken only
    /// if somebody broke the digest.
    fn fresh(&self, label: Label, digits: &str) -> String {
        let taken = |token: &String| {
            self.by_token
                .contains_key(token.trim_matches(['<', '>']).to_ascii_lowercase().as_str())
        };
        (token::SHORTEST..=digits.len())
            .filter_map(|length| digits.get(..length))
            .map(|digits| token::spelled(label, digits))
            .find(|token| !taken(token))
            .unwrap_or_else(|| token::spelled(label, digits))
    }

    fn add(&mut self, entry: Entry) -> usize {
        let index = self.entries.len();
        let normal = entry.token.trim_matches(['<', '>']).to_ascii_lowercase();
        self.by_token.insert(normal, index);
        let values = match entry.shape {
            Shape::Number => &mut self.numbers,
            Shape::Text => &mut self.texts,
        };
        values.insert(entry.value.clone(), index);
        self.entries.push(entry);
        index
    }

    /// The part of it whose tokens stand in a text, exactly as spelled.
    #[must_use]
    pub fn within(self, text: &str) -> Self {
        let tokens = text.match_indices('<').filter_map(|(at, _)| {
            let rest = text.get(at..)?;
            let rest = rest.get(..rest.floor_char_boundary(token::LONGEST))?;
            rest.get(..=rest.find('>')?)
        });
        let there: HashSet<usize> = tokens.filter_map(|token| self.exact(token)).collect();
        let mut part = Self::new();
        for (index, entry) in self.entries.into_iter().enumerate() {
            if there.contains(&index) {
                part.add(entry);
            }
        }
        part
    }

    /// The vault as bytes, to be sealed. The first byte is the format.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = vec![FORMAT];
        for entry in &self.entries {
            let number = u8::from(entry.shape == Shape::Number);
            out.push(number | (u8::from(entry.certain) << 1));
            for part in [entry.label.as_str(), &entry.token, &entry.value] {
                // Values are parts of a body of at most 4 GiB.
                out.extend_from_slice(&u32::try_from(part.len()).unwrap_or(0).to_be_bytes());
                out.extend_from_slice(part.as_bytes());
            }
        }
        out
    }

    /// Reads what [`Vault::to_bytes`] wrote. No bytes at all are a vault without entries.
    ///
    /// # Errors
    /// If the format is unknown or the bytes are damaged.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, VaultError> {
        let mut vault = Self::new();
        let mut rest = match bytes.split_first() {
            None => return Ok(vault),
            Some((&FORMAT, rest)) => rest,
            Some(_) => return Err(VaultError::Format),
        };
        while let Some((flags, after)) = rest.split_first() {
            rest = after;
            let label = Label::custom(part(&mut rest)?).map_err(|_| VaultError::Damaged)?;
            let token = part(&mut rest)?.to_owned();
            let value = part(&mut rest)?.to_owned();
            if *flags > 3 || !token::is_token(&token) || vault.exact(&token).is_some() {
                return Err(VaultError::Damaged);
            }
            let shape = if flags & 1 == 1 {
                Shape::Number
            } else {
                Shape::Text
            };
            vault.add(Entry {
                token,
                label,
                value,
                shape,
                certain: flags & 2 == 2,
            });
        }
        Ok(vault)
    }
}

fn part<'a>(rest: &mut &'a [u8]) -> Result<&'a str, VaultError> {
    let (length, after) = rest.split_first_chunk::<4>().ok_or(VaultError::Damaged)?;
    let length = usize::try_from(u32::from_be_bytes(*length)).map_err(|_| VaultError::Damaged)?;
    let (part, after) = after.split_at_checked(length).ok_or(VaultError::Damaged)?;
    *rest = after;
    std::str::from_utf8(part).map_err(|_| VaultError::Damaged)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Names;

    #[test]
    fn one_value_has_one_token() {
        let mut vault = Vault::new();
        let first = vault.insert("a@b.example", Label::EMAIL, Shape::Text, true, &Names);
        let again = vault.insert("a@b.example", Label::USERNAME, Shape::Text, true, &Names);
        assert_eq!(first, again);
        let token = vault.token("a@b.example").unwrap().to_owned();
        assert!(token.starts_with("<EMAIL_") && token::is_token(&token));
        assert_eq!(vault.lookup(&token), Some((Label::EMAIL, "a@b.example")));
        assert_eq!(vault.lookup(&token.to_ascii_lowercase()), None);
    }

    #[test]
    fn a_part_holds_what_stands_in_a_text() {
        let mut vault = Vault::new();
        for value in ["a@b.example", "c@d.example", "e@f.example"] {
            vault.insert(value, Label::EMAIL, Shape::Text, true, &Names);
        }
        let [one, two] = ["a@b.example", "e@f.example"].map(|it| vault.token(it).unwrap());
        let text = format!("< {one} <b>{two}<{one}< <EMAIL_aaaaaa>");
        let part = vault.within(&text);
        let values: Vec<_> = part.values().map(|(_, value)| value).collect();
        assert_eq!(values, ["a@b.example", "e@f.example"]);
    }

    #[test]
    fn colliding_digests_get_longer_tokens() {
        struct Same;
        impl Pseudonyms for Same {
            fn digest(&self, _: Label, text: &str) -> [u8; 32] {
                let mut digest = [0; 32];
                digest[31] = text.len() as u8;
                digest
            }
        }
        let mut vault = Vault::new();
        for value in ["a", "bb", "ccc"] {
            vault.insert(value, Label::PERSON, Shape::Text, false, &Same);
        }
        let tokens: Vec<&str> = vault
            .entries
            .iter()
            .map(|entry| entry.token.as_str())
            .collect();
        assert_eq!(
            tokens,
            ["<PERSON_aaaaaa>", "<PERSON_aaaaaaa>", "<PERSON_aaaaaaaa>"]
        );
        for (token, value) in tokens.iter().zip(["a", "bb", "ccc"]) {
            assert_eq!(vault.lookup(token).unwrap().1, value);
        }
    }

    #[test]
    fn bytes_come_back_and_damage_is_seen() {
        let mut vault = Vault::new();
        vault.insert("a@b.example", Label::EMAIL, Shape::Text, true, &Names);
        vault.insert(
            "4111111111111111",
            Label::CREDIT_CARD,
            Shape::Number,
            true,
            &Names,
        );
        let bytes = vault.to_bytes();
        let back = Vault::from_bytes(&bytes).ok().unwrap();
        assert_eq!(back.to_bytes(), bytes);
        assert_eq!(back.token("a@b.example"), vault.token("a@b.example"));
        assert!(back.number("4111111111111111").is_some());
        assert!(Vault::from_bytes(&[]).ok().unwrap().is_empty());
        assert_eq!(Vault::from_bytes(&[2]).err(), Some(VaultError::Format));
        for cut in 2..bytes.len() {
            let whole = Vault::from_bytes(&bytes[..cut]).is_ok_and(|vault| vault.len() == 1);
            assert!(whole || Vault::from_bytes(&bytes[..cut]).is_err());
        }
    }
}
