//! The grammar of each format as its source shows it: `samples.txt` has a line a spelling, the name
//! of the format, then literals and, in braces, runs of generated characters (`{alphabet*length}`).
//! A format without a line fails the tests.

/// A literal, or that many characters of an alphabet.
pub(super) enum Part {
    Is(&'static str),
    Of(Alphabet, usize),
}

/// The characters of a run, and some that are near but not among them.
#[derive(Clone, Copy)]
pub(super) struct Alphabet {
    pub(super) letters: &'static str,
    pub(super) not: &'static str,
}

/// One spelling of a format.
pub(super) struct Sample {
    pub(super) format: &'static str,
    pub(super) parts: Vec<Part>,
}

/// All spellings of all formats.
pub(super) fn samples() -> Vec<Sample> {
    SAMPLES.lines().filter_map(sample).collect()
}

fn sample(line: &'static str) -> Option<Sample> {
    let (format, mut rest) = line.trim().split_once(' ')?;
    rest = rest.trim_start();
    let mut parts = Vec::new();
    while let Some((literal, run)) = rest.split_once('{') {
        let (run, after) = run.split_once('}').expect("a closed run");
        let (alphabet, length) = run.split_once('*').expect("alphabet*length");
        parts.extend((!literal.is_empty()).then_some(Part::Is(literal)));
        parts.push(Part::Of(named(alphabet), length.parse().expect("a length")));
        rest = after;
    }
    parts.extend((!rest.is_empty()).then_some(Part::Is(rest)));
    Some(Sample { format, parts })
}

/// The alphabets by name: what is in them, and what is near and is not.
fn named(alphabet: &str) -> Alphabet {
    let (letters, not) = match alphabet {
        "digit" => ("0123456789", "aA!"),
        "nonzero" => ("123456789", "aA!"),
        "hex" => ("0123456789abcdef", "gG!"),
        "HEX" => ("0123456789ABCDEF", "gG!"),
        "hexes" => ("0123456789abcdefABCDEF", "gG!"),
        "lower" => ("abcdefghijklmnopqrstuvwxyz0123456789", "A!"),
        "upper" => ("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", "a!"),
        "letter" => ("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", "5!"),
        "alnum" => (ALNUM, "_!"),
        "kebab" => (KEBAB, "_!"),
        "word" => (WORD, "+!"),
        "snake" => (SNAKE, "-!"),
        "base64" => (BASE64, "_!"),
        "any64" => (ANY64, "~!"),
        "base32" => ("abcdefghijklmnopqrstuvwxyz234567", "1A!"),
        "bech32" => ("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", "B1Ob!"),
        other => panic!("no alphabet is called {other}"),
    };
    Alphabet { letters, not }
}

const ALNUM: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
const SNAKE: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
const KEBAB: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-";
const WORD: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
const BASE64: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/";
const ANY64: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/_-";

const SAMPLES: &str = include_str!("samples.txt");
