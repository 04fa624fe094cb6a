//! Firms and goods that are called after people, and as often as them in texts of the trade.

use std::sync::LazyLock;

/// No brand is longer, in bytes.
pub(super) const LONGEST: usize = 24;
const BRANDS: &[&str] = &[
    "Abercrombie & Fitch",
    "Baker Hughes",
    "Ben & Jerry",
    "Black & Decker",
    "Booz Allen",
    "Calvin Klein",
    "Charles Schwab",
    "Christian Dior",
    "Dolce & Gabbana",
    "Dow Jones",
    "Edward Jones",
    "Eli Lilly",
    "Ernst & Young",
    "Goldman Sachs",
    "Harley-Davidson",
    "Hewlett Packard",
    "Hewlett-Packard",
    "Hugo Boss",
    "JP Morgan",
    "Jack Daniel",
    "John Deere",
    "Johnson & Johnson",
    "Johnson and Johnson",
    "Johnson Controls",
    "Lehman Brothers",
    "Louis Vuitton",
    "Marks & Spencer",
    "Mercedes Benz",
    "Mercedes-Benz",
    "Merrill Lynch",
    "Morgan Stanley",
    "Philip Morris",
    "Procter & Gamble",
    "Ralph Lauren",
    "Raymond James",
    "Rolls Royce",
    "Rolls-Royce",
    "Smith & Wesson",
    "Standard Chartered",
    "Thomson Reuters",
    "Tommy Hilfiger",
    "Warner Bros",
    "Wells Fargo",
    "Yves Saint Laurent",
];

/// The two bytes that brands begin and end with, by their five low bits: most names have others.
static PAIRS: LazyLock<([u32; 32], [u32; 32])> = LazyLock::new(|| {
    let (mut firsts, mut lasts) = ([0; 32], [0; 32]);
    for brand in BRANDS {
        mark(&mut firsts, brand.as_bytes().first_chunk());
        mark(&mut lasts, brand.as_bytes().last_chunk());
    }
    (firsts, lasts)
});

fn mark(bits: &mut [u32; 32], pair: Option<&[u8; 2]>) {
    if let Some([a, b]) = pair
        && let Some(slot) = bits.get_mut(usize::from(a & 0x1F))
    {
        *slot |= 1 << (b & 0x1F);
    }
}

fn marked(bits: &[u32; 32], pair: Option<&[u8; 2]>) -> bool {
    let [a, b] = *pair.unwrap_or(&[0; 2]);
    let slot = bits.get(usize::from(a & 0x1F)).copied().unwrap_or(0);
    slot >> (b & 0x1F) & 1 != 0
}

/// Where a name ends that has no brand in it; nothing if it is a part of one, or begins with it.
pub(super) fn without(text: &str, begin: usize, end: usize) -> Option<usize> {
    let (firsts, lasts) = &*PAIRS;
    let name = text.get(begin..end)?;
    let mut at = begin;
    for word in name.split_inclusive(' ') {
        let rest = text.get(at..).unwrap_or_default();
        if marked(firsts, rest.as_bytes().first_chunk())
            && BRANDS.iter().any(|brand| rest.starts_with(brand))
        {
            let kept = text.get(begin..at).unwrap_or_default().trim_end().len();
            return (kept > 0).then_some(begin + kept);
        }
        at += word.len();
    }
    // `Johnson & Johnson`: the second one.
    let before = text.get(..end).unwrap_or_default();
    let second = marked(lasts, name.as_bytes().last_chunk())
        && BRANDS
            .iter()
            .any(|brand| brand.len() > name.len() && before.ends_with(brand));
    (!second).then_some(end)
}

#[cfg(test)]
mod tests {
    use crate::rules::testing::{found, nothing};

    #[test]
    fn firms_are_no_people() {
        nothing("The Morgan Stanley and Goldman Sachs analysts met Johnson & Johnson there.");
        found("with Stanley Morgan today", "PERSON", &["Stanley Morgan"]);
        found(
            "Hannah Ackermann Goldman Sachs Ltd",
            "PERSON",
            &["Hannah Ackermann"],
        );
    }

    #[test]
    fn no_brand_is_longer() {
        assert!(
            super::BRANDS
                .iter()
                .all(|brand| brand.len() <= super::LONGEST)
        );
    }
}
