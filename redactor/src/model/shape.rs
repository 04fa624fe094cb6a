//! What a line looks like: prose, or something written for machines. Cheap, because it decides
//! what the network never sees.

use super::lists;

/// What kind of text a segment is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Code, logs, markup, tables.
    Code,
    /// Sentences and chat.
    Prose,
    /// The value of a key.
    Value,
}

/// Prose or code. A line is code if marks that prose hardly uses are frequent, if it begins or
/// ends as statements do, or if it begins with a time as log lines do.
pub(super) fn kind(line: &str) -> Kind {
    let line = line.trim();
    let (mut letters, mut marks, mut visible) = (0_usize, 0_usize, 0_usize);
    let mut before = ' ';
    for c in line.chars() {
        if c.is_whitespace() {
            before = c;
            continue;
        }
        visible += 1;
        if c.is_alphabetic() {
            letters += 1;
            // `camelCase`
            marks += 2 * usize::from(before.is_lowercase() && c.is_uppercase());
        } else if "{}[]<>=|\\_`~^$#;&*+/@".contains(c) {
            marks += 1;
        }
        before = c;
    }
    let code = marks * 14 > visible
        || letters * 2 < visible
        || statement(line)
        || stamped(line)
        || ["()", "::", "->", "!(", "(\"", "\",", "',", ");"]
            .iter()
            .any(|mark| line.contains(mark))
        || calls(line);
    if code { Kind::Code } else { Kind::Prose }
}

/// `name(argument`: a bracket right behind a word and right in front of one. `person(s)` is prose.
fn calls(line: &str) -> bool {
    line.match_indices('(').any(|(at, _)| {
        let before = line.get(..at).and_then(|head| head.chars().next_back());
        let inside = line.get(at + 1..).unwrap_or_default();
        let plural = ["s)", "es)", "n)", "en)", "in)"]
            .iter()
            .any(|end| inside.starts_with(end));
        before.is_some_and(|c| c.is_alphanumeric() || c == '_') && !plural
    })
}

fn statement(line: &str) -> bool {
    let first = line
        .split(|c: char| c.is_whitespace() || c == '(')
        .next()
        .unwrap_or_default();
    line.ends_with(['{', '}', ';', '\\']) || lists::is_statement(first)
}

/// `2024-05-01T…`, `[12:00:01]`, `May  1 12:00:01`: a time within the first characters.
fn stamped(line: &str) -> bool {
    let head: Vec<u8> = line.bytes().take(24).collect();
    let pair = |at: usize| {
        head.get(at..at + 2)
            .is_some_and(|pair| pair.iter().all(u8::is_ascii_digit))
    };
    let clock = |at: usize| pair(at) && head.get(at + 2) == Some(&b':') && pair(at + 3);
    let seconds = |at: usize| clock(at) && head.get(at + 5) == Some(&b':') && pair(at + 6);
    (0..head.len()).any(seconds)
}

/// Whether the stretch holds a word that could be a name: with a capital and small letters
/// behind it, between spaces or marks that names stand beside, and not a word that code is full
/// of. The first word of a line has its capital for another reason.
pub(super) fn may_name(line: &str) -> bool {
    let mut first = true;
    for run in line.split_whitespace() {
        let path = run.contains("::") || run.contains('/') && !run.contains('"');
        for word in run.split(|c: char| "\"'`,;()[]<>|=:".contains(c)) {
            let word = word.trim_matches(['.', '!', '?', '*', '-', '#', '/', '{', '}']);
            if !word.chars().any(char::is_alphabetic) {
                continue;
            }
            if !std::mem::take(&mut first) && !path && is_name_like(word) {
                return true;
            }
        }
    }
    false
}

/// `Anna`, `O'Brien`, `Żółć`; not `HTTP`, `getName`, `Vec2`, `String`.
pub(super) fn is_name_like(word: &str) -> bool {
    let mut chars = word.chars();
    let capital = chars.next().is_some_and(char::is_uppercase);
    let small = chars.clone().any(char::is_lowercase);
    let plain = chars.all(|c| c.is_alphabetic() || matches!(c, '\'' | '’' | '-'));
    capital && small && plain && !is_camel(word) && !lists::is_technical(word)
}

/// A capital behind a small letter, but for `McDonald`, `DeVito` and the like.
pub(super) fn is_camel(word: &str) -> bool {
    let inner = [
        "Mac", "Mc", "De", "Di", "Du", "Fitz", "La", "Le", "Van", "St",
    ]
    .into_iter()
    .find_map(|prefix| word.strip_prefix(prefix))
    .filter(|rest| rest.starts_with(char::is_uppercase))
    .unwrap_or(word);
    let mut before = ' ';
    inner.chars().any(|c| {
        let seam = before.is_lowercase() && c.is_uppercase();
        before = c;
        seam
    })
}

/// Letters of a script that the network can read.
pub(super) fn is_latin(c: char) -> bool {
    c.is_ascii_alphabetic() || matches!(c, '\u{C0}'..='\u{24F}' | '\u{1E00}'..='\u{1EFF}')
}
