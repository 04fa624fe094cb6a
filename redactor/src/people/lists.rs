//! Given names, surnames, and the words that tell names from other capitalised words: one table
//! of short hashes with a few bits each.

use std::sync::LazyLock;

use crate::normalise::plain_letters;

/// What a word may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Kind(u32);

impl Kind {
    pub(super) const GIVEN: Kind = Kind(1);
    /// A word, place or product as well as a name.
    pub(super) const WORD: Kind = Kind(2);
    pub(super) const SURNAME: Kind = Kind(4);
    /// `Mr`, `Frau`: a name follows.
    pub(super) const TITLE: Kind = Kind(8);
    /// `patient`, `full_name`: what stands in this field is a name.
    pub(super) const FIELD: Kind = Kind(16);
    /// `name`, `from`: it may be one.
    pub(super) const LABEL: Kind = Kind(32);
    /// `daughter`, `Dear`, `signed by`: a name may follow.
    pub(super) const LEADS: Kind = Kind(64);
    /// No part of a name: `Street`, `University`, `Monday`, `API`.
    pub(super) const STOP: Kind = Kind(128);
    /// `van`, `de la`: between given name and surname.
    pub(super) const PARTICLE: Kind = Kind(256);

    /// A given name that more often names a time, a place or a product.
    pub(super) const PLACE: Kind = Kind(512);
    /// A surname that is a common word too.
    pub(super) const COMMON: Kind = Kind(1024);
    /// `Road`, `rue`: a street.
    pub(super) const STREET: Kind = Kind(2048);
    /// `Apt`, `Suite`: the number of a flat follows.
    pub(super) const UNIT: Kind = Kind(4096);
    /// A country or state.
    pub(super) const COUNTRY: Kind = Kind(8192);
    /// `said`, `sagte`: who said it stands beside it, on either side.
    pub(super) const SAYS: Kind = Kind(1 << 14);
    /// `admitted`, `was born`: who did it stands before it.
    pub(super) const ACTS: Kind = Kind(1 << 15);

    pub(super) fn is(self, other: Kind) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether a name may follow such a word.
    pub(super) fn is_lead(self) -> bool {
        let leads = [
            Kind::TITLE,
            Kind::FIELD,
            Kind::LABEL,
            Kind::LEADS,
            Kind::SAYS,
        ];
        leads.into_iter().any(|lead| self.is(lead))
    }

    /// A name and nothing else.
    pub(super) fn as_name(self) -> Kind {
        Kind(self.0 & (Kind::GIVEN.0 | Kind::SURNAME.0))
    }
}

const GIVEN: &str = include_str!("../../data/names/given.txt");
const GIVEN_WORLD: &str = include_str!("../../data/names/given-world.txt");
const GIVEN_WORDS: &str = include_str!("../../data/names/given-words.txt");
const SURNAMES: &str = include_str!("../../data/names/surnames.txt");
const SURNAMES_WORLD: &str = include_str!("../../data/names/surnames-world.txt");
const SURNAME_WORDS: &str = include_str!("../../data/names/surname-words.txt");

const LISTS: &[(&str, u32)] = &[
    (GIVEN, Kind::GIVEN.0),
    (GIVEN_WORLD, Kind::GIVEN.0),
    (GIVEN_WORDS, Kind::GIVEN.0 | Kind::WORD.0),
    (SURNAMES, Kind::SURNAME.0),
    (SURNAMES_WORLD, Kind::SURNAME.0),
    (SURNAME_WORDS, Kind::SURNAME.0 | Kind::COMMON.0),
    (super::words::TITLES, Kind::TITLE.0 | Kind::STOP.0),
    (super::words::FIELDS, Kind::FIELD.0),
    (super::words::LABELS, Kind::LABEL.0),
    (super::words::LEADS, Kind::LEADS.0),
    (super::words::STOPS, Kind::STOP.0),
    (super::words::PLACES, Kind::PLACE.0),
    (super::words::STREETS, Kind::STREET.0),
    (super::words::UNITS, Kind::UNIT.0),
    (super::words::COUNTRIES, Kind::COUNTRY.0),
    (super::words::PARTICLES, Kind::PARTICLE.0),
    (super::verbs::SAYS, Kind::SAYS.0),
    (super::verbs::ACTS, Kind::ACTS.0),
];

/// Slots of the table: a power of two, three halves of the words or more.
const SLOTS: usize = 1 << 17;
/// Low bits of a slot that say what the word may be; those above tell it from other words.
const KINDS: u32 = 16;

const _: () = assert!(Kind::ACTS.0 < 1 << KINDS);

/// Half a megabyte, so that it stays near: a slot holds 16 bits of the word's hash and its kinds.
static TABLE: LazyLock<Box<[u32]>> = LazyLock::new(|| {
    let mut table = vec![0; SLOTS].into_boxed_slice();
    for (list, kind) in LISTS {
        let words = list
            .lines()
            .filter(|line| !line.starts_with('#'))
            .flat_map(str::split_whitespace);
        for word in words {
            let Some((mut slot, tag)) = folded(word, "").map(place) else {
                continue;
            };
            while let Some(known) = table.get_mut(slot) {
                if *known == 0 || *known >> KINDS == tag {
                    *known |= tag << KINDS | kind;
                    break;
                }
                slot = (slot + 1) % SLOTS;
            }
        }
    }
    table
});

/// What the lists say of a word, without regard to case and marks.
#[inline]
pub(super) fn kind(word: &str) -> Kind {
    let (hash, ascii) = hash(word.as_bytes());
    if ascii {
        looked_up(hash)
    } else {
        joined(word, "")
    }
}

/// What they say of a word in two parts.
pub(super) fn joined(stem: &str, ending: &str) -> Kind {
    folded(stem, ending).map_or(Kind::default(), looked_up)
}

