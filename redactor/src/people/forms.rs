//! What the lists say of a word as a text has it: whole, joined, inflected.

use std::sync::LazyLock;

use super::lists::{Kind, joined, kind};
use super::reader::is_longer;

/// What the lists say of a word, of its parts if it is joined, or of what it is a form of.
pub(super) fn known(word: &str, inflects: impl Fn() -> bool) -> Kind {
    let own = kind(word);
    if own != Kind::default() {
        return own;
    }
    let inner = |b: u8| matches!(b, b'-' | b'\'' | 0x80..);
    if word.bytes().any(inner)
        && let Some((first, rest)) = word.split_once(['-', '\'', '’'])
    {
        let (first, rest) = (kind(first), kind(rest));
        return match (
            first.is(Kind::STOP) || rest.is(Kind::STOP),
            rest == Kind::default(),
        ) {
            (true, _) => Kind::STOP,
            (false, true) => first,
            (false, false) => rest,
        };
    }
    if slavic_surname(word) || inflects() {
        inflected(word)
    } else {
        own
    }
}

/// What surnames of Slavic and neighbouring languages end in, in all cases.
const ENDINGS: &[&str] = &[
    "ski",
    "ska",
    "skiego",
    "skiemu",
    "skim",
    "skiej",
    "ską",
    "scy",
    "skich",
    "cki",
    "cka",
    "ckiego",
    "ckiemu",
    "ckim",
    "ckiej",
    "cką",
    "czyk",
    "czyka",
    "czykowi",
    "czykiem",
    "czyku",
    "owicz",
    "owicza",
    "owiczem",
    "owiczowi",
    "ewicz",
    "ewicza",
    "ewiczem",
    "ović",
    "ovića",
    "ević",
    "evića",
    "ovski",
    "evski",
    "ский",
    "ского",
    "скому",
    "ским",
    "ская",
    "ской",
    "скую",
    "ович",
    "евич",
    "енко",
    "ук",
    "чук",
    "shvili",
    "auskas",
    "chuk",
    "enko",
    "ovich",
    "evich",
    "kov",
    "lov",
    "rov",
    "tov",
    "nov",
    "mov",
    "sov",
    "zov",
    "chev",
    "yev",
    "kova",
    "lova",
    "rova",
    "tova",
    "mova",
    "nsen",
    "rsen",
    "tsen",
    "ksen",
];

/// Endings that no other words have, so that short names are known by them too.
const SHORTER: &[&str] = &[
    "ić", "ića", "iću", "ićem", "ová", "ové", "ovou", "sson", "dóttir", "ienė", "aitė", "ytė",
];

/// By the last byte of an ending: the bytes that stand before it, by their five low bits.
static ENDS: LazyLock<[u32; 256]> = LazyLock::new(|| {
    let mut ends = [0; 256];
    for ending in ENDINGS.iter().chain(SHORTER) {
        if let [.., last, end] = ending.as_bytes()
            && let Some(ends) = ends.get_mut(usize::from(*end))
        {
            *ends |= 1 << (last & 0x1F);
        }
    }
    ends
});

/// Whether a word ends as surnames of Slavic and neighbouring languages do, in any case.
pub(super) fn slavic_surname(word: &str) -> bool {
    let [.., last, end] = word.as_bytes() else {
        return false;
    };
    let bit = 1u32 << (last & 0x1F);
    let possible = ENDS
        .get(usize::from(*end))
        .is_some_and(|ends| ends & bit != 0);
    if !possible || word.len() < 5 {
        return false;
    }
    let ends = |ending: &&str| word.ends_with(ending);
    (is_longer(word, 6) && ENDINGS.iter().any(ends))
        || (is_longer(word, 4) && SHORTER.iter().any(ends))
}

/// An ending, and what the plain form ends in instead.
type Form = (&'static str, &'static [&'static str]);

/// Endings of Slavic cases with the letters that the plain form ends in instead.
const FORMS: &[Form] = &[
    ("ska", &["ski"]),
    ("cka", &["cki"]),
    ("skiej", &["ski"]),
    ("ckiej", &["cki"]),
    ("ską", &["ski"]),
    ("cką", &["cki"]),
    ("ská", &["ský"]),
    ("cká", &["cký"]),
    ("ová", &["", "a", "ý", "o"]),
    ("ové", &["", "a"]),
    ("ovou", &["", "a"]),
    ("ская", &["ский"]),
    ("ской", &["ский"]),
    ("ова", &["ов"]),
    ("ева", &["ев"]),
    ("овой", &["ов"]),
    ("евой", &["ев"]),
    // Vowels that go when an ending comes: Paweł, Pawła; Kacper, Kacprowi; Alexander, Alexandra.
    ("łowi", &["eł"]),
    ("łem", &["eł"]),
    ("ła", &["eł"]),
    ("wle", &["weł"]),
    ("vlovi", &["vel"]),
    ("vlem", &["vel"]),
    ("vla", &["vel"]),
    ("rlovi", &["rel"]),
    ("rla", &["rel"]),
    ("prowi", &["per"]),
    ("prem", &["per"]),
    ("pra", &["per"]),
    ("drowi", &["der"]),
    ("drem", &["der"]),
    ("drom", &["dar"]),
    ("dru", &["dar"]),
    ("dra", &["der", "dar"]),
    ("owie", &[""]),
    ("owi", &["", "o"]),
    ("ovi", &["", "a"]),
    ("iego", &["i"]),
    ("iemu", &["i"]),
    ("iej", &["a"]),
    ("ego", &["i", "y"]),
    ("emu", &["i", "y"]),
    ("iem", &["", "o"]),
    ("em", &["", "o"]),
    ("om", &["", "a"]),
    ("ie", &["a", ""]),
    ("ka", &["ek"]),
    ("kiem", &["ek"]),
    ("kowi", &["ek"]),
    ("ą", &["a"]),
    ("ę", &["a"]),
    ("ej", &["a"]),
    ("ou", &["a"]),
    ("ow", &[""]),
    ("y", &["a"]),
    ("i", &["a"]),
    ("e", &["a", ""]),
    ("u", &["a", "", "o"]),
    ("o", &["a"]),
    ("a", &[""]),
    ("ию", &["ий"]),
    ("ия", &["ий"]),
    ("ием", &["ий"]),
    ("ья", &["ий", "ья"]),
    ("ову", &["ов"]),
    ("еву", &["ев"]),
    ("овым", &["ов"]),
    ("евым", &["ев"]),
    ("ину", &["ин"]),
    ("иным", &["ин"]),
    // Hungarian: to, with, from, about somebody.
    ("nak", &[""]),
    ("nek", &[""]),
    ("val", &[""]),
    ("vel", &[""]),
    ("tól", &[""]),
    ("től", &[""]),
    ("hoz", &[""]),
    ("hez", &[""]),
    ("ról", &[""]),
    ("ről", &[""]),
    ("nál", &[""]),
    ("nél", &[""]),
    ("ом", &["", "а"]),
    ("ой", &["а"]),
    ("ого", &["ий"]),
    ("ому", &["ий"]),
    ("ым", &[""]),
    ("ы", &["а"]),
    ("у", &["", "а"]),
    ("е", &["", "а"]),
    ("а", &[""]),
    ("и", &["я", "а"]),
    ("ю", &["я"]),
];

/// By the last byte of an ending: those forms, in their order.
static FORMS_BY_LAST: LazyLock<Vec<Vec<Form>>> = LazyLock::new(|| {
    let ends = |last: u8| {
        move |(ending, _): &&Form| ending.as_bytes().last().is_some_and(|own| *own == last)
    };
    let forms = |last: u8| FORMS.iter().filter(ends(last)).copied().collect();
    (0..=u8::MAX).map(forms).collect()
});

pub(super) fn inflected(word: &str) -> Kind {
    if !is_longer(word, 3) {
        return Kind::default();
    }
    let last = word.as_bytes().last().copied().unwrap_or_default();
    for (ending, plain) in FORMS_BY_LAST.get(usize::from(last)).into_iter().flatten() {
        let Some(stem) = word.strip_suffix(ending) else {
            continue;
        };
        for last in *plain {
            let found = joined(stem, last);
            if found.is(Kind::SURNAME) || found.is(Kind::GIVEN) && !found.is(Kind::WORD) {
                // A word or place of another language is not inflected like that.
                return if ending.len() > 2 {
                    found.as_name()
                } else {
                    found
                };
            }
        }
    }
    Kind::default()
}