fn looked_up(hash: u64) -> Kind {
    let (mut slot, tag) = place(hash);
    while let Some(known) = TABLE.get(slot) {
        match *known {
            0 => return Kind::default(),
            known if known >> KINDS == tag => return Kind(known & ((1 << KINDS) - 1)),
            _ => slot = (slot + 1) % SLOTS,
        }
    }
    Kind::default()
}

/// The slot in which to begin, and what the slot of that word holds above its kinds.
fn place(hash: u64) -> (usize, u32) {
    let slot = usize::try_from(hash & 0xFFFF_FFFF).unwrap_or(0) % SLOTS;
    let tag = u32::try_from(hash >> (32 + KINDS)).unwrap_or(0);
    (slot, tag)
}

/// No listed word has more bytes.
const LONGEST: usize = 64;

/// The hash of the plain letters of a word in two parts, if it is not too long for every list.
fn folded(stem: &str, ending: &str) -> Option<u64> {
    let mut word = Word {
        letters: [0; LONGEST],
        length: 0,
    };
    for part in [stem, ending] {
        if part.is_ascii() {
            word.push(part.as_bytes())?;
            continue;
        }
        let mut buffer = [0; 4];
        for c in part.chars().flat_map(plain_letters) {
            word.push(c.encode_utf8(&mut buffer).as_bytes())?;
        }
    }
    Some(hash(word.letters.get(..word.length)?).0)
}

/// A word that is put together.
struct Word {
    letters: [u8; LONGEST],
    length: usize,
}

impl Word {
    fn push(&mut self, part: &[u8]) -> Option<()> {
        let end = self.length + part.len();
        let room = self.letters.get_mut(self.length..end)?;
        room.copy_from_slice(part);
        self.length = end;
        Some(())
    }
}

/// The hash of a word without regard to the case of ASCII letters, and whether it has no others.
/// No loop in most words: how long they are cannot be guessed.
#[inline]
fn hash(word: &[u8]) -> (u64, bool) {
    let (first, last) = ends(word);
    let (mut all, mut sum) = (first | last, lower(first) ^ word.len() as u64);
    if word.len() > 16 {
        for part in word.get(8..word.len() - 8).unwrap_or_default().chunks(8) {
            let (one, two) = ends(part);
            all |= one | two;
            sum = mixed(sum) ^ lower(one) ^ lower(two).rotate_left(8);
        }
    }
    let hash = mixed(mixed(sum) ^ lower(last));
    (hash, all & HIGH == 0)
}

const HIGH: u64 = 0x8080_8080_8080_8080;

fn mixed(hash: u64) -> u64 {
    let mixed = hash.wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    mixed ^ mixed >> 33
}

/// The bytes that a word begins and ends with; all of them, if there are no more than sixteen.
#[inline]
fn ends(word: &[u8]) -> (u64, u64) {
    if let (Some(first), Some(last)) = (word.first_chunk(), word.last_chunk()) {
        return (u64::from_le_bytes(*first), u64::from_le_bytes(*last));
    }
    if let (Some(first), Some(last)) = (word.first_chunk(), word.last_chunk()) {
        let [first, last] = [first, last].map(|four| u64::from(u32::from_le_bytes(*four)));
        return (first, last);
    }
    let byte = |at: usize| word.get(at).copied().map_or(0, u64::from);
    (byte(0) | byte(1) << 8 | byte(2) << 16, 0)
}

/// Makes capitals among eight bytes small.
fn lower(bytes: u64) -> u64 {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let low = bytes & !HIGH;
    let (from_a, behind_z) = (low + EACH * (0x80 - 0x41), low + EACH * (0x80 - 0x5B));
    bytes | (from_a & !behind_z & !bytes & HIGH) >> 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_what_the_lists_say() {
        for (word, expected) in [
            ("Hannah", Kind::GIVEN),
            ("Łukasz", Kind::GIVEN),
            ("Владимир", Kind::GIVEN),
            ("kowalski", Kind::SURNAME),
            ("MÜLLER", Kind::SURNAME),
            ("Street", Kind::STOP),
            ("Dr", Kind::TITLE),
            ("van", Kind::PARTICLE),
        ] {
            assert!(kind(word).is(expected), "{word}");
        }
        assert!(kind("April").is(Kind::WORD));
        for word in ["closure", "gatehouse", "xyzzy", "request"] {
            assert_eq!(kind(word), Kind::default(), "{word}");
        }
        let strange = (0..100_000).map(|number| format!("x{number}q"));
        let taken = strange.filter(|word| kind(word) != Kind::default());
        assert!(taken.count() < 20, "words that are on no list");
    }

    proptest::proptest! {
        /// However a word is cut in two and whatever its case.
        #[test]
        fn a_word_has_one_hash(word in "[a-z0-9@\\[`{'_-]{0,40}", at in 0usize..40) {
            let (stem, ending) = word.split_at(at.min(word.len()));
            let whole = hash(word.as_bytes());
            proptest::prop_assert_eq!(whole, hash(word.to_ascii_uppercase().as_bytes()));
            proptest::prop_assert_eq!(Some(whole.0), folded(stem, ending));
            proptest::prop_assert!(whole.1);
        }

        #[test]
        fn marks_and_case_of_other_letters_do_not_count(word in "[a-zé]{0,40}") {
            let plain = hash(word.replace('é', "e").as_bytes()).0;
            proptest::prop_assert_eq!(folded(&word, ""), Some(plain));
            proptest::prop_assert_eq!(folded(&word.to_uppercase(), ""), Some(plain));
        }
    }

    #[test]
    fn the_table_has_room() {
        let used = TABLE.iter().filter(|slot| **slot != 0).count();
        assert!(used * 3 < SLOTS * 2, "{used}");
    }
}
